//! The instruction sets that the strips are compiled for, and the one that this machine runs.
//!
//! Chosen once, at first use: the widest that the processor has, or the one named by `TEGULA_CPU_ISA`
//! (`baseline`, `avx2`, `avx512`).

use std::sync::OnceLock;

/// A set of vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// What every processor of the architecture has: SSE2 on x86-64, NEON on aarch64.
    Baseline,
    /// AVX2 with FMA and F16C.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, and all of [`Isa::Avx2`].
    Avx512,
}

impl Isa {
    /// Every instruction set, narrowest first.
    pub const ALL: [Isa; 3] = [Isa::Baseline, Isa::Avx2, Isa::Avx512];

    /// The name in `TEGULA_CPU_ISA`.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Baseline => "baseline",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }

    /// Whether this processor has it.
    pub fn is_supported(self) -> bool {
        match self {
            Isa::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
                    && is_x86_feature_detected!("popcnt")
                    && is_x86_feature_detected!("lzcnt")
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                Isa::Avx2.is_supported()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Isa::Avx2 | Isa::Avx512 => false,
        }
    }
}

/// The instruction set that this process uses.
pub fn selected() -> Isa {
    static SELECTED: OnceLock<Isa> = OnceLock::new();
    *SELECTED.get_or_init(|| {
        let best = Isa::ALL.into_iter().rev().find(|isa| isa.is_supported()).unwrap_or(Isa::Baseline);
        let Ok(name) = std::env::var("TEGULA_CPU_ISA") else { return best };
        match Isa::ALL.into_iter().find(|isa| isa.name() == name) {
            Some(isa) if isa.is_supported() => isa,
            Some(_) => {
                eprintln!("tegula: TEGULA_CPU_ISA={name}: this processor lacks it; using {}", best.name());
                best
            }
            None => {
                eprintln!(
                    "tegula: TEGULA_CPU_ISA={name} is none of baseline, avx2, avx512; using {}",
                    best.name()
                );
                best
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_instruction_set_is_supported() {
        assert!(selected().is_supported());
        assert!(Isa::Baseline.is_supported());
    }

    #[test]
    fn names_are_distinct() {
        for isa in Isa::ALL {
            assert_eq!(Isa::ALL.into_iter().filter(|other| other.name() == isa.name()).count(), 1);
        }
    }
}
