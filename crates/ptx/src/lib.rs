//! PTX as data.
//!
//! The GPU back end builds a [`Module`] of [`Function`]s, whose bodies are [`Statement`]s: an
//! [`Instruction`] is an enumeration of families, each a struct of typed modifiers and operands, so that
//! what is printed is well formed and what reads it can match on it. `to_string` prints; [`Module::parse`]
//! reads the same subset back. `.version` and `.target` follow from the instructions used.
//!
//! ```
//! use tegula_ptx::{Address, Class, Control, Function, Load, Math, MathOp, Module, Parameter};
//! use tegula_ptx::{Rounding, Space, Store, Type};
//!
//! let mut kernel = Function::kernel("double");
//! kernel.parameters.push(Parameter::new("data", Type::U64));
//! let (pointer, value) = (kernel.fresh(Class::Bits64), kernel.fresh(Class::Bits32));
//! kernel.push(Load::new(Space::Param, Type::U64, &[pointer], Address::symbol("data", 0)));
//! kernel.push(Load::new(Space::Global, Type::F32, &[value], pointer.into()));
//! let sum = Math::new(MathOp::Add, Type::F32, value, [value.into(), value.into()]);
//! kernel.push(sum.rounding(Rounding::Nearest));
//! kernel.push(Store::new(Space::Global, Type::F32, pointer.into(), &[value.into()]));
//! kernel.push(Control::Return);
//! let mut module = Module::new(80);
//! module.functions.push(kernel);
//!
//! let text = module.to_string();
//! assert!(text.starts_with(".version 7.0\n.target sm_80\n"));
//! assert!(text.contains("\tadd.rn.f32 %r0, %r0, %r0;\n"));
//! assert_eq!(Module::parse(&text), Ok(module));
//! ```
//!
//! Registers are typed by width alone (PTX lets `.b32` hold a float), so nothing is moved between
//! integer and floating-point registers. References are to the PTX ISA, version 9.

#[macro_use]
mod modifier;
mod function;
mod instruction;
mod module;
mod operand;
mod parse;
mod printer;
mod target;
mod unused;

pub use function::{Call, Function, LaunchBounds, Parameter, PointerFact, Statement};
pub use instruction::*;
pub use modifier::{
    CacheOperator, Eviction, Modifier, Ordering, PolicyPriority, Prefetch, Rounding, Scope, Space, Type,
};
pub use module::{Extent, ExternFunction, Linkage, Module, Unavailable, Variable};
pub use operand::{Address, Base, Class, Label, Operand, Predicate, Register, Special, Symbol};
pub use parse::{ParseError, verbatim_lines};
pub use target::{Availability, Features, Requirement, Target, Version};
