//! Target-independent passes and analyses.

use tegula_ir::Function;

/// Runs the passes that every target wants: folding, common subexpressions, dead code, loop invariants.
pub fn optimise(_function: &mut Function) {}
