//! The fragments of the tensor-core instructions: which lane holds which element of an operand.
//!
//! All are layouts of one instruction's tile, over the last two axes of a tensor of the given
//! rank: rows by columns for the accumulator, M by K for the left operand and K by N for the right.
//! [`Warps`] spreads a tile over warps, and [`Layout::cover`] over the tensor. For the accumulator of
//! `mma.sync.m16n8k16` in 2 by 2 warps over a 64x64 tile:
//!
//! ```
//! use tegula_layout::{Dim, Warps, fragment};
//!
//! let tile = fragment::accumulator(2).unwrap();
//! let warps = [Warps::Along { axis: 1, count: 2 }, Warps::Along { axis: 0, count: 2 }];
//! let layout = Warps::spread(&tile, &warps).unwrap().cover(&[64, 64]).unwrap();
//! // Lane 5 is in group 1, position 1: c2 and c3 are at row 1 + 8, columns 2 and 3.
//! let place = layout.apply_to(&[(Dim::Register, 3), (Dim::Lane, 5)]);
//! assert_eq!(place, vec![(Dim::Axis(1), 3), (Dim::Axis(0), 9)]);
//! ```
//!
//! The figures are those of the PTX ISA, sections "Matrix Fragments for mma.m16n8k8", "... m16n8k16",
//! "... m16n8k32", "... m8n8k4 with .f64" and "Register Fragments and Shared Memory Matrix Layouts"
//! of `wgmma.mma_async`. In their words a lane's `groupID` is `lane >> 2` and
//! its `threadID_in_group` is `lane % 4`.

use crate::error::log2;
use crate::{Dim, Error, Layout, Space};

/// How a number of warps share a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Warps {
    /// Each takes the next tile along the axis.
    Along { axis: u8, count: u64 },
    /// All hold the same tile, as warps along N do of the left operand.
    Copies { count: u64 },
}

impl Warps {
    /// A tile given to warps, the first entry on the lowest bits of the warp's number.
    ///
    /// # Errors
    /// A count is not a power of two, or an axis is absent from the tile.
    pub fn spread(tile: &Layout, warps: &[Warps]) -> Result<Layout, Error> {
        let mut whole = tile.product(&named_inputs()?)?;
        for &part in warps {
            let outer = match part {
                Warps::Along { axis, count } => {
                    if !tile.outputs().contains(Dim::Axis(axis)) {
                        return Err(Error::MissingDimension(Dim::Axis(axis)));
                    }
                    Layout::identity(Dim::Warp, Dim::Axis(axis), log2("a number of warps", count)?)?
                }
                Warps::Copies { count } => {
                    let dims = Space::new([(Dim::Warp, log2("a number of warps", count)?)])?;
                    let columns = vec![0; dims.bits() as usize];
                    Layout::from_columns(dims, Space::default(), columns)?
                }
            };
            whole = whole.product(&outer)?;
        }
        Ok(whole)
    }
}

/// The 16x8 accumulator of `mma.sync.m16n8k*` with 32-bit elements: `c0 c1` in row `groupID` at columns
/// `2 * threadID_in_group + {0, 1}`, `c2 c3` eight rows below.
///
/// # Errors
/// `rank` is below 2.
pub fn accumulator(rank: u8) -> Result<Layout, Error> {
    let (row, column) = last_axes(rank)?;
    tile(
        rank,
        &[(Dim::Register, column, 1), (Dim::Lane, column, 2), (Dim::Lane, row, 3), (Dim::Register, row, 1)],
    )
}

/// The left operand of `mma.sync.m16n8k*`, 16 x `k`, for elements of 4, 8, 16 or 32 bits.
///
/// A 32-bit register holds consecutive elements of a row; the four lanes of a group cover 16 bytes
/// of it. The second register is eight rows below the first, the next two 16 bytes to the right.
/// `k` elements are 16 bytes (one column of registers) or 32 (two): k8 and k16 at 16 bits, k16 and
/// k32 at 8 bits, k4 and k8 at 32 bits.
///
/// # Errors
/// `rank` is below 2, or no instruction has this width and `k`.
pub fn operand_a(rank: u8, element_bits: u32, k: u64) -> Result<Layout, Error> {
    let (row, column) = last_axes(rank)?;
    let packed = packed_bits(element_bits)?;
    let halves = operand_halves(element_bits, k)?;
    tile(
        rank,
        &[
            (Dim::Register, column, packed),
            (Dim::Lane, column, 2),
            (Dim::Lane, row, 3),
            (Dim::Register, row, 1),
            (Dim::Register, column, halves),
        ],
    )
}

/// The right operand of `mma.sync.m16n8k*`, `k` x 8: as the left one with K down, and no second
/// eight rows.
///
/// # Errors
/// As [`operand_a`].
pub fn operand_b(rank: u8, element_bits: u32, k: u64) -> Result<Layout, Error> {
    let (row, column) = last_axes(rank)?;
    let packed = packed_bits(element_bits)?;
    let halves = operand_halves(element_bits, k)?;
    tile(
        rank,
        &[
            (Dim::Register, row, packed),
            (Dim::Lane, row, 2),
            (Dim::Lane, column, 3),
            (Dim::Register, row, halves),
        ],
    )
}

/// The 8x8 accumulator of `mma.sync.m8n8k4` with `.f64`.
///
/// # Errors
/// `rank` is below 2.
pub fn accumulator_f64(rank: u8) -> Result<Layout, Error> {
    let (row, column) = last_axes(rank)?;
    tile(rank, &[(Dim::Register, column, 1), (Dim::Lane, column, 2), (Dim::Lane, row, 3)])
}

/// The 8x4 left operand of `mma.sync.m8n8k4` with `.f64`, one element a lane.
///
/// # Errors
/// `rank` is below 2.
pub fn operand_a_f64(rank: u8) -> Result<Layout, Error> {
    let (row, column) = last_axes(rank)?;
    tile(rank, &[(Dim::Lane, column, 2), (Dim::Lane, row, 3)])
}

/// The 4x8 right operand of `mma.sync.m8n8k4` with `.f64`, one element a lane.
///
/// # Errors
/// `rank` is below 2.
pub fn operand_b_f64(rank: u8) -> Result<Layout, Error> {
    let (row, column) = last_axes(rank)?;
    tile(rank, &[(Dim::Lane, row, 2), (Dim::Lane, column, 3)])
}

/// The 64 x `n` accumulator of one `wgmma.mma_async.m64nNk*` by a warpgroup of four warps: warp `w`
/// holds rows `16 w` to `16 w + 15`, as accumulators of `mma.sync` side by side along N.
///
/// # Errors
/// `rank` is below 2, or `n` is not a power of two from 8 to 256. Other multiples of 8 that the instruction
/// takes are held in the layout of the next power of two, the last registers unused.
pub fn warpgroup_accumulator(rank: u8, n: u64) -> Result<Layout, Error> {
    let (row, column) = last_axes(rank)?;
    if !(8..=256).contains(&n) {
        return Err(Error::InvalidParameter {
            what: "N of wgmma",
            value: n,
            expected: "it is from 8 to 256",
        });
    }
    let across = log2("N of wgmma", n)? - 3;
    accumulator(rank)?
        .product(&Layout::identity(Dim::Register, Dim::Axis(column), across)?)?
        .product(&Layout::identity(Dim::Warp, Dim::Axis(row), 2)?)
}

/// The 64 x `k` left operand of `wgmma.mma_async` from registers, `k` elements being 32 bytes: in
/// each warp, the left operand of `mma.sync` for 16 of the 64 rows.
///
/// # Errors
/// As [`operand_a`]; `k` must be 8, 16 or 32 elements of 32, 16 or 8 bits.
pub fn warpgroup_operand_a(rank: u8, element_bits: u32, k: u64) -> Result<Layout, Error> {
    let (row, _) = last_axes(rank)?;
    if k * u64::from(element_bits) != 256 {
        return Err(Error::InvalidParameter {
            what: "K of wgmma",
            value: k,
            expected: "the instruction takes 32 bytes of K",
        });
    }
    operand_a(rank, element_bits, k)?.product(&Layout::identity(Dim::Warp, Dim::Axis(row), 2)?)
}

/// The 8x8 tile that `ldmatrix` and `stmatrix` give to a warp, for elements of 8, 16 or 32 bits (the
/// instruction sees rows of 16 bytes): lane `l` holds 4 bytes of row `l >> 2`, at `4 * (l % 4)`.
/// `matrices` is 1, 2 or 4; the matrices are stacked down the rows, one register each.
///
/// # Errors
/// `rank` is below 2, or a parameter is none of the above.
pub fn matrix_tile(rank: u8, element_bits: u32, matrices: u64) -> Result<Layout, Error> {
    let (row, column) = last_axes(rank)?;
    let packed = packed_bits(element_bits)?;
    let stacked = log2("the number of matrices", matrices)?;
    tile(
        rank,
        &[
            (Dim::Register, column, packed),
            (Dim::Lane, column, 2),
            (Dim::Lane, row, 3),
            (Dim::Register, row, stacked.min(2)),
        ],
    )
}

/// As [`matrix_tile`] with `.trans`, for 16-bit elements alone: lane `l` holds column `l >> 2`, rows
/// `2 * (l % 4) + {0, 1}`.
///
/// # Errors
/// As [`matrix_tile`].
pub fn transposed_matrix_tile(rank: u8, matrices: u64) -> Result<Layout, Error> {
    let (row, column) = last_axes(rank)?;
    let stacked = log2("the number of matrices", matrices)?;
    tile(
        rank,
        &[
            (Dim::Register, row, 1),
            (Dim::Lane, row, 2),
            (Dim::Lane, column, 3),
            (Dim::Register, row, stacked.min(2)),
        ],
    )
}

/// The product of identities, the first on the lowest bits.
fn tile(rank: u8, parts: &[(Dim, u8, u32)]) -> Result<Layout, Error> {
    let axes = Space::tensor(&vec![0; rank as usize])?;
    let inputs = Space::new([(Dim::Register, 0), (Dim::Lane, 0)])?;
    let start = Layout::from_columns(inputs, axes, Vec::new())?;
    parts.iter().try_fold(start, |whole, &(dim, axis, bits)| {
        whole.product(&Layout::identity(dim, Dim::Axis(axis), bits)?)
    })
}

/// The inputs that every distributed layout has, with no bits.
fn named_inputs() -> Result<Layout, Error> {
    let inputs = Space::new([(Dim::Register, 0), (Dim::Lane, 0), (Dim::Warp, 0)])?;
    Layout::from_columns(inputs, Space::default(), Vec::new())
}

fn last_axes(rank: u8) -> Result<(u8, u8), Error> {
    if rank >= 2 {
        return Ok((rank - 2, rank - 1));
    }
    Err(Error::InvalidParameter {
        what: "the rank of a matrix operand",
        value: rank.into(),
        expected: "it is at least 2",
    })
}

/// The bits that number the elements of a 32-bit register.
fn packed_bits(element_bits: u32) -> Result<u32, Error> {
    match element_bits {
        4 => Ok(3),
        8 => Ok(2),
        16 => Ok(1),
        32 => Ok(0),
        _ => Err(Error::InvalidParameter {
            what: "the element width",
            value: element_bits.into(),
            expected: "a register packs elements of 4, 8, 16 or 32 bits",
        }),
    }
}

/// The bits that number the 16-byte halves of an operand's `k` elements.
fn operand_halves(element_bits: u32, k: u64) -> Result<u32, Error> {
    match k.checked_mul(element_bits.into()) {
        Some(128) => Ok(0),
        Some(256) => Ok(1),
        _ => Err(Error::InvalidParameter {
            what: "K of mma.sync",
            value: k,
            expected: "the instructions take 16 or 32 bytes of K",
        }),
    }
}
