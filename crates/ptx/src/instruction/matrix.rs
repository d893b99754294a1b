//! Matrices moved between shared memory and registers, and multiplied by a warp.

use smallvec::SmallVec;

use super::Form;
use super::memory::space_requirement;
use crate::parse::{Name, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;
use crate::{Address, Operand, Register, Space, Type};

/// `ldmatrix`: one, two or four 8x8 matrices of 16 bits, a register each.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixLoad {
    /// Whether they are transposed.
    pub transpose: bool,
    /// The space, `Shared` or `SharedCta`.
    pub space: Space,
    /// The registers.
    pub dst: SmallVec<[Register; 4]>,
    /// The address of the row that the lane supplies.
    pub address: Address,
}

impl Form for MatrixLoad {
    const NAMES: &'static [&'static str] = &["ldmatrix.sync.aligned.m8n8"];

    fn print(&self, out: &mut Printer) {
        out.name(Self::NAMES[0]).format(format_args!(".x{}", self.dst.len())).flag(self.transpose, "trans");
        out.modifier(self.space).word("b16").vector(&self.dst).address(&self.address);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<MatrixLoad> {
        let (transpose, space, count) = matrices(name)?;
        let dst: SmallVec<[Register; 4]> = operands.registers()?;
        expect_count(name, count, dst.len())?;
        Ok(MatrixLoad { transpose, space, dst, address: operands.address()? })
    }

    fn requirement(&self) -> Requirement {
        space_requirement(Some(self.space))
    }
}

/// `stmatrix`: one, two or four 8x8 matrices of 16 bits, a register each.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixStore {
    /// Whether they are transposed.
    pub transpose: bool,
    /// The space, `Shared` or `SharedCta`.
    pub space: Space,
    /// The address of the row that the lane supplies.
    pub address: Address,
    /// The registers.
    pub values: SmallVec<[Register; 4]>,
}

impl Form for MatrixStore {
    const NAMES: &'static [&'static str] = &["stmatrix.sync.aligned.m8n8"];

    fn print(&self, out: &mut Printer) {
        out.name(Self::NAMES[0])
            .format(format_args!(".x{}", self.values.len()))
            .flag(self.transpose, "trans");
        out.modifier(self.space).word("b16").address(&self.address).vector(&self.values);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<MatrixStore> {
        let (transpose, space, count) = matrices(name)?;
        let address = operands.address()?;
        let values: SmallVec<[Register; 4]> = operands.registers()?;
        expect_count(name, count, values.len())?;
        Ok(MatrixStore { transpose, space, address, values })
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(90, 7, 8)
    }
}

/// The name after the shape: the count, whether transposed, the space, and the width.
fn matrices<'a>(name: &mut Name<'a>) -> Result<(bool, Space, &'a str)> {
    let count = name.word("the number of matrices")?;
    let transpose = name.flag("trans");
    let space = name.require("a space")?;
    name.expect("b16")?;
    Ok((transpose, space, count))
}

fn expect_count(name: &mut Name<'_>, word: &str, count: usize) -> Result<()> {
    if matches!(count, 1 | 2 | 4) && word == format!("x{count}") {
        return Ok(());
    }
    Err(name.unexpected("`.x1`, `.x2` or `.x4`, and as many registers"))
}

/// `movmatrix`: an 8x8 matrix of 16 bits transposed among the lanes.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixTranspose {
    /// The result.
    pub dst: Register,
    /// The matrix.
    pub source: Register,
}

impl Form for MatrixTranspose {
    const NAMES: &'static [&'static str] = &["movmatrix.sync.aligned.m8n8.trans.b16"];

    fn print(&self, out: &mut Printer) {
        out.name(Self::NAMES[0]).operand(self.dst).operand(self.source);
    }

    fn parse(_: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<MatrixTranspose> {
        Ok(MatrixTranspose { dst: operands.register()?, source: operands.register()? })
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(80, 7, 8)
    }
}

modifier! {
    /// The extents of a product by one warp.
    MmaShape {
        M8N8K4 = "m8n8k4",
        M16N8K4 = "m16n8k4",
        M16N8K8 = "m16n8k8",
        M16N8K16 = "m16n8k16",
        M16N8K32 = "m16n8k32",
    }
}

/// `mma.sync`: a product of two matrices plus a third, by one warp. The left one is row-major, the right one
/// column-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Mma {
    /// The extents.
    pub shape: MmaShape,
    /// Whether integer results stay within their type.
    pub saturate: bool,
    /// The types of the result, the left and the right operand, and the summand.
    pub types: [Type; 4],
    /// The result.
    pub dst: SmallVec<[Register; 4]>,
    /// The left operand.
    pub a: SmallVec<[Register; 4]>,
    /// The right operand.
    pub b: SmallVec<[Register; 2]>,
    /// The summand.
    pub c: SmallVec<[Operand; 4]>,
}

impl Form for Mma {
    const NAMES: &'static [&'static str] = &["mma.sync.aligned"];

    fn print(&self, out: &mut Printer) {
        out.name("mma.sync.aligned").modifier(self.shape).word("row.col").flag(self.saturate, "satfinite");
        for ty in self.types {
            out.modifier(ty);
        }
        out.vector(&self.dst).vector(&self.a).vector(&self.b).vector(&self.c);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Mma> {
        let shape = name.require("a shape")?;
        name.expect("row.col")?;
        let saturate = name.flag("satfinite");
        let mut types = [Type::F32; 4];
        for ty in &mut types {
            *ty = name.require("a type")?;
        }
        let (dst, a) = (operands.registers()?, operands.registers()?);
        Ok(Mma { shape, saturate, types, dst, a, b: operands.registers()?, c: operands.vector()? })
    }

    fn requirement(&self) -> Requirement {
        let [result, a, b, _] = self.types;
        let float8 = a.is_float8() || b.is_float8();
        let newer = self.shape == MmaShape::M16N8K16 || result == Type::F16;
        Requirement::from(89, 8, 4)
            .when(float8)
            .and(Requirement::from(89, 8, 7).when(float8 && newer))
            .and(Requirement::from(90, 7, 8).when(a == Type::F64 && self.shape != MmaShape::M8N8K4))
    }
}
