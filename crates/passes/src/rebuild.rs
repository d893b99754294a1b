//! The walk of passes that replace single operations: inner regions first, each operation once.

use tegula_ir::{Function, Op, OpId, RegionId};

/// Asks for every operation of a region, and of those inside it, what it is to be instead; what is added to the list comes before it.
/// Returns whether anything was replaced.
pub(crate) fn rebuild(
    function: &mut Function,
    region: RegionId,
    replace: &mut impl FnMut(&mut Function, OpId, &mut Vec<OpId>) -> Option<Op>,
) -> bool {
    let ops = std::mem::take(&mut function.region_mut(region).ops);
    let mut rebuilt = Vec::with_capacity(ops.len());
    let mut changed = false;
    for id in ops {
        for inner in function.op(id).op.regions() {
            changed |= rebuild(function, inner, replace);
        }
        if let Some(op) = replace(function, id, &mut rebuilt) {
            function.op_mut(id).op = op;
            changed = true;
        }
        rebuilt.push(id);
    }
    function.region_mut(region).ops = rebuilt;
    changed
}
