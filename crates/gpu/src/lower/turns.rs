//! Turns: warpgroups that multiply one after the other.
//!
//! Where products take turns with other work, such as those of attention with its exponentials, warpgroups that do the same at the same time
//! leave the tensor cores idle while all of them compute. So each issues its products when it is its turn, and passes it on:
//! the next one's products wait in the tensor cores while this one's results come out.
//!
//! ```text
//! group 0   products | other work           | products | other work
//! group 1            | products | other work           | products | ...
//! ```
//!
//! So do groups that read a product's left operand from its tile: one reads while the other multiplies (tf32 of 4096 x 4096 x 4096 in tiles of 128 x 128 x 64
//! on an H200: 316 -> 329 TFLOP/s).
//!
//! Group `g` waits at barrier `1 + g` of the block, at which the group before it arrives.

use super::Lowering;
use super::emit::holds;
use tegula_ptx::{Barrier, BarrierAction, Comparison, Operand, Register, Type};

/// The warps of a warpgroup.
const GROUP_WARPS: u32 = 4;
/// The threads that meet at a barrier: those of two groups.
const MEETING: i64 = 2 * GROUP_WARPS as i64 * 32;

impl Lowering<'_> {
    /// The first group has the first turn. Returns whether there are others to take turns with.
    pub(super) fn begin_turns(&mut self) -> bool {
        if self.groups() < 2 {
            return false;
        }
        let last = self.is_group(self.groups() - 1);
        self.code.push_if(Some(holds(last)), meeting(BarrierAction::Arrive, Operand::Integer(1)));
        true
    }

    /// Waits until it is this group's turn.
    pub(super) fn take_turn(&mut self) {
        if self.groups() < 2 {
            return;
        }
        let own = self.barrier_of_group(0);
        self.code.push(meeting(BarrierAction::Sync, own.into()));
    }

    /// Gives the turn to the next group.
    pub(super) fn pass_turn(&mut self) {
        if self.groups() < 2 {
            return;
        }
        let next = self.barrier_of_group(1);
        self.code.push(meeting(BarrierAction::Arrive, next.into()));
    }

    /// The first group takes the turn that the last one has passed on: no barrier is left half full.
    pub(super) fn end_turns(&mut self) {
        if self.groups() < 2 {
            return;
        }
        let first = self.is_group(0);
        self.code.push_if(Some(holds(first)), meeting(BarrierAction::Sync, Operand::Integer(1)));
    }

    fn groups(&self) -> u32 {
        self.options.num_warps / GROUP_WARPS
    }

    /// The number of this thread's group.
    fn group(&mut self) -> Register {
        let bits = self.options.num_warps.ilog2();
        let warps = (0..bits).map(|bit| (1u64 << bit) / u64::from(GROUP_WARPS));
        let terms: Vec<u64> = std::iter::repeat_n(0, 5).chain(warps).collect();
        self.of_warp(&terms)
    }

    fn is_group(&mut self, number: u32) -> Register {
        let group = self.group();
        self.code.in_prologue(|code| {
            code.compare(Comparison::Equal, Type::U32, group.into(), Operand::Integer(number.into()))
        })
    }

    /// The barrier of the group that comes so many after this one, in a circle.
    fn barrier_of_group(&mut self, after: u32) -> Register {
        let group = self.group();
        let mask = Operand::Integer(i64::from(self.groups() - 1));
        self.code.in_prologue(|code| {
            let math =
                |code: &mut super::emit::Emitter, op, ty, a: Register, b| code.math(op, ty, &[a.into(), b]);
            let sum = math(code, tegula_ptx::MathOp::Add, Type::U32, group, Operand::Integer(after.into()));
            let number = math(code, tegula_ptx::MathOp::And, Type::B32, sum, mask);
            math(code, tegula_ptx::MathOp::Add, Type::U32, number, Operand::Integer(1))
        })
    }
}

fn meeting(action: BarrierAction, id: Operand) -> Barrier {
    Barrier { action, aligned: true, id, threads: Some(Operand::Integer(MEETING)) }
}
