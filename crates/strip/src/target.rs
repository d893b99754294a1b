//! Turns one generic loop into one function per instruction set.
//!
//! A loop is written once, as the `#[inline(always)]` body of a [`Kernel`] (or [`ReduceKernel`]). Each
//! [`Target`] wraps it in a function that enables the target's features, so that the compiler vectorises the
//! same source for each:
//!
//! ```text
//! Avx512::strip::<K>()   =>   #[target_feature(enable = "avx512f,..")] unsafe fn(..) { K::run::<Avx512>(..) }
//! ```

use super::float_format::{GROUP, Half, NarrowFloat, NearestEven, TowardsZero};
use super::{ArgReduceFn, ReduceFn, StripFn};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
#[cfg(target_arch = "x86_64")]
use std::mem::transmute;

/// A loop over the elements of a strip.
pub(super) trait Kernel {
    /// # Safety
    /// As for [`StripFn`]; and the processor has the target's features.
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize);
}

/// A loop that folds a strip into one element.
pub(super) trait ReduceKernel {
    /// # Safety
    /// As for [`ReduceFn`]; and the processor has the target's features.
    unsafe fn run<T: Target>(input: *const u8, count: usize) -> u64;
}

/// A loop that finds an element of a strip.
pub(super) trait ArgReduceKernel {
    /// # Safety
    /// As for [`ArgReduceFn`]; and the processor has the target's features.
    unsafe fn run<T: Target>(input: *const u8, count: usize) -> (u64, usize);
}

/// An instruction set, as a type.
pub(super) trait Target: 'static {
    /// Whether `f32::mul_add` is one instruction; otherwise it is a call.
    const FUSED: bool;

    fn strip<K: Kernel>() -> StripFn;
    fn reduce<K: ReduceKernel>() -> ReduceFn;
    fn arg_reduce<K: ArgReduceKernel>() -> ArgReduceFn;

    /// Whether the next two are available.
    const CONVERTS_HALVES: bool;

    /// From fp16 to fp32.
    ///
    /// # Safety
    /// The processor has the target's features.
    unsafe fn widen_halves(halves: [u16; GROUP]) -> [f32; GROUP];

    /// From fp32 to fp16 with the rounding that the conversion instruction calls `ROUNDING`: 0 to nearest, 3
    /// towards zero.
    ///
    /// # Safety
    /// The processor has the target's features.
    unsafe fn narrow_halves<const ROUNDING: i32>(floats: [f32; GROUP]) -> [u16; GROUP];

    /// `a * b + c`, rounded once where that is one instruction, and twice elsewhere.
    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        if Self::FUSED { a.mul_add(b, c) } else { a * b + c }
    }

    /// `a * b + c`, rounded once where that is one instruction, and twice elsewhere.
    #[inline(always)]
    fn mul_add_f64(a: f64, b: f64, c: f64) -> f64 {
        if Self::FUSED { a.mul_add(b, c) } else { a * b + c }
    }
}

macro_rules! target {
    (
        $(#[$doc:meta])* $name:ident, fused: $fused:expr, halves: $halves:expr, $(features: $features:literal,)?
        widen_halves: |$in_halves:ident| $widen:expr,
        narrow_halves: |$in_floats:ident, $rounding:ident| $narrow:expr
    ) => {
        $(#[$doc])*
        pub(super) struct $name;

        impl Target for $name {
            const FUSED: bool = $fused;
            const CONVERTS_HALVES: bool = $halves;

            #[inline(always)]
            unsafe fn widen_halves($in_halves: [u16; GROUP]) -> [f32; GROUP] {
                $widen
            }

            #[inline(always)]
            unsafe fn narrow_halves<const $rounding: i32>($in_floats: [f32; GROUP]) -> [u16; GROUP] {
                $narrow
            }

            fn strip<K: Kernel>() -> StripFn {
                $(#[target_feature(enable = $features)])?
                unsafe fn wrapped<K: Kernel>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
                    // SAFETY: the caller's promise.
                    unsafe { K::run::<$name>(out, inputs, count) }
                }
                wrapped::<K>
            }

            fn reduce<K: ReduceKernel>() -> ReduceFn {
                $(#[target_feature(enable = $features)])?
                unsafe fn wrapped<K: ReduceKernel>(input: *const u8, count: usize) -> u64 {
                    // SAFETY: the caller's promise.
                    unsafe { K::run::<$name>(input, count) }
                }
                wrapped::<K>
            }

            fn arg_reduce<K: ArgReduceKernel>() -> ArgReduceFn {
                $(#[target_feature(enable = $features)])?
                unsafe fn wrapped<K: ArgReduceKernel>(input: *const u8, count: usize) -> (u64, usize) {
                    // SAFETY: the caller's promise.
                    unsafe { K::run::<$name>(input, count) }
                }
                wrapped::<K>
            }
        }
    };
}

target!(
    /// [`crate::isa::Isa::Baseline`].
    Baseline,
    fused: cfg!(any(target_feature = "fma", target_arch = "aarch64")),
    halves: false,
    widen_halves: |halves| halves.map(Half::widen),
    narrow_halves: |floats, ROUNDING| floats.map(match ROUNDING {
        0 => Half::narrow::<NearestEven>,
        _ => Half::narrow::<TowardsZero>,
    })
);

#[cfg(target_arch = "x86_64")]
target!(
    /// [`crate::isa::Isa::Avx2`].
    Avx2,
    fused: true,
    halves: true,
    features: "avx2,fma,f16c,popcnt,lzcnt",
    widen_halves: |halves| {
        // SAFETY: the caller promises F16C; arrays and vectors have one layout.
        unsafe {
            let [low, high] = transmute::<[u16; GROUP], [__m128i; 2]>(halves);
            transmute::<[__m256; 2], [f32; GROUP]>([_mm256_cvtph_ps(low), _mm256_cvtph_ps(high)])
        }
    },
    narrow_halves: |floats, ROUNDING| {
        // SAFETY: the caller promises F16C; arrays and vectors have one layout.
        unsafe {
            let [low, high] = transmute::<[f32; GROUP], [__m256; 2]>(floats);
            let halves = [_mm256_cvtps_ph::<ROUNDING>(low), _mm256_cvtps_ph::<ROUNDING>(high)];
            transmute::<[__m128i; 2], [u16; GROUP]>(halves)
        }
    }
);

#[cfg(target_arch = "x86_64")]
target!(
    /// [`crate::isa::Isa::Avx512`].
    Avx512,
    fused: true,
    halves: true,
    features: "avx2,fma,f16c,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl",
    widen_halves: |halves| {
        // SAFETY: the caller promises AVX-512F; arrays and vectors have one layout.
        unsafe { transmute::<__m512, [f32; GROUP]>(_mm512_cvtph_ps(transmute::<[u16; GROUP], __m256i>(halves))) }
    },
    narrow_halves: |floats, ROUNDING| {
        // SAFETY: the caller promises AVX-512F; arrays and vectors have one layout.
        unsafe {
            let floats = transmute::<[f32; GROUP], __m512>(floats);
            transmute::<__m256i, [u16; GROUP]>(_mm512_cvtps_ph::<ROUNDING>(floats))
        }
    }
);

/// Runs an expression with `$target` bound to the type of an [`Isa`](crate::isa::Isa).
macro_rules! with_target {
    ($isa:expr, $target:ident => $body:expr) => {
        match $isa {
            crate::isa::Isa::Baseline => {
                type $target = crate::target::Baseline;
                $body
            }
            #[cfg(target_arch = "x86_64")]
            crate::isa::Isa::Avx2 => {
                type $target = crate::target::Avx2;
                $body
            }
            #[cfg(target_arch = "x86_64")]
            crate::isa::Isa::Avx512 => {
                type $target = crate::target::Avx512;
                $body
            }
            #[cfg(not(target_arch = "x86_64"))]
            crate::isa::Isa::Avx2 | crate::isa::Isa::Avx512 => {
                type $target = crate::target::Baseline;
                $body
            }
        }
    };
}
pub(super) use with_target;
