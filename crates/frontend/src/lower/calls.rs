//! Calls. A jitted function is evaluated in place of its call, with what is constant among its arguments.

use super::arguments::{bind, parameters};
use super::diagnostics::already_reported;
use super::names::{Binding, Environment};
use super::statements::Flow;
use super::{Frame, Lowering, Result, builtin_parameters};
use crate::builtin::Builtin;
use crate::host::{FunctionRef, HostValue, ObjectRef, TupleClass};
use crate::lower::{Parameter, ParameterKind};
use crate::value::Value;
use ruff_python_ast::{Expr, ExprCall, StmtFunctionDef};
use ruff_text_size::Ranged;
use std::sync::Arc;
use tegula_ir::{Diagnostic, FileId, Span};

/// Calls within calls beyond this are taken for a recursion without end.
const MAX_CALLS: usize = 128;

/// The arguments of a call, by position and by name.
type Arguments = (Vec<Value>, Vec<(String, Value)>);

impl Lowering<'_, '_> {
    pub(super) fn call_expression(&mut self, call: &ExprCall) -> Result<Value> {
        let callee = self.expression(&call.func);
        let arguments = self.arguments(call);
        let (callee, (positional, keywords)) = self.both(callee, arguments)?;
        self.at(call.range());
        self.call(&callee, &positional, &keywords)
    }

    /// Evaluates the arguments of a call. The faults of all of them are found.
    fn arguments(&mut self, call: &ExprCall) -> Result<Arguments> {
        let mut arguments = Ok((Vec::new(), Vec::new()));
        for argument in &call.arguments.args {
            let values = match argument {
                Expr::Starred(starred) => {
                    self.expression(&starred.value).and_then(|value| self.items(&value))
                }
                argument => self.expression(argument).map(|value| vec![value]),
            };
            arguments = self.both(arguments, values).map(|((mut positional, keywords), values)| {
                positional.extend(values);
                (positional, keywords)
            });
        }
        for keyword in &call.arguments.keywords {
            let value = match &keyword.arg {
                Some(name) => self.expression(&keyword.value).map(|value| (name.to_string(), value)),
                None => {
                    self.at(keyword.range());
                    Err(self.error("`**` in a call is not supported in a kernel"))
                }
            };
            arguments = self.both(arguments, value).map(|((positional, mut keywords), value)| {
                keywords.push(value);
                (positional, keywords)
            });
        }
        arguments
    }

    /// Calls any callable value: a built-in, a jitted function (of the user or of the prelude), a method, a named-tuple class.
    ///
    /// # Errors
    /// If the value is not callable, the arguments do not fit its parameters, or its body is at fault.
    pub fn call(
        &mut self,
        callee: &Value,
        positional: &[Value],
        keywords: &[(String, Value)],
    ) -> Result<Value> {
        match callee {
            Value::Builtin(builtin) => self.call_builtin(builtin, positional, keywords),
            Value::Function(function) => self.call_function(*function, positional, keywords),
            Value::Method(method) => {
                let (receiver, function) = &**method;
                let positional: Vec<Value> =
                    std::iter::once(receiver.clone()).chain(positional.iter().cloned()).collect();
                self.call(function, &positional, keywords)
            }
            Value::Python(function) => self
                .call_python(*function, positional, keywords)
                .map_err(|error| self.unless_python_knows(error, positional)),
            Value::ConstexprFunction(function) => {
                self.call_constexpr_function(*function, positional, keywords)
            }
            Value::TupleClass(class) if class.is_aggregate() => {
                self.make_aggregate(class, positional, keywords)
            }
            Value::TupleClass(class) => self.make_named_tuple(class, positional, keywords),
            Value::PlainFunction(name) => {
                let message = format!("`{name}` is a plain Python function, which a kernel cannot call");
                let help = format!(
                    "decorate `{name}` with `@triton.jit` if it computes with tensors, or with `@triton.constexpr_function` if it computes constants"
                );
                Err(Box::new(self.error(message).with_help(help)))
            }
            other => match self.operator_method(other, "__call__") {
                Some(method) => self.call(&method, positional, keywords),
                None if self.is_of_python(other) => Err(self.python_knows()),
                None => Err(self.error(format!("{} cannot be called", self.describe(other)))),
            },
        }
    }

    fn call_builtin(
        &mut self,
        builtin: &'static Builtin,
        positional: &[Value],
        keywords: &[(String, Value)],
    ) -> Result<Value> {
        let name = format!("`tl.{}`", builtin.name);
        let bound = bind(&name, builtin_parameters(builtin), positional, keywords);
        let arguments = bound.map_err(|fact| {
            Box::new(
                self.error(fact).with_note(format!("it is `tl.{}({})`", builtin.name, builtin.signature)),
            )
        })?;
        let (outer, span) = (self.builtin.replace(builtin), self.span);
        let result = (builtin.lower)(self, &arguments);
        self.builtin = outer;
        self.span = span;
        self.builder.set_span(span);
        result
    }

    fn call_function(
        &mut self,
        function: FunctionRef,
        positional: &[Value],
        keywords: &[(String, Value)],
    ) -> Result<Value> {
        self.evaluate_function(function, positional, keywords, false).map(|(result, _)| result)
    }

    /// Evaluates a constructor, whose first argument is an aggregate without values; the aggregate with the values that it was given.
    pub(super) fn construct(
        &mut self,
        function: FunctionRef,
        positional: &[Value],
        keywords: &[(String, Value)],
    ) -> Result<Value> {
        let (_, frame) = self.evaluate_function(function, positional, keywords, true)?;
        let name = frame.constructs.as_deref().unwrap_or_default();
        frame.names.get(name).and_then(Binding::value).cloned().ok_or_else(already_reported)
    }

    /// Evaluates the body of a function: what it returns, and the state in which it was left.
    fn evaluate_function(
        &mut self,
        function: FunctionRef,
        positional: &[Value],
        keywords: &[(String, Value)],
        is_constructor: bool,
    ) -> Result<(Value, Frame)> {
        let source = match self.host.function(function) {
            Ok(source) => source,
            Err(reason) => return Err(self.error(format!("this function has no source text: {reason}"))),
        };
        let name = &source.name;
        if self.frames.len() > MAX_CALLS {
            let message = format!("`{name}` is called {MAX_CALLS} calls deep: its recursion does not end");
            let help =
                "a recursion must end by an `if` on a constexpr, since calls are expanded while compiling";
            // The way back leads through as many calls, each of which may have others to make.
            let error = self.error(message).with_help(help);
            return Err(self.stop(error));
        }
        let file = self.builder.function_mut().sources.add(source.file.clone());
        let syntax = match source.parsed() {
            Ok(syntax) => syntax,
            Err(fault) => {
                let span = Span { file, start: fault.start, end: fault.end };
                return Err(Box::new(Diagnostic::error(
                    span,
                    format!("`{name}` is not Python: {}", fault.message),
                )));
            }
        };
        let definition = &syntax.definition;
        if let Some(fact) = unsupported(definition) {
            return Err(self.error(format!("`{name}` has {fact}, which a jitted function cannot have")));
        }
        let parameters = parameters(&definition.parameters, |parameter, _| {
            let known = source.params.iter().find(|known| known.name == parameter)?;
            known.default.clone().map(Value::from)
        });
        let values =
            bind(&format!("`{name}`"), &parameters, positional, keywords).map_err(|fact| self.error(fact))?;
        let names = self.bind_parameters(&parameters, values, file, &syntax);
        let frame = Frame {
            function,
            name: name.clone(),
            file,
            syntax: syntax.clone(),
            names,
            site: self.span,
            loops: 0,
            constructs: parameters.first().filter(|_| is_constructor).map(|first| first.name.clone()),
        };

        let known_errors = self.diagnostics.len();
        let (outer, span) = (self.builtin.take(), self.span);
        self.frames.push(frame);
        let flow = self.block(&definition.body, None);
        let frame = self.frames.pop().expect("the frame was pushed above");
        self.builtin = outer;
        self.span = span;
        self.builder.set_span(span);
        match flow {
            _ if self.diagnostics.len() > known_errors => Err(already_reported()),
            Flow::Next => Ok((Value::None, frame)),
            Flow::Return(returned) => Ok((returned.value.ok_or_else(already_reported)?, frame)),
        }
    }

    /// The local names that a function starts with.
    pub(super) fn bind_parameters(
        &self,
        parameters: &[Parameter],
        values: Vec<Value>,
        file: FileId,
        syntax: &super::ParsedFunction,
    ) -> Environment {
        let place = |name: &str| {
            let definition = &syntax.definition.parameters;
            let found = definition.iter().find(|parameter| parameter.name().as_str() == name);
            let (start, end) = found.map_or((0, 0), |parameter| syntax.place(parameter.name().range()));
            Span { file, start, end }
        };
        let bindings = parameters.iter().zip(values).map(|(parameter, value)| {
            let binding = Binding::Value(value, place(&parameter.name));
            (parameter.name.as_str().into(), binding)
        });
        bindings.collect()
    }

    /// Calls a function of the host with constants.
    fn call_constexpr_function(
        &mut self,
        function: ObjectRef,
        positional: &[Value],
        keywords: &[(String, Value)],
    ) -> Result<Value> {
        let constant = |value: &Value| {
            self.host_value(value).ok_or_else(|| {
                let message = format!(
                    "this function is evaluated at compile time and takes constants, but an argument is {}",
                    self.describe(value)
                );
                self.error(message)
            })
        };
        let positional = positional.iter().map(constant).collect::<Result<Vec<HostValue>>>()?;
        let keywords = keywords
            .iter()
            .map(|(name, value)| constant(value).map(|value| (name.clone(), value)))
            .collect::<Result<Vec<(String, HostValue)>>>()?;
        match self.host.call(function, positional, keywords) {
            Ok(value) => Ok(Value::from(value)),
            Err(reason) => Err(self.error(format!("the function called at compile time failed: {reason}"))),
        }
    }

    /// A constant as a value of the host; `None` if it exists at run time, or only in the front end.
    pub(super) fn host_value(&self, value: &Value) -> Option<HostValue> {
        Some(match value {
            Value::None => HostValue::None,
            Value::Bool(value) => HostValue::Bool(*value),
            Value::Int(value) => HostValue::Int(*value),
            Value::Float(value) => HostValue::Float(*value),
            Value::Str(text) => HostValue::Str(text.to_string()),
            Value::Type(scalar) => HostValue::Type(*scalar),
            Value::PointerType(pointer) => HostValue::PointerType(*pointer),
            Value::Tuple(items, class) => {
                let items =
                    items.iter().map(|item| self.host_value(item)).collect::<Option<Vec<HostValue>>>()?;
                HostValue::Tuple(items, class.clone())
            }
            Value::Builtin(builtin) => HostValue::Builtin(builtin),
            Value::Function(function) => HostValue::Function(*function),
            Value::ConstexprFunction(object) => HostValue::ConstexprFunction(*object),
            Value::Module(object) => HostValue::Module(*object),
            Value::Language(module) => HostValue::Language(module),
            Value::Python(function) => HostValue::Python(*function),
            Value::TupleClass(class) => HostValue::TupleClass(class.clone()),
            Value::PlainFunction(name) => HostValue::PlainFunction { name: name.to_string() },
            Value::Other(object, class) => HostValue::Other(*object, class.to_string()),
            Value::Tensor(_) | Value::Slice(_) | Value::Ellipsis | Value::Method(_) | Value::Record(_) => {
                return None;
            }
        })
    }

    fn make_named_tuple(
        &mut self,
        class: &TupleClass,
        positional: &[Value],
        keywords: &[(String, Value)],
    ) -> Result<Value> {
        let parameters: Vec<Parameter> = class
            .fields
            .iter()
            .map(|field| Parameter { name: field.clone(), kind: ParameterKind::Positional, default: None })
            .collect();
        match bind(&format!("`{}`", class.name), &parameters, positional, keywords) {
            Ok(values) => Ok(Value::Tuple(Arc::from(values), Some(class.clone()))),
            Err(fact) => Err(self.error(fact)),
        }
    }
}

/// What the definition of a function has that no jitted function can have.
pub(super) fn unsupported(definition: &StmtFunctionDef) -> Option<&'static str> {
    if definition.is_async {
        return Some("`async`");
    }
    definition.parameters.kwarg.is_some().then_some("`**` parameters")
}
