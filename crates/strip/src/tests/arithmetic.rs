//! Binary operations and comparisons of integers and floats.

use super::*;
use crate::number::Number;

/// An element type as the tests see it: what its numbers are in a wide type.
trait Element: Number + std::fmt::Debug {
    const SCALAR: Scalar;

    fn random(random: &mut Random) -> Self;
    /// What the operation gives, by exact arithmetic; `None` if the type lacks it.
    fn expected(op: BinaryOp, a: Self, b: Self) -> Option<Self>;
}

const BINARY: [BinaryOp; 16] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::DivRn,
    BinaryOp::Rem,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::Min,
    BinaryOp::Max,
    BinaryOp::MinNan,
    BinaryOp::MaxNan,
    BinaryOp::MulHigh,
];

/// Integers by way of `i128`, which holds every sum, product and quotient.
fn integer_expected(op: BinaryOp, a: i128, b: i128, bits: u32, signed: bool) -> i128 {
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div => a.checked_div(b).unwrap_or(0),
        BinaryOp::Rem => a.checked_rem(b).unwrap_or(0),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl if (0..bits as i128).contains(&b) => a << b,
        BinaryOp::Shl => 0,
        BinaryOp::Shr if (0..bits as i128).contains(&b) => a >> b,
        BinaryOp::Shr => {
            if signed && a < 0 {
                -1
            } else {
                0
            }
        }
        BinaryOp::Min | BinaryOp::MinNan => a.min(b),
        BinaryOp::Max | BinaryOp::MaxNan => a.max(b),
        BinaryOp::MulHigh if signed => (a * b) >> bits,
        BinaryOp::MulHigh => ((a as u128 * b as u128) >> bits) as i128,
        _ => unreachable!("not in the list"),
    }
}

macro_rules! integer_element {
    ($($type:ty => $scalar:ident),*) => {
        $(impl Element for $type {
            const SCALAR: Scalar = Scalar::$scalar;

            fn random(random: &mut Random) -> Self {
                let bits = random.next();
                // Small numbers make shifts in range, divisions with large quotients, and ties.
                match bits >> 61 {
                    0 => 0,
                    1 => Self::MIN,
                    2 => (0 as $type).wrapping_sub(1),
                    3 => Self::MAX,
                    4 | 5 => (bits % 70) as Self,
                    _ => bits as Self,
                }
            }
            fn expected(op: BinaryOp, a: Self, b: Self) -> Option<Self> {
                // Integers are divided in one way alone.
                let exists = op != BinaryOp::DivRn;
                exists.then(|| integer_expected(op, a as i128, b as i128, Self::BITS, Self::MIN != 0) as Self)
            }
        })*
    };
}

integer_element!(
    i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, u8 => UInt8, u16 => UInt16, u32 => UInt32, u64 => UInt64
);

macro_rules! float_element {
    ($($type:ty, $bits:ty => $scalar:ident),*) => {
        $(impl Element for $type {
            const SCALAR: Scalar = Scalar::$scalar;

            fn random(random: &mut Random) -> Self {
                let bits = random.next();
                match bits >> 61 {
                    0 => 0.0,
                    1 => Self::NAN,
                    2 => Self::INFINITY,
                    3 => -0.0,
                    4 | 5 => (bits % 70) as Self - 35.0,
                    _ => Self::from_bits(bits as $bits),
                }
            }
            fn expected(op: BinaryOp, a: Self, b: Self) -> Option<Self> {
                let nan = if a.is_nan() || b.is_nan() { Self::NAN } else { 0.0 };
                Some(match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a * b,
                    BinaryOp::Div | BinaryOp::DivRn => a / b,
                    BinaryOp::Rem => a % b,
                    BinaryOp::Min => a.min(b),
                    BinaryOp::Max => a.max(b),
                    BinaryOp::MinNan => a.min(b) + nan,
                    BinaryOp::MaxNan => a.max(b) + nan,
                    _ => return None,
                })
            }
        })*
    };
}

float_element!(f32, u32 => Float32, f64, u64 => Float64);

/// Equal, or both NaN. The zeros are equal, since minima may give either.
fn agree<E: Number>(a: E, b: E) -> bool {
    a == b || (a.partial_cmp(&a).is_none() && b.partial_cmp(&b).is_none())
}

fn check_binary<E: Element>() {
    let mut random = Random(1);
    let a: Vec<E> = (0..1000).map(|_| E::random(&mut random)).collect();
    let b: Vec<E> = (0..1000).map(|_| E::random(&mut random)).collect();
    let poison = E::from_index(77);
    for isa in instruction_sets() {
        for op in BINARY {
            let known = E::expected(op, a[0], b[0]).is_some();
            for operands in [Operands::DenseDense, Operands::DenseSplat, Operands::SplatDense] {
                let function = binary(isa, op, E::SCALAR, operands);
                assert_eq!(function.is_some(), known, "{isa:?} {op:?} {}", E::SCALAR);
                let Some(function) = function else { continue };
                let splats = if operands == Operands::DenseDense { 0..1 } else { 0..20 };
                for (splat, count) in splats.flat_map(|splat| COUNTS.map(|count| (splat, count))) {
                    let (left, right) = match operands {
                        Operands::DenseDense => (&a[..], &b[..]),
                        Operands::DenseSplat => (&a[..], &b[splat..splat + 1]),
                        Operands::SplatDense => (&a[splat..splat + 1], &b[..]),
                    };
                    let out = run(function, [left, right, &[]], count, poison);
                    for i in 0..count {
                        let (x, y) = (left[i % left.len()], right[i % right.len()]);
                        let expected = E::expected(op, x, y).expect("known");
                        assert!(
                            agree(out[i], expected),
                            "{isa:?} {op:?} {} {operands:?}: {x:?}, {y:?} give {:?}, not {expected:?}",
                            E::SCALAR,
                            out[i]
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn signed_integers() {
    check_binary::<i8>();
    check_binary::<i16>();
    check_binary::<i32>();
    check_binary::<i64>();
}

#[test]
fn unsigned_integers() {
    check_binary::<u8>();
    check_binary::<u16>();
    check_binary::<u32>();
    check_binary::<u64>();
}

#[test]
fn floats() {
    check_binary::<f32>();
    check_binary::<f64>();
}

#[test]
fn the_output_may_be_an_input() {
    for isa in instruction_sets() {
        for count in COUNTS {
            let a: Vec<f32> = (0..count).map(|i| i as f32 + 0.5).collect();
            let b: Vec<f32> = (0..count).map(|i| 3.0 * i as f32).collect();
            let subtract = binary(isa, BinaryOp::Sub, Scalar::Float32, Operands::DenseDense).expect("exists");
            let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
            for side in 0..2 {
                let mut own = if side == 0 { a.clone() } else { b.clone() };
                let out = own.as_mut_ptr();
                let other = if side == 0 { b.as_ptr() } else { a.as_ptr() };
                let inputs = if side == 0 { [out.cast_const(), other] } else { [other, out.cast_const()] };
                // SAFETY: strips of `count` elements; one is the output.
                unsafe {
                    subtract(out.cast(), &[inputs[0].cast(), inputs[1].cast(), std::ptr::null()], count)
                };
                assert_eq!(own, expected);
            }
            let mut own = a.clone();
            let out = own.as_mut_ptr().cast::<u8>();
            let doubled = binary(isa, BinaryOp::Add, Scalar::Float32, Operands::DenseDense).expect("exists");
            // SAFETY: one strip of `count` elements, three times.
            unsafe { doubled(out, &[out, out, std::ptr::null()], count) };
            assert_eq!(own, a.iter().map(|a| a + a).collect::<Vec<f32>>());
        }
    }
}
