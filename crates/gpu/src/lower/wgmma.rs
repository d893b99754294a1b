//! Products by `wgmma`: the descriptors of tiles, the instructions, and when their results can be used.
//!
//! The instructions work in the background. A product is waited for at once, unless the loop carries its result and its operands stay
//! where they are: then it is in flight until somebody uses the result, at the latest until one more iteration is over.

use super::convert::Reading;
use super::dot::{accumulator_type, compute_type, mma_type};
use super::{Lowering, Registers, Result};
use crate::layouts::{
    Operand as Source, Product, SharedTile, Unit, WARPGROUP_ROWS, register_map, warpgroup_operand,
};
use tegula_ir::{Op, OpId, Rounding, Scalar};
use tegula_layout::{BulkSwizzle, Dim, Layout, SharedAccess, WarpgroupOperand};
use tegula_ptx::{
    MathOp, MatrixDescriptor, Operand, Register, Type, Wgmma, WgmmaControl, WgmmaSource, WgmmaSwizzle,
};

/// An operand in a tile: what its descriptors have in common.
struct TileOperand<'a> {
    tile: &'a SharedTile,
    element_bytes: u64,
    /// The tile's axis of M or N, and that of K.
    axes: [u8; 2],
    shape: WarpgroupOperand,
    /// The lower half of the descriptor of the first element, and the constant upper half.
    low: Register,
    high: i64,
}

/// The left operand.
enum Left<'a> {
    Tile(TileOperand<'a>),
    /// The words of all fragments.
    Words(Vec<Register>),
    /// The words of the first fragments, and the rest on its way from a tile.
    Reading {
        reading: Reading,
        words: Vec<Register>,
    },
}

/// What one instruction computes.
struct Part<'a> {
    /// The accumulators, of those of the thread.
    registers: &'a [usize],
    row: u64,
    column: u64,
    /// Which of the instruction's extents of K.
    step: u64,
    /// Which fragment of a left operand in registers.
    fragment: usize,
}

/// The words of a left operand in registers, of one instruction.
const FRAGMENT_WORDS: usize = 4;

impl Lowering<'_> {
    /// Waits for all products in flight.
    pub(super) fn finish_products(&mut self) {
        if !self.in_flight.is_empty() {
            self.code.push(WgmmaControl::Wait(0));
            self.in_flight.clear();
        }
    }

    /// Waits for the products whose results an operation uses, unless it adds to them itself.
    pub(super) fn wait_for_operands(&mut self, id: OpId) {
        if self.in_flight.is_empty() {
            return;
        }
        let op = &self.function.op(id).op;
        let mut waits = !op.regions().is_empty();
        let adds = match op {
            Op::Dot { accumulator, .. } if self.channels.carried_place(id).is_some() => *accumulator,
            _ => None,
        };
        op.for_each_operand(|value| waits |= self.in_flight.contains(&value) && Some(value) != adds);
        if waits {
            self.finish_products();
        }
    }

    pub(super) fn warpgroup_product(&mut self, id: OpId, product: &Product) -> Result<()> {
        let Op::Dot { lhs, rhs, .. } = self.function.op(id).op else { unreachable!("called for products") };
        if let (Source::Stored { tile, .. }, [_, (right, _)]) = (&product.rhs, product.operands(lhs, rhs)) {
            let base = self.store_to_tile(right, &tile.layout, tile.bytes)?;
            self.stored.insert(id, base);
        }
        let words = self.left_words(id, product);
        let carried = self.channels.carried_place(id);
        let sums = match carried.and_then(|place| Some(self.rooms.last()?[place].clone())) {
            Some(room) => room,
            None => self.room_for_sums(id, product),
        };
        self.begin_sums(id, product, &sums)?;
        self.issue_product(id, product, &words, &sums)?;
        self.produce_after(id)?;
        self.in_flight.push(self.function.op(id).results[0]);
        if !self.channels.stays_in_flight(id) || !self.defers {
            self.finish_products();
            self.release_after(id);
        }
        self.end_product(id, product, &sums)
    }

    /// The left operand as the instructions take it from registers; nothing if it is in a tile.
    pub(super) fn left_words(&mut self, id: OpId, product: &Product) -> Vec<Register> {
        let Op::Dot { lhs, rhs, .. } = self.function.op(id).op else { unreachable!("called for products") };
        let [(left, source), _] = product.operands(lhs, rhs);
        let Source::Fragment { layout, .. } = source else { return Vec::new() };
        let elements = self.fragment(left, layout);
        self.operand_words(left, &elements)
    }

    /// Registers for a product's result.
    pub(super) fn room_for_sums(&mut self, id: OpId, product: &Product) -> Registers {
        let count = self.layouts.set.registers(product.accumulator_id);
        let class = super::element::class_of(self.sum_type(id).into());
        (0..count).map(|_| self.code.fresh(class)).collect()
    }

    /// Moves what a product adds to where it adds.
    pub(super) fn begin_sums(&mut self, id: OpId, product: &Product, sums: &Registers) -> Result<()> {
        let Op::Dot { accumulator: Some(accumulator), .. } = self.function.op(id).op else { return Ok(()) };
        let (scalar, compute) = (self.scalar_type(accumulator), self.sum_type(id));
        let mut sources = Vec::new();
        for &register in self.block(accumulator, product.accumulator_id).iter() {
            sources.push(self.cast(scalar, compute, Rounding::NearestEven, register)?);
        }
        self.assign_all(std::slice::from_ref(sums), &[sources.into()]);
        Ok(())
    }

    /// The result of a product that is over.
    pub(super) fn end_product(&mut self, id: OpId, product: &Product, sums: &Registers) -> Result<()> {
        let result = self.function.op(id).results[0];
        let (scalar, compute) = (self.scalar_type(result), self.sum_type(id));
        let mut registers = Vec::new();
        for &sum in sums.iter() {
            registers.push(self.cast(compute, scalar, Rounding::NearestEven, sum)?);
        }
        self.define_block(result, product.accumulator_id, registers)
    }

    fn sum_type(&self, id: OpId) -> Scalar {
        let data = self.function.op(id);
        let Op::Dot { lhs, .. } = data.op else { unreachable!("called for products") };
        compute_type(self.scalar_type(lhs), self.scalar_type(data.results[0]))
    }

    /// Gives a product to the tensor cores, as a group of its own.
    pub(super) fn issue_product(
        &mut self,
        id: OpId,
        product: &Product,
        words: &[Register],
        sums: &Registers,
    ) -> Result<()> {
        let Op::Dot { lhs, rhs, accumulator, .. } = self.function.op(id).op else {
            unreachable!("called for products")
        };
        let Unit::Warpgroup { n, k } = product.unit else { unreachable!("called for products by wgmma") };
        let [(lhs, left_source), (rhs, right_source)] = product.operands(lhs, rhs);
        let (left, right) = (self.scalar_type(lhs), self.scalar_type(rhs));
        let element_bytes = u64::from(left.bytes());
        // The accumulator in the instruction's terms.
        let groups = &match product.transposed {
            true => product.accumulator.permute(&[1, 0]).expect("a matrix has two axes"),
            false => product.accumulator.clone(),
        };
        let right_tile = match right_source {
            Source::Staged { staged, tile } => (tile, staged.axes, self.tiles[&staged.load]),
            Source::Stored { tile, axes } => (tile, *axes, self.stored[&id]),
            _ => unreachable!("the right operand is in a tile"),
        };
        let b = self.tile_operand(right_tile, 0, n, element_bytes, groups);
        let mut a = match left_source {
            Source::Staged { staged, tile } => {
                let place = (tile, staged.axes, self.tiles[&staged.load]);
                Left::Tile(self.tile_operand(place, 1, WARPGROUP_ROWS, element_bytes, groups))
            }
            Source::Read { staged, tile, layout } => {
                let access = SharedAccess::new(layout, &tile.layout, left.bits());
                let access =
                    access.or_else(|error| self.refuse(&format!("an operand of a product ({error})")))?;
                // Of fp32, the instruction ignores the bits that tf32 lacks; it takes words.
                let element = if left == Scalar::Float32 { Scalar::UInt32 } else { left };
                let reading = self.begin_reading(self.tiles[&staged.load], &access, element.into());
                Left::Reading { reading, words: Vec::new() }
            }
            _ => Left::Words(words.to_vec()),
        };
        let map = register_map(&product.accumulator);
        let contraction = usize::from(!product.transposed);
        let depth = u64::from(self.function.ty(lhs).shape[contraction]).next_power_of_two();
        let per_instruction = (n / 2) as usize;
        let types = [mma_type(left), mma_type(right)];
        let steps = depth / k;
        let row_groups = row_groups(groups);
        let mut parts = Vec::new();
        for (tile, registers) in map.chunks(per_instruction).enumerate() {
            let place = groups.apply((tile * per_instruction) as u64);
            let [row, column] = [0, 1].map(|axis| groups.outputs().get(place, Dim::Axis(axis)));
            let fragment = row / WARPGROUP_ROWS / row_groups * steps;
            parts.extend((0..steps).map(|step| Part {
                registers,
                row,
                column,
                step,
                fragment: (fragment + step) as usize,
            }));
        }
        self.read_fragment(&mut a, parts[0].fragment, left);
        self.code.push(WgmmaControl::Fence);
        let takes_turn = self.takes_turns && matches!(a, Left::Reading { .. });
        if takes_turn {
            self.take_turn();
        }
        for (index, part) in parts.iter().enumerate() {
            let (source, transpose_a) = match &a {
                Left::Tile(a) => {
                    let transposed = !a.shape.contraction_contiguous;
                    (WgmmaSource::Descriptor(self.descriptor(a, part.row, part.step * k)), transposed)
                }
                Left::Words(words) | Left::Reading { words, .. } => {
                    let words = &words[part.fragment * FRAGMENT_WORDS..][..FRAGMENT_WORDS];
                    (WgmmaSource::Registers(words.iter().copied().collect()), false)
                }
            };
            let b_descriptor = self.descriptor(&b, part.column, part.step * k);
            let accumulate = self.known(accumulator.is_some() || part.step > 0);
            // The next fragment is on its way while this one is multiplied.
            let next =
                parts.get(index + 1).is_some_and(|next| self.read_fragment(&mut a, next.fragment, left));
            self.code.push(Wgmma {
                n: n as u16,
                accumulator: accumulator_type(left),
                types,
                saturate: false,
                dst: part.registers.iter().map(|&register| sums[register]).collect(),
                a: source,
                b: b_descriptor,
                accumulate,
                negate: [false; 2],
                transpose: [transpose_a, !b.shape.contraction_contiguous],
            });
            if next {
                self.code.push(WgmmaControl::Fence);
            }
        }
        if takes_turn {
            self.pass_turn();
        }
        self.code.push(WgmmaControl::Commit);
        Ok(())
    }

    /// Loads the words of a fragment, if it is the next of a left operand that threads read from a tile; says whether it is.
    fn read_fragment(&mut self, left: &mut Left<'_>, fragment: usize, scalar: Scalar) -> bool {
        let Left::Reading { reading, words } = left else { return false };
        if words.len() > fragment * FRAGMENT_WORDS {
            return false;
        }
        let count = FRAGMENT_WORDS * 32 / scalar.bits() as usize;
        let range = fragment * count..(fragment + 1) * count;
        self.read_shared(reading, range.clone());
        let elements = reading.registers[range].iter().map(|one| one.expect("it has been read"));
        let elements: Vec<Register> = elements.collect();
        let more =
            if scalar == Scalar::Float32 { elements } else { self.pack_words(scalar.into(), &elements) };
        words.extend(more);
        true
    }

    /// What the descriptors of an operand have in common; `contraction` is its axis of K, and `groups` the accumulator's layout, which
    /// says which part each warpgroup reads.
    fn tile_operand<'a>(
        &mut self,
        (tile, axes, base): (&'a SharedTile, [u8; 2], Register),
        contraction: usize,
        rows: u64,
        element_bytes: u64,
        groups: &Layout,
    ) -> TileOperand<'a> {
        let bits = element_bytes as u32 * 8;
        let shape = warpgroup_operand(tile, axes, contraction, rows, bits).expect("it was planned so");
        let axes = [axes[1 - contraction], axes[contraction]];
        let mut operand = TileOperand { tile, element_bytes, axes, shape, low: base, high: 0 };
        let result_axis = Dim::Axis(1 - contraction as u8);
        // All lanes of a warpgroup read the same part: only the warps' numbers above the fourth count.
        let warps = groups.columns_of(Dim::Warp).iter().enumerate().map(|(bit, &column)| {
            let row = if bit < 2 { 0 } else { groups.outputs().get(column, result_axis) };
            operand.offset(row, 0)
        });
        let terms: Vec<u64> = std::iter::repeat_n(0, 5).chain(warps).collect();
        let start = if terms.iter().all(|&term| term == 0) {
            base
        } else {
            let part = self.of_warp(&terms);
            self.code.math(MathOp::Add, Type::U32, &[base.into(), part.into()])
        };
        let constant = MatrixDescriptor {
            address: 0,
            leading_bytes: shape.leading_bytes as u32,
            stride_bytes: shape.stride_bytes as u32,
            base_offset: 0,
            swizzle: match shape.swizzle {
                BulkSwizzle::None => WgmmaSwizzle::None,
                BulkSwizzle::Bytes32 => WgmmaSwizzle::Bytes32,
                BulkSwizzle::Bytes64 => WgmmaSwizzle::Bytes64,
                BulkSwizzle::Bytes128 => WgmmaSwizzle::Bytes128,
            },
        }
        .encode();
        let units = self.code.math(MathOp::ShiftRight, Type::U32, &[start.into(), Operand::Integer(4)]);
        let fields = Operand::Integer((constant & 0xffff_ffff) as i64);
        operand.low = self.code.math(MathOp::Add, Type::U32, &[units.into(), fields]);
        operand.high = (constant >> 32) as i64;
        operand
    }

    /// The descriptor of the part of an operand that begins at a row and at an element of K.
    fn descriptor(&mut self, operand: &TileOperand, row: u64, depth: u64) -> Register {
        let units = Operand::Integer((operand.offset(row, depth) >> 4) as i64);
        let low = self.code.math(MathOp::Add, Type::U32, &[operand.low.into(), units]);
        let high = self.code.copy(Type::U32, Operand::Integer(operand.high));
        self.code.pack(Type::B64, &[low, high])
    }

    /// A predicate that is known, made once.
    fn known(&mut self, value: bool) -> Register {
        if let Some(register) = self.truths[usize::from(value)] {
            return register;
        }
        let register = self.code.in_prologue(|code| code.truth(value));
        self.truths[usize::from(value)] = Some(register);
        register
    }
}

impl TileOperand<'_> {
    /// Where a descriptor starts, in bytes from the tile.
    fn offset(&self, row: u64, depth: u64) -> u64 {
        let inputs = self.tile.layout.inputs();
        let place = inputs.put(Dim::Axis(self.axes[0]), row) | inputs.put(Dim::Axis(self.axes[1]), depth);
        self.shape.start(self.tile.layout.apply(place) * self.element_bytes)
    }
}

/// Warpgroups along the rows of the result.
fn row_groups(groups: &Layout) -> u64 {
    let warps = groups.columns_of(Dim::Warp).iter().skip(2);
    let rows = warps.filter(|&&column| groups.outputs().get(column, Dim::Axis(0)) != 0);
    1 << rows.count()
}
