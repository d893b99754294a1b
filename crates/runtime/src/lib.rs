//! The runtime: from the arguments of a call to a running kernel.
//!
//! | step | module |
//! |---|---|
//! | what an argument tells the compiler (its type; that it is 1, or a multiple of 16) | [`specialization`] |
//! | the kernel compiled for that, once, however many threads ask | [`cache`] |
//! | front end, passes and back end in a row; the launch | [`executable`] |
//! | kernels for GPUs: assembler, driver, launches | [`cuda`] |
//! | kernels for GPUs in the simulator | [`simulated`] |
//! | what was compiled for GPUs, on disk, for every process | [`disk_cache`] |
//! | warnings of the compilation and of the launch | [`warnings`] |
//! | one operation at a time, for an interpreter | [`operation`] |
//! | what `num_warps` and its kind may be | [`options`] |
//!
//! Nothing here knows Python: values that only the host of a kernel understands (functions, classes) are
//! identified by numbers of the host's choice.

pub mod cache;
pub mod cuda;
pub mod disk_cache;
mod error;
pub mod executable;
mod internal;
mod operation;
pub mod options;
pub mod simulated;
pub mod specialization;
mod stores;
mod target;
mod tensor_map;
mod versions;
pub mod warnings;

pub use cache::{Cache, Variant};
pub use disk_cache::DiskCache;
pub use error::{Error, Resource};
pub use executable::Executable;
pub use internal::guarded;
pub use operation::{OperandKey, Operation};
pub use options::Options;
pub use simulated::{Schedule, SimulatedKernel};
pub use specialization::{Constant, Descriptor, Policy, Specialization};
pub use target::{Gpu, Target};
pub use tegula_cpu::{ArrayRange, EagerBlock, LaunchError, LaunchOptions, Memory, Setting, StopReason};
pub use tegula_sim::Report as SimulationReport;
pub use warnings::{Reported, Warning};
