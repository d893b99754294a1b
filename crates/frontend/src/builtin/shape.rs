//! Changing the shape of blocks, and moving their elements: `tl.reshape`, `tl.trans`, `tl.join`, `tl.gather`, ...

use super::broadcast::{self, shape_text};
use super::{Builtin, conversion, subscript};
use crate::lower::{Lowering, Result, type_text};
use crate::value::Value;
use tegula_ir::{Element, Op, Scalar, Shape, Type, Value as Tensor};

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "reshape",
        modules: &["", "core"],
        signature: "input, *shape, can_reorder=False",
        method: true,
        doc: "The same elements, in row-major order, in another shape.\n\nThe shape is one tuple or several integers; it has as many \
              elements as the input. The shape `()` gives a scalar.",
        lower: reshape,
    },
    Builtin {
        name: "view",
        modules: &["", "core"],
        signature: "input, *shape",
        method: true,
        doc: "The same elements in another shape; the order is row-major here, and unspecified in Triton.",
        lower: reshape,
    },
    Builtin {
        name: "item",
        modules: &["core"],
        signature: "input",
        method: true,
        doc: "The only element of a block, as a scalar.",
        lower: |cx, args| {
            let input = cx.to_tensor(&args[0])?;
            single_element(cx, "input", input).map(Value::Tensor)
        },
    },
    Builtin {
        name: "expand_dims",
        modules: &["", "core"],
        signature: "input, axis",
        method: true,
        doc: "Inserts dimensions of extent 1.\n\n`axis` is one integer or several; each is the position of a new dimension in the result.",
        lower: expand_dims_call,
    },
    Builtin {
        name: "squeeze",
        modules: &["", "core", "standard"],
        signature: "x, dim",
        method: true,
        doc: "Removes a dimension of extent 1.\n\nA negative `dim` counts from the last.",
        lower: squeeze,
    },
    Builtin {
        name: "unsqueeze",
        modules: &["", "core", "standard"],
        signature: "x, dim",
        method: true,
        doc: "Inserts a dimension of extent 1 at position `dim` of the result.\n\nA negative `dim` counts from the last.",
        lower: expand_dims_call,
    },
    Builtin {
        name: "broadcast",
        modules: &["", "core"],
        signature: "input, other",
        method: false,
        doc: "Brings two blocks to the shape that they broadcast to; the result is a tuple of both.",
        lower: |cx, args| {
            let input = cx.to_tensor(&args[0])?;
            let other = cx.to_tensor(&args[1])?;
            let (input, other) = broadcast::pair(cx, input, other)?;
            Ok(Value::Tuple([Value::Tensor(input), Value::Tensor(other)].into(), None))
        },
    },
    Builtin {
        name: "broadcast_to",
        modules: &["", "core"],
        signature: "input, *shape",
        method: true,
        doc: "Repeats the dimensions of extent 1 to give a shape, which is one tuple or several integers.",
        lower: broadcast_to,
    },
    Builtin {
        name: "trans",
        modules: &["", "core"],
        signature: "input, *dims",
        method: true,
        doc: "Permutes the dimensions of a block; without `dims` it swaps the last two.\n\nDimension `i` of the result is dimension \
              `dims[i]` of the input.",
        lower: transpose,
    },
    Builtin {
        name: "permute",
        modules: &["", "core"],
        signature: "input, *dims",
        method: true,
        doc: "Permutes the dimensions of a block.\n\nDimension `i` of the result is dimension `dims[i]` of the input.",
        lower: permute,
    },
    Builtin {
        name: "join",
        modules: &["", "core"],
        signature: "a, b",
        method: false,
        doc: "Puts two blocks side by side along a new last dimension of extent 2.\n\nThey broadcast together first; two scalars give a \
              block of shape `(2,)`.",
        lower: join_call,
    },
    Builtin {
        name: "split",
        modules: &["", "core"],
        signature: "a",
        method: true,
        doc: "Takes a block whose last dimension has extent 2 apart into two; the inverse of `join`.",
        lower: split,
    },
    Builtin {
        name: "cat",
        modules: &["", "core"],
        signature: "input, other, can_reorder=False, dim=0",
        method: false,
        doc: "Puts one block after another along a dimension.\n\nThe order is that of the operands, with `can_reorder` too.",
        lower: concatenate_call,
    },
    Builtin {
        name: "flip",
        modules: &["", "standard"],
        signature: "x, dim=None",
        method: true,
        doc: "Reverses the order of the elements along a dimension, the last one if none is given.",
        lower: flip,
    },
    Builtin {
        name: "gather",
        modules: &["", "core"],
        signature: "src, index, axis",
        method: true,
        doc: "Picks elements along an axis: `result[.., i, ..] = src[.., index[.., i, ..], ..]`.\n\nThe index is a block of integers of \
              the same rank, with the same extents in the other dimensions. What an index out of range gives is unspecified.",
        lower: gather,
    },
    Builtin {
        name: "histogram",
        modules: &["", "core"],
        signature: "input, num_bins, mask=None",
        method: true,
        doc: "Counts how often each of `0, 1, ..., num_bins - 1` occurs in a block of integers; an `int32` block of extent \
              `num_bins`.\n\nOnly elements where the mask is true count.",
        lower: histogram,
    },
];

/// A `*shape` argument: one tuple, or the integers themselves.
fn unpacked(value: &Value) -> Value {
    match value {
        Value::Tuple(items, _) if items.len() == 1 && matches!(items[0], Value::Tuple(..)) => {
            items[0].clone()
        }
        other => other.clone(),
    }
}

/// A block as another shape with as many elements.
pub fn reshaped(cx: &mut Lowering<'_, '_>, value: Tensor, shape: Shape) -> Tensor {
    if cx.ty(value).shape == shape {
        return value;
    }
    if cx.ty(value).is_scalar() {
        return cx.builder.splat(value, &shape);
    }
    let ty = cx.ty(value).with_shape(shape);
    cx.builder.value(Op::Reshape { value }, ty)
}

fn reshape(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let input = cx.to_tensor(&args[0])?;
    let mut extents = cx.integers("shape", &unpacked(&args[1]))?;
    let elements = cx.ty(input).shape.elements() as i128;
    // One extent may be left to be worked out, as elsewhere in Python.
    if extents.iter().filter(|extent| **extent == -1).count() == 1 {
        let known: i128 = extents.iter().filter(|extent| **extent != -1).product();
        if known > 0 && elements % known == 0 {
            extents.iter_mut().filter(|extent| **extent == -1).for_each(|extent| *extent = elements / known);
        }
    }
    let wanted: Vec<Value> = extents.into_iter().map(Value::Int).collect();
    let shape = cx.shape("shape", &Value::Tuple(wanted.into(), None))?;
    if shape.elements() as i128 != elements {
        let name = cx.builtin_name().unwrap_or("reshape");
        let message = format!(
            "`tl.{name}` of {} to {} would change the number of elements from {elements} to {}",
            type_text(cx.ty(input)),
            shape_text(&shape),
            shape.elements()
        );
        return Err(cx.error(message));
    }
    Ok(Value::Tensor(reshaped(cx, input, shape)))
}

/// The only element of a block, or a scalar itself.
///
/// # Errors
/// If there are more elements.
pub fn single_element(cx: &mut Lowering<'_, '_>, parameter: &str, value: Tensor) -> Result<Tensor> {
    if cx.ty(value).shape.elements() != 1 {
        return Err(cx.parameter_error(
            parameter,
            "a scalar or a block of one element",
            &Value::Tensor(value),
        ));
    }
    Ok(reshaped(cx, value, Shape::scalar()))
}

/// A dimension of extent 1 inserted before `axis`; of a scalar, a block of one element.
pub fn expand_dims(cx: &mut Lowering<'_, '_>, value: Tensor, axis: usize) -> Tensor {
    if cx.ty(value).is_scalar() {
        let shape: Shape = [1].into_iter().collect();
        return cx.builder.splat(value, &shape);
    }
    cx.builder.expand_dims(value, axis)
}

fn expand_dims_call(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let mut value = cx.to_tensor(&args[0])?;
    let axes = cx.integers("axis", &args[1])?;
    let rank = cx.ty(value).shape.rank() + axes.len();
    let mut places = Vec::with_capacity(axes.len());
    for axis in &axes {
        places.push(cx.axis("axis", &Value::Int(*axis), rank)?);
    }
    places.sort_unstable();
    if places.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(cx.error(format!("`axis` names a position twice: {}", cx.repr(&args[1]))));
    }
    for place in places {
        value = expand_dims(cx, value, place);
    }
    Ok(Value::Tensor(value))
}

fn squeeze(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let value = cx.to_tensor(&args[0])?;
    let shape = cx.ty(value).shape.clone();
    let axis = cx.axis("dim", &args[1], shape.rank())?;
    if shape[axis] != 1 {
        let message = format!(
            "`squeeze` removes a dimension of extent 1, and dimension {axis} of {} is not",
            type_text(cx.ty(value))
        );
        return Err(cx.error(message));
    }
    Ok(Value::Tensor(reshaped(cx, value, shape.with_removed(axis))))
}

fn broadcast_to(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let input = cx.to_tensor(&args[0])?;
    let shape = cx.shape("shape", &unpacked(&args[1]))?;
    broadcast::parameter_to(cx, "input", input, &shape, "the result").map(Value::Tensor)
}

/// A block with its dimensions permuted: dimension `i` of the result is dimension `order[i]` of the operand.
pub fn permuted(cx: &mut Lowering<'_, '_>, value: Tensor, order: &[usize]) -> Tensor {
    if order.iter().enumerate().all(|(place, axis)| place == *axis) {
        return value;
    }
    let ty = cx.ty(value);
    let shape: Shape = order.iter().map(|&axis| ty.shape[axis]).collect();
    let ty = ty.with_shape(shape);
    let permutation = order.iter().map(|&axis| axis as u8).collect();
    cx.builder.value(Op::Transpose { value, permutation }, ty)
}

/// A block with its last two dimensions swapped.
///
/// # Errors
/// If it has fewer than two dimensions.
pub fn transposed(cx: &mut Lowering<'_, '_>, value: Tensor) -> Result<Tensor> {
    let rank = cx.ty(value).shape.rank();
    if rank < 2 {
        let message = format!(
            "a transposition takes a block of rank 2 or more, and this is {}",
            type_text(cx.ty(value))
        );
        return Err(Box::new(cx.error(message).with_help("add a dimension first, as in `x[:, None]`")));
    }
    let mut order: Vec<usize> = (0..rank).collect();
    order.swap(rank - 2, rank - 1);
    Ok(permuted(cx, value, &order))
}

fn transpose(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    match &args[1] {
        Value::Tuple(dims, _) if dims.is_empty() => {
            let input = cx.to_tensor(&args[0])?;
            transposed(cx, input).map(Value::Tensor)
        }
        _ => permute(cx, args),
    }
}

fn permute(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let input = cx.to_tensor(&args[0])?;
    let rank = cx.ty(input).shape.rank();
    let dims = cx.integers("dims", &unpacked(&args[1]))?;
    let order: Vec<usize> =
        dims.iter().map(|&dim| (if dim < 0 { dim + rank as i128 } else { dim }) as usize).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted.iter().copied().ne(0..rank) {
        let listed: Vec<String> = dims.iter().map(i128::to_string).collect();
        let message = format!(
            "`dims` must be a permutation of the {rank} dimensions of {}, and ({}) is not",
            type_text(cx.ty(input)),
            listed.join(", ")
        );
        return Err(cx.error(message));
    }
    Ok(Value::Tensor(permuted(cx, input, &order)))
}

/// Two blocks of one shape along a new last dimension.
pub fn joined(cx: &mut Lowering<'_, '_>, lhs: Tensor, rhs: Tensor) -> Tensor {
    let ty = cx.ty(lhs);
    if ty.is_scalar() {
        let lhs = expand_dims(cx, lhs, 0);
        let rhs = expand_dims(cx, rhs, 0);
        return concatenated(cx, lhs, rhs, 0);
    }
    let result = ty.with_shape(ty.shape.with_inserted(ty.shape.rank(), 2));
    cx.builder.value(Op::Join { lhs, rhs }, result)
}

fn join_call(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let (lhs, rhs) = same_elements(cx, &args[0], &args[1])?;
    let (lhs, rhs) = broadcast::pair(cx, lhs, rhs)?;
    let mut extents: Vec<i128> = cx.ty(lhs).shape.iter().map(|&extent| i128::from(extent)).collect();
    extents.push(2);
    cx.check_elements(&extents)?;
    Ok(Value::Tensor(joined(cx, lhs, rhs)))
}

/// Two operands whose elements go into one block: they must have one type, to which constants are made.
fn same_elements(cx: &mut Lowering<'_, '_>, lhs: &Value, rhs: &Value) -> Result<(Tensor, Tensor)> {
    if let (Value::Tensor(lhs), Value::Tensor(rhs)) = (lhs, rhs) {
        let (left, right) = (cx.ty(*lhs).element, cx.ty(*rhs).element);
        if left == right {
            return Ok((*lhs, *rhs));
        }
        let name = cx.builtin_name().unwrap_or("join");
        let message = format!(
            "`tl.{name}` takes operands of one type, and these are {} and {}",
            type_text(cx.ty(*lhs)),
            type_text(cx.ty(*rhs))
        );
        return Err(Box::new(cx.error(message).with_help("cast one of them with `.to(...)`")));
    }
    let scalar = super::promotion::common_type(cx, lhs, rhs, super::promotion::Operation::Arithmetic)?;
    Ok((super::promotion::as_type(cx, lhs, scalar)?, super::promotion::as_type(cx, rhs, scalar)?))
}

fn split(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let value = cx.to_tensor(&args[0])?;
    let ty = cx.ty(value).clone();
    let rank = ty.shape.rank();
    if rank == 0 || ty.shape[rank - 1] != 2 {
        let message = format!(
            "`tl.split` takes a block whose last dimension has extent 2, and this is {}",
            type_text(&ty)
        );
        return Err(Box::new(cx.error(message).with_help("reshape it to `(..., 2)` first")));
    }
    let halves = if rank == 1 {
        let zero = cx.builder.int(Scalar::Int32, 0);
        let one = cx.builder.int(Scalar::Int32, 1);
        [subscript::take(cx, value, 0, zero), subscript::take(cx, value, 0, one)]
    } else {
        let half = ty.with_shape(ty.shape.with_removed(rank - 1));
        let halves = cx.builder.values(Op::Split { value }, [half.clone(), half]);
        [halves[0], halves[1]]
    };
    Ok(Value::Tuple(halves.map(Value::Tensor).into(), None))
}

/// Two blocks one after the other along a dimension; the other extents are equal.
pub fn concatenated(cx: &mut Lowering<'_, '_>, lhs: Tensor, rhs: Tensor, axis: usize) -> Tensor {
    let ty = cx.ty(lhs);
    let extent = ty.shape[axis] + cx.ty(rhs).shape[axis];
    let result = ty.with_shape(ty.shape.with_extent(axis, extent));
    cx.builder.value(Op::Concatenate { lhs, rhs, axis: axis as u8 }, result)
}

fn concatenate_call(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let (lhs, rhs) = same_elements(cx, &args[0], &args[1])?;
    let (left, right) = (cx.ty(lhs).clone(), cx.ty(rhs).clone());
    let axis = cx.axis("dim", &args[3], left.shape.rank())?;
    let fits = left.shape.rank() == right.shape.rank()
        && (0..left.shape.rank()).all(|other| other == axis || left.shape[other] == right.shape[other]);
    if !fits {
        let message = format!(
            "`tl.cat` along dimension {axis} takes blocks that agree in the other dimensions, and these are {} and {}",
            type_text(&left),
            type_text(&right)
        );
        return Err(cx.error(message));
    }
    cx.check_elements(&[(left.shape.elements() + right.shape.elements()) as i128])?;
    Ok(Value::Tensor(concatenated(cx, lhs, rhs, axis)))
}

/// An `int32` block `start, start + step, ...` laid along one dimension of a shape of the given rank.
pub fn arange_along(cx: &mut Lowering<'_, '_>, extent: u32, axis: usize, rank: usize) -> Tensor {
    let line: Shape = [extent].into_iter().collect();
    let range =
        cx.builder.value(Op::Arange { start: 0, end: extent as i32 }, Type::block(Scalar::Int32, line));
    let mut value = range;
    for place in 0..rank {
        if place != axis {
            value = cx.builder.expand_dims(value, place);
        }
    }
    value
}

fn flip(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let value = cx.to_tensor(&args[0])?;
    let dim = if matches!(args[1], Value::None) { Value::Int(-1) } else { args[1].clone() };
    let axis = cx.axis("dim", &dim, cx.ty(value).shape.rank())?;
    Ok(Value::Tensor(flipped(cx, value, axis)))
}

/// A block with the order of its elements reversed along a dimension.
pub fn flipped(cx: &mut Lowering<'_, '_>, value: Tensor, axis: usize) -> Tensor {
    let shape = cx.ty(value).shape.clone();
    let extent = shape[axis];
    if extent == 1 {
        return value;
    }
    let range = arange_along(cx, extent, axis, shape.rank());
    let last = cx.builder.int(Scalar::Int32, i64::from(extent) - 1);
    let range_shape = cx.ty(range).shape.clone();
    let last = cx.builder.splat(last, &range_shape);
    let reversed = cx.builder.binary(tegula_ir::BinaryOp::Sub, last, range);
    let indices = cx.builder.broadcast(reversed, &shape);
    gathered(cx, value, indices, axis)
}

/// Elements picked along an axis by indices of the result's shape.
pub fn gathered(cx: &mut Lowering<'_, '_>, source: Tensor, indices: Tensor, axis: usize) -> Tensor {
    let shape = cx.ty(indices).shape.clone();
    let ty = cx.ty(source).with_shape(shape);
    cx.builder.value(Op::Gather { source, indices, axis: axis as u8 }, ty)
}

fn gather(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let source = cx.to_tensor(&args[0])?;
    let indices = cx.to_tensor(&args[1])?;
    let (from, by) = (cx.ty(source).clone(), cx.ty(indices).clone());
    let axis = cx.axis("axis", &args[2], from.shape.rank())?;
    match by.element {
        Element::Scalar(scalar) if scalar.is_int() && scalar != Scalar::Int1 => {}
        _ => return Err(cx.parameter_error("index", "a block of integers", &args[1])),
    }
    let fits = from.shape.rank() == by.shape.rank()
        && (0..from.shape.rank()).all(|other| other == axis || from.shape[other] == by.shape[other]);
    if !fits {
        let message = format!(
            "`tl.gather` along axis {axis} takes blocks that agree in the other dimensions: `src` is {} and `index` is {}",
            type_text(&from),
            type_text(&by)
        );
        return Err(cx.error(message));
    }
    Ok(Value::Tensor(gathered(cx, source, indices, axis)))
}

fn histogram(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let value = cx.to_tensor(&args[0])?;
    let ty = cx.ty(value).clone();
    match ty.element {
        Element::Scalar(scalar) if scalar.is_int() && ty.shape.rank() > 0 => {}
        _ => return Err(cx.parameter_error("input", "a block of integers", &args[0])),
    }
    let bins = cx.integer("num_bins", &args[1])?;
    if bins < 1 {
        return Err(cx.error(format!("`num_bins` is {bins}, but there must be at least 1")));
    }
    cx.check_elements(&[bins])?;
    let flat: Shape = [ty.shape.elements() as u32].into_iter().collect();
    let mask = match &args[2] {
        Value::None => None,
        mask => {
            let mask = super::memory::mask_operand(cx, mask)?;
            let mask = broadcast::parameter_to(cx, "mask", mask, &ty.shape, "`input`")?;
            Some(reshaped(cx, mask, flat.clone()))
        }
    };
    let value = reshaped(cx, value, flat);
    let value = match ty.element {
        Element::Scalar(Scalar::Int1) => conversion::convert(cx, value, Scalar::Int32),
        _ => value,
    };
    let shape: Shape = [bins as u32].into_iter().collect();
    Ok(Value::Tensor(cx.builder.value(Op::Histogram { value, mask }, Type::block(Scalar::Int32, shape))))
}
