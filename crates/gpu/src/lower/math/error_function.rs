//! The error function, its complement and its inverse, in fp64.
//!
//! Rational approximations of Sun's fdlibm (`s_erf.c`, 1993) on four intervals. All are computed and one is chosen, so that
//! lanes stay together; the inverse is refined by Newton's method.

use super::Real;
use tegula_ptx::Register;

/// `erf(1)`, cut to 24 bits.
const ERF_OF_ONE: f64 = 0.8450629115104675;
const SMALL_NUMERATOR: [f64; 5] = [
    0.12837916709551256,
    -0.3250421072470015,
    -0.02848174957559851,
    -0.005770270296489442,
    -2.3763016656650163e-05,
];
const SMALL_DENOMINATOR: [f64; 6] = [
    1.0,
    0.39791722395915535,
    0.0650222499887673,
    0.005081306281875766,
    0.00013249473800432164,
    -3.960228278775368e-06,
];
const MIDDLE_NUMERATOR: [f64; 7] = [
    -0.0023621185607526594,
    0.41485611868374833,
    -0.3722078760357013,
    0.31834661990116175,
    -0.11089469428239668,
    0.035478304325618236,
    -0.002166375594868791,
];
const MIDDLE_DENOMINATOR: [f64; 7] = [
    1.0,
    0.10642088040084423,
    0.540397917702171,
    0.07182865441419627,
    0.12617121980876164,
    0.01363708391202905,
    0.011984499846799107,
];
const LARGE_NUMERATOR: [f64; 8] = [
    -0.009864944034847148,
    -0.6938585727071818,
    -10.558626225323291,
    -62.375332450326006,
    -162.39666946257347,
    -184.60509290671104,
    -81.2874355063066,
    -9.814329344169145,
];
const LARGE_DENOMINATOR: [f64; 9] = [
    1.0,
    19.651271667439257,
    137.65775414351904,
    434.56587747522923,
    645.3872717332679,
    429.00814002756783,
    108.63500554177944,
    6.570249770319282,
    -0.0604244152148581,
];
const LARGEST_NUMERATOR: [f64; 7] = [
    -0.0098649429247001,
    -0.799283237680523,
    -17.757954917754752,
    -160.63638485582192,
    -637.5664433683896,
    -1025.0951316110772,
    -483.5191916086514,
];
const LARGEST_DENOMINATOR: [f64; 8] = [
    1.0,
    30.33806074348246,
    325.7925129965739,
    1536.729586084437,
    3199.8582195085955,
    2553.0504064331644,
    474.52854120695537,
    -22.44095244658582,
];

impl Real<'_> {
    /// `erf(x)`.
    pub fn erf(&mut self, x: Register) -> Register {
        let magnitude = self.abs(x);
        let small = self.erf_small(x);
        let middle = self.erf_middle(magnitude);
        let one = self.number(1.0);
        let tail = self.erfc_tail(magnitude);
        let large = self.sub(one, tail);
        let is_small = self.less_than(magnitude, 0.84375);
        let is_middle = self.less_than(magnitude, 1.25);
        let is_large = self.less_than(magnitude, 6.0);
        let far = self.choose(is_large, large, one);
        let erx = self.number(ERF_OF_ONE);
        let middle = self.add(erx, middle);
        let beyond = self.choose(is_middle, middle, far);
        let signed = self.with_sign(beyond, x);
        let result = self.choose(is_small, small, signed);
        self.keep_nan(result, x)
    }

    /// `1 - erf(x)`.
    pub fn erfc(&mut self, x: Register) -> Register {
        let magnitude = self.abs(x);
        let one = self.number(1.0);
        let small = self.erf_small(x);
        let small = self.sub(one, small);
        let middle = self.erf_middle(magnitude);
        let rest = self.number(1.0 - ERF_OF_ONE);
        let middle = self.sub(rest, middle);
        let tail = self.erfc_tail(magnitude);
        let is_small = self.less_than(magnitude, 0.84375);
        let is_middle = self.less_than(magnitude, 1.25);
        let is_large = self.less_than(magnitude, 28.0);
        let zero = self.number(0.0);
        let far = self.choose(is_large, tail, zero);
        let positive = self.choose(is_middle, middle, far);
        let two = self.number(2.0);
        let mirrored = self.sub(two, positive);
        let is_negative = self.less_than(x, 0.0);
        let beyond = self.choose(is_negative, mirrored, positive);
        let result = self.choose(is_small, small, beyond);
        self.keep_nan(result, x)
    }

    /// The number whose `erf` is `x`.
    pub fn erfinv(&mut self, x: Register) -> Register {
        // Winitzki's approximation, good to three digits, then Newton's method on the side that does not cancel.
        let magnitude = self.abs(x);
        let one = self.number(1.0);
        let negative = self.neg(magnitude);
        let rest = self.add(one, negative);
        let square = self.fma(negative, magnitude, one);
        let w = self.log(square);
        let half = self.scale(w, 0.5);
        let first = self.plus(half, 2.0 / (std::f64::consts::PI * 0.147));
        let under = self.scale(w, 1.0 / 0.147);
        let under = self.neg(under);
        let under = self.fma(first, first, under);
        let root = self.sqrt(under);
        let start = self.sub(root, first);
        let mut y = self.sqrt(start);
        for _ in 0..4 {
            let high = self.erf(y);
            let low = self.erfc(y);
            let from_high = self.sub(high, magnitude);
            let from_low = self.sub(rest, low);
            let is_low = self.less_than(magnitude, 0.5);
            let error = self.choose(is_low, from_high, from_low);
            let square = self.mul(y, y);
            let growth = self.exp(square);
            let step = self.mul(error, growth);
            let step = self.scale(step, 0.886_226_925_452_758);
            y = self.sub(y, step);
        }
        let infinite = self.number(f64::INFINITY);
        let is_one = self.equals(magnitude, 1.0);
        let y = self.choose(is_one, infinite, y);
        let is_zero = self.equals(magnitude, 0.0);
        let y = self.choose(is_zero, magnitude, y);
        self.with_sign(y, x)
    }

    fn erf_small(&mut self, x: Register) -> Register {
        let z = self.mul(x, x);
        let ratio = self.ratio(z, &SMALL_NUMERATOR, &SMALL_DENOMINATOR);
        self.fma(x, ratio, x)
    }

    /// `erf(x) - erf(1)` near 1.
    fn erf_middle(&mut self, x: Register) -> Register {
        let s = self.plus(x, -1.0);
        self.ratio(s, &MIDDLE_NUMERATOR, &MIDDLE_DENOMINATOR)
    }

    /// `erfc(x)` beyond 1.25.
    fn erfc_tail(&mut self, x: Register) -> Register {
        let one = self.number(1.0);
        let square = self.mul(x, x);
        let s = self.div(one, square);
        let near = self.ratio(s, &LARGE_NUMERATOR, &LARGE_DENOMINATOR);
        let far = self.ratio(s, &LARGEST_NUMERATOR, &LARGEST_DENOMINATOR);
        let is_near = self.less_than(x, 1.0 / 0.35);
        let ratio = self.choose(is_near, near, far);
        // The square of the upper half of x is exact, and the rest is small.
        let z = self.upper_half(x);
        let negative = self.neg(z);
        let main = self.number(-0.5625);
        let main = self.fma(negative, z, main);
        let main = self.exp(main);
        let difference = self.sub(z, x);
        let sum = self.add(z, x);
        let rest = self.fma(difference, sum, ratio);
        let rest = self.exp(rest);
        let product = self.mul(main, rest);
        self.div(product, x)
    }
}
