//! Arithmetic, logic, shifts and the approximate functions.

use smallvec::SmallVec;

use super::Form;
use crate::parse::{Name, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;
use crate::{Modifier, Operand, Register, Rounding, Type};

modifier! {
    /// An operation of one, two or three operands of one type.
    MathOp {
        Add = "add",
        Sub = "sub",
        Mul = "mul",
        /// A product plus the third operand: of integers, or of floats rounded as `fma`.
        Mad = "mad",
        Fma = "fma",
        Div = "div",
        Rem = "rem",
        Min = "min",
        Max = "max",
        Abs = "abs",
        Neg = "neg",
        And = "and",
        Or = "or",
        Xor = "xor",
        Not = "not",
        ShiftLeft = "shl",
        ShiftRight = "shr",
        PopulationCount = "popc",
        LeadingZeros = "clz",
        ReverseBits = "brev",
        /// The position of the highest set bit, or of the highest that differs from the sign.
        FindLeading = "bfind",
        ExtractBits = "bfe",
        InsertBits = "bfi",
        SquareRoot = "sqrt",
        Reciprocal = "rcp",
        ReciprocalSquareRoot = "rsqrt",
        Exp2 = "ex2",
        Log2 = "lg2",
        Sin = "sin",
        Cos = "cos",
        Tanh = "tanh",
        /// The second operand with the sign of the first.
        CopySign = "copysign",
    }
}

impl MathOp {
    /// The number of operands.
    pub fn arity(self) -> usize {
        match self {
            MathOp::Abs
            | MathOp::Neg
            | MathOp::Not
            | MathOp::PopulationCount
            | MathOp::LeadingZeros
            | MathOp::ReverseBits
            | MathOp::FindLeading
            | MathOp::SquareRoot
            | MathOp::Reciprocal
            | MathOp::ReciprocalSquareRoot
            | MathOp::Exp2
            | MathOp::Log2
            | MathOp::Sin
            | MathOp::Cos
            | MathOp::Tanh => 1,
            MathOp::Mad | MathOp::Fma | MathOp::ExtractBits => 3,
            MathOp::InsertBits => 4,
            _ => 2,
        }
    }
}

modifier! {
    /// Which part of an integer product is wanted.
    MulPart {
        Low = "lo",
        High = "hi",
        /// All of it, twice as wide.
        Wide = "wide",
    }
}

modifier! {
    /// How exact a function is.
    Precision {
        Approximate = "approx",
        /// Approximate, over the full range.
        Full = "full",
    }
}

modifier! {
    /// What is done with results outside a range.
    Clamp {
        /// Integers stay within their type, floats within 0 to 1.
        Saturate = "sat",
        /// Negative results become zero.
        Relu = "relu",
    }
}

/// An operation of one, two or three operands of one type (`bfi` has four).
#[derive(Clone, Debug, PartialEq)]
pub struct Math {
    /// The operation.
    pub op: MathOp,
    /// The part of a product, for integer `mul` and `mad`.
    pub part: Option<MulPart>,
    /// The exactness, for functions and `div`.
    pub precision: Option<Precision>,
    /// The rounding.
    pub rounding: Option<Rounding>,
    /// Whether subnormal numbers count as zero.
    pub flush: bool,
    /// Whether `min` and `max` pass NaN on.
    pub propagate_nan: bool,
    /// Whether `min` and `max` compare magnitudes, and the result's sign is that of both exclusive or.
    pub xor_sign: bool,
    /// What is done with results outside a range.
    pub clamp: Option<Clamp>,
    /// The operands' type; of a wide product, the factors'.
    pub ty: Type,
    /// The result.
    pub dst: Register,
    /// The operands.
    pub sources: SmallVec<[Operand; 3]>,
}

impl Math {
    /// An operation without modifiers.
    pub fn new(op: MathOp, ty: Type, dst: Register, sources: impl IntoIterator<Item = Operand>) -> Math {
        Math {
            op,
            part: None,
            precision: None,
            rounding: None,
            flush: false,
            propagate_nan: false,
            xor_sign: false,
            clamp: None,
            ty,
            dst,
            sources: sources.into_iter().collect(),
        }
    }

    /// With a part of the product.
    pub fn part(self, part: MulPart) -> Math {
        Math { part: Some(part), ..self }
    }

    /// With a rounding.
    pub fn rounding(self, rounding: Rounding) -> Math {
        Math { rounding: Some(rounding), ..self }
    }

    /// With an approximation.
    pub fn precision(self, precision: Precision) -> Math {
        Math { precision: Some(precision), ..self }
    }
}

impl Form for Math {
    const NAMES: &'static [&'static str] = &[
        "add", "sub", "mul", "mad", "fma", "div", "rem", "min", "max", "abs", "neg", "and", "or", "xor",
        "not", "shl", "shr", "popc", "clz", "brev", "bfind", "bfe", "bfi", "sqrt", "rcp", "rsqrt", "ex2",
        "lg2", "sin", "cos", "tanh", "copysign",
    ];

    fn print(&self, out: &mut Printer) {
        out.name(self.op.text())
            .optional(self.part)
            .optional(self.precision)
            .optional(self.rounding)
            .flag(self.flush, "ftz")
            .flag(self.propagate_nan, "NaN")
            .flag(self.xor_sign, "xorsign.abs")
            .optional(self.clamp)
            .modifier(self.ty)
            .operand(self.dst)
            .operands(&self.sources);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Math> {
        let op = MathOp::from_text(name.prefix).ok_or_else(|| name.unexpected("an operation"))?;
        let part = name.take();
        let precision = name.take();
        let rounding = name.take();
        let flush = name.flag("ftz");
        let propagate_nan = name.flag("NaN");
        let xor_sign = name.flag("xorsign");
        if xor_sign {
            name.expect("abs")?;
        }
        let clamp = name.take();
        let ty = name.require("a type")?;
        let dst = operands.register()?;
        let sources = (0..op.arity()).map(|_| operands.operand()).collect::<Result<_>>()?;
        Ok(Math { op, part, precision, rounding, flush, propagate_nan, xor_sign, clamp, ty, dst, sources })
    }

    fn requirement(&self) -> Requirement {
        let minimum = matches!(self.op, MathOp::Min | MathOp::Max);
        let bf16_only_fused =
            matches!(self.op, MathOp::Fma | MathOp::Min | MathOp::Max | MathOp::Abs | MathOp::Neg);
        let bitwise = matches!(self.op, MathOp::And | MathOp::Or | MathOp::Xor);
        Requirement::from(90, 7, 8)
            .when(self.ty.is_bf16() && !bf16_only_fused)
            .and(Requirement::from(86, 7, 2).when(self.xor_sign))
            .and(Requirement::from(90, 8, 0).when(matches!(self.ty, Type::U16x2 | Type::S16x2)))
            .and(Requirement::from(90, 8, 0).when(minimum && self.clamp.is_some() && !bitwise))
            .and(Requirement::from(100, 8, 6).when(self.ty == Type::F32x2))
    }
}

/// `lop3`: the function of three bits whose truth table is `table`, of each bit of the operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Lop3 {
    /// The result.
    pub dst: Register,
    /// The operands, the first the highest bit of the table's index.
    pub sources: [Operand; 3],
    /// The truth table.
    pub table: u8,
}

impl Form for Lop3 {
    const NAMES: &'static [&'static str] = &["lop3.b32"];

    fn print(&self, out: &mut Printer) {
        out.name("lop3.b32").operand(self.dst).operands(&self.sources).operand(i64::from(self.table));
    }

    fn parse(_: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Lop3> {
        Ok(Lop3 { dst: operands.register()?, sources: operands.operands()?, table: operands.count()? })
    }
}

modifier! {
    /// A fixed choice of bytes of `prmt`.
    PermuteMode {
        Forward4 = "f4e",
        Backward4 = "b4e",
        Replicate8 = "rc8",
        ClampLeft = "ecl",
        ClampRight = "ecr",
        Replicate16 = "rc16",
    }
}

/// `prmt`: four bytes of the eight of two registers, chosen by the third operand.
#[derive(Clone, Debug, PartialEq)]
pub struct Permute {
    /// A fixed choice; without one each hexadecimal digit of the selector chooses a byte.
    pub mode: Option<PermuteMode>,
    /// The result.
    pub dst: Register,
    /// The low register, the high one, the selector.
    pub sources: [Operand; 3],
}

impl Form for Permute {
    const NAMES: &'static [&'static str] = &["prmt.b32"];

    fn print(&self, out: &mut Printer) {
        out.name("prmt.b32").optional(self.mode).operand(self.dst).operands(&self.sources);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Permute> {
        Ok(Permute { mode: name.take(), dst: operands.register()?, sources: operands.operands()? })
    }
}

modifier! {
    /// The direction of a funnel shift.
    ShiftDirection {
        Left = "l",
        Right = "r",
    }
}

modifier! {
    /// What a shift by more than 31 does.
    ShiftMode {
        Clamp = "clamp",
        Wrap = "wrap",
    }
}

/// `shf`: 32 bits of two registers shifted as one of 64.
#[derive(Clone, Debug, PartialEq)]
pub struct FunnelShift {
    /// The direction: to the left the high word results, to the right the low one.
    pub direction: ShiftDirection,
    /// What large amounts do.
    pub mode: ShiftMode,
    /// The result.
    pub dst: Register,
    /// The low word, the high word, the amount.
    pub sources: [Operand; 3],
}

impl Form for FunnelShift {
    const NAMES: &'static [&'static str] = &["shf"];

    fn print(&self, out: &mut Printer) {
        out.name("shf").modifier(self.direction).modifier(self.mode).word("b32");
        out.operand(self.dst).operands(&self.sources);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<FunnelShift> {
        let (direction, mode) = (name.require("a direction")?, name.require("`.clamp` or `.wrap`")?);
        name.expect("b32")?;
        Ok(FunnelShift { direction, mode, dst: operands.register()?, sources: operands.operands()? })
    }
}

/// `dp4a`: the sum of the products of four bytes each, and the third operand.
#[derive(Clone, Debug, PartialEq)]
pub struct DotProduct {
    /// The types of the bytes, as 32-bit integers: `U32` or `S32`.
    pub types: [Type; 2],
    /// The result.
    pub dst: Register,
    /// The factors and the summand.
    pub sources: [Operand; 3],
}

impl Form for DotProduct {
    const NAMES: &'static [&'static str] = &["dp4a"];

    fn print(&self, out: &mut Printer) {
        out.name("dp4a").modifier(self.types[0]).modifier(self.types[1]);
        out.operand(self.dst).operands(&self.sources);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<DotProduct> {
        let types = [name.require("a type")?, name.require("a type")?];
        Ok(DotProduct { types, dst: operands.register()?, sources: operands.operands()? })
    }
}

modifier! {
    /// A property of a floating-point number.
    TestedProperty {
        Finite = "finite",
        Infinite = "infinite",
        Number = "number",
        NotANumber = "notanumber",
        Normal = "normal",
        Subnormal = "subnormal",
    }
}

/// `testp`: whether a floating-point number has a property.
#[derive(Clone, Debug, PartialEq)]
pub struct TestProperty {
    /// The property.
    pub property: TestedProperty,
    /// `F32` or `F64`.
    pub ty: Type,
    /// The predicate.
    pub dst: Register,
    /// The number.
    pub source: Operand,
}

impl Form for TestProperty {
    const NAMES: &'static [&'static str] = &["testp"];

    fn print(&self, out: &mut Printer) {
        out.name("testp").modifier(self.property).modifier(self.ty).operand(self.dst).operand(self.source);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<TestProperty> {
        let (property, ty) = (name.require("a property")?, name.require("a type")?);
        Ok(TestProperty { property, ty, dst: operands.register()?, source: operands.operand()? })
    }
}
