//! The CPU back end: executes the intermediate representation a tile at a time.
//!
//! ```text
//! Function --lower--> Program --launch--> an Executor a thread, which runs one program of the grid after another
//! ```
//!
//! | module | turns |
//! |---|---|
//! | [`lower`] | a function into a flat [`Program`]: places of values, strip functions, last uses |
//! | [`launch`] | a grid into pieces of work for threads |
//! | [`watch`] | time and flags into the sharing of work among threads, and its end before the end |
//! | [`execute`], [`control`] | instructions into changes of registers and slots |
//! | [`eager`] | one operation on blocks into blocks, for an interpreter |
//! | [`block`], [`strided`], [`per_axis`], [`affine`] | index arithmetic into a few numbers instead of elements |
//! | [`plan`], [`stream`] | straight-line code on rows into steps that are decided beforehand |
//! | [`elementwise`], [`memory`], [`hazard`], [`queue`] | elementwise operations, loads and stores into loops over strips that stay in L1 |
//! | [`fill`] | strips of operands into strips of results |
//! | [`shape`], [`fold`], [`dot`], [`atomic`], [`print`], [`bounds`] | everything else |

mod affine;
mod atomic;
mod block;
mod bounds;
mod buffer;
mod control;
mod dot;
mod eager;
mod elementwise;
mod execute;
mod fill;
mod fold;
mod hazard;
mod launch;
mod lower;
mod memory;
mod per_axis;
mod plan;
mod print;
mod program;
mod queue;
mod scalar;
mod shape;
mod stream;
mod strided;
mod watch;

pub use eager::{EagerBlock, Evaluation, Memory, Setting};
pub use launch::{ArrayRange, LaunchError, LaunchOptions, StopReason, panic_text};
pub use program::Program;
