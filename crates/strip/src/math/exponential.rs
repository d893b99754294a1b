//! `exp`, `exp2` and `expm1` of fp32.
//!
//! The argument is reduced by Cody and Waite's method: `x = n ln 2 + r` with `|r| <= ln 2 / 2`, where `n ln
//! 2` is subtracted in two parts of which the first is exact. `exp(r)` is a minimax polynomial. The product
//! with `2^n` is taken in two steps, so that subnormal results are rounded once.

use super::{polynomial, wide};
use crate::target::Target;

/// `1.5 * 2^23`: adding it to a small float rounds that to an integer, which then stands in the low bits.
const ROUND_TO_INTEGER: f32 = 12_582_912.0;

/// `exp(x)`: at most 1.1 ulp.
#[inline(always)]
pub(super) fn exp<T: Target>(x: f32) -> f32 {
    // Beyond these, the result is infinite or zero. A NaN is neither greater nor less, and stays.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let (y, shifted) = exp_reduced::<T>(x);
    scale(y, integer_in(shifted))
}

/// `exp(x)` for `|x| <= 88`, where nothing overflows or is subnormal, and for NaN: at most 1.1 ulp.
#[inline(always)]
pub(super) fn exp_in_range<T: Target>(x: f32) -> f32 {
    let (y, shifted) = exp_reduced::<T>(x);
    y * power_of_two(integer_in(shifted))
}

/// The greatest magnitude of an argument of [`common_exp`].
pub(super) const EXP_RANGE: f32 = 87.0;

/// `exp(x)` for `|x| <= EXP_RANGE`: what [`exp`] is, in half as many operations.
#[inline(always)]
pub(super) fn common_exp<T: Target>(x: f32) -> f32 {
    let (y, shifted) = exp_reduced::<T>(x);
    add_to_exponent(y, shifted)
}

/// `exp(x) = y * 2^n`: `(y, n + ROUND_TO_INTEGER)`.
#[inline(always)]
fn exp_reduced<T: Target>(x: f32) -> (f32, f32) {
    let shifted = T::mul_add(x, std::f32::consts::LOG2_E, ROUND_TO_INTEGER);
    let n = shifted - ROUND_TO_INTEGER;
    // The first part of ln 2 has 15 bits, so that its product with n is exact.
    let r = T::mul_add(n, -0.693_145_75, x);
    let r = T::mul_add(n, -1.428_606_8e-6, r);
    // (exp(r) - 1 - r) / r^2, relative to exp(r) to 3e-9.
    let p = polynomial::<T, 5>(r, [0.5, 0.166_665_18, 0.041_666_206, 0.008_368_883, 0.001_395_043_7]);
    (T::mul_add(p, r * r, r) + 1.0, shifted)
}

/// `2^x`: at most 1.3 ulp, and exact for integers.
#[inline(always)]
pub(super) fn exp2<T: Target>(x: f32) -> f32 {
    let x = if x > 129.0 { 129.0 } else { x };
    let x = if x < -151.0 { -151.0 } else { x };
    let (y, shifted) = exp2_reduced::<T>(x);
    scale(y, integer_in(shifted))
}

/// The greatest magnitude of an argument of [`common_exp2`].
pub(super) const EXP2_RANGE: f32 = 125.0;

/// `2^x` for `|x| <= EXP2_RANGE`: what [`exp2`] is, in half as many operations.
#[inline(always)]
pub(super) fn common_exp2<T: Target>(x: f32) -> f32 {
    let (y, shifted) = exp2_reduced::<T>(x);
    add_to_exponent(y, shifted)
}

/// `2^x = y * 2^n`: `(y, n + ROUND_TO_INTEGER)`.
#[inline(always)]
fn exp2_reduced<T: Target>(x: f32) -> (f32, f32) {
    let shifted = x + ROUND_TO_INTEGER;
    let r = x - (shifted - ROUND_TO_INTEGER);
    // (2^r - 1) / r, relative to 2^r to 2e-9.
    let p = polynomial::<T, 6>(
        r,
        [
            std::f32::consts::LN_2,
            0.240_226_5,
            0.055_503_275,
            0.009_618_012,
            0.001_340_035_1,
            0.000_154_741_52,
        ],
    );
    (T::mul_add(p, r, 1.0), shifted)
}

/// `exp(x) - 1`: at most 0.51 ulp, computed in fp64.
#[inline(always)]
pub(super) fn expm1<T: Target>(x: f32) -> f32 {
    let y = wide::expm1::<T>(x as f64) as f32;
    if x == 0.0 { x } else { y }
}

/// The integer `n` of `n + ROUND_TO_INTEGER`.
#[inline(always)]
fn integer_in(shifted: f32) -> i32 {
    shifted.to_bits().wrapping_sub(ROUND_TO_INTEGER.to_bits()) as i32
}

/// `y * 2^n` for `shifted = n + ROUND_TO_INTEGER`, where that is a normal number.
#[inline(always)]
fn add_to_exponent(y: f32, shifted: f32) -> f32 {
    // Of the constant, the shift leaves nothing.
    f32::from_bits(y.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// `y * 2^n` for `y` near 1 and `|n| <= 252`, rounded once.
#[inline(always)]
fn scale(y: f32, n: i32) -> f32 {
    let half = n >> 1;
    y * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// `2^n` for `-126 <= n <= 127`.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) << 23) as u32)
}
