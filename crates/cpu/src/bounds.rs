//! Checks accesses against the arrays of the launch, lane by lane, before they happen.

use crate::block::Block;
use crate::execute::{Executor, Outcome};
use crate::launch::{ArrayRange, StopReason};
use crate::program::{Operand, ValueType};
use crate::strided::Tile;

/// The memory that a launch may access.
#[derive(Debug)]
pub struct Bounds {
    /// In the order of their addresses.
    arrays: Vec<ArrayRange>,
}

impl Bounds {
    pub fn new(arrays: &[ArrayRange]) -> Bounds {
        let mut arrays = arrays.to_vec();
        arrays.sort_by_key(|array| array.address);
        Bounds { arrays }
    }

    /// Whether bytes `low..high` lie within one array, which may be written to if that is asked.
    fn contains(&self, low: i64, high: i64, written: bool) -> bool {
        let (Ok(low), Ok(high)) = (usize::try_from(low), usize::try_from(high)) else { return false };
        let mut arrays = self.arrays.iter().filter(|array| array.writable || !written);
        arrays.any(|array| low >= array.address && high <= array.address.saturating_add(array.bytes))
    }

    /// Where an address is, in relation to the array that is nearest.
    fn describe(&self, address: i64) -> String {
        let address = address as u64 as i128;
        let distance = |array: &ArrayRange| {
            let (start, end) = (array.address as i128, array.address as i128 + array.bytes as i128);
            if address < start { start - address } else { (address - end).max(0) }
        };
        let Some(nearest) = self.arrays.iter().min_by_key(|array| distance(array)) else {
            return "no array was passed".to_owned();
        };
        let offset = address - nearest.address as i128;
        let writable = if nearest.writable { "" } else { " and is not writable" };
        format!("byte {offset} of `{}`, which has {} bytes{writable}", nearest.name, nearest.bytes)
    }
}

impl Executor<'_> {
    /// Checks each lane of an access to elements like those of `ty`.
    pub fn check_access(
        &mut self,
        kind: &str,
        pointer: Operand,
        mask: Option<Operand>,
        ty: &ValueType,
    ) -> Outcome {
        let Some(bounds) = self.bounds else { return Ok(()) };
        let width = ty.width as i64;
        let written = kind != "load";
        let pointer_ty = self.program.ty(pointer.place);
        let pointers = self.settled(Operand { last: false, ..pointer });
        let mask_block = match mask {
            Some(mask) => self.settled(Operand { last: false, ..mask }),
            None => Block::Splat(1),
        };
        if let Block::Affine(affine) = &pointers {
            let tile = match &mask_block {
                Block::Splat(bits) if *bits != 0 => Some(Tile::new(affine, &pointer_ty.extents, None)),
                Block::Mask(inside) => Some(Tile::new(affine, &pointer_ty.extents, Some(inside))),
                _ => None,
            };
            if let Some((low, high)) = tile.as_ref().and_then(|tile| tile.range(ty.width))
                && bounds.contains(low, high, written)
            {
                return Ok(());
            }
        }
        let count = self.count(pointer_ty);
        let pointers = self.pack(pointers, pointer_ty);
        let mask = mask.map(|mask| self.pack(mask_block.clone(), self.program.ty(mask.place)));
        let (Block::Dense(pointers, _), all) =
            (&pointers, matches!(mask_block, Block::Splat(bits) if bits != 0))
        else {
            unreachable!("a packed block is dense")
        };
        let inside = |lane: usize| match &mask {
            Some(Block::Dense(mask, _)) if !all => {
                // SAFETY: a packed mask has `count` bytes.
                unsafe { *(mask.base as usize as *const u8).add(lane) != 0 }
            }
            _ => true,
        };
        for lane in (0..count).filter(|&lane| inside(lane)) {
            // SAFETY: packed pointers are `count` times 8 bytes.
            let address = unsafe { (pointers.base as usize as *const i64).add(lane).read() };
            if !bounds.contains(address, address.wrapping_add(width), written) {
                let lane = describe_lane(lane, &pointer_ty.extents);
                let place = bounds.describe(address);
                let message = format!("out-of-bounds {kind}{lane}: address {address:#x} is {place}");
                return Err(self.error(StopReason::OutOfBounds, message));
            }
        }
        Ok(())
    }
}

/// The index of a lane, in words.
pub fn describe_lane(mut lane: usize, extents: &[u32]) -> String {
    if extents.is_empty() {
        return String::new();
    }
    let mut index = vec![0; extents.len()];
    for axis in (0..extents.len()).rev() {
        index[axis] = lane % extents[axis] as usize;
        lane /= extents[axis] as usize;
    }
    let index: Vec<String> = index.iter().map(ToString::to_string).collect();
    format!(" in lane ({})", index.join(", "))
}
