//! Elementwise functions that are one operation each: `tl.exp`, `tl.sqrt`, `libdevice.tanh`, ...

use super::promotion::{Operation, computing_type, integer_of, promote_tensors, scalar_of};
use super::{Builtin, conversion};
use crate::lower::{Lowering, Result, type_text};
use crate::value::Value;
use tegula_ir::{BinaryOp, Scalar, UnaryOp, Value as Tensor};

/// The modules of a function that `tl`, `tl.math` and libdevice have.
macro_rules! everywhere {
    () => {
        &["", "math", "extra.libdevice", "extra.cuda.libdevice"]
    };
}

/// The modules of a function that only libdevice has.
macro_rules! library {
    () => {
        &["extra.libdevice", "extra.cuda.libdevice"]
    };
}

/// An entry for an elementwise function of one float.
macro_rules! float_function {
    ($name:literal, $modules:expr, $method:literal, $op:ident, $doc:literal) => {
        Builtin {
            name: $name,
            modules: $modules,
            signature: "x",
            method: $method,
            doc: concat!($doc, "\n\nTakes fp32 and fp64; the result has the operand's type and shape."),
            lower: |cx, args| float_unary(cx, UnaryOp::$op, &args[0]).map(Value::Tensor),
        }
    };
}

/// An entry for an elementwise function of two floats.
macro_rules! float_function_of_two {
    ($name:literal, $op:ident, $doc:literal) => {
        Builtin {
            name: $name,
            modules: library!(),
            signature: "x, y",
            method: false,
            doc: concat!(
                $doc,
                "\n\nTakes fp32 and fp64; the operands are brought to one type and one shape."
            ),
            lower: |cx, args| float_binary(cx, BinaryOp::$op, &args[0], &args[1]).map(Value::Tensor),
        }
    };
}

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    float_function!(
        "exp",
        &["", "math"],
        true,
        Exp,
        "The exponential function, element by element.\n\nOn GPUs, of fp32, it is a power of two: its relative error is at most \
         (4 + |x|) units of 2^-24. `libdevice.exp` has no error that grows."
    ),
    float_function!("exp2", everywhere!(), true, Exp2, "Two to the power of each element."),
    float_function!("log", everywhere!(), true, Log, "The natural logarithm, element by element."),
    float_function!("log2", everywhere!(), true, Log2, "The logarithm to base 2, element by element."),
    float_function!("sin", everywhere!(), true, Sin, "The sine of an angle in radians, element by element."),
    float_function!(
        "cos",
        everywhere!(),
        true,
        Cos,
        "The cosine of an angle in radians, element by element."
    ),
    float_function!("sqrt", everywhere!(), true, Sqrt, "The square root, element by element."),
    float_function!(
        "sqrt_rn",
        everywhere!(),
        true,
        Sqrt,
        "The square root, correctly rounded to nearest even."
    ),
    float_function!("rsqrt", everywhere!(), true, Rsqrt, "One over the square root, element by element."),
    float_function!("erf", everywhere!(), true, Erf, "The error function, element by element."),
    float_function!(
        "floor",
        everywhere!(),
        true,
        Floor,
        "The largest whole number that is not larger, element by element."
    ),
    float_function!(
        "ceil",
        everywhere!(),
        true,
        Ceil,
        "The smallest whole number that is not smaller, element by element."
    ),
    float_function!("expm1", library!(), false, Expm1, "`exp(x) - 1`, exact for small `x` too."),
    float_function!("log10", library!(), false, Log10, "The logarithm to base 10, element by element."),
    float_function!("log1p", library!(), false, Log1p, "`log(1 + x)`, exact for small `x` too."),
    float_function!("tan", library!(), false, Tan, "The tangent of an angle in radians."),
    float_function!("asin", library!(), false, Asin, "The inverse sine, in radians."),
    float_function!("acos", library!(), false, Acos, "The inverse cosine, in radians."),
    float_function!("atan", library!(), false, Atan, "The inverse tangent, in radians."),
    float_function!("sinh", library!(), false, Sinh, "The hyperbolic sine."),
    float_function!("cosh", library!(), false, Cosh, "The hyperbolic cosine."),
    float_function!("tanh", library!(), false, Tanh, "The hyperbolic tangent."),
    float_function!("asinh", library!(), false, Asinh, "The inverse hyperbolic sine."),
    float_function!("acosh", library!(), false, Acosh, "The inverse hyperbolic cosine."),
    float_function!("atanh", library!(), false, Atanh, "The inverse hyperbolic tangent."),
    float_function!("cbrt", library!(), false, Cbrt, "The cube root."),
    float_function!("trunc", library!(), false, Trunc, "Rounds towards zero to a whole number."),
    float_function!(
        "round",
        library!(),
        false,
        Round,
        "Rounds to the nearest whole number, halves away from zero."
    ),
    float_function!(
        "rint",
        library!(),
        false,
        RoundEven,
        "Rounds to the nearest whole number, halves to even."
    ),
    float_function!(
        "nearbyint",
        library!(),
        false,
        RoundEven,
        "Rounds to the nearest whole number, halves to even."
    ),
    float_function!("erfc", library!(), false, Erfc, "The complementary error function, `1 - erf(x)`."),
    float_function!("erfinv", library!(), false, Erfinv, "The inverse of the error function."),
    float_function!(
        "lgamma",
        library!(),
        false,
        Lgamma,
        "The logarithm of the absolute value of the gamma function."
    ),
    float_function!("tgamma", library!(), false, Tgamma, "The gamma function."),
    float_function!("fast_sinf", library!(), false, Sin, "The sine; an approximation on GPUs."),
    float_function!("fast_cosf", library!(), false, Cos, "The cosine; an approximation on GPUs."),
    float_function!("fast_tanf", library!(), false, Tan, "The tangent; an approximation on GPUs."),
    float_function!(
        "fast_tanhf",
        library!(),
        false,
        Tanh,
        "The hyperbolic tangent; an approximation on GPUs."
    ),
    float_function!(
        "fast_expf",
        library!(),
        false,
        Exp,
        "The exponential function; an approximation on GPUs."
    ),
    float_function!("fast_logf", library!(), false, Log, "The natural logarithm; an approximation on GPUs."),
    float_function!(
        "fast_log2f",
        library!(),
        false,
        Log2,
        "The logarithm to base 2; an approximation on GPUs."
    ),
    float_function!(
        "fast_log10f",
        library!(),
        false,
        Log10,
        "The logarithm to base 10; an approximation on GPUs."
    ),
    float_function_of_two!(
        "pow",
        Pow,
        "The first operand to the power of the second, which may be an integer."
    ),
    float_function_of_two!(
        "fast_powf",
        Pow,
        "The first operand to the power of the second; an approximation on GPUs."
    ),
    float_function_of_two!(
        "atan2",
        Atan2,
        "The angle, in radians, of the point `(y, x)` given as `atan2(y, x)`."
    ),
    float_function_of_two!(
        "hypot",
        Hypot,
        "The length of a vector of two coordinates, without overflow on the way."
    ),
    float_function_of_two!(
        "copysign",
        CopySign,
        "The magnitude of the first operand with the sign of the second."
    ),
    float_function_of_two!(
        "nextafter",
        NextAfter,
        "The next representable number after the first operand towards the second."
    ),
    float_function_of_two!(
        "fmod",
        Rem,
        "The remainder of a truncating division; it has the sign of the first operand."
    ),
    float_function_of_two!(
        "remainder",
        Remainder,
        "The remainder of a division whose quotient is rounded to nearest even."
    ),
    Builtin {
        name: "abs",
        modules: everywhere!(),
        signature: "x",
        method: true,
        doc: "The absolute value of a number of any type.\n\nThat of the smallest signed integer is itself; unsigned integers stay as \
              they are.",
        lower: absolute,
    },
    Builtin {
        name: "umulhi",
        modules: &["", "math"],
        signature: "x, y",
        method: false,
        doc: "The upper half of the double-width product of two 32- or 64-bit integers, taken as unsigned.",
        lower: |cx, args| multiply_high(cx, args, false),
    },
    Builtin {
        name: "mulhi",
        modules: library!(),
        signature: "x, y",
        method: false,
        doc: "The upper half of the double-width product of two 32- or 64-bit integers of one type.",
        lower: |cx, args| multiply_high(cx, args, true),
    },
    Builtin {
        name: "popc",
        modules: library!(),
        signature: "x",
        method: false,
        doc: "The number of one bits of each integer; `int32`.",
        lower: |cx, args| bit_count(cx, UnaryOp::Popcount, args),
    },
    Builtin {
        name: "clz",
        modules: library!(),
        signature: "x",
        method: false,
        doc: "The number of zero bits above the highest one bit of each integer; `int32`.",
        lower: |cx, args| bit_count(cx, UnaryOp::LeadingZeros, args),
    },
    Builtin {
        name: "brev",
        modules: library!(),
        signature: "x",
        method: false,
        doc: "The bits of each integer in reverse order; the type stays.",
        lower: |cx, args| {
            let x = wide_integer(cx, &args[0])?;
            Ok(Value::Tensor(cx.builder.unary(UnaryOp::ReverseBits, x)))
        },
    },
];

/// A float operand of 32 or 64 bits.
///
/// # Errors
/// If it has another type; the message says how to convert it.
pub fn float_operand(cx: &mut Lowering<'_, '_>, value: &Value) -> Result<Tensor> {
    let value = cx.to_tensor(value)?;
    match cx.ty(value).element.as_scalar() {
        Some(Scalar::Float32 | Scalar::Float64) => Ok(value),
        _ => {
            let name = cx.builtin_name().unwrap_or("the function");
            let message =
                format!("`{name}` takes fp32 and fp64, and this operand is {}", type_text(cx.ty(value)));
            Err(Box::new(cx.error(message).with_help("convert it first: `x.to(tl.float32)`")))
        }
    }
}

fn float_unary(cx: &mut Lowering<'_, '_>, op: UnaryOp, value: &Value) -> Result<Tensor> {
    let value = float_operand(cx, value)?;
    Ok(cx.builder.unary(op, value))
}

/// A function of two floats; the operands are brought to one type, and an integer beside a float becomes that float.
fn float_binary(cx: &mut Lowering<'_, '_>, op: BinaryOp, lhs: &Value, rhs: &Value) -> Result<Tensor> {
    let lhs = cx.to_tensor(lhs)?;
    let rhs = cx.to_tensor(rhs)?;
    let (lhs, rhs) = promote_tensors(cx, lhs, rhs, Operation::Arithmetic)?;
    let lhs = float_operand(cx, &Value::Tensor(lhs))?;
    Ok(cx.builder.binary(op, lhs, rhs))
}

fn absolute(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let value = cx.to_tensor(&args[0])?;
    let scalar = scalar_of(cx, "x", value)?;
    if scalar.is_unsigned() {
        return Ok(Value::Tensor(value));
    }
    let wide = conversion::convert(cx, value, computing_type(scalar));
    let result = cx.builder.unary(UnaryOp::Abs, wide);
    Ok(Value::Tensor(conversion::convert(cx, result, scalar)))
}

/// An integer operand of 32 or 64 bits; narrower ones are widened.
pub fn wide_integer(cx: &mut Lowering<'_, '_>, value: &Value) -> Result<Tensor> {
    let value = cx.to_tensor(value)?;
    let scalar = scalar_of(cx, "x", value)?;
    if scalar.is_float() {
        let name = cx.builtin_name().unwrap_or("the function");
        let message = format!("`{name}` takes integers, and this operand is {}", type_text(cx.ty(value)));
        return Err(cx.error(message));
    }
    Ok(if scalar.bits() < 32 { conversion::convert(cx, value, Scalar::Int32) } else { value })
}

fn multiply_high(cx: &mut Lowering<'_, '_>, args: &[Value], keeps_sign: bool) -> Result<Value> {
    let lhs = wide_integer(cx, &args[0])?;
    let rhs = wide_integer(cx, &args[1])?;
    let (lhs, rhs) = promote_tensors(cx, lhs, rhs, Operation::Arithmetic)?;
    let scalar = scalar_of(cx, "x", lhs)?;
    let computed = integer_of(scalar.bits(), keeps_sign && scalar.is_signed());
    let lhs = cx.builder.bitcast(lhs, computed);
    let rhs = cx.builder.bitcast(rhs, computed);
    let result = cx.builder.binary(BinaryOp::MulHigh, lhs, rhs);
    Ok(Value::Tensor(cx.builder.bitcast(result, scalar)))
}

fn bit_count(cx: &mut Lowering<'_, '_>, op: UnaryOp, args: &[Value]) -> Result<Value> {
    let value = wide_integer(cx, &args[0])?;
    let count = cx.builder.unary(op, value);
    Ok(Value::Tensor(conversion::convert(cx, count, Scalar::Int32)))
}
