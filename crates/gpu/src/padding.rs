//! Padding: extents that are not powers of two, inside the GPU back end.
//!
//! Layouts are linear over bits, so a block of 3 x 96 elements is laid out as one of 4 x 128. The
//! elements in between are never read from or written to memory, and reductions and products leave them out; all other
//! operations compute them along, and nobody looks.

use tegula_ir::Shape;

/// The extents of the layout of a block.
pub(crate) fn padded(shape: &Shape) -> Vec<u64> {
    shape.iter().map(|&extent| u64::from(extent).next_power_of_two()).collect()
}

/// Whether the layout of a block holds more than the block.
pub(crate) fn is_padded(shape: &Shape) -> bool {
    shape.iter().any(|extent| !extent.is_power_of_two())
}
