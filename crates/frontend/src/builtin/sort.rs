//! Sorting: `tl.sort`, `tl.topk`, `tl.bitonic_merge`, by Batcher's bitonic network.
//!
//! A block is sorted along its last dimension. Each step compares elements at a distance that is a power of two: the dimension is
//! reshaped to `(groups, 2, distance)`, and the two halves of each group are exchanged where they are out of order. Extents that
//! are no powers of two are filled up with the largest value first, which ends up at the end and is cut off. Among floats, NaN is the largest.

use super::promotion::scalar_of;
use super::shape::{arange_along, concatenated, flipped, reshaped};
use super::subscript::part;
use super::{Builtin, broadcast, conversion};
use crate::lower::{Lowering, Result, type_text};
use crate::value::Value;
use tegula_ir::{BinaryOp, Predicate, Scalar, Shape, Value as Tensor};

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "sort",
        modules: &["", "standard"],
        signature: "x, dim=None, descending=False",
        method: true,
        doc: "Sorts a block along a dimension, the last one if none is given.\n\nAscending, or descending if `descending` is true. NaN is larger than \
              all numbers.",
        lower: |cx, args| {
            let (x, axis) = last(cx, args, &args[1])?;
            let descending = cx.truth("descending", &args[2])?;
            let sorted = sorted(cx, x, descending)?;
            Ok(Value::Tensor(swapped_with_last(cx, sorted, axis)))
        },
    },
    Builtin {
        name: "topk",
        modules: &["", "standard"],
        signature: "x, k, dim=None, descending=True",
        method: false,
        doc: "The `k` largest elements along a dimension, the last one if none is given, in descending order.\n\nIf `descending` is false, \
              the `k` smallest ones, in ascending order. NaN is larger than all numbers.",
        lower: top,
    },
    Builtin {
        name: "bitonic_merge",
        modules: &["", "standard"],
        signature: "x, dim=None, descending=False",
        method: false,
        doc: "Sorts a block that first rises and then falls (or the reverse) along a dimension, the last one if none is given.\n\nThe extent is \
              a power of two.",
        lower: merge_call,
    },
];

/// The block with the dimension to be sorted as its last, and where that dimension was.
fn last(cx: &mut Lowering<'_, '_>, args: &[Value], dim: &Value) -> Result<(Tensor, usize)> {
    let x = cx.to_tensor(&args[0])?;
    scalar_of(cx, "x", x)?;
    let rank = cx.ty(x).shape.rank();
    let dim = if matches!(dim, Value::None) { Value::Int(-1) } else { dim.clone() };
    let axis = cx.axis("dim", &dim, rank)?;
    Ok((swapped_with_last(cx, x, axis), axis))
}

/// A block with a dimension and the last one swapped.
fn swapped_with_last(cx: &mut Lowering<'_, '_>, x: Tensor, axis: usize) -> Tensor {
    let rank = cx.ty(x).shape.rank();
    let mut order: Vec<usize> = (0..rank).collect();
    order.swap(axis, rank - 1);
    super::shape::permuted(cx, x, &order)
}

/// The type in which elements are compared: nothing compares truth values or 8-bit floats as such.
fn comparing_type(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::Int1 => Scalar::Int8,
        _ if scalar.is_float8() => Scalar::Float32,
        other => other,
    }
}

/// Sorts along the last dimension.
fn sorted(cx: &mut Lowering<'_, '_>, x: Tensor, descending: bool) -> Result<Tensor> {
    let own = scalar_of(cx, "x", x)?;
    let scalar = comparing_type(own);
    let x = conversion::convert(cx, x, scalar);
    let shape = cx.ty(x).shape.clone();
    let axis = shape.rank() - 1;
    let extent = shape[axis];
    let full = extent.next_power_of_two();
    let mut values = filled_up(cx, x, axis, full, scalar)?;
    // Blocks of 2, 4, 8, ... elements are sorted in turns up and down, so that the next size finds them rising and falling.
    let mut size = 2;
    while size <= full {
        values = merged(cx, values, full, size, size == full);
        size *= 2;
    }
    let mut values = part(cx, values, axis, 0, extent);
    if descending {
        values = flipped(cx, values, axis);
    }
    Ok(conversion::convert(cx, values, own))
}

/// Fills a dimension up with the largest value of the type: NaN of a float.
fn filled_up(cx: &mut Lowering<'_, '_>, x: Tensor, axis: usize, full: u32, scalar: Scalar) -> Result<Tensor> {
    let shape = cx.ty(x).shape.clone();
    if shape[axis] == full {
        return Ok(x);
    }
    let largest = if scalar.is_float() {
        Value::Float(f64::NAN)
    } else if scalar.is_signed() {
        Value::Int((1i128 << (scalar.bits() - 1)) - 1)
    } else {
        Value::Int((1i128 << scalar.bits()) - 1)
    };
    let largest = cx.constant(&largest, scalar)?;
    let rest = shape.with_extent(axis, full - shape[axis]);
    let rest = cx.builder.splat(largest, &rest);
    Ok(concatenated(cx, x, rest, axis))
}

/// One stage of the network: blocks of `size` elements, each of which rises and then falls, are sorted: all upwards if this is the last
/// stage, else in turns up and down.
fn merged(cx: &mut Lowering<'_, '_>, x: Tensor, full: u32, size: u32, upwards: bool) -> Tensor {
    let mut distance = size / 2;
    let mut values = x;
    while distance >= 1 {
        values = exchanged(cx, values, full, distance, if upwards { None } else { Some(size) });
        distance /= 2;
    }
    values
}

/// Exchanges elements at a distance where they are out of order. With `size`, every second block of so many elements is to fall.
fn exchanged(cx: &mut Lowering<'_, '_>, x: Tensor, full: u32, distance: u32, size: Option<u32>) -> Tensor {
    let shape = cx.ty(x).shape.clone();
    let outer: Vec<u32> = shape[..shape.rank() - 1].to_vec();
    let groups = full / (2 * distance);
    let split: Shape = outer.iter().copied().chain([groups, 2, distance]).collect();
    let pairs = reshaped(cx, x, split.clone());
    let axis = split.rank() - 2;
    let left = part(cx, pairs, axis, 0, 1);
    let right = part(cx, pairs, axis, 1, 1);
    let mut exchange = above(cx, left, right);
    if let Some(size) = size {
        let falls = falling_groups(cx, groups, size / (2 * distance), split.rank());
        let wanted = cx.ty(exchange).shape.clone();
        let falls = broadcast::spread(cx, falls, &wanted);
        exchange = cx.builder.binary(BinaryOp::Xor, exchange, falls);
    }
    let first = cx.builder.select(exchange, right, left);
    let second = cx.builder.select(exchange, left, right);
    let pairs = concatenated(cx, first, second, axis);
    reshaped(cx, pairs, shape)
}

/// Whether each element of one block is larger than that of the other.
fn above(cx: &mut Lowering<'_, '_>, left: Tensor, right: Tensor) -> Tensor {
    let larger = cx.builder.compare(Predicate::Gt, left, right);
    if !cx.ty(left).element.as_scalar().is_some_and(Scalar::is_float) {
        return larger;
    }
    // Comparisons with NaN are false: a pair that is neither ordered nor has NaN on the right has it on the left alone.
    let numeric = cx.builder.compare(Predicate::Eq, right, right);
    let unordered = cx.builder.compare(Predicate::Ne, left, left);
    let unordered = cx.builder.binary(BinaryOp::And, unordered, numeric);
    cx.builder.binary(BinaryOp::Or, larger, unordered)
}

/// Which groups are to fall: every second run of `run` of them.
fn falling_groups(cx: &mut Lowering<'_, '_>, groups: u32, run: u32, rank: usize) -> Tensor {
    let index = arange_along(cx, groups, rank - 3, rank);
    let shape = cx.ty(index).shape.clone();
    let run = cx.builder.int(Scalar::Int32, i64::from(run));
    let run = cx.builder.splat(run, &shape);
    let bit = cx.builder.binary(BinaryOp::And, index, run);
    conversion::convert(cx, bit, Scalar::Int1)
}

fn top(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let (x, axis) = last(cx, args, &args[2])?;
    let shape = cx.ty(x).shape.clone();
    let extent = shape[shape.rank() - 1];
    let count = cx.integer("k", &args[1])?;
    if !(1..=i128::from(extent)).contains(&count) {
        let message =
            format!("`k` of `tl.topk` is {count}, but {} has {extent} elements there", type_text(cx.ty(x)));
        return Err(cx.error(message));
    }
    let descending = cx.truth("descending", &args[3])?;
    let sorted = sorted(cx, x, descending)?;
    let top = part(cx, sorted, shape.rank() - 1, 0, count as u32);
    Ok(Value::Tensor(swapped_with_last(cx, top, axis)))
}

fn merge_call(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let (x, axis) = last(cx, args, &args[1])?;
    let descending = cx.truth("descending", &args[2])?;
    let shape = cx.ty(x).shape.clone();
    let extent = shape[shape.rank() - 1];
    if !extent.is_power_of_two() {
        let message =
            format!("`tl.bitonic_merge` takes an extent that is a power of two, and this one is {extent}");
        return Err(Box::new(cx.error(message).with_help("use `tl.sort`, which takes any extent")));
    }
    let own = scalar_of(cx, "x", x)?;
    let values = conversion::convert(cx, x, comparing_type(own));
    let values = merged(cx, values, extent, extent, true);
    let values = if descending { flipped(cx, values, shape.rank() - 1) } else { values };
    let values = conversion::convert(cx, values, own);
    Ok(Value::Tensor(swapped_with_last(cx, values, axis)))
}
