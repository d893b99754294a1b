//! The operations.
//!
//! [`Op`] is one plain enum. To add an operation: add a variant here, its operands in
//! `visit_operands`, its rule in `verify`, its line in `text`, and then follow the compiler's
//! complaints about matches that are no longer exhaustive.

use crate::function::{RegionId, Value};
use smallvec::SmallVec;

/// A number known at compile time. Its type is that of the constant's result.
#[derive(Clone, Copy, Debug)]
pub enum Literal {
    /// An integer or a truth value, sign- or zero-extended by its type; `u64` values keep their bits.
    Int(i64),
    /// A float; already rounded to its type.
    Float(f64),
}

/// Floats are compared by their bits, so that NaN equals itself and the zeros differ.
impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        match (self, other) {
            (Literal::Int(a), Literal::Int(b)) => a == b,
            (Literal::Float(a), Literal::Float(b)) => a.to_bits() == b.to_bits(),
            _ => false,
        }
    }
}

impl Eq for Literal {}

impl std::hash::Hash for Literal {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        match self {
            Literal::Int(value) => (0u8, *value as u64).hash(state),
            Literal::Float(value) => (1u8, value.to_bits()).hash(state),
        }
    }
}

/// Elementwise functions of one operand; the result has the operand's type unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// Integers and truth values: every bit inverted.
    Not,
    /// Absolute value; of the least signed integer, itself.
    Abs,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Sqrt,
    Rsqrt,
    Cbrt,
    Floor,
    Ceil,
    /// Towards zero.
    Trunc,
    /// Half away from zero.
    Round,
    /// Half to even.
    RoundEven,
    Erf,
    Erfc,
    Erfinv,
    Lgamma,
    Tgamma,
    /// Integers: number of one bits, as the operand's type.
    Popcount,
    /// Integers: number of leading zero bits.
    LeadingZeros,
    /// Integers: the bits in reverse order.
    ReverseBits,
}

/// Elementwise functions of two operands of one type, which is also the result's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// Integers wrap.
    Add,
    Sub,
    Mul,
    /// Integers truncate; division by zero gives 0 and never traps. Quotients of fp32 may be 2 ulp off on a GPU, as CUDA's
    /// `div.full`; see [`BinaryOp::DivRn`].
    Div,
    /// Floats: the quotient, correctly rounded on every target.
    DivRn,
    /// The sign of the dividend, as in C; of floats, `fmod`. Integer remainder by zero gives 0.
    Rem,
    And,
    Or,
    Xor,
    /// Shifts by the width or more give 0 (or the sign, of a signed right shift).
    Shl,
    /// Arithmetic on signed types, logical on unsigned ones.
    Shr,
    /// Floats: the other operand where one is NaN.
    Min,
    Max,
    /// Floats: NaN where either operand is.
    MinNan,
    MaxNan,
    /// Integers: the upper half of the double-width product.
    MulHigh,
    Pow,
    Atan2,
    Hypot,
    /// Magnitude of the first, sign of the second.
    CopySign,
    NextAfter,
    /// IEEE remainder (quotient rounded to nearest even).
    Remainder,
}

/// Comparisons; floats are ordered ones, but `Ne` is true where either operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Predicate {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// How a cast to a narrower float rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    #[default]
    NearestEven,
    TowardsZero,
}

/// Read-modify-write operations; the result is the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
}

/// Memory ordering of an atomic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AtomicOrdering {
    Relaxed,
    Acquire,
    Release,
    #[default]
    AcquireRelease,
}

/// Whom an atomic is atomic with respect to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AtomicScope {
    /// The programs of one cluster of the GPU.
    Block,
    #[default]
    Gpu,
    System,
}

/// Where an access is cached. A hint: it never changes values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CacheModifier {
    #[default]
    Default,
    /// `.ca`
    All,
    /// `.cg`
    Global,
    /// `.cs`
    Streaming,
    /// `.cv`
    Volatile,
    /// `.wb`
    WriteBack,
    /// `.wt`
    WriteThrough,
}

/// What the cache should keep. A hint: it never changes values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EvictionPolicy {
    #[default]
    Normal,
    First,
    Last,
}

/// How precisely an fp32 dot multiplies. The CPU always multiplies fp32 exactly (`Ieee`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DotPrecision {
    #[default]
    Tf32,
    Tf32x3,
    Ieee,
    Bf16x3,
    Bf16x6,
}

/// What the user promises of each dimension of an integer or pointer block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// The first element of each run is divisible by this.
    MultipleOf(SmallVec<[u32; 2]>),
    /// Runs of this many consecutive elements increase by one.
    MaxContiguous(SmallVec<[u32; 2]>),
    /// Runs of this many consecutive elements are equal.
    MaxConstancy(SmallVec<[u32; 2]>),
}

/// What the user asked of a loop. Hints: they never change values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LoopAttributes {
    pub num_stages: Option<u32>,
    pub unroll: Option<u32>,
    pub flatten: bool,
    pub warp_specialize: bool,
    pub disallow_acc_multi_buffer: bool,
    pub disable_licm: bool,
}

/// Text in the assembly language of one kind of machine, with registers in the place of `$0`, `$1`, ...
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Assembly {
    pub text: String,
    /// The kind of each register, results first: `=r,f`.
    pub constraints: String,
    /// How many elements one execution of the text takes.
    pub pack: u32,
    /// Whether the text does nothing but compute its results.
    pub pure: bool,
}

/// One operation. Its results' types stand with the results.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A scalar constant.
    Constant(Literal),
    /// Index of this program along a grid axis (0 to 2), int32.
    ProgramId {
        axis: u8,
    },
    /// Extent of the grid along an axis (0 to 2), int32.
    NumPrograms {
        axis: u8,
    },
    /// The int32 block `start, start + 1, ..., end - 1`.
    Arange {
        start: i32,
        end: i32,
    },

    /// A block whose elements all equal a scalar.
    Splat {
        value: Value,
    },
    /// A block with dimensions of extent 1 repeated; the rank stays.
    Broadcast {
        value: Value,
    },
    /// A dimension of extent 1 inserted before `axis`.
    ExpandDims {
        value: Value,
        axis: u8,
    },
    /// The same elements, in row-major order, in another shape (a scalar counts as one element).
    Reshape {
        value: Value,
    },
    /// Dimension `i` of the result is dimension `permutation[i]` of the operand.
    Transpose {
        value: Value,
        permutation: SmallVec<[u8; 4]>,
    },
    /// Two blocks along a new last dimension of extent 2.
    Join {
        lhs: Value,
        rhs: Value,
    },
    /// The inverse of `Join`: two results.
    Split {
        value: Value,
    },
    /// Two blocks one after the other along dimension `axis`.
    Concatenate {
        lhs: Value,
        rhs: Value,
        axis: u8,
    },
    /// The sub-block that starts at `starts`; its extents are the result's.
    Slice {
        value: Value,
        starts: SmallVec<[u32; 4]>,
    },
    /// Dimension `axis` removed by taking its element number `index`, a scalar integer in range.
    Index {
        value: Value,
        axis: u8,
        index: Value,
    },
    /// `result[.., i, ..] = source[.., indices[.., i, ..], ..]` along `axis`.
    Gather {
        source: Value,
        indices: Value,
        axis: u8,
    },
    /// How often each of `0..n` occurs in an integer block, where the mask (of its shape) is true; int32 of extent n.
    Histogram {
        value: Value,
        mask: Option<Value>,
    },

    Unary {
        op: UnaryOp,
        value: Value,
    },
    Binary {
        op: BinaryOp,
        lhs: Value,
        rhs: Value,
    },
    /// The result is `int1` of the operands' shape.
    Compare {
        predicate: Predicate,
        lhs: Value,
        rhs: Value,
    },
    /// Elementwise choice; all three have one shape.
    Select {
        condition: Value,
        on_true: Value,
        on_false: Value,
    },
    /// `a * b + c`, rounded once.
    Fma {
        a: Value,
        b: Value,
        c: Value,
    },
    /// Conversion of numbers: floats to integers truncate, integers to narrower ones wrap, anything to `int1` tests
    /// for non-zero; conversions to 8-bit floats saturate.
    Cast {
        value: Value,
        rounding: Rounding,
    },
    /// The same bits as another type of the same width; also between pointers and 64-bit integers.
    Bitcast {
        value: Value,
    },

    /// A pointer moved by a number of elements (an integer; unsigned ones below 64 bits are zero-extended).
    AddPointer {
        pointer: Value,
        offset: Value,
    },
    /// Elements that the mask leaves out are `other`, or 0 if there is none.
    Load {
        pointer: Value,
        mask: Option<Value>,
        other: Option<Value>,
        cache: CacheModifier,
        eviction: EvictionPolicy,
        volatile: bool,
    },
    Store {
        pointer: Value,
        value: Value,
        mask: Option<Value>,
        cache: CacheModifier,
        eviction: EvictionPolicy,
    },
    AtomicRmw {
        op: AtomicOp,
        pointer: Value,
        value: Value,
        mask: Option<Value>,
        ordering: AtomicOrdering,
        scope: AtomicScope,
    },
    AtomicCas {
        pointer: Value,
        expected: Value,
        desired: Value,
        ordering: AtomicOrdering,
        scope: AtomicScope,
    },

    /// The product of two matrices, or of two batches of them, plus the accumulator, which has the result's type.
    Dot {
        lhs: Value,
        rhs: Value,
        accumulator: Option<Value>,
        precision: DotPrecision,
    },
    /// Several blocks of one shape reduced together along `axis` by a region with 2n scalar arguments
    /// (all of the left, then all of the right) and n yields, which must be associative.
    Reduce {
        values: SmallVec<[Value; 2]>,
        axis: u8,
        combine: RegionId,
    },
    /// Like `Reduce`, but every prefix (every suffix, if `reverse`) is kept.
    Scan {
        values: SmallVec<[Value; 2]>,
        axis: u8,
        reverse: bool,
        combine: RegionId,
    },
    /// A scalar function with control flow, applied to each element; args are the elements, yields the results'.
    MapElementwise {
        values: SmallVec<[Value; 2]>,
        body: RegionId,
    },
    /// Instructions of the target, applied to each element of operands and results, which have one shape.
    InlineAssembly {
        assembly: Box<Assembly>,
        values: SmallVec<[Value; 2]>,
    },

    /// Counts from `lower` by `step` (never 0) while below `upper` (above it, if `step` is negative); the three and the index have
    /// one integer type. The body's arguments are the index and the carried values; it yields their next values.
    For {
        lower: Value,
        upper: Value,
        step: Value,
        inits: SmallVec<[Value; 4]>,
        body: RegionId,
        attributes: LoopAttributes,
    },
    /// `condition` takes the carried values, and yields an `int1` and then the values that `body` takes and the loop results in;
    /// `body` yields the next carried values.
    While {
        inits: SmallVec<[Value; 4]>,
        condition: RegionId,
        body: RegionId,
    },
    /// Either region yields the results.
    If {
        condition: Value,
        then: RegionId,
        otherwise: RegionId,
    },

    /// Prints the program's id, the prefix and the values.
    Print {
        prefix: String,
        hex: bool,
        values: SmallVec<[Value; 2]>,
    },
    /// Stops the launch with a message if any element of the condition is false where the mask is true.
    Assert {
        condition: Value,
        message: String,
        mask: Option<Value>,
    },
    /// The user promises that the condition is true.
    Assume {
        condition: Value,
    },
    /// All threads of the program wait for each other. Program order holds without it.
    Barrier,
    /// The operand, of which the user promises something.
    Annotate {
        value: Value,
        hint: Hint,
    },
}

/// The one list of operands, for reading (`iter`) and for replacing (`iter_mut`).
macro_rules! visit_operands {
    ($op:expr, $iter:ident, $visit:ident) => {
        match $op {
            Op::Constant(_)
            | Op::ProgramId { .. }
            | Op::NumPrograms { .. }
            | Op::Arange { .. }
            | Op::Barrier => {}
            Op::Splat { value }
            | Op::Broadcast { value }
            | Op::ExpandDims { value, .. }
            | Op::Reshape { value }
            | Op::Transpose { value, .. }
            | Op::Split { value }
            | Op::Slice { value, .. }
            | Op::Unary { value, .. }
            | Op::Cast { value, .. }
            | Op::Bitcast { value }
            | Op::Annotate { value, .. } => $visit(value),
            Op::Join { lhs, rhs }
            | Op::Concatenate { lhs, rhs, .. }
            | Op::Binary { lhs, rhs, .. }
            | Op::Compare { lhs, rhs, .. } => {
                $visit(lhs);
                $visit(rhs);
            }
            Op::Index { value, index, .. } => {
                $visit(value);
                $visit(index);
            }
            Op::Gather { source, indices, .. } => {
                $visit(source);
                $visit(indices);
            }
            Op::Histogram { value, mask } => {
                $visit(value);
                mask.$iter().for_each($visit);
            }
            Op::Select { condition, on_true, on_false } => {
                $visit(condition);
                $visit(on_true);
                $visit(on_false);
            }
            Op::Fma { a, b, c } => {
                $visit(a);
                $visit(b);
                $visit(c);
            }
            Op::AddPointer { pointer, offset } => {
                $visit(pointer);
                $visit(offset);
            }
            Op::Load { pointer, mask, other, .. } => {
                $visit(pointer);
                mask.$iter().for_each(&mut $visit);
                other.$iter().for_each($visit);
            }
            Op::Store { pointer, value, mask, .. } | Op::AtomicRmw { pointer, value, mask, .. } => {
                $visit(pointer);
                $visit(value);
                mask.$iter().for_each($visit);
            }
            Op::AtomicCas { pointer, expected, desired, .. } => {
                $visit(pointer);
                $visit(expected);
                $visit(desired);
            }
            Op::Dot { lhs, rhs, accumulator, .. } => {
                $visit(lhs);
                $visit(rhs);
                accumulator.$iter().for_each($visit);
            }
            Op::Reduce { values, .. }
            | Op::Scan { values, .. }
            | Op::MapElementwise { values, .. }
            | Op::InlineAssembly { values, .. }
            | Op::Print { values, .. } => values.$iter().for_each($visit),
            Op::For { lower, upper, step, inits, .. } => {
                $visit(lower);
                $visit(upper);
                $visit(step);
                inits.$iter().for_each($visit);
            }
            Op::While { inits, .. } => inits.$iter().for_each($visit),
            Op::If { condition, .. } | Op::Assume { condition } => $visit(condition),
            Op::Assert { condition, mask, .. } => {
                $visit(condition);
                mask.$iter().for_each($visit);
            }
        }
    };
}

impl Op {
    /// Whether each element of the one result is computed from the elements at its place in the operands alone, without memory.
    pub fn is_elementwise(&self) -> bool {
        matches!(
            self,
            Op::Unary { .. }
                | Op::Binary { .. }
                | Op::Compare { .. }
                | Op::Select { .. }
                | Op::Fma { .. }
                | Op::Cast { .. }
                | Op::Bitcast { .. }
                | Op::AddPointer { .. }
        )
    }

    /// Calls `visit` with each operand, in order. Values used inside regions are not operands.
    pub fn for_each_operand(&self, mut visit: impl FnMut(Value)) {
        let mut visit = |value: &Value| visit(*value);
        visit_operands!(self, iter, visit)
    }

    /// Calls `visit` with each operand, to be replaced.
    pub fn for_each_operand_mut(&mut self, mut visit: impl FnMut(&mut Value)) {
        visit_operands!(self, iter_mut, visit)
    }

    /// The regions that the operation owns, in order.
    pub fn regions(&self) -> SmallVec<[RegionId; 2]> {
        match self {
            Op::Reduce { combine, .. } | Op::Scan { combine, .. } => SmallVec::from_slice(&[*combine]),
            Op::MapElementwise { body, .. } | Op::For { body, .. } => SmallVec::from_slice(&[*body]),
            Op::While { condition, body, .. } => SmallVec::from_slice(&[*condition, *body]),
            Op::If { then, otherwise, .. } => SmallVec::from_slice(&[*then, *otherwise]),
            _ => SmallVec::new(),
        }
    }

    /// Calls `visit` with each region that the operation owns, to be replaced.
    pub fn for_each_region_mut(&mut self, mut visit: impl FnMut(&mut RegionId)) {
        match self {
            Op::Reduce { combine, .. } | Op::Scan { combine, .. } => visit(combine),
            Op::MapElementwise { body, .. } | Op::For { body, .. } => visit(body),
            Op::While { condition, body, .. } => {
                visit(condition);
                visit(body);
            }
            Op::If { then, otherwise, .. } => {
                visit(then);
                visit(otherwise);
            }
            _ => {}
        }
    }

    /// Whether the operation, its regions aside, does nothing but compute its results from its operands:
    /// it may be dropped, merged with an equal one, or computed earlier.
    pub fn is_pure(&self) -> bool {
        if let Op::InlineAssembly { assembly, .. } = self {
            return assembly.pure;
        }
        !matches!(
            self,
            Op::Load { .. }
                | Op::Store { .. }
                | Op::AtomicRmw { .. }
                | Op::AtomicCas { .. }
                | Op::For { .. }
                | Op::While { .. }
                | Op::If { .. }
                | Op::MapElementwise { .. }
                | Op::Print { .. }
                | Op::Assert { .. }
                | Op::Assume { .. }
                | Op::Barrier
        )
    }
}
