//! Blocked layouts: each thread a block, each warp a block of threads, each program a block of warps.
//!
//! They are the layouts of memory operations. A row of an 8x32 tile held by 4 warps with
//! `per_thread = [1, 4]`, `lanes = [4, 8]`, `warps = [2, 2]` is read by 8 lanes, 4 elements each:
//!
//! ```
//! use tegula_layout::{Blocked, Dim};
//!
//! let blocked = Blocked { per_thread: vec![1, 4], lanes: vec![4, 8], warps: vec![2, 2], order: vec![1, 0] };
//! let layout = blocked.layout(&[8, 32]).unwrap();
//! let place = layout.apply_to(&[(Dim::Register, 3), (Dim::Lane, 9), (Dim::Warp, 2)]);
//! assert_eq!(place, vec![(Dim::Axis(1), 7), (Dim::Axis(0), 5)]);
//! ```

use crate::error::log2;
use crate::{Dim, Error, Layout, Space};

/// Lanes in a warp.
pub const WARP_LANES: u64 = 32;

/// The parameters of a blocked layout, one entry an axis except for `order`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Blocked {
    /// Consecutive elements of one thread.
    pub per_thread: Vec<u64>,
    /// Lanes of a warp; their product is the number of lanes.
    pub lanes: Vec<u64>,
    /// Warps of a program; their product is the number of warps.
    pub warps: Vec<u64>,
    /// The axes from the fastest to the slowest.
    pub order: Vec<u8>,
}

impl Blocked {
    /// The blocked layout in which consecutive lanes touch consecutive addresses.
    ///
    /// A thread takes `vector` elements along the first axis of `order`; lanes, then warps, fill
    /// that axis before the next. What is left over when the tensor is smaller than the program goes
    /// to the slowest axis, where it becomes copies.
    ///
    /// # Errors
    /// An extent, `vector` or `warps` is not a power of two, or `order` does not fit the shape.
    pub fn coalesced(shape: &[u64], order: &[u8], vector: u64, warps: u64) -> Result<Blocked, Error> {
        log2("the vector width", vector)?;
        log2("the number of warps", warps)?;
        crate::tensor::tensor_space(shape)?;
        check_order(order, shape.len())?;
        let ones = vec![1; shape.len()];
        let mut blocked =
            Blocked { per_thread: ones.clone(), lanes: ones.clone(), warps: ones, order: order.to_vec() };
        let (mut lanes_left, mut warps_left) = (WARP_LANES, warps);
        for (position, &axis) in order.iter().enumerate() {
            let axis = axis as usize;
            let slowest = position + 1 == order.len();
            if position == 0 {
                blocked.per_thread[axis] = vector.min(shape[axis]);
            }
            let threads = shape[axis] / blocked.per_thread[axis];
            blocked.lanes[axis] = if slowest { lanes_left } else { lanes_left.min(threads) };
            lanes_left /= blocked.lanes[axis];
            let rows = (threads / blocked.lanes[axis]).max(1);
            blocked.warps[axis] = if slowest { warps_left } else { warps_left.min(rows) };
            warps_left /= blocked.warps[axis];
        }
        Ok(blocked)
    }

    /// The layout of a tensor of the given shape.
    ///
    /// # Errors
    /// The parameters do not have the tensor's rank, or are not powers of two.
    pub fn layout(&self, shape: &[u64]) -> Result<Layout, Error> {
        check_order(&self.order, shape.len())?;
        for extents in [&self.per_thread, &self.lanes, &self.warps] {
            if extents.len() != shape.len() {
                return Err(Error::InvalidParameter {
                    what: "the rank of a blocked layout",
                    value: extents.len() as u64,
                    expected: "it must be the tensor's",
                });
            }
        }
        // Naming every axis and input first keeps those of extent 1.
        let inputs = Space::new([(Dim::Register, 0), (Dim::Lane, 0), (Dim::Warp, 0)])?;
        let mut tile = Layout::from_columns(inputs, Space::tensor(&vec![0; shape.len()])?, Vec::new())?;
        let parts = [(Dim::Register, &self.per_thread), (Dim::Lane, &self.lanes), (Dim::Warp, &self.warps)];
        for (dim, extents) in parts {
            for &axis in &self.order {
                let bits = log2("a blocked layout's extent", extents[axis as usize])?;
                tile = tile.product(&Layout::identity(dim, Dim::Axis(axis), bits)?)?;
            }
        }
        tile.cover_in_order(shape, &self.order)
    }
}

/// Whether `order` names each of `rank` axes once.
pub(crate) fn check_order(order: &[u8], rank: usize) -> Result<(), Error> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if sorted.iter().map(|&axis| axis as usize).eq(0..rank) && rank > 0 {
        return Ok(());
    }
    Err(Error::InvalidParameter {
        what: "the length of an order of axes",
        value: order.len() as u64,
        expected: "it must name every axis of the tensor once, and there must be one",
    })
}
