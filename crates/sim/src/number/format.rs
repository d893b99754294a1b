//! Formats of floating-point numbers narrower than 64 bits.

use super::{Exact, Mode};

/// A binary format with a sign bit, an exponent and a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits of the exponent.
    exponent_bits: u32,
    /// Bits of the fraction, without the hidden one.
    fraction_bits: u32,
    /// Zero bits below the fraction: tf32 is kept in the upper bits of 32.
    padding: u32,
    /// Whether the largest exponent means infinities and NaNs; else all ones alone is NaN, and there are no infinities.
    infinities: bool,
}

/// Single precision.
pub const F32: Format = Format { exponent_bits: 8, fraction_bits: 23, padding: 0, infinities: true };
/// Half precision.
pub const F16: Format = Format { exponent_bits: 5, fraction_bits: 10, padding: 0, infinities: true };
/// bfloat16.
pub const BF16: Format = Format { exponent_bits: 8, fraction_bits: 7, padding: 0, infinities: true };
/// What tensor cores take of single precision.
pub const TF32: Format = Format { exponent_bits: 8, fraction_bits: 10, padding: 13, infinities: true };
/// 8 bits with 4 of exponent, no infinities.
pub const E4M3: Format = Format { exponent_bits: 4, fraction_bits: 3, padding: 0, infinities: false };
/// 8 bits with 5 of exponent.
pub const E5M2: Format = Format { exponent_bits: 5, fraction_bits: 2, padding: 0, infinities: true };

impl Format {
    const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    const fn sign(self) -> u64 {
        1 << (self.exponent_bits + self.fraction_bits + self.padding)
    }

    /// The exponent of the smallest normal number.
    const fn least(self) -> i32 {
        1 - self.bias()
    }

    /// The bits of positive infinity, or of the place where it would be.
    const fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << (self.fraction_bits + self.padding)
    }

    /// The NaN that operations give: all ones.
    pub const fn nan(self) -> u64 {
        let ones = (1 << (self.exponent_bits + self.fraction_bits)) - 1;
        // Of tf32, the padding as well: it is a NaN of single precision.
        ones << self.padding | ((1 << self.padding) - 1)
    }

    /// The largest finite number.
    const fn largest(self) -> u64 {
        if self.infinities { self.infinity() - (1 << self.padding) } else { self.nan() - 1 }
    }

    /// The number that bits mean.
    pub fn decode(self, bits: u64) -> f64 {
        let negative = bits & self.sign() != 0;
        let magnitude = (bits & (self.sign() - 1)) >> self.padding;
        let fraction = magnitude & ((1 << self.fraction_bits) - 1);
        let exponent = (magnitude >> self.fraction_bits) as i32;
        let top = (1 << self.exponent_bits) - 1;
        let value = if self.infinities && exponent == top {
            if fraction == 0 { f64::INFINITY } else { f64::NAN }
        } else if !self.infinities && magnitude == self.nan() {
            f64::NAN
        } else if exponent == 0 {
            fraction as f64 * power(self.least() - self.fraction_bits as i32)
        } else {
            (fraction | 1 << self.fraction_bits) as f64
                * power(exponent - self.bias() - self.fraction_bits as i32)
        };
        if negative { -value } else { value }
    }

    /// The bits of a number, rounded. What is too large becomes an infinity (NaN where there is none), or with `saturate` the largest finite
    /// number.
    pub fn encode(self, value: Exact, mode: Mode, saturate: bool) -> u64 {
        let Exact { high, low } = value;
        if high.is_nan() {
            return self.nan();
        }
        let negative = high.is_sign_negative();
        let sign = if negative { self.sign() } else { 0 };
        if high == 0.0 {
            return sign;
        }
        if high.is_infinite() {
            return sign | if saturate { self.largest() } else { self.overflow() };
        }
        // 63 significant bits, the lowest of which says that there is more.
        let (mut significand, mut exponent) = significand(high.abs());
        significand <<= 10;
        exponent -= 10;
        if low != 0.0 {
            if (low < 0.0) == negative {
                significand |= 1;
            } else {
                significand -= 1;
            }
        }
        let shift_to_top = significand.leading_zeros() as i32 - 1;
        significand <<= shift_to_top;
        exponent -= shift_to_top;
        // The value is in [2^top, 2^(top + 1)).
        let top = exponent + 62;
        let quantum = top.max(self.least()) - self.fraction_bits as i32;
        let cut = (quantum - exponent).min(100) as u32;
        let wide = u128::from(significand);
        let (kept, rest, half) = (wide >> cut, wide & ((1 << cut) - 1), 1u128 << (cut - 1));
        let mut kept = kept as u64;
        kept += u64::from(mode.rounds_up(kept & 1 == 1, negative, rest, half));
        let biased = (quantum + self.fraction_bits as i32 - self.least()) as u64;
        // A carry out of the fraction counts the exponent up, from subnormal numbers to normal ones as well.
        let magnitude = (biased << self.fraction_bits) + kept;
        let magnitude = magnitude << self.padding;
        if magnitude <= self.largest() {
            return sign | magnitude;
        }
        let to_largest = saturate
            || match mode {
                Mode::Nearest | Mode::NearestAway => false,
                Mode::Zero => true,
                Mode::Down => !negative,
                Mode::Up => negative,
            };
        sign | if to_largest { self.largest() } else { self.overflow() }
    }

    /// What is too large to be finite.
    fn overflow(self) -> u64 {
        if self.infinities { self.infinity() } else { self.nan() }
    }

    /// Whether bits mean a subnormal number.
    fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = bits & (self.sign() - 1);
        magnitude != 0 && magnitude >> (self.fraction_bits + self.padding) == 0
    }

    /// Subnormal numbers as zeros of their sign.
    pub fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) { bits & self.sign() } else { bits }
    }

    /// Without the sign.
    pub fn absolute(self, bits: u64) -> u64 {
        bits & (self.sign() - 1)
    }

    /// With the other sign.
    pub fn negated(self, bits: u64) -> u64 {
        bits ^ self.sign()
    }

    /// Whether the sign is set.
    pub fn is_negative(self, bits: u64) -> bool {
        bits & self.sign() != 0
    }
}

/// A positive finite number as an integer of 53 bits times a power of two.
fn significand(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    if exponent == 0 {
        let shift = fraction.leading_zeros() - 11;
        (fraction << shift, -1074 - shift as i32)
    } else {
        (fraction | 1 << 52, exponent - 1075)
    }
}

/// A power of two that fp64 has as a normal number.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_narrow_formats_reads_back() {
        for (format, bits) in [(F16, 16), (BF16, 16), (E4M3, 8), (E5M2, 8)] {
            for pattern in 0..1u64 << bits {
                let value = format.decode(pattern);
                for mode in [Mode::Nearest, Mode::Zero, Mode::Down, Mode::Up, Mode::NearestAway] {
                    let back = format.encode(value.into(), mode, false);
                    assert!(back == pattern || value.is_nan(), "{format:?} {pattern:#x} {back:#x}");
                }
            }
        }
    }

    #[test]
    fn single_precision_rounds_as_the_processor_does() {
        let mut state = 1u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = f64::from_bits(state ^ state >> 29);
            if value.is_nan() {
                continue;
            }
            let expected = (value as f32).to_bits();
            assert_eq!(F32.encode(value.into(), Mode::Nearest, false), u64::from(expected), "{value:e}");
        }
    }

    #[test]
    fn directed_modes_bracket_the_exact_value() {
        let third = Exact::quotient(1.0, 3.0);
        let down = F32.encode(third, Mode::Down, false);
        assert_eq!(down, F32.encode(third, Mode::Zero, false));
        assert_eq!(down + 1, F32.encode(third, Mode::Up, false));
        // One ulp of fp64 below one.
        let below = Exact { high: 1.0, low: -1e-30 };
        assert_eq!(F32.encode(below, Mode::Zero, false), u64::from(1f32.to_bits()) - 1);
        assert_eq!(F32.encode(below, Mode::Nearest, false), u64::from(1f32.to_bits()));
        let halfway = Exact { high: 1.0 + power(-24), low: 1e-30 };
        assert_eq!(F32.encode(halfway, Mode::Nearest, false), u64::from(1f32.to_bits()) + 1);
    }

    #[test]
    fn overflow_goes_where_the_format_and_the_mode_say() {
        assert_eq!(E4M3.encode(500.0.into(), Mode::Nearest, false), 0x7f);
        assert_eq!(E4M3.encode(500.0.into(), Mode::Nearest, true), 0x7e);
        assert_eq!(E4M3.encode(464.0.into(), Mode::Nearest, false), 0x7e);
        assert_eq!(E5M2.encode((-1e9).into(), Mode::Nearest, false), 0xfc);
        assert_eq!(E5M2.encode((-1e9).into(), Mode::Up, false), 0xfb);
        assert_eq!(F16.encode(65520.0.into(), Mode::Nearest, false), 0x7c00);
        assert_eq!(F16.encode(65519.9.into(), Mode::Nearest, false), 0x7bff);
        assert_eq!(TF32.encode(1.0.into(), Mode::Nearest, false), u64::from(1f32.to_bits()));
    }
}
