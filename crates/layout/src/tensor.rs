//! What the shape operations of the language do to the layout of their operand.
//!
//! A layout of a tensor maps (register, lane, warp, block) to the axes. Because the word of a
//! tensor's index is its row-major position, a reshape changes only how that word is read, and
//! no element moves.

use crate::error::log2;
use crate::{Dim, Error, Layout, Space};

impl Layout {
    /// The extents of the axes, outermost first.
    pub fn shape(&self) -> Vec<u64> {
        (0..self.outputs.rank()).map(|axis| self.outputs.extent(Dim::Axis(axis as u8))).collect()
    }

    /// The same elements, in row-major order, under other extents.
    ///
    /// # Errors
    /// An extent is not a power of two, or the numbers of elements differ.
    pub fn reshape(&self, shape: &[u64]) -> Result<Layout, Error> {
        let outputs = tensor_space(shape)?;
        if outputs.bits() != self.outputs.bits() || self.outputs.rank() != self.outputs.dims().len() {
            return Err(Error::SpaceMismatch { left: self.outputs.to_string(), right: outputs.to_string() });
        }
        Ok(Layout { inputs: self.inputs.clone(), outputs, columns: self.columns.clone() })
    }

    /// The layout whose axis `i` is this layout's axis `order[i]`.
    ///
    /// # Errors
    /// `order` is not a permutation of the axes.
    pub fn permute(&self, order: &[u8]) -> Result<Layout, Error> {
        let rank = self.outputs.rank();
        if order.len() != rank {
            return Err(Error::InvalidParameter {
                what: "the length of a permutation",
                value: order.len() as u64,
                expected: "it must name every axis of the tensor once",
            });
        }
        if let Some(&absent) = order.iter().find(|&&axis| axis as usize >= rank) {
            return Err(Error::MissingDimension(Dim::Axis(absent)));
        }
        let sources: Vec<Dim> = order.iter().map(|&axis| Dim::Axis(axis)).collect();
        Space::new(sources.iter().map(|&dim| (dim, 0)))?;
        self.rename_axes(&sources)
    }

    /// The layout with an axis of extent 1 put in at `axis`.
    ///
    /// # Errors
    /// `axis` is beyond the rank.
    pub fn expand_dims(&self, axis: u8) -> Result<Layout, Error> {
        let rank = self.outputs.rank();
        if axis as usize > rank || rank >= u8::MAX as usize {
            return Err(Error::MissingDimension(Dim::Axis(axis)));
        }
        let bits: Vec<u32> = (0..=rank as u8)
            .map(|new| match new.cmp(&axis) {
                std::cmp::Ordering::Less => self.outputs.bits_of(Dim::Axis(new)),
                std::cmp::Ordering::Equal => 0,
                std::cmp::Ordering::Greater => self.outputs.bits_of(Dim::Axis(new - 1)),
            })
            .collect();
        let outputs = Space::tensor(&bits)?;
        Ok(Layout { inputs: self.inputs.clone(), outputs, columns: self.columns.clone() })
    }

    /// The layout of a reduction's result: `axis` is removed, and inputs that differed only along it
    /// now hold copies.
    ///
    /// # Errors
    /// There is no such axis.
    pub fn slice(&self, axis: u8) -> Result<Layout, Error> {
        let rank = self.outputs.rank();
        if axis as usize >= rank {
            return Err(Error::MissingDimension(Dim::Axis(axis)));
        }
        let sources: Vec<Dim> = (0..rank as u8).filter(|&old| old != axis).map(Dim::Axis).collect();
        self.rename_axes(&sources)
    }

    /// The layout of a tensor repeated along an axis of extent 1, each thread keeping all the repetitions
    /// of what it holds in new registers.
    ///
    /// # Errors
    /// The axis is absent or its extent is not 1, or `extent` is not a power of two.
    pub fn broadcast(&self, axis: u8, extent: u64) -> Result<Layout, Error> {
        let dim = Dim::Axis(axis);
        if !self.outputs.contains(dim) {
            return Err(Error::MissingDimension(dim));
        }
        if self.outputs.bits_of(dim) != 0 {
            return Err(Error::InvalidParameter {
                what: "the extent of a broadcast axis",
                value: self.outputs.extent(dim),
                expected: "only an axis of extent 1 can be repeated",
            });
        }
        self.product(&Layout::identity(Dim::Register, dim, log2("an extent", extent)?)?)
    }

    /// The layout of two tensors joined along a new last axis; the lowest register bit tells them apart.
    pub fn join(&self) -> Result<Layout, Error> {
        let last = self.outputs.rank();
        let axis = u8::try_from(last).map_err(|_| Error::TooManyBits(last as u32))?;
        Layout::identity(Dim::Register, Dim::Axis(axis), 1)?.product(&self.expand_dims(axis)?)
    }

    /// The layout of each half of a tensor whose last axis has extent 2, with the register bit that
    /// told the halves apart; `None` where they are not apart in every thread's registers.
    pub fn split(&self) -> Option<(Layout, u32)> {
        let last = self.outputs.rank().checked_sub(1)?;
        let dim = Dim::Axis(last as u8);
        let half = self.outputs.put(dim, 1);
        if self.outputs.bits_of(dim) != 1 {
            return None;
        }
        let users = self.columns.iter().filter(|&&column| column & half != 0).count();
        let bit = self.columns_of(Dim::Register).iter().position(|&column| column == half)?;
        if users != 1 {
            return None;
        }
        let registers = self.inputs.bits_of(Dim::Register);
        let shrunk = self
            .inputs
            .dims()
            .iter()
            .map(|&(dim, bits)| if dim == Dim::Register { (dim, registers - 1) } else { (dim, bits) });
        let inputs = Space::new(shrunk).ok()?;
        let mut columns = self.columns.clone();
        columns.remove(self.inputs.shift_of(Dim::Register) as usize + bit);
        let halves = Layout { inputs, outputs: self.outputs.clone(), columns };
        Some((halves.slice(last as u8).ok()?, bit as u32))
    }

    /// The layout of two tensors of this layout one after the other along `axis`, the highest register
    /// bit telling them apart.
    ///
    /// # Errors
    /// There is no such axis.
    pub fn concatenate(&self, axis: u8) -> Result<Layout, Error> {
        if !self.outputs.contains(Dim::Axis(axis)) {
            return Err(Error::MissingDimension(Dim::Axis(axis)));
        }
        self.product(&Layout::identity(Dim::Register, Dim::Axis(axis), 1)?)
    }

    /// This tile spread over a tensor of the given shape: registers repeat it where the tensor is
    /// larger (last axis first), and threads hold copies where it is smaller.
    ///
    /// # Errors
    /// The rank differs, or an extent is not a power of two.
    pub fn cover(&self, shape: &[u64]) -> Result<Layout, Error> {
        let order: Vec<u8> = (0..shape.len() as u8).rev().collect();
        self.cover_in_order(shape, &order)
    }

    /// As [`cover`](Layout::cover), with the axes repeated in the given order, fastest first.
    pub fn cover_in_order(&self, shape: &[u64], order: &[u8]) -> Result<Layout, Error> {
        let target = tensor_space(shape)?;
        let names = |space: &Space| space.dims().iter().map(|&(dim, _)| dim).collect::<Vec<_>>();
        if names(&target) != names(&self.outputs) {
            return Err(Error::SpaceMismatch { left: self.outputs.to_string(), right: target.to_string() });
        }
        let clipped = self.outputs.dims().iter().map(|&(dim, bits)| (dim, bits.min(target.bits_of(dim))));
        let outputs = Space::new(clipped)?;
        let columns = self.columns.iter().map(|&column| self.outputs.transfer(column, &outputs)).collect();
        let mut whole = Layout { inputs: self.inputs.clone(), outputs, columns };
        for &axis in order {
            let dim = Dim::Axis(axis);
            if !target.contains(dim) {
                return Err(Error::MissingDimension(dim));
            }
            let missing = target.bits_of(dim) - whole.outputs.bits_of(dim);
            whole = whole.product(&Layout::identity(Dim::Register, dim, missing)?)?;
        }
        whole.outputs.expect(&target)?;
        Ok(whole)
    }

    /// The layout with axis `i` taken from `sources[i]`; axes not named are dropped.
    fn rename_axes(&self, sources: &[Dim]) -> Result<Layout, Error> {
        let bits: Vec<u32> = sources.iter().map(|&dim| self.outputs.bits_of(dim)).collect();
        let outputs = Space::tensor(&bits)?;
        let columns = self.columns.iter().map(|&column| {
            sources.iter().enumerate().fold(0, |sum, (axis, &source)| {
                sum | outputs.put(Dim::Axis(axis as u8), self.outputs.get(column, source))
            })
        });
        Ok(Layout { columns: columns.collect(), inputs: self.inputs.clone(), outputs })
    }
}

/// The index space of a tensor of the given extents.
pub(crate) fn tensor_space(shape: &[u64]) -> Result<Space, Error> {
    let bits: Result<Vec<u32>, Error> = shape.iter().map(|&extent| log2("an extent", extent)).collect();
    Space::tensor(&bits?)
}
