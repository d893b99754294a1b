//! Python's operators on tensors. Operators on constants alone are folded by the core (`lower/constants.rs`).

use crate::lower::{Lowering, Result};
use crate::value::Value;
use ruff_python_ast::{CmpOp, Operator, UnaryOp};

/// `lhs op rhs`, where at least one operand is a [`Value::Tensor`] and the other is that or a constant.
pub fn binary(cx: &mut Lowering<'_, '_>, op: Operator, _lhs: &Value, _rhs: &Value) -> Result<Value> {
    Err(cx.error(format!("`{}` of tensors is not supported", op.as_str())))
}

/// `op value` of a [`Value::Tensor`]; never `not`, which the core lowers.
pub fn unary(cx: &mut Lowering<'_, '_>, op: UnaryOp, _value: &Value) -> Result<Value> {
    Err(cx.error(format!("`{}` of a tensor is not supported", op.as_str())))
}

/// `lhs op rhs`, where at least one operand is a [`Value::Tensor`]; never `is`, `is not`, `in`, `not in`.
pub fn compare(cx: &mut Lowering<'_, '_>, op: CmpOp, _lhs: &Value, _rhs: &Value) -> Result<Value> {
    Err(cx.error(format!("`{}` of tensors is not supported", op.as_str())))
}

/// `value[index]` of a [`Value::Tensor`]. The index is an integer, a [`Value::Slice`], [`Value::None`], [`Value::Ellipsis`], a
/// tensor, or a tuple of these.
pub fn subscript(cx: &mut Lowering<'_, '_>, _value: &Value, _index: &Value) -> Result<Value> {
    Err(cx.error("a tensor is not subscriptable"))
}
