//! Python's arithmetic on values known at compile time.
//!
//! Integers have 128 bits, where Python's have no end: a result that does not fit is an error, never a wrong number.
//! `//` and `%` round towards minus infinity, as in Python; the same operators on run-time values truncate, as in C.

use crate::value::Value;
use ruff_python_ast::{CmpOp, Operator, UnaryOp};
use std::cmp::Ordering;

/// The longest tuple or string that an operator may make.
const MAX_LENGTH: usize = 1 << 20;

/// A number: truth values count as 0 and 1.
#[derive(Clone, Copy)]
enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    fn of(value: &Value) -> Option<Number> {
        match value {
            Value::Bool(value) => Some(Number::Int(i128::from(*value))),
            Value::Int(value) => Some(Number::Int(*value)),
            Value::Float(value) => Some(Number::Float(*value)),
            _ => None,
        }
    }

    fn to_float(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }
}

/// `lhs op rhs`. `None` if Python has no such operation for the operands' types.
///
/// # Errors
/// The fact: a division by zero, a negative shift, a result that is too large.
pub fn binary(op: Operator, lhs: &Value, rhs: &Value) -> Result<Option<Value>, String> {
    match (op, lhs, rhs) {
        (Operator::BitAnd, Value::Bool(a), Value::Bool(b)) => return Ok(Some(Value::Bool(a & b))),
        (Operator::BitOr, Value::Bool(a), Value::Bool(b)) => return Ok(Some(Value::Bool(a | b))),
        (Operator::BitXor, Value::Bool(a), Value::Bool(b)) => return Ok(Some(Value::Bool(a ^ b))),
        (Operator::Add, Value::Str(a), Value::Str(b)) => {
            return Ok(Some(Value::Str(format!("{a}{b}").into())));
        }
        (Operator::Add, Value::Tuple(a, _), Value::Tuple(b, _)) => {
            return Ok(Some(Value::Tuple(a.iter().chain(b.iter()).cloned().collect(), None)));
        }
        (Operator::Mult, Value::Tuple(items, _), count) | (Operator::Mult, count, Value::Tuple(items, _)) => {
            let Some(Number::Int(count)) = Number::of(count) else { return Ok(None) };
            let count = repetitions(items.len(), count)?;
            let repeated = (0..count).flat_map(|_| items.iter().cloned()).collect();
            return Ok(Some(Value::Tuple(repeated, None)));
        }
        (Operator::Mult, Value::Str(text), count) | (Operator::Mult, count, Value::Str(text)) => {
            let Some(Number::Int(count)) = Number::of(count) else { return Ok(None) };
            return Ok(Some(Value::Str(text.repeat(repetitions(text.len(), count)?).into())));
        }
        _ => {}
    }
    match (Number::of(lhs), Number::of(rhs)) {
        (Some(Number::Int(a)), Some(Number::Int(b))) => integers(op, a, b),
        (Some(a), Some(b)) => floats(op, a.to_float(), b.to_float()),
        _ => Ok(None),
    }
}

fn repetitions(length: usize, count: i128) -> Result<usize, String> {
    let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    match length.checked_mul(count) {
        Some(total) if total <= MAX_LENGTH => Ok(count),
        _ => Err(format!("a repetition of {count} times is too long")),
    }
}

fn integers(op: Operator, a: i128, b: i128) -> Result<Option<Value>, String> {
    let too_large = || format!("the result of {a} {} {b} does not fit in 128 bits", op.as_str());
    let by_zero = || format!("{a} {} 0 is a division by zero", op.as_str());
    let result = match op {
        Operator::Add => a.checked_add(b).ok_or_else(too_large)?,
        Operator::Sub => a.checked_sub(b).ok_or_else(too_large)?,
        Operator::Mult => a.checked_mul(b).ok_or_else(too_large)?,
        Operator::Div if b == 0 => return Err(by_zero()),
        Operator::Div => return Ok(Some(Value::Float(a as f64 / b as f64))),
        Operator::FloorDiv | Operator::Mod if b == 0 => return Err(by_zero()),
        Operator::FloorDiv => {
            let quotient = a.checked_div(b).ok_or_else(too_large)?;
            if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
        }
        Operator::Mod => {
            let rest = a.checked_rem(b).unwrap_or(0);
            if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
        }
        Operator::Pow if b < 0 => return floats(op, a as f64, b as f64),
        Operator::Pow => {
            let exponent = u32::try_from(b).ok();
            match (a, exponent) {
                (_, Some(exponent)) => a.checked_pow(exponent).ok_or_else(too_large)?,
                (0 | 1, None) => a,
                (-1, None) => {
                    if b % 2 == 0 {
                        1
                    } else {
                        -1
                    }
                }
                (_, None) => return Err(too_large()),
            }
        }
        Operator::LShift | Operator::RShift if b < 0 => {
            return Err(format!("the shift count {b} is negative"));
        }
        Operator::LShift => {
            let shifted = u32::try_from(b).ok().and_then(|count| a.checked_shl(count));
            match shifted {
                _ if a == 0 => 0,
                Some(shifted) if shifted >> b == a => shifted,
                _ => return Err(too_large()),
            }
        }
        Operator::RShift => a >> b.min(127),
        Operator::BitAnd => a & b,
        Operator::BitOr => a | b,
        Operator::BitXor => a ^ b,
        Operator::MatMult => return Ok(None),
    };
    Ok(Some(Value::Int(result)))
}

fn floats(op: Operator, a: f64, b: f64) -> Result<Option<Value>, String> {
    let result = match op {
        Operator::Add => a + b,
        Operator::Sub => a - b,
        Operator::Mult => a * b,
        Operator::Div | Operator::FloorDiv | Operator::Mod if b == 0.0 => {
            return Err(format!("{a:?} {} 0 is a division by zero", op.as_str()));
        }
        Operator::Div => a / b,
        Operator::FloorDiv => ((a - float_modulo(a, b)) / b).round(),
        Operator::Mod => float_modulo(a, b),
        Operator::Pow if a == 0.0 && b < 0.0 => return Err(format!("{a:?} ** {b:?} is a division by zero")),
        Operator::Pow if a < 0.0 && b.is_finite() && b.fract() != 0.0 => {
            return Err(format!("{a:?} ** {b:?} is a complex number"));
        }
        Operator::Pow => a.powf(b),
        _ => return Ok(None),
    };
    Ok(Some(Value::Float(result)))
}

/// The remainder with the sign of the divisor.
fn float_modulo(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest == 0.0 {
        0f64.copysign(b)
    } else if (rest < 0.0) != (b < 0.0) {
        rest + b
    } else {
        rest
    }
}

/// `op value`. `None` if Python has no such operation for the operand's type.
///
/// # Errors
/// If the result is too large.
pub fn unary(op: UnaryOp, value: &Value) -> Result<Option<Value>, String> {
    Ok(match (op, Number::of(value)) {
        (UnaryOp::Not, _) => truth(value).map(|truth| Value::Bool(!truth)),
        (UnaryOp::UAdd, Some(Number::Int(value))) => Some(Value::Int(value)),
        (UnaryOp::UAdd, Some(Number::Float(value))) => Some(Value::Float(value)),
        (UnaryOp::USub, Some(Number::Int(value))) => Some(Value::Int(
            value.checked_neg().ok_or_else(|| format!("-({value}) does not fit in 128 bits"))?,
        )),
        (UnaryOp::USub, Some(Number::Float(value))) => Some(Value::Float(-value)),
        (UnaryOp::Invert, Some(Number::Int(value))) => Some(Value::Int(!value)),
        (_, _) => None,
    })
}

/// Whether Python takes a value for true; `None` if that is not known at compile time.
pub fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::None => Some(false),
        Value::Bool(value) => Some(*value),
        Value::Int(value) => Some(*value != 0),
        Value::Float(value) => Some(*value != 0.0),
        Value::Str(text) => Some(!text.is_empty()),
        Value::Tuple(items, _) => Some(!items.is_empty()),
        Value::Tensor(_) => None,
        _ => Some(true),
    }
}

/// `lhs op rhs` for a comparison, `is` and `in` included. `None` if Python cannot compare the operands' types, or the answer is not
/// known at compile time.
pub fn compare(op: CmpOp, lhs: &Value, rhs: &Value) -> Option<bool> {
    match op {
        CmpOp::Eq => equal(lhs, rhs),
        CmpOp::NotEq => equal(lhs, rhs).map(|equal| !equal),
        CmpOp::Is => Some(identical(lhs, rhs)),
        CmpOp::IsNot => Some(!identical(lhs, rhs)),
        CmpOp::In => contains(rhs, lhs),
        CmpOp::NotIn => contains(rhs, lhs).map(|contained| !contained),
        CmpOp::Lt => order(lhs, rhs).map(|order| order == Some(Ordering::Less)),
        CmpOp::LtE => order(lhs, rhs).map(|order| matches!(order, Some(Ordering::Less | Ordering::Equal))),
        CmpOp::Gt => order(lhs, rhs).map(|order| order == Some(Ordering::Greater)),
        CmpOp::GtE => order(lhs, rhs).map(|order| matches!(order, Some(Ordering::Greater | Ordering::Equal))),
    }
}

fn contains(container: &Value, item: &Value) -> Option<bool> {
    match (container, item) {
        (Value::Str(text), Value::Str(part)) => Some(text.contains(&**part)),
        (Value::Tuple(items, _), item) => {
            let mut unknown = false;
            for candidate in items.iter() {
                match equal(candidate, item) {
                    Some(true) => return Some(true),
                    Some(false) => {}
                    None => unknown = true,
                }
            }
            (!unknown).then_some(false)
        }
        _ => None,
    }
}

/// Python's `==`; `None` if it depends on run-time values.
fn equal(lhs: &Value, rhs: &Value) -> Option<bool> {
    if let (Some(a), Some(b)) = (Number::of(lhs), Number::of(rhs)) {
        return Some(number_order(a, b) == Some(Ordering::Equal));
    }
    match (lhs, rhs) {
        (Value::Tensor(_), _) | (_, Value::Tensor(_)) => None,
        (Value::Tuple(a, _), Value::Tuple(b, _)) => {
            if a.len() != b.len() {
                return Some(false);
            }
            let mut unknown = false;
            for (a, b) in a.iter().zip(b.iter()) {
                match equal(a, b) {
                    Some(false) => return Some(false),
                    Some(true) => {}
                    None => unknown = true,
                }
            }
            (!unknown).then_some(true)
        }
        _ => Some(identical(lhs, rhs)),
    }
}

/// Python's `is`, where equal constants of one type count as one object.
pub fn identical(lhs: &Value, rhs: &Value) -> bool {
    match (lhs, rhs) {
        (Value::None, Value::None) | (Value::Ellipsis, Value::Ellipsis) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::Type(a), Value::Type(b)) => a == b,
        (Value::PointerType(a), Value::PointerType(b)) => a == b,
        (Value::Tensor(a), Value::Tensor(b)) => a == b,
        (Value::Tuple(a, class_a), Value::Tuple(b, class_b)) => {
            class_a == class_b && a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| identical(a, b))
        }
        (Value::Slice(a), Value::Slice(b)) => a.iter().zip(b.iter()).all(|(a, b)| identical(a, b)),
        (Value::Builtin(a), Value::Builtin(b)) => a == b,
        (Value::Function(a), Value::Function(b)) => a == b,
        (Value::Method(a), Value::Method(b)) => identical(&a.0, &b.0) && identical(&a.1, &b.1),
        (Value::Language(a), Value::Language(b)) => a == b,
        (Value::Python(a), Value::Python(b)) => a == b,
        (Value::ConstexprFunction(a), Value::ConstexprFunction(b)) => a == b,
        (Value::Module(a), Value::Module(b)) => a == b,
        (Value::TupleClass(a), Value::TupleClass(b)) => a == b,
        (Value::PlainFunction(a), Value::PlainFunction(b)) => a == b,
        (Value::Record(a), Value::Record(b)) => {
            a.kind == b.kind
                && a.fields.len() == b.fields.len()
                && a.fields.iter().zip(&b.fields).all(|(a, b)| a.0 == b.0 && identical(&a.1, &b.1))
        }
        (Value::Other(a, _), Value::Other(b, _)) => a == b,
        _ => false,
    }
}

/// The order of two values; the inner `None` is that of NaN.
fn order(lhs: &Value, rhs: &Value) -> Option<Option<Ordering>> {
    if let (Some(a), Some(b)) = (Number::of(lhs), Number::of(rhs)) {
        return Some(number_order(a, b));
    }
    match (lhs, rhs) {
        (Value::Str(a), Value::Str(b)) => Some(Some(a.cmp(b))),
        (Value::Tuple(a, _), Value::Tuple(b, _)) => {
            for (a, b) in a.iter().zip(b.iter()) {
                if !equal(a, b)? {
                    return order(a, b);
                }
            }
            Some(Some(a.len().cmp(&b.len())))
        }
        _ => None,
    }
}

fn number_order(a: Number, b: Number) -> Option<Ordering> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (a, b) => a.to_float().partial_cmp(&b.to_float()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(op: Operator, a: i128, b: i128) -> i128 {
        match binary(op, &Value::Int(a), &Value::Int(b)) {
            Ok(Some(Value::Int(value))) => value,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn division_rounds_down() {
        for (a, b, quotient, rest) in
            [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (-8, 2, -4, 0)]
        {
            assert_eq!(int(Operator::FloorDiv, a, b), quotient);
            assert_eq!(int(Operator::Mod, a, b), rest);
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let large = Value::Int(i128::MAX);
        assert!(binary(Operator::Add, &large, &Value::Int(1)).is_err());
        assert!(binary(Operator::LShift, &Value::Int(1), &Value::Int(127)).is_err());
        assert!(binary(Operator::Pow, &Value::Int(2), &Value::Int(1 << 40)).is_err());
        assert!(binary(Operator::FloorDiv, &Value::Int(1), &Value::Int(0)).is_err());
        assert!(unary(UnaryOp::USub, &Value::Int(i128::MIN)).is_err());
        assert_eq!(int(Operator::LShift, -1, 127), i128::MIN);
    }

    #[test]
    fn truth_values_are_integers() {
        assert_eq!(int(Operator::Add, 2, 3), 5);
        let sum = binary(Operator::Add, &Value::Bool(true), &Value::Bool(true));
        assert!(matches!(sum, Ok(Some(Value::Int(2)))));
        assert_eq!(compare(CmpOp::Eq, &Value::Bool(true), &Value::Float(1.0)), Some(true));
        assert_eq!(compare(CmpOp::Is, &Value::Int(1), &Value::Bool(true)), Some(false));
    }

    #[test]
    fn comparisons_with_nan_are_false() {
        let nan = Value::Float(f64::NAN);
        for op in [CmpOp::Lt, CmpOp::LtE, CmpOp::Gt, CmpOp::GtE, CmpOp::Eq] {
            assert_eq!(compare(op, &nan, &nan), Some(false));
        }
        assert_eq!(compare(CmpOp::NotEq, &nan, &nan), Some(true));
    }
}
