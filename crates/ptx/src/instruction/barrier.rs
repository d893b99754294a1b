//! Barriers of the block, the warp and the cluster, and memory fences.

use super::Form;
use crate::parse::{Name, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;
use crate::{Address, Operand, Predicate, Register, Scope, Type};

modifier! {
    /// Whether a barrier is waited for.
    BarrierAction {
        Sync = "sync",
        Arrive = "arrive",
    }
}

/// `bar` and `barrier`: one of the 16 barriers of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Barrier {
    /// Whether it is waited for.
    pub action: BarrierAction,
    /// Whether all lanes of a warp execute it together (`bar`, which is `barrier.aligned`).
    pub aligned: bool,
    /// Its number.
    pub id: Operand,
    /// The threads that take part; all if absent.
    pub threads: Option<Operand>,
}

impl Barrier {
    /// All threads of the block wait for one another.
    pub fn block() -> Barrier {
        Barrier { action: BarrierAction::Sync, aligned: true, id: Operand::Integer(0), threads: None }
    }
}

impl Form for Barrier {
    const NAMES: &'static [&'static str] = &["bar", "barrier"];

    fn print(&self, out: &mut Printer) {
        out.name(if self.aligned { "bar" } else { "barrier" }).modifier(self.action);
        out.operand(self.id).optional_operand(self.threads);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Barrier> {
        let action = name.require("`.sync` or `.arrive`")?;
        let aligned = name.flag("aligned") | (name.prefix == "bar");
        Ok(Barrier { action, aligned, id: operands.operand()?, threads: operands.optional_operand()? })
    }
}

modifier! {
    /// What a reducing barrier does with the predicates.
    BarrierReduction {
        And = "and",
        Or = "or",
        /// Counts those that hold.
        Count = "popc",
    }
}

/// `bar.red`: a barrier that joins a predicate of all threads.
#[derive(Clone, Debug, PartialEq)]
pub struct BarrierReduce {
    /// What is done with the predicates.
    pub reduction: BarrierReduction,
    /// The result: a predicate, or 32 bits for a count.
    pub dst: Register,
    /// The barrier's number.
    pub id: Operand,
    /// The threads that take part; all if absent.
    pub threads: Option<Operand>,
    /// The predicate.
    pub predicate: Predicate,
}

impl Form for BarrierReduce {
    const NAMES: &'static [&'static str] = &["bar.red"];

    fn print(&self, out: &mut Printer) {
        let ty = if self.reduction == BarrierReduction::Count { Type::U32 } else { Type::Pred };
        out.name("bar.red").modifier(self.reduction).modifier(ty);
        out.operand(self.dst).operand(self.id).optional_operand(self.threads).predicate(self.predicate);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<BarrierReduce> {
        let reduction = name.require("a reduction")?;
        name.expect(if reduction == BarrierReduction::Count { "u32" } else { "pred" })?;
        let (dst, id) = (operands.register()?, operands.operand()?);
        let threads = operands.operand_when(!operands.operand_is_predicate())?;
        Ok(BarrierReduce { reduction, dst, id, threads, predicate: operands.predicate()? })
    }
}

/// `bar.warp.sync`: lanes of a warp wait for one another, and see one another's writes.
#[derive(Clone, Debug, PartialEq)]
pub struct WarpBarrier {
    /// The lanes that take part.
    pub members: Operand,
}

impl Form for WarpBarrier {
    const NAMES: &'static [&'static str] = &["bar.warp.sync"];

    fn print(&self, out: &mut Printer) {
        out.name("bar.warp.sync").operand(self.members);
    }

    fn parse(_: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<WarpBarrier> {
        Ok(WarpBarrier { members: operands.operand()? })
    }
}

modifier! {
    /// The halves of the cluster's barrier, with their memory ordering.
    ClusterBarrier {
        Arrive = "arrive",
        ArriveRelaxed = "arrive.relaxed",
        Wait = "wait",
    }
}

impl Form for ClusterBarrier {
    const NAMES: &'static [&'static str] = &["barrier.cluster"];

    fn print(&self, out: &mut Printer) {
        out.name("barrier.cluster").modifier(*self).word("aligned");
    }

    fn parse(name: &mut Name<'_>, _: &mut Parser<'_>) -> Result<ClusterBarrier> {
        let barrier = match name.word("`.arrive` or `.wait`")? {
            "wait" => ClusterBarrier::Wait,
            "arrive" if name.flag("relaxed") => ClusterBarrier::ArriveRelaxed,
            "arrive" => ClusterBarrier::Arrive,
            _ => return Err(name.unexpected("`.arrive` or `.wait` before")),
        };
        name.expect("aligned")?;
        Ok(barrier)
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(
            90,
            if *self == ClusterBarrier::ArriveRelaxed { 8 } else { 7 },
            if *self == ClusterBarrier::ArriveRelaxed { 0 } else { 8 },
        )
    }
}

/// `fence`: an order of a thread's memory operations.
#[derive(Clone, Debug, PartialEq)]
pub enum Fence {
    /// `fence.acq_rel`: of what is before with what is after, for a scope.
    AcquireRelease(Scope),
    /// `fence.sc`: in one total order of all such fences.
    SequentiallyConsistent(Scope),
    /// `fence.proxy.async`: of ordinary accesses with those of bulk copies and `wgmma`. `space` limits it to
    /// global or shared memory.
    AsyncProxy {
        /// The space; all if absent.
        space: Option<crate::Space>,
    },
    /// `fence.proxy.alias`: of accesses through different addresses of one place.
    AliasProxy,
    /// `fence.mbarrier_init`: of the initialisation of mbarriers, for the cluster.
    MbarrierInit,
    /// `fence.proxy.tensormap` with `.release`: of writes to a tensor map before.
    TensorMapRelease(Scope),
    /// `fence.proxy.tensormap` with `.acquire`: of uses of the 128 bytes of a tensor map after.
    TensorMapAcquire(Scope, Address),
}

impl Form for Fence {
    const NAMES: &'static [&'static str] = &["fence"];

    fn print(&self, out: &mut Printer) {
        out.name("fence");
        match self {
            Fence::AcquireRelease(scope) => out.word("acq_rel").modifier(*scope),
            Fence::SequentiallyConsistent(scope) => out.word("sc").modifier(*scope),
            Fence::AsyncProxy { space } => out.word("proxy.async").optional(*space),
            Fence::AliasProxy => out.word("proxy.alias"),
            Fence::MbarrierInit => out.word("mbarrier_init.release.cluster"),
            Fence::TensorMapRelease(scope) => out.word("proxy.tensormap::generic.release").modifier(*scope),
            Fence::TensorMapAcquire(scope, address) => out
                .word("proxy.tensormap::generic.acquire")
                .modifier(*scope)
                .address(address)
                .operand(128_i64),
        };
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Fence> {
        match name.word("a kind of fence")? {
            "acq_rel" => Ok(Fence::AcquireRelease(name.require("a scope")?)),
            "sc" => Ok(Fence::SequentiallyConsistent(name.require("a scope")?)),
            "mbarrier_init" => {
                name.expect("release.cluster")?;
                Ok(Fence::MbarrierInit)
            }
            "proxy" if name.flag("alias") => Ok(Fence::AliasProxy),
            "proxy" if name.flag("async") => Ok(Fence::AsyncProxy { space: name.take() }),
            "proxy" => {
                name.expect("tensormap::generic")?;
                if name.flag("release") {
                    return Ok(Fence::TensorMapRelease(name.require("a scope")?));
                }
                name.expect("acquire")?;
                let scope = name.require("a scope")?;
                let address = operands.address()?;
                match operands.count::<u32>()? {
                    128 => Ok(Fence::TensorMapAcquire(scope, address)),
                    _ => Err(operands.unexpected("128, the size of a tensor map, before")),
                }
            }
            _ => Err(name.unexpected("a kind of fence before")),
        }
    }

    fn requirement(&self) -> Requirement {
        match self {
            Fence::AcquireRelease(Scope::Cluster) | Fence::SequentiallyConsistent(Scope::Cluster) => {
                Requirement::from(90, 7, 8)
            }
            Fence::AcquireRelease(_) | Fence::SequentiallyConsistent(_) => Requirement::BASE,
            Fence::AliasProxy => Requirement::from(80, 7, 5),
            Fence::AsyncProxy { .. } | Fence::MbarrierInit => Requirement::from(90, 8, 0),
            Fence::TensorMapRelease(_) | Fence::TensorMapAcquire(..) => Requirement::from(90, 8, 3),
        }
    }
}
