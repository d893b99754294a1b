//! How a thread's registers become vectors of a load or a store.

use crate::space::low_mask;
use crate::span::{Span, extend, kernel, multiply};
use crate::{Dim, Error, Layout};

/// The vectors that each thread moves between its registers and memory.
///
/// Instruction `i` of [`instructions`](VectorAccess::instructions) moves the registers
/// `base(i) ^ element(j)` to or from the address of register `base(i)` plus `j`, in every thread:
/// the address is aligned to the vector, and the order within it is the same for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorAccess {
    /// The register bits (as sets of bits of the register's number) that count within a vector.
    pub within: Vec<u64>,
    /// The register bits that count vectors.
    pub between: Vec<u64>,
    /// The register bits that count copies: registers that differ by these hold the same element.
    pub copies: Vec<u64>,
}

impl VectorAccess {
    /// The widest vectors, of at most `max_elements`, of a map from (register, ...) to `Offset`.
    ///
    /// For global memory the map is the layout followed by
    /// [`shared::ordered`](crate::shared::ordered), and the limit is the least of the contiguity and the
    /// alignment that are known of the pointers, and 16 bytes.
    ///
    /// # Errors
    /// The outputs are not `Offset` alone.
    pub fn widest(to_memory: &Layout, max_elements: u64) -> Result<VectorAccess, Error> {
        if !to_memory.outputs().contains(Dim::Offset) || to_memory.outputs().dims().len() != 1 {
            return Err(Error::MissingDimension(Dim::Offset));
        }
        let registers = to_memory.columns_of(Dim::Register);
        let register_span = Span::of(registers);
        let threads: u64 = [Dim::Lane, Dim::Warp, Dim::Block]
            .iter()
            .flat_map(|&dim| to_memory.columns_of(dim))
            .fold(0, |union, column| union | column);
        // A thread's own offset must not disturb the low bits, or the order in the vector would depend on the
        // thread.
        let limit = max_elements.max(1).ilog2().min(threads.trailing_zeros());
        let within: Vec<u64> = (0..limit).map_while(|bit| register_span.express(1 << bit)).collect();
        let low = low_mask(within.len() as u32);
        let aligned = (0..registers.len()).map(|bit| (1 << bit) ^ multiply(&within, registers[bit] & low));
        let copies = kernel(registers);
        let taken: Vec<u64> = within.iter().chain(&copies).copied().collect();
        let between = extend(&taken, aligned);
        Ok(VectorAccess { within, between, copies })
    }

    /// Elements in a vector.
    pub fn elements(&self) -> u64 {
        1 << self.within.len()
    }

    /// Vectors of a thread.
    pub fn instructions(&self) -> u64 {
        1 << self.between.len()
    }

    /// The register of the first element of a vector.
    pub fn base(&self, instruction: u64) -> u64 {
        multiply(&self.between, instruction)
    }

    /// What to add (exclusive or) to the first element's register for element `index`.
    pub fn element(&self, index: u64) -> u64 {
        multiply(&self.within, index)
    }
}

impl Layout {
    /// The elements along `axis` that a thread holds in consecutive places of it, aligned to their
    /// number: the most that one load could take if memory follows the axis.
    ///
    /// # Errors
    /// There is no such axis.
    pub fn contiguity(&self, axis: u8) -> Result<u64, Error> {
        let dim = Dim::Axis(axis);
        if !self.outputs.contains(dim) {
            return Err(Error::MissingDimension(dim));
        }
        let rest = (0..self.outputs.rank() as u8).rev().filter(|&other| other != axis);
        let order: Vec<u8> = std::iter::once(axis).chain(rest).collect();
        let to_memory = self.then(&crate::shared::ordered(&self.shape(), &order)?)?;
        Ok(VectorAccess::widest(&to_memory, self.outputs.extent(dim))?.elements())
    }
}
