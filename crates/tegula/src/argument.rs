//! What a kernel can be given: slices, numbers, and values for the compiler.

use half::{bf16, f16};
use std::marker::PhantomData;
use tegula_ir::{Pointer, Scalar};
use tegula_runtime::{Constant, Error, Policy, Specialization, specialization};

/// An argument of a launch, made from a slice or a number by `into`.
///
/// | Rust | the kernel sees |
/// |---|---|
/// | `&[T]`, `&Vec<T>`, `&[T; N]` | a pointer that it may only read through |
/// | `&mut [T]`, `&mut Vec<T>`, `&mut [T; N]` | a pointer |
/// | `i8` to `i64`, `u8` to `u64` | an integer of that type; 1 is known to the compiler, as are multiples of 16 |
/// | `usize`, `isize` | an int32 if it fits, else a 64-bit integer |
/// | `f32`, `f64` | an fp32, an fp64 |
/// | `bool` | an int1 |
/// | [`Constant`] | a value known to the compiler |
///
/// Strides and lengths are best given as `usize`: 32-bit offsets are faster where they suffice.
#[derive(Clone, Debug)]
pub struct Argument<'a> {
    pub(crate) kind: Kind,
    slice: PhantomData<&'a ()>,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Array(Array),
    /// An integer of a given type, or of the first that fits.
    Int(i128, Option<Scalar>),
    Float32(f32),
    Float64(f64),
    Bool(bool),
    Constant(Constant),
}

/// The memory of a slice.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub address: usize,
    pub bytes: usize,
    pub element: Scalar,
    pub writable: bool,
}

impl Argument<'_> {
    fn new(kind: Kind) -> Self {
        Argument { kind, slice: PhantomData }
    }
}

impl Kind {
    /// What the kernel is compiled for, and what is left to the launch.
    pub(crate) fn specialise(&self, leaves: &mut Vec<u64>) -> Result<Specialization, Error> {
        let policy = Policy::default();
        let run_time = match self {
            // The same kernel for every type of a 1: a stride of 1 should be known as such.
            Kind::Int(1, _) => return Ok(Specialization::Constexpr(Constant::Int(1))),
            Kind::Constant(constant) => return Ok(Specialization::Constexpr(constant.clone())),
            Kind::Array(array) => {
                specialization::pointer(array.address as u64, Pointer::to(array.element), policy)
            }
            Kind::Int(value, None) => specialization::integer(*value, policy)?,
            Kind::Int(value, Some(scalar)) => specialization::typed_integer(*value, *scalar, policy),
            Kind::Float32(value) => specialization::float(f64::from(*value), None),
            Kind::Float64(value) => specialization::float(*value, Some(Scalar::Float64)),
            Kind::Bool(value) => specialization::boolean(*value),
        };
        leaves.push(run_time.word);
        Ok(run_time.into())
    }

    /// The argument as a value for the compiler, if it can be one.
    pub(crate) fn constant(&self) -> Option<Constant> {
        Some(match self {
            Kind::Array(_) => return None,
            Kind::Int(value, _) => Constant::Int(*value),
            Kind::Float32(value) => Constant::float(f64::from(*value)),
            Kind::Float64(value) => Constant::float(*value),
            Kind::Bool(value) => Constant::Bool(*value),
            Kind::Constant(constant) => constant.clone(),
        })
    }
}

/// The types that slices may have: numbers of which every bit pattern is one.
pub trait Number: Copy + sealed::Sealed + 'static {
    /// The type in the kernel.
    const SCALAR: Scalar;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($ty:ty => $scalar:ident),* $(,)?) => {$(
        impl sealed::Sealed for $ty {}

        impl Number for $ty {
            const SCALAR: Scalar = Scalar::$scalar;
        }
    )*};
}

numbers! {
    i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64,
    u8 => UInt8, u16 => UInt16, u32 => UInt32, u64 => UInt64,
    f16 => Float16, bf16 => BFloat16, f32 => Float32, f64 => Float64,
}

impl<'a, T: Number> From<&'a [T]> for Argument<'a> {
    fn from(slice: &'a [T]) -> Argument<'a> {
        Argument::new(Kind::Array(Array {
            address: slice.as_ptr() as usize,
            bytes: size_of_val(slice),
            element: T::SCALAR,
            writable: false,
        }))
    }
}

impl<'a, T: Number> From<&'a mut [T]> for Argument<'a> {
    fn from(slice: &'a mut [T]) -> Argument<'a> {
        Argument::new(Kind::Array(Array {
            // The kernel's writes go through this pointer, so its provenance is exposed for the back end.
            address: slice.as_mut_ptr().expose_provenance(),
            bytes: size_of_val(slice),
            element: T::SCALAR,
            writable: true,
        }))
    }
}

impl<'a, T: Number> From<&'a Vec<T>> for Argument<'a> {
    fn from(vector: &'a Vec<T>) -> Argument<'a> {
        vector.as_slice().into()
    }
}

impl<'a, T: Number> From<&'a mut Vec<T>> for Argument<'a> {
    fn from(vector: &'a mut Vec<T>) -> Argument<'a> {
        vector.as_mut_slice().into()
    }
}

impl<'a, T: Number, const N: usize> From<&'a [T; N]> for Argument<'a> {
    fn from(array: &'a [T; N]) -> Argument<'a> {
        array.as_slice().into()
    }
}

impl<'a, T: Number, const N: usize> From<&'a mut [T; N]> for Argument<'a> {
    fn from(array: &'a mut [T; N]) -> Argument<'a> {
        array.as_mut_slice().into()
    }
}

macro_rules! integers {
    ($($ty:ty => $scalar:expr),* $(,)?) => {$(
        impl From<$ty> for Argument<'_> {
            fn from(value: $ty) -> Self {
                Argument::new(Kind::Int(value as i128, $scalar))
            }
        }
    )*};
}

integers! {
    i8 => Some(Scalar::Int8), i16 => Some(Scalar::Int16), i32 => Some(Scalar::Int32), i64 => Some(Scalar::Int64),
    u8 => Some(Scalar::UInt8), u16 => Some(Scalar::UInt16), u32 => Some(Scalar::UInt32), u64 => Some(Scalar::UInt64),
    usize => None, isize => None,
}

impl From<f32> for Argument<'_> {
    fn from(value: f32) -> Self {
        Argument::new(Kind::Float32(value))
    }
}

impl From<f64> for Argument<'_> {
    fn from(value: f64) -> Self {
        Argument::new(Kind::Float64(value))
    }
}

impl From<bool> for Argument<'_> {
    fn from(value: bool) -> Self {
        Argument::new(Kind::Bool(value))
    }
}

impl From<Constant> for Argument<'_> {
    fn from(value: Constant) -> Self {
        Argument::new(Kind::Constant(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specialise<'a>(argument: impl Into<Argument<'a>>) -> (Specialization, Vec<u64>) {
        let mut leaves = Vec::new();
        let specialization = argument.into().kind.specialise(&mut leaves).unwrap();
        (specialization, leaves)
    }

    fn runtime(scalar: Scalar, divisible_by: u32) -> Specialization {
        Specialization::Runtime { element: scalar.into(), divisible_by }
    }

    #[test]
    fn integers_keep_their_type_and_sizes_take_the_first_that_fits() {
        assert_eq!(specialise(-3i64), (runtime(Scalar::Int64, 1), vec![-3i64 as u64]));
        assert_eq!(specialise(200u8), (runtime(Scalar::UInt8, 1), vec![200]));
        assert_eq!(specialise(48usize), (runtime(Scalar::Int32, 16), vec![48]));
        assert_eq!(specialise(1usize << 40), (runtime(Scalar::Int64, 16), vec![1 << 40]));
        assert_eq!(specialise(u64::MAX), (runtime(Scalar::UInt64, 1), vec![u64::MAX]));
    }

    #[test]
    fn one_is_known_to_the_compiler_whatever_its_type() {
        let one = (Specialization::Constexpr(Constant::Int(1)), vec![]);
        assert_eq!(specialise(1u8), one);
        assert_eq!(specialise(1i64), one);
        assert_eq!(specialise(1usize), one);
    }

    #[test]
    fn floats_keep_their_width() {
        assert_eq!(specialise(0.1f32), (runtime(Scalar::Float32, 1), vec![u64::from(0.1f32.to_bits())]));
        assert_eq!(specialise(0.1f64), (runtime(Scalar::Float64, 1), vec![0.1f64.to_bits()]));
        assert_eq!(specialise(true), (runtime(Scalar::Int1, 1), vec![1]));
    }

    #[test]
    fn slices_know_whether_they_may_be_written() {
        let mut numbers = vec![bf16::ONE; 3];
        for (argument, writable) in [(Argument::from(&[1.0f32, 2.0]), false), ((&mut numbers).into(), true)] {
            let Kind::Array(array) = argument.kind else { panic!("a slice is an array") };
            assert_eq!(array.writable, writable);
            assert_eq!(array.bytes, if writable { 6 } else { 8 });
        }
    }
}
