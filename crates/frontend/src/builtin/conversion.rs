//! Conversions: `tl.cast`, `x.to(dtype)`, reinterpreted bits, and numbers made into tensors.

use super::{Builtin, promotion};
use crate::lower::{Lowering, Result, type_text};
use crate::value::Value;
use tegula_ir::{Element, Pointer, Predicate, Rounding, Scalar, Value as Tensor};

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "cast",
        modules: &["", "core"],
        signature: "input, dtype, fp_downcast_rounding=None, bitcast=False",
        method: true,
        doc: "Converts a block or a number to another type.\n\n\
              Floats become integers by dropping the fraction; integers become narrower ones by dropping high bits; anything becomes \
              `int1` by comparison with zero. Floats are rounded to nearest even; conversions to 8-bit floats saturate.\n\n\
              With `fp_downcast_rounding=\"rtz\"` a conversion to a narrower float rounds towards zero (`\"rtne\"`, the default, to nearest \
              even). With `bitcast=True` the bits stay and the type changes; both types must be equally wide. Pointers convert to \
              other pointers, and to and from 64-bit integers.",
        lower: cast,
    },
    Builtin {
        name: "to",
        modules: &[],
        signature: "input, dtype, fp_downcast_rounding=None, bitcast=False",
        method: true,
        doc: "Converts a block to another type; see `tl.cast`.",
        lower: cast,
    },
    Builtin {
        name: "to_tensor",
        modules: &["", "core"],
        signature: "x",
        method: false,
        doc: "Makes a number known at compile time a run-time value.\n\nIntegers take the first of int32, uint32, int64 and uint64 \
              that holds them; floats are fp32, or fp64 outside of its range.",
        lower: |cx, args| cx.to_tensor(&args[0]).map(Value::Tensor),
    },
];

fn cast(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let rounding = cx.optional_string("fp_downcast_rounding", &args[2])?;
    let bitcast = cx.truth("bitcast", &args[3])?;
    let target = match &args[1] {
        Value::PointerType(pointer) => Element::Pointer(*pointer),
        other => Element::Scalar(cx.scalar_type("dtype", other)?),
    };
    if !bitcast
        && rounding.is_none()
        && args[0].is_constant()
        && let Element::Scalar(scalar) = target
    {
        return cx.constant(&args[0], scalar).map(Value::Tensor);
    }
    let input = cx.to_tensor(&args[0])?;
    let rounding = check_rounding(cx, input, target, rounding)?;
    let result = match (cx.ty(input).element, target) {
        (Element::Scalar(from), Element::Scalar(to)) if bitcast => reinterpret(cx, input, from, to)?,
        (Element::Scalar(_), Element::Scalar(to)) => cx.builder.cast(input, to, rounding),
        (Element::Scalar(from), Element::Pointer(pointer)) => number_to_pointer(cx, input, from, pointer)?,
        (Element::Pointer(_), Element::Scalar(to)) => pointer_to_number(cx, input, to)?,
        (Element::Pointer(_), Element::Pointer(pointer)) => cx.builder.bitcast(input, pointer),
    };
    Ok(Value::Tensor(result))
}

/// A conversion of numbers with the default rounding; nothing if the value has the type already.
pub fn convert(cx: &mut Lowering<'_, '_>, value: Tensor, to: Scalar) -> Tensor {
    cx.builder.cast(value, to, Rounding::NearestEven)
}

fn check_rounding(
    cx: &Lowering<'_, '_>,
    input: Tensor,
    target: Element,
    rounding: Option<&str>,
) -> Result<Rounding> {
    let Some(name) = rounding else { return Ok(Rounding::NearestEven) };
    let rounding = match name {
        "rtne" => Rounding::NearestEven,
        "rtz" => Rounding::TowardsZero,
        other => {
            let message = format!("`fp_downcast_rounding` is {other:?}, which is no rounding mode");
            return Err(Box::new(
                cx.error(message).with_help("use \"rtne\" (to nearest even) or \"rtz\" (towards zero)"),
            ));
        }
    };
    let narrows = match (cx.ty(input).element, target) {
        (Element::Scalar(from), Element::Scalar(to)) => {
            from.is_float() && to.is_float() && to.bits() < from.bits()
        }
        _ => false,
    };
    if narrows {
        return Ok(rounding);
    }
    let message = format!(
        "`fp_downcast_rounding` applies to conversions to a narrower float, and this one is from {} to {}",
        type_text(cx.ty(input)),
        element_text(target)
    );
    Err(Box::new(cx.error(message).with_help("leave `fp_downcast_rounding` out")))
}

/// The same bits as another type of the same width.
fn reinterpret(cx: &mut Lowering<'_, '_>, input: Tensor, from: Scalar, to: Scalar) -> Result<Tensor> {
    if from.bits() == to.bits() {
        return Ok(cx.builder.bitcast(input, to));
    }
    let message = format!(
        "a bitcast keeps the width, but {} has {} bits an element and {} has {}",
        type_text(cx.ty(input)),
        from.bits(),
        to.language_name(),
        to.bits()
    );
    Err(Box::new(cx.error(message).with_help("convert the numbers instead: leave `bitcast` out")))
}

fn number_to_pointer(
    cx: &mut Lowering<'_, '_>,
    input: Tensor,
    from: Scalar,
    pointer: Pointer,
) -> Result<Tensor> {
    if from.is_float() {
        let message = format!("{} does not convert to a pointer", type_text(cx.ty(input)));
        return Err(Box::new(
            cx.error(message).with_help("an address is an integer, best `tl.int64` or `tl.uint64`"),
        ));
    }
    let address = convert(cx, input, if from == Scalar::UInt64 { from } else { Scalar::Int64 });
    Ok(cx.builder.bitcast(address, pointer))
}

fn pointer_to_number(cx: &mut Lowering<'_, '_>, input: Tensor, to: Scalar) -> Result<Tensor> {
    match to {
        Scalar::Int64 | Scalar::UInt64 => Ok(cx.builder.bitcast(input, to)),
        Scalar::Int1 => {
            let address = cx.builder.bitcast(input, Scalar::Int64);
            let zero = cx.builder.int(Scalar::Int64, 0);
            let shape = cx.ty(address).shape.clone();
            let zero = cx.builder.splat(zero, &shape);
            Ok(cx.builder.compare(Predicate::Ne, address, zero))
        }
        narrow => {
            let message = format!(
                "{} does not convert to {}: an address has 64 bits",
                type_text(cx.ty(input)),
                narrow.language_name()
            );
            Err(Box::new(cx.error(message).with_help("convert to `tl.int64` first")))
        }
    }
}

/// An element type as the language prints it.
pub fn element_text(element: Element) -> String {
    type_text(&tegula_ir::Type::scalar(element))
}

/// A block or number as fp32 if it is an 8-bit float, which nothing computes in.
pub fn widen_float8(cx: &mut Lowering<'_, '_>, value: Tensor) -> Tensor {
    match cx.ty(value).element {
        Element::Scalar(scalar) => convert(cx, value, promotion::computing_type(scalar)),
        Element::Pointer(_) => value,
    }
}
