//! The runtime: from the arguments of a call to a running kernel.
//!
//! | step | module |
//! |---|---|
//! | what an argument tells the compiler (its type; that it is 1, or a multiple of 16) | [`specialization`] |
//! | the kernel compiled for that, once, however many threads ask | [`cache`] |
//! | front end, passes and back end in a row; the launch | [`executable`] |
//! | what `num_warps` and its kind may be | [`options`] |
//!
//! Nothing here knows Python: values that only the host of a kernel understands (functions, classes) are
//! identified by numbers of the host's choice.

pub mod cache;
mod error;
pub mod executable;
mod internal;
pub mod options;
pub mod specialization;
mod stores;
mod target;

pub use cache::Cache;
pub use error::Error;
pub use executable::Executable;
pub use internal::guarded;
pub use options::Options;
pub use specialization::{Constant, Descriptor, Policy, Specialization};
pub use target::Target;
pub use tegula_cpu::{ArrayRange, LaunchOptions};
