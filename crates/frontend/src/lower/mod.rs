//! Symbolic evaluation of a kernel's syntax tree.

use crate::host::{FunctionRef, Host, HostValue, TupleClass};
use crate::value::Value;
use tegula_ir::{Builder, Diagnostic, Function, SourceMap, Span, Type};

/// What to compile: a kernel, and what is known of its arguments.
#[derive(Clone, Debug)]
pub struct Request {
    pub kernel: FunctionRef,
    /// One an argument of the kernel, in the order of its parameters.
    pub arguments: Vec<Argument>,
}

/// What is known of an argument.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A value at run time: a scalar or a pointer. `divisible_by` is 1 or a power of two.
    Runtime { ty: Type, divisible_by: u32 },
    /// A value known now. An `int` of 1 that was specialised comes this way too.
    Constexpr(HostValue),
    /// A tuple of arguments; each run-time leaf becomes a parameter of its own, in order.
    Tuple(Vec<Argument>, Option<TupleClass>),
}

/// Why a kernel was not compiled. `diagnostics` is never empty.
#[derive(Clone, Debug)]
pub struct CompileError {
    pub diagnostics: Vec<Diagnostic>,
    pub sources: SourceMap,
}

/// The state of a compilation, which built-ins work on.
pub struct Lowering<'h, 'f> {
    pub host: &'h dyn Host,
    pub builder: Builder<'f>,
    /// Where the expression being evaluated stands.
    pub span: Span,
}

impl Lowering<'_, '_> {
    /// An error at the expression being evaluated.
    pub fn error(&self, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(self.span, message))
    }

    /// The type of a run-time value.
    pub fn ty(&self, value: tegula_ir::Value) -> &Type {
        self.builder.ty(value)
    }

    /// Calls any callable value: a built-in, a jitted function (of the user or of the prelude), a method.
    pub fn call(
        &mut self,
        _callee: &Value,
        _positional: &[Value],
        _keywords: &[(String, Value)],
    ) -> Result<Value, Box<Diagnostic>> {
        Err(self.error("not callable"))
    }
}

/// Compiles a kernel to the intermediate representation, verified but not optimised.
pub fn compile(_host: &dyn Host, _request: &Request) -> Result<Function, CompileError> {
    Err(CompileError { diagnostics: Vec::new(), sources: SourceMap::default() })
}
