//! What a step does, with operands as slots.

use super::{Lanes, PredicateSlot, Slot};
use smallvec::SmallVec;
use std::fmt;
use tegula_ptx::{
    AsyncGroup, AtomicOp, BarrierAction, BarrierReduction, BoolOp, BulkGroup, BulkReduction, ClusterBarrier,
    MbarrierArriveOp, MmaShape, ShuffleMode, TensorMapField, Type, VoteMode, WarpReduceOp, WgmmaControl,
};

/// What a [`LaneFunction`] calls.
type OfLanes = dyn Fn(&[&Lanes; 4], &mut Lanes) + Send + Sync;

/// What a [`MaskFunction`] calls.
type OfMasks = dyn Fn(&Lanes, &Lanes) -> (u32, u32) + Send + Sync;

/// A function over rows: up to four sources, a result.
pub struct LaneFunction(pub Box<OfLanes>);

/// A comparison of rows: the lanes where it holds, and those where the second of a packed pair does.
pub struct MaskFunction(pub Box<OfMasks>);

impl fmt::Debug for LaneFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LaneFunction")
    }
}

impl fmt::Debug for MaskFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MaskFunction")
    }
}

/// A predicate that is read, perhaps negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    pub predicate: PredicateSlot,
    pub negated: bool,
}

/// An address: a row plus a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub base: Slot,
    pub offset: i64,
}

/// The state space of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessSpace {
    Generic,
    Global,
    Shared,
    Local,
    Parameter,
}

/// How an access orders others, as far as races are concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strength {
    /// Whether it is no plain access: two strong accesses do not race.
    pub strong: bool,
    pub acquire: bool,
    pub release: bool,
}

/// A load or a store of consecutive elements.
#[derive(Clone, Debug)]
pub struct Access {
    pub space: AccessSpace,
    pub place: Place,
    /// Bytes of an element.
    pub bytes: u32,
    /// The registers.
    pub values: SmallVec<[Slot; 8]>,
    /// Of a load, the bits to which a signed element is extended.
    pub sign_extend: Option<u32>,
    pub strength: Strength,
}

/// An atomic operation.
#[derive(Clone, Debug)]
pub struct AtomicAccess {
    pub space: AccessSpace,
    pub place: Place,
    pub op: AtomicOp,
    pub ty: Type,
    /// The values before; empty for `red`.
    pub dst: SmallVec<[Slot; 4]>,
    pub values: SmallVec<[Slot; 4]>,
    pub replacement: Option<Slot>,
    pub strength: Strength,
}

/// A product of one warp.
#[derive(Clone, Debug)]
pub struct WarpProduct {
    pub shape: MmaShape,
    pub types: [Type; 4],
    pub saturate: bool,
    pub dst: SmallVec<[Slot; 8]>,
    pub a: SmallVec<[Slot; 8]>,
    pub b: SmallVec<[Slot; 4]>,
    pub c: SmallVec<[Slot; 8]>,
}

/// The left operand of a product of a warpgroup.
#[derive(Clone, Debug)]
pub enum LeftOperand {
    Descriptor(Slot),
    Registers(SmallVec<[Slot; 4]>),
}

/// A product of a warpgroup.
#[derive(Clone, Debug)]
pub struct WarpgroupProduct {
    pub n: u32,
    pub accumulator: Type,
    pub types: [Type; 2],
    pub saturate: bool,
    pub dst: Vec<Slot>,
    pub a: LeftOperand,
    pub b: Slot,
    pub accumulate: PredicateSlot,
    pub negate: [bool; 2],
    pub transpose: [bool; 2],
}

/// A copy by the background engine.
#[derive(Clone, Debug)]
pub enum Bulk {
    /// Global to shared memory, of each block of `multicast`.
    Load { dst: Place, source: Place, bytes: Slot, barrier: Place, multicast: Option<Slot> },
    /// Shared memory to that of another block.
    Forward { dst: Place, source: Place, bytes: Slot, barrier: Place },
    /// Shared to global memory.
    Store { dst: Place, source: Place, bytes: Slot, reduction: Option<(BulkReduction, Type)> },
    /// A box of a tensor to shared memory.
    TensorLoad {
        dst: Place,
        map: Place,
        coordinates: SmallVec<[Slot; 5]>,
        barrier: Place,
        multicast: Option<Slot>,
    },
    /// A box of a tensor from shared memory.
    TensorStore { map: Place, coordinates: SmallVec<[Slot; 5]>, source: Place },
    /// A hint to the cache.
    Prefetch,
}

/// What an mbarrier is asked.
#[derive(Clone, Debug)]
pub enum Mbarrier {
    Init { place: Place, count: Slot },
    Invalidate { place: Place },
    Transaction { complete: bool, place: Place, bytes: Slot },
    Arrive { op: MbarrierArriveOp, state: Option<Slot>, place: Place, count: Option<Slot>, release: bool },
    Wait { complete: PredicateSlot, place: Place, phase: WaitPhase, suspend: bool, acquire: bool },
    AsyncArrive { expected: bool, place: Place },
}

/// The phase that a wait waits for.
#[derive(Clone, Copy, Debug)]
pub enum WaitPhase {
    State(Slot),
    Parity(Slot),
}

/// A fence, as far as the model tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceKind {
    /// `fence.acq_rel` and `fence.sc`.
    Memory,
    /// `fence.proxy.async`, of global memory, of shared memory.
    Proxy { global: bool, shared: bool },
    /// `fence.mbarrier_init`.
    MbarrierInit,
    /// Fences of tensor maps and aliases, which order nothing that is modelled.
    Other,
}

/// What a step does.
#[derive(Debug)]
pub enum Operation {
    /// Arithmetic on rows.
    Lanes {
        function: LaneFunction,
        sources: [Slot; 4],
        dst: Slot,
    },
    /// A row split into narrower ones of so many bits.
    Unpack {
        source: Slot,
        parts: SmallVec<[Option<Slot>; 4]>,
        bits: u32,
    },
    Compare {
        function: MaskFunction,
        sources: [Slot; 2],
        dst: PredicateSlot,
        second: Option<PredicateSlot>,
        /// Whether the second result is that of the second of a packed pair, rather than the opposite.
        packed: bool,
        combine: Option<(BoolOp, Condition)>,
    },
    /// `a op b` on predicates; of one operand, `b` is `a`.
    Predicate {
        op: PredicateOp,
        sources: [PredicateSlot; 2],
        dst: PredicateSlot,
    },
    Select {
        sources: [Slot; 2],
        predicate: PredicateSlot,
        dst: Slot,
    },
    /// A number that counts up with time.
    Clock {
        dst: Slot,
    },
    ActiveMask {
        dst: Slot,
    },
    Elect {
        lane: Option<Slot>,
        elected: PredicateSlot,
        members: Slot,
    },
    Shuffle {
        mode: ShuffleMode,
        dst: Slot,
        in_range: Option<PredicateSlot>,
        source: Slot,
        lane: Slot,
        clamp: Slot,
        members: Slot,
    },
    /// A vote, whose result is a predicate or, of a ballot, a row.
    Vote {
        mode: VoteMode,
        dst: u32,
        condition: Condition,
        members: Slot,
    },
    Match {
        all: bool,
        dst: Slot,
        agreed: Option<PredicateSlot>,
        value: Slot,
        members: Slot,
    },
    WarpReduce {
        op: WarpReduceOp,
        signed: bool,
        dst: Slot,
        source: Slot,
        members: Slot,
    },
    Load(Access),
    Store(Access),
    Atomic(Box<AtomicAccess>),
    Barrier {
        action: BarrierAction,
        aligned: bool,
        id: Slot,
        threads: Option<Slot>,
    },
    BarrierReduce {
        reduction: BarrierReduction,
        dst: u32,
        id: Slot,
        threads: Option<Slot>,
        condition: Condition,
    },
    WarpBarrier {
        members: Slot,
    },
    ClusterBarrier(ClusterBarrier),
    Fence(FenceKind),
    Mbarrier(Mbarrier),
    AsyncCopy {
        dst: Place,
        source: Place,
        bytes: u32,
        read: Option<Slot>,
    },
    AsyncGroup(AsyncGroup),
    Bulk(Box<Bulk>),
    BulkGroup(BulkGroup),
    TensorMapReplace {
        field: TensorMapField,
        place: Place,
        dimension: u8,
        value: Slot,
    },
    TensorMapPublish {
        dst: Place,
        source: Place,
    },
    MatrixLoad {
        transpose: bool,
        dst: SmallVec<[Slot; 4]>,
        place: Place,
    },
    MatrixStore {
        transpose: bool,
        values: SmallVec<[Slot; 4]>,
        place: Place,
    },
    MatrixTranspose {
        dst: Slot,
        source: Slot,
    },
    Mma(Box<WarpProduct>),
    Wgmma(Box<WarpgroupProduct>),
    WgmmaControl(WgmmaControl),
    /// The number of warps that take part in a change of registers is checked, and nothing else.
    SetMaxRegisters,
    /// An address in the shared memory of another block.
    MapAddress {
        dst: Slot,
        address: Slot,
        rank: Slot,
        generic: bool,
    },
    Branch {
        target: u32,
    },
    Exit,
    Trap,
    /// Hints, and what has no effect here.
    Nothing,
    /// `vprintf`.
    Print {
        format: Slot,
        arguments: Slot,
        result: Option<Slot>,
    },
}

/// An operation on predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredicateOp {
    And,
    Or,
    Xor,
    Not,
    Copy,
}
