//! Appends operations to a function, inferring the types of their results.

use crate::function::{Function, OpId, RegionId, Value};
use crate::op::{BinaryOp, Literal, Op, Predicate, Rounding, UnaryOp};
use crate::source::Span;
use crate::types::{Element, Scalar, Shape, Type};

/// Appends operations at the end of a region.
///
/// A builder trusts its caller: operands have the types that the operation asks for, as `verify` checks.
pub struct Builder<'f> {
    function: &'f mut Function,
    /// The regions being built, outermost first; operations go to the last.
    open: Vec<RegionId>,
    span: Span,
}

impl<'f> Builder<'f> {
    /// A builder at the end of the function's body.
    pub fn new(function: &'f mut Function) -> Builder<'f> {
        let body = function.body;
        Builder { function, open: vec![body], span: Span::default() }
    }

    /// Ends the building.
    ///
    /// # Panics
    /// If a region is still open.
    pub fn finish(self) {
        assert_eq!(self.open.len(), 1, "a region is still open");
    }

    /// The function being built.
    pub fn function(&self) -> &Function {
        self.function
    }

    /// The function being built, to be changed.
    pub fn function_mut(&mut self) -> &mut Function {
        self.function
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> &Type {
        self.function.ty(value)
    }

    /// Sets the source position of the operations that follow.
    pub fn set_span(&mut self, span: Span) {
        self.span = span;
    }

    /// The source position given to operations.
    pub fn span(&self) -> Span {
        self.span
    }

    /// The region that operations go to.
    pub fn region(&self) -> RegionId {
        *self.open.last().expect("the body is always open")
    }

    /// Opens a new region with arguments of the given types: operations go there until it is closed.
    pub fn open_region(&mut self, args: impl IntoIterator<Item = Type>) -> RegionId {
        let region = self.function.add_region();
        for ty in args {
            self.function.add_region_arg(region, ty, self.span);
        }
        self.open.push(region);
        region
    }

    /// Closes the innermost region with the values that it yields.
    pub fn close_region(&mut self, yields: impl IntoIterator<Item = Value>) -> RegionId {
        assert!(self.open.len() > 1, "no region is open");
        let region = self.open.pop().expect("checked above");
        self.function.region_mut(region).yields.extend(yields);
        region
    }

    /// How many regions are open, the function's body among them.
    pub fn open_regions(&self) -> usize {
        self.open.len()
    }

    /// Opens a region again: operations go to its end until it is closed.
    pub fn reopen_region(&mut self, region: RegionId) {
        self.open.push(region);
    }

    /// The arguments of a region.
    pub fn args(&self, region: RegionId) -> Vec<Value> {
        self.function.region(region).args.clone()
    }

    /// Appends an operation with results of the given types.
    pub fn push(&mut self, op: Op, results: impl IntoIterator<Item = Type>) -> OpId {
        let id = self.function.add_op(op, results, self.span);
        let region = self.region();
        self.function.region_mut(region).ops.push(id);
        id
    }

    /// Appends an operation with one result, and returns that.
    pub fn value(&mut self, op: Op, ty: Type) -> Value {
        let id = self.push(op, [ty]);
        self.function.op(id).results[0]
    }

    /// Appends an operation, and returns all its results.
    pub fn values(&mut self, op: Op, types: impl IntoIterator<Item = Type>) -> Vec<Value> {
        let id = self.push(op, types);
        self.function.op(id).results.to_vec()
    }

    /// Appends an operation without results.
    pub fn effect(&mut self, op: Op) {
        self.push(op, []);
    }

    /// A scalar integer, or a truth value.
    pub fn int(&mut self, scalar: Scalar, value: i64) -> Value {
        self.value(Op::Constant(Literal::Int(value)), Type::scalar(scalar))
    }

    /// A scalar float, which must be exact in its type.
    pub fn float(&mut self, scalar: Scalar, value: f64) -> Value {
        self.value(Op::Constant(Literal::Float(value)), Type::scalar(scalar))
    }

    /// An elementwise function of one operand.
    pub fn unary(&mut self, op: UnaryOp, value: Value) -> Value {
        let ty = self.ty(value).clone();
        self.value(Op::Unary { op, value }, ty)
    }

    /// An elementwise function of two operands of one type.
    pub fn binary(&mut self, op: BinaryOp, lhs: Value, rhs: Value) -> Value {
        let ty = self.ty(lhs).clone();
        self.value(Op::Binary { op, lhs, rhs }, ty)
    }

    /// A comparison of two operands of one type.
    pub fn compare(&mut self, predicate: Predicate, lhs: Value, rhs: Value) -> Value {
        let ty = self.ty(lhs).with_element(Scalar::Int1);
        self.value(Op::Compare { predicate, lhs, rhs }, ty)
    }

    /// An elementwise choice.
    pub fn select(&mut self, condition: Value, on_true: Value, on_false: Value) -> Value {
        let ty = self.ty(on_true).clone();
        self.value(Op::Select { condition, on_true, on_false }, ty)
    }

    /// A conversion of numbers; nothing if the value has the type already.
    pub fn cast(&mut self, value: Value, to: Scalar, rounding: Rounding) -> Value {
        if self.ty(value).element == Element::Scalar(to) {
            return value;
        }
        let ty = self.ty(value).with_element(to);
        self.value(Op::Cast { value, rounding }, ty)
    }

    /// The same bits as another type of the same width.
    pub fn bitcast(&mut self, value: Value, to: impl Into<Element>) -> Value {
        let to = to.into();
        if self.ty(value).element == to {
            return value;
        }
        let ty = self.ty(value).with_element(to);
        self.value(Op::Bitcast { value }, ty)
    }

    /// A block filled with a scalar; the scalar itself if the shape is that of a scalar.
    pub fn splat(&mut self, value: Value, shape: &Shape) -> Value {
        if shape.rank() == 0 {
            return value;
        }
        let ty = self.ty(value).with_shape(shape.clone());
        self.value(Op::Splat { value }, ty)
    }

    /// A block with its dimensions of extent 1 repeated; nothing if it has the shape already.
    pub fn broadcast(&mut self, value: Value, shape: &Shape) -> Value {
        if self.ty(value).shape == *shape {
            return value;
        }
        let ty = self.ty(value).with_shape(shape.clone());
        self.value(Op::Broadcast { value }, ty)
    }

    /// A dimension of extent 1 inserted before `axis`.
    pub fn expand_dims(&mut self, value: Value, axis: usize) -> Value {
        let ty = self.ty(value);
        let ty = ty.with_shape(ty.shape.with_inserted(axis, 1));
        self.value(Op::ExpandDims { value, axis: axis as u8 }, ty)
    }

    /// A pointer (or a block of them) moved by a number of elements, of the same shape.
    pub fn add_pointer(&mut self, pointer: Value, offset: Value) -> Value {
        let ty = self.ty(pointer).clone();
        self.value(Op::AddPointer { pointer, offset }, ty)
    }
}
