//! Dead code: what neither a result that is used nor an effect depends on is removed.
//!
//! ```text
//! %1, %2 = for %i = %lo to %hi step %st         %1 = for %i = %lo to %hi step %st
//!     carry (%a = %x, %b = %x) {                    carry (%a = %x) {
//!   %3 = add %a, %b : fp32               =>       yield %a
//!   yield %a, %3                                } : fp32
//! } : fp32, fp32                                store %p, %1
//! store %p, %1
//! ```
//!
//! Liveness spreads from the effects backwards, value by value, so that a carried value that only feeds itself goes,
//! too. Loops and branches that keep no effect and no result go as a whole; so do loads that are not volatile.
//! A promise (`assume`) about a scalar stays; one about a block goes, since computing it would cost.

use tegula_ir::{Function, Op, OpId, RegionId, Value, ValueDef};

/// Removes what nothing depends on. Returns whether anything was.
pub fn eliminate_dead_code(function: &mut Function) -> bool {
    let mut liveness = Liveness {
        function,
        owner: vec![None; function.region_count()],
        parent: vec![None; function.op_count()],
        live_ops: vec![false; function.op_count()],
        live_values: vec![false; function.value_count()],
        pending: Vec::new(),
    };
    liveness.roots(function.body, None);
    // The results of a function that is one operation; a kernel has none.
    for &value in &function.region(function.body).yields {
        liveness.mark(value);
    }
    while let Some(value) = liveness.pending.pop() {
        liveness.spread(value);
    }
    let Liveness { live_ops, live_values, .. } = liveness;
    let mut sweep = Sweep { function, live_ops, live_values, changed: false };
    sweep.region(sweep.function.body);
    sweep.changed
}

struct Liveness<'f> {
    function: &'f Function,
    /// The operation that owns each region.
    owner: Vec<Option<OpId>>,
    /// The operation whose region lists each operation.
    parent: Vec<Option<OpId>>,
    live_ops: Vec<bool>,
    live_values: Vec<bool>,
    /// Live values whose definitions have not been looked at.
    pending: Vec<Value>,
}

impl Liveness<'_> {
    /// Finds the operations with effects, whatever their nesting.
    fn roots(&mut self, region: RegionId, owner: Option<OpId>) {
        let function = self.function;
        self.owner[region.0 as usize] = owner;
        for &id in &function.region(region).ops {
            self.parent[id.0 as usize] = owner;
            let op = &function.op(id).op;
            for region in op.regions() {
                self.roots(region, Some(id));
            }
            if has_effect(function, op) {
                self.mark_op(id);
            }
        }
    }

    fn mark(&mut self, value: Value) {
        if !std::mem::replace(&mut self.live_values[value.0 as usize], true) {
            self.pending.push(value);
        }
    }

    /// Marks an operation, what it needs to run at all, and the operations around it.
    fn mark_op(&mut self, id: OpId) {
        if std::mem::replace(&mut self.live_ops[id.0 as usize], true) {
            return;
        }
        let function = self.function;
        match &function.op(id).op {
            // Carried values and results are marked one by one, as they turn out to be used.
            Op::For { lower, upper, step, .. } => {
                [*lower, *upper, *step].into_iter().for_each(|v| self.mark(v))
            }
            Op::While { condition, .. } => self.mark(function.region(*condition).yields[0]),
            Op::If { condition, .. } => self.mark(*condition),
            op => {
                op.for_each_operand(|value| self.mark(value));
                for region in op.regions() {
                    function.region(region).yields.iter().for_each(|&value| self.mark(value));
                }
            }
        }
        if let Some(parent) = self.parent[id.0 as usize] {
            self.mark_op(parent);
        }
    }

    /// Marks what a live value is computed from.
    fn spread(&mut self, value: Value) {
        let function = self.function;
        match function.value(value).def {
            ValueDef::Param(_) => {}
            ValueDef::Result { op: id, index } => {
                self.mark_op(id);
                let index = index as usize;
                let yields = |region: RegionId| &function.region(region).yields;
                match &function.op(id).op {
                    Op::For { inits, body, .. } => {
                        self.mark(inits[index]);
                        self.mark(yields(*body)[index]);
                    }
                    Op::While { condition, .. } => self.mark(yields(*condition)[index + 1]),
                    Op::If { then, otherwise, .. } => {
                        self.mark(yields(*then)[index]);
                        self.mark(yields(*otherwise)[index]);
                    }
                    _ => {}
                }
            }
            ValueDef::RegionArg { region, index } => {
                let Some(owner) = self.owner[region.0 as usize] else { return };
                let index = index as usize;
                let yields = |region: RegionId| &function.region(region).yields;
                match &function.op(owner).op {
                    Op::For { inits, body, .. } if index > 0 => {
                        self.mark(inits[index - 1]);
                        self.mark(yields(*body)[index - 1]);
                    }
                    Op::While { inits, condition, body } if region == *condition => {
                        self.mark(inits[index]);
                        self.mark(yields(*body)[index]);
                    }
                    Op::While { condition, .. } => self.mark(yields(*condition)[index + 1]),
                    _ => {}
                }
            }
        }
    }
}

/// Whether an operation itself must be kept, even if its results are not used.
fn has_effect(function: &Function, op: &Op) -> bool {
    match op {
        Op::Store { .. }
        | Op::AtomicRmw { .. }
        | Op::AtomicCas { .. }
        | Op::Print { .. }
        | Op::Assert { .. }
        | Op::Barrier => true,
        Op::Load { volatile, .. } => *volatile,
        Op::InlineAssembly { assembly, .. } => !assembly.pure,
        Op::Assume { condition } => function.ty(*condition).is_scalar(),
        _ => false,
    }
}

struct Sweep<'f> {
    function: &'f mut Function,
    live_ops: Vec<bool>,
    live_values: Vec<bool>,
    changed: bool,
}

impl Sweep<'_> {
    fn region(&mut self, region: RegionId) {
        let mut ops = std::mem::take(&mut self.function.region_mut(region).ops);
        let before = ops.len();
        ops.retain(|id| self.live_ops[id.0 as usize]);
        self.changed |= ops.len() != before;
        for &id in &ops {
            let regions = self.function.op(id).op.regions();
            self.shrink(id);
            for region in regions {
                self.region(region);
            }
        }
        self.function.region_mut(region).ops = ops;
    }

    fn live(&self, values: &[Value]) -> Vec<bool> {
        values.iter().map(|value| self.live_values[value.0 as usize]).collect()
    }

    /// Takes dead results from loops and branches, with what feeds them.
    fn shrink(&mut self, id: OpId) {
        let data = self.function.op(id);
        let results = self.live(&data.results);
        let args = |region: RegionId| self.live(&self.function.region(region).args);
        match &data.op {
            Op::For { body, .. } => {
                let body = *body;
                let args = args(body);
                let carried: Vec<bool> =
                    args[1..].iter().zip(&results).map(|(arg, result)| arg | result).collect();
                self.keep_inits(id, &carried);
                self.function.retain_results(id, |index| carried[index]);
                self.function.retain_region_args(body, |index| index == 0 || carried[index - 1]);
                retain(&mut self.function.region_mut(body).yields, &carried);
            }
            Op::While { condition, body, .. } => {
                let (condition, body) = (*condition, *body);
                let carried = args(condition);
                let passed: Vec<bool> =
                    args(body).iter().zip(&results).map(|(arg, result)| arg | result).collect();
                self.keep_inits(id, &carried);
                self.function.retain_region_args(condition, |index| carried[index]);
                retain(&mut self.function.region_mut(body).yields, &carried);
                self.function.retain_results(id, |index| passed[index]);
                self.function.retain_region_args(body, |index| passed[index]);
                let yielded: Vec<bool> = std::iter::once(true).chain(passed).collect();
                self.changed |= yielded.contains(&false);
                retain(&mut self.function.region_mut(condition).yields, &yielded);
            }
            Op::If { then, otherwise, .. } => {
                let (then, otherwise) = (*then, *otherwise);
                self.changed |= results.contains(&false);
                self.function.retain_results(id, |index| results[index]);
                retain(&mut self.function.region_mut(then).yields, &results);
                retain(&mut self.function.region_mut(otherwise).yields, &results);
            }
            _ => {}
        }
    }

    fn keep_inits(&mut self, id: OpId, carried: &[bool]) {
        self.changed |= carried.contains(&false);
        if let Op::For { inits, .. } | Op::While { inits, .. } = &mut self.function.op_mut(id).op {
            let mut keep = carried.iter();
            inits.retain(|_| *keep.next().expect("one a carried value"));
        }
    }
}

fn retain(values: &mut Vec<Value>, keep: &[bool]) {
    let mut keep = keep.iter();
    values.retain(|_| *keep.next().expect("one a value"));
}
