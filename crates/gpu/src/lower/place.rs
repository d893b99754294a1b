//! Where a thread's elements are: coordinates and offsets that depend on the number of the thread.
//!
//! They are computed once, in the kernel's prologue. A column of a layout is a few bits, so the part of the thread is an exclusive or
//! of runs of bits of the thread's number, moved to where they belong.

use super::Lowering;
use super::emit::Emitter;
use crate::layouts::LayoutId;
use crate::padding::padded;
use rustc_hash::FxHashMap;
use tegula_ir::Shape;
use tegula_layout::{Dim, Layout};
use tegula_ptx::{Comparison, MathOp, Operand, Register, Shuffle, ShuffleMode, Special, Type};

/// What is known of the thread.
#[derive(Default)]
pub(super) struct Places {
    thread: Option<Register>,
    functions: FxHashMap<Vec<u64>, Register>,
    warp_functions: FxHashMap<Vec<u64>, Register>,
    first_thread: FxHashMap<u64, Register>,
}

impl Lowering<'_> {
    /// The number of the thread in its block.
    pub(super) fn thread(&mut self) -> Register {
        match self.places.thread {
            Some(thread) => thread,
            None => {
                let thread = self.code.in_prologue(|code| code.special(Special::TidX));
                self.places.thread = Some(thread);
                thread
            }
        }
    }

    /// The exclusive or of the terms of the set bits of the thread's number, from the lowest.
    pub(super) fn of_thread(&mut self, terms: &[u64]) -> Register {
        if let Some(&register) = self.places.functions.get(terms) {
            return register;
        }
        let thread = self.thread();
        let register = self.code.in_prologue(|code| thread_function(code, thread, terms));
        self.places.functions.insert(terms.to_vec(), register);
        register
    }

    /// As [`Lowering::of_thread`], of terms that are zero for lanes: the assembler sees that a warp has one value.
    pub(super) fn of_warp(&mut self, terms: &[u64]) -> Register {
        if let Some(&register) = self.places.warp_functions.get(terms) {
            return register;
        }
        let varying = self.of_thread(terms);
        let register = self.code.in_prologue(|code| {
            let dst = code.fresh(varying.class);
            code.push(Shuffle {
                mode: ShuffleMode::Index,
                dst,
                in_range: None,
                source: varying.into(),
                lane: Operand::Integer(0),
                clamp: Operand::Integer(31),
                members: Operand::Integer(0xffff_ffff),
            });
            dst
        });
        self.places.warp_functions.insert(terms.to_vec(), register);
        register
    }

    /// The columns of lanes and warps: the terms of the bits of a thread's number.
    pub(super) fn thread_columns(layout: &Layout) -> Vec<u64> {
        layout.columns_of(Dim::Lane).iter().chain(layout.columns_of(Dim::Warp)).copied().collect()
    }

    /// The thread's part of its elements' coordinate along an axis.
    pub(super) fn coordinate(&mut self, layout: LayoutId, axis: u8) -> Register {
        let layout = self.layouts.set.get(layout);
        let dim = Dim::Axis(axis);
        let terms: Vec<u64> = Self::thread_columns(layout)
            .into_iter()
            .map(|column| layout.outputs().get(column, dim))
            .collect();
        self.of_thread(&terms)
    }

    /// The registers' part of the coordinate along an axis.
    pub(super) fn register_coordinates(&self, layout: LayoutId, axis: u8) -> Vec<u64> {
        let layout = self.layouts.set.get(layout);
        let registers = 0..1u64 << layout.inputs().bits_of(Dim::Register);
        registers.map(|register| layout.outputs().get(layout.apply(register), Dim::Axis(axis))).collect()
    }

    /// For each register, whether its element is inside the block; `None` where all are.
    pub(super) fn inside(&mut self, layout: LayoutId, shape: &Shape) -> Vec<Option<Register>> {
        let count = self.layouts.set.registers(layout);
        let mut inside = vec![None; count];
        let layout_shape = padded(shape);
        for (axis, &extent) in shape.iter().enumerate() {
            if layout_shape[axis] == u64::from(extent) {
                continue;
            }
            let base = self.coordinate(layout, axis as u8);
            let mut known: FxHashMap<u64, Register> = FxHashMap::default();
            for (register, place) in self.register_coordinates(layout, axis as u8).into_iter().enumerate() {
                let valid = match known.get(&place) {
                    Some(&valid) => valid,
                    None => {
                        // The parts have no bits in common, so `base | place < extent` is a comparison of the base.
                        let limit = i64::from(extent) - place as i64;
                        let valid = self.code.compare(
                            Comparison::Less,
                            Type::S32,
                            base.into(),
                            Operand::Integer(limit),
                        );
                        known.insert(place, valid);
                        valid
                    }
                };
                inside[register] = self.code.both(inside[register], Some(valid));
            }
        }
        inside
    }

    /// The row-major position of each register's element in the block, without padding.
    pub(super) fn positions(&mut self, layout: LayoutId, shape: &Shape) -> Vec<Register> {
        let count = self.layouts.set.registers(layout);
        let mut strides = vec![1u64; shape.rank()];
        for axis in (1..shape.rank()).rev() {
            strides[axis - 1] = strides[axis] * u64::from(shape[axis]);
        }
        let mut base = self.code.copy(Type::U32, Operand::Integer(0));
        let mut constants = vec![0u64; count];
        for (axis, &stride) in strides.iter().enumerate() {
            let place = self.coordinate(layout, axis as u8);
            let part = self.code.multiply(Type::U32, place.into(), Operand::Integer(stride as i64));
            base = self.code.math(MathOp::Add, Type::U32, &[base.into(), part.into()]);
            for (register, place) in self.register_coordinates(layout, axis as u8).into_iter().enumerate() {
                constants[register] += place * stride;
            }
        }
        let add = |constant: u64, code: &mut Emitter| {
            code.math(MathOp::Add, Type::U32, &[base.into(), Operand::Integer(constant as i64)])
        };
        constants.into_iter().map(|constant| add(constant, &mut self.code)).collect()
    }

    /// Whether this thread answers for the elements that it holds, where others hold copies; `None` where all do.
    pub(super) fn is_owner(&mut self, layout: LayoutId) -> Option<Register> {
        let layout = self.layouts.set.get(layout);
        let lanes = layout.free_variable_mask(Dim::Lane);
        let warps = layout.free_variable_mask(Dim::Warp);
        let mask = lanes | warps << 5;
        (mask != 0).then(|| self.where_zero(mask))
    }

    /// Whether this is the first thread of the block.
    pub(super) fn is_first_thread(&mut self) -> Register {
        self.where_zero(u64::from(self.options.num_warps) * 32 - 1)
    }

    /// Whether this is the first warp of the block: all its lanes see that they have one answer.
    pub(super) fn is_first_warp(&mut self) -> Register {
        let bits = self.options.num_warps.ilog2();
        let terms: Vec<u64> = std::iter::repeat_n(0, 5).chain((0..bits).map(|bit| 1 << bit)).collect();
        let warp = self.of_warp(&terms);
        self.code
            .in_prologue(|code| code.compare(Comparison::Equal, Type::U32, warp.into(), Operand::Integer(0)))
    }

    /// Whether these bits of the thread's number are zero.
    pub(super) fn where_zero(&mut self, mask: u64) -> Register {
        if let Some(&register) = self.places.first_thread.get(&mask) {
            return register;
        }
        let thread = self.thread();
        let register = self.code.in_prologue(|code| {
            let bits = code.math(MathOp::And, Type::B32, &[thread.into(), Operand::Integer(mask as i64)]);
            code.compare(Comparison::Equal, Type::U32, bits.into(), Operand::Integer(0))
        });
        self.places.first_thread.insert(mask, register);
        register
    }
}

/// Runs of bits that move by the same distance are moved together; other terms are added one by one.
fn thread_function(code: &mut Emitter, thread: Register, terms: &[u64]) -> Register {
    let mut sum: Option<Register> = None;
    // Every set bit of every term: which bit of the thread goes to which bit of the result.
    let mut moves: Vec<(u32, u32)> = Vec::new();
    for (bit, &term) in terms.iter().enumerate() {
        moves.extend((0..64).filter(|place| term >> place & 1 != 0).map(|place| (bit as u32, place)));
    }
    moves.sort_by_key(|&(from, to)| (to as i64 - from as i64, from));
    let mut rest = moves.as_slice();
    while let Some(&(from, to)) = rest.first() {
        let run = rest.iter().enumerate().take_while(|&(index, &(other_from, other_to))| {
            other_from == from + index as u32 && other_to == to + index as u32
        });
        let length = run.count();
        rest = &rest[length..];
        let mask = ((1i64 << length) - 1) << from;
        let mut part = code.math(MathOp::And, Type::B32, &[thread.into(), Operand::Integer(mask)]);
        let distance = i64::from(to) - i64::from(from);
        if distance > 0 {
            part = code.math(MathOp::ShiftLeft, Type::B32, &[part.into(), Operand::Integer(distance)]);
        } else if distance < 0 {
            part = code.math(MathOp::ShiftRight, Type::U32, &[part.into(), Operand::Integer(-distance)]);
        }
        sum = Some(match sum {
            Some(sum) => code.math(MathOp::Xor, Type::B32, &[sum.into(), part.into()]),
            None => part,
        });
    }
    sum.unwrap_or_else(|| code.copy(Type::U32, Operand::Integer(0)))
}
