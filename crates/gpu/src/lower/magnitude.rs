//! Integers that are small, by the operations that make them.

use tegula_ir::{BinaryOp, Function, Literal, Op, Scalar, Type, Value};

/// Operations that are followed; what more of them make is taken to be of any size.
const DEPTH: u32 = 8;

/// A number of bits `n` such that every element of a block of integers is from `-2^n` to `2^n`.
pub(super) fn magnitude_bits(function: &Function, value: Value) -> u32 {
    bits(function, value, DEPTH)
}

fn bits(function: &Function, value: Value, depth: u32) -> u32 {
    let ty = &function.value(value).ty;
    let of_type = scalar(ty).bits();
    let (Some(data), Some(depth)) = (function.defining_op(value), depth.checked_sub(1)) else {
        return of_type;
    };
    let of = |operand: Value| bits(function, operand, depth);
    let found = match &data.op {
        Op::Constant(Literal::Int(number)) => u64::BITS - number.unsigned_abs().leading_zeros(),
        Op::Splat { value }
        | Op::Broadcast { value }
        | Op::ExpandDims { value, .. }
        | Op::Reshape { value } => of(*value),
        Op::Cast { value: source, .. } => {
            let from = scalar(&function.value(*source).ty);
            // A negative number becomes a large one where the sign is lost.
            let keeps = !from.is_float() && (scalar(ty).is_signed() || !from.is_signed());
            if keeps { of(*source) } else { of_type }
        }
        Op::Binary { op: BinaryOp::Add, lhs, rhs } => of(*lhs).max(of(*rhs)) + 1,
        Op::Binary { op: BinaryOp::Sub, lhs, rhs } if scalar(ty).is_signed() => of(*lhs).max(of(*rhs)) + 1,
        Op::Binary { op: BinaryOp::And, lhs, rhs } => {
            mask_bits(function, *lhs).min(mask_bits(function, *rhs))
        }
        _ => of_type,
    };
    found.min(of_type)
}

/// The bits that a constant mask leaves of any number.
fn mask_bits(function: &Function, value: Value) -> u32 {
    match function.defining_op(value).map(|data| &data.op) {
        Some(Op::Constant(Literal::Int(mask))) if *mask >= 0 => i64::BITS - mask.leading_zeros(),
        Some(Op::Splat { value } | Op::Broadcast { value }) => mask_bits(function, *value),
        _ => u32::MAX,
    }
}

/// The type of the elements, of blocks of numbers.
fn scalar(ty: &Type) -> Scalar {
    ty.element.as_scalar().unwrap_or(Scalar::UInt64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tegula_ir::OpId;

    /// The bits of `%9`, of the words `%0` and what operations make of them.
    fn bits_of(operations: &str) -> u32 {
        let text = format!(
            "kernel @f(%q: *i32) {{
               %0 = load %q : i32
               %1 = constant 15 : i32
               %2 = constant -8 : i32
               {operations}
             }}"
        );
        let function = Function::parse(&text).expect("the kernel is read");
        let last = OpId(function.op_count() as u32 - 1);
        magnitude_bits(&function, function.op(last).results[0])
    }

    #[test]
    fn masks_and_sums_are_followed() {
        assert_eq!(bits_of("%9 = and %0, %1 : i32"), 4);
        assert_eq!(bits_of("%3 = and %1, %0 : i32\n %9 = add %3, %2 : i32"), 5);
        assert_eq!(bits_of("%3 = cast %0 : i8\n %9 = cast %3 : i64"), 8);
    }

    #[test]
    fn signs_that_are_lost_make_large_numbers() {
        assert_eq!(bits_of("%9 = and %0, %2 : i32"), 32);
        assert_eq!(bits_of("%3 = cast %0 : i8\n %9 = cast %3 : u32"), 32);
        assert_eq!(bits_of("%3 = and %0, %1 : i32\n %4 = cast %3 : u32\n %9 = sub %4, %4 : u32"), 32);
    }
}
