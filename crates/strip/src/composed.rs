//! Kernels made of others, a chunk at a time through scratch memory in the first-level cache.
//!
//! 16- and 8-bit floats have no arithmetic of their own: they are widened to fp32, computed, and rounded
//! back. Likewise a rare conversion is two common ones. A composition costs a few instructions of code, where
//! a loop of its own for each type would cost kilobytes.

use super::StripFn;
use super::cast::{Convert, DoubleToSingle, ToOdd};
use super::elementwise::{Dense, DenseDenseDense, Elementwise, Map3, Presence};
use super::float_format::{NarrowFloat, NarrowStrip, NearestEven, WidenStrip};
use super::target::{Kernel, Target};
use std::marker::PhantomData;

/// Elements of a chunk.
const CHUNK: usize = 512;

/// Scratch memory for a chunk of elements of any type.
type Scratch = [u64; CHUNK];

/// A kernel of one operand applied to the result of another.
pub(super) struct Then<A, B>(PhantomData<(A, B)>);

impl<A: Elementwise, B: Elementwise<In = A::Out>> Elementwise for Then<A, B> {
    const OPERANDS: [Presence; 3] = A::OPERANDS;
    type In = A::In;
    type Out = B::Out;
}

impl<A: Elementwise, B: Elementwise<In = A::Out>> Kernel for Then<A, B> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let steps = [T::strip::<A>(), T::strip::<B>()];
        // SAFETY: the caller's promise, and the sizes are those of the functions' elements.
        unsafe { run_in_turn(steps, [size_of::<A::In>(), size_of::<B::Out>()], out, inputs[0], count) }
    }
}

/// # Safety
/// `out` and `input` are as for [`StripFn`], with elements of `sizes`; the result of the first step is the
/// input of the second.
unsafe fn run_in_turn(steps: [StripFn; 2], sizes: [usize; 2], out: *mut u8, input: *const u8, count: usize) {
    let mut scratch: Scratch = [0; CHUNK];
    let between = scratch.as_mut_ptr().cast::<u8>();
    for first in (0..count).step_by(CHUNK) {
        let length = CHUNK.min(count - first);
        // SAFETY: the chunk is within the strips, and scratch holds it.
        unsafe {
            steps[0](between, &[input.add(first * sizes[0]), between, between], length);
            steps[1](out.add(first * sizes[1]), &[between, between, between], length);
        }
    }
}

/// How a narrow operation is computed.
struct Plan {
    /// From the narrow type to the one that is computed in.
    widen: StripFn,
    compute: StripFn,
    /// From the computed result to the narrow type; without it, the result is stored as it is.
    narrow: Option<StripFn>,
    operands: [Presence; 3],
    /// Bytes of a narrow element, and of a result.
    size: usize,
    result_size: usize,
}

/// # Safety
/// As for [`StripFn`], with elements as the plan says.
unsafe fn run_widened(plan: &Plan, out: *mut u8, inputs: &[*const u8; 3], count: usize) {
    let mut scratch: [Scratch; 3] = [[0; CHUNK]; 3];
    let wide = scratch.each_mut().map(|operand| operand.as_mut_ptr().cast::<u8>());
    let wide_inputs = wide.map(<*mut u8>::cast_const);
    // SAFETY: a chunk is within the strips, and each scratch array holds it; the result overwrites the first
    // operand's, which is a strip of elements of its size or, if it is a single element, is not where the
    // result goes.
    unsafe {
        for (operand, presence) in plan.operands.into_iter().enumerate() {
            if presence == Presence::Element {
                (plan.widen)(wide[operand], &[inputs[operand]; 3], 1);
            }
        }
        let result = if plan.operands[0] == Presence::Strip { wide[0] } else { wide[1] };
        for first in (0..count).step_by(CHUNK) {
            let length = CHUNK.min(count - first);
            for (operand, presence) in plan.operands.into_iter().enumerate() {
                if presence == Presence::Strip {
                    (plan.widen)(wide[operand], &[inputs[operand].add(first * plan.size); 3], length);
                }
            }
            let place = out.add(first * plan.result_size);
            match plan.narrow {
                Some(narrow) => {
                    (plan.compute)(result, &wide_inputs, length);
                    narrow(place, &[result.cast_const(); 3], length);
                }
                None => (plan.compute)(place, &wide_inputs, length),
            }
        }
    }
}

/// An fp32 kernel on narrow floats whose result is narrow too.
pub(super) struct Narrowed<F, K>(PhantomData<(F, K)>);

impl<F: NarrowFloat, K: Elementwise> Kernel for Narrowed<F, K> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let plan = Plan {
            widen: T::strip::<WidenStrip<F>>(),
            compute: T::strip::<K>(),
            narrow: Some(T::strip::<NarrowStrip<F, NearestEven>>()),
            operands: K::OPERANDS,
            size: size_of::<F::Bits>(),
            result_size: size_of::<F::Bits>(),
        };
        // SAFETY: the caller's promise.
        unsafe { run_widened(&plan, out, inputs, count) }
    }
}

/// An fp32 kernel on narrow floats whose result is no float: a comparison.
pub(super) struct Widened<F, K>(PhantomData<(F, K)>);

impl<F: NarrowFloat, K: Elementwise<Out = u8>> Kernel for Widened<F, K> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let plan = Plan {
            widen: T::strip::<WidenStrip<F>>(),
            compute: T::strip::<K>(),
            narrow: None,
            operands: K::OPERANDS,
            size: size_of::<F::Bits>(),
            result_size: size_of::<u8>(),
        };
        // SAFETY: the caller's promise.
        unsafe { run_widened(&plan, out, inputs, count) }
    }
}

/// `a * b + c` of narrow floats, rounded once: computed in fp64, where the product is exact and the sum is
/// rounded to odd, so that the rounding to the narrow type is as of the exact sum (Boldo and Melquiond,
/// 2008).
pub(super) struct NarrowFusedMultiplyAdd<F>(PhantomData<F>);

impl<F: NarrowFloat> Kernel for NarrowFusedMultiplyAdd<F> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let plan = Plan {
            widen: T::strip::<Then<WidenStrip<F>, Dense<Convert<f32, f64>>>>(),
            compute: T::strip::<DenseDenseDense<MultiplyAddToOdd>>(),
            narrow: Some(T::strip::<Then<Dense<DoubleToSingle<ToOdd>>, NarrowStrip<F, NearestEven>>>()),
            operands: [Presence::Strip; 3],
            size: size_of::<F::Bits>(),
            result_size: size_of::<F::Bits>(),
        };
        // SAFETY: the caller's promise.
        unsafe { run_widened(&plan, out, inputs, count) }
    }
}

/// `a * b + c` where the product is exact in fp64: the sum rounded to odd.
struct MultiplyAddToOdd;

impl Map3 for MultiplyAddToOdd {
    type First = f64;
    type In = f64;
    type Out = f64;

    #[inline(always)]
    fn apply<T: Target>(a: f64, b: f64, c: f64) -> f64 {
        let product = a * b;
        let sum = product + c;
        // Knuth's TwoSum: the sum's exact error.
        let added = sum - product;
        let error = (product - (sum - added)) + (c - added);
        let is_inexact = error != 0.0 && sum.is_finite();
        let bits = sum.to_bits();
        let towards_error =
            if (error > 0.0) == (sum > 0.0) { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
        f64::from_bits(if is_inexact && bits & 1 == 0 { towards_error } else { bits })
    }
}
