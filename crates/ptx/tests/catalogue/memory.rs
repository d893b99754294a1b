//! Loads, stores, atomic operations and caches.

use smallvec::SmallVec;
use tegula_ptx::*;

use super::Pick;

pub fn push(pick: &mut Pick, all: &mut Vec<Instruction>) {
    loads_and_stores(pick, all);
    hints(pick, all);
    atomics(pick, all);
    caches(pick, all);
}

fn address(pick: &mut Pick, space: Space) -> Address {
    match space {
        Space::Shared | Space::SharedCta => pick.shared_address(),
        Space::SharedCluster => Address::register(pick.r(), 0),
        _ => pick.wide_address(),
    }
}

fn load(pick: &mut Pick, space: Space, ty: Type, count: u32) -> Load {
    let dst: Vec<Register> = pick.several(Class::of(ty), count);
    Load::new(space, ty, &dst, address(pick, space))
}

fn store(pick: &mut Pick, space: Space, ty: Type, count: u32) -> Store {
    let values: Vec<Register> = pick.several(Class::of(ty), count);
    let values: Vec<Operand> = values.into_iter().map(Operand::from).collect();
    Store::new(space, ty, address(pick, space), &values)
}

fn loads_and_stores(pick: &mut Pick, all: &mut Vec<Instruction>) {
    let types = [
        Type::B8,
        Type::U8,
        Type::S8,
        Type::B16,
        Type::U16,
        Type::S16,
        Type::B32,
        Type::U32,
        Type::S32,
        Type::F32,
        Type::B64,
        Type::U64,
        Type::S64,
        Type::F64,
    ];
    for space in [Space::Global, Space::Shared, Space::SharedCta, Space::SharedCluster, Space::Local] {
        for ty in types {
            for count in [1, 2, 4] {
                if ty.bits() * count <= 128 {
                    all.push(load(pick, space, ty, count).into());
                    all.push(store(pick, space, ty, count).into());
                }
            }
        }
    }
    for ty in [Type::B32, Type::F32] {
        all.push(load(pick, Space::Global, ty, 8).into());
        all.push(store(pick, Space::Global, ty, 8).into());
    }
    all.push(load(pick, Space::Global, Type::B64, 4).into());
    all.push(Load { space: None, ..load(pick, Space::Global, Type::B32, 1) }.into());
    all.push(Store { space: None, ..store(pick, Space::Global, Type::B32, 1) }.into());
    all.push(load(pick, Space::Const, Type::B32, 1).into());
    for ty in [Type::U64, Type::U32, Type::U8] {
        all.push(
            Load::new(Space::Param, ty, &[pick.register(Class::of(ty))], Address::symbol("pointer", 0))
                .into(),
        );
    }
    all.push(Load::new(Space::Param, Type::U32, &[pick.r()], Address::symbol("map", 4)).into());
    all.push(
        Store::new(Space::Shared, Type::B32, pick.shared_address(), &[pick.integer(Class::Bits32)]).into(),
    );
    all.push(Store::new(Space::Shared, Type::F32, pick.shared_address(), &[pick.single()]).into());
    all.push(load(pick, Space::Global, Type::B128, 1).into());
}

fn hints(pick: &mut Pick, all: &mut Vec<Instruction>) {
    use CacheOperator::*;
    let policy = Some(pick.d());
    for cache in [All, Global, Streaming, LastUse, Volatile] {
        all.push(Load { cache: Some(cache), policy, ..load(pick, Space::Global, Type::B32, 4) }.into());
    }
    for cache in [WriteBack, Global, Streaming, WriteThrough] {
        all.push(Store { cache: Some(cache), ..store(pick, Space::Global, Type::B32, 4) }.into());
    }
    for &eviction in Eviction::ALL {
        let eviction = Some(eviction);
        let policy = pick.policy();
        all.push(Load { eviction, policy, ..load(pick, Space::Global, Type::B32, 4) }.into());
        all.push(Load { eviction, non_coherent: true, ..load(pick, Space::Global, Type::B32, 4) }.into());
        all.push(Store { eviction, policy, ..store(pick, Space::Global, Type::B32, 2) }.into());
    }
    for &prefetch in Prefetch::ALL {
        let prefetch = Some(prefetch);
        all.push(Load { prefetch, policy: pick.policy(), ..load(pick, Space::Global, Type::F32, 1) }.into());
    }
    for &scope in Scope::ALL {
        for ordering in [Ordering::Relaxed, Ordering::Acquire] {
            let (scope, ordering) = (Some(scope), Some(ordering));
            all.push(Load { scope, ordering, ..load(pick, Space::Global, Type::B32, 1) }.into());
        }
        for ordering in [Ordering::Relaxed, Ordering::Release] {
            let (scope, ordering) = (Some(scope), Some(ordering));
            all.push(Store { scope, ordering, ..store(pick, Space::Global, Type::B32, 1) }.into());
        }
    }
    for ordering in [Ordering::Volatile, Ordering::Weak] {
        let ordering = Some(ordering);
        all.push(Load { ordering, ..load(pick, Space::Shared, Type::B32, 1) }.into());
        all.push(Store { ordering, ..store(pick, Space::Global, Type::B32, 1) }.into());
    }
}

fn atomic(pick: &mut Pick, space: Space, op: AtomicOp, ty: Type, count: u32) -> Atomic {
    let values: SmallVec<[Register; 4]> = pick.several(Class::of(ty), count);
    Atomic {
        ordering: None,
        scope: None,
        space: Some(space),
        op,
        ty,
        dst: pick.several(Class::of(ty), count),
        address: address(pick, space),
        values: values.into_iter().map(Operand::from).collect(),
        replacement: None,
        policy: None,
    }
}

fn without_result(atomic: Atomic) -> Reduce {
    let Atomic { ordering, scope, space, op, ty, address, values, policy, .. } = atomic;
    Reduce { ordering, scope, space, op, ty, address, values, policy }
}

fn atomics(pick: &mut Pick, all: &mut Vec<Instruction>) {
    use AtomicOp::*;
    let mut cases = vec![(Increment, Type::U32), (Decrement, Type::U32), (Add, Type::F32), (Add, Type::F64)];
    for ty in [Type::S32, Type::U32, Type::S64, Type::U64] {
        cases.extend([(Min, ty), (Max, ty)]);
    }
    cases.extend([(Add, Type::S32), (Add, Type::U32), (Add, Type::U64)]);
    for ty in [Type::B32, Type::B64] {
        cases.extend([(And, ty), (Or, ty), (Xor, ty)]);
    }
    for ty in [Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2] {
        cases.push((Add, ty));
    }
    for space in [Space::Global, Space::Shared] {
        for &(op, ty) in &cases {
            all.push(atomic(pick, space, op, ty, 1).into());
            all.push(without_result(atomic(pick, space, op, ty, 1)).into());
        }
    }
    for ty in [Type::B16, Type::B32, Type::B64, Type::B128] {
        let replacement = Some(pick.register(Class::of(ty)).into());
        all.push(Atomic { replacement, ..atomic(pick, Space::Global, CompareExchange, ty, 1) }.into());
    }
    for ty in [Type::B32, Type::B64, Type::B128] {
        all.push(atomic(pick, Space::Global, Exchange, ty, 1).into());
    }
    for (ty, count) in [(Type::F32, 2), (Type::F32, 4), (Type::F16, 4), (Type::F16x2, 4), (Type::Bf16x2, 2)] {
        all.push(atomic(pick, Space::Global, Add, ty, count).into());
        all.push(without_result(atomic(pick, Space::Global, Add, ty, count)).into());
    }
    for ordering in [Ordering::Relaxed, Ordering::Acquire, Ordering::Release, Ordering::AcquireRelease] {
        for &scope in Scope::ALL {
            let atomic = atomic(pick, Space::Global, Add, Type::U32, 1);
            let atomic =
                Atomic { ordering: Some(ordering), scope: Some(scope), policy: pick.policy(), ..atomic };
            all.push(atomic.clone().into());
            if matches!(ordering, Ordering::Relaxed | Ordering::Release) {
                all.push(without_result(atomic).into());
            }
        }
    }
    all.push(Atomic { space: None, ..atomic(pick, Space::Global, Add, Type::U32, 1) }.into());
}

fn caches(pick: &mut Pick, all: &mut Vec<Instruction>) {
    for level in [CacheLevel::First, CacheLevel::Second] {
        all.push(PrefetchLine { space: Some(Space::Global), level, address: pick.wide_address() }.into());
    }
    all.push(PrefetchLine { space: None, level: CacheLevel::TensorMap, address: pick.d().into() }.into());
    for primary in [PolicyPriority::Last, PolicyPriority::Normal, PolicyPriority::First] {
        let fraction = Operand::from(1.0f32);
        let policy = CreatePolicy { primary, secondary: None, dst: pick.d(), fraction };
        all.push(CreatePolicy { secondary: Some(PolicyPriority::Unchanged), ..policy.clone() }.into());
        all.push(policy.into());
    }
    let (dst, address, rank) = (pick.r(), pick.r(), pick.small());
    all.push(ClusterAddress::Map { ty: Type::U32, dst, address, rank }.into());
    all.push(ClusterAddress::Rank { ty: Type::U32, dst, address }.into());
}
