//! Blocks that a few scalars describe: their definitions become arithmetic on registers.

use super::build::Builder;
use super::{Early, Fits, Interval, MultiplyAdd};
use crate::program::{Action, ElementwiseKind, Instruction, Place};
use std::collections::HashMap;
use tegula_ir::{BinaryOp, Predicate, Scalar};

/// Magnitude below which 64-bit offsets are added and scaled without a thought of overflow.
const MODERATE: i64 = 1 << 40;
/// The greatest factor that such offsets are scaled by.
const GREATEST_FACTOR: i64 = 1 << 20;

/// What a block is, as far as that can be a form.
#[derive(Clone, Copy, Debug)]
pub enum Definition {
    Splat(u32),
    Same(u32),
    Range(i64),
    Binary { op: BinaryOp, scalar: Scalar, lhs: Place, rhs: Place },
    Compare { predicate: Predicate, scalar: Scalar, lhs: Place, rhs: Place },
    Pointer { pointer: Place, offset: Place, scalar: Scalar, size: i64 },
    Convert { from: Scalar, to: Scalar, value: Place },
}

/// The definitions of slots, each of which has one.
pub type Definitions = HashMap<u32, Definition>;

impl Definition {
    /// What an instruction defines.
    pub fn of(instruction: &Instruction) -> Option<(u32, Definition)> {
        match &instruction.action {
            Action::Arange { start, out: Place::Block(slot) } => Some((*slot, Definition::Range(*start))),
            Action::Move { value, out: Place::Block(slot) } => Some(match value.place {
                Place::Register(register) => (*slot, Definition::Splat(register)),
                Place::Block(from) => (*slot, Definition::Same(from)),
            }),
            Action::AddPointer(operation) => {
                let Place::Block(slot) = operation.out else { return None };
                let (pointer, offset) = (operation.pointer.place, operation.offset.place);
                let (scalar, size) = (operation.scalar, operation.size);
                Some((slot, Definition::Pointer { pointer, offset, scalar, size }))
            }
            Action::Elementwise(operation) => {
                let Place::Block(slot) = operation.out else { return None };
                if operation.scalar.is_float() || operation.result.is_float() {
                    return None;
                }
                let scalar = operation.scalar;
                let input = |index: usize| operation.inputs[index].place;
                let definition = match operation.kind {
                    ElementwiseKind::Binary(op) => {
                        Definition::Binary { op, scalar, lhs: input(0), rhs: input(1) }
                    }
                    ElementwiseKind::Compare(predicate) => {
                        Definition::Compare { predicate, scalar, lhs: input(0), rhs: input(1) }
                    }
                    ElementwiseKind::Cast => {
                        Definition::Convert { from: scalar, to: operation.result, value: input(0) }
                    }
                    _ => return None,
                };
                Some((slot, definition))
            }
            _ => None,
        }
    }
}

/// A block that registers describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The same for all elements.
    Splat(u32),
    /// `base + i * stride`.
    Numbers { base: u32, stride: i64 },
    /// Truth from the first register's index to before the second's.
    Interval([u32; 2]),
}

/// A linear function of the index.
#[derive(Clone, Copy)]
struct Linear {
    base: u32,
    stride: i64,
}

impl Builder<'_> {
    /// The form of a block, if it has one that does not depend on elements.
    pub fn form(&mut self, slot: u32) -> Option<Form> {
        if let Some(&known) = self.forms.get(&slot) {
            return known;
        }
        let form = self.find_form(slot);
        self.forms.insert(slot, form);
        form
    }

    fn find_form(&mut self, slot: u32) -> Option<Form> {
        if !self.has_extent(slot) {
            return None;
        }
        match self.definition(slot)? {
            Definition::Splat(register) => Some(Form::Splat(register)),
            Definition::Same(from) => self.form(from),
            Definition::Range(start) => Some(Form::Numbers { base: self.constant(start as u64), stride: 1 }),
            Definition::Binary { op: BinaryOp::And, scalar: Scalar::Int1, lhs, rhs } => {
                let (Some(Form::Interval(lhs)), Some(Form::Interval(rhs))) =
                    (self.place_form(lhs), self.place_form(rhs))
                else {
                    return None;
                };
                let out = self.new_interval();
                self.plan.early.push(Early::Intersect { lhs, rhs, out });
                Some(Form::Interval(out))
            }
            Definition::Binary { op, scalar, lhs, rhs } => {
                let (lhs, rhs) = (self.linear(lhs, scalar)?, self.linear(rhs, scalar)?);
                if lhs.stride == 0 && rhs.stride == 0 {
                    return None;
                }
                let result = self.arithmetic(op, lhs, rhs)?;
                self.check(result, scalar)?;
                Some(Form::Numbers { base: result.base, stride: result.stride })
            }
            Definition::Compare { predicate, scalar, lhs, rhs } => {
                let (lhs, rhs) = (self.linear(lhs, scalar)?, self.linear(rhs, scalar)?);
                let stride = lhs.stride.checked_sub(rhs.stride).filter(|&stride| stride != 0)?;
                let (least, greatest) = match predicate {
                    Predicate::Lt => (i64::MIN, -1),
                    Predicate::Le => (i64::MIN, 0),
                    Predicate::Gt => (1, i64::MAX),
                    Predicate::Ge => (0, i64::MAX),
                    Predicate::Eq => (0, 0),
                    Predicate::Ne => return None,
                };
                let base = self.multiply_add(lhs.base, rhs.base, -1);
                let out = self.new_interval();
                self.plan.early.push(Early::Interval(Interval { base, stride, least, greatest, out }));
                Some(Form::Interval(out))
            }
            Definition::Pointer { pointer, offset, scalar, size } => {
                let pointer = self.linear_pointer(pointer)?;
                let offset = self.linear(offset, scalar)?;
                let base = self.multiply_add(pointer.base, offset.base, size);
                let stride = pointer.stride.checked_add(offset.stride.checked_mul(size)?)?;
                Some(Form::Numbers { base, stride })
            }
            Definition::Convert { from, to, value } => {
                if to == Scalar::Int1 || from == Scalar::Int1 {
                    return None;
                }
                let value = self.linear(value, from).filter(|value| value.stride != 0)?;
                self.check(value, to)?;
                Some(Form::Numbers { base: value.base, stride: value.stride })
            }
        }
    }

    fn place_form(&mut self, place: Place) -> Option<Form> {
        match place {
            Place::Register(register) => Some(Form::Splat(register)),
            Place::Block(slot) => self.form(slot),
        }
    }

    /// A block of integers as a linear function of the index.
    fn linear(&mut self, place: Place, scalar: Scalar) -> Option<Linear> {
        limits(scalar)?;
        match self.place_form(place)? {
            Form::Splat(base) => {
                let linear = Linear { base: self.early_register(base)?, stride: 0 };
                if scalar.bits() == 64 {
                    // Narrower ones cannot be beyond their limits.
                    self.check(linear, scalar)?;
                }
                Some(linear)
            }
            Form::Numbers { base, stride } => Some(Linear { base, stride }),
            Form::Interval(_) => None,
        }
    }

    /// A block of pointers as a linear function of the index.
    fn linear_pointer(&mut self, place: Place) -> Option<Linear> {
        match self.place_form(place)? {
            Form::Splat(base) => Some(Linear { base: self.early_register(base)?, stride: 0 }),
            Form::Numbers { base, stride } => Some(Linear { base, stride }),
            Form::Interval(_) => None,
        }
    }

    fn arithmetic(&mut self, op: BinaryOp, lhs: Linear, rhs: Linear) -> Option<Linear> {
        match op {
            BinaryOp::Add => Some(Linear {
                base: self.multiply_add(lhs.base, rhs.base, 1),
                stride: lhs.stride.checked_add(rhs.stride)?,
            }),
            BinaryOp::Sub => Some(Linear {
                base: self.multiply_add(lhs.base, rhs.base, -1),
                stride: lhs.stride.checked_sub(rhs.stride)?,
            }),
            BinaryOp::Mul => {
                let (linear, factor) = if rhs.stride == 0 { (lhs, rhs) } else { (rhs, lhs) };
                let factor = self.constant_value(factor.base).filter(|_| factor.stride == 0)? as i64;
                if factor.checked_abs()? > GREATEST_FACTOR {
                    return None;
                }
                let zero = self.constant(0);
                Some(Linear {
                    base: self.multiply_add(zero, linear.base, factor),
                    stride: linear.stride.checked_mul(factor)?,
                })
            }
            _ => None,
        }
    }

    /// Demands that all values of a block are within the limits of its type.
    fn check(&mut self, linear: Linear, scalar: Scalar) -> Option<()> {
        let (least, greatest) = limits(scalar)?;
        let reach = linear.stride.checked_mul(self.plan.count as i64 - 1)?;
        if reach.abs() > MODERATE {
            return None;
        }
        let (low, high) = (reach.min(0), reach.max(0));
        self.plan.checks.push(Fits { base: linear.base, low, high, least, greatest });
        Some(())
    }

    fn multiply_add(&mut self, a: u32, b: u32, factor: i64) -> u32 {
        let out = self.new_register();
        self.plan.early.push(Early::MultiplyAdd(MultiplyAdd { a, b, factor, out }));
        out
    }

    fn new_interval(&mut self) -> [u32; 2] {
        [self.new_register(), self.new_register()]
    }
}

/// The least and the greatest value that offsets of a type may have here.
fn limits(scalar: Scalar) -> Option<(i64, i64)> {
    match scalar {
        Scalar::Int32 => Some((i32::MIN.into(), i32::MAX.into())),
        Scalar::UInt32 => Some((0, u32::MAX.into())),
        Scalar::Int64 => Some((-MODERATE, MODERATE)),
        Scalar::UInt64 => Some((0, MODERATE)),
        _ => None,
    }
}
