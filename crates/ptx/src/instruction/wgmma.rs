//! `wgmma`: products of matrices in shared memory, by four warps in the background.

use smallvec::SmallVec;

use super::Form;
use crate::parse::{Name, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;
use crate::{Register, Type};

/// The swizzle of a matrix in shared memory, as descriptors number it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WgmmaSwizzle {
    /// Core matrices of 8 rows of 16 bytes, apart.
    None = 0,
    /// Rows of 128 bytes.
    Bytes128 = 1,
    /// Rows of 64 bytes.
    Bytes64 = 2,
    /// Rows of 32 bytes.
    Bytes32 = 3,
}

/// Where a matrix lies in shared memory (PTX ISA, "Matrix-descriptor Format" of `wgmma`).
///
/// All but the address is constant, so a kernel computes a descriptor by adding `address >> 4` to the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixDescriptor {
    /// The first byte, a multiple of 16 below 2^18.
    pub address: u32,
    /// Bytes between core matrices along the leading dimension.
    pub leading_bytes: u32,
    /// Bytes between groups of eight rows or columns.
    pub stride_bytes: u32,
    /// The phase of the swizzle in which the matrix begins, 0 to 7; 0 if its atoms are aligned.
    pub base_offset: u8,
    /// The swizzle.
    pub swizzle: WgmmaSwizzle,
}

impl MatrixDescriptor {
    /// The 64 bits that the instruction takes; what exceeds a field is cut off.
    pub fn encode(self) -> u64 {
        let field = |bytes: u32| u64::from(bytes >> 4) & 0x3fff;
        field(self.address)
            | field(self.leading_bytes) << 16
            | field(self.stride_bytes) << 32
            | u64::from(self.base_offset & 7) << 49
            | (self.swizzle as u64) << 62
    }
}

/// The left operand.
#[derive(Clone, Debug, PartialEq)]
pub enum WgmmaSource {
    /// In shared memory, by its descriptor.
    Descriptor(Register),
    /// In four registers of each thread.
    Registers(SmallVec<[Register; 4]>),
}

/// `wgmma.mma_async`: a 64 x N accumulator plus the product of 64 x K and K x N, K being 32 bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Wgmma {
    /// N, a multiple of 8 up to 256.
    pub n: u16,
    /// The accumulator's type.
    pub accumulator: Type,
    /// The operands' types.
    pub types: [Type; 2],
    /// Whether integer results stay within their type.
    pub saturate: bool,
    /// The accumulator.
    pub dst: Vec<Register>,
    /// The left operand.
    pub a: WgmmaSource,
    /// The right operand's descriptor.
    pub b: Register,
    /// Whether the accumulator's old value counts.
    pub accumulate: Register,
    /// Which floating-point operands are negated.
    pub negate: [bool; 2],
    /// Which 16-bit operands in shared memory have M or N as their contiguous dimension.
    pub transpose: [bool; 2],
}

impl Wgmma {
    /// K, in elements.
    pub fn k(&self) -> u32 {
        256 / self.types[0].bits()
    }
}

impl Form for Wgmma {
    const NAMES: &'static [&'static str] = &["wgmma.mma_async.sync.aligned"];

    fn print(&self, out: &mut Printer) {
        out.name(Self::NAMES[0]).format(format_args!(".m64n{}k{}", self.n, self.k()));
        out.flag(self.saturate, "satfinite").modifier(self.accumulator);
        out.modifier(self.types[0]).modifier(self.types[1]).vector(&self.dst);
        match &self.a {
            WgmmaSource::Descriptor(descriptor) => out.operand(*descriptor),
            WgmmaSource::Registers(registers) => out.vector(registers),
        };
        out.operand(self.b).operand(self.accumulate);
        if self.types[0].is_float() {
            for negate in self.negate {
                out.operand(if negate { -1_i64 } else { 1 });
            }
        }
        if self.types[0].bits() == 16 {
            let in_memory = [matches!(self.a, WgmmaSource::Descriptor(_)), true];
            for (_, transpose) in
                in_memory.into_iter().zip(self.transpose).filter(|(in_memory, _)| *in_memory)
            {
                out.operand(i64::from(transpose));
            }
        }
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Wgmma> {
        let shape = name.word("a shape")?;
        let saturate = name.flag("satfinite");
        let accumulator = name.require("the accumulator's type")?;
        let types: [Type; 2] = [name.require("a type")?, name.require("a type")?];
        let n = shape.strip_prefix("m64n").and_then(|rest| rest.split_once('k')?.0.parse().ok());
        let n = n.ok_or_else(|| name.unexpected("a shape such as `.m64n128k16`, before"))?;
        let dst = operands.registers()?;
        let a = if operands.operand_begins('{') {
            WgmmaSource::Registers(operands.registers()?)
        } else {
            WgmmaSource::Descriptor(operands.register()?)
        };
        let (b, accumulate) = (operands.register()?, operands.register()?);
        let mut negate = [false; 2];
        if types[0].is_float() {
            for negate in &mut negate {
                *negate = operands.count::<i64>()? == -1;
            }
        }
        let mut transpose = [false; 2];
        if types[0].bits() == 16 {
            let first = usize::from(matches!(a, WgmmaSource::Registers(_)));
            for transpose in &mut transpose[first..] {
                *transpose = operands.count::<i64>()? == 1;
            }
        }
        let wgmma = Wgmma { n, accumulator, types, saturate, dst, a, b, accumulate, negate, transpose };
        if shape != format!("m64n{n}k{}", wgmma.k()) {
            return Err(name.unexpected("32 bytes of K, before"));
        }
        Ok(wgmma)
    }

    fn requirement(&self) -> Requirement {
        let mixed = !self.types[0].is_float() && self.types[0] != self.types[1];
        Requirement::only(90, 8, if mixed { 4 } else { 0 })
    }
}

/// What orders `wgmma.mma_async` with the rest of a warpgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WgmmaControl {
    /// `wgmma.fence`: after registers are written, before `wgmma` reads them.
    Fence,
    /// `wgmma.commit_group`: those since the last become a group.
    Commit,
    /// `wgmma.wait_group`: until at most so many groups are pending.
    Wait(u32),
}

impl Form for WgmmaControl {
    const NAMES: &'static [&'static str] =
        &["wgmma.fence.sync.aligned", "wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned"];

    fn print(&self, out: &mut Printer) {
        match self {
            WgmmaControl::Fence => out.name(Self::NAMES[0]),
            WgmmaControl::Commit => out.name(Self::NAMES[1]),
            WgmmaControl::Wait(pending) => out.name(Self::NAMES[2]).operand(i64::from(*pending)),
        };
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<WgmmaControl> {
        match name.prefix {
            "wgmma.fence.sync.aligned" => Ok(WgmmaControl::Fence),
            "wgmma.commit_group.sync.aligned" => Ok(WgmmaControl::Commit),
            _ => Ok(WgmmaControl::Wait(operands.count()?)),
        }
    }

    fn requirement(&self) -> Requirement {
        Requirement::only(90, 8, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_have_their_fields_in_place() {
        let descriptor = MatrixDescriptor {
            address: 0x4000,
            leading_bytes: 16,
            stride_bytes: 1024,
            base_offset: 0,
            swizzle: WgmmaSwizzle::Bytes128,
        };
        assert_eq!(descriptor.encode(), 1 << 62 | 64 << 32 | 1 << 16 | 0x400);
        assert_eq!(MatrixDescriptor { base_offset: 5, ..descriptor }.encode() >> 49 & 7, 5);
    }
}
