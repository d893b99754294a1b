//! Functions of real numbers, in fp32 and fp64.

use super::{Lowering, Result};
use tegula_ir::{BinaryOp, UnaryOp};
use tegula_ptx::{Comparison, Math, MathOp, Operand, Precision, Register, Rounding, Type};

impl Lowering<'_> {
    /// A function of one argument.
    pub(super) fn real_unary(&mut self, op: UnaryOp, ty: Type, x: Register) -> Result<Register> {
        match (op, ty) {
            (UnaryOp::Sqrt, _) => Ok(self.code.rounded(MathOp::SquareRoot, ty, &[x.into()])),
            (UnaryOp::Exp2, Type::F32) => Ok(self.approximate(MathOp::Exp2, x)),
            (UnaryOp::Exp, Type::F32) => Ok(self.exp(x)),
            (UnaryOp::Rsqrt, Type::F32) => Ok(self.approximate(MathOp::ReciprocalSquareRoot, x)),
            _ => self.refuse(&format!("`{op:?}` of {ty:?}")),
        }
    }

    /// A function of two arguments.
    pub(super) fn real_binary(
        &mut self,
        op: BinaryOp,
        ty: Type,
        a: Register,
        b: Register,
    ) -> Result<Register> {
        let _ = (a, b);
        self.refuse(&format!("`{op:?}` of {ty:?}"))
    }

    fn approximate(&mut self, op: MathOp, x: Register) -> Register {
        let math = Math::new(op, Type::F32, x, [x.into()]);
        self.code.math_with(math.precision(Precision::Approximate))
    }

    /// `exp(x)` in fp32: the product with log2(e) in two parts, so that its rounding does not show in the result.
    fn exp(&mut self, x: Register) -> Register {
        let code = &mut self.code;
        let high = code.rounded(MathOp::Mul, Type::F32, &[x.into(), std::f32::consts::LOG2_E.into()]);
        let whole = code.convert(Type::F32, Type::F32, Some(Rounding::NearestInteger), high);
        // 2 to the power of 128 is no number, but half of it is.
        let whole = code.math(MathOp::Min, Type::F32, &[whole.into(), 127f32.into()]);
        let negative = code.math(MathOp::Neg, Type::F32, &[whole.into()]);
        let rest = code.rounded(
            MathOp::Fma,
            Type::F32,
            &[x.into(), std::f32::consts::LOG2_E.into(), negative.into()],
        );
        let low = Operand::from(1.925_963e-8_f32);
        let rest = code.rounded(MathOp::Fma, Type::F32, &[x.into(), low, rest.into()]);
        let fraction = self.approximate(MathOp::Exp2, rest);
        let scale = self.approximate(MathOp::Exp2, whole);
        let product = self.code.rounded(MathOp::Mul, Type::F32, &[fraction.into(), scale.into()]);
        // Infinite arguments have no rest.
        let code = &mut self.code;
        let large = code.compare(Comparison::Greater, Type::F32, x.into(), 89f32.into());
        let product = code.select(Type::B32, large, f32::INFINITY.into(), product.into());
        let small = code.compare(Comparison::Less, Type::F32, x.into(), (-104f32).into());
        code.select(Type::B32, small, 0f32.into(), product.into())
    }
}
