//! Shape operations: changes of a representation where possible, copies of packed elements otherwise.

use crate::block::{Block, Bounds};
use crate::buffer::Buffer;
use crate::execute::{Executor, Outcome};
use crate::fill::{self, Elements};
use crate::launch::StopReason;
use crate::program::{Operand, Place, Reshape, ShapeChange};
use crate::scalar;
use crate::strided::{Strided, Tile};

impl Executor<'_> {
    pub fn reshape(&mut self, operation: &Reshape) -> Outcome {
        let (from, to) = (self.program.ty(operation.value.place), self.program.ty(operation.out));
        let (extents, target) = (&from.extents[..], &to.extents[..]);
        let keeps_order = matches!(operation.change, ShapeChange::ExpandDims(_) | ShapeChange::Reshape)
            || (matches!(operation.change, ShapeChange::Broadcast | ShapeChange::Slice(_))
                && extents == target);
        let block = match operation.out {
            // What is pending is in row-major order, so it is pending in the other shape too.
            Place::Block(_) if keeps_order => self.take(operation.value),
            _ => self.settled(operation.value),
        };
        if matches!(block, Block::Pending(_)) {
            self.write(operation.out, block);
            return Ok(());
        }
        if let ShapeChange::Split = operation.change {
            let axis = extents.len() - 1;
            for (index, out) in [Some(operation.out), operation.second].into_iter().enumerate() {
                let Some(out) = out else { continue };
                let part = self.select_index(block.clone(), from, axis, index as i64);
                self.write(out, part);
            }
            return Ok(());
        }
        if let ShapeChange::Index(axis, register) = operation.change {
            let index = self.registers[register as usize] as i64;
            let extent = extents[axis];
            if index < 0 || index >= i64::from(extent) {
                let message = format!(
                    "index {index} is out of range for dimension {axis} of a block, which has {extent} elements"
                );
                return Err(self.error(StopReason::Invalid, message));
            }
            let part = self.select_index(block, from, axis, index);
            self.write(operation.out, part);
            return Ok(());
        }
        let change = |strided: Strided| match &operation.change {
            ShapeChange::Broadcast => Some(strided.broadcast(extents, target)),
            ShapeChange::ExpandDims(axis) => Some(strided.expand_dims(*axis)),
            ShapeChange::Reshape => strided.reshape(extents, target),
            ShapeChange::Transpose(permutation) => Some(strided.transpose(permutation)),
            ShapeChange::Slice(starts) => Some(strided.slice(starts)),
            ShapeChange::Split | ShapeChange::Index(..) => unreachable!("handled above"),
        };
        let bounds = |mut bounds: Bounds| match &operation.change {
            ShapeChange::Broadcast => {
                for (axis, bound) in bounds.iter_mut().enumerate() {
                    if extents[axis] != target[axis] {
                        *bound = (0, target[axis]);
                    }
                }
                Some(bounds)
            }
            ShapeChange::ExpandDims(axis) => Some(bounds.with_inserted(*axis, (0, 1))),
            ShapeChange::Transpose(permutation) => {
                Some(permutation.iter().map(|&axis| bounds[axis as usize]).collect())
            }
            _ => None,
        };
        let changed = match block.map_shape(change, bounds) {
            Ok(changed) => changed,
            Err(block) => match self.pack(block, from).map_shape(change, |_| None) {
                Ok(changed) => changed,
                Err(_) => unreachable!("packed elements have every shape"),
            },
        };
        self.write(operation.out, changed);
        Ok(())
    }

    /// A block without dimension `axis`, of which element number `index` is taken.
    fn select_index(
        &mut self,
        block: Block,
        ty: &crate::program::ValueType,
        axis: usize,
        index: i64,
    ) -> Block {
        let change = |strided: Strided| Some(strided.index(axis, index));
        match block.map_shape(change, |_| None) {
            Ok(block) => block,
            Err(block) => match self.pack(block, ty).map_shape(change, |_| None) {
                Ok(block) => block,
                Err(_) => unreachable!("packed elements can be indexed"),
            },
        }
    }

    /// A buffer for the elements of a block.
    fn new_block(&self, place: Place) -> (Strided, Buffer) {
        let ty = self.program.ty(place);
        let buffer = Buffer::new(self.count(ty) * ty.width);
        (Strided::compact(buffer.data() as i64, &ty.extents, ty.width), buffer)
    }

    pub fn join(&mut self, lhs: Operand, rhs: Operand, out: Place) {
        let ty = self.program.ty(lhs.place);
        let (strided, buffer) = self.new_block(out);
        let axis = strided.strides.len() - 1;
        for (index, operand) in [lhs, rhs].into_iter().enumerate() {
            let (packed, _buffer) = self.packed(operand);
            let tile = Tile::new(&strided.clone().index(axis, index as i64), &ty.extents, None);
            let value = Elements { address: packed.base as usize as *const u8, step: ty.width };
            // SAFETY: the tile lies within the buffer; the operand has as many elements.
            unsafe { fill::store(&tile, ty.width, value, None, 0, self.count(ty)) };
        }
        self.write(out, Block::Dense(strided, buffer));
    }

    pub fn concatenate(&mut self, lhs: Operand, rhs: Operand, axis: usize, out: Place) {
        let (strided, buffer) = self.new_block(out);
        let mut start = 0;
        for operand in [lhs, rhs] {
            let ty = self.program.ty(operand.place);
            let (packed, _buffer) = self.packed(operand);
            let part = Strided {
                base: strided.base + strided.strides[axis] * start,
                strides: strided.strides.clone(),
            };
            let tile = Tile::new(&part, &ty.extents, None);
            let value = Elements { address: packed.base as usize as *const u8, step: ty.width };
            // SAFETY: the tile lies within the buffer; the operand has as many elements.
            unsafe { fill::store(&tile, ty.width, value, None, 0, self.count(ty)) };
            start += i64::from(ty.extents[axis]);
        }
        self.write(out, Block::Dense(strided, buffer));
    }

    pub fn gather(&mut self, source: Operand, indices: Operand, axis: usize, out: Place) -> Outcome {
        let (source_ty, index_ty, ty) =
            (self.program.ty(source.place), self.program.ty(indices.place), self.program.ty(out));
        let (source, _source) = self.packed(source);
        let (indices, _indices) = self.packed(indices);
        let (strided, buffer) = self.new_block(out);
        let inner: usize = ty.extents[axis + 1..].iter().map(|&extent| extent as usize).product();
        let (length, extent) = (ty.extents[axis] as usize, source_ty.extents[axis]);
        for lane in 0..self.count(ty) {
            let (outer, column) = (lane / (length * inner), lane % inner);
            let from =
                |base: i64, element: usize, width: usize| (base as usize + element * width) as *const u8;
            // SAFETY: packed blocks have all their elements, and the index is checked.
            unsafe {
                let index = scalar::read(from(indices.base, lane, index_ty.width), index_ty.scalar) as i64;
                if index < 0 || index >= i64::from(extent) {
                    let message = format!(
                        "gather index {index} is out of range for dimension {axis} of the source, which has {extent} elements"
                    );
                    return Err(self.error(StopReason::Invalid, message));
                }
                let element = (outer * extent as usize + index as usize) * inner + column;
                let bits = scalar::read(from(source.base, element, ty.width), ty.scalar);
                scalar::write(from(strided.base, lane, ty.width).cast_mut(), ty.width, bits);
            }
        }
        self.write(out, Block::Dense(strided, buffer));
        Ok(())
    }

    pub fn histogram(&mut self, value: Operand, mask: Option<Operand>, out: Place) {
        let ty = self.program.ty(value.place);
        let (values, _values) = self.packed(value);
        let mask = mask.map(|mask| self.packed(mask));
        let bins = self.count(self.program.ty(out));
        let mut counts = vec![0u32; bins];
        for lane in 0..self.count(ty) {
            // SAFETY: packed blocks have all their elements.
            let (value, inside) = unsafe {
                let value = scalar::read((values.base as usize + lane * ty.width) as *const u8, ty.scalar);
                let inside =
                    mask.as_ref().is_none_or(|(mask, _)| *((mask.base as usize + lane) as *const u8) != 0);
                (value, inside)
            };
            if inside && value < bins as u64 {
                counts[value as usize] += 1;
            }
        }
        let (strided, buffer) = self.new_block(out);
        // SAFETY: the result is an int32 a bin.
        unsafe { std::ptr::copy_nonoverlapping(counts.as_ptr().cast(), buffer.data(), bins * 4) };
        self.write(out, Block::Dense(strided, buffer));
    }
}
