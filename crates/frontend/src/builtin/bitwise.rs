//! `& | ^ ~ << >>` on integers and truth values.

use super::promotion::{Operation, as_type, common_type, integer_of, operand_scalar, promote};
use super::{Builtin, broadcast, comparison};
use crate::lower::{Lowering, Result};
use crate::value::Value;
use tegula_ir::{BinaryOp, Scalar, UnaryOp, Value as Tensor};

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "logical_and",
        modules: &[],
        signature: "x, y",
        method: true,
        doc: "Tells where both operands are true (not zero); the result is a block of `int1`.",
        lower: |cx, args| of_truths(cx, BinaryOp::And, args),
    },
    Builtin {
        name: "logical_or",
        modules: &[],
        signature: "x, y",
        method: true,
        doc: "Tells where either operand is true (not zero); the result is a block of `int1`.",
        lower: |cx, args| of_truths(cx, BinaryOp::Or, args),
    },
];

fn of_truths(cx: &mut Lowering<'_, '_>, op: BinaryOp, args: &[Value]) -> Result<Value> {
    let lhs = cx.to_tensor(&args[0])?;
    let rhs = cx.to_tensor(&args[1])?;
    let lhs = comparison::truth(cx, lhs);
    let rhs = comparison::truth(cx, rhs);
    let (lhs, rhs) = broadcast::pair(cx, lhs, rhs)?;
    Ok(Value::Tensor(cx.builder.binary(op, lhs, rhs)))
}

/// The common type of two integers; floats are refused.
fn common_integer(cx: &Lowering<'_, '_>, symbol: &str, lhs: &Value, rhs: &Value) -> Result<Scalar> {
    let common = common_type(cx, lhs, rhs, Operation::Arithmetic)?;
    if common.is_int() {
        return Ok(common);
    }
    let (left, right) = (cx.type_text_of(lhs), cx.type_text_of(rhs));
    let message = format!("`{symbol}` takes integers, and these operands are {left} and {right}");
    Err(Box::new(cx.error(message).with_help(
        "convert the floats with `.to(tl.int32)`, or take their bits with `.to(tl.int32, bitcast=True)`",
    )))
}

/// `lhs & rhs`, `lhs | rhs`, `lhs ^ rhs`.
pub fn logic(cx: &mut Lowering<'_, '_>, op: BinaryOp, lhs: &Value, rhs: &Value) -> Result<Tensor> {
    let symbol = match op {
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        _ => "^",
    };
    common_integer(cx, symbol, lhs, rhs)?;
    let (lhs, rhs) = promote(cx, lhs, rhs, Operation::Arithmetic)?;
    Ok(cx.builder.binary(op, lhs, rhs))
}

/// `lhs << rhs`.
pub fn shift_left(cx: &mut Lowering<'_, '_>, lhs: &Value, rhs: &Value) -> Result<Tensor> {
    common_integer(cx, "<<", lhs, rhs)?;
    let (lhs, rhs) = promote(cx, lhs, rhs, Operation::Arithmetic)?;
    Ok(cx.builder.binary(BinaryOp::Shl, lhs, rhs))
}

/// `lhs >> rhs`, which copies the sign where the left operand itself is signed, whatever the type of the result.
pub fn shift_right(cx: &mut Lowering<'_, '_>, lhs: &Value, rhs: &Value) -> Result<Tensor> {
    let common = common_integer(cx, ">>", lhs, rhs)?;
    let copies_sign = match cx.type_of(lhs).and_then(|ty| ty.element.as_scalar()) {
        Some(own) if !lhs.is_constant() => own.is_signed(),
        _ => common.is_signed(),
    };
    if !copies_sign || common.is_signed() || common == Scalar::Int1 {
        let (lhs, rhs) = promote(cx, lhs, rhs, Operation::Arithmetic)?;
        return Ok(cx.builder.binary(BinaryOp::Shr, lhs, rhs));
    }
    let signed = integer_of(common.bits(), true);
    let lhs = as_type(cx, lhs, signed)?;
    let rhs = as_type(cx, rhs, signed)?;
    let (lhs, rhs) = broadcast::pair(cx, lhs, rhs)?;
    let result = cx.builder.binary(BinaryOp::Shr, lhs, rhs);
    Ok(cx.builder.bitcast(result, common))
}

/// `~value`.
pub fn invert(cx: &mut Lowering<'_, '_>, value: Tensor) -> Result<Tensor> {
    let scalar = operand_scalar(cx, "~", value)?;
    if scalar.is_int() {
        return Ok(cx.builder.unary(UnaryOp::Not, value));
    }
    let message =
        format!("`~` takes integers, and this operand is {}", cx.type_text_of(&Value::Tensor(value)));
    Err(Box::new(cx.error(message).with_help("take its bits first: `.to(tl.int32, bitcast=True)`")))
}
