//! Shared tiles: where operands of products lie in shared memory, and which values are loaded there.
//!
//! A load whose elements only ever reach products (through transposes) is *staged*: it is copied into a tile, in the background
//! where the hardware can, and no thread holds it in registers. The tile is laid out as the instructions that read it want
//! it: rows as long as one of the swizzles of `wgmma`'s descriptors, so that `ldmatrix` finds no bank conflicts either.

use super::coalesce::{access_order, element_bytes};
use super::{Assignment, Operand, Product};
use crate::padding::padded;
use crate::users::{User, Users};
use tegula_ir::{Function, Literal, Op, OpId, Value, ValueDef};
use tegula_layout::{BulkSwizzle, Layout, WarpgroupOperand, shared};
use tegula_passes::AxisAnalysis;

/// A block in shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedTile {
    /// The block's axes to an offset in elements.
    pub layout: Layout,
    pub swizzle: BulkSwizzle,
    /// The bytes of the tile, a multiple of [`SharedTile::ALIGNMENT`].
    pub bytes: u32,
}

impl SharedTile {
    /// Eight rows of the widest swizzle: where a tile starts, the swizzles of all tiles start.
    pub const ALIGNMENT: u32 = 1024;

    /// A tile with the axes from the fastest to the slowest as given, in the widest swizzle that its rows fill.
    pub fn new(shape: &[u64], order: &[u8], element_bits: u32) -> Option<SharedTile> {
        let row_bytes = shape[order[0] as usize] * u64::from(element_bits) / 8;
        let swizzle = BulkSwizzle::ALL
            .into_iter()
            .find(|swizzle| swizzle.row_bytes().is_none_or(|bytes| bytes <= row_bytes))?;
        let layout = shared::bulk(shape, order, element_bits, swizzle).ok()?;
        let bytes = (shape.iter().product::<u64>() * u64::from(element_bits)).div_ceil(8);
        let bytes = u32::try_from(bytes).ok()?.checked_next_multiple_of(SharedTile::ALIGNMENT)?;
        Some(SharedTile { layout, swizzle, bytes })
    }
}

/// An operand of a product that is read from the tile of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Staged {
    pub load: OpId,
    /// Axis `i` of the operand is axis `axes[i]` of what is loaded.
    pub axes: [u8; 2],
}

/// The load that a value is, through transposes of matrices.
pub(super) fn loaded(function: &Function, value: Value) -> Option<Staged> {
    let ValueDef::Result { op, .. } = function.value(value).def else { return None };
    match &function.op(op).op {
        Op::Load { .. } if function.ty(value).shape.rank() == 2 => Some(Staged { load: op, axes: [0, 1] }),
        Op::Transpose { value, permutation } if permutation.len() == 2 => {
            let inner = loaded(function, *value)?;
            let axes = [permutation[0], permutation[1]].map(|axis| inner.axes[axis as usize]);
            Some(Staged { axes, ..inner })
        }
        _ => None,
    }
}

/// The tile that a load would be staged in: as its addresses run, so that what is contiguous there stays so.
pub(super) fn tile_of_load(function: &Function, axis: &AxisAnalysis, load: OpId) -> Option<SharedTile> {
    let Op::Load { pointer, other, volatile, .. } = &function.op(load).op else { return None };
    let zero = other.is_none_or(|other| is_zero(function, other));
    if *volatile || !zero {
        return None;
    }
    let ty = function.ty(*pointer);
    let bits = element_bytes(function, *pointer) as u32 * 8;
    SharedTile::new(&padded(&ty.shape), &access_order(axis, *pointer, &ty.shape), bits)
}

/// Whether every element of a value is positive zero.
pub(crate) fn is_zero(function: &Function, value: Value) -> bool {
    let ValueDef::Result { op, .. } = function.value(value).def else { return false };
    match &function.op(op).op {
        Op::Splat { value } | Op::Broadcast { value } => is_zero(function, *value),
        Op::Constant(literal) => matches!(literal, Literal::Int(0)) || *literal == Literal::Float(0.0),
        _ => false,
    }
}

/// How `wgmma` reads a staged operand's tile, `rows` of it at a time; `contraction` is the operand's axis of K.
pub(crate) fn warpgroup_operand(
    tile: &SharedTile,
    axes: [u8; 2],
    contraction: usize,
    rows: u64,
    element_bits: u32,
) -> Option<WarpgroupOperand> {
    WarpgroupOperand::find(&tile.layout, axes[contraction], rows, element_bits).ok().flatten()
}

/// Leaves staged only the loads that nothing but products reads from their tiles.
///
/// A product that has planned for the tile of another load takes that operand from registers.
pub(super) fn settle(function: &Function, users: &Users, assignment: &mut Assignment) {
    let mut ops: Vec<OpId> = assignment.products.keys().copied().collect();
    ops.sort_unstable();
    loop {
        let is_read_elsewhere = |op: &&OpId| {
            let loads =
                assignment.products[*op].staged().map(|(staged, _)| function.op(staged.load).results[0]);
            loads.into_iter().any(|value| !only_products_read(function, users, assignment, value))
        };
        let Some(&op) = ops.iter().find(is_read_elsewhere) else { return };
        Product::unstage(function, op, assignment);
    }
}

/// Whether a value of a staged load reaches only products that read its tile.
fn only_products_read(function: &Function, users: &Users, assignment: &Assignment, value: Value) -> bool {
    users.of(value).iter().all(|user| {
        let &User::Op(op) = user else { return false };
        match &function.op(op).op {
            Op::Transpose { .. } => {
                only_products_read(function, users, assignment, function.op(op).results[0])
            }
            Op::Dot { lhs, rhs, accumulator, .. } => {
                let product = &assignment.products[&op];
                let reads_tile =
                    |(operand, source): &(Value, &Operand)| *operand != value || source.staged().is_some();
                *accumulator != Some(value) && product.operands(*lhs, *rhs).iter().all(reads_tile)
            }
            _ => false,
        }
    })
}
