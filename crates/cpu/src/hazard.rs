//! Keeps pending reads and writes of memory in program order.
//!
//! A queue executes its nodes strip by strip, so a store to one strip comes before a load of the next. That
//! is wrong exactly if they touch the same bytes in different places of the block. Every access of the queue is
//! therefore remembered with its range of addresses:
//!
//! | new access | overlaps a pending | then |
//! |---|---|---|
//! | read | read | nothing |
//! | read | write | flush first |
//! | write | read of the very same elements | keep both; the result is not written before the read |
//! | write | any other access | flush first |
//!
//! Blocks that are still only addresses in memory ([`Block::Memory`]) are copied before a write to what they refer to.

use crate::block::Block;
use crate::execute::Executor;
use crate::program::Place;
use crate::queue::TileId;
use crate::stream;
use crate::strided::Tile;

/// Addresses from the first to after the last byte.
pub type Range = (i64, i64);

/// All addresses.
pub const EVERYWHERE: Range = (i64::MIN, i64::MAX);

/// Accesses of memory by the nodes of the queue.
#[derive(Debug, Default)]
pub struct Accesses {
    reads: Vec<Read>,
    writes: Vec<Range>,
    /// Slots that may hold addresses of memory that has not been read.
    pub views: Vec<u32>,
}

#[derive(Debug)]
struct Read {
    range: Range,
    /// What is read, if it is known, and how wide its elements are.
    tile: Option<(TileId, usize)>,
    /// The last node that reads it.
    node: u32,
}

impl Accesses {
    pub fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
    }

    /// Remembers that a node which is yet to come reads memory.
    pub fn add_read(&mut self, range: Range, tile: Option<(TileId, usize)>) {
        self.reads.push(Read { range, tile, node: u32::MAX });
    }

    /// Says which node it is that reads what was added since the last call.
    pub fn read_by(&mut self, node: u32) {
        for read in self.reads.iter_mut().rev().take_while(|read| read.node == u32::MAX) {
            read.node = node;
        }
    }

    /// Remembers that a node writes memory.
    pub fn add_write(&mut self, range: Range) {
        self.writes.push(range);
    }
}

fn overlap(a: Range, b: Range) -> bool {
    a.0 < b.1 && b.0 < a.1
}

impl Executor<'_> {
    /// Prepares for a read of memory.
    pub fn before_read(&mut self, range: Range) {
        if self.accesses.writes.iter().any(|&write| overlap(write, range)) {
            self.flush();
        }
    }

    /// Prepares for a write to memory that happens with the queue, and returns the last node that reads the same elements.
    pub fn before_write(&mut self, range: Range, tile: Option<(&Tile, usize)>) -> u32 {
        self.copy_views(range);
        let mut last = 0;
        let mut conflict = self.accesses.writes.iter().any(|&write| overlap(write, range));
        for read in &self.accesses.reads {
            if !overlap(read.range, range) {
                continue;
            }
            let same = match (read.tile, tile) {
                (Some((read, width)), Some((write, written))) => {
                    width == written && self.queue.tile(read) == write && injective(write)
                }
                _ => false,
            };
            if same {
                last = last.max(read.node);
            } else {
                conflict = true;
            }
        }
        if conflict {
            self.flush();
            return 0;
        }
        last
    }

    /// Prepares for a write to memory that happens at once.
    pub fn before_immediate_write(&mut self, range: Range) {
        self.copy_views(range);
        let reads = self.accesses.reads.iter().any(|read| overlap(read.range, range));
        if reads || self.accesses.writes.iter().any(|&write| overlap(write, range)) {
            self.flush();
        }
    }

    /// Prepares for an atomic operation: what is written before it is seen by whoever sees its effect.
    pub fn before_atomic(&mut self) {
        self.before_immediate_write(EVERYWHERE);
        // Writes past the caches keep no order with others.
        stream::finish();
    }

    /// Reads what blocks refer to within a range of memory.
    pub fn copy_views(&mut self, range: Range) {
        let mut views = std::mem::take(&mut self.accesses.views);
        views.retain(|&slot| {
            let program = self.program;
            let Block::Memory(memory) = &self.blocks[slot as usize] else { return false };
            let ty = program.ty(Place::Block(slot));
            let (low, high) = memory.extremes(&ty.extents).unwrap_or(EVERYWHERE);
            if !overlap((low, high.saturating_add(ty.width as i64)), range) {
                return true;
            }
            let block = self.blocks[slot as usize].take();
            self.blocks[slot as usize] = self.pack(block, ty);
            false
        });
        self.accesses.views = views;
    }
}

/// Whether a tile has one address for each element, so that the order of its elements does not matter.
fn injective(tile: &Tile) -> bool {
    // Sorted by stride, each dimension must step over all that the smaller ones cover.
    let mut dimensions = tile.dimensions.clone();
    dimensions.sort_by_key(|dimension| dimension.stride.abs());
    let mut covered = 0;
    for dimension in dimensions.iter().filter(|dimension| dimension.extent > 1) {
        if dimension.stride.abs() <= covered {
            return false;
        }
        covered += dimension.stride.abs() * (dimension.extent - 1);
    }
    true
}
