//! Blocks and scalars made from nothing: `tl.program_id`, `tl.arange`, `tl.full`.

use super::Builtin;
use crate::lower::{Lowering, Result};
use crate::value::Value;
use tegula_ir::{Op, Scalar, Shape, Type};

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "program_id",
        modules: &["", "core"],
        signature: "axis",
        method: false,
        doc: "The index of this program along an axis (0, 1 or 2) of the grid, an `int32` scalar.",
        lower: |cx, args| {
            let axis = grid_axis(cx, &args[0])?;
            Ok(Value::Tensor(cx.builder.value(Op::ProgramId { axis }, Type::scalar(Scalar::Int32))))
        },
    },
    Builtin {
        name: "num_programs",
        modules: &["", "core"],
        signature: "axis",
        method: false,
        doc: "The extent of the grid along an axis (0, 1 or 2), an `int32` scalar.",
        lower: |cx, args| {
            let axis = grid_axis(cx, &args[0])?;
            Ok(Value::Tensor(cx.builder.value(Op::NumPrograms { axis }, Type::scalar(Scalar::Int32))))
        },
    },
    Builtin {
        name: "arange",
        modules: &["", "core"],
        signature: "start, end",
        method: false,
        doc: "The `int32` block `start, start + 1, ..., end - 1`.\n\nBoth bounds are known at compile time; the extent need not be a \
              power of two.",
        lower: arange,
    },
    Builtin {
        name: "full",
        modules: &["", "core"],
        signature: "shape, value, dtype",
        method: false,
        doc: "A block of a shape, filled with a number or a run-time scalar converted to `dtype`.\n\nThe shape `[]` gives a scalar.",
        lower: full,
    },
];

fn grid_axis(cx: &Lowering<'_, '_>, value: &Value) -> Result<u8> {
    match cx.integer("axis", value)? {
        axis @ 0..=2 => Ok(axis as u8),
        other => {
            let name = cx.builtin_name().unwrap_or("program_id");
            Err(cx.error(format!("`axis` of `tl.{name}` is {other}, but the grid has the axes 0, 1 and 2")))
        }
    }
}

fn arange(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let start = cx.integer("start", &args[0])?;
    let end = cx.integer("end", &args[1])?;
    let (Ok(first), Ok(last)) = (i32::try_from(start), i32::try_from(end)) else {
        return Err(cx.error(format!("`tl.arange` is int32, and the range from {start} to {end} is not")));
    };
    if first >= last {
        let message =
            format!("`tl.arange` from {start} to {end} is empty: `end` must be greater than `start`");
        return Err(cx.error(message));
    }
    cx.check_elements(&[end - start])?;
    let shape: Shape = [(end - start) as u32].into_iter().collect();
    let op = Op::Arange { start: first, end: last };
    Ok(Value::Tensor(cx.builder.value(op, Type::block(Scalar::Int32, shape))))
}

fn full(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let shape = cx.shape("shape", &args[0])?;
    let scalar = cx.scalar_type("dtype", &args[2])?;
    let value = match &args[1] {
        Value::Tensor(tensor) => {
            let one = super::shape::single_element(cx, "value", *tensor)?;
            super::promotion::as_type(cx, &Value::Tensor(one), scalar)?
        }
        constant => cx.constant(constant, scalar)?,
    };
    Ok(Value::Tensor(cx.builder.splat(value, &shape)))
}
