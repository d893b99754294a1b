//! Products by `wgmma`: four warps multiply 64 rows by up to 256 columns, reading the right operand, and the left if it lies there, from
//! shared memory.
//!
//! Warpgroups share the result's rows as far as they go, then its columns. An operand that is the tile of a load is read in place if
//! the instruction's descriptors can say how it lies there. Of the others, the left one is taken from registers, each thread reading its
//! fragment from the tile if there is one, and the right one is stored to a tile first.

use super::Assignment;
use super::product::is_float8;
use super::product::{Operand, Product, Shapes, Unit};
use super::tile::{SharedTile, Staged, warpgroup_operand};
use crate::Target;
use tegula_ir::Scalar;
use tegula_layout::{Dim, Layout, SharedAccess, Warps, fragment};
use tegula_ptx::Features;

/// The rows of one instruction.
pub(crate) const ROWS: u64 = 64;

/// The most columns of one instruction.
const COLUMNS: u64 = 256;

/// Warps of a warpgroup.
const GROUP_WARPS: u64 = 4;

/// Whether the instruction multiplies such operands.
pub(super) fn takes(shapes: &Shapes, target: Target, num_warps: u64) -> bool {
    use Scalar::*;
    let [a, b, c] = shapes.elements;
    let (half, float8) = (matches!(a, Float16 | BFloat16) && a == b, is_float8(a) && is_float8(b));
    let bytes = matches!(a, Int8 | UInt8) && matches!(b, Int8 | UInt8) && c == Int32;
    let types =
        (half && matches!(c, Float32 | Float16)) || (float8 && c == Float32) || bytes || shapes.are_tf32();
    let hopper = target.architecture == 90 && target.features == Features::Specific;
    let &[rows, columns] = &shapes.result[..] else { return false };
    hopper
        && types
        && num_warps.is_multiple_of(GROUP_WARPS)
        && rows >= ROWS
        && columns / columns_of_groups(rows, num_warps) >= 8
        && shapes.depth * u64::from(a.bits()) >= 256
}

/// Warpgroups along the columns: those for which there are no rows.
fn columns_of_groups(rows: u64, num_warps: u64) -> u64 {
    let groups = num_warps / GROUP_WARPS;
    groups / groups.min(rows / ROWS)
}

/// Plans the instructions of a product, or of its transpose: all but the layouts are in the instruction's terms. `loads` are the operands
/// that are tiles of loads.
pub(super) fn plan(
    shapes: &Shapes,
    transposed: bool,
    loads: [Option<(Staged, SharedTile)>; 2],
    assignment: &mut Assignment,
) -> Option<Product> {
    let bits = shapes.elements[0].bits();
    let num_warps = u64::from(assignment.set.num_warps);
    let &[rows, columns] = &shapes.result[..] else { return None };
    let across = columns_of_groups(rows, num_warps);
    let down = num_warps / GROUP_WARPS / across;
    let (n, k) = ((columns / across).min(COLUMNS), 256 / u64::from(bits));
    let along = |axis, count| Warps::Along { axis, count };
    let tile = fragment::warpgroup_accumulator(2, n).ok()?;
    let mut accumulator = spread(&tile, [along(0, down), along(1, across)], &[rows, columns])?;
    let [left, right] = loads;
    let in_place = |staged: &Staged, tile| warpgroup_operand(tile, staged.axes, 1, ROWS, bits).is_some();
    let lhs = match left {
        Some((staged, tile)) if in_place(&staged, &tile) => Operand::Staged { staged, tile },
        left => {
            let fragment = fragment::warpgroup_operand_a(2, bits, k).ok()?;
            let shared =
                spread(&fragment, [along(0, down), Warps::Copies { count: across }], &[rows, shapes.depth])?;
            match left {
                Some((staged, tile)) => {
                    let order = row_order(&shared, &tile, staged.axes, bits)?;
                    accumulator = reorder_rows(&accumulator, order)?;
                    let layout = over_tile(&reorder_rows(&shared, order)?, staged.axes)?;
                    Operand::Read { staged, tile, layout }
                }
                None => {
                    let layout = of_product(shared, transposed)?;
                    let id = assignment.set.add(&layout);
                    Operand::Fragment { layout, id }
                }
            }
        }
    };
    let right = right.filter(|(staged, tile)| warpgroup_operand(tile, staged.axes, 0, n, bits).is_some());
    let rhs = match right {
        Some((staged, tile)) => Operand::Staged { staged, tile },
        None => {
            // Of other types than those of 16 bits, the instruction wants K contiguous.
            let order = if bits == 16 { [1, 0] } else { [0, 1] };
            let (mut extents, mut axes) = ([shapes.depth, columns], [0, 1]);
            let mut order = order;
            if transposed {
                extents.reverse();
                axes.reverse();
                order.reverse();
            }
            let tile = SharedTile::new(&extents, &order, bits)?;
            warpgroup_operand(&tile, axes, 0, n, bits)?;
            Operand::Stored { tile, axes }
        }
    };
    let accumulator = of_product(accumulator, transposed)?;
    let accumulator_id = assignment.set.add(&accumulator);
    Some(Product { unit: Unit::Warpgroup { n, k }, transposed, lhs, rhs, accumulator, accumulator_id })
}

/// The order of the bits of a row's number among [`ROWS`]: bit `i` of the instruction's row is bit `order[i]` of the operand's.
type RowOrder = [u32; ROWS.trailing_zeros() as usize];

/// The order of rows in which threads read their fragments from a tile in the fewest wavefronts, and among those with the fewest
/// instructions. It does not matter to the product which of its rows the instruction takes for which: where rows are contiguous, two of a thread's
/// are read at once, and those of a warp lie in different banks.
fn row_order(fragment: &Layout, tile: &SharedTile, axes: [u8; 2], bits: u32) -> Option<RowOrder> {
    let cost = |order: &RowOrder| {
        let layout = over_tile(&reorder_rows(fragment, *order)?, axes)?;
        let access = SharedAccess::new(&layout, &tile.layout, bits).ok()?;
        Some((access.wavefronts(), access.vector.instructions()))
    };
    let costs = row_orders().filter_map(|order| Some((cost(&order)?, order)));
    costs.min_by_key(|&(cost, _)| cost).map(|(_, order)| order)
}

/// All orders, but for that of the two bits that number warps.
fn row_orders() -> impl Iterator<Item = RowOrder> {
    let bits = 0..ROWS.trailing_zeros();
    let pairs = bits.clone().flat_map(move |first| bits.clone().map(move |second| (first, second)));
    pairs
        .flat_map(|(first, second)| {
            let bits = 0..ROWS.trailing_zeros();
            bits.clone().flat_map(move |third| bits.clone().map(move |fourth| [first, second, third, fourth]))
        })
        .filter_map(|lanes_and_register| {
            let mut order = [0; ROWS.trailing_zeros() as usize];
            order[..4].copy_from_slice(&lanes_and_register);
            let mut rest = (0..ROWS.trailing_zeros()).filter(|bit| !lanes_and_register.contains(bit));
            order[4] = rest.next()?;
            order[5] = rest.next()?;
            rest.next().is_none().then_some(order)
        })
}

/// A layout of the instruction's rows as one of the operand's.
fn reorder_rows(layout: &Layout, order: RowOrder) -> Option<Layout> {
    let outputs = layout.outputs();
    let reordered = layout.columns().iter().map(|&column| {
        let row = outputs.get(column, Dim::Axis(0));
        let bits = order.iter().enumerate().map(|(bit, &to)| (row >> bit & 1) << to);
        let row = row & !(ROWS - 1) | bits.sum::<u64>();
        outputs.put(Dim::Axis(0), row) | outputs.put(Dim::Axis(1), outputs.get(column, Dim::Axis(1)))
    });
    Layout::from_columns(layout.inputs().clone(), outputs.clone(), reordered.collect()).ok()
}

/// A layout of the operand's matrix as one of the tile that has its axes in the given order.
fn over_tile(layout: &Layout, axes: [u8; 2]) -> Option<Layout> {
    of_product(layout.clone(), axes != [0, 1])
}

/// A layout of the instruction's matrix as one of the product's.
fn of_product(layout: Layout, transposed: bool) -> Option<Layout> {
    if transposed { layout.permute(&[1, 0]).ok() } else { Some(layout) }
}

fn spread(tile: &Layout, groups: [Warps; 2], extents: &[u64]) -> Option<Layout> {
    Warps::spread(tile, &groups).and_then(|layout| layout.cover(extents)).ok()
}
