//! The kernel itself: its arguments become parameters of a function, and its body is evaluated.

use super::arguments::parameters;
use super::calls::unsupported;
use super::statements::Flow;
use super::{Argument, CompileError, Frame, Lowering, Request};
use crate::host::{FunctionRef, FunctionSource, Host, HostValue, ObjectRef};
use crate::prelude;
use crate::value::{Record, RecordKind, Value};
use std::sync::Arc;
use tegula_ir::{Builder, Diagnostic, Function, Param, SourceMap, Span};

/// Compiles a kernel to the intermediate representation, not optimised yet. Debug builds verify it.
///
/// # Errors
/// Every independent fault of the kernel that was found.
pub fn compile(host: &dyn Host, request: &Request) -> Result<Function, CompileError> {
    let host = WithPrelude { user: host };
    let mut sources = SourceMap::default();
    let fault = |sources: &SourceMap, diagnostic: Diagnostic| CompileError {
        diagnostics: vec![diagnostic],
        sources: sources.clone(),
    };
    let source = host.function(request.kernel).map_err(|reason| {
        fault(
            &sources,
            Diagnostic::error(Span::default(), format!("the kernel has no source text: {reason}")),
        )
    })?;
    let file = sources.add(source.file.clone());
    let syntax = source.parsed().map_err(|error| {
        let span = Span { file, start: error.start, end: error.end };
        fault(
            &sources,
            Diagnostic::error(span, format!("`{}` is not Python: {}", source.name, error.message)),
        )
    })?;
    let definition = &syntax.definition;
    let parameters = parameters(&definition.parameters, |_, _| None);
    let (start, end) = syntax.place(definition.name.range);
    let site = Span { file, start, end };
    if let Some(fact) = unsupported(definition) {
        let message = format!("`{}` has {fact}, which a kernel cannot have", source.name);
        return Err(fault(&sources, Diagnostic::error(site, message)));
    }
    if parameters.len() != request.arguments.len() {
        let message = format!(
            "`{}` has {} parameters, but {} arguments are described",
            source.name,
            parameters.len(),
            request.arguments.len()
        );
        return Err(fault(&sources, Diagnostic::error(site, message)));
    }

    let mut params = Vec::new();
    let mut values = Vec::new();
    for (parameter, argument) in parameters.iter().zip(&request.arguments) {
        values.push(declare(&parameter.name, argument, &mut params));
    }
    let mut function = Function::new(source.name.clone(), params);
    function.sources = sources;
    let mut lowering = Lowering {
        host: &host,
        machine: request.machine,
        builder: Builder::new(&mut function),
        span: site,
        builtin: None,
        frames: Vec::new(),
        diagnostics: Vec::new(),
        warnings: Vec::new(),
        implicit_doubles: Vec::new(),
        printed: Vec::new(),
        interpreted: request.interpreted,
        stopped: false,
        statements: 0,
        depth: 0,
    };
    let names = lowering.bind_parameters(&parameters, values, file, &syntax);
    let name = source.name.clone();
    lowering.frames.push(Frame {
        function: request.kernel,
        name,
        file,
        syntax: syntax.clone(),
        names,
        site,
        loops: 0,
        constructs: None,
    });
    let flow = lowering.block(&definition.body, None);
    if let Flow::Return(returned) = flow
        && let Some(value) = returned.value
        && !matches!(value, Value::None)
    {
        let message = format!("a kernel returns nothing, but this returns {}", lowering.describe(&value));
        let error = Diagnostic::error(returned.span, message);
        lowering.report(error.with_help("store the result with `tl.store`"));
    }
    let Lowering { builder, diagnostics, warnings, printed, .. } = lowering;
    builder.finish();
    function.warnings = warnings;
    // What Python runs prints for itself.
    for line in printed.iter().filter(|_| !request.interpreted) {
        host.print(line);
    }
    if diagnostics.is_empty() {
        Ok(function)
    } else {
        Err(CompileError { diagnostics, sources: function.sources })
    }
}

/// Adds the run-time parts of an argument to the parameters, and returns the value of the kernel's parameter.
fn declare(name: &str, argument: &Argument, params: &mut Vec<Param>) -> Value {
    match argument {
        Argument::Runtime { ty, divisible_by } => {
            // `Function::new` numbers the values of parameters in their order.
            let value = tegula_ir::Value(params.len() as u32);
            params.push(Param { divisible_by: *divisible_by, ..Param::new(name, ty.clone()) });
            Value::Tensor(value)
        }
        Argument::Constexpr(value) => Value::from(value.clone()),
        Argument::Tuple(items, class) => {
            let fields = class.as_ref().map(|class| &class.fields);
            let item = |(index, item): (usize, &Argument)| {
                let part = match fields.and_then(|fields| fields.get(index)) {
                    Some(field) => format!("{name}.{field}"),
                    None => format!("{name}.{index}"),
                };
                declare(&part, item, params)
            };
            Value::Tuple(items.iter().enumerate().map(item).collect(), class.clone())
        }
        Argument::Descriptor { base, shape, strides, block_shape, pad_with_nan } => {
            let mut list = |part: &str, items: &[Argument]| {
                let items = items.iter().enumerate();
                let items =
                    items.map(|(index, item)| declare(&format!("{name}.{part}.{index}"), item, params));
                Value::Tuple(items.collect(), None)
            };
            let base = list("base", std::slice::from_ref(base));
            let Value::Tuple(base, _) = base else { unreachable!("`list` makes tuples") };
            let shape = list("shape", shape);
            let strides = list("strides", strides);
            let block = block_shape.iter().map(|extent| Value::Int(i128::from(*extent))).collect();
            Value::Record(Arc::new(Record {
                kind: RecordKind::TensorDescriptor,
                fields: vec![
                    ("base", base[0].clone()),
                    ("shape", shape),
                    ("strides", strides),
                    ("block_shape", Value::Tuple(block, None)),
                    ("pad_with_nan", Value::Bool(*pad_with_nan)),
                ],
            }))
        }
    }
}

/// The user's host, with the functions of the prelude in front of it.
pub(super) struct WithPrelude<'h> {
    pub(super) user: &'h dyn Host,
}

impl Host for WithPrelude<'_> {
    fn function(&self, function: FunctionRef) -> Result<Arc<FunctionSource>, String> {
        if prelude::contains(function) { prelude::function(function) } else { self.user.function(function) }
    }

    fn global(&self, function: FunctionRef, name: &str) -> Option<HostValue> {
        if prelude::contains(function) {
            prelude::global(function, name)
        } else {
            self.user.global(function, name)
        }
    }

    fn global_names(&self, function: FunctionRef) -> Vec<String> {
        if prelude::contains(function) { Vec::new() } else { self.user.global_names(function) }
    }

    fn attribute(&self, object: ObjectRef, name: &str) -> Option<HostValue> {
        self.user.attribute(object, name)
    }

    fn attribute_names(&self, object: ObjectRef) -> Vec<String> {
        self.user.attribute_names(object)
    }

    fn call(
        &self,
        function: ObjectRef,
        positional: Vec<HostValue>,
        keywords: Vec<(String, HostValue)>,
    ) -> Result<HostValue, String> {
        self.user.call(function, positional, keywords)
    }

    fn print(&self, text: &str) {
        self.user.print(text);
    }
}
