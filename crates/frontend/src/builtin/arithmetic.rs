//! `+ - * / // % **` and `-x` on tensors, pointers included, and the same as functions (`tl.add`, `tl.fdiv`, ...).

use super::promotion::{Operation, as_type, common_type, computing_type, operand_scalar, promote};
use super::{Builtin, broadcast, conversion};
use crate::lower::{Lowering, Result, type_text};
use crate::value::Value;
use tegula_ir::{BinaryOp, Element, Op, Scalar, Value as Tensor};

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "add",
        modules: &["", "core"],
        signature: "x, y, sanitize_overflow=True",
        method: false,
        doc: "Adds, like `x + y`.\n\nIntegers wrap. A pointer plus an integer moves by that many elements.",
        lower: |cx, args| add(cx, &args[0], &args[1]).map(Value::Tensor),
    },
    Builtin {
        name: "sub",
        modules: &["", "core"],
        signature: "x, y, sanitize_overflow=True",
        method: false,
        doc: "Subtracts, like `x - y`.\n\nIntegers wrap.",
        lower: |cx, args| subtract(cx, &args[0], &args[1]).map(Value::Tensor),
    },
    Builtin {
        name: "mul",
        modules: &["", "core"],
        signature: "x, y, sanitize_overflow=True",
        method: false,
        doc: "Multiplies, like `x * y`.\n\nIntegers wrap.",
        lower: |cx, args| multiply(cx, &args[0], &args[1]).map(Value::Tensor),
    },
    Builtin {
        name: "fdiv",
        modules: &["", "math"],
        signature: "x, y, ieee_rounding=False, approx=False",
        method: false,
        doc: "Divides floats, within two units in the last place.\n\nBoth operands are floats; 16-bit ones stay in 16 bits. See \
              `div_rn` for a quotient that is correctly rounded. `approx` allows a GPU to take its approximate quotient of fp32 numbers, \
              and excludes `ieee_rounding`.",
        lower: fast_divide,
    },
    Builtin {
        name: "div_rn",
        modules: &["", "math", "extra.libdevice", "extra.cuda.libdevice"],
        signature: "x, y",
        method: false,
        doc: "Divides fp32 numbers, correctly rounded to nearest even.",
        lower: |cx, args| float_divide(cx, args, BinaryOp::DivRn),
    },
    Builtin {
        name: "fma",
        modules: &["", "math", "extra.libdevice", "extra.cuda.libdevice"],
        signature: "x, y, z",
        method: false,
        doc: "Computes `x * y + z`, rounded once.\n\nThe operands are brought to one float type and one shape.",
        lower: fused_multiply_add,
    },
];

/// Applies an operation to operands of one type; 8-bit floats are computed in fp32 and rounded back, truth values modulo 2.
fn apply(cx: &mut Lowering<'_, '_>, op: BinaryOp, lhs: Tensor, rhs: Tensor) -> Tensor {
    let Element::Scalar(scalar) = cx.ty(lhs).element else {
        return cx.builder.binary(op, lhs, rhs);
    };
    if scalar == Scalar::Int1 {
        let op = match op {
            BinaryOp::Add | BinaryOp::Sub => BinaryOp::Xor,
            BinaryOp::Mul => BinaryOp::And,
            other => other,
        };
        return cx.builder.binary(op, lhs, rhs);
    }
    let wide = computing_type(scalar);
    let lhs = conversion::convert(cx, lhs, wide);
    let rhs = conversion::convert(cx, rhs, wide);
    let result = cx.builder.binary(op, lhs, rhs);
    conversion::convert(cx, result, scalar)
}

/// Applies an operation to values of one type and shape that exist already.
pub fn apply_same(cx: &mut Lowering<'_, '_>, op: BinaryOp, lhs: Tensor, rhs: Tensor) -> Tensor {
    apply(cx, op, lhs, rhs)
}

fn pointer_operand(cx: &Lowering<'_, '_>, value: &Value) -> Option<Tensor> {
    match value {
        Value::Tensor(tensor) if matches!(cx.ty(*tensor).element, Element::Pointer(_)) => Some(*tensor),
        _ => None,
    }
}

/// `lhs + rhs`.
pub fn add(cx: &mut Lowering<'_, '_>, lhs: &Value, rhs: &Value) -> Result<Tensor> {
    match (pointer_operand(cx, lhs), pointer_operand(cx, rhs)) {
        (Some(left), Some(right)) => {
            let message = format!(
                "cannot add two pointers, {} and {}",
                type_text(cx.ty(left)),
                type_text(cx.ty(right))
            );
            Err(Box::new(cx.error(message).with_help("add an integer number of elements to one of them")))
        }
        (Some(pointer), None) => {
            let offset = offset_operand(cx, pointer, rhs)?;
            move_pointer(cx, pointer, offset)
        }
        (None, Some(pointer)) => {
            let offset = offset_operand(cx, pointer, lhs)?;
            move_pointer(cx, pointer, offset)
        }
        (None, None) => {
            let (lhs, rhs) = promote(cx, lhs, rhs, Operation::Arithmetic)?;
            Ok(apply(cx, BinaryOp::Add, lhs, rhs))
        }
    }
}

/// `lhs - rhs`.
pub fn subtract(cx: &mut Lowering<'_, '_>, lhs: &Value, rhs: &Value) -> Result<Tensor> {
    if let Some(pointer) = pointer_operand(cx, lhs) {
        if let Some(other) = pointer_operand(cx, rhs) {
            let message = format!(
                "cannot subtract two pointers, {} and {}",
                type_text(cx.ty(pointer)),
                type_text(cx.ty(other))
            );
            return Err(Box::new(cx.error(message).with_help(
                "subtract their addresses and divide by the element's size: `(p.to(tl.int64) - q.to(tl.int64)) // 4`",
            )));
        }
        let offset = offset_operand(cx, pointer, rhs)?;
        // An unsigned offset below 64 bits must not wrap when it is negated.
        let offset = signed_offset(cx, offset);
        let offset = negate(cx, offset)?;
        return move_pointer(cx, pointer, offset);
    }
    let (lhs, rhs) = promote(cx, lhs, rhs, Operation::Arithmetic)?;
    Ok(apply(cx, BinaryOp::Sub, lhs, rhs))
}

/// `lhs * rhs`.
pub fn multiply(cx: &mut Lowering<'_, '_>, lhs: &Value, rhs: &Value) -> Result<Tensor> {
    let (lhs, rhs) = promote(cx, lhs, rhs, Operation::Arithmetic)?;
    Ok(apply(cx, BinaryOp::Mul, lhs, rhs))
}

/// `lhs / rhs`, which is a float: integers of any width divide in fp32.
pub fn divide(cx: &mut Lowering<'_, '_>, lhs: &Value, rhs: &Value) -> Result<Tensor> {
    let common = common_type(cx, lhs, rhs, Operation::Division)?;
    let scalar = if common.is_int() { Scalar::Float32 } else { common };
    let lhs = quotient_operand(cx, lhs, common, scalar)?;
    let rhs = quotient_operand(cx, rhs, common, scalar)?;
    let (lhs, rhs) = broadcast::pair(cx, lhs, rhs)?;
    Ok(apply(cx, BinaryOp::Div, lhs, rhs))
}

/// An operand of `/`: of two integers, each is first brought to their common type, as it is in Triton.
fn quotient_operand(
    cx: &mut Lowering<'_, '_>,
    value: &Value,
    common: Scalar,
    scalar: Scalar,
) -> Result<Tensor> {
    let value = as_type(cx, value, common)?;
    Ok(conversion::convert(cx, value, scalar))
}

/// `lhs // rhs` of integers, which truncates as in C.
pub fn floor_divide(cx: &mut Lowering<'_, '_>, lhs: &Value, rhs: &Value) -> Result<Tensor> {
    let common = common_type(cx, lhs, rhs, Operation::Division)?;
    if common.is_float() {
        let (left, right) = (cx.type_text_of(lhs), cx.type_text_of(rhs));
        let message = format!("`//` divides integers, and these operands are {left} and {right}");
        return Err(Box::new(cx.error(message).with_help("write `tl.floor(a / b)`")));
    }
    let (lhs, rhs) = promote(cx, lhs, rhs, Operation::Division)?;
    Ok(apply(cx, BinaryOp::Div, lhs, rhs))
}

/// `lhs % rhs`, with the sign of the dividend as in C.
pub fn remainder(cx: &mut Lowering<'_, '_>, lhs: &Value, rhs: &Value) -> Result<Tensor> {
    let (lhs, rhs) = promote(cx, lhs, rhs, Operation::Division)?;
    Ok(apply(cx, BinaryOp::Rem, lhs, rhs))
}

/// The largest constant exponent that `**` unrolls into products; larger ones are rare, and are better spelled out.
const LARGEST_UNROLLED_EXPONENT: i128 = 64;

/// `lhs ** rhs`: products for a constant natural exponent, else the power function of floats.
pub fn power(cx: &mut Lowering<'_, '_>, lhs: &Value, rhs: &Value) -> Result<Tensor> {
    if let Value::Int(exponent) = rhs
        && (1..=LARGEST_UNROLLED_EXPONENT).contains(exponent)
    {
        let base = cx.to_tensor(lhs)?;
        operand_scalar(cx, "**", base)?;
        return Ok(product_power(cx, base, *exponent as u32));
    }
    let common = common_type(cx, lhs, rhs, Operation::Arithmetic)?;
    if common.is_int() {
        let (left, right) = (cx.type_text_of(lhs), cx.type_text_of(rhs));
        let message =
            format!("`**` of integers takes a constant exponent from 1 to 64, and this is {left} ** {right}");
        return Err(Box::new(cx.error(message).with_help("cast the base to `tl.float32` first")));
    }
    let wide = if common.bits() < 32 { Scalar::Float32 } else { common };
    let base = as_type(cx, lhs, wide)?;
    let exponent = as_type(cx, rhs, wide)?;
    let (base, exponent) = broadcast::pair(cx, base, exponent)?;
    let result = cx.builder.binary(BinaryOp::Pow, base, exponent);
    Ok(conversion::convert(cx, result, common))
}

/// A power by repeated squaring.
fn product_power(cx: &mut Lowering<'_, '_>, base: Tensor, exponent: u32) -> Tensor {
    let mut square = base;
    let mut result = None;
    let mut left = exponent;
    loop {
        if left & 1 == 1 {
            result = Some(match result {
                Some(product) => apply(cx, BinaryOp::Mul, product, square),
                None => square,
            });
        }
        left >>= 1;
        match result {
            Some(product) if left == 0 => return product,
            _ => square = apply(cx, BinaryOp::Mul, square, square),
        }
    }
}

/// `-value`, which is `0 - value`: the negative of `+0.0` is `+0.0`.
pub fn negate(cx: &mut Lowering<'_, '_>, value: Tensor) -> Result<Tensor> {
    let scalar = operand_scalar(cx, "-", value)?;
    let zero = cx.constant(&Value::Int(0), scalar)?;
    let shape = cx.ty(value).shape.clone();
    let zero = cx.builder.splat(zero, &shape);
    Ok(apply(cx, BinaryOp::Sub, zero, value))
}

/// The offset to be added to a pointer, which must be an integer.
fn offset_operand(cx: &mut Lowering<'_, '_>, pointer: Tensor, value: &Value) -> Result<Tensor> {
    let offset = cx.to_tensor(value)?;
    match cx.ty(offset).element {
        Element::Scalar(scalar) if scalar.is_int() => Ok(offset),
        _ => {
            let message = format!(
                "a pointer moves by an integer number of elements, and {} was to be moved by {}",
                type_text(cx.ty(pointer)),
                type_text(cx.ty(offset))
            );
            Err(Box::new(cx.error(message).with_help("cast the offset: `.to(tl.int32)` or `.to(tl.int64)`")))
        }
    }
}

/// An offset that can be negated: unsigned ones become `int64`.
fn signed_offset(cx: &mut Lowering<'_, '_>, offset: Tensor) -> Tensor {
    match cx.ty(offset).element {
        Element::Scalar(scalar) if scalar.is_unsigned() => conversion::convert(cx, offset, Scalar::Int64),
        _ => offset,
    }
}

/// A pointer, or a block of them, moved by an integer or a block of integers.
pub fn move_pointer(cx: &mut Lowering<'_, '_>, pointer: Tensor, offset: Tensor) -> Result<Tensor> {
    let (pointer, offset) = broadcast::pair(cx, pointer, offset)?;
    // A truth value counts as 0 or 1; the operation takes integers of at least 8 bits.
    let offset = match cx.ty(offset).element {
        Element::Scalar(Scalar::Int1) => conversion::convert(cx, offset, Scalar::Int32),
        _ => offset,
    };
    Ok(cx.builder.add_pointer(pointer, offset))
}

fn fast_divide(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    if cx.truth("ieee_rounding", &args[2])? && cx.truth("approx", &args[3])? {
        let message = "`ieee_rounding` and `approx` exclude each other";
        return Err(Box::new(cx.error(message).with_help("leave one of them out")));
    }
    let op = if cx.truth("ieee_rounding", &args[2])? { BinaryOp::DivRn } else { BinaryOp::Div };
    float_divide(cx, args, op)
}

fn float_divide(cx: &mut Lowering<'_, '_>, args: &[Value], op: BinaryOp) -> Result<Value> {
    let lhs = Value::Tensor(cx.to_tensor(&args[0])?);
    let rhs = Value::Tensor(cx.to_tensor(&args[1])?);
    let common = common_type(cx, &lhs, &rhs, Operation::Arithmetic)?;
    if common.is_int() {
        let (left, right) = (cx.type_text_of(&lhs), cx.type_text_of(&rhs));
        let name = cx.builtin_name().unwrap_or("fdiv");
        let message = format!("`tl.{name}` divides floats, and these operands are {left} and {right}");
        return Err(Box::new(cx.error(message).with_help("write `a / b`, or cast to `tl.float32` first")));
    }
    let (lhs, rhs) = promote(cx, &lhs, &rhs, Operation::Arithmetic)?;
    Ok(Value::Tensor(apply(cx, op, lhs, rhs)))
}

fn fused_multiply_add(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let mut values = Vec::with_capacity(3);
    for arg in &args[..3] {
        values.push(Value::Tensor(cx.to_tensor(arg)?));
    }
    let first = common_type(cx, &values[0], &values[1], Operation::Arithmetic)?;
    let first = as_type(cx, &values[0], first)?;
    let scalar = common_type(cx, &Value::Tensor(first), &values[2], Operation::Arithmetic)?;
    let mut operands = Vec::with_capacity(3);
    for value in &values {
        operands.push(as_type(cx, value, scalar)?);
    }
    let operands = broadcast::all(cx, &operands)?;
    let (a, b, c) = (operands[0], operands[1], operands[2]);
    if scalar.is_int() {
        let product = apply(cx, BinaryOp::Mul, a, b);
        return Ok(Value::Tensor(apply(cx, BinaryOp::Add, product, c)));
    }
    let wide = computing_type(scalar);
    let (a, b, c) = (
        conversion::convert(cx, a, wide),
        conversion::convert(cx, b, wide),
        conversion::convert(cx, c, wide),
    );
    let ty = cx.ty(a).clone();
    let result = cx.builder.value(Op::Fma { a, b, c }, ty);
    Ok(Value::Tensor(conversion::convert(cx, result, scalar)))
}
