//! Loops that apply a function to each element of one, two or three strips.
//!
//! A strip is walked in blocks of [`BLOCK`] elements. A block's results are computed into a local array,
//! which is then stored. That keeps in-place calls sound, and spares the compiler the overlap check that
//! would send them to scalar code: it vectorises the block, keeps the array in registers, and emits nothing
//! but loads, arithmetic and stores. The last, partial block is computed in copies of its operands, so that
//! there is no scalar remainder.

use super::StripFn;
use super::number::Number;
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

/// A function with a cheaper way to the same results for most elements.
pub(super) trait Common: Map1 {
    fn is_common(x: Self::In) -> bool;
    fn apply_to_common<T: Target>(x: Self::In) -> Self::Out;
}

/// A function of two elements.
pub(super) trait Map2 {
    type In: Copy + Default;
    type Out: Copy + Default;

    fn apply<T: Target>(a: Self::In, b: Self::In) -> Self::Out;

    /// Whether `accumulate` is anything else.
    const ACCUMULATES: bool = false;

    /// The same for a fold, where `total` is a number: of two zeros, either may be the result.
    #[inline(always)]
    fn accumulate<T: Target>(total: Self::In, x: Self::In) -> Self::Out {
        Self::apply::<T>(total, x)
    }
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

    /// The elements from `first` on.
    ///
    /// # Safety
    /// The operand has as many elements.
    unsafe fn from(self, first: usize) -> Self;

    /// Copies `length` elements from `first` on, at most [`BLOCK`], and makes the copy the input of the kernel.
    ///
    /// # Safety
    /// The operand is valid for reads of these elements.
    unsafe fn copy(
        self,
        first: usize,
        length: usize,
        copy: &mut MaybeUninit<[Self::Element; BLOCK]>,
        inputs: &mut [*const u8; 3],
    );

    /// # Safety
    /// The operand is valid for a read of element number `lane`.
    unsafe fn lane(self, lane: usize) -> Self::Element;
}

/// Elements in memory, and which input of the kernel they are.
#[derive(Clone, Copy)]
struct Strip<E> {
    elements: *const E,
    input: usize,
}

impl<E> Strip<E> {
    #[inline(always)]
    fn new(inputs: &[*const u8; 3], input: usize) -> Strip<E> {
        Strip { elements: inputs[input].cast(), input }
    }
}

impl<E: Copy + Default> Operand for Strip<E> {
    type Element = E;

    #[inline(always)]
    unsafe fn from(self, first: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Strip { elements: self.elements.add(first), ..self } }
    }

    #[inline(always)]
    unsafe fn copy(
        self,
        first: usize,
        length: usize,
        copy: &mut MaybeUninit<[E; BLOCK]>,
        inputs: &mut [*const u8; 3],
    ) {
        // SAFETY: the caller's promise; copied as bytes, because a strip need not be aligned.
        unsafe {
            let from = self.elements.add(first);
            if length == BLOCK {
                copy.write(from.cast::<[E; BLOCK]>().read_unaligned());
            } else {
                copy.write([E::default(); BLOCK]);
                let bytes = length * size_of::<E>();
                std::ptr::copy_nonoverlapping(from.cast::<u8>(), copy.as_mut_ptr().cast::<u8>(), bytes);
            }
        }
        inputs[self.input] = copy.as_ptr().cast();
    }

    #[inline(always)]
    unsafe fn lane(self, lane: usize) -> E {
        // SAFETY: the caller's promise.
        unsafe { self.elements.add(lane).read_unaligned() }
    }
}

/// The operand of a function that has fewer.
#[derive(Clone, Copy)]
struct Nothing;

impl Operand for Nothing {
    type Element = ();

    #[inline(always)]
    unsafe fn from(self, _first: usize) -> Self {
        self
    }

    #[inline(always)]
    unsafe fn copy(
        self,
        _first: usize,
        _length: usize,
        _copy: &mut MaybeUninit<[(); BLOCK]>,
        _inputs: &mut [*const u8; 3],
    ) {
    }

    #[inline(always)]
    unsafe fn lane(self, _lane: usize) {}
}

/// The loop of all kernels: `out[i] = apply(a[i], b[i], c[i])`.
///
/// `kernel` is the function that this is the loop of, and `inputs` are its inputs. It is called for the last,
/// partial block, on copies of its operands; so the loop is nothing but whole blocks, which the compiler would
/// pass through memory if their length varied. Where there are elements before it, the last block begins so
/// much earlier that it is whole: read before anything is written, its first results are those that are in
/// their place already.
///
/// # Safety
/// As for [`StripFn`].
#[inline(always)]
unsafe fn map<A: Operand, B: Operand, C: Operand, R: Copy + Default>(
    kernel: StripFn,
    out: *mut R,
    inputs: &[*const u8; 3],
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
    let rest = count % BLOCK;
    let whole = count - rest;
    let (start, length) = if whole > 0 { (count - BLOCK.min(count), BLOCK) } else { (0, rest) };
    let mut last_inputs = *inputs;
    let mut last_a = MaybeUninit::<[A::Element; BLOCK]>::uninit();
    let mut last_b = MaybeUninit::<[B::Element; BLOCK]>::uninit();
    let mut last_c = MaybeUninit::<[C::Element; BLOCK]>::uninit();
    if rest > 0 {
        // SAFETY: the caller promises `count` elements in each strip.
        unsafe {
            a.copy(start, length, &mut last_a, &mut last_inputs);
            b.copy(start, length, &mut last_b, &mut last_inputs);
            c.copy(start, length, &mut last_c, &mut last_inputs);
        }
    }
    for first in (0..whole).step_by(BLOCK) {
        // SAFETY: the caller promises `count` elements in each strip. All of a block are read before any is written.
        unsafe {
            let (a, b, c) = (a.from(first), b.from(first), c.from(first));
            let mut results = [R::default(); BLOCK];
            for (lane, result) in results.iter_mut().enumerate() {
                *result = apply(a.lane(lane), b.lane(lane), c.lane(lane));
            }
            out.add(first).cast::<[R; BLOCK]>().write_unaligned(results);
        }
    }
    if rest == 0 {
        return;
    }
    // SAFETY: the copies are whole blocks, and so is the place of their results.
    unsafe {
        if whole > 0 {
            kernel(out.add(start).cast(), &last_inputs, BLOCK);
            return;
        }
        let mut results = MaybeUninit::<[R; BLOCK]>::uninit();
        kernel(results.as_mut_ptr().cast(), &last_inputs, BLOCK);
        std::ptr::copy_nonoverlapping(results.as_ptr().cast::<u8>(), out.cast::<u8>(), rest * size_of::<R>());
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

impl<M: Common> Elementwise for DenseMostlyCommon<M> {
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
        let a = Strip::new(inputs, 0);
        // SAFETY: the caller's promise.
        unsafe {
            map(T::strip::<Self>(), out.cast(), inputs, (a, Nothing, Nothing), count, |a, (), ()| {
                M::apply::<T>(a)
            })
        }
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

/// One dense operand, whose blocks of common elements alone are computed the cheaper way.
pub(super) struct DenseMostlyCommon<M>(PhantomData<M>);

impl<M: Common> Kernel for DenseMostlyCommon<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        // SAFETY: the caller's promise.
        unsafe { map_common::<T, M>(T::strip::<Self>(), out.cast(), inputs, count, |x| x) }
    }
}

/// The same for the differences of a dense operand and one element.
pub(super) struct MostlyCommonOfDifference<M>(PhantomData<M>);

impl<M: Common<In: Number>> Kernel for MostlyCommonOfDifference<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let subtrahend = inputs[1].cast::<M::In>().read_unaligned();
            map_common::<T, M>(T::strip::<Self>(), out.cast(), inputs, count, |x| x.sub(subtrahend));
        }
    }
}

/// `out[i] = M(prepare(input[i]))`, as [`map`] does it; a block is computed the cheaper way if all of it may be.
///
/// # Safety
/// As for [`StripFn`].
#[inline(always)]
unsafe fn map_common<T: Target, M: Common>(
    kernel: StripFn,
    out: *mut M::Out,
    inputs: &[*const u8; 3],
    count: usize,
    prepare: impl Fn(M::In) -> M::In,
) {
    let input = inputs[0].cast::<M::In>();
    if count == 1 {
        // SAFETY: the caller promises one element in each strip.
        unsafe { out.write_unaligned(M::apply::<T>(prepare(input.read_unaligned()))) };
        return;
    }
    let rest = count % BLOCK;
    let whole = count - rest;
    let (start, length) = if whole > 0 { (count - BLOCK, BLOCK) } else { (0, rest) };
    let mut last = [M::In::default(); BLOCK];
    if rest > 0 {
        // SAFETY: the caller promises `count` elements; copied as bytes, because they need not be aligned.
        unsafe {
            let bytes = length * size_of::<M::In>();
            let from = input.add(start).cast::<u8>();
            std::ptr::copy_nonoverlapping(from, last.as_mut_ptr().cast::<u8>(), bytes);
        }
    }
    for first in (0..whole).step_by(BLOCK) {
        // SAFETY: the caller promises `count` elements in both strips. All of a block are read before any is written.
        unsafe {
            let elements = input.add(first).cast::<[M::In; BLOCK]>().read_unaligned();
            let mut prepared = [M::In::default(); BLOCK];
            for (prepared, &x) in prepared.iter_mut().zip(&elements) {
                *prepared = prepare(x);
            }
            let mut results = [M::Out::default(); BLOCK];
            if prepared.iter().fold(true, |all, &x| all & M::is_common(x)) {
                for (result, &x) in results.iter_mut().zip(&prepared) {
                    *result = M::apply_to_common::<T>(x);
                }
            } else {
                for (result, &x) in results.iter_mut().zip(&prepared) {
                    *result = M::apply::<T>(x);
                }
            }
            out.add(first).cast::<[M::Out; BLOCK]>().write_unaligned(results);
        }
    }
    if rest == 0 {
        return;
    }
    let mut last_inputs = *inputs;
    last_inputs[0] = last.as_ptr().cast();
    // SAFETY: the copy is a whole block, and so is the place of its results; see `map`.
    unsafe {
        if whole > 0 {
            kernel(out.add(start).cast(), &last_inputs, BLOCK);
            return;
        }
        let mut results = [M::Out::default(); BLOCK];
        kernel(results.as_mut_ptr().cast(), &last_inputs, BLOCK);
        let bytes = rest * size_of::<M::Out>();
        std::ptr::copy_nonoverlapping(results.as_ptr().cast::<u8>(), out.cast::<u8>(), bytes);
    }
}

/// Two dense operands.
pub(super) struct DenseDense<M>(PhantomData<M>);

impl<M: Map2> Kernel for DenseDense<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let (a, b) = (Strip::new(inputs, 0), Strip::new(inputs, 1));
        // SAFETY: the caller's promise.
        unsafe {
            map(T::strip::<Self>(), out.cast(), inputs, (a, b, Nothing), count, |a, b, ()| {
                M::apply::<T>(a, b)
            })
        }
    }
}

/// A dense left operand and one element on the right.
pub(super) struct DenseSplat<M>(PhantomData<M>);

impl<M: Map2> Kernel for DenseSplat<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let a = Strip::new(inputs, 0);
        // SAFETY: the caller's promise.
        unsafe {
            let b = inputs[1].cast::<M::In>().read_unaligned();
            map(T::strip::<Self>(), out.cast(), inputs, (a, Nothing, Nothing), count, |a, (), ()| {
                M::apply::<T>(a, b)
            });
        }
    }
}

/// One element on the left and a dense right operand.
pub(super) struct SplatDense<M>(PhantomData<M>);

impl<M: Map2> Kernel for SplatDense<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let b = Strip::new(inputs, 1);
        // SAFETY: the caller's promise.
        unsafe {
            let a = inputs[0].cast::<M::In>().read_unaligned();
            map(T::strip::<Self>(), out.cast(), inputs, (b, Nothing, Nothing), count, |b, (), ()| {
                M::apply::<T>(a, b)
            });
        }
    }
}

/// Three dense operands.
pub(super) struct DenseDenseDense<M>(PhantomData<M>);

impl<M: Map3> Kernel for DenseDenseDense<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let a = Strip::new(inputs, 0);
        let (b, c) = (Strip::new(inputs, 1), Strip::new(inputs, 2));
        // SAFETY: the caller's promise.
        unsafe {
            map(T::strip::<Self>(), out.cast(), inputs, (a, b, c), count, |a, b, c| M::apply::<T>(a, b, c))
        }
    }
}

/// Two dense operands and one element as the last.
pub(super) struct DenseDenseSplat<M>(PhantomData<M>);

impl<M: Map3> Kernel for DenseDenseSplat<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let (a, b) = (Strip::new(inputs, 0), Strip::new(inputs, 1));
        // SAFETY: the caller's promise.
        unsafe {
            let c = inputs[2].cast::<M::In>().read_unaligned();
            map(T::strip::<Self>(), out.cast(), inputs, (a, b, Nothing), count, |a, b, ()| {
                M::apply::<T>(a, b, c)
            });
        }
    }
}

/// A dense first and last operand and one element between.
pub(super) struct DenseSplatDense<M>(PhantomData<M>);

impl<M: Map3> Kernel for DenseSplatDense<M> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        let (a, c) = (Strip::new(inputs, 0), Strip::new(inputs, 2));
        // SAFETY: the caller's promise.
        unsafe {
            let b = inputs[1].cast::<M::In>().read_unaligned();
            map(T::strip::<Self>(), out.cast(), inputs, (a, c, Nothing), count, |a, c, ()| {
                M::apply::<T>(a, b, c)
            });
        }
    }
}
