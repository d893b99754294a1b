//! Tensor maps changed by the kernel.

use super::Form;
use crate::parse::{Name, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;
use crate::{Address, Operand};

modifier! {
    /// A field of a tensor map.
    TensorMapField {
        /// 64 bits.
        GlobalAddress = "global_address",
        /// One less than the number of dimensions.
        Rank = "rank",
        /// Of a dimension.
        BoxDim = "box_dim",
        /// Of a dimension.
        GlobalDim = "global_dim",
        /// 64 bits, in bytes, of a dimension from the second on.
        GlobalStride = "global_stride",
        /// Of a dimension.
        ElementStride = "element_stride",
        /// A constant.
        ElementType = "elemtype",
        /// A constant.
        InterleaveLayout = "interleave_layout",
        /// A constant.
        SwizzleMode = "swizzle_mode",
        /// A constant.
        FillMode = "fill_mode",
    }
}

impl TensorMapField {
    /// Whether there is one for each dimension.
    pub fn is_per_dimension(self) -> bool {
        use TensorMapField::*;
        matches!(self, BoxDim | GlobalDim | GlobalStride | ElementStride)
    }

    fn type_word(self) -> &'static str {
        match self {
            TensorMapField::GlobalAddress | TensorMapField::GlobalStride => "b64",
            _ => "b32",
        }
    }
}

/// `tensormap.replace`: one field of a tensor map in shared memory.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorMapReplace {
    /// The field.
    pub field: TensorMapField,
    /// The map, in shared memory.
    pub address: Address,
    /// The dimension, for a field that has one for each.
    pub dimension: Option<u8>,
    /// The value.
    pub value: Operand,
}

impl Form for TensorMapReplace {
    const NAMES: &'static [&'static str] = &["tensormap.replace"];

    fn print(&self, out: &mut Printer) {
        out.name("tensormap.replace.tile")
            .modifier(self.field)
            .word("shared::cta.b1024")
            .word(self.field.type_word());
        out.address(&self.address)
            .optional_operand(self.dimension.map(|dimension| i64::from(dimension).into()));
        out.operand(self.value);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<TensorMapReplace> {
        name.expect("tile")?;
        let field: TensorMapField = name.require("a field")?;
        name.expect("shared::cta.b1024")?;
        name.expect(field.type_word())?;
        let address = operands.address()?;
        let dimension = if field.is_per_dimension() { Some(operands.count()?) } else { None };
        Ok(TensorMapReplace { field, address, dimension, value: operands.operand()? })
    }

    fn requirement(&self) -> Requirement {
        Requirement::specific_from(90, 8, 3)
    }
}

/// `tensormap.cp_fenceproxy`: a warp copies a tensor map from shared to global memory and makes it visible to
/// later bulk copies of the device.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorMapPublish {
    /// The address in global memory.
    pub dst: Address,
    /// The address in shared memory.
    pub source: Address,
}

impl Form for TensorMapPublish {
    const NAMES: &'static [&'static str] =
        &["tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"];

    fn print(&self, out: &mut Printer) {
        out.name(Self::NAMES[0]).address(&self.dst).address(&self.source).operand(128_i64);
    }

    fn parse(_: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<TensorMapPublish> {
        let (dst, source) = (operands.address()?, operands.address()?);
        match operands.count::<u32>()? {
            128 => Ok(TensorMapPublish { dst, source }),
            _ => Err(operands.unexpected("128, the size of a tensor map, before")),
        }
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(90, 8, 3)
    }
}
