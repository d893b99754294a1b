//! Symbolic evaluation of a kernel's syntax tree.

mod describe;
mod parameters;
mod python;
mod syntax;

pub use describe::{float_text, type_text};
pub use parameters::{MAX_BLOCK_ELEMENTS, float_type, integer_type};
pub use python::PythonFunction;
pub use syntax::{ParsedFunction, Syntax, SyntaxError};

use crate::builtin::Builtin;
use crate::host::{FunctionRef, Host, HostValue, TupleClass};
use crate::value::Value;
use tegula_ir::{Builder, Diagnostic, Function, RegionId, SourceMap, Span, Type};

/// What evaluation gives, or the reason why it cannot.
pub type Result<T> = std::result::Result<T, Box<Diagnostic>>;

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
    /// A tensor descriptor made on the host. Its run-time leaves become parameters in the order of the fields.
    Descriptor {
        base: Box<Argument>,
        /// Extents in elements, int32.
        shape: Vec<Argument>,
        /// Strides in elements, int64; the last one is 1.
        strides: Vec<Argument>,
        block_shape: Vec<u32>,
        /// Whether loads of what lies outside give NaN, not 0.
        pad_with_nan: bool,
    },
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
    /// The built-in being lowered.
    builtin: Option<&'static Builtin>,
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

    /// The name of the built-in being lowered, for messages.
    pub fn builtin_name(&self) -> Option<&'static str> {
        self.builtin.map(|builtin| builtin.name)
    }

    /// Calls any callable value: a built-in, a jitted function (of the user or of the prelude), a method, a type, a named-tuple class.
    ///
    /// # Errors
    /// If the value is not callable, the arguments do not fit its parameters, or its body is at fault.
    pub fn call(
        &mut self,
        _callee: &Value,
        _positional: &[Value],
        _keywords: &[(String, Value)],
    ) -> Result<Value> {
        Err(self.error("not callable"))
    }

    /// Lowers a call of `callee` into a region of its own with arguments of the given types (scalars, for `Reduce`, `Scan` and
    /// `MapElementwise`). `finish` turns the result of the call into what the region yields, inside the region.
    ///
    /// # Errors
    /// Those of the call and of `finish`.
    pub fn region_of_call(
        &mut self,
        callee: &Value,
        args: &[Type],
        finish: impl FnOnce(&mut Self, Value) -> Result<Vec<tegula_ir::Value>>,
    ) -> Result<RegionId> {
        let region = self.builder.open_region(args.iter().cloned());
        let values: Vec<Value> = self.builder.args(region).into_iter().map(Value::Tensor).collect();
        let yields = self.call(callee, &values, &[]).and_then(|result| finish(self, result));
        // The region is closed in either case, so that what follows an error goes to the right place.
        let region = self.builder.close_region(yields.iter().flatten().copied());
        yields.map(|_| region)
    }
}

/// Compiles a kernel to the intermediate representation, verified but not optimised.
///
/// # Errors
/// Every independent fault of the kernel that was found.
pub fn compile(_host: &dyn Host, _request: &Request) -> std::result::Result<Function, CompileError> {
    Err(CompileError { diagnostics: Vec::new(), sources: SourceMap::default() })
}
