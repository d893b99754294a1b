//! Shared-memory layouts: maps from a tensor's index to an offset in elements.
//!
//! They go from the tensor to memory, so that a distributed layout followed by one is the map from
//! (register, lane, warp) to the address that each thread accesses. All here are bijections.
//!
//! A swizzle adds (exclusive or) bits of the row to the bits of the column, so that a column of the tensor
//! is spread over the banks:
//!
//! ```
//! use tegula_layout::{Dim, SharedSwizzle, shared};
//!
//! // 8 x 64 of 16 bits: each row fills the 128 bytes of all banks once.
//! let swizzle = SharedSwizzle { vector: 8, per_phase: 1, max_phase: 8 };
//! let layout = shared::swizzled(&[8, 64], &[1, 0], swizzle).unwrap();
//! // Row 3, column 8: the vector 1 goes where vector 1 ^ 3 was.
//! let place = layout.apply_to(&[(Dim::Axis(0), 3), (Dim::Axis(1), 8)]);
//! assert_eq!(place, vec![(Dim::Offset, 3 * 64 + (1 ^ 3) * 8)]);
//! ```

use crate::blocked::check_order;
use crate::error::log2;
use crate::space::low_mask;
use crate::tensor::tensor_space;
use crate::{Dim, Error, Layout, Space};

/// An exclusive-or swizzle of rows and columns.
///
/// Within `vector` consecutive elements nothing moves; vector `v` of row `r` is stored at
/// vector `v ^ ((r / per_phase) % max_phase)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedSwizzle {
    /// Elements that stay together.
    pub vector: u64,
    /// Rows that share a phase.
    pub per_phase: u64,
    /// Phases before they repeat; 1 swizzles nothing.
    pub max_phase: u64,
}

/// The swizzle of bulk tensor copies and of the matrix descriptors of `wgmma`: address bits 4 and up are
/// added to from bits 7 and up (PTX ISA, "Swizzling Modes" of tensors; the names are CUtensorMap's).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BulkSwizzle {
    /// Rows of 16 bytes or more, in order.
    None,
    /// Rows of 32 bytes; 1 bit moves.
    Bytes32,
    /// Rows of 64 bytes; 2 bits move.
    Bytes64,
    /// Rows of 128 bytes, 8 to an atom; 3 bits move.
    Bytes128,
}

impl BulkSwizzle {
    /// All modes, the widest first.
    pub const ALL: [BulkSwizzle; 4] =
        [BulkSwizzle::Bytes128, BulkSwizzle::Bytes64, BulkSwizzle::Bytes32, BulkSwizzle::None];

    /// The bytes of a row of one box; longer rows are split into boxes. `None` has no limit.
    pub fn row_bytes(self) -> Option<u64> {
        match self {
            BulkSwizzle::None => None,
            BulkSwizzle::Bytes32 => Some(32),
            BulkSwizzle::Bytes64 => Some(64),
            BulkSwizzle::Bytes128 => Some(128),
        }
    }

    /// The address bits that are changed, from bit 4.
    pub fn bits(self) -> u32 {
        match self {
            BulkSwizzle::None => 0,
            BulkSwizzle::Bytes32 => 1,
            BulkSwizzle::Bytes64 => 2,
            BulkSwizzle::Bytes128 => 3,
        }
    }

    /// Where the byte at `address` of the unswizzled tile is kept.
    pub fn apply(self, address: u64) -> u64 {
        address ^ ((address >> 7 & low_mask(self.bits())) << 4)
    }
}

/// Elements in row-major order, the last axis fastest.
///
/// # Errors
/// An extent is not a power of two.
pub fn row_major(shape: &[u64]) -> Result<Layout, Error> {
    let order: Vec<u8> = (0..shape.len() as u8).rev().collect();
    ordered(shape, &order)
}

/// Elements with the axes from the fastest to the slowest as given.
///
/// # Errors
/// An extent is not a power of two, or `order` does not name every axis once.
pub fn ordered(shape: &[u64], order: &[u8]) -> Result<Layout, Error> {
    check_order(order, shape.len())?;
    let inputs = tensor_space(shape)?;
    let outputs = Space::new([(Dim::Offset, inputs.bits())])?;
    let place = |axis: u8| {
        let faster = order.iter().take_while(|&&other| other != axis);
        faster.map(|&other| inputs.bits_of(Dim::Axis(other))).sum::<u32>()
    };
    let columns = (0..shape.len() as u8).rev().flat_map(|axis| {
        let start = place(axis);
        (0..inputs.bits_of(Dim::Axis(axis))).map(move |bit| 1 << (start + bit))
    });
    Layout::from_columns(inputs.clone(), outputs, columns.collect())
}

/// Elements in order with an exclusive-or swizzle of the two fastest axes.
///
/// # Errors
/// As [`ordered`], or a parameter of the swizzle is not a power of two. A swizzle wider than the rows is cut
/// to them.
pub fn swizzled(shape: &[u64], order: &[u8], swizzle: SharedSwizzle) -> Result<Layout, Error> {
    let plain = ordered(shape, order)?;
    let vector = log2("the vector of a swizzle", swizzle.vector)?;
    let per_phase = log2("the rows of a phase", swizzle.per_phase)?;
    let phases = log2("the number of phases", swizzle.max_phase)?;
    if order.len() < 2 {
        return Ok(plain);
    }
    let (columns, rows) = (Dim::Axis(order[0]), Dim::Axis(order[1]));
    let row_bits = plain.inputs().bits_of(columns);
    let moved = (0..phases.min(row_bits.saturating_sub(vector)))
        .filter(|bit| per_phase + bit < plain.inputs().bits_of(rows))
        .map(|bit| (1u64 << (row_bits + per_phase + bit), 1u64 << (vector + bit)))
        .collect::<Vec<_>>();
    add_bits(plain, &moved)
}

/// The tile that bulk tensor copies leave in shared memory: boxes of `swizzle`'s row bytes along
/// the fastest axis, each with all the rows, one box after the other.
///
/// The tile must start at a multiple of the atom (8 rows of the swizzle's bytes) for the address bits to
/// be those of the offset.
///
/// # Errors
/// As [`ordered`]; the element width is not 8, 16, 32 or 64 bits; or the rows are shorter than the
/// swizzle's.
pub fn bulk(shape: &[u64], order: &[u8], element_bits: u32, swizzle: BulkSwizzle) -> Result<Layout, Error> {
    if !matches!(element_bits, 8 | 16 | 32 | 64) {
        return Err(Error::InvalidParameter {
            what: "the element width",
            value: element_bits.into(),
            expected: "bulk copies take elements of 8, 16, 32 or 64 bits",
        });
    }
    let plain = ordered(shape, order)?;
    let Some(bytes) = swizzle.row_bytes() else { return Ok(plain) };
    let element_log2 = (element_bits / 8).trailing_zeros();
    let row_bits = plain.inputs().bits_of(Dim::Axis(order[0]));
    let box_bits = bytes.trailing_zeros() - element_log2;
    if row_bits < box_bits {
        return Err(Error::InvalidParameter {
            what: "the length of a row in bytes",
            value: 1 << (row_bits + element_log2),
            expected: "it is at least that of the swizzle",
        });
    }
    // Move the bits that number the boxes above those of the rows.
    let total = plain.outputs().bits();
    let rearranged = plain.columns().iter().map(|&column| {
        let bit = column.trailing_zeros();
        let place = if bit < box_bits {
            bit
        } else if bit < row_bits {
            bit + (total - row_bits)
        } else {
            bit - (row_bits - box_bits)
        };
        swizzle.apply(1u64 << (place + element_log2)) >> element_log2
    });
    Layout::from_columns(plain.inputs().clone(), plain.outputs().clone(), rearranged.collect())
}

/// Adds to each offset that has the first bit of a pair the second.
fn add_bits(layout: Layout, moved: &[(u64, u64)]) -> Result<Layout, Error> {
    let columns = layout.columns().iter().map(|&column| {
        moved.iter().filter(|(from, _)| column & from != 0).fold(column, |column, (_, to)| column ^ to)
    });
    Layout::from_columns(layout.inputs().clone(), layout.outputs().clone(), columns.collect())
}
