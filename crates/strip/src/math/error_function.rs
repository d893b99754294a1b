//! The error function, its complement and its inverse, of fp32 and (the inverse) fp64.

use super::exponential::exp_in_range;
use super::{polynomial, wide};
use crate::target::Target;
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
        [0.12837915, -0.376_124_95, 0.112_818_02, -0.026_765_54, 0.004_990_943_7, -0.000_597_672_54],
    );
    let small = T::mul_add(p, a, a);
    // From 3.92 on, erf is 1.
    let bounded = if a > 3.95 { 3.95 } else { a };
    // -ln(1 - erf(a)) / a.
    let q = polynomial::<T, 7>(
        bounded,
        [
            1.128_652_2,
            0.635_135_8,
            0.106_263_29,
            -0.023_785_489,
            0.003_653_844_1,
            -0.000_325_676_14,
            1.152_504_6e-5,
        ],
    );
    let large = 1.0 - exp_in_range::<T>(-q * bounded);
    (if a < 0.92 { small } else { large }).copysign(x)
}

/// `1 - erf(x)`, relatively precise in the tail too: at most 0.51 ulp, computed in fp64.
///
/// `erfc(x) = exp(-x^2) g / (1 + 2x)` for positive `x`, with a minimax polynomial for `g` in `(x - 3) / (x +
/// 3)`, the transformation of Schonfelder (1978).
#[inline(always)]
pub(super) fn erfc<T: Target>(x: f32) -> f32 {
    // From 10.1 on, erfc is 0.
    let a = x.abs() as f64;
    let a = if a > 10.1 { 10.1 } else { a };
    // Relative error 4e-11.
    let g = wide::polynomial::<T, 13>(
        (a - 3.0) / (a + 3.0),
        [
            1.253_008_058_265_362_4,
            -0.135_621_106_866_500_28,
            -0.047_562_293_725_994_71,
            0.129_645_199_706_997,
            -0.119_273_658_443_138_47,
            0.068_307_381_834_761_36,
            -0.023_770_996_005_908_533,
            0.002_533_507_666_431_460_7,
            0.001_894_028_324_173_676,
            -0.000_790_124_368_883_480_7,
            -0.000_126_392_813_510_765_99,
            0.000_127_131_606_355_02,
            0.000_033_243_845_584_027_45,
        ],
    );
    let tail = wide::exp::<T>(-a * a) * g / (1.0 + 2.0 * a);
    (if x < 0.0 { 2.0 - tail } else { tail }) as f32
}

/// Wichura's algorithm AS 241 (1988): the quantile of the normal distribution as a quotient of polynomials,
/// in `0.180625 - (p - 1/2)^2` for `p` near 1/2, and in `sqrt(-ln(p))` less a constant elsewhere. Relative
/// error `1e-16`.
const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
];
const TAIL: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];
const FAR_TAIL: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_7e-15,
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
