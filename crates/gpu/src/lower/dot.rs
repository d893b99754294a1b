//! Products: tensor-core instructions on fragments in registers, or multiply-adds on operands in shared memory.

use super::element::integer_type;
use super::{Lowering, Registers, Result};
use crate::layouts::{Product, Unit, register_map};
use tegula_ir::{Op, OpId, Rounding, Scalar, Shape, Value};
use tegula_layout::Layout;
use tegula_ptx::{
    Address, Comparison, MathOp, Mma, MmaShape, Operand, Register, Rounding as PtxRounding, Space, Type,
};

impl Lowering<'_> {
    pub(super) fn dot(&mut self, id: OpId) -> Result<()> {
        let Op::Dot { lhs, rhs, accumulator, .. } = self.function.op(id).op else {
            unreachable!("called for products")
        };
        let result = self.function.op(id).results[0];
        let product = self.layouts.products[&id].clone();
        let scalar = self.scalar_type(result);
        let compute = compute_type(self.scalar_type(lhs), scalar);
        let count = self.layouts.set.registers(product.accumulator_id);
        let sums: Vec<Register> = match accumulator {
            Some(accumulator) => {
                let registers = self.block(accumulator, product.accumulator_id);
                let mut sums = Vec::new();
                for &register in registers.iter() {
                    sums.push(self.cast(scalar, compute, Rounding::NearestEven, register)?);
                }
                sums
            }
            None => vec![self.zero(compute.into()); count],
        };
        let sums = match product.unit {
            Unit::MultiplyAdd => self.multiply_add(&product, lhs, rhs, result, compute, sums)?,
            unit => self.tensor_core(&product, unit, lhs, rhs, sums)?,
        };
        let mut registers = Vec::new();
        for sum in sums {
            registers.push(self.cast(compute, scalar, Rounding::NearestEven, sum)?);
        }
        self.define_block(result, product.accumulator_id, registers)
    }

    /// An operand's registers in the order of the instruction, with zeros for padding.
    fn fragment(&mut self, value: Value, layout: &Layout) -> Vec<Register> {
        let id = self.layouts.set.add(layout);
        let registers = self.block(value, id);
        let shape = self.function.ty(value).shape.clone();
        let registers: Registers = if crate::padding::is_padded(&shape) {
            let inside = self.inside(id, &shape);
            let element = self.element(value);
            let zero = self.zero(element);
            (registers.iter().zip(inside))
                .map(|(&register, inside)| match inside {
                    Some(inside) => self.select_element(element, inside, register, zero),
                    None => register,
                })
                .collect()
        } else {
            registers
        };
        register_map(layout).into_iter().map(|register| registers[register]).collect()
    }

    /// Elements as the instruction takes them: packed in words of 32 bits, fp32 rounded to tf32.
    fn operand_words(&mut self, value: Value, elements: &[Register]) -> Vec<Register> {
        let scalar = self.scalar_type(value);
        match scalar {
            Scalar::Float64 => elements.to_vec(),
            Scalar::Float32 => {
                let nearest = Some(PtxRounding::NearestAway);
                elements.iter().map(|&one| self.code.convert(Type::Tf32, Type::F32, nearest, one)).collect()
            }
            _ => self.pack_words(scalar.into(), elements),
        }
    }

    fn tensor_core(
        &mut self,
        product: &Product,
        unit: Unit,
        lhs: Value,
        rhs: Value,
        sums: Vec<Register>,
    ) -> Result<Vec<Register>> {
        let (Some(left), Some(right)) = (&product.lhs, &product.rhs) else {
            return self.refuse("a product without fragments");
        };
        let (a_scalar, b_scalar) = (self.scalar_type(lhs), self.scalar_type(rhs));
        let a = self.fragment(lhs, left);
        let a = self.operand_words(lhs, &a);
        let b = self.fragment(rhs, right);
        let b = self.operand_words(rhs, &b);
        // The registers of one instruction; beyond them, K counts first in the left operand, N in the right and in the result.
        let (words_a, words_b, words_c, k) = match unit {
            Unit::TensorCore { k } => (4, 2, 4, k),
            _ => (1, 1, 2, 4),
        };
        let depth = left.shape()[1] / k;
        let along_n = b.len() / words_b / depth as usize;
        let along_m = a.len() / words_a / depth as usize;
        let types =
            [accumulator_type(a_scalar), mma_type(a_scalar), mma_type(b_scalar), accumulator_type(a_scalar)];
        let shape = mma_shape(unit);
        let map = register_map(&product.accumulator);
        let mut full: Vec<Register> = map.iter().map(|&register| sums[register]).collect();
        for step in 0..depth as usize {
            for row in 0..along_m {
                for column in 0..along_n {
                    let a_start = (row * depth as usize + step) * words_a;
                    let b_start = (step * along_n + column) * words_b;
                    let c_start = (row * along_n + column) * words_c;
                    let c = &full[c_start..c_start + words_c];
                    let dst: Vec<Register> = c.iter().map(|one| self.code.fresh(one.class)).collect();
                    self.code.push(Mma {
                        shape,
                        saturate: false,
                        types,
                        dst: dst.iter().copied().collect(),
                        a: a[a_start..a_start + words_a].iter().copied().collect(),
                        b: b[b_start..b_start + words_b].iter().copied().collect(),
                        c: c.iter().map(|&one| one.into()).collect(),
                    });
                    full[c_start..c_start + words_c].copy_from_slice(&dst);
                }
            }
        }
        let mut sums = sums;
        for (register, &place) in map.iter().enumerate() {
            sums[place] = full[register];
        }
        Ok(sums)
    }

    /// Both operands are written to shared memory; every thread walks the rows and columns of its results.
    fn multiply_add(
        &mut self,
        product: &Product,
        lhs: Value,
        rhs: Value,
        result: Value,
        compute: Scalar,
        sums: Vec<Register>,
    ) -> Result<Vec<Register>> {
        let function = self.function;
        let shape = function.ty(result).shape.clone();
        let depth = *function.ty(lhs).shape.last().expect("operands are matrices");
        let width = u64::from(compute.bytes());
        let (left, right) = (function.ty(lhs).shape.clone(), function.ty(rhs).shape.clone());
        let first = (left.elements() as u64 * width).next_multiple_of(16);
        let base = self.begin_scratch(first + right.elements() as u64 * width)?;
        self.spill_as(lhs, product.lhs_id, compute, base, 0, &left)?;
        self.spill_as(rhs, product.rhs_id, compute, base, first, &right)?;
        self.publish_scratch();
        let rank = shape.rank();
        let (row_axis, column_axis) = (rank as u8 - 2, rank as u8 - 1);
        let columns = u64::from(shape[rank - 1]);
        let layout = product.accumulator_id;
        let rows = self.register_coordinates(layout, row_axis);
        let places = self.register_coordinates(layout, column_axis);
        let batches = if rank > 2 { self.register_coordinates(layout, 0) } else { vec![0; rows.len()] };
        let batch = if rank > 2 { Some(self.coordinate(layout, 0)) } else { None };
        let row = self.coordinate(layout, row_axis);
        let column = self.coordinate(layout, column_axis);
        // One address for each row and each column of the thread, which moves along K.
        let mut lines: Vec<(u64, u64, Register)> = Vec::new();
        let mut posts: Vec<(u64, u64, Register)> = Vec::new();
        let mut uses = Vec::new();
        for register in 0..sums.len() {
            let (b, m, n) = (batches[register], rows[register], places[register]);
            let line = match lines.iter().position(|&(x, y, _)| (x, y) == (b, m)) {
                Some(line) => line,
                None => {
                    let extent = u64::from(shape[rank - 2]);
                    let start = self.operand_start(
                        batch,
                        b,
                        row,
                        m,
                        extent,
                        depth.into(),
                        &left,
                        width,
                        depth.into(),
                    );
                    let address = self.code.math(MathOp::Add, Type::U32, &[base.into(), start.into()]);
                    lines.push((b, m, address));
                    lines.len() - 1
                }
            };
            let post = match posts.iter().position(|&(x, y, _)| (x, y) == (b, n)) {
                Some(post) => post,
                None => {
                    let span = u64::from(depth - 1) * columns + 1;
                    let start = self.operand_start(
                        batch,
                        b,
                        column,
                        n,
                        columns * u64::from(depth),
                        1,
                        &right,
                        width,
                        span,
                    );
                    let offset = Operand::Integer(first as i64);
                    let start = self.code.math(MathOp::Add, Type::U32, &[start.into(), offset]);
                    let address = self.code.math(MathOp::Add, Type::U32, &[base.into(), start.into()]);
                    posts.push((b, n, address));
                    posts.len() - 1
                }
            };
            uses.push((line, post));
        }
        let sums: Vec<Register> = sums.iter().map(|&sum| self.code.copy(sum.class.declared(), sum)).collect();
        let counter = self.code.copy(Type::U32, Operand::Integer(0));
        let start = self.code.label();
        self.code.place(start);
        let element = compute.into();
        let load = |lowering: &mut Self, address: Register| {
            lowering.load_vector(Space::Shared, element, Address::from(address), 1, None, |load| load)[0]
        };
        let left_values: Vec<Register> = lines.iter().map(|&(_, _, address)| load(self, address)).collect();
        let right_values: Vec<Register> = posts.iter().map(|&(_, _, address)| load(self, address)).collect();
        for (&sum, &(line, post)) in sums.iter().zip(&uses) {
            let next = self.multiply_add_element(compute, left_values[line], right_values[post], sum)?;
            self.code.assign(sum, next);
        }
        let advance = |lowering: &mut Self, address: Register, bytes: u64| {
            let sources = [address.into(), Operand::Integer(bytes as i64)];
            let moved = lowering.code.math(MathOp::Add, Type::U32, &sources);
            lowering.code.assign(address, moved);
        };
        lines.iter().for_each(|&(_, _, address)| advance(self, address, width));
        posts.iter().for_each(|&(_, _, address)| advance(self, address, width * columns));
        let next = self.code.math(MathOp::Add, Type::U32, &[counter.into(), Operand::Integer(1)]);
        self.code.assign(counter, next);
        let limit = Operand::Integer(depth.into());
        let goes_on = self.code.compare(Comparison::Less, Type::U32, counter.into(), limit);
        self.code.branch(Some(super::emit::holds(goes_on)), start, true);
        Ok(sums)
    }

    fn multiply_add_element(
        &mut self,
        compute: Scalar,
        a: Register,
        b: Register,
        sum: Register,
    ) -> Result<Register> {
        if compute.is_int() {
            let ty = integer_type(compute.into());
            let product = self.code.multiply(ty, a.into(), b.into());
            return Ok(self.code.math(MathOp::Add, ty, &[sum.into(), product.into()]));
        }
        let ty = if compute == Scalar::Float64 { Type::F64 } else { Type::F32 };
        Ok(self.code.rounded(MathOp::Fma, ty, &[a.into(), b.into(), sum.into()]))
    }

    /// The byte offset of the first element that a row or a column reads, kept so that the last one is in range.
    #[allow(clippy::too_many_arguments)]
    fn operand_start(
        &mut self,
        batch: Option<Register>,
        batch_place: u64,
        index: Register,
        place: u64,
        batch_stride: u64,
        stride: u64,
        shape: &Shape,
        width: u64,
        span: u64,
    ) -> Register {
        let code = &mut self.code;
        let int = |value: u64| Operand::Integer(value as i64);
        let index = code.math(MathOp::Add, Type::U32, &[index.into(), int(place)]);
        let mut start = code.multiply(Type::U32, index.into(), int(stride));
        if let Some(batch) = batch {
            let rows = if stride == 1 { batch_stride } else { batch_stride * stride };
            let batch = code.math(MathOp::Add, Type::U32, &[batch.into(), int(batch_place)]);
            let part = code.multiply(Type::U32, batch.into(), int(rows));
            start = code.math(MathOp::Add, Type::U32, &[start.into(), part.into()]);
        }
        let last = int(shape.elements() as u64 - span);
        let start = code.math(MathOp::Min, Type::U32, &[start.into(), last]);
        code.multiply(Type::U32, start.into(), int(width))
    }

    /// Writes an operand to shared memory in row-major order, converted to the type of the sum.
    fn spill_as(
        &mut self,
        value: Value,
        layout: crate::layouts::LayoutId,
        compute: Scalar,
        base: Register,
        offset: u64,
        shape: &Shape,
    ) -> Result<()> {
        let scalar = self.scalar_type(value);
        let mut converted = Vec::new();
        for &register in self.block(value, layout).iter() {
            converted.push(self.cast(scalar, compute, Rounding::NearestEven, register)?);
        }
        self.spill_to(base, offset, layout, &converted.into(), compute.into(), shape);
        Ok(())
    }
}

/// The type in which a product is summed.
fn compute_type(operand: Scalar, result: Scalar) -> Scalar {
    match (operand, result) {
        (Scalar::Float64, _) | (_, Scalar::Float64) => Scalar::Float64,
        (operand, result) if operand.is_int() && result.bits() == 64 => Scalar::Int64,
        (operand, _) if operand.is_int() => Scalar::Int32,
        _ => Scalar::Float32,
    }
}

fn accumulator_type(operand: Scalar) -> Type {
    match operand {
        Scalar::Float64 => Type::F64,
        operand if operand.is_int() => Type::S32,
        _ => Type::F32,
    }
}

fn mma_type(operand: Scalar) -> Type {
    match operand {
        Scalar::Float64 => Type::F64,
        Scalar::Float32 => Type::Tf32,
        Scalar::Float16 => Type::F16,
        Scalar::BFloat16 => Type::Bf16,
        Scalar::Float8E4M3 => Type::E4m3,
        Scalar::Float8E5M2 => Type::E5m2,
        Scalar::UInt8 => Type::U8,
        _ => Type::S8,
    }
}

fn mma_shape(unit: Unit) -> MmaShape {
    match unit {
        Unit::TensorCore { k: 8 } => MmaShape::M16N8K8,
        Unit::TensorCore { k: 16 } => MmaShape::M16N8K16,
        Unit::TensorCore { .. } => MmaShape::M16N8K32,
        _ => MmaShape::M8N8K4,
    }
}
