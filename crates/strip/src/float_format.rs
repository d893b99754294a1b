//! The 16- and 8-bit floats: their values as fp32, and their patterns for fp32 values. Every one of their
//! numbers is an fp32 number.

use super::elementwise::{Dense, Elementwise, Map1, Presence};
use super::target::{Kernel, Target};
use std::marker::PhantomData;
use tegula_ir::Rounding;

/// A float type narrower than fp32.
pub(super) trait NarrowFloat: 'static {
    /// The pattern in memory.
    type Bits: Copy + Default + Into<u64>;

    /// The value of a pattern.
    fn widen(bits: Self::Bits) -> f32;

    /// The pattern of a value, which is first rounded. 8-bit types saturate: their largest number also stands
    /// for what is beyond it and for infinity.
    fn narrow<R: RoundingMode>(value: f32) -> Self::Bits;

    /// # Safety
    /// As for [`Kernel::run`].
    #[inline(always)]
    unsafe fn widen_strip<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize)
    where
        Self: Sized,
    {
        // SAFETY: the caller's promise.
        unsafe { Dense::<Widen<Self>>::run::<T>(out, inputs, count) }
    }

    /// # Safety
    /// As for [`Kernel::run`].
    #[inline(always)]
    unsafe fn narrow_strip<T: Target, R: RoundingMode>(out: *mut u8, inputs: &[*const u8; 3], count: usize)
    where
        Self: Sized,
    {
        // SAFETY: the caller's promise.
        unsafe { Dense::<Narrow<Self, R>>::run::<T>(out, inputs, count) }
    }
}

/// A [`Rounding`], as a type.
pub(super) trait RoundingMode: 'static {
    const ROUNDING: Rounding;
}

pub(super) struct NearestEven;
pub(super) struct TowardsZero;

impl RoundingMode for NearestEven {
    const ROUNDING: Rounding = Rounding::NearestEven;
}

impl RoundingMode for TowardsZero {
    const ROUNDING: Rounding = Rounding::TowardsZero;
}

/// What a format has besides numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Specials {
    /// Infinities and NaNs where the exponent is all ones.
    InfinitiesAndNans,
    /// NaN where all bits but the sign are ones.
    NanOfOnes,
    /// NaN in the place of negative zero.
    NanForNegativeZero,
    /// Nothing: NaN becomes the largest number.
    Nothing,
}

/// A format of `1 + exponent + mantissa` bits, with subnormals.
#[derive(Clone, Copy)]
struct Format {
    bits: u32,
    mantissa: u32,
    bias: u32,
    specials: Specials,
}

/// The sign bit of fp32, and the pattern of its infinity.
const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;

impl Format {
    /// The pattern of everything but the sign.
    const fn magnitude_mask(self) -> u32 {
        (1 << (self.bits - 1)) - 1
    }

    /// The pattern of infinity, if there is one.
    const fn infinity(self) -> u32 {
        self.magnitude_mask() & !((1 << self.mantissa) - 1)
    }

    /// The pattern of the largest number.
    const fn largest(self) -> u32 {
        match self.specials {
            Specials::InfinitiesAndNans => self.infinity() - 1,
            Specials::NanOfOnes => self.magnitude_mask() - 1,
            Specials::NanForNegativeZero | Specials::Nothing => self.magnitude_mask(),
        }
    }

    /// `2^n` as fp32.
    const fn power_of_two(n: u32) -> f32 {
        f32::from_bits((n + 127) << 23)
    }

    #[inline(always)]
    fn widen(self, bits: u32) -> f32 {
        let shift = 23 - self.mantissa;
        let magnitude = bits & self.magnitude_mask();
        let sign = (bits << (32 - self.bits)) & SIGN;
        // In fp32's fields the exponent's bias is wrong by a constant; the product puts it right, of subnormals too.
        let value = f32::from_bits(magnitude << shift) * Self::power_of_two(127 - self.bias);
        let value = match self.specials {
            Specials::InfinitiesAndNans if magnitude >= self.infinity() => {
                f32::from_bits(INFINITY | (magnitude << shift))
            }
            Specials::NanOfOnes if magnitude == self.magnitude_mask() => f32::NAN,
            Specials::NanForNegativeZero if bits == 1 << (self.bits - 1) => f32::NAN,
            _ => value,
        };
        f32::from_bits(value.to_bits() | sign)
    }

    #[inline(always)]
    fn narrow<R: RoundingMode>(self, value: f32) -> u32 {
        let shift = 23 - self.mantissa;
        let magnitude = value.to_bits() & !SIGN;
        // Subnormal results count units of the least one: a sum with 2^23 rounds to a whole number, which
        // stands in its low bits.
        let units = f32::from_bits(magnitude) * Self::power_of_two(self.bias - 1 + self.mantissa);
        let (normal, subnormal) = match R::ROUNDING {
            Rounding::NearestEven => {
                let half = (1 << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
                (magnitude + half, (units + 8_388_608.0).to_bits() & 0x007f_ffff)
            }
            Rounding::TowardsZero => (magnitude, units as i32 as u32),
        };
        let normal = (normal >> shift).wrapping_sub((127 - self.bias) << self.mantissa);
        let rounded = if magnitude < (128 - self.bias) << 23 { subnormal } else { normal };
        let is_nan = magnitude > INFINITY;
        let sign = (value.to_bits() & SIGN) >> (32 - self.bits);
        let largest = self.largest();
        match self.specials {
            Specials::InfinitiesAndNans if self.bits == 16 => {
                let beyond = match R::ROUNDING {
                    Rounding::TowardsZero if magnitude != INFINITY => largest,
                    _ => self.infinity(),
                };
                let number = if rounded > largest { beyond } else { rounded };
                sign | if is_nan { self.infinity() | 1 << (self.mantissa - 1) } else { number }
            }
            Specials::InfinitiesAndNans | Specials::NanOfOnes => {
                sign | if is_nan { self.magnitude_mask() } else { rounded.min(largest) }
            }
            Specials::NanForNegativeZero => {
                let number = rounded.min(largest);
                let signed = if number == 0 { 0 } else { sign | number };
                if is_nan { 1 << (self.bits - 1) } else { signed }
            }
            Specials::Nothing => sign | rounded.min(largest),
        }
    }
}

/// Defines a type per line by its format.
macro_rules! narrow_floats {
    ($($(#[$doc:meta])* $name:ident($bits:ty): $width:literal bits, mantissa $mantissa:literal, bias $bias:literal, $specials:ident;)*) => {
        $(
            $(#[$doc])*
            pub(super) struct $name;

            impl $name {
                const FORMAT: Format =
                    Format { bits: $width, mantissa: $mantissa, bias: $bias, specials: Specials::$specials };
            }

            impl NarrowFloat for $name {
                type Bits = $bits;

                #[inline(always)]
                fn widen(bits: $bits) -> f32 {
                    Self::FORMAT.widen(bits as u32)
                }

                #[inline(always)]
                fn narrow<R: RoundingMode>(value: f32) -> $bits {
                    Self::FORMAT.narrow::<R>(value) as $bits
                }
            }
        )*
    };
}

narrow_floats! {
    /// `fp8e4nv`.
    E4M3(u8): 8 bits, mantissa 3, bias 7, NanOfOnes;
    /// `fp8e5`.
    E5M2(u8): 8 bits, mantissa 2, bias 15, InfinitiesAndNans;
    /// `fp8e4b15`.
    E4B15(u8): 8 bits, mantissa 3, bias 15, Nothing;
    /// `fp8e4b8`.
    E4B8(u8): 8 bits, mantissa 3, bias 8, NanForNegativeZero;
    /// `fp8e5b16`.
    E5B16(u8): 8 bits, mantissa 2, bias 16, NanForNegativeZero;
}

/// `fp16`. Processors convert it, where they have the instructions.
pub(super) struct Half;

impl Half {
    const FORMAT: Format = Format { bits: 16, mantissa: 10, bias: 15, specials: Specials::InfinitiesAndNans };
}

impl NarrowFloat for Half {
    type Bits = u16;

    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        Self::FORMAT.widen(bits as u32)
    }

    #[inline(always)]
    fn narrow<R: RoundingMode>(value: f32) -> u16 {
        Self::FORMAT.narrow::<R>(value) as u16
    }

    #[inline(always)]
    unsafe fn widen_strip<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        // SAFETY: the caller's promise, of which that of the processor's features covers the conversion.
        unsafe {
            if T::CONVERTS_HALVES {
                map_groups(out, inputs[0], count, |halves| T::widen_halves(halves));
            } else {
                Dense::<Widen<Half>>::run::<T>(out, inputs, count);
            }
        }
    }

    #[inline(always)]
    unsafe fn narrow_strip<T: Target, R: RoundingMode>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        // SAFETY: the caller's promise, of which that of the processor's features covers the conversion.
        unsafe {
            if T::CONVERTS_HALVES {
                map_groups(out, inputs[0], count, |floats| match R::ROUNDING {
                    Rounding::NearestEven => T::narrow_halves::<0>(floats),
                    Rounding::TowardsZero => T::narrow_halves::<3>(floats),
                });
            } else {
                Dense::<Narrow<Half, R>>::run::<T>(out, inputs, count);
            }
        }
    }
}

/// Elements that [`Target::widen_halves`] converts at once.
pub(super) const GROUP: usize = 16;

/// Applies a conversion to each group of a strip, the last one padded.
///
/// # Safety
/// `out` and `input` are strips of `count` elements that do not overlap.
#[inline(always)]
unsafe fn map_groups<I: Copy + Default, O: Copy>(
    out: *mut u8,
    input: *const u8,
    count: usize,
    convert: impl Fn([I; GROUP]) -> [O; GROUP],
) {
    let (out, input) = (out.cast::<O>(), input.cast::<I>());
    // SAFETY: a whole group is within the strips; of the last, only what is within them is copied.
    unsafe {
        let whole = count - count % GROUP;
        for first in (0..whole).step_by(GROUP) {
            let group = input.add(first).cast::<[I; GROUP]>().read_unaligned();
            out.add(first).cast::<[O; GROUP]>().write_unaligned(convert(group));
        }
        if whole < count {
            let mut group = [I::default(); GROUP];
            let rest = count - whole;
            let bytes = rest * size_of::<I>();
            std::ptr::copy_nonoverlapping(
                input.add(whole).cast::<u8>(),
                group.as_mut_ptr().cast::<u8>(),
                bytes,
            );
            let group = convert(group);
            let bytes = rest * size_of::<O>();
            std::ptr::copy_nonoverlapping(group.as_ptr().cast::<u8>(), out.add(whole).cast::<u8>(), bytes);
        }
    }
}

/// `bf16`: the upper half of an fp32 pattern.
pub(super) struct BFloat;

impl NarrowFloat for BFloat {
    type Bits = u16;

    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        f32::from_bits((bits as u32) << 16)
    }

    #[inline(always)]
    fn narrow<R: RoundingMode>(value: f32) -> u16 {
        let bits = value.to_bits();
        // A NaN stays one when its low bits go.
        let nan = (bits >> 16) | 0x0040;
        let rounded = match R::ROUNDING {
            Rounding::NearestEven => bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16,
            Rounding::TowardsZero => bits >> 16,
        };
        (if bits & !SIGN > INFINITY { nan } else { rounded }) as u16
    }
}

/// The function of [`WidenStrip`].
struct Widen<F>(PhantomData<F>);

impl<F: NarrowFloat> Map1 for Widen<F> {
    type In = F::Bits;
    type Out = f32;

    #[inline(always)]
    fn apply<T: Target>(bits: F::Bits) -> f32 {
        F::widen(bits)
    }
}

/// The function of [`NarrowStrip`].
struct Narrow<F, R>(PhantomData<(F, R)>);

impl<F: NarrowFloat, R: RoundingMode> Map1 for Narrow<F, R> {
    type In = f32;
    type Out = F::Bits;

    #[inline(always)]
    fn apply<T: Target>(value: f32) -> F::Bits {
        F::narrow::<R>(value)
    }
}

/// From a narrow float to fp32.
pub(super) struct WidenStrip<F>(PhantomData<F>);

impl<F: NarrowFloat> Elementwise for WidenStrip<F> {
    const OPERANDS: [Presence; 3] = Dense::<Widen<F>>::OPERANDS;
    type In = F::Bits;
    type Out = f32;
}

impl<F: NarrowFloat> Kernel for WidenStrip<F> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        // SAFETY: the caller's promise.
        unsafe { F::widen_strip::<T>(out, inputs, count) }
    }
}

/// From fp32 to a narrow float.
pub(super) struct NarrowStrip<F, R>(PhantomData<(F, R)>);

impl<F: NarrowFloat, R: RoundingMode> Elementwise for NarrowStrip<F, R> {
    const OPERANDS: [Presence; 3] = Dense::<Narrow<F, R>>::OPERANDS;
    type In = f32;
    type Out = F::Bits;
}

impl<F: NarrowFloat, R: RoundingMode> Kernel for NarrowStrip<F, R> {
    #[inline(always)]
    unsafe fn run<T: Target>(out: *mut u8, inputs: &[*const u8; 3], count: usize) {
        // SAFETY: the caller's promise.
        unsafe { F::narrow_strip::<T, R>(out, inputs, count) }
    }
}

/// Returns the value of an expression with `$float` bound to the type of a narrow float, or of another
/// expression for other types.
macro_rules! by_narrow_float {
    ($scalar:expr, $float:ident => $body:expr, else => $otherwise:expr) => {
        match $scalar {
            tegula_ir::Scalar::Float8E4M3 => {
                type $float = crate::float_format::E4M3;
                $body
            }
            tegula_ir::Scalar::Float8E5M2 => {
                type $float = crate::float_format::E5M2;
                $body
            }
            tegula_ir::Scalar::Float8E4B15 => {
                type $float = crate::float_format::E4B15;
                $body
            }
            tegula_ir::Scalar::Float8E4B8 => {
                type $float = crate::float_format::E4B8;
                $body
            }
            tegula_ir::Scalar::Float8E5B16 => {
                type $float = crate::float_format::E5B16;
                $body
            }
            tegula_ir::Scalar::Float16 => {
                type $float = crate::float_format::Half;
                $body
            }
            tegula_ir::Scalar::BFloat16 => {
                type $float = crate::float_format::BFloat;
                $body
            }
            _ => $otherwise,
        }
    };
}
pub(super) use by_narrow_float;
