//! Loops over strips: runs of contiguous elements in memory.
//!
//! A strip operation is a function pointer, looked up once by operation and element type, and called once for
//! some thousand elements; the loop inside is vectorised for one [`Isa`].
//!
//! ```text
//! let add = tegula_strip::binary(isa, BinaryOp::Add, Scalar::Float32, Operands::DenseSplat)?;
//! unsafe { add(out, &[x, one_element, null()], 1024) };
//! ```
//!
//! Elements lie in memory as in arrays: [`Scalar::Int1`] is a byte 0 or 1, 16- and 8-bit floats are their
//! patterns, pointers are `u64`. Nothing need be aligned. All lookups return `None` for what the type does
//! not have.
//!
//! | module | holds |
//! |---|---|
//! | [`isa`] | the instruction sets, and the one that this machine runs |
//! | `target` | one loop, one function per instruction set |
//! | `elementwise` | loops over one, two or three strips, in place or not |
//! | `composed` | loops made of others: narrow floats compute in fp32 |
//! | `number` | arithmetic of one integer or float |
//! | `math` | functions of one float, with bounds of their errors |
//! | `float_format` | the 16- and 8-bit floats as fp32, and back |
//! | `operations` | `UnaryOp`, `BinaryOp`, `Predicate` by element type |
//! | `cast` | conversions between all types |
//! | `movement` | fill, iota, select, reverse |
//! | `reduce`, `scan` | folds and prefixes |

mod cast;
mod composed;
mod elementwise;
mod float_format;
pub mod isa;
mod math;
mod movement;
mod number;
mod operations;
mod reduce;
mod scan;
mod target;

use crate::isa::Isa;
use target::with_target;
use tegula_ir::{BinaryOp, Predicate, Rounding, Scalar, UnaryOp};

/// A strip operation: computes `count` elements of `out` from `inputs` (unused ones may be anything).
///
/// # Safety
/// The processor has the instruction set of the lookup. `out` is valid for writes, and each used input for
/// reads, of `count` elements (one, if the operand is a splat), which are valid for their type. Each dense
/// input either does not overlap `out`, or has elements of its size and starts where it starts; a splat does
/// not overlap it.
pub type StripFn = unsafe fn(out: *mut u8, inputs: &[*const u8; 3], count: usize);

/// Folds `count` elements, at least one and however many, into one: the bits of the result in its type, of integers
/// sign- or zero-extended.
///
/// # Safety
/// The processor has the instruction set of the lookup, and `input` is valid for reads of `count` elements.
pub type ReduceFn = unsafe fn(input: *const u8, count: usize) -> u64;

/// Finds an element among `count`, at least one: its bits as [`ReduceFn`] gives them, and its index.
///
/// # Safety
/// As for [`ReduceFn`].
pub type ArgReduceFn = unsafe fn(input: *const u8, count: usize) -> (u64, usize);

/// Which of two operands are single elements, repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operands {
    /// Both are strips.
    DenseDense,
    /// The left is a strip, the right one element.
    DenseSplat,
    /// The left is one element, the right a strip.
    SplatDense,
}

/// `out[i] = op(inputs[0][i])`.
pub fn unary(isa: Isa, op: UnaryOp, scalar: Scalar) -> Option<StripFn> {
    with_target!(isa, T => operations::unary::<T>(op, scalar))
}

/// `out[i] = op(inputs[0][i] - inputs[1][0])`, with the bits of the two operations one after another; `None` for most operations.
pub fn of_difference(isa: Isa, op: UnaryOp, scalar: Scalar) -> Option<StripFn> {
    with_target!(isa, T => operations::of_difference::<T>(op, scalar))
}

/// `out[i] = op(inputs[0][i], inputs[1][i])`.
pub fn binary(isa: Isa, op: BinaryOp, scalar: Scalar, operands: Operands) -> Option<StripFn> {
    with_target!(isa, T => operations::binary::<T>(op, scalar, operands))
}

/// `out[i] = inputs[0][i] predicate inputs[1][i]`, as [`Scalar::Int1`]. Pointers compare as [`Scalar::UInt64`].
pub fn compare(isa: Isa, predicate: Predicate, scalar: Scalar, operands: Operands) -> Option<StripFn> {
    Some(with_target!(isa, T => operations::compare::<T>(predicate, scalar, operands)))
}

/// `out[i] = inputs[0][i] ? inputs[1][i] : inputs[2][i]` for elements of 1, 2, 4 or 8 bytes. The condition is
/// a strip of [`Scalar::Int1`]; `operands` describes the other two.
pub fn select(isa: Isa, bytes: u32, operands: Operands) -> Option<StripFn> {
    with_target!(isa, T => movement::select::<T>(bytes, operands))
}

/// `out[i] = inputs[0][0]` for elements of 1, 2, 4 or 8 bytes.
pub fn fill(isa: Isa, bytes: u32) -> Option<StripFn> {
    with_target!(isa, T => movement::fill::<T>(bytes))
}

/// `out[i] = inputs[0][count - 1 - i]` for elements of 1, 2, 4 or 8 bytes. Not in place.
pub fn reverse(isa: Isa, bytes: u32) -> Option<StripFn> {
    with_target!(isa, T => movement::reverse::<T>(bytes))
}

/// `out[i] = inputs[0][0] + i * inputs[1][0]`, wrapped, for integers. Pointers are [`Scalar::UInt64`].
pub fn iota(isa: Isa, scalar: Scalar) -> Option<StripFn> {
    with_target!(isa, T => movement::iota::<T>(scalar))
}

/// `out[i] = inputs[0][i] * inputs[1][i] + inputs[2][i]`, rounded once; integers wrap.
pub fn fma(isa: Isa, scalar: Scalar) -> Option<StripFn> {
    with_target!(isa, T => operations::fma::<T>(scalar))
}

/// The fold of a strip by an associative operation: `Add`, `Mul`, the minima and maxima, and the bitwise ones.
///
/// The order of the fold depends on the count alone. 16- and 8-bit floats are folded in fp32 and rounded once.
pub fn reduce(isa: Isa, op: BinaryOp, scalar: Scalar) -> Option<ReduceFn> {
    with_target!(isa, T => reduce::reduce::<T>(op, scalar))
}

/// The least (`Min`) or greatest (`Max`) element and the first index where it stands. NaN is passed over;
/// where all are NaN, the first is found.
pub fn arg_reduce(isa: Isa, op: BinaryOp, scalar: Scalar) -> Option<ArgReduceFn> {
    with_target!(isa, T => reduce::arg_reduce::<T>(op, scalar))
}

/// `out[i]` is the fold of `inputs[0][0..=i]`, for the operations of [`reduce`]. 16- and 8-bit floats are
/// folded in fp32.
///
/// `count` may be any; so a row is one call.
pub fn scan(isa: Isa, op: BinaryOp, scalar: Scalar) -> Option<StripFn> {
    with_target!(isa, T => scan::scan::<T>(op, scalar))
}

/// Converts numbers as [`tegula_ir::Op::Cast`] does. Floats outside the range of an integer type become its
/// least or greatest number, and NaN becomes 0. The rounding is that of floats to narrower floats; from
/// integers to floats it is to nearest.
pub fn cast(isa: Isa, from: Scalar, to: Scalar, rounding: Rounding) -> Option<StripFn> {
    Some(with_target!(isa, T => cast::cast::<T>(from, to, rounding)))
}

#[cfg(test)]
mod tests;
