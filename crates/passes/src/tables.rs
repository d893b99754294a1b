//! Tables: the elements of blocks that are known when a kernel is compiled, such as `arange(0, 128) % 8 * 4`.

use crate::arithmetic;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;
use tegula_ir::{Function, Literal, Op, Scalar, Value, ValueDef};

/// The most elements of a table; blocks that repeat smaller ones may have more.
const MOST: usize = 1024;

/// A block of integers that is known.
#[derive(Clone, Debug)]
pub struct Table {
    elements: Rc<[i64]>,
    extents: SmallVec<[u32; 4]>,
}

impl Table {
    /// The element at a place of the block, or of one that repeats it along dimensions of extent 1.
    pub fn at(&self, place: impl Iterator<Item = u64>) -> i64 {
        let index = place.zip(&self.extents).fold(0, |index, (along, &extent)| {
            let extent = extent as usize;
            index * extent + if extent == 1 { 0 } else { along as usize }
        });
        self.elements[index]
    }
}

/// The tables of a function, made as they are asked for.
#[derive(Debug, Default)]
pub struct Tables {
    known: FxHashMap<Value, Option<Rc<[i64]>>>,
}

impl Tables {
    /// The table of a block of integers, if its elements are known.
    pub fn of(&mut self, function: &Function, value: Value) -> Option<Table> {
        let mut root = value;
        while let Some(&Op::Broadcast { value: inner }) = definition(function, root) {
            root = inner;
        }
        let elements = self.elements(function, root)?;
        Some(Table { elements, extents: function.ty(root).shape.iter().copied().collect() })
    }

    fn elements(&mut self, function: &Function, value: Value) -> Option<Rc<[i64]>> {
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        let found = self.find(function, value);
        self.known.insert(value, found.clone());
        found
    }

    fn find(&mut self, function: &Function, value: Value) -> Option<Rc<[i64]>> {
        let ty = function.ty(value);
        let scalar = ty.element.as_scalar().filter(|scalar| scalar.is_int())?;
        let count: usize = ty.shape.iter().map(|&extent| extent as usize).product();
        if count > MOST {
            return None;
        }
        match *definition(function, value)? {
            Op::Constant(Literal::Int(number)) => Some(Rc::from([number])),
            Op::Arange { start, end } => Some((start..end).map(i64::from).collect()),
            Op::Splat { value } => {
                let number = *self.elements(function, value)?.first()?;
                Some(std::iter::repeat_n(number, count).collect())
            }
            Op::ExpandDims { value, .. } | Op::Reshape { value } => self.elements(function, value),
            Op::Broadcast { .. } => {
                let table = self.of(function, value)?;
                let extents = &ty.shape;
                let place = |position: usize| {
                    (0..extents.len()).map(move |axis| {
                        let stride: usize =
                            extents[axis + 1..].iter().map(|&extent| extent as usize).product();
                        (position / stride % extents[axis] as usize) as u64
                    })
                };
                Some((0..count).map(|position| table.at(place(position))).collect())
            }
            Op::Cast { value, .. } if scalar != Scalar::Int1 => {
                Some(self.elements(function, value)?.iter().map(|&number| scalar.wrap(number)).collect())
            }
            Op::Binary { op, lhs, rhs } => {
                let (a, b) = (self.elements(function, lhs)?, self.elements(function, rhs)?);
                let numbers = a.iter().zip(b.iter()).map(|(&a, &b)| {
                    match arithmetic::binary(op, scalar, Literal::Int(a), Literal::Int(b))? {
                        Literal::Int(number) => Some(number),
                        Literal::Float(_) => None,
                    }
                });
                numbers.collect()
            }
            _ => None,
        }
    }
}

fn definition(function: &Function, value: Value) -> Option<&Op> {
    match function.value(value).def {
        ValueDef::Result { op, .. } => Some(&function.op(op).op),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_arithmetic_is_known() {
        let function = Function::parse(
            "kernel @f(%n: i32) {
               %0 = arange 0..16 : <16xi32>
               %1 = constant 7 : i32
               %2 = splat %1 : <16xi32>
               %3 = and %0, %2 : <16xi32>
               %4 = expand_dims %3 axis 1 : <16x1xi32>
               %5 = broadcast %4 : <16x8xi32>
               %6 = splat %n : <16xi32>
               %7 = add %0, %6 : <16xi32>
               print \"\" (%5, %7)
             }",
        )
        .expect("the kernel is read");
        let named = |index: usize| {
            let op = function.region(function.body).ops[index];
            function.op(op).results[0]
        };
        let mut tables = Tables::default();
        let table = tables.of(&function, named(5)).expect("it is known");
        assert_eq!(table.at([9, 3].into_iter()), 1);
        assert!(tables.of(&function, named(7)).is_none());
    }
}
