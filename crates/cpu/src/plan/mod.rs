//! Straight-line code on rows, with all decided beforehand that does not depend on the launch.
//!
//! A program of a grid that handles one row of a few thousand elements does so little work that finding out, again in each
//! program, what its blocks are costs more than the work. Where blocks have one axis, that is known from the code:
//! their offsets are a scalar plus a range, their masks an interval, and only the scalars differ.
//!
//! ```text
//! %c = arange 0..1024                       early   r1 = pid * stride;  r2 = x + 4 r1;  [0, r3) = where i < n
//! %m = compare lt %c, splat n               checks  no offset wraps; stores meet no load that they should not
//! %p = add_pointer splat (x + pid stride),  phase 0 strips: t0 = load [r2 + 4i] in [0, r3), else other
//! %x = load %p mask %m                      phase 1 r4 = max t0
//! %h = reduce max %x                   =>   phase 2 strips: t0 = t0 - r4;  t0 = exp t0;  ...
//! ```
//!
//! A [`Plan`] stands for a run of instructions, and has them as well: where a check fails, they are executed one by one.
//!
//! | module | turns |
//! |---|---|
//! | `runs` | a program into runs, each of which is planned as a whole or not at all |
//! | `form` | definitions of blocks into scalars that describe them |
//! | `build` | a run of instructions into steps |
//! | `place` | results of steps into places in memory, and orders of accesses into checks |
//! | `run` | a plan into changes of registers, slots and memory |

mod build;
mod form;
mod place;
mod run;
mod runs;

use crate::program::{Instruction, ScalarOperation};
use tegula_strip::{ReduceFn, StripFn};

pub use run::State;
pub use runs::plan_rows;

/// A run of instructions on blocks of one axis and one extent.
#[derive(Debug)]
pub struct Plan {
    /// Elements of every block.
    count: usize,
    /// Elements of a strip.
    strip: usize,
    /// Arithmetic on registers that no element of a block takes part in.
    early: Vec<Early>,
    checks: Vec<Fits>,
    /// The loads and stores of blocks.
    accesses: Vec<Access>,
    /// Those that write.
    stores: Vec<usize>,
    conflicts: Vec<Conflict>,
    /// Slots of blocks that come from elsewhere, and are read as elements.
    outers: Vec<u32>,
    nodes: Vec<Node>,
    phases: Vec<Phase>,
    exports: Vec<Export>,
    /// Slots from elsewhere that nothing reads afterwards.
    ends: Vec<u32>,
    /// Bytes that the results of steps take.
    scratch: usize,
    /// What is executed where a check fails.
    general: Vec<Instruction>,
}

/// A step that changes only registers.
#[derive(Debug)]
enum Early {
    ProgramId { axis: u8, out: u32 },
    NumPrograms { axis: u8, out: u32 },
    Operation(ScalarOperation),
    MultiplyAdd(MultiplyAdd),
    Interval(Interval),
    Intersect { lhs: [u32; 2], rhs: [u32; 2], out: [u32; 2] },
}

/// `out = a + b * factor`, wrapped to 64 bits.
#[derive(Clone, Copy, Debug)]
struct MultiplyAdd {
    a: u32,
    b: u32,
    factor: i64,
    out: u32,
}

/// The indices `i` of a block with `least <= base + i * stride <= greatest`, from the first to after the last.
#[derive(Clone, Copy, Debug)]
struct Interval {
    base: u32,
    stride: i64,
    least: i64,
    greatest: i64,
    out: [u32; 2],
}

/// That `base + low` and `base + high` lie within limits.
#[derive(Clone, Copy, Debug)]
struct Fits {
    base: u32,
    low: i64,
    high: i64,
    least: i64,
    greatest: i64,
}

/// Consecutive elements in the caller's memory.
#[derive(Clone, Copy, Debug)]
struct Access {
    base: u32,
    /// The registers of the interval that is accessed; all elements if there is none.
    mask: Option<[u32; 2]>,
    /// Elements: those of the blocks, or one.
    count: usize,
    width: usize,
}

/// Two accesses that must not meet, unless, where `same` says so, element by element.
#[derive(Clone, Copy, Debug)]
struct Conflict {
    first: usize,
    second: usize,
    same: bool,
}

/// Where the elements of a result are kept.
#[derive(Clone, Copy, Debug)]
struct Node {
    width: usize,
    /// Bytes from the start of the scratch memory.
    offset: usize,
    /// Whether all elements are kept, or those of one strip.
    whole: bool,
    /// Whether they are in a buffer of their own, which outlives the plan.
    exported: bool,
}

/// Where a step finds an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    None,
    /// The same register for all elements.
    Register(u32),
    Node(u32),
    /// One of `Plan::outers`.
    Outer(u32),
}

/// What is complete before the next phase begins.
#[derive(Debug)]
enum Phase {
    Strips(Vec<Step>),
    Reduce { function: ReduceFn, value: Source, out: u32 },
    Scalar(Early),
    LoadScalar { access: usize, other: Option<u32>, mask: Option<u32>, scalar: tegula_ir::Scalar, out: u32 },
    StoreScalar { access: usize, mask: Option<u32>, value: u32 },
}

/// What happens to one strip after another.
#[derive(Debug)]
enum Step {
    /// Elements of memory; where the mask is false, `other` or zeros.
    Load {
        access: usize,
        other: Option<u32>,
        out: u32,
    },
    /// A strip function; its result goes to memory at once if `direct` names an access.
    Apply {
        function: StripFn,
        inputs: [Source; 3],
        out: u32,
        direct: Option<usize>,
    },
    /// `on_true` within an interval, `on_false` elsewhere.
    Choose {
        interval: [u32; 2],
        on_true: Source,
        on_false: Source,
        out: u32,
    },
    Splat {
        register: u32,
        out: u32,
    },
    /// `base + i * stride`, or truth within an interval.
    Numbers {
        base: u32,
        stride: i64,
        out: u32,
    },
    Truth {
        interval: [u32; 2],
        out: u32,
    },
    Store {
        access: usize,
        value: Source,
    },
}

impl Step {
    /// Whether the step writes the caller's memory.
    fn stores(&self) -> bool {
        matches!(self, Step::Store { .. } | Step::Apply { direct: Some(_), .. })
    }
}

/// A block that is read after the plan.
#[derive(Clone, Copy, Debug)]
enum Export {
    Splat { register: u32, slot: u32 },
    Numbers { base: u32, stride: i64, slot: u32 },
    Interval { interval: [u32; 2], slot: u32 },
    Node { node: u32, slot: u32 },
    Outer { outer: u32, slot: u32 },
}
