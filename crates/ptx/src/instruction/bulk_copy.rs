//! Bulk copies: consecutive bytes, or boxes of a tensor, moved in the background by one thread's request.
//!
//! Loads complete on an mbarrier; stores in groups, as `cp.async` does.

use smallvec::SmallVec;

use super::Form;
use crate::parse::{Name, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;
use crate::{Address, Operand, Register, Type};

/// What completes a load, as the name has it.
const BY_MBARRIER: &str = "mbarrier::complete_tx::bytes";

modifier! {
    /// What a reducing copy does to global memory.
    BulkReduction {
        Add = "add",
        Min = "min",
        Max = "max",
        Increment = "inc",
        Decrement = "dec",
        And = "and",
        Or = "or",
        Xor = "xor",
    }
}

/// A copy of consecutive bytes; addresses and sizes are multiples of 16.
#[derive(Clone, Debug, PartialEq)]
pub enum BulkCopy {
    /// From global to shared memory.
    Load {
        /// The address in shared memory.
        dst: Address,
        /// The address in global memory.
        source: Address,
        /// The size.
        bytes: Operand,
        /// The mbarrier that counts the bytes.
        barrier: Address,
        /// The blocks of the cluster that receive it, a bit each; one's own if absent.
        multicast: Option<Register>,
        /// The policy of the second-level cache.
        policy: Option<Register>,
    },
    /// From shared memory to that of another block of the cluster.
    Forward {
        /// The address in the other block.
        dst: Address,
        /// The address in one's own.
        source: Address,
        /// The size.
        bytes: Operand,
        /// The mbarrier in the other block that counts the bytes.
        barrier: Address,
    },
    /// From shared to global memory.
    Store {
        /// The address in global memory.
        dst: Address,
        /// The address in shared memory.
        source: Address,
        /// The size.
        bytes: Operand,
        /// What is done instead of overwriting, and the type of the elements.
        reduction: Option<(BulkReduction, Type)>,
        /// The policy of the second-level cache.
        policy: Option<Register>,
    },
    /// From global memory into the second-level cache.
    Prefetch {
        /// The address in global memory.
        source: Address,
        /// The size.
        bytes: Operand,
        /// The policy of the second-level cache.
        policy: Option<Register>,
    },
}

impl Form for BulkCopy {
    const NAMES: &'static [&'static str] =
        &["cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.prefetch.L2.global"];

    fn print(&self, out: &mut Printer) {
        match self {
            BulkCopy::Load { dst, source, bytes, barrier, multicast, policy } => {
                out.name("cp.async.bulk.shared::cluster.global").word(BY_MBARRIER);
                out.flag(multicast.is_some(), "multicast::cluster").flag(policy.is_some(), "L2::cache_hint");
                out.address(dst).address(source).operand(*bytes).address(barrier);
                registers(out, [*multicast, *policy]);
            }
            BulkCopy::Forward { dst, source, bytes, barrier } => {
                out.name("cp.async.bulk.shared::cluster.shared::cta").word(BY_MBARRIER);
                out.address(dst).address(source).operand(*bytes).address(barrier);
            }
            BulkCopy::Store { dst, source, bytes, reduction, policy } => {
                out.name(if reduction.is_some() { "cp.reduce" } else { "cp" });
                out.word("async.bulk.global.shared::cta.bulk_group").flag(policy.is_some(), "L2::cache_hint");
                if let Some((op, ty)) = *reduction {
                    out.modifier(op).flag(without_flush(op, ty), "noftz").modifier(ty);
                }
                out.address(dst).address(source).operand(*bytes);
                registers(out, [*policy]);
            }
            BulkCopy::Prefetch { source, bytes, policy } => {
                out.name("cp.async.bulk.prefetch.L2.global").flag(policy.is_some(), "L2::cache_hint");
                out.address(source).operand(*bytes);
                registers(out, [*policy]);
            }
        }
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<BulkCopy> {
        if name.prefix == "cp.async.bulk.prefetch.L2.global" {
            let has_policy = name.flag("L2::cache_hint");
            let (source, bytes) = (operands.address()?, operands.operand()?);
            return Ok(BulkCopy::Prefetch { source, bytes, policy: operands.register_when(has_policy)? });
        }
        if name.flag("shared::cluster") {
            let forward = name.flag("shared::cta");
            if !forward {
                name.expect("global")?;
            }
            name.expect(BY_MBARRIER)?;
            let has_multicast = name.flag("multicast::cluster");
            let has_policy = name.flag("L2::cache_hint");
            let (dst, source, bytes) = (operands.address()?, operands.address()?, operands.operand()?);
            let barrier = operands.address()?;
            if forward {
                return Ok(BulkCopy::Forward { dst, source, bytes, barrier });
            }
            let multicast = operands.register_when(has_multicast)?;
            let policy = operands.register_when(has_policy)?;
            return Ok(BulkCopy::Load { dst, source, bytes, barrier, multicast, policy });
        }
        name.expect("global.shared::cta.bulk_group")?;
        let has_policy = name.flag("L2::cache_hint");
        let reduction = if name.prefix == "cp.reduce.async.bulk" {
            let op = name.require("a reduction")?;
            name.flag("noftz");
            Some((op, name.require("a type")?))
        } else {
            None
        };
        let (dst, source, bytes) = (operands.address()?, operands.address()?, operands.operand()?);
        Ok(BulkCopy::Store { dst, source, bytes, reduction, policy: operands.register_when(has_policy)? })
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(90, 8, 0)
    }
}

/// A copy of a box of a tensor that a tensor map describes, of one to five dimensions.
#[derive(Clone, Debug, PartialEq)]
pub enum BulkTensor {
    /// Into shared memory; elements outside the tensor are zeros.
    Load {
        /// The address in shared memory.
        dst: Address,
        /// The tensor map.
        map: Address,
        /// The box's first element, the fastest dimension first.
        coordinates: SmallVec<[Operand; 5]>,
        /// The mbarrier that counts the bytes.
        barrier: Address,
        /// The blocks of the cluster that receive it, a bit each; one's own if absent.
        multicast: Option<Register>,
        /// The policy of the second-level cache.
        policy: Option<Register>,
    },
    /// From shared memory.
    Store {
        /// The tensor map.
        map: Address,
        /// The box's first element, the fastest dimension first.
        coordinates: SmallVec<[Operand; 5]>,
        /// The address in shared memory.
        source: Address,
        /// What is done instead of overwriting.
        reduction: Option<BulkReduction>,
        /// The policy of the second-level cache.
        policy: Option<Register>,
    },
    /// Into the second-level cache.
    Prefetch {
        /// The tensor map.
        map: Address,
        /// The box's first element, the fastest dimension first.
        coordinates: SmallVec<[Operand; 5]>,
        /// The policy of the second-level cache.
        policy: Option<Register>,
    },
}

impl Form for BulkTensor {
    const NAMES: &'static [&'static str] =
        &["cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", "cp.async.bulk.prefetch.tensor"];

    fn print(&self, out: &mut Printer) {
        match self {
            BulkTensor::Load { dst, map, coordinates, barrier, multicast, policy } => {
                out.name("cp.async.bulk.tensor").format(format_args!(".{}d", coordinates.len()));
                out.word("shared::cluster.global.tile").word(BY_MBARRIER);
                out.flag(multicast.is_some(), "multicast::cluster").flag(policy.is_some(), "L2::cache_hint");
                out.address(dst).tensor_address(map, coordinates).address(barrier);
                registers(out, [*multicast, *policy]);
            }
            BulkTensor::Store { map, coordinates, source, reduction, policy } => {
                out.name(if reduction.is_some() { "cp.reduce" } else { "cp" });
                out.word("async.bulk.tensor").format(format_args!(".{}d", coordinates.len()));
                out.word("global.shared::cta").optional(*reduction).word("tile.bulk_group");
                out.flag(policy.is_some(), "L2::cache_hint").tensor_address(map, coordinates).address(source);
                registers(out, [*policy]);
            }
            BulkTensor::Prefetch { map, coordinates, policy } => {
                out.name("cp.async.bulk.prefetch.tensor").format(format_args!(".{}d", coordinates.len()));
                out.word("L2.global.tile").flag(policy.is_some(), "L2::cache_hint");
                out.tensor_address(map, coordinates);
                registers(out, [*policy]);
            }
        }
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<BulkTensor> {
        let dimensions = name.word("a number of dimensions")?;
        let copy = if name.prefix == "cp.async.bulk.prefetch.tensor" {
            name.expect("L2.global.tile")?;
            let has_policy = name.flag("L2::cache_hint");
            let (map, coordinates) = operands.tensor_address()?;
            BulkTensor::Prefetch { map, coordinates, policy: operands.register_when(has_policy)? }
        } else if name.flag("shared::cluster") {
            name.expect("global.tile")?;
            name.expect(BY_MBARRIER)?;
            let has_multicast = name.flag("multicast::cluster");
            let has_policy = name.flag("L2::cache_hint");
            let dst = operands.address()?;
            let (map, coordinates) = operands.tensor_address()?;
            let barrier = operands.address()?;
            let multicast = operands.register_when(has_multicast)?;
            let policy = operands.register_when(has_policy)?;
            BulkTensor::Load { dst, map, coordinates, barrier, multicast, policy }
        } else {
            name.expect("global.shared::cta")?;
            let reduction = name.take();
            name.expect("tile.bulk_group")?;
            let has_policy = name.flag("L2::cache_hint");
            let (map, coordinates) = operands.tensor_address()?;
            let source = operands.address()?;
            BulkTensor::Store {
                map,
                coordinates,
                source,
                reduction,
                policy: operands.register_when(has_policy)?,
            }
        };
        let (BulkTensor::Load { coordinates, .. }
        | BulkTensor::Store { coordinates, .. }
        | BulkTensor::Prefetch { coordinates, .. }) = &copy;
        if dimensions != format!("{}d", coordinates.len()) {
            return Err(name.unexpected("as many coordinates as dimensions"));
        }
        Ok(copy)
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(90, 8, 0)
    }
}

/// Groups of a thread's bulk stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkGroup {
    /// `cp.async.bulk.commit_group`: those since the last become one.
    Commit,
    /// `cp.async.bulk.wait_group`: until at most so many are pending.
    Wait(u32),
    /// `cp.async.bulk.wait_group.read`: until at most so many have still to read shared memory.
    WaitRead(u32),
}

impl Form for BulkGroup {
    const NAMES: &'static [&'static str] = &["cp.async.bulk.commit_group", "cp.async.bulk.wait_group"];

    fn print(&self, out: &mut Printer) {
        match self {
            BulkGroup::Commit => out.name(Self::NAMES[0]),
            BulkGroup::Wait(pending) => out.name(Self::NAMES[1]).operand(i64::from(*pending)),
            BulkGroup::WaitRead(pending) => {
                out.name(Self::NAMES[1]).word("read").operand(i64::from(*pending))
            }
        };
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<BulkGroup> {
        if name.prefix == Self::NAMES[0] {
            return Ok(BulkGroup::Commit);
        }
        Ok(if name.flag("read") {
            BulkGroup::WaitRead(operands.count()?)
        } else {
            BulkGroup::Wait(operands.count()?)
        })
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(90, 8, 0)
    }
}

/// Adds registers that may be absent.
fn registers<const N: usize>(out: &mut Printer, registers: [Option<Register>; N]) {
    for register in registers {
        out.optional_operand(register.map(Operand::Register));
    }
}

/// Halves are added with subnormals kept, which the name must say.
fn without_flush(op: BulkReduction, ty: Type) -> bool {
    op == BulkReduction::Add && matches!(ty, Type::F16 | Type::Bf16)
}
