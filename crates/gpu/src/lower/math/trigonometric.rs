//! Trigonometric functions and their inverses, in fp64.
//!
//! Angles are reduced to a quarter circle by Cody and Waite's method, large ones by Payne and Hanek's: the
//! product of the angle's integer fraction and a window of 192 bits of 2/pi. The polynomials are fdlibm's (Sun, 1993).

use super::Real;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, PI};
use tegula_ptx::{
    Address, Class, Comparison, Load, Math, MathOp, Move, MulPart, Operand, Register, Rounding, Space, Type,
};

/// pi/2 in three parts.
const HALF_PI: [f64; 3] = [FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];

/// The largest angle for which three parts are enough.
const LARGE_ANGLE: f64 = 1_048_576.0;

/// 2/pi in words of 64 bits, the highest first, after two words of zeros.
pub(super) const TWO_OVER_PI: [u64; 21] = [
    0,
    0,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

/// The name of the table in the module.
pub(super) const TABLE: &str = "two_over_pi";

const SIN: [f64; 6] = [
    -1.666_666_666_666_663_2e-1,
    8.333_333_333_322_49e-3,
    -1.984_126_982_985_795e-4,
    2.755_731_370_707_006_8e-6,
    -2.505_076_025_340_686_3e-8,
    1.589_690_995_211_55e-10,
];

const COS: [f64; 6] = [
    4.166_666_666_666_66e-2,
    -1.388_888_888_887_411e-3,
    2.480_158_728_947_673e-5,
    -2.755_731_435_139_066_3e-7,
    2.087_572_321_298_175e-9,
    -1.135_964_755_778_819_5e-11,
];

const ATAN: [f64; 11] = [
    3.333_333_333_333_293e-1,
    -1.999_999_999_987_648_3e-1,
    1.428_571_427_250_346_6e-1,
    -1.111_111_040_546_235_6e-1,
    9.090_887_133_436_507e-2,
    -7.691_876_205_044_83e-2,
    6.661_073_137_387_531e-2,
    -5.833_570_133_790_573_5e-2,
    4.976_877_994_615_932e-2,
    -3.653_157_274_421_691_6e-2,
    1.628_582_011_536_578_2e-2,
];

impl Real<'_> {
    pub fn sin(&mut self, x: Register) -> Register {
        let (sine, cosine, quadrant) = self.sine_and_cosine(x);
        self.in_quadrant(sine, cosine, quadrant, 0)
    }

    pub fn cos(&mut self, x: Register) -> Register {
        let (sine, cosine, quadrant) = self.sine_and_cosine(x);
        self.in_quadrant(sine, cosine, quadrant, 1)
    }

    pub fn tan(&mut self, x: Register) -> Register {
        let (sine, cosine, quadrant) = self.sine_and_cosine(x);
        let upper = self.in_quadrant(sine, cosine, quadrant, 0);
        let lower = self.in_quadrant(sine, cosine, quadrant, 1);
        self.div(upper, lower)
    }

    /// The sine of an angle so many quarter turns further.
    fn in_quadrant(
        &mut self,
        sine: Register,
        cosine: Register,
        quadrant: Register,
        further: i64,
    ) -> Register {
        let quadrant = self.code.math(MathOp::Add, Type::U64, &[quadrant.into(), Operand::Integer(further)]);
        let bit = |real: &mut Self, mask| {
            let bits = real.code.math(MathOp::And, Type::B64, &[quadrant.into(), Operand::Integer(mask)]);
            real.code.compare(Comparison::NotEqual, Type::U64, bits.into(), Operand::Integer(0))
        };
        let (odd, back) = (bit(self, 1), bit(self, 2));
        let value = self.choose(odd, cosine, sine);
        let opposite = self.neg(value);
        self.choose(back, opposite, value)
    }

    /// Sine and cosine of the reduced angle, and the number of quarter turns taken off.
    fn sine_and_cosine(&mut self, x: Register) -> (Register, Register, Register) {
        let (r, quadrant) = self.reduce_angle(x);
        let z = self.mul(r, r);
        let series = self.polynomial(z, &SIN);
        let cube = self.mul(z, r);
        let sine = self.fma(series, cube, r);
        // -0 stays.
        let vanishes = self.equals(z, 0.0);
        let sine = self.choose(vanishes, r, sine);
        let series = self.polynomial(z, &COS);
        let square = self.mul(z, z);
        // 1 - z/2 rounds; what it loses is added with the small terms.
        let half = self.scale(z, 0.5);
        let one = self.number(1.0);
        let main = self.sub(one, half);
        let lost = self.sub(one, main);
        let lost = self.sub(lost, half);
        let small = self.fma(series, square, lost);
        let cosine = self.add(main, small);
        (sine, cosine, quadrant)
    }

    fn reduce_angle(&mut self, x: Register) -> (Register, Register) {
        let n = self.scale(x, FRAC_2_PI);
        let n = self.nearest(n);
        let mut r = x;
        for part in HALF_PI {
            r = self.scaled_plus(n, -part, r);
        }
        let quadrant = self.integer(n);
        // -0 is its own sine.
        let is_zero = self.equals(x, 0.0);
        let r = self.choose(is_zero, x, r);
        let (r, quadrant) = (self.code.copy(Type::F64, r), self.code.copy(Type::U64, quadrant));
        let magnitude = self.abs(x);
        let is_large = self.compare(Comparison::GreaterEqual, magnitude, LARGE_ANGLE);
        let end = self.code.label();
        let skip = crate::lower::emit::fails(is_large);
        self.code.branch(Some(skip), end, false);
        let (large, turns) = self.reduce_large_angle(magnitude);
        let opposite = self.neg(large);
        let backwards = self.code.math(MathOp::Neg, Type::S64, &[turns.into()]);
        let is_negative = self.less_than(x, 0.0);
        let large = self.choose(is_negative, opposite, large);
        let turns = self.code.select(Type::B64, is_negative, backwards.into(), turns.into());
        // Infinities and NaN have no angle.
        let is_finite = self.less_than(magnitude, f64::INFINITY);
        let nan = self.number(f64::NAN);
        let large = self.choose(is_finite, large, nan);
        self.code.assign(r, large);
        self.code.assign(quadrant, turns);
        self.code.place(end);
        let r = self.keep_nan(r, x);
        (r, quadrant)
    }

    /// Payne and Hanek's reduction of an angle of at least 2^20.
    fn reduce_large_angle(&mut self, x: Register) -> (Register, Register) {
        let int = Operand::Integer;
        let exponent = self.code.math(MathOp::ShiftRight, Type::U64, &[x.into(), int(52)]);
        let m = self.code.math(MathOp::And, Type::B64, &[x.into(), int((1 << 52) - 1)]);
        let m = self.code.math(MathOp::Or, Type::B64, &[m.into(), int(1 << 52)]);
        // x = m 2^e. Of 2/pi = sum of b_i 2^-i, bits up to e - 2 add whole turns; the window starts at bit e - 1, which is
        // bit e - 2 + 128 of the table, counted from 0.
        let start = self.code.math(MathOp::Sub, Type::S64, &[exponent.into(), int(1075 + 2 - 128)]);
        let start = self.code.convert(Type::S32, Type::S64, None, start);
        let start = self.code.math(MathOp::Max, Type::S32, &[start.into(), int(0)]);
        // Beyond the largest finite number nothing is read.
        let start = self.code.math(MathOp::Min, Type::S32, &[start.into(), int(1100)]);
        let word = self.code.math(MathOp::ShiftRight, Type::U32, &[start.into(), int(6)]);
        let bit = self.code.math(MathOp::And, Type::B32, &[start.into(), int(63)]);
        let table = self.code.fresh(Class::Bits64);
        self.code.push(Move::AddressOf { ty: Type::U64, dst: table, symbol: TABLE.into() });
        let wide = Math::new(MathOp::Mul, Type::U32, word, [word.into(), int(8)]);
        let offset = self.code.math_with(wide.part(MulPart::Wide));
        let address = self.code.math(MathOp::Add, Type::U64, &[table.into(), offset.into()]);
        let words: Vec<Register> = (0..4)
            .map(|index| {
                let word = self.code.fresh(Class::Bits64);
                let place = Address::register(address, index * 8);
                self.code.push(Load::new(Space::Global, Type::U64, &[word], place));
                word
            })
            .collect();
        let rest = self.code.math(MathOp::Sub, Type::U32, &[int(64), bit.into()]);
        let window: Vec<Register> = (0..3)
            .map(|index| {
                // A shift by 64 gives 0, as it should.
                let high = self.code.math(MathOp::ShiftLeft, Type::B64, &[words[index].into(), bit.into()]);
                let low =
                    self.code.math(MathOp::ShiftRight, Type::U64, &[words[index + 1].into(), rest.into()]);
                self.code.math(MathOp::Or, Type::B64, &[high.into(), low.into()])
            })
            .collect();
        let multiply = |real: &mut Self, a: Register, part| {
            let math = Math::new(MathOp::Mul, Type::U64, a, [a.into(), m.into()]);
            real.code.math_with(math.part(part))
        };
        let lowest = multiply(self, window[2], MulPart::High);
        let middle = multiply(self, window[1], MulPart::Low);
        let middle_high = multiply(self, window[1], MulPart::High);
        let top = multiply(self, window[0], MulPart::Low);
        let low = self.code.math(MathOp::Add, Type::U64, &[middle.into(), lowest.into()]);
        let carry = self.code.compare(Comparison::Less, Type::U64, low.into(), lowest.into());
        let carry = self.code.select(Type::B64, carry, int(1), int(0));
        let top = self.code.math(MathOp::Add, Type::U64, &[top.into(), middle_high.into()]);
        let top = self.code.math(MathOp::Add, Type::U64, &[top.into(), carry.into()]);
        // Two bits of quarter turns, then the fraction of one.
        let turns = self.code.math(MathOp::ShiftRight, Type::U64, &[top.into(), int(62)]);
        let high = self.code.math(MathOp::ShiftLeft, Type::B64, &[top.into(), int(2)]);
        let moved = self.code.math(MathOp::ShiftRight, Type::U64, &[low.into(), int(62)]);
        let high = self.code.math(MathOp::Or, Type::B64, &[high.into(), moved.into()]);
        let low = self.code.math(MathOp::ShiftLeft, Type::B64, &[low.into(), int(2)]);
        // As a signed number, the fraction is from -1/2 to 1/2.
        let up = self.code.math(MathOp::ShiftRight, Type::U64, &[high.into(), int(63)]);
        let turns = self.code.math(MathOp::Add, Type::U64, &[turns.into(), up.into()]);
        let nearest = Some(Rounding::Nearest);
        let high = self.code.convert(Type::F64, Type::S64, nearest, high);
        let low = self.code.convert(Type::F64, Type::U64, nearest, low);
        let fraction = self.scaled_plus(low, 2f64.powi(-64), high);
        let fraction = self.scale(fraction, 2f64.powi(-64));
        (self.scale(fraction, FRAC_PI_2), turns)
    }

    pub fn atan(&mut self, x: Register) -> Register {
        let one = self.number(1.0);
        self.atan2(x, one)
    }

    pub fn asin(&mut self, x: Register) -> Register {
        let rest = self.circle(x);
        self.atan2(x, rest)
    }

    pub fn acos(&mut self, x: Register) -> Register {
        let rest = self.circle(x);
        self.atan2(rest, x)
    }

    /// `sqrt(1 - x^2)`.
    fn circle(&mut self, x: Register) -> Register {
        let one = self.number(1.0);
        let (less, more) = (self.sub(one, x), self.add(one, x));
        let under = self.mul(less, more);
        self.sqrt(under)
    }

    /// The angle of the point (`x`, `y`).
    pub fn atan2(&mut self, y: Register, x: Register) -> Register {
        let (height, width) = (self.abs(y), self.abs(x));
        let is_steep = self.compare(Comparison::Greater, height, width);
        let long = self.choose(is_steep, height, width);
        let short = self.choose(is_steep, width, height);
        // atan(short / long), from 0 to pi/4; beyond tan(pi/8) as pi/4 less the angle of the rest.
        let difference = self.sub(long, short);
        let sum = self.add(long, short);
        let limit = self.scale(long, std::f64::consts::SQRT_2 - 1.0);
        let is_wide = self.compare(Comparison::Greater, short, limit);
        let upper = self.choose(is_wide, difference, short);
        let lower = self.choose(is_wide, sum, long);
        let t = self.div(upper, lower);
        let z = self.mul(t, t);
        let series = self.polynomial(z, &ATAN);
        let cube = self.mul(z, t);
        let minus = self.neg(series);
        let angle = self.fma(minus, cube, t);
        let quarter = self.number(FRAC_PI_4);
        let from_quarter = self.sub(quarter, angle);
        let from_quarter = self.plus(from_quarter, 3.061_616_997_868_383e-17);
        let angle = self.choose(is_wide, from_quarter, angle);
        // Both zero, or both infinite, have no ratio.
        let zero = self.number(0.0);
        let no_height = self.equals(short, 0.0);
        let angle = self.choose(no_height, zero, angle);
        let endless = self.equals(short, f64::INFINITY);
        let angle = self.choose(endless, quarter, angle);
        let half = self.number(FRAC_PI_2);
        let steep = self.sub(half, angle);
        let steep = self.plus(steep, 6.123_233_995_736_766e-17);
        let angle = self.choose(is_steep, steep, angle);
        let straight = self.number(PI);
        let back = self.sub(straight, angle);
        let back = self.plus(back, 1.224_646_799_147_353_2e-16);
        // The sign bit decides, for -0 too.
        let is_behind = self.code.compare(Comparison::Less, Type::S64, x.into(), Operand::Integer(0));
        let angle = self.choose(is_behind, back, angle);
        let result = self.with_sign(angle, y);
        let result = self.keep_nan(result, x);
        self.keep_nan(result, y)
    }
}
