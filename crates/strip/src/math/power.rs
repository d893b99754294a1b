//! Powers and roots of fp32.

use super::wide;
use crate::target::Target;

/// `1 / sqrt(x)`: at most 1.5 ulp.
#[inline(always)]
pub(super) fn rsqrt(x: f32) -> f32 {
    1.0 / x.sqrt()
}

/// The cube root: at most 0.51 ulp, computed in fp64.
#[inline(always)]
pub(super) fn cbrt<T: Target>(x: f32) -> f32 {
    let a = x.abs();
    let root = wide::exp2::<T>(wide::log2::<T>(a as f64) * (1.0 / 3.0)) as f32;
    // Zero, infinity and NaN are their own roots.
    (if a > 0.0 && a < f32::INFINITY { root } else { a }).copysign(x)
}

/// `sqrt(x^2 + y^2)`: at most 0.51 ulp, computed in fp64. Infinite where either is, even beside NaN.
#[inline(always)]
pub(super) fn hypot(x: f32, y: f32) -> f32 {
    let (a, b) = (x as f64, y as f64);
    let root = (a * a + b * b).sqrt() as f32;
    if x.is_infinite() || y.is_infinite() { f32::INFINITY } else { root }
}

/// `x^y`: at most 0.6 ulp, computed in fp64 as `2^(y log2 x)`. Zeros, infinities, NaN and negative bases as in C.
#[inline(always)]
pub(super) fn pow<T: Target>(x: f32, y: f32) -> f32 {
    let a = x.abs();
    let logarithm = wide::log2::<T>(a as f64);
    let logarithm = if a == 0.0 { f64::NEG_INFINITY } else { logarithm };
    let logarithm = if a.is_finite() { logarithm } else { a as f64 };
    // A base of 1 or an exponent of 0 prevails, even over infinity and NaN.
    let exponent = if a == 1.0 || y == 0.0 { 0.0 } else { y as f64 * logarithm };
    let magnitude = wide::exp2::<T>(exponent) as f32;
    let magnitude = if a == 1.0 && x < 0.0 && y.is_nan() { f32::NAN } else { magnitude };

    // From 2^24 on, every fp32 is an even integer.
    let bounded = if y.abs() < 16_777_216.0 { y } else { 0.0 };
    let whole = bounded as i32;
    let is_whole = whole as f32 == bounded;
    let is_odd = is_whole && whole & 1 != 0;
    let is_undefined = x < 0.0 && x > f32::NEG_INFINITY && !is_whole;
    let signed = if x.is_sign_negative() && is_odd { -magnitude } else { magnitude };
    if is_undefined { f32::NAN } else { signed }
}
