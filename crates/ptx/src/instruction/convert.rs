//! Conversions between types.

use smallvec::SmallVec;

use super::Form;
use super::math::Clamp;
use crate::parse::{Name, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;
use crate::{Operand, Register, Rounding, Type};

/// `cvt`: a value of one type as another.
///
/// Packed 16-bit and 8-bit floats take two operands, the first in the upper half.
#[derive(Clone, Debug, PartialEq)]
pub struct Convert {
    /// The rounding: of integers where the source is a float, else of floats.
    pub rounding: Option<Rounding>,
    /// Whether subnormal numbers count as zero.
    pub flush: bool,
    /// Whether negative results become zero, or results stay in the range of the type.
    pub clamp: Option<Clamp>,
    /// Whether results beyond the largest finite number become that number.
    pub saturate_finite: bool,
    /// The type of the result.
    pub to: Type,
    /// The type of the operands.
    pub from: Type,
    /// The result.
    pub dst: Register,
    /// One operand, or two to be packed.
    pub sources: SmallVec<[Operand; 2]>,
}

impl Convert {
    /// A conversion without modifiers.
    pub fn new(to: Type, from: Type, dst: Register, source: Operand) -> Convert {
        let sources = SmallVec::from_slice(&[source]);
        Convert { rounding: None, flush: false, clamp: None, saturate_finite: false, to, from, dst, sources }
    }

    /// With a rounding.
    pub fn rounding(self, rounding: Rounding) -> Convert {
        Convert { rounding: Some(rounding), ..self }
    }
}

impl Form for Convert {
    const NAMES: &'static [&'static str] = &["cvt"];

    fn print(&self, out: &mut Printer) {
        // The 8-bit formats and tf32 have the two words the other way round than the 16-bit ones.
        let finite_first = self.to.is_float8() || self.to == Type::Tf32;
        out.name("cvt").optional(self.rounding).flag(self.flush, "ftz");
        out.flag(self.saturate_finite && finite_first, "satfinite").optional(self.clamp);
        out.flag(self.saturate_finite && !finite_first, "satfinite");
        out.modifier(self.to).modifier(self.from).operand(self.dst).operands(&self.sources);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Convert> {
        let rounding = name.take();
        let flush = name.flag("ftz");
        let before = name.flag("satfinite");
        let clamp = name.take();
        let saturate_finite = before | name.flag("satfinite");
        let (to, from) = (name.require("a type")?, name.require("the operand's type")?);
        let dst = operands.register()?;
        let mut sources = SmallVec::from_slice(&[operands.operand()?]);
        sources.extend(operands.optional_operand()?);
        Ok(Convert { rounding, flush, clamp, saturate_finite, to, from, dst, sources })
    }

    fn requirement(&self) -> Requirement {
        let float8 = self.to.is_float8() || self.from.is_float8();
        let wide_bf16 =
            (self.to.is_bf16() && self.from != Type::F32) || (self.from.is_bf16() && self.to != Type::F32);
        let tf32_rounds = self.to == Type::Tf32 && self.rounding != Some(Rounding::NearestAway);
        Requirement::from(89, 8, 1)
            .when(float8)
            .and(Requirement::from(90, 7, 8).when(wide_bf16 || tf32_rounds))
            .and(Requirement::from(80, 7, 1).when(self.from.is_bf16()))
            .and(Requirement::from(80, 8, 1).when(self.saturate_finite && !float8))
            .and(
                Requirement::from(100, 8, 6)
                    .when(self.to == Type::Tf32 && self.saturate_finite && tf32_rounds),
            )
    }
}

/// `cvt.pack.sat`: two integers narrowed with saturation and joined, above the low half of a third.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertPack {
    /// The narrow type: `S16`, `U16`, `S8` or `U8`.
    pub to: Type,
    /// The wide type, `S32`.
    pub from: Type,
    /// The result.
    pub dst: Register,
    /// The integers.
    pub sources: [Operand; 2],
    /// For 8-bit results, the register whose lower half becomes the upper one.
    pub above: Option<Operand>,
}

impl Form for ConvertPack {
    const NAMES: &'static [&'static str] = &["cvt.pack"];

    fn print(&self, out: &mut Printer) {
        out.name("cvt.pack.sat").modifier(self.to).modifier(self.from).flag(self.above.is_some(), "b32");
        out.operand(self.dst).operands(&self.sources).optional_operand(self.above);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<ConvertPack> {
        name.expect("sat")?;
        let (to, from) = (name.require("a type")?, name.require("the operands' type")?);
        let joined = name.flag("b32");
        let dst = operands.register()?;
        Ok(ConvertPack {
            to,
            from,
            dst,
            sources: operands.operands()?,
            above: operands.operand_when(joined)?,
        })
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(72, 6, 5)
    }
}
