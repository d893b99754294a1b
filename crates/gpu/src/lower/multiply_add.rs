//! Products by multiply-adds: both operands in shared memory, one result after the other in each thread.

use super::element::integer_type;
use super::{Lowering, Result};
use crate::layouts::{LayoutId, Product};
use tegula_ir::{Rounding, Scalar, Shape, Value};
use tegula_ptx::{Address, Comparison, MathOp, Operand, Register, Space, Type};

impl Lowering<'_> {
    /// Both operands are written to shared memory; every thread walks the rows and columns of its results.
    pub(super) fn multiply_add(
        &mut self,
        product: &Product,
        [left_id, right_id]: [LayoutId; 2],
        [lhs, rhs]: [Value; 2],
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
        self.spill_as(lhs, left_id, compute, base, 0, &left)?;
        self.spill_as(rhs, right_id, compute, base, first, &right)?;
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
        layout: LayoutId,
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
