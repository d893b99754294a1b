//! A rectangular window on a tensor in memory, taken apart into pointers and a mask.
//!
//! Block pointers and tensor descriptors both are windows: the element at index `i` of the window lies at
//! `base + sum over d of (offset[d] + i[d]) * stride[d]`, and is inside of the tensor if every `0 <= offset[d] + i[d] < shape[d]`.
//! Offsets that are the same for all elements are added to the base, so what is left are the plain patterns that the passes know.

use super::arithmetic::apply_same;
use super::comparison::smaller_or_larger;
use super::shape::arange_along;
use super::{broadcast, conversion};
use crate::lower::{Lowering, Result};
use crate::value::{Record, Value};
use tegula_ir::{BinaryOp, Element, Predicate, Scalar, Shape, Type, Value as Tensor};

/// Where a window lies.
pub struct Window {
    /// The pointer to the tensor's first element.
    pub base: Tensor,
    /// The tensor's extents, in elements.
    pub shape: Vec<Tensor>,
    /// The distance between neighbours along each dimension, in elements.
    pub strides: Vec<Tensor>,
    /// The index in the tensor of the window's first element.
    pub offsets: Vec<Tensor>,
    /// The window's extents.
    pub block: Shape,
}

impl Window {
    /// The block of pointers to the window's elements.
    pub fn pointers(&self, cx: &mut Lowering<'_, '_>) -> Tensor {
        let rank = self.block.rank();
        let mut pointer = self.base;
        for (offset, stride) in self.offsets.iter().zip(&self.strides) {
            let distance = wide_product(cx, *offset, *stride);
            pointer = cx.builder.add_pointer(pointer, distance);
        }
        let mut reached = Shape::scalar();
        for axis in 0..rank {
            let line = arange_along(cx, self.block[axis], axis, rank);
            let line_shape = cx.ty(line).shape.clone();
            let distance = if is_one(cx, self.strides[axis]) {
                line
            } else {
                let line = conversion::convert(cx, line, Scalar::Int64);
                let stride = conversion::convert(cx, self.strides[axis], Scalar::Int64);
                let stride = cx.builder.splat(stride, &line_shape);
                cx.builder.binary(BinaryOp::Mul, line, stride)
            };
            reached = broadcast::common_shape(&reached, &line_shape).unwrap_or(line_shape);
            let moved = broadcast::spread(cx, pointer, &reached);
            let distance = broadcast::spread(cx, distance, &reached);
            pointer = cx.builder.add_pointer(moved, distance);
        }
        pointer
    }

    /// Where the window's elements are inside of the tensor along the given dimensions; `None` if there are no dimensions.
    pub fn inside(&self, cx: &mut Lowering<'_, '_>, axes: &[usize]) -> Option<Tensor> {
        let mut mask: Option<Tensor> = None;
        for &axis in axes {
            let extent = self.block[axis];
            let line = arange_along(cx, extent, axis, self.block.rank());
            let line_shape = cx.ty(line).shape.clone();
            let offset = conversion::convert(cx, self.offsets[axis], Scalar::Int64);
            let size = conversion::convert(cx, self.shape[axis], Scalar::Int64);
            let zero = cx.builder.int(Scalar::Int64, 0);
            let first = cx.builder.binary(BinaryOp::Sub, zero, offset);
            let end = cx.builder.binary(BinaryOp::Sub, size, offset);
            let after_first = within(cx, Predicate::Ge, line, first, extent, &line_shape);
            let before_end = within(cx, Predicate::Lt, line, end, extent, &line_shape);
            let both = cx.builder.binary(BinaryOp::And, after_first, before_end);
            let both = broadcast::spread(cx, both, &self.block);
            mask = Some(match mask {
                Some(mask) => cx.builder.binary(BinaryOp::And, mask, both),
                None => both,
            });
        }
        mask
    }
}

/// Compares the positions along a dimension with a 64-bit bound, which is first brought into the range from 0 to the extent.
fn within(
    cx: &mut Lowering<'_, '_>,
    predicate: Predicate,
    line: Tensor,
    bound: Tensor,
    extent: u32,
    shape: &Shape,
) -> Tensor {
    let zero = cx.builder.int(Scalar::Int64, 0);
    let most = cx.builder.int(Scalar::Int64, i64::from(extent));
    let bound = smaller_or_larger(cx, BinaryOp::Max, bound, zero);
    let bound = smaller_or_larger(cx, BinaryOp::Min, bound, most);
    let bound = conversion::convert(cx, bound, Scalar::Int32);
    let bound = cx.builder.splat(bound, shape);
    cx.builder.compare(predicate, line, bound)
}

fn wide_product(cx: &mut Lowering<'_, '_>, lhs: Tensor, rhs: Tensor) -> Tensor {
    let lhs = conversion::convert(cx, lhs, Scalar::Int64);
    let rhs = conversion::convert(cx, rhs, Scalar::Int64);
    apply_same(cx, BinaryOp::Mul, lhs, rhs)
}

/// Whether a value is the constant 1.
fn is_one(cx: &Lowering<'_, '_>, value: Tensor) -> bool {
    let definition = cx.builder.function().defining_op(value);
    matches!(definition.map(|data| &data.op), Some(tegula_ir::Op::Constant(tegula_ir::Literal::Int(1))))
}

/// Integers that exist at run time, each a scalar of the given type: shapes, strides, offsets.
///
/// # Errors
/// If there are not `rank` of them, or one is no integer.
pub fn scalars(
    cx: &mut Lowering<'_, '_>,
    parameter: &str,
    value: &Value,
    rank: usize,
    scalar: Scalar,
) -> Result<Vec<Tensor>> {
    let single = [value.clone()];
    let items: &[Value] = match value {
        Value::Tuple(items, _) => items,
        _ => &single,
    };
    if items.len() != rank {
        let message = format!("`{parameter}` has the length {}, but the block has rank {rank}", items.len());
        return Err(Box::new(
            cx.error(message).with_help(format!("give one number of `{parameter}` a dimension")),
        ));
    }
    let mut result = Vec::with_capacity(rank);
    for item in items {
        let number = match item {
            Value::Tensor(tensor) => match cx.ty(*tensor) {
                Type { element: Element::Scalar(from), shape } if from.is_int() && shape.elements() == 1 => {
                    super::shape::reshaped(cx, *tensor, Shape::scalar())
                }
                _ => return Err(cx.parameter_error(parameter, "made of integers", item)),
            },
            constant => {
                let number = cx.integer(parameter, constant)?;
                if !super::promotion::fits(number, scalar) {
                    let message =
                        format!("`{parameter}` holds {number}, which is no {}", scalar.language_name());
                    return Err(cx.error(message));
                }
                cx.constant(constant, scalar)?
            }
        };
        result.push(conversion::convert(cx, number, scalar));
    }
    Ok(result)
}

/// A field of a record.
///
/// # Panics
/// If there is no such field: the records are made in this crate.
pub fn field<'r>(record: &'r Record, name: &str) -> &'r Value {
    let field = record.fields.iter().find(|(key, _)| *key == name);
    &field.unwrap_or_else(|| unreachable!("the record has no field {name}")).1
}

/// A field that is a tuple of run-time scalars.
pub fn tensors(cx: &mut Lowering<'_, '_>, record: &Record, name: &str) -> Result<Vec<Tensor>> {
    match field(record, name) {
        Value::Tuple(items, _) => items.iter().map(|item| cx.to_tensor(item)).collect(),
        other => Ok(vec![cx.to_tensor(&other.clone())?]),
    }
}

/// A field that is a shape known at compile time.
pub fn constant_shape(cx: &Lowering<'_, '_>, record: &Record, name: &str) -> Result<Shape> {
    cx.shape(name, field(record, name))
}

/// A tuple of run-time values.
pub fn tuple_of(values: Vec<Tensor>) -> Value {
    Value::Tuple(values.into_iter().map(Value::Tensor).collect(), None)
}
