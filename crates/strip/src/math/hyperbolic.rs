//! Hyperbolic functions and their inverses, of fp32.

use super::exponential::exp_in_range;
use super::{polynomial, wide};
use crate::target::Target;

/// `tanh(x)`: at most 1.5 ulp.
///
/// `x + x^3 P(x^2)` with a minimax polynomial up to 0.625, and `1 - 2 / (exp(2x) + 1)` above.
#[inline(always)]
pub(super) fn tanh<T: Target>(x: f32) -> f32 {
    let a = x.abs();
    let z = a * a;
    // Relative to tanh(x), to 4e-9.
    let p =
        polynomial::<T, 5>(z, [-0.333_332_84, 0.133_314_91, -0.053_743_48, 0.020_650_541, -0.005_716_999]);
    let small = T::mul_add(p * z, a, a);
    // From 9.1 on, tanh is 1.
    let bounded = if a > 10.0 { 10.0 } else { a };
    let large = 1.0 - 2.0 / (exp_in_range::<T>(bounded + bounded) + 1.0);
    (if a < 0.625 { small } else { large }).copysign(x)
}

/// `sinh(x)`: at most 0.51 ulp, computed in fp64.
#[inline(always)]
pub(super) fn sinh<T: Target>(x: f32) -> f32 {
    let e = wide::expm1::<T>(x.abs() as f64);
    ((0.5 * (e + e / (e + 1.0))) as f32).copysign(x)
}

/// `cosh(x)`: at most 0.51 ulp, computed in fp64.
#[inline(always)]
pub(super) fn cosh<T: Target>(x: f32) -> f32 {
    let e = wide::exp::<T>(x.abs() as f64);
    (0.5 * (e + 1.0 / e)) as f32
}

/// `asinh(x)`: at most 0.51 ulp, computed in fp64.
#[inline(always)]
pub(super) fn asinh<T: Target>(x: f32) -> f32 {
    let a = x.abs() as f64;
    let square = a * a;
    let y = wide::ln_1p::<T>(a + square / (1.0 + (square + 1.0).sqrt()));
    (if x.is_infinite() { x } else { y as f32 }).copysign(x)
}

/// `acosh(x)`: at most 0.51 ulp, computed in fp64. NaN below 1.
#[inline(always)]
pub(super) fn acosh<T: Target>(x: f32) -> f32 {
    let t = x as f64 - 1.0;
    let y = wide::ln_1p::<T>(t + (t * (t + 2.0)).sqrt()) as f32;
    let y = if x == f32::INFINITY { x } else { y };
    if x < 1.0 { f32::NAN } else { y }
}

/// `atanh(x)`: at most 0.51 ulp, computed in fp64. NaN beyond 1.
#[inline(always)]
pub(super) fn atanh<T: Target>(x: f32) -> f32 {
    let a = x.abs() as f64;
    let y = 0.5 * wide::ln_1p::<T>(2.0 * a / (1.0 - a));
    let y = if a == 1.0 { f32::INFINITY } else { y as f32 };
    (if a > 1.0 { f32::NAN } else { y }).copysign(x)
}
