//! Exchanges, votes and reductions among the lanes of a warp.

use super::Form;
use crate::parse::{Name, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;
use crate::{Operand, Predicate, Register, Type};

modifier! {
    /// Which lane a shuffle reads.
    ShuffleMode {
        Up = "up",
        Down = "down",
        /// The lane whose number is one's own exclusive or the operand.
        Butterfly = "bfly",
        Index = "idx",
    }
}

/// `shfl.sync`: a 32-bit register of another lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Shuffle {
    /// How the lane is found.
    pub mode: ShuffleMode,
    /// The result.
    pub dst: Register,
    /// Whether the lane was in range.
    pub in_range: Option<Register>,
    /// What is offered to others.
    pub source: Operand,
    /// The lane, or the distance.
    pub lane: Operand,
    /// The clamp in bits 0 to 4 and the segment mask in bits 8 to 12.
    pub clamp: Operand,
    /// The lanes that take part.
    pub members: Operand,
}

impl Form for Shuffle {
    const NAMES: &'static [&'static str] = &["shfl.sync"];

    fn print(&self, out: &mut Printer) {
        out.name("shfl.sync").modifier(self.mode).word("b32").pair(Some(self.dst), self.in_range);
        out.operands(&[self.source, self.lane, self.clamp, self.members]);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Shuffle> {
        let mode = name.require("a mode")?;
        name.expect("b32")?;
        let (dst, in_range) = operands.pair()?;
        let dst = dst.ok_or_else(|| operands.unexpected("a register before"))?;
        let [source, lane, clamp, members] = operands.operands()?;
        Ok(Shuffle { mode, dst, in_range, source, lane, clamp, members })
    }
}

modifier! {
    /// What is asked of the lanes' predicates.
    VoteMode {
        All = "all",
        Any = "any",
        /// All the same.
        Uniform = "uni",
        /// A bit for each lane.
        Ballot = "ballot",
    }
}

/// `vote.sync`: a question about the predicate of all lanes.
#[derive(Clone, Debug, PartialEq)]
pub struct Vote {
    /// The question.
    pub mode: VoteMode,
    /// The answer: a predicate, or 32 bits for a ballot.
    pub dst: Register,
    /// The predicate.
    pub predicate: Predicate,
    /// The lanes that take part.
    pub members: Operand,
}

impl Form for Vote {
    const NAMES: &'static [&'static str] = &["vote.sync"];

    fn print(&self, out: &mut Printer) {
        let ty = if self.mode == VoteMode::Ballot { Type::B32 } else { Type::Pred };
        out.name("vote.sync").modifier(self.mode).modifier(ty);
        out.operand(self.dst).predicate(self.predicate).operand(self.members);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Vote> {
        let mode = name.require("a mode")?;
        name.expect(if mode == VoteMode::Ballot { "b32" } else { "pred" })?;
        let dst = operands.register()?;
        Ok(Vote { mode, dst, predicate: operands.predicate()?, members: operands.operand()? })
    }
}

/// `match.sync`: the lanes that hold the same value.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// Whether all must; then `agreed` tells whether they do.
    pub all: bool,
    /// `B32` or `B64`.
    pub ty: Type,
    /// The lanes.
    pub dst: Register,
    /// Whether all agree.
    pub agreed: Option<Register>,
    /// The value.
    pub value: Operand,
    /// The lanes that take part.
    pub members: Operand,
}

impl Form for Match {
    const NAMES: &'static [&'static str] = &["match.any.sync", "match.all.sync"];

    fn print(&self, out: &mut Printer) {
        out.name(if self.all { "match.all.sync" } else { "match.any.sync" }).modifier(self.ty);
        out.pair(Some(self.dst), self.agreed).operand(self.value).operand(self.members);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Match> {
        let all = name.prefix == "match.all.sync";
        let ty = name.require("a type")?;
        let (dst, agreed) = operands.pair()?;
        let dst = dst.ok_or_else(|| operands.unexpected("a register before"))?;
        Ok(Match { all, ty, dst, agreed, value: operands.operand()?, members: operands.operand()? })
    }
}

modifier! {
    /// What joins the lanes' values.
    WarpReduceOp {
        Add = "add",
        Min = "min",
        Max = "max",
        And = "and",
        Or = "or",
        Xor = "xor",
    }
}

/// `redux.sync`: the values of all lanes joined, given to all.
#[derive(Clone, Debug, PartialEq)]
pub struct WarpReduce {
    /// The operation.
    pub op: WarpReduceOp,
    /// Whether magnitudes are compared, for `F32`.
    pub absolute: bool,
    /// Whether NaN is passed on, for `F32`.
    pub propagate_nan: bool,
    /// `S32`, `U32`, `B32` or `F32`.
    pub ty: Type,
    /// The result.
    pub dst: Register,
    /// The value.
    pub source: Register,
    /// The lanes that take part.
    pub members: Operand,
}

impl Form for WarpReduce {
    const NAMES: &'static [&'static str] = &["redux.sync"];

    fn print(&self, out: &mut Printer) {
        out.name("redux.sync").modifier(self.op).flag(self.absolute, "abs").flag(self.propagate_nan, "NaN");
        out.modifier(self.ty).operand(self.dst).operand(self.source).operand(self.members);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<WarpReduce> {
        let op = name.require("an operation")?;
        let (absolute, propagate_nan) = (name.flag("abs"), name.flag("NaN"));
        let ty = name.require("a type")?;
        let (dst, source) = (operands.register()?, operands.register()?);
        Ok(WarpReduce { op, absolute, propagate_nan, ty, dst, source, members: operands.operand()? })
    }

    fn requirement(&self) -> Requirement {
        Requirement::only(100, 8, 6).when(self.ty == Type::F32)
    }
}

/// `activemask`: the lanes that execute the instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveMask {
    /// The lanes.
    pub dst: Register,
}

impl Form for ActiveMask {
    const NAMES: &'static [&'static str] = &["activemask.b32"];

    fn print(&self, out: &mut Printer) {
        out.name("activemask.b32").operand(self.dst);
    }

    fn parse(_: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<ActiveMask> {
        Ok(ActiveMask { dst: operands.register()? })
    }
}

/// `elect.sync`: one lane of those that take part, the same each time.
#[derive(Clone, Debug, PartialEq)]
pub struct Elect {
    /// Its number, if wanted.
    pub lane: Option<Register>,
    /// Whether it is this one.
    pub elected: Register,
    /// The lanes that take part.
    pub members: Operand,
}

impl Form for Elect {
    const NAMES: &'static [&'static str] = &["elect.sync"];

    fn print(&self, out: &mut Printer) {
        out.name("elect.sync").pair(self.lane, Some(self.elected)).operand(self.members);
    }

    fn parse(_: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Elect> {
        let (lane, elected) = operands.pair()?;
        let elected = elected.ok_or_else(|| operands.unexpected("a predicate after `|`"))?;
        Ok(Elect { lane, elected, members: operands.operand()? })
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(90, 8, 0)
    }
}
