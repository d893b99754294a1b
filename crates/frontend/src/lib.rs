//! The front end: Triton-language source text to the intermediate representation.
//!
//! A kernel is evaluated symbolically, statement by statement: what is known at compile time (`constexpr`
//! values, tuples, types, functions) is computed at once, everything else becomes operations. Names that the
//! kernel does not define are asked of a [`Host`], so the same front end serves live Python objects and plain source files. Of the
//! machine that a kernel is compiled for it knows what the kernel itself may ask, a [`Machine`].

pub mod builtin;
pub mod host;
pub mod lower;
pub mod machine;
pub mod prelude;
pub mod source_host;
pub mod value;

pub use host::{FunctionRef, FunctionSource, Host, HostValue, ObjectRef, ParamSource};
pub use lower::{Argument, CompileError, Operand, Operation, Request, compile, compile_operation};
pub use machine::Machine;
