//! Which numbers a scalar type holds, and the nearest of them to a given one.

use crate::op::{Literal, Rounding};
use crate::types::Scalar;

/// What there is to know of a binary floating-point format, to round to it.
struct Format {
    /// Bits of the fraction, without the implicit leading one.
    fraction_bits: i32,
    /// Exponent of the least normal number.
    least_exponent: i32,
    largest: f64,
}

const fn format(scalar: Scalar) -> Option<Format> {
    let (fraction_bits, least_exponent, largest) = match scalar {
        Scalar::Float8E4M3 => (3, -6, 448.0),
        Scalar::Float8E5M2 => (2, -14, 57344.0),
        Scalar::Float8E4B15 => (3, -14, 1.875),
        Scalar::Float8E4B8 => (3, -7, 240.0),
        Scalar::Float8E5B16 => (2, -15, 57344.0),
        Scalar::Float16 => (10, -14, 65504.0),
        Scalar::BFloat16 => (7, -126, 3.389_531_389_251_535_5e38),
        Scalar::Float32 => (23, -126, f32::MAX as f64),
        _ => return None,
    };
    Some(Format { fraction_bits, least_exponent, largest })
}

impl Scalar {
    /// The value of this float type that a number rounds to. What is too large becomes infinite (the largest
    /// value, if rounding towards zero), or the largest value of an 8-bit type, which saturates.
    ///
    /// NaN stays NaN even in `fp8e4b15`, which has none: [`Scalar::holds`] tells.
    ///
    /// # Panics
    /// If this is an integer type.
    pub fn round(self, value: f64, rounding: Rounding) -> f64 {
        assert!(self.is_float(), "{self} is no float type");
        let Some(format) = format(self) else { return value };
        let saturates = self.is_float8();
        if value.is_nan() || (value.is_infinite() && !saturates) {
            return value;
        }
        let rounded = if value == 0.0 || value.is_infinite() {
            value
        } else {
            // The exponent of a subnormal f64 reads as -1023, far below any format's least.
            let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
            let quantum = power_of_two(exponent.max(format.least_exponent) - format.fraction_bits);
            let steps = value / quantum;
            quantum
                * match rounding {
                    Rounding::NearestEven => steps.round_ties_even(),
                    Rounding::TowardsZero => steps.trunc(),
                }
        };
        if rounded == 0.0 && matches!(self, Scalar::Float8E4B8 | Scalar::Float8E5B16) {
            return 0.0;
        }
        if rounded.abs() <= format.largest {
            rounded
        } else if saturates || rounding == Rounding::TowardsZero {
            format.largest.copysign(value)
        } else {
            f64::INFINITY.copysign(value)
        }
    }

    /// An integer reduced to this type's width, and extended again as [`Literal::Int`] asks.
    ///
    /// # Panics
    /// If this is a float type.
    pub fn wrap(self, value: i64) -> i64 {
        match self {
            Scalar::Int1 => value & 1,
            Scalar::Int8 => value as i8 as i64,
            Scalar::Int16 => value as i16 as i64,
            Scalar::Int32 => value as i32 as i64,
            Scalar::UInt8 => value as u8 as i64,
            Scalar::UInt16 => value as u16 as i64,
            Scalar::UInt32 => value as u32 as i64,
            Scalar::Int64 | Scalar::UInt64 => value,
            _ => panic!("{self} is no integer type"),
        }
    }

    /// Whether a literal is a value of this type, in the form that a constant of it has.
    pub fn holds(self, literal: Literal) -> bool {
        match literal {
            Literal::Int(value) => self.is_int() && self.wrap(value) == value,
            Literal::Float(_) if !self.is_float() => false,
            Literal::Float(value) if value.is_nan() => self != Scalar::Float8E4B15,
            Literal::Float(value) => {
                value.to_bits() == self.round(value, Rounding::NearestEven).to_bits()
                    || (value.is_infinite() && self == Scalar::Float8E5M2)
            }
        }
    }
}

/// Two to a power within the range of normal f64.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fp32_rounds_as_the_hardware_does() {
        for value in [0.1, 1e-40, -1e-46, 7e-46, 3.5e38, -1e300, 16777217.0, 5e-324, -0.0] {
            let expected = f64::from(value as f32);
            let rounded = Scalar::Float32.round(value, Rounding::NearestEven);
            assert_eq!(rounded.to_bits(), expected.to_bits(), "{value}");
        }
        assert_eq!(Scalar::Float32.round(1e300, Rounding::TowardsZero), f64::from(f32::MAX));
    }

    #[test]
    fn narrow_formats_round_ties_to_even_and_eight_bits_saturate() {
        let nearest = |scalar: Scalar, value| scalar.round(value, Rounding::NearestEven);
        assert_eq!(nearest(Scalar::Float16, 2049.0), 2048.0);
        assert_eq!(nearest(Scalar::Float16, 2051.0), 2052.0);
        assert_eq!(nearest(Scalar::Float16, 65519.9), 65504.0);
        assert_eq!(nearest(Scalar::Float16, 65520.0), f64::INFINITY);
        assert_eq!(nearest(Scalar::Float16, 2f64.powi(-25)), 0.0);
        assert_eq!(nearest(Scalar::BFloat16, 257.0), 256.0);
        assert_eq!(nearest(Scalar::Float8E4M3, 1e9), 448.0);
        assert_eq!(nearest(Scalar::Float8E4M3, 17.0), 16.0);
        assert_eq!(nearest(Scalar::Float8E5M2, f64::NEG_INFINITY), -57344.0);
        assert_eq!(nearest(Scalar::Float8E4B8, -0.0).to_bits(), 0);
        assert_eq!(Scalar::Float16.round(-2051.0, Rounding::TowardsZero), -2050.0);
    }

    #[test]
    fn literals_have_one_form() {
        assert!(Scalar::Int8.holds(Literal::Int(-128)));
        assert!(!Scalar::Int8.holds(Literal::Int(128)));
        assert!(!Scalar::UInt8.holds(Literal::Int(-1)));
        assert!(Scalar::UInt64.holds(Literal::Int(-1)));
        assert!(!Scalar::Int1.holds(Literal::Int(-1)));
        assert!(!Scalar::Int32.holds(Literal::Float(1.0)));
        assert!(!Scalar::Float32.holds(Literal::Float(0.1)));
        assert!(Scalar::Float32.holds(Literal::Float(f64::NAN)));
        assert!(!Scalar::Float8E4B15.holds(Literal::Float(f64::NAN)));
        assert!(Scalar::Float8E5M2.holds(Literal::Float(f64::INFINITY)));
    }
}
