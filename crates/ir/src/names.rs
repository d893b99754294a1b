//! The names of operations and of their attributes, as the text form and messages write them.

use crate::op::{
    AtomicOp, AtomicOrdering, AtomicScope, BinaryOp, CacheModifier, DotPrecision, EvictionPolicy, Hint, Op,
    Predicate, Rounding, UnaryOp,
};
use std::fmt;

/// Gives an enum without fields its names, both ways.
macro_rules! names {
    ($($ty:ident { $($variant:ident => $name:literal,)* })*) => {$(
        impl $ty {
            /// Every variant, in the order of the declaration.
            pub const ALL: &[$ty] = &[$($ty::$variant,)*];

            /// The name in the text form.
            pub const fn name(self) -> &'static str {
                match self {
                    $($ty::$variant => $name,)*
                }
            }

            /// The inverse of `name`.
            pub fn from_name(name: &str) -> Option<$ty> {
                match name {
                    $($name => Some($ty::$variant),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    )*};
}

names! {
    UnaryOp {
        Not => "not",
        Abs => "abs",
        Exp => "exp",
        Exp2 => "exp2",
        Expm1 => "expm1",
        Log => "log",
        Log2 => "log2",
        Log10 => "log10",
        Log1p => "log1p",
        Sin => "sin",
        Cos => "cos",
        Tan => "tan",
        Asin => "asin",
        Acos => "acos",
        Atan => "atan",
        Sinh => "sinh",
        Cosh => "cosh",
        Tanh => "tanh",
        Asinh => "asinh",
        Acosh => "acosh",
        Atanh => "atanh",
        Sqrt => "sqrt",
        Rsqrt => "rsqrt",
        Cbrt => "cbrt",
        Floor => "floor",
        Ceil => "ceil",
        Trunc => "trunc",
        Round => "round",
        RoundEven => "round_even",
        Erf => "erf",
        Erfc => "erfc",
        Erfinv => "erfinv",
        Lgamma => "lgamma",
        Tgamma => "tgamma",
        Popcount => "popcount",
        LeadingZeros => "leading_zeros",
        ReverseBits => "reverse_bits",
    }
    BinaryOp {
        Add => "add",
        Sub => "sub",
        Mul => "mul",
        Div => "div",
        DivRn => "div_rn",
        Rem => "rem",
        And => "and",
        Or => "or",
        Xor => "xor",
        Shl => "shl",
        Shr => "shr",
        Min => "min",
        Max => "max",
        MinNan => "min_nan",
        MaxNan => "max_nan",
        MulHigh => "mul_high",
        Pow => "pow",
        Atan2 => "atan2",
        Hypot => "hypot",
        CopySign => "copy_sign",
        NextAfter => "next_after",
        Remainder => "remainder",
    }
    Predicate {
        Eq => "eq",
        Ne => "ne",
        Lt => "lt",
        Le => "le",
        Gt => "gt",
        Ge => "ge",
    }
    Rounding {
        NearestEven => "nearest_even",
        TowardsZero => "towards_zero",
    }
    AtomicOp {
        Add => "add",
        Min => "min",
        Max => "max",
        And => "and",
        Or => "or",
        Xor => "xor",
        Exchange => "exchange",
    }
    AtomicOrdering {
        Relaxed => "relaxed",
        Acquire => "acquire",
        Release => "release",
        AcquireRelease => "acquire_release",
    }
    AtomicScope {
        Block => "block",
        Gpu => "gpu",
        System => "system",
    }
    CacheModifier {
        Default => "default",
        All => "ca",
        Global => "cg",
        Streaming => "cs",
        Volatile => "cv",
        WriteBack => "wb",
        WriteThrough => "wt",
    }
    EvictionPolicy {
        Normal => "normal",
        First => "first",
        Last => "last",
    }
    DotPrecision {
        Tf32 => "tf32",
        Tf32x3 => "tf32x3",
        Ieee => "ieee",
        Bf16x3 => "bf16x3",
        Bf16x6 => "bf16x6",
    }
}

impl Hint {
    /// The name in the text form.
    pub const fn name(&self) -> &'static str {
        match self {
            Hint::MultipleOf(_) => "multiple_of",
            Hint::MaxContiguous(_) => "max_contiguous",
            Hint::MaxConstancy(_) => "max_constancy",
        }
    }

    /// The promise of each dimension.
    pub fn values(&self) -> &[u32] {
        match self {
            Hint::MultipleOf(values) | Hint::MaxContiguous(values) | Hint::MaxConstancy(values) => values,
        }
    }
}

impl Op {
    /// The name in the text form: `load`, `add`, `for`.
    pub const fn name(&self) -> &'static str {
        match self {
            Op::Constant(_) => "constant",
            Op::ProgramId { .. } => "program_id",
            Op::NumPrograms { .. } => "num_programs",
            Op::Arange { .. } => "arange",
            Op::Splat { .. } => "splat",
            Op::Broadcast { .. } => "broadcast",
            Op::ExpandDims { .. } => "expand_dims",
            Op::Reshape { .. } => "reshape",
            Op::Transpose { .. } => "transpose",
            Op::Join { .. } => "join",
            Op::Split { .. } => "split",
            Op::Concatenate { .. } => "concatenate",
            Op::Slice { .. } => "slice",
            Op::Index { .. } => "index",
            Op::Gather { .. } => "gather",
            Op::Histogram { .. } => "histogram",
            Op::Unary { op, .. } => op.name(),
            Op::Binary { op, .. } => op.name(),
            Op::Compare { .. } => "compare",
            Op::Select { .. } => "select",
            Op::Fma { .. } => "fma",
            Op::Cast { .. } => "cast",
            Op::Bitcast { .. } => "bitcast",
            Op::AddPointer { .. } => "add_pointer",
            Op::Load { .. } => "load",
            Op::Store { .. } => "store",
            Op::AtomicRmw { .. } => "atomic",
            Op::AtomicCas { .. } => "atomic_cas",
            Op::Dot { .. } => "dot",
            Op::Reduce { .. } => "reduce",
            Op::Scan { .. } => "scan",
            Op::MapElementwise { .. } => "map",
            Op::InlineAssembly { .. } => "assembly",
            Op::For { .. } => "for",
            Op::While { .. } => "while",
            Op::If { .. } => "if",
            Op::Print { .. } => "print",
            Op::Assert { .. } => "assert",
            Op::Assume { .. } => "assume",
            Op::Barrier => "barrier",
            Op::Annotate { .. } => "annotate",
        }
    }
}
