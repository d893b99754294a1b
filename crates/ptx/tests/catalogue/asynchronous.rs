//! mbarriers, copies in the background, tensor maps and `wgmma`.

use tegula_ptx::*;

use super::Pick;

pub fn push(pick: &mut Pick, all: &mut Vec<Instruction>) {
    mbarriers(pick, all);
    copies(pick, all);
    bulk_copies(pick, all);
    tensors(pick, all);
    warpgroups(pick, all);
}

fn mbarriers(pick: &mut Pick, all: &mut Vec<Instruction>) {
    for space in [Space::Shared, Space::SharedCta] {
        let address = pick.shared_address();
        all.push(MbarrierInit { space, address: address.clone(), count: Operand::Integer(4) }.into());
        all.push(MbarrierInvalidate { space, address: address.clone() }.into());
        for expected in [false, true] {
            all.push(MbarrierAsyncArrive { expected, space, address: address.clone() }.into());
        }
        let arrive = MbarrierArrive {
            op: MbarrierArriveOp::Arrive,
            ordering: None,
            scope: None,
            space,
            state: Some(pick.d()),
            address: address.clone(),
            count: None,
        };
        all.push(arrive.clone().into());
        for &op in MbarrierArriveOp::ALL {
            let count = Some(pick.small());
            let state = if pick.flip() { Some(pick.d()) } else { None };
            all.push(MbarrierArrive { op, state, count, ..arrive.clone() }.into());
            let (ordering, scope) = (Some(Ordering::Release), Some(Scope::Cluster));
            all.push(MbarrierArrive { op, count, ordering, scope, ..arrive.clone() }.into());
            let remote = Address::register(pick.r(), 8);
            let cluster = Space::SharedCluster;
            let state = None;
            all.push(
                MbarrierArrive { op, state, count, ordering, scope, space: cluster, address: remote }.into(),
            );
        }
        for phase in
            [Phase::State(pick.d()), Phase::Parity(pick.r().into()), Phase::Parity(Operand::Integer(1))]
        {
            for suspend in [false, true] {
                let wait = MbarrierWait {
                    suspend,
                    ordering: None,
                    scope: None,
                    space,
                    complete: pick.p(),
                    address: address.clone(),
                    phase,
                    time: None,
                };
                for scope in [Scope::Cta, Scope::Cluster] {
                    let (ordering, scope) = (Some(Ordering::Acquire), Some(scope));
                    all.push(MbarrierWait { ordering, scope, ..wait.clone() }.into());
                }
                let time = if suspend { Some(Operand::Integer(1000)) } else { None };
                all.push(MbarrierWait { time, ..wait }.into());
            }
        }
    }
    for complete in [false, true] {
        for space in [Space::SharedCta, Space::SharedCluster] {
            let scope = if space == Space::SharedCta { Scope::Cta } else { Scope::Cluster };
            let address = Address::register(pick.r(), 0);
            all.push(MbarrierTransaction { complete, scope, space, address, bytes: pick.small() }.into());
        }
    }
}

fn copies(pick: &mut Pick, all: &mut Vec<Instruction>) {
    for bytes in [4, 8, 16] {
        for cache in [CacheOperator::All, CacheOperator::Global] {
            if cache == CacheOperator::Global && bytes != 16 {
                continue;
            }
            for read in [None, Some(pick.r().into())] {
                let (dst, source) = (pick.shared_address(), pick.wide_address());
                let policy = pick.policy();
                all.push(AsyncCopy { cache, prefetch: None, dst, source, bytes, read, policy }.into());
            }
        }
    }
    let (dst, source) = (pick.shared_address(), pick.wide_address());
    let (cache, prefetch) = (CacheOperator::Global, Some(tegula_ptx::Prefetch::Bytes128));
    all.push(AsyncCopy { cache, prefetch, dst, source, bytes: 16, read: None, policy: None }.into());
    all.extend([AsyncGroup::Commit, AsyncGroup::Wait(2), AsyncGroup::WaitAll].map(Instruction::from));
}

fn bulk_copies(pick: &mut Pick, all: &mut Vec<Instruction>) {
    for multicast in [None, Some(pick.h())] {
        for policy in [None, Some(pick.d())] {
            let (dst, source, barrier) = (pick.shared_address(), pick.wide_address(), pick.shared_address());
            let bytes = Operand::Integer(1024);
            all.push(BulkCopy::Load { dst, source, bytes, barrier, multicast, policy }.into());
        }
    }
    let (dst, barrier) = (Address::register(pick.r(), 0), Address::register(pick.r(), 0));
    let source = pick.shared_address();
    all.push(BulkCopy::Forward { dst, source, bytes: pick.r().into(), barrier }.into());
    let reductions = [
        None,
        Some((BulkReduction::Add, Type::F32)),
        Some((BulkReduction::Add, Type::F16)),
        Some((BulkReduction::Add, Type::Bf16)),
        Some((BulkReduction::Min, Type::Bf16)),
        Some((BulkReduction::Max, Type::S32)),
        Some((BulkReduction::And, Type::B32)),
        Some((BulkReduction::Or, Type::B32)),
        Some((BulkReduction::Xor, Type::B64)),
        Some((BulkReduction::Increment, Type::U32)),
        Some((BulkReduction::Decrement, Type::U32)),
    ];
    for reduction in reductions {
        let (dst, source, policy) = (pick.wide_address(), pick.shared_address(), pick.policy());
        all.push(BulkCopy::Store { dst, source, bytes: pick.r().into(), reduction, policy }.into());
    }
    for policy in [None, Some(pick.d())] {
        all.push(
            BulkCopy::Prefetch { source: pick.wide_address(), bytes: Operand::Integer(256), policy }.into(),
        );
    }
    all.extend([BulkGroup::Commit, BulkGroup::Wait(0), BulkGroup::WaitRead(1)].map(Instruction::from));
}

fn tensors(pick: &mut Pick, all: &mut Vec<Instruction>) {
    for rank in 1..=5 {
        for multicast in [None, Some(pick.h())] {
            let (dst, barrier, map) = (pick.shared_address(), pick.shared_address(), pick.d().into());
            let (coordinates, policy) = (pick.coordinates(rank), pick.policy());
            all.push(BulkTensor::Load { dst, map, coordinates, barrier, multicast, policy }.into());
        }
        for reduction in [None, Some(BulkReduction::Add)] {
            let (source, map) = (pick.shared_address(), pick.d().into());
            let (coordinates, policy) = (pick.coordinates(rank), pick.policy());
            all.push(BulkTensor::Store { map, coordinates, source, reduction, policy }.into());
        }
        let (coordinates, policy) = (pick.coordinates(rank), pick.policy());
        all.push(BulkTensor::Prefetch { map: pick.d().into(), coordinates, policy }.into());
    }
    for &field in TensorMapField::ALL {
        use TensorMapField::*;
        let constant = matches!(field, ElementType | InterleaveLayout | SwizzleMode | FillMode);
        let value = match field {
            GlobalAddress | GlobalStride => pick.d().into(),
            _ if constant => Operand::Integer(1),
            _ => pick.r().into(),
        };
        let dimension = field.is_per_dimension().then_some(1);
        all.push(TensorMapReplace { field, address: pick.shared_address(), dimension, value }.into());
    }
    all.push(TensorMapPublish { dst: pick.d().into(), source: pick.shared_address() }.into());
}

fn warpgroups(pick: &mut Pick, all: &mut Vec<Instruction>) {
    use Type::*;
    let floats8 = [(E4m3, E4m3), (E4m3, E5m2), (E5m2, E4m3), (E5m2, E5m2)];
    let mut cases = vec![(F32, F16, F16), (F16, F16, F16), (F32, Bf16, Bf16), (F32, Tf32, Tf32)];
    for (a, b) in floats8 {
        cases.extend([(F32, a, b), (F16, a, b)]);
    }
    cases.extend([(S32, S8, S8), (S32, U8, S8), (S32, U8, U8)]);
    for (accumulator, a, b) in cases {
        for n in [8u16, 64, 256] {
            let count = u32::from(n) / if accumulator == F16 { 4 } else { 2 };
            for from_registers in [false, true] {
                let source = if from_registers {
                    WgmmaSource::Registers((0..4).map(|_| pick.r()).collect())
                } else {
                    WgmmaSource::Descriptor(pick.d())
                };
                let float = a.is_float();
                let halves = a.bits() == 16;
                let wgmma = Wgmma {
                    n,
                    accumulator,
                    types: [a, b],
                    saturate: !float && pick.flip(),
                    // The hardware wants them consecutive, so that sets that overlap cannot all be allocated.
                    dst: (16..16 + count).map(|index| Register { class: Class::Bits32, index }).collect(),
                    a: source,
                    b: pick.d(),
                    accumulate: pick.p(),
                    negate: [float && pick.flip(), float && pick.flip()],
                    transpose: [halves && !from_registers && pick.flip(), halves && pick.flip()],
                };
                all.push(wgmma.into());
            }
        }
    }
    all.extend([WgmmaControl::Fence, WgmmaControl::Commit, WgmmaControl::Wait(1)].map(Instruction::from));
}
