//! Shared memory: a stack of tiles, and above it a scratch area that operations share one after the other.
//!
//! A tile lives until the region that made it ends; then what comes later takes its place. An operation that passes elements between
//! threads writes them to the scratch area, waits, and reads them. Nothing there outlives its operation. Before
//! writing, an operation waits until all threads have read what was there before, unless a barrier has passed since.
//!
//! Operations that need little, reductions above all, take turns at two small areas: the barrier in the middle of one is passed by
//! those who have read what the one before it wrote, so that the third may write without waiting.

use super::{Lowering, SHARED};
use crate::layouts::SharedTile;
use tegula_ptx::{Barrier, MathOp, Move, Operand, Register, Type};

#[derive(Clone, Copy, Default)]
pub(super) struct Scratch {
    /// The most that was in use at once.
    bytes: u32,
    /// The end of the tiles: where the scratch area begins.
    floor: u32,
    /// Which areas some thread may still read: the small ones, which large operations and tiles overlap.
    busy: [bool; 2],
    /// The areas of the operation that is going on.
    open: [bool; 2],
}

/// The bytes of a small area.
const SMALL: u32 = 512;

impl Scratch {
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Goes back to what was true before a branch; the size stays.
    pub fn restore(&mut self, before: Scratch) {
        self.busy = before.busy;
        self.floor = before.floor;
    }

    /// Where control joins, another way may have left reads behind.
    pub fn forget(&mut self) {
        self.busy = [true; 2];
    }

    /// Gives up the tiles of a region that ends.
    pub fn release_to(&mut self, before: Scratch) {
        self.floor = before.floor;
        self.busy = [true; 2];
    }

    /// What tiles leave of a limit.
    pub fn room(&self, limit: u32) -> u32 {
        limit.saturating_sub(self.floor.next_multiple_of(SharedTile::ALIGNMENT))
    }
}

impl Lowering<'_> {
    /// All threads of the block wait for one another.
    pub(super) fn barrier(&mut self) {
        self.code.push(Barrier::block());
        self.scratch.busy = [false; 2];
    }

    /// The address of new tiles, once they may be written. Nothing else is there until the region ends.
    pub(super) fn allocate_tiles(&mut self, bytes: u32) -> Register {
        let start = self.scratch.floor.next_multiple_of(SharedTile::ALIGNMENT);
        self.scratch.floor = start + bytes;
        self.scratch.bytes = self.scratch.bytes.max(self.scratch.floor);
        if self.scratch.busy != [false; 2] {
            self.barrier();
        }
        self.shared_address(start)
    }

    /// The address of the scratch area, once it may be written; it has at least so many bytes.
    pub(super) fn begin_scratch(&mut self, bytes: u64) -> super::Result<Register> {
        // More than any GPU has. What one has is known to the launch alone.
        if bytes > 1 << 20 {
            return self.refuse(&format!("an operation that needs {bytes} bytes of shared memory"));
        }
        let bytes = (bytes as u32).next_multiple_of(16);
        let mut start = self.scratch.floor.next_multiple_of(16);
        self.scratch.open = [true; 2];
        if bytes <= SMALL {
            let area = usize::from(self.scratch.busy[0]);
            start += area as u32 * SMALL;
            self.scratch.open[1 - area] = false;
        }
        self.scratch.bytes = self.scratch.bytes.max(start + bytes);
        if self.scratch.open.iter().zip(self.scratch.busy).any(|(&open, busy)| open && busy) {
            self.barrier();
        }
        Ok(self.shared_address(start))
    }

    /// The address of a byte of shared memory, computed once.
    fn shared_address(&mut self, offset: u32) -> Register {
        if let Some(&address) = self.shared_addresses.get(&offset) {
            return address;
        }
        let address = self.code.in_prologue(|code| {
            let start = code.fresh(tegula_ptx::Class::Bits32);
            code.push(Move::AddressOf { ty: Type::U32, dst: start, symbol: SHARED.into() });
            if offset == 0 {
                return start;
            }
            code.math(MathOp::Add, Type::U32, &[start.into(), Operand::Integer(offset.into())])
        });
        self.shared_addresses.insert(offset, address);
        address
    }

    /// Everything is written: what was written can be read.
    pub(super) fn publish_scratch(&mut self) {
        self.barrier();
        self.scratch.busy = self.scratch.open;
    }

    /// `base + index * bytes`.
    pub(super) fn scratch_address(&mut self, base: Register, index: Register, bytes: u64) -> Register {
        let offset = self.code.multiply(Type::U32, index.into(), Operand::Integer(bytes as i64));
        self.code.math(MathOp::Add, Type::U32, &[base.into(), offset.into()])
    }
}
