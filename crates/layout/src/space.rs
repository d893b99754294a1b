//! Named dimensions, and the spaces of bits that they span.

use std::cmp::Ordering;
use std::fmt;

use crate::Error;

/// A dimension of a layout's input or output.
///
/// Dimensions have one order everywhere: that of this enumeration, with the axes of a tensor last
/// and descending. The point of a space is one word with the first dimension in its lowest bits, so
/// the word of a tensor's index is its row-major position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// The element's number among those that one thread holds.
    Register,
    /// The thread's number in its warp.
    Lane,
    /// The warp's number in its thread block.
    Warp,
    /// The thread block's number in its cluster.
    Block,
    /// A position in shared memory, in elements.
    Offset,
    /// An axis of a tensor; 0 is the outermost.
    Axis(u8),
}

impl Dim {
    fn position(self) -> u16 {
        match self {
            Dim::Register => 0,
            Dim::Lane => 1,
            Dim::Warp => 2,
            Dim::Block => 3,
            Dim::Offset => 4,
            Dim::Axis(axis) => 5 + (u8::MAX - axis) as u16,
        }
    }
}

impl Ord for Dim {
    fn cmp(&self, other: &Dim) -> Ordering {
        self.position().cmp(&other.position())
    }
}

impl PartialOrd for Dim {
    fn partial_cmp(&self, other: &Dim) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Register => f.write_str("register"),
            Dim::Lane => f.write_str("lane"),
            Dim::Warp => f.write_str("warp"),
            Dim::Block => f.write_str("block"),
            Dim::Offset => f.write_str("offset"),
            Dim::Axis(axis) => write!(f, "axis{axis}"),
        }
    }
}

/// A product of dimensions, each with its number of bits. A dimension of no bits (extent 1) is kept:
/// it counts in the rank of a tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Space {
    dims: Vec<(Dim, u32)>,
}

impl Space {
    /// A space of the given dimensions and bits, in any order.
    ///
    /// # Errors
    /// A dimension given twice, or more than 64 bits in all.
    pub fn new(dims: impl IntoIterator<Item = (Dim, u32)>) -> Result<Space, Error> {
        let mut dims: Vec<(Dim, u32)> = dims.into_iter().collect();
        dims.sort_unstable_by_key(|&(dim, _)| dim);
        if let Some(pair) = dims.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::RepeatedDimension(pair[0].0));
        }
        let bits = dims.iter().fold(0u32, |sum, &(_, bits)| sum.saturating_add(bits));
        if bits > 64 { Err(Error::TooManyBits(bits)) } else { Ok(Space { dims }) }
    }

    /// The index space of a tensor whose axes have these numbers of bits, outermost first.
    pub fn tensor(bits: &[u32]) -> Result<Space, Error> {
        Space::new(bits.iter().enumerate().map(|(axis, &bits)| (Dim::Axis(axis as u8), bits)))
    }

    /// The dimensions with their bits, lowest first.
    pub fn dims(&self) -> &[(Dim, u32)] {
        &self.dims
    }

    /// The number of bits of all dimensions.
    pub fn bits(&self) -> u32 {
        self.dims.iter().map(|&(_, bits)| bits).sum()
    }

    /// Whether the dimension is part of the space, perhaps with no bits.
    pub fn contains(&self, dim: Dim) -> bool {
        self.dims.iter().any(|&(other, _)| other == dim)
    }

    /// The bits of one dimension; 0 when it is absent.
    pub fn bits_of(&self, dim: Dim) -> u32 {
        self.dims.iter().find(|&&(other, _)| other == dim).map_or(0, |&(_, bits)| bits)
    }

    /// The extent of one dimension; 1 when it is absent.
    pub fn extent(&self, dim: Dim) -> u64 {
        1u64.checked_shl(self.bits_of(dim)).unwrap_or(0)
    }

    /// Where the bits of a dimension begin in the word of a point.
    pub fn shift_of(&self, dim: Dim) -> u32 {
        self.dims.iter().take_while(|&&(other, _)| other < dim).map(|&(_, bits)| bits).sum()
    }

    /// The part of a word that belongs to a dimension, moved down to bit 0.
    pub fn get(&self, word: u64, dim: Dim) -> u64 {
        word.checked_shr(self.shift_of(dim)).unwrap_or(0) & low_mask(self.bits_of(dim))
    }

    /// The word whose only non-zero coordinate is `value` along `dim`, cut to the dimension's bits.
    pub fn put(&self, dim: Dim, value: u64) -> u64 {
        (value & low_mask(self.bits_of(dim))).checked_shl(self.shift_of(dim)).unwrap_or(0)
    }

    /// The bits of the word that belong to a dimension.
    pub fn mask_of(&self, dim: Dim) -> u64 {
        self.put(dim, u64::MAX)
    }

    /// Moves a point of this space into `other`, dimension by dimension; what `other` lacks is dropped.
    pub(crate) fn transfer(&self, word: u64, other: &Space) -> u64 {
        self.dims.iter().fold(0, |sum, &(dim, _)| sum | other.put(dim, self.get(word, dim)))
    }

    /// The rank of a tensor's index space: the number of axes.
    pub fn rank(&self) -> usize {
        self.dims.iter().filter(|(dim, _)| matches!(dim, Dim::Axis(_))).count()
    }

    pub(crate) fn expect(&self, other: &Space) -> Result<(), Error> {
        if self == other {
            return Ok(());
        }
        Err(Error::SpaceMismatch { left: self.to_string(), right: other.to_string() })
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (index, (dim, bits)) in self.dims.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{dim} 2^{bits}")?;
        }
        f.write_str(")")
    }
}

/// A word whose lowest `bits` bits are set.
pub(crate) fn low_mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
