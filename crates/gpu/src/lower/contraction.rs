//! Contraction: a product that is only added to something is not rounded by itself.
//!
//! `a * b + c`, `a * b - c` and `c - a * b` of floats become one fused multiply-add each, as in C compilers and in Triton
//! (`enable_fp_fusion`). The instruction is chosen here, not by the assembler, so that the PTX says what is computed.

use super::{Lowering, Result};
use crate::users::{User, Users};
use tegula_ir::{BinaryOp, Function, Op, OpId, Scalar, Value, ValueDef};
use tegula_ptx::{MathOp, Register, Type};

/// A sum of a product and something else.
pub(super) struct Contraction {
    /// The factors, and what is added.
    pub operands: [Value; 3],
    negative_product: bool,
    negative_addend: bool,
    scalar: Scalar,
}

/// The contraction that an operation is, if it is one.
pub(super) fn of(function: &Function, users: &Users, id: OpId) -> Option<Contraction> {
    let data = function.op(id);
    let Op::Binary { op: op @ (BinaryOp::Add | BinaryOp::Sub), lhs, rhs } = data.op else { return None };
    let scalar = function.ty(data.results[0]).element.as_scalar()?;
    if !matches!(scalar, Scalar::Float32 | Scalar::Float64) {
        return None;
    }
    let subtracts = op == BinaryOp::Sub;
    let contraction = |[a, b]: [Value; 2], addend, negative_product, negative_addend| {
        Some(Contraction { operands: [a, b, addend], negative_product, negative_addend, scalar })
    };
    if let Some(factors) = product(function, users, lhs, id) {
        return contraction(factors, rhs, false, subtracts);
    }
    product(function, users, rhs, id).and_then(|factors| contraction(factors, lhs, subtracts, false))
}

/// The factors of a product that nothing but `user` uses.
fn product(function: &Function, users: &Users, value: Value, user: OpId) -> Option<[Value; 2]> {
    let ValueDef::Result { op, .. } = function.value(value).def else { return None };
    let Op::Binary { op: BinaryOp::Mul, lhs, rhs } = function.op(op).op else { return None };
    // What a loop carries may be overwritten between the product and the sum.
    let stays = |value: Value| !matches!(function.value(value).def, ValueDef::RegionArg { .. });
    (users.of(value) == [User::Op(user)] && stays(lhs) && stays(rhs)).then_some([lhs, rhs])
}

impl Lowering<'_> {
    /// One element of a contraction.
    pub(super) fn contracted(
        &mut self,
        contraction: &Contraction,
        arguments: &[Register],
    ) -> Result<Register> {
        let ty = if contraction.scalar == Scalar::Float64 { Type::F64 } else { Type::F32 };
        let [a, b, c] = [arguments[0], arguments[1], arguments[2]];
        let mut negated = |negative: bool, register: Register| match negative {
            true => self.code.math(MathOp::Neg, ty, &[register.into()]),
            false => register,
        };
        let (a, c) = (negated(contraction.negative_product, a), negated(contraction.negative_addend, c));
        Ok(self.code.rounded(MathOp::Fma, ty, &[a.into(), b.into(), c.into()]))
    }
}
