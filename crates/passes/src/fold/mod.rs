//! Folding: operations on known or repeated values become simpler ones.
//!
//! ```text
//! %0 = constant 1024 : i32                      %0 = constant 1024 : i32
//! %1 = splat %0 : <64xi32>                      %1 = constant 1025 : i32
//! %2 = constant 1 : i32                  =>     %2 = splat %1 : <64xi32>
//! %3 = splat %2 : <64xi32>
//! %4 = add %1, %3 : <64xi32>
//! ```
//!
//! One walk, from definitions to uses: when an operation is looked at, its operands are already as simple as
//! they get. The rules of single operations are in [`elementwise`] and [`shape`], those of memory
//! and other effects in [`effects`], those of loops and branches in [`control`].
//! A rule may change no result in any bit: floats are not reassociated, and `x + 0.0` stays, since x may be -0.0.

mod control;
mod effects;
mod elementwise;
mod shape;

use crate::replacement::Replacements;
use tegula_ir::{Element, Function, Literal, Op, OpId, RegionId, Scalar, Shape, Span, Type, Value};

/// Folds a function. Returns whether anything changed; what is no longer used is left for `dce`.
pub fn fold(function: &mut Function) -> bool {
    let body = function.body;
    let mut folder = Folder { function, replaced: Replacements::default(), out: Vec::new(), changed: false };
    folder.region(body);
    folder.changed
}

/// What an operation with one result becomes.
enum Folded {
    /// A value that is there already.
    Value(Value),
    /// Another operation with the same result.
    Op(Op),
}

struct Folder<'f> {
    function: &'f mut Function,
    replaced: Replacements,
    /// The operations of the region being rebuilt.
    out: Vec<OpId>,
    changed: bool,
}

impl Folder<'_> {
    fn region(&mut self, region: RegionId) {
        let ops = std::mem::take(&mut self.function.region_mut(region).ops);
        let outer = std::mem::replace(&mut self.out, Vec::with_capacity(ops.len()));
        for op in ops {
            self.op(op);
        }
        let ops = std::mem::replace(&mut self.out, outer);
        let replaced = &self.replaced;
        let data = self.function.region_mut(region);
        data.ops = ops;
        for value in &mut data.yields {
            *value = replaced.resolve(*value);
        }
    }

    /// Puts the operations of a region in the place of the one that owns it, with values for the region's arguments.
    /// Returns what the region yields.
    fn inline(&mut self, region: RegionId, arguments: &[Value]) -> Vec<Value> {
        let data = std::mem::take(self.function.region_mut(region));
        for (&arg, &value) in data.args.iter().zip(arguments) {
            self.replaced.replace(arg, value);
        }
        for op in data.ops {
            self.op(op);
        }
        data.yields.into_iter().map(|value| self.replaced.resolve(value)).collect()
    }

    fn op(&mut self, id: OpId) {
        let replaced = &self.replaced;
        self.function.op_mut(id).op.for_each_operand_mut(|value| *value = replaced.resolve(*value));
        match &self.function.op(id).op {
            Op::If { .. }
            | Op::For { .. }
            | Op::While { .. }
            | Op::MapElementwise { .. }
            | Op::Reduce { .. }
            | Op::Scan { .. } => return self.control(id),
            Op::Load { .. } => return self.load(id),
            Op::Store { .. } | Op::AtomicRmw { .. } | Op::Assert { .. } | Op::Assume { .. } => {
                return self.effect(id);
            }
            Op::Split { .. } => {
                if !self.several_results(id) {
                    self.out.push(id);
                }
                return;
            }
            _ => {}
        }
        let &[result] = self.function.op(id).results.as_slice() else {
            self.out.push(id);
            return;
        };
        let ty = self.function.ty(result).clone();
        let span = self.function.op(id).span;
        loop {
            let op = self.function.op(id).op.clone();
            match self.simplify(&op, &ty, span) {
                None => break,
                Some(Folded::Value(value)) => {
                    self.changed = true;
                    self.replaced.replace(result, value);
                    return;
                }
                Some(Folded::Op(op)) => {
                    self.changed = true;
                    self.function.op_mut(id).op = op;
                }
            }
        }
        self.out.push(id);
    }

    /// What an operation with one result and no regions becomes, if anything.
    fn simplify(&mut self, op: &Op, ty: &Type, span: Span) -> Option<Folded> {
        if op.is_elementwise() { self.elementwise(op, ty, span) } else { self.shape(op, ty, span) }
    }

    /// A new operation, folded itself, before the one being looked at.
    fn emit(&mut self, op: Op, ty: Type, span: Span) -> Value {
        let id = self.function.add_op(op, [ty], span);
        let result = self.function.op(id).results[0];
        self.op(id);
        self.replaced.resolve(result)
    }

    /// A constant of the given type, be it a scalar or a block.
    fn emit_constant(&mut self, literal: Literal, ty: &Type, span: Span) -> Value {
        let scalar = self.emit(Op::Constant(literal), Type::scalar(ty.element), span);
        self.emit_splat(scalar, &ty.shape, span)
    }

    /// A block of equal elements, or the scalar itself.
    fn emit_splat(&mut self, value: Value, shape: &Shape, span: Span) -> Value {
        if shape.rank() == 0 {
            return value;
        }
        let ty = self.function.ty(value).with_shape(shape.clone());
        self.emit(Op::Splat { value }, ty, span)
    }

    fn ty(&self, value: Value) -> &Type {
        self.function.ty(value)
    }

    fn scalar(&self, value: Value) -> Option<Scalar> {
        self.ty(value).element.as_scalar()
    }

    /// The operation that computes a value.
    fn def(&self, value: Value) -> Option<&Op> {
        self.function.defining_op(value).map(|data| &data.op)
    }

    /// The scalar that all elements of a block equal.
    fn splat_of(&self, value: Value) -> Option<Value> {
        match self.def(value) {
            Some(Op::Splat { value }) => Some(*value),
            _ => None,
        }
    }

    /// The number that a scalar, or every element of a block, equals.
    fn constant(&self, value: Value) -> Option<Literal> {
        match self.def(value)? {
            Op::Constant(literal) => Some(*literal),
            Op::Splat { value } => self.constant(*value),
            _ => None,
        }
    }

    fn is_int(&self, value: Value, number: i64) -> bool {
        self.constant(value) == Some(Literal::Int(number))
    }

    fn is_float(&self, value: Value, number: f64) -> bool {
        self.constant(value) == Some(Literal::Float(number))
    }

    fn is_int1(&self, value: Value) -> bool {
        self.ty(value).element == Element::Scalar(Scalar::Int1)
    }
}
