//! Floating-point arithmetic as functions over rows.

use super::LaneFunction;
use super::integer::{binary, ternary, unary};
use crate::number::{BF16, Exact, F16, F32, Format, Mode, double};
use tegula_ptx::{Clamp, Math, MathOp, Type};

/// The NaN that operations of single precision give.
const NAN: u64 = 0x7fff_ffff;

/// An operation of floats; none if it is not one.
pub fn math(math: &Math) -> Option<LaneFunction> {
    match math.ty {
        Type::F32 => quick(math).or_else(|| lanes(math.op, narrow(math, F32)?)),
        Type::F16 => lanes(math.op, narrow(math, F16)?),
        Type::Bf16 => lanes(math.op, narrow(math, BF16)?),
        Type::F16x2 => lanes(math.op, halves(narrow(math, F16)?)),
        Type::Bf16x2 => lanes(math.op, halves(narrow(math, BF16)?)),
        Type::F64 => lanes(math.op, wide(math)?),
        _ => None,
    }
}

/// A function of up to three numbers, by their bits.
trait Scalar: Fn(u64, u64, u64) -> u64 + Send + Sync + 'static {}

impl<F: Fn(u64, u64, u64) -> u64 + Send + Sync + 'static> Scalar for F {}

fn lanes(op: MathOp, f: impl Scalar) -> Option<LaneFunction> {
    Some(match op.arity() {
        1 => unary(move |a| f(a, 0, 0)),
        2 => binary(move |a, b| f(a, b, 0)),
        3 => ternary(f),
        _ => return None,
    })
}

fn halves(f: impl Scalar) -> impl Scalar {
    move |a, b, c| {
        let half = |shift: u32| f(a >> shift & 0xffff, b >> shift & 0xffff, c >> shift & 0xffff) << shift;
        half(0) | half(16)
    }
}

/// The usual operations of single precision, as the processor does them.
fn quick(math: &Math) -> Option<LaneFunction> {
    let plain = math.clamp.is_none() && !math.flush && Mode::of(math.rounding) == Mode::Nearest;
    if !plain {
        return None;
    }
    fn number(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    fn bits(value: f32) -> u64 {
        if value.is_nan() { NAN } else { u64::from(value.to_bits()) }
    }
    Some(match math.op {
        MathOp::Add => binary(|a, b| bits(number(a) + number(b))),
        MathOp::Sub => binary(|a, b| bits(number(a) - number(b))),
        MathOp::Mul => binary(|a, b| bits(number(a) * number(b))),
        MathOp::Fma | MathOp::Mad => ternary(|a, b, c| bits(number(a).mul_add(number(b), number(c)))),
        _ => return None,
    })
}

/// An operation of a format, rounded once.
fn narrow(math: &Math, format: Format) -> Option<impl Scalar> {
    let (op, mode, clamp, flush) = (math.op, Mode::of(math.rounding), math.clamp, math.flush);
    let (propagate, xor_sign) = (math.propagate_nan, math.xor_sign);
    let known = !matches!(
        op,
        MathOp::Rem
            | MathOp::And
            | MathOp::Or
            | MathOp::Xor
            | MathOp::Not
            | MathOp::ShiftLeft
            | MathOp::ShiftRight
            | MathOp::PopulationCount
            | MathOp::LeadingZeros
            | MathOp::ReverseBits
            | MathOp::FindLeading
            | MathOp::ExtractBits
            | MathOp::InsertBits
    );
    known.then_some(move |a: u64, b: u64, c: u64| {
        let [a, b, c] = [a, b, c].map(|bits| if flush { format.flush(bits) } else { bits });
        let [x, y, z] = [a, b, c].map(|bits| format.decode(bits));
        let exact = match op {
            MathOp::Add => Exact::sum(x, y, mode),
            MathOp::Sub => Exact::sum(x, -y, mode),
            MathOp::Mul => Exact::product(x, y),
            MathOp::Fma | MathOp::Mad => Exact::fused(x, y, z, mode),
            MathOp::Div => Exact::quotient(x, y),
            MathOp::Reciprocal => Exact::quotient(1.0, x),
            MathOp::SquareRoot => Exact::square_root(x),
            MathOp::Min | MathOp::Max => {
                let chosen = extreme(format, a, b, op == MathOp::Min, propagate, xor_sign);
                return clamped(format, chosen, clamp);
            }
            MathOp::Abs => return format.absolute(a),
            MathOp::Neg => return format.negated(a),
            MathOp::CopySign => {
                let negative = format.is_negative(a);
                return if negative { format.negated(format.absolute(b)) } else { format.absolute(b) };
            }
            _ => Exact::from(function(op, x)),
        };
        let result = format.encode(exact, mode, false);
        clamped(format, if flush { format.flush(result) } else { result }, clamp)
    })
}

/// The functions that the hardware approximates, which here are as exact as fp64's.
fn function(op: MathOp, x: f64) -> f64 {
    match op {
        MathOp::ReciprocalSquareRoot => 1.0 / x.sqrt(),
        MathOp::Exp2 => x.exp2(),
        MathOp::Log2 => x.log2(),
        MathOp::Sin => x.sin(),
        MathOp::Cos => x.cos(),
        _ => x.tanh(),
    }
}

fn clamped(format: Format, bits: u64, clamp: Option<Clamp>) -> u64 {
    let value = format.decode(bits);
    match clamp {
        None => bits,
        // NaN becomes zero.
        Some(Clamp::Saturate) if value.is_nan() || value <= 0.0 => 0,
        Some(Clamp::Saturate) if value > 1.0 => format.encode(1.0.into(), Mode::Nearest, false),
        Some(Clamp::Saturate) => bits,
        Some(Clamp::Relu) if value.is_nan() => format.nan(),
        Some(Clamp::Relu) if format.is_negative(bits) => 0,
        Some(Clamp::Relu) => bits,
    }
}

/// The smaller or the larger number, -0 below +0. A NaN loses against a number, or with `propagate` wins.
fn extreme(format: Format, a: u64, b: u64, smaller: bool, propagate: bool, xor_sign: bool) -> u64 {
    let negative = format.is_negative(a) != format.is_negative(b);
    let (a, b) = if xor_sign { (format.absolute(a), format.absolute(b)) } else { (a, b) };
    let (x, y) = (format.decode(a), format.decode(b));
    let chosen = match (x.is_nan(), y.is_nan()) {
        (true, true) => format.nan(),
        (true, false) | (false, true) if propagate => format.nan(),
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            let a_is_less = x < y || (x == y && format.is_negative(a));
            if a_is_less == smaller { a } else { b }
        }
    };
    if xor_sign && negative { format.negated(format.absolute(chosen)) } else { chosen }
}

/// An operation of double precision.
fn wide(math: &Math) -> Option<impl Scalar> {
    let (op, mode) = (math.op, Mode::of(math.rounding));
    let known = matches!(
        op,
        MathOp::Add
            | MathOp::Sub
            | MathOp::Mul
            | MathOp::Fma
            | MathOp::Mad
            | MathOp::Div
            | MathOp::SquareRoot
            | MathOp::Reciprocal
            | MathOp::ReciprocalSquareRoot
            | MathOp::Min
            | MathOp::Max
            | MathOp::Abs
            | MathOp::Neg
            | MathOp::CopySign
    );
    const SIGN: u64 = 1 << 63;
    known.then_some(move |a: u64, b: u64, c: u64| {
        let [x, y, z] = [a, b, c].map(f64::from_bits);
        let result = match op {
            MathOp::Add => Exact::sum(x, y, mode).to_double(mode),
            MathOp::Sub => Exact::sum(x, -y, mode).to_double(mode),
            MathOp::Mul => Exact::product(x, y).to_double(mode),
            MathOp::Fma | MathOp::Mad => double::fused(x, y, z, mode),
            MathOp::Div => Exact::quotient(x, y).to_double(mode),
            MathOp::Reciprocal => Exact::quotient(1.0, x).to_double(mode),
            MathOp::SquareRoot => Exact::square_root(x).to_double(mode),
            MathOp::ReciprocalSquareRoot => 1.0 / x.sqrt(),
            MathOp::Min | MathOp::Max if x.is_nan() || y.is_nan() => {
                if x.is_nan() {
                    y
                } else {
                    x
                }
            }
            MathOp::Min | MathOp::Max => {
                let x_is_less = x < y || (x == y && x.is_sign_negative());
                if x_is_less == (op == MathOp::Min) { x } else { y }
            }
            MathOp::Abs => return a & !SIGN,
            MathOp::Neg => return a ^ SIGN,
            _ => return a & SIGN | b & !SIGN,
        };
        result.to_bits()
    })
}
