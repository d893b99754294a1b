//! The frequent functions in fp32, without fp64.
//!
//! ```text
//! log, log2   x = m 2^k, a polynomial in m - 1 (Cephes' logf, Moshier 1989)
//! tanh        a polynomial near zero, else 1 - 2 / (exp(2x) + 1)
//! erf         a polynomial near zero, else 1 - 2^(x p(x))
//! sin, cos    what is left of multiples of pi/2, a polynomial of it; beyond `LARGE_ANGLE`, fp64's
//! ```
//!
//! All are within 2 ulp, as far as the approximate `ex2` and the division by `div.full` allow: with those, within 3.

use super::{Lowering, Real};
use crate::lower::emit::{Emitter, fails};
use std::f32::consts::{FRAC_2_PI, LOG2_E};
use tegula_ptx::{Comparison, Math, MathOp, Operand, Precision, Register, Rounding, Type};

/// `log(1 + f) - f + f^2/2` over `f^3`, for `1 + f` between sqrt(1/2) and sqrt(2).
const LOG_SERIES: [f32; 9] = [
    0.333_333_3,
    -2.499_999_4e-1,
    2.000_071_5e-1,
    -1.666_805_8e-1,
    1.424_932_3e-1,
    -1.242_014_1e-1,
    1.167_699_9e-1,
    -1.151_461e-1,
    7.037_683_6e-2,
];

/// `tanh(x) - x` over `x^3`, by powers of `x^2`, for `|x| < 0.6`.
const TANH_SERIES: [f32; 6] =
    [-0.333_333_3, 1.333_323_2e-1, -5.395_095_7e-2, 2.172_730_6e-2, -8.251_071e-3, 2.217_262_5e-3];

/// `erf(x) / x - 1`, by powers of `x^2`, for `|x| < 0.92`.
const ERF_NEAR: [f32; 7] = [
    1.283_791_7e-1,
    -3.761_263_2e-1,
    1.128_367_1e-1,
    -2.685_810_4e-2,
    5.197_797e-3,
    -8.105_963e-4,
    8.215_415e-5,
];

/// `log2(1 - erf(x)) / x` for x between 0.92 and 4.
const ERF_FAR: [f32; 8] = [
    -1.628_146_2,
    -9.170_585e-1,
    -1.517_757_6e-1,
    3.262_229e-2,
    -4.172_743e-3,
    5.204_345e-5,
    6.953_85e-5,
    -7.430_931e-6,
];

/// `sin(r) - r` over `r^3`, and `cos(r) - 1 + r^2/2` over `r^4`, by powers of `r^2`, for `|r| <= pi/4` (Cephes' sinf).
const SIN_SERIES: [f32; 3] = [-1.666_665_5e-1, 8.332_161e-3, -1.951_529_6e-4];
const COS_SERIES: [f32; 3] = [4.166_664_6e-2, -1.388_731_6e-3, 2.443_315_7e-5];

/// pi/2 as the sum of three numbers.
const HALF_PI: [f32; 3] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];

/// Up to here, multiples of pi/2 are counted exactly enough in fp32.
const LARGE_ANGLE: f32 = 65536.0;

/// Appends arithmetic in fp32.
struct Single<'a> {
    code: &'a mut Emitter,
}

impl Lowering<'_> {
    /// `log(x)`, or `log2(x)`.
    pub(super) fn single_log(&mut self, x: Register, binary: bool) -> Register {
        // Right for everything that is no positive finite number.
        let limit = self.approximate(MathOp::Log2, x);
        let mut single = Single { code: &mut self.code };
        let result = single.log(x, binary);
        let code = &mut self.code;
        let rank = code.math(MathOp::Sub, Type::U32, &[x.into(), Operand::Integer(1)]);
        let infinity = Operand::Integer(f32::INFINITY.to_bits().into());
        let is_positive = code.compare(Comparison::Less, Type::U32, rank.into(), infinity);
        let is_finite = code.compare(Comparison::NotEqual, Type::B32, x.into(), infinity);
        let regular = code.both(Some(is_positive), Some(is_finite)).expect("of two predicates");
        code.select(Type::F32, regular, result.into(), limit.into())
    }

    pub(super) fn single_tanh(&mut self, x: Register) -> Register {
        let magnitude = self.code.math(MathOp::Abs, Type::F32, &[x.into()]);
        let double = self.code.rounded(MathOp::Mul, Type::F32, &[magnitude.into(), (2.0 * LOG2_E).into()]);
        let power = self.exp2(double);
        let mut single = Single { code: &mut self.code };
        let sum = single.plus(power, 1.0);
        let reciprocal = single.reciprocal(sum);
        let far = single.scaled_plus(reciprocal, -2.0, 1f32);
        let near = single.near_zero(magnitude, &TANH_SERIES);
        let result = single.where_less(magnitude, 0.6, near, far);
        single.with_sign(result, x)
    }

    pub(super) fn single_erf(&mut self, x: Register) -> Register {
        let mut single = Single { code: &mut self.code };
        let magnitude = single.code.math(MathOp::Abs, Type::F32, &[x.into()]);
        let least = single.code.math(MathOp::Min, Type::F32, &[magnitude.into(), 4f32.into()]);
        let square = single.mul(least, least);
        let near = single.polynomial(square, &ERF_NEAR);
        let near = single.fma(x, near, x);
        let exponent = single.polynomial(least, &ERF_FAR);
        let exponent = single.mul(least, exponent);
        let power = self.exp2(exponent);
        let mut single = Single { code: &mut self.code };
        let far = single.scaled_plus(power, -1.0, 1f32);
        let far = single.with_sign(far, x);
        let result = single.where_less(magnitude, 0.92, near, far);
        single.keep_nan(result, x)
    }

    /// `sin(x)`, or `cos(x)`.
    pub(super) fn single_sine(&mut self, x: Register, cosine: bool) -> Register {
        self.declare_two_over_pi();
        let mut single = Single { code: &mut self.code };
        let result = single.sine(x, cosine);
        let result = if cosine { result } else { single.where_not_zero(x, result) };
        let code = &mut self.code;
        let magnitude = code.math(MathOp::Abs, Type::F32, &[x.into()]);
        let is_large =
            code.compare(Comparison::GreaterUnordered, Type::F32, magnitude.into(), LARGE_ANGLE.into());
        let end = code.label();
        code.branch(Some(fails(is_large)), end, false);
        let wide = code.convert(Type::F64, Type::F32, None, x);
        let mut real = Real { code };
        let exact = if cosine { real.cos(wide) } else { real.sin(wide) };
        let exact = code.convert(Type::F32, Type::F64, Some(Rounding::Nearest), exact);
        code.assign(result, exact);
        code.place(end);
        result
    }

    /// `2^x`; results below 2^-126 are zero.
    pub(super) fn exp2(&mut self, x: Register) -> Register {
        let math = Math::new(MathOp::Exp2, Type::F32, x, [x.into()]).precision(Precision::Approximate);
        self.code.math_with(Math { flush: true, ..math })
    }
}

impl Single<'_> {
    fn op(&mut self, op: MathOp, sources: &[Operand]) -> Register {
        self.code.rounded(op, Type::F32, sources)
    }

    fn bits(&mut self, op: MathOp, ty: Type, a: Register, b: i64) -> Register {
        self.code.math(op, ty, &[a.into(), Operand::Integer(b)])
    }

    fn mul(&mut self, a: Register, b: Register) -> Register {
        self.op(MathOp::Mul, &[a.into(), b.into()])
    }

    fn add(&mut self, a: Register, b: Register) -> Register {
        self.op(MathOp::Add, &[a.into(), b.into()])
    }

    fn plus(&mut self, a: Register, b: f32) -> Register {
        self.op(MathOp::Add, &[a.into(), b.into()])
    }

    fn fma(&mut self, a: Register, b: Register, c: Register) -> Register {
        self.op(MathOp::Fma, &[a.into(), b.into(), c.into()])
    }

    /// `a * b + c`.
    fn scaled_plus(&mut self, a: Register, b: f32, c: impl Into<Operand>) -> Register {
        self.op(MathOp::Fma, &[a.into(), b.into(), c.into()])
    }

    /// Horner's rule; the coefficients stand lowest first.
    fn polynomial(&mut self, x: Register, coefficients: &[f32]) -> Register {
        let (&last, rest) = coefficients.split_last().expect("a polynomial has coefficients");
        let mut sum = Operand::from(last);
        for &coefficient in rest.iter().rev() {
            sum = self.op(MathOp::Fma, &[sum, x.into(), coefficient.into()]).into();
        }
        self.code.copy(Type::F32, sum)
    }

    /// `x + x^3 p(x^2)`.
    fn near_zero(&mut self, x: Register, series: &[f32]) -> Register {
        let square = self.mul(x, x);
        let factor = self.mul(x, square);
        let tail = self.polynomial(square, series);
        self.fma(factor, tail, x)
    }

    fn reciprocal(&mut self, x: Register) -> Register {
        let math = Math::new(MathOp::Reciprocal, Type::F32, x, [x.into()]).precision(Precision::Approximate);
        self.code.math_with(Math { flush: true, ..math })
    }

    /// The magnitude of one number with the sign of another.
    fn with_sign(&mut self, magnitude: Register, sign: Register) -> Register {
        self.code.math(MathOp::CopySign, Type::F32, &[sign.into(), magnitude.into()])
    }

    fn where_less(&mut self, x: Register, limit: f32, near: Register, far: Register) -> Register {
        let is_less = self.code.compare(Comparison::Less, Type::F32, x.into(), limit.into());
        self.code.select(Type::F32, is_less, near.into(), far.into())
    }

    /// The result, or the argument where that is zero, of either sign.
    fn where_not_zero(&mut self, x: Register, result: Register) -> Register {
        let is_zero = self.code.compare(Comparison::Equal, Type::F32, x.into(), 0f32.into());
        self.code.select(Type::F32, is_zero, x.into(), result.into())
    }

    fn keep_nan(&mut self, result: Register, x: Register) -> Register {
        let is_nan = self.code.compare(Comparison::Unordered, Type::F32, x.into(), x.into());
        self.code.select(Type::F32, is_nan, x.into(), result.into())
    }

    /// The logarithm of a positive finite number.
    fn log(&mut self, x: Register, binary: bool) -> Register {
        const ONE: i64 = 0x3f80_0000;
        const ROOT_OF_HALF: i64 = 0x3f35_04f3;
        const FRACTION: i64 = 0x007f_ffff;
        let is_tiny = self.code.compare(Comparison::Less, Type::F32, x.into(), f32::MIN_POSITIVE.into());
        let scaled = self.op(MathOp::Mul, &[x.into(), ((1u32 << 23) as f32).into()]);
        let x = self.code.select(Type::F32, is_tiny, scaled.into(), x.into());
        let bias = self.code.select(Type::F32, is_tiny, (-150f32).into(), (-127f32).into());
        let moved = self.bits(MathOp::Add, Type::S32, x, ONE - ROOT_OF_HALF);
        let exponent = self.bits(MathOp::ShiftRight, Type::U32, moved, 23);
        let k = self.code.convert(Type::F32, Type::U32, Some(Rounding::Nearest), exponent);
        let k = self.add(k, bias);
        let fraction = self.bits(MathOp::And, Type::B32, moved, FRACTION);
        let m = self.bits(MathOp::Add, Type::S32, fraction, ROOT_OF_HALF);
        let f = self.plus(m, -1.0);
        let square = self.mul(f, f);
        let series = self.polynomial(f, &LOG_SERIES);
        let cube = self.mul(f, square);
        if binary {
            let tail = self.mul(cube, series);
            let tail = self.scaled_plus(square, -0.5, tail);
            // log2(e) = 1 + the factor.
            let factor = LOG2_E - 1.0;
            let sum = self.op(MathOp::Mul, &[tail.into(), factor.into()]);
            let sum = self.scaled_plus(f, factor, sum);
            let sum = self.add(sum, tail);
            let sum = self.add(sum, f);
            return self.add(sum, k);
        }
        // ln 2 in two parts; products of the first with small integers are exact.
        const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
        let tail = self.mul(cube, series);
        let tail = self.scaled_plus(k, LN_2[1], tail);
        let tail = self.scaled_plus(square, -0.5, tail);
        let sum = self.add(f, tail);
        self.scaled_plus(k, LN_2[0], sum)
    }

    /// The sine or the cosine of an angle that is not large.
    fn sine(&mut self, x: Register, cosine: bool) -> Register {
        let turns = self.op(MathOp::Mul, &[x.into(), FRAC_2_PI.into()]);
        let n = self.code.convert(Type::F32, Type::F32, Some(Rounding::NearestInteger), turns);
        let mut r = x;
        for part in HALF_PI {
            r = self.scaled_plus(n, -part, r);
        }
        let quadrant = self.code.convert(Type::S32, Type::F32, Some(Rounding::ZeroInteger), n);
        let quadrant = if cosine { self.bits(MathOp::Add, Type::S32, quadrant, 1) } else { quadrant };
        let sine = self.near_zero(r, &SIN_SERIES);
        let square = self.mul(r, r);
        let tail = self.polynomial(square, &COS_SERIES);
        let fourth = self.mul(square, square);
        let base = self.scaled_plus(square, -0.5, 1f32);
        let cosine = self.fma(fourth, tail, base);
        let odd = self.bits(MathOp::And, Type::B32, quadrant, 1);
        let is_odd = self.code.compare(Comparison::NotEqual, Type::U32, odd.into(), Operand::Integer(0));
        let result = self.code.select(Type::F32, is_odd, cosine.into(), sine.into());
        // The second bit of the quadrant is the sign.
        let sign = self.bits(MathOp::And, Type::B32, quadrant, 2);
        let sign = self.bits(MathOp::ShiftLeft, Type::B32, sign, 30);
        self.code.math(MathOp::Xor, Type::B32, &[result.into(), sign.into()])
    }
}
