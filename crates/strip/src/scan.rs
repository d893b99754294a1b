//! Inclusive prefixes of contiguous strips.
//!
//! A block of [`BLOCK`] elements is scanned by itself in log2([`BLOCK`]) vector steps (Hillis and Steele),
//! and what came before it is then combined into each: the chain from block to block is one operation long.

use super::StripFn;
use super::elementwise::Map2;
use super::float_format::{NarrowFloat, NarrowStrip, NearestEven, WidenStrip, by_narrow_float};
use super::number::{Integer, Number};
use super::operations::{Add, And, Max, MaxNan, Min, MinNan, Mul, Or, Xor};
use super::target::{Kernel, Target};
use std::marker::PhantomData;
use tegula_ir::{BinaryOp, Scalar};

const BLOCK: usize = 8;

struct Prefixes<M>(PhantomData<M>);

impl<N: Number, M: Map2<In = N, Out = N>> Kernel for Prefixes<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let (out, input) = (out.cast::<N>(), inputs[0].cast::<N>());
        if count == 0 {
            return;
        }
        // SAFETY: the caller promises `count` elements; a block is within them, and read before it is written.
        unsafe {
            let mut carry = input.read_unaligned();
            out.write_unaligned(carry);
            let mut first = 1;
            while first + BLOCK <= count {
                let mut block = input.add(first).cast::<[N; BLOCK]>().read_unaligned();
                let mut distance = 1;
                while distance < BLOCK {
                    let previous = block;
                    for lane in distance..BLOCK {
                        block[lane] = M::apply::<T>(previous[lane - distance], previous[lane]);
                    }
                    distance *= 2;
                }
                for value in &mut block {
                    *value = M::apply::<T>(carry, *value);
                }
                carry = block[BLOCK - 1];
                out.add(first).cast::<[N; BLOCK]>().write_unaligned(block);
                first += BLOCK;
            }
            for i in first..count {
                carry = M::apply::<T>(carry, input.add(i).read_unaligned());
                out.add(i).write_unaligned(carry);
            }
        }
    }
}

/// Prefixes of narrow floats: in fp32, each rounded by itself.
struct NarrowPrefixes<F, M>(PhantomData<(F, M)>);

impl<F: NarrowFloat, M: Map2<In = f32, Out = f32>> Kernel for NarrowPrefixes<F, M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        const CHUNK: usize = 1024;
        // The last prefix of the chunk before stands in front, so that it goes into the next ones.
        let mut prefixes = [0f32; CHUNK + 1];
        for first in (0..count).step_by(CHUNK) {
            let length = CHUNK.min(count - first);
            let offset = first * size_of::<F::Bits>();
            let carried = usize::from(first > 0);
            // SAFETY: the chunk is within the strips, and the array holds it and one element more.
            unsafe {
                let chunk = prefixes.as_mut_ptr().add(1).cast::<u8>();
                let scanned = prefixes.as_mut_ptr().add(1 - carried).cast::<u8>();
                T::strip::<WidenStrip<F>>()(chunk, &[inputs[0].add(offset); 3], length);
                T::strip::<Prefixes<M>>()(scanned, &[scanned.cast_const(); 3], length + carried);
                T::strip::<NarrowStrip<F, NearestEven>>()(out.add(offset), &[chunk.cast_const(); 3], length);
            }
            prefixes[0] = prefixes[length];
        }
    }
}

fn integer_scan<T: Target, N: Integer>(op: BinaryOp) -> Option<StripFn> {
    Some(match op {
        BinaryOp::Add => T::strip::<Prefixes<Add<N>>>(),
        BinaryOp::Mul => T::strip::<Prefixes<Mul<N>>>(),
        BinaryOp::Min | BinaryOp::MinNan => T::strip::<Prefixes<Min<N>>>(),
        BinaryOp::Max | BinaryOp::MaxNan => T::strip::<Prefixes<Max<N>>>(),
        BinaryOp::And => T::strip::<Prefixes<And<N>>>(),
        BinaryOp::Or => T::strip::<Prefixes<Or<N>>>(),
        BinaryOp::Xor => T::strip::<Prefixes<Xor<N>>>(),
        _ => return None,
    })
}

fn float_scan<T: Target, N: Number>(op: BinaryOp) -> Option<StripFn> {
    Some(match op {
        BinaryOp::Add => T::strip::<Prefixes<Add<N>>>(),
        BinaryOp::Mul => T::strip::<Prefixes<Mul<N>>>(),
        BinaryOp::Min => T::strip::<Prefixes<Min<N>>>(),
        BinaryOp::Max => T::strip::<Prefixes<Max<N>>>(),
        BinaryOp::MinNan => T::strip::<Prefixes<MinNan<N>>>(),
        BinaryOp::MaxNan => T::strip::<Prefixes<MaxNan<N>>>(),
        _ => return None,
    })
}

fn narrow_scan<T: Target, F: NarrowFloat>(op: BinaryOp) -> Option<StripFn> {
    Some(match op {
        BinaryOp::Add => T::strip::<NarrowPrefixes<F, Add<f32>>>(),
        BinaryOp::Mul => T::strip::<NarrowPrefixes<F, Mul<f32>>>(),
        BinaryOp::Min => T::strip::<NarrowPrefixes<F, Min<f32>>>(),
        BinaryOp::Max => T::strip::<NarrowPrefixes<F, Max<f32>>>(),
        BinaryOp::MinNan => T::strip::<NarrowPrefixes<F, MinNan<f32>>>(),
        BinaryOp::MaxNan => T::strip::<NarrowPrefixes<F, MaxNan<f32>>>(),
        _ => return None,
    })
}

fn truth_scan<T: Target>(op: BinaryOp) -> Option<StripFn> {
    Some(match op {
        BinaryOp::Add | BinaryOp::Xor => T::strip::<Prefixes<Xor<u8>>>(),
        BinaryOp::Mul | BinaryOp::And | BinaryOp::Min | BinaryOp::MinNan => T::strip::<Prefixes<And<u8>>>(),
        BinaryOp::Or | BinaryOp::Max | BinaryOp::MaxNan => T::strip::<Prefixes<Or<u8>>>(),
        _ => return None,
    })
}

pub(super) fn scan<T: Target>(op: BinaryOp, scalar: Scalar) -> Option<StripFn> {
    match scalar {
        Scalar::Int1 => truth_scan::<T>(op),
        Scalar::Int8 => integer_scan::<T, i8>(op),
        Scalar::Int16 => integer_scan::<T, i16>(op),
        Scalar::Int32 => integer_scan::<T, i32>(op),
        Scalar::Int64 => integer_scan::<T, i64>(op),
        Scalar::UInt8 => integer_scan::<T, u8>(op),
        Scalar::UInt16 => integer_scan::<T, u16>(op),
        Scalar::UInt32 => integer_scan::<T, u32>(op),
        Scalar::UInt64 => integer_scan::<T, u64>(op),
        Scalar::Float32 => float_scan::<T, f32>(op),
        Scalar::Float64 => float_scan::<T, f64>(op),
        _ => by_narrow_float!(scalar, F => narrow_scan::<T, F>(op), else => None),
    }
}
