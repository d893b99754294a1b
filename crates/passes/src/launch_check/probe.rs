//! Evaluates single elements: what one program, in one iteration of its loops, computes for one lane.
//!
//! Only integers and pointers are evaluated; what depends on memory or on floats is unknown, and so is what a `while` carries.
//! Carried values of a `for` are known if each iteration adds the same to them.

use super::Launch;
use super::place::Places;
use crate::arithmetic;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tegula_ir::{
    BinaryOp, Element, Function, Literal, Op, OpId, RegionId, Scalar, Shape, UnaryOp, Value, ValueDef,
};

/// Expressions deeper than this are unknown, so that unrolled sums without end do not exhaust the stack.
const MAX_DEPTH: u32 = 200;

/// After so many operations everything is unknown: no launch shall wait for its own warnings.
const MAX_STEPS: u32 = 20_000;

/// The index of an element in a block, outermost dimension first; empty for a scalar.
pub type Lane = SmallVec<[u32; 4]>;

/// An integer, or a pointer as its address.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// What the program computes, in the form of [`Literal::Int`].
    pub value: i64,
    /// What it would compute if no sum, difference or product wrapped.
    pub exact: i128,
    /// The first operation that wrapped.
    pub wrapped_at: Option<OpId>,
}

/// Which iteration of every loop is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iteration {
    First,
    Last,
}

/// One program of a launch, in one iteration of its loops.
pub struct Probe<'f> {
    function: &'f Function,
    places: &'f Places,
    launch: &'f Launch<'f>,
    program: [u32; 3],
    iteration: Iteration,
    known: FxHashMap<(Value, Lane), Number>,
    depth: u32,
    steps: u32,
}

impl<'f> Probe<'f> {
    /// A program of a launch.
    pub fn new(
        function: &'f Function,
        places: &'f Places,
        launch: &'f Launch<'f>,
        program: [u32; 3],
        iteration: Iteration,
    ) -> Probe<'f> {
        let known = FxHashMap::default();
        Probe { function, places, launch, program, iteration, known, depth: 0, steps: 0 }
    }

    /// The program that is looked at.
    pub fn program(&self) -> [u32; 3] {
        self.program
    }

    /// Whether the program certainly comes to the operations of a region, in the iteration that is looked at.
    pub fn reaches(&mut self, region: RegionId) -> bool {
        let Some(owner) = self.places.owner(region) else { return true };
        let entered = match self.function.op(owner).op {
            Op::For { lower, upper, step, .. } => {
                self.trips(lower, upper, step).is_some_and(|(_, _, trips)| trips > 0)
            }
            Op::If { condition, then, .. } => {
                let taken = self.scalar(condition).map(|number| number.value != 0);
                taken == Some(region == then)
            }
            _ => false,
        };
        entered && self.reaches(self.places.region_of(owner))
    }

    /// The value of a scalar.
    pub fn scalar(&mut self, value: Value) -> Option<Number> {
        self.element(value, &[])
    }

    /// One element of a value; `None` if it is unknown.
    pub fn element(&mut self, value: Value, lane: &[u32]) -> Option<Number> {
        let key = (value, Lane::from_slice(lane));
        if let Some(known) = self.known.get(&key) {
            return Some(*known);
        }
        self.steps += 1;
        if self.depth >= MAX_DEPTH || self.steps > MAX_STEPS {
            return None;
        }
        self.depth += 1;
        let number = self.compute(value, lane);
        self.depth -= 1;
        self.known.insert(key, number?);
        number
    }

    fn compute(&mut self, value: Value, lane: &[u32]) -> Option<Number> {
        match self.function.value(value).def {
            ValueDef::Param(index) => self.parameter(index as usize),
            ValueDef::Result { op, index } => self.result(op, index as usize, value, lane),
            ValueDef::RegionArg { region, index } => self.region_argument(region, index as usize, lane),
        }
    }

    fn parameter(&self, index: usize) -> Option<Number> {
        let bits = *self.launch.arguments.get(index)?;
        match self.function.params[index].ty.element {
            Element::Scalar(scalar) if scalar.is_float() => None,
            Element::Scalar(scalar) => Some(known(scalar, bits as i64)),
            Element::Pointer(_) => Some(known(Scalar::UInt64, bits as i64)),
        }
    }

    fn result(&mut self, id: OpId, index: usize, value: Value, lane: &[u32]) -> Option<Number> {
        let function = self.function;
        let ty = function.ty(value);
        let with = |axis: usize, position: u32| {
            let mut lane = Lane::from_slice(lane);
            lane[axis] = position;
            lane
        };
        match &function.op(id).op {
            Op::Constant(Literal::Int(value)) => Some(known(integer(ty.element)?, *value)),
            Op::ProgramId { axis } => Some(known(Scalar::Int32, self.program[usize::from(*axis)].into())),
            Op::NumPrograms { axis } => {
                Some(known(Scalar::Int32, self.launch.grid[usize::from(*axis)].into()))
            }
            Op::Arange { start, .. } => {
                Some(known(Scalar::Int32, i64::from(*start) + i64::from(*lane.first()?)))
            }
            Op::Splat { value } => self.element(*value, &[]),
            Op::Broadcast { value } => {
                let extents = &function.ty(*value).shape;
                let lane: Lane =
                    lane.iter().zip(extents.iter()).map(|(&at, &extent)| at.min(extent - 1)).collect();
                self.element(*value, &lane)
            }
            Op::ExpandDims { value, axis } => {
                let mut lane = Lane::from_slice(lane);
                lane.remove(usize::from(*axis));
                self.element(*value, &lane)
            }
            Op::Reshape { value } => {
                let position = ty.shape.iter().zip(lane).fold(0, |sum, (&extent, &at)| sum * extent + at);
                self.element(*value, &lane_at(&function.ty(*value).shape, position))
            }
            Op::Transpose { value, permutation } => {
                let mut source = Lane::from_slice(lane);
                for (&at, &axis) in lane.iter().zip(permutation) {
                    source[usize::from(axis)] = at;
                }
                self.element(*value, &source)
            }
            Op::Join { lhs, rhs } => {
                let (&last, lane) = lane.split_last()?;
                self.element(if last == 0 { *lhs } else { *rhs }, lane)
            }
            Op::Split { value } => {
                let mut lane = Lane::from_slice(lane);
                lane.push(index as u32);
                self.element(*value, &lane)
            }
            Op::Concatenate { lhs, rhs, axis } => {
                let axis = usize::from(*axis);
                let first = function.ty(*lhs).shape[axis];
                match lane[axis].checked_sub(first) {
                    None => self.element(*lhs, lane),
                    Some(position) => self.element(*rhs, &with(axis, position)),
                }
            }
            Op::Slice { value, starts } => {
                let lane: Lane = lane.iter().zip(starts).map(|(&at, &start)| at + start).collect();
                self.element(*value, &lane)
            }
            Op::Annotate { value, .. } => self.element(*value, lane),
            Op::Unary { op, value } => self.unary(*op, *value, lane),
            Op::Binary { op, lhs, rhs } => self.binary(id, *op, *lhs, *rhs, lane),
            Op::Compare { predicate, lhs, rhs } => {
                let scalar = integer(function.ty(*lhs).element)?;
                let (lhs, rhs) = (self.element(*lhs, lane)?, self.element(*rhs, lane)?);
                let (lhs, rhs) = (Literal::Int(lhs.value), Literal::Int(rhs.value));
                let answer = arithmetic::compare(*predicate, scalar, lhs, rhs)?;
                Some(known(Scalar::Int1, answer.into()))
            }
            Op::Select { condition, on_true, on_false } => {
                let lane_of = |value: Value| if function.ty(value).is_scalar() { &[][..] } else { lane };
                let chosen = self.element(*condition, lane_of(*condition))?.value != 0;
                let value = if chosen { *on_true } else { *on_false };
                self.element(value, lane_of(value))
            }
            Op::Cast { value, .. } => {
                let (from, to) = (integer(function.ty(*value).element)?, integer(ty.element)?);
                let number = self.element(*value, lane)?;
                if to == Scalar::Int1 {
                    return Some(known(to, (number.value != 0).into()));
                }
                // A narrower type is what the user asked for; it hides nothing.
                let result = to.wrap(number.value);
                let hides = to.bits() < from.bits();
                Some(if hides { known(to, result) } else { Number { value: result, ..number } })
            }
            Op::Bitcast { value } => {
                let number = self.element(*value, lane)?;
                let to = integer(ty.element).unwrap_or(Scalar::UInt64);
                Some(Number { value: to.wrap(number.value), ..number })
            }
            Op::AddPointer { pointer, offset } => {
                let size = i64::from(target(function, *pointer)?.bytes());
                let scalar = integer(function.ty(*offset).element)?;
                let (pointer, offset) = (self.element(*pointer, lane)?, self.element(*offset, lane)?);
                self.moved(pointer, offset, 1, size, scalar)
            }
            Op::If { condition, then, otherwise } => {
                let taken = if self.scalar(*condition)?.value != 0 { *then } else { *otherwise };
                self.element(function.region(taken).yields[index], lane)
            }
            Op::For { lower, upper, step, inits, body, .. } => {
                let (_, _, trips) = self.trips(*lower, *upper, *step)?;
                self.carried(*body, index, inits[index], trips, lane)
            }
            _ => None,
        }
    }

    fn region_argument(&mut self, region: RegionId, index: usize, lane: &[u32]) -> Option<Number> {
        let owner = self.places.owner(region)?;
        let Op::For { lower, upper, step, inits, .. } = &self.function.op(owner).op else { return None };
        let (first, step, trips) = self.trips(*lower, *upper, *step)?;
        let iteration = match self.iteration {
            Iteration::First => 0,
            Iteration::Last => (trips - 1).max(0),
        };
        match index.checked_sub(1) {
            None => {
                let scalar = integer(self.function.ty(*lower).element)?;
                let value = first.checked_add(step.checked_mul(iteration)?)?;
                Some(known(scalar, scalar.wrap(value as i64)))
            }
            Some(index) => self.carried(region, index, inits[index], iteration, lane),
        }
    }

    /// First index, step, and number of iterations of a loop.
    fn trips(&mut self, lower: Value, upper: Value, step: Value) -> Option<(i128, i128, i128)> {
        let scalar = integer(self.function.ty(lower).element)?;
        let (lower, upper, step) = (self.scalar(lower)?, self.scalar(upper)?, self.scalar(step)?);
        let [lower, upper, step] = [lower, upper, step].map(|number| as_number(scalar, number.value));
        let distance = if step > 0 { upper - lower } else { lower - upper };
        let trips = if step == 0 { return None } else { distance.max(0).div_euclid(step.abs()) };
        let rest = i128::from(distance.max(0) % step.abs() != 0);
        Some((lower, step, trips + rest))
    }

    /// A carried value before iteration `iteration`, if each iteration adds the same to it.
    fn carried(
        &mut self,
        body: RegionId,
        index: usize,
        init: Value,
        iteration: i128,
        lane: &[u32],
    ) -> Option<Number> {
        let function = self.function;
        let first = self.element(init, lane)?;
        let region = function.region(body);
        let (arg, next) = (region.args[index + 1], region.yields[index]);
        if iteration == 0 || next == arg {
            return Some(first);
        }
        let id = match function.value(next).def {
            ValueDef::Result { op, .. } => op,
            ValueDef::Param(_) | ValueDef::RegionArg { .. } => return None,
        };
        let times = i64::try_from(iteration).ok()?;
        match &function.op(id).op {
            Op::AddPointer { pointer, offset }
                if *pointer == arg && !self.places.is_within(*offset, body) =>
            {
                let size = i64::from(target(function, *pointer)?.bytes());
                let scalar = integer(function.ty(*offset).element)?;
                let offset = self.element(*offset, lane)?;
                self.moved(first, offset, times, size, scalar)
            }
            Op::Binary { op: BinaryOp::Add, lhs, rhs } if *lhs == arg || *rhs == arg => {
                let added = if *lhs == arg { *rhs } else { *lhs };
                if self.places.is_within(added, body) {
                    return None;
                }
                let scalar = integer(function.ty(arg).element)?;
                let added = self.element(added, lane)?;
                let value = scalar.wrap(first.value.wrapping_add(added.value.wrapping_mul(times)));
                let exact = first.exact.checked_add(added.exact.checked_mul(iteration)?)?;
                Some(after(id, scalar, value, exact, [first.wrapped_at, added.wrapped_at]))
            }
            _ => None,
        }
    }

    /// A pointer moved `times` times by an offset in elements of `size` bytes.
    fn moved(
        &self,
        pointer: Number,
        offset: Number,
        times: i64,
        size: i64,
        scalar: Scalar,
    ) -> Option<Number> {
        let bytes = i128::from(times) * i128::from(size);
        let by = as_number(scalar, offset.value).checked_mul(bytes)?;
        Some(Number {
            value: pointer.value.wrapping_add(by as i64),
            exact: pointer.exact.checked_add(offset.exact.checked_mul(bytes)?)?,
            wrapped_at: pointer.wrapped_at.or(offset.wrapped_at),
        })
    }

    fn unary(&mut self, op: UnaryOp, value: Value, lane: &[u32]) -> Option<Number> {
        let scalar = integer(self.function.ty(value).element)?;
        let number = self.element(value, lane)?;
        match arithmetic::unary(op, scalar, Literal::Int(number.value))? {
            Literal::Int(value) => Some(known(scalar, value)),
            Literal::Float(_) => None,
        }
    }

    fn binary(&mut self, id: OpId, op: BinaryOp, lhs: Value, rhs: Value, lane: &[u32]) -> Option<Number> {
        let scalar = integer(self.function.ty(lhs).element)?;
        // One side of a conjunction may decide it, whatever the other is.
        if scalar == Scalar::Int1 && matches!(op, BinaryOp::And | BinaryOp::Or) {
            let sides = [self.element(lhs, lane), self.element(rhs, lane)].map(|side| Some(side?.value != 0));
            let decisive = op == BinaryOp::Or;
            let answer = match sides {
                [Some(a), Some(b)] => {
                    if op == BinaryOp::And {
                        a && b
                    } else {
                        a || b
                    }
                }
                _ if sides.contains(&Some(decisive)) => decisive,
                _ => return None,
            };
            return Some(known(scalar, answer.into()));
        }
        let (lhs, rhs) = (self.element(lhs, lane)?, self.element(rhs, lane)?);
        let literals = (Literal::Int(lhs.value), Literal::Int(rhs.value));
        let Literal::Int(value) = arithmetic::binary(op, scalar, literals.0, literals.1)? else {
            return None;
        };
        let exact = match op {
            BinaryOp::Add => lhs.exact.checked_add(rhs.exact)?,
            BinaryOp::Sub => lhs.exact.checked_sub(rhs.exact)?,
            BinaryOp::Mul => lhs.exact.checked_mul(rhs.exact)?,
            // What these give is bounded, or meant to be a pattern of bits: wrapping before them is as good as any.
            _ => return Some(known(scalar, value)),
        };
        Some(after(id, scalar, value, exact, [lhs.wrapped_at, rhs.wrapped_at]))
    }
}

/// A number that nothing has wrapped.
fn known(scalar: Scalar, value: i64) -> Number {
    Number { value, exact: as_number(scalar, value), wrapped_at: None }
}

/// The result of an operation that may have been the first to wrap.
fn after(id: OpId, scalar: Scalar, value: i64, exact: i128, before: [Option<OpId>; 2]) -> Number {
    let wrapped_at =
        if exact == as_number(scalar, value) { None } else { before[0].or(before[1]).or(Some(id)) };
    Number { value, exact, wrapped_at }
}

/// The number that an integer in the form of [`Literal::Int`] stands for.
pub fn as_number(scalar: Scalar, value: i64) -> i128 {
    if scalar == Scalar::UInt64 { i128::from(value as u64) } else { i128::from(value) }
}

/// The type of an integer element.
fn integer(element: Element) -> Option<Scalar> {
    element.as_scalar().filter(|scalar| scalar.is_int())
}

/// The type of what a pointer, or a block of them, points to.
pub fn target(function: &Function, pointer: Value) -> Option<Element> {
    match function.ty(pointer).element {
        Element::Pointer(pointer) => Some(pointer.target()),
        Element::Scalar(_) => None,
    }
}

/// The element of a block at a place in row-major order.
fn lane_at(shape: &Shape, mut position: u32) -> Lane {
    let mut lane: Lane = shape.iter().map(|_| 0).collect();
    for (at, &extent) in lane.iter_mut().zip(shape.iter()).rev() {
        *at = position % extent;
        position /= extent;
    }
    lane
}
