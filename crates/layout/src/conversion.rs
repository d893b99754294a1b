//! What it takes to bring a tensor from one distributed layout into another.
//!
//! The plan follows from the two maps alone. If lanes, warps and blocks hold the same elements in both, only
//! registers are renamed; if each warp holds what it needs, lanes exchange; otherwise the elements
//! pass through shared memory.
//!
//! ```
//! use tegula_layout::{Blocked, Conversion};
//!
//! let rows = Blocked::coalesced(&[64, 64], &[1, 0], 4, 4).unwrap().layout(&[64, 64]).unwrap();
//! let columns = Blocked::coalesced(&[64, 64], &[0, 1], 4, 4).unwrap().layout(&[64, 64]).unwrap();
//! assert_eq!(Conversion::plan(&rows, &rows, 16).unwrap(), Conversion::Nothing);
//! let Conversion::SharedMemory(exchange) = Conversion::plan(&rows, &columns, 16).unwrap() else { panic!() };
//! assert_eq!(exchange.store.cost.conflicts() + exchange.load.cost.conflicts(), 0);
//! ```

use crate::shuffle::ShufflePlan;
use crate::span::{Span, multiply};
use crate::swizzle::SharedExchange;
use crate::{Dim, Error, Layout};

/// The wavefronts of shared memory that two barriers and the latency of the trip are worth.
///
/// A shuffle takes a wavefront of the same unit, so this is how many more shuffles are accepted before shared
/// memory is preferred.
const TRIP_WAVEFRONTS: u64 = 16;

/// Which register of the source each register of the target is, in every thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterPermutation {
    bits: Vec<u64>,
}

impl RegisterPermutation {
    /// The register of the source that register `target` of the target holds.
    pub fn source_of(&self, target: u64) -> u64 {
        multiply(&self.bits, target)
    }

    /// The registers of the source, in the order of the target's.
    pub fn sources(&self) -> Vec<u64> {
        (0..1u64 << self.bits.len()).map(|target| self.source_of(target)).collect()
    }
}

/// A conversion between distributed layouts of one tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// Every register already holds what it should.
    Nothing,
    /// Registers of a thread are renamed, repeated or dropped.
    Registers(RegisterPermutation),
    /// Lanes of a warp exchange registers.
    Shuffles(ShufflePlan),
    /// The tensor is stored to shared memory and loaded.
    SharedMemory(Box<SharedExchange>),
}

impl Conversion {
    /// Plans the conversion of a tensor of elements of the given width.
    ///
    /// # Errors
    /// The layouts differ in their lanes, warps, blocks or tensors; the source lacks an element; a
    /// block would need an element of another.
    pub fn plan(source: &Layout, target: &Layout, element_bits: u32) -> Result<Conversion, Error> {
        source.outputs().expect(target.outputs())?;
        let threads = [Dim::Lane, Dim::Warp, Dim::Block];
        if threads.iter().any(|&dim| source.inputs().bits_of(dim) != target.inputs().bits_of(dim)) {
            let (left, right) = (source.inputs().to_string(), target.inputs().to_string());
            return Err(Error::SpaceMismatch { left, right });
        }
        if !source.is_surjective() {
            return Err(Error::NotSurjective);
        }
        if let Some(permutation) = permute_registers(source, target) {
            let identity = permutation.bits.iter().enumerate().all(|(bit, &source)| source == 1 << bit);
            let same = source.inputs().bits_of(Dim::Register) == target.inputs().bits_of(Dim::Register);
            return Ok(if identity && same {
                Conversion::Nothing
            } else {
                Conversion::Registers(permutation)
            });
        }
        let Some(shuffles) = ShufflePlan::find(source, target) else {
            let exchange = SharedExchange::choose(source, target, element_bits)?;
            return Ok(Conversion::SharedMemory(Box::new(exchange)));
        };
        // Sub-byte elements have no address, and blocks that differ cannot meet in shared memory.
        let Ok(exchange) = SharedExchange::choose(source, target, element_bits) else {
            return Ok(Conversion::Shuffles(shuffles));
        };
        let shuffled = shuffles.shuffles(element_bits) + shuffles.selections(element_bits) / 4;
        Ok(if shuffled <= exchange.wavefronts() + TRIP_WAVEFRONTS {
            Conversion::Shuffles(shuffles)
        } else {
            Conversion::SharedMemory(Box::new(exchange))
        })
    }

    /// What the conversion costs a warp, in wavefronts of the shared-memory unit, for a choice between
    /// layouts; renaming registers is free.
    pub fn cost(&self, element_bits: u32) -> u64 {
        match self {
            Conversion::Nothing | Conversion::Registers(_) => 0,
            Conversion::Shuffles(plan) => plan.shuffles(element_bits) + plan.selections(element_bits) / 4,
            Conversion::SharedMemory(exchange) => exchange.wavefronts() + TRIP_WAVEFRONTS,
        }
    }
}

/// The permutation when threads hold in the source what they need in the target.
fn permute_registers(source: &Layout, target: &Layout) -> Option<RegisterPermutation> {
    let threads = [Dim::Lane, Dim::Warp, Dim::Block];
    if threads.iter().any(|&dim| source.columns_of(dim) != target.columns_of(dim)) {
        return None;
    }
    // Where the target's register has the number of the source's, it stays; this keeps copies in place.
    let own = source.columns_of(Dim::Register);
    let span = Span::of(own);
    let wanted = target.columns_of(Dim::Register).iter().enumerate();
    let bits = wanted.map(
        |(bit, &column)| {
            if own.get(bit) == Some(&column) { Some(1 << bit) } else { span.express(column) }
        },
    );
    Some(RegisterPermutation { bits: bits.collect::<Option<_>>()? })
}
