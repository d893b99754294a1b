//! Quotients and remainders of indices by powers of two, with what is known of their operands.
//!
//! ```text
//! (%k + %i) % 8     %i % 8               if %k is a multiple of 8
//! (%k + %i) / 8     %k / 8 + %i / 8      likewise
//! %i % 8            %i & 7               if %i is not negative
//! %i / 8            %i >> 3              likewise
//! ```
//!
//! A sum counts as one too if dimensions were inserted or repeated since.
//!
//! In a loop over `%k`, what is left of `%i` does not change. For targets whose addresses are taken not to wrap around
//! ([`AxisAnalysis::of_indices`]); not one of the passes of [`crate::optimise`].

use crate::AxisAnalysis;
use crate::rebuild::rebuild;
use tegula_ir::{BinaryOp, Function, Literal, Op, OpId, Type, Value, ValueDef};

/// Simplifies every quotient and remainder, once. Returns whether there was one to simplify.
pub fn simplify_index_arithmetic(function: &mut Function, axis: &AxisAnalysis) -> bool {
    let body = function.body;
    rebuild(function, body, &mut |function, id, before| Simplify { function, axis }.simpler(id, before))
}

struct Simplify<'a> {
    function: &'a mut Function,
    axis: &'a AxisAnalysis,
}

impl Simplify<'_> {
    /// What an operation can be instead; what that needs is added to the operations before.
    fn simpler(&mut self, id: OpId, before: &mut Vec<OpId>) -> Option<Op> {
        let Op::Binary { op: op @ (BinaryOp::Div | BinaryOp::Rem), lhs, rhs } = self.function.op(id).op
        else {
            return None;
        };
        let divisor = self.axis.of(rhs).constant().filter(|divisor| *divisor > 0)?;
        let is_power = (divisor as u64).is_power_of_two();
        let scalar = self.function.ty(lhs).element.as_scalar()?;
        if !is_power || !scalar.is_int() || !self.axis.of(lhs).is_non_negative() {
            return None;
        }
        if let Some((multiple, rest)) = self.sum_with_multiple(id, lhs, divisor as u64, before) {
            return Some(match op {
                BinaryOp::Rem => Op::Binary { op, lhs: rest, rhs },
                _ => {
                    let ty = self.function.ty(lhs).clone();
                    let [lhs, rhs] = [multiple, rest]
                        .map(|part| self.add(id, Op::Binary { op, lhs: part, rhs }, ty.clone(), before));
                    Op::Binary { op: BinaryOp::Add, lhs, rhs }
                }
            });
        }
        let (op, amount) = match op {
            BinaryOp::Rem => (BinaryOp::And, divisor - 1),
            _ => (BinaryOp::Shr, i64::from((divisor as u64).trailing_zeros())),
        };
        let ty = self.function.ty(lhs).clone();
        let literal = Op::Constant(Literal::Int(amount));
        let mut rhs = self.add(id, literal, Type::scalar(ty.element), before);
        if !ty.is_scalar() {
            rhs = self.add(id, Op::Splat { value: rhs }, ty, before);
        }
        Some(Op::Binary { op, lhs, rhs })
    }

    /// The terms of a sum of which the first is a multiple of a number, and neither is negative.
    fn sum_with_multiple(
        &mut self,
        id: OpId,
        value: Value,
        number: u64,
        before: &mut Vec<OpId>,
    ) -> Option<(Value, Value)> {
        let ValueDef::Result { op, .. } = self.function.value(value).def else { return None };
        let renamed = self.function.op(op).op.clone();
        match renamed {
            Op::Binary { op: BinaryOp::Add, lhs, rhs }
                if [lhs, rhs].iter().all(|&one| self.axis.covers(one)) =>
            {
                let fits = |value: Value| self.axis.of(value).every().is_multiple_of(number);
                let positive = [lhs, rhs].iter().all(|&term| self.axis.of(term).is_non_negative());
                match (fits(lhs), fits(rhs)) {
                    _ if !positive => None,
                    (true, _) => Some((lhs, rhs)),
                    (_, true) => Some((rhs, lhs)),
                    _ => None,
                }
            }
            Op::ExpandDims { value: inner, .. } | Op::Broadcast { value: inner } => {
                let (multiple, rest) = self.sum_with_multiple(id, inner, number, before)?;
                let ty = self.function.ty(value).clone();
                let mut term = |part: Value| {
                    let mut op = renamed.clone();
                    op.for_each_operand_mut(|operand| *operand = part);
                    self.add(id, op, ty.clone(), before)
                };
                Some((term(multiple), term(rest)))
            }
            _ => None,
        }
    }

    fn add(&mut self, id: OpId, op: Op, ty: Type, before: &mut Vec<OpId>) -> Value {
        let span = self.function.op(id).span;
        let new = self.function.add_op(op, [ty], span);
        before.push(new);
        self.function.op(new).results[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simplified(operations: &str) -> String {
        let text = format!(
            "kernel @f(%q: *i32) {{
               %0 = arange 0..64 : <64xi32>
               %1 = constant 8 : i32
               %2 = splat %1 : <64xi32>
               %3 = program_id 0 : i32
               %4 = constant 128 : i32
               %5 = mul %3, %4 : i32
               %6 = splat %5 : <64xi32>
               %7 = add %6, %0 : <64xi32>
               {operations}
               %9 = splat %q : <64x*i32>
               %10 = add_pointer %9, %0 : <64x*i32>
               store %10, %8
             }}"
        );
        let mut function = Function::parse(&text).expect("the kernel is read");
        for _ in 0..2 {
            let axis = AxisAnalysis::of_indices(&function);
            simplify_index_arithmetic(&mut function, &axis);
            tegula_ir::verify(&function).expect("the kernel is well-formed");
        }
        crate::optimise(&mut function);
        function.to_string()
    }

    #[test]
    fn multiples_drop_out_of_remainders() {
        let text = simplified("%8 = rem %7, %2 : <64xi32>");
        assert!(!text.contains("rem") && !text.contains("program_id"), "{text}");
        assert!(text.contains("and"), "{text}");
    }

    #[test]
    fn sums_are_found_behind_new_dimensions() {
        let text = simplified(
            "%20 = expand_dims %7 axis 1 : <64x1xi32>
             %21 = splat %1 : <64x1xi32>
             %22 = rem %20, %21 : <64x1xi32>
             %8 = reshape %22 : <64xi32>",
        );
        assert!(!text.contains("rem") && !text.contains("program_id"), "{text}");
    }

    #[test]
    fn quotients_are_shifts() {
        let text = simplified("%8 = div %7, %2 : <64xi32>");
        assert!(!text.contains("div") && text.contains("shr"), "{text}");
    }
}
