//! Rules of loops and branches: those that never run, run once, or carry what does not change.

use super::Folder;
use smallvec::SmallVec;
use tegula_ir::{Literal, Op, OpId, RegionId, Value};

impl Folder<'_> {
    /// Folds an operation that owns regions, and what they contain.
    pub(super) fn control(&mut self, id: OpId) {
        match self.function.op(id).op.clone() {
            Op::If { condition, then, otherwise } => self.branch(id, condition, then, otherwise),
            Op::For { lower, upper, step, inits, body, .. } => match self.trips(lower, upper, step) {
                Some(Trips::None) => self.become_values(id, &inits),
                Some(Trips::One) => {
                    let arguments: SmallVec<[Value; 8]> = std::iter::once(lower).chain(inits).collect();
                    let yields = self.inline(body, &arguments);
                    self.become_values(id, &yields);
                }
                None => {
                    self.unchanging_carried(id, &inits, body);
                    self.region(body);
                    self.out.push(id);
                }
            },
            Op::While { inits, condition, body } => self.conditional_loop(id, &inits, condition, body),
            Op::MapElementwise { values, body } => self.map(id, &values, body),
            Op::Reduce { combine, .. } | Op::Scan { combine, .. } => {
                if !self.several_results(id) {
                    self.region(combine);
                    self.out.push(id);
                }
            }
            _ => self.out.push(id),
        }
    }

    /// Values stand for the results of an operation, which is listed no more.
    fn become_values(&mut self, id: OpId, values: &[Value]) {
        self.changed = true;
        for (result, &value) in self.function.op(id).results.clone().into_iter().zip(values) {
            self.replaced.replace(result, value);
        }
    }

    fn branch(&mut self, id: OpId, condition: Value, then: RegionId, otherwise: RegionId) {
        if let Some(literal) = self.constant(condition) {
            let taken = if literal == Literal::Int(1) { then } else { otherwise };
            let yields = self.inline(taken, &[]);
            return self.become_values(id, &yields);
        }
        self.region(then);
        self.region(otherwise);
        let yields = |region| self.function.region(region).yields.clone();
        let (then, otherwise) = (yields(then), yields(otherwise));
        let results = self.function.op(id).results.clone();
        for ((result, then), otherwise) in results.into_iter().zip(then).zip(otherwise) {
            // A value that both branches yield comes from outside of both; a constant can be made there.
            let value =
                if then == otherwise { Some(then) } else { self.equal_constants(id, then, otherwise) };
            if let Some(value) = value {
                self.replaced.replace(result, value);
            }
        }
        self.out.push(id);
    }

    /// A constant equal to both values, before the operation.
    fn equal_constants(&mut self, id: OpId, a: Value, b: Value) -> Option<Value> {
        let literal = self.constant(a)?;
        if self.constant(b) != Some(literal) {
            return None;
        }
        let ty = self.ty(a).clone();
        let span = self.function.op(id).span;
        Some(self.emit_constant(literal, &ty, span))
    }

    /// How often a loop runs, if that is never or once.
    fn trips(&self, lower: Value, upper: Value, step: Value) -> Option<Trips> {
        let scalar = self.scalar(lower)?;
        let number = |value| match self.constant(value)? {
            Literal::Int(value) if scalar.is_signed() => Some(i128::from(value)),
            Literal::Int(value) => Some(i128::from(value as u64)),
            Literal::Float(_) => None,
        };
        if lower == upper {
            return Some(Trips::None);
        }
        let (lower, upper, step) = (number(lower)?, number(upper)?, number(step)?);
        let before = |index: i128| if step < 0 { index > upper } else { index < upper };
        if !before(lower) {
            return Some(Trips::None);
        }
        // An index beyond its type would wrap, and the loop go on.
        let next = lower + step;
        let fits = scalar.wrap(next as i64) == next as i64 && i64::try_from(next).is_ok();
        (fits && !before(next)).then_some(Trips::One)
    }

    /// What each iteration passes on as it got it has one value throughout, inside and after.
    fn unchanging_carried(&mut self, id: OpId, inits: &[Value], body: RegionId) {
        let results = self.function.op(id).results.clone();
        let region = self.function.region(body);
        let carried: SmallVec<[(Value, Value); 8]> =
            region.args[1..].iter().copied().zip(region.yields.iter().copied()).collect();
        for ((&init, (arg, next)), result) in inits.iter().zip(carried).zip(results) {
            if next == arg || self.replaced.resolve(next) == init {
                self.replaced.replace(arg, init);
                self.replaced.replace(result, init);
            }
        }
    }

    fn conditional_loop(&mut self, id: OpId, inits: &[Value], condition: RegionId, body: RegionId) {
        let yields = &self.function.region(condition).yields;
        if self.constant(self.replaced.resolve(yields[0])) == Some(Literal::Int(0)) {
            // The condition is computed once, and its values are the results.
            let yields = self.inline(condition, inits);
            return self.become_values(id, &yields[1..]);
        }
        let passed = yields[1..].to_vec();
        let results = self.function.op(id).results.clone();
        let (args, body_args) =
            (self.function.region(condition).args.clone(), self.function.region(body).args.clone());
        let next = self.function.region(body).yields.clone();
        for ((&arg, &next), &init) in args.iter().zip(&next).zip(inits) {
            // Where the condition passes a carried value to the body, the body's argument is that value.
            let passes = |index: usize| passed[index] == arg;
            let unchanged = body_args.iter().position(|&body_arg| body_arg == next).is_some_and(passes);
            if unchanged || self.replaced.resolve(next) == init {
                self.replaced.replace(arg, init);
                for index in (0..passed.len()).filter(|&index| passes(index)) {
                    self.replaced.replace(body_args[index], init);
                    self.replaced.replace(results[index], init);
                }
            }
        }
        self.region(condition);
        self.region(body);
        self.out.push(id);
    }

    /// A function of elements that are all equal, or of scalars, is applied once.
    fn map(&mut self, id: OpId, values: &[Value], body: RegionId) {
        let scalar =
            |&value: &Value| if self.ty(value).is_scalar() { Some(value) } else { self.splat_of(value) };
        let scalars: SmallVec<[Value; 4]> = values.iter().map_while(scalar).collect();
        if scalars.len() < values.len() {
            self.region(body);
            self.out.push(id);
            return;
        }
        let shape = self.ty(values[0]).shape.clone();
        let span = self.function.op(id).span;
        let yields = self.inline(body, &scalars);
        let splats: SmallVec<[Value; 4]> =
            yields.into_iter().map(|value| self.emit_splat(value, &shape, span)).collect();
        self.become_values(id, &splats);
    }
}

/// How often a loop runs.
enum Trips {
    None,
    One,
}
