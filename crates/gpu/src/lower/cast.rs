//! Conversions of numbers.

use super::element::integer_type;
use super::{Lowering, Result};
use tegula_ir::{Rounding, Scalar};
use tegula_ptx::{Class, Comparison, Convert, MathOp, Operand, Register, Rounding as PtxRounding, Type};

impl Lowering<'_> {
    pub(super) fn cast(
        &mut self,
        from: Scalar,
        to: Scalar,
        rounding: Rounding,
        value: Register,
    ) -> Result<Register> {
        if from == to {
            return Ok(value);
        }
        match (from.is_float(), to.is_float()) {
            (false, false) => Ok(self.integer_to_integer(from, to, value)),
            (false, true) => self.integer_to_float(from, to, from.bits() <= f32::MANTISSA_DIGITS, value),
            (true, false) => Ok(self.float_to_integer(from, to, value)),
            (true, true) => self.float_to_float(from, to, rounding, value),
        }
    }

    fn integer_to_integer(&mut self, from: Scalar, to: Scalar, value: Register) -> Register {
        let code = &mut self.code;
        if from == Scalar::Int1 {
            let (ty, zero) = (if to.bits() == 64 { Type::B64 } else { Type::B32 }, Operand::Integer(0));
            return code.select(ty, value, Operand::Integer(1), zero);
        }
        if to == Scalar::Int1 {
            return code.compare(
                Comparison::NotEqual,
                integer_type(from.into()),
                value.into(),
                Operand::Integer(0),
            );
        }
        match (from.bits() == 64, to.bits() == 64) {
            (true, true) => value,
            (false, true) if from.is_signed() => code.convert(Type::S64, Type::S32, None, value),
            (false, true) => code.convert(Type::U64, Type::U32, None, value),
            (true, false) => {
                let low = code.convert(Type::U32, Type::U64, None, value);
                self.normalise(to, low)
            }
            (false, false) => self.normalise(to, value),
        }
    }

    /// `fits` says that fp32 holds the integer.
    pub(super) fn integer_to_float(
        &mut self,
        from: Scalar,
        to: Scalar,
        fits: bool,
        value: Register,
    ) -> Result<Register> {
        let value = if from == Scalar::Int1 { self.code.number_of(value) } else { value };
        let source = integer_type(from.into());
        let nearest = Some(PtxRounding::Nearest);
        match to {
            Scalar::Float64 => Ok(self.code.convert(Type::F64, source, nearest, value)),
            Scalar::Float32 => Ok(self.code.convert(Type::F32, source, nearest, value)),
            Scalar::Float16 => Ok(self.code.convert(Type::F16, source, nearest, value)),
            // A second rounding must not see the first.
            _ => {
                let wide = match fits {
                    true => self.code.convert(Type::F32, source, nearest, value),
                    false => self.rounded_to_odd(source, value),
                };
                self.narrow_float(to, wide, Rounding::NearestEven)
            }
        }
    }

    fn float_to_integer(&mut self, from: Scalar, to: Scalar, value: Register) -> Register {
        let value = self.widen_float(from, value);
        let source = if from == Scalar::Float64 { Type::F64 } else { Type::F32 };
        if to == Scalar::Int1 {
            let zero = if source == Type::F64 { Operand::from(0f64) } else { Operand::from(0f32) };
            return self.code.compare(Comparison::NotEqualUnordered, source, value.into(), zero);
        }
        let target = integer_type(to.into());
        let whole = self.code.convert(target, source, Some(PtxRounding::ZeroInteger), value);
        self.normalise(to, whole)
    }

    fn float_to_float(
        &mut self,
        from: Scalar,
        to: Scalar,
        rounding: Rounding,
        value: Register,
    ) -> Result<Register> {
        if from == Scalar::Float64 {
            let ptx_rounding = Some(ptx_rounding(rounding));
            match to {
                Scalar::Float32 => return Ok(self.code.convert(Type::F32, Type::F64, ptx_rounding, value)),
                Scalar::Float16 => return Ok(self.code.convert(Type::F16, Type::F64, ptx_rounding, value)),
                _ => {}
            }
            let narrow = self.rounded_to_odd(Type::F64, value);
            return self.narrow_float(to, narrow, rounding);
        }
        let wide = self.widen_float(from, value);
        if to == Scalar::Float64 {
            return Ok(self.code.convert(Type::F64, Type::F32, None, wide));
        }
        self.narrow_float(to, wide, rounding)
    }

    /// fp64, or an integer of 32 bits or more, to fp32 so that a further rounding to fewer bits is as if from there: where bits are
    /// lost, the last is set.
    fn rounded_to_odd(&mut self, source: Type, value: Register) -> Register {
        let code = &mut self.code;
        let cut = code.convert(Type::F32, source, Some(PtxRounding::Zero), value);
        let back_rounding = if source == Type::F64 { None } else { Some(PtxRounding::ZeroInteger) };
        let back = code.convert(source, Type::F32, back_rounding, cut);
        let inexact = code.compare(Comparison::NotEqual, source, back.into(), value.into());
        let odd = code.math(MathOp::Or, Type::B32, &[cut.into(), Operand::Integer(1)]);
        code.select(Type::B32, inexact, odd.into(), cut.into())
    }

    /// A float as fp32; fp64 stays.
    pub(super) fn widen_float(&mut self, from: Scalar, value: Register) -> Register {
        match from {
            Scalar::Float32 | Scalar::Float64 => value,
            Scalar::Float16 => self.code.convert(Type::F32, Type::F16, None, value),
            Scalar::BFloat16 => {
                let low = self.code.copy(Type::B16, Operand::Integer(0));
                self.code.pack(Type::B32, &[low, value])
            }
            _ => self.decode_float8(from, value),
        }
    }

    /// Two fp32 numbers as 16-bit floats, rounded to nearest even by one instruction, which packs them as stores and products want them.
    pub(super) fn narrow_pair(&mut self, to: Scalar, pair: [Register; 2]) -> [Register; 2] {
        let ty = if to == Scalar::Float16 { Type::F16x2 } else { Type::Bf16x2 };
        let dst = self.code.fresh(Class::Bits32);
        let [low, high] = pair.map(Operand::from);
        let sources = [high, low].into_iter().collect();
        let convert = Convert::new(ty, Type::F32, dst, low).rounding(PtxRounding::Nearest);
        self.code.push(Convert { sources, ..convert });
        self.code.unpack(dst)
    }

    /// fp32 as a narrower float; fp32 and fp64 stay.
    pub(super) fn narrow_float(
        &mut self,
        to: Scalar,
        value: Register,
        rounding: Rounding,
    ) -> Result<Register> {
        let ptx_rounding = Some(ptx_rounding(rounding));
        match to {
            Scalar::Float32 | Scalar::Float64 => Ok(value),
            Scalar::Float16 => Ok(self.code.convert(Type::F16, Type::F32, ptx_rounding, value)),
            Scalar::BFloat16 => Ok(self.code.convert(Type::Bf16, Type::F32, ptx_rounding, value)),
            _ => Ok(self.encode_float8(to, value, rounding)),
        }
    }
}

fn ptx_rounding(rounding: Rounding) -> PtxRounding {
    match rounding {
        Rounding::NearestEven => PtxRounding::Nearest,
        Rounding::TowardsZero => PtxRounding::Zero,
    }
}
