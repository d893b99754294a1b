//! Exponentials, logarithms and powers, in fp64.
//!
//! `exp` reduces its argument by multiples of ln 2 and sums Taylor's series; `log` is fdlibm's (`e_log.c`, Sun 1993). `pow`
//! carries the logarithm in two numbers, because its error is multiplied by the exponent.

use super::Real;
use std::f64::consts::{LN_2, LOG2_E, LOG10_E, SQRT_2};
use tegula_ptx::{MathOp, Operand, Register, Rounding, Type};

/// ln 2 in two parts; products of the first with small integers are exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

const LOG_SERIES: [f64; 7] = [
    6.666_666_666_666_735e-1,
    3.999_999_999_940_942e-1,
    2.857_142_874_366_239e-1,
    2.222_219_843_214_978_4e-1,
    1.818_357_216_161_805e-1,
    1.531_383_769_920_937_3e-1,
    1.479_819_860_511_658_6e-1,
];

impl Real<'_> {
    /// `exp(x)`: at most 1 ulp.
    pub fn exp(&mut self, x: Register) -> Register {
        let x = self.within(x, -760.0, 720.0);
        let n = self.scale(x, LOG2_E);
        let n = self.nearest(n);
        let r = self.scaled_plus(n, -LN_2_HIGH, x);
        let r = self.scaled_plus(n, -LN_2_LOW, r);
        self.exp_reduced(r, n)
    }

    /// `2^x`: at most 1 ulp, and exact for integers.
    pub fn exp2(&mut self, x: Register) -> Register {
        let x = self.within(x, -1100.0, 1030.0);
        let n = self.nearest(x);
        let r = self.sub(x, n);
        let r = self.scale(r, LN_2);
        self.exp_reduced(r, n)
    }

    /// `exp(r) 2^n` for `|r| <= ln 2 / 2`.
    fn exp_reduced(&mut self, r: Register, n: Register) -> Register {
        let mut coefficients = [1.0f64; 14];
        for index in 1..coefficients.len() {
            coefficients[index] = coefficients[index - 1] / index as f64;
        }
        // Without the first two terms, which are added last and exactly.
        let tail = self.polynomial(r, &coefficients[2..]);
        let square = self.mul(r, r);
        let tail = self.fma(tail, square, r);
        let sum = self.plus(tail, 1.0);
        let n = self.integer(n);
        self.times_power_of_two(sum, n)
    }

    /// Cut to an interval; NaN stays.
    fn within(&mut self, x: Register, least: f64, most: f64) -> Register {
        let (low, high) = (self.number(least), self.number(most));
        let is_low = self.less_than(x, least);
        let x = self.choose(is_low, low, x);
        let is_high = self.greater_than(x, most);
        self.choose(is_high, high, x)
    }

    /// `exp(x) - 1`.
    pub fn expm1(&mut self, x: Register) -> Register {
        let mut coefficients = [1.0f64; 17];
        for index in 1..coefficients.len() {
            coefficients[index] = coefficients[index - 1] / (index + 1) as f64;
        }
        let tail = self.polynomial(x, &coefficients[1..]);
        let square = self.mul(x, x);
        let near = self.fma(tail, square, x);
        // -0 stays.
        let vanishes = self.equals(square, 0.0);
        let near = self.choose(vanishes, x, near);
        let far = self.exp(x);
        let far = self.plus(far, -1.0);
        let magnitude = self.abs(x);
        let is_near = self.less_than(magnitude, 0.5);
        self.choose(is_near, near, far)
    }

    /// `x = m 2^k` with m between sqrt(1/2) and sqrt(2): `(m, k)`, for positive finite x.
    fn split(&mut self, x: Register) -> (Register, Register) {
        let is_tiny = self.less_than(x, f64::MIN_POSITIVE);
        let scaled = self.scale(x, (1u64 << 54) as f64);
        let (whole, zero) = (self.number(54.0), self.number(0.0));
        let x = self.choose(is_tiny, scaled, x);
        let shift = self.choose(is_tiny, whole, zero);
        let bits = self.code.math(MathOp::ShiftRight, Type::U64, &[x.into(), Operand::Integer(52)]);
        let k = self.code.math(MathOp::Sub, Type::S64, &[bits.into(), Operand::Integer(1023)]);
        let fraction = Operand::Integer((1 << 52) - 1);
        let m = self.code.math(MathOp::And, Type::B64, &[x.into(), fraction]);
        let m = self.code.math(MathOp::Or, Type::B64, &[m.into(), Operand::Integer(1023 << 52)]);
        let k = self.code.convert(Type::F64, Type::S64, Some(Rounding::Nearest), k);
        let k = self.sub(k, shift);
        let is_large = self.greater_than(m, SQRT_2);
        let (half, next) = (self.scale(m, 0.5), self.plus(k, 1.0));
        (self.choose(is_large, half, m), self.choose(is_large, next, k))
    }

    /// For m near 1: `f = m - 1`, and what `log(m)` is less than it.
    fn log_near_one(&mut self, m: Register) -> (Register, Register) {
        let f = self.plus(m, -1.0);
        let denominator = self.plus(f, 2.0);
        let s = self.div(f, denominator);
        let z = self.mul(s, s);
        let series = self.polynomial(z, &LOG_SERIES);
        let series = self.mul(series, z);
        let square = self.mul(f, f);
        let half = self.scale(square, 0.5);
        let sum = self.add(half, series);
        let part = self.mul(s, sum);
        (f, self.sub(half, part))
    }

    /// The results of a logarithm at zero, below it, and at infinity.
    fn log_limits(&mut self, result: Register, x: Register) -> Register {
        let infinite = self.number(f64::INFINITY);
        let is_infinite = self.equals(x, f64::INFINITY);
        let result = self.choose(is_infinite, infinite, result);
        let least = self.number(f64::NEG_INFINITY);
        let is_zero = self.equals(x, 0.0);
        let result = self.choose(is_zero, least, result);
        let nan = self.number(f64::NAN);
        let is_negative = self.less_than(x, 0.0);
        let result = self.choose(is_negative, nan, result);
        self.keep_nan(result, x)
    }

    /// `log(x)`: at most 1 ulp.
    pub fn log(&mut self, x: Register) -> Register {
        let (m, k) = self.split(x);
        let (f, less) = self.log_near_one(m);
        let negative = self.neg(less);
        let low = self.scaled_plus(k, LN_2_LOW, negative);
        let low = self.add(f, low);
        let result = self.scaled_plus(k, LN_2_HIGH, low);
        self.log_limits(result, x)
    }

    /// `log2(x)`, exact for powers of two.
    pub fn log2(&mut self, x: Register) -> Register {
        let (m, k) = self.split(x);
        let (f, less) = self.log_near_one(m);
        let log = self.sub(f, less);
        let result = self.scaled_plus(log, LOG2_E, k);
        self.log_limits(result, x)
    }

    /// `log10(x)`.
    pub fn log10(&mut self, x: Register) -> Register {
        const LOG10_2_HIGH: f64 = 3.010_299_956_636_118e-1;
        const LOG10_2_LOW: f64 = 3.694_239_077_158_931e-13;
        let (m, k) = self.split(x);
        let (f, less) = self.log_near_one(m);
        let log = self.sub(f, less);
        let log = self.scale(log, LOG10_E);
        let low = self.scaled_plus(k, LOG10_2_LOW, log);
        let result = self.scaled_plus(k, LOG10_2_HIGH, low);
        self.log_limits(result, x)
    }

    /// `log(1 + x)`: the logarithm of the rounded sum, and what the rounding took.
    pub fn log1p(&mut self, x: Register) -> Register {
        let sum = self.plus(x, 1.0);
        let kept = self.plus(sum, -1.0);
        let lost = self.sub(x, kept);
        let correction = self.div(lost, sum);
        let log = self.log(sum);
        let result = self.add(log, correction);
        // At the ends there is nothing to correct, and where x is tiny it is the result.
        let is_infinite = self.equals(sum, f64::INFINITY);
        let is_zero = self.equals(sum, 0.0);
        let is_limit = self.either(is_infinite, is_zero);
        let result = self.choose(is_limit, log, result);
        let is_tiny = self.equals(sum, 1.0);
        self.choose(is_tiny, x, result)
    }

    /// `x^y`: at most 2 ulp.
    pub fn pow(&mut self, x: Register, y: Register) -> Register {
        let magnitude = self.abs(x);
        let (high, low) = self.log_in_two(magnitude);
        let product = self.mul(y, high);
        let negative = self.neg(product);
        let error = self.fma(y, high, negative);
        let error = self.fma(y, low, error);
        let power = self.exp(product);
        // Where the product is infinite, or the power is, there is no error to speak of.
        let size = self.abs(product);
        let is_finite = self.less_than(size, 745.0);
        let zero = self.number(0.0);
        let error = self.choose(is_finite, error, zero);
        let corrected = self.fma(power, error, power);
        let result = self.choose(is_finite, corrected, power);
        self.pow_limits(x, y, result)
    }

    /// Signs, and the cases that the logarithm cannot tell.
    fn pow_limits(&mut self, x: Register, y: Register, result: Register) -> Register {
        let whole = self.trunc(y);
        let is_whole = self.same(whole, y);
        let half = self.scale(y, 0.5);
        let half_whole = self.trunc(half);
        let is_even = self.same(half_whole, half);
        let is_not_even = self.not(is_even);
        let is_odd = self.both(is_whole, is_not_even);
        let signed = self.with_sign(result, x);
        let result = self.choose(is_odd, signed, result);
        let nan = self.number(f64::NAN);
        let is_negative = self.less_than(x, 0.0);
        let is_finite = self.compare(tegula_ptx::Comparison::Greater, x, f64::NEG_INFINITY);
        let is_broken = self.not(is_whole);
        let is_undefined = self.both(is_negative, is_broken);
        let is_undefined = self.both(is_undefined, is_finite);
        let result = self.choose(is_undefined, nan, result);
        let result = self.keep_nan(result, x);
        let result = self.keep_nan(result, y);
        let one = self.number(1.0);
        let is_one = self.equals(x, 1.0);
        let no_power = self.equals(y, 0.0);
        let minus_one = self.equals(x, -1.0);
        let size = self.abs(y);
        let endless = self.equals(size, f64::INFINITY);
        let alternates = self.both(minus_one, endless);
        let is_one = self.either(is_one, no_power);
        let is_one = self.either(is_one, alternates);
        self.choose(is_one, one, result)
    }

    /// `log(x)` for x >= 0 as the sum of two numbers, to 2^-58 of itself.
    fn log_in_two(&mut self, x: Register) -> (Register, Register) {
        let (m, k) = self.split(x);
        let f = self.plus(m, -1.0);
        let denominator = self.plus(f, 2.0);
        let kept = self.plus(denominator, -2.0);
        let denominator_low = self.sub(f, kept);
        let s = self.div(f, denominator);
        let negative = self.neg(s);
        let rest = self.fma(negative, denominator, f);
        let rest = self.fma(negative, denominator_low, rest);
        let s_low = self.div(rest, denominator);
        // log(m) = 2 s + 2/3 s^3 + 2/5 s^5 + ...
        let z = self.mul(s, s);
        let coefficients: Vec<f64> = (1..13).map(|index| 2.0 / f64::from(2 * index + 1)).collect();
        let series = self.polynomial(z, &coefficients);
        let series = self.mul(series, z);
        let tail = self.mul(series, s);
        let double = self.scale(s, 2.0);
        let start = self.scale(k, LN_2_HIGH);
        // The larger first: k is 0, or the multiple of ln 2 is.
        let sum = self.add(start, double);
        let back = self.sub(sum, start);
        let lost = self.sub(double, back);
        let low = self.scaled_plus(k, LN_2_LOW, tail);
        let low = self.scaled_plus(s_low, 2.0, low);
        let low = self.add(low, lost);
        let high = self.add(sum, low);
        let back = self.sub(high, sum);
        let low = self.sub(low, back);
        let high_limits = self.log_limits(high, x);
        let is_normal = self.same(high, high_limits);
        let zero = self.number(0.0);
        let low = self.choose(is_normal, low, zero);
        (high_limits, low)
    }

    /// The cube root: a power, and a step of Newton's method.
    pub fn cbrt(&mut self, x: Register) -> Register {
        let magnitude = self.abs(x);
        let log = self.log(magnitude);
        let third = self.scale(log, 1.0 / 3.0);
        let y = self.exp(third);
        let square = self.mul(y, y);
        let negative = self.neg(square);
        let error = self.fma(negative, y, magnitude);
        let slope = self.scale(square, 3.0);
        let step = self.div(error, slope);
        let root = self.add(y, step);
        let root = self.with_sign(root, x);
        let is_zero = self.equals(magnitude, 0.0);
        let is_infinite = self.equals(magnitude, f64::INFINITY);
        let is_limit = self.either(is_zero, is_infinite);
        self.choose(is_limit, x, root)
    }
}
