//! Matrix products of microscaled operands: `tl.dot_scaled`, taken apart into an unpacking, a scaling and a plain product.
//!
//! The formats are those of the OCP Microscaling Formats specification, version 1.0: `e2m1` codes come two in a byte, the first in
//! the low bits; a scale is the power of two whose biased exponent is the byte (`e8m0`), shared by 32 neighbours along K. A
//! scaled fp4 or fp8 element is exact in bf16, in which the product is taken.

use super::dot::dot;
use super::shape::{expand_dims, joined, permuted, reshaped, transposed};
use super::{Builtin, broadcast, conversion};
use crate::lower::{Lowering, Result, type_text};
use crate::value::Value;
use tegula_ir::{BinaryOp, DotPrecision, Predicate, Scalar, Shape, Value as Tensor};

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[Builtin {
    name: "dot_scaled",
    modules: &["", "core"],
    signature: "lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, fast_math=False, lhs_k_pack=True, rhs_k_pack=True, \
                out_dtype=None",
    method: false,
    doc: "The fp32 product of two matrices in microscaling formats, `(M, K)` by `(K, N)`, or of batches of them.\n\nA format is `\"e2m1\"` (fp4, two \
          in a byte of a uint8 block, the first in the low bits; packed along K, or along M or N if `lhs_k_pack` or `rhs_k_pack` is \
          false), `\"e4m3\"`, `\"e5m2\"`, `\"bf16\"` or `\"fp16\"` (as such or as unsigned integers of their bits).\n\n\
          `lhs_scale` has the shape `(M, K / 32)`, `rhs_scale` `(N, K / 32)`: bytes that are the biased exponents of powers of two (255 is \
          NaN, unless `fast_math`), or fp8e4nv with any group size that divides K. `None` means no scale. `acc`, in fp32, is added.",
    lower: dot_scaled,
}];

/// An operand's format.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    /// fp4, two in a byte.
    E2M1,
    Plain(Scalar),
}

fn format_of(cx: &Lowering<'_, '_>, parameter: &str, value: &Value) -> Result<Format> {
    super::memory::choice(
        cx,
        parameter,
        value,
        &[
            ("e2m1", Format::E2M1),
            ("e4m3", Format::Plain(Scalar::Float8E4M3)),
            ("e5m2", Format::Plain(Scalar::Float8E5M2)),
            ("bf16", Format::Plain(Scalar::BFloat16)),
            ("fp16", Format::Plain(Scalar::Float16)),
        ],
    )
}

fn dot_scaled(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    if !matches!(args[10], Value::None | Value::Type(Scalar::Float32)) {
        return Err(cx.parameter_error("out_dtype", "`tl.float32`", &args[10]));
    }
    let exact_nan = !cx.truth("fast_math", &args[7])?;
    let lhs_format = format_of(cx, "lhs_format", &args[2])?;
    let rhs_format = format_of(cx, "rhs_format", &args[5])?;
    // fp16 keeps more digits than bf16 holds; beside it everything is multiplied in fp32.
    let half = Format::Plain(Scalar::Float16);
    let (scalar, precision) = if lhs_format == half || rhs_format == half {
        (Scalar::Float32, DotPrecision::Ieee)
    } else {
        (Scalar::BFloat16, DotPrecision::default())
    };
    let lhs_packs_k = cx.truth("lhs_k_pack", &args[8])?;
    let rhs_packs_k = cx.truth("rhs_k_pack", &args[9])?;
    let lhs = operand(cx, "lhs", &args[0], lhs_format, scalar, !lhs_packs_k)?;
    let rhs = operand(cx, "rhs", &args[3], rhs_format, scalar, rhs_packs_k)?;
    let lhs = scaled(cx, "lhs_scale", lhs, &args[1], scalar, exact_nan)?;
    let rhs = match &args[4] {
        Value::None => rhs,
        scale => {
            // The scale of the right operand has a row for each column of it.
            let rows = transposed(cx, rhs)?;
            let rows = scaled(cx, "rhs_scale", rows, scale, scalar, exact_nan)?;
            transposed(cx, rows)?
        }
    };
    let acc = match &args[6] {
        Value::None => None,
        acc => Some(accumulator(cx, acc)?),
    };
    dot(cx, lhs, rhs, acc, precision, Scalar::Float32).map(Value::Tensor)
}

fn accumulator(cx: &mut Lowering<'_, '_>, acc: &Value) -> Result<Tensor> {
    let tensor = cx.to_tensor(acc)?;
    if cx.ty(tensor).element == Scalar::Float32.into() {
        return Ok(tensor);
    }
    Err(cx.parameter_error("acc", "a block of fp32", acc))
}

/// An operand's numbers, unscaled. Packed codes unfold along the last but one dimension if `along_rows`, else along the last.
fn operand(
    cx: &mut Lowering<'_, '_>,
    parameter: &str,
    value: &Value,
    format: Format,
    scalar: Scalar,
    along_rows: bool,
) -> Result<Tensor> {
    let block = cx.to_tensor(value)?;
    let ty = cx.ty(block).clone();
    if ty.shape.rank() < 2 {
        return Err(cx.parameter_error(parameter, "a block of rank 2 or more", value));
    }
    let own = ty.element.as_scalar();
    match format {
        Format::E2M1 if own == Some(Scalar::UInt8) => Ok(unpacked(cx, block, scalar, along_rows)),
        Format::E2M1 => Err(cx.parameter_error(parameter, "a block of uint8, for codes of 4 bits", value)),
        Format::Plain(plain) if own == Some(plain) => Ok(conversion::convert(cx, block, scalar)),
        Format::Plain(plain) if own == Some(super::promotion::integer_of(plain.bits(), false)) => {
            let numbers = cx.builder.bitcast(block, plain);
            Ok(conversion::convert(cx, numbers, scalar))
        }
        Format::Plain(plain) => {
            let message = format!(
                "`{parameter}` is {}, but its format is that of {}",
                type_text(&ty),
                plain.language_name()
            );
            Err(cx.error(message))
        }
    }
}

/// Codes of 4 bits to numbers.
fn unpacked(cx: &mut Lowering<'_, '_>, block: Tensor, scalar: Scalar, along_rows: bool) -> Tensor {
    let codes = conversion::convert(cx, block, Scalar::UInt16);
    let low = mask_bits(cx, codes, 0xF);
    let high = shifted_right(cx, codes, 4);
    let pairs = joined(cx, low, high);
    let shape = cx.ty(block).shape.clone();
    let rank = shape.rank();
    let (axis, pairs) = if along_rows {
        // (.., rows, columns, 2) to (.., rows, 2, columns)
        let mut order: Vec<usize> = (0..=rank).collect();
        order.swap(rank - 1, rank);
        (rank - 2, permuted(cx, pairs, &order))
    } else {
        (rank - 1, pairs)
    };
    let codes = reshaped(cx, pairs, shape.with_extent(axis, 2 * shape[axis]));
    let numbers = decoded(cx, codes);
    conversion::convert(cx, numbers, scalar)
}

/// Codes of fp4 (a sign, two bits of exponent with the bias 1, one of significand) to bf16, by building its bits.
fn decoded(cx: &mut Lowering<'_, '_>, codes: Tensor) -> Tensor {
    let sign = mask_bits(cx, codes, 8);
    let sign = shifted_left(cx, sign, 12);
    let magnitude = mask_bits(cx, codes, 7);
    // Exponent and significand move into place, and the exponent's bias grows from 1 to 127.
    let normal = shifted_left(cx, magnitude, 6);
    let bias = number_like(cx, normal, 126 << 7);
    let normal = cx.builder.binary(BinaryOp::Add, normal, bias);
    // Of the two codes with exponent 0, one is zero and the other a half.
    let one = number_like(cx, magnitude, 1);
    let half = number_like(cx, magnitude, 126 << 7);
    let zero = number_like(cx, magnitude, 0);
    let is_half = cx.builder.compare(Predicate::Eq, magnitude, one);
    let small = cx.builder.select(is_half, half, zero);
    let is_normal = cx.builder.compare(Predicate::Gt, magnitude, one);
    let bits = cx.builder.select(is_normal, normal, small);
    let bits = cx.builder.binary(BinaryOp::Or, bits, sign);
    cx.builder.bitcast(bits, Scalar::BFloat16)
}

/// A constant of the type and shape of a block of integers.
fn number_like(cx: &mut Lowering<'_, '_>, block: Tensor, number: i64) -> Tensor {
    let ty = cx.ty(block).clone();
    let scalar = ty.element.as_scalar().unwrap_or(Scalar::Int32);
    let number = cx.builder.int(scalar, number);
    cx.builder.splat(number, &ty.shape)
}

fn mask_bits(cx: &mut Lowering<'_, '_>, block: Tensor, bits: i64) -> Tensor {
    let bits = number_like(cx, block, bits);
    cx.builder.binary(BinaryOp::And, block, bits)
}

fn shifted_left(cx: &mut Lowering<'_, '_>, block: Tensor, by: i64) -> Tensor {
    let by = number_like(cx, block, by);
    cx.builder.binary(BinaryOp::Shl, block, by)
}

fn shifted_right(cx: &mut Lowering<'_, '_>, block: Tensor, by: i64) -> Tensor {
    let by = number_like(cx, block, by);
    cx.builder.binary(BinaryOp::Shr, block, by)
}

/// A block whose rows are scaled group by group.
fn scaled(
    cx: &mut Lowering<'_, '_>,
    parameter: &str,
    block: Tensor,
    scale: &Value,
    scalar: Scalar,
    exact_nan: bool,
) -> Result<Tensor> {
    if matches!(scale, Value::None) {
        return Ok(block);
    }
    let scales = cx.to_tensor(scale)?;
    let (shape, given) = (cx.ty(block).shape.clone(), cx.ty(scales).shape.clone());
    let last = shape.rank() - 1;
    let own = cx.ty(scales).element.as_scalar();
    let group = match own {
        Some(Scalar::UInt8) => 32,
        Some(Scalar::Float8E4M3) if given.rank() > 0 => shape[last] / given[given.rank() - 1].max(1),
        _ => {
            return Err(cx.parameter_error(
                parameter,
                "a block of uint8 (biased exponents) or of fp8e4nv",
                scale,
            ));
        }
    };
    let wanted = shape.with_extent(last, shape[last] / group.max(1));
    if given != wanted || group == 0 || shape[last] % group != 0 {
        let message = format!(
            "`{parameter}` is {}, but one scale for {group} elements along K needs the shape {}",
            type_text(cx.ty(scales)),
            broadcast::shape_text(&wanted)
        );
        return Err(cx.error(message));
    }
    let numbers = if own == Some(Scalar::UInt8) {
        powers_of_two(cx, scales, exact_nan)
    } else {
        conversion::convert(cx, scales, Scalar::BFloat16)
    };
    let numbers = conversion::convert(cx, numbers, scalar);
    let repeated = expand_dims(cx, numbers, wanted.rank());
    let groups: Shape = wanted.with_inserted(wanted.rank(), group);
    let repeated = broadcast::spread(cx, repeated, &groups);
    let repeated = reshaped(cx, repeated, shape);
    Ok(cx.builder.binary(BinaryOp::Mul, block, repeated))
}

/// Biased exponents to powers of two in bf16: the byte is the exponent's field, 0 is the subnormal 2^-127, and 255 is NaN.
fn powers_of_two(cx: &mut Lowering<'_, '_>, scales: Tensor, exact_nan: bool) -> Tensor {
    let bytes = conversion::convert(cx, scales, Scalar::UInt16);
    let bits = shifted_left(cx, bytes, 7);
    let zero = number_like(cx, bytes, 0);
    let least = number_like(cx, bytes, 1 << 6);
    let is_least = cx.builder.compare(Predicate::Eq, bytes, zero);
    let mut bits = cx.builder.select(is_least, least, bits);
    if exact_nan {
        let last = number_like(cx, bytes, 255);
        let nan = number_like(cx, bytes, 0x7FC0);
        let is_nan = cx.builder.compare(Predicate::Eq, bytes, last);
        bits = cx.builder.select(is_nan, nan, bits);
    }
    cx.builder.bitcast(bits, Scalar::BFloat16)
}
