//! Narrow floats: what is computed in fp32 and rounded to 16 bits at once is computed in 16 bits, if its operands are numbers of that type.
//!
//! ```text
//! %2 = cast %0 : fp32        (of bf16)        %5 = mul %0, %1 : bf16
//! %3 = cast %1 : fp32                     =>
//! %4 = mul %2, %3 : fp32
//! %5 = cast %4 : bf16
//! ```
//!
//! A sum, a difference or a product of 16-bit floats *is* that of fp32, rounded: so the result is the same by definition. A number is
//! of the type if it was converted from it, or from an integer of so few bits that the type has it exactly; so are
//! sums, differences and products of such integers, as far as they stay as small. Conversions of sums of small integers become sums
//! of conversions, which may be of fewer elements, and which GPUs can make of the integers' bits.
//!
//! For targets with arithmetic on pairs of 16-bit floats; not one of the passes of [`crate::optimise`].

use crate::ranges::{Range, Ranges};
use crate::rebuild::rebuild;
use tegula_ir::{
    BinaryOp, Element, Function, Literal, Op, OpId, Rounding, Scalar, Span, Type, Value, ValueDef,
};

/// Narrows all that can be narrowed. Returns whether anything was.
pub fn narrow_floats(function: &mut Function) -> bool {
    let uses = count_uses(function);
    let mut ranges = Ranges::default();
    let body = function.body;
    rebuild(function, body, &mut |function, id, before| {
        let span = function.op(id).span;
        Narrow { function, uses: &uses, ranges: &mut ranges, before, span }.rounded(id)
    })
}

/// How often each value is an operand or yielded.
fn count_uses(function: &Function) -> Vec<u32> {
    fn region(function: &Function, id: tegula_ir::RegionId, uses: &mut [u32]) {
        for &op in &function.region(id).ops {
            let data = &function.op(op).op;
            data.for_each_operand(|value| uses[value.0 as usize] += 1);
            data.regions().iter().for_each(|&inner| region(function, inner, uses));
        }
        function.region(id).yields.iter().for_each(|value| uses[value.0 as usize] += 1);
    }
    let mut uses = vec![0; function.value_count()];
    region(function, function.body, &mut uses);
    uses
}

struct Narrow<'a> {
    function: &'a mut Function,
    uses: &'a [u32],
    ranges: &'a mut Ranges,
    before: &'a mut Vec<OpId>,
    span: Span,
}

impl Narrow<'_> {
    /// What a conversion to a 16-bit float can be instead.
    fn rounded(&mut self, id: OpId) -> Option<Op> {
        let Op::Cast { value, rounding: Rounding::NearestEven } = self.function.op(id).op else {
            return None;
        };
        let to = self.function.ty(self.function.op(id).results[0]).element.as_scalar()?;
        if !matches!(to, Scalar::Float16 | Scalar::BFloat16) {
            return None;
        }
        let from = self.function.ty(value).element.as_scalar()?;
        if from.is_int() {
            let (op, lhs, rhs) = self.small_sum(value, to)?;
            return Some(self.in_type(op, lhs, rhs, to, Narrow::of_integer));
        }
        if from != Scalar::Float32 {
            return None;
        }
        let Op::Binary { op, lhs, rhs } = *self.definition(value)? else { return None };
        let narrows = matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul)
            && self.uses.get(value.0 as usize) == Some(&1)
            && self.is_exact(lhs, to)
            && self.is_exact(rhs, to);
        narrows.then(|| self.in_type(op, lhs, rhs, to, Narrow::of_float))
    }

    fn definition(&self, value: Value) -> Option<&Op> {
        match self.function.value(value).def {
            ValueDef::Result { op, .. } => Some(&self.function.op(op).op),
            _ => None,
        }
    }

    /// The operation on two values that were brought to a type.
    fn in_type(
        &mut self,
        op: BinaryOp,
        lhs: Value,
        rhs: Value,
        to: Scalar,
        narrow: fn(&mut Self, Value, Scalar) -> Value,
    ) -> Op {
        let (lhs, rhs) = (narrow(self, lhs, to), narrow(self, rhs, to));
        Op::Binary { op, lhs, rhs }
    }

    /// Whether every element of an fp32 value is a number of the type.
    fn is_exact(&mut self, value: Value, to: Scalar) -> bool {
        match self.definition(value) {
            Some(&Op::Constant(literal @ Literal::Float(number))) => number.is_finite() && to.holds(literal),
            Some(&Op::Cast { value: inner, .. }) if self.scalar(inner) == Some(to) => true,
            Some(&(Op::Cast { .. } | Op::Binary { .. })) => {
                self.whole(value).is_some_and(|range| fits(range, to))
            }
            Some(op) => renamed(op).is_some_and(|inner| self.is_exact(inner, to)),
            None => false,
        }
    }

    /// Between which numbers the elements of an fp32 value are, if they are integers that fp32 has.
    fn whole(&mut self, value: Value) -> Option<Range> {
        let range = match *self.definition(value)? {
            Op::Constant(Literal::Float(number)) if number.fract() == 0.0 && number.abs() < 1e6 => {
                (number as i64, number as i64)
            }
            Op::Cast { value: inner, .. } if self.scalar(inner)?.is_int() => self.range(inner)?,
            Op::Binary { op, lhs, rhs } if self.scalar(value) == Some(Scalar::Float32) => {
                let (a, b) = (self.whole(lhs)?, self.whole(rhs)?);
                match op {
                    BinaryOp::Add => (a.0 + b.0, a.1 + b.1),
                    BinaryOp::Sub => (a.0 - b.1, a.1 - b.0),
                    BinaryOp::Mul => {
                        let products = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
                        (*products.iter().min()?, *products.iter().max()?)
                    }
                    _ => return None,
                }
            }
            ref op => self.whole(renamed(op)?)?,
        };
        let most = 1 << 20;
        (range.0 >= -most && range.1 <= most).then_some(range)
    }

    /// An exact fp32 value as one of the type.
    fn of_float(&mut self, value: Value, to: Scalar) -> Value {
        let shape = self.function.ty(value).shape.clone();
        let op = match self.definition(value).cloned() {
            Some(Op::Cast { value: inner, .. }) if self.scalar(inner) == Some(to) => return inner,
            Some(Op::Cast { value: inner, .. }) => return self.of_integer(inner, to),
            Some(Op::Binary { op, lhs, rhs })
                if [lhs, rhs].into_iter().all(|term| self.is_exact(term, to)) =>
            {
                self.in_type(op, lhs, rhs, to, Narrow::of_float)
            }
            Some(Op::Constant(literal)) => Op::Constant(literal),
            Some(mut op) if renamed(&op).is_some() => {
                op.for_each_operand_mut(|operand| *operand = self.of_float(*operand, to));
                op
            }
            _ => Op::Cast { value, rounding: Rounding::NearestEven },
        };
        self.add(op, Type { element: Element::Scalar(to), shape })
    }

    /// An integer value that the type has exactly, converted.
    fn of_integer(&mut self, value: Value, to: Scalar) -> Value {
        let shape = self.function.ty(value).shape.clone();
        let op = if let Some((op, lhs, rhs)) = self.small_sum(value, to) {
            self.in_type(op, lhs, rhs, to, Narrow::of_integer)
        } else {
            match self.definition(value).cloned() {
                Some(Op::Constant(Literal::Int(number))) => Op::Constant(Literal::Float(number as f64)),
                Some(mut op) if renamed(&op).is_some() => {
                    op.for_each_operand_mut(|operand| *operand = self.of_integer(*operand, to));
                    op
                }
                _ => Op::Cast { value, rounding: Rounding::NearestEven },
            }
        };
        self.add(op, Type { element: Element::Scalar(to), shape })
    }

    /// The operation and the terms of a sum or difference of integers, of which the type has all three exactly.
    ///
    /// None of them becomes -0, as a difference of equal numbers does not either.
    fn small_sum(&mut self, value: Value, to: Scalar) -> Option<(BinaryOp, Value, Value)> {
        let Op::Binary { op: op @ (BinaryOp::Add | BinaryOp::Sub), lhs, rhs } = *self.definition(value)?
        else {
            return None;
        };
        let (a, b) = (self.range(lhs)?, self.range(rhs)?);
        let sum = if op == BinaryOp::Add { (a.0 + b.0, a.1 + b.1) } else { (a.0 - b.1, a.1 - b.0) };
        // A sum that wraps around is no sum.
        let (low, high) = self.range(value)?;
        let exact = [a, b, sum].into_iter().all(|range| fits(range, to)) && low <= sum.0 && sum.1 <= high;
        let keeps = sum == (low, high);
        (exact && keeps).then_some((op, lhs, rhs))
    }

    /// The range of an integer value, if it is small.
    fn range(&mut self, value: Value) -> Option<Range> {
        let most = 1 << 20;
        self.ranges.of(self.function, value).filter(|range| range.0 >= -most && range.1 <= most)
    }

    fn scalar(&self, value: Value) -> Option<Scalar> {
        self.function.ty(value).element.as_scalar()
    }

    fn add(&mut self, op: Op, ty: Type) -> Value {
        let id = self.function.add_op(op, [ty], self.span);
        self.before.push(id);
        self.function.op(id).results[0]
    }
}

/// Whether a type has all integers of a range.
fn fits((low, high): Range, to: Scalar) -> bool {
    let most = if to == Scalar::BFloat16 { 1 << 8 } else { 1 << 11 };
    low >= -most && high <= most
}

/// The operand of which an operation has the elements, elsewhere or repeated.
fn renamed(op: &Op) -> Option<Value> {
    match *op {
        Op::Splat { value }
        | Op::Broadcast { value }
        | Op::ExpandDims { value, .. }
        | Op::Reshape { value }
        | Op::Transpose { value, .. } => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrowed(operations: &str) -> String {
        let text = format!(
            "kernel @f(%p: *i32, %s: *bf16, %o: *bf16) {{
               %0 = arange 0..64 : <64xi32>
               %1 = splat %p : <64x*i32>
               %2 = add_pointer %1, %0 : <64x*i32>
               %3 = load %2 : <64xi32>
               %4 = splat %s : <64x*bf16>
               %5 = add_pointer %4, %0 : <64x*bf16>
               %6 = load %5 : <64xbf16>
               %7 = cast %6 : <64xfp32>
               %8 = constant 15 : i32
               %9 = splat %8 : <64xi32>
               %10 = and %3, %9 : <64xi32>
               %11 = constant 8 : i32
               %12 = splat %11 : <64xi32>
               {operations}
               %30 = splat %o : <64x*bf16>
               %31 = add_pointer %30, %0 : <64x*bf16>
               store %31, %29
             }}"
        );
        let mut function = Function::parse(&text).expect("the kernel is read");
        narrow_floats(&mut function);
        tegula_ir::verify(&function).expect("the kernel is well-formed");
        crate::optimise(&mut function);
        function.to_string()
    }

    #[test]
    fn dequantisation_is_done_in_the_narrow_type() {
        let text = narrowed(
            "%13 = sub %10, %12 : <64xi32>
             %14 = cast %13 : <64xfp32>
             %15 = mul %14, %7 : <64xfp32>
             %29 = cast %15 : <64xbf16>",
        );
        assert!(!text.contains("fp32"), "{text}");
        assert!(text.contains("sub") && text.contains(": <64xbf16>"), "{text}");
    }

    #[test]
    fn floats_that_are_integers_are_narrow_as_well() {
        let text = narrowed(
            "%13 = cast %10 : <64xfp32>
             %14 = constant 8.0 : fp32
             %15 = splat %14 : <64xfp32>
             %16 = sub %13, %15 : <64xfp32>
             %17 = mul %16, %7 : <64xfp32>
             %29 = cast %17 : <64xbf16>",
        );
        assert!(!text.contains("fp32"), "{text}");
    }

    #[test]
    fn what_is_rounded_twice_stays() {
        let text = narrowed(
            "%14 = cast %3 : <64xfp32>
             %15 = mul %14, %7 : <64xfp32>
             %29 = cast %15 : <64xbf16>",
        );
        assert!(text.contains("mul") && text.contains("fp32"), "{text}");
        let text = narrowed(
            "%14 = mul %7, %7 : <64xfp32>
             %15 = mul %14, %7 : <64xfp32>
             %29 = cast %15 : <64xbf16>",
        );
        assert!(text.contains("fp32"), "{text}");
    }
}
