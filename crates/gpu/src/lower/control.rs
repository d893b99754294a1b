//! Regions, loops and branches. Conditions are scalars, so all threads of a block go the same way, except in regions that are applied
//! to each element.

use super::element::class_of;
use super::emit::fails;
use super::{Lowering, Registers, Result};
use std::rc::Rc;
use tegula_ir::{Literal, Op, OpId, RegionId, Value};
use tegula_ptx::{Comparison, MathOp, Operand, Register, Special, Type};

impl Lowering<'_> {
    pub(super) fn region(&mut self, id: RegionId) -> Result<()> {
        let function = self.function;
        function.region(id).ops.iter().try_for_each(|&op| self.op(op))
    }

    pub(super) fn constant(&mut self, result: Value, literal: Literal) -> Result<()> {
        let register = self.literal(self.element(result), literal);
        self.scalars.insert(result, register);
        Ok(())
    }

    pub(super) fn program_id(&mut self, result: Value, axis: u8) -> Result<()> {
        let register = self.program_number(axis.min(2) as usize);
        self.scalars.insert(result, register);
        Ok(())
    }

    /// The number of the program along an axis of the grid.
    pub(super) fn program_number(&mut self, axis: usize) -> Register {
        let place = self.code.special([Special::CtaidX, Special::CtaidY, Special::CtaidZ][axis]);
        if !self.reversed_axes[axis] {
            return place;
        }
        let extent = self.code.special([Special::NctaidX, Special::NctaidY, Special::NctaidZ][axis]);
        let last = self.code.math(MathOp::Sub, Type::U32, &[extent.into(), Operand::Integer(1)]);
        self.code.math(MathOp::Sub, Type::U32, &[last.into(), place.into()])
    }

    pub(super) fn num_programs(&mut self, result: Value, axis: u8) -> Result<()> {
        let special = [Special::NctaidX, Special::NctaidY, Special::NctaidZ][axis.min(2) as usize];
        let register = self.code.special(special);
        self.scalars.insert(result, register);
        Ok(())
    }

    /// The registers of a value in its home, or of a scalar.
    fn registers_of(&self, value: Value, like: Value) -> Registers {
        match self.layouts.home_of(like) {
            Some(home) => self.block(value, home),
            None => Rc::from([self.scalar(value)]),
        }
    }

    fn bind(&mut self, value: Value, registers: Registers) -> Result<()> {
        match self.layouts.home_of(value) {
            Some(home) => self.define(value, home, registers),
            None => {
                self.scalars.insert(value, registers[0]);
                Ok(())
            }
        }
    }

    /// Registers that a value's elements can be moved to.
    pub(super) fn room_for(&mut self, value: Value) -> Registers {
        let count = self.layouts.home_of(value).map_or(1, |home| self.layouts.set.registers(home));
        let class = class_of(self.element(value));
        (0..count).map(|_| self.code.fresh(class)).collect()
    }

    /// Moves several values at once: what one move overwrites is read before.
    pub(super) fn assign_all(&mut self, targets: &[Registers], sources: &[Registers]) {
        let pairs: Vec<(Register, Register)> = (targets.iter().zip(sources))
            .flat_map(|(target, source)| target.iter().copied().zip(source.iter().copied()))
            .filter(|(target, source)| target != source)
            .collect();
        let overwritten: rustc_hash::FxHashSet<Register> = pairs.iter().map(|&(target, _)| target).collect();
        let saved: Vec<Register> = (pairs.iter())
            .map(|&(_, source)| {
                if overwritten.contains(&source) {
                    self.code.copy(source.class.declared(), source)
                } else {
                    source
                }
            })
            .collect();
        for (&(target, _), source) in pairs.iter().zip(saved) {
            self.code.assign(target, source);
        }
    }

    fn room_for_all(&mut self, values: &[Value]) -> Vec<Registers> {
        values.iter().map(|&value| self.room_for(value)).collect()
    }

    pub(super) fn bind_all(&mut self, values: &[Value], registers: &[Registers]) -> Result<()> {
        values.iter().zip(registers).try_for_each(|(&value, registers)| self.bind(value, registers.clone()))
    }

    pub(super) fn read_all(&self, values: &[Value], like: &[Value]) -> Vec<Registers> {
        values.iter().zip(like).map(|(&value, &like)| self.registers_of(value, like)).collect()
    }

    pub(super) fn for_loop(&mut self, id: OpId) -> Result<()> {
        if let Some(plan) = self.plan_of_loop(id) {
            return self.pipelined_loop(id, plan);
        }
        let function = self.function;
        let data = function.op(id);
        let Op::For { lower, upper, step, inits, body, .. } = &data.op else {
            unreachable!("called for loops")
        };
        let region = function.region(*body);
        let (&index, carried) = region.args.split_first().expect("a loop has an index");
        let ty = super::element::integer_type(self.element(index));
        let (upper, step) = (self.scalar(*upper), self.scalar(*step));
        let counter = self.code.copy(ty, self.scalar(*lower));
        let rooms = self.room_for_all(carried);
        let sources = self.read_all(inits, carried);
        self.assign_all(&rooms, &sources);
        let (start, end) = (self.code.label(), self.code.label());
        let before = self.scratch;
        self.scratch.forget();
        self.code.place(start);
        let goes_on = self.goes_on(counter, upper, step, ty);
        self.code.branch(Some(fails(goes_on)), end, self.uniform());
        self.scalars.insert(index, counter);
        self.bind_all(carried, &rooms)?;
        let outer_defers = std::mem::replace(&mut self.defers, false);
        self.rooms.push(rooms.clone());
        self.loop_depth += 1;
        self.region(*body)?;
        self.loop_depth -= 1;
        self.rooms.pop();
        self.defers = outer_defers;
        let next = self.read_all(&region.yields, carried);
        self.assign_all(&rooms, &next);
        // The index must not wrap past its type: the loop ends first where the next step would.
        let advanced = self.code.math(MathOp::Add, ty, &[counter.into(), step.into()]);
        let wraps = self.wraps(counter, advanced, step, ty);
        self.code.assign(counter, advanced);
        self.code.branch(Some(fails(wraps)), start, self.uniform());
        self.code.place(end);
        self.scratch.release_to(before);
        self.bind_all(&data.results, &rooms)
    }

    /// Whether the index is on the near side of the upper bound, in the direction of the step.
    pub(super) fn goes_on(
        &mut self,
        counter: Register,
        upper: Register,
        step: Register,
        ty: Type,
    ) -> Register {
        let up = self.code.compare(Comparison::Less, ty, counter.into(), upper.into());
        if matches!(ty, Type::U32 | Type::U64) {
            return up;
        }
        let down = self.code.compare(Comparison::Greater, ty, counter.into(), upper.into());
        let positive = self.code.compare(Comparison::Greater, ty, step.into(), Operand::Integer(0));
        self.code.select(Type::Pred, positive, up.into(), down.into())
    }

    pub(super) fn wraps(&mut self, before: Register, after: Register, step: Register, ty: Type) -> Register {
        let up = self.code.compare(Comparison::Less, ty, after.into(), before.into());
        if matches!(ty, Type::U32 | Type::U64) {
            return up;
        }
        let down = self.code.compare(Comparison::Greater, ty, after.into(), before.into());
        let positive = self.code.compare(Comparison::Greater, ty, step.into(), Operand::Integer(0));
        self.code.select(Type::Pred, positive, up.into(), down.into())
    }

    pub(super) fn while_loop(
        &mut self,
        id: OpId,
        inits: &[Value],
        condition: RegionId,
        body: RegionId,
    ) -> Result<()> {
        let function = self.function;
        let (test, inner) = (function.region(condition), function.region(body));
        let results = &function.op(id).results;
        let rooms = self.room_for_all(&test.args);
        let sources = self.read_all(inits, &test.args);
        self.assign_all(&rooms, &sources);
        let (start, end) = (self.code.label(), self.code.label());
        let outcome = self.room_for_all(results);
        let before = self.scratch;
        self.scratch.forget();
        self.code.place(start);
        self.bind_all(&test.args, &rooms)?;
        self.loop_depth += 1;
        self.region(condition)?;
        let passed = self.read_all(&test.yields[1..], results);
        self.assign_all(&outcome, &passed);
        let goes_on = self.scalar(test.yields[0]);
        self.code.branch(Some(fails(goes_on)), end, self.uniform());
        let arguments = self.read_all(&test.yields[1..], &inner.args);
        self.bind_all(&inner.args, &arguments)?;
        self.region(body)?;
        self.loop_depth -= 1;
        let next = self.read_all(&inner.yields, &test.args);
        self.assign_all(&rooms, &next);
        self.code.branch(None, start, self.uniform());
        self.code.place(end);
        self.scratch.release_to(before);
        self.bind_all(results, &outcome)
    }

    pub(super) fn branch(
        &mut self,
        id: OpId,
        condition: Value,
        then: RegionId,
        otherwise: RegionId,
    ) -> Result<()> {
        let function = self.function;
        let results = &function.op(id).results;
        let rooms = self.room_for_all(results);
        let (no, end) = (self.code.label(), self.code.label());
        let condition = self.scalar(condition);
        self.code.branch(Some(fails(condition)), no, self.uniform());
        let before = self.scratch;
        self.region(then)?;
        let values = self.read_all(&function.region(then).yields, results);
        self.assign_all(&rooms, &values);
        self.code.branch(None, end, self.uniform());
        self.code.place(no);
        self.scratch.restore(before);
        self.region(otherwise)?;
        let values = self.read_all(&function.region(otherwise).yields, results);
        self.assign_all(&rooms, &values);
        self.code.place(end);
        self.scratch.release_to(before);
        self.bind_all(results, &rooms)
    }

    /// Applies a region to elements, one of each operand; the region's operations are all scalar.
    pub(super) fn apply(&mut self, region: RegionId, arguments: &[Register]) -> Result<Vec<Register>> {
        let data = self.function.region(region);
        for (&arg, &register) in data.args.iter().zip(arguments) {
            self.scalars.insert(arg, register);
        }
        self.divergent += 1;
        let lowered = self.region(region);
        self.divergent -= 1;
        lowered?;
        Ok(data.yields.iter().map(|&value| self.scalar(value)).collect())
    }

    pub(super) fn map(&mut self, id: OpId, values: &[Value], body: RegionId) -> Result<()> {
        let results = self.function.op(id).results.clone();
        if self.is_scalar(results[0]) {
            let arguments: Vec<Register> = values.iter().map(|&value| self.scalar(value)).collect();
            let yields = self.apply(body, &arguments)?;
            self.scalars.extend(results.iter().copied().zip(yields));
            return Ok(());
        }
        let layout = self.layouts.home_of(results[0]).expect("a map has a home");
        let operands: Vec<Registers> = values.iter().map(|&value| self.block(value, layout)).collect();
        let mut columns: Vec<Vec<Register>> = vec![Vec::new(); results.len()];
        for register in 0..self.layouts.set.registers(layout) {
            let arguments: Vec<Register> = operands.iter().map(|operand| operand[register]).collect();
            // The region's own loops write to their registers, so each element keeps copies.
            for (column, value) in columns.iter_mut().zip(self.apply(body, &arguments)?) {
                column.push(self.code.copy(value.class.declared(), value));
            }
        }
        let mut outcome = Ok(());
        for (&result, column) in results.iter().zip(columns) {
            outcome = outcome.and(self.define_block(result, layout, column));
        }
        outcome
    }

    /// Whether all lanes of a warp take the same way here.
    pub(super) fn uniform(&self) -> bool {
        self.divergent == 0
    }
}
