//! The statements at the top level of a file, one after another.

use super::evaluate::{Evaluator, truth};
use super::known::Known;
use super::{JitFunction, Object, SourceHost};
use crate::host::{FunctionRef, FunctionSource, HostValue, ObjectRef, ParamSource, TupleClass};
use crate::lower::PythonFunction;
use ruff_python_ast::{Expr, Stmt, StmtClassDef, StmtFunctionDef};
use ruff_text_size::Ranged;
use std::collections::BTreeMap;
use std::sync::Arc;

impl SourceHost {
    /// Follows statements, so far as they give names values.
    pub(super) fn follow(&mut self, module: usize, statements: &[Stmt]) {
        for statement in statements {
            match statement {
                Stmt::Import(import) => self.import(module, import),
                Stmt::ImportFrom(import) => self.import_from(module, import),
                Stmt::FunctionDef(definition) => {
                    let value = self.function_value(module, definition);
                    self.bind(module, &definition.name, value);
                }
                Stmt::ClassDef(definition) => {
                    let value = self.class_value(module, definition);
                    self.bind(module, &definition.name, value);
                }
                Stmt::Assign(assign) => {
                    let value = self.value_or_unknown(module, &assign.value);
                    for target in &assign.targets {
                        self.assign(module, target, &value);
                    }
                }
                Stmt::AnnAssign(assign) => {
                    if let Some(expression) = &assign.value {
                        let mut value = self.value_or_unknown(module, expression);
                        let annotation = self.evaluator(module).evaluate(&assign.annotation);
                        let is_constant =
                            matches!(annotation, Ok(HostValue::Python(PythonFunction::Constexpr)));
                        if is_constant && !matches!(value, HostValue::Constexpr(_) | HostValue::Other(..)) {
                            value = HostValue::Constexpr(Box::new(value));
                        }
                        self.assign(module, &assign.target, &value);
                    }
                }
                Stmt::AugAssign(assign) => {
                    // The operator would need both values; a name that is built up this way is beyond following.
                    let value = self.unknown("value built up by statements");
                    self.assign(module, &assign.target, &value);
                }
                Stmt::If(choice) => {
                    let test = |host: &SourceHost, test: &Expr| {
                        host.evaluator(module).evaluate(test).and_then(|value| truth(&value))
                    };
                    match test(self, &choice.test) {
                        Ok(true) => self.follow(module, &choice.body),
                        Ok(false) => {
                            let mut clauses = choice.elif_else_clauses.iter();
                            let taken = clauses.find(|clause| {
                                clause.test.as_ref().is_none_or(|condition| test(self, condition) == Ok(true))
                            });
                            if let Some(clause) = taken {
                                self.follow(module, &clause.body);
                            }
                        }
                        // Which way Python would go cannot be known. What either way defines is there; of two
                        // definitions of one name the first, which is the one for the usual case.
                        Err(_) => {
                            for clause in choice.elif_else_clauses.iter().rev() {
                                self.follow(module, &clause.body);
                            }
                            self.follow(module, &choice.body);
                        }
                    }
                }
                Stmt::Try(attempt) => {
                    self.follow(module, &attempt.body);
                    self.follow(module, &attempt.orelse);
                    self.follow(module, &attempt.finalbody);
                }
                Stmt::With(with) => self.follow(module, &with.body),
                _ => {}
            }
        }
    }

    pub(super) fn evaluator(&self, module: usize) -> Evaluator<'_> {
        Evaluator { host: self, module, locals: None, depth: 0 }
    }

    pub(super) fn bind(&mut self, module: usize, name: &str, value: HostValue) {
        if let Some(module) = self.modules.get_mut(module) {
            module.names.insert(name.to_owned(), value);
        }
    }

    /// A value that kernels cannot use; `class` is what messages call it.
    pub(super) fn unknown(&mut self, class: &str) -> HostValue {
        let object = self.add_object(Object::Unknown);
        HostValue::Other(object, class.to_owned())
    }

    fn assign(&mut self, module: usize, target: &Expr, value: &HostValue) {
        match target {
            Expr::Name(name) => self.bind(module, &name.id, value.clone()),
            Expr::Tuple(_) | Expr::List(_) => {
                let targets = match target {
                    Expr::Tuple(tuple) => &tuple.elts,
                    Expr::List(list) => &list.elts,
                    _ => return,
                };
                for (place, target) in targets.iter().enumerate() {
                    let item = match value {
                        HostValue::Tuple(items, _) if items.len() == targets.len() => items[place].clone(),
                        _ => self.unknown("value that only a running Python knows"),
                    };
                    self.assign(module, target, &item);
                }
            }
            _ => {}
        }
    }

    fn value_or_unknown(&mut self, module: usize, expression: &Expr) -> HostValue {
        if let Some(class) = self.named_tuple_call(module, expression) {
            return HostValue::TupleClass(class);
        }
        if let Some(function) = self.wrapped_function(module, expression) {
            return function;
        }
        match self.evaluator(module).evaluate(expression) {
            Ok(value) => value,
            Err(_) => self.unknown("value that only a running Python knows"),
        }
    }

    /// `kernel = triton.jit(kernel)`, or the same through another decorator called with one function.
    fn wrapped_function(&self, module: usize, expression: &Expr) -> Option<HostValue> {
        let Expr::Call(call) = expression else { return None };
        let [argument] = &*call.arguments.args else { return None };
        match self.evaluator(module).evaluate(argument) {
            Ok(value @ HostValue::Function(_)) => Some(value),
            _ => None,
        }
    }

    /// What a definition's name stands for.
    fn function_value(&mut self, module: usize, definition: &StmtFunctionDef) -> HostValue {
        let evaluator = self.evaluator(module);
        let decorated = |meant: Known| {
            definition.decorator_list.iter().find(|one| evaluator.is_decorator(&one.expression, meant))
        };
        if let Some(jit) = decorated(Known::Jit) {
            let noinline = match &jit.expression {
                Expr::Call(call) => call
                    .arguments
                    .keywords
                    .iter()
                    .filter(|keyword| keyword.arg.as_ref().is_some_and(|name| name.as_str() == "noinline"))
                    .any(|keyword| matches!(evaluator.evaluate(&keyword.value), Ok(HostValue::Bool(true)))),
                _ => false,
            };
            return self.jit_function(module, definition, noinline);
        }
        if decorated(Known::ConstexprFunction).is_some() {
            let definition = Arc::new(definition.clone());
            let object = self.add_object(Object::ConstexprFunction { definition, module });
            return HostValue::ConstexprFunction(object);
        }
        HostValue::PlainFunction { name: definition.name.to_string() }
    }

    fn jit_function(&mut self, module: usize, definition: &StmtFunctionDef, noinline: bool) -> HostValue {
        let parameters = &definition.parameters;
        let ordinary = parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs);
        let mut params: Vec<ParamSource> = Vec::new();
        for parameter in ordinary {
            let default = parameter.default.as_ref().map(|expression| {
                let value = self.evaluator(module).evaluate(expression);
                value.unwrap_or_else(|_| self.unknown("default that only a running Python knows"))
            });
            params.push(ParamSource { name: parameter.parameter.name.to_string(), default });
        }
        let start = definition
            .decorator_list
            .first()
            .map_or(definition.range().start(), |first| first.range().start());
        let source = FunctionSource {
            name: definition.name.to_string(),
            file: Arc::clone(&self.modules[module].file),
            start: start.into(),
            noinline,
            params,
            syntax: Default::default(),
        };
        self.functions.push(JitFunction { source: Arc::new(source), module });
        HostValue::Function(FunctionRef(self.functions.len() as u64 - 1))
    }

    /// A named tuple, or a class used for the constants in it.
    fn class_value(&mut self, module: usize, definition: &StmtClassDef) -> HostValue {
        let bases = definition.arguments.iter().flat_map(|arguments| &*arguments.args);
        let evaluator = self.evaluator(module);
        let is_named_tuple = bases.into_iter().any(|base| evaluator.is_decorator(base, Known::NamedTuple));
        if is_named_tuple {
            let fields = definition.body.iter().filter_map(|statement| match statement {
                Stmt::AnnAssign(field) => match &*field.target {
                    Expr::Name(name) => Some(name.id.to_string()),
                    _ => None,
                },
                _ => None,
            });
            let fields: Vec<String> = fields.collect();
            return HostValue::TupleClass(self.tuple_class(&definition.name, fields));
        }
        let mut attributes = BTreeMap::new();
        for statement in &definition.body {
            if let Stmt::Assign(assign) = statement
                && let [Expr::Name(name)] = &*assign.targets
                && let Ok(value) = self.evaluator(module).evaluate(&assign.value)
            {
                attributes.insert(name.id.to_string(), value);
            }
        }
        HostValue::Module(self.add_object(Object::Attributes(attributes)))
    }

    /// `namedtuple("Name", ["a", "b"])` or `namedtuple("Name", "a b")`.
    fn named_tuple_call(&mut self, module: usize, expression: &Expr) -> Option<TupleClass> {
        let Expr::Call(call) = expression else { return None };
        let evaluator = self.evaluator(module);
        if !evaluator.is_decorator(&call.func, Known::MakeNamedTuple) {
            return None;
        }
        let [name, fields] = &*call.arguments.args else { return None };
        let HostValue::Str(name) = evaluator.evaluate(name).ok()? else { return None };
        let fields: Vec<String> = match evaluator.evaluate(fields).ok()? {
            HostValue::Str(text) => {
                text.split([',', ' ']).filter(|field| !field.is_empty()).map(str::to_owned).collect()
            }
            HostValue::Tuple(items, _) => items
                .into_iter()
                .map(|item| match item {
                    HostValue::Str(field) => Some(field),
                    _ => None,
                })
                .collect::<Option<_>>()?,
            _ => return None,
        };
        Some(self.tuple_class(&name, fields))
    }

    fn tuple_class(&mut self, name: &str, fields: Vec<String>) -> TupleClass {
        let object: ObjectRef = self.add_object(Object::TupleClass);
        TupleClass { object, name: name.to_owned(), fields: fields.into(), constants: None }
    }
}
