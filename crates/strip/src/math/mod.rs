//! Functions of real numbers, by element type.
//!
//! Those of fp32 are branch-free, so that they are vectorised, and each states its bound of error. An *ulp*
//! is the distance between the two floats next to the exact result; 0.5 is the least that rounding allows.
//! The bounds hold for every fp32 there is: subnormals, infinities and zeros of either sign included. Those
//! of fp64 are `libm`'s, at most 1 ulp for most.

mod error_function;
mod exponential;
mod hyperbolic;
mod logarithm;
mod power;
mod trigonometric;
mod wide;

use super::number::Number;
use super::target::Target;

/// A number with the functions of [`tegula_ir::UnaryOp`] and [`tegula_ir::BinaryOp`] that are for floats alone.
pub(super) trait Real: Number {
    fn exp<T: Target>(self) -> Self;
    fn exp2<T: Target>(self) -> Self;
    /// Whether [`Real::common_exp`] is `exp` of this.
    fn has_common_exp(self) -> bool;
    fn common_exp<T: Target>(self) -> Self;
    /// Whether [`Real::common_exp2`] is `exp2` of this.
    fn has_common_exp2(self) -> bool;
    fn common_exp2<T: Target>(self) -> Self;
    fn expm1<T: Target>(self) -> Self;
    fn log<T: Target>(self) -> Self;
    fn log2<T: Target>(self) -> Self;
    fn log10<T: Target>(self) -> Self;
    fn log1p<T: Target>(self) -> Self;
    fn sin<T: Target>(self) -> Self;
    fn cos<T: Target>(self) -> Self;
    fn tan<T: Target>(self) -> Self;
    fn asin<T: Target>(self) -> Self;
    fn acos<T: Target>(self) -> Self;
    fn atan<T: Target>(self) -> Self;
    fn sinh<T: Target>(self) -> Self;
    fn cosh<T: Target>(self) -> Self;
    fn tanh<T: Target>(self) -> Self;
    fn asinh<T: Target>(self) -> Self;
    fn acosh<T: Target>(self) -> Self;
    fn atanh<T: Target>(self) -> Self;
    fn sqrt<T: Target>(self) -> Self;
    fn rsqrt<T: Target>(self) -> Self;
    fn cbrt<T: Target>(self) -> Self;
    fn floor<T: Target>(self) -> Self;
    fn ceil<T: Target>(self) -> Self;
    fn trunc<T: Target>(self) -> Self;
    fn round<T: Target>(self) -> Self;
    fn round_even<T: Target>(self) -> Self;
    fn erf<T: Target>(self) -> Self;
    fn erfc<T: Target>(self) -> Self;
    fn erfinv<T: Target>(self) -> Self;
    fn lgamma<T: Target>(self) -> Self;
    fn tgamma<T: Target>(self) -> Self;

    fn pow<T: Target>(self, exponent: Self) -> Self;
    /// The angle of the point (`x`, `self`).
    fn atan2<T: Target>(self, x: Self) -> Self;
    fn hypot<T: Target>(self, other: Self) -> Self;
    fn copysign<T: Target>(self, sign: Self) -> Self;
    fn next_after<T: Target>(self, towards: Self) -> Self;
    /// `self - n other` for the whole number `n` nearest to the quotient, ties to even.
    fn remainder<T: Target>(self, other: Self) -> Self;
    /// `self * factor + summand`, rounded once.
    fn fused<T: Target>(self, factor: Self, summand: Self) -> Self;

    /// Whether `sin`, `cos` and `tan` leave this angle to [`Real::any_sin`] and its like.
    fn is_large_angle(self) -> bool;
    fn any_sin(self) -> Self;
    fn any_cos(self) -> Self;
    fn any_tan(self) -> Self;
}

/// Evaluates a polynomial by Horner's rule; the coefficients stand lowest first.
#[inline(always)]
fn polynomial<T: Target, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        sum = T::mul_add(sum, x, coefficients[i]);
    }
    sum
}

impl Real for f32 {
    #[inline(always)]
    fn exp<T: Target>(self) -> Self {
        exponential::exp::<T>(self)
    }
    #[inline(always)]
    fn exp2<T: Target>(self) -> Self {
        exponential::exp2::<T>(self)
    }
    #[inline(always)]
    fn has_common_exp(self) -> bool {
        self.abs() <= exponential::EXP_RANGE
    }
    #[inline(always)]
    fn common_exp<T: Target>(self) -> Self {
        exponential::common_exp::<T>(self)
    }
    #[inline(always)]
    fn has_common_exp2(self) -> bool {
        self.abs() <= exponential::EXP2_RANGE
    }
    #[inline(always)]
    fn common_exp2<T: Target>(self) -> Self {
        exponential::common_exp2::<T>(self)
    }
    #[inline(always)]
    fn expm1<T: Target>(self) -> Self {
        exponential::expm1::<T>(self)
    }
    #[inline(always)]
    fn log<T: Target>(self) -> Self {
        logarithm::log::<T>(self)
    }
    #[inline(always)]
    fn log2<T: Target>(self) -> Self {
        logarithm::log2::<T>(self)
    }
    #[inline(always)]
    fn log10<T: Target>(self) -> Self {
        logarithm::log10::<T>(self)
    }
    #[inline(always)]
    fn log1p<T: Target>(self) -> Self {
        logarithm::log1p::<T>(self)
    }
    #[inline(always)]
    fn sin<T: Target>(self) -> Self {
        trigonometric::sin::<T>(self)
    }
    #[inline(always)]
    fn cos<T: Target>(self) -> Self {
        trigonometric::cos::<T>(self)
    }
    #[inline(always)]
    fn tan<T: Target>(self) -> Self {
        trigonometric::tan::<T>(self)
    }
    #[inline(always)]
    fn asin<T: Target>(self) -> Self {
        trigonometric::asin::<T>(self)
    }
    #[inline(always)]
    fn acos<T: Target>(self) -> Self {
        trigonometric::acos::<T>(self)
    }
    #[inline(always)]
    fn atan<T: Target>(self) -> Self {
        trigonometric::atan::<T>(self)
    }
    #[inline(always)]
    fn sinh<T: Target>(self) -> Self {
        hyperbolic::sinh::<T>(self)
    }
    #[inline(always)]
    fn cosh<T: Target>(self) -> Self {
        hyperbolic::cosh::<T>(self)
    }
    #[inline(always)]
    fn tanh<T: Target>(self) -> Self {
        hyperbolic::tanh::<T>(self)
    }
    #[inline(always)]
    fn asinh<T: Target>(self) -> Self {
        hyperbolic::asinh::<T>(self)
    }
    #[inline(always)]
    fn acosh<T: Target>(self) -> Self {
        hyperbolic::acosh::<T>(self)
    }
    #[inline(always)]
    fn atanh<T: Target>(self) -> Self {
        hyperbolic::atanh::<T>(self)
    }
    #[inline(always)]
    fn sqrt<T: Target>(self) -> Self {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn rsqrt<T: Target>(self) -> Self {
        power::rsqrt(self)
    }
    #[inline(always)]
    fn cbrt<T: Target>(self) -> Self {
        power::cbrt::<T>(self)
    }
    #[inline(always)]
    fn floor<T: Target>(self) -> Self {
        f32::floor(self)
    }
    #[inline(always)]
    fn ceil<T: Target>(self) -> Self {
        f32::ceil(self)
    }
    #[inline(always)]
    fn trunc<T: Target>(self) -> Self {
        f32::trunc(self)
    }
    #[inline(always)]
    fn round<T: Target>(self) -> Self {
        f32::round(self)
    }
    #[inline(always)]
    fn round_even<T: Target>(self) -> Self {
        f32::round_ties_even(self)
    }
    #[inline(always)]
    fn erf<T: Target>(self) -> Self {
        error_function::erf::<T>(self)
    }
    #[inline(always)]
    fn erfc<T: Target>(self) -> Self {
        error_function::erfc::<T>(self)
    }
    #[inline(always)]
    fn erfinv<T: Target>(self) -> Self {
        error_function::erfinv::<T>(self)
    }
    #[inline(always)]
    fn lgamma<T: Target>(self) -> Self {
        libm::lgamma(self as f64) as f32
    }
    #[inline(always)]
    fn tgamma<T: Target>(self) -> Self {
        libm::tgamma(self as f64) as f32
    }
    #[inline(always)]
    fn pow<T: Target>(self, exponent: Self) -> Self {
        power::pow::<T>(self, exponent)
    }
    #[inline(always)]
    fn atan2<T: Target>(self, x: Self) -> Self {
        trigonometric::atan2::<T>(self, x)
    }
    #[inline(always)]
    fn hypot<T: Target>(self, other: Self) -> Self {
        power::hypot(self, other)
    }
    #[inline(always)]
    fn copysign<T: Target>(self, sign: Self) -> Self {
        f32::copysign(self, sign)
    }
    #[inline(always)]
    fn next_after<T: Target>(self, towards: Self) -> Self {
        libm::nextafterf(self, towards)
    }
    #[inline(always)]
    fn remainder<T: Target>(self, other: Self) -> Self {
        libm::remainderf(self, other)
    }
    #[inline(always)]
    fn fused<T: Target>(self, factor: Self, summand: Self) -> Self {
        f32::mul_add(self, factor, summand)
    }
    #[inline(always)]
    fn is_large_angle(self) -> bool {
        trigonometric::is_large_angle(self)
    }
    fn any_sin(self) -> Self {
        libm::sin(self as f64) as f32
    }
    fn any_cos(self) -> Self {
        libm::cos(self as f64) as f32
    }
    fn any_tan(self) -> Self {
        libm::tan(self as f64) as f32
    }
}

impl Real for f64 {
    #[inline(always)]
    fn exp<T: Target>(self) -> Self {
        libm::exp(self)
    }
    #[inline(always)]
    fn exp2<T: Target>(self) -> Self {
        libm::exp2(self)
    }
    #[inline(always)]
    fn has_common_exp(self) -> bool {
        false
    }
    #[inline(always)]
    fn common_exp<T: Target>(self) -> Self {
        libm::exp(self)
    }
    #[inline(always)]
    fn has_common_exp2(self) -> bool {
        false
    }
    #[inline(always)]
    fn common_exp2<T: Target>(self) -> Self {
        libm::exp2(self)
    }
    #[inline(always)]
    fn expm1<T: Target>(self) -> Self {
        libm::expm1(self)
    }
    #[inline(always)]
    fn log<T: Target>(self) -> Self {
        libm::log(self)
    }
    #[inline(always)]
    fn log2<T: Target>(self) -> Self {
        libm::log2(self)
    }
    #[inline(always)]
    fn log10<T: Target>(self) -> Self {
        libm::log10(self)
    }
    #[inline(always)]
    fn log1p<T: Target>(self) -> Self {
        libm::log1p(self)
    }
    #[inline(always)]
    fn sin<T: Target>(self) -> Self {
        libm::sin(self)
    }
    #[inline(always)]
    fn cos<T: Target>(self) -> Self {
        libm::cos(self)
    }
    #[inline(always)]
    fn tan<T: Target>(self) -> Self {
        libm::tan(self)
    }
    #[inline(always)]
    fn asin<T: Target>(self) -> Self {
        libm::asin(self)
    }
    #[inline(always)]
    fn acos<T: Target>(self) -> Self {
        libm::acos(self)
    }
    #[inline(always)]
    fn atan<T: Target>(self) -> Self {
        libm::atan(self)
    }
    #[inline(always)]
    fn sinh<T: Target>(self) -> Self {
        libm::sinh(self)
    }
    #[inline(always)]
    fn cosh<T: Target>(self) -> Self {
        libm::cosh(self)
    }
    #[inline(always)]
    fn tanh<T: Target>(self) -> Self {
        libm::tanh(self)
    }
    #[inline(always)]
    fn asinh<T: Target>(self) -> Self {
        libm::asinh(self)
    }
    #[inline(always)]
    fn acosh<T: Target>(self) -> Self {
        if self < 1.0 { f64::NAN } else { libm::acosh(self) }
    }
    #[inline(always)]
    fn atanh<T: Target>(self) -> Self {
        libm::atanh(self)
    }
    #[inline(always)]
    fn sqrt<T: Target>(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn rsqrt<T: Target>(self) -> Self {
        1.0 / f64::sqrt(self)
    }
    #[inline(always)]
    fn cbrt<T: Target>(self) -> Self {
        libm::cbrt(self)
    }
    #[inline(always)]
    fn floor<T: Target>(self) -> Self {
        f64::floor(self)
    }
    #[inline(always)]
    fn ceil<T: Target>(self) -> Self {
        f64::ceil(self)
    }
    #[inline(always)]
    fn trunc<T: Target>(self) -> Self {
        f64::trunc(self)
    }
    #[inline(always)]
    fn round<T: Target>(self) -> Self {
        f64::round(self)
    }
    #[inline(always)]
    fn round_even<T: Target>(self) -> Self {
        f64::round_ties_even(self)
    }
    #[inline(always)]
    fn erf<T: Target>(self) -> Self {
        libm::erf(self)
    }
    #[inline(always)]
    fn erfc<T: Target>(self) -> Self {
        libm::erfc(self)
    }
    #[inline(always)]
    fn erfinv<T: Target>(self) -> Self {
        error_function::erfinv_f64::<T>(self)
    }
    #[inline(always)]
    fn lgamma<T: Target>(self) -> Self {
        libm::lgamma(self)
    }
    #[inline(always)]
    fn tgamma<T: Target>(self) -> Self {
        libm::tgamma(self)
    }
    #[inline(always)]
    fn pow<T: Target>(self, exponent: Self) -> Self {
        libm::pow(self, exponent)
    }
    #[inline(always)]
    fn atan2<T: Target>(self, x: Self) -> Self {
        libm::atan2(self, x)
    }
    #[inline(always)]
    fn hypot<T: Target>(self, other: Self) -> Self {
        libm::hypot(self, other)
    }
    #[inline(always)]
    fn copysign<T: Target>(self, sign: Self) -> Self {
        f64::copysign(self, sign)
    }
    #[inline(always)]
    fn next_after<T: Target>(self, towards: Self) -> Self {
        libm::nextafter(self, towards)
    }
    #[inline(always)]
    fn remainder<T: Target>(self, other: Self) -> Self {
        libm::remainder(self, other)
    }
    #[inline(always)]
    fn fused<T: Target>(self, factor: Self, summand: Self) -> Self {
        f64::mul_add(self, factor, summand)
    }
    #[inline(always)]
    fn is_large_angle(self) -> bool {
        false
    }
    fn any_sin(self) -> Self {
        libm::sin(self)
    }
    fn any_cos(self) -> Self {
        libm::cos(self)
    }
    fn any_tan(self) -> Self {
        libm::tan(self)
    }
}
