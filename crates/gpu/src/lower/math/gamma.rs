//! The gamma function and its logarithm, in fp64, by Lanczos's approximation.
//!
//! The coefficients (g = 6.02468..., 13 terms) are Boost's, as musl uses them.

use super::Real;
use std::f64::consts::PI;
use tegula_ptx::Register;

const G_MINUS_HALF: f64 = 5.524_680_040_776_73;
const NUMERATOR: [f64; 13] = [
    23531376880.41076,
    42919803642.6491,
    35711959237.35567,
    17921034426.03721,
    6039542586.352028,
    1439720407.3117216,
    248874557.86205417,
    31426415.585400194,
    2876370.6289353725,
    186056.26539522348,
    8071.672002365816,
    210.82427775157936,
    2.5066282746310002,
];
const DENOMINATOR: [f64; 13] = [
    0.0,
    39916800.0,
    120543840.0,
    150917976.0,
    105258076.0,
    45995730.0,
    13339535.0,
    2637558.0,
    357423.0,
    32670.0,
    1925.0,
    66.0,
    1.0,
];

impl Real<'_> {
    /// `gamma(x)`: at most 16 ulp.
    pub fn tgamma(&mut self, x: Register) -> Register {
        let magnitude = self.abs(x);
        let result = self.tgamma_positive(magnitude);
        // gamma(-x) = -pi / (x sin(pi x) gamma(x))
        let sine = self.sin_pi(magnitude);
        let product = self.mul(sine, magnitude);
        let product = self.mul(product, result);
        let pi = self.number(-PI);
        let mirrored = self.div(pi, product);
        let is_negative = self.less_than(x, 0.0);
        let result = self.choose(is_negative, mirrored, result);
        let whole = self.floor(x);
        let is_whole = self.same(whole, x);
        let nan = self.number(f64::NAN);
        let at_pole = self.choose(is_whole, nan, result);
        let result = self.choose(is_negative, at_pole, result);
        let one = self.number(1.0);
        let infinite = self.div(one, x);
        let is_zero = self.equals(x, 0.0);
        let result = self.choose(is_zero, infinite, result);
        self.keep_nan(result, x)
    }

    /// `log(|gamma(x)|)`.
    pub fn lgamma(&mut self, x: Register) -> Register {
        let magnitude = self.abs(x);
        let gamma = self.tgamma_positive(magnitude);
        let small = self.log(gamma);
        let large = self.stirling(magnitude);
        let is_small = self.less_than(magnitude, 20.0);
        let positive = self.choose(is_small, small, large);
        let sine = self.sin_pi(magnitude);
        let sine = self.abs(sine);
        let product = self.mul(sine, magnitude);
        let pi = self.number(PI);
        let quotient = self.div(pi, product);
        let mirrored = self.log(quotient);
        let mirrored = self.sub(mirrored, positive);
        let is_negative = self.less_than(x, 0.0);
        let result = self.choose(is_negative, mirrored, positive);
        let infinite = self.number(f64::INFINITY);
        let is_zero = self.equals(x, 0.0);
        let result = self.choose(is_zero, infinite, result);
        let is_infinite = self.equals(magnitude, f64::INFINITY);
        let result = self.choose(is_infinite, infinite, result);
        // Where it vanishes, rounding would show.
        let zero = self.number(0.0);
        let (first, second) = (self.equals(x, 1.0), self.equals(x, 2.0));
        let is_root = self.either(first, second);
        let result = self.choose(is_root, zero, result);
        self.keep_nan(result, x)
    }

    /// For x > 0: `(x + g - 1/2)^(x - 1/2) exp(-(x + g - 1/2)) S(x)`; the power in two halves, which do not overflow too early.
    fn tgamma_positive(&mut self, x: Register) -> Register {
        let y = self.plus(x, G_MINUS_HALF);
        let rounding = rounding_of(self, x, y);
        let sum = self.lanczos_sum(x);
        let negative = self.neg(y);
        let decay = self.exp(negative);
        let r = self.mul(sum, decay);
        let part = self.scale(rounding, 6.024_680_040_776_73);
        let part = self.mul(part, sum);
        let correction = self.div(part, y);
        let correction = self.mul(correction, decay);
        let r = self.add(r, correction);
        let exponent = self.plus(x, -0.5);
        let exponent = self.scale(exponent, 0.5);
        let half = self.pow(y, exponent);
        let r = self.mul(r, half);
        let result = self.mul(r, half);
        let infinite = self.number(f64::INFINITY);
        let overflows = self.less_than(x, 171.7);
        self.choose(overflows, result, infinite)
    }

    fn lanczos_sum(&mut self, x: Register) -> Register {
        let direct = self.ratio(x, &NUMERATOR, &DENOMINATOR);
        let one = self.number(1.0);
        let inverse = self.div(one, x);
        let (mut upper, mut lower) = (NUMERATOR, DENOMINATOR);
        upper.reverse();
        lower.reverse();
        let far = self.ratio(inverse, &upper, &lower);
        let is_near = self.less_than(x, 8.0);
        self.choose(is_near, direct, far)
    }

    /// `log(gamma(x))` for large x: `(x - 1/2) (log x - 1) + (log(2 pi) - 1) / 2 + 1/12x - 1/360x^3 + ...`
    fn stirling(&mut self, x: Register) -> Register {
        let one = self.number(1.0);
        let inverse = self.div(one, x);
        let square = self.mul(inverse, inverse);
        let series =
            self.polynomial(square, &[1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0]);
        let series = self.mul(series, inverse);
        let log = self.log(x);
        let log = self.plus(log, -1.0);
        let factor = self.plus(x, -0.5);
        let main = self.mul(factor, log);
        let constant = self.plus(series, 0.418_938_533_204_672_7);
        self.add(main, constant)
    }

    /// `sin(pi x)` for x >= 0.
    fn sin_pi(&mut self, x: Register) -> Register {
        let whole = self.nearest(x);
        let rest = self.sub(x, whole);
        let angle = self.scale(rest, PI);
        let sine = self.sin(angle);
        let half = self.scale(whole, 0.5);
        let pairs = self.floor(half);
        let is_even = self.same(pairs, half);
        let opposite = self.neg(sine);
        self.choose(is_even, sine, opposite)
    }
}

/// What the sum `x + g - 1/2` lost by rounding.
fn rounding_of(real: &mut Real<'_>, x: Register, sum: Register) -> Register {
    let part = real.plus(sum, -G_MINUS_HALF);
    let lost_of_x = real.sub(part, x);
    let back = real.sub(sum, x);
    let lost_of_g = real.plus(back, -G_MINUS_HALF);
    let is_small = real.less_than(x, G_MINUS_HALF);
    real.choose(is_small, lost_of_g, lost_of_x)
}
