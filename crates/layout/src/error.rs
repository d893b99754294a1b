//! What can be wrong with a request for a layout.

use crate::Dim;

/// An error of an operation on layouts. All of them are mistakes of the caller; none depends on data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Layouts are linear over bits, so every extent is a power of two; pad the tensor first.
    #[error("{what} is {value}, which is not a power of two")]
    NotPowerOfTwo { what: &'static str, value: u64 },
    /// A dimension that the operation needs is absent.
    #[error("the layout has no dimension {0}")]
    MissingDimension(Dim),
    /// A dimension is named twice, or would be after the operation.
    #[error("dimension {0} occurs twice")]
    RepeatedDimension(Dim),
    /// Two spaces that must agree do not.
    #[error("the spaces do not match: {left} and {right}")]
    SpaceMismatch { left: String, right: String },
    /// A basis vector does not fit its output dimension.
    #[error("basis value {value} does not fit the {bits} bits of {dim}")]
    BasisTooLarge { dim: Dim, value: u64, bits: u32 },
    /// A point of a layout is one machine word.
    #[error("the space has {0} bits, more than the 64 of a machine word")]
    TooManyBits(u32),
    /// An inverse was asked for a layout that does not reach every output.
    #[error("the layout is not surjective, so it has no right inverse")]
    NotSurjective,
    /// An inverse was asked for a layout that holds copies.
    #[error("the layout is not injective, so it has no inverse")]
    NotInjective,
    /// The elements would have to cross thread blocks, which registers and shared memory cannot do.
    #[error("the conversion moves elements between thread blocks of a cluster")]
    CrossesBlocks,
    /// A parameter outside the values the hardware defines.
    #[error("{what} is {value}; {expected}")]
    InvalidParameter { what: &'static str, value: u64, expected: &'static str },
}

/// The base-two logarithm of an extent.
pub(crate) fn log2(what: &'static str, value: u64) -> Result<u32, Error> {
    if value.is_power_of_two() {
        Ok(value.trailing_zeros())
    } else {
        Err(Error::NotPowerOfTwo { what, value })
    }
}
