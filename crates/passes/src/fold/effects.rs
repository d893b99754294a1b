//! Rules of memory accesses and checks: masks that are known, and conditions that hold.

use super::Folder;
use tegula_ir::{Literal, Op, OpId, Scalar, Type, Value};

impl Folder<'_> {
    /// Folds a write or a check.
    pub(super) fn effect(&mut self, id: OpId) {
        let op = &self.function.op(id).op;
        let (mask, dropped) = match op {
            Op::Store { mask, .. } => (*mask, self.known_mask(*mask) == Some(false)),
            Op::AtomicRmw { mask, .. } => (*mask, false),
            Op::Assert { condition, mask, .. } => {
                (*mask, self.is_int(*condition, 1) || self.known_mask(*mask) == Some(false))
            }
            Op::Assume { condition } => (None, self.is_int(*condition, 1)),
            _ => (None, false),
        };
        if dropped {
            self.changed = true;
            return;
        }
        if mask.is_some() && self.known_mask(mask) == Some(true) {
            self.changed = true;
            if let Op::Store { mask, .. } | Op::AtomicRmw { mask, .. } | Op::Assert { mask, .. } =
                &mut self.function.op_mut(id).op
            {
                *mask = None;
            }
        }
        self.out.push(id);
    }

    /// Whether a mask lets everything pass, or nothing; `None` if that is not known.
    fn known_mask(&self, mask: Option<Value>) -> Option<bool> {
        match mask {
            None => Some(true),
            Some(mask) => self.constant(mask).map(|literal| literal == Literal::Int(1)),
        }
    }

    /// Folds a load.
    pub(super) fn load(&mut self, id: OpId) {
        let data = self.function.op(id);
        let (result, span) = (data.results[0], data.span);
        let Op::Load { pointer, mut mask, mut other, cache, eviction, volatile } = data.op else { return };
        let ty = self.ty(result).clone();
        match self.known_mask(mask) {
            Some(true) => (mask, other) = (None, None),
            Some(false) => {
                // Pointers have no literal zero: without `other`, such a load stays.
                if let Some(value) = other.or_else(|| self.zero(&ty, id)) {
                    self.changed = true;
                    return self.replaced.replace(result, value);
                }
            }
            None => {}
        }
        // Zero is what masked elements are without `other`.
        if other.is_some_and(|other| self.is_int(other, 0) || self.is_float(other, 0.0)) {
            other = None;
        }
        let new = Op::Load { pointer, mask, other, cache, eviction, volatile };
        if mask.is_none()
            && !volatile
            && let Some(pointer) = self.splat_of(pointer)
        {
            let load = Op::Load { pointer, mask, other, cache, eviction, volatile };
            let scalar = self.emit(load, Type::scalar(ty.element), span);
            let value = self.emit_splat(scalar, &ty.shape, span);
            self.changed = true;
            return self.replaced.replace(result, value);
        }
        if self.function.op(id).op != new {
            self.changed = true;
            self.function.op_mut(id).op = new;
        }
        self.out.push(id);
    }

    fn zero(&mut self, ty: &Type, id: OpId) -> Option<Value> {
        let scalar: Scalar = ty.element.as_scalar()?;
        let literal = if scalar.is_float() { Literal::Float(0.0) } else { Literal::Int(0) };
        let span = self.function.op(id).span;
        Some(self.emit_constant(literal, ty, span))
    }
}
