//! The arithmetic of constants: what the operations do to numbers known at compile time.
//!
//! Every function gives exactly what any back end must give, or `None` where back ends may differ: transcendental
//! functions, the sign of a zero chosen by `min`, numbers out of range, the bits of NaN.
//!
//! Floats are computed in fp64 and rounded once more to their type. For sums, differences, products, quotients and
//! square roots that is the same as rounding once, as fp64 has more than twice the digits of each narrower type and two
//! more (Figueroa, "When is double rounding innocuous?", 1995).

use half::{bf16, f16};
use tegula_ir::{BinaryOp, Literal, Predicate, Rounding, Scalar, UnaryOp};

/// `op` applied to a constant of the given type.
pub(crate) fn unary(op: UnaryOp, scalar: Scalar, value: Literal) -> Option<Literal> {
    match value {
        Literal::Int(value) => int_unary(op, scalar, value).map(Literal::Int),
        Literal::Float(value) => float_unary(op, scalar, value).map(Literal::Float),
    }
}

fn int_unary(op: UnaryOp, scalar: Scalar, value: i64) -> Option<i64> {
    let unused = 64 - scalar.bits();
    let bits = (value as u64) << unused >> unused;
    let result = match op {
        UnaryOp::Not => !value,
        UnaryOp::Abs if scalar.is_signed() => value.wrapping_abs(),
        UnaryOp::Abs => value,
        UnaryOp::Popcount => i64::from(bits.count_ones()),
        UnaryOp::LeadingZeros => i64::from(bits.leading_zeros() - unused),
        UnaryOp::ReverseBits => (bits.reverse_bits() >> unused) as i64,
        _ => return None,
    };
    Some(scalar.wrap(result))
}

fn float_unary(op: UnaryOp, scalar: Scalar, value: f64) -> Option<f64> {
    if scalar.is_float8() {
        return None;
    }
    let result = match op {
        UnaryOp::Abs => value.abs(),
        UnaryOp::Floor => value.floor(),
        UnaryOp::Ceil => value.ceil(),
        UnaryOp::Trunc => value.trunc(),
        UnaryOp::Round => value.round(),
        UnaryOp::RoundEven => value.round_ties_even(),
        UnaryOp::Sqrt => value.sqrt(),
        _ => return None,
    };
    Some(rounded(scalar, result))
}

/// A result in fp64 brought to its type; NaN becomes the one that is written in text.
fn rounded(scalar: Scalar, value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { scalar.round(value, Rounding::NearestEven) }
}

/// An integer as the number that it stands for.
fn number(scalar: Scalar, value: i64) -> i128 {
    if scalar == Scalar::UInt64 { i128::from(value as u64) } else { i128::from(value) }
}

/// `op` applied to two constants of the given type.
pub(crate) fn binary(op: BinaryOp, scalar: Scalar, lhs: Literal, rhs: Literal) -> Option<Literal> {
    match (lhs, rhs) {
        (Literal::Int(lhs), Literal::Int(rhs)) => int_binary(op, scalar, lhs, rhs).map(Literal::Int),
        (Literal::Float(lhs), Literal::Float(rhs)) => float_binary(op, scalar, lhs, rhs).map(Literal::Float),
        _ => None,
    }
}

fn int_binary(op: BinaryOp, scalar: Scalar, lhs: i64, rhs: i64) -> Option<i64> {
    let (a, b) = (number(scalar, lhs), number(scalar, rhs));
    // A negative amount, read without its sign, is beyond every width.
    let amount = u32::try_from(b).ok().filter(|&amount| amount < scalar.bits());
    let result = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div | BinaryOp::Rem if b == 0 => 0,
        BinaryOp::Div => a / b,
        BinaryOp::Rem => a % b,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => amount.map_or(0, |amount| a << amount),
        BinaryOp::Shr => amount.map_or(if a < 0 { -1 } else { 0 }, |amount| a >> amount),
        BinaryOp::Min | BinaryOp::MinNan => a.min(b),
        BinaryOp::Max | BinaryOp::MaxNan => a.max(b),
        // The product of two u64 fits u128, and its upper half i128.
        BinaryOp::MulHigh if scalar == Scalar::UInt64 => ((a as u128 * b as u128) >> 64) as i128,
        BinaryOp::MulHigh => (a * b) >> scalar.bits(),
        _ => return None,
    };
    Some(scalar.wrap(result as i64))
}

fn float_binary(op: BinaryOp, scalar: Scalar, a: f64, b: f64) -> Option<f64> {
    if scalar.is_float8() {
        return None;
    }
    let zeros_differ = a == b && a.to_bits() != b.to_bits();
    let result = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div | BinaryOp::DivRn => a / b,
        BinaryOp::Rem => a % b,
        BinaryOp::Min | BinaryOp::Max | BinaryOp::MinNan | BinaryOp::MaxNan if zeros_differ => return None,
        BinaryOp::Min => a.min(b),
        BinaryOp::Max => a.max(b),
        BinaryOp::MinNan | BinaryOp::MaxNan if a.is_nan() || b.is_nan() => f64::NAN,
        BinaryOp::MinNan => a.min(b),
        BinaryOp::MaxNan => a.max(b),
        BinaryOp::CopySign if !b.is_nan() => a.copysign(b),
        _ => return None,
    };
    Some(rounded(scalar, result))
}

/// A comparison of two constants of the given type.
pub(crate) fn compare(predicate: Predicate, scalar: Scalar, lhs: Literal, rhs: Literal) -> Option<bool> {
    match (lhs, rhs) {
        (Literal::Int(lhs), Literal::Int(rhs)) => {
            Some(ordered(predicate, &number(scalar, lhs), &number(scalar, rhs)))
        }
        (Literal::Float(lhs), Literal::Float(rhs)) => Some(ordered(predicate, &lhs, &rhs)),
        _ => None,
    }
}

fn ordered<T: PartialOrd>(predicate: Predicate, lhs: &T, rhs: &T) -> bool {
    match predicate {
        Predicate::Eq => lhs == rhs,
        Predicate::Ne => lhs != rhs,
        Predicate::Lt => lhs < rhs,
        Predicate::Le => lhs <= rhs,
        Predicate::Gt => lhs > rhs,
        Predicate::Ge => lhs >= rhs,
    }
}

/// `a * b + c`, rounded once.
pub(crate) fn fma(scalar: Scalar, a: Literal, b: Literal, c: Literal) -> Option<Literal> {
    let (Literal::Float(a), Literal::Float(b), Literal::Float(c)) = (a, b, c) else { return None };
    let result = match scalar {
        Scalar::Float64 => a.mul_add(b, c),
        Scalar::Float32 => f64::from((a as f32).mul_add(b as f32, c as f32)),
        // In fp64 the sum itself may be rounded, so rounding again could differ.
        _ => return None,
    };
    Some(Literal::Float(rounded(scalar, result)))
}

/// A constant converted to another type.
pub(crate) fn cast(from: Scalar, to: Scalar, value: Literal, rounding: Rounding) -> Option<Literal> {
    match value {
        Literal::Int(value) if to == Scalar::Int1 => Some(Literal::Int(i64::from(value != 0))),
        Literal::Int(value) if to.is_int() => Some(Literal::Int(to.wrap(value))),
        Literal::Int(value) => {
            let number = number(from, value);
            let float = number as f64;
            // Rounding to fp64 first and then again is only safe if the first changes nothing.
            let exact = float as i128 == number;
            // Back ends may not look at the rounding of integers, so it is left to them where it matters.
            let safe = rounding == Rounding::NearestEven || to.holds(Literal::Float(float));
            (exact && safe).then(|| Literal::Float(to.round(float, rounding)))
        }
        Literal::Float(value) if to == Scalar::Int1 => Some(Literal::Int(i64::from(value != 0.0))),
        Literal::Float(value) if to.is_int() => {
            let whole = value.trunc();
            // Beyond fp64's exact integers nothing is folded, so the conversion below is exact.
            let integer = (whole.abs() <= 2f64.powi(53)).then_some(whole as i64)?;
            let fits = to.wrap(integer) == integer && !(integer < 0 && to.is_unsigned());
            fits.then_some(Literal::Int(integer))
        }
        Literal::Float(value) if value.is_finite() => Some(Literal::Float(to.round(value, rounding))),
        // What an 8-bit type makes of infinity and NaN is the back end's affair.
        Literal::Float(value) => {
            (!to.is_float8()).then(|| Literal::Float(if value.is_nan() { f64::NAN } else { value }))
        }
    }
}

/// The bits of a constant read as another type of the same width.
pub(crate) fn bitcast(from: Scalar, to: Scalar, value: Literal) -> Option<Literal> {
    let bits = match (value, from) {
        (Literal::Int(value), _) => value as u64,
        (Literal::Float(value), _) if value.is_nan() => return None,
        (Literal::Float(value), Scalar::Float64) => value.to_bits(),
        (Literal::Float(value), Scalar::Float32) => u64::from((value as f32).to_bits()),
        (Literal::Float(value), Scalar::Float16) => u64::from(f16::from_f64(value).to_bits()),
        (Literal::Float(value), Scalar::BFloat16) => u64::from(bf16::from_f64(value).to_bits()),
        (Literal::Float(_), _) => return None,
    };
    let float = match to {
        _ if to.is_int() => return Some(Literal::Int(to.wrap(bits as i64))),
        Scalar::Float64 => f64::from_bits(bits),
        Scalar::Float32 => f64::from(f32::from_bits(bits as u32)),
        Scalar::Float16 => f16::from_bits(bits as u16).to_f64(),
        Scalar::BFloat16 => bf16::from_bits(bits as u16).to_f64(),
        _ => return None,
    };
    (!float.is_nan()).then_some(Literal::Float(float))
}

/// Whether every value of `from` is one of `to`, so that converting loses nothing.
pub(crate) fn is_lossless(from: Scalar, to: Scalar) -> bool {
    let digits = |scalar| match scalar {
        Scalar::Float16 => 11,
        Scalar::BFloat16 => 8,
        Scalar::Float32 => 24,
        Scalar::Float64 => 53,
        _ => 0,
    };
    match (from.is_float(), to.is_float()) {
        (false, false) if from.is_signed() => to.is_signed() && to.bits() >= from.bits(),
        (false, false) => to.bits() > from.bits() || to == from,
        (false, true) => from.bits() - u32::from(from.is_signed()) <= digits(to),
        (true, true) => match (from, to) {
            (Scalar::Float16 | Scalar::BFloat16, Scalar::Float32 | Scalar::Float64)
            | (Scalar::Float32, Scalar::Float64) => true,
            _ => from == to,
        },
        (true, false) => false,
    }
}

/// The least and the greatest value of an integer type, as its literals hold them.
pub(crate) fn bounds(scalar: Scalar) -> (i64, i64) {
    match scalar {
        Scalar::UInt64 => (0, -1),
        _ if scalar.is_signed() => (i64::MIN >> (64 - scalar.bits()), i64::MAX >> (64 - scalar.bits())),
        _ => (0, (u64::MAX >> (64 - scalar.bits())) as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use BinaryOp::*;

    fn int(op: BinaryOp, scalar: Scalar, lhs: i64, rhs: i64) -> i64 {
        int_binary(op, scalar, lhs, rhs).unwrap()
    }

    #[test]
    fn integers_wrap_and_never_trap() {
        assert_eq!(int(Add, Scalar::Int8, 127, 1), -128);
        assert_eq!(int(Mul, Scalar::UInt8, 200, 2), 144);
        assert_eq!(int(Div, Scalar::Int32, i64::from(i32::MIN), -1), i64::from(i32::MIN));
        assert_eq!(int(Div, Scalar::Int64, i64::MIN, -1), i64::MIN);
        assert_eq!(int(Rem, Scalar::Int64, i64::MIN, -1), 0);
        assert_eq!(int(Div, Scalar::Int32, 7, 0), 0);
        assert_eq!(int(Rem, Scalar::Int32, 7, 0), 0);
        assert_eq!(int(Div, Scalar::Int32, -7, 2), -3);
        assert_eq!(int(Rem, Scalar::Int32, -7, 2), -1);
        assert_eq!(int(Div, Scalar::UInt64, -1, 2), i64::MAX);
        assert_eq!(int(MulHigh, Scalar::UInt64, -1, -1), -2);
        assert_eq!(int(MulHigh, Scalar::Int64, -1, -1), 0);
        assert_eq!(int(MulHigh, Scalar::Int32, i64::from(i32::MIN), 2), -1);
        assert_eq!(int(Max, Scalar::UInt64, -1, 1), -1);
    }

    #[test]
    fn shifts_beyond_the_width_leave_zero_or_the_sign() {
        assert_eq!(int(Shl, Scalar::Int32, 1, 31), i64::from(i32::MIN));
        assert_eq!(int(Shl, Scalar::Int32, 1, 32), 0);
        assert_eq!(int(Shl, Scalar::Int32, 1, -1), 0);
        assert_eq!(int(Shr, Scalar::Int32, -5, 40), -1);
        assert_eq!(int(Shr, Scalar::Int32, -5, 1), -3);
        assert_eq!(int(Shr, Scalar::UInt8, 0x80, 7), 1);
        assert_eq!(int(Shr, Scalar::UInt8, 0x80, 8), 0);
        assert_eq!(int(Shr, Scalar::UInt64, -1, 63), 1);
    }

    #[test]
    fn bit_counts_are_of_the_width() {
        assert_eq!(int_unary(UnaryOp::LeadingZeros, Scalar::Int8, 1), Some(7));
        assert_eq!(int_unary(UnaryOp::LeadingZeros, Scalar::UInt16, 0), Some(16));
        assert_eq!(int_unary(UnaryOp::Popcount, Scalar::Int8, -1), Some(8));
        assert_eq!(int_unary(UnaryOp::ReverseBits, Scalar::Int8, 1), Some(-128));
        assert_eq!(int_unary(UnaryOp::Not, Scalar::Int1, 1), Some(0));
        assert_eq!(int_unary(UnaryOp::Not, Scalar::UInt8, 1), Some(254));
        assert_eq!(int_unary(UnaryOp::Abs, Scalar::Int8, -128), Some(-128));
    }

    #[test]
    fn floats_round_in_their_own_type() {
        let float = |op, scalar, a, b| float_binary(op, scalar, a, b);
        let tenth = f64::from(0.1f32);
        assert_eq!(float(Add, Scalar::Float32, tenth, f64::from(0.2f32)), Some(f64::from(0.1f32 + 0.2f32)));
        assert_eq!(float(Mul, Scalar::Float16, 60000.0, 2.0), Some(f64::INFINITY));
        assert_eq!(float(Add, Scalar::BFloat16, 256.0, 1.0), Some(256.0));
        assert_eq!(float(Add, Scalar::Float32, -0.0, 0.0).map(f64::to_bits), Some(0));
        assert_eq!(float(Min, Scalar::Float32, f64::NAN, 1.0), Some(1.0));
        assert!(float(MinNan, Scalar::Float32, f64::NAN, 1.0).unwrap().is_nan());
        assert_eq!(float(Min, Scalar::Float32, 0.0, -0.0), None);
        assert_eq!(float(Add, Scalar::Float8E5M2, 1.0, 1.0), None);
        assert_eq!(float_unary(UnaryOp::Exp, Scalar::Float32, 1.0), None);
    }

    #[test]
    fn comparisons_know_nan_and_the_unsigned() {
        let nan = Literal::Float(f64::NAN);
        assert_eq!(compare(Predicate::Ne, Scalar::Float32, nan, nan), Some(true));
        assert_eq!(compare(Predicate::Ge, Scalar::Float32, nan, nan), Some(false));
        assert_eq!(compare(Predicate::Gt, Scalar::UInt64, Literal::Int(-1), Literal::Int(1)), Some(true));
    }

    #[test]
    fn casts() {
        let nearest = |from, to, value| cast(from, to, value, Rounding::NearestEven);
        let (int32, uint8, fp32) = (Scalar::Int32, Scalar::UInt8, Scalar::Float32);
        assert_eq!(nearest(int32, uint8, Literal::Int(-1)), Some(Literal::Int(255)));
        assert_eq!(nearest(int32, Scalar::Int1, Literal::Int(256)), Some(Literal::Int(1)));
        assert_eq!(nearest(fp32, int32, Literal::Float(-2.9)), Some(Literal::Int(-2)));
        assert_eq!(nearest(fp32, int32, Literal::Float(3e9)), None);
        assert_eq!(nearest(fp32, uint8, Literal::Float(-1.0)), None);
        assert_eq!(nearest(fp32, Scalar::Int1, Literal::Float(f64::NAN)), Some(Literal::Int(1)));
        assert_eq!(nearest(Scalar::UInt64, fp32, Literal::Int(-1)), None);
        assert_eq!(nearest(int32, fp32, Literal::Int(16_777_217)), Some(Literal::Float(16_777_216.0)));
        assert_eq!(nearest(fp32, Scalar::Float8E4M3, Literal::Float(1e6)), Some(Literal::Float(448.0)));
        assert_eq!(nearest(fp32, Scalar::Float8E4M3, Literal::Float(f64::INFINITY)), None);
        assert_eq!(bitcast(fp32, int32, Literal::Float(-0.0)), Some(Literal::Int(i64::from(i32::MIN))));
        assert_eq!(bitcast(Scalar::Int16, Scalar::BFloat16, Literal::Int(0x3f80)), Some(Literal::Float(1.0)));
        assert_eq!(bitcast(int32, fp32, Literal::Int(0x7fc0_0000)), None);
    }
}
