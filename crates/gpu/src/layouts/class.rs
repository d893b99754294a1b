//! Homes: one layout for all values that elementwise operations, loops and branches connect.
//!
//! Each class of values is asked once which layout it takes. Anchors among its operations vote with the bytes that a conversion
//! to their layout would move, times a factor for each loop around them; a reduction or a join votes for
//! what its operand's layout becomes. The heaviest layout wins, the first of equals.

use super::coalesce::memory_operands;
use super::{Assignment, LayoutId};
use rustc_hash::FxHashMap;
use tegula_ir::{Function, Op, OpId, RegionId, Value};

/// What one loop around an operation multiplies its votes by.
const LOOP_WEIGHT: u64 = 16;

/// Gives each block that is not flexible its home, and each reduction, scan and split its work layout.
pub(super) fn settle_homes(function: &Function, flexible: &[bool], assignment: &mut Assignment) {
    let mut classes = Classes {
        function,
        flexible,
        parent: (0..function.value_count() as u32).collect(),
        votes: FxHashMap::default(),
        derived: Vec::new(),
    };
    classes.region(function.body, 1, assignment);
    let derived = std::mem::take(&mut classes.derived);
    let mut by_class: FxHashMap<u32, Vec<(OpId, u64)>> = FxHashMap::default();
    for (value, op, weight) in derived {
        by_class.entry(classes.find(value)).or_default().push((op, weight));
    }
    let mut settle = Settle { classes, derived: by_class, homes: FxHashMap::default(), open: Vec::new() };
    for index in 0..function.value_count() as u32 {
        let value = Value(index);
        if !function.ty(value).is_scalar() && !flexible[index as usize] {
            assignment.home[index as usize] = Some(settle.home(value, assignment));
        }
    }
    settle.work_layouts(function.body, assignment);
}

struct Classes<'a> {
    function: &'a Function,
    flexible: &'a [bool],
    parent: Vec<u32>,
    /// For each value that votes were cast on: layouts with their weights.
    votes: FxHashMap<Value, Vec<(LayoutId, u64)>>,
    /// Values whose layout would follow from an operand: the operation and the weight.
    derived: Vec<(Value, OpId, u64)>,
}

impl Classes<'_> {
    fn find(&mut self, value: Value) -> u32 {
        let mut root = value.0;
        while self.parent[root as usize] != root {
            self.parent[root as usize] = self.parent[self.parent[root as usize] as usize];
            root = self.parent[root as usize];
        }
        root
    }

    fn has_home(&self, value: Value) -> bool {
        !self.function.ty(value).is_scalar() && !self.flexible[value.0 as usize]
    }

    fn join(&mut self, a: Value, b: Value) {
        let same_shape = self.function.ty(a).shape == self.function.ty(b).shape;
        if self.has_home(a) && self.has_home(b) && same_shape {
            let (a, b) = (self.find(a), self.find(b));
            // The earlier value leads, so that classes are found in program order.
            self.parent[a.max(b) as usize] = a.min(b);
        }
    }

    fn join_each(&mut self, left: &[Value], right: &[Value]) {
        for (&left, &right) in left.iter().zip(right) {
            self.join(left, right);
        }
    }

    fn vote(&mut self, value: Value, layout: LayoutId, factor: u64) {
        if self.has_home(value) {
            let weight = self.bytes(value) * factor;
            self.votes.entry(value).or_default().push((layout, weight));
        }
    }

    fn bytes(&self, value: Value) -> u64 {
        let ty = self.function.ty(value);
        ty.shape.elements() as u64 * u64::from(ty.element.bytes())
    }

    fn region(&mut self, id: RegionId, factor: u64, assignment: &Assignment) {
        let function = self.function;
        for &op in &function.region(id).ops {
            let data = function.op(op);
            if let (Some(&layout), Some((pointer, mask))) =
                (assignment.work.get(&op), memory_operands(&data.op))
            {
                data.op.for_each_operand(|value| {
                    // A mask is small, and seldom what decides.
                    if Some(value) != mask || value == pointer {
                        self.vote(value, layout, factor);
                    }
                });
                data.results.iter().for_each(|&result| self.vote(result, layout, factor));
                continue;
            }
            match &data.op {
                Op::For { inits, body, .. } => {
                    let region = function.region(*body);
                    self.join_each(&region.args[1..], inits);
                    self.join_each(&region.args[1..], &region.yields);
                    self.join_each(&region.args[1..], &data.results);
                    self.region(*body, factor * LOOP_WEIGHT, assignment);
                }
                Op::While { inits, condition, body } => {
                    let (test, inner) = (function.region(*condition), function.region(*body));
                    self.join_each(&test.args, inits);
                    self.join_each(&test.args, &inner.yields);
                    self.join_each(&inner.args, &test.yields[1..]);
                    self.join_each(&data.results, &test.yields[1..]);
                    self.region(*condition, factor * LOOP_WEIGHT, assignment);
                    self.region(*body, factor * LOOP_WEIGHT, assignment);
                }
                Op::If { then, otherwise, .. } => {
                    self.join_each(&data.results, &function.region(*then).yields);
                    self.join_each(&data.results, &function.region(*otherwise).yields);
                    self.region(*then, factor, assignment);
                    self.region(*otherwise, factor, assignment);
                }
                Op::Dot { accumulator, .. } => {
                    let layout = assignment.products[&op].accumulator_id;
                    self.vote(data.results[0], layout, factor);
                    if let Some(accumulator) = accumulator {
                        self.vote(*accumulator, layout, factor);
                    }
                }
                Op::Reduce { .. } | Op::Join { .. } | Op::Split { .. } | Op::Concatenate { .. } => {
                    for &result in &data.results {
                        if self.has_home(result) {
                            self.derived.push((result, op, self.bytes(result) * factor));
                        }
                    }
                }
                Op::Scan { values, .. } => {
                    self.join_each(values, &data.results);
                    for pair in values.windows(2) {
                        self.join(pair[0], pair[1]);
                    }
                }
                Op::Unary { .. }
                | Op::Binary { .. }
                | Op::Compare { .. }
                | Op::Select { .. }
                | Op::Fma { .. }
                | Op::Cast { .. }
                | Op::Bitcast { .. }
                | Op::AddPointer { .. }
                | Op::Annotate { .. }
                | Op::MapElementwise { .. }
                | Op::InlineAssembly { .. } => {
                    data.op.for_each_operand(|value| self.join(data.results[0], value));
                    data.results.iter().for_each(|&result| self.join(data.results[0], result));
                }
                Op::Gather { indices, .. } => self.join(data.results[0], *indices),
                _ => {}
            }
        }
    }
}

struct Settle<'a> {
    classes: Classes<'a>,
    /// By class: the operations whose results follow their operands.
    derived: FxHashMap<u32, Vec<(OpId, u64)>>,
    homes: FxHashMap<u32, LayoutId>,
    /// Classes being settled: a class does not wait for itself.
    open: Vec<u32>,
}

impl Settle<'_> {
    fn home(&mut self, value: Value, assignment: &mut Assignment) -> LayoutId {
        let class = self.classes.find(value);
        if let Some(&layout) = self.homes.get(&class) {
            return layout;
        }
        self.open.push(class);
        let mut sums: Vec<(LayoutId, u64)> = Vec::new();
        let mut add =
            |layout: LayoutId, weight: u64| match sums.iter_mut().find(|(other, _)| *other == layout) {
                Some((_, sum)) => *sum += weight,
                None => sums.push((layout, weight)),
            };
        let mut members: Vec<Value> = self.classes.votes.keys().copied().collect();
        members.sort_unstable();
        for member in members {
            if self.classes.find(member) == class {
                self.classes.votes[&member].iter().for_each(|&(layout, weight)| add(layout, weight));
            }
        }
        for (op, weight) in self.derived.get(&class).cloned().unwrap_or_default() {
            if let Some(layout) = self.derive(op, assignment) {
                add(layout, weight);
            }
        }
        self.open.pop();
        let mut best: Option<(LayoutId, u64)> = None;
        for (layout, weight) in sums {
            if best.is_none_or(|(_, heaviest)| weight > heaviest) {
                best = Some((layout, weight));
            }
        }
        let shape = &self.classes.function.ty(value).shape;
        let layout = best.map_or_else(|| assignment.set.default_for(shape), |(layout, _)| layout);
        self.homes.insert(class, layout);
        layout
    }

    /// The home of a value, unless it has none or is being settled.
    fn known(&mut self, value: Value, assignment: &mut Assignment) -> Option<LayoutId> {
        let class = self.classes.find(value);
        if !self.classes.has_home(value) || self.open.contains(&class) {
            return None;
        }
        Some(self.home(value, assignment))
    }

    /// The layout that a result has without a conversion.
    fn derive(&mut self, op: OpId, assignment: &mut Assignment) -> Option<LayoutId> {
        let function = self.classes.function;
        match &function.op(op).op {
            Op::Reduce { values, axis, .. } => {
                let operand = values.iter().find_map(|&value| self.known(value, assignment))?;
                let layout = assignment.set.get(operand).slice(*axis).ok()?;
                Some(assignment.set.add(&layout))
            }
            Op::Join { lhs, rhs } => {
                let operand = [*lhs, *rhs].into_iter().find_map(|value| self.known(value, assignment))?;
                let layout = assignment.set.get(operand).join().ok()?;
                Some(assignment.set.add(&layout))
            }
            Op::Split { value } => {
                let operand = self.known(*value, assignment)?;
                let (layout, _) = assignment.set.get(operand).split()?;
                Some(assignment.set.add(&layout))
            }
            Op::Concatenate { lhs, rhs, axis } => {
                let operand = [*lhs, *rhs].into_iter().find_map(|value| self.known(value, assignment))?;
                let layout = assignment.set.get(operand).concatenate(*axis).ok()?;
                let shape = crate::padding::padded(&function.ty(function.op(op).results[0]).shape);
                (layout.shape() == shape).then(|| assignment.set.add(&layout))
            }
            _ => None,
        }
    }

    /// Reductions and scans work where their operands are, joins and splits where their results are.
    fn work_layouts(&mut self, region: RegionId, assignment: &mut Assignment) {
        let function = self.classes.function;
        for &op in &function.region(region).ops {
            let data = function.op(op);
            for inner in data.op.regions() {
                self.work_layouts(inner, assignment);
            }
            let layout = match &data.op {
                Op::Reduce { values, .. } | Op::Scan { values, .. } => {
                    let known = values.iter().find_map(|&value| assignment.home_of(value));
                    let shape = &function.ty(values[0]).shape;
                    known.unwrap_or_else(|| assignment.set.default_for(shape))
                }
                Op::Split { value } => {
                    let shape = &function.ty(data.results[0]).shape;
                    let halves = assignment.home_of(*value).and_then(|home| assignment.set.get(home).split());
                    match halves {
                        Some((half, _)) => assignment.set.add(&half),
                        None => assignment.set.default_for(shape),
                    }
                }
                Op::Join { lhs, rhs } => {
                    let known = [*lhs, *rhs].into_iter().find_map(|value| assignment.home_of(value));
                    known.unwrap_or_else(|| assignment.set.default_for(&function.ty(*lhs).shape))
                }
                _ => continue,
            };
            assignment.work.insert(op, layout);
        }
    }
}
