//! Functions in fp64 to about 36 bits: what fp32 functions are computed with where fp32 itself would lose too much.
//!
//! Converted to fp32 such a result is off by at most 0.51 ulp. The polynomials are minimax fits (least squares at Chebyshev nodes, reweighted
//! after Lawson); their relative errors are stated. Constants are exact or rounded values of what their names say.

use crate::strip::target::Target;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, LOG2_E};

/// `1.5 * 2^52`: adding it to a small float rounds that to an integer, which then stands in the low bits.
const ROUND_TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// Evaluates a polynomial by Horner's rule; the coefficients stand lowest first.
#[inline(always)]
pub(super) fn polynomial<T: Target, const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        sum = T::mul_add_f64(sum, x, coefficients[i]);
    }
    sum
}

/// `2^x`, clamped to what fp64 holds as a normal number. Relative error `5e-11`.
#[inline(always)]
pub(super) fn exp2<T: Target>(x: f64) -> f64 {
    let x = if x > 1000.0 { 1000.0 } else { x };
    let x = if x < -1000.0 { -1000.0 } else { x };
    let shifted = x + ROUND_TO_INTEGER;
    let r = x - (shifted - ROUND_TO_INTEGER);
    let p = polynomial::<T, 7>(
        r,
        [
            0.693147180541734032,
            0.240226510761103491,
            0.0555041096214041853,
            0.00961803688111177572,
            0.00133334311963629137,
            0.000154671183353920828,
            0.000015314844786341124,
        ],
    );
    scale(T::mul_add_f64(p, r, 1.0), shifted)
}

/// `y * 2^n` for `shifted = n + ROUND_TO_INTEGER`, where neither is near the ends of the exponent's range.
#[inline(always)]
fn scale(y: f64, shifted: f64) -> f64 {
    f64::from_bits(y.to_bits().wrapping_add(shifted.to_bits() << 52))
}

/// `exp(x)`. Relative error `5e-11`, and `|x| * 2^-53`.
#[inline(always)]
pub(super) fn exp<T: Target>(x: f64) -> f64 {
    exp2::<T>(x * LOG2_E)
}

/// `exp(x) - 1`, relatively precise near 0 too. Relative error `2e-11`.
#[inline(always)]
pub(super) fn expm1<T: Target>(x: f64) -> f64 {
    let x = if x > 700.0 { 700.0 } else { x };
    let x = if x < -700.0 { -700.0 } else { x };
    let shifted = T::mul_add_f64(x, LOG2_E, ROUND_TO_INTEGER);
    let n = shifted - ROUND_TO_INTEGER;
    // The first part of ln 2 has 32 bits, so that its product with n is exact.
    let r = T::mul_add_f64(n, -0.693_147_180_369_123_8, x);
    let r = T::mul_add_f64(n, -1.908_214_929_270_587_7e-10, r);
    let q = polynomial::<T, 7>(
        r,
        [
            0.499999999997377026,
            0.166666667545633318,
            0.0416666669534395827,
            0.00833328895691168648,
            0.00138888096445095012,
            0.000199049564341835012,
            0.0000248823248579790516,
        ],
    );
    let p = T::mul_add_f64(q, r * r, r);
    // exp(x) - 1 = 2^n p + (2^n - 1), and the difference is exact where it cancels.
    let power = scale(1.0, shifted);
    T::mul_add_f64(power, p, power - 1.0)
}

/// A positive normal number as `2^e * m` with `m` from `sqrt(1/2)` to `sqrt(2)`: `(e, m)`.
#[inline(always)]
fn split_exponent(x: f64) -> (f64, f64) {
    const ONE: u64 = 1f64.to_bits();
    const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    let biased = x.to_bits().wrapping_add(ONE - SQRT_HALF) >> 52;
    let m = f64::from_bits(x.to_bits().wrapping_sub(biased.wrapping_sub(1023) << 52));
    // An integer below 2^52, put into the low bits of 2^52, adds to it.
    const TWO_TO_52: f64 = 4_503_599_627_370_496.0;
    let e = f64::from_bits(TWO_TO_52.to_bits() | biased) - (TWO_TO_52 + 1023.0);
    (e, m)
}

/// `ln(m)` for `m` from `sqrt(1/2)` to `sqrt(2)`: the series of the inverse hyperbolic tangent of `(m - 1) / (m + 1)`. Relative error `1e-13`.
#[inline(always)]
fn ln_near_one<T: Target>(m: f64) -> f64 {
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let p = polynomial::<T, 5>(
        z,
        [
            0.666666666758075251,
            0.399999956204885149,
            0.285721092362097857,
            0.221761875329489609,
            0.19584143632743433,
        ],
    );
    T::mul_add_f64(p * z, s, s + s)
}

/// `ln(x)` of a positive normal number. Relative error `1e-13`.
#[inline(always)]
pub(super) fn ln<T: Target>(x: f64) -> f64 {
    let (e, m) = split_exponent(x);
    T::mul_add_f64(e, LN_2, ln_near_one::<T>(m))
}

/// `log2(x)` of a positive normal number. Relative error `1e-13`; exact for powers of two.
#[inline(always)]
pub(super) fn log2<T: Target>(x: f64) -> f64 {
    let (e, m) = split_exponent(x);
    T::mul_add_f64(ln_near_one::<T>(m), LOG2_E, e)
}

/// `ln(1 + x)` for `x > -1`, relatively precise near 0 too. Relative error `1e-12`.
#[inline(always)]
pub(super) fn ln_1p<T: Target>(x: f64) -> f64 {
    let u = 1.0 + x;
    // What the sum lost, as a part of it, to first order.
    let lost = (x - (u - 1.0)) / u;
    ln::<T>(u) + lost
}

/// The arctangent of a number that is not negative (infinity included). Relative error `1e-13`.
#[inline(always)]
pub(super) fn atan<T: Target>(x: f64) -> f64 {
    // atan(x) = pi/2 - atan(1/x), and atan(x) = pi/4 + atan((x - 1) / (x + 1)).
    let inverted = x > 1.0;
    let x = if inverted { 1.0 / x } else { x };
    let rotated = x > std::f64::consts::SQRT_2 - 1.0;
    let x = if rotated { (x - 1.0) / (x + 1.0) } else { x };
    let z = x * x;
    let p = polynomial::<T, 8>(
        z,
        [
            -0.333333333316968914,
            0.199999996855915451,
            -0.142856935949871342,
            0.111104499701945099,
            -0.0907913760118927132,
            0.0756854115691439716,
            -0.0589106692109279601,
            0.0308948935148062965,
        ],
    );
    let angle = T::mul_add_f64(p * z, x, x);
    let angle = if rotated { FRAC_PI_4 + angle } else { angle };
    if inverted { FRAC_PI_2 - angle } else { angle }
}

/// The largest angle that [`reduce_angle`] takes.
pub(super) const LARGEST_ANGLE: f32 = 1_048_576.0;

/// An angle up to [`LARGEST_ANGLE`] as `n pi/2 + r` with `|r| <= pi/4`: `(r, n mod 4)`. The error of `r` is below `2^-66`, and `2^-53 |r|`.
#[inline(always)]
pub(super) fn reduce_angle<T: Target>(x: f64) -> (f64, u64) {
    let shifted = T::mul_add_f64(x, std::f64::consts::FRAC_2_PI, ROUND_TO_INTEGER);
    let n = shifted - ROUND_TO_INTEGER;
    // The first part of pi/2 has 33 bits, so that its product with n is exact.
    let r = T::mul_add_f64(n, -1.570_796_326_734_125_6, x);
    let r = T::mul_add_f64(n, -6.077_100_506_506_192e-11, r);
    (r, shifted.to_bits() & 3)
}

/// `(sin(r), cos(r))` for `|r| <= pi/4`. Relative error `1e-14`.
#[inline(always)]
pub(super) fn sin_cos<T: Target>(r: f64) -> (f64, f64) {
    let z = r * r;
    let s = polynomial::<T, 5>(
        z,
        [
            -0.16666666666631585,
            0.0083333333252702006,
            -0.000198412638220386778,
            2.75553575414772213e-6,
            -2.47616358086951235e-8,
        ],
    );
    let c = polynomial::<T, 5>(
        z,
        [
            0.041666666666602195,
            -0.0013888888878266328,
            0.0000248015809681409776,
            -2.75555664853402717e-7,
            2.06476959469464868e-9,
        ],
    );
    (T::mul_add_f64(s * z, r, r), T::mul_add_f64(c, z * z, T::mul_add_f64(z, -0.5, 1.0)))
}
