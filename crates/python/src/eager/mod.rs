//! The interpreter: a kernel runs as ordinary Python, and each operation on tiles at once.
//!
//! An operation is an expression (`a + b`, `f(a, mask=b)`) that is compiled for the types of its operands by the very front end, passes and
//! back end that whole kernels go through, once, and then executed on the operands. There is no second implementation of the language.
//!
//! | module | what it does |
//! |---|---|
//! | [`launch`] | calls the Python function for each program of the grid, with arguments as tiles |
//! | [`session`] | what is known of the launch under way: grid, program, memory that may be accessed |
//! | [`name`] | where Python and the language differ, the language's way |
//! | [`tensor`] | `tl.tensor`: a scalar or a block with its elements |
//! | [`record`], [`range`] | block pointers and descriptors; what `range` gives |
//! | [`operation`] | finds the compiled operation for operands, or compiles it, and executes it |
//! | [`operand`], [`template`] | Python objects to operands, results to Python objects |
//! | [`error`] | refusals as exceptions that quote the user's line |

mod error;
mod launch;
mod name;
mod operand;
mod operation;
mod range;
mod record;
mod session;
mod template;
mod tensor;

pub use launch::launch;
pub use name::{eager_chain, eager_combine, eager_decides, eager_name, eager_not};
pub use operation::call;
pub use range::{Range, eager_range};
pub use record::{BoundMethod, Record, eager_attribute};
pub use session::{is_active, is_interpreting};
pub use tensor::Tensor;
