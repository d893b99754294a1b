//! The instructions, a file for each family.
//!
//! Each family is a struct of typed modifiers and operands that prints itself, reads itself back from a name
//! and operands, and says which targets have it.

mod async_copy;
mod atomic;
mod barrier;
mod bulk_copy;
mod compare;
mod control;
mod convert;
mod math;
mod matrix;
mod mbarrier;
mod memory;
mod moves;
mod tensor_map;
mod warp;
mod wgmma;

pub use async_copy::{AsyncCopy, AsyncGroup};
pub use atomic::{Atomic, AtomicOp, Reduce};
pub use barrier::{
    Barrier, BarrierAction, BarrierReduce, BarrierReduction, ClusterBarrier, Fence, WarpBarrier,
};
pub use bulk_copy::{BulkCopy, BulkGroup, BulkReduction, BulkTensor};
pub use compare::{BoolOp, Comparison, Select, SetPredicate};
pub use control::{Branch, Control, Nanosleep, SetMaxRegisters};
pub use convert::{Convert, ConvertPack};
pub use math::{
    Clamp, DotProduct, FunnelShift, Lop3, Math, MathOp, MulPart, Permute, PermuteMode, Precision,
    ShiftDirection, ShiftMode, TestProperty, TestedProperty,
};
pub use matrix::{MatrixLoad, MatrixStore, MatrixTranspose, Mma, MmaShape};
pub use mbarrier::{
    MbarrierArrive, MbarrierArriveOp, MbarrierAsyncArrive, MbarrierInit, MbarrierInvalidate,
    MbarrierTransaction, MbarrierWait, Phase,
};
pub use memory::{CacheLevel, ClusterAddress, CreatePolicy, Load, PrefetchLine, Store, Vector};
pub use moves::{ConvertAddress, Move};
pub use tensor_map::{TensorMapField, TensorMapPublish, TensorMapReplace};
pub use warp::{ActiveMask, Elect, Match, Shuffle, ShuffleMode, Vote, VoteMode, WarpReduce, WarpReduceOp};
pub use wgmma::{MatrixDescriptor, Wgmma, WgmmaControl, WgmmaSource, WgmmaSwizzle};

use crate::parse::{Name, ParseError, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;

/// What each family implements.
pub(crate) trait Form: Sized {
    /// The words with which names of the family begin; the longest that fits decides.
    const NAMES: &'static [&'static str];

    /// Writes the instruction, without guard and semicolon.
    fn print(&self, out: &mut Printer);

    /// Reads the rest of the name, then the operands.
    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Self>;

    /// What the instruction asks of the target.
    fn requirement(&self) -> Requirement {
        Requirement::BASE
    }
}

macro_rules! instructions {
    ($($(#[$meta:meta])* $family:ident),* $(,)?) => {
        /// An instruction, without its guard.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Instruction {
            $($(#[$meta])* $family($family),)*
        }

        $(impl From<$family> for Instruction {
            fn from(instruction: $family) -> Instruction {
                Instruction::$family(instruction)
            }
        })*

        impl Instruction {
            /// What the instruction asks of the target.
            pub fn requirement(&self) -> Requirement {
                match self {
                    $(Instruction::$family(instruction) => instruction.requirement(),)*
                }
            }

            pub(crate) fn print(&self, out: &mut Printer) {
                match self {
                    $(Instruction::$family(instruction) => instruction.print(out),)*
                }
            }
        }

        type Reader = fn(&mut Name<'_>, &mut Parser<'_>) -> Result<Instruction>;

        /// The beginnings of names, with what reads the rest.
        const READERS: &[(&[&str], Reader)] = &[
            $(($family::NAMES, |name, operands| $family::parse(name, operands).map(Instruction::$family)),)*
        ];
    };
}

instructions! {
    /// Arithmetic, logic and elementary functions.
    Math,
    /// `lop3`: any logical function of three operands.
    Lop3,
    /// `prmt`: bytes chosen from two registers.
    Permute,
    /// `shf`: a shift of two registers joined.
    FunnelShift,
    /// `dp4a`: a sum of four products of bytes.
    DotProduct,
    /// `testp`: a property of a floating-point number.
    TestProperty,
    /// `setp`: a comparison.
    SetPredicate,
    /// `selp`: one of two values by a predicate.
    Select,
    /// `cvt`: a conversion between types.
    Convert,
    /// `cvt.pack`: integers narrowed and joined.
    ConvertPack,
    /// `mov`: a copy, registers joined or split, or the address of a variable.
    Move,
    /// `cvta`: between generic addresses and those of a space.
    ConvertAddress,
    /// `ld`: a load.
    Load,
    /// `st`: a store.
    Store,
    /// `prefetch`: a line brought into a cache, or a tensor map.
    PrefetchLine,
    /// `createpolicy`: a policy of the second-level cache.
    CreatePolicy,
    /// `mapa` and `getctarank`: addresses of other blocks of the cluster.
    ClusterAddress,
    /// `atom`: an atomic operation with a result.
    Atomic,
    /// `red`: an atomic operation without one.
    Reduce,
    /// `shfl`: an exchange among lanes.
    Shuffle,
    /// `vote`: predicates of all lanes.
    Vote,
    /// `match`: lanes with the same value.
    Match,
    /// `redux`: a reduction among lanes.
    WarpReduce,
    /// `activemask`: the lanes that execute.
    ActiveMask,
    /// `elect`: one lane chosen.
    Elect,
    /// `bar`: a barrier of the block.
    Barrier,
    /// `bar.red`: a barrier that reduces a predicate.
    BarrierReduce,
    /// `bar.warp.sync`: a barrier of lanes.
    WarpBarrier,
    /// `barrier.cluster`: a barrier of the cluster.
    ClusterBarrier,
    /// `fence` and `membar`.
    Fence,
    /// `mbarrier.init`.
    MbarrierInit,
    /// `mbarrier.inval`.
    MbarrierInvalidate,
    /// `mbarrier.expect_tx` and `complete_tx`.
    MbarrierTransaction,
    /// `mbarrier.arrive` and its kin.
    MbarrierArrive,
    /// `mbarrier.test_wait` and `try_wait`.
    MbarrierWait,
    /// `cp.async.mbarrier.arrive`.
    MbarrierAsyncArrive,
    /// `cp.async`: an asynchronous copy by one thread.
    AsyncCopy,
    /// Groups of `cp.async`.
    AsyncGroup,
    /// `cp.async.bulk` and `cp.reduce.async.bulk` of consecutive bytes.
    BulkCopy,
    /// `cp.async.bulk.tensor` and its kin, of boxes of a tensor.
    BulkTensor,
    /// Groups of bulk copies.
    BulkGroup,
    /// `tensormap.replace`: one field of a tensor map.
    TensorMapReplace,
    /// `tensormap.cp_fenceproxy`: a tensor map made visible.
    TensorMapPublish,
    /// `ldmatrix`.
    MatrixLoad,
    /// `stmatrix`.
    MatrixStore,
    /// `movmatrix`.
    MatrixTranspose,
    /// `mma.sync`.
    Mma,
    /// `wgmma.mma_async`.
    Wgmma,
    /// `wgmma.fence`, `commit_group` and `wait_group`.
    WgmmaControl,
    /// `bra`.
    Branch,
    /// `ret`, `exit`, `trap` and others without operands.
    Control,
    /// `nanosleep`.
    Nanosleep,
    /// `setmaxnreg`.
    SetMaxRegisters,
}

impl Instruction {
    /// Every beginning of a name that the parser knows, such as `cp.async.bulk`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        READERS.iter().flat_map(|(names, _)| names.iter().copied())
    }

    /// The instruction of a name whose operands follow.
    pub(crate) fn parse(name: &str, line: u32, operands: &mut Parser<'_>) -> Result<Instruction> {
        let fits = |prefix: &str| {
            name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let mut best: Option<(&'static str, Reader)> = None;
        for (names, reader) in READERS {
            for &prefix in names.iter().filter(|prefix| fits(prefix)) {
                if best.is_none_or(|(other, _)| prefix.len() > other.len()) {
                    best = Some((prefix, *reader));
                }
            }
        }
        let (prefix, reader) =
            best.ok_or_else(|| ParseError::new(line, format!("unknown instruction `{name}`")))?;
        let mut words = Name::after(name, prefix, line);
        operands.begin_operands();
        let instruction = reader(&mut words, operands)?;
        words.end()?;
        operands.end_operands()?;
        Ok(instruction)
    }
}
