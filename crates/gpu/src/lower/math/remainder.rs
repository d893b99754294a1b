//! Remainders and rounding, in fp64: exact.

use super::Real;
use tegula_ptx::{Comparison, MathOp, Operand, Register, Type};

/// Bits of a quotient that one step takes off: fewer than a quotient can be exact to.
const STEP_BITS: i64 = 50;

impl Real<'_> {
    /// To the nearest integer, halves away from zero.
    pub fn round(&mut self, x: Register) -> Register {
        let whole = self.trunc(x);
        let rest = self.sub(x, whole);
        let rest = self.abs(rest);
        let one = self.number(1.0);
        let step = self.with_sign(one, x);
        let further = self.add(whole, step);
        let is_far = self.compare(Comparison::GreaterEqual, rest, 0.5);
        let result = self.choose(is_far, further, whole);
        self.with_sign(result, x)
    }

    /// `sqrt(a^2 + b^2)`, without overflow on the way.
    pub fn hypot(&mut self, a: Register, b: Register) -> Register {
        let (a, b) = (self.abs(a), self.abs(b));
        let is_greater = self.compare(Comparison::Greater, a, b);
        let long = self.choose(is_greater, a, b);
        let short = self.choose(is_greater, b, a);
        let ratio = self.div(short, long);
        let one = self.number(1.0);
        let square = self.fma(ratio, ratio, one);
        let root = self.sqrt(square);
        let product = self.mul(long, root);
        let nothing = self.equals(short, 0.0);
        let product = self.choose(nothing, long, product);
        let product = self.keep_nan(product, a);
        let product = self.keep_nan(product, b);
        let (first, second) = (self.equals(a, f64::INFINITY), self.equals(b, f64::INFINITY));
        let endless = self.either(first, second);
        let infinite = self.number(f64::INFINITY);
        self.choose(endless, infinite, product)
    }

    /// The remainder of `a / b` rounded towards zero, with the sign of a: `fmod`.
    pub fn modulo(&mut self, a: Register, b: Register) -> Register {
        let (size, unit) = (self.abs(a), self.abs(b));
        let result = self.modulo_positive(size, unit);
        let result = self.with_sign(result, a);
        self.remainder_limits(result, a, b)
    }

    /// The remainder of `a / b` rounded to the nearest, halves to even.
    pub fn remainder(&mut self, a: Register, b: Register) -> Register {
        let (size, unit) = (self.abs(a), self.abs(b));
        let double = self.scale(unit, 2.0);
        let rest = self.modulo_positive(size, double);
        // Between 0 and twice the unit: take it off once or twice. Half of the unit stays if the quotient is even.
        let twice = self.scale(rest, 2.0);
        let once = self.compare(Comparison::Greater, twice, unit);
        let less = self.sub(rest, unit);
        let rest = self.choose(once, less, rest);
        let twice = self.scale(rest, 2.0);
        let again = self.compare(Comparison::GreaterEqual, twice, unit);
        let again = self.both(once, again);
        let less = self.sub(rest, unit);
        let rest = self.choose(again, less, rest);
        let opposite = self.neg(rest);
        let is_negative = self.code.compare(Comparison::Less, Type::S64, a.into(), Operand::Integer(0));
        let result = self.choose(is_negative, opposite, rest);
        self.remainder_limits(result, a, b)
    }

    fn remainder_limits(&mut self, result: Register, a: Register, b: Register) -> Register {
        let nan = self.number(f64::NAN);
        let (size, unit) = (self.abs(a), self.abs(b));
        let endless = self.equals(size, f64::INFINITY);
        let nothing = self.equals(unit, 0.0);
        let undefined = self.either(endless, nothing);
        let whole = self.equals(unit, f64::INFINITY);
        let result = self.choose(whole, a, result);
        let result = self.choose(undefined, nan, result);
        let result = self.keep_nan(result, a);
        self.keep_nan(result, b)
    }

    /// For finite positive numbers: multiples of the unit, times a power of two, are taken off while any fit.
    fn modulo_positive(&mut self, size: Register, unit: Register) -> Register {
        let rest = self.code.copy(Type::F64, size);
        let (start, end) = (self.code.label(), self.code.label());
        let finite = self.less_than(size, f64::INFINITY);
        let positive = self.greater_than(unit, 0.0);
        let sensible = self.both(finite, positive);
        self.code.place(start);
        let fits = self.compare(Comparison::GreaterEqual, rest, unit);
        let fits = self.both(fits, sensible);
        self.code.branch(Some(crate::lower::emit::fails(fits)), end, false);
        let exponent = |real: &mut Self, x: Register| {
            real.code.math(MathOp::ShiftRight, Type::U64, &[x.into(), Operand::Integer(52)])
        };
        let (high, low) = (exponent(self, rest), exponent(self, unit));
        let distance = self.code.math(MathOp::Sub, Type::S64, &[high.into(), low.into()]);
        let distance =
            self.code.math(MathOp::Sub, Type::S64, &[distance.into(), Operand::Integer(STEP_BITS)]);
        let distance = self.code.math(MathOp::Max, Type::S64, &[distance.into(), Operand::Integer(0)]);
        let multiple = self.times_power_of_two(unit, distance);
        let quotient = self.div(rest, multiple);
        let quotient = self.trunc(quotient);
        let negative = self.neg(quotient);
        let next = self.fma(negative, multiple, rest);
        // The quotient may have been rounded up to an integer.
        let corrected = self.add(next, multiple);
        let below = self.less_than(next, 0.0);
        let next = self.choose(below, corrected, next);
        self.code.assign(rest, next);
        self.code.branch(None, start, false);
        self.code.place(end);
        rest
    }
}
