//! What the compiler is told of an argument, and what is left to the launch.
//!
//! The integer 1 becomes a constant, since strides of 1 make accesses contiguous; integers and addresses that are
//! multiples of 16 say so. Everything else of a run-time argument but its type is left to the launch.
//!
//! ```
//! use tegula_runtime::{Policy, Specialization, specialization};
//! use tegula_ir::Scalar;
//!
//! let n = specialization::integer(4096, Policy::default()).unwrap();
//! assert_eq!(n.word, 4096);
//! assert_eq!(Specialization::from(n), Specialization::Runtime { element: Scalar::Int32.into(), divisible_by: 16 });
//! ```

use crate::error::Error;
use half::{bf16, f16};
use tegula_frontend::host::TupleClass;
use tegula_frontend::{Argument, HostValue};
use tegula_ir::{Element, Pointer, Scalar, Type};

/// The divisibility that matters: 16 bytes are the widest access of one thread.
const ALIGNMENT: u32 = 16;

/// What may be assumed of a parameter's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether an integer's value may be used: 1 becomes a constant (`do_not_specialize` says no, to this and to alignment).
    pub value: bool,
    /// Whether divisibility by 16 may be used (`do_not_specialize_on_alignment` says no).
    pub alignment: bool,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy { value: true, alignment: true }
    }
}

/// An argument whose value is left to the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTime {
    pub element: Element,
    pub divisible_by: u32,
    /// The value, in the lowest bytes.
    pub word: u64,
}

impl From<RunTime> for Specialization {
    #[inline]
    fn from(RunTime { element, divisible_by, .. }: RunTime) -> Specialization {
        Specialization::Runtime { element, divisible_by }
    }
}

/// What a kernel is compiled for in the place of one argument.
///
/// Equal specialisations mean one compiled kernel: 1, 1.0 and `true` differ.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Specialization {
    /// A value of the launch.
    Runtime {
        element: Element,
        divisible_by: u32,
    },
    /// A value of the compilation.
    Constexpr(Constant),
    /// Several; with the host's number of the named-tuple class, if it is one.
    Tuple(Vec<Specialization>, Option<u64>),
    Descriptor(Box<Descriptor>),
}

/// A tensor descriptor; its parts are as in [`Argument::Descriptor`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Descriptor {
    pub base: Specialization,
    pub shape: Vec<Specialization>,
    pub strides: Vec<Specialization>,
    pub block_shape: Vec<u32>,
    pub pad_with_nan: bool,
}

/// A value known at compile time, comparable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    None,
    Bool(bool),
    Int(i128),
    /// The bits of a float: -0.0 and 0.0 differ, and NaN equals itself.
    Float(u64),
    Str(Box<str>),
    Type(Scalar),
    PointerType(Pointer),
    /// With the host's number of the named-tuple class, if it is one.
    Tuple(Vec<Constant>, Option<u64>),
    /// Anything else, by the host's number: functions, classes.
    Object(u64),
}

impl Constant {
    /// A floating-point constant.
    #[inline]
    pub fn float(value: f64) -> Constant {
        Constant::Float(value.to_bits())
    }

    /// The constant as the front end wants it; `object` says what the host's numbers mean.
    pub fn to_host_value(&self, object: &dyn Fn(u64) -> HostValue) -> HostValue {
        match self {
            Constant::None => HostValue::None,
            Constant::Bool(value) => HostValue::Bool(*value),
            Constant::Int(value) => HostValue::Int(*value),
            Constant::Float(bits) => HostValue::Float(f64::from_bits(*bits)),
            Constant::Str(text) => HostValue::Str(text.to_string()),
            Constant::Type(scalar) => HostValue::Type(*scalar),
            Constant::PointerType(pointer) => HostValue::PointerType(*pointer),
            Constant::Tuple(items, class) => HostValue::Tuple(
                items.iter().map(|item| item.to_host_value(object)).collect(),
                tuple_class(*class, object),
            ),
            Constant::Object(number) => object(*number),
        }
    }
}

macro_rules! integer_constants {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Constant {
            fn from(value: $ty) -> Constant {
                Constant::Int(value as i128)
            }
        }
    )*};
}

integer_constants!(i32, i64, u32, u64, usize);

impl From<f64> for Constant {
    fn from(value: f64) -> Constant {
        Constant::float(value)
    }
}

impl From<bool> for Constant {
    fn from(value: bool) -> Constant {
        Constant::Bool(value)
    }
}

impl From<&str> for Constant {
    fn from(text: &str) -> Constant {
        Constant::Str(text.into())
    }
}

impl From<Scalar> for Constant {
    fn from(scalar: Scalar) -> Constant {
        Constant::Type(scalar)
    }
}

impl Specialization {
    /// The specialisation as the front end wants it; `object` says what the host's numbers mean.
    pub fn to_argument(&self, object: &dyn Fn(u64) -> HostValue) -> Argument {
        let all = |items: &[Specialization]| items.iter().map(|item| item.to_argument(object)).collect();
        match self {
            Specialization::Runtime { element, divisible_by } => {
                Argument::Runtime { ty: Type::scalar(*element), divisible_by: *divisible_by }
            }
            Specialization::Constexpr(constant) => Argument::Constexpr(constant.to_host_value(object)),
            Specialization::Tuple(items, class) => Argument::Tuple(all(items), tuple_class(*class, object)),
            Specialization::Descriptor(descriptor) => Argument::Descriptor {
                base: Box::new(descriptor.base.to_argument(object)),
                shape: all(&descriptor.shape),
                strides: all(&descriptor.strides),
                block_shape: descriptor.block_shape.clone(),
                pad_with_nan: descriptor.pad_with_nan,
            },
        }
    }
}

fn tuple_class(class: Option<u64>, object: &dyn Fn(u64) -> HostValue) -> Option<TupleClass> {
    match object(class?) {
        HostValue::TupleClass(class) => Some(class),
        _ => None,
    }
}

/// The constant in the place of an integer argument, if its value may be compiled in.
#[inline]
pub fn constant(value: i128, policy: Policy) -> Option<Constant> {
    (value == 1 && policy.value).then_some(Constant::Int(1))
}

/// Specialises an integer argument that is no [`constant`]: int32 if it fits, else int64, else uint64.
///
/// # Errors
/// [`Error::IntegerRange`].
#[inline]
pub fn integer(value: i128, policy: Policy) -> Result<RunTime, Error> {
    let scalar = if i32::try_from(value).is_ok() {
        Scalar::Int32
    } else if i64::try_from(value).is_ok() {
        Scalar::Int64
    } else if u64::try_from(value).is_ok() {
        Scalar::UInt64
    } else {
        return Err(Error::IntegerRange(value));
    };
    Ok(typed_integer(value, scalar, policy))
}

/// Specialises an integer argument whose type the kernel declares; the value wraps to the type.
#[inline]
pub fn typed_integer(value: i128, scalar: Scalar, policy: Policy) -> RunTime {
    let value = value as u64;
    let aligned = policy.value && policy.alignment && value.is_multiple_of(u64::from(ALIGNMENT));
    RunTime {
        element: scalar.into(),
        divisible_by: if aligned && scalar.bits() > 1 { ALIGNMENT } else { 1 },
        word: extend(value, scalar),
    }
}

/// The lowest bits of `value` as an integer of type `scalar`, sign- or zero-extended.
fn extend(value: u64, scalar: Scalar) -> u64 {
    let unused = 64 - scalar.bits();
    if scalar.is_signed() { ((value << unused) as i64 >> unused) as u64 } else { value << unused >> unused }
}

/// Specialises a truth value.
#[inline]
pub fn boolean(value: bool) -> RunTime {
    RunTime { element: Scalar::Int1.into(), divisible_by: 1, word: value.into() }
}

/// Specialises a float argument. It is fp32, unless it is declared as fp64, fp16 or bf16.
#[inline]
pub fn float(value: f64, declared: Option<Scalar>) -> RunTime {
    let (scalar, bits) = match declared {
        Some(Scalar::Float64) => (Scalar::Float64, value.to_bits()),
        Some(Scalar::Float16) => (Scalar::Float16, u64::from(f16::from_f64(value).to_bits())),
        Some(Scalar::BFloat16) => (Scalar::BFloat16, u64::from(bf16::from_f64(value).to_bits())),
        _ => (Scalar::Float32, u64::from((value as f32).to_bits())),
    };
    RunTime { element: scalar.into(), divisible_by: 1, word: bits }
}

/// Specialises the address of an array.
#[inline]
pub fn pointer(address: u64, pointer: Pointer, policy: Policy) -> RunTime {
    let aligned = policy.value && policy.alignment && address.is_multiple_of(u64::from(ALIGNMENT));
    let divisible_by = if aligned { ALIGNMENT } else { 1 };
    RunTime { element: pointer.into(), divisible_by, word: address }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime(element: impl Into<Element>, divisible_by: u32, word: u64) -> RunTime {
        RunTime { element: element.into(), divisible_by, word }
    }

    #[test]
    fn integers_take_the_first_type_that_fits() {
        let cases = [
            (0, Scalar::Int32, 16),
            (-1, Scalar::Int32, 1),
            (i128::from(i32::MIN), Scalar::Int32, 16),
            (1 << 31, Scalar::Int64, 16),
            (i128::from(i64::MAX), Scalar::Int64, 1),
            (1 << 63, Scalar::UInt64, 16),
            (i128::from(u64::MAX), Scalar::UInt64, 1),
        ];
        for (value, scalar, divisible_by) in cases {
            let expected = runtime(scalar, divisible_by, value as u64);
            assert_eq!(integer(value, Policy::default()).unwrap(), expected, "{value}");
        }
        assert!(integer(1 << 64, Policy::default()).is_err());
    }

    #[test]
    fn one_is_a_constant_unless_told_otherwise() {
        assert_eq!(constant(1, Policy::default()), Some(Constant::Int(1)));
        assert_eq!(constant(2, Policy::default()), None);
        let never = Policy { value: false, alignment: true };
        assert_eq!(constant(1, never), None);
        assert_eq!(integer(1, never).unwrap(), runtime(Scalar::Int32, 1, 1));
        assert_eq!(integer(16, never).unwrap(), runtime(Scalar::Int32, 1, 16));
        let unaligned = Policy { value: true, alignment: false };
        assert_eq!(constant(1, unaligned), Some(Constant::Int(1)));
        assert_eq!(integer(16, unaligned).unwrap(), runtime(Scalar::Int32, 1, 16));
    }

    #[test]
    fn declared_types_wrap() {
        assert_eq!(typed_integer(200, Scalar::Int8, Policy::default()).word, (-56i64) as u64);
        assert_eq!(typed_integer(-1, Scalar::UInt16, Policy::default()).word, 0xffff);
    }

    #[test]
    fn addresses_and_floats() {
        let to = Pointer::to(Scalar::Float16);
        assert_eq!(pointer(4096, to, Policy::default()), runtime(to, 16, 4096));
        assert_eq!(pointer(4098, to, Policy::default()), runtime(to, 1, 4098));
        assert_eq!(float(1.0, None), runtime(Scalar::Float32, 1, 0x3f80_0000));
        assert_eq!(float(1.0, Some(Scalar::Float64)), runtime(Scalar::Float64, 1, 0x3ff0_0000_0000_0000));
    }
}
