//! Functions of real numbers.
//!
//! In fp64 they are written with [`Real`], a file for each family. In fp32 the frequent ones have instructions or short sequences of their
//! own (`single`), and the others are computed in fp64 and rounded once.

mod error_function;
mod exponential;
mod gamma;
mod hyperbolic;
mod real;
mod remainder;
mod single;
mod trigonometric;

pub(crate) use real::Real;

use super::{Lowering, Result};
use tegula_ir::{BinaryOp, UnaryOp};
use tegula_ptx::{
    Comparison, Extent, Linkage, Math, MathOp, Operand, Precision, Register, Rounding, Space, Type, Variable,
};

impl Lowering<'_> {
    /// A function of one argument.
    pub(super) fn real_unary(&mut self, op: UnaryOp, ty: Type, x: Register) -> Result<Register> {
        match (op, ty) {
            (UnaryOp::Sqrt, _) => return Ok(self.code.rounded(MathOp::SquareRoot, ty, &[x.into()])),
            (UnaryOp::Exp2, Type::F32) => return Ok(self.exp2(x)),
            (UnaryOp::Log, Type::F32) => return Ok(self.single_log(x, false)),
            (UnaryOp::Log2, Type::F32) => return Ok(self.single_log(x, true)),
            (UnaryOp::Sin, Type::F32) => return Ok(self.single_sine(x, false)),
            (UnaryOp::Cos, Type::F32) => return Ok(self.single_sine(x, true)),
            (UnaryOp::Tanh, Type::F32) => return Ok(self.single_tanh(x)),
            (UnaryOp::Erf, Type::F32) => return Ok(self.single_erf(x)),
            (UnaryOp::Exp, Type::F32) => return Ok(self.exp(x)),
            (UnaryOp::Rsqrt, Type::F32) => return Ok(self.approximate(MathOp::ReciprocalSquareRoot, x)),
            _ => {}
        }
        if matches!(op, UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan | UnaryOp::Tgamma | UnaryOp::Lgamma) {
            self.declare_two_over_pi();
        }
        let x = self.widened_real(ty, x);
        let mut real = Real { code: &mut self.code };
        let result = match op {
            UnaryOp::Exp => real.exp(x),
            UnaryOp::Exp2 => real.exp2(x),
            UnaryOp::Expm1 => real.expm1(x),
            UnaryOp::Log => real.log(x),
            UnaryOp::Log2 => real.log2(x),
            UnaryOp::Log10 => real.log10(x),
            UnaryOp::Log1p => real.log1p(x),
            UnaryOp::Sin => real.sin(x),
            UnaryOp::Cos => real.cos(x),
            UnaryOp::Tan => real.tan(x),
            UnaryOp::Asin => real.asin(x),
            UnaryOp::Acos => real.acos(x),
            UnaryOp::Atan => real.atan(x),
            UnaryOp::Sinh => real.sinh(x),
            UnaryOp::Cosh => real.cosh(x),
            UnaryOp::Tanh => real.tanh(x),
            UnaryOp::Asinh => real.asinh(x),
            UnaryOp::Acosh => real.acosh(x),
            UnaryOp::Atanh => real.atanh(x),
            UnaryOp::Cbrt => real.cbrt(x),
            UnaryOp::Erf => real.erf(x),
            UnaryOp::Erfc => real.erfc(x),
            UnaryOp::Erfinv => real.erfinv(x),
            UnaryOp::Lgamma => real.lgamma(x),
            UnaryOp::Tgamma => real.tgamma(x),
            UnaryOp::Round => real.round(x),
            UnaryOp::Rsqrt => {
                let root = real.sqrt(x);
                let one = real.number(1.0);
                real.div(one, root)
            }
            _ => return self.refuse(&format!("`{op:?}` of floats")),
        };
        Ok(self.narrowed_real(ty, result))
    }

    /// A function of two arguments.
    pub(super) fn real_binary(
        &mut self,
        op: BinaryOp,
        ty: Type,
        a: Register,
        b: Register,
    ) -> Result<Register> {
        if op == BinaryOp::NextAfter {
            return Ok(self.next_after(ty, a, b));
        }
        let (a, b) = (self.widened_real(ty, a), self.widened_real(ty, b));
        let mut real = Real { code: &mut self.code };
        let result = match op {
            BinaryOp::Pow => real.pow(a, b),
            BinaryOp::Atan2 => real.atan2(a, b),
            BinaryOp::Hypot => real.hypot(a, b),
            BinaryOp::Rem => real.modulo(a, b),
            BinaryOp::Remainder => real.remainder(a, b),
            _ => return self.refuse(&format!("`{op:?}` of floats")),
        };
        Ok(self.narrowed_real(ty, result))
    }

    fn widened_real(&mut self, ty: Type, x: Register) -> Register {
        if ty == Type::F32 { self.code.convert(Type::F64, Type::F32, None, x) } else { x }
    }

    fn narrowed_real(&mut self, ty: Type, x: Register) -> Register {
        let nearest = Some(Rounding::Nearest);
        if ty == Type::F32 { self.code.convert(Type::F32, Type::F64, nearest, x) } else { x }
    }

    fn approximate(&mut self, op: MathOp, x: Register) -> Register {
        let math = Math::new(op, Type::F32, x, [x.into()]);
        self.code.math_with(math.precision(Precision::Approximate))
    }

    /// The table that large angles are reduced with.
    fn declare_two_over_pi(&mut self) {
        let name = trigonometric::TABLE;
        if self.module.variables.iter().any(|variable| &*variable.name == name) {
            return;
        }
        let bytes: Vec<u8> = trigonometric::TWO_OVER_PI.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.module.variables.push(Variable {
            linkage: Linkage::Internal,
            space: Space::Global,
            align: 8,
            ty: Type::B8,
            name: name.into(),
            extent: Extent::Array(bytes.len() as u64),
            bytes,
        });
    }

    /// `exp(x)` in fp32, as a power of two: the rounding of the product shows in the result, the more the larger `x` is.
    fn exp(&mut self, x: Register) -> Register {
        let log2_e = Operand::from(std::f32::consts::LOG2_E);
        let product = self.code.rounded(MathOp::Mul, Type::F32, &[x.into(), log2_e]);
        self.approximate(MathOp::Exp2, product)
    }

    /// The next number towards another, by its bits, which count numbers from zero.
    fn next_after(&mut self, ty: Type, x: Register, towards: Register) -> Register {
        let wide = ty == Type::F64;
        let (bits, signed) = if wide { (Type::B64, Type::S64) } else { (Type::B32, Type::S32) };
        let top = Operand::Integer(if wide { i64::MIN } else { 1 << 31 });
        let code = &mut self.code;
        let up = code.math(MathOp::Add, signed, &[x.into(), Operand::Integer(1)]);
        let down = code.math(MathOp::Sub, signed, &[x.into(), Operand::Integer(1)]);
        // Away from zero is up by one, for either sign.
        let greater = code.compare(Comparison::Greater, ty, towards.into(), x.into());
        let negative = code.compare(Comparison::Less, signed, x.into(), Operand::Integer(0));
        let away = code.math(MathOp::Xor, Type::Pred, &[greater.into(), negative.into()]);
        let moved = code.select(bits, away, up.into(), down.into());
        let zero = if wide { Operand::from(0f64) } else { Operand::from(0f32) };
        let from_zero = code.compare(Comparison::Equal, ty, x.into(), zero);
        let sign = code.math(MathOp::And, bits, &[towards.into(), top]);
        let least = code.math(MathOp::Or, bits, &[sign.into(), Operand::Integer(1)]);
        let moved = code.select(bits, from_zero, least.into(), moved.into());
        let same = code.compare(Comparison::Equal, ty, x.into(), towards.into());
        let moved = code.select(bits, same, towards.into(), moved.into());
        let nan = code.compare(Comparison::Unordered, ty, x.into(), towards.into());
        let sum = code.rounded(MathOp::Add, ty, &[x.into(), towards.into()]);
        code.select(bits, nan, sum.into(), moved.into())
    }
}
