//! Loads whose elements other threads want: they lie in a stage as a block, which each thread reads where it wants.
//!
//! Otherwise a thread would read what it fetched, and pass it on through scratch memory, with two more barriers in every iteration.

use crate::layouts::{Assignment, access_order, element_bytes, vector_access};
use tegula_ir::{Function, Op, OpId};
use tegula_layout::shared::{SharedSwizzle, swizzled};
use tegula_layout::{Conversion, Dim, Layout, SharedAccess};
use tegula_passes::AxisAnalysis;

/// How a load lies in shared memory, if it goes to other threads through it: with the swizzle that is read fastest.
pub(super) fn layout(
    function: &Function,
    layouts: &Assignment,
    axis: &AxisAnalysis,
    load: OpId,
) -> Option<Layout> {
    let Op::Load { pointer, mask, .. } = &function.op(load).op else { return None };
    let result = function.op(load).results[0];
    let shape = &function.ty(result).shape;
    if crate::padding::is_padded(shape) {
        return None;
    }
    let work = layouts.set.get(layouts.work[&load]);
    let bits = function.ty(result).element.bytes() * 8;
    let targets: Vec<&Layout> =
        layouts.wanted[result.0 as usize].iter().map(|&wanted| layouts.set.get(wanted)).collect();
    let passes_through =
        |target: &&Layout| matches!(Conversion::plan(work, target, bits), Ok(Conversion::SharedMemory(_)));
    if bits < 8 || !targets.iter().any(passes_through) {
        return None;
    }
    let vector = vector_access(function, axis, work, *pointer, *mask).ok()?.elements();
    let order = access_order(axis, *pointer, shape);
    let phases = [1, 2, 4, 8];
    let swizzles = phases.into_iter().flat_map(|max_phase| {
        phases.into_iter().map(move |per_phase| SharedSwizzle { vector, per_phase, max_phase })
    });
    let candidates = swizzles.filter_map(|swizzle| {
        let layout = swizzled(&work.shape(), &order, swizzle).ok()?;
        let accesses = targets.iter().map(|target| SharedAccess::new(target, &layout, bits));
        let accesses: Vec<SharedAccess> = accesses.collect::<Result<_, _>>().ok()?;
        Some((accesses.iter().map(SharedAccess::wavefronts).sum::<u64>(), layout))
    });
    candidates.min_by_key(|&(wavefronts, _)| wavefronts).map(|(_, layout)| layout)
}

/// The shared memory of a load that lies as a block.
pub(super) fn bytes(function: &Function, load: OpId, layout: &Layout) -> u64 {
    let Op::Load { pointer, .. } = &function.op(load).op else { return 0 };
    element_bytes(function, *pointer) << layout.outputs().bits_of(Dim::Offset)
}
