//! The layouts of one compilation, each kept once; and small constructions on layouts.

use crate::padding::padded;
use rustc_hash::FxHashMap;
use tegula_ir::Shape;
use tegula_layout::span::Span;
use tegula_layout::{Blocked, Dim, Layout, Space, WARP_LANES};

/// A layout of a [`LayoutSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LayoutId(pub u32);

/// Layouts by number. All are canonical: no thread holds an element in two registers.
#[derive(Clone)]
pub(crate) struct LayoutSet {
    layouts: Vec<Layout>,
    known: FxHashMap<Layout, LayoutId>,
    pub num_warps: u32,
}

impl LayoutSet {
    pub fn new(num_warps: u32) -> LayoutSet {
        LayoutSet { layouts: Vec::new(), known: FxHashMap::default(), num_warps }
    }

    /// The number of a layout, once made canonical.
    pub fn add(&mut self, layout: &Layout) -> LayoutId {
        let layout = canonical(layout);
        if let Some(&id) = self.known.get(&layout) {
            return id;
        }
        let id = LayoutId(self.layouts.len() as u32);
        self.layouts.push(layout.clone());
        self.known.insert(layout, id);
        id
    }

    pub fn get(&self, id: LayoutId) -> &Layout {
        &self.layouts[id.0 as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = (LayoutId, &Layout)> {
        self.layouts.iter().enumerate().map(|(index, layout)| (LayoutId(index as u32), layout))
    }

    /// Registers of a thread in a layout.
    pub fn registers(&self, id: LayoutId) -> usize {
        1 << self.get(id).inputs().bits_of(Dim::Register)
    }

    /// A blocked layout of a block of the given shape, `vector` elements of the fastest axis to a thread; fewer where there are not as many,
    /// but `least`.
    pub fn blocked(&mut self, shape: &Shape, order: &[u8], vector: u64, least: u64) -> LayoutId {
        let extents = padded(shape);
        let elements: u64 = extents.iter().product();
        let threads = WARP_LANES * u64::from(self.num_warps);
        let fastest = extents.get(order.first().map_or(0, |&axis| axis as usize)).copied().unwrap_or(1);
        let vector = vector.min((elements / threads).max(least.min(fastest)));
        let layout = Blocked::coalesced(&extents, order, vector, self.num_warps.into())
            .and_then(|blocked| blocked.layout(&extents))
            .expect("extents, vectors and warps are powers of two");
        self.add(&layout)
    }

    /// The layout of a block of which nothing is known but its shape.
    pub fn default_for(&mut self, shape: &Shape) -> LayoutId {
        let order: Vec<u8> = (0..shape.rank() as u8).rev().collect();
        self.blocked(shape, &order, 4, 1)
    }
}

/// The layout without registers that hold copies.
pub(crate) fn canonical(layout: &Layout) -> Layout {
    layout.without_register_copies().0
}

/// For each register of a layout, the register of its canonical form that holds the same.
pub(crate) fn register_map(layout: &Layout) -> Vec<usize> {
    let columns = layout.columns_of(Dim::Register);
    let (_, kept) = layout.without_register_copies();
    let kept: Vec<u64> = kept.iter().map(|bit| columns[bit.trailing_zeros() as usize]).collect();
    let span = Span::of(&kept);
    let bits: Vec<u64> = columns.iter().map(|&column| span.express(column).unwrap_or(0)).collect();
    (0..1u64 << columns.len())
        .map(|register| tegula_layout::span::multiply(&bits, register) as usize)
        .collect()
}

/// The layout of a block with an axis shrunk to extent 1: inputs that differed along it hold copies.
pub(crate) fn without_axis(layout: &Layout, axis: u8) -> Layout {
    let mask = layout.outputs().mask_of(Dim::Axis(axis));
    let dims = layout.outputs().dims();
    let shrunk = dims.iter().map(|&(dim, bits)| (dim, if dim == Dim::Axis(axis) { 0 } else { bits }));
    let outputs = Space::new(shrunk).expect("fewer bits than before");
    let columns = layout.columns().iter().map(|&column| {
        let kept = column & !mask;
        dims.iter().fold(0, |sum, &(dim, _)| sum | outputs.put(dim, layout.outputs().get(kept, dim)))
    });
    let columns = columns.collect();
    Layout::from_columns(layout.inputs().clone(), outputs, columns).expect("columns fit the smaller space")
}
