//! One operation by itself, compiled for an interpreter: an expression over operands becomes a function whose parameters are the
//! operands that exist at run time, blocks among them, and whose body yields the results.
//!
//! `a + b`, where `a` is a block of 64 fp16 and `b` the number 2:
//!
//! ```text
//! kernel @operation(%a: fp16[64]) {
//!   %0 = const 2.0 : fp16
//!   %1 = splat %0 : fp16[64]
//!   %2 = add %a, %1 : fp16[64]
//!   yield %2
//! }
//! ```

use super::kernel::WithPrelude;
use super::names::{Binding, Environment};
use super::structure::{flatten, rebuild};
use super::{CompileError, Frame, Lowering, Syntax};
use crate::host::{FunctionRef, FunctionSource, Host, HostValue, TupleClass};
use crate::machine::Machine;
use crate::value::{Record, RecordKind, Value};
use ruff_python_ast::Stmt;
use std::sync::Arc;
use tegula_ir::{Builder, Diagnostic, Function, Param, SourceFile, SourceMap, Span, Type};

/// The file that an operation stands in: places in it mean nothing to the user.
pub const OPERATION_FILE: &str = "<operation>";

/// What an expression may be applied to.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A scalar or a block of this type, given when the operation is executed.
    Runtime(Type),
    Constant(HostValue),
    Tuple(Vec<Operand>, Option<TupleClass>),
    Slice(Box<[Operand; 3]>),
    Ellipsis,
    Record(RecordKind, Vec<(&'static str, Operand)>),
}

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    pub function: Function,
    /// What the expression evaluates to: each tensor in it is the number of one of the results.
    pub result: Value,
}

/// Compiles an expression over operands, each known by the name that comes with it: `a + b`, `f(a, mask=b)`.
///
/// The bounds of a range become scalars of one type, as those of a loop.
///
/// # Errors
/// What is wrong with it.
pub fn compile_operation(
    host: &dyn Host,
    expression: &str,
    operands: &[(&str, Operand)],
) -> Result<Operation, CompileError> {
    let host = WithPrelude { user: host };
    let mut sources = SourceMap::default();
    let source = FunctionSource {
        name: "operation".to_owned(),
        file: Arc::new(SourceFile {
            name: OPERATION_FILE.to_owned(),
            text: format!("def operation():\n    return {expression}\n"),
            first_line: 1,
        }),
        start: 0,
        noinline: false,
        params: Vec::new(),
        syntax: Syntax::default(),
    };
    let file = sources.add(source.file.clone());
    let syntax = source.parsed().map_err(|error| CompileError {
        diagnostics: vec![Diagnostic::error(
            Span { file, start: error.start, end: error.end },
            error.message,
        )],
        sources: sources.clone(),
    })?;

    let mut params = Vec::new();
    let mut names = Environment::new();
    for (name, operand) in operands {
        let value = declare(name, operand, &mut params);
        names.insert((*name).into(), Binding::Value(value, Span::default()));
    }
    let mut function = Function::new(source.name.clone(), params);
    function.sources = sources;
    let mut lowering = Lowering {
        host: &host,
        // Interpreted kernels run on the CPU.
        machine: Machine::Cpu,
        builder: Builder::new(&mut function),
        span: Span::default(),
        builtin: None,
        frames: Vec::new(),
        diagnostics: Vec::new(),
        warnings: Vec::new(),
        implicit_doubles: Vec::new(),
        printed: Vec::new(),
        interpreted: false,
        stopped: false,
        statements: 0,
        depth: 0,
    };
    lowering.frames.push(Frame {
        // No function of any host: every name of the expression is an operand.
        function: FunctionRef(0),
        name: source.name.clone(),
        file,
        syntax: syntax.clone(),
        names,
        site: Span::default(),
        loops: 0,
        constructs: None,
    });
    // Not the `return`, which would make numbers of constants exist at run time.
    let expression = syntax.definition.body.first().and_then(Stmt::as_return_stmt);
    let evaluated =
        expression.and_then(|whole| whole.value.as_deref()).map(|value| lowering.expression(value));
    let mut result = match evaluated {
        Some(Ok(value)) => value,
        Some(Err(error)) => {
            lowering.report(*error);
            Value::None
        }
        None => Value::None,
    };
    if let Value::Record(range) = &result
        && range.kind == RecordKind::Range
    {
        match lowering.bounds(range) {
            Ok(bounds) => {
                let fields = ["start", "stop", "step"].into_iter().zip(bounds.map(Value::Tensor)).collect();
                result = Value::Record(Arc::new(Record { kind: RecordKind::Range, fields }));
            }
            Err(error) => lowering.report(*error),
        }
    }
    let Lowering { builder, diagnostics, printed, .. } = lowering;
    builder.finish();
    for line in printed {
        host.print(&line);
    }
    if !diagnostics.is_empty() {
        return Err(CompileError { diagnostics, sources: function.sources });
    }
    let mut results = Vec::new();
    flatten(&result, &mut results);
    let result = rebuild(&result, &mut (0..results.len() as u32).map(tegula_ir::Value));
    let body = function.body;
    function.region_mut(body).yields = results;
    Ok(Operation { function, result })
}

/// The value of an operand; its run-time parts are added to the parameters.
fn declare(name: &str, operand: &Operand, params: &mut Vec<Param>) -> Value {
    match operand {
        Operand::Runtime(ty) => {
            // `Function::new` numbers the values of parameters in their order.
            let value = tegula_ir::Value(params.len() as u32);
            params.push(Param::new(format!("{name}{}", params.len()), ty.clone()));
            Value::Tensor(value)
        }
        Operand::Constant(value) => Value::from(value.clone()),
        Operand::Tuple(items, class) => {
            Value::Tuple(items.iter().map(|item| declare(name, item, params)).collect(), class.clone())
        }
        Operand::Slice(bounds) => {
            Value::Slice(Box::new(bounds.each_ref().map(|bound| declare(name, bound, params))))
        }
        Operand::Ellipsis => Value::Ellipsis,
        Operand::Record(kind, fields) => {
            let fields = fields.iter().map(|(field, operand)| (*field, declare(name, operand, params)));
            Value::Record(Arc::new(Record { kind: *kind, fields: fields.collect() }))
        }
    }
}
