//! What steers the compilation: ranges, static assertions, static prints.

use crate::builtin::Builtin;
use crate::lower::{Lowering, Result};
use crate::value::{Record, RecordKind, Value};
use std::sync::Arc;

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "range",
        modules: &["", "core"],
        signature: "arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, disallow_acc_multi_buffer=False, \
                    flatten=False, warp_specialize=False, disable_licm=False",
        method: false,
        doc: "A range for a loop at run time, with hints for the compiler.\n\nLike Python's `range`; the hints never change results.",
        lower: range,
    },
    Builtin {
        name: "static_range",
        modules: &["", "core"],
        signature: "arg1, arg2=None, step=None",
        method: false,
        doc: "A range of constants for a loop that is unrolled.\n\nThe index is a constexpr in each iteration.",
        lower: static_range,
    },
    Builtin {
        name: "condition",
        modules: &["", "core"],
        signature: "arg1, disable_licm=False",
        method: false,
        doc: "The condition of a `while` loop, with hints for the compiler.",
        lower: condition,
    },
    Builtin {
        name: "static_assert",
        modules: &["", "core"],
        signature: "cond, msg=''",
        method: false,
        doc: "Fails the compilation with a message if a constexpr condition is false.",
        lower: static_assert,
    },
    Builtin {
        name: "static_print",
        modules: &["", "core"],
        signature: "*values, sep=' ', end='\\n', file=None, flush=False",
        method: false,
        doc: "Prints values while the kernel is compiled.\n\nOf a run-time value, its type is printed.",
        lower: static_print,
    },
];

fn range(_cx: &mut Lowering<'_, '_>, arguments: &[Value]) -> Result<Value> {
    let mut fields = bounds(arguments);
    let names = [
        "num_stages",
        "loop_unroll_factor",
        "disallow_acc_multi_buffer",
        "flatten",
        "warp_specialize",
        "disable_licm",
    ];
    fields.extend(names.into_iter().zip(arguments[3..].iter().cloned()));
    Ok(Value::Record(Arc::new(Record { kind: RecordKind::Range, fields })))
}

fn static_range(cx: &mut Lowering<'_, '_>, arguments: &[Value]) -> Result<Value> {
    let fields = bounds(arguments);
    for (name, value) in &fields {
        cx.integer(name, value)?;
    }
    Ok(Value::Record(Arc::new(Record { kind: RecordKind::StaticRange, fields })))
}

/// Start, stop and step, as Python's `range` reads its arguments.
fn bounds(arguments: &[Value]) -> Vec<(&'static str, Value)> {
    let (start, stop) = match &arguments[1] {
        Value::None => (Value::Int(0), arguments[0].clone()),
        stop => (arguments[0].clone(), stop.clone()),
    };
    let step = match &arguments[2] {
        Value::None => Value::Int(1),
        step => step.clone(),
    };
    vec![("start", start), ("stop", stop), ("step", step)]
}

fn condition(_cx: &mut Lowering<'_, '_>, arguments: &[Value]) -> Result<Value> {
    Ok(arguments[0].clone())
}

fn static_assert(cx: &mut Lowering<'_, '_>, arguments: &[Value]) -> Result<Value> {
    if cx.truth("cond", &arguments[0])? {
        return Ok(Value::None);
    }
    let text = cx.text(&arguments[1]);
    let colon = if text.is_empty() { "" } else { ": " };
    let error = cx.error(format!("a static assertion fails{colon}{text}"));
    Err(cx.stop(*error))
}

fn static_print(cx: &mut Lowering<'_, '_>, arguments: &[Value]) -> Result<Value> {
    let values: Vec<String> = match &arguments[0] {
        Value::Tuple(values, _) => values.iter().map(|value| cx.text(value)).collect(),
        other => vec![cx.text(other)],
    };
    let (separator, end) = (cx.text(&arguments[1]), cx.text(&arguments[2]));
    let mut line = values.join(&separator);
    // The host ends each line itself.
    line.push_str(end.strip_suffix('\n').unwrap_or(&end));
    cx.print(line);
    Ok(Value::None)
}
