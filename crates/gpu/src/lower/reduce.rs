//! Reductions, by the bits of the axis: each bit belongs to the registers, the lanes or the warps.
//!
//! Registers are joined in the thread, lanes by butterfly shuffles, warps through shared memory: there, each thread reads and joins
//! what belongs together, or, where the lanes of a warp have come to hold the same, each lane reads one part and the lanes join them
//! by shuffles. Where the order of the elements does not matter, registers go first; otherwise bits are taken from the lowest, so that only neighbours are joined.
//! Elements of the padding are left out: a group is joined to the one before it only if it begins inside the block.

use super::emit::holds;
use super::{Lowering, Registers, Result};
use crate::layouts::{LayoutId, register_map};
use tegula_ir::{BinaryOp, Op, OpId, RegionId, Value};
use tegula_layout::{Dim, Layout};
use tegula_ptx::{Comparison, MathOp, Operand, Predicate, Register, ShuffleMode, Type};

/// What holds a bit of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    Register(u32),
    Lane(u32),
    Warp(u32),
}

/// For each bit of an axis from the lowest, what holds it.
pub(super) fn holders(layout: &Layout, axis: u8) -> Vec<Holder> {
    let outputs = layout.outputs();
    let dim = Dim::Axis(axis);
    let find = |column: u64| {
        let position = |input| layout.columns_of(input).iter().position(|&other| other == column);
        position(Dim::Register)
            .map(|bit| Holder::Register(bit as u32))
            .or_else(|| position(Dim::Lane).map(|bit| Holder::Lane(bit as u32)))
            .or_else(|| position(Dim::Warp).map(|bit| Holder::Warp(bit as u32)))
            .expect("distributed layouts give each bit of an axis to one bit of their inputs")
    };
    (0..outputs.bits_of(dim)).map(|bit| find(outputs.put(dim, 1 << bit))).collect()
}

impl Lowering<'_> {
    pub(super) fn reduce(&mut self, id: OpId, values: &[Value], axis: u8, combine: RegionId) -> Result<()> {
        let function = self.function;
        let layout = self.layouts.work[&id];
        let distributed = self.layouts.set.get(layout).clone();
        let mut bits: Vec<(usize, Holder)> = holders(&distributed, axis).into_iter().enumerate().collect();
        if self.is_commutative(combine) {
            // Stable, so that each kind goes from its lowest bit.
            bits.sort_by_key(|(_, holder)| match holder {
                Holder::Register(_) => 0,
                Holder::Lane(_) => 1,
                Holder::Warp(_) => 2,
            });
        }
        let mut state = Partial {
            registers: values.iter().map(|&value| self.block(value, layout).to_vec()).collect(),
            elements: values.iter().map(|&value| self.element(value)).collect(),
            live: (0..self.layouts.set.registers(layout)).collect(),
            reduced: 0,
            layout,
            axis,
            extent: function.ty(values[0]).shape[axis as usize],
        };
        let mut rest = bits.as_slice();
        while let Some(&(bit, holder)) = rest.first() {
            rest = &rest[1..];
            match holder {
                Holder::Register(register) => self.reduce_register(&mut state, bit, register, combine)?,
                Holder::Lane(lane) => self.reduce_lane(&mut state, bit, lane, combine)?,
                Holder::Warp(warp) => {
                    let mut warps = vec![(bit, warp)];
                    while let Some(&(bit, Holder::Warp(warp))) = rest.first() {
                        warps.push((bit, warp));
                        rest = &rest[1..];
                    }
                    if self.lanes_agree(&state) {
                        self.reduce_warps_by_lanes(&mut state, values, &warps, combine)?;
                    } else {
                        self.reduce_warps(&mut state, values, &warps, combine)?;
                    }
                }
            }
        }
        let results = function.op(id).results.clone();
        if self.is_scalar(results[0]) {
            for (&result, registers) in results.iter().zip(&state.registers) {
                self.scalars.insert(result, registers[0]);
            }
            return Ok(());
        }
        let sliced = distributed.slice(axis).expect("the axis is the operand's");
        let target = self.layouts.set.add(&sliced);
        // Of the registers that held one group, the first has its result.
        let map = register_map(&sliced);
        for (&result, registers) in results.iter().zip(&state.registers) {
            let mut kept = vec![None; self.layouts.set.registers(target)];
            for (register, &place) in map.iter().enumerate() {
                let slot: &mut Option<Register> = &mut kept[place];
                if state.live.contains(&register) {
                    slot.get_or_insert(registers[register]);
                }
            }
            let kept: Option<Registers> = kept.into_iter().collect();
            self.define(result, target, kept.expect("each group has a first register"))?;
        }
        Ok(())
    }

    /// Whether a region's result does not depend on the order of its operands, as far as can be told at a glance.
    fn is_commutative(&self, region: RegionId) -> bool {
        let data = self.function.region(region);
        let [op] = data.ops.as_slice() else { return false };
        let Op::Binary { op, lhs, rhs } = &self.function.op(*op).op else { return false };
        let both = data.args.contains(lhs) && data.args.contains(rhs) && lhs != rhs;
        both && matches!(
            op,
            BinaryOp::Add
                | BinaryOp::Mul
                | BinaryOp::Min
                | BinaryOp::Max
                | BinaryOp::MinNan
                | BinaryOp::MaxNan
                | BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Xor
        )
    }

    /// `combine(left, right)`, or `left` where `valid` is false.
    pub(super) fn join_elements(
        &mut self,
        combine: RegionId,
        left: &[Register],
        right: &[Register],
        valid: Option<Register>,
    ) -> Result<Vec<Register>> {
        let arguments: Vec<Register> = left.iter().chain(right).copied().collect();
        let joined = self.apply(combine, &arguments)?;
        let Some(valid) = valid else { return Ok(joined) };
        let choose = |(new, &old): (Register, &Register)| {
            self.code.select(new.class.declared(), valid, new.into(), old.into())
        };
        Ok(joined.into_iter().zip(left).map(choose).collect())
    }

    fn reduce_register(
        &mut self,
        state: &mut Partial,
        bit: usize,
        register: u32,
        combine: RegionId,
    ) -> Result<()> {
        let step = 1usize << register;
        let pairs: Vec<usize> = state.live.iter().copied().filter(|one| one & step == 0).collect();
        for &low in &pairs {
            let valid = self.group_begins_inside(state, low, bit)?;
            let (left, right) = (state.of(low), state.of(low | step));
            let joined = self.join_elements(combine, &left, &right, valid)?;
            state.set(low, joined);
        }
        state.live = pairs;
        state.reduced |= 1 << bit;
        Ok(())
    }

    fn reduce_lane(&mut self, state: &mut Partial, bit: usize, lane: u32, combine: RegionId) -> Result<()> {
        let ordered = !self.is_commutative(combine);
        let is_low = self.where_zero(1 << lane);
        for register in state.live.clone() {
            let valid = self.group_begins_inside(state, register, bit)?;
            let own = state.of(register);
            let mut other = Vec::new();
            for (operand, &value) in own.iter().enumerate() {
                let element = state.elements[operand];
                let movable = self.movable(element, value);
                let mode = ShuffleMode::Butterfly;
                let moved = self.shuffle_register(movable, mode, Operand::Integer(1 << lane));
                other.push(self.regained(element, moved));
            }
            let (left, right) = if ordered || valid.is_some() {
                let mut sides = (Vec::new(), Vec::new());
                for (&own, &other) in own.iter().zip(&other) {
                    let ty = own.class.declared();
                    sides.0.push(self.code.select(ty, is_low, own.into(), other.into()));
                    sides.1.push(self.code.select(ty, is_low, other.into(), own.into()));
                }
                sides
            } else {
                (own, other)
            };
            let joined = self.join_elements(combine, &left, &right, valid)?;
            state.set(register, joined);
        }
        state.reduced |= 1 << bit;
        Ok(())
    }

    /// Whether the lanes of a warp hold the same by now, and no padding asks which element one of them stands for.
    fn lanes_agree(&self, state: &Partial) -> bool {
        let layout = self.layouts.set.get(state.layout);
        let rest = |column: &u64| {
            (0..layout.shape().len() as u8).any(|axis| {
                let place = layout.outputs().get(*column, Dim::Axis(axis));
                place != 0 && (axis != state.axis || place & !state.reduced != 0)
            })
        };
        state.extent.is_power_of_two() && !layout.columns_of(Dim::Lane).iter().any(rest)
    }

    /// The first lane of each warp writes what the warp has; each lane reads one part of its group, and a butterfly joins them.
    fn reduce_warps_by_lanes(
        &mut self,
        state: &mut Partial,
        values: &[Value],
        warps: &[(usize, u32)],
        combine: RegionId,
    ) -> Result<()> {
        let mut board = self.begin_board(values, state.live.len(), u64::from(self.options.num_warps))?;
        let own: Vec<u64> = (0..5 + self.options.num_warps.ilog2()).map(|bit| (1 << bit) >> 5).collect();
        let warp = self.of_thread(&own);
        let first = Some(holds(self.where_zero(31)));
        for (slot, &register) in state.live.iter().enumerate() {
            board.write(self, slot, warp, &state.of(register), first);
        }
        self.publish_scratch();
        // Lane bits stand for the bits of the warps that are joined; the other bits of the warp's number stay.
        let lanes = (0..5).map(|lane| warps.get(lane).map_or(0, |&(_, warp)| 1u64 << warp));
        let kept = (0..self.options.num_warps.ilog2()).map(|bit| {
            let is_joined = warps.iter().any(|&(_, warp)| warp == bit);
            if is_joined { 0 } else { 1u64 << bit }
        });
        let part: Vec<u64> = lanes.chain(kept).collect();
        let part = self.of_thread(&part);
        for (slot, register) in state.live.clone().into_iter().enumerate() {
            let values = board.read(self, slot, part, 0);
            state.set(register, values);
        }
        for (lane, &(bit, _)) in warps.iter().enumerate() {
            self.reduce_lane(state, bit, lane as u32, combine)?;
        }
        Ok(())
    }

    /// All warps write what they have, and each reads and joins what belongs together.
    fn reduce_warps(
        &mut self,
        state: &mut Partial,
        values: &[Value],
        warps: &[(usize, u32)],
        combine: RegionId,
    ) -> Result<()> {
        let mut board = self.begin_board(values, state.live.len(), self.threads())?;
        let thread = self.thread();
        for (slot, &register) in state.live.iter().enumerate() {
            board.write(self, slot, thread, &state.of(register), None);
        }
        self.publish_scratch();
        let mask: i64 = warps.iter().map(|&(_, warp)| 1 << (5 + warp)).sum();
        let first =
            self.code.math(MathOp::And, Type::B32, &[thread.into(), Operand::Integer(!mask & 0xffff_ffff)]);
        for (slot, register) in state.live.clone().into_iter().enumerate() {
            let mut groups: Vec<(u64, Vec<Register>)> = Vec::new();
            for index in 0..1u64 << warps.len() {
                let set = warps.iter().enumerate().filter(|(position, _)| index >> position & 1 != 0);
                let offset: u64 = set.map(|(_, &(_, warp))| 1u64 << (5 + warp)).sum();
                groups.push((index, board.read(self, slot, first, offset)));
            }
            // Joined pairwise from the lowest bit, as registers are.
            for (position, &(bit, _)) in warps.iter().enumerate() {
                let mut joined = Vec::new();
                for pair in groups.chunks(2) {
                    let higher: u64 = warps[position + 1..]
                        .iter()
                        .enumerate()
                        .filter(|(above, _)| pair[0].0 >> (position + 1 + above) & 1 != 0)
                        .map(|(_, &(bit, _))| 1u64 << bit)
                        .sum();
                    let begins = higher | 1 << bit;
                    let all: u64 = warps.iter().map(|&(bit, _)| 1u64 << bit).sum();
                    let valid = self.begins_inside(state, register, state.reduced | all, begins)?;
                    joined.push((pair[0].0, self.join_elements(combine, &pair[0].1, &pair[1].1, valid)?));
                }
                groups = joined;
            }
            state.set(register, groups.swap_remove(0).1);
        }
        state.reduced |= warps.iter().map(|&(bit, _)| 1u64 << bit).sum::<u64>();
        Ok(())
    }

    fn group_begins_inside(
        &mut self,
        state: &Partial,
        register: usize,
        bit: usize,
    ) -> Result<Option<Register>> {
        self.begins_inside(state, register, state.reduced | 1 << bit, 1 << bit)
    }

    /// Whether the element whose coordinate has `set` instead of the bits of `cleared` is inside the block; `None` if surely.
    fn begins_inside(
        &mut self,
        state: &Partial,
        register: usize,
        cleared: u64,
        set: u64,
    ) -> Result<Option<Register>> {
        let extent = u64::from(state.extent);
        if extent.is_power_of_two() {
            return Ok(None);
        }
        let place = self.register_coordinates(state.layout, state.axis)[register] & !cleared | set;
        let base = self.coordinate(state.layout, state.axis);
        let base =
            self.code.math(MathOp::And, Type::B32, &[base.into(), Operand::Integer(!cleared as u32 as i64)]);
        let limit = Operand::Integer(extent as i64 - place as i64);
        Ok(Some(self.code.compare(Comparison::Less, Type::S32, base.into(), limit)))
    }

    /// The threads of a block.
    pub(super) fn threads(&self) -> u64 {
        u64::from(self.options.num_warps) * 32
    }

    /// Room in shared memory for so many elements of each operand of every writer.
    pub(super) fn begin_board(&mut self, values: &[Value], slots: usize, writers: u64) -> Result<Board> {
        let mut bytes = 0;
        let mut columns = Vec::new();
        for &value in values {
            let element = self.element(value);
            let width = u64::from(element.bytes());
            bytes = u64::next_multiple_of(bytes, 16);
            columns.push((element, bytes));
            bytes += width * writers * slots as u64;
        }
        let base = self.begin_scratch(bytes)?;
        Ok(Board { base, columns, writers })
    }
}

/// A reduction on its way.
struct Partial {
    /// For each operand, its registers.
    registers: Vec<Vec<Register>>,
    elements: Vec<tegula_ir::Element>,
    /// The registers that still count.
    live: Vec<usize>,
    /// The bits of the axis that are done.
    reduced: u64,
    layout: LayoutId,
    axis: u8,
    extent: u32,
}

impl Partial {
    fn of(&self, register: usize) -> Vec<Register> {
        self.registers.iter().map(|operand| operand[register]).collect()
    }

    fn set(&mut self, register: usize, values: Vec<Register>) {
        for (operand, value) in self.registers.iter_mut().zip(values) {
            operand[register] = value;
        }
    }
}

/// Shared memory with a place for each slot of each writer, a thread or a warp; consecutive writers are neighbours.
pub(super) struct Board {
    base: Register,
    columns: Vec<(tegula_ir::Element, u64)>,
    writers: u64,
}

impl Board {
    /// Writes one element of each operand to a slot of a writer, where the guard holds.
    pub fn write(
        &mut self,
        lowering: &mut Lowering<'_>,
        slot: usize,
        writer: Register,
        elements: &[Register],
        guard: Option<Predicate>,
    ) {
        for (&(element, start), &value) in self.columns.iter().zip(elements) {
            let address = self.address(lowering, element, start, slot, writer, 0);
            lowering
                .store_vector(tegula_ptx::Space::Shared, element, address, &[value], guard, |store| store);
        }
    }

    /// Reads a slot of the writer `writer + distance`.
    pub fn read(
        &mut self,
        lowering: &mut Lowering<'_>,
        slot: usize,
        writer: Register,
        distance: u64,
    ) -> Vec<Register> {
        let mut values = Vec::new();
        for &(element, start) in &self.columns {
            let address = self.address(lowering, element, start, slot, writer, distance);
            let loaded =
                lowering.load_vector(tegula_ptx::Space::Shared, element, address, 1, None, |load| load);
            values.push(loaded[0]);
        }
        values
    }

    fn address(
        &self,
        lowering: &mut Lowering<'_>,
        element: tegula_ir::Element,
        start: u64,
        slot: usize,
        writer: Register,
        distance: u64,
    ) -> tegula_ptx::Address {
        let width = u64::from(element.bytes());
        let address = lowering.scratch_address(self.base, writer, width);
        let offset = start + (slot as u64 * self.writers + distance) * width;
        tegula_ptx::Address::register(address, offset as i32)
    }
}
