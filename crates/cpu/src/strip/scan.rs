//! Inclusive prefixes of contiguous strips.
//!
//! A block of [`BLOCK`] elements is scanned by itself in log2([`BLOCK`]) vector steps (Hillis and Steele), and what came before it is then
//! combined into each: the chain from block to block is one operation long.

use super::StripFn;
use super::elementwise::Map2;
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

fn number_scan<T: Target, N: Number>(op: BinaryOp) -> Option<StripFn> {
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

fn integer_scan<T: Target, N: Integer>(op: BinaryOp) -> Option<StripFn> {
    Some(match op {
        BinaryOp::And => T::strip::<Prefixes<And<N>>>(),
        BinaryOp::Or => T::strip::<Prefixes<Or<N>>>(),
        BinaryOp::Xor => T::strip::<Prefixes<Xor<N>>>(),
        BinaryOp::MinNan => T::strip::<Prefixes<Min<N>>>(),
        BinaryOp::MaxNan => T::strip::<Prefixes<Max<N>>>(),
        _ => return number_scan::<T, N>(op),
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
        Scalar::Float32 => number_scan::<T, f32>(op),
        Scalar::Float64 => number_scan::<T, f64>(op),
        _ => None,
    }
}
