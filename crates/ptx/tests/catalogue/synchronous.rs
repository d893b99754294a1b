//! Lanes, barriers, fences, products of matrices by one warp, and control.

use smallvec::SmallVec;
use tegula_ptx::*;

use super::Pick;

pub fn push(pick: &mut Pick, all: &mut Vec<Instruction>) {
    lanes(pick, all);
    barriers(pick, all);
    matrices(pick, all);
    control(pick, all);
}

const ALL_LANES: Operand = Operand::Integer(0xffff_ffff);

fn lanes(pick: &mut Pick, all: &mut Vec<Instruction>) {
    for &mode in ShuffleMode::ALL {
        let clamp = Operand::Integer(if mode == ShuffleMode::Up { 0 } else { 31 });
        let in_range = if pick.flip() { Some(pick.p()) } else { None };
        let (dst, source, lane) = (pick.r(), pick.r().into(), pick.small());
        all.push(Shuffle { mode, dst, in_range, source, lane, clamp, members: ALL_LANES }.into());
    }
    for &mode in VoteMode::ALL {
        let dst = if mode == VoteMode::Ballot { pick.r() } else { pick.p() };
        all.push(Vote { mode, dst, predicate: pick.guard(), members: ALL_LANES }.into());
    }
    for (ty, value) in [(Type::B32, pick.r()), (Type::B64, pick.d())] {
        let any =
            Match { all: false, ty, dst: pick.r(), agreed: None, value: value.into(), members: ALL_LANES };
        all.push(Match { all: true, agreed: Some(pick.p()), ..any.clone() }.into());
        all.push(any.into());
    }
    let reduce = |pick: &mut Pick, op, ty| WarpReduce {
        op,
        absolute: false,
        propagate_nan: false,
        ty,
        dst: pick.r(),
        source: pick.r(),
        members: ALL_LANES,
    };
    for op in [WarpReduceOp::Add, WarpReduceOp::Min, WarpReduceOp::Max] {
        all.push(reduce(pick, op, Type::S32).into());
        all.push(reduce(pick, op, Type::U32).into());
    }
    for op in [WarpReduceOp::And, WarpReduceOp::Or, WarpReduceOp::Xor] {
        all.push(reduce(pick, op, Type::B32).into());
    }
    all.push(
        WarpReduce { absolute: true, propagate_nan: true, ..reduce(pick, WarpReduceOp::Max, Type::F32) }
            .into(),
    );
    all.push(ActiveMask { dst: pick.r() }.into());
    all.push(Elect { lane: None, elected: pick.p(), members: ALL_LANES }.into());
    all.push(Elect { lane: Some(pick.r()), elected: pick.p(), members: ALL_LANES }.into());
}

fn barriers(pick: &mut Pick, all: &mut Vec<Instruction>) {
    all.push(Barrier::block().into());
    let id = Operand::Integer(1 + pick.below(15) as i64);
    let threads = Operand::Integer(128);
    for aligned in [false, true] {
        for &action in BarrierAction::ALL {
            all.push(Barrier { action, aligned, id, threads: Some(threads) }.into());
        }
        all.push(Barrier { action: BarrierAction::Sync, aligned, id: pick.r().into(), threads: None }.into());
    }
    for &reduction in BarrierReduction::ALL {
        let dst = if reduction == BarrierReduction::Count { pick.r() } else { pick.p() };
        for threads in [None, Some(threads)] {
            all.push(BarrierReduce { reduction, dst, id, threads, predicate: pick.guard() }.into());
        }
    }
    all.push(WarpBarrier { members: ALL_LANES }.into());
    all.extend(ClusterBarrier::ALL.iter().map(|&barrier| barrier.into()));
    for &scope in Scope::ALL {
        all.push(Fence::AcquireRelease(scope).into());
        all.push(Fence::SequentiallyConsistent(scope).into());
        all.push(Fence::TensorMapRelease(scope).into());
        all.push(Fence::TensorMapAcquire(scope, pick.d().into()).into());
    }
    for space in [None, Some(Space::Global), Some(Space::SharedCta), Some(Space::SharedCluster)] {
        all.push(Fence::AsyncProxy { space }.into());
    }
    all.push(Fence::AliasProxy.into());
    all.push(Fence::MbarrierInit.into());
}

/// A product whose operands have so many registers.
fn mma(pick: &mut Pick, shape: MmaShape, types: [Type; 4], class: [Class; 3], counts: [u32; 3]) -> Mma {
    let c: SmallVec<[Register; 4]> = pick.several(class[2], counts[2]);
    Mma {
        shape,
        saturate: false,
        types,
        dst: pick.several(class[2], counts[2]),
        a: pick.several(class[0], counts[0]),
        b: pick.several(class[1], counts[1]),
        c: c.into_iter().map(Operand::from).collect(),
    }
}

fn matrices(pick: &mut Pick, all: &mut Vec<Instruction>) {
    use MmaShape::*;
    use Type::*;
    for count in [1, 2, 4] {
        for transpose in [false, true] {
            let space = if pick.flip() { Space::Shared } else { Space::SharedCta };
            let dst: SmallVec<[Register; 4]> = pick.several(Class::Bits32, count);
            let (address, values) = (pick.shared_address(), dst.clone());
            all.push(MatrixLoad { transpose, space, dst, address: address.clone() }.into());
            all.push(MatrixStore { transpose, space, address, values }.into());
        }
    }
    all.push(MatrixTranspose { dst: pick.r(), source: pick.r() }.into());

    let words = [Class::Bits32; 3];
    for (ty, k8) in [(F16, true), (Bf16, true)] {
        let results: &[Type] = if ty == F16 { &[F32, F16] } else { &[F32] };
        for &result in results {
            let c = if result == F32 { 4 } else { 2 };
            all.push(mma(pick, M16N8K16, [result, ty, ty, result], words, [4, 2, c]).into());
            if k8 {
                all.push(mma(pick, M16N8K8, [result, ty, ty, result], words, [2, 1, c]).into());
            }
        }
    }
    all.push(mma(pick, M16N8K8, [F32, Tf32, Tf32, F32], words, [4, 2, 4]).into());
    all.push(mma(pick, M16N8K4, [F32, Tf32, Tf32, F32], words, [2, 1, 4]).into());
    for a in [S8, U8] {
        for b in [S8, U8] {
            for saturate in [false, true] {
                let product = mma(pick, M16N8K32, [S32, a, b, S32], words, [4, 2, 4]);
                all.push(Mma { saturate, ..product }.into());
                let product = mma(pick, M16N8K16, [S32, a, b, S32], words, [2, 1, 4]);
                all.push(Mma { saturate, ..product }.into());
            }
        }
    }
    for a in [E4m3, E5m2] {
        for b in [E4m3, E5m2] {
            all.push(mma(pick, M16N8K32, [F32, a, b, F32], words, [4, 2, 4]).into());
            all.push(mma(pick, M16N8K32, [F16, a, b, F16], words, [4, 2, 2]).into());
            all.push(mma(pick, M16N8K16, [F32, a, b, F32], words, [2, 1, 4]).into());
        }
    }
    let doubles = [Class::Bits64; 3];
    all.push(mma(pick, M8N8K4, [F64; 4], doubles, [1, 1, 2]).into());
    all.push(mma(pick, M16N8K4, [F64; 4], doubles, [2, 1, 4]).into());
    all.push(mma(pick, M16N8K8, [F64; 4], doubles, [4, 2, 4]).into());
    all.push(mma(pick, M16N8K16, [F64; 4], doubles, [8, 4, 4]).into());
    // The first product of a chain adds to zeros.
    let zeros = [Operand::from(0.0f32); 4];
    let first = mma(pick, M16N8K16, [F32, F16, F16, F32], words, [4, 2, 4]);
    all.push(Mma { c: SmallVec::from_slice(&zeros), ..first }.into());
}

fn control(pick: &mut Pick, all: &mut Vec<Instruction>) {
    for uniform in [false, true] {
        all.push(Branch { uniform, target: Label(0) }.into());
    }
    all.extend(Control::ALL.iter().map(|&control| control.into()));
    all.push(Nanosleep { time: pick.small() }.into());
    all.push(SetMaxRegisters { increase: true, count: 232 }.into());
    all.push(SetMaxRegisters { increase: false, count: 40 }.into());
}
