//! What usually is a mistake although it has a meaning: warnings that the source alone, or a constant in it, gives rise to.
//!
//! Each rule holds for every launch of the kernel, so none of them can be wrong; `docs/warnings.md` states them for users.
//! What depends on the arguments of a launch is found in the `passes` crate.

use super::Lowering;
use super::describe::float_text;
use super::parameters::{float_type, integer_type};
use crate::value::{Record, Value};
use ruff_python_ast::{CmpOp, Expr, UnaryOp};
use ruff_text_size::Ranged;
use tegula_ir::{Diagnostic, Op, Predicate, Scalar};

impl Lowering<'_, '_> {
    /// Warns of an unsigned value that is compared with a negative constant.
    ///
    /// The constant is an `int32` (or `int64`) first. Beside a narrower unsigned type both become that, and the answer is always the
    /// same; beside an unsigned type that is as wide, the constant wraps to a large number, which is nearly never meant. `==` and
    /// `!=` with such a number are left alone: `x == -1` asks for all bits.
    pub fn warn_of_sign(&mut self, predicate: Predicate, lhs: &Value, rhs: &Value) {
        let (value, number, predicate) = match (lhs, rhs) {
            (Value::Tensor(value), Value::Int(number)) => (*value, *number, predicate),
            (Value::Int(number), Value::Tensor(value)) => (*value, *number, mirrored(predicate)),
            _ => return,
        };
        let Some(scalar) = self.ty(value).element.as_scalar() else { return };
        let Some(own) = integer_type(number) else { return };
        if number >= 0 || !scalar.is_unsigned() || scalar == Scalar::Int1 {
            return;
        }
        let name = scalar.language_name();
        let warning = if own.bits() > scalar.bits() {
            let answer = matches!(predicate, Predicate::Gt | Predicate::Ge | Predicate::Ne);
            Diagnostic::warning(self.span, format!("this comparison is always {answer}"))
                .with_text(format!("{name} is never negative, and {number} is"))
        } else {
            let wrapped = number + (1i128 << scalar.bits());
            let largest = wrapped == (1i128 << scalar.bits()) - 1;
            let message = match predicate {
                Predicate::Eq | Predicate::Ne => return,
                Predicate::Gt if largest => "this comparison is always false".to_owned(),
                Predicate::Le if largest => "this comparison is always true".to_owned(),
                _ => format!("this compares with {wrapped}, not with {number}"),
            };
            Diagnostic::warning(self.span, message)
                .with_text(format!("{number} becomes {name} here, which makes it {wrapped}"))
        };
        self.warn(warning.with_help("cast the unsigned value to a wider signed type first: `.to(tl.int64)`"));
    }

    /// Warns of a comparison that is true for every element whatever its constants are: `tl.arange(0, N) < N`.
    ///
    /// Both are the same expression, in the same function, so they do not merely happen to be equal for this launch.
    pub(super) fn warn_of_truth(&mut self, op: CmpOp, lhs: &Value, rhs: &Value, bound: &Expr) {
        let (CmpOp::Lt, Value::Tensor(lhs), Value::Int(number)) = (op, lhs, rhs) else { return };
        let mut value = *lhs;
        let arange = loop {
            match self.builder.function().defining_op(value) {
                Some(data) => match data.op {
                    Op::ExpandDims { value: inner, .. }
                    | Op::Broadcast { value: inner }
                    | Op::Annotate { value: inner, .. } => value = inner,
                    Op::Arange { start: 0, end } if i128::from(end) == *number => break data.span,
                    _ => return,
                },
                None => return,
            }
        };
        let frame = self.frame();
        let function = self.place(frame.syntax.definition.range());
        let inside = arange.file == function.file && (function.start..function.end).contains(&arange.start);
        let place = self.place(bound.range());
        let Some(file) = self.builder.function().sources.get(function.file) else { return };
        let text = |start: u32, end: u32| file.text.get(start as usize..end as usize);
        let (Some(call), Some(bound)) = (text(arange.start, arange.end), text(place.start, place.end)) else {
            return;
        };
        let end = call.strip_suffix(')').and_then(|call| call.rsplit_once(',')).map(|(_, end)| end.trim());
        if !inside || end != Some(bound.trim()) {
            return;
        }
        let bound = bound.trim();
        let warning = Diagnostic::warning(self.span, "this comparison is true for every element")
            .with_label(arange, format!("these are less than {bound} already"))
            .with_help(
                "a mask compares with the extent of the data, which may be less than that of the block",
            );
        self.warn(warning);
    }

    /// Warns where a constant outside fp32's range makes the result fp64, although the other operand is narrower.
    pub fn warn_of_widening(&mut self, lhs: &Value, rhs: &Value, result: Scalar) {
        if result != Scalar::Float64 {
            return;
        }
        for (constant, other) in [(lhs, rhs), (rhs, lhs)] {
            let Value::Tensor(other) = other else { continue };
            let other = *other;
            let Some(narrow) = self.ty(other).element.as_scalar() else { continue };
            let implicit = match constant {
                Value::Float(number) => float_type(*number) == Scalar::Float64,
                Value::Tensor(tensor) => self.implicit_doubles.contains(tensor),
                _ => false,
            };
            if !implicit || narrow == Scalar::Float64 {
                continue;
            }
            let what = match constant {
                Value::Float(number) => format!("the constant {}", float_text(*number)),
                _ => "a constant".to_owned(),
            };
            let message =
                format!("{what} is outside fp32's normal range, so this computes in fp64, not in fp32");
            let help = "write a constant from 1.18e-38 to 3.4e38, or cast the other operand to `tl.float64` to say so";
            self.warn(Diagnostic::warning(self.span, message).with_help(help));
        }
    }

    /// Warns of a loop that runs never, because of the sign of a step written as a number.
    ///
    /// Bounds that come from elsewhere may well make a range empty; only what is written in the `range` itself counts.
    pub(super) fn warn_of_empty_range(&mut self, iterated: &Expr, range: &Record) {
        let Expr::Call(call) = iterated else { return };
        let arguments = &call.arguments.args;
        let (start, stop, step) = match &arguments[..] {
            [start, stop] => (Some(start), stop, None),
            [start, stop, step] => (Some(start), stop, Some(step)),
            _ => return,
        };
        let number = |index: usize| match range.fields.get(index) {
            Some((_, Value::Int(number))) => Some(*number),
            _ => None,
        };
        let (Some(first), Some(last), Some(by)) = (number(0), number(1), number(2)) else { return };
        let written = start.is_some_and(is_number) && step.is_none_or(is_number);
        let never = if by < 0 { first < last } else { first > last && is_number(stop) };
        if !written || !never {
            return;
        }
        let message =
            format!("this loop is never entered: from {first}, a step of {by} leads away from {last}");
        let help = match by {
            ..0 => "a negative step counts down: the start must be the larger of the two",
            _ => "to count down, give a negative step: `range(start, stop, -1)`",
        };
        self.warn(Diagnostic::warning(self.span, message).with_help(help));
    }
}

/// Whether an expression is a number as written, perhaps with a sign.
fn is_number(expression: &Expr) -> bool {
    match expression {
        Expr::NumberLiteral(_) => true,
        Expr::UnaryOp(unary) => {
            matches!(unary.op, UnaryOp::USub | UnaryOp::UAdd) && is_number(&unary.operand)
        }
        _ => false,
    }
}

/// The predicate with its operands exchanged.
fn mirrored(predicate: Predicate) -> Predicate {
    match predicate {
        Predicate::Lt => Predicate::Gt,
        Predicate::Le => Predicate::Ge,
        Predicate::Gt => Predicate::Lt,
        Predicate::Ge => Predicate::Le,
        Predicate::Eq | Predicate::Ne => predicate,
    }
}
