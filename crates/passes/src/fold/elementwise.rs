//! Rules of the operations that work on each element alone.

use super::{Folded, Folder};
use crate::arithmetic;
use smallvec::SmallVec;
use tegula_ir::{BinaryOp, Literal, Op, Predicate, Rounding, Scalar, Span, Type, UnaryOp, Value};

impl Folder<'_> {
    pub(super) fn elementwise(&mut self, op: &Op, ty: &Type, span: Span) -> Option<Folded> {
        if let Some(folded) = self.on_scalars(op, ty, span) {
            return Some(folded);
        }
        if let Some(literal) = self.evaluate(op, ty) {
            return Some(if ty.is_scalar() {
                Folded::Op(Op::Constant(literal))
            } else {
                Folded::Value(self.emit_constant(literal, ty, span))
            });
        }
        match *op {
            Op::Unary { op, value } => self.unary(op, value),
            Op::Binary { op, lhs, rhs } => self.binary(op, lhs, rhs, ty, span),
            Op::Compare { predicate, lhs, rhs } => self.compare(predicate, lhs, rhs, ty, span),
            Op::Select { condition, on_true, on_false } => self.select(condition, on_true, on_false),
            Op::Cast { value, rounding } => self.cast(value, rounding, ty),
            Op::Bitcast { value } if self.ty(value) == ty => Some(Folded::Value(value)),
            Op::Bitcast { value } => match *self.def(value)? {
                Op::Bitcast { value } => Some(Folded::Op(Op::Bitcast { value })),
                _ => None,
            },
            Op::AddPointer { pointer, offset } => self.add_pointer(pointer, offset, span),
            _ => None,
        }
    }

    /// An operation whose operands are all blocks of equal elements is done once, on scalars.
    fn on_scalars(&mut self, op: &Op, ty: &Type, span: Span) -> Option<Folded> {
        if ty.is_scalar() {
            return None;
        }
        let mut all = true;
        let mut scalar_op = op.clone();
        scalar_op.for_each_operand_mut(|value| match self.splat_of(*value) {
            Some(scalar) => *value = scalar,
            None => all = false,
        });
        if !all {
            return None;
        }
        let value = self.emit(scalar_op, Type::scalar(ty.element), span);
        Some(Folded::Op(Op::Splat { value }))
    }

    /// The number that an operation on constants gives.
    fn evaluate(&self, op: &Op, ty: &Type) -> Option<Literal> {
        let of = |value: Value| Some((self.scalar(value)?, self.constant(value)?));
        match *op {
            Op::Unary { op, value } => {
                let (scalar, value) = of(value)?;
                arithmetic::unary(op, scalar, value)
            }
            Op::Binary { op, lhs, rhs } => {
                let ((scalar, lhs), (_, rhs)) = (of(lhs)?, of(rhs)?);
                arithmetic::binary(op, scalar, lhs, rhs)
            }
            Op::Compare { predicate, lhs, rhs } => {
                let ((scalar, lhs), (_, rhs)) = (of(lhs)?, of(rhs)?);
                arithmetic::compare(predicate, scalar, lhs, rhs).map(|truth| Literal::Int(truth.into()))
            }
            Op::Fma { a, b, c } => {
                let ((scalar, a), (_, b), (_, c)) = (of(a)?, of(b)?, of(c)?);
                arithmetic::fma(scalar, a, b, c)
            }
            Op::Cast { value, rounding } => {
                let (from, value) = of(value)?;
                arithmetic::cast(from, ty.element.as_scalar()?, value, rounding)
            }
            Op::Bitcast { value } => {
                let (from, value) = of(value)?;
                arithmetic::bitcast(from, ty.element.as_scalar()?, value)
            }
            _ => None,
        }
    }

    fn unary(&self, op: UnaryOp, value: Value) -> Option<Folded> {
        match (op, self.def(value)?) {
            (UnaryOp::Not, Op::Unary { op: UnaryOp::Not, value }) => Some(Folded::Value(*value)),
            (UnaryOp::Not, &Op::Compare { predicate, lhs, rhs }) => {
                // Of floats only equality has an opposite: where one is NaN, neither < nor >= holds.
                let predicate = match predicate {
                    Predicate::Eq => Predicate::Ne,
                    Predicate::Ne => Predicate::Eq,
                    _ if self.scalar(lhs)?.is_float() => return None,
                    Predicate::Lt => Predicate::Ge,
                    Predicate::Ge => Predicate::Lt,
                    Predicate::Gt => Predicate::Le,
                    Predicate::Le => Predicate::Gt,
                };
                Some(Folded::Op(Op::Compare { predicate, lhs, rhs }))
            }
            (
                UnaryOp::Abs
                | UnaryOp::Floor
                | UnaryOp::Ceil
                | UnaryOp::Trunc
                | UnaryOp::Round
                | UnaryOp::RoundEven,
                Op::Unary { op: inner, .. },
            ) if *inner == op => Some(Folded::Value(value)),
            _ => None,
        }
    }

    fn binary(&mut self, op: BinaryOp, lhs: Value, rhs: Value, ty: &Type, span: Span) -> Option<Folded> {
        let scalar = ty.element.as_scalar()?;
        if scalar.is_float() {
            return self.float_binary(op, lhs, rhs);
        }
        use BinaryOp::*;
        let commutes = matches!(op, Add | Mul | And | Or | Xor | Min | Max | MinNan | MaxNan | MulHigh);
        if commutes && self.constant(lhs).is_some() && self.constant(rhs).is_none() {
            return Some(Folded::Op(Op::Binary { op, lhs: rhs, rhs: lhs }));
        }
        let ones = scalar.wrap(-1);
        let (least, greatest) = arithmetic::bounds(scalar);
        let is = |number| self.is_int(rhs, number);
        match op {
            Add | Sub | Or | Xor | Shl | Shr if is(0) => return Some(Folded::Value(lhs)),
            Mul | Div if is(1) => return Some(Folded::Value(lhs)),
            And if is(ones) => return Some(Folded::Value(lhs)),
            Min | MinNan if is(greatest) => return Some(Folded::Value(lhs)),
            Max | MaxNan if is(least) => return Some(Folded::Value(lhs)),
            And | Or | Min | Max | MinNan | MaxNan if lhs == rhs => return Some(Folded::Value(lhs)),
            // The other operand decides everything; these are the constant itself.
            Mul | And | MulHigh if is(0) => return Some(Folded::Value(rhs)),
            Or if is(ones) => return Some(Folded::Value(rhs)),
            Min | MinNan if is(least) => return Some(Folded::Value(rhs)),
            Max | MaxNan if is(greatest) => return Some(Folded::Value(rhs)),
            Div | Rem if is(0) => return Some(Folded::Value(rhs)),
            Div | Rem | Shl | Shr if self.is_int(lhs, 0) => return Some(Folded::Value(lhs)),
            _ => {}
        }
        // In two's complement, `-1 - x` inverts every bit.
        if op == Sub && self.is_int(lhs, ones) {
            return Some(Folded::Op(Op::Unary { op: UnaryOp::Not, value: rhs }));
        }
        let zero = match op {
            Sub | Xor => lhs == rhs,
            Rem => is(1),
            _ => false,
        };
        if zero {
            return Some(Folded::Value(self.emit_constant(Literal::Int(0), ty, span)));
        }
        self.reassociate(op, lhs, rhs, ty, span)
    }

    /// `(x + 1) + 2` is `x + 3`, as integers wrap; so with products, and with operations on bits.
    fn reassociate(&mut self, op: BinaryOp, lhs: Value, rhs: Value, ty: &Type, span: Span) -> Option<Folded> {
        use BinaryOp::*;
        let scalar = ty.element.as_scalar()?;
        let outer = self.constant(rhs)?;
        let &Op::Binary { op: inner_op, lhs: value, rhs: inner } = self.def(lhs)? else { return None };
        if let (Sub, Add | Sub, Some(first)) = (inner_op, op, self.constant(value)) {
            // `(5 - x) + 2` is `7 - x`.
            let literal = arithmetic::binary(op, scalar, first, outer)?;
            let first = self.emit_constant(literal, ty, span);
            return Some(Folded::Op(Op::Binary { op: Sub, lhs: first, rhs: inner }));
        }
        let inner = self.constant(inner)?;
        let (op, together) = match (inner_op, op) {
            (Add, Add) | (Mul, Mul) | (And, And) | (Or, Or) | (Xor, Xor) => (op, op),
            (Add, Sub) => (Add, Sub),
            (Sub, Add) => (Sub, Sub),
            (Sub, Sub) => (Sub, Add),
            _ => return None,
        };
        let literal = arithmetic::binary(together, scalar, inner, outer)?;
        let rhs = self.emit_constant(literal, ty, span);
        Some(Folded::Op(Op::Binary { op, lhs: value, rhs }))
    }

    fn float_binary(&self, op: BinaryOp, lhs: Value, rhs: Value) -> Option<Folded> {
        use BinaryOp::*;
        let is = |value, number| self.is_float(value, number);
        match op {
            // Adding -0.0 and taking away 0.0 change nothing, zeros included.
            Add if is(rhs, -0.0) => Some(Folded::Value(lhs)),
            Add if is(lhs, -0.0) => Some(Folded::Value(rhs)),
            Sub if is(rhs, 0.0) => Some(Folded::Value(lhs)),
            Mul | Div | DivRn if is(rhs, 1.0) => Some(Folded::Value(lhs)),
            Mul if is(lhs, 1.0) => Some(Folded::Value(rhs)),
            Min | Max | MinNan | MaxNan if lhs == rhs => Some(Folded::Value(lhs)),
            _ => None,
        }
    }

    fn compare(
        &mut self,
        predicate: Predicate,
        lhs: Value,
        rhs: Value,
        ty: &Type,
        span: Span,
    ) -> Option<Folded> {
        use Predicate::*;
        if self.constant(lhs).is_some() && self.constant(rhs).is_none() {
            let predicate = match predicate {
                Eq | Ne => predicate,
                Lt => Gt,
                Le => Ge,
                Gt => Lt,
                Ge => Le,
            };
            return Some(Folded::Op(Op::Compare { predicate, lhs: rhs, rhs: lhs }));
        }
        let scalar = self.scalar(lhs)?;
        if scalar.is_float() {
            return None;
        }
        let (least, greatest) = arithmetic::bounds(scalar);
        let truth = match predicate {
            Eq | Le | Ge if lhs == rhs => true,
            Ne | Lt | Gt if lhs == rhs => false,
            Lt if self.is_int(rhs, least) => false,
            Ge if self.is_int(rhs, least) => true,
            Gt if self.is_int(rhs, greatest) => false,
            Le if self.is_int(rhs, greatest) => true,
            Eq | Ne if scalar == Scalar::Int1 => {
                let wanted = self.constant(rhs)? == Literal::Int(1);
                return Some(if wanted == (predicate == Eq) {
                    Folded::Value(lhs)
                } else {
                    Folded::Op(Op::Unary { op: UnaryOp::Not, value: lhs })
                });
            }
            _ => return None,
        };
        Some(Folded::Value(self.emit_constant(Literal::Int(truth.into()), ty, span)))
    }

    fn select(&mut self, condition: Value, on_true: Value, on_false: Value) -> Option<Folded> {
        if on_true == on_false {
            return Some(Folded::Value(on_true));
        }
        if let Some(literal) = self.constant(condition) {
            return Some(Folded::Value(if literal == Literal::Int(1) { on_true } else { on_false }));
        }
        if self.is_int1(on_true) {
            if self.is_int(on_true, 1) && self.is_int(on_false, 0) {
                return Some(Folded::Value(condition));
            }
            if self.is_int(on_true, 0) && self.is_int(on_false, 1) {
                return Some(Folded::Op(Op::Unary { op: UnaryOp::Not, value: condition }));
            }
        }
        match self.def(condition)? {
            &Op::Unary { op: UnaryOp::Not, value } => {
                Some(Folded::Op(Op::Select { condition: value, on_true: on_false, on_false: on_true }))
            }
            _ => None,
        }
    }

    fn cast(&self, value: Value, rounding: Rounding, ty: &Type) -> Option<Folded> {
        if self.ty(value) == ty {
            return Some(Folded::Value(value));
        }
        let &Op::Cast { value: source, .. } = self.def(value)? else { return None };
        let (from, through, to) = (self.scalar(source)?, self.scalar(value)?, ty.element.as_scalar()?);
        // 8-bit floats saturate, and integers that become floats may not know of the rounding.
        let eight_bits = [from, through, to].into_iter().any(Scalar::is_float8);
        let rounds = rounding != Rounding::NearestEven && from.is_int() && to.is_float();
        // A float that an integer cannot hold becomes the one nearest to it; an integer wraps.
        let wraps = from.is_int() && through.is_float() && to.is_int() && !arithmetic::is_lossless(from, to);
        let exact = arithmetic::is_lossless(from, through) && !eight_bits && !rounds && !wraps;
        let narrows = [from, through, to].into_iter().all(Scalar::is_int)
            && through != Scalar::Int1
            && to != Scalar::Int1
            && to.bits() <= through.bits()
            && through.bits() <= from.bits();
        (exact || narrows).then_some(Folded::Op(Op::Cast { value: source, rounding }))
    }

    fn add_pointer(&mut self, pointer: Value, offset: Value, span: Span) -> Option<Folded> {
        if self.is_int(offset, 0) {
            return Some(Folded::Value(pointer));
        }
        // Moving twice is moving once, if the sum of the two offsets is a number of their type.
        let &Op::AddPointer { pointer: base, offset: first } = self.def(pointer)? else { return None };
        let operands: SmallVec<[Literal; 2]> =
            [first, offset].into_iter().map_while(|value| self.constant(value)).collect();
        let &[Literal::Int(first_number), Literal::Int(number)] = operands.as_slice() else { return None };
        let ty = self.ty(offset).clone();
        if *self.ty(first) != ty {
            return None;
        }
        let sum = first_number.checked_add(number)?;
        let scalar = ty.element.as_scalar().filter(|&scalar| scalar != Scalar::UInt64)?;
        if scalar.wrap(sum) != sum {
            return None;
        }
        let offset = self.emit_constant(Literal::Int(sum), &ty, span);
        Some(Folded::Op(Op::AddPointer { pointer: base, offset }))
    }
}
