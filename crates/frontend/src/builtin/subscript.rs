//! Subscripts of blocks: new dimensions (`x[:, None]`), slices (`x[:, 16:32]`), single elements (`x[i, :]`, `x[3, 5]`).

use super::{conversion, shape};
use crate::lower::{Lowering, Result, type_text};
use crate::value::Value;
use tegula_ir::{Diagnostic, Element, Op, Scalar, Value as Tensor};

/// `value[index]` of a [`Value::Tensor`]. The index is an integer, a [`Value::Slice`], [`Value::None`], [`Value::Ellipsis`], a
/// tensor, or a tuple of these.
///
/// # Errors
/// If there are more indices than dimensions, an index is out of range or no integer, or a slice has a step or is empty.
pub fn subscript(cx: &mut Lowering<'_, '_>, value: &Value, index: &Value) -> Result<Value> {
    let block = cx.to_tensor(value)?;
    let single = [index.clone()];
    let indices: &[Value] = match index {
        Value::Tuple(items, _) => items,
        _ => &single,
    };
    let indices = without_ellipsis(cx, block, indices)?;
    let mut result = block;
    let mut axis = 0;
    for index in &indices {
        match index {
            Value::None => {
                result = shape::expand_dims(cx, result, axis);
                axis += 1;
            }
            Value::Slice(bounds) => {
                result = slice(cx, result, axis, bounds)?;
                axis += 1;
            }
            other => result = element(cx, result, axis, other)?,
        }
    }
    Ok(Value::Tensor(result))
}

/// Replaces `...` by as many full slices as there are dimensions left.
fn without_ellipsis(cx: &Lowering<'_, '_>, block: Tensor, indices: &[Value]) -> Result<Vec<Value>> {
    let rank = cx.ty(block).shape.rank();
    let used = indices.iter().filter(|index| !matches!(index, Value::None | Value::Ellipsis)).count();
    let ellipses = indices.iter().filter(|index| matches!(index, Value::Ellipsis)).count();
    if ellipses > 1 {
        return Err(cx.error("a subscript may have one `...`, and this has more"));
    }
    if used > rank {
        let ty = type_text(cx.ty(block));
        let pointer = matches!(cx.ty(block).element, tegula_ir::Element::Pointer(_));
        let indices = if used == 1 { "1 index is" } else { &format!("{used} indices are") };
        let error = cx.error(format!("{indices} too many for {ty}, which has rank {rank}"));
        return Err(if pointer {
            Box::new(
                error.with_help("memory is read by `tl.load(pointer + index)` and written by `tl.store`"),
            )
        } else {
            error
        });
    }
    let full = || Value::Slice(Box::new([Value::None, Value::None, Value::None]));
    let mut result = Vec::with_capacity(indices.len() + rank - used);
    for index in indices {
        match index {
            Value::Ellipsis => result.extend((used..rank).map(|_| full())),
            other => result.push(other.clone()),
        }
    }
    Ok(result)
}

fn slice(cx: &mut Lowering<'_, '_>, block: Tensor, axis: usize, bounds: &[Value; 3]) -> Result<Tensor> {
    let extent = i128::from(cx.ty(block).shape[axis]);
    if !matches!(bounds[2], Value::None | Value::Int(1)) {
        return Err(Box::new(
            cx.error(format!("a slice of a block has no step, and this one has {}", cx.repr(&bounds[2])))
                .with_help("reshape the block so that the step becomes a dimension, and index that"),
        ));
    }
    let bound = |cx: &Lowering<'_, '_>, value: &Value, default: i128| -> Result<i128> {
        match value {
            Value::None => Ok(default),
            other => {
                let bound = cx.integer("a bound of the slice", other)?;
                Ok((if bound < 0 { bound + extent } else { bound }).clamp(0, extent))
            }
        }
    };
    let start = bound(cx, &bounds[0], 0)?;
    let stop = bound(cx, &bounds[1], extent)?;
    if start >= stop {
        let message = format!("the slice {start}:{stop} of a dimension of extent {extent} is empty");
        return Err(Box::new(
            cx.error(message).with_help("a block has at least one element in each dimension"),
        ));
    }
    Ok(part(cx, block, axis, start as u32, (stop - start) as u32))
}

/// The part of a block that starts at `start` and is `extent` wide along `axis`.
pub fn part(cx: &mut Lowering<'_, '_>, block: Tensor, axis: usize, start: u32, extent: u32) -> Tensor {
    let ty = cx.ty(block);
    if ty.shape[axis] == extent {
        return block;
    }
    let result = ty.with_shape(ty.shape.with_extent(axis, extent));
    let starts = (0..ty.shape.rank()).map(|other| if other == axis { start } else { 0 }).collect();
    cx.builder.value(Op::Slice { value: block, starts }, result)
}

/// Takes one element along `axis`, which disappears.
fn element(cx: &mut Lowering<'_, '_>, block: Tensor, axis: usize, index: &Value) -> Result<Tensor> {
    let extent = cx.ty(block).shape[axis];
    let index = match index {
        Value::Int(position) => {
            let from_start = if *position < 0 { *position + i128::from(extent) } else { *position };
            if !(0..i128::from(extent)).contains(&from_start) {
                let message = format!(
                    "the index {position} is out of range: dimension {axis} of {} has extent {extent}",
                    type_text(cx.ty(block))
                );
                return Err(cx.error(message));
            }
            cx.builder.int(Scalar::Int32, from_start as i64)
        }
        Value::Tensor(index) if cx.ty(*index).is_scalar() => match cx.ty(*index).element {
            Element::Scalar(scalar) if scalar.is_int() && scalar != Scalar::Int1 => *index,
            _ => return Err(not_an_index(cx, &Value::Tensor(*index))),
        },
        Value::Tensor(index) => {
            let message = format!(
                "the index is {}, and a block is indexed by single integers",
                type_text(cx.ty(*index))
            );
            return Err(Box::new(
                cx.error(message).with_help("pick many elements with `tl.gather(x, index, axis)`"),
            ));
        }
        other => return Err(not_an_index(cx, other)),
    };
    Ok(take(cx, block, axis, index))
}

/// The element number `index` along `axis`, which disappears.
pub fn take(cx: &mut Lowering<'_, '_>, block: Tensor, axis: usize, index: Tensor) -> Tensor {
    let ty = cx.ty(block);
    let result = ty.with_shape(ty.shape.with_removed(axis));
    let index = match cx.ty(index).element {
        Element::Scalar(scalar) if scalar.bits() < 32 => conversion::convert(cx, index, Scalar::Int32),
        _ => index,
    };
    cx.builder.value(Op::Index { value: block, axis: axis as u8, index }, result)
}

fn not_an_index(cx: &Lowering<'_, '_>, value: &Value) -> Box<Diagnostic> {
    let found = cx.describe(value);
    cx.error(format!("a block is indexed by integers, slices, `None` and `...`, and this is {found}"))
}
