//! Floating-point numbers as PTX has them: formats narrower than 64 bits, and their rounding.
//!
//! Every value of a narrower format is a value of fp64, so operations are carried out there, with the part that fp64 cannot
//! hold kept beside ([`Exact`]), and rounded once.

mod exact;
mod format;

pub use exact::{Exact, double};
pub use format::{BF16, E4M3, E5M2, F16, F32, Format, TF32};

/// How a result is brought into a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To the nearest, ties to even.
    Nearest,
    /// To the nearest, ties away from zero.
    NearestAway,
    Zero,
    Down,
    Up,
}

impl Mode {
    /// The mode of a rounding of PTX, of floats or of integers.
    pub fn of(rounding: Option<tegula_ptx::Rounding>) -> Mode {
        use tegula_ptx::Rounding;
        match rounding {
            None | Some(Rounding::Nearest | Rounding::NearestInteger) => Mode::Nearest,
            Some(Rounding::NearestAway) => Mode::NearestAway,
            Some(Rounding::Zero | Rounding::ZeroInteger) => Mode::Zero,
            Some(Rounding::Down | Rounding::DownInteger) => Mode::Down,
            Some(Rounding::Up | Rounding::UpInteger) => Mode::Up,
        }
    }

    /// Whether a magnitude is rounded up, given the lowest bit that is kept, the sign, and what is cut off.
    fn rounds_up(self, odd: bool, negative: bool, rest: u128, half: u128) -> bool {
        match self {
            Mode::Nearest => rest > half || (rest == half && odd),
            Mode::NearestAway => rest >= half,
            Mode::Zero => false,
            Mode::Down => negative && rest > 0,
            Mode::Up => !negative && rest > 0,
        }
    }

    /// A float rounded to an integer.
    pub fn integral(self, value: f64) -> f64 {
        match self {
            Mode::Nearest => value.round_ties_even(),
            Mode::NearestAway => value.round(),
            Mode::Zero => value.trunc(),
            Mode::Down => value.floor(),
            Mode::Up => value.ceil(),
        }
    }
}
