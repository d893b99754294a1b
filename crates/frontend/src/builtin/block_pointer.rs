//! Block pointers: `tl.make_block_ptr`, `tl.advance`, and accesses through them.
//!
//! A block pointer is a record of its base, shape, strides and offsets, which exist at run time, and of its block shape and order.
//! Only the offsets change when it advances, so a loop carries no more than those.

use super::broadcast;
use super::memory::{self, LoadHints};
use super::window::{self, Window};
use super::{Builtin, conversion};
use crate::lower::{Lowering, Result};
use crate::value::{Record, RecordKind, Value};
use std::sync::Arc;
use tegula_ir::{BinaryOp, CacheModifier, Element, EvictionPolicy, Op, Scalar, Value as Tensor};

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "make_block_ptr",
        modules: &["", "core"],
        signature: "base, shape, strides, offsets, block_shape, order",
        method: false,
        doc: "Makes a pointer to a block of a tensor in memory.\n\n`shape` and `strides` are those of the tensor, in elements; `offsets` is \
              the index of the block's first element; `block_shape` is known at compile time. `order` lists the dimensions from the \
              one whose elements lie closest together, a hint.",
        lower: make,
    },
    Builtin {
        name: "advance",
        modules: &["", "core"],
        signature: "base, offsets",
        method: false,
        doc: "A block pointer moved by a number of elements along each dimension; the one given does not change.",
        lower: advance,
    },
];

fn make(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let (base, _) = memory::pointer_of(cx, "base", &args[0])?;
    if !cx.ty(base).is_scalar() {
        return Err(cx.parameter_error("base", "a single pointer", &args[0]));
    }
    let block = cx.shape("block_shape", &args[4])?;
    let rank = block.rank();
    let shape = window::scalars(cx, "shape", &args[1], rank, Scalar::Int64)?;
    let strides = window::scalars(cx, "strides", &args[2], rank, Scalar::Int64)?;
    let offsets = window::scalars(cx, "offsets", &args[3], rank, Scalar::Int32)?;
    let order = cx.integers("order", &args[5])?;
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted.into_iter().ne(0..rank as i128) {
        let listed = cx.repr(&args[5]);
        return Err(
            cx.error(format!("`order` must be a permutation of the {rank} dimensions, and {listed} is not"))
        );
    }
    let tuple = |value: &Value| match value {
        Value::Tuple(..) => value.clone(),
        single => Value::Tuple([single.clone()].into(), None),
    };
    Ok(record(base, shape, strides, offsets, tuple(&args[4]), tuple(&args[5])))
}

fn record(
    base: Tensor,
    shape: Vec<Tensor>,
    strides: Vec<Tensor>,
    offsets: Vec<Tensor>,
    block_shape: Value,
    order: Value,
) -> Value {
    Value::Record(Arc::new(Record {
        kind: RecordKind::BlockPointer,
        fields: vec![
            ("base", Value::Tensor(base)),
            ("shape", window::tuple_of(shape)),
            ("strides", window::tuple_of(strides)),
            ("offsets", window::tuple_of(offsets)),
            ("block_shape", block_shape),
            ("order", order),
        ],
    }))
}

fn window_of(cx: &mut Lowering<'_, '_>, record: &Record) -> Result<Window> {
    Ok(Window {
        base: cx.to_tensor(&window::field(record, "base").clone())?,
        shape: window::tensors(cx, record, "shape")?,
        strides: window::tensors(cx, record, "strides")?,
        offsets: window::tensors(cx, record, "offsets")?,
        block: window::constant_shape(cx, record, "block_shape")?,
    })
}

fn advance(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let Value::Record(block_pointer) = &args[0] else {
        return Err(Box::new(
            cx.parameter_error("base", "a block pointer", &args[0])
                .with_help("make one with `tl.make_block_ptr`, or add to the pointer"),
        ));
    };
    if block_pointer.kind != RecordKind::BlockPointer {
        return Err(cx.parameter_error("base", "a block pointer", &args[0]));
    }
    let old = window::tensors(cx, block_pointer, "offsets")?;
    let steps = window::scalars(cx, "offsets", &args[1], old.len(), Scalar::Int32)?;
    let mut offsets = Vec::with_capacity(old.len());
    for (offset, step) in old.into_iter().zip(steps) {
        let offset = conversion::convert(cx, offset, Scalar::Int32);
        offsets.push(cx.builder.binary(BinaryOp::Add, offset, step));
    }
    let mut fields = block_pointer.fields.clone();
    for (name, value) in &mut fields {
        if *name == "offsets" {
            *value = window::tuple_of(offsets.clone());
        }
    }
    Ok(Value::Record(Arc::new(Record { kind: RecordKind::BlockPointer, fields })))
}

/// The dimensions that `boundary_check` names.
fn checked_axes(cx: &Lowering<'_, '_>, value: &Value, rank: usize) -> Result<Vec<usize>> {
    if matches!(value, Value::None) {
        return Ok(Vec::new());
    }
    let mut axes = Vec::new();
    for axis in cx.integers("boundary_check", value)? {
        let axis = cx.axis("boundary_check", &Value::Int(axis), rank)?;
        if axes.contains(&axis) {
            return Err(cx.error(format!("`boundary_check` names dimension {axis} twice")));
        }
        axes.push(axis);
    }
    axes.sort_unstable();
    Ok(axes)
}

/// Loads through a block pointer.
pub fn load(
    cx: &mut Lowering<'_, '_>,
    record: &Record,
    boundary_check: &Value,
    padding: &Value,
    hints: LoadHints,
) -> Result<Value> {
    let window = window_of(cx, record)?;
    let axes = checked_axes(cx, boundary_check, window.block.rank())?;
    let with_nan =
        memory::choice(cx, "padding_option", padding, &[("", false), ("zero", false), ("nan", true)])?;
    load_window(cx, &window, &axes, with_nan, hints).map(Value::Tensor)
}

/// Loads a window; elements outside of the tensor along `axes` are 0 or NaN.
pub fn load_window(
    cx: &mut Lowering<'_, '_>,
    window: &Window,
    axes: &[usize],
    with_nan: bool,
    hints: LoadHints,
) -> Result<Tensor> {
    let pointers = window.pointers(cx);
    let mask = window.inside(cx, axes);
    let target = match cx.ty(pointers).element {
        Element::Pointer(pointer) => pointer.target(),
        Element::Scalar(_) => unreachable!("a window is a block of pointers"),
    };
    let other = match target.as_scalar() {
        Some(scalar) if with_nan && scalar.is_float() => {
            let nan = cx.constant(&Value::Float(f64::NAN), scalar)?;
            Some(broadcast::spread(cx, nan, &window.block))
        }
        _ if with_nan => {
            let element = conversion::element_text(target);
            return Err(
                cx.error(format!("padding with NaN needs a float type, and the elements are {element}"))
            );
        }
        _ => None,
    };
    let other = if mask.is_some() { other } else { None };
    Ok(memory::read(cx, pointers, mask, other, hints))
}

/// Stores through a block pointer.
pub fn store(
    cx: &mut Lowering<'_, '_>,
    record: &Record,
    value: &Value,
    boundary_check: &Value,
    (cache, eviction): (CacheModifier, EvictionPolicy),
) -> Result<Value> {
    let window = window_of(cx, record)?;
    let axes = checked_axes(cx, boundary_check, window.block.rank())?;
    let (pointers, value) = window_value(cx, &window, value, "the block pointer")?;
    let mask = window.inside(cx, &axes);
    cx.builder.effect(Op::Store { pointer: pointers, value, mask, cache, eviction });
    Ok(Value::None)
}

/// The pointers of a window, and a value as a block of the type and shape that it holds.
///
/// # Errors
/// If the value is a block of another shape, or the memory is constant.
pub fn window_value(
    cx: &mut Lowering<'_, '_>,
    window: &Window,
    value: &Value,
    whose: &str,
) -> Result<(Tensor, Tensor)> {
    let (base, ty) = memory::pointer_of(cx, "base", &Value::Tensor(window.base))?;
    memory::check_writable(cx, base, ty)?;
    let value = cx.to_tensor(value)?;
    let shape = cx.ty(value).shape.clone();
    if shape.rank() > 0 && shape != window.block {
        return Err(memory::shape_mismatch(cx, value, &window.block, whose));
    }
    let value = memory::value_operand(cx, value, ty.target())?;
    let value = broadcast::spread(cx, value, &window.block);
    Ok((window.pointers(cx), value))
}
