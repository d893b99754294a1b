//! Narrow loads: a block of pointers that repeats along an axis is loaded once, and the elements repeat.
//!
//! ```text
//! %1 = arange 0..128 : <128xi32>                %1 = arange 0..16 ; %2 = mul %1, 8 ; %3 = div %2, 8
//! %2 = div %1, 8                          =>    %4 = add_pointer %p, %3 : <16x*i32>
//! %3 = add_pointer %p, %2 : <128x*i32>          %5 = load %4 : <16xi32>
//! %4 = load %3 : <128xi32>                      %6 = expand_dims %5 axis 1 ; %7 = broadcast %6 : <16x8xi32>
//!                                               %8 = reshape %7 : <128xi32>
//! ```
//!
//! Packed weights are read like that: eight of four bits in each word. A GPU reads a fraction of the words, and may hold what it has
//! read where nobody else needs it. For targets that want it; not one of the passes of [`crate::optimise`].

use crate::AxisAnalysis;
use crate::rebuild::rebuild;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tegula_ir::{BinaryOp, Function, Literal, Op, OpId, Scalar, Shape, Span, Type, Value, ValueDef};

/// Narrows every load whose pointers, mask and replacements repeat. Returns whether there was one.
pub fn narrow_loads(function: &mut Function, axis: &AxisAnalysis) -> bool {
    let body = function.body;
    rebuild(function, body, &mut |function, id, before| narrowed(function, axis, id, before))
}

/// The repetition that an operation becomes if it is a load that repeats; what is needed for it is added to the operations before.
fn narrowed(function: &mut Function, axes: &AxisAnalysis, id: OpId, before: &mut Vec<OpId>) -> Option<Op> {
    let Op::Load { pointer, mask, other, cache, eviction, volatile: false } = function.op(id).op else {
        return None;
    };
    let shape = function.ty(pointer).shape.clone();
    let operands: SmallVec<[Value; 3]> = [Some(pointer), mask, other].into_iter().flatten().collect();
    let run = |axis: usize| {
        let shortest = operands.iter().map(|&value| axes.of(value).constancy(axis)).min();
        let run = shortest.unwrap_or(1).max(1).min(shape[axis]);
        run & run.wrapping_neg()
    };
    if shape.iter().any(|extent| !extent.is_power_of_two()) {
        return None;
    }
    let (axis, run) = (0..shape.rank()).map(|axis| (axis, run(axis))).find(|&(_, run)| run > 1)?;
    let span = function.op(id).span;
    let mut copy = Copy { function, run, span, made: Vec::new(), known: FxHashMap::default() };
    let pointer = copy.every(pointer, axis)?;
    let mask = if let Some(mask) = mask { Some(copy.every(mask, axis)?) } else { None };
    let other = if let Some(other) = other { Some(copy.every(other, axis)?) } else { None };
    let element = copy.function.ty(copy.function.op(id).results[0]).element;
    let few = copy.function.ty(pointer).shape.clone();
    let load = Op::Load { pointer, mask, other, cache, eviction, volatile: false };
    let loaded = copy.add(load, Type { element, shape: few.clone() });
    // The original operation becomes the repetition, so that its users need not change.
    let repeat = if few[axis] == 1 {
        Op::Broadcast { value: loaded }
    } else {
        let mut apart: Vec<u32> = few.iter().copied().collect();
        apart.insert(axis + 1, 1);
        let op = Op::ExpandDims { value: loaded, axis: axis as u8 + 1 };
        let expanded = copy.add(op, Type { element, shape: Shape::from(&apart[..]) });
        apart[axis + 1] = run;
        let op = Op::Broadcast { value: expanded };
        let repeated = copy.add(op, Type { element, shape: Shape::from(&apart[..]) });
        Op::Reshape { value: repeated }
    };
    before.append(&mut copy.made);
    Some(repeat)
}

/// Makes blocks of every so many-th element of others.
struct Copy<'a> {
    function: &'a mut Function,
    run: u32,
    span: Span,
    made: Vec<OpId>,
    known: FxHashMap<(Value, usize), Value>,
}

impl Copy<'_> {
    fn add(&mut self, op: Op, ty: Type) -> Value {
        let id = self.function.add_op(op, [ty], self.span);
        self.made.push(id);
        self.function.op(id).results[0]
    }

    /// The elements of a value whose index along the axis is a multiple of the run; `None` if they cannot be computed by themselves.
    fn every(&mut self, value: Value, axis: usize) -> Option<Value> {
        if let Some(&known) = self.known.get(&(value, axis)) {
            return Some(known);
        }
        let Type { element, shape } = self.function.ty(value).clone();
        if shape.rank() == 0 || shape[axis] == 1 {
            return Some(value);
        }
        let ValueDef::Result { op, .. } = self.function.value(value).def else { return None };
        let mut few: Vec<u32> = shape.iter().copied().collect();
        few[axis] = few[axis].checked_div(self.run).filter(|_| few[axis].is_multiple_of(self.run))?;
        let ty = Type { element, shape: Shape::from(&few[..]) };
        let mut op = self.function.op(op).op.clone();
        let elementwise = op.is_elementwise();
        let result = match &mut op {
            Op::Arange { start, .. } => self.arange(*start, &ty),
            Op::Splat { .. } => self.add(op, ty),
            Op::Broadcast { value } => {
                *value = self.every(*value, axis)?;
                self.add(op, ty)
            }
            Op::ExpandDims { value, axis: new } => {
                let inner = if axis > *new as usize { axis - 1 } else { axis };
                *value = self.every(*value, inner)?;
                self.add(op, ty)
            }
            Op::Transpose { value, permutation } => {
                *value = self.every(*value, permutation[axis] as usize)?;
                self.add(op, ty)
            }
            _ if elementwise => {
                let mut operands: SmallVec<[Value; 3]> = SmallVec::new();
                op.for_each_operand(|operand| operands.push(operand));
                let operands: Option<SmallVec<[Value; 3]>> =
                    operands.into_iter().map(|operand| self.every(operand, axis)).collect();
                let mut operands = operands?.into_iter();
                op.for_each_operand_mut(|operand| {
                    if let Some(narrowed) = operands.next() {
                        *operand = narrowed;
                    }
                });
                self.add(op, ty)
            }
            _ => return None,
        };
        self.known.insert((value, axis), result);
        Some(result)
    }

    /// `start, start + run, ...`
    fn arange(&mut self, start: i32, ty: &Type) -> Value {
        let end = ty.shape[0] as i32;
        let index = self.add(Op::Arange { start: 0, end }, ty.clone());
        let run = i64::from(self.run);
        let mut constant = |number: i64| {
            let value = self.add(Op::Constant(Literal::Int(number)), Type::scalar(Scalar::Int32));
            self.add(Op::Splat { value }, ty.clone())
        };
        let (run, start) = (constant(run), constant(i64::from(start)));
        let scaled = self.add(Op::Binary { op: BinaryOp::Mul, lhs: index, rhs: run }, ty.clone());
        self.add(Op::Binary { op: BinaryOp::Add, lhs: scaled, rhs: start }, ty.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_words_are_read_once() {
        let mut function = Function::parse(
            "kernel @unpack(%p: *i32, %q: *i32) {
               %0 = arange 0..128 : <128xi32>
               %1 = constant 8 : i32
               %2 = splat %1 : <128xi32>
               %3 = div %0, %2 : <128xi32>
               %4 = splat %p : <128x*i32>
               %5 = add_pointer %4, %3 : <128x*i32>
               %6 = load %5 : <128xi32>
               %7 = splat %q : <128x*i32>
               %8 = add_pointer %7, %0 : <128x*i32>
               store %8, %6
             }",
        )
        .expect("the kernel is read");
        let axis = AxisAnalysis::new(&function);
        assert!(narrow_loads(&mut function, &axis));
        tegula_ir::verify(&function).expect("the narrow kernel is well-formed");
        let text = function.to_string();
        assert!(text.contains("load") && text.contains(": <16xi32>"), "{text}");
        assert!(text.contains("reshape"), "{text}");
        let axis = AxisAnalysis::new(&function);
        assert!(!narrow_loads(&mut function, &axis), "{function}");
    }
}
