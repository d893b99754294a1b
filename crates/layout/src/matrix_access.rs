//! When `ldmatrix` and `stmatrix` can move a layout's elements between registers and shared memory.
//!
//! The instructions move 8x8 matrices of 16 bits, each row 16 consecutive bytes at an address that one lane
//! supplies (PTX ISA, "Warp-level matrix load instruction: ldmatrix"): lanes 0 to 7 the
//! rows of the first matrix, 8 to 15 of the second, and so on. Without `.trans`, lane `l` receives 4 bytes
//! of row `l >> 2`, at `4 * (l % 4)`; with it, elements `2 * (l % 4) + {0, 1}` of column `l >> 2`.

use crate::banks::{byte_log2, conflict_ways};
use crate::space::low_mask;
use crate::span::{Span, extend, kernel, multiply};
use crate::{Dim, Error, Layout};

/// How a warp moves a layout by matrices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixAccess {
    /// Whether `.trans` is needed.
    pub transposed: bool,
    /// The register bits that count the elements within one 32-bit register of an instruction.
    pub within: Vec<u64>,
    /// The register bits that count the matrices of one instruction (none, one or two: x1, x2, x4).
    pub matrices: Vec<u64>,
    /// The register bits that count instructions.
    pub between: Vec<u64>,
    /// The register bits that count copies.
    pub copies: Vec<u64>,
    /// What each of the five bits of a lane adds to the offset, in elements, of the row whose address it
    /// supplies; the bits that an instruction of fewer matrices ignores add nothing.
    pub address_lanes: [u64; 5],
    /// Wavefronts of each matrix; 1 is free of bank conflicts.
    pub ways: u64,
}

impl MatrixAccess {
    /// How to move the elements of a map from (register, lane, warp, block) to `Offset`, or `None`
    /// where the instructions do not fit it.
    ///
    /// # Errors
    /// The outputs are not `Offset` alone, or elements are not whole bytes.
    pub fn find(to_offset: &Layout, element_bits: u32) -> Result<Option<MatrixAccess>, Error> {
        let element_log2 = byte_log2(element_bits)?;
        if !to_offset.outputs().contains(Dim::Offset) || to_offset.outputs().dims().len() != 1 {
            return Err(Error::MissingDimension(Dim::Offset));
        }
        if element_log2 > 2 || to_offset.columns_of(Dim::Lane).len() != 5 {
            return Ok(None);
        }
        if let Some(access) = Self::straight(to_offset, element_log2) {
            return Ok(Some(access));
        }
        Ok(if element_log2 == 1 { Self::transposing(to_offset) } else { None })
    }

    /// The instructions that move all of a thread's elements.
    pub fn instructions(&self) -> u64 {
        1 << self.between.len()
    }

    /// The offset, in elements, that `lane` supplies for an instruction, relative to that of its warp.
    pub fn address(&self, to_offset: &Layout, instruction: u64, lane: u64) -> u64 {
        let registers = to_offset.columns_of(Dim::Register);
        multiply(registers, multiply(&self.between, instruction)) ^ multiply(&self.address_lanes, lane)
    }

    fn straight(to_offset: &Layout, element_log2: u32) -> Option<MatrixAccess> {
        let packed = 2 - element_log2;
        let row = low_mask(packed + 2);
        let lanes = to_offset.columns_of(Dim::Lane);
        let registers = to_offset.columns_of(Dim::Register);
        let span = Span::of(registers);
        let within: Vec<u64> = (0..packed).map_while(|bit| span.express(1 << bit)).collect();
        let in_row = lanes[0] == 1 << packed && lanes[1] == 1 << (packed + 1);
        let rows = [lanes[2], lanes[3], lanes[4]];
        let aligned = rows.iter().chain(outer(to_offset)).all(|&column| column & row == 0);
        if within.len() != packed as usize || !in_row || !aligned {
            return None;
        }
        let low = low_mask(packed);
        let moved: Vec<u64> =
            (0..registers.len()).map(|bit| (1 << bit) ^ multiply(&within, registers[bit] & low)).collect();
        Self::assemble(false, within, rows, moved, row, to_offset, element_log2)
    }

    fn transposing(to_offset: &Layout) -> Option<MatrixAccess> {
        let row = low_mask(3);
        let lanes = to_offset.columns_of(Dim::Lane);
        let registers = to_offset.columns_of(Dim::Register);
        let in_row = lanes[2] == 1 && lanes[3] == 2 && lanes[4] == 4;
        let pair = registers.iter().position(|&column| column != 0)?;
        let rows = [registers[pair], lanes[0], lanes[1]];
        let aligned = rows.iter().chain(outer(to_offset)).all(|&column| column & row == 0);
        if !in_row || !aligned {
            return None;
        }
        let all = crate::span::standard(registers.len() as u32).collect();
        Self::assemble(true, vec![1 << pair], rows, all, row, to_offset, 1)
    }

    /// The access, once the elements of a row and the rows of a matrix are known.
    fn assemble(
        transposed: bool,
        within: Vec<u64>,
        rows: [u64; 3],
        registers: Vec<u64>,
        row: u64,
        to_offset: &Layout,
        element_log2: u32,
    ) -> Option<MatrixAccess> {
        let columns = to_offset.columns_of(Dim::Register);
        let copies = kernel(columns);
        let taken: Vec<u64> = within.iter().chain(&copies).copied().collect();
        let mut matrices = extend(&taken, registers);
        if matrices.iter().any(|&register| multiply(columns, register) & row != 0) {
            return None;
        }
        let between = matrices.split_off(matrices.len().min(2));
        let matrix = |index: usize| matrices.get(index).map_or(0, |&register| multiply(columns, register));
        let address_lanes = [rows[0], rows[1], rows[2], matrix(0), matrix(1)];
        let units: Vec<u64> = rows.iter().map(|&offset| (offset << element_log2) >> 4).collect();
        let ways = conflict_ways(&units, 4);
        Some(MatrixAccess { transposed, within, matrices, between, copies, address_lanes, ways })
    }
}

/// The offsets of warps and blocks.
fn outer(to_offset: &Layout) -> impl Iterator<Item = &u64> {
    to_offset.columns_of(Dim::Warp).iter().chain(to_offset.columns_of(Dim::Block))
}
