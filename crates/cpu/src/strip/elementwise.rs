//! Loops that apply a function to each element of one, two or three strips.
//!
//! A strip is walked in blocks of [`BLOCK`] elements. A block's results are computed into a local array,
//! which is then stored. That keeps in-place calls sound, and spares the compiler the overlap check that
//! would send them to scalar code: it vectorises the block, keeps the array in registers, and emits nothing
//! but loads, arithmetic and stores. The last, partial block is computed in padded copies, so that there is
//! no scalar remainder.

use super::target::{Kernel, Target};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// A function of one element.
pub(super) trait Map1 {
    type In: Copy + Default;
    type Out: Copy + Default;

    fn apply<T: Target>(x: Self::In) -> Self::Out;
}

/// A function that is too costly to compute for all elements alike, and has others for a few.
pub(super) trait Exceptions: Map1 {
    fn is_exception(x: Self::In) -> bool;
    fn apply_to_exception(x: Self::In) -> Self::Out;
}

/// A function of two elements.
pub(super) trait Map2 {
    type In: Copy + Default;
    type Out: Copy + Default;

    fn apply<T: Target>(a: Self::In, b: Self::In) -> Self::Out;
}

/// A function of three elements, of which the first may have another type.
pub(super) trait Map3 {
    type First: Copy + Default;
    type In: Copy + Default;
    type Out: Copy + Default;

    fn apply<T: Target>(a: Self::First, b: Self::In, c: Self::In) -> Self::Out;
}

/// Elements of a block: four vectors of fp32 in AVX-512, and not so many that it is unrolled before it is vectorised.
const BLOCK: usize = 64;

/// A strip, or nothing.
trait Operand: Copy {
    type Element: Copy + Default;

    /// Makes the elements from `first` on readable by [`Operand::lane`] up to a whole block.
    ///
    /// # Safety
    /// The operand is valid for reads of `first + length` elements, `length` is at most [`BLOCK`], and `padding` is
    /// initialised if it is less.
    unsafe fn block(self, first: usize, length: usize, padding: *mut [Self::Element; BLOCK]) -> Self;

    /// # Safety
    /// The operand is valid for reads of `lane + 1` elements; one that comes from [`Operand::block`] is,
    /// while its padding lives, of [`BLOCK`].
    unsafe fn lane(self, lane: usize) -> Self::Element;
}

#[derive(Clone, Copy)]
struct Strip<E>(*const E);

impl<E: Copy + Default> Operand for Strip<E> {
    type Element = E;

    #[inline(always)]
    unsafe fn block(self, first: usize, length: usize, padding: *mut [E; BLOCK]) -> Self {
        // SAFETY: the caller's promise; copied as bytes, because a strip need not be aligned.
        unsafe {
            let from = self.0.add(first);
            if length == BLOCK {
                return Strip(from);
            }
            let bytes = length * size_of::<E>();
            std::ptr::copy_nonoverlapping(from.cast::<u8>(), padding.cast::<u8>(), bytes);
        }
        Strip(padding.cast::<E>())
    }

    #[inline(always)]
    unsafe fn lane(self, lane: usize) -> E {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(lane).read_unaligned() }
    }
}

/// The operand of a function that has fewer.
#[derive(Clone, Copy)]
struct Nothing;

impl Operand for Nothing {
    type Element = ();

    #[inline(always)]
    unsafe fn block(self, _first: usize, _length: usize, _padding: *mut [(); BLOCK]) -> Self {
        self
    }

    #[inline(always)]
    unsafe fn lane(self, _lane: usize) {}
}

/// The loop of all kernels: `out[i] = apply(a[i], b[i], c[i])`.
///
/// # Safety
/// As for [`StripFn`](super::StripFn).
#[inline(always)]
unsafe fn map<A: Operand, B: Operand, C: Operand, R: Copy + Default>(
    out: *mut R,
    (a, b, c): (A, B, C),
    count: usize,
    apply: impl Fn(A::Element, B::Element, C::Element) -> R,
) {
    if count == 1 {
        // Scalars are strips of one: a padded block would cost them many times their work.
        // SAFETY: the caller promises one element in each strip.
        unsafe { out.write_unaligned(apply(a.lane(0), b.lane(0), c.lane(0))) };
        return;
    }
    let mut padding_a = MaybeUninit::<[A::Element; BLOCK]>::uninit();
    let mut padding_b = MaybeUninit::<[B::Element; BLOCK]>::uninit();
    let mut padding_c = MaybeUninit::<[C::Element; BLOCK]>::uninit();
    if !count.is_multiple_of(BLOCK) {
        // Whatever the padding holds, its results are dropped.
        padding_a.write([A::Element::default(); BLOCK]);
        padding_b.write([B::Element::default(); BLOCK]);
        padding_c.write([C::Element::default(); BLOCK]);
    }
    let mut first = 0;
    while first < count {
        let length = BLOCK.min(count - first);
        // SAFETY: the caller promises `count` elements in each strip; a block's lanes are within them or
        // within its padding, which a partial block finds initialised. All lanes are read before any is
        // written.
        unsafe {
            let a = a.block(first, length, padding_a.as_mut_ptr());
            let b = b.block(first, length, padding_b.as_mut_ptr());
            let c = c.block(first, length, padding_c.as_mut_ptr());
            let mut results = [R::default(); BLOCK];
            for (lane, result) in results.iter_mut().enumerate() {
                *result = apply(a.lane(lane), b.lane(lane), c.lane(lane));
            }
            let place = out.add(first);
            if length == BLOCK {
                place.cast::<[R; BLOCK]>().write_unaligned(results);
            } else {
                let bytes = length * size_of::<R>();
                std::ptr::copy_nonoverlapping(results.as_ptr().cast::<u8>(), place.cast::<u8>(), bytes);
            }
        }
        first += length;
    }
}

/// What an input of a kernel is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Strip,
    /// A single element, repeated.
    Element,
    Absent,
}

/// A kernel that computes each element of its output from the elements beside it.
pub(super) trait Elementwise: Kernel {
    const OPERANDS: [Presence; 3];
    type In;
    type Out;
}

impl<M: Map1> Elementwise for Dense<M> {
    const OPERANDS: [Presence; 3] = [Presence::Strip, Presence::Absent, Presence::Absent];
    type In = M::In;
    type Out = M::Out;
}

impl<M: Exceptions> Elementwise for DenseWithExceptions<M> {
    const OPERANDS: [Presence; 3] = [Presence::Strip, Presence::Absent, Presence::Absent];
    type In = M::In;
    type Out = M::Out;
}

impl<M: Map2> Elementwise for DenseDense<M> {
    const OPERANDS: [Presence; 3] = [Presence::Strip, Presence::Strip, Presence::Absent];
    type In = M::In;
    type Out = M::Out;
}

impl<M: Map2> Elementwise for DenseSplat<M> {
    const OPERANDS: [Presence; 3] = [Presence::Strip, Presence::Element, Presence::Absent];
    type In = M::In;
    type Out = M::Out;
}

impl<M: Map2> Elementwise for SplatDense<M> {
    const OPERANDS: [Presence; 3] = [Presence::Element, Presence::Strip, Presence::Absent];
    type In = M::In;
    type Out = M::Out;
}

/// One dense operand.
pub(super) struct Dense<M>(PhantomData<M>);

impl<M: Map1> Kernel for Dense<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let a = Strip(inputs[0].cast::<M::In>());
        // SAFETY: the caller's promise.
        unsafe { map(out.cast(), (a, Nothing, Nothing), count, |a, (), ()| M::apply::<T>(a)) }
    }
}

/// One dense operand, of which a few elements take another function.
pub(super) struct DenseWithExceptions<M>(PhantomData<M>);

impl<M: Exceptions> Kernel for DenseWithExceptions<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let (out, input) = (out.cast::<M::Out>(), inputs[0].cast::<M::In>());
        for first in (0..count).step_by(BLOCK) {
            let length = BLOCK.min(count - first);
            let mut elements = [M::In::default(); BLOCK];
            let mut results = [M::Out::default(); BLOCK];
            // SAFETY: the caller promises `count` elements in both strips; copied as bytes, because they need
            // not be aligned.
            unsafe {
                let bytes = length * size_of::<M::In>();
                let from = input.add(first).cast::<u8>();
                std::ptr::copy_nonoverlapping(from, elements.as_mut_ptr().cast::<u8>(), bytes);
            }
            for (result, &x) in results.iter_mut().zip(&elements) {
                *result = M::apply::<T>(x);
            }
            if elements.iter().fold(false, |any, &x| any | M::is_exception(x)) {
                for (result, &x) in results.iter_mut().zip(&elements) {
                    if M::is_exception(x) {
                        *result = M::apply_to_exception(x);
                    }
                }
            }
            // SAFETY: as above.
            unsafe {
                let bytes = length * size_of::<M::Out>();
                std::ptr::copy_nonoverlapping(
                    results.as_ptr().cast::<u8>(),
                    out.add(first).cast::<u8>(),
                    bytes,
                );
            }
        }
    }
}

/// Two dense operands.
pub(super) struct DenseDense<M>(PhantomData<M>);

impl<M: Map2> Kernel for DenseDense<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let (a, b) = (Strip(inputs[0].cast::<M::In>()), Strip(inputs[1].cast::<M::In>()));
        // SAFETY: the caller's promise.
        unsafe { map(out.cast(), (a, b, Nothing), count, |a, b, ()| M::apply::<T>(a, b)) }
    }
}

/// A dense left operand and one element on the right.
pub(super) struct DenseSplat<M>(PhantomData<M>);

impl<M: Map2> Kernel for DenseSplat<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let a = Strip(inputs[0].cast::<M::In>());
        // SAFETY: the caller's promise.
        unsafe {
            let b = inputs[1].cast::<M::In>().read_unaligned();
            map(out.cast(), (a, Nothing, Nothing), count, |a, (), ()| M::apply::<T>(a, b));
        }
    }
}

/// One element on the left and a dense right operand.
pub(super) struct SplatDense<M>(PhantomData<M>);

impl<M: Map2> Kernel for SplatDense<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let b = Strip(inputs[1].cast::<M::In>());
        // SAFETY: the caller's promise.
        unsafe {
            let a = inputs[0].cast::<M::In>().read_unaligned();
            map(out.cast(), (b, Nothing, Nothing), count, |b, (), ()| M::apply::<T>(a, b));
        }
    }
}

/// Three dense operands.
pub(super) struct DenseDenseDense<M>(PhantomData<M>);

impl<M: Map3> Kernel for DenseDenseDense<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let a = Strip(inputs[0].cast::<M::First>());
        let (b, c) = (Strip(inputs[1].cast::<M::In>()), Strip(inputs[2].cast::<M::In>()));
        // SAFETY: the caller's promise.
        unsafe { map(out.cast(), (a, b, c), count, |a, b, c| M::apply::<T>(a, b, c)) }
    }
}

/// Two dense operands and one element as the last.
pub(super) struct DenseDenseSplat<M>(PhantomData<M>);

impl<M: Map3> Kernel for DenseDenseSplat<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let (a, b) = (Strip(inputs[0].cast::<M::First>()), Strip(inputs[1].cast::<M::In>()));
        // SAFETY: the caller's promise.
        unsafe {
            let c = inputs[2].cast::<M::In>().read_unaligned();
            map(out.cast(), (a, b, Nothing), count, |a, b, ()| M::apply::<T>(a, b, c));
        }
    }
}

/// A dense first and last operand and one element between.
pub(super) struct DenseSplatDense<M>(PhantomData<M>);

impl<M: Map3> Kernel for DenseSplatDense<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let (a, c) = (Strip(inputs[0].cast::<M::First>()), Strip(inputs[2].cast::<M::In>()));
        // SAFETY: the caller's promise.
        unsafe {
            let b = inputs[1].cast::<M::In>().read_unaligned();
            map(out.cast(), (a, c, Nothing), count, |a, c, ()| M::apply::<T>(a, b, c));
        }
    }
}
