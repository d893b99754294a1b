//! Arithmetic on integer and pointer blocks that are linear functions of the index, without touching elements.
//!
//! A result stays affine only while its extremes fit the type, since machine integers wrap; whatever
//! does not is left to the strips. So the functions here return `None` rather than an approximation.

use crate::block::{Block, Bounds};
use crate::per_axis::PerAxis;
use crate::strided::{Strided, compact_strides};
use tegula_ir::{BinaryOp, Predicate, Scalar};

/// The least and the greatest value of an integer type, as far as `i64` reaches.
fn limits(scalar: Scalar) -> (i64, i64) {
    match scalar {
        Scalar::Int1 => (0, 1),
        Scalar::Int8 => (i8::MIN.into(), i8::MAX.into()),
        Scalar::Int16 => (i16::MIN.into(), i16::MAX.into()),
        Scalar::Int32 => (i32::MIN.into(), i32::MAX.into()),
        Scalar::UInt8 => (0, u8::MAX.into()),
        Scalar::UInt16 => (0, u16::MAX.into()),
        Scalar::UInt32 => (0, u32::MAX.into()),
        Scalar::UInt64 => (0, i64::MAX),
        _ => (i64::MIN, i64::MAX),
    }
}

/// Whether all values of an affine block are values of the type.
fn fits(affine: &Strided, extents: &[u32], scalar: Scalar) -> bool {
    let (least, greatest) = limits(scalar);
    affine.extremes(extents).is_some_and(|(low, high)| low >= least && high <= greatest)
}

/// The affine block with these values, or the splat if they are equal, if they fit the type.
fn checked(affine: Strided, extents: &[u32], scalar: Scalar) -> Option<Block> {
    fits(&affine, extents, scalar).then(|| simplify(affine))
}

/// An affine block, or the splat that it is.
fn simplify(affine: Strided) -> Block {
    if affine.strides.iter().all(|&stride| stride == 0) {
        Block::Splat(affine.base as u64)
    } else {
        Block::Affine(affine)
    }
}

/// The integer that the bits of a scalar stand for, if it is an `i64`.
fn integer(bits: u64, scalar: Scalar) -> Option<i64> {
    if scalar == Scalar::UInt64 { i64::try_from(bits).ok() } else { Some(bits as i64) }
}

/// A block as a linear function of the index.
fn linear(block: &Block, rank: usize, scalar: Scalar) -> Option<Strided> {
    match block {
        Block::Splat(bits) => {
            Some(Strided { base: integer(*bits, scalar)?, strides: PerAxis::filled(0, rank) })
        }
        Block::Affine(affine) => Some(affine.clone()),
        _ => None,
    }
}

/// Both blocks combined base by base and stride by stride.
fn zip(mut a: Strided, b: &Strided, combine: impl Fn(i64, i64) -> Option<i64>) -> Option<Strided> {
    a.base = combine(a.base, b.base)?;
    for (a, &b) in a.strides.iter_mut().zip(b.strides.iter()) {
        *a = combine(*a, b)?;
    }
    Some(a)
}

/// A binary operation on integers of which at least one is affine or a box mask.
pub fn binary(op: BinaryOp, scalar: Scalar, extents: &[u32], lhs: &Block, rhs: &Block) -> Option<Block> {
    if scalar == Scalar::Int1 {
        return logic(op, extents, lhs, rhs);
    }
    if scalar.is_float() {
        return None;
    }
    let rank = extents.len();
    let a = linear(lhs, rank, scalar)?;
    let constant = match rhs {
        Block::Splat(bits) => Some(integer(*bits, scalar)?),
        _ => None,
    };
    match op {
        BinaryOp::Add => checked(zip(a, &linear(rhs, rank, scalar)?, i64::checked_add)?, extents, scalar),
        BinaryOp::Sub => checked(zip(a, &linear(rhs, rank, scalar)?, i64::checked_sub)?, extents, scalar),
        BinaryOp::Mul => {
            let (affine, factor) = match (constant, lhs) {
                (Some(factor), _) => (a, factor),
                (None, Block::Splat(_)) => (linear(rhs, rank, scalar)?, a.base),
                _ => return None,
            };
            checked(scale(affine, factor)?, extents, scalar)
        }
        BinaryOp::Shl => {
            let shift = constant.filter(|shift| (0..i64::from(scalar.bits()).min(62)).contains(shift))?;
            checked(scale(a, 1 << shift)?, extents, scalar)
        }
        BinaryOp::Div => {
            let divisor = constant.filter(|&divisor| divisor > 0)?;
            let (low, high) = a.extremes(extents)?;
            if low >= 0 && low / divisor == high / divisor {
                return Some(Block::Splat((low / divisor) as u64));
            }
            let exact = a.base % divisor == 0 && a.strides.iter().all(|stride| stride % divisor == 0);
            exact.then(|| simplify(zip(a.clone(), &a, |a, _| Some(a / divisor)).unwrap_or(a)))
        }
        BinaryOp::Rem => {
            let divisor = constant.filter(|&divisor| divisor > 0)?;
            let (low, high) = a.extremes(extents)?;
            if low < 0 || low / divisor != high / divisor {
                return None;
            }
            Some(simplify(Strided { base: a.base - low / divisor * divisor, ..a }))
        }
        BinaryOp::Min | BinaryOp::Max => {
            let b = linear(rhs, rank, scalar)?;
            let (low, high) = zip(a.clone(), &b, i64::checked_sub)?.extremes(extents)?;
            let (less, greater) = if op == BinaryOp::Min { (a, b) } else { (b, a) };
            if high <= 0 {
                Some(simplify(less))
            } else if low >= 0 {
                Some(simplify(greater))
            } else {
                None
            }
        }
        _ => None,
    }
}

/// Every value multiplied by a factor.
fn scale(mut affine: Strided, factor: i64) -> Option<Strided> {
    affine.base = affine.base.checked_mul(factor)?;
    for stride in affine.strides.iter_mut() {
        *stride = stride.checked_mul(factor)?;
    }
    Some(affine)
}

/// `and` and `or` of masks, where the result is again a box.
fn logic(op: BinaryOp, extents: &[u32], lhs: &Block, rhs: &Block) -> Option<Block> {
    let keep = u64::from(op == BinaryOp::And);
    match (op, lhs, rhs) {
        (BinaryOp::And | BinaryOp::Or, Block::Splat(bits), other)
        | (BinaryOp::And | BinaryOp::Or, other, Block::Splat(bits)) => match other {
            Block::Mask(_) if *bits == keep => Some(other.clone()),
            Block::Mask(_) => Some(Block::Splat(*bits)),
            _ => None,
        },
        (BinaryOp::And, Block::Mask(a), Block::Mask(b)) => {
            let both = a.iter().zip(b.iter()).map(|(a, b)| (a.0.max(b.0), a.1.min(b.1))).collect();
            Some(mask(both, extents))
        }
        _ => None,
    }
}

/// A box mask, or the splat that it is.
pub fn mask(bounds: Bounds, extents: &[u32]) -> Block {
    if bounds.iter().any(|(low, high)| low >= high) {
        Block::Splat(0)
    } else if bounds.iter().zip(extents).all(|(&(low, high), &extent)| low == 0 && high == extent) {
        Block::Splat(1)
    } else {
        Block::Mask(bounds)
    }
}

/// A comparison of integers of which at least one is affine: a box if one dimension varies, or the
/// same for all elements.
pub fn compare(
    predicate: Predicate,
    scalar: Scalar,
    extents: &[u32],
    lhs: &Block,
    rhs: &Block,
) -> Option<Block> {
    if scalar.is_float() {
        return None;
    }
    let rank = extents.len();
    let difference = zip(linear(lhs, rank, scalar)?, &linear(rhs, rank, scalar)?, i64::checked_sub)?;
    let (low, high) = difference.extremes(extents)?;
    // Everything is one question: is the difference within an interval?
    let (least, greatest, inside) = match predicate {
        Predicate::Lt => (i64::MIN, -1, true),
        Predicate::Le => (i64::MIN, 0, true),
        Predicate::Gt => (1, i64::MAX, true),
        Predicate::Ge => (0, i64::MAX, true),
        Predicate::Eq => (0, 0, true),
        Predicate::Ne => (0, 0, false),
    };
    if high < least || low > greatest {
        return Some(Block::Splat(u64::from(!inside)));
    }
    if low >= least && high <= greatest {
        return Some(Block::Splat(u64::from(inside)));
    }
    let mut varying = (0..rank).filter(|&axis| difference.strides[axis] != 0 && extents[axis] > 1);
    let axis = varying.next()?;
    if varying.next().is_some() || !inside {
        return None;
    }
    let (base, stride) = (i128::from(difference.base), i128::from(difference.strides[axis]));
    let (least, greatest) = (i128::from(least), i128::from(greatest));
    // The indices i with least <= base + i * stride <= greatest.
    let (from, to) =
        if stride > 0 { (least - base, greatest - base) } else { (base - greatest, base - least) };
    let step = stride.abs();
    let first = from.div_euclid(step) + i128::from(from.rem_euclid(step) != 0);
    let last = to.div_euclid(step);
    let extent = i128::from(extents[axis]);
    let mut bounds: Bounds = extents.iter().map(|&extent| (0, extent)).collect();
    bounds[axis] = (first.clamp(0, extent) as u32, (last + 1).clamp(0, extent) as u32);
    Some(mask(bounds, extents))
}

/// A conversion between integer types that changes no value.
pub fn cast(from: Scalar, to: Scalar, extents: &[u32], affine: &Strided) -> Option<Block> {
    let lossless = from.is_int() && to.is_int() && to != Scalar::Int1 && fits(affine, extents, to);
    lossless.then(|| Block::Affine(affine.clone()))
}

/// Pointers moved by a number of elements of `size` bytes. Addresses wrap, as in the machine.
pub fn add_pointer(
    extents: &[u32],
    pointer: &Block,
    offset: &Block,
    scalar: Scalar,
    size: i64,
) -> Option<Block> {
    let rank = extents.len();
    let mut moved = linear(pointer, rank, Scalar::Int64)?;
    let by = |number: i64| number.wrapping_mul(size);
    match offset {
        Block::Splat(bits) => moved.base = moved.base.wrapping_add(by(integer(*bits, scalar)?)),
        Block::Affine(offset) => {
            moved.base = moved.base.wrapping_add(by(offset.base));
            for (stride, &more) in moved.strides.iter_mut().zip(offset.strides.iter()) {
                *stride = stride.wrapping_add(by(more));
            }
        }
        _ => return None,
    }
    // A linear function that wraps within the block is not one.
    moved.extremes(extents).is_some().then(|| simplify(moved))
}

/// `start, start + 1, ...`
pub fn arange(start: i64, extents: &[u32]) -> Block {
    if extents.iter().all(|&extent| extent == 1) {
        return Block::Splat(start as u64);
    }
    Block::Affine(Strided { base: start, strides: compact_strides(extents, 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn affine(base: i64, strides: &[i64]) -> Block {
        Block::Affine(Strided { base, strides: PerAxis::from_slice(strides) })
    }

    fn values(block: &Block, extents: &[u32]) -> Vec<i64> {
        let count: u32 = extents.iter().product();
        (0..count)
            .map(|linear| {
                let mut rest = linear;
                let mut index = vec![0; extents.len()];
                for axis in (0..extents.len()).rev() {
                    index[axis] = rest % extents[axis];
                    rest /= extents[axis];
                }
                match block {
                    Block::Splat(bits) => *bits as i64,
                    Block::Affine(affine) => {
                        affine.base
                            + index
                                .iter()
                                .zip(affine.strides.iter())
                                .map(|(&i, s)| i64::from(i) * s)
                                .sum::<i64>()
                    }
                    Block::Mask(bounds) => i64::from(
                        index.iter().zip(bounds.iter()).all(|(&i, &(low, high))| i >= low && i < high),
                    ),
                    other => panic!("{other:?}"),
                }
            })
            .collect()
    }

    #[test]
    fn comparisons_agree_with_the_elements() {
        let extents = [7, 5];
        let predicates =
            [Predicate::Lt, Predicate::Le, Predicate::Gt, Predicate::Ge, Predicate::Eq, Predicate::Ne];
        let mut decided = 0;
        for base in -20..20 {
            for strides in [[0, 1], [3, 0], [0, -2], [-1, 0], [5, 1]] {
                for limit in -6..6i64 {
                    let (lhs, rhs) = (affine(base, &strides), Block::Splat(limit as u64));
                    for predicate in predicates {
                        let Some(found) = compare(predicate, Scalar::Int32, &extents, &lhs, &rhs) else {
                            continue;
                        };
                        decided += 1;
                        let expected: Vec<i64> = values(&lhs, &extents)
                            .iter()
                            .map(|value| {
                                i64::from(match predicate {
                                    Predicate::Lt => *value < limit,
                                    Predicate::Le => *value <= limit,
                                    Predicate::Gt => *value > limit,
                                    Predicate::Ge => *value >= limit,
                                    Predicate::Eq => *value == limit,
                                    Predicate::Ne => *value != limit,
                                })
                            })
                            .collect();
                        assert_eq!(values(&found, &extents), expected, "{lhs:?} {predicate:?} {limit}");
                    }
                }
            }
        }
        assert!(decided > 5000);
    }

    #[test]
    fn arithmetic_agrees_with_the_elements_or_is_refused() {
        let extents = [3, 4];
        let ops = [
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Div,
            BinaryOp::Rem,
            BinaryOp::Min,
            BinaryOp::Max,
            BinaryOp::Shl,
        ];
        let mut decided = 0;
        for base in [-100, -8, -1, 0, 3, 16, 100] {
            for strides in [[0, 1], [4, 1], [8, 0], [-4, 4], [16, -16]] {
                for rhs in [
                    affine(2, &[1, 1]),
                    affine(200, &[0, 1]),
                    Block::Splat(3),
                    Block::Splat(4),
                    Block::Splat(0),
                ] {
                    for op in ops {
                        let lhs = affine(base, &strides);
                        let Some(found) = binary(op, Scalar::Int32, &extents, &lhs, &rhs) else { continue };
                        decided += 1;
                        let expected: Vec<i64> = values(&lhs, &extents)
                            .into_iter()
                            .zip(values(&rhs, &extents))
                            .map(|(a, b)| match op {
                                BinaryOp::Add => a + b,
                                BinaryOp::Sub => a - b,
                                BinaryOp::Mul => a * b,
                                BinaryOp::Div => a / b,
                                BinaryOp::Rem => a % b,
                                BinaryOp::Min => a.min(b),
                                BinaryOp::Max => a.max(b),
                                _ => a << b,
                            })
                            .collect();
                        assert_eq!(values(&found, &extents), expected, "{lhs:?} {op:?} {rhs:?}");
                    }
                }
            }
        }
        assert!(decided > 300);
    }

    #[test]
    fn what_wraps_is_refused() {
        let block = affine(i64::from(i32::MAX) - 2, &[1]);
        assert!(binary(BinaryOp::Add, Scalar::Int32, &[4], &block, &Block::Splat(0)).is_none());
        assert!(binary(BinaryOp::Mul, Scalar::Int8, &[16], &affine(0, &[1]), &Block::Splat(16)).is_none());
        assert!(
            cast(
                Scalar::Int32,
                Scalar::UInt32,
                &[4],
                &Strided { base: -1, strides: PerAxis::from_slice(&[1]) }
            )
            .is_none()
        );
    }
}
