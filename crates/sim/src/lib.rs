//! A simulator of GPUs: PTX text to what it computes on the CPU, and to what is wrong with it.
//!
//! ```text
//! PTX -> program (operands are slots, instructions are operations) -> machine (warps that take turns) -> report
//!                          number (formats and rounding)     order (who comes after whom)
//! ```
//!
//! The simulator judges what is printed: it parses the text. It runs every program of a grid, blocks of warps in lockstep, and
//! reports what hardware hides: races by happens-before, copies that are not waited for, missing fences, barriers that not all
//! reach, and accesses out of bounds.

mod machine;
mod number;
mod order;
mod program;
mod report;

pub use machine::{Argument, Array, Launch, Options, TensorMap};
pub use program::{BuildError, Program};
pub use report::{Finding, FindingKind, InstructionReport, Report, StepCounts, Traffic};
