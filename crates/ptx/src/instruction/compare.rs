//! Comparisons into predicates, and selection by a predicate.

use super::Form;
use crate::parse::{Name, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;
use crate::{Operand, Predicate, Register, Type};

modifier! {
    /// A comparison. Those of floats that end in `u` hold when an operand is NaN; the others do not.
    Comparison {
        Equal = "eq",
        NotEqual = "ne",
        Less = "lt",
        LessEqual = "le",
        Greater = "gt",
        GreaterEqual = "ge",
        Lower = "lo",
        LowerSame = "ls",
        Higher = "hi",
        HigherSame = "hs",
        EqualUnordered = "equ",
        NotEqualUnordered = "neu",
        LessUnordered = "ltu",
        LessEqualUnordered = "leu",
        GreaterUnordered = "gtu",
        GreaterEqualUnordered = "geu",
        /// Neither operand is NaN.
        Ordered = "num",
        /// An operand is NaN.
        Unordered = "nan",
    }
}

modifier! {
    /// How a comparison's result is joined with a predicate.
    BoolOp {
        And = "and",
        Or = "or",
        Xor = "xor",
    }
}

/// `setp`: a comparison, its opposite, and a predicate joined to both.
#[derive(Clone, Debug, PartialEq)]
pub struct SetPredicate {
    /// The comparison.
    pub comparison: Comparison,
    /// Whether subnormal numbers count as zero.
    pub flush: bool,
    /// The operands' type.
    pub ty: Type,
    /// The result.
    pub dst: Register,
    /// The opposite's result; of packed types, the second comparison's.
    pub second: Option<Register>,
    /// The operands.
    pub sources: [Operand; 2],
    /// What is joined to the result.
    pub combine: Option<(BoolOp, Predicate)>,
}

impl SetPredicate {
    /// A comparison alone.
    pub fn new(comparison: Comparison, ty: Type, dst: Register, sources: [Operand; 2]) -> SetPredicate {
        SetPredicate { comparison, flush: false, ty, dst, second: None, sources, combine: None }
    }
}

impl Form for SetPredicate {
    const NAMES: &'static [&'static str] = &["setp"];

    fn print(&self, out: &mut Printer) {
        out.name("setp").modifier(self.comparison).optional(self.combine.map(|(op, _)| op));
        out.flag(self.flush, "ftz").modifier(self.ty);
        out.pair(Some(self.dst), self.second).operands(&self.sources);
        if let Some((_, predicate)) = self.combine {
            out.predicate(predicate);
        }
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<SetPredicate> {
        let comparison = name.require("a comparison")?;
        let op: Option<BoolOp> = name.take();
        let flush = name.flag("ftz");
        let ty = name.require("a type")?;
        let (dst, second) = operands.pair()?;
        let dst = dst.ok_or_else(|| operands.unexpected("a predicate before"))?;
        let sources = operands.operands()?;
        let combine = match op {
            Some(op) => Some((op, operands.predicate()?)),
            None => None,
        };
        Ok(SetPredicate { comparison, flush, ty, dst, second, sources, combine })
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(90, 7, 8).when(self.ty.is_bf16())
    }
}

/// `selp`: the first operand if the predicate holds, else the second.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// The operands' type.
    pub ty: Type,
    /// The result.
    pub dst: Register,
    /// The operands.
    pub sources: [Operand; 2],
    /// The predicate.
    pub predicate: Register,
}

impl Form for Select {
    const NAMES: &'static [&'static str] = &["selp"];

    fn print(&self, out: &mut Printer) {
        out.name("selp").modifier(self.ty).operand(self.dst).operands(&self.sources).operand(self.predicate);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Select> {
        let ty = name.require("a type")?;
        let dst = operands.register()?;
        Ok(Select { ty, dst, sources: operands.operands()?, predicate: operands.register()? })
    }
}
