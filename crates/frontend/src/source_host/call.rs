//! Calls of `@triton.constexpr_function`s, without Python: the statements that such functions are made of.

use super::evaluate::{Evaluator, truth};
use super::{Object, SourceHost};
use crate::host::{HostValue, ObjectRef};
use crate::lower::constants;
use crate::value::Value;
use ruff_python_ast::{Expr, Stmt, StmtFunctionDef};
use std::collections::BTreeMap;

/// Deeper recursion than this is taken for endless.
const MAX_DEPTH: u32 = 64;
/// More statements than this are taken for an endless loop.
const MAX_STEPS: u32 = 1_000_000;

impl SourceHost {
    /// Calls a function that is evaluated at compile time.
    pub(super) fn call_object(
        &self,
        function: ObjectRef,
        positional: Vec<HostValue>,
        keywords: Vec<(String, HostValue)>,
    ) -> Result<HostValue, String> {
        self.call_at_depth(function, positional, keywords, 0)
    }

    pub(super) fn call_at_depth(
        &self,
        function: ObjectRef,
        positional: Vec<HostValue>,
        keywords: Vec<(String, HostValue)>,
        depth: u32,
    ) -> Result<HostValue, String> {
        if depth > MAX_DEPTH {
            return Err("RecursionError: maximum recursion depth exceeded".to_owned());
        }
        match self.object(function) {
            Some(Object::Known(known)) if keywords.is_empty() => known
                .call(&positional)
                .unwrap_or_else(|| Err("TypeError: the object is not callable".to_owned())),
            Some(Object::ConstexprFunction { definition, module }) => {
                let locals = self.bind_arguments(definition, *module, positional, keywords)?;
                let mut frame = Frame { host: self, module: *module, depth, locals, steps: 0 };
                match frame.run(&definition.body)? {
                    Flow::Return(value) => Ok(value),
                    _ => Ok(HostValue::None),
                }
            }
            _ => Err("the call needs a running Python".to_owned()),
        }
    }

    fn bind_arguments(
        &self,
        definition: &StmtFunctionDef,
        module: usize,
        positional: Vec<HostValue>,
        keywords: Vec<(String, HostValue)>,
    ) -> Result<BTreeMap<String, HostValue>, String> {
        let name = &definition.name;
        let parameters = &definition.parameters;
        if parameters.vararg.is_some() || parameters.kwarg.is_some() {
            return Err(format!(
                "`{name}` takes a variable number of arguments, which needs a running Python"
            ));
        }
        let by_place: Vec<_> = parameters.posonlyargs.iter().chain(&parameters.args).collect();
        if positional.len() > by_place.len() {
            return Err(format!(
                "TypeError: {name}() takes {} positional arguments but {} were given",
                by_place.len(),
                positional.len()
            ));
        }
        let mut locals: BTreeMap<String, HostValue> = by_place
            .iter()
            .zip(positional)
            .map(|(parameter, value)| (parameter.name().to_string(), value))
            .collect();
        for (keyword, value) in keywords {
            let exists =
                parameters.iter_non_variadic_params().any(|parameter| *parameter.name() == *keyword.as_str());
            if !exists {
                return Err(format!("TypeError: {name}() got an unexpected keyword argument '{keyword}'"));
            }
            if locals.insert(keyword.clone(), value).is_some() {
                return Err(format!("TypeError: {name}() got multiple values for argument '{keyword}'"));
            }
        }
        for parameter in parameters.iter_non_variadic_params() {
            let parameter_name = parameter.name().to_string();
            if locals.contains_key(&parameter_name) {
                continue;
            }
            match parameter.default() {
                Some(default) => {
                    let value = self.evaluator(module).evaluate(default)?;
                    locals.insert(parameter_name, value);
                }
                None => return Err(format!("TypeError: {name}() missing the argument '{parameter_name}'")),
            }
        }
        Ok(locals)
    }
}

/// How a list of statements ended.
enum Flow {
    Next,
    Break,
    Continue,
    Return(HostValue),
}

/// One call that is being run.
struct Frame<'h> {
    host: &'h SourceHost,
    module: usize,
    depth: u32,
    locals: BTreeMap<String, HostValue>,
    steps: u32,
}

impl Frame<'_> {
    fn evaluate(&self, expression: &Expr) -> Result<HostValue, String> {
        let evaluator =
            Evaluator { host: self.host, module: self.module, locals: Some(&self.locals), depth: self.depth };
        evaluator.evaluate(expression)
    }

    fn run(&mut self, statements: &[Stmt]) -> Result<Flow, String> {
        for statement in statements {
            match self.statement(statement)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &Stmt) -> Result<Flow, String> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err("the function runs for too long to be evaluated at compile time".to_owned());
        }
        match statement {
            Stmt::Return(statement) => {
                let value = statement.value.as_ref().map(|value| self.evaluate(value)).transpose()?;
                return Ok(Flow::Return(value.unwrap_or(HostValue::None)));
            }
            Stmt::Assign(assign) => {
                let value = self.evaluate(&assign.value)?;
                for target in &assign.targets {
                    self.assign(target, value.clone())?;
                }
            }
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    let value = self.evaluate(value)?;
                    self.assign(&assign.target, value)?;
                }
            }
            Stmt::AugAssign(assign) => {
                let (left, right) = (self.evaluate(&assign.target)?, self.evaluate(&assign.value)?);
                let result = constants::binary(assign.op, &Value::from(left), &Value::from(right))?;
                let value = super::evaluate::plain(result)?;
                self.assign(&assign.target, value)?;
            }
            Stmt::If(choice) => {
                if truth(&self.evaluate(&choice.test)?)? {
                    return self.run(&choice.body);
                }
                for clause in &choice.elif_else_clauses {
                    let taken = match &clause.test {
                        Some(test) => truth(&self.evaluate(test)?)?,
                        None => true,
                    };
                    if taken {
                        return self.run(&clause.body);
                    }
                }
            }
            Stmt::While(repetition) => {
                while truth(&self.evaluate(&repetition.test)?)? {
                    self.steps += 1;
                    if self.steps > MAX_STEPS {
                        return Err(
                            "the function runs for too long to be evaluated at compile time".to_owned()
                        );
                    }
                    match self.run(&repetition.body)? {
                        Flow::Break => return Ok(Flow::Next),
                        Flow::Return(value) => return Ok(Flow::Return(value)),
                        Flow::Next | Flow::Continue => {}
                    }
                }
                return self.run(&repetition.orelse);
            }
            Stmt::For(repetition) => {
                for item in self.items(&repetition.iter)? {
                    self.assign(&repetition.target, item)?;
                    match self.run(&repetition.body)? {
                        Flow::Break => return Ok(Flow::Next),
                        Flow::Return(value) => return Ok(Flow::Return(value)),
                        Flow::Next | Flow::Continue => {}
                    }
                }
                return self.run(&repetition.orelse);
            }
            Stmt::Assert(assertion) => {
                if !truth(&self.evaluate(&assertion.test)?)? {
                    let message = assertion.msg.as_ref().map(|message| self.evaluate(message)).transpose()?;
                    return Err(match message {
                        Some(HostValue::Str(text)) => format!("AssertionError: {text}"),
                        _ => "AssertionError".to_owned(),
                    });
                }
            }
            Stmt::Break(_) => return Ok(Flow::Break),
            Stmt::Continue(_) => return Ok(Flow::Continue),
            // A docstring, or something without an effect that can be seen here.
            Stmt::Expr(_) | Stmt::Pass(_) => {}
            _ => return Err("the function has a statement that needs a running Python".to_owned()),
        }
        Ok(Flow::Next)
    }

    fn assign(&mut self, target: &Expr, value: HostValue) -> Result<(), String> {
        match target {
            Expr::Name(name) => {
                self.locals.insert(name.id.to_string(), value);
                Ok(())
            }
            Expr::Tuple(targets) => match value {
                HostValue::Tuple(items, _) if items.len() == targets.elts.len() => {
                    targets.elts.iter().zip(items).try_for_each(|(target, item)| self.assign(target, item))
                }
                _ => Err("ValueError: the number of values to unpack differs".to_owned()),
            },
            _ => Err("the function has an assignment that needs a running Python".to_owned()),
        }
    }

    /// What a `for` statement steps through: a `range` of constants, or a tuple.
    fn items(&self, iterable: &Expr) -> Result<Vec<HostValue>, String> {
        if let Expr::Call(call) = iterable
            && matches!(&*call.func, Expr::Name(name) if name.id == "range" && !self.locals.contains_key("range"))
        {
            let bounds: Vec<i128> = call
                .arguments
                .args
                .iter()
                .map(|bound| match Value::from(self.evaluate(bound)?) {
                    Value::Int(value) => Ok(value),
                    _ => Err("TypeError: range takes integers".to_owned()),
                })
                .collect::<Result<_, _>>()?;
            let (start, stop, step) = match *bounds.as_slice() {
                [stop] => (0, stop, 1),
                [start, stop] => (start, stop, 1),
                [start, stop, step] if step != 0 => (start, stop, step),
                _ => return Err("TypeError: range takes one to three integers, and no step of 0".to_owned()),
            };
            let mut items = Vec::new();
            let mut value = start;
            while if step > 0 { value < stop } else { value > stop } {
                if items.len() >= MAX_STEPS as usize {
                    return Err("the function runs for too long to be evaluated at compile time".to_owned());
                }
                items.push(HostValue::Int(value));
                value = value.checked_add(step).ok_or("OverflowError: the integer is too large")?;
            }
            return Ok(items);
        }
        match self.evaluate(iterable)? {
            HostValue::Tuple(items, _) => Ok(items),
            _ => Err("TypeError: only ranges and tuples can be stepped through here".to_owned()),
        }
    }
}
