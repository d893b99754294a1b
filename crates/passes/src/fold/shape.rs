//! Rules of the operations that arrange elements: mostly, that a block of equal elements stays one.

use super::{Folded, Folder};
use smallvec::SmallVec;
use tegula_ir::{Hint, Literal, Op, OpId, Span, Type, Value};

impl Folder<'_> {
    pub(super) fn shape(&mut self, op: &Op, ty: &Type, span: Span) -> Option<Folded> {
        match op {
            Op::Arange { start, end } if i64::from(*end) - i64::from(*start) == 1 => {
                let value = self.emit_constant(Literal::Int(i64::from(*start)), ty, span);
                Some(Folded::Value(value))
            }
            Op::Reshape { value } if self.ty(*value).is_scalar() && !ty.is_scalar() => {
                Some(Folded::Op(Op::Splat { value: *value }))
            }
            Op::Broadcast { value }
            | Op::Reshape { value }
            | Op::Transpose { value, .. }
            | Op::Slice { value, .. }
            | Op::ExpandDims { value, .. }
            | Op::Index { value, .. }
            | Op::Gather { source: value, .. } => {
                if let Some(scalar) = self.splat_of(*value) {
                    return Some(Folded::Value(self.emit_splat(scalar, &ty.shape, span)));
                }
                self.rearranged(op, *value, ty)
            }
            Op::Join { lhs, rhs } | Op::Concatenate { lhs, rhs, .. } => {
                let scalar = self.splat_of(*lhs)?;
                (self.splat_of(*rhs) == Some(scalar)).then_some(Folded::Op(Op::Splat { value: scalar }))
            }
            Op::Annotate { value, hint } => self.annotate(*value, hint, ty, span),
            Op::Histogram { value, mask: Some(mask) } if self.is_int(*mask, 1) => {
                Some(Folded::Op(Op::Histogram { value: *value, mask: None }))
            }
            _ => None,
        }
    }

    /// Two rearrangements in a row, and those that change nothing.
    fn rearranged(&self, op: &Op, value: Value, ty: &Type) -> Option<Folded> {
        let unchanged = match op {
            Op::Transpose { permutation, .. } => permutation.iter().copied().eq(0..permutation.len() as u8),
            Op::Broadcast { .. } | Op::Reshape { .. } | Op::Slice { .. } => self.ty(value) == ty,
            _ => false,
        };
        if unchanged {
            return Some(Folded::Value(value));
        }
        let folded = match (op, self.def(value)?) {
            (Op::Broadcast { .. }, Op::Broadcast { value }) => Op::Broadcast { value: *value },
            (Op::Reshape { .. }, Op::Reshape { value } | Op::ExpandDims { value, .. }) => {
                Op::Reshape { value: *value }
            }
            (Op::Transpose { permutation: outer, .. }, Op::Transpose { value, permutation: inner }) => {
                let permutation = outer.iter().map(|&axis| inner[usize::from(axis)]).collect();
                Op::Transpose { value: *value, permutation }
            }
            (Op::Slice { starts: outer, .. }, Op::Slice { value, starts: inner }) => {
                let starts = outer.iter().zip(inner).map(|(a, b)| a + b).collect();
                Op::Slice { value: *value, starts }
            }
            _ => return None,
        };
        Some(Folded::Op(folded))
    }

    /// A promise about a known number says nothing; one about equal elements is about the scalar.
    fn annotate(&mut self, value: Value, hint: &Hint, ty: &Type, span: Span) -> Option<Folded> {
        if self.constant(value).is_some() {
            return Some(Folded::Value(value));
        }
        let scalar = self.splat_of(value)?;
        let Hint::MultipleOf(values) = hint else { return Some(Folded::Value(value)) };
        // Every element is in some run, and in a block of equal elements each run has one.
        let most = values.iter().copied().max()?;
        let hint = Hint::MultipleOf(SmallVec::from_slice(&[most]));
        let value = self.emit(Op::Annotate { value: scalar, hint }, Type::scalar(ty.element), span);
        Some(Folded::Op(Op::Splat { value }))
    }

    /// The rules of operations whose results are replaced together. Returns whether the operation is done with.
    pub(super) fn several_results(&mut self, id: OpId) -> bool {
        let data = self.function.op(id);
        let results = data.results.clone();
        let span = data.span;
        let values: SmallVec<[Value; 2]> = match &data.op {
            Op::Split { value } => match self.def(*value) {
                Some(&Op::Join { lhs, rhs }) => SmallVec::from_slice(&[lhs, rhs]),
                Some(&Op::Splat { value: scalar }) => {
                    let shape = self.ty(results[0]).shape.clone();
                    let half = self.emit_splat(scalar, &shape, span);
                    SmallVec::from_slice(&[half, half])
                }
                _ => return false,
            },
            // Along an axis of extent 1 there is nothing to combine.
            Op::Scan { values, axis, .. } if self.ty(values[0]).shape[usize::from(*axis)] == 1 => {
                values.clone()
            }
            Op::Reduce { values, axis, .. } if self.ty(values[0]).shape[usize::from(*axis)] == 1 => {
                let pairs: SmallVec<[(Value, Value); 2]> =
                    values.iter().copied().zip(results.iter().copied()).collect();
                pairs
                    .into_iter()
                    .map(|(value, result)| {
                        let ty = self.ty(result).clone();
                        self.emit(Op::Reshape { value }, ty, span)
                    })
                    .collect()
            }
            _ => return false,
        };
        self.changed = true;
        for (result, value) in results.into_iter().zip(values) {
            self.replaced.replace(result, value);
        }
        true
    }
}
