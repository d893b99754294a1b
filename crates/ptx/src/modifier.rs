//! The words after the dots of an instruction's name.

/// A closed set of words, each of which stands between dots in an instruction's name.
pub trait Modifier: Copy + 'static {
    /// All values, in the order of their declaration.
    const ALL: &'static [Self];

    /// The word, without the dot.
    fn text(self) -> &'static str;

    /// The value of a word.
    fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.text() == text)
    }
}

/// Declares an enumeration whose variants are words of PTX.
macro_rules! modifier {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$variant_meta])* #[doc = concat!("`.", $text, "`")] $variant,)*
        }

        impl $crate::Modifier for $name {
            const ALL: &'static [$name] = &[$($name::$variant),*];

            fn text(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }
    };
}

modifier! {
    /// The type of an instruction's operands.
    Type {
        Pred = "pred",
        B8 = "b8",
        B16 = "b16",
        B32 = "b32",
        B64 = "b64",
        B128 = "b128",
        U8 = "u8",
        U16 = "u16",
        U32 = "u32",
        U64 = "u64",
        S8 = "s8",
        S16 = "s16",
        S32 = "s32",
        S64 = "s64",
        U16x2 = "u16x2",
        S16x2 = "s16x2",
        F16 = "f16",
        F16x2 = "f16x2",
        Bf16 = "bf16",
        Bf16x2 = "bf16x2",
        Tf32 = "tf32",
        E4m3 = "e4m3",
        E5m2 = "e5m2",
        E4m3x2 = "e4m3x2",
        E5m2x2 = "e5m2x2",
        F32 = "f32",
        F32x2 = "f32x2",
        F64 = "f64",
    }
}

impl Type {
    /// The bits of a value; a predicate counts as one.
    pub fn bits(self) -> u32 {
        match self {
            Type::Pred => 1,
            Type::B8 | Type::U8 | Type::S8 | Type::E4m3 | Type::E5m2 => 8,
            Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::Bf16 | Type::E4m3x2 | Type::E5m2x2 => 16,
            Type::B32 | Type::U32 | Type::S32 | Type::F32 | Type::Tf32 => 32,
            Type::U16x2 | Type::S16x2 | Type::F16x2 | Type::Bf16x2 => 32,
            Type::B64 | Type::U64 | Type::S64 | Type::F64 | Type::F32x2 => 64,
            Type::B128 => 128,
        }
    }

    /// Whether values are floating-point numbers, alone or packed.
    pub fn is_float(self) -> bool {
        matches!(
            self,
            Type::F16
                | Type::F16x2
                | Type::Bf16
                | Type::Bf16x2
                | Type::Tf32
                | Type::F32
                | Type::F32x2
                | Type::F64
        ) || self.is_float8()
    }

    /// Whether values are 8-bit floating-point numbers, alone or packed.
    pub fn is_float8(self) -> bool {
        matches!(self, Type::E4m3 | Type::E5m2 | Type::E4m3x2 | Type::E5m2x2)
    }

    /// Whether values are bfloat16, alone or packed.
    pub fn is_bf16(self) -> bool {
        matches!(self, Type::Bf16 | Type::Bf16x2)
    }
}

modifier! {
    /// A state space. Generic addresses name none.
    Space {
        Param = "param",
        Global = "global",
        Shared = "shared",
        SharedCta = "shared::cta",
        SharedCluster = "shared::cluster",
        Local = "local",
        Const = "const",
    }
}

modifier! {
    /// The rounding of a floating-point operation or a conversion.
    Rounding {
        /// To the nearest, ties to even.
        Nearest = "rn",
        /// To the nearest, ties away from zero.
        NearestAway = "rna",
        Zero = "rz",
        Down = "rm",
        Up = "rp",
        /// To the nearest integer, ties to even.
        NearestInteger = "rni",
        ZeroInteger = "rzi",
        DownInteger = "rmi",
        UpInteger = "rpi",
    }
}

modifier! {
    /// The threads among which a memory operation or a fence orders.
    Scope {
        Cta = "cta",
        Cluster = "cluster",
        Gpu = "gpu",
        Sys = "sys",
    }
}

modifier! {
    /// The memory ordering of a load, a store or an atomic operation.
    Ordering {
        Weak = "weak",
        Volatile = "volatile",
        Relaxed = "relaxed",
        Acquire = "acquire",
        Release = "release",
        AcquireRelease = "acq_rel",
    }
}

modifier! {
    /// Where a load or store is cached.
    CacheOperator {
        All = "ca",
        Global = "cg",
        Streaming = "cs",
        LastUse = "lu",
        Volatile = "cv",
        WriteBack = "wb",
        WriteThrough = "wt",
    }
}

modifier! {
    /// How soon the first-level cache may evict a line.
    Eviction {
        Normal = "L1::evict_normal",
        Unchanged = "L1::evict_unchanged",
        First = "L1::evict_first",
        Last = "L1::evict_last",
        NoAllocate = "L1::no_allocate",
    }
}

modifier! {
    /// How much the second-level cache fetches around a load.
    Prefetch {
        Bytes64 = "L2::64B",
        Bytes128 = "L2::128B",
        Bytes256 = "L2::256B",
    }
}

modifier! {
    /// The priority that a cache policy gives to lines of the second-level cache.
    PolicyPriority {
        Last = "L2::evict_last",
        Normal = "L2::evict_normal",
        First = "L2::evict_first",
        Unchanged = "L2::evict_unchanged",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_distinct_and_read_back() {
        fn check<M: Modifier + PartialEq + std::fmt::Debug>() {
            for &value in M::ALL {
                assert_eq!(M::from_text(value.text()), Some(value));
            }
        }
        check::<Type>();
        check::<Space>();
        check::<Rounding>();
        check::<Ordering>();
        check::<CacheOperator>();
        check::<Eviction>();
        assert_eq!(Type::from_text("b31"), None);
    }
}
