//! Layout assignment: which layout every block of a function has.
//!
//! *Anchors* are operations that care: memory operations want consecutive threads on consecutive addresses ([`coalesce`]),
//! products want the fragments of the tensor cores ([`product`]). Elementwise operations want all their operands
//! alike, so values that they connect form a *class* with one layout, its home, for which the anchors vote
//! with the bytes that a conversion would move, more so in loops ([`class`]).
//!
//! Cheap values (index blocks, splats, broadcasts, and simple arithmetic on them) have no home: they are computed in each
//! layout in which somebody wants them. What is left over, a value wanted in a layout that is not its home, is a conversion
//! ([`demand`]), placed where the value is defined.

mod class;
mod coalesce;
mod demand;
mod flexible;
mod product;
mod set;
mod text;
mod tile;
mod warpgroup;

pub(crate) use coalesce::{access_order, element_bytes, vector_access};
pub(crate) use product::{Operand, Product, Unit};
pub(crate) use set::{LayoutId, LayoutSet, register_map, without_axis};
pub(crate) use tile::{SharedTile, is_zero, warpgroup_operand};
pub(crate) use warpgroup::ROWS as WARPGROUP_ROWS;

use crate::users::Users;
use crate::{Options, Target};
use rustc_hash::FxHashMap;
use tegula_ir::{Function, OpId, Value};
use tegula_passes::AxisAnalysis;

/// The layouts of a function's blocks.
#[derive(Clone)]
pub(crate) struct Assignment {
    pub set: LayoutSet,
    /// For each value: its layout, unless it is a scalar or flexible.
    pub home: Vec<Option<LayoutId>>,
    /// For each value: the layouts in which it is needed.
    pub wanted: Vec<Vec<LayoutId>>,
    /// For each operation that cares: the layout it works in. That of a memory operation is its access; that of a reduction, a
    /// scan or a split is the operand's.
    pub work: FxHashMap<OpId, LayoutId>,
    /// How products are computed.
    pub products: FxHashMap<OpId, Product>,
}

impl Assignment {
    /// Assigns layouts to every block.
    pub fn new(function: &Function, axis: &AxisAnalysis, target: Target, options: &Options) -> Assignment {
        let mut assignment = Assignment {
            set: LayoutSet::new(options.num_warps),
            home: vec![None; function.value_count()],
            wanted: vec![Vec::new(); function.value_count()],
            work: FxHashMap::default(),
            products: FxHashMap::default(),
        };
        let flexible = flexible::flexible_values(function);
        coalesce::anchor_memory(function, axis, &mut assignment);
        product::anchor_products(function, axis, target, &mut assignment);
        tile::settle(function, &Users::new(function), &mut assignment);
        class::settle_homes(function, &flexible, &mut assignment);
        demand::collect(function, &flexible, &mut assignment);
        assignment
    }

    /// The tile of a load that is staged.
    pub fn tile_of(&self, load: OpId) -> Option<&SharedTile> {
        let mut tiles = self.products.values().flat_map(Product::staged);
        tiles.find_map(|(staged, tile)| (staged.load == load).then_some(tile))
    }

    /// The layout of a value that has a home.
    pub fn home_of(&self, value: Value) -> Option<LayoutId> {
        self.home[value.0 as usize]
    }
}
