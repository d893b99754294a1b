//! Hyperbolic functions and their inverses, in fp64, from `expm1` and `log1p`.

use super::Real;
use std::f64::consts::LN_2;
use tegula_ptx::Register;

/// Beyond this, `exp` overflows before the half of it does.
const LARGE: f64 = 709.0;

impl Real<'_> {
    pub fn sinh(&mut self, x: Register) -> Register {
        let magnitude = self.abs(x);
        let e = self.expm1(magnitude);
        let next = self.plus(e, 1.0);
        let ratio = self.div(e, next);
        let sum = self.add(e, ratio);
        let near = self.scale(sum, 0.5);
        let far = self.half_exp(magnitude);
        let is_near = self.less_than(magnitude, LARGE);
        let result = self.choose(is_near, near, far);
        let result = self.with_sign(result, x);
        self.keep_nan(result, x)
    }

    pub fn cosh(&mut self, x: Register) -> Register {
        let magnitude = self.abs(x);
        let e = self.exp(magnitude);
        let one = self.number(1.0);
        let inverse = self.div(one, e);
        let sum = self.add(e, inverse);
        let near = self.scale(sum, 0.5);
        let far = self.half_exp(magnitude);
        let is_near = self.less_than(magnitude, LARGE);
        let result = self.choose(is_near, near, far);
        self.keep_nan(result, x)
    }

    /// `exp(x) / 2` without overflowing early.
    fn half_exp(&mut self, x: Register) -> Register {
        let half = self.scale(x, 0.5);
        let root = self.exp(half);
        let part = self.scale(root, 0.5);
        self.mul(part, root)
    }

    pub fn tanh(&mut self, x: Register) -> Register {
        let magnitude = self.abs(x);
        let double = self.scale(magnitude, 2.0);
        let e = self.expm1(double);
        let sum = self.plus(e, 2.0);
        let near = self.div(e, sum);
        let two = self.number(-2.0);
        let rest = self.div(two, sum);
        let far = self.plus(rest, 1.0);
        let is_near = self.less_than(magnitude, 1.0);
        let result = self.choose(is_near, near, far);
        let result = self.with_sign(result, x);
        self.keep_nan(result, x)
    }

    pub fn asinh(&mut self, x: Register) -> Register {
        let magnitude = self.abs(x);
        let one = self.number(1.0);
        let under = self.fma(magnitude, magnitude, one);
        let root = self.sqrt(under);
        let below = self.plus(root, 1.0);
        let square = self.mul(magnitude, magnitude);
        let ratio = self.div(square, below);
        let sum = self.add(magnitude, ratio);
        let near = self.log1p(sum);
        let result = self.or_log_of_double(near, magnitude);
        let result = self.with_sign(result, x);
        self.keep_nan(result, x)
    }

    pub fn acosh(&mut self, x: Register) -> Register {
        let t = self.plus(x, -1.0);
        let double = self.scale(t, 2.0);
        let under = self.fma(t, t, double);
        let root = self.sqrt(under);
        let sum = self.add(t, root);
        let near = self.log1p(sum);
        let result = self.or_log_of_double(near, x);
        let nan = self.number(f64::NAN);
        let outside = self.less_than(x, 1.0);
        self.choose(outside, nan, result)
    }

    /// `log(2 x)` for large x, where squares overflow.
    fn or_log_of_double(&mut self, near: Register, x: Register) -> Register {
        let far = self.log(x);
        let far = self.plus(far, LN_2);
        let is_far = self.greater_than(x, 268_435_456.0);
        self.choose(is_far, far, near)
    }

    pub fn atanh(&mut self, x: Register) -> Register {
        let magnitude = self.abs(x);
        let double = self.scale(magnitude, 2.0);
        let one = self.number(1.0);
        let rest = self.sub(one, magnitude);
        let ratio = self.div(double, rest);
        let log = self.log1p(ratio);
        let result = self.scale(log, 0.5);
        let result = self.with_sign(result, x);
        let nan = self.number(f64::NAN);
        let outside = self.greater_than(magnitude, 1.0);
        self.choose(outside, nan, result)
    }
}
