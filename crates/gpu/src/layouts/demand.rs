//! Demand: in which layouts each value is needed.
//!
//! Operations are visited from the last to the first, so that all who use a value have spoken before its definition is
//! reached. A flexible value passes what is wanted of it on to its operands.

use super::flexible::reshapes_in_place;
use super::{Assignment, LayoutId, Operand, without_axis};
use tegula_ir::{Function, Op, OpId, RegionId, Value};

/// Fills in what is wanted of every value.
pub(super) fn collect(function: &Function, flexible: &[bool], assignment: &mut Assignment) {
    Demand { function, flexible, assignment }.region(function.body);
}

struct Demand<'a> {
    function: &'a Function,
    flexible: &'a [bool],
    assignment: &'a mut Assignment,
}

impl Demand<'_> {
    fn region(&mut self, id: RegionId) {
        for &op in self.function.region(id).ops.iter().rev() {
            self.op(op);
        }
    }

    fn want(&mut self, value: Value, layout: LayoutId) {
        if !self.function.ty(value).is_scalar() {
            let wanted = &mut self.assignment.wanted[value.0 as usize];
            if !wanted.contains(&layout) {
                wanted.push(layout);
            }
        }
    }

    /// The value where it is; of a flexible one, where it is cheap.
    fn want_anywhere(&mut self, value: Value) {
        if self.function.ty(value).is_scalar() || self.assignment.home_of(value).is_some() {
            return;
        }
        if self.assignment.wanted[value.0 as usize].is_empty() {
            let layout = self.assignment.set.default_for(&self.function.ty(value).shape);
            self.want(value, layout);
        }
    }

    /// The values in the homes of others: of carried values, those of the loop's arguments.
    fn want_as(&mut self, values: &[Value], others: &[Value]) {
        for (&value, &other) in values.iter().zip(others) {
            if let Some(home) = self.assignment.home_of(other) {
                self.want(value, home);
            }
        }
    }

    fn op(&mut self, op: OpId) {
        let function = self.function;
        let data = function.op(op);
        let results = &data.results;
        match &data.op {
            Op::For { inits, body, .. } => {
                let region = function.region(*body);
                self.want_as(&region.yields, &region.args[1..]);
                self.region(*body);
                self.want_as(inits, &region.args[1..]);
            }
            Op::While { inits, condition, body } => {
                let (test, inner) = (function.region(*condition), function.region(*body));
                self.want_as(&inner.yields, &test.args);
                self.region(*body);
                self.want_as(&test.yields[1..], &inner.args);
                self.want_as(&test.yields[1..], results);
                self.region(*condition);
                self.want_as(inits, &test.args);
            }
            Op::If { then, otherwise, .. } => {
                for region in [*then, *otherwise] {
                    self.want_as(&function.region(region).yields, results);
                    self.region(region);
                }
            }
            Op::Load { .. } | Op::Store { .. } | Op::AtomicRmw { .. } | Op::AtomicCas { .. } => {
                if let Some(&layout) = self.assignment.work.get(&op) {
                    data.op.for_each_operand(|value| self.want(value, layout));
                }
            }
            Op::Reduce { values, .. } | Op::Scan { values, .. } => {
                let layout = self.assignment.work[&op];
                values.iter().for_each(|&value| self.want(value, layout));
            }
            Op::Dot { lhs, rhs, accumulator, .. } => {
                let product = self.assignment.products[&op].clone();
                for (value, operand) in product.operands(*lhs, *rhs) {
                    match operand {
                        Operand::Fragment { id, .. } | Operand::Scratch { id } => self.want(value, *id),
                        Operand::Stored { .. } => self.want_anywhere(value),
                        Operand::Staged { .. } | Operand::Read { .. } => {}
                    }
                }
                if let Some(accumulator) = accumulator {
                    self.want(*accumulator, product.accumulator_id);
                }
            }
            Op::Join { lhs, rhs } => {
                let layout = self.assignment.work[&op];
                self.want(*lhs, layout);
                self.want(*rhs, layout);
            }
            Op::Split { value } => {
                let half = self.assignment.work[&op];
                let joined = self.assignment.set.get(half).join().expect("a layout has few axes");
                let layout = self.assignment.set.add(&joined);
                self.want(*value, layout);
            }
            Op::Gather { source, indices, .. } => {
                self.want_anywhere(*source);
                self.want_as(&[*indices], results);
            }
            Op::Histogram { value, mask } => {
                self.want_anywhere(*value);
                if let Some(mask) = mask {
                    let home = self.assignment.home_of(*value);
                    let layout = home.or_else(|| self.assignment.wanted[value.0 as usize].first().copied());
                    self.want(*mask, layout.expect("the value is wanted somewhere"));
                }
            }
            Op::Assert { condition, mask, .. } => {
                self.want_anywhere(*condition);
                if let Some(mask) = mask
                    && !function.ty(*condition).is_scalar()
                {
                    let home = self.assignment.home_of(*condition);
                    let layout =
                        home.or_else(|| self.assignment.wanted[condition.0 as usize].first().copied());
                    self.want(*mask, layout.expect("the condition is wanted somewhere"));
                }
            }
            Op::Print { .. } | Op::Slice { .. } | Op::Index { .. } | Op::Concatenate { .. } => {
                data.op.for_each_operand(|value| self.want_anywhere(value));
            }
            Op::Reshape { value }
                if !self.flexible[results[0].0 as usize] || function.ty(results[0]).is_scalar() =>
            {
                self.want_anywhere(*value);
            }
            Op::Assume { .. } => {}
            op => {
                // Elementwise and structural operations want their operands where their results are wanted or at home.
                let Some(&result) = results.first() else { return };
                let layouts = match self.assignment.home_of(result) {
                    Some(home) => vec![home],
                    None => self.assignment.wanted[result.0 as usize].clone(),
                };
                for layout in layouts {
                    let operand = operand_layout(function, self.assignment, op, result, layout);
                    op.for_each_operand(|value| self.want(value, operand));
                }
            }
        }
    }
}

/// Where the operands of an elementwise or structural operation must be for the result to be in `layout`.
pub(crate) fn operand_layout(
    function: &Function,
    assignment: &mut Assignment,
    op: &Op,
    result: Value,
    layout: LayoutId,
) -> LayoutId {
    let from = assignment.set.get(layout);
    let operand = match op {
        Op::ExpandDims { axis, .. } => from.slice(*axis).expect("the axis is one of the result's"),
        Op::Broadcast { value } => {
            let (narrow, wide) = (&function.ty(*value).shape, &function.ty(result).shape);
            let repeated = (0..wide.rank()).filter(|&axis| narrow[axis] != wide[axis]);
            repeated.fold(from.clone(), |layout, axis| without_axis(&layout, axis as u8))
        }
        Op::Transpose { permutation, .. } => {
            let mut inverse = vec![0u8; permutation.len()];
            for (new, &old) in permutation.iter().enumerate() {
                inverse[old as usize] = new as u8;
            }
            from.permute(&inverse).expect("a permutation of the axes")
        }
        Op::Reshape { value } if reshapes_in_place(function, *value, result) => {
            from.reshape(&crate::padding::padded(&function.ty(*value).shape)).expect("as many elements")
        }
        _ => return layout,
    };
    assignment.set.add(&operand)
}
