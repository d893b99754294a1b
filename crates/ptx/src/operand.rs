//! Registers, immediates, special registers, labels and addresses.

use std::sync::Arc;

use crate::{Modifier, Requirement};

modifier! {
    /// The kind of a register, by its width. PTX lets a register of bits hold any type of its width, so
    /// nothing needs to be moved between integer and floating-point registers.
    Class {
        Pred = "p",
        Bits16 = "h",
        Bits32 = "r",
        Bits64 = "d",
        Bits128 = "q",
    }
}

impl Class {
    /// The type under which registers of the class are declared.
    pub fn declared(self) -> crate::Type {
        match self {
            Class::Pred => crate::Type::Pred,
            Class::Bits16 => crate::Type::B16,
            Class::Bits32 => crate::Type::B32,
            Class::Bits64 => crate::Type::B64,
            Class::Bits128 => crate::Type::B128,
        }
    }

    /// The class that holds values of a type; 8-bit values are held in 16 bits.
    pub fn of(ty: crate::Type) -> Class {
        match ty.bits() {
            1 => Class::Pred,
            8 | 16 => Class::Bits16,
            32 => Class::Bits32,
            64 => Class::Bits64,
            _ => Class::Bits128,
        }
    }
}

/// A virtual register, written `%` with the letter of its class and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register {
    /// The kind.
    pub class: Class,
    /// The number, counted within the class from 0.
    pub index: u32,
}

impl std::fmt::Display for Register {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "%{}{}", self.class.text(), self.index)
    }
}

modifier! {
    /// A read-only register that tells a thread who and where it is.
    Special {
        TidX = "%tid.x",
        TidY = "%tid.y",
        TidZ = "%tid.z",
        NtidX = "%ntid.x",
        NtidY = "%ntid.y",
        NtidZ = "%ntid.z",
        CtaidX = "%ctaid.x",
        CtaidY = "%ctaid.y",
        CtaidZ = "%ctaid.z",
        NctaidX = "%nctaid.x",
        NctaidY = "%nctaid.y",
        NctaidZ = "%nctaid.z",
        LaneId = "%laneid",
        WarpId = "%warpid",
        SmId = "%smid",
        GridId = "%gridid",
        Clock = "%clock",
        Clock64 = "%clock64",
        GlobalTimer = "%globaltimer",
        LanemaskLt = "%lanemask_lt",
        LanemaskLe = "%lanemask_le",
        LanemaskEq = "%lanemask_eq",
        LanemaskGe = "%lanemask_ge",
        LanemaskGt = "%lanemask_gt",
        ClusterCtaidX = "%cluster_ctaid.x",
        ClusterCtaidY = "%cluster_ctaid.y",
        ClusterCtaidZ = "%cluster_ctaid.z",
        ClusterNctaidX = "%cluster_nctaid.x",
        ClusterCtaRank = "%cluster_ctarank",
        ClusterIdX = "%clusterid.x",
        NclusterIdX = "%nclusterid.x",
        DynamicSmemSize = "%dynamic_smem_size",
        TotalSmemSize = "%total_smem_size",
    }
}

impl Special {
    /// What the register asks of the target: those of clusters are of sm_90.
    pub(crate) fn requirement(self) -> Requirement {
        use Special::*;
        let of_cluster = matches!(
            self,
            ClusterCtaidX
                | ClusterCtaidY
                | ClusterCtaidZ
                | ClusterNctaidX
                | ClusterCtaRank
                | ClusterIdX
                | NclusterIdX
        );
        Requirement::from(90, 7, 8).when(of_cluster)
    }
}

/// A value that an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// An integer; unsigned 64-bit values are given by their bits.
    Integer(i64),
    /// A single-precision number, by its bits.
    Float32(u32),
    /// A double-precision number, by its bits.
    Float64(u64),
    /// A special register.
    Special(Special),
}

impl From<Register> for Operand {
    fn from(register: Register) -> Operand {
        Operand::Register(register)
    }
}

impl From<Special> for Operand {
    fn from(special: Special) -> Operand {
        Operand::Special(special)
    }
}

impl From<i64> for Operand {
    fn from(value: i64) -> Operand {
        Operand::Integer(value)
    }
}

impl From<f32> for Operand {
    fn from(value: f32) -> Operand {
        Operand::Float32(value.to_bits())
    }
}

impl From<f64> for Operand {
    fn from(value: f64) -> Operand {
        Operand::Float64(value.to_bits())
    }
}

/// A predicate register, taken as it is or negated: the guard `@%p0` or `@!%p0`, and the operand `!%p0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Predicate {
    /// The register.
    pub register: Register,
    /// Whether its opposite counts.
    pub negated: bool,
}

/// The name of a variable, a parameter or a function.
pub type Symbol = Arc<str>;

/// A place that a branch may go to, written `$L` and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(pub u32);

/// What an address counts from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// A register.
    Register(Register),
    /// A variable or a parameter.
    Symbol(Symbol),
    /// Zero: the offset is the whole address.
    Zero,
}

/// An address: `[base + offset]`, the offset in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// What it counts from.
    pub base: Base,
    /// Bytes from there.
    pub offset: i32,
}

impl Address {
    /// The address in a register, plus a constant.
    pub fn register(register: Register, offset: i32) -> Address {
        Address { base: Base::Register(register), offset }
    }

    /// The address of a variable or parameter, plus a constant.
    pub fn symbol(symbol: impl Into<Symbol>, offset: i32) -> Address {
        Address { base: Base::Symbol(symbol.into()), offset }
    }
}

impl From<Register> for Address {
    fn from(register: Register) -> Address {
        Address::register(register, 0)
    }
}

/// The words of special registers, with their `%`, are recognised before ordinary registers.
pub(crate) fn special(text: &str) -> Option<Special> {
    Special::from_text(text)
}

/// The register written as `text`.
pub(crate) fn register(text: &str) -> Option<Register> {
    let rest = text.strip_prefix('%')?;
    let class = Class::ALL.iter().copied().find(|class| rest.starts_with(class.text()))?;
    let digits = &rest[1..];
    let index = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some(Register { class, index })
}
