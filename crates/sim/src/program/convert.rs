//! Conversions between types as functions over rows.

use super::LaneFunction;
use super::integer::{binary, is_signed, mask, signed, ternary, unary};
use crate::number::{BF16, E4M3, E5M2, Exact, F16, F32, Format, Mode, TF32};
use tegula_ptx::{Clamp, Convert, ConvertPack, Rounding, Type};

/// The format of a type, or of one of a packed pair; none of fp64 and of integers.
pub fn format(ty: Type) -> Option<Format> {
    Some(match ty {
        Type::F32 | Type::F32x2 => F32,
        Type::F16 | Type::F16x2 => F16,
        Type::Bf16 | Type::Bf16x2 => BF16,
        Type::Tf32 => TF32,
        Type::E4m3 | Type::E4m3x2 => E4M3,
        Type::E5m2 | Type::E5m2x2 => E5M2,
        _ => return None,
    })
}

fn is_packed(ty: Type) -> bool {
    matches!(ty, Type::F16x2 | Type::Bf16x2 | Type::E4m3x2 | Type::E5m2x2)
}

/// A conversion; `width` is that of the register of the result.
pub fn convert(convert: &Convert, width: u32) -> Option<LaneFunction> {
    let Convert { rounding, flush, clamp, saturate_finite, to, from, .. } = *convert;
    let mode = Mode::of(rounding);
    if is_packed(to) {
        return packed(convert);
    }
    let from_bits = from.bits();
    if !from.is_float() && !to.is_float() {
        let (source_signed, saturate) = (is_signed(from), clamp == Some(Clamp::Saturate));
        return Some(unary(move |a| {
            let value = if source_signed {
                i128::from(signed(a, from_bits))
            } else {
                i128::from(a & mask(from_bits))
            };
            integer(value, to, saturate, width)
        }));
    }
    if !from.is_float() {
        let source_signed = is_signed(from);
        return Some(unary(move |a| {
            let value = if source_signed {
                i128::from(signed(a, from_bits))
            } else {
                i128::from(a & mask(from_bits))
            };
            // Two parts of at most 53 bits each.
            let high = value as f64;
            let low = (value - high as i128) as f64;
            encode(Exact { high, low }, to, mode, clamp, false, flush)
        }));
    }
    let decode = move |bits: u64| match format(from) {
        Some(format) => format.decode(if flush { format.flush(bits) } else { bits & mask(from_bits) }),
        None => f64::from_bits(bits),
    };
    if !to.is_float() {
        return Some(unary(move |a| {
            let value = decode(a);
            if value.is_nan() {
                // PTX ISA, `cvt`: zero, unless a type has 64 bits.
                let wide = from == Type::F64 || to.bits() == 64;
                return if wide { integer(1 << (to.bits() - 1), to, false, width) } else { 0 };
            }
            integer(mode.integral(value) as i128, to, true, width)
        }));
    }
    let to_integral = matches!(
        rounding,
        Some(Rounding::NearestInteger | Rounding::ZeroInteger | Rounding::DownInteger | Rounding::UpInteger)
    );
    Some(unary(move |a| {
        let value = decode(a);
        let value = if to_integral { mode.integral(value) } else { value };
        encode(value.into(), to, mode, clamp, saturate_finite, flush)
    }))
}

/// An integer as one of a type, extended to a register of `width` bits.
fn integer(value: i128, to: Type, saturate: bool, width: u32) -> u64 {
    let bits = to.bits();
    let value = match (saturate, is_signed(to)) {
        (false, _) => value,
        (true, true) => value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        (true, false) => value.clamp(0, (1 << bits) - 1),
    };
    let narrow = value as u64 & mask(bits);
    if is_signed(to) { signed(narrow, bits) as u64 & mask(width) } else { narrow }
}

fn encode(
    value: Exact,
    to: Type,
    mode: Mode,
    clamp: Option<Clamp>,
    saturate_finite: bool,
    flush: bool,
) -> u64 {
    let value = match clamp {
        Some(Clamp::Saturate) if value.high.is_nan() || value.high <= 0.0 => Exact::from(0.0),
        Some(Clamp::Saturate) if value.high >= 1.0 => Exact::from(1.0),
        Some(Clamp::Relu) if value.high <= 0.0 => Exact::from(0.0),
        _ => value,
    };
    match format(to) {
        Some(format) => {
            let bits = format.encode(value, mode, saturate_finite);
            if flush { format.flush(bits) } else { bits }
        }
        None => value.to_double(mode).to_bits(),
    }
}

/// A packed pair: of two numbers, the first in the upper part, or of another pair.
fn packed(convert: &Convert) -> Option<LaneFunction> {
    let Convert { rounding, clamp, saturate_finite, to, from, flush, .. } = *convert;
    let mode = Mode::of(rounding);
    let half = to.bits() / 2;
    let source = format(from)?;
    let narrow = move |bits: u64| encode(source.decode(bits).into(), to, mode, clamp, saturate_finite, flush);
    if convert.sources.len() == 2 {
        return Some(binary(move |upper, lower| narrow(upper) << half | narrow(lower)));
    }
    let source_half = from.bits() / 2;
    Some(unary(move |pair| {
        narrow(pair >> source_half & mask(source_half)) << half | narrow(pair & mask(source_half))
    }))
}

/// Integers narrowed with saturation and joined.
pub fn pack(pack: &ConvertPack) -> LaneFunction {
    let (to, bits) = (pack.to, pack.to.bits());
    let narrow = move |value: u64| integer(i128::from(signed(value, 32)), to, true, bits);
    ternary(move |upper, lower, above| {
        (narrow(upper) << bits | narrow(lower) | above << (2 * bits)) & mask(32)
    })
}
