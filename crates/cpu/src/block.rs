//! What a block is at run time: not always an array.
//!
//! `pid * BLOCK + arange(0, BLOCK)` is three numbers, `offsets < n` is an interval, and a load that the
//! next operation reads in place is an address. Only what is none of these is computed element by element.

use crate::buffer::Buffer;
use crate::per_axis::PerAxis;
use crate::strided::Strided;

/// A block, whose element type and extents are known from the slot that holds it.
#[derive(Clone, Debug, Default)]
pub enum Block {
    /// Nothing: not computed yet, or no longer needed.
    #[default]
    Empty,
    /// Every element has these bits.
    Splat(u64),
    /// Integers or pointers that are a linear function of the index; all of them fit their type.
    Affine(Strided),
    /// Truth values that hold within a box: an interval for each dimension.
    Mask(Bounds),
    /// Elements in a buffer of this thread, at byte addresses.
    Dense(Strided, Buffer),
    /// Elements in the caller's memory, at byte addresses: a load that has not been performed yet.
    Memory(Strided),
    /// The result of a node of the queue of pending operations.
    Pending(u32),
}

/// For each dimension, the indices from the first to after the last that are inside.
pub type Bounds = PerAxis<(u32, u32)>;

impl Block {
    /// Takes the block out of its place.
    pub fn take(&mut self) -> Block {
        std::mem::take(self)
    }

    /// Applies a change of shape that maps elements by their index, where the representation allows it.
    ///
    /// `strided` does it to addresses or affine values; `bounds` to box masks.
    pub fn map_shape(
        self,
        strided: impl FnOnce(Strided) -> Option<Strided>,
        bounds: impl FnOnce(Bounds) -> Option<Bounds>,
    ) -> Result<Block, Block> {
        match self {
            Block::Splat(bits) => Ok(Block::Splat(bits)),
            Block::Affine(affine) => strided(affine.clone()).map(Block::Affine).ok_or(Block::Affine(affine)),
            Block::Memory(memory) => strided(memory.clone()).map(Block::Memory).ok_or(Block::Memory(memory)),
            Block::Dense(dense, buffer) => match strided(dense.clone()) {
                Some(dense) => Ok(Block::Dense(dense, buffer)),
                None => Err(Block::Dense(dense, buffer)),
            },
            Block::Mask(mask) => bounds(mask.clone()).map(Block::Mask).ok_or(Block::Mask(mask)),
            other => Err(other),
        }
    }
}
