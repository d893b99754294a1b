//! Expressions.

use super::branches::Condition;
use super::names::{Binding, Unusable};
use super::{Lowering, RED_ZONE, Result, STACK_SEGMENT, already_reported, closest, constants};
use crate::builtin::{self, operators};
use crate::host::HostValue;
use crate::lower::PythonFunction;
use crate::value::Value;
use ruff_python_ast::{
    BoolOp, CmpOp, Expr, ExprBoolOp, ExprCompare, ExprListComp, ExprSlice, Number, Operator, UnaryOp,
};
use ruff_text_size::Ranged;
use tegula_ir::{Diagnostic, UnaryOp as Unary};

/// Expressions and calls nested deeper than this are refused.
const MAX_DEPTH: u32 = 2000;

impl Lowering<'_, '_> {
    /// Evaluates an expression. Afterwards errors and operations refer to it.
    pub(super) fn expression(&mut self, expression: &Expr) -> Result<Value> {
        self.at(expression.range());
        if self.depth >= MAX_DEPTH {
            return Err(self.error(format!("expressions are nested more than {MAX_DEPTH} deep here")));
        }
        self.depth += 1;
        let value = stacker::maybe_grow(RED_ZONE, STACK_SEGMENT, || self.evaluate(expression));
        self.depth -= 1;
        if value.is_ok() {
            self.at(expression.range());
        }
        value
    }

    fn evaluate(&mut self, expression: &Expr) -> Result<Value> {
        let range = expression.range();
        match expression {
            Expr::Name(name) => self.name(name.id.as_str()),
            Expr::NumberLiteral(literal) => number(&literal.value)
                .ok_or_else(|| self.error("this number does not fit in 128 bits, or is complex")),
            Expr::StringLiteral(literal) => Ok(Value::Str(literal.value.to_str().into())),
            Expr::BooleanLiteral(literal) => Ok(Value::Bool(literal.value)),
            Expr::NoneLiteral(_) => Ok(Value::None),
            Expr::EllipsisLiteral(_) => Ok(Value::Ellipsis),
            Expr::FString(text) => self.f_string(text),
            Expr::Tuple(tuple) => self.tuple(&tuple.elts),
            Expr::List(list) => self.tuple(&list.elts),
            Expr::ListComp(comprehension) => self.list_comprehension(comprehension),
            Expr::Attribute(attribute) => {
                let value = self.expression(&attribute.value)?;
                self.at(range);
                self.attribute(&value, attribute.attr.as_str())
            }
            Expr::Subscript(subscript) => {
                let value = self.expression(&subscript.value)?;
                let index = self.expression(&subscript.slice)?;
                self.at(range);
                self.subscript(&value, &index)
            }
            Expr::Slice(slice) => self.slice(slice),
            Expr::BinOp(operation) => {
                let lhs = self.expression(&operation.left);
                let rhs = self.expression(&operation.right);
                let (lhs, rhs) = self.both(lhs, rhs)?;
                self.at(range);
                self.binary(operation.op, &lhs, &rhs)
            }
            Expr::UnaryOp(operation) => {
                let value = self.expression(&operation.operand)?;
                self.at(range);
                self.unary(operation.op, &value)
            }
            Expr::BoolOp(operation) => self.logical(operation),
            Expr::Compare(comparison) => self.comparison(comparison),
            Expr::If(conditional) => self.conditional_expression(conditional),
            Expr::Call(call) => self.call_expression(call),
            unsupported => Err(self.unsupported_expression(unsupported)),
        }
    }

    /// Two values, or the error of either; that of the other is reported, so that neither is lost.
    pub(super) fn both<A, B>(&mut self, a: Result<A>, b: Result<B>) -> Result<(A, B)> {
        match (a, b) {
            (Ok(a), Ok(b)) => Ok((a, b)),
            (Err(first), Err(second)) => {
                self.report(*first);
                Err(second)
            }
            (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
        }
    }

    /// What a name stands for: a local, a name of the host, or one of Python's own.
    fn name(&mut self, name: &str) -> Result<Value> {
        match self.frame().names.get(name) {
            Some(Binding::Value(value, _) | Binding::Constant(value, _)) => return Ok(value.clone()),
            Some(Binding::Unusable(reason)) => {
                let reason = reason.clone();
                return Err(self.unusable(&reason));
            }
            Some(Binding::Poisoned) => return Err(already_reported()),
            None => {}
        }
        let function = self.frame().function;
        let python = PythonFunction::from_name(name).map(Value::Python);
        match self.host.global(function, name) {
            // A host that knows Python's own functions as such has nothing to add to them.
            Some(HostValue::PlainFunction { .. } | HostValue::Other(..)) if python.is_some() => {}
            Some(
                HostValue::None
                | HostValue::Bool(_)
                | HostValue::Int(_)
                | HostValue::Float(_)
                | HostValue::Str(_)
                | HostValue::Tuple(..),
            ) => {
                let message = format!(
                    "the global variable `{name}` is not a constexpr: a kernel is compiled once, and would not see it change"
                );
                let help = format!(
                    "declare it as `{name} = tl.constexpr(...)`, or pass it to the kernel as a parameter"
                );
                return Err(Box::new(self.error(message).with_help(help)));
            }
            Some(value) => return Ok(Value::from(value)),
            None => {}
        }
        if let Some(python) = python {
            return Ok(python);
        }
        let globals = self.host.global_names(function);
        let locals = self.frame().names.keys().map(|name| name.as_str());
        let hint = closest(name, locals.chain(globals.iter().map(String::as_str))).map(str::to_owned);
        let error = self.error(format!("the name `{name}` is not defined"));
        Err(match hint {
            Some(hint) => Box::new(error.with_help(format!("did you mean `{hint}`?"))),
            None => error,
        })
    }

    /// The error of using a name that has no value here.
    pub(super) fn unusable(&self, reason: &Unusable) -> Box<Diagnostic> {
        let mut error = *self.error(&reason.message);
        for (span, text) in &reason.labels {
            error = error.with_label(*span, text);
        }
        if let Some(help) = &reason.help {
            error = error.with_help(help);
        }
        Box::new(error)
    }

    fn tuple(&mut self, elements: &[Expr]) -> Result<Value> {
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            match element {
                Expr::Starred(starred) => {
                    let value = self.expression(&starred.value)?;
                    items.extend(self.items(&value)?);
                }
                element => items.push(self.expression(element)?),
            }
        }
        Ok(Value::Tuple(items.into(), None))
    }

    /// `[element for target in iterated if condition]`, over what is known at compile time.
    fn list_comprehension(&mut self, comprehension: &ExprListComp) -> Result<Value> {
        let [generator] = &comprehension.generators[..] else {
            return Err(self.error("a comprehension with several `for` is not supported in a kernel"));
        };
        let iterated = self.expression(&generator.iter)?;
        let iterated = self.items(&iterated)?;
        // The target is a name of the comprehension's own.
        let names = self.frame().names.clone();
        let mut results = Vec::new();
        let mut fault = None;
        for item in iterated {
            let evaluate_item = || -> Result<()> {
                self.assign(&generator.target, item)?;
                for test in &generator.ifs {
                    let condition = self.expression(test)?;
                    match self.condition(&condition, "a comprehension")? {
                        Condition::Known(true) => {}
                        Condition::Known(false) => return Ok(()),
                        Condition::Runtime(_) => {
                            return Err(
                                self.error("the condition of a comprehension must be known at compile time")
                            );
                        }
                    }
                }
                results.push(self.expression(&comprehension.elt)?);
                Ok(())
            };
            if let Err(error) = evaluate_item() {
                fault = Some(error);
                break;
            }
        }
        self.frame_mut().names = names;
        match fault {
            Some(error) => Err(error),
            None => Ok(Value::Tuple(results.into(), None)),
        }
    }

    fn slice(&mut self, slice: &ExprSlice) -> Result<Value> {
        let mut bound = |bound: &Option<Box<Expr>>| match bound {
            Some(bound) => self.expression(bound),
            None => Ok(Value::None),
        };
        Ok(Value::Slice(Box::new([bound(&slice.lower)?, bound(&slice.upper)?, bound(&slice.step)?])))
    }

    /// `value[index]`.
    fn subscript(&mut self, value: &Value, index: &Value) -> Result<Value> {
        if let Some(method) = self.operator_method(value, "__getitem__") {
            return self.call(&method, std::slice::from_ref(index), &[]);
        }
        match value {
            Value::Tensor(_) => operators::subscript(self, value, index),
            Value::Tuple(items, _) => match index {
                Value::Slice(bounds) => {
                    let picked = self.sliced(items.len(), bounds)?;
                    Ok(Value::Tuple(picked.map(|index| items[index].clone()).collect(), None))
                }
                index => Ok(items[self.element(items.len(), index)?].clone()),
            },
            Value::Str(text) => {
                let letters: Vec<char> = text.chars().collect();
                let picked: String = match index {
                    Value::Slice(bounds) => {
                        self.sliced(letters.len(), bounds)?.map(|index| letters[index]).collect()
                    }
                    index => letters[self.element(letters.len(), index)?].to_string(),
                };
                Ok(Value::Str(picked.into()))
            }
            other => Err(self.error(format!("{} cannot be subscripted", self.describe(other)))),
        }
    }

    fn element(&self, length: usize, index: &Value) -> Result<usize> {
        let number = match index {
            Value::Int(index) => *index,
            Value::Bool(index) => i128::from(*index),
            other => {
                let message = format!(
                    "the index of a tuple must be a constexpr int, but this is {}",
                    self.describe(other)
                );
                return Err(self.error(message));
            }
        };
        let from_start = if number < 0 { number + length as i128 } else { number };
        if (0..length as i128).contains(&from_start) {
            Ok(from_start as usize)
        } else {
            Err(self.error(format!(
                "the index {number} is out of range: there {}",
                if length == 1 { "is 1 item".to_owned() } else { format!("are {length} items") }
            )))
        }
    }

    /// The indices that a slice picks out of `length` items.
    fn sliced(&self, length: usize, bounds: &[Value; 3]) -> Result<impl Iterator<Item = usize> + use<>> {
        let number = |value: &Value| match value {
            Value::None => Ok(None),
            Value::Int(value) => Ok(Some(*value)),
            other => Err(self.error(format!(
                "a bound of a slice must be a constexpr int, but this is {}",
                self.describe(other)
            ))),
        };
        let step = number(&bounds[2])?.unwrap_or(1);
        if step == 0 {
            return Err(self.error("the step of a slice must not be 0"));
        }
        let length = length as i128;
        // Python's rule: bounds count from the end if negative, and are clipped to where the walk can start and end.
        let (least, most) = if step > 0 { (0, length) } else { (-1, length - 1) };
        let clip =
            |bound: i128| (if bound < 0 { bound.saturating_add(length) } else { bound }).clamp(least, most);
        let start = number(&bounds[0])?.map_or(if step > 0 { least } else { most }, clip);
        let stop = number(&bounds[1])?.map_or(if step > 0 { most } else { least }, clip);
        let inside = move |index: &i128| if step > 0 { *index < stop } else { *index > stop };
        let walk = std::iter::successors(Some(start), move |index| index.checked_add(step));
        Ok(walk.take_while(inside).map(|index| index as usize))
    }

    /// `lhs op rhs`.
    pub(super) fn binary(&mut self, op: Operator, lhs: &Value, rhs: &Value) -> Result<Value> {
        let name = op.dunder();
        if let Some(method) = self.operator_method(lhs, name) {
            return self.call(&method, std::slice::from_ref(rhs), &[]);
        }
        if let Some(method) = self.operator_method(rhs, &format!("__r{}", name.trim_start_matches('_'))) {
            return self.call(&method, std::slice::from_ref(lhs), &[]);
        }
        if matches!(lhs, Value::Tensor(_)) || matches!(rhs, Value::Tensor(_)) {
            if matches!(lhs, Value::Tuple(..)) || matches!(rhs, Value::Tuple(..)) {
                return Err(self.no_operator(op.as_str(), lhs, rhs));
            }
            return operators::binary(self, op, lhs, rhs);
        }
        match constants::binary(op, lhs, rhs) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(self.no_operator(op.as_str(), lhs, rhs)),
            Err(fact) => Err(self.error(fact)),
        }
    }

    fn no_operator(&self, op: &str, lhs: &Value, rhs: &Value) -> Box<Diagnostic> {
        self.error(format!("`{op}` is not defined for {} and {}", self.describe(lhs), self.describe(rhs)))
    }

    /// `op value`.
    fn unary(&mut self, op: UnaryOp, value: &Value) -> Result<Value> {
        match (op, value) {
            (UnaryOp::Not, Value::Tensor(tensor)) => {
                let truth = self.truth_of(*tensor);
                Ok(Value::Tensor(self.builder.unary(Unary::Not, truth)))
            }
            (_, Value::Tensor(_)) => operators::unary(self, op, value),
            _ => match constants::unary(op, value) {
                Ok(Some(value)) => Ok(value),
                Ok(None) => {
                    Err(self.error(format!("`{}` is not defined for {}", op.as_str(), self.describe(value))))
                }
                Err(fact) => Err(self.error(fact)),
            },
        }
    }

    /// `a and b`, `a or b`: constants decide at compile time, as in Python; run-time values are combined without skipping any.
    fn logical(&mut self, operation: &ExprBoolOp) -> Result<Value> {
        let mut combined: Option<Value> = None;
        let mut last = Value::None;
        for operand in &operation.values {
            let value = self.expression(operand)?;
            last = value.clone();
            let Value::Tensor(tensor) = value else {
                let truth = match constants::truth(&value) {
                    Some(truth) => truth,
                    None => return Err(self.error(format!("{} has no truth value", self.describe(&value)))),
                };
                let decides = truth == (operation.op == BoolOp::Or);
                // Python's answer to a constant that decides is that constant, whatever was computed before it.
                if decides {
                    return Ok(value);
                }
                continue;
            };
            let truth = Value::Tensor(self.truth_of(tensor));
            combined = Some(match combined {
                None => truth,
                Some(before) => {
                    self.at(operation.range());
                    let op = if operation.op == BoolOp::And { Operator::BitAnd } else { Operator::BitOr };
                    operators::binary(self, op, &before, &truth)?
                }
            });
        }
        Ok(combined.unwrap_or(last))
    }

    /// `a < b`, and chains such as `a < b <= c`, whose operands are evaluated once.
    fn comparison(&mut self, comparison: &ExprCompare) -> Result<Value> {
        let mut lhs = self.expression(&comparison.left)?;
        let mut combined: Option<Value> = None;
        for (op, comparator) in comparison.ops.iter().zip(&comparison.comparators) {
            let rhs = self.expression(comparator)?;
            self.at(comparison.range());
            let answer = self.compare(*op, &lhs, &rhs)?;
            self.warn_of_truth(*op, &lhs, &rhs, comparator);
            combined = Some(match (combined, answer) {
                (_, Value::Bool(false)) => return Ok(Value::Bool(false)),
                (None, answer) => answer,
                (Some(before), Value::Bool(true)) => before,
                (Some(Value::Bool(true)), answer) => answer,
                (Some(before), answer) => operators::binary(self, Operator::BitAnd, &before, &answer)?,
            });
            lhs = rhs;
        }
        Ok(combined.unwrap_or(Value::Bool(true)))
    }

    fn compare(&mut self, op: CmpOp, lhs: &Value, rhs: &Value) -> Result<Value> {
        let identity = matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn);
        if !identity && (matches!(lhs, Value::Tensor(_)) || matches!(rhs, Value::Tensor(_))) {
            // What is no number differs from every tensor.
            let other = if matches!(lhs, Value::Tensor(_)) { rhs } else { lhs };
            return match (op, other) {
                (CmpOp::Eq, Value::None | Value::Str(_)) => Ok(Value::Bool(false)),
                (CmpOp::NotEq, Value::None | Value::Str(_)) => Ok(Value::Bool(true)),
                _ => operators::compare(self, op, lhs, rhs),
            };
        }
        match constants::compare(op, lhs, rhs) {
            Some(answer) => Ok(Value::Bool(answer)),
            None => Err(self.no_operator(op.as_str(), lhs, rhs)),
        }
    }

    /// A function of the language that lowers a piece of Python's syntax.
    pub(super) fn language_function(&self, name: &str) -> Result<Value> {
        match builtin::find("", name) {
            Some(function) => Ok(function.into()),
            None => Err(self.error(format!("`tl.{name}` is not available"))),
        }
    }

    fn unsupported_expression(&self, expression: &Expr) -> Box<Diagnostic> {
        let (what, help) = match expression {
            Expr::Lambda(_) => ("`lambda`", "define a function outside of the kernel, with `@triton.jit`"),
            Expr::Dict(_) => ("a `dict`", "use a tuple or a named tuple"),
            Expr::DictComp(_) => ("a `dict` comprehension", "use a list comprehension over a tuple"),
            Expr::Set(_) | Expr::SetComp(_) => ("a `set`", "use a tuple"),
            Expr::Generator(_) => ("a generator expression", "use a list comprehension over a tuple"),
            Expr::Yield(_) | Expr::YieldFrom(_) => ("`yield`", "a kernel is no generator: return a tuple"),
            Expr::Await(_) => ("`await`", ""),
            Expr::Named(_) => ("`:=`", "assign in a statement of its own"),
            Expr::BytesLiteral(_) => ("a `bytes` literal", ""),
            Expr::TString(_) => ("a t-string", ""),
            Expr::Starred(_) => ("`*` here", ""),
            _ => ("this expression", ""),
        };
        let error = self.error(format!("{what} is not supported in a kernel"));
        if help.is_empty() { error } else { Box::new(error.with_help(help)) }
    }
}

/// The value of a numeric literal; `None` if it is complex or does not fit in 128 bits.
pub(super) fn number(number: &Number) -> Option<Value> {
    match number {
        Number::Float(value) => Some(Value::Float(*value)),
        Number::Complex { .. } => None,
        Number::Int(int) => {
            if let Some(value) = int.as_i64() {
                return Some(Value::Int(i128::from(value)));
            }
            let text = int.to_string().replace('_', "").to_ascii_lowercase();
            let (digits, radix) = match text.get(..2) {
                Some("0x") => (&text[2..], 16),
                Some("0o") => (&text[2..], 8),
                Some("0b") => (&text[2..], 2),
                _ => (&text[..], 10),
            };
            i128::from_str_radix(digits, radix).ok().map(Value::Int)
        }
    }
}
