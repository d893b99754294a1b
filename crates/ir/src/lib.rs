//! The intermediate representation: typed SSA over tiles, with structured control flow.
//!
//! The front end builds a [`Function`]; passes rewrite it; the back ends read it. A function owns
//! three arenas (values, operations, regions) and refers to their entries by small copyable
//! identifiers, so that a pass can hold a value while it edits the list it came from.
//!
//! ```
//! use tegula_ir::{Builder, BinaryOp, Function, Param, Scalar, Span, Type};
//!
//! let mut function = Function::new("double", vec![Param::new("n", Type::scalar(Scalar::Int32))]);
//! let n = function.params[0].value;
//! let mut builder = Builder::new(&mut function);
//! builder.set_span(Span::default());
//! builder.binary(BinaryOp::Add, n, n);
//! builder.finish();
//! assert_eq!(function.region(function.body).ops.len(), 1);
//! ```

#[cfg(feature = "arbitrary")]
pub mod arbitrary;
mod builder;
mod diagnostic;
mod function;
mod names;
mod op;
mod rounding;
mod source;
mod text;
mod types;
mod verify;

pub use builder::Builder;
pub use diagnostic::{Call, Diagnostic, Label, Severity};
pub use function::{Function, OpData, OpId, Param, Region, RegionId, Value, ValueData, ValueDef};
pub use op::{
    Assembly, AtomicOp, AtomicOrdering, AtomicScope, BinaryOp, CacheModifier, DotPrecision, EvictionPolicy,
    Hint, Literal, LoopAttributes, Op, Predicate, Rounding, UnaryOp,
};
pub use source::{FileId, SourceFile, SourceMap, Span};
pub use text::ParseError;
pub use types::{Element, Pointer, Scalar, Shape, Type};
pub use verify::{MAX_ELEMENTS, verify};
