//! Products, compositions, inverses, quotients and restrictions of layouts.

use crate::span::Span;
use crate::{Dim, Error, Layout, Space};

impl Layout {
    /// The direct product: `self` on the low bits of every dimension, `outer` on the bits above.
    ///
    /// A tile times its repetition is the layout of the whole: an 8x8 tile in one warp, times
    /// an identity from `Warp` to axis 0, is a tile of 8 rows for each warp.
    ///
    /// # Errors
    /// The result has more than 64 bits.
    pub fn product(&self, outer: &Layout) -> Result<Layout, Error> {
        let join = |low: &Space, high: &Space| {
            let grown = low.dims().iter().map(|&(dim, bits)| (dim, bits + high.bits_of(dim)));
            let added = high.dims().iter().copied().filter(|&(dim, _)| !low.contains(dim));
            Space::new(grown.chain(added))
        };
        let inputs = join(&self.inputs, &outer.inputs)?;
        let outputs = join(&self.outputs, &outer.outputs)?;
        let mut columns = Vec::with_capacity(inputs.bits() as usize);
        for &(dim, _) in inputs.dims() {
            for &column in self.columns_of(dim) {
                columns.push(self.outputs.transfer(column, &outputs));
            }
            for &column in outer.columns_of(dim) {
                let moved = outer.outputs.dims().iter().fold(0, |sum, &(output, _)| {
                    let value = outer.outputs.get(column, output);
                    sum | outputs.put(output, value << self.outputs.bits_of(output))
                });
                columns.push(moved);
            }
        }
        Ok(Layout { inputs, outputs, columns })
    }

    /// The map that applies `self`, then `next`.
    ///
    /// # Errors
    /// The outputs of `self` are not the inputs of `next`.
    pub fn then(&self, next: &Layout) -> Result<Layout, Error> {
        self.outputs.expect(&next.inputs)?;
        let columns = self.columns.iter().map(|&column| next.apply(column)).collect();
        Ok(Layout { inputs: self.inputs.clone(), outputs: next.outputs.clone(), columns })
    }

    /// The inverse of a bijection.
    ///
    /// # Errors
    /// The layout is not injective, or not surjective.
    pub fn inverse(&self) -> Result<Layout, Error> {
        if self.is_injective() { self.right_inverse() } else { Err(Error::NotInjective) }
    }

    /// The map from each output to one input that reaches it: `right_inverse().then(self)` is the
    /// identity. Where there are copies, the bits that number them
    /// ([`free_variable_masks`](Layout::free_variable_masks)) are zero in the input chosen.
    ///
    /// # Errors
    /// The layout is not surjective.
    pub fn right_inverse(&self) -> Result<Layout, Error> {
        let span = Span::of(&self.columns);
        let columns: Option<Vec<u64>> =
            crate::span::standard(self.outputs.bits()).map(|unit| span.express(unit)).collect();
        let columns = columns.ok_or(Error::NotSurjective)?;
        Ok(Layout { inputs: self.outputs.clone(), outputs: self.inputs.clone(), columns })
    }

    /// The map from the image to inputs, with zero for what is not reached along a complement of the
    /// image: `then(pseudo_inverse)` fixes inputs of an injective layout. It always exists, and is the
    /// [`right_inverse`](Layout::right_inverse) where that exists.
    pub fn pseudo_inverse(&self) -> Layout {
        let mut span = Span::of(&self.columns);
        let bits = self.outputs.bits();
        let known = crate::space::low_mask(self.columns.len() as u32);
        for unit in crate::span::standard(bits) {
            span.insert(unit);
        }
        // Units inserted after the columns stand for what the image lacks; their part is dropped.
        let columns =
            crate::span::standard(bits).map(|unit| span.express(unit).unwrap_or(0) & known).collect();
        Layout { inputs: self.outputs.clone(), outputs: self.inputs.clone(), columns }
    }

    /// The quotient `q` for which `divisor.product(&q)` is this layout, if there is one.
    ///
    /// It tells whether a layout is made of whole tiles: a warp-wide load instruction is applicable where the
    /// layout divides by the tile of the instruction.
    pub fn divide_left(&self, divisor: &Layout) -> Option<Layout> {
        let rest = |whole: &Space, part: &Space| -> Option<Space> {
            if part.dims().iter().any(|&(dim, bits)| bits > whole.bits_of(dim) || !whole.contains(dim)) {
                return None;
            }
            Space::new(whole.dims().iter().map(|&(dim, bits)| (dim, bits - part.bits_of(dim)))).ok()
        };
        let inputs = rest(&self.inputs, &divisor.inputs)?;
        let outputs = rest(&self.outputs, &divisor.outputs)?;
        let mut columns = Vec::with_capacity(inputs.bits() as usize);
        for &(dim, _) in self.inputs.dims() {
            let own = self.columns_of(dim);
            let (low, high) = own.split_at(divisor.columns_of(dim).len());
            let expected = divisor.columns_of(dim).iter();
            if low
                .iter()
                .zip(expected)
                .any(|(&own, &tile)| own != divisor.outputs.transfer(tile, &self.outputs))
            {
                return None;
            }
            for &column in high {
                let mut moved = 0;
                for &(output, _) in self.outputs.dims() {
                    let value = self.outputs.get(column, output);
                    let tile = divisor.outputs.bits_of(output);
                    if value & crate::space::low_mask(tile) != 0 {
                        return None;
                    }
                    moved |= outputs.put(output, value >> tile);
                }
                columns.push(moved);
            }
        }
        Some(Layout { inputs, outputs, columns })
    }

    /// The layout of some inputs, the others being zero, seen along some outputs.
    ///
    /// # Errors
    /// A dimension is absent or given twice.
    pub fn sublayout(&self, inputs: &[Dim], outputs: &[Dim]) -> Result<Layout, Error> {
        let pick = |space: &Space, dims: &[Dim]| {
            if let Some(&absent) = dims.iter().find(|&&dim| !space.contains(dim)) {
                return Err(Error::MissingDimension(absent));
            }
            Space::new(dims.iter().map(|&dim| (dim, space.bits_of(dim))))
        };
        let inputs = pick(&self.inputs, inputs)?;
        let outputs = pick(&self.outputs, outputs)?;
        let columns = inputs
            .dims()
            .iter()
            .flat_map(|&(dim, _)| self.columns_of(dim))
            .map(|&column| self.outputs.transfer(column, &outputs))
            .collect();
        Ok(Layout { inputs, outputs, columns })
    }

    /// Whether the outputs do not depend on the inputs at all; absent dimensions do not matter.
    pub fn is_independent(&self, inputs: &[Dim], outputs: &[Dim]) -> bool {
        let mask = outputs.iter().fold(0, |mask, &dim| mask | self.outputs.mask_of(dim));
        inputs.iter().all(|&dim| self.columns_of(dim).iter().all(|&column| column & mask == 0))
    }

    /// The layout with one input dimension set to zero and removed.
    pub fn without_input(&self, dim: Dim) -> Layout {
        let kept: Vec<Dim> =
            self.inputs.dims().iter().map(|&(other, _)| other).filter(|&other| other != dim).collect();
        let dims = kept.iter().map(|&dim| (dim, self.inputs.bits_of(dim))).collect::<Vec<_>>();
        let columns = kept.iter().flat_map(|&dim| self.columns_of(dim)).copied().collect();
        let inputs = Space::new(dims).unwrap_or_default();
        Layout { inputs, outputs: self.outputs.clone(), columns }
    }

    /// The layout without the registers that hold copies of other registers of the same thread, and
    /// the set of registers kept: a basis, in terms of the old register number.
    pub fn without_register_copies(&self) -> (Layout, Vec<u64>) {
        let registers = self.columns_of(Dim::Register);
        let mut span = Span::default();
        let kept: Vec<usize> = (0..registers.len()).filter(|&bit| span.insert(registers[bit])).collect();
        let first = self.inputs.shift_of(Dim::Register) as usize;
        let shrunk =
            self.inputs.dims().iter().map(|&(dim, bits)| {
                if dim == Dim::Register { (dim, kept.len() as u32) } else { (dim, bits) }
            });
        let inputs = Space::new(shrunk).unwrap_or_default();
        let columns = self.columns[..first]
            .iter()
            .copied()
            .chain(kept.iter().map(|&bit| registers[bit]))
            .chain(self.columns[first + registers.len()..].iter().copied())
            .collect();
        let basis = kept.into_iter().map(|bit| 1 << bit).collect();
        (Layout { inputs, outputs: self.outputs.clone(), columns }, basis)
    }

    /// The same map with an input dimension known by another name.
    ///
    /// # Errors
    /// `from` is absent, or `to` is present.
    pub fn rename_input(&self, from: Dim, to: Dim) -> Result<Layout, Error> {
        if !self.inputs.contains(from) {
            return Err(Error::MissingDimension(from));
        }
        let name = |dim: Dim| if dim == from { to } else { dim };
        let inputs = Space::new(self.inputs.dims().iter().map(|&(dim, bits)| (name(dim), bits)))?;
        // The new name may sort elsewhere, so the columns are gathered by the old names again.
        let old = |dim: Dim| if dim == to { from } else { dim };
        let columns = inputs.dims().iter().flat_map(|&(dim, _)| self.columns_of(old(dim))).copied().collect();
        Ok(Layout { inputs, outputs: self.outputs.clone(), columns })
    }
}
