//! 8-bit floats to and from fp32.
//!
//! An 8-bit float's magnitude, shifted to where fp32 keeps its fraction, is the same number but for the exponents' biases; a
//! multiplication by a power of two sets that right, for subnormals too. The way back rounds by integer addition, or
//! below the least normal number by adding a float whose last bit is the format's.

use super::Lowering;
use tegula_ir::{Rounding, Scalar};
use tegula_ptx::{Class, Comparison, Convert, MathOp, Operand, Register, Rounding as PtxRounding, Type};

struct Format {
    fraction_bits: i64,
    bias: i64,
    /// The code of the largest number.
    largest: i64,
    special: Special,
}

/// What a format has beside numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    /// `0x7f` and `0xff` are NaN.
    TopIsNan,
    /// Exponents of all ones are infinities and NaNs.
    Ieee,
    Nothing,
    /// `0x80` is NaN, and there is no negative zero.
    NegativeZeroIsNan,
}

fn format(scalar: Scalar) -> Format {
    let (fraction_bits, bias, largest, special) = match scalar {
        Scalar::Float8E4M3 => (3, 7, 0x7e, Special::TopIsNan),
        Scalar::Float8E5M2 => (2, 15, 0x7b, Special::Ieee),
        Scalar::Float8E4B15 => (3, 15, 0x7f, Special::Nothing),
        Scalar::Float8E4B8 => (3, 8, 0x7f, Special::NegativeZeroIsNan),
        Scalar::Float8E5B16 => (2, 16, 0x7f, Special::NegativeZeroIsNan),
        _ => unreachable!("called for 8-bit floats"),
    };
    Format { fraction_bits, bias, largest, special }
}

/// The number of a code.
fn decode(code: u8, scalar: Scalar) -> f64 {
    let format = format(scalar);
    let magnitude = i64::from(code & 0x7f);
    let sign = if code & 0x80 == 0 { 1.0 } else { -1.0 };
    let top = 0x7f >> format.fraction_bits << format.fraction_bits;
    let is_nan = match format.special {
        Special::TopIsNan => magnitude == 0x7f,
        Special::Ieee if magnitude == top => return sign * f64::INFINITY,
        Special::Ieee => magnitude > top,
        Special::Nothing => false,
        Special::NegativeZeroIsNan => code == 0x80,
    };
    if is_nan {
        return f64::NAN;
    }
    let bits = (magnitude as u32) << (23 - format.fraction_bits);
    sign * f64::from(f32::from_bits(bits)) * 2f64.powi((127 - format.bias) as i32)
}

/// The code of a number that the format holds.
pub(super) fn encode_constant(value: f64, scalar: Scalar) -> u8 {
    let same = |code: &u8| {
        let number = decode(*code, scalar);
        number.to_bits() == value.to_bits() || (number.is_nan() && value.is_nan())
    };
    (0..=u8::MAX).find(same).unwrap_or(0)
}

impl Lowering<'_> {
    /// The type of two such floats, if the target converts them.
    fn hardware_pair(&self, scalar: Scalar) -> Option<Type> {
        match scalar {
            Scalar::Float8E4M3 if self.target.architecture >= 89 => Some(Type::E4m3x2),
            Scalar::Float8E5M2 if self.target.architecture >= 89 => Some(Type::E5m2x2),
            _ => None,
        }
    }

    pub(super) fn decode_float8(&mut self, scalar: Scalar, value: Register) -> Register {
        if let Some(pair) = self.hardware_pair(scalar) {
            let narrow = self.code.convert(Type::U16, Type::U32, None, value);
            let halves = self.code.fresh(Class::Bits32);
            let convert = Convert::new(Type::F16x2, pair, halves, narrow.into());
            self.code.push(convert.rounding(PtxRounding::Nearest));
            let [low, _] = self.code.unpack(halves);
            return self.code.convert(Type::F32, Type::F16, None, low);
        }
        let format = format(scalar);
        let code = &mut self.code;
        let int = |value: i64| Operand::Integer(value);
        let magnitude = code.math(MathOp::And, Type::B32, &[value.into(), int(0x7f)]);
        let shift = 23 - format.fraction_bits;
        let bits = code.math(MathOp::ShiftLeft, Type::B32, &[magnitude.into(), int(shift)]);
        let scale = Operand::from(2f32.powi((127 - format.bias) as i32));
        let mut number = code.rounded(MathOp::Mul, Type::F32, &[bits.into(), scale]);
        let infinite = code.math(MathOp::Or, Type::B32, &[bits.into(), int(0x7f80_0000)]);
        match format.special {
            Special::TopIsNan => {
                let nan = code.compare(Comparison::Equal, Type::U32, magnitude.into(), int(0x7f));
                number = code.select(Type::B32, nan, infinite.into(), number.into());
            }
            Special::Ieee => {
                let top = 0x7f >> format.fraction_bits << format.fraction_bits;
                let special = code.compare(Comparison::GreaterEqual, Type::U32, magnitude.into(), int(top));
                number = code.select(Type::B32, special, infinite.into(), number.into());
            }
            Special::Nothing => {}
            Special::NegativeZeroIsNan => {
                let nan = code.compare(Comparison::Equal, Type::U32, value.into(), int(0x80));
                number = code.select(Type::B32, nan, int(0x7fff_ffff), number.into());
            }
        }
        let sign = code.math(MathOp::And, Type::B32, &[value.into(), int(0x80)]);
        let sign = code.math(MathOp::ShiftLeft, Type::B32, &[sign.into(), int(24)]);
        code.math(MathOp::Or, Type::B32, &[number.into(), sign.into()])
    }

    pub(super) fn encode_float8(&mut self, scalar: Scalar, value: Register, rounding: Rounding) -> Register {
        if let (Some(pair), Rounding::NearestEven) = (self.hardware_pair(scalar), rounding) {
            let zero = self.code.copy(Type::F32, 0f32);
            let both = self.code.fresh(Class::Bits16);
            let mut convert = Convert::new(pair, Type::F32, both, zero.into()).rounding(PtxRounding::Nearest);
            convert.saturate_finite = true;
            convert.sources.push(value.into());
            self.code.push(convert);
            return self.code.convert(Type::U32, Type::U16, None, both);
        }
        let format = format(scalar);
        let code = &mut self.code;
        let int = |value: i64| Operand::Integer(value);
        let limit = decode(format.largest as u8, scalar) as f32;
        let magnitude = code.math(MathOp::And, Type::B32, &[value.into(), int(0x7fff_ffff)]);
        let magnitude = code.math(MathOp::Min, Type::F32, &[magnitude.into(), limit.into()]);
        // Normal numbers: the fraction is cut, and the exponent counted from the other bias.
        let cut = 23 - format.fraction_bits;
        let rebased = code.math(MathOp::Sub, Type::U32, &[magnitude.into(), int((127 - format.bias) << 23)]);
        let rounded = match rounding {
            Rounding::TowardsZero => rebased,
            Rounding::NearestEven => {
                let last = code.math(MathOp::ShiftRight, Type::U32, &[rebased.into(), int(cut)]);
                let last = code.math(MathOp::And, Type::B32, &[last.into(), int(1)]);
                let half = code.math(MathOp::Add, Type::U32, &[last.into(), int((1 << (cut - 1)) - 1)]);
                code.math(MathOp::Add, Type::U32, &[rebased.into(), half.into()])
            }
        };
        let normal = code.math(MathOp::ShiftRight, Type::U32, &[rounded.into(), int(cut)]);
        // Subnormal numbers: the sum with a float whose last bit is worth one unit of the format.
        let anchor = 2f32.powi((1 - format.bias - format.fraction_bits + 23) as i32);
        let ptx_rounding = match rounding {
            Rounding::NearestEven => PtxRounding::Nearest,
            Rounding::TowardsZero => PtxRounding::Zero,
        };
        let sum = tegula_ptx::Math::new(MathOp::Add, Type::F32, value, [magnitude.into(), anchor.into()]);
        let sum = code.math_with(sum.rounding(ptx_rounding));
        let tiny = code.math(MathOp::Sub, Type::U32, &[sum.into(), int(anchor.to_bits().into())]);
        let least = Operand::from(2f32.powi((1 - format.bias) as i32));
        let is_tiny = code.compare(Comparison::Less, Type::F32, magnitude.into(), least);
        let coded = code.select(Type::B32, is_tiny, tiny.into(), normal.into());
        let sign = code.math(MathOp::ShiftRight, Type::U32, &[value.into(), int(24)]);
        let mut sign = code.math(MathOp::And, Type::B32, &[sign.into(), int(0x80)]);
        if format.special == Special::NegativeZeroIsNan {
            let zero = code.compare(Comparison::Equal, Type::U32, coded.into(), int(0));
            sign = code.select(Type::B32, zero, int(0), sign.into());
        }
        let coded = code.math(MathOp::Or, Type::B32, &[coded.into(), sign.into()]);
        let nan = match format.special {
            Special::TopIsNan | Special::Ieee => 0x7f,
            Special::Nothing => return coded,
            Special::NegativeZeroIsNan => 0x80,
        };
        let is_nan = code.compare(Comparison::Unordered, Type::F32, value.into(), value.into());
        code.select(Type::B32, is_nan, int(nan), coded.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_coded_as_they_decode() {
        for scalar in [
            Scalar::Float8E4M3,
            Scalar::Float8E5M2,
            Scalar::Float8E4B15,
            Scalar::Float8E4B8,
            Scalar::Float8E5B16,
        ] {
            for code in 0..=u8::MAX {
                let value = decode(code, scalar);
                if value.is_finite() {
                    assert_eq!(encode_constant(value, scalar), code, "{value} in {scalar}");
                    assert_eq!(scalar.round(value, Rounding::NearestEven), value);
                }
            }
        }
    }
}
