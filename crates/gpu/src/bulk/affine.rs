//! Blocks of indices and of pointers as sums: a part that is the same for all elements, and for each axis a multiple of the index.
//!
//! ```text
//! a_ptr + (pid * 128 + rows)[:, None] * stride + columns[None, :]
//! -> base a_ptr, start pid * 128 * stride, axes [stride, 1]
//! ```
//!
//! Carried values of the loop are sums of what they start with and of what every iteration adds. 32-bit arithmetic is taken
//! not to wrap around, as an address that did would lead nowhere.

use super::polynomial::{Polynomial, Symbol};
use crate::nesting::{contains, encloses};
use rustc_hash::FxHashMap;
use tegula_ir::{BinaryOp, Function, Literal, Op, OpId, RegionId, Value, ValueDef};

/// The form of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Affine {
    /// The pointer parameter that it counts from.
    pub base: Option<Value>,
    /// What all elements have in common, in elements of what is pointed to.
    pub start: Polynomial,
    /// By how much an element differs from its neighbour along each axis.
    pub axes: Vec<Polynomial>,
}

/// Indices `(start + i) % modulus` along an axis that do not wrap around inside of the block, if `modulus` is a multiple of the
/// block's extent: `start` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrap {
    pub start: Polynomial,
    pub modulus: Value,
    pub extent: u32,
}

/// Finds the forms of values as a loop sees them.
pub(super) struct Forms<'f> {
    function: &'f Function,
    /// The loop.
    op: OpId,
    body: RegionId,
    known: FxHashMap<Value, Option<Affine>>,
    pub wraps: Vec<Wrap>,
}

impl Affine {
    fn scalar(start: Polynomial) -> Affine {
        Affine { base: None, start, axes: Vec::new() }
    }

    /// Whether all elements are the same.
    pub fn is_uniform(&self) -> bool {
        self.axes.iter().all(Polynomial::is_zero)
    }

    fn combine(
        &self,
        other: &Affine,
        join: impl Fn(&Polynomial, &Polynomial) -> Polynomial,
    ) -> Option<Affine> {
        let base = match (self.base, other.base) {
            (Some(_), Some(_)) => return None,
            (base, None) | (None, base) => base,
        };
        let axes = self.axes.iter().zip(&other.axes).map(|(a, b)| join(a, b)).collect();
        Some(Affine { base, start: join(&self.start, &other.start), axes })
    }

    pub fn plus(&self, other: &Affine) -> Option<Affine> {
        self.combine(other, Polynomial::plus)
    }

    pub fn minus(&self, other: &Affine) -> Option<Affine> {
        if other.base.is_some() { None } else { self.combine(other, Polynomial::minus) }
    }

    /// The product, if one of them is the same everywhere.
    fn times(&self, other: &Affine) -> Option<Affine> {
        let (uniform, varying) = if self.is_uniform() { (self, other) } else { (other, self) };
        if !uniform.is_uniform() || uniform.base.is_some() || varying.base.is_some() {
            return None;
        }
        let axes = varying.axes.iter().map(|axis| axis.times(&uniform.start)).collect();
        Some(Affine { base: None, start: varying.start.times(&uniform.start), axes })
    }
}

impl<'f> Forms<'f> {
    pub fn new(function: &'f Function, op: OpId, body: RegionId) -> Forms<'f> {
        Forms { function, op, body, known: FxHashMap::default(), wraps: Vec::new() }
    }

    pub fn function(&self) -> &'f Function {
        self.function
    }

    /// The form of an integer or a pointer, scalar or block; `None` if it has none.
    pub fn of(&mut self, value: Value) -> Option<Affine> {
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        // A carried value is found while its own form is asked for.
        self.known.insert(value, None);
        let form = self.decompose(value).or_else(|| self.opaque(value));
        self.known.insert(value, form.clone());
        form
    }

    /// A scalar of which nothing is known but that it stays the same in the loop.
    fn opaque(&self, value: Value) -> Option<Affine> {
        let ty = self.function.ty(value);
        let is_integer = ty.element.as_scalar().is_some_and(|scalar| scalar.is_int());
        let is_outside = match self.function.value(value).def {
            ValueDef::Param(_) => true,
            ValueDef::Result { op, .. } => !contains(self.function, self.body, op),
            ValueDef::RegionArg { region, .. } => !encloses(self.function, self.body, region),
        };
        let form = Affine::scalar(Polynomial::symbol(Symbol::Value(value)));
        (ty.is_scalar() && is_integer && is_outside).then_some(form)
    }

    fn decompose(&mut self, value: Value) -> Option<Affine> {
        let function = self.function;
        let shape = &function.ty(value).shape;
        let op = match function.value(value).def {
            ValueDef::Param(_) => {
                let is_pointer = function.ty(value).element.as_scalar().is_none();
                return is_pointer
                    .then(|| Affine { base: Some(value), ..Affine::scalar(Polynomial::default()) });
            }
            ValueDef::RegionArg { region, index } if region == self.body => return self.carried(index),
            ValueDef::RegionArg { .. } => return None,
            ValueDef::Result { op, .. } => op,
        };
        match &function.op(op).op {
            Op::Constant(Literal::Int(number)) => Some(Affine::scalar(Polynomial::constant(*number))),
            Op::Arange { start, .. } => {
                let axes = vec![Polynomial::constant(1)];
                Some(Affine { base: None, start: Polynomial::constant(i64::from(*start)), axes })
            }
            Op::Splat { value } => {
                let form = self.of(*value)?;
                Some(Affine { axes: vec![Polynomial::default(); shape.rank()], ..form })
            }
            Op::Broadcast { value } | Op::Annotate { value, .. } => self.of(*value),
            Op::ExpandDims { value, axis } => {
                let mut form = self.of(*value)?;
                form.axes.insert(*axis as usize, Polynomial::default());
                Some(form)
            }
            Op::Transpose { value, permutation } => {
                let form = self.of(*value)?;
                let axes = permutation.iter().map(|&axis| form.axes[axis as usize].clone()).collect();
                Some(Affine { axes, ..form })
            }
            Op::Cast { value: operand, .. } => {
                let [from, to] = [*operand, value].map(|value| function.ty(value).element.as_scalar());
                let (from, to) = (from?, to?);
                let widens = from.is_int() && to.is_int() && to.bits() >= from.bits() && from.bits() >= 32;
                if widens { self.of(*operand) } else { None }
            }
            Op::AddPointer { pointer, offset } => {
                let (pointer, offset) = (self.of(*pointer)?, self.of(*offset)?);
                pointer.plus(&offset)
            }
            Op::Binary { op: BinaryOp::Rem, lhs, rhs } => self.wrapped(*lhs, *rhs),
            Op::Binary { op, lhs, rhs } => {
                let join = match op {
                    BinaryOp::Add => Affine::plus,
                    BinaryOp::Sub => Affine::minus,
                    BinaryOp::Mul => Affine::times,
                    _ => return None,
                };
                let (lhs, rhs) = (self.of(*lhs)?, self.of(*rhs)?);
                join(&lhs, &rhs)
            }
            _ => None,
        }
    }

    /// The loop's index, or a carried value to which every iteration adds the same.
    fn carried(&mut self, index: u32) -> Option<Affine> {
        let function = self.function;
        let Op::For { lower, step, inits, .. } = &function.op(self.op).op else { return None };
        let region = function.region(self.body);
        let (start, increment) = match (index as usize).checked_sub(1) {
            None => (self.of(*lower)?, self.of(*step)?),
            Some(place) => {
                let increment = self.added(region.yields[place], region.args[place + 1])?;
                (self.of(inits[place])?, increment)
            }
        };
        if !increment.is_uniform() || increment.base.is_some() || increment.start.has(Symbol::Iteration) {
            return None;
        }
        let start_of_all = start.start.plus(&increment.start.times(&Polynomial::symbol(Symbol::Iteration)));
        Some(Affine { start: start_of_all, ..start })
    }

    /// What has been added to `from` to make `value`.
    fn added(&mut self, value: Value, from: Value) -> Option<Affine> {
        if value == from {
            let axes = vec![Polynomial::default(); self.function.ty(value).shape.rank()];
            return Some(Affine { axes, ..Affine::scalar(Polynomial::default()) });
        }
        let ValueDef::Result { op, .. } = self.function.value(value).def else { return None };
        let (inner, more) = match &self.function.op(op).op {
            Op::AddPointer { pointer, offset } => (*pointer, *offset),
            Op::Binary { op: BinaryOp::Add, lhs, rhs } => (*lhs, *rhs),
            _ => return None,
        };
        let (before, more) = (self.added(inner, from)?, self.of(more)?);
        before.plus(&more)
    }

    /// `block % modulus` of consecutive indices.
    fn wrapped(&mut self, block: Value, modulus: Value) -> Option<Affine> {
        let function = self.function;
        let ValueDef::Result { op, .. } = function.value(modulus).def else { return None };
        let Op::Splat { value: modulus } = function.op(op).op else { return None };
        let shape = &function.ty(block).shape;
        if shape.rank() != 1 {
            return None;
        }
        let extent = shape[0];
        let form = self.of(block)?;
        let is_line = form.axes[0].as_constant() == Some(1) && form.start.is_multiple_of(extent.into());
        let modulus_form = self.of(modulus)?;
        if !is_line || modulus_form.start != Polynomial::symbol(Symbol::Value(modulus)) {
            return None;
        }
        let wrap = Wrap { start: form.start, modulus, extent };
        let number = self.wraps.iter().position(|known| *known == wrap).unwrap_or_else(|| {
            self.wraps.push(wrap);
            self.wraps.len() - 1
        });
        Some(Affine {
            base: None,
            start: Polynomial::symbol(Symbol::Wrapped(number as u32)),
            axes: form.axes,
        })
    }
}
