//! Python's operators on tensors. Operators on constants alone are folded by the core (`lower/constants.rs`).

pub use super::subscript::subscript;

use super::{arithmetic, bitwise, comparison};
use crate::lower::{Lowering, Result};
use crate::value::Value;
use ruff_python_ast::{CmpOp, Operator, UnaryOp};
use tegula_ir::{BinaryOp, Predicate};

/// `lhs op rhs`, where at least one operand is a [`Value::Tensor`] and the other is that or a constant.
///
/// # Errors
/// If the operator does not take operands of these types, or their shapes do not fit.
pub fn binary(cx: &mut Lowering<'_, '_>, op: Operator, lhs: &Value, rhs: &Value) -> Result<Value> {
    let result = match op {
        Operator::Add => arithmetic::add(cx, lhs, rhs),
        Operator::Sub => arithmetic::subtract(cx, lhs, rhs),
        Operator::Mult => arithmetic::multiply(cx, lhs, rhs),
        Operator::Div => arithmetic::divide(cx, lhs, rhs),
        Operator::FloorDiv => arithmetic::floor_divide(cx, lhs, rhs),
        Operator::Mod => arithmetic::remainder(cx, lhs, rhs),
        Operator::Pow => arithmetic::power(cx, lhs, rhs),
        Operator::LShift => bitwise::shift_left(cx, lhs, rhs),
        Operator::RShift => bitwise::shift_right(cx, lhs, rhs),
        Operator::BitAnd => bitwise::logic(cx, BinaryOp::And, lhs, rhs),
        Operator::BitOr => bitwise::logic(cx, BinaryOp::Or, lhs, rhs),
        Operator::BitXor => bitwise::logic(cx, BinaryOp::Xor, lhs, rhs),
        Operator::MatMult => {
            return Err(Box::new(
                cx.error("`@` is not an operator of blocks").with_help("call `tl.dot(a, b)` instead"),
            ));
        }
    };
    result.map(Value::Tensor)
}

/// `op value` of a [`Value::Tensor`]; never `not`, which the core lowers.
///
/// # Errors
/// If the operator does not take an operand of this type.
pub fn unary(cx: &mut Lowering<'_, '_>, op: UnaryOp, value: &Value) -> Result<Value> {
    let tensor = cx.to_tensor(value)?;
    let result = match op {
        UnaryOp::UAdd => tensor,
        UnaryOp::USub => arithmetic::negate(cx, tensor)?,
        UnaryOp::Invert => bitwise::invert(cx, tensor)?,
        UnaryOp::Not => {
            let truth = comparison::truth(cx, tensor);
            bitwise::invert(cx, truth)?
        }
    };
    Ok(Value::Tensor(result))
}

/// `lhs op rhs`, where at least one operand is a [`Value::Tensor`]; never `is`, `is not`, `in`, `not in`.
///
/// # Errors
/// If the operands do not compare, or their shapes do not fit.
pub fn compare(cx: &mut Lowering<'_, '_>, op: CmpOp, lhs: &Value, rhs: &Value) -> Result<Value> {
    let predicate = match op {
        CmpOp::Eq => Predicate::Eq,
        CmpOp::NotEq => Predicate::Ne,
        CmpOp::Lt => Predicate::Lt,
        CmpOp::LtE => Predicate::Le,
        CmpOp::Gt => Predicate::Gt,
        CmpOp::GtE => Predicate::Ge,
        CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn => {
            return Err(cx.error(format!("`{}` does not apply to tensors", op.as_str())));
        }
    };
    comparison::compare(cx, predicate, lhs, rhs).map(Value::Tensor)
}
