//! What an expression of a kernel evaluates to.

use crate::builtin::Builtin;
use crate::host::{FunctionRef, HostValue, ObjectRef, TupleClass};
use crate::lower::PythonFunction;
use std::sync::Arc;
use tegula_ir::{Pointer, Scalar};

/// The value of an expression at compile time.
///
/// Only [`Value::Tensor`] exists at run time. Constants keep Python's arithmetic as long as they are constants.
#[derive(Clone, Debug)]
pub enum Value {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Arc<str>),
    /// A scalar type, such as `tl.float32`.
    Type(Scalar),
    /// A pointer type.
    PointerType(Pointer),
    /// A scalar or a block computed at run time.
    Tensor(tegula_ir::Value),
    /// A tuple or list; with the class if it is a named one.
    Tuple(Arc<[Value]>, Option<TupleClass>),
    /// `start:stop:step` in a subscript.
    Slice(Box<[Value; 3]>),
    Ellipsis,
    /// A function of the language.
    Builtin(&'static Builtin),
    /// A `@triton.jit` function.
    Function(FunctionRef),
    /// A method, bound to the value it was looked up on (`x.to`, `x.sum`): the receiver, and the callable that takes it first.
    Method(Box<(Value, Value)>),
    /// `triton.language` or a module below it, by its path: `""`, `"math"`.
    Language(&'static str),
    /// A class of the language or a function of Python that the front end knows: `tl.constexpr`, `len`.
    Python(PythonFunction),
    /// A function evaluated by the host at compile time.
    ConstexprFunction(ObjectRef),
    /// A module or other object of the host, used for its attributes.
    Module(ObjectRef),
    TupleClass(TupleClass),
    /// A plain Python function: calling it is an error that says so.
    PlainFunction(Arc<str>),
    /// Values of the front end's own making, which have a structure of their own (block pointers, tensor descriptors, ranges).
    Record(Arc<Record>),
    /// Anything else of the host; the text names its type, for messages.
    Other(ObjectRef, Arc<str>),
}

/// A structured value: its fields may hold tensors, so it can be carried by loops and branches like a tuple.
#[derive(Clone, Debug)]
pub struct Record {
    pub kind: RecordKind,
    pub fields: Vec<(&'static str, Value)>,
}

/// The kinds of [`Record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// `range`, `tl.range` or `tl.static_range` with its arguments, as evaluated.
    Range,
    StaticRange,
    /// Made by `tl.make_block_ptr`.
    BlockPointer,
    /// Made by `tl.make_tensor_descriptor`, or an argument of the kernel.
    TensorDescriptor,
    /// The type of a block, `x.type`: its `element_ty` and its `shape`.
    BlockType,
}

impl Value {
    /// Whether this is a number, a truth value, a string or `None`, known at compile time.
    pub fn is_constant(&self) -> bool {
        matches!(self, Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_))
    }
}

/// What a value of the host is in a kernel.
impl From<HostValue> for Value {
    fn from(value: HostValue) -> Value {
        match value {
            HostValue::None => Value::None,
            HostValue::Bool(value) => Value::Bool(value),
            HostValue::Int(value) => Value::Int(value),
            HostValue::Float(value) => Value::Float(value),
            HostValue::Str(value) => Value::Str(value.into()),
            HostValue::Type(scalar) => Value::Type(scalar),
            HostValue::PointerType(pointer) => Value::PointerType(pointer),
            HostValue::Tuple(items, class) => {
                Value::Tuple(items.into_iter().map(Value::from).collect(), class)
            }
            HostValue::Constexpr(value) => Value::from(*value),
            HostValue::Builtin(builtin) => Value::Builtin(builtin),
            HostValue::Python(function) => Value::Python(function),
            HostValue::Language(module) => Value::Language(module),
            HostValue::Function(function) => Value::Function(function),
            HostValue::ConstexprFunction(object) => Value::ConstexprFunction(object),
            HostValue::Module(object) => Value::Module(object),
            HostValue::TupleClass(class) => Value::TupleClass(class),
            HostValue::PlainFunction { name } => Value::PlainFunction(name.into()),
            HostValue::Other(object, class) => Value::Other(object, class.into()),
        }
    }
}
