//! Conversions of numbers between element types.

use super::StripFn;
use super::elementwise::{Dense, Map1};
use super::target::Target;
use std::marker::PhantomData;
use tegula_ir::{Rounding, Scalar};

/// A conversion that Rust's `as` makes: integers wrap, floats truncate and saturate, and NaN becomes 0.
trait As<To> {
    fn convert(self) -> To;
}

struct Convert<From, To>(PhantomData<(From, To)>);

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
    f32 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    f64 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
}

/// From an integer. Wrapped integers have the same bits whatever the sign, so the unsigned types serve both.
fn from_integer<T: Target, F>(to: Scalar) -> Option<StripFn>
where
    F: Copy + Default + As<u8> + As<u16> + As<u32> + As<u64> + As<f32> + As<f64>,
{
    Some(match to {
        Scalar::Int8 | Scalar::UInt8 => T::strip::<Dense<Convert<F, u8>>>(),
        Scalar::Int16 | Scalar::UInt16 => T::strip::<Dense<Convert<F, u16>>>(),
        Scalar::Int32 | Scalar::UInt32 => T::strip::<Dense<Convert<F, u32>>>(),
        Scalar::Int64 | Scalar::UInt64 => T::strip::<Dense<Convert<F, u64>>>(),
        Scalar::Float32 => T::strip::<Dense<Convert<F, f32>>>(),
        Scalar::Float64 => T::strip::<Dense<Convert<F, f64>>>(),
        _ => return None,
    })
}

pub(super) fn cast<T: Target>(from: Scalar, to: Scalar, _rounding: Rounding) -> Option<StripFn> {
    match from {
        Scalar::Int1 | Scalar::UInt8 => from_integer::<T, u8>(to),
        Scalar::Int8 => from_integer::<T, i8>(to),
        Scalar::Int16 => from_integer::<T, i16>(to),
        Scalar::Int32 => from_integer::<T, i32>(to),
        Scalar::Int64 => from_integer::<T, i64>(to),
        Scalar::UInt16 => from_integer::<T, u16>(to),
        Scalar::UInt32 => from_integer::<T, u32>(to),
        Scalar::UInt64 => from_integer::<T, u64>(to),
        _ => None,
    }
}
