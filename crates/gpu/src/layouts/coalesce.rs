//! The layouts of memory operations: consecutive threads on consecutive addresses, up to 16 bytes each.
//!
//! All operations of one region and one shape that follow memory in the same order share the widest vector that one of them can use, so that
//! what is loaded is stored without a conversion: a copy from fp16 to fp32 loads 8 elements at once and stores 4 twice. What a loop loads
//! does not follow what is stored after it: there a conversion costs little, and neighbouring threads had better read neighbours.

use super::{Assignment, LayoutId};
use rustc_hash::FxHashMap;
use tegula_ir::{Function, Op, OpId, RegionId, Shape, Value};
use tegula_layout::{Layout, VectorAccess, shared};
use tegula_passes::AxisAnalysis;

/// The widest access of a thread, in bytes.
const VECTOR_BYTES: u64 = 16;

const WORD_BYTES: u64 = 4;

/// How a thread's registers are grouped into accesses of memory.
///
/// # Errors
/// The layout and the shape do not go together.
pub(crate) fn vector_access(
    function: &Function,
    axis: &AxisAnalysis,
    layout: &Layout,
    pointer: Value,
    mask: Option<Value>,
) -> Result<VectorAccess, tegula_layout::Error> {
    let ty = function.ty(pointer);
    let info = axis.of(pointer);
    let order = access_order(axis, pointer, &ty.shape);
    let fastest = order[0] as usize;
    let bytes = element_bytes(function, pointer);
    let mut most = u64::from(info.vector_width(fastest)).min(VECTOR_BYTES / bytes);
    if let Some(mask) = mask {
        let run = u64::from(axis.of(mask).constancy(fastest).max(1));
        most = most.min(run & run.wrapping_neg());
    }
    let to_memory = shared::ordered(&layout.shape(), &order).and_then(|memory| layout.then(&memory))?;
    VectorAccess::widest(&to_memory, most)
}

/// The pointers and the mask of a memory operation on blocks.
pub(crate) fn memory_operands(op: &Op) -> Option<(Value, Option<Value>)> {
    match op {
        Op::Load { pointer, mask, .. }
        | Op::Store { pointer, mask, .. }
        | Op::AtomicRmw { pointer, mask, .. } => Some((*pointer, *mask)),
        Op::AtomicCas { pointer, .. } => Some((*pointer, None)),
        _ => None,
    }
}

/// Gives each memory operation on blocks its layout.
pub(super) fn anchor_memory(function: &Function, axis: &AxisAnalysis, assignment: &mut Assignment) {
    let mut accesses = Vec::new();
    collect(function, function.body, axis, &mut accesses);
    let mut widest: FxHashMap<(RegionId, Shape, Vec<u8>), u64> = FxHashMap::default();
    for access in &accesses {
        let vector = widest.entry(access.key()).or_insert(1);
        *vector = access.vector.max(*vector);
    }
    for access in accesses {
        let vector = widest[&access.key()];
        let least = access.vector.min(access.word).max(1);
        let layout: LayoutId = assignment.set.blocked(&access.shape, &access.order, vector, least);
        assignment.work.insert(access.op, layout);
    }
}

struct Access {
    op: OpId,
    region: RegionId,
    shape: Shape,
    /// The axes from the fastest in memory to the slowest.
    order: Vec<u8>,
    /// Elements that one instruction can take.
    vector: u64,
    /// Elements of four bytes, the least that is copied in the background.
    word: u64,
}

impl Access {
    /// What accesses have in common that share a vector.
    fn key(&self) -> (RegionId, Shape, Vec<u8>) {
        (self.region, self.shape.clone(), self.order.clone())
    }
}

fn collect(function: &Function, region: RegionId, axis: &AxisAnalysis, accesses: &mut Vec<Access>) {
    for &op in &function.region(region).ops {
        let data = function.op(op);
        for inner in data.op.regions() {
            collect(function, inner, axis, accesses);
        }
        let Some((pointer, _)) = memory_operands(&data.op) else { continue };
        let ty = function.ty(pointer);
        if ty.is_scalar() {
            continue;
        }
        let info = axis.of(pointer);
        let order = access_order(axis, pointer, &ty.shape);
        let bytes = element_bytes(function, pointer);
        let fastest = order[0] as usize;
        let vector = u64::from(info.vector_width(fastest)).min(VECTOR_BYTES / bytes);
        let word = WORD_BYTES / bytes;
        accesses.push(Access { op, region, shape: ty.shape.clone(), order, vector, word });
    }
}

/// The axes of a block of pointers, from the fastest in memory to the slowest.
pub(crate) fn access_order(axis: &AxisAnalysis, pointer: Value, shape: &Shape) -> Vec<u8> {
    let info = axis.of(pointer);
    let mut order: Vec<u8> = (0..shape.rank() as u8).rev().collect();
    // A stable sort: where nothing is known, the last axis is the fastest.
    order.sort_by_key(|&axis| std::cmp::Reverse(info.contiguity(axis as usize)));
    order
}

/// The bytes of an element that a block of pointers points to.
pub(crate) fn element_bytes(function: &Function, pointer: Value) -> u64 {
    match function.ty(pointer).element {
        tegula_ir::Element::Pointer(pointer) => pointer.target().bytes().into(),
        tegula_ir::Element::Scalar(scalar) => scalar.bytes().into(),
    }
}
