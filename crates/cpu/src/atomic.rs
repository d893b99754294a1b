//! Atomic operations on memory that other programs of the grid use at the same time.

use crate::block::Block;
use crate::buffer::Buffer;
use crate::execute::{Executor, Outcome};
use crate::launch::LaunchError;
use crate::launch::StopReason;
use crate::program::{AtomicRmw, Operand, Place, ValueType};
use crate::scalar;
use crate::strided::Strided;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Elements of an operand, one after the other.
struct Lanes {
    address: *const u8,
    step: usize,
    bits: u64,
    _buffer: Option<Buffer>,
}

impl Lanes {
    fn get(&self, lane: usize, ty: &ValueType) -> u64 {
        if self.address.is_null() {
            return self.bits;
        }
        // SAFETY: a packed block has an element for each lane.
        unsafe { scalar::read(self.address.add(lane * self.step), ty.scalar) }
    }
}

impl Executor<'_> {
    fn lanes_of(&mut self, operand: Operand) -> Lanes {
        let ty = self.program.ty(operand.place);
        match self.settled(operand) {
            Block::Splat(bits) => Lanes { address: std::ptr::null(), step: 0, bits, _buffer: None },
            block => {
                let Block::Dense(strided, buffer) = self.pack(block, ty) else {
                    unreachable!("a packed block is dense")
                };
                Lanes {
                    address: strided.base as usize as *const u8,
                    step: ty.width,
                    bits: 0,
                    _buffer: Some(buffer),
                }
            }
        }
    }

    /// Collects the old values of all lanes in `out`.
    fn for_each_lane(
        &mut self,
        out: Place,
        mut lane: impl FnMut(&Self, usize) -> Result<u64, Box<LaunchError>>,
    ) -> Outcome {
        let ty = self.program.ty(out);
        if let Place::Register(register) = out {
            self.registers[register as usize] = lane(self, 0)?;
            return Ok(());
        }
        let count = self.count(ty);
        let buffer = Buffer::new(count * ty.width);
        for index in 0..count {
            let old = lane(self, index)?;
            // SAFETY: the buffer has an element for each lane.
            unsafe { scalar::write(buffer.data().add(index * ty.width), ty.width, old) };
        }
        let strided = Strided::compact(buffer.data() as i64, &ty.extents, ty.width);
        self.write(out, Block::Dense(strided, buffer));
        Ok(())
    }

    pub fn atomic_rmw(&mut self, operation: &AtomicRmw) -> Outcome {
        let AtomicRmw { function, pointer, value, mask, out } = operation;
        let ty = self.program.ty(value.place);
        if self.bounds.is_some() {
            self.check_access("atomic", *pointer, *mask, ty)?;
        }
        self.before_atomic();
        let (pointer_ty, mask_ty) =
            (self.program.ty(pointer.place), mask.map(|mask| self.program.ty(mask.place)));
        let pointers = self.lanes_of(*pointer);
        let values = self.lanes_of(*value);
        let mask = mask.map(|mask| self.lanes_of(mask));
        self.for_each_lane(*out, |executor, lane| {
            if let (Some(mask), Some(mask_ty)) = (&mask, mask_ty)
                && mask.get(lane, mask_ty) == 0
            {
                return Ok(0);
            }
            let address = pointers.get(lane, pointer_ty);
            executor.check_alignment(address, ty.width)?;
            let value = values.get(lane, ty);
            let update = |old: u64| match function {
                // SAFETY: one element of at most 8 bytes is read from each and written.
                Some(function) => unsafe {
                    let mut new = 0u64;
                    let (old, value) = ((&raw const old).cast(), (&raw const value).cast());
                    function((&raw mut new).cast(), &[old, value, value], 1);
                    Some(new)
                },
                None => Some(value),
            };
            // SAFETY: the caller of the launch vouches for the address, which is aligned.
            let old = unsafe { modify(address as usize as *mut u8, ty.width, update) };
            Ok(scalar::canonical(old, ty.scalar))
        })
    }

    pub fn atomic_cas(
        &mut self,
        pointer: Operand,
        expected: Operand,
        desired: Operand,
        out: Place,
    ) -> Outcome {
        let ty = self.program.ty(desired.place);
        if self.bounds.is_some() {
            self.check_access("atomic", pointer, None, ty)?;
        }
        self.before_atomic();
        let pointer_ty = self.program.ty(pointer.place);
        let pointers = self.lanes_of(pointer);
        let expected = self.lanes_of(expected);
        let desired = self.lanes_of(desired);
        let significant = u64::MAX >> (64 - 8 * ty.width);
        self.for_each_lane(out, |executor, lane| {
            let address = pointers.get(lane, pointer_ty);
            executor.check_alignment(address, ty.width)?;
            let (expected, desired) = (expected.get(lane, ty), desired.get(lane, ty));
            let update = |old: u64| (old == expected & significant).then_some(desired);
            // SAFETY: the caller of the launch vouches for the address, which is aligned.
            let old = unsafe { modify(address as usize as *mut u8, ty.width, update) };
            Ok(scalar::canonical(old, ty.scalar))
        })
    }

    fn check_alignment(&self, address: u64, width: usize) -> Outcome {
        if address.is_multiple_of(width as u64) {
            return Ok(());
        }
        let message = format!(
            "an atomic operation on {width} bytes at {address:#x}, which is not a multiple of {width}"
        );
        Err(self.error(StopReason::Invalid, message))
    }
}

/// Replaces the element at an address by what `update` makes of it, unless that is `None`; returns the old one.
///
/// # Safety
/// The address is valid for reads and writes of `width` bytes, and a multiple of `width`.
unsafe fn modify(address: *mut u8, width: usize, update: impl Fn(u64) -> Option<u64>) -> u64 {
    // SAFETY: the address is aligned; one below 4 bytes is within an aligned word, which is within one page.
    unsafe {
        match width {
            8 => {
                let cell = AtomicU64::from_ptr(address.cast());
                cell.fetch_update(Ordering::AcqRel, Ordering::Acquire, update).unwrap_or_else(|old| old)
            }
            4 => {
                let cell = AtomicU32::from_ptr(address.cast());
                let update = |old: u32| update(u64::from(old)).map(|new| new as u32);
                u64::from(
                    cell.fetch_update(Ordering::AcqRel, Ordering::Acquire, update).unwrap_or_else(|old| old),
                )
            }
            _ => {
                let offset = address as usize % 4;
                let cell = AtomicU32::from_ptr(address.sub(offset).cast());
                let shift = if cfg!(target_endian = "little") { offset } else { 4 - width - offset } * 8;
                let ones = (1u32 << (8 * width)) - 1;
                let update = |word: u32| {
                    let new = update(u64::from(word >> shift & ones))? as u32;
                    Some(word & !(ones << shift) | (new & ones) << shift)
                };
                let word =
                    cell.fetch_update(Ordering::AcqRel, Ordering::Acquire, update).unwrap_or_else(|old| old);
                u64::from(word >> shift & ones)
            }
        }
    }
}
