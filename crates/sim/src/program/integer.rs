//! Integer arithmetic and logic as functions over rows.

use super::{LANES, LaneFunction};
use tegula_ptx::{
    Clamp, DotProduct, FunnelShift, Lop3, Math, MathOp, MulPart, Permute, PermuteMode, ShiftDirection,
    ShiftMode, Type,
};

/// The lowest bits.
pub fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// A number of so many bits as a signed one.
pub fn signed(value: u64, bits: u32) -> i64 {
    ((value << (64 - bits)) as i64) >> (64 - bits)
}

/// Whether a type is of signed integers.
pub fn is_signed(ty: Type) -> bool {
    matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64 | Type::S16x2)
}

/// A function of one operand, lane by lane.
pub fn unary(f: impl Fn(u64) -> u64 + Send + Sync + 'static) -> LaneFunction {
    LaneFunction(Box::new(move |[a, ..], out| {
        for lane in 0..LANES {
            out[lane] = f(a[lane]);
        }
    }))
}

/// A function of two operands, lane by lane.
pub fn binary(f: impl Fn(u64, u64) -> u64 + Send + Sync + 'static) -> LaneFunction {
    LaneFunction(Box::new(move |[a, b, ..], out| {
        for lane in 0..LANES {
            out[lane] = f(a[lane], b[lane]);
        }
    }))
}

/// A function of three operands, lane by lane.
pub fn ternary(f: impl Fn(u64, u64, u64) -> u64 + Send + Sync + 'static) -> LaneFunction {
    LaneFunction(Box::new(move |[a, b, c, _], out| {
        for lane in 0..LANES {
            out[lane] = f(a[lane], b[lane], c[lane]);
        }
    }))
}

/// A function of four operands, lane by lane.
pub fn quaternary(f: impl Fn(u64, u64, u64, u64) -> u64 + Send + Sync + 'static) -> LaneFunction {
    LaneFunction(Box::new(move |[a, b, c, d], out| {
        for lane in 0..LANES {
            out[lane] = f(a[lane], b[lane], c[lane], d[lane]);
        }
    }))
}

/// An operation of integers or bits; none if it is not one.
pub fn math(math: &Math) -> Option<LaneFunction> {
    let ty = math.ty;
    if matches!(ty, Type::U16x2 | Type::S16x2) {
        return packed(math);
    }
    if ty.is_float() || ty == Type::Pred {
        return None;
    }
    let bits = ty.bits();
    let keep = mask(bits);
    let is_signed = is_signed(ty);
    let saturate = math.clamp == Some(Clamp::Saturate);
    // The whole product, of twice the bits, as a signed number of 128.
    let product = move |a: u64, b: u64| {
        if is_signed {
            i128::from(signed(a, bits)) * i128::from(signed(b, bits))
        } else {
            (u128::from(a & keep) * u128::from(b & keep)) as i128
        }
    };
    let function = match math.op {
        MathOp::Add if saturate => {
            binary(move |a, b| saturated(signed(a, bits) as i128 + signed(b, bits) as i128, bits))
        }
        MathOp::Sub if saturate => {
            binary(move |a, b| saturated(signed(a, bits) as i128 - signed(b, bits) as i128, bits))
        }
        MathOp::Add => binary(move |a, b| a.wrapping_add(b) & keep),
        MathOp::Sub => binary(move |a, b| a.wrapping_sub(b) & keep),
        MathOp::Mul => match math.part? {
            MulPart::Low => binary(move |a, b| a.wrapping_mul(b) & keep),
            MulPart::High => binary(move |a, b| (product(a, b) >> bits) as u64 & keep),
            MulPart::Wide => binary(move |a, b| product(a, b) as u64 & mask(2 * bits)),
        },
        MathOp::Mad => match math.part? {
            MulPart::Low => ternary(move |a, b, c| a.wrapping_mul(b).wrapping_add(c) & keep),
            MulPart::High => ternary(move |a, b, c| ((product(a, b) >> bits) as u64).wrapping_add(c) & keep),
            MulPart::Wide => ternary(move |a, b, c| (product(a, b) as u64).wrapping_add(c) & mask(2 * bits)),
        },
        MathOp::Div => binary(move |a, b| divide(a, b, bits, is_signed) & keep),
        MathOp::Rem => binary(move |a, b| remainder(a, b, bits, is_signed) & keep),
        MathOp::Min | MathOp::Max => {
            let (smaller, relu) = (math.op == MathOp::Min, math.clamp == Some(Clamp::Relu));
            binary(move |a, b| extreme(a, b, bits, is_signed, smaller, relu))
        }
        MathOp::Abs => unary(move |a| signed(a, bits).unsigned_abs() & keep),
        MathOp::Neg => unary(move |a| a.wrapping_neg() & keep),
        MathOp::And => binary(|a, b| a & b),
        MathOp::Or => binary(|a, b| a | b),
        MathOp::Xor => binary(|a, b| a ^ b),
        MathOp::Not => unary(move |a| !a & keep),
        // Amounts of the width or more shift everything out.
        MathOp::ShiftLeft => binary(move |a, by| if by as u32 >= bits { 0 } else { a << (by as u32) & keep }),
        MathOp::ShiftRight if is_signed => {
            binary(move |a, by| (signed(a, bits) >> (by as u32).min(bits - 1)) as u64 & keep)
        }
        MathOp::ShiftRight => {
            binary(move |a, by| if by as u32 >= bits { 0 } else { (a & keep) >> (by as u32) })
        }
        MathOp::PopulationCount => unary(move |a| u64::from((a & keep).count_ones())),
        MathOp::LeadingZeros => unary(move |a| u64::from((a & keep).leading_zeros() - (64 - bits))),
        MathOp::ReverseBits => unary(move |a| a.reverse_bits() >> (64 - bits)),
        MathOp::FindLeading => unary(move |a| {
            let a = if is_signed && signed(a, bits) < 0 { !a & keep } else { a & keep };
            u64::from(if a == 0 { u32::MAX } else { 63 - a.leading_zeros() })
        }),
        MathOp::ExtractBits => ternary(move |a, from, count| extract(a, from, count, bits, is_signed)),
        MathOp::InsertBits => quaternary(move |a, b, from, count| {
            let (from, count) = (from as u32 & 0xff, count as u32 & 0xff);
            if from >= bits || count == 0 {
                return b;
            }
            let field = mask(count.min(64)) << from & keep;
            b & !field | a << from & field
        }),
        _ => return None,
    };
    Some(function)
}

fn saturated(value: i128, bits: u32) -> u64 {
    let most = (1i128 << (bits - 1)) - 1;
    value.clamp(-most - 1, most) as u64 & mask(bits)
}

/// A quotient; the hardware's routine gives all ones for a divisor of zero.
fn divide(a: u64, b: u64, bits: u32, is_signed: bool) -> u64 {
    if is_signed {
        match signed(b, bits) {
            0 => u64::MAX,
            b => signed(a, bits).wrapping_div(b) as u64,
        }
    } else {
        (a & mask(bits)).checked_div(b & mask(bits)).unwrap_or(u64::MAX)
    }
}

fn remainder(a: u64, b: u64, bits: u32, is_signed: bool) -> u64 {
    if is_signed {
        match signed(b, bits) {
            0 => a,
            b => signed(a, bits).wrapping_rem(b) as u64,
        }
    } else {
        (a & mask(bits)).checked_rem(b & mask(bits)).unwrap_or(a)
    }
}

fn extreme(a: u64, b: u64, bits: u32, is_signed: bool, smaller: bool, relu: bool) -> u64 {
    let a_is_less = if is_signed { signed(a, bits) < signed(b, bits) } else { a < b };
    let chosen = if a_is_less == smaller { a } else { b };
    if relu && signed(chosen, bits) < 0 { 0 } else { chosen }
}

fn extract(a: u64, from: u64, count: u64, bits: u32, is_signed: bool) -> u64 {
    let (from, count) = (from as u32 & 0xff, count as u32 & 0xff);
    if count == 0 {
        return 0;
    }
    let top = (from + count - 1).min(bits - 1);
    let fill = is_signed && a >> top & 1 == 1;
    let available = bits.saturating_sub(from).min(count);
    let field = if available == 0 { 0 } else { a >> from & mask(available) };
    let below = if available == 0 { 0 } else { mask(available) };
    let ones = if fill { mask(bits) & !below } else { 0 };
    field | ones
}

/// Two halves of 32 bits, each an operation of its own.
fn packed(math: &Math) -> Option<LaneFunction> {
    let is_signed = is_signed(math.ty);
    let (op, relu) = (math.op, math.clamp == Some(Clamp::Relu));
    let half = move |a: u64, b: u64| match op {
        MathOp::Add => a.wrapping_add(b) & 0xffff,
        _ => extreme(a, b, 16, is_signed, op == MathOp::Min, relu),
    };
    matches!(op, MathOp::Add | MathOp::Min | MathOp::Max).then(|| {
        binary(move |a, b| half(a & 0xffff, b & 0xffff) | half(a >> 16 & 0xffff, b >> 16 & 0xffff) << 16)
    })
}

/// Any function of three bits.
pub fn lop3(lop3: &Lop3) -> LaneFunction {
    let table = lop3.table;
    ternary(move |a, b, c| {
        let mut result = 0;
        for index in 0..8u8 {
            if table >> index & 1 == 1 {
                let a = if index & 4 != 0 { a } else { !a };
                let b = if index & 2 != 0 { b } else { !b };
                let c = if index & 1 != 0 { c } else { !c };
                result |= a & b & c;
            }
        }
        result & mask(32)
    })
}

/// Bytes chosen from two registers.
pub fn permute(permute: &Permute) -> LaneFunction {
    let mode = permute.mode;
    ternary(move |a, b, selector| {
        let bytes = (a & mask(32) | b << 32).to_le_bytes();
        let chosen = |digit: u64| {
            let byte = bytes[digit as usize & 7];
            if digit & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 }
        };
        let first = selector & 3;
        let digits: [u64; 4] = match mode {
            None => std::array::from_fn(|place| selector >> (4 * place) & 15),
            Some(PermuteMode::Forward4) => std::array::from_fn(|place| first + place as u64),
            Some(PermuteMode::Backward4) => std::array::from_fn(|place| first.wrapping_sub(place as u64) & 7),
            Some(PermuteMode::Replicate8) => [first; 4],
            Some(PermuteMode::ClampLeft) => std::array::from_fn(|place| first.max(place as u64)),
            Some(PermuteMode::ClampRight) => std::array::from_fn(|place| first.min(place as u64)),
            Some(PermuteMode::Replicate16) => {
                let half = 2 * (selector & 1);
                [half, half + 1, half, half + 1]
            }
        };
        u64::from(u32::from_le_bytes(digits.map(chosen)))
    })
}

/// A shift of two registers joined.
pub fn funnel_shift(shift: &FunnelShift) -> LaneFunction {
    let (left, wraps) = (shift.direction == ShiftDirection::Left, shift.mode == ShiftMode::Wrap);
    ternary(move |low, high, by| {
        let by = by as u32;
        let by = if wraps { by & 31 } else { by.min(32) };
        let joined = low & mask(32) | high << 32;
        let shifted = if left { (u128::from(joined) << by >> 32) as u64 } else { joined >> by };
        shifted & mask(32)
    })
}

/// A sum of products of bytes.
pub fn dot_product(product: &DotProduct) -> LaneFunction {
    let signs = product.types.map(is_signed);
    ternary(move |a, b, c| {
        let byte = |value: u64, place: u32, is_signed: bool| {
            let byte = value >> (8 * place) & 0xff;
            if is_signed { signed(byte, 8) } else { byte as i64 }
        };
        let sum: i64 = (0..4).map(|place| byte(a, place, signs[0]) * byte(b, place, signs[1])).sum();
        (c as i64).wrapping_add(sum) as u64 & mask(32)
    })
}
