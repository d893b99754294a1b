//! Folds of contiguous strips.
//!
//! A fold keeps [`LANES`] partial results, element `i` going to number `i % LANES`, and then combines them in
//! halves. The order depends on the count alone, not on the instruction set.

use super::elementwise::Map2;
use super::float_format::{NarrowFloat, NearestEven, WidenStrip, by_narrow_float};
use super::number::{Integer, Number};
use super::operations::{Add, And, Max, MaxNan, Min, MinNan, Mul, Or, Xor};
use super::target::{ArgReduceKernel, ReduceKernel, Target};
use super::{ArgReduceFn, ReduceFn};
use std::marker::PhantomData;
use tegula_ir::{BinaryOp, Scalar};

/// Partial results of a fold: enough vectors to hide the latency of an addition.
const LANES: usize = 64;

struct Fold<M>(PhantomData<M>);

impl<N: Number, M: Map2<In = N, Out = N>> ReduceKernel for Fold<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(input: *const u8, count: usize) -> u64 {
        // SAFETY: the caller promises `count` elements, at least one.
        unsafe { fold::<T, N, M>(input.cast::<N>(), count) }.to_bits64()
    }
}

/// # Safety
/// `input` is valid for reads of `count` elements, at least one.
#[inline(always)]
unsafe fn fold<T: Target, N: Number, M: Map2<In = N, Out = N>>(input: *const N, count: usize) -> N {
    // SAFETY: the caller promises `count` elements.
    let at = |i: usize| unsafe { input.add(i).read_unaligned() };
    if count < LANES {
        return (1..count).fold(at(0), |sum, i| M::apply::<T>(sum, at(i)));
    }
    // SAFETY: the caller promises `count` elements, and there is a block.
    let all = unsafe {
        let first = input.cast::<[N; LANES]>().read_unaligned();
        // Lanes that are numbers stay numbers.
        if M::ACCUMULATES && first.iter().fold(true, |all, &lane| all & !N::is_nan(lane)) {
            fold_blocks(first, input, count, M::accumulate::<T>)
        } else {
            fold_blocks(first, input, count, M::apply::<T>)
        }
    };
    let all = halved::<T, N, M, 32>(&all);
    let all = halved::<T, N, M, 16>(&all);
    let all = halved::<T, N, M, 8>(&all);
    let all = halved::<T, N, M, 4>(&all);
    let all = halved::<T, N, M, 2>(&all);
    M::apply::<T>(all[0], all[1])
}

/// The lanes of all blocks combined, those of the last, partial one too.
///
/// # Safety
/// `input` is valid for reads of `count` elements, at least [`LANES`].
#[inline(always)]
unsafe fn fold_blocks<N: Number>(
    mut lanes: [N; LANES],
    input: *const N,
    count: usize,
    combine: impl Fn(N, N) -> N,
) -> [N; LANES] {
    let mut first = LANES;
    while first + LANES <= count {
        // Into another array: in place, the compiler would keep the lanes in memory and write only those that change.
        // SAFETY: the block is within the strip.
        let (before, more) = (lanes, unsafe { input.add(first).cast::<[N; LANES]>().read_unaligned() });
        let mut after = [N::default(); LANES];
        for (lane, value) in after.iter_mut().enumerate() {
            *value = combine(before[lane], more[lane]);
        }
        lanes = after;
        first += LANES;
    }
    let mut all = lanes;
    for i in first..count {
        // SAFETY: the element is within the strip.
        all[i - first] = combine(all[i - first], unsafe { input.add(i).read_unaligned() });
    }
    all
}

/// The second half of the lanes combined into the first.
#[inline(always)]
fn halved<T: Target, N: Number, M: Map2<In = N, Out = N>, const HALF: usize>(lanes: &[N]) -> [N; HALF] {
    let mut half = [N::default(); HALF];
    for (lane, value) in half.iter_mut().enumerate() {
        *value = M::apply::<T>(lanes[lane], lanes[lane + HALF]);
    }
    half
}

/// A fold of narrow floats: in fp32, rounded once at the end.
struct NarrowFold<F, M>(PhantomData<(F, M)>);

impl<F: NarrowFloat, M: Map2<In = f32, Out = f32>> ReduceKernel for NarrowFold<F, M> {
    #[inline(always)]
    unsafe fn run<T: Target>(input: *const u8, count: usize) -> u64 {
        let mut total = None;
        // SAFETY: the caller promises `count` elements, at least one.
        unsafe {
            for_each_widened_chunk::<T, F>(input, count, |_, chunk, length| {
                let part = f32::from_bits(T::reduce::<Fold<M>>()(chunk.cast(), length) as u32);
                total = Some(total.map_or(part, |total| M::apply::<T>(total, part)));
            });
        }
        F::narrow::<NearestEven>(total.unwrap_or_default()).into()
    }
}

/// Widens a strip of narrow floats a chunk at a time, and calls `visit(first, chunk, length)` with each.
///
/// # Safety
/// `input` is valid for reads of `count` elements, and the processor has the target's features.
unsafe fn for_each_widened_chunk<T: Target, F: NarrowFloat>(
    input: *const u8,
    count: usize,
    mut visit: impl FnMut(usize, *const f32, usize),
) {
    const CHUNK: usize = 1024;
    let mut chunk = [0f32; CHUNK];
    for first in (0..count).step_by(CHUNK) {
        let length = CHUNK.min(count - first);
        // SAFETY: the chunk is within the strip, and the array holds it.
        unsafe {
            let from = input.add(first * size_of::<F::Bits>());
            T::strip::<WidenStrip<F>>()(chunk.as_mut_ptr().cast(), &[from; 3], length);
        }
        visit(first, chunk.as_ptr(), length);
    }
}

fn integer_reduce<T: Target, N: Integer>(op: BinaryOp) -> Option<ReduceFn> {
    Some(match op {
        BinaryOp::Add => T::reduce::<Fold<Add<N>>>(),
        BinaryOp::Mul => T::reduce::<Fold<Mul<N>>>(),
        BinaryOp::Min | BinaryOp::MinNan => T::reduce::<Fold<Min<N>>>(),
        BinaryOp::Max | BinaryOp::MaxNan => T::reduce::<Fold<Max<N>>>(),
        BinaryOp::And => T::reduce::<Fold<And<N>>>(),
        BinaryOp::Or => T::reduce::<Fold<Or<N>>>(),
        BinaryOp::Xor => T::reduce::<Fold<Xor<N>>>(),
        _ => return None,
    })
}

fn float_reduce<T: Target, N: Number>(op: BinaryOp) -> Option<ReduceFn> {
    Some(match op {
        BinaryOp::Add => T::reduce::<Fold<Add<N>>>(),
        BinaryOp::Mul => T::reduce::<Fold<Mul<N>>>(),
        BinaryOp::Min => T::reduce::<Fold<Min<N>>>(),
        BinaryOp::Max => T::reduce::<Fold<Max<N>>>(),
        BinaryOp::MinNan => T::reduce::<Fold<MinNan<N>>>(),
        BinaryOp::MaxNan => T::reduce::<Fold<MaxNan<N>>>(),
        _ => return None,
    })
}

fn narrow_reduce<T: Target, F: NarrowFloat>(op: BinaryOp) -> Option<ReduceFn> {
    Some(match op {
        BinaryOp::Add => T::reduce::<NarrowFold<F, Add<f32>>>(),
        BinaryOp::Mul => T::reduce::<NarrowFold<F, Mul<f32>>>(),
        BinaryOp::Min => T::reduce::<NarrowFold<F, Min<f32>>>(),
        BinaryOp::Max => T::reduce::<NarrowFold<F, Max<f32>>>(),
        BinaryOp::MinNan => T::reduce::<NarrowFold<F, MinNan<f32>>>(),
        BinaryOp::MaxNan => T::reduce::<NarrowFold<F, MaxNan<f32>>>(),
        _ => return None,
    })
}

fn truth_reduce<T: Target>(op: BinaryOp) -> Option<ReduceFn> {
    Some(match op {
        BinaryOp::Add | BinaryOp::Xor => T::reduce::<Fold<Xor<u8>>>(),
        BinaryOp::Mul | BinaryOp::And | BinaryOp::Min | BinaryOp::MinNan => T::reduce::<Fold<And<u8>>>(),
        BinaryOp::Or | BinaryOp::Max | BinaryOp::MaxNan => T::reduce::<Fold<Or<u8>>>(),
        _ => return None,
    })
}

pub(super) fn reduce<T: Target>(op: BinaryOp, scalar: Scalar) -> Option<ReduceFn> {
    match scalar {
        Scalar::Int1 => truth_reduce::<T>(op),
        Scalar::Int8 => integer_reduce::<T, i8>(op),
        Scalar::Int16 => integer_reduce::<T, i16>(op),
        Scalar::Int32 => integer_reduce::<T, i32>(op),
        Scalar::Int64 => integer_reduce::<T, i64>(op),
        Scalar::UInt8 => integer_reduce::<T, u8>(op),
        Scalar::UInt16 => integer_reduce::<T, u16>(op),
        Scalar::UInt32 => integer_reduce::<T, u32>(op),
        Scalar::UInt64 => integer_reduce::<T, u64>(op),
        Scalar::Float32 => float_reduce::<T, f32>(op),
        Scalar::Float64 => float_reduce::<T, f64>(op),
        _ => by_narrow_float!(scalar, F => narrow_reduce::<T, F>(op), else => None),
    }
}

/// Finds the extreme by a fold, and then where it first stands: two vectorised passes over a strip that is in
/// the cache.
struct FindExtreme<M>(PhantomData<M>);

impl<N: Number, M: Map2<In = N, Out = N>> ArgReduceKernel for FindExtreme<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(input: *const u8, count: usize) -> (u64, usize) {
        let input = input.cast::<N>();
        // SAFETY: the caller promises `count` elements, at least one; a block is within them.
        unsafe {
            let extreme = fold::<T, N, M>(input, count);
            let at = |i: usize| input.add(i).read_unaligned();
            let mut first = 0;
            while first + LANES <= count {
                if (0..LANES).fold(false, |found, lane| found | (at(first + lane) == extreme)) {
                    break;
                }
                first += LANES;
            }
            match (first..count).find(|&i| at(i) == extreme) {
                Some(index) => (at(index).to_bits64(), index),
                // Nothing equals NaN, which is the extreme where there is nothing else.
                None => (at(0).to_bits64(), 0),
            }
        }
    }
}

/// The extreme of narrow floats, chunk by chunk in fp32.
struct FindNarrowExtreme<F, M>(PhantomData<(F, M)>);

impl<F: NarrowFloat, M: Map2<In = f32, Out = f32>> ArgReduceKernel for FindNarrowExtreme<F, M> {
    #[inline(always)]
    unsafe fn run<T: Target>(input: *const u8, count: usize) -> (u64, usize) {
        let mut best: Option<(f32, usize)> = None;
        // SAFETY: the caller promises `count` elements, at least one.
        unsafe {
            for_each_widened_chunk::<T, F>(input, count, |first, chunk, length| {
                let (bits, index) = T::arg_reduce::<FindExtreme<M>>()(chunk.cast(), length);
                let value = f32::from_bits(bits as u32);
                let replaces = match best {
                    None => true,
                    // A NaN is replaced, and replaces nothing.
                    Some((old, _)) => old != value && M::apply::<T>(old, value) == value,
                };
                if replaces {
                    best = Some((value, first + index));
                }
            });
            let index = best.map_or(0, |(_, index)| index);
            (input.cast::<F::Bits>().add(index).read_unaligned().into(), index)
        }
    }
}

fn narrow_arg_reduce<T: Target, F: NarrowFloat>(op: BinaryOp) -> Option<ArgReduceFn> {
    Some(match op {
        BinaryOp::Min => T::arg_reduce::<FindNarrowExtreme<F, Min<f32>>>(),
        BinaryOp::Max => T::arg_reduce::<FindNarrowExtreme<F, Max<f32>>>(),
        _ => return None,
    })
}

fn number_arg_reduce<T: Target, N: Number>(op: BinaryOp) -> Option<ArgReduceFn> {
    Some(match op {
        BinaryOp::Min => T::arg_reduce::<FindExtreme<Min<N>>>(),
        BinaryOp::Max => T::arg_reduce::<FindExtreme<Max<N>>>(),
        _ => return None,
    })
}

pub(super) fn arg_reduce<T: Target>(op: BinaryOp, scalar: Scalar) -> Option<ArgReduceFn> {
    match scalar {
        Scalar::Int1 | Scalar::UInt8 => number_arg_reduce::<T, u8>(op),
        Scalar::Int8 => number_arg_reduce::<T, i8>(op),
        Scalar::Int16 => number_arg_reduce::<T, i16>(op),
        Scalar::Int32 => number_arg_reduce::<T, i32>(op),
        Scalar::Int64 => number_arg_reduce::<T, i64>(op),
        Scalar::UInt16 => number_arg_reduce::<T, u16>(op),
        Scalar::UInt32 => number_arg_reduce::<T, u32>(op),
        Scalar::UInt64 => number_arg_reduce::<T, u64>(op),
        Scalar::Float32 => number_arg_reduce::<T, f32>(op),
        Scalar::Float64 => number_arg_reduce::<T, f64>(op),
        _ => by_narrow_float!(scalar, F => narrow_arg_reduce::<T, F>(op), else => None),
    }
}
