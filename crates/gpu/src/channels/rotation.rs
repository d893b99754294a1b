//! Rotated loops: the first product of an iteration is issued ahead of the last one of the iteration before.
//!
//! The body of attention is a product, what is computed of its result, and a product of that. One after the other, the tensor cores
//! idle while the rest is computed. So the loop is cut before its last product, the *trailing* one, and the pieces are put together the other
//! way round: the first product, the *leading* one, does not wait for anything that the loop carries.
//!
//! ```text
//! s = a @ k[i]                      if the loop runs: s = a @ k[0];  p, sum = f(s, sum)
//! p, sum = f(s, sum)          =>    for i from 1:     s = a @ k[i];  sum = sum + p @ v[i - 1];  p, sum = f(s, sum)
//! sum = sum + p @ v[i]                                                sum = sum + p @ v[last]
//! ```
//!
//! Both products are in flight together, and `f` runs as soon as the leading one is over, as far as it does not need the sum. A stage
//! of the ring holds what a turn of the new loop reads: `k[i]` and `v[i - 1]`.
//!
//! That pays where the products take long, and longer than `f`: a turn has one more wait, and what computes more than it multiplies
//! hides nothing. Measured on an H200, in TFLOP/s of attention with tiles of 128 rows by 8 warps, as they are and rotated:
//!
//! ```text
//! head 128, 128 keys   616 -> 646   2048 cycles of products, 928 of other instructions
//! head 128, 64 keys    520 -> 487   1024, 544
//! head 64, 128 keys    402 -> 390   1024, 864
//! head 64, 64 keys     446 -> 423   512, 480
//! ```

use super::{LoopPlan, every_op};
use crate::Options;
use crate::layouts::{Assignment, Operand, Unit};
use crate::users::{User, Users};
use rustc_hash::FxHashSet;
use tegula_ir::{Function, Op, OpId, RegionId, Value, ValueDef};

/// Registers that a thread has, at most (PTX ISA, "Performance-Tuning Directives").
const MOST_REGISTERS: u32 = 255;
/// Registers of a multiprocessor.
const REGISTERS: u32 = 65536;
/// What a thread needs beside the results of the products and the operand of the trailing one: addresses, counters, row
/// statistics, and what is being computed.
const WORKING_REGISTERS: u32 = 48;

/// Multiplications of 16-bit numbers that a multiprocessor of sm_90 does in a cycle (`wgmma.m64n256k16` takes 128).
const MULTIPLICATIONS: u64 = 2048;
/// Cycles of products in an iteration from which on a turn is worth its waits.
const LONG_PRODUCTS: u64 = 1536;
/// The warps that issue an instruction each in a cycle: one a scheduler.
const SCHEDULERS: u64 = 4;

/// How a loop is rotated.
#[derive(Clone, Debug)]
pub(crate) struct Rotation {
    pub leading: OpId,
    pub trailing: OpId,
    /// The place of the trailing product's result among the carried values.
    pub place: usize,
    /// The operations between the products that do not need the sum, in order.
    pub early: Vec<OpId>,
    /// Those that come when the trailing product of the iteration before is over.
    pub late: Vec<OpId>,
    /// The loads that the trailing product reads.
    pub trailing_loads: Vec<OpId>,
}

/// The parts of a loop that a rotation is found in.
pub(super) struct Candidate<'a> {
    pub function: &'a Function,
    pub body: RegionId,
    pub layouts: &'a Assignment,
    pub users: &'a Users,
    pub options: &'a Options,
    pub plan: &'a LoopPlan,
}

impl Candidate<'_> {
    /// The rotation of a loop whose tiles the hardware fills, and whose `trailing` product goes to the carried value at `place`.
    pub fn rotation(&self, trailing: OpId, place: usize) -> Option<Rotation> {
        let &Candidate { function, body, layouts, plan, .. } = self;
        let region = function.region(body);
        let products: Vec<OpId> =
            region.ops.iter().copied().filter(|op| layouts.products.contains_key(op)).collect();
        let &[leading, last] = &products[..] else { return None };
        if last != trailing || !plan.private.is_empty() || plan.copies.is_empty() {
            return None;
        }
        let leads = self.leads(leading);
        let is_quiet = every_op(function, body, &mut |op| {
            let op = &function.op(op).op;
            op.is_pure() || matches!(op, Op::Load { .. })
        });
        if !leads || !is_quiet || !self.trails(trailing) || !self.fits(leading, trailing) {
            return None;
        }
        let loads_of = |product: OpId| -> Vec<OpId> {
            layouts.products[&product].staged().map(|(staged, _)| staged.load).collect()
        };
        let trailing_loads = loads_of(trailing);
        let in_loop = |load: &OpId| plan.tiles.iter().any(|(other, _)| other == load);
        if loads_of(leading).iter().any(|load| trailing_loads.contains(load))
            || !trailing_loads.iter().all(in_loop)
        {
            return None;
        }
        let between: Vec<OpId> = (region.ops.iter().copied())
            .filter(|op| !plan.slice.only.contains(op) && *op != leading && *op != trailing)
            .filter(|op| plan.tiles.iter().all(|(load, _)| load != op))
            .collect();
        let products: u64 = [leading, trailing].iter().map(|&op| self.product_cycles(op)).sum();
        let rest: u64 = between.iter().map(|&op| self.issue_cycles(op)).sum();
        if products < LONG_PRODUCTS || 2 * products < 3 * rest {
            return None;
        }
        let is_late = self.late(&between, region.args[place + 1], trailing);
        let (late, early) = between.into_iter().partition(|op| is_late.contains(op));
        Some(Rotation { leading, trailing, place, early, late, trailing_loads })
    }

    /// Whether a product can be computed at the start of an iteration: by `wgmma`, from tiles and from values from outside.
    fn leads(&self, product: OpId) -> bool {
        let Op::Dot { lhs, rhs, accumulator, .. } = self.function.op(product).op else { return false };
        let plan = &self.layouts.products[&product];
        let is_ready = |(value, source): &(Value, &Operand)| match source {
            Operand::Staged { .. } => true,
            Operand::Fragment { .. } => self.is_outside(*value),
            Operand::Read { .. } | Operand::Stored { .. } | Operand::Scratch { .. } => false,
        };
        matches!(plan.unit, Unit::Warpgroup { .. })
            && plan.operands(lhs, rhs).iter().all(is_ready)
            && accumulator.is_none_or(|sum| self.is_outside(sum))
    }

    /// Whether a product takes its left operand from registers and its right one from a tile.
    fn trails(&self, product: OpId) -> bool {
        let plan = &self.layouts.products[&product];
        matches!(plan.unit, Unit::Warpgroup { .. })
            && matches!(plan.lhs, Operand::Fragment { .. })
            && matches!(plan.rhs, Operand::Staged { .. })
    }

    fn is_outside(&self, value: Value) -> bool {
        match self.function.value(value).def {
            ValueDef::Param(_) => true,
            ValueDef::RegionArg { region, .. } => region != self.body,
            ValueDef::Result { op, .. } => !self.function.region(self.body).ops.contains(&op),
        }
    }

    /// Whether both results and the trailing product's operand fit into the registers of a thread, beside all else.
    fn fits(&self, leading: OpId, trailing: OpId) -> bool {
        let registers = |layout, bytes: u32| (self.layouts.set.registers(layout) as u32 * bytes).div_ceil(4);
        let sums = [leading, trailing].map(|op| registers(self.layouts.products[&op].accumulator_id, 4));
        let Op::Dot { lhs, rhs, .. } = self.function.op(trailing).op else { return false };
        let [(left, source), _] = self.layouts.products[&trailing].operands(lhs, rhs);
        let Operand::Fragment { id, .. } = source else { return false };
        let words = registers(*id, self.function.ty(left).element.bytes());
        let room = (REGISTERS / (self.options.num_warps * 32)).min(MOST_REGISTERS);
        let room = self.options.max_registers.map_or(room, |most| most.min(room));
        sums.iter().sum::<u32>() + words + WORKING_REGISTERS <= room
    }

    /// The cycles for which a product keeps the tensor cores busy.
    fn product_cycles(&self, product: OpId) -> u64 {
        let Op::Dot { lhs, .. } = self.function.op(product).op else { return 0 };
        let (left, result) = (self.function.ty(lhs), self.function.ty(self.function.op(product).results[0]));
        let depth = u64::from(left.shape.last().copied().unwrap_or(1));
        let multiplications: u64 =
            result.shape.iter().map(|&extent| u64::from(extent)).product::<u64>() * depth;
        multiplications * u64::from(left.element.bytes()) / 2 / MULTIPLICATIONS
    }

    /// The cycles in which a scheduler issues an operation, one instruction for each element that a thread holds.
    fn issue_cycles(&self, op: OpId) -> u64 {
        let data = &self.function.op(op);
        let held =
            |value: Value| self.layouts.home_of(value).map_or(1, |home| self.layouts.set.registers(home));
        let mut most = data.results.iter().map(|&result| held(result)).max().unwrap_or(0);
        if matches!(data.op, Op::Reduce { .. }) {
            data.op.for_each_operand(|value| most = most.max(held(value)));
        }
        most as u64 * u64::from(self.options.num_warps) / SCHEDULERS
    }

    /// Of some operations, those that depend on the carried sum, and the conversion that makes the trailing product's operand: it is written where
    /// the product before still reads.
    fn late(&self, ops: &[OpId], sum: Value, trailing: OpId) -> FxHashSet<OpId> {
        let function = self.function;
        let mut late: FxHashSet<OpId> = FxHashSet::default();
        let Op::Dot { lhs, rhs, .. } = function.op(trailing).op else { return late };
        let [(left, _), _] = self.layouts.products[&trailing].operands(lhs, rhs);
        if let ValueDef::Result { op, .. } = function.value(left).def
            && matches!(function.op(op).op, Op::Cast { .. })
            && self.users.of(left) == [User::Op(trailing)]
        {
            late.insert(op);
        }
        for &op in ops {
            let mut depends = false;
            function.op(op).op.for_each_operand(|value| {
                depends |= value == sum;
                if let ValueDef::Result { op, .. } = function.value(value).def {
                    depends |= late.contains(&op);
                }
            });
            if depends {
                late.insert(op);
            }
        }
        late
    }
}
