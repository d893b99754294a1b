//! Every pair of types and both roundings, by exact comparison with the numbers that the destination has.

use super::*;
use std::cmp::Ordering;

/// A number that a source holds.
#[derive(Clone, Copy, Debug)]
enum Exact {
    Integer(i128),
    Float(f64),
}

impl Exact {
    /// The order of this number and a float, exactly. There is no NaN.
    fn cmp(self, other: f64) -> Ordering {
        match self {
            Exact::Float(x) => x.partial_cmp(&other).expect("no NaN"),
            // Below 2^53, an integer is an fp64; from there on, an fp64 is an integer.
            Exact::Integer(x) if x.unsigned_abs() < 1 << 53 => Exact::Float(x as f64).cmp(other),
            Exact::Integer(x) if other.abs() < 2f64.powi(53) => x.cmp(&0),
            Exact::Integer(x) => x.cmp(&(other as i128)),
        }
    }

    fn negated(self) -> Exact {
        match self {
            Exact::Integer(x) => Exact::Integer(-x),
            Exact::Float(x) => Exact::Float(-x),
        }
    }

    fn is_nan(self) -> bool {
        matches!(self, Exact::Float(x) if x.is_nan())
    }

    /// Below zero, negative zero included.
    fn is_negative(self) -> bool {
        match self {
            Exact::Integer(x) => x < 0,
            Exact::Float(x) => x.is_sign_negative(),
        }
    }
}

/// The value of a pattern.
fn decode(scalar: Scalar, bits: u64) -> Exact {
    let eight = |exponent_bits: u32, bias: i32| {
        let mantissa_bits = 7 - exponent_bits;
        let exponent = (bits as i32 & 0x7f) >> mantissa_bits;
        let mantissa = (bits as i32 & ((1 << mantissa_bits) - 1)) as f64 / (1 << mantissa_bits) as f64;
        let magnitude = match exponent {
            0 => mantissa * 2f64.powi(1 - bias),
            _ => (1.0 + mantissa) * 2f64.powi(exponent - bias),
        };
        if bits & 0x80 == 0 { magnitude } else { -magnitude }
    };
    match scalar {
        Scalar::Int8 => Exact::Integer(bits as i8 as i128),
        Scalar::Int16 => Exact::Integer(bits as i16 as i128),
        Scalar::Int32 => Exact::Integer(bits as i32 as i128),
        Scalar::Int64 => Exact::Integer(bits as i64 as i128),
        Scalar::Int1 | Scalar::UInt8 | Scalar::UInt16 | Scalar::UInt32 | Scalar::UInt64 => {
            Exact::Integer(bits as i128)
        }
        Scalar::Float8E4M3 if bits & 0x7f == 0x7f => Exact::Float(f64::NAN),
        Scalar::Float8E4M3 => Exact::Float(eight(4, 7)),
        Scalar::Float8E5M2 if bits & 0x7f > 0x7c => Exact::Float(f64::NAN),
        Scalar::Float8E5M2 if bits & 0x7f == 0x7c => Exact::Float(eight(5, 15) * f64::INFINITY),
        Scalar::Float8E5M2 => Exact::Float(eight(5, 15)),
        Scalar::Float8E4B15 => Exact::Float(eight(4, 15)),
        Scalar::Float8E4B8 | Scalar::Float8E5B16 if bits == 0x80 => Exact::Float(f64::NAN),
        Scalar::Float8E4B8 => Exact::Float(eight(4, 8)),
        Scalar::Float8E5B16 => Exact::Float(eight(5, 16)),
        Scalar::Float16 => Exact::Float(half::f16::from_bits(bits as u16).to_f64()),
        Scalar::BFloat16 => Exact::Float(half::bf16::from_bits(bits as u16).to_f64()),
        Scalar::Float32 => Exact::Float(f32::from_bits(bits as u32) as f64),
        Scalar::Float64 => Exact::Float(f64::from_bits(bits)),
    }
}

/// The numbers of a narrow float that are neither negative nor infinite, in order, with their patterns.
fn numbers(scalar: Scalar) -> Vec<(f64, u64)> {
    let patterns = 0..1u64 << (scalar.bits() - 1);
    let values = patterns.filter_map(|bits| match decode(scalar, bits) {
        Exact::Float(x) if x.is_finite() => Some((x, bits)),
        _ => None,
    });
    values.collect()
}

/// The index of the number that a positive value rounds to; one beyond the last if it rounds past it.
fn rounded(numbers: &[(f64, u64)], value: Exact, rounding: Rounding) -> usize {
    let below = numbers.partition_point(|&(number, _)| value.cmp(number) != Ordering::Less) - 1;
    if value.cmp(numbers[below].0) == Ordering::Equal || rounding == Rounding::TowardsZero {
        return below;
    }
    let step = numbers[below].0 - numbers[below - usize::from(below + 1 == numbers.len())].0;
    let above = numbers.get(below + 1).map_or(numbers[below].0 + step, |&(number, _)| number);
    match value.cmp((numbers[below].0 + above) / 2.0) {
        Ordering::Less => below,
        Ordering::Greater => below + 1,
        Ordering::Equal => below + (numbers[below].1 & 1) as usize,
    }
}

/// The pattern of a value that is no NaN in a narrow float.
fn narrowed(scalar: Scalar, numbers: &[(f64, u64)], value: Exact, rounding: Rounding) -> u64 {
    let magnitude = if value.is_negative() { value.negated() } else { value };
    let index = rounded(numbers, magnitude, rounding);
    let is_infinite = matches!(magnitude, Exact::Float(x) if x.is_infinite());
    let last = numbers[numbers.len() - 1].1;
    let bits = match numbers.get(index) {
        Some(&(_, bits)) if !is_infinite => bits,
        // 8-bit floats saturate; infinity follows the last number of the others.
        _ => last + u64::from(scalar.bits() == 16),
    };
    let has_negative_zero = !matches!(scalar, Scalar::Float8E4B8 | Scalar::Float8E5B16);
    let sign = value.is_negative() && (bits != 0 || has_negative_zero);
    bits | u64::from(sign) << (scalar.bits() - 1)
}

/// What a conversion gives, as bits; `None` for any NaN.
fn expected(value: Exact, to: Scalar, numbers: &[(f64, u64)], rounding: Rounding) -> Option<u64> {
    macro_rules! integer {
        ($type:ty) => {
            match value {
                Exact::Integer(x) => x as $type as u64,
                Exact::Float(x) => x as $type as u64,
            }
        };
    }
    if to.is_float() && value.is_nan() && to != Scalar::Float8E4B15 {
        return None;
    }
    Some(match to {
        Scalar::Int1 => u64::from(value.is_nan() || value.cmp(0.0) != Ordering::Equal),
        Scalar::Int8 => integer!(i8),
        Scalar::Int16 => integer!(i16),
        Scalar::Int32 => integer!(i32),
        Scalar::Int64 => integer!(i64),
        Scalar::UInt8 => integer!(u8),
        Scalar::UInt16 => integer!(u16),
        Scalar::UInt32 => integer!(u32),
        Scalar::UInt64 => integer!(u64),
        Scalar::Float32 => {
            let nearest = match value {
                Exact::Integer(x) => x as f32,
                Exact::Float(x) => x as f32,
            };
            let is_rounded_up = matches!(value, Exact::Float(x) if (nearest as f64).abs() > x.abs());
            let towards_zero = rounding == Rounding::TowardsZero && is_rounded_up;
            u64::from(nearest.to_bits() - u32::from(towards_zero))
        }
        Scalar::Float64 => match value {
            Exact::Integer(x) => (x as f64).to_bits(),
            Exact::Float(x) => x.to_bits(),
        },
        Scalar::Float8E4B15 if value.is_nan() => {
            return None;
        }
        _ => {
            let rounding = if matches!(value, Exact::Integer(_)) { Rounding::NearestEven } else { rounding };
            narrowed(to, numbers, value, rounding)
        }
    })
}

/// Patterns to convert: all of up to 16 bits, else random ones, ties and their neighbours, and the ends.
fn patterns(scalar: Scalar) -> Vec<u64> {
    let bits = scalar.bits();
    if bits <= 16 {
        return (0..1 << bits).collect();
    }
    let mask = u64::MAX >> (64 - bits);
    let mut random = Random(scalar.bits() as u64);
    let mut patterns = vec![0, 1, mask, mask >> 1, (mask >> 1) + 1];
    for _ in 0..20_000 {
        let x = random.next();
        // All magnitudes: of an integer by a shift, of a float by an exponent near those of the narrow types.
        let anything = (x & mask) >> (random.next() % bits as u64);
        let near = match scalar {
            Scalar::Float32 => (x & 0x807f_ffff) | ((100 + random.next() % 50) << 23),
            Scalar::Float64 => (x & 0x800f_ffff_ffff_ffff) | ((1023 - 160 + random.next() % 300) << 52),
            _ => x & mask & !(mask >> (random.next() % bits as u64)),
        };
        // Few bits set and many clear, or one more or less: ties.
        let tie = near & (mask << (random.next() % bits as u64)) & mask;
        patterns.extend([anything, near, tie, (tie + 1) & mask, tie.wrapping_sub(1) & mask]);
    }
    patterns
}

/// The strip of patterns of a type.
fn strip_of(scalar: Scalar, patterns: &[u64]) -> Vec<u8> {
    patterns.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(scalar.bytes() as usize)).collect()
}

#[test]
fn all_pairs() {
    let tables: Vec<Vec<(f64, u64)>> = Scalar::ALL
        .map(|scalar| if scalar.is_float() && scalar.bits() <= 16 { numbers(scalar) } else { Vec::new() })
        .into();
    for from in Scalar::ALL {
        let patterns = patterns(from);
        let source = strip_of(from, &patterns);
        for (to, table) in Scalar::ALL.into_iter().zip(&tables) {
            for rounding in [Rounding::NearestEven, Rounding::TowardsZero] {
                let wanted: Vec<Option<u64>> =
                    patterns.iter().map(|&bits| expected(decode(from, bits), to, table, rounding)).collect();
                for isa in instruction_sets() {
                    let function = cast(isa, from, to, rounding).expect("every pair is converted");
                    let size = to.bytes() as usize;
                    let mut out = vec![0xa5u8; patterns.len() * size + 1];
                    let input = source.as_ptr();
                    // SAFETY: strips of as many elements as there are patterns.
                    unsafe { function(out.as_mut_ptr(), &[input; 3], patterns.len()) };
                    assert_eq!(out.pop(), Some(0xa5), "written past the end");
                    for ((result, wanted), &pattern) in out.chunks(size).zip(&wanted).zip(&patterns) {
                        let mut bytes = [0; 8];
                        bytes[..size].copy_from_slice(result);
                        let bits = u64::from_le_bytes(bytes);
                        let mask = u64::MAX >> (64 - 8 * size);
                        let agrees = match wanted {
                            Some(wanted) => bits == wanted & mask,
                            None if to == Scalar::Float8E4B15 => bits & 0x7f == 0x7f,
                            None => decode(to, bits).is_nan(),
                        };
                        assert!(
                            agrees || from == to,
                            "{isa:?} {from} to {to} {rounding:?}: {pattern:#x} ({:?}) gives {bits:#x}, not {wanted:x?}",
                            decode(from, pattern)
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn awkward_counts() {
    for isa in instruction_sets() {
        for (from, to) in [
            (Scalar::Float16, Scalar::Float32),
            (Scalar::Float32, Scalar::Float16),
            (Scalar::Float32, Scalar::BFloat16),
            (Scalar::Int64, Scalar::Float8E5M2),
            (Scalar::Float8E4M3, Scalar::Float64),
        ] {
            let source = strip_of(from, &(0..1000).collect::<Vec<u64>>());
            let function = cast(isa, from, to, Rounding::NearestEven).expect("every pair is converted");
            let size = to.bytes() as usize;
            let convert = |count: usize| {
                let mut out = vec![0xa5u8; 1001 * size];
                // SAFETY: the strips have 1000 elements or more.
                unsafe { function(out.as_mut_ptr(), &[source.as_ptr(); 3], count) };
                out
            };
            let whole = convert(1000);
            for count in COUNTS {
                let part = convert(count);
                assert_eq!(part[..count * size], whole[..count * size]);
                assert!(part[count * size..].iter().all(|&byte| byte == 0xa5), "written past the end");
            }
        }
    }
}
