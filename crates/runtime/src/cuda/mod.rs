//! NVIDIA GPUs: PTX to machine code, modules on devices, launches on streams.
//!
//! | what | module |
//! |---|---|
//! | a compiled kernel: from the cache on disk, or from the back end and the assembler | [`kernel`] |
//! | PTX to machine code, by what is found here | [`assemble`] |
//! | assembly with the lines of the kernel between | [`listing`] |
//! | what an assembler says of a user's inline assembly | [`user_text`] |
//! | machine code on a device, and launches | [`module`] |
//! | how the programs of a launch are scheduled | [`scheduling`] |
//! | devices and their contexts | [`device`] |
//! | the driver and its errors | [`driver`] |
//!
//! The driver is loaded when a device is first asked for: nothing of CUDA is needed to build, to import or to compile, and
//! a process that uses the CPU alone never touches it.

pub mod assemble;
pub mod device;
pub mod driver;
pub mod kernel;
pub mod listing;
pub mod module;
pub mod scheduling;
mod tensor_map;
pub mod user_text;

pub use assemble::set_package_folders;
pub use device::Device;
pub use driver::DriverError;
pub use kernel::{Code, CudaKernel, Generated};
pub use module::Stream;
