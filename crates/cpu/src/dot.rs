//! Products of matrices.
//!
//! Operands are taken where they are, in any order of rows and columns, in a buffer or in the caller's memory: the micro-kernels of
//! `gemm` pack what they do not read in place. What is narrower than the accumulator is converted first.
//!
//! The same products have the same bits, wherever operands come from: what `gemm` adds up in another order for some orders of memory is
//! brought into one of them ([`Extents::choose_order`]).

use crate::block::Block;
use crate::buffer::Buffer;
use crate::execute::Executor;
use crate::program::{Dot, Operand, ValueType};
use crate::strided::{Strided, compact_strides};
use gemm_common::Parallelism;
use tegula_ir::Scalar;
use tegula_strip::StripFn;

/// Matrices in memory, with distances in elements.
struct Matrices {
    address: *const u8,
    batch: isize,
    row: isize,
    column: isize,
    /// Keeps the memory, unless it is the caller's.
    _buffer: Option<Buffer>,
}

/// The extents of a product.
#[derive(Clone, Copy)]
struct Extents {
    batches: usize,
    rows: usize,
    columns: usize,
    inner: usize,
}

/// Products of at most so many elements are computed along the inner dimension by `gemm`, if both operands are contiguous there.
const LARGEST_BY_INNER: usize = 16 * 16;

impl Extents {
    /// Brings operands into an order of memory that decides, with the extents alone, in which order `gemm` adds up.
    fn choose_order(self, lhs: &mut Matrices, rhs: &mut Matrices, width: usize) {
        let Extents { batches, rows, columns, inner } = self;
        if rows == 1 || columns == 1 {
            // A matrix and a vector: both contiguous along the inner dimension.
            if lhs.column != 1 {
                *lhs = lhs.copied(batches, rows, inner, width, [inner, 1]);
            }
            if rhs.row != 1 {
                *rhs = rhs.copied(batches, inner, columns, width, [1, inner]);
            }
        } else if rows * columns <= LARGEST_BY_INNER && lhs.column == 1 && rhs.row == 1 {
            // Not both contiguous there: the smaller one is turned.
            if rows < columns {
                *lhs = lhs.copied(batches, rows, inner, width, [1, rows]);
            } else {
                *rhs = rhs.copied(batches, inner, columns, width, [columns, 1]);
            }
        }
    }
}

impl Matrices {
    /// Copies of the matrices, with the given distances between rows and columns.
    fn copied(
        &self,
        batches: usize,
        rows: usize,
        columns: usize,
        width: usize,
        [row, column]: [usize; 2],
    ) -> Matrices {
        let count = rows * columns;
        let buffer = Buffer::new(batches * count * width);
        for batch in 0..batches {
            let from = self.address.wrapping_offset(batch as isize * self.batch * width as isize);
            let to = buffer.data().wrapping_add(batch * count * width);
            let distances = [self.row, self.column, row as isize, column as isize];
            // SAFETY: both hold matrices with these distances, of numbers of 4 or 8 bytes.
            unsafe {
                match width {
                    4 => copy::<u32>(from.cast(), to.cast(), rows, columns, distances),
                    _ => copy::<u64>(from.cast(), to.cast(), rows, columns, distances),
                }
            }
        }
        Matrices {
            address: buffer.data(),
            batch: count as isize,
            row: row as isize,
            column: column as isize,
            _buffer: Some(buffer),
        }
    }
}

/// Copies a matrix; `distances` are those of rows and columns where it is and where it goes.
unsafe fn copy<T: Copy>(from: *const T, to: *mut T, rows: usize, columns: usize, distances: [isize; 4]) {
    let [row, column, to_row, to_column] = distances;
    for i in 0..rows as isize {
        for j in 0..columns as isize {
            // SAFETY: by the caller's promise; the elements may lie anywhere in memory of the user's.
            unsafe {
                let value = from.wrapping_offset(i * row + j * column).read_unaligned();
                to.wrapping_offset(i * to_row + j * to_column).write(value);
            }
        }
    }
}

impl Executor<'_> {
    pub fn dot(&mut self, dot: &Dot) {
        let (lhs_ty, ty) = (self.program.ty(dot.lhs.place), self.program.ty(dot.out));
        let rank = ty.extents.len();
        let extents = Extents {
            batches: ty.extents[..rank - 2].iter().map(|&extent| extent as usize).product(),
            rows: ty.extents[rank - 2] as usize,
            columns: ty.extents[rank - 1] as usize,
            inner: lhs_ty.extents[rank - 1] as usize,
        };
        let width = dot.compute.bytes() as usize;
        let mut lhs = self.matrices(dot.lhs, dot.convert_lhs, width);
        let mut rhs = self.matrices(dot.rhs, dot.convert_rhs, width);
        if dot.compute.is_float() {
            extents.choose_order(&mut lhs, &mut rhs, width);
        }
        let (out, accumulate) = self.accumulator(dot, ty, width);
        for batch in 0..extents.batches {
            let at = |matrices: &Matrices| {
                matrices.address.wrapping_offset(matrices.batch * batch as isize * width as isize)
            };
            let result = out.data().wrapping_add(batch * extents.rows * extents.columns * width);
            // SAFETY: the operands and the result have these extents; the result is not an operand.
            unsafe { multiply(dot.compute, extents, at(&lhs), &lhs, at(&rhs), &rhs, result, accumulate) };
        }
        let out = match dot.convert_out {
            Some(convert) => {
                converted(out.data(), convert, extents.batches * extents.rows * extents.columns, ty.width)
            }
            None => out,
        };
        let strided = Strided::compact(out.data() as i64, &ty.extents, ty.width);
        self.write(dot.out, Block::Dense(strided, out));
    }

    /// An operand as matrices of the type that is computed in.
    fn matrices(&mut self, operand: Operand, convert: Option<StripFn>, width: usize) -> Matrices {
        let ty = self.program.ty(operand.place);
        let rank = ty.extents.len();
        let mut block = self.settled(operand);
        let usable = |strided: &Strided| {
            let whole = |distance: i64| distance % width as i64 == 0;
            convert.is_none()
                && whole(strided.base)
                && strided.strides.iter().copied().all(whole)
                // One distance must lead from each matrix to the next.
                && rank <= 3
        };
        if !matches!(&block, Block::Dense(strided, _) | Block::Memory(strided) if usable(strided)) {
            block = self.pack(block, ty);
        }
        let (strided, buffer) = match block {
            Block::Dense(strided, buffer) => (strided, Some(buffer)),
            Block::Memory(strided) => (strided, None),
            _ => unreachable!("a packed block is dense"),
        };
        let (strided, buffer) = match convert {
            Some(convert) => {
                let buffer = converted(strided.base as usize as *const u8, convert, self.count(ty), width);
                (Strided::compact(buffer.data() as i64, &ty.extents, width), Some(buffer))
            }
            None => (strided, buffer),
        };
        let elements = |stride: i64| (stride / width as i64) as isize;
        Matrices {
            address: strided.base as usize as *const u8,
            batch: if rank > 2 { elements(strided.strides[rank - 3]) } else { 0 },
            row: elements(strided.strides[rank - 2]),
            column: elements(strided.strides[rank - 1]),
            _buffer: buffer,
        }
    }

    /// Memory for the result, and whether it holds values to add to.
    fn accumulator(&mut self, dot: &Dot, ty: &ValueType, width: usize) -> (Buffer, bool) {
        let count = self.count(ty);
        let block = match dot.accumulator {
            Some(accumulator) => self.settled(accumulator),
            None => Block::Splat(0),
        };
        if matches!(block, Block::Splat(0)) {
            return (Buffer::new(count * width), false);
        }
        let Block::Dense(strided, buffer) = self.pack(block, ty) else {
            unreachable!("a packed block is dense")
        };
        if let Some(convert) = dot.convert_in {
            return (converted(strided.base as usize as *const u8, convert, count, width), true);
        }
        let whole =
            strided.base == buffer.data() as i64 && strided.strides == compact_strides(&ty.extents, width);
        if whole && buffer.is_unique() {
            return (buffer, true);
        }
        let copy = Buffer::new(count * width);
        // SAFETY: both hold the elements of the block.
        unsafe { copy.data().copy_from_nonoverlapping(strided.base as usize as *const u8, count * width) };
        (copy, true)
    }
}

/// Packed elements converted to a type of `width` bytes.
fn converted(from: *const u8, convert: StripFn, count: usize, width: usize) -> Buffer {
    let buffer = Buffer::new(count * width);
    // SAFETY: both hold `count` elements; the function suits this processor.
    unsafe { convert(buffer.data(), &[from; 3], count) };
    buffer
}

/// Multiplies two matrices into a packed one.
#[allow(clippy::too_many_arguments)]
unsafe fn multiply(
    compute: Scalar,
    extents: Extents,
    lhs: *const u8,
    a: &Matrices,
    rhs: *const u8,
    b: &Matrices,
    out: *mut u8,
    accumulate: bool,
) {
    let Extents { rows, columns, inner, .. } = extents;
    // The library likes results whose columns are contiguous; ours is one when everything is transposed.
    macro_rules! multiply_floats {
        ($library:path, $number:ty) => {{
            use $library as library;
            library::get_gemm_fn()(
                columns,
                rows,
                inner,
                out.cast::<$number>(),
                columns as isize,
                1,
                accumulate,
                rhs.cast::<$number>(),
                b.row,
                b.column,
                lhs.cast::<$number>(),
                a.row,
                a.column,
                1.0,
                1.0,
                false,
                false,
                false,
                Parallelism::None,
            )
        }};
    }
    // SAFETY: by the caller's promise.
    unsafe {
        match compute {
            Scalar::Float32 => multiply_floats!(gemm_f32::gemm::f32, f32),
            Scalar::Float64 => multiply_floats!(gemm_f64::gemm::f64, f64),
            Scalar::Int64 => multiply_integers::<i64>(
                extents,
                lhs,
                a,
                rhs,
                b,
                out,
                accumulate,
                i64::wrapping_add,
                i64::wrapping_mul,
            ),
            _ => multiply_integers::<i32>(
                extents,
                lhs,
                a,
                rhs,
                b,
                out,
                accumulate,
                i32::wrapping_add,
                i32::wrapping_mul,
            ),
        }
    }
}

/// The product of integer matrices, row by row of the result.
#[allow(clippy::too_many_arguments)]
unsafe fn multiply_integers<T: Copy + Default>(
    extents: Extents,
    lhs: *const u8,
    a: &Matrices,
    rhs: *const u8,
    b: &Matrices,
    out: *mut u8,
    accumulate: bool,
    add: impl Fn(T, T) -> T,
    mul: impl Fn(T, T) -> T,
) {
    let (lhs, rhs, out) = (lhs.cast::<T>(), rhs.cast::<T>(), out.cast::<T>());
    for row in 0..extents.rows {
        // SAFETY: by the caller's promise.
        unsafe {
            let out = std::slice::from_raw_parts_mut(out.add(row * extents.columns), extents.columns);
            if !accumulate {
                out.fill(T::default());
            }
            for k in 0..extents.inner {
                let factor = *lhs.offset(row as isize * a.row + k as isize * a.column);
                let from = rhs.offset(k as isize * b.row);
                for (column, out) in out.iter_mut().enumerate() {
                    *out = add(*out, mul(factor, *from.offset(column as isize * b.column)));
                }
            }
        }
    }
}
