//! Arithmetic on fp64 registers, in which the functions are written.

use crate::lower::emit::Emitter;
use tegula_ptx::{Comparison, MathOp, Operand, Register, Rounding, Type};

/// Appends arithmetic in fp64.
pub(crate) struct Real<'a> {
    pub code: &'a mut Emitter,
}

impl Real<'_> {
    pub fn number(&mut self, value: f64) -> Register {
        self.code.copy(Type::F64, value)
    }

    fn op(&mut self, op: MathOp, sources: &[Operand]) -> Register {
        self.code.rounded(op, Type::F64, sources)
    }

    pub fn add(&mut self, a: Register, b: Register) -> Register {
        self.op(MathOp::Add, &[a.into(), b.into()])
    }

    pub fn sub(&mut self, a: Register, b: Register) -> Register {
        self.op(MathOp::Sub, &[a.into(), b.into()])
    }

    pub fn mul(&mut self, a: Register, b: Register) -> Register {
        self.op(MathOp::Mul, &[a.into(), b.into()])
    }

    pub fn div(&mut self, a: Register, b: Register) -> Register {
        self.op(MathOp::Div, &[a.into(), b.into()])
    }

    pub fn fma(&mut self, a: Register, b: Register, c: Register) -> Register {
        self.op(MathOp::Fma, &[a.into(), b.into(), c.into()])
    }

    pub fn sqrt(&mut self, a: Register) -> Register {
        self.op(MathOp::SquareRoot, &[a.into()])
    }

    pub fn plus(&mut self, a: Register, b: f64) -> Register {
        self.op(MathOp::Add, &[a.into(), b.into()])
    }

    pub fn scale(&mut self, a: Register, factor: f64) -> Register {
        self.op(MathOp::Mul, &[a.into(), factor.into()])
    }

    /// `a * b + c`.
    pub fn scaled_plus(&mut self, a: Register, b: f64, c: Register) -> Register {
        self.op(MathOp::Fma, &[a.into(), b.into(), c.into()])
    }

    pub fn neg(&mut self, a: Register) -> Register {
        self.code.math(MathOp::Neg, Type::F64, &[a.into()])
    }

    pub fn abs(&mut self, a: Register) -> Register {
        self.code.math(MathOp::Abs, Type::F64, &[a.into()])
    }

    pub fn floor(&mut self, a: Register) -> Register {
        self.code.convert(Type::F64, Type::F64, Some(Rounding::DownInteger), a)
    }

    pub fn trunc(&mut self, a: Register) -> Register {
        self.code.convert(Type::F64, Type::F64, Some(Rounding::ZeroInteger), a)
    }

    pub fn nearest(&mut self, a: Register) -> Register {
        self.code.convert(Type::F64, Type::F64, Some(Rounding::NearestInteger), a)
    }

    pub fn compare(&mut self, comparison: Comparison, a: Register, b: impl Into<Operand>) -> Register {
        self.code.compare(comparison, Type::F64, a.into(), b.into())
    }

    pub fn less_than(&mut self, a: Register, b: f64) -> Register {
        self.compare(Comparison::Less, a, b)
    }

    pub fn greater_than(&mut self, a: Register, b: f64) -> Register {
        self.compare(Comparison::Greater, a, b)
    }

    pub fn equals(&mut self, a: Register, b: f64) -> Register {
        self.compare(Comparison::Equal, a, b)
    }

    pub fn same(&mut self, a: Register, b: Register) -> Register {
        self.compare(Comparison::Equal, a, b)
    }

    pub fn choose(&mut self, predicate: Register, on_true: Register, on_false: Register) -> Register {
        self.code.select(Type::F64, predicate, on_true.into(), on_false.into())
    }

    pub fn either(&mut self, a: Register, b: Register) -> Register {
        self.code.math(MathOp::Or, Type::Pred, &[a.into(), b.into()])
    }

    pub fn both(&mut self, a: Register, b: Register) -> Register {
        self.code.math(MathOp::And, Type::Pred, &[a.into(), b.into()])
    }

    pub fn not(&mut self, a: Register) -> Register {
        self.code.math(MathOp::Not, Type::Pred, &[a.into()])
    }

    /// The magnitude of one number with the sign of another.
    pub fn with_sign(&mut self, magnitude: Register, sign: Register) -> Register {
        self.code.math(MathOp::CopySign, Type::F64, &[sign.into(), magnitude.into()])
    }

    /// The result, or the argument where that is NaN.
    pub fn keep_nan(&mut self, result: Register, x: Register) -> Register {
        let is_nan = self.compare(Comparison::Unordered, x, x);
        self.choose(is_nan, x, result)
    }

    /// The number whose lower 32 bits are zero.
    pub fn upper_half(&mut self, x: Register) -> Register {
        self.code.math(MathOp::And, Type::B64, &[x.into(), Operand::Integer(-1 << 32)])
    }

    /// Horner's rule; the coefficients stand lowest first.
    pub fn polynomial(&mut self, x: Register, coefficients: &[f64]) -> Register {
        let (&last, rest) = coefficients.split_last().expect("a polynomial has coefficients");
        let mut sum = self.number(last);
        for &coefficient in rest.iter().rev() {
            sum = self.op(MathOp::Fma, &[sum.into(), x.into(), coefficient.into()]);
        }
        sum
    }

    pub fn ratio(&mut self, x: Register, numerator: &[f64], denominator: &[f64]) -> Register {
        let upper = self.polynomial(x, numerator);
        let lower = self.polynomial(x, denominator);
        self.div(upper, lower)
    }

    /// A whole number as a signed 64-bit integer.
    pub fn integer(&mut self, x: Register) -> Register {
        self.code.convert(Type::S64, Type::F64, Some(Rounding::ZeroInteger), x)
    }

    /// `2^n` for an integer `-1022 <= n <= 1023`.
    fn power_of_two(&mut self, n: Register) -> Register {
        let biased = self.code.math(MathOp::Add, Type::S64, &[n.into(), Operand::Integer(1023)]);
        self.code.math(MathOp::ShiftLeft, Type::B64, &[biased.into(), Operand::Integer(52)])
    }

    /// `x * 2^n`, in two steps, so that a subnormal result is rounded once.
    pub fn times_power_of_two(&mut self, x: Register, n: Register) -> Register {
        let half = self.code.math(MathOp::ShiftRight, Type::S64, &[n.into(), Operand::Integer(1)]);
        let rest = self.code.math(MathOp::Sub, Type::S64, &[n.into(), half.into()]);
        let (first, second) = (self.power_of_two(half), self.power_of_two(rest));
        let product = self.mul(x, first);
        self.mul(product, second)
    }
}
