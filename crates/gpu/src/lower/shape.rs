//! What makes, renames or moves elements without computing with them.

use super::{Lowering, Registers, Result};
use crate::layouts::{LayoutId, register_map, without_axis};
use tegula_ir::{Element, Op, OpId, Shape, Value};
use tegula_layout::Layout;
use tegula_ptx::{Address, Comparison, MathOp, Operand, Register, Space, Type};

impl Lowering<'_> {
    pub(super) fn shape_op(&mut self, id: OpId) -> Result<()> {
        let function = self.function;
        let data = function.op(id);
        let result = data.results[0];
        match &data.op {
            Op::Join { lhs, rhs } => return self.join(id, *lhs, *rhs),
            Op::Split { value } => return self.split(id, *value),
            Op::Concatenate { lhs, rhs, axis } => return self.concatenate(result, *lhs, *rhs, *axis),
            Op::Slice { value, starts } => return self.slice(result, *value, starts),
            Op::Index { value, axis, index } => return self.index(result, *value, *axis, *index),
            Op::Gather { source, indices, axis } => return self.gather(result, *source, *indices, *axis),
            // Of the one element, every thread has a copy.
            Op::Reshape { value } if self.is_scalar(result) => {
                let (_, registers) = self.anywhere(*value);
                self.scalars.insert(result, registers[0]);
                return Ok(());
            }
            _ => {}
        }
        if let (Op::Reshape { value }, Some(home)) = (&data.op, self.layouts.home_of(result)) {
            return self.reshape_moving(result, *value, home);
        }
        for layout in self.layouts.wanted[result.0 as usize].clone() {
            let registers = self.shaped(&data.op, result, layout);
            self.blocks.insert((result, layout), registers);
        }
        Ok(())
    }

    /// A flexible value in one layout.
    fn shaped(&mut self, op: &Op, result: Value, layout: LayoutId) -> Registers {
        let count = self.layouts.set.registers(layout);
        let from = self.layouts.set.get(layout).clone();
        match op {
            Op::Arange { start, .. } => {
                let base = self.coordinate(layout, 0);
                let places = self.register_coordinates(layout, 0);
                let element = |place: u64| Operand::Integer(i64::from(*start) + place as i64);
                let code = &mut self.code;
                places
                    .into_iter()
                    .map(|place| code.math(MathOp::Add, Type::S32, &[base.into(), element(place)]))
                    .collect()
            }
            Op::Splat { value } => vec![self.scalar(*value); count].into(),
            Op::ExpandDims { value, axis } => {
                self.renamed(*value, &from.slice(*axis).expect("the axis is the result's"))
            }
            Op::Broadcast { value } => {
                let shapes = (&self.function.ty(*value).shape, &self.function.ty(result).shape);
                let repeated = (0..shapes.1.rank()).filter(|&axis| shapes.0[axis] != shapes.1[axis]);
                let narrow = repeated.fold(from, |layout, axis| without_axis(&layout, axis as u8));
                self.renamed(*value, &narrow)
            }
            Op::Transpose { value, permutation } => {
                let mut inverse = vec![0u8; permutation.len()];
                for (new, &old) in permutation.iter().enumerate() {
                    inverse[old as usize] = new as u8;
                }
                self.renamed(*value, &from.permute(&inverse).expect("a permutation of the axes"))
            }
            Op::Reshape { value } => {
                let shape = crate::padding::padded(&self.function.ty(*value).shape);
                self.renamed(*value, &from.reshape(&shape).expect("as many elements"))
            }
            _ => unreachable!("only values without a home are shaped"),
        }
    }

    /// An operand's registers for each register of a layout of it that may hold copies.
    fn renamed(&mut self, value: Value, layout: &Layout) -> Registers {
        let id = self.layouts.set.add(layout);
        let registers = self.block(value, id);
        register_map(layout).into_iter().map(|register| registers[register]).collect()
    }

    fn join(&mut self, id: OpId, lhs: Value, rhs: Value) -> Result<()> {
        let result = self.function.op(id).results[0];
        let half = self.layouts.work[&id];
        let joined = self.layouts.set.get(half).join().expect("a layout has few axes");
        let layout = self.layouts.set.add(&joined);
        let (lhs, rhs) = (self.block(lhs, half), self.block(rhs, half));
        let pairs = lhs.iter().zip(rhs.iter()).flat_map(|(&left, &right)| [left, right]);
        self.define_block(result, layout, pairs.collect())
    }

    fn split(&mut self, id: OpId, value: Value) -> Result<()> {
        let results = self.function.op(id).results.clone();
        let half = self.layouts.work[&id];
        let joined = self.layouts.set.get(half).join().expect("a layout has few axes");
        let layout = self.layouts.set.add(&joined);
        let registers = self.block(value, layout);
        for (index, &result) in results.iter().enumerate() {
            let half_registers = registers.iter().skip(index).step_by(2).copied();
            self.define_block(result, half, half_registers.collect())?;
        }
        Ok(())
    }

    /// Writes a block to shared memory in row-major order, and returns the address.
    pub(super) fn spill(&mut self, value: Value, bytes_before: u64) -> Result<Register> {
        let (layout, registers) = self.anywhere(value);
        let ty = self.function.ty(value).clone();
        let width = u64::from(ty.element.bytes());
        let base = self.begin_scratch(bytes_before + ty.shape.elements() as u64 * width)?;
        self.spill_to(base, bytes_before, layout, &registers, ty.element, &ty.shape);
        Ok(base)
    }

    /// Writes the elements that are inside the block at their row-major position.
    pub(super) fn spill_to(
        &mut self,
        base: Register,
        offset: u64,
        layout: LayoutId,
        registers: &Registers,
        element: Element,
        shape: &Shape,
    ) {
        let positions = self.positions(layout, shape);
        let inside = self.inside(layout, shape);
        for (register, position) in positions.into_iter().enumerate() {
            let address = self.scratch_address(base, position, element.bytes().into());
            let guard = inside[register].map(super::emit::holds);
            let address = Address::register(address, offset as i32);
            self.store_vector(Space::Shared, element, address, &[registers[register]], guard, |store| store);
        }
    }

    /// Reads an element of what was spilled, at a position that is in range.
    pub(super) fn fetch(&mut self, base: Register, position: Register, element: Element) -> Register {
        let address = self.scratch_address(base, position, element.bytes().into());
        self.load_vector(Space::Shared, element, address.into(), 1, None, |load| load)[0]
    }

    /// Limits a position to the elements, for padding reads what it likes but nothing beyond.
    fn limit(&mut self, position: Register, elements: usize) -> Register {
        let last = Operand::Integer(elements as i64 - 1);
        self.code.math(MathOp::Min, Type::U32, &[position.into(), last])
    }

    fn reshape_moving(&mut self, result: Value, value: Value, home: LayoutId) -> Result<()> {
        let element = self.element(value);
        if self.is_scalar(value) {
            let registers = vec![self.scalar(value); self.layouts.set.registers(home)];
            return self.define_block(result, home, registers);
        }
        let base = self.spill(value, 0)?;
        self.publish_scratch();
        let shape = self.function.ty(result).shape.clone();
        let mut registers = Vec::new();
        for position in self.positions(home, &shape) {
            let position = self.limit(position, shape.elements());
            registers.push(self.fetch(base, position, element));
        }
        self.define_block(result, home, registers)
    }

    fn concatenate(&mut self, result: Value, lhs: Value, rhs: Value, axis: u8) -> Result<()> {
        let home = self.layouts.home_of(result).expect("a concatenation has a home");
        let element = self.element(result);
        let bytes = |value| {
            let ty = self.function.ty(value);
            ty.shape.elements() as u64 * u64::from(ty.element.bytes())
        };
        let (first, second) = (bytes(lhs).next_multiple_of(16), bytes(rhs));
        let base = self.begin_scratch(first + second)?;
        for (value, offset) in [(lhs, 0), (rhs, first)] {
            let (layout, registers) = self.anywhere(value);
            let shape = self.function.ty(value).shape.clone();
            self.spill_to(base, offset, layout, &registers, element, &shape);
        }
        self.publish_scratch();
        let (left, right) = (self.function.ty(lhs).shape.clone(), self.function.ty(rhs).shape.clone());
        let boundary = Operand::Integer(left[axis as usize].into());
        let in_left = self.positions_at(home, &left, axis, 0);
        let in_right = self.positions_at(home, &right, axis, left[axis as usize]);
        let places = self.register_coordinates(home, axis);
        let along = self.coordinate(home, axis);
        let second_base =
            self.code.math(MathOp::Add, Type::U32, &[base.into(), Operand::Integer(first as i64)]);
        let mut registers = Vec::new();
        for (register, place) in places.into_iter().enumerate() {
            let here =
                self.code.math(MathOp::Add, Type::U32, &[along.into(), Operand::Integer(place as i64)]);
            let is_left = self.code.compare(Comparison::Less, Type::U32, here.into(), boundary);
            let left_position = self.limit(in_left[register], left.elements());
            let right_position = self.limit(in_right[register], right.elements());
            let position = self.code.select(Type::B32, is_left, left_position.into(), right_position.into());
            let start = self.code.select(Type::B32, is_left, base.into(), second_base.into());
            registers.push(self.fetch(start, position, element));
        }
        self.define_block(result, home, registers)
    }

    /// The position in a block of `shape` of each register of a layout whose coordinate along `axis` is `start` further.
    fn positions_at(&mut self, layout: LayoutId, shape: &Shape, axis: u8, start: u32) -> Vec<Register> {
        let stride: u32 = shape.iter().skip(axis as usize + 1).product();
        let shift = Operand::Integer(i64::from(start) * i64::from(stride));
        let positions = self.positions(layout, shape);
        let code = &mut self.code;
        let moved = |position: Register| code.math(MathOp::Sub, Type::U32, &[position.into(), shift]);
        positions.into_iter().map(moved).collect()
    }

    fn slice(&mut self, result: Value, value: Value, starts: &[u32]) -> Result<()> {
        let home = self.layouts.home_of(result).expect("a slice has a home");
        let element = self.element(result);
        let whole = self.function.ty(value).shape.clone();
        let base = self.spill(value, 0)?;
        self.publish_scratch();
        let mut stride = 1u32;
        let mut start = 0u32;
        for (axis, &extent) in whole.iter().enumerate().rev() {
            start += starts[axis] * stride;
            stride *= extent;
        }
        let mut registers = Vec::new();
        for position in self.positions(home, &whole) {
            let moved =
                self.code.math(MathOp::Add, Type::U32, &[position.into(), Operand::Integer(start.into())]);
            let moved = self.limit(moved, whole.elements());
            registers.push(self.fetch(base, moved, element));
        }
        self.define_block(result, home, registers)
    }

    fn index(&mut self, result: Value, value: Value, axis: u8, index: Value) -> Result<()> {
        let element = self.element(result);
        let whole = self.function.ty(value).shape.clone();
        let stride: u32 = whole.iter().skip(axis as usize + 1).product();
        let base = self.spill(value, 0)?;
        self.publish_scratch();
        let index = self.scalar(index);
        let index = match index.class {
            tegula_ptx::Class::Bits64 => self.code.convert(Type::U32, Type::U64, None, index),
            tegula_ptx::Class::Pred => self.code.number_of(index),
            _ => index,
        };
        let shift = self.code.multiply(Type::U32, index.into(), Operand::Integer(stride.into()));
        if self.is_scalar(result) {
            let position = self.limit(shift, whole.elements());
            let register = self.fetch(base, position, element);
            self.scalars.insert(result, register);
            return Ok(());
        }
        let home = self.layouts.home_of(result).expect("a block that is indexed has a home");
        // The layout of the result with the axis put back, at 0, has the strides of the whole.
        let expanded = self.layouts.set.get(home).expand_dims(axis).expect("a layout has few axes");
        let expanded = self.layouts.set.add(&expanded);
        let mut registers = Vec::new();
        for position in self.positions(expanded, &whole) {
            let moved = self.code.math(MathOp::Add, Type::U32, &[position.into(), shift.into()]);
            let moved = self.limit(moved, whole.elements());
            registers.push(self.fetch(base, moved, element));
        }
        self.define_block(result, home, registers)
    }

    fn gather(&mut self, result: Value, source: Value, indices: Value, axis: u8) -> Result<()> {
        let element = self.element(result);
        let whole = self.function.ty(source).shape.clone();
        let home = self.layouts.home_of(result).expect("what is gathered has a home");
        let stride: u32 = whole.iter().skip(axis as usize + 1).product();
        let base = self.spill(source, 0)?;
        self.publish_scratch();
        let chosen = self.block(indices, home);
        let along = self.coordinate(home, axis);
        let places = self.register_coordinates(home, axis);
        let positions = self.positions(home, &whole);
        let mut registers = Vec::new();
        for (register, position) in positions.into_iter().enumerate() {
            let index = match chosen[register].class {
                tegula_ptx::Class::Bits64 => self.code.convert(Type::U32, Type::U64, None, chosen[register]),
                _ => chosen[register],
            };
            // From the place of the result's own element to the one that is asked for.
            let place = Operand::Integer(places[register] as i64);
            let own = self.code.math(MathOp::Add, Type::U32, &[along.into(), place]);
            let distance = self.code.math(MathOp::Sub, Type::U32, &[index.into(), own.into()]);
            let shift = self.code.multiply(Type::U32, distance.into(), Operand::Integer(stride.into()));
            let moved = self.code.math(MathOp::Add, Type::U32, &[position.into(), shift.into()]);
            let moved = self.limit(moved, whole.elements());
            registers.push(self.fetch(base, moved, element));
        }
        self.define_block(result, home, registers)
    }
}
