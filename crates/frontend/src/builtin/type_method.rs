//! Questions that the language asks of types: `x.dtype.is_floating()`, `pointer.dtype.is_ptr()`.

use super::Builtin;
use crate::lower::{Lowering, Result};
use crate::value::{RecordKind, Value};
use tegula_ir::Scalar;

/// An entry for a question about a scalar type; pointers and blocks answer no.
macro_rules! question {
    ($name:literal, $test:expr, $doc:literal) => {
        Builtin {
            name: $name,
            modules: &[],
            signature: "self",
            method: false,
            doc: $doc,
            lower: |_, args| {
                let test: fn(Scalar) -> bool = $test;
                Ok(Value::Bool(matches!(&args[0], Value::Type(scalar) if test(*scalar))))
            },
        }
    };
}

/// The methods of types.
pub static METHODS: &[Builtin] = &[
    question!("is_floating", Scalar::is_float, "Whether this is a floating-point type."),
    question!(
        "is_standard_floating",
        |s| s.is_float() && !s.is_float8(),
        "Whether this is a float of 16 bits or more."
    ),
    question!("is_fp8", Scalar::is_float8, "Whether this is an 8-bit float."),
    question!("is_fp8e4nv", |s| s == Scalar::Float8E4M3, "Whether this is fp8e4nv."),
    question!("is_fp8e4b8", |s| s == Scalar::Float8E4B8, "Whether this is fp8e4b8."),
    question!("is_fp8e4b15", |s| s == Scalar::Float8E4B15, "Whether this is fp8e4b15."),
    question!("is_fp8e5", |s| s == Scalar::Float8E5M2, "Whether this is fp8e5."),
    question!("is_fp8e5b16", |s| s == Scalar::Float8E5B16, "Whether this is fp8e5b16."),
    question!("is_fp16", |s| s == Scalar::Float16, "Whether this is fp16."),
    question!("is_bf16", |s| s == Scalar::BFloat16, "Whether this is bf16."),
    question!("is_fp32", |s| s == Scalar::Float32, "Whether this is fp32."),
    question!("is_fp64", |s| s == Scalar::Float64, "Whether this is fp64."),
    question!("is_int", Scalar::is_int, "Whether this is an integer type, `int1` included."),
    question!("is_int_signed", Scalar::is_signed, "Whether this is a signed integer type."),
    question!(
        "is_int_unsigned",
        Scalar::is_unsigned,
        "Whether this is an unsigned integer type, `int1` included."
    ),
    question!("is_bool", |s| s == Scalar::Int1, "Whether this is `int1`."),
    question!("is_int1", |s| s == Scalar::Int1, "Whether this is `int1`."),
    question!("is_int8", |s| s == Scalar::Int8, "Whether this is `int8`."),
    question!("is_int16", |s| s == Scalar::Int16, "Whether this is `int16`."),
    question!("is_int32", |s| s == Scalar::Int32, "Whether this is `int32`."),
    question!("is_int64", |s| s == Scalar::Int64, "Whether this is `int64`."),
    question!("is_uint8", |s| s == Scalar::UInt8, "Whether this is `uint8`."),
    question!("is_uint16", |s| s == Scalar::UInt16, "Whether this is `uint16`."),
    question!("is_uint32", |s| s == Scalar::UInt32, "Whether this is `uint32`."),
    question!("is_uint64", |s| s == Scalar::UInt64, "Whether this is `uint64`."),
    Builtin {
        name: "is_ptr",
        modules: &[],
        signature: "self",
        method: false,
        doc: "Whether this is the type of a pointer.",
        lower: |_, args| Ok(Value::Bool(matches!(args[0], Value::PointerType(_)))),
    },
    Builtin {
        name: "is_const",
        modules: &[],
        signature: "self",
        method: false,
        doc: "Whether this is the type of a pointer to constant memory.",
        lower: |_, args| Ok(Value::Bool(matches!(&args[0], Value::PointerType(pointer) if pointer.constant))),
    },
    Builtin {
        name: "is_block",
        modules: &[],
        signature: "self",
        method: false,
        doc: "Whether this is the type of a block.",
        lower: |_, args| {
            let block = matches!(&args[0], Value::Record(record) if record.kind == RecordKind::BlockType);
            Ok(Value::Bool(block))
        },
    },
    Builtin {
        name: "get_int_max_value",
        modules: &[],
        signature: "self",
        method: false,
        doc: "The largest number of an integer type.",
        lower: |cx, args| integer_limit(cx, &args[0], true),
    },
    Builtin {
        name: "get_int_min_value",
        modules: &[],
        signature: "self",
        method: false,
        doc: "The smallest number of an integer type.",
        lower: |cx, args| integer_limit(cx, &args[0], false),
    },
];

fn integer_limit(cx: &mut Lowering<'_, '_>, value: &Value, largest: bool) -> Result<Value> {
    let scalar = cx.scalar_type("self", value)?;
    if scalar.is_float() {
        return Err(cx.parameter_error("self", "an integer type", value));
    }
    let magnitude = if scalar.is_signed() { scalar.bits() - 1 } else { scalar.bits() };
    let power = 1i128 << magnitude;
    Ok(Value::Int(match (largest, scalar.is_signed()) {
        (true, _) => power - 1,
        (false, true) => -power,
        (false, false) => 0,
    }))
}

/// The method `name`, bound to a type.
pub fn bound(value: &Value, name: &str) -> Option<Value> {
    let method = METHODS.iter().find(|method| method.name == name)?;
    Some(Value::Method(Box::new((value.clone(), Value::Builtin(method)))))
}

/// The names of the methods.
pub fn names() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|method| method.name)
}
