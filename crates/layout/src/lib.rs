//! Linear layouts over F2: where the elements of a tile live.
//!
//! A layout says which element of a tensor each register of each thread holds, or at which offset of shared
//! memory each element is kept. Extents are powers of two, so coordinates are bits, and every layout of
//! interest is a linear map over F2: an output bit is the exclusive or of some input bits. A
//! map is stored by its columns, the outputs of the input's single bits, each one machine word.
//! (`Linear Layouts: Robust Code Generation of Efficient Tensor Computation Using F2`, Zhou et al., 2025.)
//!
//! Take a 4x4 tile held by 8 lanes, two consecutive elements of a row each:
//!
//! ```text
//!            column 0   1   2   3          register: [(0,1)]
//!   row 0        l0 l0  l1  l1             lane:     [(0,2), (1,0), (2,0)]
//!   row 1        l2 l2  l3  l3             -> (axis0: 4, axis1: 4)
//!   row 2        l4 l4  l5  l5
//!   row 3        l6 l6  l7  l7             register 1 of lane 5 = 0b101: (0,1) + (0,2) + (2,0) = (2,3)
//! ```
//!
//! ```
//! use tegula_layout::{Dim, Layout};
//!
//! let layout = Layout::from_bases(
//!     &[(Dim::Register, vec![vec![0, 1]]), (Dim::Lane, vec![vec![0, 2], vec![1, 0], vec![2, 0]])],
//!     &[(Dim::Axis(0), 2), (Dim::Axis(1), 2)],
//! )
//! .unwrap();
//! let place = layout.apply_to(&[(Dim::Register, 1), (Dim::Lane, 5)]);
//! assert_eq!(place, vec![(Dim::Axis(1), 3), (Dim::Axis(0), 2)]);
//!
//! // Reducing along the columns leaves the sums of a row in two lanes: lane bit 0 numbers copies.
//! let sums = layout.slice(1).unwrap();
//! assert_eq!(sums.free_variable_mask(Dim::Lane), 0b001);
//! ```
//!
//! What moves data is derived from such maps: the width of a load ([`VectorAccess`]), what a
//! conversion takes ([`Conversion`]), the swizzle that frees it of bank conflicts ([`SharedExchange`]),
//! whether `ldmatrix` applies ([`MatrixAccess`]), or `wgmma` can read in place ([`WarpgroupOperand`]).
//!
//! The crate is pure mathematics and knows no compiler. [`span`] has the linear algebra; [`Layout`]
//! the maps and their algebra; [`Blocked`], [`fragment`] and [`shared`] the layouts of the hardware.

mod access;
mod algebra;
mod banks;
mod blocked;
mod conversion;
mod error;
pub mod fragment;
mod layout;
mod matrix_access;
pub mod shared;
mod shuffle;
mod space;
pub mod span;
mod swizzle;
mod tensor;
mod warpgroup_operand;

pub use access::VectorAccess;
pub use banks::{BankCost, WAVEFRONT_BYTES, bank_cost};
pub use blocked::{Blocked, WARP_LANES};
pub use conversion::{Conversion, RegisterPermutation};
pub use error::Error;
pub use fragment::Warps;
pub use layout::Layout;
pub use matrix_access::MatrixAccess;
pub use shared::{BulkSwizzle, SharedSwizzle};
pub use shuffle::{Round, ShufflePlan, ThreadFunction};
pub use space::{Dim, Space};
pub use swizzle::{SharedAccess, SharedExchange};
pub use warpgroup_operand::WarpgroupOperand;
