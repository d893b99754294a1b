//! `exp` and its family.
//!
//! The argument is reduced by Cody and Waite's method: `x = n ln 2 + r` with `|r| <= ln 2 / 2`, where `ln 2` is subtracted in two parts
//! so that the first product is exact. `exp(r)` is a polynomial, and `2^n` is multiplied in two steps, so that subnormal results are rounded once.

use crate::strip::elementwise::Map1;
use crate::strip::target::Target;

/// `1.5 * 2^23`: adding it to a small float rounds that to an integer, which then stands in the low bits.
const ROUND_TO_INTEGER: f32 = 12_582_912.0;

/// `exp(x)`: at most 1 ulp (2 without fused multiply-add).
pub(in crate::strip) struct Exp;

impl Map1 for Exp {
    type In = f32;
    type Out = f32;

    #[inline(always)]
    fn apply<T: Target>(x: f32) -> f32 {
        exp::<T>(x)
    }
}

#[inline(always)]
fn exp<T: Target>(x: f32) -> f32 {
    // Beyond these, the result is infinite or zero; comparisons that are false keep NaN.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let shifted = T::mul_add(x, std::f32::consts::LOG2_E, ROUND_TO_INTEGER);
    let n = shifted - ROUND_TO_INTEGER;
    // The first part of ln 2 has 15 bits, so that its product with n is exact.
    let r = T::mul_add(n, -0.693_145_75, x);
    let r = T::mul_add(n, -1.428_606_8e-6, r);
    let p = T::mul_add(1.987_569_1e-4, r, 1.398_2e-3);
    let p = T::mul_add(p, r, 8.333_452e-3);
    let p = T::mul_add(p, r, 4.166_579_6e-2);
    let p = T::mul_add(p, r, 1.666_666_5e-1);
    let p = T::mul_add(p, r, 0.5);
    let y = T::mul_add(p, r * r, r) + 1.0;
    let n = shifted.to_bits().wrapping_sub(ROUND_TO_INTEGER.to_bits()) as i32;
    let half = n >> 1;
    y * power_of_two(half) * power_of_two(n - half)
}

/// `2^n` for `-126 <= n <= 127`.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) << 23) as u32)
}
