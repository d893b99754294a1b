//! Atomic read-modify-write operations: `tl.atomic_add`, `tl.atomic_cas`, ...

use super::Builtin;
use super::broadcast;
use super::memory::{check_writable, choice, optional_mask, pointer_of, value_operand};
use crate::lower::{Lowering, Result};
use crate::value::Value;
use tegula_ir::{AtomicOp, AtomicOrdering, AtomicScope, Element, Op, Pointer, Scalar, Value as Tensor};

/// What the documentation of every atomic says of its parameters.
macro_rules! atomic {
    ($name:literal, $op:ident, $doc:literal) => {
        Builtin {
            name: $name,
            modules: &["", "core"],
            signature: "pointer, val, mask=None, sem=None, scope=None",
            method: true,
            doc: concat!(
                $doc,
                " Returns what was there before.\n\nThe value is converted to the pointer's element type, and broadcasts with the mask to \
                 the pointers' shape; nothing happens where the mask is false, and the result is unspecified there. `sem` is \
                 `\"relaxed\"`, `\"acquire\"`, `\"release\"` or `\"acq_rel\"` (the default); `scope` is `\"cta\"`, `\"gpu\"` (the default) or \
                 `\"sys\"`."
            ),
            lower: |cx, args| read_modify_write(cx, AtomicOp::$op, args),
        }
    };
}

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    atomic!("atomic_add", Add, "Adds to memory atomically."),
    atomic!("atomic_max", Max, "Replaces memory by the larger of it and the value, atomically."),
    atomic!("atomic_min", Min, "Replaces memory by the smaller of it and the value, atomically."),
    atomic!("atomic_and", And, "Replaces memory by its bitwise and with the value, atomically."),
    atomic!("atomic_or", Or, "Replaces memory by its bitwise or with the value, atomically."),
    atomic!("atomic_xor", Xor, "Replaces memory by its exclusive or with the value, atomically."),
    atomic!("atomic_xchg", Exchange, "Replaces memory by the value, atomically."),
    Builtin {
        name: "atomic_cas",
        modules: &["", "core"],
        signature: "pointer, cmp, val, sem=None, scope=None",
        method: true,
        doc: "Replaces memory by `val` where it equals `cmp`, atomically. Returns what was there before.\n\nElements have 16, 32 or 64 \
              bits, and are compared by their bits. See `tl.atomic_add` for `sem` and `scope`.",
        lower: compare_and_swap,
    },
    Builtin {
        name: "atomic_load",
        modules: &["", "core"],
        signature: "pointer, mask=None, sem=None, scope=None",
        method: true,
        doc: "Reads memory that other programs write at the same time, each element as a whole.\n\nElements are numbers of 16, 32 or 64 \
              bits. Nothing is read where the mask is false, and the result is unspecified there. `sem` is `\"acquire\"` (the default) or \
              `\"relaxed\"`. Arrays that are read so must be writable.",
        lower: load,
    },
    Builtin {
        name: "atomic_store",
        modules: &["", "core"],
        signature: "pointer, val, mask=None, sem=None, scope=None",
        method: true,
        doc: "Writes memory that other programs read at the same time, each element as a whole.\n\nElements are numbers of 32 or 64 bits. \
              Nothing is written where the mask is false. `sem` is `\"release\"` (the default) or `\"relaxed\"`.",
        lower: store,
    },
];

fn ordering(cx: &Lowering<'_, '_>, value: &Value) -> Result<AtomicOrdering> {
    choice(
        cx,
        "sem",
        value,
        &[
            ("", AtomicOrdering::AcquireRelease),
            ("relaxed", AtomicOrdering::Relaxed),
            ("acquire", AtomicOrdering::Acquire),
            ("release", AtomicOrdering::Release),
            ("acq_rel", AtomicOrdering::AcquireRelease),
        ],
    )
}

fn scope(cx: &Lowering<'_, '_>, value: &Value) -> Result<AtomicScope> {
    choice(
        cx,
        "scope",
        value,
        &[
            ("", AtomicScope::Gpu),
            ("gpu", AtomicScope::Gpu),
            ("cta", AtomicScope::Block),
            ("sys", AtomicScope::System),
        ],
    )
}

/// Refuses element types that the operation does not exist for.
pub fn check_element(cx: &Lowering<'_, '_>, op: AtomicOp, target: Element) -> Result<()> {
    let name = cx.builtin_name().unwrap_or("atomic");
    let Element::Scalar(scalar) = target else {
        return Err(cx.error(format!("`tl.{name}` does not apply to pointers in memory")));
    };
    let supported = match op {
        AtomicOp::Add => scalar.bits() >= 32 || matches!(scalar, Scalar::Float16 | Scalar::BFloat16),
        AtomicOp::Min | AtomicOp::Max | AtomicOp::Exchange => scalar.bits() >= 32,
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => scalar.bits() >= 32 && scalar.is_int(),
    };
    if supported {
        return Ok(());
    }
    let message = format!("`tl.{name}` does not apply to elements of type {}", scalar.language_name());
    let kinds =
        if matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor) { "integers" } else { "numbers" };
    Err(Box::new(cx.error(message).with_help(format!("it applies to {kinds} of 32 and 64 bits"))))
}

fn read_modify_write(cx: &mut Lowering<'_, '_>, op: AtomicOp, args: &[Value]) -> Result<Value> {
    let ordering = ordering(cx, &args[3])?;
    exchange(cx, op, args, ordering)
}

fn exchange(
    cx: &mut Lowering<'_, '_>,
    op: AtomicOp,
    args: &[Value],
    ordering: AtomicOrdering,
) -> Result<Value> {
    let scope = scope(cx, &args[4])?;
    let (pointer, ty) = pointer_of(cx, "pointer", &args[0])?;
    check_writable(cx, pointer, ty)?;
    check_element(cx, op, ty.target())?;
    let value = operand(cx, "val", &args[1], pointer, ty.target())?;
    let shape = cx.ty(pointer).shape.clone();
    let mask = match optional_mask(cx, &args[2])? {
        Some(mask) => Some(broadcast::parameter_to(cx, "mask", mask, &shape, "the pointers")?),
        None => None,
    };
    let result = cx.ty(value).clone();
    Ok(Value::Tensor(cx.builder.value(Op::AtomicRmw { op, pointer, value, mask, ordering, scope }, result)))
}

fn compare_and_swap(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let ordering = ordering(cx, &args[3])?;
    let scope = scope(cx, &args[4])?;
    let (pointer, ty) = pointer_of(cx, "pointer", &args[0])?;
    check_writable(cx, pointer, ty)?;
    match ty.target() {
        Element::Scalar(scalar) if scalar.bits() >= 16 => {}
        target => {
            let element = super::conversion::element_text(target);
            let message = format!("`tl.atomic_cas` does not apply to elements of type {element}");
            return Err(Box::new(cx.error(message).with_help("it applies to numbers of 16, 32 and 64 bits")));
        }
    }
    let expected = operand(cx, "cmp", &args[1], pointer, ty.target())?;
    let desired = operand(cx, "val", &args[2], pointer, ty.target())?;
    let result = cx.ty(desired).clone();
    Ok(Value::Tensor(cx.builder.value(Op::AtomicCas { pointer, expected, desired, ordering, scope }, result)))
}

/// Refuses the orderings that a load or a store alone does not have; `one_sided` is the default.
fn one_sided_ordering(
    cx: &Lowering<'_, '_>,
    value: &Value,
    name: &'static str,
    one_sided: AtomicOrdering,
) -> Result<AtomicOrdering> {
    choice(cx, "sem", value, &[("", one_sided), (name, one_sided), ("relaxed", AtomicOrdering::Relaxed)])
}

/// An atomic load is the operation that changes nothing: an exclusive or with 0, or, for the 16-bit elements that have none, the
/// exchange of 0 for 0.
fn load(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let ordering = one_sided_ordering(cx, &args[2], "acquire", AtomicOrdering::Acquire)?;
    let scope = scope(cx, &args[3])?;
    let (pointer, ty) = pointer_of(cx, "pointer", &args[0])?;
    check_writable(cx, pointer, ty)?;
    let Element::Scalar(scalar) = ty.target() else {
        return Err(cx.error("`tl.atomic_load` does not apply to pointers in memory"));
    };
    let shape = cx.ty(pointer).shape.clone();
    let mask = match optional_mask(cx, &args[1])? {
        Some(mask) => Some(broadcast::parameter_to(cx, "mask", mask, &shape, "the pointers")?),
        None => None,
    };
    let word = match scalar.bits() {
        16 => Scalar::Int16,
        32 => Scalar::Int32,
        64 => Scalar::Int64,
        _ => {
            let message =
                format!("`tl.atomic_load` does not apply to elements of type {}", scalar.language_name());
            return Err(Box::new(cx.error(message).with_help("it applies to numbers of 16, 32 and 64 bits")));
        }
    };
    let words = cx.builder.bitcast(pointer, Pointer { pointee: word, ..ty });
    let zero = operand(cx, "val", &Value::Int(0), words, Element::Scalar(word))?;
    let result = cx.ty(zero).clone();
    let operation = if word == Scalar::Int16 {
        if mask.is_some() {
            let message = format!("`tl.atomic_load` of {} takes no mask", scalar.language_name());
            return Err(Box::new(cx.error(message).with_help("masks apply to numbers of 32 and 64 bits")));
        }
        Op::AtomicCas { pointer: words, expected: zero, desired: zero, ordering, scope }
    } else {
        Op::AtomicRmw { op: AtomicOp::Xor, pointer: words, value: zero, mask, ordering, scope }
    };
    let read = cx.builder.value(operation, result);
    Ok(Value::Tensor(cx.builder.bitcast(read, scalar)))
}

/// An atomic store is an exchange whose result nobody reads.
fn store(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let ordering = one_sided_ordering(cx, &args[3], "release", AtomicOrdering::Release)?;
    exchange(cx, AtomicOp::Exchange, args, ordering)?;
    Ok(Value::None)
}

/// An operand converted to the pointer's element type and spread over the pointers.
fn operand(
    cx: &mut Lowering<'_, '_>,
    parameter: &str,
    value: &Value,
    pointer: Tensor,
    target: Element,
) -> Result<Tensor> {
    let value = cx.to_tensor(value)?;
    let value = value_operand(cx, value, target)?;
    let shape = cx.ty(pointer).shape.clone();
    broadcast::parameter_to(cx, parameter, value, &shape, "the pointers")
}
