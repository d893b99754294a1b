//! Bank conflicts of shared-memory accesses, counted by rank.
//!
//! Shared memory has 32 banks of 4 bytes. A warp's access is served in phases of at most 128 bytes (32 lanes
//! up to 4 bytes each, 16 at 8, 8 at 16), and a phase takes one wavefront for each distinct
//! word of the bank that has most. The words that a phase touches are a linear subspace, so every bank that
//! is touched has as many: the size of the subspace over the size of its image in the banks.

use crate::space::low_mask;
use crate::span::rank;
use crate::{Dim, Error, Layout};

/// The bytes that all banks deliver at once.
pub const WAVEFRONT_BYTES: u64 = 128;

/// What one warp-wide access costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankCost {
    /// Wavefronts of each phase; 1 is free of conflicts.
    pub ways: u64,
    /// Phases, decided by the width alone.
    pub phases: u64,
}

impl BankCost {
    /// Wavefronts of one instruction.
    pub fn wavefronts(self) -> u64 {
        self.ways * self.phases
    }

    /// Wavefronts more than an access of this width must take.
    pub fn conflicts(self) -> u64 {
        (self.ways - 1) * self.phases
    }
}

/// The cost of an instruction in which lane `l` accesses `vector` elements at the offset of lane `l`.
///
/// `to_offset` maps at least `Lane` to `Offset`, in elements of `element_bits`. The cost is the same
/// for all registers and warps, because they only move the subspace.
///
/// # Errors
/// The vector is not a power of two, is wider than 16 bytes, or elements are not whole bytes.
pub fn bank_cost(to_offset: &Layout, vector: u64, element_bits: u32) -> Result<BankCost, Error> {
    let element_log2 = byte_log2(element_bits)?;
    let width = (vector << element_log2).trailing_zeros();
    if !vector.is_power_of_two() || width > 4 {
        return Err(Error::InvalidParameter {
            what: "the elements of a vector",
            value: vector,
            expected: "a vector is a power of two and at most 16 bytes",
        });
    }
    let unit = width.max(2);
    let lanes = to_offset.columns_of(Dim::Lane);
    let in_phase = phase_lane_bits(unit).min(lanes.len());
    let offsets = lanes.iter().map(|&lane| to_offset.outputs().get(lane, Dim::Offset));
    let units: Vec<u64> = offsets.take(in_phase).map(|offset| (offset << element_log2) >> unit).collect();
    Ok(BankCost { ways: conflict_ways(&units, unit), phases: 1 << (lanes.len() - in_phase) })
}

/// The wavefronts of one phase whose accesses, in units of `2^unit` bytes, span the given vectors.
pub(crate) fn conflict_ways(units: &[u64], unit: u32) -> u64 {
    let banks = low_mask(WAVEFRONT_BYTES.trailing_zeros() - unit);
    let in_banks: Vec<u64> = units.iter().map(|&address| address & banks).collect();
    1 << (rank(units) - rank(&in_banks))
}

/// The bits of the lane that vary within a phase of accesses of `2^unit` bytes, at least 4.
pub(crate) fn phase_lane_bits(unit: u32) -> usize {
    (WAVEFRONT_BYTES.trailing_zeros() - unit) as usize
}

/// The base-two logarithm of an element's bytes.
pub(crate) fn byte_log2(element_bits: u32) -> Result<u32, Error> {
    match element_bits {
        8 | 16 | 32 | 64 | 128 => Ok(element_bits.trailing_zeros() - 3),
        _ => Err(Error::InvalidParameter {
            what: "the element width",
            value: element_bits.into(),
            expected: "memory holds elements of 8, 16, 32, 64 or 128 bits",
        }),
    }
}
