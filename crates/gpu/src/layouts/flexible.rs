//! Flexible values: those that are cheaper to compute again than to convert.

use tegula_ir::{BinaryOp, Function, Op, RegionId, Scalar, UnaryOp, Value};

/// For each value, whether it is computed in every layout in which it is wanted.
pub(super) fn flexible_values(function: &Function) -> Vec<bool> {
    let mut flexible = vec![false; function.value_count()];
    region(function, function.body, &mut flexible);
    flexible
}

fn region(function: &Function, id: RegionId, flexible: &mut [bool]) {
    for &op in &function.region(id).ops {
        let data = function.op(op);
        for region_id in data.op.regions() {
            if !matches!(data.op, Op::Reduce { .. } | Op::Scan { .. } | Op::MapElementwise { .. }) {
                region(function, region_id, flexible);
            }
        }
        let is_block = |value: Value| !function.ty(value).is_scalar();
        for &result in &data.results {
            if !is_block(result) {
                continue;
            }
            let mut all = true;
            data.op.for_each_operand(|value| all &= flexible[value.0 as usize] || !is_block(value));
            flexible[result.0 as usize] = match &data.op {
                Op::Arange { .. } | Op::Splat { .. } | Op::Broadcast { .. } | Op::ExpandDims { .. } => true,
                Op::Transpose { .. } => true,
                Op::Reshape { value } => reshapes_in_place(function, *value, result),
                op => all && is_cheap(function, op, result),
            };
        }
    }
}

/// Whether a reshape leaves every element where it is: neither shape is padded.
pub(super) fn reshapes_in_place(function: &Function, from: Value, to: Value) -> bool {
    let (from, to) = (&function.ty(from).shape, &function.ty(to).shape);
    from.rank() > 0 && !crate::padding::is_padded(from) && !crate::padding::is_padded(to)
}

fn is_cheap(function: &Function, op: &Op, result: Value) -> bool {
    let narrow = function.ty(result).element.as_scalar().is_none_or(|scalar| !scalar.is_float8());
    match op {
        Op::Unary { op: UnaryOp::Not | UnaryOp::Abs, .. } => narrow,
        Op::Binary { op, .. } => match op {
            BinaryOp::Div | BinaryOp::Rem => {
                function.ty(result).element.as_scalar().is_some_and(|scalar| {
                    scalar.is_int() && !matches!(scalar, Scalar::Int64 | Scalar::UInt64)
                })
            }
            BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot | BinaryOp::NextAfter | BinaryOp::Remainder => {
                false
            }
            _ => narrow,
        },
        Op::Compare { .. } | Op::Select { .. } | Op::AddPointer { .. } | Op::Annotate { .. } => true,
        Op::Bitcast { .. } => true,
        Op::Cast { value, .. } => {
            narrow && function.ty(*value).element.as_scalar().is_none_or(|scalar| !scalar.is_float8())
        }
        _ => false,
    }
}
