//! Tensor descriptors: `tl.make_tensor_descriptor`, and what a kernel does with them and with those that the host makes.
//!
//! A descriptor is a record of the base, shape and strides, which exist at run time, and of the block shape. Accesses are those of a
//! window all of whose boundaries are checked: what lies outside reads as 0 (or NaN), and is not written.

use super::atomic::check_element;
use super::attribute::{element_type, type_value};
use super::block_pointer::{load_window, window_value};
use super::memory::{self, choice};
use super::window::{self, Window};
use super::{Builtin, broadcast, conversion};
use crate::lower::{Lowering, Result, type_text};
use crate::value::{Record, RecordKind, Value};
use std::sync::Arc;
use tegula_ir::{
    AtomicOp, AtomicOrdering, AtomicScope, BinaryOp, CacheModifier, Element, EvictionPolicy, Op, Predicate,
    Scalar, Shape, Value as Tensor,
};

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "make_tensor_descriptor",
        modules: &["", "core"],
        signature: "base, shape, strides, block_shape, padding_option=\"zero\"",
        method: false,
        doc: "Describes a tensor in memory, of which blocks of a shape are loaded and stored.\n\n`shape` and `strides` are in elements, one \
              for each of at most 5 dimensions; the last stride is the constant 1. `block_shape` is known at compile time. Elements outside \
              of the tensor read as 0, or as NaN with `padding_option=\"nan\"`.\n\n\
              The descriptor has the methods `load(offsets)`, `store(offsets, value)`, `gather(rows, column)`, `scatter(value, rows, \
              column)` and `atomic_add`, `atomic_min`, `atomic_max`, `atomic_and`, `atomic_or`, `atomic_xor` of `(offsets, value)`, and the \
              attributes `dtype`, `shape`, `strides`, `block_shape`.",
        lower: make,
    },
    Builtin {
        name: "load_tensor_descriptor",
        modules: &["", "core"],
        signature: "desc, offsets",
        method: false,
        doc: "Loads the block of a tensor descriptor that starts at the given offsets, like `desc.load(offsets)`.",
        lower: load,
    },
    Builtin {
        name: "store_tensor_descriptor",
        modules: &["", "core"],
        signature: "desc, offsets, value",
        method: false,
        doc: "Stores a block through a tensor descriptor at the given offsets, like `desc.store(offsets, value)`.",
        lower: store,
    },
];

/// An entry for an atomic operation on a block of a descriptor.
macro_rules! reduction {
    ($name:literal, $op:ident) => {
        Builtin {
            name: $name,
            modules: &[],
            signature: "desc, offsets, value",
            method: false,
            doc: "Combines a block with memory atomically, element by element; what lies outside of the tensor is left out.",
            lower: |cx, args| combine(cx, AtomicOp::$op, args),
        }
    };
}

/// The methods of descriptors.
pub static METHODS: &[Builtin] = &[
    Builtin {
        name: "load",
        modules: &[],
        signature: "desc, offsets",
        method: false,
        doc: "Loads the block that starts at the given offsets.",
        lower: load,
    },
    Builtin {
        name: "store",
        modules: &[],
        signature: "desc, offsets, value",
        method: false,
        doc: "Stores a block at the given offsets; it is converted to the descriptor's type.",
        lower: store,
    },
    Builtin {
        name: "gather",
        modules: &[],
        signature: "desc, rows, column",
        method: false,
        doc: "Loads many rows: block `i` of shape `(1, N)` starts at row `rows[i]` and at one column.",
        lower: gather,
    },
    Builtin {
        name: "scatter",
        modules: &[],
        signature: "desc, value, rows, column",
        method: false,
        doc: "Stores many rows: row `i` of the value goes to row `rows[i]`, starting at one column.",
        lower: scatter,
    },
    reduction!("atomic_add", Add),
    reduction!("atomic_min", Min),
    reduction!("atomic_max", Max),
    reduction!("atomic_and", And),
    reduction!("atomic_or", Or),
    reduction!("atomic_xor", Xor),
];

const ATTRIBUTES: &[&str] = &["block_shape", "block_type", "dtype", "shape", "strides", "type"];

/// An attribute or a method of a descriptor.
pub fn attribute(
    cx: &mut Lowering<'_, '_>,
    value: &Value,
    record: &Record,
    name: &str,
) -> Result<Option<Value>> {
    if let Some(method) = METHODS.iter().find(|method| method.name == name) {
        return Ok(Some(Value::Method(Box::new((value.clone(), Value::Builtin(method))))));
    }
    Ok(match name {
        "shape" | "strides" | "block_shape" => Some(window::field(record, name).clone()),
        "dtype" => Some(element_type(element(cx, record)?)),
        "type" | "block_type" => {
            let block = window::constant_shape(cx, record, "block_shape")?;
            Some(type_value(&tegula_ir::Type::block(element(cx, record)?, block)))
        }
        _ => None,
    })
}

/// The names of attributes and methods.
pub fn attribute_names() -> Vec<&'static str> {
    ATTRIBUTES.iter().copied().chain(METHODS.iter().map(|method| method.name)).collect()
}

/// Makes the record of a descriptor, from values that exist at run time: the base pointer, int32 extents, int64 strides (or constants).
pub fn record(
    base: Value,
    shape: Vec<Value>,
    strides: Vec<Value>,
    block_shape: &[u32],
    pad_with_nan: bool,
) -> Value {
    let block = block_shape.iter().map(|&extent| Value::Int(i128::from(extent))).collect();
    Value::Record(Arc::new(Record {
        kind: RecordKind::TensorDescriptor,
        fields: vec![
            ("base", base),
            ("shape", Value::Tuple(shape.into(), None)),
            ("strides", Value::Tuple(strides.into(), None)),
            ("block_shape", Value::Tuple(block, None)),
            ("pad_with_nan", Value::Bool(pad_with_nan)),
        ],
    }))
}

fn make(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let (base, pointer) = memory::pointer_of(cx, "base", &args[0])?;
    if !cx.ty(base).is_scalar() {
        return Err(cx.parameter_error("base", "a single pointer", &args[0]));
    }
    let block = cx.shape("block_shape", &args[3])?;
    let rank = block.rank();
    if !(1..=5).contains(&rank) {
        return Err(
            cx.error(format!("a tensor descriptor has 1 to 5 dimensions, and `block_shape` has {rank}"))
        );
    }
    let shape = window::scalars(cx, "shape", &args[1], rank, Scalar::Int32)?;
    if let Value::Tuple(items, _) = &args[2]
        && let Some(last) = items.last()
        && !matches!(last, Value::Int(1))
    {
        return Err(Box::new(
            cx.error(format!(
                "the last stride of a tensor descriptor must be the constant 1, and it is {}",
                cx.describe(last)
            ))
            .with_help(
                "write 1 as the last stride, or use pointers for a tensor whose rows are not contiguous",
            ),
        ));
    }
    let strides = window::scalars(cx, "strides", &args[2], rank, Scalar::Int64)?;
    let with_nan = choice(cx, "padding_option", &args[4], &[("", false), ("zero", false), ("nan", true)])?;
    if with_nan && pointer.target().as_scalar().is_none_or(Scalar::is_int) {
        let element = conversion::element_text(pointer.target());
        return Err(cx.error(format!("padding with NaN needs a float type, and the elements are {element}")));
    }
    let tensors = |values: Vec<Tensor>| values.into_iter().map(Value::Tensor).collect();
    Ok(record(Value::Tensor(base), tensors(shape), tensors(strides), &block, with_nan))
}

fn descriptor<'v>(cx: &Lowering<'_, '_>, value: &'v Value) -> Result<&'v Record> {
    match value {
        Value::Record(record) if record.kind == RecordKind::TensorDescriptor => Ok(record),
        other => Err(cx.parameter_error("desc", "a tensor descriptor", other)),
    }
}

fn element(cx: &mut Lowering<'_, '_>, record: &Record) -> Result<Element> {
    let (_, pointer) = memory::pointer_of(cx, "base", window::field(record, "base"))?;
    Ok(pointer.target())
}

fn window_at(cx: &mut Lowering<'_, '_>, record: &Record, offsets: &Value) -> Result<Window> {
    let block = window::constant_shape(cx, record, "block_shape")?;
    let offsets = window::scalars(cx, "offsets", offsets, block.rank(), Scalar::Int32)?;
    Ok(Window {
        base: cx.to_tensor(&window::field(record, "base").clone())?,
        shape: window::tensors(cx, record, "shape")?,
        strides: window::tensors(cx, record, "strides")?,
        offsets,
        block,
    })
}

fn all_axes(window: &Window) -> Vec<usize> {
    (0..window.block.rank()).collect()
}

fn load(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let record = descriptor(cx, &args[0])?;
    let window = window_at(cx, record, &args[1])?;
    let with_nan = matches!(window::field(record, "pad_with_nan"), Value::Bool(true));
    let hints = (CacheModifier::Default, EvictionPolicy::Normal, false);
    load_window(cx, &window, &all_axes(&window), with_nan, hints).map(Value::Tensor)
}

fn store(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let record = descriptor(cx, &args[0])?;
    let window = window_at(cx, record, &args[1])?;
    let (pointer, value) = window_value(cx, &window, &args[2], "the tensor descriptor")?;
    let mask = window.inside(cx, &all_axes(&window));
    cx.builder.effect(Op::Store {
        pointer,
        value,
        mask,
        cache: CacheModifier::Default,
        eviction: EvictionPolicy::Normal,
    });
    Ok(Value::None)
}

fn combine(cx: &mut Lowering<'_, '_>, op: AtomicOp, args: &[Value]) -> Result<Value> {
    let record = descriptor(cx, &args[0])?;
    let target = element(cx, record)?;
    check_element(cx, op, target)?;
    let window = window_at(cx, record, &args[1])?;
    let (pointer, value) = window_value(cx, &window, &args[2], "the tensor descriptor")?;
    let mask = window.inside(cx, &all_axes(&window));
    let ty = cx.ty(value).clone();
    let (ordering, scope) = (AtomicOrdering::Relaxed, AtomicScope::Gpu);
    cx.builder.value(Op::AtomicRmw { op, pointer, value, mask, ordering, scope }, ty);
    Ok(Value::None)
}

/// Pointers to many rows of a two-dimensional tensor, and which elements are inside of it.
fn rows(
    cx: &mut Lowering<'_, '_>,
    record: &Record,
    rows: &Value,
    column: &Value,
) -> Result<(Tensor, Tensor, Shape)> {
    let block = window::constant_shape(cx, record, "block_shape")?;
    if block.rank() != 2 || block[0] != 1 {
        let message = format!(
            "gathering rows needs a descriptor of blocks of one row, and this one's are {}",
            broadcast::shape_text(&block)
        );
        return Err(Box::new(cx.error(message).with_help("make the descriptor with `block_shape=[1, N]`")));
    }
    let indices = cx.to_tensor(rows)?;
    let ty = cx.ty(indices).clone();
    let integers = ty.element.as_scalar().is_some_and(|scalar| scalar.is_int() && scalar != Scalar::Int1);
    if !integers || ty.shape.rank() != 1 {
        let message =
            format!("`rows` must be a one-dimensional block of integers, but it is {}", type_text(&ty));
        return Err(cx.error(message));
    }
    // The window of the columns, repeated for each row: its own offset along the rows is 0.
    let zero = Value::Int(0);
    let offsets = Value::Tuple([zero, column.clone()].into(), None);
    let window = window_at(cx, record, &offsets)?;
    let shape: Shape = [ty.shape[0], block[1]].into_iter().collect();
    let line = Window { block: [1, block[1]].into_iter().collect(), ..window };
    let pointers = line.pointers(cx);
    let pointers = broadcast::spread(cx, pointers, &shape);
    let index = cx.builder.expand_dims(indices, 1);
    let index = conversion::convert(cx, index, Scalar::Int64);
    let index_shape = cx.ty(index).shape.clone();
    let stride = conversion::convert(cx, line.strides[0], Scalar::Int64);
    let stride = cx.builder.splat(stride, &index_shape);
    let distance = cx.builder.binary(BinaryOp::Mul, index, stride);
    let distance = broadcast::spread(cx, distance, &shape);
    let pointers = cx.builder.add_pointer(pointers, distance);

    let zero = cx.builder.int(Scalar::Int64, 0);
    let zero = cx.builder.splat(zero, &index_shape);
    let end = conversion::convert(cx, line.shape[0], Scalar::Int64);
    let end = cx.builder.splat(end, &index_shape);
    let after_first = cx.builder.compare(Predicate::Ge, index, zero);
    let before_end = cx.builder.compare(Predicate::Lt, index, end);
    let mask = cx.builder.binary(BinaryOp::And, after_first, before_end);
    let mask = broadcast::spread(cx, mask, &shape);
    let columns = match line.inside(cx, &[1]) {
        Some(columns) => broadcast::spread(cx, columns, &shape),
        None => mask,
    };
    let mask = cx.builder.binary(BinaryOp::And, mask, columns);
    Ok((pointers, mask, shape))
}

fn gather(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let record = descriptor(cx, &args[0])?;
    let (pointer, mask, _) = rows(cx, record, &args[1], &args[2])?;
    let hints = (CacheModifier::Default, EvictionPolicy::Normal, false);
    Ok(Value::Tensor(memory::read(cx, pointer, Some(mask), None, hints)))
}

fn scatter(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let record = descriptor(cx, &args[0])?;
    let (pointer, mask, shape) = rows(cx, record, &args[2], &args[3])?;
    let (base, ty) = memory::pointer_of(cx, "base", window::field(record, "base"))?;
    memory::check_writable(cx, base, ty)?;
    let value = cx.to_tensor(&args[1])?;
    if cx.ty(value).shape != shape {
        return Err(memory::shape_mismatch(cx, value, &shape, "the scatter"));
    }
    let value = memory::value_operand(cx, value, ty.target())?;
    cx.builder.effect(Op::Store {
        pointer,
        value,
        mask: Some(mask),
        cache: CacheModifier::Default,
        eviction: EvictionPolicy::Normal,
    });
    Ok(Value::None)
}
