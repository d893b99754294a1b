//! Results of arithmetic before they are rounded.

use super::Mode;

/// `high + low`, where `high` is the value rounded to fp64 and `low` has at least the sign of what is missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exact {
    pub high: f64,
    pub low: f64,
}

impl From<f64> for Exact {
    fn from(high: f64) -> Exact {
        Exact { high, low: 0.0 }
    }
}

impl Exact {
    fn finite(high: f64, low: f64) -> Exact {
        Exact { high, low: if high.is_finite() { low } else { 0.0 } }
    }

    /// A sum (Knuth's two-sum). An exact zero of operands with different signs has the sign that `mode` asks for.
    pub fn sum(a: f64, b: f64, mode: Mode) -> Exact {
        let high = a + b;
        if high == 0.0 && a.is_sign_negative() != b.is_sign_negative() {
            return Exact::from(if mode == Mode::Down { -0.0 } else { 0.0 });
        }
        let of_b = high - a;
        Exact::finite(high, (a - (high - of_b)) + (b - of_b))
    }

    /// A product.
    pub fn product(a: f64, b: f64) -> Exact {
        let high = a * b;
        Exact::finite(high, a.mul_add(b, -high))
    }

    /// `a * b + c` for factors of at most 26 significant bits, whose product fp64 holds.
    pub fn fused(a: f64, b: f64, c: f64, mode: Mode) -> Exact {
        Exact::sum(a * b, c, mode)
    }

    /// A quotient: `low` has the sign of what is missing, and some small magnitude.
    pub fn quotient(a: f64, b: f64) -> Exact {
        let high = a / b;
        if !high.is_finite() || high == 0.0 || !b.is_finite() {
            return Exact::from(high);
        }
        let rest = (-high).mul_add(b, a);
        Exact { high, low: if rest == 0.0 { 0.0 } else { f64::MIN_POSITIVE.copysign(rest * b.signum()) } }
    }

    /// A square root, `low` as of a quotient.
    pub fn square_root(a: f64) -> Exact {
        let high = a.sqrt();
        if !high.is_finite() || high == 0.0 {
            return Exact::from(high);
        }
        let rest = (-high).mul_add(high, a);
        Exact { high, low: if rest == 0.0 { 0.0 } else { f64::MIN_POSITIVE.copysign(rest) } }
    }

    /// Rounded to fp64.
    pub fn to_double(self, mode: Mode) -> f64 {
        let Exact { high, low } = self;
        if low == 0.0 || !high.is_finite() {
            return high;
        }
        match mode {
            Mode::Nearest | Mode::NearestAway => high,
            Mode::Zero if (high > 0.0) != (low > 0.0) => toward_zero(high),
            Mode::Zero => high,
            Mode::Down if low < 0.0 => high.next_down(),
            Mode::Down => high,
            Mode::Up if low > 0.0 => high.next_up(),
            Mode::Up => high,
        }
    }
}

fn toward_zero(value: f64) -> f64 {
    if value > 0.0 { value.next_down() } else { value.next_up() }
}

/// Arithmetic of fp64 itself.
pub mod double {
    use super::{Exact, Mode};

    /// `a * b + c`, rounded once.
    pub fn fused(a: f64, b: f64, c: f64, mode: Mode) -> f64 {
        let nearest = a.mul_add(b, c);
        if matches!(mode, Mode::Nearest | Mode::NearestAway) || !nearest.is_finite() {
            return nearest;
        }
        if nearest == 0.0 {
            let product = a * b;
            return Exact::sum(product, c, mode).to_double(mode);
        }
        // The error of a fused operation is a sum of two numbers (Boldo and Muller, 2011).
        let product = Exact::product(a, b);
        let first = Exact::sum(c, product.low, Mode::Nearest);
        let second = Exact::sum(product.high, first.high, Mode::Nearest);
        let low = ((second.high - nearest) + second.low) + first.low;
        Exact { high: nearest, low }.to_double(mode)
    }
}
