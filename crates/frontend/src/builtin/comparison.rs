//! Comparisons, truth, and choices between values: `<`, `tl.where`, `tl.minimum`, `tl.maximum`, `tl.clamp`.
//!
//! Unlike in arithmetic, a constant beside a value does not take that value's type here: it is an `int32` or `fp32` first. So
//! `maximum(fp16, 0.0)` is fp32, as it is in Triton.

use super::promotion::{Operation, computing_type, promote, promote_tensors};
use super::{Builtin, broadcast, conversion};
use crate::lower::{Lowering, Result, type_text};
use crate::value::Value;
use tegula_ir::{BinaryOp, Element, Predicate, Scalar, Value as Tensor};

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "where",
        modules: &["", "core"],
        signature: "condition, x, y",
        method: false,
        doc: "Chooses, element by element, `x` where the condition is true and `y` where it is not.\n\nAll three broadcast to one shape; \
              `x` and `y` are brought to one type. Both are computed everywhere: to avoid an access to memory, give the load a mask.",
        lower: choose,
    },
    Builtin {
        name: "minimum",
        modules: &["", "core"],
        signature: "x, y, propagate_nan=None",
        method: false,
        doc: "The smaller of two values, element by element.\n\nWhere one float is NaN the other is taken; with \
              `propagate_nan=tl.PropagateNan.ALL` the result is NaN there. `bf16` gives fp32.",
        lower: |cx, args| extreme(cx, args, BinaryOp::Min, BinaryOp::MinNan),
    },
    Builtin {
        name: "maximum",
        modules: &["", "core"],
        signature: "x, y, propagate_nan=None",
        method: false,
        doc: "The larger of two values, element by element.\n\nWhere one float is NaN the other is taken; with \
              `propagate_nan=tl.PropagateNan.ALL` the result is NaN there. `bf16` gives fp32.",
        lower: |cx, args| extreme(cx, args, BinaryOp::Max, BinaryOp::MaxNan),
    },
    Builtin {
        name: "clamp",
        modules: &["", "core"],
        signature: "x, min, max, propagate_nan=None",
        method: false,
        doc: "Limits values to the range from `min` to `max`.\n\nA NaN in `x` becomes `min`, or stays with \
              `propagate_nan=tl.PropagateNan.ALL`. What comes out where `min > max` is unspecified.",
        lower: clamp,
    },
];

/// The value of `tl.PropagateNan.ALL`.
pub const PROPAGATE_ALL: i128 = 0xFFFF;

/// The value of `tl.PropagateNan.NONE`.
pub const PROPAGATE_NONE: i128 = 0;

/// Compares two operands; the result is `int1`.
///
/// # Errors
/// If an operand is a pointer and the other is not the same kind of pointer, or the shapes do not fit.
pub fn compare(cx: &mut Lowering<'_, '_>, predicate: Predicate, lhs: &Value, rhs: &Value) -> Result<Tensor> {
    cx.warn_of_sign(predicate, lhs, rhs);
    let lhs = cx.to_tensor(lhs)?;
    let rhs = cx.to_tensor(rhs)?;
    let (left, right) = (cx.ty(lhs).element, cx.ty(rhs).element);
    let (lhs, rhs) = match (left, right) {
        (Element::Pointer(a), Element::Pointer(b)) if (a.pointee, a.depth) == (b.pointee, b.depth) => {
            let lhs = cx.builder.bitcast(lhs, Scalar::UInt64);
            let rhs = cx.builder.bitcast(rhs, Scalar::UInt64);
            broadcast::pair(cx, lhs, rhs)?
        }
        (Element::Pointer(_), _) | (_, Element::Pointer(_)) => {
            let message = format!("cannot compare {} with {}", type_text(cx.ty(lhs)), type_text(cx.ty(rhs)));
            return Err(Box::new(
                cx.error(message)
                    .with_help("load from the pointer first, or compare its address, `p.to(tl.int64)`"),
            ));
        }
        _ => promote_tensors(cx, lhs, rhs, Operation::Arithmetic)?,
    };
    let lhs = conversion::widen_float8(cx, lhs);
    let rhs = conversion::widen_float8(cx, rhs);
    Ok(cx.builder.compare(predicate, lhs, rhs))
}

/// Where a value is not zero; itself if it is `int1`.
pub fn truth(cx: &mut Lowering<'_, '_>, value: Tensor) -> Tensor {
    match cx.ty(value).element {
        Element::Scalar(_) => conversion::convert(cx, value, Scalar::Int1),
        Element::Pointer(_) => {
            let address = cx.builder.bitcast(value, Scalar::Int64);
            conversion::convert(cx, address, Scalar::Int1)
        }
    }
}

fn choose(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let condition = cx.to_tensor(&args[0])?;
    let condition = truth(cx, condition);
    let (on_true, on_false) = match (&args[1], &args[2]) {
        (Value::Tensor(x), Value::Tensor(y)) if cx.ty(*x).element == cx.ty(*y).element => (*x, *y),
        (x, y) => {
            // Two pointers of one type were taken above; promotion refuses any other pointer with a message of its own.
            promote(cx, x, y, Operation::Arithmetic)?
        }
    };
    let values = broadcast::all(cx, &[condition, on_true, on_false])?;
    Ok(Value::Tensor(cx.builder.select(values[0], values[1], values[2])))
}

/// Whether NaN operands make the result NaN.
fn keeps_nan(cx: &Lowering<'_, '_>, value: &Value) -> Result<bool> {
    match value {
        Value::None | Value::Int(PROPAGATE_NONE) => Ok(false),
        Value::Int(PROPAGATE_ALL) => Ok(true),
        other => {
            Err(cx.parameter_error("propagate_nan", "`tl.PropagateNan.ALL` or `tl.PropagateNan.NONE`", other))
        }
    }
}

/// A number as an operand of `minimum`, `maximum` or `clamp`: a run-time value, `bf16` widened.
fn extreme_operand(cx: &mut Lowering<'_, '_>, value: &Value) -> Result<Tensor> {
    let value = cx.to_tensor(value)?;
    Ok(match cx.ty(value).element {
        Element::Scalar(Scalar::BFloat16) => conversion::convert(cx, value, Scalar::Float32),
        _ => value,
    })
}

fn extreme(cx: &mut Lowering<'_, '_>, args: &[Value], skip: BinaryOp, keep: BinaryOp) -> Result<Value> {
    let keeps = keeps_nan(cx, &args[2])?;
    let lhs = extreme_operand(cx, &args[0])?;
    let rhs = extreme_operand(cx, &args[1])?;
    let (lhs, rhs) = promote_tensors(cx, lhs, rhs, Operation::Arithmetic)?;
    Ok(Value::Tensor(smaller_or_larger(cx, if keeps { keep } else { skip }, lhs, rhs)))
}

/// `Min`, `Max`, `MinNan` or `MaxNan` of values of one type and shape; of integers, NaN does not matter.
pub fn smaller_or_larger(cx: &mut Lowering<'_, '_>, op: BinaryOp, lhs: Tensor, rhs: Tensor) -> Tensor {
    let Some(scalar) = cx.ty(lhs).element.as_scalar() else {
        return cx.builder.binary(op, lhs, rhs);
    };
    let op = match op {
        BinaryOp::MinNan if scalar.is_int() => BinaryOp::Min,
        BinaryOp::MaxNan if scalar.is_int() => BinaryOp::Max,
        other => other,
    };
    let op = match (op, scalar) {
        (BinaryOp::Min, Scalar::Int1) => BinaryOp::And,
        (BinaryOp::Max, Scalar::Int1) => BinaryOp::Or,
        _ => op,
    };
    let wide = computing_type(scalar);
    let lhs = conversion::convert(cx, lhs, wide);
    let rhs = conversion::convert(cx, rhs, wide);
    let result = cx.builder.binary(op, lhs, rhs);
    conversion::convert(cx, result, scalar)
}

fn clamp(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let keeps = keeps_nan(cx, &args[3])?;
    let x = extreme_operand(cx, &args[0])?;
    let low = extreme_operand(cx, &args[1])?;
    let high = extreme_operand(cx, &args[2])?;
    let (low, high) = promote_tensors(cx, low, high, Operation::Arithmetic)?;
    let (x, low) = promote_tensors(cx, x, low, Operation::Arithmetic)?;
    let (x, high) = promote_tensors(cx, x, high, Operation::Arithmetic)?;
    let low = {
        let scalar = cx.ty(x).element.as_scalar().unwrap_or(Scalar::Float32);
        let low = conversion::convert(cx, low, scalar);
        let shape = cx.ty(x).shape.clone();
        broadcast::spread(cx, low, &shape)
    };
    let (max, min) =
        if keeps { (BinaryOp::MaxNan, BinaryOp::MinNan) } else { (BinaryOp::Max, BinaryOp::Min) };
    let raised = smaller_or_larger(cx, max, x, low);
    Ok(Value::Tensor(smaller_or_larger(cx, min, raised, high)))
}
