//! Bringing blocks to one shape: a scalar spreads over a block, a lower rank gains leading dimensions of extent 1, and a
//! dimension of extent 1 is repeated.

use crate::lower::{Lowering, Result, type_text};
use tegula_ir::{Diagnostic, Shape, Value as Tensor};

/// The shape that two shapes broadcast to, unless they do not fit.
pub fn common_shape(lhs: &Shape, rhs: &Shape) -> Option<Shape> {
    let rank = lhs.rank().max(rhs.rank());
    let extent = |shape: &Shape, axis: usize| {
        let missing = rank - shape.rank();
        if axis < missing { 1 } else { shape[axis - missing] }
    };
    (0..rank)
        .map(|axis| match (extent(lhs, axis), extent(rhs, axis)) {
            (1, other) | (other, 1) => Some(other),
            (left, right) if left == right => Some(left),
            _ => None,
        })
        .collect()
}

/// A value in a shape that it broadcasts to; the caller has checked that with [`common_shape`].
pub fn spread(cx: &mut Lowering<'_, '_>, value: Tensor, shape: &Shape) -> Tensor {
    if cx.ty(value).is_scalar() {
        return cx.builder.splat(value, shape);
    }
    let mut value = value;
    while cx.ty(value).shape.rank() < shape.rank() {
        value = cx.builder.expand_dims(value, 0);
    }
    cx.builder.broadcast(value, shape)
}

/// Two values in the shape that they broadcast to.
///
/// # Errors
/// If their shapes do not fit.
pub fn pair(cx: &mut Lowering<'_, '_>, lhs: Tensor, rhs: Tensor) -> Result<(Tensor, Tensor)> {
    let (left, right) = (&cx.ty(lhs).shape, &cx.ty(rhs).shape);
    if left == right {
        return Ok((lhs, rhs));
    }
    let Some(shape) = common_shape(left, right) else {
        return Err(mismatch(cx, "the operands do not broadcast together", lhs, rhs));
    };
    Ok((spread(cx, lhs, &shape), spread(cx, rhs, &shape)))
}

/// Several values in the shape that they broadcast to.
///
/// # Errors
/// If their shapes do not fit.
pub fn all(cx: &mut Lowering<'_, '_>, values: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut shape = Shape::scalar();
    for &value in values {
        let Some(next) = common_shape(&shape, &cx.ty(value).shape) else {
            return Err(mismatch(cx, "the operands do not broadcast together", values[0], value));
        };
        shape = next;
    }
    Ok(values.iter().map(|&value| spread(cx, value, &shape)).collect())
}

/// A value in the shape of another operand of the same call.
///
/// # Errors
/// If it does not broadcast to that shape; the message names the parameter.
pub fn parameter_to(
    cx: &mut Lowering<'_, '_>,
    parameter: &str,
    value: Tensor,
    shape: &Shape,
    whose: &str,
) -> Result<Tensor> {
    let own = &cx.ty(value).shape;
    if common_shape(own, shape).as_ref() == Some(shape) {
        return Ok(spread(cx, value, shape));
    }
    let message = format!(
        "`{parameter}` is {} and does not broadcast to {}, the shape of {whose}",
        type_text(cx.ty(value)),
        shape_text(shape)
    );
    Err(Box::new(cx.error(message).with_help(REMEDY)))
}

const REMEDY: &str =
    "insert dimensions of extent 1 where the shapes differ, as in `x[:, None]`, or make the extents equal";

/// The error for two shapes that do not fit.
fn mismatch(cx: &Lowering<'_, '_>, fact: &str, lhs: Tensor, rhs: Tensor) -> Box<Diagnostic> {
    let (left, right) = (cx.ty(lhs), cx.ty(rhs));
    let rank = left.shape.rank().max(right.shape.rank());
    let from_end = |shape: &Shape, back: usize| shape.rank().checked_sub(back).map(|axis| shape[axis]);
    let clash =
        (1..=rank).find_map(|back| match (from_end(&left.shape, back), from_end(&right.shape, back)) {
            (Some(a), Some(b)) if a != b && a != 1 && b != 1 => Some((rank - back, a, b)),
            _ => None,
        });
    let mut message = format!("{fact}: {} and {}", type_text(left), type_text(right));
    if let Some((axis, a, b)) = clash {
        message.push_str(&format!("; at dimension {axis} they have {a} and {b}"));
    }
    Box::new(cx.error(message).with_help(REMEDY))
}

/// A shape as the language writes it: `(16, 64)`, `(16,)`, `()`.
pub fn shape_text(shape: &Shape) -> String {
    let extents: Vec<String> = shape.iter().map(u32::to_string).collect();
    match extents.as_slice() {
        [one] => format!("({one},)"),
        _ => format!("({})", extents.join(", ")),
    }
}
