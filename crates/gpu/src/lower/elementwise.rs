//! Arithmetic, logic and comparisons: one element at a time, the same for scalars and for the registers of blocks.
//!
//! Equal operands give equal results, so an element that several registers share (a row's offset in all its columns) is
//! computed once.

use super::contraction::{self, Contraction};
use super::element::{bits_type, class_of, integer_type};
use super::magnitude::magnitude_bits;
use super::{Lowering, Registers, Result};
use crate::layouts::LayoutId;
use rustc_hash::FxHashMap;
use tegula_ir::{BinaryOp, Element, Literal, Op, OpId, Predicate, Rounding, Scalar, UnaryOp, Value};
use tegula_ptx::{
    Class, Comparison, Math, MathOp, MulPart, Operand, Precision, Register, Rounding as PtxRounding, Type,
};

/// What is computed of each element.
#[derive(Clone, Copy)]
enum Computation<'a> {
    Op(&'a Op),
    Contraction(&'a Contraction),
}

impl Lowering<'_> {
    pub(super) fn elementwise(&mut self, id: OpId) -> Result<()> {
        let function = self.function;
        let data = function.op(id);
        let result = data.results[0];
        let mut operands: Vec<Value> = Vec::new();
        data.op.for_each_operand(|value| operands.push(value));
        let contracted =
            if self.options.contracts { contraction::of(function, &self.users, id) } else { None };
        let computation = match &contracted {
            Some(contraction) => {
                operands = contraction.operands.to_vec();
                Computation::Contraction(contraction)
            }
            None => Computation::Op(&data.op),
        };
        if self.is_scalar(result) {
            let arguments: Vec<Register> = operands.iter().map(|&value| self.scalar(value)).collect();
            let register = self.compute(computation, result, &arguments)?;
            self.scalars.insert(result, register);
            return Ok(());
        }
        if let Some(home) = self.layouts.home_of(result) {
            let registers = self.elements(computation, result, &operands, home)?;
            return self.define(result, home, registers);
        }
        for layout in self.layouts.wanted[result.0 as usize].clone() {
            let registers = self.elements(computation, result, &operands, layout)?;
            self.blocks.insert((result, layout), registers);
        }
        Ok(())
    }

    fn elements(
        &mut self,
        computation: Computation<'_>,
        result: Value,
        operands: &[Value],
        layout: LayoutId,
    ) -> Result<Registers> {
        let mut operands: Vec<Registers> = operands.iter().map(|&value| self.block(value, layout)).collect();
        if let Computation::Op(Op::AddPointer { pointer, offset }) = computation {
            // Many pointers move by one offset: its bytes are computed once.
            let (pointer, offset) = (self.element(*pointer), self.scalar_type(*offset));
            let mut bytes: FxHashMap<Register, Register> = FxHashMap::default();
            operands[1] = (operands[1].iter())
                .map(|&index| {
                    *bytes.entry(index).or_insert_with(|| self.offset_in_bytes(pointer, offset, index))
                })
                .collect();
        }
        if let Computation::Op(op) = computation
            && let Some(registers) = self.in_pairs(op, result, &operands, layout)
        {
            return Ok(registers);
        }
        if let Computation::Op(Op::Cast { value, rounding: Rounding::NearestEven }) = computation
            && let Some(registers) = self.narrowed_pairs(*value, result, &operands[0])
        {
            return Ok(registers);
        }
        let mut known: FxHashMap<Vec<Register>, Register> = FxHashMap::default();
        let mut registers = Vec::new();
        for index in 0..self.layouts.set.registers(layout) {
            let arguments: Vec<Register> = operands.iter().map(|operand| operand[index]).collect();
            let register = match known.get(&arguments) {
                Some(&register) => register,
                None => {
                    let register = self.compute(computation, result, &arguments)?;
                    known.insert(arguments, register);
                    register
                }
            };
            registers.push(register);
        }
        Ok(registers.into())
    }

    /// fp32 numbers as 16-bit floats, two at a time; `None` for other types, and where few numbers are different.
    fn narrowed_pairs(&mut self, from: Value, to: Value, operand: &Registers) -> Option<Registers> {
        let (from, to) = (self.scalar_type(from), self.scalar_type(to));
        let narrow = from == Scalar::Float32 && matches!(to, Scalar::Float16 | Scalar::BFloat16);
        let mut different: Vec<Register> = operand.to_vec();
        different.sort_unstable();
        different.dedup();
        if !narrow || different.len() != operand.len() || operand.len() < 2 {
            return None;
        }
        let pairs = operand.chunks_exact(2).flat_map(|pair| self.narrow_pair(to, [pair[0], pair[1]]));
        Some(pairs.collect())
    }

    fn compute(
        &mut self,
        computation: Computation<'_>,
        result: Value,
        arguments: &[Register],
    ) -> Result<Register> {
        match computation {
            Computation::Op(op) => self.element_op(op, result, arguments),
            Computation::Contraction(contraction) => self.contracted(contraction, arguments),
        }
    }

    fn element_op(&mut self, op: &Op, result: Value, arguments: &[Register]) -> Result<Register> {
        match op {
            Op::Unary { op, value } => self.unary(*op, self.scalar_type(*value), arguments[0]),
            Op::Binary { op, .. } => self.binary(*op, self.scalar_type(result), arguments[0], arguments[1]),
            Op::Compare { predicate, lhs, .. } => {
                Ok(self.compare(*predicate, self.element(*lhs), arguments[0], arguments[1]))
            }
            Op::Select { .. } => {
                Ok(self.select_element(self.element(result), arguments[0], arguments[1], arguments[2]))
            }
            Op::Fma { .. } => self.fma(self.scalar_type(result), arguments),
            Op::Cast { value, rounding } => {
                let (from, to) = (self.scalar_type(*value), self.scalar_type(result));
                if from.is_int() && to.is_float() {
                    let fits = magnitude_bits(self.function, *value) <= f32::MANTISSA_DIGITS;
                    return self.integer_to_float(from, to, fits, arguments[0]);
                }
                self.cast(from, to, *rounding, arguments[0])
            }
            Op::Bitcast { value } => {
                Ok(self.bitcast(self.element(*value), self.element(result), arguments[0]))
            }
            Op::AddPointer { pointer, offset } => {
                let (pointer, scalar) = (self.element(*pointer), self.scalar_type(*offset));
                let bytes = match self.is_scalar(*offset) {
                    true => self.offset_in_bytes(pointer, scalar, arguments[1]),
                    false => arguments[1],
                };
                Ok(self.code.math(MathOp::Add, Type::S64, &[arguments[0].into(), bytes.into()]))
            }
            Op::Annotate { .. } => Ok(arguments[0]),
            _ => unreachable!("called for elementwise operations"),
        }
    }

    /// A register that holds a constant.
    pub(super) fn literal(&mut self, element: Element, literal: Literal) -> Register {
        let scalar = element.as_scalar().unwrap_or(Scalar::UInt64);
        match (literal, scalar) {
            (Literal::Int(value), Scalar::Int1) => self.code.truth(value != 0),
            (Literal::Float(value), Scalar::Float64) => self.code.copy(Type::F64, value),
            (Literal::Float(value), Scalar::Float32) => self.code.copy(Type::F32, value as f32),
            (Literal::Float(value), Scalar::Float16) => {
                let bits = half::f16::from_f64(value).to_bits();
                self.code.copy(Type::B16, Operand::Integer(bits.into()))
            }
            (Literal::Float(value), Scalar::BFloat16) => {
                let bits = half::bf16::from_f64(value).to_bits();
                self.code.copy(Type::B16, Operand::Integer(bits.into()))
            }
            (Literal::Float(value), scalar) => {
                let bits = super::float8::encode_constant(value, scalar);
                self.code.copy(Type::B32, Operand::Integer(bits.into()))
            }
            (Literal::Int(value), scalar) if scalar.bits() == 64 => {
                self.code.copy(Type::B64, Operand::Integer(value))
            }
            (Literal::Int(value), _) => self.code.copy(Type::B32, Operand::Integer(i64::from(value as u32))),
        }
    }

    /// Cuts a 32-bit result to a narrow integer type.
    pub(super) fn normalise(&mut self, scalar: Scalar, register: Register) -> Register {
        let (ty, signed) = match scalar {
            Scalar::Int8 | Scalar::Int16 => (Type::S32, true),
            Scalar::UInt8 | Scalar::UInt16 => (Type::U32, false),
            scalar if scalar.is_float8() => (Type::U32, false),
            _ => return register,
        };
        if signed {
            let sources = [register.into(), Operand::Integer(0), Operand::Integer(scalar.bits().into())];
            return self.code.math_with(Math::new(MathOp::ExtractBits, ty, register, sources));
        }
        let mask = Operand::Integer((1 << scalar.bits()) - 1);
        self.code.math(MathOp::And, Type::B32, &[register.into(), mask])
    }

    pub(super) fn unary(&mut self, op: UnaryOp, scalar: Scalar, value: Register) -> Result<Register> {
        if scalar.is_float() {
            return self.float_unary(op, scalar, value);
        }
        let ty = integer_type(scalar.into());
        let bits = class_of(scalar.into()).declared();
        let width = i64::from(scalar.bits());
        let code = &mut self.code;
        let register = match op {
            UnaryOp::Not => code.math(MathOp::Not, bits, &[value.into()]),
            UnaryOp::Abs if scalar.is_signed() => code.math(MathOp::Abs, ty, &[value.into()]),
            UnaryOp::Abs => return Ok(value),
            UnaryOp::Popcount | UnaryOp::LeadingZeros if scalar == Scalar::Int1 => {
                let opposite = code.math(MathOp::Not, Type::Pred, &[value.into()]);
                return Ok(if op == UnaryOp::Popcount { value } else { opposite });
            }
            UnaryOp::ReverseBits if scalar == Scalar::Int1 => return Ok(value),
            UnaryOp::Popcount => {
                let value = if width < 32 { self.zero_extended(scalar, value) } else { value };
                let count = self.code.math(MathOp::PopulationCount, bits, &[value.into()]);
                self.widened_count(scalar, count)
            }
            UnaryOp::LeadingZeros => {
                let value = if width < 32 { self.zero_extended(scalar, value) } else { value };
                let mut count = self.code.math(MathOp::LeadingZeros, bits, &[value.into()]);
                if width < 32 {
                    let extra = Operand::Integer(32 - width);
                    count = self.code.math(MathOp::Sub, Type::U32, &[count.into(), extra]);
                }
                self.widened_count(scalar, count)
            }
            UnaryOp::ReverseBits => {
                let reversed = code.math(MathOp::ReverseBits, bits, &[value.into()]);
                if width < 32 {
                    let shift = Operand::Integer(32 - width);
                    code.math(MathOp::ShiftRight, Type::U32, &[reversed.into(), shift])
                } else {
                    reversed
                }
            }
            _ => return self.refuse(&format!("`{op:?}` of {scalar}")),
        };
        Ok(self.normalise(scalar, register))
    }

    fn zero_extended(&mut self, scalar: Scalar, value: Register) -> Register {
        let mask = Operand::Integer((1 << scalar.bits()) - 1);
        self.code.math(MathOp::And, Type::B32, &[value.into(), mask])
    }

    fn widened_count(&mut self, scalar: Scalar, count: Register) -> Register {
        if scalar.bits() == 64 { self.code.convert(Type::U64, Type::U32, None, count) } else { count }
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        scalar: Scalar,
        a: Register,
        b: Register,
    ) -> Result<Register> {
        if scalar.is_float() {
            return self.float_binary(op, scalar, a, b);
        }
        if scalar == Scalar::Int1 {
            return self.truth_binary(op, a, b);
        }
        let ty = integer_type(scalar.into());
        let bits = bits_type(scalar.into());
        let operands = [a.into(), b.into()];
        let code = &mut self.code;
        let register = match op {
            BinaryOp::Add => code.math(MathOp::Add, ty, &operands),
            BinaryOp::Sub => code.math(MathOp::Sub, ty, &operands),
            BinaryOp::Mul if scalar.bits() == 32 => code.lower_half(ty, a, b),
            BinaryOp::Mul => code.multiply(ty, operands[0], operands[1]),
            BinaryOp::Div | BinaryOp::Rem => self.divide(op, ty, a, b),
            BinaryOp::And => code.math(MathOp::And, bits, &operands),
            BinaryOp::Or => code.math(MathOp::Or, bits, &operands),
            BinaryOp::Xor => code.math(MathOp::Xor, bits, &operands),
            BinaryOp::Min | BinaryOp::MinNan => code.math(MathOp::Min, ty, &operands),
            BinaryOp::Max | BinaryOp::MaxNan => code.math(MathOp::Max, ty, &operands),
            BinaryOp::Shl | BinaryOp::Shr => self.shift(op, scalar, a, b),
            BinaryOp::MulHigh if scalar.bits() == 32 => code.upper_half(ty, a, b),
            BinaryOp::MulHigh if scalar.bits() == 64 => {
                let math = Math::new(MathOp::Mul, ty, a, operands);
                code.math_with(math.part(MulPart::High))
            }
            BinaryOp::MulHigh => {
                let product = code.multiply(ty, operands[0], operands[1]);
                let width = Operand::Integer(scalar.bits().into());
                code.math(MathOp::ShiftRight, ty, &[product.into(), width])
            }
            _ => return self.refuse(&format!("`{op:?}` of {scalar}")),
        };
        Ok(self.normalise(scalar, register))
    }

    fn truth_binary(&mut self, op: BinaryOp, a: Register, b: Register) -> Result<Register> {
        let math = match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Xor => MathOp::Xor,
            BinaryOp::Mul | BinaryOp::And | BinaryOp::Min | BinaryOp::MinNan | BinaryOp::Div => MathOp::And,
            BinaryOp::Or | BinaryOp::Max | BinaryOp::MaxNan => MathOp::Or,
            // Shifts by one leave nothing.
            BinaryOp::Shl | BinaryOp::Shr => {
                let stays = self.code.math(MathOp::Not, Type::Pred, &[b.into()]);
                return Ok(self.code.math(MathOp::And, Type::Pred, &[a.into(), stays.into()]));
            }
            BinaryOp::Rem | BinaryOp::MulHigh => return Ok(self.code.truth(false)),
            _ => return self.refuse(&format!("`{op:?}` of i1")),
        };
        Ok(self.code.math(math, Type::Pred, &[a.into(), b.into()]))
    }

    /// A quotient or a remainder, 0 where the divisor is.
    fn divide(&mut self, op: BinaryOp, ty: Type, a: Register, b: Register) -> Register {
        let code = &mut self.code;
        let is_zero = code.compare(Comparison::Equal, ty, b.into(), Operand::Integer(0));
        let math = if op == BinaryOp::Div { MathOp::Div } else { MathOp::Rem };
        let result = code.math(math, ty, &[a.into(), b.into()]);
        let bits = result.class.declared();
        let mut result = code.select(bits, is_zero, Operand::Integer(0), result.into());
        if matches!(ty, Type::S32 | Type::S64) {
            // The least number over -1 overflows, which the hardware leaves open.
            let is_minus_one = code.compare(Comparison::Equal, ty, b.into(), Operand::Integer(-1));
            let exact = match op {
                BinaryOp::Div => code.math(MathOp::Neg, ty, &[a.into()]).into(),
                _ => Operand::Integer(0),
            };
            result = code.select(bits, is_minus_one, exact, result.into());
        }
        result
    }

    fn shift(&mut self, op: BinaryOp, scalar: Scalar, value: Register, amount: Register) -> Register {
        let code = &mut self.code;
        let amount = if amount.class == Class::Bits64 {
            let limited = code.math(MathOp::Min, Type::U64, &[amount.into(), Operand::Integer(64)]);
            code.convert(Type::U32, Type::U64, None, limited)
        } else {
            amount
        };
        let operands = [value.into(), amount.into()];
        match op {
            BinaryOp::Shl => code.math(MathOp::ShiftLeft, bits_type(scalar.into()), &operands),
            _ => code.math(MathOp::ShiftRight, integer_type(scalar.into()), &operands),
        }
    }

    pub(super) fn compare(
        &mut self,
        predicate: Predicate,
        element: Element,
        a: Register,
        b: Register,
    ) -> Register {
        if class_of(element) == Class::Pred {
            let (a, b) = (self.code.number_of(a), self.code.number_of(b));
            return self.code.compare(comparison(predicate, false), Type::U32, a.into(), b.into());
        }
        match element.as_scalar() {
            Some(scalar) if scalar.is_float() => {
                let ty = if scalar == Scalar::Float64 { Type::F64 } else { Type::F32 };
                let (a, b) = (self.widen_float(scalar, a), self.widen_float(scalar, b));
                self.code.compare(comparison(predicate, true), ty, a.into(), b.into())
            }
            _ => self.code.compare(comparison(predicate, false), integer_type(element), a.into(), b.into()),
        }
    }

    fn bitcast(&mut self, from: Element, to: Element, value: Register) -> Register {
        match (class_of(from), class_of(to)) {
            (Class::Pred, Class::Pred) => value,
            (from_class, to_class) if from_class == to_class => {
                self.normalise(to.as_scalar().unwrap_or(Scalar::UInt64), value)
            }
            (Class::Bits32, Class::Bits16) => self.code.convert(Type::U16, Type::U32, None, value),
            (Class::Bits16, _) => {
                let wide = self.code.convert(Type::U32, Type::U16, None, value);
                self.normalise(to.as_scalar().unwrap_or(Scalar::UInt32), wide)
            }
            _ => unreachable!("bit patterns keep their width"),
        }
    }

    /// The bytes by which an offset in elements moves a pointer.
    fn offset_in_bytes(&mut self, pointer: Element, offset: Scalar, index: Register) -> Register {
        let bytes = match pointer {
            Element::Pointer(pointer) => i64::from(pointer.target().bytes()),
            Element::Scalar(scalar) => scalar.bytes().into(),
        };
        let index = if offset == Scalar::Int1 { self.code.number_of(index) } else { index };
        let code = &mut self.code;
        if offset.bits() == 64 {
            return code.multiply(Type::S64, index.into(), Operand::Integer(bytes));
        }
        let ty = if offset.is_signed() { Type::S32 } else { Type::U32 };
        let math = Math::new(MathOp::Mul, ty, index, [index.into(), Operand::Integer(bytes)]);
        code.math_with(math.part(MulPart::Wide))
    }

    fn fma(&mut self, scalar: Scalar, arguments: &[Register]) -> Result<Register> {
        let [a, b, c] = [arguments[0], arguments[1], arguments[2]];
        if scalar.is_int() {
            let product = self.binary(BinaryOp::Mul, scalar, a, b)?;
            return self.binary(BinaryOp::Add, scalar, product, c);
        }
        let ty = match scalar {
            Scalar::Float64 => Type::F64,
            Scalar::Float32 => Type::F32,
            Scalar::Float16 => Type::F16,
            Scalar::BFloat16 => Type::Bf16,
            _ => return self.refuse(&format!("a fused multiply-add of {scalar}")),
        };
        Ok(self.code.rounded(MathOp::Fma, ty, &[a.into(), b.into(), c.into()]))
    }

    /// Narrow floats are computed in fp32, which is wide enough to round once more without harm.
    fn float_binary(&mut self, op: BinaryOp, scalar: Scalar, a: Register, b: Register) -> Result<Register> {
        if op == BinaryOp::CopySign {
            return Ok(self.copy_sign(scalar, a, b));
        }
        if !matches!(scalar, Scalar::Float32 | Scalar::Float64) {
            if op == BinaryOp::NextAfter {
                return self.refuse(&format!("`{op:?}` of {scalar}"));
            }
            let (a, b) = (self.widen_float(scalar, a), self.widen_float(scalar, b));
            let result = self.float_binary(op, Scalar::Float32, a, b)?;
            return self.narrow_float(scalar, result, tegula_ir::Rounding::NearestEven);
        }
        let ty = if scalar == Scalar::Float64 { Type::F64 } else { Type::F32 };
        let operands = [a.into(), b.into()];
        let code = &mut self.code;
        Ok(match op {
            BinaryOp::Add => code.rounded(MathOp::Add, ty, &operands),
            BinaryOp::Sub => code.rounded(MathOp::Sub, ty, &operands),
            BinaryOp::Mul => code.rounded(MathOp::Mul, ty, &operands),
            BinaryOp::Div if ty == Type::F32 => {
                let quotient = Math::new(MathOp::Div, ty, a, operands);
                code.math_with(quotient.precision(Precision::Full))
            }
            BinaryOp::Div | BinaryOp::DivRn => code.rounded(MathOp::Div, ty, &operands),
            BinaryOp::Min => code.math(MathOp::Min, ty, &operands),
            BinaryOp::Max => code.math(MathOp::Max, ty, &operands),
            BinaryOp::MinNan | BinaryOp::MaxNan => {
                let math = if op == BinaryOp::MinNan { MathOp::Min } else { MathOp::Max };
                let chosen = code.math(math, ty, &operands);
                let unordered = code.compare(Comparison::Unordered, ty, a.into(), b.into());
                let nan = code.rounded(MathOp::Add, ty, &operands);
                code.select(ty.untyped(), unordered, nan.into(), chosen.into())
            }
            _ => return self.real_binary(op, ty, a, b),
        })
    }

    /// The magnitude of one number with the sign of another, bit by bit.
    fn copy_sign(&mut self, scalar: Scalar, magnitude: Register, sign: Register) -> Register {
        let ty = bits_type(scalar.into());
        let top = 1i64 << (scalar.bits() - 1);
        let rest = top.wrapping_sub(1);
        let code = &mut self.code;
        let magnitude = code.math(MathOp::And, ty, &[magnitude.into(), Operand::Integer(rest)]);
        let sign = code.math(MathOp::And, ty, &[sign.into(), Operand::Integer(top)]);
        code.math(MathOp::Or, ty, &[magnitude.into(), sign.into()])
    }

    fn float_unary(&mut self, op: UnaryOp, scalar: Scalar, value: Register) -> Result<Register> {
        if op == UnaryOp::Abs {
            let ty = bits_type(scalar.into());
            let rest = (1i64 << (scalar.bits() - 1)).wrapping_sub(1);
            return Ok(self.code.math(MathOp::And, ty, &[value.into(), Operand::Integer(rest)]));
        }
        if !matches!(scalar, Scalar::Float32 | Scalar::Float64) {
            let wide = self.widen_float(scalar, value);
            let result = self.float_unary(op, Scalar::Float32, wide)?;
            return self.narrow_float(scalar, result, tegula_ir::Rounding::NearestEven);
        }
        let ty = if scalar == Scalar::Float64 { Type::F64 } else { Type::F32 };
        let rounding = match op {
            UnaryOp::Floor => Some(PtxRounding::DownInteger),
            UnaryOp::Ceil => Some(PtxRounding::UpInteger),
            UnaryOp::Trunc => Some(PtxRounding::ZeroInteger),
            UnaryOp::RoundEven => Some(PtxRounding::NearestInteger),
            _ => None,
        };
        if rounding.is_some() {
            return Ok(self.code.convert(ty, ty, rounding, value));
        }
        self.real_unary(op, ty, value)
    }
}

/// The comparison of PTX; of floats, the ones that NaN fails but for `ne`.
fn comparison(predicate: Predicate, of_floats: bool) -> Comparison {
    match predicate {
        Predicate::Eq => Comparison::Equal,
        Predicate::Ne if of_floats => Comparison::NotEqualUnordered,
        Predicate::Ne => Comparison::NotEqual,
        Predicate::Lt => Comparison::Less,
        Predicate::Le => Comparison::LessEqual,
        Predicate::Gt => Comparison::Greater,
        Predicate::Ge => Comparison::GreaterEqual,
    }
}

/// The type of bits of a float's width.
pub(super) trait Untyped {
    fn untyped(self) -> Type;
}

impl Untyped for Type {
    fn untyped(self) -> Type {
        Class::of(self).declared()
    }
}
