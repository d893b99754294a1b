//! Which type two operands are brought to: `int8` and `fp32` to `fp32`, `int32` and `uint32` to `uint32`.
//!
//! The rules are those of Triton 3.6. A constant number adapts to the value beside it, as long as its kind (truth value, integer,
//! float) is not higher than that value's; otherwise it counts as the first of `int32`, `uint32`, `int64`, `uint64`, or as `fp32` or
//! `fp64`. `fp16` wins over `bf16`; `bf16` beside anything but itself gives `fp32`.

use super::broadcast;
use super::conversion;
use crate::lower::{Lowering, Result, float_type, integer_type, type_text};
use crate::value::Value;
use tegula_ir::{Element, Scalar, Value as Tensor};

/// What an operator does with its operands, as far as their types are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `+ - *`, comparisons, minima: anything that has no rule of its own.
    Arithmetic,
    /// `/ // %`: 16-bit floats compute in fp32, and integers of unlike signs are refused.
    Division,
}

/// Brings two operands to one type and one shape.
///
/// # Errors
/// If either is no number, a pointer, a constant that does not fit the other's type, or their shapes do not fit.
pub fn promote(
    cx: &mut Lowering<'_, '_>,
    lhs: &Value,
    rhs: &Value,
    operation: Operation,
) -> Result<(Tensor, Tensor)> {
    let scalar = common_type(cx, lhs, rhs, operation)?;
    cx.warn_of_widening(lhs, rhs, scalar);
    let lhs = as_type(cx, lhs, scalar)?;
    let rhs = as_type(cx, rhs, scalar)?;
    broadcast::pair(cx, lhs, rhs)
}

/// Like [`promote`], for values that exist at run time already.
pub fn promote_tensors(
    cx: &mut Lowering<'_, '_>,
    lhs: Tensor,
    rhs: Tensor,
    operation: Operation,
) -> Result<(Tensor, Tensor)> {
    promote(cx, &Value::Tensor(lhs), &Value::Tensor(rhs), operation)
}

/// The type that two operands are brought to.
///
/// # Errors
/// As [`promote`], shapes aside.
pub fn common_type(cx: &Lowering<'_, '_>, lhs: &Value, rhs: &Value, operation: Operation) -> Result<Scalar> {
    let left = number_type(cx, lhs)?;
    let right = number_type(cx, rhs)?;
    let scalar = match (lhs.is_constant(), rhs.is_constant()) {
        (true, false) => of_constant(left, right, operation),
        (false, true) => of_constant(right, left, operation),
        _ => of_pair(left, right, operation),
    };
    let Some(scalar) = scalar else {
        return Err(no_common_type(cx, lhs, rhs, left, right));
    };
    for value in [lhs, rhs] {
        if let Value::Int(number) = value
            && scalar.is_int()
            && !fits(*number, scalar)
        {
            let name = scalar.language_name();
            let message = if *number < 0 && scalar.is_unsigned() {
                format!("the constant {number} is negative and the other operand is {name}")
            } else {
                format!("the constant {number} is out of the range of {name}, the type of the other operand")
            };
            return Err(Box::new(
                cx.error(message).with_help("cast the other operand to a wider type first"),
            ));
        }
    }
    Ok(scalar)
}

/// The scalar type of an operand: a constant's own if it stands alone.
fn number_type(cx: &Lowering<'_, '_>, value: &Value) -> Result<Scalar> {
    match value {
        Value::Bool(_) => Ok(Scalar::Int1),
        Value::Int(number) => integer_type(*number)
            .ok_or_else(|| cx.error(format!("the integer {number} does not fit in 64 bits"))),
        Value::Float(number) => Ok(float_type(*number)),
        Value::Tensor(tensor) => match cx.ty(*tensor).element {
            Element::Scalar(scalar) => Ok(scalar),
            Element::Pointer(_) => {
                let name = type_text(cx.ty(*tensor));
                Err(Box::new(
                    cx.error(format!("the operation does not take a pointer, and this one is a {name}"))
                        .with_help("load from the pointer first, or cast it: `pointer.to(tl.int64)`"),
                ))
            }
        },
        other => {
            let found = cx.describe(other);
            Err(cx.error(format!("expected a number or a block of numbers, but this is {found}")))
        }
    }
}

/// How high a type stands among truth values, integers and floats.
fn kind(scalar: Scalar) -> u8 {
    match scalar {
        Scalar::Int1 => 0,
        _ if scalar.is_int() => 1,
        _ => 2,
    }
}

/// The common type of a constant and a value that is none.
fn of_constant(constant: Scalar, other: Scalar, operation: Operation) -> Option<Scalar> {
    if kind(constant) > kind(other) {
        return of_pair(constant, other, operation);
    }
    let narrow = other.is_float() && other.bits() <= 16;
    Some(if operation == Operation::Division && narrow { Scalar::Float32 } else { other })
}

/// The common type of two values.
fn of_pair(lhs: Scalar, rhs: Scalar, operation: Operation) -> Option<Scalar> {
    let either = |scalar| lhs == scalar || rhs == scalar;
    let division = operation == Operation::Division;
    if either(Scalar::Float64) {
        return Some(Scalar::Float64);
    }
    if either(Scalar::Float32) {
        return Some(Scalar::Float32);
    }
    if either(Scalar::Float16) {
        return Some(if division { Scalar::Float32 } else { Scalar::Float16 });
    }
    if either(Scalar::BFloat16) {
        let both = lhs == rhs && !division;
        return Some(if both { Scalar::BFloat16 } else { Scalar::Float32 });
    }
    match (lhs.is_float(), rhs.is_float()) {
        (true, true) if division => Some(Scalar::Float32),
        (true, true) => Some(if lhs == rhs { lhs } else { Scalar::Float16 }),
        (false, false) if division && lhs.is_signed() != rhs.is_signed() => None,
        (false, false) => Some(of_integers(lhs, rhs)),
        _ => None,
    }
}

/// The common type of two integers, as C has it: the wider one, and the unsigned one of two that are equally wide.
pub fn of_integers(lhs: Scalar, rhs: Scalar) -> Scalar {
    if lhs.bits() != rhs.bits() {
        return if lhs.bits() > rhs.bits() { lhs } else { rhs };
    }
    if lhs.is_unsigned() { lhs } else { rhs }
}

fn no_common_type(
    cx: &Lowering<'_, '_>,
    lhs: &Value,
    rhs: &Value,
    left: Scalar,
    right: Scalar,
) -> Box<tegula_ir::Diagnostic> {
    let (left_text, right_text) = (cx.type_text_of(lhs), cx.type_text_of(rhs));
    if left.is_int() && right.is_int() {
        let message = format!("cannot divide {left_text} by {right_text}: one is signed, the other unsigned");
        return Box::new(cx.error(message).with_help("cast both to one type with `.to(...)` first"));
    }
    Box::new(
        cx.error(format!("{left_text} and {right_text} have no common type"))
            .with_help("cast the 8-bit float to `tl.float16` or `tl.float32` first"),
    )
}

/// Whether an integer is in the range of an integer type.
pub fn fits(number: i128, scalar: Scalar) -> bool {
    let (low, high) = if scalar.is_signed() {
        (-(1i128 << (scalar.bits() - 1)), (1i128 << (scalar.bits() - 1)) - 1)
    } else {
        (0, (1i128 << scalar.bits()) - 1)
    };
    (low..=high).contains(&number)
}

/// A number in the given type: constants are made in it, other values are cast.
pub fn as_type(cx: &mut Lowering<'_, '_>, value: &Value, scalar: Scalar) -> Result<Tensor> {
    match value {
        Value::Tensor(tensor) => Ok(conversion::convert(cx, *tensor, scalar)),
        constant => cx.constant(constant, scalar),
    }
}

/// A type with an element of 8 bits of float widened, since nothing computes in those: fp32 for them, else itself.
pub fn computing_type(scalar: Scalar) -> Scalar {
    if scalar.is_float8() { Scalar::Float32 } else { scalar }
}

/// The scalar type of a value that holds numbers.
///
/// # Errors
/// If the value holds pointers.
pub fn scalar_of(cx: &Lowering<'_, '_>, parameter: &str, value: Tensor) -> Result<Scalar> {
    match cx.ty(value).element {
        Element::Scalar(scalar) => Ok(scalar),
        Element::Pointer(_) => {
            Err(cx.parameter_error(parameter, "a number or a block of numbers", &Value::Tensor(value)))
        }
    }
}

/// The scalar type of the operand of an operator such as `-`, which must not be a pointer.
pub fn operand_scalar(cx: &Lowering<'_, '_>, operator: &str, value: Tensor) -> Result<Scalar> {
    if let Element::Scalar(scalar) = cx.ty(value).element {
        return Ok(scalar);
    }
    let ty = cx.type_text_of(&Value::Tensor(value));
    let message = format!("`{operator}` takes numbers, and this operand is {ty}");
    Err(Box::new(cx.error(message).with_help("load what the pointer points to, with `tl.load`")))
}

/// A scalar type of the given width and signedness.
///
/// # Panics
/// If `bits` is not 8, 16, 32 or 64.
pub fn integer_of(bits: u32, signed: bool) -> Scalar {
    match (bits, signed) {
        (8, true) => Scalar::Int8,
        (8, false) => Scalar::UInt8,
        (16, true) => Scalar::Int16,
        (16, false) => Scalar::UInt16,
        (32, true) => Scalar::Int32,
        (32, false) => Scalar::UInt32,
        (64, true) => Scalar::Int64,
        (64, false) => Scalar::UInt64,
        _ => unreachable!("no integer type has {bits} bits"),
    }
}
