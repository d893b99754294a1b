//! Which function an operation of the intermediate representation is, by element type.

use super::composed::{NarrowFusedMultiplyAdd, Narrowed, Widened};
use super::elementwise::{
    Common, Dense, DenseDense, DenseDenseDense, DenseMostlyCommon, DenseSplat, DenseWithExceptions,
    Elementwise, Exceptions, Map1, Map2, Map3, MostlyCommonOfDifference, SplatDense,
};
use super::float_format::{NarrowFloat, by_narrow_float};
use super::math::Real;
use super::number::{Integer, Number};
use super::target::Target;
use super::{Operands, StripFn};
use std::marker::PhantomData;
use tegula_ir::{BinaryOp, Predicate, Scalar, UnaryOp};

/// Defines a function of two elements per line: `Name(Bound): expression of a and b;`, and perhaps [`Map2::accumulate`].
macro_rules! binary_functions {
    ($(
        $name:ident($bound:path): |$a:ident, $b:ident| $body:expr
        $(, accumulates |$total:ident, $x:ident| $accumulate:expr)?;
    )*) => {
        $(
            pub(super) struct $name<N>(PhantomData<N>);

            impl<N: $bound> Map2 for $name<N> {
                type In = N;
                type Out = N;

                #[inline(always)]
                fn apply<T: Target>($a: N, $b: N) -> N {
                    $body
                }

                $(
                    const ACCUMULATES: bool = true;

                    #[inline(always)]
                    fn accumulate<T: Target>($total: N, $x: N) -> N {
                        $accumulate
                    }
                )?
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
    Min(Number): |a, b| a.min(b), accumulates |total, x| if x < total { x } else { total };
    Max(Number): |a, b| a.max(b), accumulates |total, x| if x > total { x } else { total };
    MinNan(Number): |a, b| a.min_nan(b);
    MaxNan(Number): |a, b| a.max_nan(b);
    And(Integer): |a, b| a.and(b);
    Or(Integer): |a, b| a.or(b);
    Xor(Integer): |a, b| a.xor(b);
    Shl(Integer): |a, b| a.shl(b);
    Shr(Integer): |a, b| a.shr(b);
    MulHigh(Integer): |a, b| a.mul_high(b);
    Pow(Real): |a, b| a.pow::<T>(b);
    Atan2(Real): |a, b| a.atan2::<T>(b);
    Hypot(Real): |a, b| a.hypot::<T>(b);
    CopySign(Real): |a, b| a.copysign::<T>(b);
    NextAfter(Real): |a, b| a.next_after::<T>(b);
    Remainder(Real): |a, b| a.remainder::<T>(b);
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
    Exp(Real): |x| x.exp::<T>();
    Exp2(Real): |x| x.exp2::<T>();
    Expm1(Real): |x| x.expm1::<T>();
    Log(Real): |x| x.log::<T>();
    Log2(Real): |x| x.log2::<T>();
    Log10(Real): |x| x.log10::<T>();
    Log1p(Real): |x| x.log1p::<T>();
    Asin(Real): |x| x.asin::<T>();
    Acos(Real): |x| x.acos::<T>();
    Atan(Real): |x| x.atan::<T>();
    Sinh(Real): |x| x.sinh::<T>();
    Cosh(Real): |x| x.cosh::<T>();
    Tanh(Real): |x| x.tanh::<T>();
    Asinh(Real): |x| x.asinh::<T>();
    Acosh(Real): |x| x.acosh::<T>();
    Atanh(Real): |x| x.atanh::<T>();
    Sqrt(Real): |x| x.sqrt::<T>();
    Rsqrt(Real): |x| x.rsqrt::<T>();
    Cbrt(Real): |x| x.cbrt::<T>();
    Floor(Real): |x| x.floor::<T>();
    Ceil(Real): |x| x.ceil::<T>();
    Trunc(Real): |x| x.trunc::<T>();
    Round(Real): |x| x.round::<T>();
    RoundEven(Real): |x| x.round_even::<T>();
    Erf(Real): |x| x.erf::<T>();
    Erfc(Real): |x| x.erfc::<T>();
    Erfinv(Real): |x| x.erfinv::<T>();
    Lgamma(Real): |x| x.lgamma::<T>();
    Tgamma(Real): |x| x.tgamma::<T>();
}

impl<N: Real> Common for Exp<N> {
    #[inline(always)]
    fn is_common(x: N) -> bool {
        x.has_common_exp()
    }
    #[inline(always)]
    fn apply_to_common<T: Target>(x: N) -> N {
        x.common_exp::<T>()
    }
}

impl<N: Real> Common for Exp2<N> {
    #[inline(always)]
    fn is_common(x: N) -> bool {
        x.has_common_exp2()
    }
    #[inline(always)]
    fn apply_to_common<T: Target>(x: N) -> N {
        x.common_exp2::<T>()
    }
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

/// Defines a function of an angle per line, which leaves large angles to another.
macro_rules! angle_functions {
    ($($name:ident: $function:ident, $any:ident;)*) => {
        $(
            struct $name<N>(PhantomData<N>);

            impl<N: Real> Map1 for $name<N> {
                type In = N;
                type Out = N;

                #[inline(always)]
                fn apply<T: Target>(x: N) -> N {
                    x.$function::<T>()
                }
            }

            impl<N: Real> Exceptions for $name<N> {
                #[inline(always)]
                fn is_exception(x: N) -> bool {
                    x.is_large_angle()
                }
                fn apply_to_exception(x: N) -> N {
                    x.$any()
                }
            }
        )*
    };
}

angle_functions! {
    Sin: sin, any_sin;
    Cos: cos, any_cos;
    Tan: tan, any_tan;
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

impl<N: Real> Map3 for FusedMultiplyAdd<N> {
    type First = N;
    type In = N;
    type Out = N;

    #[inline(always)]
    fn apply<T: Target>(a: N, b: N, c: N) -> N {
        a.fused::<T>(b, c)
    }
}

fn with_operands<T: Target, M: Map2>(operands: Operands) -> StripFn {
    match operands {
        Operands::DenseDense => T::strip::<DenseDense<M>>(),
        Operands::DenseSplat => T::strip::<DenseSplat<M>>(),
        Operands::SplatDense => T::strip::<SplatDense<M>>(),
    }
}

fn integer_binary<T: Target, N: Integer>(op: BinaryOp, operands: Operands) -> Option<StripFn> {
    Some(match op {
        BinaryOp::Add => with_operands::<T, Add<N>>(operands),
        BinaryOp::Sub => with_operands::<T, Sub<N>>(operands),
        BinaryOp::Mul => with_operands::<T, Mul<N>>(operands),
        BinaryOp::Div => with_operands::<T, Div<N>>(operands),
        BinaryOp::Rem => with_operands::<T, Rem<N>>(operands),
        BinaryOp::Min | BinaryOp::MinNan => with_operands::<T, Min<N>>(operands),
        BinaryOp::Max | BinaryOp::MaxNan => with_operands::<T, Max<N>>(operands),
        BinaryOp::And => with_operands::<T, And<N>>(operands),
        BinaryOp::Or => with_operands::<T, Or<N>>(operands),
        BinaryOp::Xor => with_operands::<T, Xor<N>>(operands),
        BinaryOp::Shl => with_operands::<T, Shl<N>>(operands),
        BinaryOp::Shr => with_operands::<T, Shr<N>>(operands),
        BinaryOp::MulHigh => with_operands::<T, MulHigh<N>>(operands),
        _ => return None,
    })
}

/// What a float type computes in.
trait Arithmetic {
    type Number: Real;

    fn kernel<T: Target, K: Elementwise<In = Self::Number, Out = Self::Number>>() -> StripFn;
}

/// A type computes in itself.
struct Own<N>(PhantomData<N>);

impl<N: Real> Arithmetic for Own<N> {
    type Number = N;

    fn kernel<T: Target, K: Elementwise<In = N, Out = N>>() -> StripFn {
        T::strip::<K>()
    }
}

/// A narrow float computes in fp32.
struct InSingle<F>(PhantomData<F>);

impl<F: NarrowFloat> Arithmetic for InSingle<F> {
    type Number = f32;

    fn kernel<T: Target, K: Elementwise<In = f32, Out = f32>>() -> StripFn {
        T::strip::<Narrowed<F, K>>()
    }
}

fn real_with_operands<T, A, M>(operands: Operands) -> StripFn
where
    T: Target,
    A: Arithmetic,
    M: Map2<In = A::Number, Out = A::Number>,
{
    match operands {
        Operands::DenseDense => A::kernel::<T, DenseDense<M>>(),
        Operands::DenseSplat => A::kernel::<T, DenseSplat<M>>(),
        Operands::SplatDense => A::kernel::<T, SplatDense<M>>(),
    }
}

fn real_binary<T: Target, A: Arithmetic>(op: BinaryOp, operands: Operands) -> Option<StripFn> {
    Some(match op {
        BinaryOp::Add => real_with_operands::<T, A, Add<A::Number>>(operands),
        BinaryOp::Sub => real_with_operands::<T, A, Sub<A::Number>>(operands),
        BinaryOp::Mul => real_with_operands::<T, A, Mul<A::Number>>(operands),
        BinaryOp::Div | BinaryOp::DivRn => real_with_operands::<T, A, Div<A::Number>>(operands),
        BinaryOp::Rem => real_with_operands::<T, A, Rem<A::Number>>(operands),
        BinaryOp::Min => real_with_operands::<T, A, Min<A::Number>>(operands),
        BinaryOp::Max => real_with_operands::<T, A, Max<A::Number>>(operands),
        BinaryOp::MinNan => real_with_operands::<T, A, MinNan<A::Number>>(operands),
        BinaryOp::MaxNan => real_with_operands::<T, A, MaxNan<A::Number>>(operands),
        BinaryOp::Pow => real_with_operands::<T, A, Pow<A::Number>>(operands),
        BinaryOp::Atan2 => real_with_operands::<T, A, Atan2<A::Number>>(operands),
        BinaryOp::Hypot => real_with_operands::<T, A, Hypot<A::Number>>(operands),
        BinaryOp::CopySign => real_with_operands::<T, A, CopySign<A::Number>>(operands),
        BinaryOp::NextAfter => real_with_operands::<T, A, NextAfter<A::Number>>(operands),
        BinaryOp::Remainder => real_with_operands::<T, A, Remainder<A::Number>>(operands),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr | BinaryOp::MulHigh => {
            return None;
        }
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
        BinaryOp::Div => with_operands::<T, Div<u8>>(operands),
        BinaryOp::Rem => with_operands::<T, Rem<u8>>(operands),
        // Out of a single bit, a shift by one to either side leaves nothing.
        BinaryOp::Shl | BinaryOp::Shr => with_operands::<T, Shr<u8>>(operands),
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
        Scalar::Float32 => real_binary::<T, Own<f32>>(op, operands),
        Scalar::Float64 => real_binary::<T, Own<f64>>(op, operands),
        // The neighbours of a narrow float are not those of its fp32.
        _ if op == BinaryOp::NextAfter => None,
        _ => by_narrow_float!(scalar, F => real_binary::<T, InSingle<F>>(op, operands), else => None),
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

fn narrow_compare<T: Target, F: NarrowFloat>(predicate: Predicate, operands: Operands) -> StripFn {
    match predicate {
        Predicate::Eq => narrow_comparison::<T, F, Equal<f32>>(operands),
        Predicate::Ne => narrow_comparison::<T, F, NotEqual<f32>>(operands),
        Predicate::Lt => narrow_comparison::<T, F, Less<f32>>(operands),
        Predicate::Le => narrow_comparison::<T, F, LessEqual<f32>>(operands),
        Predicate::Gt => narrow_comparison::<T, F, Greater<f32>>(operands),
        Predicate::Ge => narrow_comparison::<T, F, GreaterEqual<f32>>(operands),
    }
}

fn narrow_comparison<T: Target, F: NarrowFloat, M: Map2<In = f32, Out = u8>>(operands: Operands) -> StripFn {
    match operands {
        Operands::DenseDense => T::strip::<Widened<F, DenseDense<M>>>(),
        Operands::DenseSplat => T::strip::<Widened<F, DenseSplat<M>>>(),
        Operands::SplatDense => T::strip::<Widened<F, SplatDense<M>>>(),
    }
}

pub(super) fn compare<T: Target>(predicate: Predicate, scalar: Scalar, operands: Operands) -> StripFn {
    match scalar {
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
        _ => by_narrow_float!(
            scalar,
            F => narrow_compare::<T, F>(predicate, operands),
            else => unreachable!("every other type is matched above")
        ),
    }
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
        Scalar::Float32 => real_unary::<T, Own<f32>>(op),
        Scalar::Float64 => real_unary::<T, Own<f64>>(op),
        _ => by_narrow_float!(scalar, F => real_unary::<T, InSingle<F>>(op), else => None),
    }
}

/// The functions that are computed of a difference at once, since that is how they are used: exponentials.
pub(super) fn of_difference<T: Target>(op: UnaryOp, scalar: Scalar) -> Option<StripFn> {
    match (op, scalar) {
        (UnaryOp::Exp, Scalar::Float32) => Some(T::strip::<MostlyCommonOfDifference<Exp<f32>>>()),
        (UnaryOp::Exp2, Scalar::Float32) => Some(T::strip::<MostlyCommonOfDifference<Exp2<f32>>>()),
        _ => None,
    }
}

fn real_unary<T: Target, A: Arithmetic>(op: UnaryOp) -> Option<StripFn> {
    Some(match op {
        UnaryOp::Abs => A::kernel::<T, Dense<Abs<A::Number>>>(),
        UnaryOp::Exp => A::kernel::<T, DenseMostlyCommon<Exp<A::Number>>>(),
        UnaryOp::Exp2 => A::kernel::<T, DenseMostlyCommon<Exp2<A::Number>>>(),
        UnaryOp::Expm1 => A::kernel::<T, Dense<Expm1<A::Number>>>(),
        UnaryOp::Log => A::kernel::<T, Dense<Log<A::Number>>>(),
        UnaryOp::Log2 => A::kernel::<T, Dense<Log2<A::Number>>>(),
        UnaryOp::Log10 => A::kernel::<T, Dense<Log10<A::Number>>>(),
        UnaryOp::Log1p => A::kernel::<T, Dense<Log1p<A::Number>>>(),
        UnaryOp::Sin => A::kernel::<T, DenseWithExceptions<Sin<A::Number>>>(),
        UnaryOp::Cos => A::kernel::<T, DenseWithExceptions<Cos<A::Number>>>(),
        UnaryOp::Tan => A::kernel::<T, DenseWithExceptions<Tan<A::Number>>>(),
        UnaryOp::Asin => A::kernel::<T, Dense<Asin<A::Number>>>(),
        UnaryOp::Acos => A::kernel::<T, Dense<Acos<A::Number>>>(),
        UnaryOp::Atan => A::kernel::<T, Dense<Atan<A::Number>>>(),
        UnaryOp::Sinh => A::kernel::<T, Dense<Sinh<A::Number>>>(),
        UnaryOp::Cosh => A::kernel::<T, Dense<Cosh<A::Number>>>(),
        UnaryOp::Tanh => A::kernel::<T, Dense<Tanh<A::Number>>>(),
        UnaryOp::Asinh => A::kernel::<T, Dense<Asinh<A::Number>>>(),
        UnaryOp::Acosh => A::kernel::<T, Dense<Acosh<A::Number>>>(),
        UnaryOp::Atanh => A::kernel::<T, Dense<Atanh<A::Number>>>(),
        UnaryOp::Sqrt => A::kernel::<T, Dense<Sqrt<A::Number>>>(),
        UnaryOp::Rsqrt => A::kernel::<T, Dense<Rsqrt<A::Number>>>(),
        UnaryOp::Cbrt => A::kernel::<T, Dense<Cbrt<A::Number>>>(),
        UnaryOp::Floor => A::kernel::<T, Dense<Floor<A::Number>>>(),
        UnaryOp::Ceil => A::kernel::<T, Dense<Ceil<A::Number>>>(),
        UnaryOp::Trunc => A::kernel::<T, Dense<Trunc<A::Number>>>(),
        UnaryOp::Round => A::kernel::<T, Dense<Round<A::Number>>>(),
        UnaryOp::RoundEven => A::kernel::<T, Dense<RoundEven<A::Number>>>(),
        UnaryOp::Erf => A::kernel::<T, Dense<Erf<A::Number>>>(),
        UnaryOp::Erfc => A::kernel::<T, Dense<Erfc<A::Number>>>(),
        UnaryOp::Erfinv => A::kernel::<T, Dense<Erfinv<A::Number>>>(),
        UnaryOp::Lgamma => A::kernel::<T, Dense<Lgamma<A::Number>>>(),
        UnaryOp::Tgamma => A::kernel::<T, Dense<Tgamma<A::Number>>>(),
        UnaryOp::Not | UnaryOp::Popcount | UnaryOp::LeadingZeros | UnaryOp::ReverseBits => return None,
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
        _ => by_narrow_float!(scalar, F => T::strip::<NarrowFusedMultiplyAdd<F>>(), else => return None),
    })
}
