//! PTX made ready to run: every operand a slot of a register file, every instruction one [`Operation`].
//!
//! A warp's registers are rows of 32 words, one a lane, whatever their class; constants and special registers have rows of
//! their own, so an operand is the number of a row. What is pure arithmetic is a function over rows, chosen once, here.

mod address;
mod build;
mod compare;
mod convert;
mod float;
mod instruction;
mod integer;
mod operation;
mod registers;

pub use address::{LOCAL_WINDOW, PARAMETER_WINDOW, RANK_SHIFT, SHARED_BASE, SHARED_WINDOW, Window};
pub use integer::{mask, signed};
pub use operation::*;

use smallvec::SmallVec;
use tegula_ptx::Special;

/// Lanes of a warp.
pub const LANES: usize = 32;

/// A row of the register file: one word a lane, of which a narrow register uses the lowest bits.
pub type Lanes = [u64; LANES];

/// The number of a row of words.
pub type Slot = u32;

/// The number of a predicate, which is a bit a lane.
pub type PredicateSlot = u32;

/// A kernel ready to run.
#[derive(Debug)]
pub struct Program {
    /// The name of the entry.
    pub name: String,
    pub steps: Vec<Step>,
    /// Rows of words.
    pub slots: u32,
    /// Predicates.
    pub predicates: u32,
    /// Rows that hold one number.
    pub constants: Vec<(Slot, u64)>,
    /// Predicates that are known.
    pub constant_predicates: Vec<(PredicateSlot, bool)>,
    /// Rows that hold special registers.
    pub specials: Vec<(Slot, Special)>,
    /// The parameters, with the places that `ld.param` reads.
    pub parameters: Vec<ParameterPlace>,
    /// Bytes of all parameters.
    pub parameter_bytes: u32,
    /// Bytes of local memory of a thread.
    pub local_bytes: u32,
    /// Bytes of shared memory that the text declares.
    pub static_shared_bytes: u32,
    /// Module variables, in one piece of memory that a launch copies.
    pub data: Vec<u8>,
    /// Rows that hold the addresses of module variables, as offsets in `data`.
    pub data_addresses: Vec<(Slot, u64)>,
    /// Rows that hold addresses of the block's own shared memory, without its rank in the cluster.
    pub shared_addresses: Vec<(Slot, u32)>,
    /// The source files that lines refer to, the first of number 1.
    pub files: Vec<String>,
    /// Threads of a block, if the text says.
    pub required_threads: Option<[u32; 3]>,
    /// Blocks of a cluster.
    pub cluster: u32,
    /// The architecture's number, such as 90.
    pub architecture: u32,
    /// Whether `wgmma` is used, whose registers need watching.
    pub has_wgmma: bool,
}

/// Where a parameter lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterPlace {
    pub offset: u32,
    pub bytes: u32,
}

/// One instruction.
#[derive(Debug)]
pub struct Step {
    /// The predicate of lanes that execute it, and whether it is negated.
    pub guard: Option<(PredicateSlot, bool)>,
    pub operation: Operation,
    /// The rows that it reads and writes.
    pub reads: SmallVec<[Slot; 4]>,
    pub writes: SmallVec<[Slot; 2]>,
    pub predicate_reads: SmallVec<[PredicateSlot; 2]>,
    pub predicate_writes: SmallVec<[PredicateSlot; 2]>,
    /// The name with its modifiers, such as `ld.global.v4.b32`.
    pub name: Box<str>,
    /// The line of the PTX, from 1.
    pub ptx_line: u32,
    /// The place in the source that the last `.loc` before names.
    pub source: Option<SourcePlace>,
}

/// A place in the kernel's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourcePlace {
    /// The number of the file, from 1.
    pub file: u32,
    pub line: u32,
    pub column: u32,
}

/// Text that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The text is not PTX of the subset that is known.
    #[error("PTX {0}")]
    Parse(#[from] tegula_ptx::ParseError),
    /// There is no such kernel.
    #[error("the PTX has no kernel `{0}`")]
    NoKernel(String),
    /// An instruction that the simulator does not know.
    #[error("PTX line {line}: the simulator does not know `{instruction}`{reason}")]
    Unknown { line: u32, instruction: String, reason: String },
    /// A name that nothing declares.
    #[error("PTX line {line}: nothing declares `{name}`")]
    Undeclared { line: u32, name: String },
}
