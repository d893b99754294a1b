//! The error function, its complement and its inverse, of fp32 and (the inverse) fp64.

use super::exponential::exp_in_range;
use super::{polynomial, wide};
use crate::strip::target::Target;
use std::f64::consts::FRAC_1_SQRT_2;

/// `erf(x)`: at most 1.5 ulp.
///
/// `x + x P(x^2)` up to 0.92, and `1 - exp(-x Q(x))` above, with minimax polynomials.
#[inline(always)]
pub(super) fn erf<T: Target>(x: f32) -> f32 {
    let a = x.abs();
    // erf(a) / a - 1, to 2e-8.
    let p = polynomial::<T, 6>(
        a * a,
        [0.12837915, -0.3761249423, 0.1128180193, -0.02676553959, 0.004990943914, -0.0005976725305],
    );
    let small = T::mul_add(p, a, a);
    // From 3.92 on, erf is 1.
    let bounded = if a > 3.95 { 3.95 } else { a };
    // -ln(1 - erf(a)) / a.
    let q = polynomial::<T, 7>(
        bounded,
        [
            1.12865217906,
            0.635135838406,
            0.106263285979,
            -0.0237854892582,
            0.00365384420396,
            -0.000325676145814,
            1.15250461918e-5,
        ],
    );
    let large = 1.0 - exp_in_range::<T>(-q * bounded);
    (if a < 0.92 { small } else { large }).copysign(x)
}

/// `1 - erf(x)`, relatively precise in the tail too: at most 0.51 ulp, computed in fp64.
///
/// `erfc(x) = exp(-x^2) g / (1 + 2x)` for positive `x`, with a minimax polynomial for `g` in `(x - 3) / (x + 3)`, the transformation
/// of Schonfelder (1978).
#[inline(always)]
pub(super) fn erfc<T: Target>(x: f32) -> f32 {
    // From 10.1 on, erfc is 0.
    let a = x.abs() as f64;
    let a = if a > 10.1 { 10.1 } else { a };
    // Relative error 4e-11.
    let g = wide::polynomial::<T, 13>(
        (a - 3.0) / (a + 3.0),
        [
            1.25300805826536251,
            -0.135621106866500277,
            -0.0475622937259947064,
            0.129645199706997018,
            -0.119273658443138471,
            0.0683073818347613612,
            -0.0237709960059085331,
            0.00253350766643146077,
            0.00189402832417367603,
            -0.000790124368883480757,
            -0.000126392813510765999,
            0.000127131606355020013,
            0.0000332438455840274447,
        ],
    );
    let tail = wide::exp::<T>(-a * a) * g / (1.0 + 2.0 * a);
    (if x < 0.0 { 2.0 - tail } else { tail }) as f32
}

/// Wichura's algorithm AS 241 (1988): the quantile of the normal distribution as a quotient of polynomials, in `0.180625 - (p - 1/2)^2`
/// for `p` near 1/2, and in `sqrt(-ln(p))` less a constant elsewhere. Relative error `1e-16`.
const CENTRE: [[f64; 8]; 2] = [
    [
        3.3871328727963666080e0,
        1.3314166789178437745e+2,
        1.9715909503065514427e+3,
        1.3731693765509461125e+4,
        4.5921953931549871457e+4,
        6.7265770927008700853e+4,
        3.3430575583588128105e+4,
        2.5090809287301226727e+3,
    ],
    [
        1.0,
        4.2313330701600911252e+1,
        6.8718700749205790830e+2,
        5.3941960214247511077e+3,
        2.1213794301586595867e+4,
        3.9307895800092710610e+4,
        2.8729085735721942674e+4,
        5.2264952788528545610e+3,
    ],
];
const TAIL: [[f64; 8]; 2] = [
    [
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ],
    [
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ],
];
const FAR_TAIL: [[f64; 8]; 2] = [
    [
        6.65790464350110377720e0,
        5.46378491116411436990e0,
        1.78482653991729133580e0,
        2.96560571828504891230e-1,
        2.65321895265761230930e-2,
        1.24266094738807843860e-3,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ],
    [
        1.0,
        5.99832206555887937690e-1,
        1.36929880922735805310e-1,
        1.48753612908506148525e-2,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ],
];

#[inline(always)]
fn quotient<T: Target>(x: f64, [numerator, denominator]: [[f64; 8]; 2]) -> f64 {
    wide::polynomial::<T, 8>(x, numerator) / wide::polynomial::<T, 8>(x, denominator)
}

/// The inverse of `erf`: at most 0.51 ulp, computed in fp64. NaN beyond 1.
#[inline(always)]
pub(super) fn erfinv<T: Target>(x: f32) -> f32 {
    let a = x.abs() as f64;
    let half = 0.5 * a;
    let centre = half * quotient::<T>(0.180625 - half * half, CENTRE);
    // In fp32 the upper tail's probability is at least 2^-25, of which the root is below 5.
    let root = (-wide::ln::<T>(0.5 - half)).sqrt();
    let tail = quotient::<T>(root - 1.6, TAIL);
    let y = (if half <= 0.425 { centre } else { tail }) * FRAC_1_SQRT_2;
    let y = if a == 1.0 { f32::INFINITY } else { y as f32 };
    (if a > 1.0 { f32::NAN } else { y }).copysign(x)
}

/// The inverse of `erf`, of fp64: relative error `4e-16`. NaN beyond 1.
#[inline(always)]
pub(super) fn erfinv_f64<T: Target>(x: f64) -> f64 {
    let a = x.abs();
    let half = 0.5 * a;
    let y = if half <= 0.425 {
        half * quotient::<T>(0.180625 - half * half, CENTRE)
    } else {
        let root = (-libm::log(0.5 - half)).sqrt();
        if root <= 5.0 { quotient::<T>(root - 1.6, TAIL) } else { quotient::<T>(root - 5.0, FAR_TAIL) }
    };
    let y = if a == 1.0 { f64::INFINITY } else { y * FRAC_1_SQRT_2 };
    (if a > 1.0 { f64::NAN } else { y }).copysign(x)
}
