//! Conversions of numbers between element types.
//!
//! Every conversion rounds once. Where it takes two steps, the first is exact, or it *rounds to odd*: an
//! inexact value becomes the one of its two neighbours whose last bit is 1, which is no tie and no number of
//! the narrower format, so that the second step rounds as the exact value would be (Boldo and Melquiond,
//! *Emulation of a FMA and correctly rounded sums*, 2008).

use super::StripFn;
use super::composed::Then;
use super::elementwise::{Dense, Elementwise, Map1};
use super::float_format::{
    NarrowFloat, NarrowStrip, NearestEven, RoundingMode, TowardsZero, WidenStrip, by_narrow_float,
};
use super::number::Number;
use super::target::Target;
use std::marker::PhantomData;
use tegula_ir::{Rounding, Scalar};

/// The conversion that Rust's `as` makes: integers wrap, floats truncate and saturate, and NaN becomes 0.
pub(super) trait As<To> {
    fn convert(self) -> To;
}

pub(super) struct Convert<From, To>(PhantomData<(From, To)>);

impl<From: As<To> + Copy + Default, To: Copy + Default> Map1 for Convert<From, To> {
    type In = From;
    type Out = To;

    #[inline(always)]
    fn apply<T: Target>(x: From) -> To {
        x.convert()
    }
}

macro_rules! as_conversions {
    ($($from:ty => $($to:ty),*;)*) => {
        $($(
            impl As<$to> for $from {
                #[inline(always)]
                fn convert(self) -> $to {
                    self as $to
                }
            }
        )*)*
    };
}

as_conversions! {
    i8 => u8, u16, u32, u64, f32, f64;
    i16 => u8, u16, u32, u64, f32, f64;
    i32 => u8, u16, u32, u64, f32, f64;
    i64 => u8, u16, u32, u64, f32, f64;
    u8 => u8, u16, u32, u64, f32, f64;
    u16 => u8, u16, u32, u64, f32, f64;
    u32 => u8, u16, u32, u64, f32, f64;
    u64 => u8, u16, u32, u64, f32, f64;
    f32 => f64;
    f64 => f32;
}

/// What `as` does from floats to integers, in a form that is vectorised.
macro_rules! truncating_conversions {
    ($($float:ty => $($integer:ty),*;)*) => {
        $($(
            impl As<$integer> for $float {
                #[inline(always)]
                fn convert(self) -> $integer {
                    const LEAST: $float = <$integer>::MIN as $float;
                    // Where the sum is inexact, the greatest integer has already been rounded up to it.
                    const BEYOND: $float = <$integer>::MAX as $float + 1.0;
                    let is_in_range = (LEAST..BEYOND).contains(&self);
                    // SAFETY: the number is in the integer's range.
                    let whole = unsafe { (if is_in_range { self } else { 0.0 }).to_int_unchecked::<$integer>() };
                    // A NaN is on neither side of 0.
                    let below = if self < 0.0 { <$integer>::MIN } else { 0 };
                    let outside = if self > 0.0 { <$integer>::MAX } else { below };
                    if is_in_range { whole } else { outside }
                }
            }
        )*)*
    };
}

truncating_conversions! {
    f32 => i8, i16, i32, i64, u8, u16, u32, u64;
    f64 => i8, i16, i32, i64, u8, u16, u32, u64;
}

/// What becomes of an fp64 that is no fp32.
pub(super) trait Inexact: 'static {
    /// The fp32 pattern for a value whose truncation to fp32 is inexact and has the pattern `truncated`.
    fn settle(truncated: u32) -> u32;
}

/// The neighbour whose last bit is 1.
pub(super) struct ToOdd;

impl Inexact for ToOdd {
    #[inline(always)]
    fn settle(truncated: u32) -> u32 {
        truncated | 1
    }
}

impl Inexact for TowardsZero {
    #[inline(always)]
    fn settle(truncated: u32) -> u32 {
        truncated
    }
}

/// From fp64 to fp32 by another rounding than to nearest.
pub(super) struct DoubleToSingle<R>(PhantomData<R>);

impl<R: Inexact> Map1 for DoubleToSingle<R> {
    type In = f64;
    type Out = f32;

    #[inline(always)]
    fn apply<T: Target>(x: f64) -> f32 {
        let nearest = x as f32;
        let back = nearest as f64;
        let bits = nearest.to_bits();
        let truncated = if back.abs() > x.abs() { bits.wrapping_sub(1) } else { bits };
        f32::from_bits(if back == x || x.is_nan() { bits } else { R::settle(truncated) })
    }
}

/// From an integer to a float, rounded to odd.
struct IntegerToOdd<I>(PhantomData<I>);

/// Below the float's precision the conversion is exact; above it, the bits that would be dropped are gathered
/// in the last that is kept.
macro_rules! integer_to_odd {
    ($($integer:ty => $float:ty, precision: $precision:literal, dropped: $dropped:literal;)*) => {
        $(impl Map1 for IntegerToOdd<$integer> {
            type In = $integer;
            type Out = $float;

            #[inline(always)]
            fn apply<T: Target>(x: $integer) -> $float {
                let low = x & ((1 << $dropped) - 1);
                let gathered = (x ^ low) | ((low != 0) as $integer) << $dropped;
                let high = x >> $precision;
                let is_exact = high == 0 || high == (0 as $integer).wrapping_sub(1);
                (if is_exact { x } else { gathered }) as $float
            }
        })*
    };
}

integer_to_odd! {
    i32 => f32, precision: 24, dropped: 8;
    u32 => f32, precision: 24, dropped: 8;
    i64 => f64, precision: 53, dropped: 11;
    u64 => f64, precision: 53, dropped: 11;
}

/// Whether a number is not zero; NaN is not.
struct NonZero<N>(PhantomData<N>);

impl<N: Number> Map1 for NonZero<N> {
    type In = N;
    type Out = u8;

    #[inline(always)]
    fn apply<T: Target>(x: N) -> u8 {
        u8::from(x != N::default())
    }
}

/// The same bits.
struct Same<E>(PhantomData<E>);

impl<E: Copy + Default> Map1 for Same<E> {
    type In = E;
    type Out = E;

    #[inline(always)]
    fn apply<T: Target>(x: E) -> E {
        x
    }
}

/// Between integers. Wrapped integers have the same bits whatever the sign, so the unsigned types serve both.
fn integer_to_integer<T: Target, F>(to: Scalar) -> StripFn
where
    F: Copy + Default + As<u8> + As<u16> + As<u32> + As<u64>,
{
    match to.bytes() {
        1 => T::strip::<Dense<Convert<F, u8>>>(),
        2 => T::strip::<Dense<Convert<F, u16>>>(),
        4 => T::strip::<Dense<Convert<F, u32>>>(),
        _ => T::strip::<Dense<Convert<F, u64>>>(),
    }
}

/// From an integer; `K` converts it to fp32 on the way to a narrow float: exactly, or rounded to odd.
fn from_integer<T: Target, F, K>(to: Scalar) -> StripFn
where
    F: Number + As<u8> + As<u16> + As<u32> + As<u64> + As<f32> + As<f64>,
    K: Elementwise<Out = f32>,
{
    match to {
        Scalar::Int1 => T::strip::<Dense<NonZero<F>>>(),
        Scalar::Float32 => T::strip::<Dense<Convert<F, f32>>>(),
        Scalar::Float64 => T::strip::<Dense<Convert<F, f64>>>(),
        _ => by_narrow_float!(
            to,
            N => T::strip::<Then<K, NarrowStrip<N, NearestEven>>>(),
            else => integer_to_integer::<T, F>(to)
        ),
    }
}

/// How a source becomes an fp32 that is then converted by a kernel.
trait Start {
    fn then<T: Target, K: Elementwise<In = f32>>() -> StripFn;
}

/// The source is fp32.
struct FromSingle;

impl Start for FromSingle {
    fn then<T: Target, K: Elementwise<In = f32>>() -> StripFn {
        T::strip::<K>()
    }
}

/// The source is a narrow float.
struct FromNarrow<F>(PhantomData<F>);

impl<F: NarrowFloat> Start for FromNarrow<F> {
    fn then<T: Target, K: Elementwise<In = f32>>() -> StripFn {
        T::strip::<Then<WidenStrip<F>, K>>()
    }
}

/// From fp32 or a narrow float to another type than fp32.
fn from_single<T: Target, S: Start, R: RoundingMode>(to: Scalar) -> StripFn {
    match to {
        Scalar::Int1 => S::then::<T, Dense<NonZero<f32>>>(),
        Scalar::Int8 => S::then::<T, Dense<Convert<f32, i8>>>(),
        Scalar::Int16 => S::then::<T, Dense<Convert<f32, i16>>>(),
        Scalar::Int32 => S::then::<T, Dense<Convert<f32, i32>>>(),
        Scalar::Int64 => S::then::<T, Dense<Convert<f32, i64>>>(),
        Scalar::UInt8 => S::then::<T, Dense<Convert<f32, u8>>>(),
        Scalar::UInt16 => S::then::<T, Dense<Convert<f32, u16>>>(),
        Scalar::UInt32 => S::then::<T, Dense<Convert<f32, u32>>>(),
        Scalar::UInt64 => S::then::<T, Dense<Convert<f32, u64>>>(),
        Scalar::Float64 => S::then::<T, Dense<Convert<f32, f64>>>(),
        _ => by_narrow_float!(
            to,
            N => S::then::<T, NarrowStrip<N, R>>(),
            else => S::then::<T, Dense<Same<f32>>>()
        ),
    }
}

fn from_double<T: Target, R: RoundingMode>(to: Scalar) -> StripFn {
    match to {
        Scalar::Int1 => T::strip::<Dense<NonZero<f64>>>(),
        Scalar::Int8 => T::strip::<Dense<Convert<f64, i8>>>(),
        Scalar::Int16 => T::strip::<Dense<Convert<f64, i16>>>(),
        Scalar::Int32 => T::strip::<Dense<Convert<f64, i32>>>(),
        Scalar::Int64 => T::strip::<Dense<Convert<f64, i64>>>(),
        Scalar::UInt8 => T::strip::<Dense<Convert<f64, u8>>>(),
        Scalar::UInt16 => T::strip::<Dense<Convert<f64, u16>>>(),
        Scalar::UInt32 => T::strip::<Dense<Convert<f64, u32>>>(),
        Scalar::UInt64 => T::strip::<Dense<Convert<f64, u64>>>(),
        Scalar::Float32 => match R::ROUNDING {
            Rounding::NearestEven => T::strip::<Dense<Convert<f64, f32>>>(),
            Rounding::TowardsZero => T::strip::<Dense<DoubleToSingle<TowardsZero>>>(),
        },
        _ => by_narrow_float!(
            to,
            N => T::strip::<Then<Dense<DoubleToSingle<ToOdd>>, NarrowStrip<N, R>>>(),
            else => T::strip::<Dense<Same<f64>>>()
        ),
    }
}

fn with_rounding<T: Target, R: RoundingMode>(from: Scalar, to: Scalar) -> StripFn {
    match from {
        Scalar::Int1 | Scalar::UInt8 => from_integer::<T, u8, Dense<Convert<u8, f32>>>(to),
        Scalar::Int8 => from_integer::<T, i8, Dense<Convert<i8, f32>>>(to),
        Scalar::Int16 => from_integer::<T, i16, Dense<Convert<i16, f32>>>(to),
        Scalar::UInt16 => from_integer::<T, u16, Dense<Convert<u16, f32>>>(to),
        Scalar::Int32 => from_integer::<T, i32, Dense<IntegerToOdd<i32>>>(to),
        Scalar::UInt32 => from_integer::<T, u32, Dense<IntegerToOdd<u32>>>(to),
        Scalar::Int64 => {
            from_integer::<T, i64, Then<Dense<IntegerToOdd<i64>>, Dense<DoubleToSingle<ToOdd>>>>(to)
        }
        Scalar::UInt64 => {
            from_integer::<T, u64, Then<Dense<IntegerToOdd<u64>>, Dense<DoubleToSingle<ToOdd>>>>(to)
        }
        Scalar::Float32 => from_single::<T, FromSingle, R>(to),
        Scalar::Float64 => from_double::<T, R>(to),
        _ => by_narrow_float!(
            from,
            N => from_single::<T, FromNarrow<N>, R>(to),
            else => unreachable!("every other type is matched above")
        ),
    }
}

pub(super) fn cast<T: Target>(from: Scalar, to: Scalar, rounding: Rounding) -> StripFn {
    if from == to {
        return match from.bytes() {
            1 => T::strip::<Dense<Same<u8>>>(),
            2 => T::strip::<Dense<Same<u16>>>(),
            4 => T::strip::<Dense<Same<u32>>>(),
            _ => T::strip::<Dense<Same<u64>>>(),
        };
    }
    match rounding {
        Rounding::NearestEven => with_rounding::<T, NearestEven>(from, to),
        Rounding::TowardsZero => with_rounding::<T, TowardsZero>(from, to),
    }
}
