//! Target-independent passes and analyses.
//!
//! Passes rewrite a function and say whether they changed it: [`fold()`], [`eliminate_common_subexpressions`],
//! [`hoist_loop_invariants`], [`eliminate_dead_code`]; [`optimise`] runs them all. Each is one walk over the
//! function, so the whole takes microseconds. Analyses answer questions of back ends and change nothing: [`AxisAnalysis`]
//! (what is known of neighbouring elements), [`LaunchInvariance`] (what every program computes alike), [`Uses`] (where a value is needed last), [`LaunchCheck`]
//! (whether the accesses of a launch go wrong).
//!
//! What a kernel stores, prints and asserts stays the same in every bit, with two freedoms that C++ compilers take too: a
//! read whose result is not used may be dropped, and so may a loop that has no effects, even if it might not end.

mod arithmetic;
mod axis_info;
mod carried_pointers;
mod cse;
mod dce;
mod fold;
mod index_arithmetic;
mod launch_check;
mod licm;
mod narrow_floats;
mod narrow_loads;
mod ranges;
mod rebuild;
mod replacement;
mod tables;
mod uniform;
mod uses;

pub use axis_info::{AxisAnalysis, AxisInfo};
pub use carried_pointers::carry_single_pointers;
pub use cse::eliminate_common_subexpressions;
pub use dce::eliminate_dead_code;
pub use fold::fold;
pub use index_arithmetic::simplify_index_arithmetic;
pub use launch_check::{Launch, LaunchCheck};
pub use licm::hoist_loop_invariants;
pub use narrow_floats::narrow_floats;
pub use narrow_loads::narrow_loads;
pub use ranges::{Range, Ranges};
pub use tables::{Table, Tables};
pub use uniform::LaunchInvariance;
pub use uses::Uses;

use tegula_ir::Function;

/// A pass: rewrites a function, and returns whether it changed anything.
type Pass = fn(&mut Function) -> bool;

const PASSES: [(&str, Pass); 4] = [
    ("fold", fold),
    ("eliminate_common_subexpressions", eliminate_common_subexpressions),
    ("hoist_loop_invariants", hoist_loop_invariants),
    ("eliminate_dead_code", eliminate_dead_code),
];

/// Rounds of passes after which [`optimise`] stops: each round finds less, and kernels need three or four.
const MAX_ROUNDS: usize = 10;

/// Runs the passes that every target wants, until none of them finds anything to do.
///
/// # Panics
/// In debug builds, if a pass makes a function that does not verify.
pub fn optimise(function: &mut Function) {
    for _ in 0..MAX_ROUNDS {
        let mut changed = false;
        for (name, pass) in PASSES {
            changed |= pass(function);
            if cfg!(debug_assertions)
                && let Err(diagnostics) = tegula_ir::verify(function)
            {
                panic!("after {name}: {}\n{function}", diagnostics[0].message);
            }
        }
        if !changed {
            return;
        }
    }
}
