//! Strips that are moved or counted, not computed: one loop per width of element.

use super::elementwise::{DenseDenseDense, DenseDenseSplat, DenseSplatDense, Map3};
use super::number::Number;
use super::target::{Kernel, Target};
use super::{Operands, StripFn};
use std::marker::PhantomData;
use tegula_ir::Scalar;

/// Returns the value of an expression with `$element` bound to the unsigned type of a width in bytes.
macro_rules! by_width {
    ($bytes:expr, $element:ident => $body:expr) => {
        match $bytes {
            1 => {
                type $element = u8;
                Some($body)
            }
            2 => {
                type $element = u16;
                Some($body)
            }
            4 => {
                type $element = u32;
                Some($body)
            }
            8 => {
                type $element = u64;
                Some($body)
            }
            _ => None,
        }
    };
}

struct Select<E>(PhantomData<E>);

impl<E: Copy + Default> Map3 for Select<E> {
    type First = u8;
    type In = E;
    type Out = E;

    #[inline(always)]
    fn apply<T: Target>(condition: u8, on_true: E, on_false: E) -> E {
        if condition != 0 { on_true } else { on_false }
    }
}

pub(super) fn select<T: Target>(bytes: u32, operands: Operands) -> Option<StripFn> {
    by_width!(bytes, E => match operands {
        Operands::DenseDense => T::strip::<DenseDenseDense<Select<E>>>(),
        Operands::DenseSplat => T::strip::<DenseDenseSplat<Select<E>>>(),
        Operands::SplatDense => T::strip::<DenseSplatDense<Select<E>>>(),
    })
}

struct Fill<E>(PhantomData<E>);

impl<E: Copy> Kernel for Fill<E> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        // SAFETY: the caller promises `count` elements, and one in the input.
        unsafe {
            let element = inputs[0].cast::<E>().read_unaligned();
            for i in 0..count {
                out.cast::<E>().add(i).write_unaligned(element);
            }
        }
    }
}

pub(super) fn fill<T: Target>(bytes: u32) -> Option<StripFn> {
    by_width!(bytes, E => T::strip::<Fill<E>>())
}

struct Reverse<E>(PhantomData<E>);

impl<E: Copy> Kernel for Reverse<E> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        // SAFETY: the caller promises `count` elements in both strips, which do not overlap.
        unsafe {
            let input = inputs[0].cast::<E>();
            for i in 0..count {
                out.cast::<E>().add(i).write_unaligned(input.add(count - 1 - i).read_unaligned());
            }
        }
    }
}

pub(super) fn reverse<T: Target>(bytes: u32) -> Option<StripFn> {
    by_width!(bytes, E => T::strip::<Reverse<E>>())
}

struct Iota<N>(PhantomData<N>);

impl<N: Number> Kernel for Iota<N> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        // SAFETY: the caller promises `count` elements, and one in each input.
        unsafe {
            let base = inputs[0].cast::<N>().read_unaligned();
            let step = inputs[1].cast::<N>().read_unaligned();
            for i in 0..count {
                out.cast::<N>().add(i).write_unaligned(base.add(step.mul(N::from_index(i))));
            }
        }
    }
}

/// Wrapped sums and products have the same bits whatever the sign, so the unsigned types serve both.
pub(super) fn iota<T: Target>(scalar: Scalar) -> Option<StripFn> {
    if scalar.is_float() || scalar == Scalar::Int1 {
        return None;
    }
    by_width!(scalar.bytes(), E => T::strip::<Iota<E>>())
}
