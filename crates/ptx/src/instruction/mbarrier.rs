//! mbarriers: barriers in shared memory that count arrivals and bytes.
//!
//! A channel is a ring of stages with two of them each: one that the filler completes (through
//! [`MbarrierArriveOp::ArriveExpectTransaction`] and the bytes of bulk copies, or through
//! [`MbarrierAsyncArrive`]), and one that the readers complete by arriving.

use super::Form;
use super::memory::space_requirement;
use crate::parse::{Name, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;
use crate::{Address, Modifier, Operand, Ordering, Register, Scope, Space};

/// `mbarrier.init`: an mbarrier that expects `count` arrivals a phase.
#[derive(Clone, Debug, PartialEq)]
pub struct MbarrierInit {
    /// The space, `Shared` or `SharedCta`.
    pub space: Space,
    /// The mbarrier, 8 bytes.
    pub address: Address,
    /// The arrivals of a phase.
    pub count: Operand,
}

impl Form for MbarrierInit {
    const NAMES: &'static [&'static str] = &["mbarrier.init"];

    fn print(&self, out: &mut Printer) {
        out.name("mbarrier.init").modifier(self.space).word("b64").address(&self.address).operand(self.count);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<MbarrierInit> {
        let space = name.require("a space")?;
        name.expect("b64")?;
        Ok(MbarrierInit { space, address: operands.address()?, count: operands.operand()? })
    }

    fn requirement(&self) -> Requirement {
        space_requirement(Some(self.space))
    }
}

/// `mbarrier.inval`: the memory may be used for something else.
#[derive(Clone, Debug, PartialEq)]
pub struct MbarrierInvalidate {
    /// The space, `Shared` or `SharedCta`.
    pub space: Space,
    /// The mbarrier.
    pub address: Address,
}

impl Form for MbarrierInvalidate {
    const NAMES: &'static [&'static str] = &["mbarrier.inval"];

    fn print(&self, out: &mut Printer) {
        out.name("mbarrier.inval").modifier(self.space).word("b64").address(&self.address);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<MbarrierInvalidate> {
        let space = name.require("a space")?;
        name.expect("b64")?;
        Ok(MbarrierInvalidate { space, address: operands.address()? })
    }

    fn requirement(&self) -> Requirement {
        space_requirement(Some(self.space))
    }
}

/// `mbarrier.expect_tx` and `complete_tx`: bytes added to, or taken from, what the phase waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct MbarrierTransaction {
    /// Whether the bytes are complete, rather than expected.
    pub complete: bool,
    /// The threads that observe it.
    pub scope: Scope,
    /// The space, `SharedCta` or `SharedCluster`.
    pub space: Space,
    /// The mbarrier.
    pub address: Address,
    /// The bytes.
    pub bytes: Operand,
}

impl Form for MbarrierTransaction {
    const NAMES: &'static [&'static str] = &["mbarrier.expect_tx", "mbarrier.complete_tx"];

    fn print(&self, out: &mut Printer) {
        out.name(Self::NAMES[usize::from(self.complete)]).word("relaxed").modifier(self.scope);
        out.modifier(self.space).word("b64").address(&self.address).operand(self.bytes);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<MbarrierTransaction> {
        let complete = name.prefix == Self::NAMES[1];
        name.expect("relaxed")?;
        let (scope, space) = (name.require("a scope")?, name.require("a space")?);
        name.expect("b64")?;
        let address = operands.address()?;
        Ok(MbarrierTransaction { complete, scope, space, address, bytes: operands.operand()? })
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(90, 8, 0)
    }
}

modifier! {
    /// What an arrival does besides.
    MbarrierArriveOp {
        Arrive = "arrive",
        /// Expects the operand's bytes before it arrives.
        ArriveExpectTransaction = "arrive.expect_tx",
        /// Expects one arrival fewer in all later phases.
        ArriveDrop = "arrive_drop",
    }
}

/// `mbarrier.arrive` and its kin.
#[derive(Clone, Debug, PartialEq)]
pub struct MbarrierArrive {
    /// What is done besides.
    pub op: MbarrierArriveOp,
    /// The memory ordering; none is release.
    pub ordering: Option<Ordering>,
    /// The threads of the ordering; none is the block.
    pub scope: Option<Scope>,
    /// The space: `Shared`, `SharedCta`, or `SharedCluster`.
    pub space: Space,
    /// The phase that was arrived at, 64 bits; it cannot be known of another block's mbarrier.
    pub state: Option<Register>,
    /// The mbarrier.
    pub address: Address,
    /// The bytes expected, or the number of arrivals (one if absent).
    pub count: Option<Operand>,
}

impl Form for MbarrierArrive {
    const NAMES: &'static [&'static str] =
        &["mbarrier.arrive", "mbarrier.arrive.expect_tx", "mbarrier.arrive_drop"];

    fn print(&self, out: &mut Printer) {
        out.name("mbarrier").modifier(self.op).optional(self.ordering).optional(self.scope);
        out.modifier(self.space)
            .word("b64")
            .sink(self.state)
            .address(&self.address)
            .optional_operand(self.count);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<MbarrierArrive> {
        let op = name.prefix.split_once('.').and_then(|(_, op)| MbarrierArriveOp::from_text(op));
        let op = op.ok_or_else(|| name.unexpected("an arrival"))?;
        let (ordering, scope) = (name.take(), name.take());
        let space = name.require("a space")?;
        name.expect("b64")?;
        let (state, address) = (operands.sink()?, operands.address()?);
        Ok(MbarrierArrive { op, ordering, scope, space, state, address, count: operands.optional_operand()? })
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(90, 8, 0)
            .when(
                self.op == MbarrierArriveOp::ArriveExpectTransaction
                    || self.ordering.is_some()
                    || self.scope.is_some()
                    || self.space == Space::SharedCluster,
            )
            .and(Requirement::from(90, 7, 8).when(self.count.is_some() || self.state.is_none()))
            .and(space_requirement(Some(self.space)))
    }
}

/// The phase that a wait waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    /// The one that an arrival returned.
    State(Register),
    /// The last one of this parity.
    Parity(Operand),
}

/// `mbarrier.test_wait` and `try_wait`: whether a phase is complete.
#[derive(Clone, Debug, PartialEq)]
pub struct MbarrierWait {
    /// Whether the thread may be suspended for a while (`try_wait`).
    pub suspend: bool,
    /// The memory ordering; none is acquire.
    pub ordering: Option<Ordering>,
    /// The threads of the ordering; none is the block.
    pub scope: Option<Scope>,
    /// The space, `Shared` or `SharedCta`.
    pub space: Space,
    /// Whether the phase is complete.
    pub complete: Register,
    /// The mbarrier.
    pub address: Address,
    /// The phase.
    pub phase: Phase,
    /// How long to suspend, in nanoseconds.
    pub time: Option<Operand>,
}

impl Form for MbarrierWait {
    const NAMES: &'static [&'static str] = &["mbarrier.test_wait", "mbarrier.try_wait"];

    fn print(&self, out: &mut Printer) {
        out.name(Self::NAMES[usize::from(self.suspend)]);
        out.flag(matches!(self.phase, Phase::Parity(_)), "parity")
            .optional(self.ordering)
            .optional(self.scope);
        out.modifier(self.space).word("b64").operand(self.complete).address(&self.address);
        match self.phase {
            Phase::State(state) => out.operand(state),
            Phase::Parity(parity) => out.operand(parity),
        };
        out.optional_operand(self.time);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<MbarrierWait> {
        let suspend = name.prefix == Self::NAMES[1];
        let parity = name.flag("parity");
        let (ordering, scope) = (name.take(), name.take());
        let space = name.require("a space")?;
        name.expect("b64")?;
        let (complete, address) = (operands.register()?, operands.address()?);
        let phase =
            if parity { Phase::Parity(operands.operand()?) } else { Phase::State(operands.register()?) };
        let time = operands.optional_operand()?;
        Ok(MbarrierWait { suspend, ordering, scope, space, complete, address, phase, time })
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(80, 8, 0)
            .when(self.ordering.is_some() || self.scope.is_some())
            .and(Requirement::from(90, 8, 0).when(self.scope == Some(Scope::Cluster)))
            .and(Requirement::from(90, 7, 8).when(self.suspend))
            .and(Requirement::from(80, 7, 1).when(matches!(self.phase, Phase::Parity(_))))
            .and(space_requirement(Some(self.space)))
    }
}

/// `cp.async.mbarrier.arrive`: arrives when all the thread's earlier `cp.async` are done.
#[derive(Clone, Debug, PartialEq)]
pub struct MbarrierAsyncArrive {
    /// Whether the arrival is one of those that the phase expects, rather than one more.
    pub expected: bool,
    /// The space, `Shared` or `SharedCta`.
    pub space: Space,
    /// The mbarrier.
    pub address: Address,
}

impl Form for MbarrierAsyncArrive {
    const NAMES: &'static [&'static str] = &["cp.async.mbarrier.arrive"];

    fn print(&self, out: &mut Printer) {
        out.name("cp.async.mbarrier.arrive").flag(self.expected, "noinc").modifier(self.space).word("b64");
        out.address(&self.address);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<MbarrierAsyncArrive> {
        let expected = name.flag("noinc");
        let space = name.require("a space")?;
        name.expect("b64")?;
        Ok(MbarrierAsyncArrive { expected, space, address: operands.address()? })
    }

    fn requirement(&self) -> Requirement {
        space_requirement(Some(self.space))
    }
}
