//! What an operation makes of what is known of its operands.

use super::Analysis;
use super::fact::{Axis, AxisInfo, Run, WHOLE, gcd, power_of_two_in};
use tegula_ir::{BinaryOp, Element, Hint, Op, Predicate, Scalar, Type, Value, ValueDef};

impl Analysis<'_> {
    /// What is known of the result of an operation without control flow.
    pub(super) fn transfer(&self, op: &Op, ty: &Type) -> AxisInfo {
        match op {
            Op::Constant(literal) => AxisInfo::literal(ty, *literal),
            Op::ProgramId { .. } | Op::NumPrograms { .. } => {
                AxisInfo { non_negative: true, ..AxisInfo::unknown(ty) }
            }
            Op::Arange { start, .. } => {
                let mut info = AxisInfo::unknown(ty);
                info.non_negative = *start >= 0;
                info.axes[0].contiguity = WHOLE;
                info.axes[0].divisor = power_of_two_in(*start as i64 as u64);
                info
            }
            Op::Splat { value } => AxisInfo::equal(ty, self.of(*value)),
            Op::Broadcast { value } => {
                let from = self.of(*value);
                let mut info = AxisInfo { axes: from.axes.clone(), ..self.like(*value, ty) };
                for (axis, &extent) in info.axes.iter_mut().zip(ty.shape.iter()) {
                    if axis.extent != extent {
                        *axis = Axis { extent, contiguity: 1, constancy: WHOLE, divisor: from.every() };
                    }
                }
                info
            }
            Op::ExpandDims { value, axis } => {
                let from = self.of(*value);
                let mut info = self.like(*value, ty);
                if !self.function.ty(*value).is_scalar() {
                    info.axes = from.axes.clone();
                    let new = Axis { extent: 1, contiguity: WHOLE, constancy: WHOLE, divisor: from.every() };
                    info.axes.insert(usize::from(*axis), new);
                } else {
                    info.set_divisor(from.every());
                }
                info
            }
            Op::Transpose { value, permutation } => {
                let from = self.of(*value);
                let axes = permutation.iter().map(|&axis| from.axes[usize::from(axis)]).collect();
                AxisInfo { axes, ..self.like(*value, ty) }
            }
            Op::Reshape { value } => self.reshape(*value, ty),
            Op::Slice { value, starts } => {
                let mut info = AxisInfo { axes: self.of(*value).axes.clone(), ..self.like(*value, ty) };
                let unit = info.unit_divisor();
                for ((axis, &start), &extent) in info.axes.iter_mut().zip(starts).zip(ty.shape.iter()) {
                    // What is left of the longer runs: those that both the old and the new indices are aligned to.
                    let divisor = axis.divisor_at(gcd(axis.contiguity, start), unit);
                    let contiguity =
                        if axis.contiguity == WHOLE { WHOLE } else { gcd(axis.contiguity, start) };
                    let constancy = if axis.constancy == WHOLE { WHOLE } else { gcd(axis.constancy, start) };
                    *axis = Axis { extent, contiguity, constancy, divisor };
                }
                info
            }
            Op::Index { value, axis, .. } => {
                let from = self.of(*value);
                let mut info = self.like(*value, ty);
                if ty.is_scalar() {
                    info.set_divisor(from.every());
                } else {
                    info.axes = from.axes.clone();
                    info.axes.remove(usize::from(*axis));
                }
                info
            }
            Op::Load { pointer, mask, other, volatile, .. } => {
                let mut info = AxisInfo::unknown(ty);
                if !volatile {
                    // Equal addresses hold equal numbers.
                    self.keep_constancy(&mut info, [Some(*pointer), *mask, *other].into_iter().flatten());
                }
                info
            }
            Op::Annotate { value, hint } => self.annotate(*value, hint),
            Op::Binary { op, lhs, rhs } => self.binary(*op, *lhs, *rhs, ty),
            Op::AddPointer { pointer, offset } => self.sum(*pointer, *offset, ty),
            Op::Compare { predicate, lhs, rhs } => self.compare(*predicate, *lhs, *rhs, ty),
            Op::Select { condition, on_true, on_false } => {
                let mut info = self.of(*on_true).meet(self.of(*on_false));
                let unit = info.unit_divisor();
                for (axis, condition) in info.axes.iter_mut().zip(&self.of(*condition).axes) {
                    let contiguity = gcd(axis.contiguity, condition.constancy);
                    axis.divisor = axis.divisor_at(contiguity, unit);
                    axis.contiguity = contiguity;
                    axis.constancy = gcd(axis.constancy, condition.constancy);
                }
                info
            }
            Op::Cast { value, .. } => self.cast(*value, ty),
            Op::Bitcast { value } => {
                let from = self.of(*value);
                let mut info = AxisInfo::unknown(ty);
                self.keep_constancy(&mut info, [*value]);
                // Addresses are numbers of bytes; the bits of floats are no numbers.
                let integral = |element: Element| element.as_scalar().is_none_or(Scalar::is_int);
                if integral(self.function.ty(*value).element) && integral(ty.element) {
                    info.set_divisor(from.every());
                }
                info
            }
            Op::Unary { value, .. } => {
                let mut info = AxisInfo::unknown(ty);
                self.keep_constancy(&mut info, [*value]);
                info
            }
            Op::Fma { a, b, c } => {
                let mut info = AxisInfo::unknown(ty);
                self.keep_constancy(&mut info, [*a, *b, *c]);
                info
            }
            _ => AxisInfo::unknown(ty),
        }
    }

    /// What is known of all elements together, of a value that has the elements of another.
    fn like(&self, value: Value, ty: &Type) -> AxisInfo {
        let from = self.of(value);
        AxisInfo { constant: from.constant, non_negative: from.non_negative, ..AxisInfo::unknown(ty) }
    }

    /// Where all operands are constant, the result is.
    fn keep_constancy(&self, info: &mut AxisInfo, operands: impl IntoIterator<Item = Value>) {
        info.axes.iter_mut().for_each(|axis| axis.constancy = WHOLE);
        for operand in operands {
            for (axis, from) in info.axes.iter_mut().zip(&self.of(operand).axes) {
                axis.constancy = gcd(axis.constancy, from.constancy);
            }
        }
    }

    fn reshape(&self, value: Value, ty: &Type) -> AxisInfo {
        let from = self.of(value);
        let mut info = self.like(value, ty);
        // Dimensions of extent 1 come and go; the others keep what is known of them.
        let longer: Vec<&Axis> = from.axes.iter().filter(|axis| axis.extent != 1).collect();
        let extents = ty.shape.iter().filter(|&&extent| extent != 1);
        if longer.iter().map(|axis| &axis.extent).eq(extents) {
            let mut longer = longer.into_iter();
            for axis in info.axes.iter_mut() {
                match axis.extent {
                    1 => axis.divisor = from.every(),
                    _ => *axis = *longer.next().expect("as many as in the result"),
                }
            }
            return info;
        }
        info.set_divisor(from.every());
        if from.axes.iter().all(|axis| axis.constancy == WHOLE) {
            info.axes.iter_mut().for_each(|axis| axis.constancy = WHOLE);
        }
        info
    }

    fn annotate(&self, value: Value, hint: &Hint) -> AxisInfo {
        let mut info = self.of(value).clone();
        let unit = info.unit_divisor();
        // `max_contiguous(multiple_of(x, 64), 64)`: the multiples are the starts of the runs promised outside.
        let inner = match self.function.defining_op(value).map(|data| &data.op) {
            Some(Op::Annotate { hint: Hint::MultipleOf(values), .. }) => values.as_slice(),
            _ => &[],
        };
        for (index, (axis, &promise)) in info.axes.iter_mut().zip(hint.values()).enumerate() {
            let promised = power_of_two_in(promise.into());
            match hint {
                // Of a dimension with runs of one element, the promise would be about every element; but users mean the first of
                // the runs that they promise next.
                Hint::MultipleOf(_) if axis.contiguity != 1 || axis.constancy == WHOLE => {
                    axis.divisor = axis.divisor.max(promised);
                }
                Hint::MultipleOf(_) => {}
                Hint::MaxContiguous(_) => {
                    if axis.contiguity != WHOLE && promise > axis.contiguity {
                        let starts_agree = promise.is_multiple_of(axis.contiguity);
                        axis.divisor = if starts_agree { axis.divisor } else { axis.divisor.min(unit) };
                        axis.contiguity = if promise >= axis.extent { WHOLE } else { promise };
                    }
                    if axis.contiguity == promise || promise >= axis.extent {
                        let multiple =
                            inner.get(index).map_or(1, |&multiple| power_of_two_in(multiple.into()));
                        axis.divisor = axis.divisor.max(multiple);
                    }
                }
                Hint::MaxConstancy(_) => {
                    if axis.constancy != WHOLE && promise > axis.constancy {
                        axis.constancy = if promise >= axis.extent { WHOLE } else { promise };
                    }
                }
            }
        }
        info
    }

    /// The runs along a dimension in which `runs` counts up and `steady` stays, and what divides the first of them.
    fn run_of_sum(&self, runs: &Axis, runs_unit: u64, steady: &Axis, steady_every: u64) -> (Run, u64) {
        let run = gcd(runs.contiguity, steady.constancy);
        (run, runs.divisor_at(run, runs_unit).min(steady_every))
    }

    /// A sum of integers, or a pointer and an offset.
    fn sum(&self, lhs: Value, rhs: Value, ty: &Type) -> AxisInfo {
        let (a, b) = (self.of(lhs), self.of(rhs));
        let mut info = AxisInfo::unknown(ty);
        let size = info.unit_divisor();
        let pointer = matches!(ty.element, Element::Pointer(_));
        // An offset counts elements: in bytes, it is a multiple of more.
        let scale = if pointer { size } else { 1 };
        let scaled = |divisor: u64| divisor.saturating_mul(scale).min(1 << 63);
        let scaled_b = |axis: &Axis| Axis { divisor: scaled(axis.divisor), ..*axis };
        let (every_a, every_b) = (a.every(), scaled(b.every()));
        for (index, axis) in info.axes.iter_mut().enumerate() {
            let (along_a, along_b) = (&a.axes[index], &scaled_b(&b.axes[index]));
            axis.constancy = gcd(along_a.constancy, along_b.constancy);
            let first = self.run_of_sum(along_a, size, along_b, every_b);
            let second = self.run_of_sum(along_b, size, along_a, every_a);
            let longer = |run: Run| if run == WHOLE { u32::MAX } else { run };
            let (run, divisor) =
                if (longer(first.0), first.1) >= (longer(second.0), second.1) { first } else { second };
            (axis.contiguity, axis.divisor) = (run, divisor);
            if run == 1 {
                axis.divisor = every_a.min(every_b);
            }
        }
        narrow_runs(&mut info, ty);
        // Only a sum that wraps around is negative.
        info.non_negative |= self.wraps_forward && a.non_negative && b.non_negative;
        info
    }

    /// Whether a value is the number of a program, of an iteration, or of an element.
    fn is_counter(&self, value: Value) -> bool {
        match self.function.value(value).def {
            ValueDef::Result { op, .. } => match &self.function.op(op).op {
                Op::ProgramId { .. } | Op::NumPrograms { .. } | Op::Arange { .. } => true,
                Op::Splat { value } | Op::Broadcast { value } | Op::ExpandDims { value, .. } => {
                    self.is_counter(*value)
                }
                _ => false,
            },
            ValueDef::RegionArg { .. } => self.loop_indices.contains(&value),
            ValueDef::Param(_) => false,
        }
    }

    fn binary(&self, op: BinaryOp, lhs: Value, rhs: Value, ty: &Type) -> AxisInfo {
        let (a, b) = (self.of(lhs), self.of(rhs));
        let mut info = AxisInfo::unknown(ty);
        let Some(scalar) = ty.element.as_scalar().filter(|scalar| scalar.is_int()) else {
            self.keep_constancy(&mut info, [lhs, rhs]);
            return info;
        };
        if op == BinaryOp::Add {
            return self.sum(lhs, rhs, ty);
        }
        self.keep_constancy(&mut info, [lhs, rhs]);
        let (every_a, every_b) = (a.every(), b.every());
        let amount = b.constant.and_then(|amount| u32::try_from(amount).ok()).filter(|&n| n < scalar.bits());
        let both = a.non_negative && b.non_negative;
        match op {
            BinaryOp::Sub => {
                for (index, axis) in info.axes.iter_mut().enumerate() {
                    let (run, divisor) = self.run_of_sum(&a.axes[index], 1, &b.axes[index], every_b);
                    axis.contiguity = run;
                    axis.divisor = if run == 1 { every_a.min(every_b) } else { divisor };
                }
                narrow_runs(&mut info, ty);
            }
            BinaryOp::Mul => {
                info.set_divisor(every_a.saturating_mul(every_b).min(1 << 63));
                // A counter times a block's extent; products of anything else, such as hashes, may well wrap around.
                let factor = b.constant.or(a.constant).is_some_and(|factor| (0..=1 << 16).contains(&factor));
                let counts = self.is_counter(lhs) || self.is_counter(rhs);
                info.non_negative |= self.wraps_forward && both && factor && counts;
            }
            BinaryOp::Shl => {
                let shifted =
                    amount.map_or(every_a, |amount| every_a.checked_shl(amount).unwrap_or(0).max(every_a));
                info.set_divisor(shifted);
            }
            BinaryOp::Or | BinaryOp::Xor => {
                info.set_divisor(every_a.min(every_b));
                info.non_negative |= both;
            }
            BinaryOp::Min | BinaryOp::Max => {
                info.set_divisor(every_a.min(every_b));
                let either = a.non_negative || b.non_negative;
                info.non_negative |= if op == BinaryOp::Max { either } else { both };
            }
            BinaryOp::And => {
                info.set_divisor(every_a.max(every_b));
                info.non_negative |= a.non_negative || b.non_negative;
                // `x & 15` is a remainder that takes its sign from no one.
                if let Some(mask) =
                    b.constant.filter(|&mask| mask >= 0 && (mask as u64 + 1).is_power_of_two())
                {
                    remainder(&mut info, a, mask as u64 + 1);
                }
            }
            BinaryOp::Shr => {
                info.non_negative |= a.non_negative;
                if let Some(amount) = amount {
                    quotient(&mut info, a, 1 << amount);
                }
            }
            BinaryOp::Div => {
                // As for remainders, a divisor that is known at run time alone is taken to be positive.
                let positive = b.non_negative || (self.wraps_forward && b.constant.is_none());
                info.non_negative |= a.non_negative && positive;
                if a.non_negative && b.axes.iter().all(|axis| axis.constancy == WHOLE) {
                    quotient(&mut info, a, every_b);
                }
                if b.constant == Some(1) {
                    return a.clone();
                }
            }
            BinaryOp::Rem => {
                info.non_negative |= a.non_negative;
                info.set_divisor(every_a.min(every_b));
                // A remainder by zero is zero, which does not count up.
                let counts_up = match b.constant {
                    Some(divisor) => a.non_negative && divisor != 0,
                    None => self.wraps_forward,
                };
                if counts_up {
                    remainder(&mut info, a, every_b);
                }
            }
            _ => {}
        }
        info
    }

    fn compare(&self, predicate: Predicate, lhs: Value, rhs: Value, ty: &Type) -> AxisInfo {
        let mut info = AxisInfo::unknown(ty);
        self.keep_constancy(&mut info, [lhs, rhs]);
        if self.function.ty(lhs).element.as_scalar().is_some_and(Scalar::is_float) {
            return info;
        }
        // A run from a multiple of its length does not cross a bound that is a multiple, too: `offsets < n`.
        let (runs, bound) = match predicate {
            Predicate::Lt | Predicate::Ge => (self.of(lhs), self.of(rhs)),
            Predicate::Gt | Predicate::Le => (self.of(rhs), self.of(lhs)),
            Predicate::Eq | Predicate::Ne => return info,
        };
        let every = bound.every();
        for (index, axis) in info.axes.iter_mut().enumerate() {
            let run = aligned_run(&runs.axes[index], every);
            let steady = bound.axes[index].constancy;
            let run = gcd(run, steady);
            if axis.constancy != WHOLE && (run == WHOLE || run > axis.constancy) {
                axis.constancy = run;
            }
        }
        info
    }

    fn cast(&self, value: Value, ty: &Type) -> AxisInfo {
        let from_ty = self.function.ty(value);
        let from = self.of(value);
        let mut info = AxisInfo::unknown(ty);
        let (Some(source), Some(target)) = (from_ty.element.as_scalar(), ty.element.as_scalar()) else {
            return info;
        };
        if source.is_float() || target.is_float() || target == Scalar::Int1 || source == Scalar::Int1 {
            self.keep_constancy(&mut info, [value]);
            return info;
        }
        info.axes = from.axes.clone();
        info.constant = from.constant.map(|number| target.wrap(number));
        let keeps = target.bits() > source.bits()
            || (target.bits() == source.bits() && target.is_signed() == source.is_signed());
        if target.is_signed() {
            info.non_negative = keeps && from.non_negative;
        }
        if target.bits() < source.bits() {
            // Numbers do wrap here: runs end where the narrower type does.
            let limit = 1u64 << (target.bits() - 1);
            for axis in &mut info.axes {
                let run = aligned_run(axis, limit);
                axis.divisor = axis.divisor_at(run, 1);
                axis.contiguity = run;
            }
        }
        info
    }
}

/// The runs that start at multiples of their own length, which divides `divisor`, a power of two.
fn aligned_run(axis: &Axis, divisor: u64) -> Run {
    if axis.extent == 1 {
        return WHOLE;
    }
    let longest = axis.divisor.min(divisor).min(1 << 31) as u32;
    // A run longer than the dimension is cut short by its end.
    if axis.contiguity == WHOLE && longest >= axis.extent { WHOLE } else { gcd(axis.contiguity, longest) }
}

/// Of 8 and 16 bits, sums do wrap: runs end where the type may.
fn narrow_runs(info: &mut AxisInfo, ty: &Type) {
    if ty.element.as_scalar().is_none_or(|scalar| scalar.bits() >= 32) {
        return;
    }
    let limit = 1 << (ty.element.as_scalar().map_or(1, Scalar::bits) - 1);
    for axis in &mut info.axes {
        let run = aligned_run(axis, limit);
        axis.divisor = axis.divisor_at(run, 1);
        axis.contiguity = run;
    }
}

/// Numbers divided by a multiple of `divisor`, rounding down: equal where the numbers run between two multiples.
fn quotient(info: &mut AxisInfo, numbers: &AxisInfo, divisor: u64) {
    for (axis, along) in info.axes.iter_mut().zip(&numbers.axes) {
        let run = aligned_run(along, divisor);
        if axis.constancy != WHOLE && (run == WHOLE || run > axis.constancy) {
            axis.constancy = run;
        }
    }
}

/// The remainder of numbers by a multiple of `divisor`: between two multiples, it counts up as the numbers do.
fn remainder(info: &mut AxisInfo, numbers: &AxisInfo, divisor: u64) {
    let every = info.every();
    for (axis, along) in info.axes.iter_mut().zip(&numbers.axes) {
        let run = aligned_run(along, divisor);
        if run != 1 {
            axis.contiguity = run;
            axis.divisor = along.divisor_at(gcd(along.contiguity, run), 1).min(divisor);
        } else {
            axis.divisor = every;
        }
    }
}
