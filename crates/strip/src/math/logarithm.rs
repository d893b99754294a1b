//! `log` and its family, of fp32.

use super::{polynomial, wide};
use crate::target::Target;
use std::f64::consts::LN_2;

/// `ln(x)`: at most 1.1 ulp.
///
/// `x = 2^e (1 + f)` with `1 + f` from `sqrt(1/2)` to `sqrt(2)`, and `ln(1 + f) = f - f^2/2 + f^3 P(f)` with
/// a minimax polynomial; `e ln 2` is added in two parts of which the first is exact.
#[inline(always)]
pub(super) fn log<T: Target>(x: f32) -> f32 {
    const SQRT_HALF: u32 = std::f32::consts::FRAC_1_SQRT_2.to_bits();
    let is_subnormal = x < f32::MIN_POSITIVE;
    let normal = if is_subnormal { x * 8_388_608.0 } else { x };
    let above = normal.to_bits().wrapping_sub(SQRT_HALF);
    let e = ((above as i32) >> 23) as f32 - if is_subnormal { 23.0 } else { 0.0 };
    let f = f32::from_bits((above & 0x007f_ffff).wrapping_add(SQRT_HALF)) - 1.0;
    // Relative to ln(1 + f), to 1e-9.
    let p = polynomial::<T, 9>(
        f,
        [
            0.333_333_1,
            -0.249_999_87,
            0.200_022_27,
            -0.166_692_47,
            0.142_186_5,
            -0.123_844_17,
            0.118_731_01,
            -0.117_894_56,
            0.069_146_77,
        ],
    );
    let z = f * f;
    let y = T::mul_add(e, -2.121_944_4e-4, p * f * z);
    let y = T::mul_add(z, -0.5, y);
    let y = T::mul_add(e, 0.693_359_4, f + y);
    at_the_ends(x, y)
}

/// `y`, the logarithm of `x`, where `x` is positive and finite, and what there is instead.
#[inline(always)]
fn at_the_ends(x: f32, y: f32) -> f32 {
    // Infinity, and NaN, which is not less than 0.
    let otherwise = if x < 0.0 { f32::NAN } else { x };
    let otherwise = if x == 0.0 { f32::NEG_INFINITY } else { otherwise };
    if x > 0.0 && x < f32::INFINITY { y } else { otherwise }
}

/// `log2(x)`: at most 0.51 ulp, computed in fp64.
#[inline(always)]
pub(super) fn log2<T: Target>(x: f32) -> f32 {
    at_the_ends(x, wide::log2::<T>(x as f64) as f32)
}

/// `log10(x)`: at most 0.51 ulp, computed in fp64.
#[inline(always)]
pub(super) fn log10<T: Target>(x: f32) -> f32 {
    const LOG10_2: f64 = LN_2 / std::f64::consts::LN_10;
    at_the_ends(x, (wide::log2::<T>(x as f64) * LOG10_2) as f32)
}

/// `ln(1 + x)`: at most 0.51 ulp, computed in fp64.
#[inline(always)]
pub(super) fn log1p<T: Target>(x: f32) -> f32 {
    let y = wide::ln_1p::<T>(x as f64) as f32;
    // Infinity, and NaN, which is not less than -1.
    let otherwise = if x < -1.0 { f32::NAN } else { x };
    let otherwise = if x == -1.0 { f32::NEG_INFINITY } else { otherwise };
    if x > -1.0 && x < f32::INFINITY && x != 0.0 { y } else { otherwise }
}
