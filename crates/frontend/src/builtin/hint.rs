//! What the user promises (`tl.multiple_of`, `tl.assume`), and what is for debugging (`tl.device_print`, `tl.device_assert`).

use super::{Builtin, broadcast, comparison};
use crate::lower::{Lowering, Result, type_text};
use crate::value::Value;
use smallvec::SmallVec;
use tegula_ir::{Element, Hint, Op, Value as Tensor};

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "multiple_of",
        modules: &["", "core"],
        signature: "input, values",
        method: false,
        doc: "Promises that the first element of each contiguous run is a multiple of a constant, one for each dimension.\n\nReturns the \
              input.",
        lower: |cx, args| annotate(cx, args, Hint::MultipleOf),
    },
    Builtin {
        name: "max_contiguous",
        modules: &["", "core"],
        signature: "input, values",
        method: false,
        doc: "Promises that elements come in runs of so many consecutive numbers, one constant for each dimension.\n\nReturns the input.",
        lower: |cx, args| annotate(cx, args, Hint::MaxContiguous),
    },
    Builtin {
        name: "max_constancy",
        modules: &["", "core"],
        signature: "input, values",
        method: false,
        doc: "Promises that elements come in runs of so many equal numbers, one constant for each dimension.\n\nReturns the input.",
        lower: |cx, args| annotate(cx, args, Hint::MaxConstancy),
    },
    Builtin {
        name: "assume",
        modules: &["", "core"],
        signature: "cond",
        method: false,
        doc: "Promises that a condition is true.",
        lower: assume,
    },
    Builtin {
        name: "debug_barrier",
        modules: &["", "core"],
        signature: "",
        method: false,
        doc: "Waits until all threads of the program have come here.\n\nProgram order holds without it.",
        lower: |cx, _| {
            cx.builder.effect(Op::Barrier);
            Ok(Value::None)
        },
    },
    Builtin {
        name: "device_print",
        modules: &["", "core"],
        signature: "prefix, *args, hex=False",
        method: false,
        doc: "Prints numbers and blocks when the kernel runs, after a prefix that is known at compile time.\n\nEach line starts with the \
              program's index in the grid.",
        lower: device_print,
    },
    Builtin {
        name: "device_assert",
        modules: &["", "core"],
        signature: "cond, msg=\"\", mask=None",
        method: false,
        doc: "Stops the launch with a message if a condition is false, for any element where the mask is true.\n\nThe message names the \
              program, the file and the line. It is always checked.",
        lower: device_assert,
    },
];

fn annotate(
    cx: &mut Lowering<'_, '_>,
    args: &[Value],
    hint: fn(SmallVec<[u32; 2]>) -> Hint,
) -> Result<Value> {
    let values = cx.integers("values", &args[1])?;
    if args[0].is_constant() {
        return Ok(args[0].clone());
    }
    let input = cx.to_tensor(&args[0])?;
    let holds_floats = matches!(cx.ty(input).element, Element::Scalar(scalar) if scalar.is_float());
    if holds_floats {
        return Err(cx.parameter_error("input", "an integer, a pointer, or a block of them", &args[0]));
    }
    let rank = cx.ty(input).shape.rank().max(1);
    if values.len() != rank {
        let message = format!(
            "`values` has the length {}, but there is one value for each of the {rank} dimension(s) of {}",
            values.len(),
            type_text(cx.ty(input))
        );
        return Err(cx.error(message));
    }
    let mut promised = SmallVec::new();
    for value in values {
        match u32::try_from(value) {
            Ok(value) if value > 0 => promised.push(value),
            _ => {
                return Err(cx.error(format!("`values` holds {value}, but each is a positive 32-bit number")));
            }
        }
    }
    let ty = cx.ty(input).clone();
    Ok(Value::Tensor(cx.builder.value(Op::Annotate { value: input, hint: hint(promised) }, ty)))
}

fn assume(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let condition = cx.to_tensor(&args[0])?;
    let condition = comparison::truth(cx, condition);
    if !cx.ty(condition).is_scalar() {
        return Err(cx.parameter_error("cond", "a single condition", &args[0]));
    }
    cx.builder.effect(Op::Assume { condition });
    Ok(Value::None)
}

fn device_print(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let prefix = cx.string("prefix", &args[0])?.to_owned();
    let hex = cx.truth("hex", &args[2])?;
    let mut values: SmallVec<[Tensor; 2]> = SmallVec::new();
    if let Value::Tuple(items, _) = &args[1] {
        for item in items.iter() {
            values.push(cx.to_tensor(item)?);
        }
    }
    cx.builder.effect(Op::Print { prefix, hex, values });
    Ok(Value::None)
}

fn device_assert(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let condition = cx.to_tensor(&args[0])?;
    let mut condition = comparison::truth(cx, condition);
    let message = cx.string("msg", &args[1])?.to_owned();
    let mask = match super::memory::optional_mask(cx, &args[2])? {
        Some(mask) => {
            let (both, mask) = broadcast::pair(cx, condition, mask)?;
            condition = both;
            Some(mask)
        }
        None => None,
    };
    cx.builder.effect(Op::Assert { condition, message, mask });
    Ok(Value::None)
}
