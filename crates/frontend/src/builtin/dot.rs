//! Matrix products: `tl.dot`.

use super::broadcast::shape_text;
use super::shape::reshaped;
use super::{Builtin, conversion, type_name};
use crate::lower::{Lowering, Result, type_text};
use crate::value::Value;
use tegula_ir::{DotPrecision, Element, Op, Scalar, Shape, Value as Tensor};

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[Builtin {
    name: "dot",
    modules: &["", "core"],
    signature: "input, other, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, out_dtype=None",
    method: false,
    doc: "The product of two matrices, `(M, K)` by `(K, N)`, or of two batches of them, plus `acc` if it is given.\n\n\
          Both operands have one type: int8 or uint8 (the result is int32), fp8, fp16, bf16, fp32 or fp64; two fp8 types may differ. \
          The result is fp32, fp64 of fp64, and fp16 if `out_dtype` (or `acc`) says so and the operands are fp16 or fp8; an `out_dtype` \
          that the operands do not have is an error. Extents may be any; there may be any number of batch dimensions, which must be equal.\n\n\
          `input_precision` says how fp32 is multiplied on a GPU: `\"tf32\"` (the default), `\"tf32x3\"`, `\"ieee\"`, `\"bf16x3\"`, `\"bf16x6\"`; \
          a CPU always multiplies exactly. `allow_tf32` is an older way to choose between the first and `\"ieee\"`. \
          `max_num_imprecise_acc` bounds how many fp8 products a GPU adds at reduced precision.",
    lower: dot_call,
}];

fn dot_call(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let precision = precision(cx, &args[3], &args[4])?;
    cx.optional_integer("max_num_imprecise_acc", &args[5])?;
    let wanted = match &args[6] {
        Value::None => None,
        dtype => Some(cx.scalar_type("out_dtype", dtype)?),
    };
    let lhs = matrix(cx, "input", &args[0])?;
    let rhs = matrix(cx, "other", &args[1])?;
    let acc = match &args[2] {
        Value::None => None,
        acc => Some(matrix(cx, "acc", acc)?),
    };
    let (lhs, rhs) = operands(cx, lhs, rhs)?;
    let acc_type = acc.and_then(|acc| cx.ty(acc).element.as_scalar());
    let scalar = result_type(cx, lhs, wanted, acc_type)?;
    dot(cx, lhs, rhs, acc, precision, scalar).map(Value::Tensor)
}

fn matrix(cx: &mut Lowering<'_, '_>, parameter: &str, value: &Value) -> Result<Tensor> {
    let tensor = cx.to_tensor(value)?;
    match cx.ty(tensor).element {
        Element::Scalar(_) if cx.ty(tensor).shape.rank() >= 2 => Ok(tensor),
        _ => {
            Err(cx.parameter_error(parameter, "a block of numbers of rank 2 or more", &Value::Tensor(tensor)))
        }
    }
}

fn precision(cx: &Lowering<'_, '_>, named: &Value, allow_tf32: &Value) -> Result<DotPrecision> {
    match (named, allow_tf32) {
        (Value::None, Value::None) => Ok(DotPrecision::Tf32),
        (Value::None, allow) => {
            Ok(if cx.truth("allow_tf32", allow)? { DotPrecision::Tf32 } else { DotPrecision::Ieee })
        }
        (named, Value::None) => match cx.string("input_precision", named)?.to_ascii_lowercase().as_str() {
            "tf32" => Ok(DotPrecision::Tf32),
            "tf32x3" => Ok(DotPrecision::Tf32x3),
            "ieee" => Ok(DotPrecision::Ieee),
            "bf16x3" => Ok(DotPrecision::Bf16x3),
            "bf16x6" => Ok(DotPrecision::Bf16x6),
            _ => Err(Box::new(
                cx.error(format!("`input_precision` is {}, which is not one of its values", cx.repr(named)))
                    .with_help("use \"tf32\", \"tf32x3\", \"ieee\", \"bf16x3\" or \"bf16x6\""),
            )),
        },
        _ => Err(Box::new(
            cx.error("`input_precision` and `allow_tf32` say the same, and both are given")
                .with_help("leave `allow_tf32` out"),
        )),
    }
}

/// The operands in types that are multiplied as such: rare 8-bit floats become fp16, which holds them exactly.
fn operands(cx: &mut Lowering<'_, '_>, lhs: Tensor, rhs: Tensor) -> Result<(Tensor, Tensor)> {
    let scalar = |cx: &Lowering<'_, '_>, value: Tensor| cx.ty(value).element.as_scalar();
    let (Some(left), Some(right)) = (scalar(cx, lhs), scalar(cx, rhs)) else {
        return Err(cx.error("`tl.dot` multiplies numbers"));
    };
    let supported = |scalar: Scalar| scalar.is_float() || matches!(scalar, Scalar::Int8 | Scalar::UInt8);
    if !supported(left) || left != right && !(left.is_float8() && right.is_float8()) {
        let message = format!(
            "`tl.dot` multiplies blocks of one type (int8, uint8 or a float), and these are {} and {}",
            type_text(cx.ty(lhs)),
            type_text(cx.ty(rhs))
        );
        return Err(Box::new(cx.error(message).with_help("cast one of them with `.to(...)`")));
    }
    let ocp = |scalar: Scalar| matches!(scalar, Scalar::Float8E4M3 | Scalar::Float8E5M2);
    if left.is_float8() && !(ocp(left) && left == right) {
        let lhs = conversion::convert(cx, lhs, Scalar::Float16);
        return Ok((lhs, conversion::convert(cx, rhs, Scalar::Float16)));
    }
    Ok((lhs, rhs))
}

/// The type of the product.
fn result_type(
    cx: &Lowering<'_, '_>,
    lhs: Tensor,
    wanted: Option<Scalar>,
    acc: Option<Scalar>,
) -> Result<Scalar> {
    let operand = cx.ty(lhs).element.as_scalar().unwrap_or(Scalar::Float32);
    if wanted == Some(Scalar::BFloat16) {
        return Err(Box::new(
            cx.error("`tl.dot` adds in fp32 or fp16, and `out_dtype` is bf16")
                .with_help("leave `out_dtype` out and cast the result: `.to(tl.bfloat16)`"),
        ));
    }
    let scalar = match operand {
        _ if operand.is_int() => Scalar::Int32,
        Scalar::Float64 => Scalar::Float64,
        Scalar::Float32 | Scalar::BFloat16 => Scalar::Float32,
        _ if wanted.or(acc) == Some(Scalar::Float16) => Scalar::Float16,
        _ => Scalar::Float32,
    };
    if let Some(wanted) = wanted
        && wanted != scalar
    {
        let name = Scalar::language_name;
        let message = format!(
            "`out_dtype` of `tl.dot` is {}, but the product of {} is {}",
            name(wanted),
            name(operand),
            name(scalar)
        );
        let help = format!("leave `out_dtype` out and cast the result: `.to(tl.{})`", type_name(wanted));
        return Err(Box::new(cx.error(message).with_help(help)));
    }
    match acc {
        Some(acc) if acc != scalar => {
            let message = format!(
                "`acc` of `tl.dot` is made of {}, but the product of {} is {}",
                acc.language_name(),
                operand.language_name(),
                scalar.language_name()
            );
            let help = format!("make the accumulator {}", scalar.language_name());
            Err(Box::new(cx.error(message).with_help(help)))
        }
        _ => Ok(scalar),
    }
}

/// A product of matrices or batches of them, in `scalar`; more than one batch dimension is folded into one.
pub fn dot(
    cx: &mut Lowering<'_, '_>,
    lhs: Tensor,
    rhs: Tensor,
    acc: Option<Tensor>,
    precision: DotPrecision,
    scalar: Scalar,
) -> Result<Tensor> {
    let shape = product_shape(cx, lhs, rhs)?;
    if let Some(acc) = acc
        && cx.ty(acc).shape != shape
    {
        let message = format!(
            "`acc` of `tl.dot` is {}, but the product has shape {}",
            type_text(cx.ty(acc)),
            shape_text(&shape)
        );
        return Err(cx.error(message));
    }
    let extents: Vec<i128> = shape.iter().map(|&extent| i128::from(extent)).collect();
    cx.check_elements(&extents)?;
    let lhs = as_batch(cx, lhs);
    let rhs = as_batch(cx, rhs);
    let accumulator = acc.map(|acc| as_batch(cx, acc));
    let (left, right) = (cx.ty(lhs).shape.clone(), cx.ty(rhs).shape.clone());
    let product = left.with_extent(left.rank() - 1, right[right.rank() - 1]);
    let ty = cx.ty(lhs).with_shape(product).with_element(scalar);
    let result = cx.builder.value(Op::Dot { lhs, rhs, accumulator, precision }, ty);
    Ok(reshaped(cx, result, shape))
}

/// The shape of the product of two blocks.
fn product_shape(cx: &Lowering<'_, '_>, lhs: Tensor, rhs: Tensor) -> Result<Shape> {
    let (left, right) = (cx.ty(lhs), cx.ty(rhs));
    let (rank, other) = (left.shape.rank(), right.shape.rank());
    let fact = if rank != other {
        format!("their ranks are {rank} and {other}")
    } else if left.shape[..rank - 2] != right.shape[..rank - 2] {
        "their batch dimensions differ".to_owned()
    } else if left.shape[rank - 1] != right.shape[rank - 2] {
        format!("the first has {} columns, the second {} rows", left.shape[rank - 1], right.shape[rank - 2])
    } else {
        return Ok(left.shape.with_extent(rank - 1, right.shape[rank - 1]));
    };
    let message = format!("`tl.dot` cannot multiply {} by {}: {fact}", type_text(left), type_text(right));
    Err(Box::new(cx.error(message).with_help(
        "the last extent of the first must equal the last but one of the second; `tl.trans(x)` swaps these",
    )))
}

/// A block of rank 2 or 3: all batch dimensions in one.
fn as_batch(cx: &mut Lowering<'_, '_>, value: Tensor) -> Tensor {
    let shape = cx.ty(value).shape.clone();
    let rank = shape.rank();
    if rank <= 3 {
        return value;
    }
    let batch = shape[..rank - 2].iter().product();
    reshaped(cx, value, [batch, shape[rank - 2], shape[rank - 1]].into_iter().collect())
}
