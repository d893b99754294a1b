//! What the front end asks of the world outside a kernel.
//!
//! Two hosts exist: one over live Python objects (in the `python` crate), and [`crate::source_host`], which
//! reads source files alone.

use crate::builtin::Builtin;
use crate::lower::{PythonFunction, Syntax};
use std::sync::Arc;
use tegula_ir::{Scalar, SourceFile};

/// A `@triton.jit` function known to the host. Equal functions have equal references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionRef(pub u64);

/// Any other object of the host: a module, a class, a `constexpr_function`, an unsupported object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectRef(pub u64);

/// A function's text, and what its definition says.
#[derive(Debug)]
pub struct FunctionSource {
    /// The function's own name.
    pub name: String,
    /// The text of the definition with its decorators (it may be indented, as `inspect.getsource` returns it), or
    /// a whole file that contains it.
    pub file: Arc<SourceFile>,
    /// Byte offset in `file.text` at which the definition (its first decorator, or `def`) starts.
    pub start: u32,
    /// Whether the user asked that calls be kept (`noinline=True`).
    pub noinline: bool,
    /// The parameters, in order.
    pub params: Vec<ParamSource>,
    /// The syntax tree, made when it is first wanted: hosts keep a `FunctionSource` as long as the function.
    pub syntax: Syntax,
}

/// A parameter as the host sees it. Whether it is a `constexpr` is read from the annotation in the text.
#[derive(Debug, Clone)]
pub struct ParamSource {
    pub name: String,
    /// The default, already evaluated by the host.
    pub default: Option<HostValue>,
}

/// A value of the host, as far as the language has a use for it.
#[derive(Clone, Debug)]
pub enum HostValue {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(String),
    /// `tl.float32` and the like.
    Type(Scalar),
    /// `tl.pointer_type(tl.float32)`.
    PointerType(tegula_ir::Pointer),
    /// A tuple or a list; `class` is the named-tuple class it is an instance of, with its field names.
    Tuple(Vec<HostValue>, Option<TupleClass>),
    /// A value wrapped in `tl.constexpr(...)`.
    Constexpr(Box<HostValue>),
    /// A function of `tl` (or of `tl.math`, `libdevice`, ...), by its entry in the table of built-ins.
    Builtin(&'static Builtin),
    /// `triton.language` or a module below it, by its path: `""`, `"math"`, `"extra.libdevice"`.
    Language(&'static str),
    /// A class of the language, or a function of Python's `builtins`, that the front end knows: `tl.constexpr`, `len`.
    Python(PythonFunction),
    /// A `@triton.jit` function.
    Function(FunctionRef),
    /// A `@triton.constexpr_function`, or a plain function that is known to be evaluated at compile time (`triton.cdiv`).
    ConstexprFunction(ObjectRef),
    /// A module, or any object that is used for its attributes.
    Module(ObjectRef),
    /// A `collections.namedtuple` or `typing.NamedTuple` class; calling it makes a tuple.
    TupleClass(TupleClass),
    /// A plain Python function, which a kernel may not call.
    PlainFunction {
        name: String,
    },
    /// Anything else; the text names its type, for messages.
    Other(ObjectRef, String),
}

/// A class whose instances are tuples with named fields: a named tuple, or an aggregate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TupleClass {
    pub object: ObjectRef,
    pub name: String,
    pub fields: Arc<[String]>,
    /// Of an aggregate, which of its fields stay constants. Its object has the attributes `_constructor` (a jitted function or
    /// `None`), `_defaults` (an object with the fields that have one) and `_static_methods` (a tuple of names).
    pub constants: Option<Arc<[bool]>>,
}

/// The world outside a kernel.
pub trait Host {
    /// The text of a function. The error says why there is none.
    fn function(&self, function: FunctionRef) -> Result<Arc<FunctionSource>, String>;

    /// A name that `function` uses and does not define: from its closure, its module, or Python's built-ins
    /// that the front end does not know itself. A global that is a plain number comes as such; the front end refuses it unless it is a
    /// `Constexpr`.
    fn global(&self, function: FunctionRef, name: &str) -> Option<HostValue>;

    /// Every name that [`Host::global`] would find, for "did you mean".
    fn global_names(&self, function: FunctionRef) -> Vec<String>;

    /// An attribute of an object.
    fn attribute(&self, object: ObjectRef, name: &str) -> Option<HostValue>;

    /// The attributes of an object, for "did you mean".
    fn attribute_names(&self, object: ObjectRef) -> Vec<String>;

    /// Calls a function at compile time. The error is the exception's text.
    fn call(
        &self,
        function: ObjectRef,
        positional: Vec<HostValue>,
        keywords: Vec<(String, HostValue)>,
    ) -> Result<HostValue, String>;

    /// Where `static_print` goes.
    fn print(&self, text: &str);
}
