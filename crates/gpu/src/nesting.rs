//! What lies inside of what: operations and regions of a function.

use tegula_ir::{Function, OpId, RegionId};

/// Whether an operation is listed in a region, or in one inside it.
pub(crate) fn contains(function: &Function, region: RegionId, op: OpId) -> bool {
    function.region(region).ops.iter().any(|&other| is_within(function, other, op))
}

/// Whether an operation is another, or lies inside it.
pub(crate) fn is_within(function: &Function, outer: OpId, op: OpId) -> bool {
    outer == op || function.op(outer).op.regions().iter().any(|&region| contains(function, region, op))
}

/// Whether a region is another, or lies inside it.
pub(crate) fn encloses(function: &Function, outer: RegionId, region: RegionId) -> bool {
    let inside =
        |&op: &OpId| function.op(op).op.regions().iter().any(|&inner| encloses(function, inner, region));
    outer == region || function.region(outer).ops.iter().any(inside)
}
