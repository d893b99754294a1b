//! Functions in fp64 to about 36 bits: what fp32 functions are computed with where fp32 itself would lose too much.
//!
//! Converted to fp32 such a result is off by at most 0.51 ulp. The polynomials are minimax fits (least
//! squares at Chebyshev nodes, reweighted after Lawson); their relative errors are stated. Constants are
//! exact or rounded values of what their names say.

use crate::target::Target;
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
            0.693_147_180_541_734_1,
            0.240_226_510_761_103_5,
            0.055_504_109_621_404_19,
            0.009_618_036_881_111_776,
            0.001_333_343_119_636_291_4,
            0.000_154_671_183_353_920_83,
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
            0.499_999_999_997_377_04,
            0.166_666_667_545_633_3,
            0.041_666_666_953_439_58,
            0.008_333_288_956_911_687,
            0.001_388_880_964_450_950_2,
            0.000_199_049_564_341_835,
            0.000_024_882_324_857_979_052,
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

/// `ln(m)` for `m` from `sqrt(1/2)` to `sqrt(2)`: the series of the inverse hyperbolic tangent of `(m - 1) /
/// (m + 1)`. Relative error `1e-13`.
#[inline(always)]
fn ln_near_one<T: Target>(m: f64) -> f64 {
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let p = polynomial::<T, 5>(
        z,
        [
            0.666_666_666_758_075_3,
            0.399_999_956_204_885_15,
            0.285_721_092_362_097_86,
            0.221_761_875_329_489_6,
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
            -0.333_333_333_316_968_9,
            0.199_999_996_855_915_46,
            -0.142_856_935_949_871_34,
            0.111_104_499_701_945_1,
            -0.090_791_376_011_892_72,
            0.075_685_411_569_143_98,
            -0.058_910_669_210_927_96,
            0.030_894_893_514_806_298,
        ],
    );
    let angle = T::mul_add_f64(p * z, x, x);
    let angle = if rotated { FRAC_PI_4 + angle } else { angle };
    if inverted { FRAC_PI_2 - angle } else { angle }
}

/// The largest angle that [`reduce_angle`] takes.
pub(super) const LARGEST_ANGLE: f32 = 1_048_576.0;

/// An angle up to [`LARGEST_ANGLE`] as `n pi/2 + r` with `|r| <= pi/4`: `(r, n mod 4)`. The error of `r` is
/// below `2^-66`, and `2^-53 |r|`.
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
            0.008_333_333_325_270_201,
            -0.000_198_412_638_220_386_77,
            2.755_535_754_147_722e-6,
            -2.476_163_580_869_512_4e-8,
        ],
    );
    let c = polynomial::<T, 5>(
        z,
        [
            0.041666666666602195,
            -0.0013888888878266328,
            0.000_024_801_580_968_140_978,
            -2.755_556_648_534_027e-7,
            2.064_769_594_694_649e-9,
        ],
    );
    (T::mul_add_f64(s * z, r, r), T::mul_add_f64(c, z * z, T::mul_add_f64(z, -0.5, 1.0)))
}
