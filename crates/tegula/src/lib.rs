//! Triton-language kernels for Rust: compiled from their source, without Python, and launched on slices.
//!
//! ```
//! let module = tegula::Module::from_source("add.py", r#"
//! import triton
//! import triton.language as tl
//!
//! @triton.jit
//! def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
//!     offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
//!     inside = offsets < n
//!     x = tl.load(x_ptr + offsets, mask=inside)
//!     y = tl.load(y_ptr + offsets, mask=inside)
//!     tl.store(out_ptr + offsets, x + y, mask=inside)
//! "#)?;
//! let kernel = module.kernel("vector_add")?;
//!
//! let (x, y) = (vec![1.0f32; 1000], vec![2.0f32; 1000]);
//! let mut out = vec![0.0f32; 1000];
//! kernel
//!     .launch([tegula::cdiv(x.len(), 256)])
//!     .arg(&x)
//!     .arg(&y)
//!     .arg(&mut out)
//!     .arg(x.len())
//!     .constexpr("BLOCK", 256)
//!     .run()?;
//! assert!(out.iter().all(|&sum| sum == 3.0));
//! # Ok::<(), tegula::Error>(())
//! ```
//!
//! # What is checked
//! A kernel computes addresses, so Rust's borrow checker cannot see what it does. There are two ways to launch:
//! * [`Launch::run`] is safe. Every access is checked against the slices that were passed, a write also against their
//!   mutability, and the programs of the grid run one after another, so they cannot race.
//! * [`Launch::run_unchecked`] is unsafe and fast: no checks (unless `TEGULA_DEBUG=1` asks for them), and programs run
//!   on all cores (at most `TEGULA_NUM_THREADS`).
//!
//! Both refuse before anything runs: missing and surplus arguments, and a shared slice in the place of
//! a parameter that the kernel writes to.
//!
//! # Features
//! `cli`, on by default, is the command line `tegula`; libraries should say `default-features = false`.

mod ahead;
mod argument;
mod error;
mod grid;
mod kernel;
mod launch;
mod module;
mod signature;
mod simulate;

pub use ahead::Ahead;
pub use argument::{Argument, Number};
pub use error::Error;
pub use grid::{Grid, Meta, cdiv};
pub use half::{bf16, f16};
pub use kernel::{Compiled, Kernel, Parameter};
pub use launch::Launch;
pub use module::Module;
pub use signature::Signature;
pub use simulate::Simulation;
pub use tegula_ir::Scalar;
pub use tegula_runtime::{Constant, Options, SimulationReport, Target, Warning};
