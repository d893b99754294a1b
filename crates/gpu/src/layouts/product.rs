//! How products are computed, and the layouts of their operands and results.
//!
//! A tensor-core instruction multiplies a tile of 16 x K by K x 8 (8 x 4 by 4 x 8 for fp64). Warps share the result's rows and columns;
//! each operand is copied along the axis that it does not have. Products that the instructions do not take (batches, small
//! extents, exact fp32, formats that the target lacks) are sums of fused multiply-adds on a blocked result.

use super::{Assignment, LayoutId};
use crate::Target;
use crate::padding::padded;
use tegula_ir::{DotPrecision, Function, Op, OpId, RegionId, Scalar, Shape};
use tegula_layout::{Layout, Warps, fragment};

/// What multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// `mma.sync.m16n8k*`, with K of 32 bytes.
    TensorCore { k: u64 },
    /// `mma.sync.m8n8k4` of fp64.
    TensorCoreFp64,
    /// One multiply-add a thread.
    MultiplyAdd,
}

/// The layouts of a product. The operands' are not canonical: their registers are those of the instruction.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub unit: Unit,
    /// The accumulator and the result, with the registers of the instruction.
    pub accumulator: Layout,
    pub lhs: Option<Layout>,
    pub rhs: Option<Layout>,
    /// The canonical layouts of the three.
    pub accumulator_id: LayoutId,
    pub lhs_id: LayoutId,
    pub rhs_id: LayoutId,
}

/// Gives each product its unit and layouts.
pub(super) fn anchor_products(function: &Function, target: Target, assignment: &mut Assignment) {
    region(function, function.body, target, assignment);
}

fn region(function: &Function, id: RegionId, target: Target, assignment: &mut Assignment) {
    for &op in &function.region(id).ops {
        for inner in function.op(op).op.regions() {
            region(function, inner, target, assignment);
        }
        if matches!(function.op(op).op, Op::Dot { .. }) {
            let product = plan(function, op, target, assignment);
            assignment.products.insert(op, product);
        }
    }
}

fn plan(function: &Function, op: OpId, target: Target, assignment: &mut Assignment) -> Product {
    let data = function.op(op);
    let Op::Dot { lhs, rhs, precision, .. } = &data.op else { unreachable!("only products are planned") };
    let (left, right) = (function.ty(*lhs), function.ty(*rhs));
    let result = function.ty(data.results[0]);
    let scalars = (left.element.as_scalar(), right.element.as_scalar(), result.element.as_scalar());
    let (Some(a), Some(b), Some(c)) = scalars else { unreachable!("products are of numbers") };
    let shape = padded(&result.shape);
    let depth = u64::from(*left.shape.last().expect("operands are matrices")).next_power_of_two();
    let unit = choose_unit(a, b, c, &shape, depth, *precision, target);
    if let Some((tile_c, tile_a, tile_b)) = tiles(unit, a.bits())
        && result.shape.rank() == 2
    {
        let warps = u64::from(assignment.set.num_warps);
        let (rows, columns) = share_warps(&shape, &tile_c.shape(), warps);
        let along = |axis, count| Warps::Along { axis, count };
        let spread = |tile: &Layout, first: Warps, second: Warps, extents: &[u64]| {
            Warps::spread(tile, &[first, second])
                .and_then(|layout| layout.cover(extents))
                .expect("tiles and extents are powers of two")
        };
        let accumulator = spread(&tile_c, along(0, rows), along(1, columns), &shape);
        let lhs = spread(&tile_a, along(0, rows), Warps::Copies { count: columns }, &[shape[0], depth]);
        let rhs = spread(&tile_b, Warps::Copies { count: rows }, along(1, columns), &[depth, shape[1]]);
        let (accumulator_id, lhs_id, rhs_id) =
            (assignment.set.add(&accumulator), assignment.set.add(&lhs), assignment.set.add(&rhs));
        return Product { unit, accumulator, lhs: Some(lhs), rhs: Some(rhs), accumulator_id, lhs_id, rhs_id };
    }
    let order: Vec<u8> = (0..result.shape.rank() as u8).rev().collect();
    let accumulator_id = assignment.set.blocked(&result.shape, &order, 4);
    Product {
        unit: Unit::MultiplyAdd,
        accumulator: assignment.set.get(accumulator_id).clone(),
        lhs: None,
        rhs: None,
        accumulator_id,
        lhs_id: operand_layout(&left.shape, assignment),
        rhs_id: operand_layout(&right.shape, assignment),
    }
}

/// Operands of multiply-adds pass through shared memory from any layout.
fn operand_layout(shape: &Shape, assignment: &mut Assignment) -> LayoutId {
    assignment.set.default_for(shape)
}

fn choose_unit(
    a: Scalar,
    b: Scalar,
    c: Scalar,
    shape: &[u64],
    depth: u64,
    precision: DotPrecision,
    target: Target,
) -> Unit {
    use Scalar::*;
    let (&[rows, columns], same) = (shape, a == b) else { return Unit::MultiplyAdd };
    let half = matches!(a, Float16 | BFloat16) && same && matches!(c, Float32 | Float16);
    let tf32 = a == Float32 && same && c == Float32 && precision == DotPrecision::Tf32;
    let bytes = matches!(a, Int8 | UInt8) && matches!(b, Int8 | UInt8) && c == Int32;
    let eights = |scalar| matches!(scalar, Float8E4M3 | Float8E5M2);
    let float8 = eights(a) && eights(b) && c == Float32 && target.architecture >= 89;
    if a == Float64 && same && c == Float64 && rows >= 8 && columns >= 8 && depth >= 4 {
        return Unit::TensorCoreFp64;
    }
    let k = 256 / u64::from(a.bits());
    if (half || tf32 || bytes || float8) && rows >= 16 && columns >= 8 && depth >= k {
        return Unit::TensorCore { k };
    }
    Unit::MultiplyAdd
}

fn tiles(unit: Unit, bits: u32) -> Option<(Layout, Layout, Layout)> {
    let tiles = match unit {
        Unit::TensorCore { k } => {
            (fragment::accumulator(2), fragment::operand_a(2, bits, k), fragment::operand_b(2, bits, k))
        }
        Unit::TensorCoreFp64 => {
            (fragment::accumulator_f64(2), fragment::operand_a_f64(2), fragment::operand_b_f64(2))
        }
        Unit::MultiplyAdd => return None,
    };
    match tiles {
        (Ok(c), Ok(a), Ok(b)) => Some((c, a, b)),
        _ => None,
    }
}

/// Warps along the rows and the columns: the squarer the part of each warp, the fewer operands it reads. Warps that find no
/// tile of their own hold copies of the last.
fn share_warps(shape: &[u64], tile: &[u64], warps: u64) -> (u64, u64) {
    let (mut rows, mut columns) = (1, 1);
    while rows * columns < warps {
        let height = shape[0] / (tile[0] * rows);
        let width = shape[1] / (tile[1] * columns);
        let wider = shape[1] / columns > shape[0] / rows;
        if width <= 1 || (height > 1 && !wider) {
            rows *= 2;
        } else {
            columns *= 2;
        }
    }
    (rows, columns)
}
