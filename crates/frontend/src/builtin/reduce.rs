//! Reductions and scans: `tl.sum`, `tl.max`, `tl.argmax`, `tl.cumsum`, and `tl.reduce`, `tl.associative_scan` with a function of the user's.

use super::arithmetic::apply_same;
use super::comparison::smaller_or_larger;
use super::promotion::scalar_of;
use super::shape::{arange_along, expand_dims, reshaped};
use super::{Builtin, conversion};
use crate::lower::{Lowering, Result, type_text};
use crate::value::Value;
use smallvec::SmallVec;
use tegula_ir::{BinaryOp, Op, Predicate, RegionId, Scalar, Shape, Type, Value as Tensor};

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "reduce",
        modules: &["", "core"],
        signature: "input, axis, combine_fn, keep_dims=False",
        method: true,
        doc: "Combines all elements along an axis with a function of the user's.\n\n`input` is a block or a tuple of n blocks of one shape. \
              `combine_fn` is a jitted function of 2n scalars (n of the left, then n of the right) that returns n, and must be \
              associative. With the axis `None` all elements are combined. `keep_dims` keeps the axis with extent 1.",
        lower: reduce_call,
    },
    Builtin {
        name: "associative_scan",
        modules: &["", "core"],
        signature: "input, axis, combine_fn, reverse=False",
        method: true,
        doc: "Combines every prefix along an axis with a function of the user's, as `tl.reduce` does the whole.\n\nWith `reverse` every \
              suffix.",
        lower: scan_call,
    },
    Builtin {
        name: "sum",
        modules: &["", "standard"],
        signature: "input, axis=None, keep_dims=False, dtype=None",
        method: true,
        doc: "Adds all elements along an axis, or all of the block.\n\nIntegers below 32 bits are added as `int32` or `uint32`, floats in \
              their own type; `dtype` names another.",
        lower: sum,
    },
    Builtin {
        name: "max",
        modules: &["", "standard"],
        signature: "input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False",
        method: true,
        doc: "The largest element along an axis, or of the block.\n\nInputs below 32 bits give `int32` or fp32. NaN is passed over, unless \
              all are NaN. With `return_indices` the result is a tuple of the values, in the input's type (`bf16` in fp32), and of \
              their `int32` positions: the leftmost of equals, unless `return_indices_tie_break_left` is false.",
        lower: |cx, args| extreme(cx, args, BinaryOp::Max, Predicate::Gt),
    },
    Builtin {
        name: "min",
        modules: &["", "standard"],
        signature: "input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False",
        method: true,
        doc: "The smallest element along an axis, or of the block; see `tl.max`.",
        lower: |cx, args| extreme(cx, args, BinaryOp::Min, Predicate::Lt),
    },
    Builtin {
        name: "argmax",
        modules: &["", "standard"],
        signature: "input, axis, tie_break_left=True, keep_dims=False",
        method: true,
        doc: "The `int32` position of the largest element along an axis: the leftmost of equals, unless `tie_break_left` is false.",
        lower: |cx, args| arg_extreme(cx, args, Predicate::Gt),
    },
    Builtin {
        name: "argmin",
        modules: &["", "standard"],
        signature: "input, axis, tie_break_left=True, keep_dims=False",
        method: true,
        doc: "The `int32` position of the smallest element along an axis: the leftmost of equals, unless `tie_break_left` is false.",
        lower: |cx, args| arg_extreme(cx, args, Predicate::Lt),
    },
    Builtin {
        name: "xor_sum",
        modules: &["", "standard"],
        signature: "input, axis=None, keep_dims=False",
        method: true,
        doc: "The exclusive or of all integers along an axis, or of the block; the type stays.",
        lower: |cx, args| bitwise(cx, args, BinaryOp::Xor),
    },
    Builtin {
        name: "reduce_or",
        modules: &["", "standard"],
        signature: "input, axis, keep_dims=False",
        method: true,
        doc: "The bitwise or of all integers along an axis; the type stays.",
        lower: |cx, args| bitwise(cx, args, BinaryOp::Or),
    },
    Builtin {
        name: "cumsum",
        modules: &["", "standard"],
        signature: "input, axis=0, reverse=False, dtype=None",
        method: true,
        doc: "The running sum along an axis; of every suffix, with `reverse`.\n\nIntegers below 32 bits are added as `int32` or `uint32`, \
              `bf16` as fp32; `dtype` names another type.",
        lower: cumulative_sum,
    },
    Builtin {
        name: "cumprod",
        modules: &["", "standard"],
        signature: "input, axis=0, reverse=False, dtype=None",
        method: true,
        doc: "The running product along an axis; of every suffix, with `reverse`.\n\n`bf16` is multiplied as fp32, other types in their own; \
              `dtype` names another type.",
        lower: cumulative_product,
    },
];

/// What a reduction runs along: a block, or several of one shape, and an axis of theirs.
struct Along {
    values: Vec<Tensor>,
    axis: usize,
    /// The shape with the axis reduced to extent 1, for `keep_dims`; `None` if the axis disappears.
    kept: Option<Shape>,
}

/// Prepares a reduction along `axis`, or, if that is `None`, along all elements in row-major order.
fn along(cx: &mut Lowering<'_, '_>, values: &[Tensor], axis: &Value, keep_dims: &Value) -> Result<Along> {
    let keeps = cx.truth("keep_dims", keep_dims)?;
    let shape = cx.ty(values[0]).shape.clone();
    if matches!(axis, Value::None) {
        let line: Shape = [shape.elements() as u32].into_iter().collect();
        let values = values.iter().map(|&value| reshaped(cx, value, line.clone())).collect();
        let ones: Shape = shape.iter().map(|_| 1).collect();
        return Ok(Along { values, axis: 0, kept: keeps.then_some(ones) });
    }
    let axis = cx.axis("axis", axis, shape.rank())?;
    Ok(Along { values: values.to_vec(), axis, kept: keeps.then(|| shape.with_extent(axis, 1)) })
}

/// Appends a reduction, and gives the results the dimensions that are to be kept.
fn reduce(cx: &mut Lowering<'_, '_>, along: Along, combine: RegionId) -> Vec<Tensor> {
    let results: Vec<Type> = along
        .values
        .iter()
        .map(|&value| {
            let ty = cx.ty(value);
            ty.with_shape(ty.shape.with_removed(along.axis))
        })
        .collect();
    let values: SmallVec<[Tensor; 2]> = along.values.into_iter().collect();
    let results = cx.builder.values(Op::Reduce { values, axis: along.axis as u8, combine }, results);
    match along.kept {
        None => results,
        Some(shape) => results.into_iter().map(|value| keep(cx, value, &shape)).collect(),
    }
}

fn keep(cx: &mut Lowering<'_, '_>, value: Tensor, shape: &Shape) -> Tensor {
    if cx.ty(value).is_scalar() && shape.rank() == 1 {
        expand_dims(cx, value, 0)
    } else {
        reshaped(cx, value, shape.clone())
    }
}

/// A region that combines scalars of the given types.
fn region(
    cx: &mut Lowering<'_, '_>,
    scalars: &[Scalar],
    combine: impl FnOnce(&mut Lowering<'_, '_>, &[Tensor]) -> Vec<Tensor>,
) -> RegionId {
    let types: Vec<Type> = scalars.iter().chain(scalars).map(|&scalar| Type::scalar(scalar)).collect();
    let region = cx.builder.open_region(types);
    let args = cx.builder.args(region);
    let yields = combine(cx, &args);
    cx.builder.close_region(yields)
}

/// The inputs of `tl.reduce` and `tl.associative_scan`: one block or a tuple of them, of one shape.
fn inputs(cx: &mut Lowering<'_, '_>, value: &Value) -> Result<Vec<Tensor>> {
    let single = [value.clone()];
    let items: &[Value] = match value {
        Value::Tuple(items, _) => items,
        _ => &single,
    };
    if items.is_empty() {
        return Err(cx.parameter_error("input", "a block or a tuple of blocks", value));
    }
    let mut tensors = Vec::with_capacity(items.len());
    for item in items {
        let tensor = cx.to_tensor(item)?;
        scalar_of(cx, "input", tensor)?;
        tensors.push(tensor);
    }
    for &tensor in &tensors[1..] {
        if cx.ty(tensor).shape != cx.ty(tensors[0]).shape {
            let message = format!(
                "the blocks of `input` must have one shape, and there are {} and {}",
                type_text(cx.ty(tensors[0])),
                type_text(cx.ty(tensor))
            );
            return Err(cx.error(message));
        }
    }
    Ok(tensors)
}

/// Lowers a call of the user's function to the region of a reduction or a scan.
fn user_region(cx: &mut Lowering<'_, '_>, combine: &Value, values: &[Tensor]) -> Result<RegionId> {
    let scalars: Vec<Type> = values.iter().map(|&value| Type::scalar(cx.ty(value).element)).collect();
    let types: Vec<Type> = scalars.iter().chain(&scalars).cloned().collect();
    cx.region_of_call(combine, &types, |cx, result| {
        let single = [result.clone()];
        let items: &[Value] = match &result {
            Value::Tuple(items, _) => items,
            _ => &single,
        };
        if items.len() != scalars.len() {
            let message = format!(
                "`combine_fn` must return {} value(s), one for each block that is combined, and it returns {}",
                scalars.len(),
                cx.describe(&result)
            );
            return Err(cx.error(message));
        }
        let mut yields = Vec::with_capacity(items.len());
        for (item, wanted) in items.iter().zip(&scalars) {
            let value = match (item, wanted.element.as_scalar()) {
                (Value::Tensor(tensor), _) => *tensor,
                (constant, Some(scalar)) => cx.constant(constant, scalar)?,
                (other, None) => cx.to_tensor(other)?,
            };
            if cx.ty(value) != wanted {
                let message = format!(
                    "`combine_fn` must return what it combines: {}, and it returns {}",
                    type_text(wanted),
                    type_text(cx.ty(value))
                );
                return Err(Box::new(cx.error(message).with_help("cast the block before, or the result inside of the function")));
            }
            yields.push(value);
        }
        Ok(yields)
    })
}

/// One block for one, a tuple for a tuple.
fn like_input(input: &Value, results: Vec<Tensor>) -> Value {
    match input {
        Value::Tuple(..) => Value::Tuple(results.into_iter().map(Value::Tensor).collect(), None),
        _ => Value::Tensor(results[0]),
    }
}

fn reduce_call(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let values = inputs(cx, &args[0])?;
    let along = along(cx, &values, &args[1], &args[3])?;
    let combine = user_region(cx, &args[2], &along.values)?;
    let results = reduce(cx, along, combine);
    Ok(like_input(&args[0], results))
}

fn scan_call(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let values = inputs(cx, &args[0])?;
    let axis = cx.axis("axis", &args[1], cx.ty(values[0]).shape.rank())?;
    let reverse = cx.truth("reverse", &args[3])?;
    let combine = user_region(cx, &args[2], &values)?;
    let results = scan(cx, &values, axis, reverse, combine);
    Ok(like_input(&args[0], results))
}

fn scan(
    cx: &mut Lowering<'_, '_>,
    values: &[Tensor],
    axis: usize,
    reverse: bool,
    combine: RegionId,
) -> Vec<Tensor> {
    let types: Vec<Type> = values.iter().map(|&value| cx.ty(value).clone()).collect();
    let values: SmallVec<[Tensor; 2]> = values.iter().copied().collect();
    cx.builder.values(Op::Scan { values, axis: axis as u8, reverse, combine }, types)
}

/// The type in which elements are added: small integers are widened so that their sum does not wrap.
fn sum_type(cx: &Lowering<'_, '_>, own: Scalar, dtype: &Value) -> Result<Scalar> {
    if !matches!(dtype, Value::None) {
        return cx.scalar_type("dtype", dtype);
    }
    Ok(match own {
        _ if own.is_float8() => Scalar::Float32,
        _ if own.is_signed() && own.bits() < 32 => Scalar::Int32,
        _ if own.is_unsigned() && own.bits() < 32 => Scalar::UInt32,
        other => other,
    })
}

fn sum(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let input = cx.to_tensor(&args[0])?;
    let own = scalar_of(cx, "input", input)?;
    let scalar = sum_type(cx, own, &args[3])?;
    let input = conversion::convert(cx, input, scalar);
    let along = along(cx, &[input], &args[1], &args[2])?;
    let combine = region(cx, &[scalar], |cx, args| vec![apply_same(cx, BinaryOp::Add, args[0], args[1])]);
    Ok(Value::Tensor(reduce(cx, along, combine)[0]))
}

/// The type in which an extreme is looked for: nothing narrower than 32 bits.
fn extreme_type(own: Scalar) -> Scalar {
    match own {
        _ if own.bits() >= 32 => own,
        _ if own.is_float() => Scalar::Float32,
        _ => Scalar::Int32,
    }
}

fn extreme(cx: &mut Lowering<'_, '_>, args: &[Value], op: BinaryOp, better: Predicate) -> Result<Value> {
    let input = cx.to_tensor(&args[0])?;
    if cx.truth("return_indices", &args[2])? {
        let results = with_indices(cx, input, &args[1], &args[3], &args[4], better)?;
        return Ok(Value::Tuple(results.into_iter().map(Value::Tensor).collect(), None));
    }
    let scalar = extreme_type(scalar_of(cx, "input", input)?);
    let input = conversion::convert(cx, input, scalar);
    let along = along(cx, &[input], &args[1], &args[4])?;
    let combine = region(cx, &[scalar], |cx, args| vec![smaller_or_larger(cx, op, args[0], args[1])]);
    Ok(Value::Tensor(reduce(cx, along, combine)[0]))
}

fn arg_extreme(cx: &mut Lowering<'_, '_>, args: &[Value], better: Predicate) -> Result<Value> {
    let input = cx.to_tensor(&args[0])?;
    let results = with_indices(cx, input, &args[1], &args[2], &args[3], better)?;
    Ok(Value::Tensor(results[1]))
}

/// The best element along an axis and its position.
fn with_indices(
    cx: &mut Lowering<'_, '_>,
    input: Tensor,
    axis: &Value,
    leftmost: &Value,
    keep_dims: &Value,
    better: Predicate,
) -> Result<Vec<Tensor>> {
    let leftmost = cx.truth("return_indices_tie_break_left", leftmost)?;
    let own = scalar_of(cx, "input", input)?;
    // Nothing compares bf16 or 8-bit floats as such; all other types stay.
    let scalar = if own == Scalar::BFloat16 || own.is_float8() { Scalar::Float32 } else { own };
    let input = conversion::convert(cx, input, scalar);
    let mut along = along(cx, &[input], axis, keep_dims)?;
    let shape = cx.ty(along.values[0]).shape.clone();
    let positions = arange_along(cx, shape[along.axis], along.axis, shape.rank());
    along.values.push(cx.builder.broadcast(positions, &shape));
    let combine = region(cx, &[scalar, Scalar::Int32], |cx, args| {
        let [left, left_position, right, right_position] = [args[0], args[1], args[2], args[3]];
        let mut takes_left = cx.builder.compare(better, left, right);
        if leftmost {
            let equal = cx.builder.compare(Predicate::Eq, left, right);
            let first = cx.builder.compare(Predicate::Lt, left_position, right_position);
            let tie = cx.builder.binary(BinaryOp::And, equal, first);
            takes_left = cx.builder.binary(BinaryOp::Or, takes_left, tie);
        }
        let value = cx.builder.select(takes_left, left, right);
        let position = cx.builder.select(takes_left, left_position, right_position);
        vec![value, position]
    });
    Ok(reduce(cx, along, combine))
}

fn bitwise(cx: &mut Lowering<'_, '_>, args: &[Value], op: BinaryOp) -> Result<Value> {
    let input = cx.to_tensor(&args[0])?;
    let scalar = scalar_of(cx, "input", input)?;
    if scalar.is_float() {
        return Err(cx.parameter_error("input", "a block of integers", &args[0]));
    }
    let along = along(cx, &[input], &args[1], &args[2])?;
    let combine = region(cx, &[scalar], |cx, args| vec![cx.builder.binary(op, args[0], args[1])]);
    Ok(Value::Tensor(reduce(cx, along, combine)[0]))
}

fn cumulative_sum(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let input = cx.to_tensor(&args[0])?;
    let own = scalar_of(cx, "input", input)?;
    let scalar = match sum_type(cx, own, &args[3])? {
        Scalar::BFloat16 if matches!(args[3], Value::None) => Scalar::Float32,
        other => other,
    };
    cumulative(cx, input, scalar, BinaryOp::Add, &args[1], &args[2])
}

fn cumulative_product(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let input = cx.to_tensor(&args[0])?;
    let own = scalar_of(cx, "input", input)?;
    let scalar = match &args[3] {
        Value::None if own == Scalar::BFloat16 || own.is_float8() => Scalar::Float32,
        Value::None => own,
        named => cx.scalar_type("dtype", named)?,
    };
    cumulative(cx, input, scalar, BinaryOp::Mul, &args[1], &args[2])
}

fn cumulative(
    cx: &mut Lowering<'_, '_>,
    input: Tensor,
    scalar: Scalar,
    op: BinaryOp,
    axis: &Value,
    reverse: &Value,
) -> Result<Value> {
    let axis = cx.axis("axis", axis, cx.ty(input).shape.rank())?;
    let reverse = cx.truth("reverse", reverse)?;
    let input = conversion::convert(cx, input, scalar);
    let combine = region(cx, &[scalar], |cx, args| vec![apply_same(cx, op, args[0], args[1])]);
    Ok(Value::Tensor(scan(cx, &[input], axis, reverse, combine)[0]))
}
