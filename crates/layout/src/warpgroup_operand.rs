//! When `wgmma` can read an operand from shared memory in place, and the strides of its descriptor.
//!
//! The instruction reads a tile of `rows` (M or N) by 32 bytes of K. Its descriptor gives two
//! strides and a swizzle; the rest of the tile's shape is fixed (PTX ISA, "Strides" and "Canonical layouts"
//! of `wgmma` matrices). With `T` the elements of 16 bytes and `s` the row bytes of the swizzle over 16:
//!
//! ```text
//!                    rows                            K
//! K contiguous       8 by s*T, more by stride        T by 1, 2 by T
//! rows contiguous    T by 1, s by T, more by leading 8 by s*T, more by stride
//! without swizzle, K contiguous      8 by T, more by stride    T by 1, 2 by leading
//! without swizzle, rows contiguous   T by 1, more by stride    8 by T, more by leading
//! ```
//!
//! All are linear, so the layout of a tensor in shared memory fits if undoing the swizzle leaves such
//! columns.

use crate::banks::byte_log2;
use crate::error::log2;
use crate::{BulkSwizzle, Dim, Error, Layout};

/// How an operand of `wgmma` lies in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpgroupOperand {
    /// The swizzle.
    pub swizzle: BulkSwizzle,
    /// Whether K is contiguous; otherwise the instruction transposes, which it does for 16-bit elements
    /// alone.
    pub contraction_contiguous: bool,
    /// The descriptor's leading dimension byte offset; 0 where it does not matter.
    pub leading_bytes: u64,
    /// The descriptor's stride dimension byte offset; 0 where it does not matter.
    pub stride_bytes: u64,
}

impl WarpgroupOperand {
    /// How the instruction can read tiles of `rows` by 32 bytes of K from a tensor of two axes kept in the
    /// layout `to_memory` (axes to `Offset`), or `None` where it cannot. `contraction` is the axis of K.
    ///
    /// # Errors
    /// There are not two axes, `rows` is not a power of two, or elements are not whole bytes.
    pub fn find(
        to_memory: &Layout,
        contraction: u8,
        rows: u64,
        element_bits: u32,
    ) -> Result<Option<WarpgroupOperand>, Error> {
        let element_log2 = byte_log2(element_bits)?;
        let row_bits = log2("the rows of a tile", rows)? as usize;
        if to_memory.inputs().rank() != 2 || contraction > 1 {
            return Err(Error::MissingDimension(Dim::Axis(contraction.max(1))));
        }
        let Some(depth_bits) = 5usize.checked_sub(element_log2 as usize) else { return Ok(None) };
        let (rows, depth) =
            (to_memory.columns_of(Dim::Axis(1 - contraction)), to_memory.columns_of(Dim::Axis(contraction)));
        if rows.len() < row_bits || depth.len() < depth_bits {
            return Ok(None);
        }
        let element = 1 << element_log2;
        Ok(BulkSwizzle::ALL.into_iter().find_map(|swizzle| {
            let plain = |columns: &[u64]| -> Vec<u64> {
                columns.iter().map(|&column| swizzle.apply(column << element_log2)).collect()
            };
            let (rows, depth) = (plain(rows), plain(depth));
            let (rows, other_rows) = rows.split_at(row_bits);
            let (depth, other_depth) = depth.split_at(depth_bits);
            // The hardware adds within a tile to where it starts, which is the same as exclusive or only
            // where no bit is in both.
            let tile = rows.iter().chain(depth).fold(0, |bits, column| bits | column);
            if other_rows.iter().chain(other_depth).any(|&column| column & tile != 0) {
                return None;
            }
            depth_contiguous(swizzle, element, rows, depth).or_else(|| {
                if element_bits == 16 { rows_contiguous(swizzle, element, rows, depth) } else { None }
            })
        }))
    }

    /// Where a descriptor starts for the tile whose first element is kept at `offset_bytes`: the
    /// hardware swizzles the addresses that it computes, so it is given them unswizzled.
    pub fn start(&self, offset_bytes: u64) -> u64 {
        self.swizzle.apply(offset_bytes)
    }
}

/// The bytes of 16-byte columns of eight rows: a core matrix's side, or a row of the swizzle.
fn atom_bytes(swizzle: BulkSwizzle) -> u64 {
    swizzle.row_bytes().unwrap_or(16)
}

fn depth_contiguous(
    swizzle: BulkSwizzle,
    element: u64,
    rows: &[u64],
    depth: &[u64],
) -> Option<WarpgroupOperand> {
    let (within, chunk) = depth.split_at(depth.len() - 1);
    let leading_bytes = match swizzle {
        BulkSwizzle::None => *chunk.first()?,
        _ if chunk == [16] => 0,
        _ => return None,
    };
    let (eight, more) = rows.split_at(rows.len().min(3));
    let fits = doubling(within, element) && doubling(eight, atom_bytes(swizzle));
    let stride_bytes = stride(more)?;
    fits.then_some(WarpgroupOperand { swizzle, contraction_contiguous: true, leading_bytes, stride_bytes })
}

fn rows_contiguous(
    swizzle: BulkSwizzle,
    element: u64,
    rows: &[u64],
    depth: &[u64],
) -> Option<WarpgroupOperand> {
    let across = (atom_bytes(swizzle) / element).trailing_zeros() as usize;
    let (within, more_rows) = rows.split_at(rows.len().min(across));
    let (eight, more_depth) = depth.split_at(depth.len().min(3));
    let fits = doubling(within, element) && doubling(eight, atom_bytes(swizzle));
    let (by_rows, by_depth) = (stride(more_rows)?, stride(more_depth)?);
    // Without a swizzle the two strides change places.
    let (leading_bytes, stride_bytes) =
        if swizzle == BulkSwizzle::None { (by_depth, by_rows) } else { (by_rows, by_depth) };
    fits.then_some(WarpgroupOperand { swizzle, contraction_contiguous: false, leading_bytes, stride_bytes })
}

/// Whether the columns are `first`, twice it, and so on.
fn doubling(columns: &[u64], first: u64) -> bool {
    columns.iter().enumerate().all(|(bit, &column)| column == first << bit)
}

/// The stride of columns that double, a power of two; 0 for none.
fn stride(columns: &[u64]) -> Option<u64> {
    let first = columns.first().copied().unwrap_or(0);
    (first.count_ones() <= 1 && doubling(columns, first)).then_some(first)
}
