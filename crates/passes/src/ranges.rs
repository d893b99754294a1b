//! Ranges: between which numbers the elements of integer values lie.
//!
//! Asked for value by value: a mask bounds what it lets through, and sums and products of bounded numbers are bounded. Numbers
//! are those that the bits stand for, without regard to the width; a result that might not fit its type is only known to be one of the type's.

use rustc_hash::FxHashMap;
use tegula_ir::{BinaryOp, Function, Literal, Op, Scalar, UnaryOp, Value, ValueDef};

/// The least and the greatest of some numbers.
pub type Range = (i64, i64);

/// The ranges of a function's integers, found as they are asked for.
#[derive(Debug, Default)]
pub struct Ranges {
    known: FxHashMap<Value, Option<Range>>,
}

impl Ranges {
    /// The range of an integer value of at most 32 bits, or of a wider one that a constant bounds; `None` for other values.
    pub fn of(&mut self, function: &Function, value: Value) -> Option<Range> {
        if let Some(&known) = self.known.get(&value) {
            return known;
        }
        let range = self.find(function, value);
        self.known.insert(value, range);
        range
    }

    fn find(&mut self, function: &Function, value: Value) -> Option<Range> {
        let scalar = function.ty(value).element.as_scalar().filter(|scalar| scalar.is_int())?;
        let whole = bounds(scalar);
        let ValueDef::Result { op, .. } = function.value(value).def else { return whole };
        let found = self.of_op(function, &function.op(op).op, scalar);
        match (found, whole) {
            (Some((low, high)), Some((least, most))) if low < least || high > most => whole,
            (Some(found), _) => Some(found),
            (None, whole) => whole,
        }
    }

    fn of_op(&mut self, function: &Function, op: &Op, scalar: Scalar) -> Option<Range> {
        match *op {
            Op::Constant(Literal::Int(number)) => {
                (number >= 0 || scalar.is_signed()).then_some((number, number))
            }
            Op::Arange { start, end } => Some((start.into(), i64::from(end) - 1)),
            Op::Splat { value }
            | Op::Broadcast { value }
            | Op::ExpandDims { value, .. }
            | Op::Reshape { value }
            | Op::Transpose { value, .. }
            | Op::Slice { value, .. }
            | Op::Index { value, .. }
            | Op::Gather { source: value, .. } => self.of(function, value),
            Op::Cast { value, .. } => self.of(function, value),
            Op::Select { on_true, on_false, .. } => {
                let (a, b) = (self.of(function, on_true)?, self.of(function, on_false)?);
                Some((a.0.min(b.0), a.1.max(b.1)))
            }
            Op::Unary { op: UnaryOp::Popcount | UnaryOp::LeadingZeros, .. } => {
                Some((0, scalar.bits().into()))
            }
            Op::Binary { op, lhs, rhs } => {
                let (a, b) = (self.of(function, lhs), self.of(function, rhs));
                binary(op, a, b)
            }
            _ => None,
        }
    }
}

fn binary(op: BinaryOp, a: Option<Range>, b: Option<Range>) -> Option<Range> {
    let is_natural = |range: &Range| range.0 >= 0;
    // What is not negative bounds what it lets through, whatever the other is.
    if op == BinaryOp::And {
        let bounds = [a, b].into_iter().flatten().filter(is_natural).map(|range| range.1);
        return bounds.min().map(|most| (0, most));
    }
    let (a, b) = (a?, b?);
    match op {
        BinaryOp::Add => Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?)),
        BinaryOp::Sub => Some((a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?)),
        BinaryOp::Mul => {
            let products = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)];
            let products: Option<Vec<i64>> = products.iter().map(|&(a, b)| a.checked_mul(b)).collect();
            let products = products?;
            Some((*products.iter().min()?, *products.iter().max()?))
        }
        BinaryOp::Or | BinaryOp::Xor if is_natural(&a) && is_natural(&b) => {
            let bits = 64 - (a.1 | b.1).leading_zeros();
            (bits < 63).then(|| (0, (1 << bits) - 1))
        }
        BinaryOp::Shr if is_natural(&b) => {
            let least = b.0.min(63) as u32;
            Some(((a.0 >> least).min(0), (a.1 >> least).max(if a.0 < 0 { -1 } else { 0 })))
        }
        BinaryOp::Rem if b.0 > 0 => {
            let most = b.1 - 1;
            let low = if a.0 < 0 { -most } else { 0 };
            Some((low, if a.1 < 0 { 0 } else { a.1.min(most) }))
        }
        BinaryOp::Min | BinaryOp::MinNan => Some((a.0.min(b.0), a.1.min(b.1))),
        BinaryOp::Max | BinaryOp::MaxNan => Some((a.0.max(b.0), a.1.max(b.1))),
        _ => None,
    }
}

/// All that a type holds; `None` of types whose numbers might not fit.
fn bounds(scalar: Scalar) -> Option<Range> {
    match scalar {
        Scalar::Int1 => Some((0, 1)),
        Scalar::Int64 => Some((i64::MIN, i64::MAX)),
        Scalar::UInt64 => None,
        _ if scalar.is_signed() => Some((i64::MIN >> (64 - scalar.bits()), i64::MAX >> (64 - scalar.bits()))),
        _ => Some((0, (1 << scalar.bits()) - 1)),
    }
}
