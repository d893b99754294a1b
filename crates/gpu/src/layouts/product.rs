//! How products are computed: the instruction, where its operands come from, and the layout of its result.
//!
//! Three kinds of tensor-core instructions are planned for, the best first. `wgmma` ([`warpgroup`]) multiplies 64 rows for four warps
//! and reads operands from shared memory. `mma.sync` multiplies a tile of 16 x K by K x 8 (8 x 4 by 4 x 8 for fp64) in the registers of one
//! warp; warps share the result's rows and columns, and each operand is copied along the axis that it does not have.
//! Products that neither takes (batches, small extents, exact fp32, formats that the target lacks) are sums of fused
//! multiply-adds on a blocked result.

use super::tile::{SharedTile, Staged};
use super::{Assignment, LayoutId, warpgroup};
use crate::Target;
use crate::padding::padded;
use tegula_ir::{DotPrecision, Function, Op, OpId, RegionId, Scalar, Shape, Value};
use tegula_layout::{Layout, Warps, fragment};
use tegula_passes::AxisAnalysis;

/// What multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// `wgmma.mma_async.m64n*k*`, with K of 32 bytes.
    Warpgroup { n: u64, k: u64 },
    /// `mma.sync.m16n8k*`, with K of 32 bytes.
    TensorCore { k: u64 },
    /// `mma.sync.m8n8k4` of fp64.
    TensorCoreFp64,
    /// One multiply-add a thread.
    MultiplyAdd,
}

/// Where an operand comes from.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    /// Registers, as the instruction numbers them: the layout is not canonical; its canonical form has the number.
    Fragment { layout: Layout, id: LayoutId },
    /// The tile of a load.
    Staged { staged: Staged, tile: SharedTile },
    /// The tile of a load, from which each thread takes its fragment: `layout` is as the instruction numbers the registers, over the
    /// axes of the tile.
    Read { staged: Staged, tile: SharedTile, layout: Layout },
    /// A tile to which the threads store what they have. Axis `i` of the instruction's operand is axis `axes[i]` of the tile.
    Stored { tile: SharedTile, axes: [u8; 2] },
    /// Scratch memory, to which the threads store it from this layout.
    Scratch { id: LayoutId },
}

impl Operand {
    /// The load from whose tile it is read, and the tile.
    pub fn staged(&self) -> Option<(&Staged, &SharedTile)> {
        match self {
            Operand::Staged { staged, tile } | Operand::Read { staged, tile, .. } => Some((staged, tile)),
            _ => None,
        }
    }
}

/// How a product is computed.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub unit: Unit,
    /// Whether the instruction computes the transpose: its left operand is the transposed right one of the product.
    pub transposed: bool,
    /// The left operand of the instruction.
    pub lhs: Operand,
    /// The right operand of the instruction.
    pub rhs: Operand,
    /// The accumulator and the result, with the registers of the instruction.
    pub accumulator: Layout,
    /// The canonical form of that.
    pub accumulator_id: LayoutId,
}

impl Product {
    /// The instruction's operands, left and right, with the operands of the product that they are.
    pub fn operands(&self, lhs: Value, rhs: Value) -> [(Value, &Operand); 2] {
        if self.transposed {
            [(rhs, &self.lhs), (lhs, &self.rhs)]
        } else {
            [(lhs, &self.lhs), (rhs, &self.rhs)]
        }
    }

    /// The operands that are read from the tiles of loads.
    pub fn staged(&self) -> impl Iterator<Item = (&Staged, &SharedTile)> {
        [&self.lhs, &self.rhs].into_iter().filter_map(Operand::staged)
    }

    /// Whether threads store the right operand to a tile first, and wait for one another.
    fn stores_right(&self) -> bool {
        matches!(self.rhs, Operand::Stored { .. })
    }

    /// Plans a product anew without the tiles of loads.
    pub(super) fn unstage(function: &Function, op: OpId, assignment: &mut Assignment) {
        let transposed = assignment.products[&op].transposed;
        let shapes = Shapes::of(function, op);
        let shapes = if transposed { shapes.transposed() } else { shapes };
        let product = warpgroup::plan(&shapes, transposed, [None, None], assignment);
        let product = product.expect("it was planned with less freedom before");
        assignment.products.insert(op, product);
    }
}

/// What a plan depends on: the types and extents of a product.
pub(super) struct Shapes {
    /// The elements of the left operand, the right one and the result.
    pub elements: [Scalar; 3],
    /// The result's extents, padded.
    pub result: Vec<u64>,
    /// The extent of K, padded.
    pub depth: u64,
    pub precision: DotPrecision,
}

impl Shapes {
    fn of(function: &Function, op: OpId) -> Shapes {
        let data = function.op(op);
        let Op::Dot { lhs, rhs, precision, .. } = &data.op else { unreachable!("only products are planned") };
        let types = [*lhs, *rhs, data.results[0]].map(|value| function.ty(value));
        let elements = types.map(|ty| ty.element.as_scalar().expect("products are of numbers"));
        let depth = u64::from(*types[0].shape.last().expect("operands are matrices")).next_power_of_two();
        Shapes { elements, result: padded(&types[2].shape), depth, precision: *precision }
    }

    /// Whether fp32 is multiplied as tf32.
    pub fn are_tf32(&self) -> bool {
        self.elements == [Scalar::Float32; 3] && self.precision == DotPrecision::Tf32
    }

    /// The types and extents of the transposed product of matrices.
    fn transposed(&self) -> Shapes {
        let [a, b, c] = self.elements;
        Shapes { elements: [b, a, c], result: self.result.iter().rev().copied().collect(), ..*self }
    }
}

/// Gives each product its unit and layouts.
pub(super) fn anchor_products(
    function: &Function,
    axis: &AxisAnalysis,
    target: Target,
    assignment: &mut Assignment,
) {
    region(function, function.body, axis, target, assignment);
}

fn region(
    function: &Function,
    id: RegionId,
    axis: &AxisAnalysis,
    target: Target,
    assignment: &mut Assignment,
) {
    for &op in &function.region(id).ops {
        for inner in function.op(op).op.regions() {
            region(function, inner, axis, target, assignment);
        }
        if matches!(function.op(op).op, Op::Dot { .. }) {
            let product = plan(function, op, axis, target, assignment);
            assignment.products.insert(op, product);
        }
    }
}

fn plan(
    function: &Function,
    op: OpId,
    axis: &AxisAnalysis,
    target: Target,
    assignment: &mut Assignment,
) -> Product {
    let data = function.op(op);
    let Op::Dot { lhs, rhs, .. } = &data.op else { unreachable!("only products are planned") };
    let shapes = Shapes::of(function, op);
    if let Some(product) = plan_warpgroup(function, [*lhs, *rhs], &shapes, axis, target, assignment) {
        return product;
    }
    let (left, right) = (function.ty(*lhs), function.ty(*rhs));
    let result = function.ty(data.results[0]);
    let [a, ..] = shapes.elements;
    let shape = &shapes.result;
    let unit = choose_unit(&shapes, target);
    if let Some((tile_c, tile_a, tile_b)) = tiles(unit, a.bits())
        && result.shape.rank() == 2
    {
        let warps = u64::from(assignment.set.num_warps);
        let (rows, columns) = share_warps(shape, &tile_c.shape(), warps);
        let along = |axis, count| Warps::Along { axis, count };
        let spread = |tile: &Layout, first: Warps, second: Warps, extents: &[u64]| {
            Warps::spread(tile, &[first, second])
                .and_then(|layout| layout.cover(extents))
                .expect("tiles and extents are powers of two")
        };
        let accumulator = spread(&tile_c, along(0, rows), along(1, columns), shape);
        let copies = |count| Warps::Copies { count };
        let lhs = spread(&tile_a, along(0, rows), copies(columns), &[shape[0], shapes.depth]);
        let rhs = spread(&tile_b, copies(rows), along(1, columns), &[shapes.depth, shape[1]]);
        let accumulator_id = assignment.set.add(&accumulator);
        let [lhs, rhs] = [lhs, rhs].map(|layout| {
            let id = assignment.set.add(&layout);
            Operand::Fragment { layout, id }
        });
        return Product { unit, transposed: false, lhs, rhs, accumulator, accumulator_id };
    }
    let order: Vec<u8> = (0..result.shape.rank() as u8).rev().collect();
    let accumulator_id = assignment.set.blocked(&result.shape, &order, 4, 1);
    Product {
        unit: Unit::MultiplyAdd,
        transposed: false,
        lhs: Operand::Scratch { id: operand_layout(&left.shape, assignment) },
        rhs: Operand::Scratch { id: operand_layout(&right.shape, assignment) },
        accumulator: assignment.set.get(accumulator_id).clone(),
        accumulator_id,
    }
}

/// Plans a product by `wgmma`, if it takes the product or its transpose.
///
/// The instruction has many rows, so a product of few is computed as the transpose, if it has many columns. Where both have
/// enough, it is the transpose that spares the threads storing an operand to shared memory: the instruction takes either operand from tiles that
/// suit it, but only the left one from registers.
fn plan_warpgroup(
    function: &Function,
    operands: [Value; 2],
    shapes: &Shapes,
    axis: &AxisAnalysis,
    target: Target,
    assignment: &mut Assignment,
) -> Option<Product> {
    let mut plan = |transposed: bool| {
        let [lhs, rhs] = operands;
        let values = if transposed { [rhs, lhs] } else { [lhs, rhs] };
        let turned = shapes.transposed();
        let instruction = if transposed { &turned } else { shapes };
        if !warpgroup::takes(instruction, target, assignment.set.num_warps.into()) {
            return None;
        }
        let loads = values.map(|value| {
            let Staged { load, axes: [first, second] } = super::tile::loaded(function, value)?;
            let tile = super::tile::tile_of_load(function, axis, load)?;
            let axes = if transposed { [second, first] } else { [first, second] };
            Some((Staged { load, axes }, tile))
        });
        warpgroup::plan(instruction, transposed, loads, assignment)
    };
    let upright = plan(false);
    if upright.as_ref().is_some_and(|product| !product.stores_right()) {
        return upright;
    }
    let transposed = plan(true);
    match (&upright, &transposed) {
        (Some(_), Some(product)) if product.stores_right() => upright,
        (_, None) => upright,
        _ => transposed,
    }
}

/// Operands of multiply-adds pass through shared memory from any layout.
fn operand_layout(shape: &Shape, assignment: &mut Assignment) -> LayoutId {
    assignment.set.default_for(shape)
}

fn choose_unit(shapes: &Shapes, target: Target) -> Unit {
    use Scalar::*;
    let [a, b, c] = shapes.elements;
    let (&[rows, columns], depth, same) = (&shapes.result[..], shapes.depth, a == b) else {
        return Unit::MultiplyAdd;
    };
    let half = matches!(a, Float16 | BFloat16) && same && matches!(c, Float32 | Float16);
    let tf32 = shapes.are_tf32();
    let bytes = matches!(a, Int8 | UInt8) && matches!(b, Int8 | UInt8) && c == Int32;
    let float8 = is_float8(a) && is_float8(b) && c == Float32 && target.architecture >= 89;
    if a == Float64 && same && c == Float64 && rows >= 8 && columns >= 8 && depth >= 4 {
        return Unit::TensorCoreFp64;
    }
    let k = 256 / u64::from(a.bits());
    if (half || tf32 || bytes || float8) && rows >= 16 && columns >= 8 && depth >= k {
        return Unit::TensorCore { k };
    }
    Unit::MultiplyAdd
}

/// Whether the tensor cores know the format of 8-bit floats.
pub(super) fn is_float8(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Float8E4M3 | Scalar::Float8E5M2)
}

fn tiles(unit: Unit, bits: u32) -> Option<(Layout, Layout, Layout)> {
    let tiles = match unit {
        Unit::TensorCore { k } => {
            (fragment::accumulator(2), fragment::operand_a(2, bits, k), fragment::operand_b(2, bits, k))
        }
        Unit::TensorCoreFp64 => {
            (fragment::accumulator_f64(2), fragment::operand_a_f64(2), fragment::operand_b_f64(2))
        }
        Unit::Warpgroup { .. } | Unit::MultiplyAdd => return None,
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
