//! Sine, cosine, tangent and their inverses, of fp32.
//!
//! Angles up to [`wide::LARGEST_ANGLE`] are reduced in fp64 (Cody and Waite's method). Larger ones take the
//! reduction of Payne and Hanek in `libm`, one element at a time, and only in the blocks that have one.

use super::{polynomial, wide};
use crate::target::Target;
use std::f64::consts::PI;

/// Whether an angle is too large for the functions here.
#[inline(always)]
pub(super) fn is_large_angle(x: f32) -> bool {
    x.abs() > wide::LARGEST_ANGLE
}

/// The sine (`turn` 0) or cosine (`turn` 1) of `quadrant pi/2 + r`.
#[inline(always)]
fn sine_after<T: Target>(r: f64, quadrant: u64, turn: u64) -> f32 {
    let quadrant = quadrant + turn;
    let r = r as f32;
    let z = r * r;
    // Minimax: relative to sin(r) to 4e-9, and to cos(r) to 1e-10.
    let s = polynomial::<T, 3>(z, [-0.166_666_55, 0.008_332_176, -0.000_195_171_12]);
    let c = polynomial::<T, 3>(z, [0.041_666_646, -0.001_388_736_8, 0.000_024_438_426]);
    let s = T::mul_add(s * z, r, r);
    let c = T::mul_add(c, z * z, T::mul_add(z, -0.5, 1.0));
    let magnitude = if quadrant & 1 == 0 { s } else { c };
    f32::from_bits(magnitude.to_bits() ^ ((quadrant as u32 & 2) << 30))
}

/// `sin(x)`: at most 1.7 ulp.
#[inline(always)]
pub(super) fn sin<T: Target>(x: f32) -> f32 {
    let (r, quadrant) = wide::reduce_angle::<T>(x as f64);
    let y = sine_after::<T>(r, quadrant, 0);
    if x == 0.0 { x } else { y }
}

/// `cos(x)`: at most 1.7 ulp.
#[inline(always)]
pub(super) fn cos<T: Target>(x: f32) -> f32 {
    let (r, quadrant) = wide::reduce_angle::<T>(x as f64);
    sine_after::<T>(r, quadrant, 1)
}

/// `tan(x)`: at most 0.51 ulp, computed in fp64.
#[inline(always)]
pub(super) fn tan<T: Target>(x: f32) -> f32 {
    let (r, quadrant) = wide::reduce_angle::<T>(x as f64);
    let (sin, cos) = wide::sin_cos::<T>(r);
    let y = if quadrant & 1 == 0 { sin / cos } else { -cos / sin };
    if x == 0.0 { x } else { y as f32 }
}

/// `asin(x)`: at most 0.51 ulp, computed in fp64 as `atan(x / sqrt(1 - x^2))`.
#[inline(always)]
pub(super) fn asin<T: Target>(x: f32) -> f32 {
    let a = x.abs() as f64;
    let tangent = a / ((1.0 - a) * (1.0 + a)).sqrt();
    (wide::atan::<T>(tangent) as f32).copysign(x)
}

/// `acos(x)`: at most 0.51 ulp, computed in fp64 as `2 atan(sqrt((1 - x) / (1 + x)))`.
#[inline(always)]
pub(super) fn acos<T: Target>(x: f32) -> f32 {
    let x = x as f64;
    (2.0 * wide::atan::<T>(((1.0 - x) / (1.0 + x)).sqrt())) as f32
}

/// `atan(x)`: at most 0.51 ulp, computed in fp64.
#[inline(always)]
pub(super) fn atan<T: Target>(x: f32) -> f32 {
    (wide::atan::<T>(x.abs() as f64) as f32).copysign(x)
}

/// `atan2(y, x)`, the angle of the point `(x, y)`: at most 0.51 ulp, computed in fp64. Zeros and infinities as in C.
#[inline(always)]
pub(super) fn atan2<T: Target>(y: f32, x: f32) -> f32 {
    let (a, b) = (y.abs() as f64, x.abs() as f64);
    // 0/0 and infinity/infinity stand for the angles of an axis and of a diagonal.
    let ratio = if a == b { if a == 0.0 { 0.0 } else { 1.0 } } else { a / b };
    let angle = wide::atan::<T>(ratio);
    let angle = if x.is_sign_negative() { PI - angle } else { angle };
    let nan = x.is_nan() || y.is_nan();
    if nan { f32::NAN } else { (angle as f32).copysign(y) }
}
