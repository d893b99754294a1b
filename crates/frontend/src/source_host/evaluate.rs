//! Expressions outside kernels: constants, names, attributes, arithmetic, and calls that are known.

use super::known::Known;
use super::{Object, SourceHost};
use crate::builtin;
use crate::host::HostValue;
use crate::lower::{PythonFunction, constants};
use crate::value::Value;
use ruff_python_ast::{BoolOp, Expr, Number, UnaryOp};
use std::collections::BTreeMap;

/// Evaluates the expressions of one module, or of a function in it.
pub(super) struct Evaluator<'h> {
    pub host: &'h SourceHost,
    pub module: usize,
    /// The local names of a function; they hide those of the module.
    pub locals: Option<&'h BTreeMap<String, HostValue>>,
    /// How many calls deep this is.
    pub depth: u32,
}

impl Evaluator<'_> {
    /// The value of an expression.
    ///
    /// # Errors
    /// What Python would raise, or that only Python could know the value.
    pub fn evaluate(&self, expression: &Expr) -> Result<HostValue, String> {
        match expression {
            Expr::NoneLiteral(_) => Ok(HostValue::None),
            Expr::BooleanLiteral(literal) => Ok(HostValue::Bool(literal.value)),
            Expr::StringLiteral(literal) => Ok(HostValue::Str(literal.value.to_str().to_owned())),
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Int(value) => value
                    .to_string()
                    .parse()
                    .or_else(|_| i128::from_str_radix(value.to_string().trim_start_matches("0x"), 16))
                    .map(HostValue::Int)
                    .map_err(|_| "the integer is too large".to_owned()),
                Number::Float(value) => Ok(HostValue::Float(*value)),
                Number::Complex { .. } => Err("complex numbers have no place in kernels".to_owned()),
            },
            Expr::Name(name) => self.name(&name.id),
            Expr::Attribute(attribute) => {
                let value = self.evaluate(&attribute.value)?;
                self.attribute(&value, &attribute.attr)
                    .ok_or_else(|| format!("AttributeError: no attribute `{}`", attribute.attr))
            }
            Expr::Tuple(tuple) => self.tuple(&tuple.elts),
            Expr::List(list) => self.tuple(&list.elts),
            Expr::UnaryOp(unary) => {
                let value = self.evaluate(&unary.operand)?;
                if unary.op == UnaryOp::Not {
                    return truth(&value).map(|truth| HostValue::Bool(!truth));
                }
                let result = constants::unary(unary.op, &Value::from(value.clone()))?;
                plain(result).map(|result| wrap_like(&[&value], result))
            }
            Expr::BinOp(binary) => {
                let (left, right) = (self.evaluate(&binary.left)?, self.evaluate(&binary.right)?);
                let result =
                    constants::binary(binary.op, &Value::from(left.clone()), &Value::from(right.clone()))?;
                plain(result).map(|result| wrap_like(&[&left, &right], result))
            }
            Expr::BoolOp(operation) => {
                let mut last = HostValue::None;
                for operand in &operation.values {
                    last = self.evaluate(operand)?;
                    if truth(&last)? == (operation.op == BoolOp::Or) {
                        break;
                    }
                }
                Ok(last)
            }
            Expr::Compare(comparison) => {
                let mut left = self.evaluate(&comparison.left)?;
                for (op, right) in comparison.ops.iter().zip(&comparison.comparators) {
                    let right = self.evaluate(right)?;
                    match constants::compare(*op, &Value::from(left), &Value::from(right.clone())) {
                        Some(true) => left = right,
                        Some(false) => return Ok(HostValue::Bool(false)),
                        None => return Err("TypeError: the values cannot be compared".to_owned()),
                    }
                }
                Ok(HostValue::Bool(true))
            }
            Expr::If(choice) => {
                let taken = truth(&self.evaluate(&choice.test)?)?;
                self.evaluate(if taken { &choice.body } else { &choice.orelse })
            }
            Expr::Subscript(subscript) => {
                let (value, index) = (self.evaluate(&subscript.value)?, self.evaluate(&subscript.slice)?);
                item(&value, &index)
            }
            Expr::Call(call) => {
                let function = self.evaluate(&call.func)?;
                let positional = call
                    .arguments
                    .args
                    .iter()
                    .map(|argument| self.evaluate(argument))
                    .collect::<Result<_, _>>()?;
                let keywords = call
                    .arguments
                    .keywords
                    .iter()
                    .map(|keyword| match &keyword.arg {
                        Some(name) => Ok((name.to_string(), self.evaluate(&keyword.value)?)),
                        None => Err("`**` is not followed here".to_owned()),
                    })
                    .collect::<Result<_, _>>()?;
                self.call(&function, positional, keywords)
            }
            _ => Err("the expression needs a running Python".to_owned()),
        }
    }

    fn tuple(&self, items: &[Expr]) -> Result<HostValue, String> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Expr::Starred(starred) => match self.evaluate(&starred.value)? {
                    HostValue::Tuple(inner, _) => values.extend(inner),
                    _ => return Err("TypeError: only a tuple can be unpacked".to_owned()),
                },
                item => values.push(self.evaluate(item)?),
            }
        }
        Ok(HostValue::Tuple(values, None))
    }

    fn name(&self, name: &str) -> Result<HostValue, String> {
        if let Some(value) = self.locals.and_then(|locals| locals.get(name)) {
            return Ok(value.clone());
        }
        let module = self.host.modules.get(self.module);
        if let Some(value) = module.and_then(|module| module.names.get(name)) {
            return Ok(value.clone());
        }
        if name == "__name__" {
            // Never `__main__`: what a script does when it is run is no business of its kernels.
            return Ok(HostValue::Str("module".to_owned()));
        }
        PythonFunction::from_name(name)
            .map(HostValue::Python)
            .ok_or_else(|| format!("NameError: name `{name}` is not defined"))
    }

    /// An attribute of a module, a class or a named tuple.
    pub fn attribute(&self, value: &HostValue, name: &str) -> Option<HostValue> {
        match value {
            HostValue::Module(object) | HostValue::Other(object, _) => {
                crate::host::Host::attribute(self.host, *object, name)
            }
            HostValue::Language(module) => builtin::find(module, name),
            HostValue::Tuple(items, Some(class)) => {
                let place = class.fields.iter().position(|field| field == name)?;
                items.get(place).cloned()
            }
            HostValue::Constexpr(inner) if name == "value" => Some((**inner).clone()),
            HostValue::Constexpr(inner) => self.attribute(inner, name),
            _ => None,
        }
    }

    fn call(
        &self,
        function: &HostValue,
        positional: Vec<HostValue>,
        keywords: Vec<(String, HostValue)>,
    ) -> Result<HostValue, String> {
        match function {
            HostValue::Python(function) if keywords.is_empty() => python_call(*function, &positional),
            HostValue::ConstexprFunction(object) => {
                self.host.call_at_depth(*object, positional, keywords, self.depth + 1)
            }
            HostValue::TupleClass(class) => {
                let mut items: Vec<Option<HostValue>> = positional.into_iter().map(Some).collect();
                items.resize(class.fields.len().max(items.len()), None);
                for (name, value) in keywords {
                    let place = class.fields.iter().position(|field| *field == name);
                    *place
                        .and_then(|place| items.get_mut(place))
                        .ok_or_else(|| format!("TypeError: {} has no field `{name}`", class.name))? =
                        Some(value);
                }
                let complete: Option<Vec<HostValue>> = items.into_iter().collect();
                match complete {
                    Some(items) if items.len() == class.fields.len() => {
                        Ok(HostValue::Tuple(items, Some(class.clone())))
                    }
                    _ => Err(format!("TypeError: {} takes {} values", class.name, class.fields.len())),
                }
            }
            _ => Err("the call needs a running Python".to_owned()),
        }
    }

    /// Whether a decorator is (or makes, when called) the one that is meant.
    pub fn is_decorator(&self, decorator: &Expr, meant: Known) -> bool {
        let function = match decorator {
            Expr::Call(call) => &*call.func,
            other => other,
        };
        match self.evaluate(function) {
            Ok(HostValue::Other(object, _)) => {
                matches!(self.host.object(object), Some(Object::Known(known)) if *known == meant)
            }
            _ => false,
        }
    }
}

/// A function of Python's own, of constants.
fn python_call(function: PythonFunction, arguments: &[HostValue]) -> Result<HostValue, String> {
    let values: Vec<Value> = arguments.iter().cloned().map(Value::from).collect();
    let refuse = || Err(format!("`{}` of these arguments needs a running Python", function.name()));
    match (function, values.as_slice()) {
        (PythonFunction::Constexpr, [_]) => Ok(match &arguments[0] {
            constant @ HostValue::Constexpr(_) => constant.clone(),
            other => HostValue::Constexpr(Box::new(other.clone())),
        }),
        (PythonFunction::Float, [Value::Str(text)]) => match text.trim().to_lowercase().parse() {
            Ok(value) => Ok(HostValue::Float(value)),
            Err(_) => Err(format!("ValueError: could not convert string to float: `{text}`")),
        },
        (PythonFunction::Float, [Value::Int(value)]) => Ok(HostValue::Float(*value as f64)),
        (PythonFunction::Float, [Value::Float(value)]) => Ok(HostValue::Float(*value)),
        (PythonFunction::Int, [Value::Int(value)]) => Ok(HostValue::Int(*value)),
        (PythonFunction::Int, [Value::Bool(value)]) => Ok(HostValue::Int(i128::from(*value))),
        (PythonFunction::Int, [Value::Float(value)]) if value.abs() < 1e38 => {
            Ok(HostValue::Int(value.trunc() as i128))
        }
        (PythonFunction::Bool, [_]) => truth(&arguments[0]).map(HostValue::Bool),
        (PythonFunction::Len, [Value::Tuple(items, _)]) => Ok(HostValue::Int(items.len() as i128)),
        (PythonFunction::Len, [Value::Str(text)]) => Ok(HostValue::Int(text.chars().count() as i128)),
        (PythonFunction::Tuple | PythonFunction::List, [Value::Tuple(..)]) => Ok(arguments[0].clone()),
        (PythonFunction::Abs, [Value::Int(value)]) => Ok(HostValue::Int(value.wrapping_abs())),
        (PythonFunction::Abs, [Value::Float(value)]) => Ok(HostValue::Float(value.abs())),
        (PythonFunction::Min | PythonFunction::Max, values) => {
            let list: Vec<HostValue> = match (values, arguments) {
                ([Value::Tuple(..)], [HostValue::Tuple(items, _)]) => items.clone(),
                _ => arguments.to_vec(),
            };
            let smaller = function == PythonFunction::Min;
            let mut best = list.first().cloned().ok_or("ValueError: the sequence is empty")?;
            for item in list.into_iter().skip(1) {
                let op = if smaller { ruff_python_ast::CmpOp::Lt } else { ruff_python_ast::CmpOp::Gt };
                match constants::compare(op, &Value::from(item.clone()), &Value::from(best.clone())) {
                    Some(true) => best = item,
                    Some(false) => {}
                    None => return refuse(),
                }
            }
            Ok(best)
        }
        _ => refuse(),
    }
}

/// An element of a tuple.
fn item(value: &HostValue, index: &HostValue) -> Result<HostValue, String> {
    let (HostValue::Tuple(items, _), Value::Int(index)) = (value, Value::from(index.clone())) else {
        return Err("only tuples can be indexed here, by an integer".to_owned());
    };
    let place = if index < 0 { index + items.len() as i128 } else { index };
    usize::try_from(place)
        .ok()
        .and_then(|place| items.get(place))
        .cloned()
        .ok_or_else(|| "IndexError: tuple index out of range".to_owned())
}

/// Python's truth of a constant.
pub(super) fn truth(value: &HostValue) -> Result<bool, String> {
    constants::truth(&Value::from(value.clone()))
        .ok_or_else(|| "the truth of the value is not known here".to_owned())
}

/// The result of an operator.
pub(super) fn plain(result: Option<Value>) -> Result<HostValue, String> {
    let value = result.ok_or("TypeError: unsupported operand types")?;
    host_value(&value).ok_or_else(|| "the result has no place here".to_owned())
}

fn host_value(value: &Value) -> Option<HostValue> {
    Some(match value {
        Value::None => HostValue::None,
        Value::Bool(value) => HostValue::Bool(*value),
        Value::Int(value) => HostValue::Int(*value),
        Value::Float(value) => HostValue::Float(*value),
        Value::Str(text) => HostValue::Str(text.to_string()),
        Value::Type(scalar) => HostValue::Type(*scalar),
        Value::PointerType(pointer) => HostValue::PointerType(*pointer),
        Value::Tuple(items, class) => {
            HostValue::Tuple(items.iter().map(host_value).collect::<Option<_>>()?, class.clone())
        }
        _ => return None,
    })
}

/// Arithmetic with a `tl.constexpr` gives one.
fn wrap_like(operands: &[&HostValue], result: HostValue) -> HostValue {
    if operands.iter().any(|operand| matches!(operand, HostValue::Constexpr(_))) {
        HostValue::Constexpr(Box::new(result))
    } else {
        result
    }
}
