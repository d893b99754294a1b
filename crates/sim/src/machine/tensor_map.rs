//! Tensor maps: what tells bulk copies of a tensor in global memory, in 128 bytes.
//!
//! The hardware's encoding is the driver's secret, so the simulator has its own; a launch makes maps with [`TensorMap::encode`].

use super::cluster::Cluster;
use super::fault::At;
use super::global;
use super::warp::lanes;
use crate::program::{Place, Slot, Window};
use crate::report::FindingKind;
use tegula_ptx::TensorMapField;

/// Bytes of a map.
pub const MAP_BYTES: usize = 128;
/// The most dimensions.
const DIMENSIONS: usize = 5;
/// What a map begins with, to tell it from other bytes.
const TAG: u32 = 0x6765_7470;

/// A tensor in global memory, and the boxes of it that are copied. The fastest dimension is the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    pub address: u64,
    pub element_bytes: u32,
    pub rank: u32,
    pub extents: [u32; DIMENSIONS],
    /// Bytes from an element to the next along each dimension; the first is that of an element.
    pub strides: [u64; DIMENSIONS],
    pub box_extents: [u32; DIMENSIONS],
    /// Bytes of a row of the swizzle: 32, 64 or 128; 0 without one.
    pub swizzle_bytes: u32,
}

impl TensorMap {
    /// The map as a kernel takes it.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(MAP_BYTES);
        bytes.extend(TAG.to_le_bytes());
        bytes.extend(self.element_bytes.to_le_bytes());
        bytes.extend(self.address.to_le_bytes());
        bytes.extend(self.rank.to_le_bytes());
        bytes.extend(self.swizzle_bytes.to_le_bytes());
        self.strides.iter().for_each(|stride| bytes.extend(stride.to_le_bytes()));
        self.extents.iter().for_each(|extent| bytes.extend(extent.to_le_bytes()));
        self.box_extents.iter().for_each(|extent| bytes.extend(extent.to_le_bytes()));
        bytes.resize(MAP_BYTES, 0);
        bytes
    }

    /// Reads what [`TensorMap::encode`] makes; none if it is something else.
    pub fn decode(bytes: &[u8]) -> Option<TensorMap> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let mut map = TensorMap {
            element_bytes: word(4)?,
            address: long(8)?,
            rank: word(16)?,
            swizzle_bytes: word(20)?,
            extents: [0; DIMENSIONS],
            strides: [0; DIMENSIONS],
            box_extents: [0; DIMENSIONS],
        };
        for dimension in 0..DIMENSIONS {
            map.strides[dimension] = long(24 + 8 * dimension)?;
            map.extents[dimension] = word(64 + 4 * dimension)?;
            map.box_extents[dimension] = word(84 + 4 * dimension)?;
        }
        let is_known = word(0)? == TAG
            && (1..=DIMENSIONS as u32).contains(&map.rank)
            && matches!(map.element_bytes, 1 | 2 | 4 | 8)
            && matches!(map.swizzle_bytes, 0 | 32 | 64 | 128);
        is_known.then_some(map)
    }

    /// The bytes of a box.
    pub fn box_bytes(&self) -> u32 {
        self.box_extents[..self.rank as usize].iter().product::<u32>() * self.element_bytes
    }

    /// Where a byte of a box lies in shared memory, if the box begins at `start`.
    pub fn swizzled(&self, start: u32, offset: u32) -> u32 {
        let address = start + offset;
        let phase = match self.swizzle_bytes {
            128 => address >> 7 & 7,
            64 => address >> 7 & 3,
            32 => address >> 7 & 1,
            _ => 0,
        };
        address ^ phase << 4
    }

    /// Calls `visit` with every row of the box at `coordinates`: its offset in the box, and the first byte's address, the first
    /// element's number and the elements that are inside of the tensor, if any are.
    pub fn for_each_row(&self, coordinates: &[i32], mut visit: impl FnMut(u32, Option<Row>)) {
        let rank = self.rank as usize;
        let outer: u32 = self.box_extents[1..rank].iter().product();
        let row_bytes = self.box_extents[0] * self.element_bytes;
        for number in 0..outer {
            let mut rest = number;
            let mut address = self.address as i64;
            let mut inside = true;
            for (dimension, &start) in coordinates.iter().enumerate().take(rank).skip(1) {
                let place = i64::from(start) + i64::from(rest % self.box_extents[dimension]);
                rest /= self.box_extents[dimension];
                inside &= (0..i64::from(self.extents[dimension])).contains(&place);
                address += place * self.strides[dimension] as i64;
            }
            let first = i64::from(coordinates[0]);
            let from = first.max(0);
            let to = (first + i64::from(self.box_extents[0])).min(self.extents[0].into());
            let row = (inside && from < to).then(|| Row {
                address: (address + from * i64::from(self.element_bytes)) as u64,
                offset: (from - first) as u32 * self.element_bytes,
                bytes: (to - from) as u32 * self.element_bytes,
            });
            visit(number * row_bytes, row);
        }
    }
}

/// The part of a row of a box that is inside of the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// In global memory.
    pub address: u64,
    /// Bytes from the beginning of the row of the box.
    pub offset: u32,
    pub bytes: u32,
}

impl Cluster<'_> {
    /// The map at a generic address.
    pub(super) fn tensor_map(&mut self, at: At, lane: usize, place: Place) -> Option<TensorMap> {
        let window = Window::of(self.address(at, place, lane));
        if !self.is_valid(at, lane, window, MAP_BYTES as u32, 64, false) {
            return None;
        }
        let bytes: Vec<u8> = match window {
            Window::Parameter(address) => self.launch.parameters[address as usize..][..MAP_BYTES].to_vec(),
            Window::Global(address) => {
                // SAFETY: the bytes are within an array, or believed.
                let byte = |at: u64| unsafe { global::read(address + at, 1) } as u8;
                (0..MAP_BYTES as u64).map(byte).collect()
            }
            Window::Shared(address) => self.shared_bytes(address, MAP_BYTES as u32).to_vec(),
            Window::Local(_) => Vec::new(),
        };
        let map = TensorMap::decode(&bytes);
        if map.is_none() {
            self.invalid(at, Some(lane), || "the address is not that of a tensor map".into());
        }
        map
    }

    pub(super) fn replace_in_tensor_map(
        &mut self,
        at: At,
        field: TensorMapField,
        place: Place,
        dimension: u8,
        value: Slot,
    ) {
        for lane in lanes(at.lanes) {
            let address = self.address(at, place, lane) as u32;
            if !self.is_valid(at, lane, Window::Shared(address), MAP_BYTES as u32, 128, true) {
                continue;
            }
            let Some(mut map) = TensorMap::decode(self.shared_bytes(address, MAP_BYTES as u32)) else {
                self.invalid(at, Some(lane), || "the address is not that of a tensor map".into());
                continue;
            };
            let value = self.warps[at.warp].row(value)[lane];
            let dimension = usize::from(dimension).min(DIMENSIONS - 1);
            match field {
                TensorMapField::GlobalAddress => map.address = value,
                TensorMapField::Rank => map.rank = value as u32 + 1,
                TensorMapField::BoxDim => map.box_extents[dimension] = value as u32,
                TensorMapField::GlobalDim => map.extents[dimension] = value as u32,
                // Strides are counted from the second dimension.
                TensorMapField::GlobalStride => map.strides[(dimension + 1).min(DIMENSIONS - 1)] = value,
                TensorMapField::SwizzleMode => {
                    map.swizzle_bytes = if value == 0 { 0 } else { 16 << value.min(3) }
                }
                TensorMapField::ElementType => {
                    map.element_bytes = match value {
                        0 => 1,
                        1 | 6 | 10 => 2,
                        4 | 5 | 9 => 8,
                        _ => 4,
                    };
                }
                TensorMapField::ElementStride
                | TensorMapField::InterleaveLayout
                | TensorMapField::FillMode => {}
            }
            let touch = self.touch(at, lane, true, false);
            self.touch_shared(at, address, MAP_BYTES as u32, touch);
            self.shared_bytes_mut(address, MAP_BYTES as u32).copy_from_slice(&map.encode());
        }
    }

    pub(super) fn publish_tensor_map(&mut self, at: At, dst: Place, source: Place) {
        self.check_aligned(at);
        let Some(lane) = lanes(at.lanes).next() else { return };
        let from = self.address(at, source, lane) as u32;
        let to = self.address(at, dst, lane);
        let bytes = MAP_BYTES as u32;
        if !self.is_valid(at, lane, Window::Shared(from), bytes, 128, false)
            || !self.is_valid(at, lane, Window::Global(to), bytes, 128, true)
        {
            return;
        }
        let map = self.shared_bytes(from, bytes).to_vec();
        if TensorMap::decode(&map).is_none() {
            self.fault(at, FindingKind::Uninitialised, Some(lane), None, None, || {
                "what is published is not a tensor map".into()
            });
        }
        let touch = self.touch(at, lane, true, true);
        self.touch_global(at, to, bytes, touch);
        for (index, &byte) in map.iter().enumerate() {
            // SAFETY: the bytes are within a writable array, or believed.
            unsafe { global::write(to + index as u64, 1, u64::from(byte)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> TensorMap {
        TensorMap {
            address: 4096,
            element_bytes: 2,
            rank: 2,
            extents: [10, 6, 0, 0, 0],
            strides: [2, 64, 0, 0, 0],
            box_extents: [8, 4, 0, 0, 0],
            swizzle_bytes: 64,
        }
    }

    #[test]
    fn maps_read_back() {
        let bytes = map().encode();
        assert_eq!((bytes.len(), TensorMap::decode(&bytes)), (MAP_BYTES, Some(map())));
        assert_eq!(TensorMap::decode(&[0; MAP_BYTES]), None);
    }

    #[test]
    fn boxes_end_with_the_tensor() {
        let mut rows = Vec::new();
        map().for_each_row(&[4, 4], |offset, row| rows.push((offset, row)));
        let row = |address| Some(Row { address, offset: 0, bytes: 12 });
        let first = 4096 + 4 * 64 + 8;
        assert_eq!(rows, [(0, row(first)), (16, row(first + 64)), (32, None), (48, None)]);
        let mut rows = Vec::new();
        map().for_each_row(&[-3, 0], |_, row| rows.push(row));
        assert_eq!(rows[0], Some(Row { address: 4096, offset: 6, bytes: 10 }));
    }
}
