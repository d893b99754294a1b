//! Matrices of 8 rows of 8 elements of 16 bits, moved between shared memory and registers.

use super::access::{Proxy, Touch};
use super::cluster::Cluster;
use super::fault::At;
use crate::order::Lane;
use crate::program::{AccessSpace, LANES, Place, Slot, Window};

/// Rows of a matrix, of as many elements.
const ROWS: usize = 8;
/// Bytes of a row.
const ROW_BYTES: u32 = 16;

impl Cluster<'_> {
    pub(super) fn matrix_load(&mut self, at: At, transpose: bool, dst: &[Slot], place: Place) {
        self.check_aligned(at);
        let mut addresses = [None; LANES];
        for (matrix, &slot) in dst.iter().enumerate() {
            let mut rows = [[0u16; ROWS]; ROWS];
            for (row, elements) in rows.iter_mut().enumerate() {
                let Some(address) = self.row_address(at, place, ROWS * matrix + row, false) else { continue };
                addresses[ROWS * matrix + row] = Some(u64::from(address));
                for (element, bytes) in
                    elements.iter_mut().zip(self.shared_bytes(address, ROW_BYTES).chunks(2))
                {
                    *element = u16::from_le_bytes([bytes[0], bytes[1]]);
                }
            }
            let words = std::array::from_fn(|lane| {
                joined(lane, |row, column| if transpose { rows[column][row] } else { rows[row][column] })
            });
            self.warps[at.warp].write(slot, &words, at.lanes);
        }
        self.collector.traffic.shared_read += dst.len() as u64 * ROWS as u64 * u64::from(ROW_BYTES);
        self.count_access(at, AccessSpace::Shared, true, &addresses, ROW_BYTES);
    }

    pub(super) fn matrix_store(&mut self, at: At, transpose: bool, values: &[Slot], place: Place) {
        self.check_aligned(at);
        let mut addresses = [None; LANES];
        for (matrix, &slot) in values.iter().enumerate() {
            let rows = taken_apart(self.warps[at.warp].row(slot));
            for row in 0..ROWS {
                let Some(address) = self.row_address(at, place, ROWS * matrix + row, true) else { continue };
                addresses[ROWS * matrix + row] = Some(u64::from(address));
                for (column, bytes) in self.shared_bytes_mut(address, ROW_BYTES).chunks_mut(2).enumerate() {
                    let element = if transpose { rows[column][row] } else { rows[row][column] };
                    bytes.copy_from_slice(&element.to_le_bytes());
                }
            }
        }
        self.collector.traffic.shared_written += values.len() as u64 * ROWS as u64 * u64::from(ROW_BYTES);
        self.count_access(at, AccessSpace::Shared, true, &addresses, ROW_BYTES);
    }

    /// The address of a row, which a lane supplies, if the row is there; the access is noted.
    fn row_address(&mut self, at: At, place: Place, lane: usize, writes: bool) -> Option<u32> {
        let address = self.address(at, place, lane) as u32;
        if !self.is_valid(at, lane, Window::Shared(address), ROW_BYTES, ROW_BYTES, writes) {
            return None;
        }
        let record = self.warps[at.warp].order.record(Lane::Whole, at.step);
        let touch =
            Touch { lane: Lane::Whole, record, writes, proxy: Proxy::Generic, changes_nothing: false };
        self.touch_shared(at, address, ROW_BYTES, touch);
        Some(address)
    }

    pub(super) fn matrix_transpose(&mut self, at: At, dst: Slot, source: Slot) {
        self.check_aligned(at);
        let rows = taken_apart(self.warps[at.warp].row(source));
        let words = std::array::from_fn(|lane| joined(lane, |row, column| rows[column][row]));
        self.warps[at.warp].write(dst, &words, at.lanes);
    }
}

/// The two elements of a lane, of the row `lane / 4`, as a word.
fn joined(lane: usize, element: impl Fn(usize, usize) -> u16) -> u64 {
    let (row, column) = (lane / 4, 2 * (lane % 4));
    u64::from(element(row, column)) | u64::from(element(row, column + 1)) << 16
}

/// The matrix that the lanes hold.
fn taken_apart(words: &[u64; LANES]) -> [[u16; ROWS]; ROWS] {
    std::array::from_fn(|row| {
        std::array::from_fn(|column| (words[4 * row + column / 2] >> (16 * (column % 2))) as u16)
    })
}
