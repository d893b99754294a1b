//! Symbolic evaluation of a kernel's syntax tree.
//!
//! What is known at compile time is computed at once; everything else becomes operations. The kernel
//!
//! ```python
//! @triton.jit
//! def kernel(x_ptr, n, BLOCK: tl.constexpr):
//!     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
//!     if n > 3:
//!         tl.store(x_ptr + i, 1.0)
//! ```
//!
//! has the run-time parameters `x_ptr` and `n`; `BLOCK` is a number while it is compiled, and the `if` becomes an
//! operation with two regions.
//!
//! | file | what it lowers |
//! |---|---|
//! | `kernel` | the kernel's parameters |
//! | `operation` | one expression by itself, for an interpreter |
//! | `statements` | assignments, and statements that need no control flow |
//! | `branches`, `loops` | `if`, early returns, conditional expressions; `for`, `while` |
//! | `expressions`, `attributes`, `format` | expressions, `a.b`, f-strings |
//! | `calls`, `arguments` | calls: inlining of jitted functions, binding of arguments |
//! | `python`, `strings` | Python's own functions, and methods of strings |
//! | `syntax`, `nesting` | text to syntax trees |
//! | `constants` | Python's arithmetic at compile time |
//! | `aggregates` | classes with fields and methods |
//! | `inspection` | what is passed over in kernels that Python runs |
//! | `names`, `structure` | what names stand for; tuples and records as tensors |
//! | `parameters`, `describe`, `diagnostics` | reading arguments of built-ins, and messages |
//! | `warnings` | what usually is a mistake |

mod aggregates;
mod arguments;
mod attributes;
mod branches;
mod calls;
pub(crate) mod constants;
mod describe;
mod diagnostics;
mod expressions;
mod format;
mod inspection;
mod kernel;
mod loops;
mod names;
pub(crate) mod nesting;
mod operation;
mod parameters;
mod python;
mod statements;
mod strings;
mod structure;
mod syntax;
mod warnings;

pub use arguments::{Parameter, ParameterKind, builtin_parameters};
pub use describe::{float_text, type_text};
pub use diagnostics::{already_reported, closest};
pub use kernel::compile;
pub use operation::{OPERATION_FILE, Operand, Operation, compile_operation};
pub use parameters::{MAX_BLOCK_ELEMENTS, float_type, integer_type};
pub use python::PythonFunction;
pub use strings::StringMethod;
pub use syntax::{ParsedFunction, Syntax, SyntaxError};

use crate::builtin::Builtin;
use crate::host::{FunctionRef, Host, HostValue, TupleClass};
use crate::machine::Machine;
use crate::value::Value;
use names::Environment;
use ruff_text_size::TextRange;
use std::sync::Arc;
use tegula_ir::{Builder, Diagnostic, FileId, RegionId, SourceMap, Span, Type};

/// Branches and loops at run time may be nested this deep.
const MAX_NESTING: usize = 200;

/// Stack that a recursive step of evaluation is sure to have, and what is added where there is less.
const RED_ZONE: usize = 256 * 1024;
const STACK_SEGMENT: usize = 4 * 1024 * 1024;

/// What evaluation gives, or the reason why it cannot.
pub type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// What to compile: a kernel, and what is known of its arguments.
#[derive(Clone, Debug)]
pub struct Request {
    pub kernel: FunctionRef,
    /// One an argument of the kernel, in the order of its parameters.
    pub arguments: Vec<Argument>,
    /// What it is compiled for, of which it may ask.
    pub machine: Machine,
    /// Whether Python will run the kernel, and it is read for its faults alone: what only looks into it is none of them.
    pub interpreted: bool,
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
    pub machine: Machine,
    pub builder: Builder<'f>,
    /// Where the expression being evaluated stands.
    pub span: Span,
    /// The built-in being lowered.
    builtin: Option<&'static Builtin>,
    /// The functions being evaluated, the kernel first.
    frames: Vec<Frame>,
    diagnostics: Vec<Diagnostic>,
    /// What usually is a mistake, and does not stop the compilation.
    warnings: Vec<Diagnostic>,
    /// Values that are fp64 only because a constant was out of fp32's range.
    implicit_doubles: Vec<tegula_ir::Value>,
    /// What `static_print` printed; it reaches the host when the kernel is done, as a loop's body may be evaluated twice.
    printed: Vec<String>,
    /// Whether Python runs the kernel, as in [`Request`].
    interpreted: bool,
    /// Whether evaluation has come to its end early: what follows could only repeat the error that was reported.
    stopped: bool,
    /// How many statements have been evaluated.
    statements: u32,
    /// Expressions and calls being evaluated within each other.
    depth: u32,
}

/// A function being evaluated.
struct Frame {
    function: FunctionRef,
    name: String,
    file: FileId,
    syntax: Arc<ParsedFunction>,
    names: Environment,
    /// The call that started it.
    site: Span,
    /// Run-time loops around the statement being evaluated.
    loops: u32,
    /// In the constructor of an aggregate, the name of the parameter that may be given fields.
    constructs: Option<String>,
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

    /// Ends the evaluation of the kernel with an error, after which others would mean nothing.
    pub fn stop(&mut self, error: Diagnostic) -> Box<Diagnostic> {
        self.report(error);
        self.stopped = true;
        already_reported()
    }

    /// Writes a line where `static_print` goes.
    pub fn print(&mut self, text: String) {
        self.printed.push(text);
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

    /// Refuses control flow at run time that is nested too deeply for those who walk the result.
    fn check_nesting(&mut self) -> Result<()> {
        if self.builder.open_regions() <= MAX_NESTING {
            return Ok(());
        }
        let message = format!("branches and loops are nested more than {MAX_NESTING} deep here");
        let help = "a branch that returns moves the rest of the function into its sibling: return less often";
        let error = self.error(message).with_help(help);
        Err(self.stop(error))
    }

    /// The function being evaluated.
    fn frame(&self) -> &Frame {
        self.frames.last().expect("the kernel is always being evaluated")
    }

    fn frame_mut(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("the kernel is always being evaluated")
    }

    /// A range of the current function's syntax tree as a place in its file.
    fn place(&self, range: TextRange) -> Span {
        let frame = self.frame();
        let (start, end) = frame.syntax.place(range);
        Span { file: frame.file, start, end }
    }

    /// Makes a piece of syntax the place that errors and operations refer to.
    fn at(&mut self, range: TextRange) {
        self.span = self.place(range);
        self.builder.set_span(self.span);
    }
}
