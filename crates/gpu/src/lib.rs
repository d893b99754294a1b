//! The GPU back end: a function of the intermediate representation to PTX.
//!
//! One program of the grid is one thread block of `num_warps` warps. A scalar lives in one register, and every thread computes
//! it; a block is spread over the threads by a linear layout, so that each thread holds a vector of registers.
//!
//! ```text
//! function -> layouts (which thread holds what) -> hazards (who waits for whom) -> lower (operation by operation) -> PTX
//! ```
//!
//! ```
//! use tegula_gpu::{Options, Target, compile};
//!
//! let function = tegula_ir::Function::parse(
//!     "kernel @copy(%x: *fp32 {divisible 16}, %y: *fp32 {divisible 16}) {
//!        %0 = arange 0..512 : <512xi32>
//!        %1 = splat %x : <512x*fp32>
//!        %2 = add_pointer %1, %0 : <512x*fp32>
//!        %3 = load %2 : <512xfp32>
//!        %4 = splat %y : <512x*fp32>
//!        %5 = add_pointer %4, %0 : <512x*fp32>
//!        store %5, %3
//!      }",
//! )
//! .unwrap();
//! let kernel = compile(&function, Target::portable(80), &Options::default()).unwrap();
//! assert_eq!((kernel.name.as_str(), kernel.num_warps), ("copy", 4));
//! assert!(kernel.ptx.contains("ld.global.v4.b32"));
//! ```

mod bulk;
mod channels;
mod hazards;
mod kernel;
mod layouts;
mod lower;
mod nesting;
mod order;
mod padding;
mod residency;
mod roots;
mod template;
mod users;

pub use bulk::{Condition, HostExpression, TensorMap};
pub use kernel::{Kernel, Options, ParameterKind};
pub use tegula_ptx::Target;

use layouts::Assignment;
use tegula_ir::{Diagnostic, Function};
use tegula_passes::AxisAnalysis;

/// Compiles an optimised function for a target, `sm_80` or later.
///
/// # Errors
/// The function does what the target, or this compiler, cannot: the diagnostic names the operation and its place.
pub fn compile(function: &Function, target: Target, options: &Options) -> Result<Kernel, Box<Diagnostic>> {
    options.check(target)?;
    let function = &prepared(function, target, options);
    let axis = AxisAnalysis::of_indices(function);
    let layouts = Assignment::new(function, &axis, target, options);
    lower::lower(function, &layouts, &axis, target, options)
}

/// The function as GPUs want it: with simple indices, loads that read nothing twice, and no blocks of addresses that loops move on
/// (those that bulk copies are made of move by themselves).
fn prepared(function: &Function, target: Target, options: &Options) -> Function {
    let mut function = function.clone();
    let mut changed = false;
    // What is split in the first round is a shift or a mask in the second.
    for _ in 0..2 {
        let axis = AxisAnalysis::of_indices(&function);
        changed |= tegula_passes::simplify_index_arithmetic(&mut function, &axis);
    }
    let axis = AxisAnalysis::of_indices(&function);
    changed |= tegula_passes::narrow_loads(&mut function, &axis);
    if !options.copies_in_bulk(target) {
        changed |= tegula_passes::carry_single_pointers(&mut function);
    }
    changed |= tegula_passes::narrow_floats(&mut function);
    if changed {
        tegula_passes::optimise(&mut function);
    }
    function
}
