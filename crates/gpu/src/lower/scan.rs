//! Scans, by the bits of the axis from the lowest: at each bit, the upper half of every group takes in the total of the lower half.
//!
//! The total of a half is what its last element holds so far: in the same thread, in another lane, or, through shared memory,
//! in another warp (Sklansky, "Conditional-Sum Addition Logic", 1960). A reverse scan exchanges upper and lower.

use super::reduce::{Holder, holders};
use super::{Lowering, Result};
use crate::layouts::LayoutId;
use tegula_ir::{OpId, RegionId, Value};
use tegula_ptx::{Comparison, MathOp, Operand, Register, ShuffleMode, Type};

impl Lowering<'_> {
    pub(super) fn scan(
        &mut self,
        id: OpId,
        values: &[Value],
        axis: u8,
        reverse: bool,
        combine: RegionId,
    ) -> Result<()> {
        let function = self.function;
        let layout = self.layouts.work[&id];
        let holders = holders(self.layouts.set.get(layout), axis);
        let mut registers: Vec<Vec<Register>> =
            values.iter().map(|&value| self.block(value, layout).to_vec()).collect();
        for bit in 0..holders.len() {
            let step = Step { holders: &holders, bit, reverse, layout, axis };
            let totals = self.totals(values, &registers, &step)?;
            let valid = self.total_is_inside(values[0], &step)?;
            for register in 0..registers[0].len() {
                let takes = match holders[bit] {
                    // Which half a register is in is known now.
                    Holder::Register(own) => {
                        if (register >> own & 1 == 1) == reverse {
                            continue;
                        }
                        None
                    }
                    Holder::Lane(lane) => Some(self.is_in_target_half(1 << lane, reverse)),
                    Holder::Warp(warp) => Some(self.is_in_target_half(32 << warp, reverse)),
                };
                let takes = self.code.both(takes, valid.as_ref().map(|valid| valid[register]));
                let own: Vec<Register> = registers.iter().map(|operand| operand[register]).collect();
                let total: Vec<Register> = totals.iter().map(|operand| operand[register]).collect();
                let arguments: Vec<Register> = total.into_iter().chain(own.iter().copied()).collect();
                let joined = self.apply(combine, &arguments)?;
                for (operand, (new, old)) in registers.iter_mut().zip(joined.into_iter().zip(own)) {
                    operand[register] = match takes {
                        Some(takes) => self.code.select(new.class.declared(), takes, new.into(), old.into()),
                        None => new,
                    };
                }
            }
        }
        let results = function.op(id).results.clone();
        for (&result, column) in results.iter().zip(registers) {
            self.define_block(result, layout, column)?;
        }
        Ok(())
    }

    /// Whether this thread is in the half that takes the other's total.
    fn is_in_target_half(&mut self, mask: u64, reverse: bool) -> Register {
        let is_low = self.where_zero(mask);
        if reverse { is_low } else { self.code.math(MathOp::Not, Type::Pred, &[is_low.into()]) }
    }

    /// For each operand and register, the total of the other half of its group.
    fn totals(
        &mut self,
        values: &[Value],
        registers: &[Vec<Register>],
        step: &Step<'_>,
    ) -> Result<Vec<Vec<Register>>> {
        let (mut set, mut clear) = (Bits::default(), Bits::default());
        // The last element of the lower half: the bits below all ones, the bit itself zero. In reverse, the opposite.
        for (index, &holder) in step.holders[..=step.bit].iter().enumerate() {
            let ones = (index < step.bit) != step.reverse;
            if ones { set.add(holder) } else { clear.add(holder) }
        }
        let source = |register: usize| register & !clear.registers | set.registers;
        let count = registers[0].len();
        let mut totals: Vec<Vec<Register>> = vec![Vec::new(); registers.len()];
        if set.warps | clear.warps != 0 {
            let mut sources: Vec<usize> = (0..count).map(source).collect();
            sources.sort_unstable();
            sources.dedup();
            let mut board = self.begin_board(values, sources.len(), self.threads())?;
            let own = self.thread();
            for (slot, &register) in sources.iter().enumerate() {
                let elements: Vec<Register> = registers.iter().map(|operand| operand[register]).collect();
                board.write(self, slot, own, &elements, None);
            }
            self.publish_scratch();
            let thread = self.source_thread(&set, &clear);
            let read: Vec<Vec<Register>> =
                (0..sources.len()).map(|slot| board.read(self, slot, thread, 0)).collect();
            for register in 0..count {
                let slot = sources.binary_search(&source(register)).expect("every source has a slot");
                totals.iter_mut().zip(&read[slot]).for_each(|(total, &value)| total.push(value));
            }
            return Ok(totals);
        }
        let lane = (set.lanes | clear.lanes != 0).then(|| self.source_thread(&set, &clear));
        for (operand, &value) in values.iter().enumerate() {
            let element = self.element(value);
            let mut moved: Vec<Option<Register>> = vec![None; count];
            for register in 0..count {
                let from = source(register);
                let total = match (lane, moved[from]) {
                    (None, _) => registers[operand][from],
                    (Some(_), Some(known)) => known,
                    (Some(lane), None) => {
                        let movable = self.movable(element, registers[operand][from]);
                        let arrived = self.shuffle_register(movable, ShuffleMode::Index, lane.into());
                        let arrived = self.regained(element, arrived);
                        moved[from] = Some(arrived);
                        arrived
                    }
                };
                totals[operand].push(total);
            }
        }
        Ok(totals)
    }

    /// The thread that holds the total; as a lane, its low bits count.
    fn source_thread(&mut self, set: &Bits, clear: &Bits) -> Register {
        let thread = self.thread();
        let keep = !(clear.lanes | clear.warps << 5) & 0xffff_ffff;
        let kept = self.code.math(MathOp::And, Type::B32, &[thread.into(), Operand::Integer(keep)]);
        let ones = Operand::Integer(set.lanes | set.warps << 5);
        self.code.math(MathOp::Or, Type::B32, &[kept.into(), ones])
    }

    /// In reverse, groups of the padding have no total; `None` where there is no padding to meet.
    fn total_is_inside(&mut self, value: Value, step: &Step<'_>) -> Result<Option<Vec<Register>>> {
        let extent = u64::from(self.function.ty(value).shape[step.axis as usize]);
        if extent.is_power_of_two() || !step.reverse {
            return Ok(None);
        }
        let cleared = (1u64 << step.bit) - 1;
        let base = self.coordinate(step.layout, step.axis);
        let keep = Operand::Integer((!(cleared | 1 << step.bit) as u32).into());
        let base = self.code.math(MathOp::And, Type::B32, &[base.into(), keep]);
        let places = self.register_coordinates(step.layout, step.axis);
        let mut valid = Vec::new();
        for place in places {
            let place = place & !cleared | 1 << step.bit;
            let limit = Operand::Integer(extent as i64 - place as i64);
            valid.push(self.code.compare(Comparison::Less, Type::S32, base.into(), limit));
        }
        Ok(Some(valid))
    }
}

/// One bit of the axis, and the direction.
struct Step<'a> {
    holders: &'a [Holder],
    bit: usize,
    reverse: bool,
    layout: LayoutId,
    axis: u8,
}

/// Bits of the inputs of a layout.
#[derive(Default)]
struct Bits {
    registers: usize,
    lanes: i64,
    warps: i64,
}

impl Bits {
    fn add(&mut self, holder: Holder) {
        match holder {
            Holder::Register(bit) => self.registers |= 1 << bit,
            Holder::Lane(bit) => self.lanes |= 1 << bit,
            Holder::Warp(bit) => self.warps |= 1 << bit,
        }
    }
}
