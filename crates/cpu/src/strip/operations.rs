//! Which function an operation of the intermediate representation is, by element type.

use super::elementwise::{Dense, DenseDense, DenseDenseDense, DenseSplat, Map1, Map2, Map3, SplatDense};
use super::number::{Integer, Number};
use super::target::Target;
use super::{Operands, StripFn, math};
use std::marker::PhantomData;
use tegula_ir::{BinaryOp, Predicate, Scalar, UnaryOp};

/// Defines a function of two elements per line: `Name(Bound): expression of a and b;`.
macro_rules! binary_functions {
    ($($name:ident($bound:path): |$a:ident, $b:ident| $body:expr;)*) => {
        $(
            pub(super) struct $name<N>(PhantomData<N>);

            impl<N: $bound> Map2 for $name<N> {
                type In = N;
                type Out = N;

                #[inline(always)]
                fn apply<T: Target>($a: N, $b: N) -> N {
                    $body
                }
            }
        )*
    };
}

binary_functions! {
    Add(Number): |a, b| a.add(b);
    Sub(Number): |a, b| a.sub(b);
    Mul(Number): |a, b| a.mul(b);
    Div(Number): |a, b| a.div(b);
    Rem(Number): |a, b| a.rem(b);
    Min(Number): |a, b| a.min(b);
    Max(Number): |a, b| a.max(b);
    MinNan(Number): |a, b| a.min_nan(b);
    MaxNan(Number): |a, b| a.max_nan(b);
    And(Integer): |a, b| a.and(b);
    Or(Integer): |a, b| a.or(b);
    Xor(Integer): |a, b| a.xor(b);
    Shl(Integer): |a, b| a.shl(b);
    Shr(Integer): |a, b| a.shr(b);
    MulHigh(Integer): |a, b| a.mul_high(b);
}

/// Defines a comparison per line.
macro_rules! comparisons {
    ($($name:ident: |$a:ident, $b:ident| $body:expr;)*) => {
        $(
            struct $name<N>(PhantomData<N>);

            impl<N: Number> Map2 for $name<N> {
                type In = N;
                type Out = u8;

                #[inline(always)]
                fn apply<T: Target>($a: N, $b: N) -> u8 {
                    u8::from($body)
                }
            }
        )*
    };
}

comparisons! {
    Equal: |a, b| a == b;
    NotEqual: |a, b| a != b;
    Less: |a, b| a < b;
    LessEqual: |a, b| a <= b;
    Greater: |a, b| a > b;
    GreaterEqual: |a, b| a >= b;
}

/// Defines a function of one element per line.
macro_rules! unary_functions {
    ($($name:ident($bound:path): |$x:ident| $body:expr;)*) => {
        $(
            struct $name<N>(PhantomData<N>);

            impl<N: $bound> Map1 for $name<N> {
                type In = N;
                type Out = N;

                #[inline(always)]
                fn apply<T: Target>($x: N) -> N {
                    $body
                }
            }
        )*
    };
}

unary_functions! {
    Abs(Number): |x| x.abs();
    Not(Integer): |x| x.not();
    Popcount(Integer): |x| x.popcount();
    LeadingZeros(Integer): |x| x.leading_zeros();
    ReverseBits(Integer): |x| x.reverse_bits();
}

/// The other truth value.
struct Negate;

impl Map1 for Negate {
    type In = u8;
    type Out = u8;

    #[inline(always)]
    fn apply<T: Target>(x: u8) -> u8 {
        x ^ 1
    }
}

struct SquareRoot;

impl Map1 for SquareRoot {
    type In = f32;
    type Out = f32;

    #[inline(always)]
    fn apply<T: Target>(x: f32) -> f32 {
        x.sqrt()
    }
}

/// `a * b + c` of integers, which wraps.
struct MultiplyAdd<N>(PhantomData<N>);

impl<N: Number> Map3 for MultiplyAdd<N> {
    type First = N;
    type In = N;
    type Out = N;

    #[inline(always)]
    fn apply<T: Target>(a: N, b: N, c: N) -> N {
        a.mul(b).add(c)
    }
}

/// `a * b + c` of floats, rounded once on every target.
struct FusedMultiplyAdd<N>(PhantomData<N>);

impl Map3 for FusedMultiplyAdd<f32> {
    type First = f32;
    type In = f32;
    type Out = f32;

    #[inline(always)]
    fn apply<T: Target>(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

impl Map3 for FusedMultiplyAdd<f64> {
    type First = f64;
    type In = f64;
    type Out = f64;

    #[inline(always)]
    fn apply<T: Target>(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

fn with_operands<T: Target, M: Map2>(operands: Operands) -> StripFn {
    match operands {
        Operands::DenseDense => T::strip::<DenseDense<M>>(),
        Operands::DenseSplat => T::strip::<DenseSplat<M>>(),
        Operands::SplatDense => T::strip::<SplatDense<M>>(),
    }
}

/// The operations that integers and floats share.
fn number_binary<T: Target, N: Number>(op: BinaryOp, operands: Operands) -> Option<StripFn> {
    Some(match op {
        BinaryOp::Add => with_operands::<T, Add<N>>(operands),
        BinaryOp::Sub => with_operands::<T, Sub<N>>(operands),
        BinaryOp::Mul => with_operands::<T, Mul<N>>(operands),
        BinaryOp::Div => with_operands::<T, Div<N>>(operands),
        BinaryOp::Rem => with_operands::<T, Rem<N>>(operands),
        BinaryOp::Min => with_operands::<T, Min<N>>(operands),
        BinaryOp::Max => with_operands::<T, Max<N>>(operands),
        BinaryOp::MinNan => with_operands::<T, MinNan<N>>(operands),
        BinaryOp::MaxNan => with_operands::<T, MaxNan<N>>(operands),
        _ => return None,
    })
}

fn integer_binary<T: Target, N: Integer>(op: BinaryOp, operands: Operands) -> Option<StripFn> {
    Some(match op {
        BinaryOp::And => with_operands::<T, And<N>>(operands),
        BinaryOp::Or => with_operands::<T, Or<N>>(operands),
        BinaryOp::Xor => with_operands::<T, Xor<N>>(operands),
        BinaryOp::Shl => with_operands::<T, Shl<N>>(operands),
        BinaryOp::Shr => with_operands::<T, Shr<N>>(operands),
        BinaryOp::MulHigh => with_operands::<T, MulHigh<N>>(operands),
        BinaryOp::MinNan => with_operands::<T, Min<N>>(operands),
        BinaryOp::MaxNan => with_operands::<T, Max<N>>(operands),
        _ => return number_binary::<T, N>(op, operands),
    })
}

/// Truth values: arithmetic modulo 2.
fn truth_binary<T: Target>(op: BinaryOp, operands: Operands) -> Option<StripFn> {
    Some(match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Xor => with_operands::<T, Xor<u8>>(operands),
        BinaryOp::Mul | BinaryOp::And | BinaryOp::Min | BinaryOp::MinNan => {
            with_operands::<T, And<u8>>(operands)
        }
        BinaryOp::Or | BinaryOp::Max | BinaryOp::MaxNan => with_operands::<T, Or<u8>>(operands),
        _ => return None,
    })
}

pub(super) fn binary<T: Target>(op: BinaryOp, scalar: Scalar, operands: Operands) -> Option<StripFn> {
    match scalar {
        Scalar::Int1 => truth_binary::<T>(op, operands),
        Scalar::Int8 => integer_binary::<T, i8>(op, operands),
        Scalar::Int16 => integer_binary::<T, i16>(op, operands),
        Scalar::Int32 => integer_binary::<T, i32>(op, operands),
        Scalar::Int64 => integer_binary::<T, i64>(op, operands),
        Scalar::UInt8 => integer_binary::<T, u8>(op, operands),
        Scalar::UInt16 => integer_binary::<T, u16>(op, operands),
        Scalar::UInt32 => integer_binary::<T, u32>(op, operands),
        Scalar::UInt64 => integer_binary::<T, u64>(op, operands),
        Scalar::Float32 => number_binary::<T, f32>(op, operands),
        Scalar::Float64 => number_binary::<T, f64>(op, operands),
        _ => None,
    }
}

fn number_compare<T: Target, N: Number>(predicate: Predicate, operands: Operands) -> StripFn {
    match predicate {
        Predicate::Eq => with_operands::<T, Equal<N>>(operands),
        Predicate::Ne => with_operands::<T, NotEqual<N>>(operands),
        Predicate::Lt => with_operands::<T, Less<N>>(operands),
        Predicate::Le => with_operands::<T, LessEqual<N>>(operands),
        Predicate::Gt => with_operands::<T, Greater<N>>(operands),
        Predicate::Ge => with_operands::<T, GreaterEqual<N>>(operands),
    }
}

pub(super) fn compare<T: Target>(
    predicate: Predicate,
    scalar: Scalar,
    operands: Operands,
) -> Option<StripFn> {
    Some(match scalar {
        Scalar::Int1 | Scalar::UInt8 => number_compare::<T, u8>(predicate, operands),
        Scalar::Int8 => number_compare::<T, i8>(predicate, operands),
        Scalar::Int16 => number_compare::<T, i16>(predicate, operands),
        Scalar::Int32 => number_compare::<T, i32>(predicate, operands),
        Scalar::Int64 => number_compare::<T, i64>(predicate, operands),
        Scalar::UInt16 => number_compare::<T, u16>(predicate, operands),
        Scalar::UInt32 => number_compare::<T, u32>(predicate, operands),
        Scalar::UInt64 => number_compare::<T, u64>(predicate, operands),
        Scalar::Float32 => number_compare::<T, f32>(predicate, operands),
        Scalar::Float64 => number_compare::<T, f64>(predicate, operands),
        _ => return None,
    })
}

fn integer_unary<T: Target, N: Integer>(op: UnaryOp) -> Option<StripFn> {
    Some(match op {
        UnaryOp::Not => T::strip::<Dense<Not<N>>>(),
        UnaryOp::Abs => T::strip::<Dense<Abs<N>>>(),
        UnaryOp::Popcount => T::strip::<Dense<Popcount<N>>>(),
        UnaryOp::LeadingZeros => T::strip::<Dense<LeadingZeros<N>>>(),
        UnaryOp::ReverseBits => T::strip::<Dense<ReverseBits<N>>>(),
        _ => return None,
    })
}

/// Truth values are integers of one bit: a zero has one leading zero bit.
fn truth_unary<T: Target>(op: UnaryOp) -> Option<StripFn> {
    Some(match op {
        UnaryOp::Not | UnaryOp::LeadingZeros => T::strip::<Dense<Negate>>(),
        UnaryOp::Abs | UnaryOp::Popcount | UnaryOp::ReverseBits => T::strip::<Dense<Abs<u8>>>(),
        _ => return None,
    })
}

pub(super) fn unary<T: Target>(op: UnaryOp, scalar: Scalar) -> Option<StripFn> {
    match scalar {
        Scalar::Int1 => truth_unary::<T>(op),
        Scalar::Int8 => integer_unary::<T, i8>(op),
        Scalar::Int16 => integer_unary::<T, i16>(op),
        Scalar::Int32 => integer_unary::<T, i32>(op),
        Scalar::Int64 => integer_unary::<T, i64>(op),
        Scalar::UInt8 => integer_unary::<T, u8>(op),
        Scalar::UInt16 => integer_unary::<T, u16>(op),
        Scalar::UInt32 => integer_unary::<T, u32>(op),
        Scalar::UInt64 => integer_unary::<T, u64>(op),
        Scalar::Float32 => float32_unary::<T>(op),
        _ => None,
    }
}

fn float32_unary<T: Target>(op: UnaryOp) -> Option<StripFn> {
    Some(match op {
        UnaryOp::Abs => T::strip::<Dense<Abs<f32>>>(),
        UnaryOp::Sqrt => T::strip::<Dense<SquareRoot>>(),
        UnaryOp::Exp => T::strip::<Dense<math::Exp>>(),
        _ => return None,
    })
}

pub(super) fn fma<T: Target>(scalar: Scalar) -> Option<StripFn> {
    Some(match scalar {
        Scalar::Int8 | Scalar::UInt8 => T::strip::<DenseDenseDense<MultiplyAdd<u8>>>(),
        Scalar::Int16 | Scalar::UInt16 => T::strip::<DenseDenseDense<MultiplyAdd<u16>>>(),
        Scalar::Int32 | Scalar::UInt32 => T::strip::<DenseDenseDense<MultiplyAdd<u32>>>(),
        Scalar::Int64 | Scalar::UInt64 => T::strip::<DenseDenseDense<MultiplyAdd<u64>>>(),
        Scalar::Float32 => T::strip::<DenseDenseDense<FusedMultiplyAdd<f32>>>(),
        Scalar::Float64 => T::strip::<DenseDenseDense<FusedMultiplyAdd<f64>>>(),
        _ => return None,
    })
}
