//! Pairs: arithmetic of 16-bit floats, two neighbours to an instruction, and small integers made 16-bit floats in pairs.
//!
//! A sum, difference or product of 16-bit floats is that of fp32, rounded. The instructions round once, which is the same:
//!
//! * fp32 has at least twice the digits of either type and two more, so rounding a sum twice does no harm (Figueroa, 1995), and
//!   sums below the normal numbers are exact.
//! * A product of fp16 is exact in fp32. So is one of bf16, of at most 16 digits, from 2^-134 on; below, both ways end at zero of its sign,
//!   as half of the least bf16 is 2^-134 and ties go to the even zero.
//!
//! A float of exponent 2^7 (bf16) or 2^10 (fp16) whose lowest bits are those of a small integer is that integer and 2^7 or 2^10. So an
//! integer is put there by one logical instruction, which masks it too, and the rest taken off by one exact subtraction, for two at a
//! time. Where the integers are fields of a word, such as the eight of four bits in packed weights, and where each thread finds its
//! fields is known, two neighbouring fields of a byte are put in place by a choice of the byte and a product: the byte times `1 + 2^(16 - d)` has
//! the one field where it was and the one `d` bits above it at bit 16.

use super::{Lowering, Registers};
use crate::layouts::LayoutId;
use rustc_hash::FxHashMap;
use tegula_ir::{BinaryOp, Literal, Op, Rounding, Scalar, Value, ValueDef};
use tegula_layout::Dim;
use tegula_passes::{Ranges, Tables};
use tegula_ptx::{Class, Lop3, MathOp, Operand, Permute, Register, Type};

/// What `prmt` takes from two registers: the lower halves.
const LOWER_HALVES: i64 = 0x5410;

/// What `lop3` computes: `(a & b) | c`.
const AND_OR: u8 = (0xf0 & 0xcc) | 0xaa;

/// A format of 16 bits.
struct Format {
    scalar: Scalar,
    /// Bits below the leading one.
    digits: u32,
    /// The float whose lowest bit is 1.
    magic: i64,
}

impl Format {
    fn of(scalar: Scalar) -> Option<Format> {
        match scalar {
            Scalar::BFloat16 => Some(Format { scalar, digits: 7, magic: 0x4300 }),
            Scalar::Float16 => Some(Format { scalar, digits: 10, magic: 0x6400 }),
            _ => None,
        }
    }

    /// The greatest integer up to which the format has all.
    fn most(&self) -> i64 {
        2 << self.digits
    }

    /// An integer that the format has, in both halves of a word.
    fn twice(&self, integer: i64) -> i64 {
        let bits = match self.scalar {
            Scalar::BFloat16 => half::bf16::from_f64(integer as f64).to_bits(),
            _ => half::f16::from_f64(integer as f64).to_bits(),
        };
        both_halves(bits.into())
    }
}

fn both_halves(half: i64) -> i64 {
    (half << 16) | half
}

/// The same field of bits for all elements: what is shifted, by how much, and the mask.
struct Fields {
    words: Registers,
    /// The amounts, by register and thread.
    amounts: Vec<Vec<u64>>,
}

impl Lowering<'_> {
    /// An elementwise operation on pairs of registers; `None` if it is none of those.
    pub(super) fn in_pairs(
        &mut self,
        op: &Op,
        result: Value,
        operands: &[Registers],
        layout: LayoutId,
    ) -> Option<Registers> {
        let format = Format::of(self.scalar_type(result))?;
        if self.layouts.set.registers(layout) < 2 {
            return None;
        }
        match *op {
            Op::Cast { value, rounding: Rounding::NearestEven } => {
                self.pairs_of_integers(&format, value, layout, 0)
            }
            Op::Binary { op: op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), lhs, rhs } => {
                if let Some(&Op::Cast { value, rounding: Rounding::NearestEven }) = self.definition(lhs)
                    && let Some(Literal::Float(number)) = self.constant_of(rhs)
                    && number.fract() == 0.0
                    && number.abs() <= format.most() as f64
                    && op != BinaryOp::Mul
                {
                    let offset = if op == BinaryOp::Add { number as i64 } else { -(number as i64) };
                    let pairs = self.pairs_of_integers(&format, value, layout, offset);
                    if pairs.is_some() {
                        return pairs;
                    }
                }
                Some(self.binary_of_pairs(op, &format, &operands[0], &operands[1]))
            }
            _ => None,
        }
    }

    fn binary_of_pairs(&mut self, op: BinaryOp, format: &Format, a: &Registers, b: &Registers) -> Registers {
        let mut words: FxHashMap<[Register; 2], Register> = FxHashMap::default();
        let mut known: FxHashMap<[Register; 2], [Register; 2]> = FxHashMap::default();
        let mut registers = Vec::with_capacity(a.len());
        for (a, b) in a.chunks_exact(2).zip(b.chunks_exact(2)) {
            let [a, b] = [a, b].map(|pair| {
                let code = &mut self.code;
                *words.entry([pair[0], pair[1]]).or_insert_with(|| code.pack(Type::B32, pair))
            });
            let pair = match known.get(&[a, b]) {
                Some(&pair) => pair,
                None => {
                    let word = self.binary_of_words(op, format, a, b);
                    let pair = self.code.unpack(word);
                    known.insert([a, b], pair);
                    pair
                }
            };
            registers.extend(pair);
        }
        registers.into()
    }

    fn binary_of_words(&mut self, op: BinaryOp, format: &Format, a: Register, b: Register) -> Register {
        let ty = if format.scalar == Scalar::BFloat16 { Type::Bf16x2 } else { Type::F16x2 };
        if format.scalar == Scalar::Float16 || self.target.architecture >= 90 {
            let math = match op {
                BinaryOp::Add => MathOp::Add,
                BinaryOp::Sub => MathOp::Sub,
                _ => MathOp::Mul,
            };
            return self.code.rounded(math, ty, &[a.into(), b.into()]);
        }
        // Before, bf16 has nothing but the fused operation. A product keeps the sign of its zero if -0 is added; `b * -1 + a` has the sign
        // of `a - b`.
        let constant = |bits: i64| Operand::Integer(both_halves(bits));
        let (sources, bits) = match op {
            BinaryOp::Add => ([a, b], 0x3f80),
            BinaryOp::Sub => ([b, a], 0xbf80),
            _ => ([a, b], 0x8000),
        };
        let bits = self.code.copy(Type::B32, constant(bits));
        let [first, second] = sources;
        let sources = if op == BinaryOp::Mul { [first, second, bits] } else { [first, bits, second] };
        self.code.rounded(MathOp::Fma, ty, &sources.map(Operand::from))
    }

    /// Small integers, none negative, plus a constant, as floats.
    fn pairs_of_integers(
        &mut self,
        format: &Format,
        value: Value,
        layout: LayoutId,
        offset: i64,
    ) -> Option<Registers> {
        let scalar = self.scalar_type(value);
        if !scalar.is_int() || super::element::class_of(scalar.into()) != Class::Bits32 {
            return None;
        }
        let (low, high) = Ranges::default().of(self.function, value)?;
        let one = 1i64 << format.digits;
        let exact = |number: i64| number.abs() <= format.most();
        let ends = [low + offset, high + offset, one - offset];
        if low < 0 || high >= one || !ends.into_iter().all(exact) {
            return None;
        }
        let (source, mask) = self.masked(value, one).unwrap_or((value, one - 1));
        let fields = self.fields(source, layout);
        let plain = self.blocks.get(&(source, layout)).cloned()?;
        let magic = self.code.copy(Type::B32, Operand::Integer(both_halves(format.magic)));
        let rest = self.code.copy(Type::B32, Operand::Integer(format.twice(one - offset)));
        let mut selectors: FxHashMap<Vec<u64>, Option<Register>> = FxHashMap::default();
        let mut registers = Vec::with_capacity(plain.len());
        for first in (0..plain.len()).step_by(2) {
            let placed =
                fields.as_ref().and_then(|fields| self.placed_fields(fields, first, mask, &mut selectors));
            let placed =
                placed.unwrap_or_else(|| self.chosen_bytes([plain[first], plain[first + 1]], LOWER_HALVES));
            let word = self.code.fresh(Class::Bits32);
            let mask = Operand::Integer(both_halves(mask));
            self.code.push(Lop3 { dst: word, sources: [placed.into(), mask, magic.into()], table: AND_OR });
            let word = self.binary_of_words(BinaryOp::Sub, format, word, rest);
            registers.extend(self.code.unpack(word));
        }
        Some(registers.into())
    }

    /// Two neighbouring fields at the bottom of the halves of a word, with other bits about them.
    fn placed_fields(
        &mut self,
        fields: &Fields,
        first: usize,
        mask: i64,
        selectors: &mut FxHashMap<Vec<u64>, Option<Register>>,
    ) -> Option<Register> {
        let [low, high] = [fields.words[first], fields.words[first + 1]];
        let [below, above] = [&fields.amounts[first], &fields.amounts[first + 1]];
        let is_byte = |amount: &u64| amount.is_multiple_of(8) && *amount < 32;
        let bits = u64::from(64 - mask.leading_zeros());
        if !below.iter().all(is_byte) {
            return None;
        }
        if above.iter().all(is_byte) && bits <= 8 {
            let bytes = below.iter().zip(above).map(|(below, above)| (below / 8) | ((above / 8 + 4) << 8));
            let selector = self.selector(bytes.collect(), selectors)?;
            return Some(self.chosen_bytes([low, high], selector));
        }
        let distance = above[0].checked_sub(below[0])?;
        let is_apart = |(below, above): (&u64, &u64)| above.checked_sub(*below) == Some(distance);
        if low != high || distance + bits > 8 || !below.iter().zip(above).all(is_apart) {
            return None;
        }
        let zero = 4;
        let bytes = below.iter().map(|below| (below / 8) | (zero << 4) | (zero << 8) | (zero << 12));
        let selector = self.selector(bytes.collect(), selectors)?;
        let nothing = self.code.copy(Type::B32, Operand::Integer(0));
        let byte = self.chosen_bytes([low, nothing], selector);
        let factor = Operand::Integer(1 | (1 << (16 - distance)));
        Some(self.code.multiply(Type::U32, byte.into(), factor))
    }

    fn chosen_bytes(&mut self, [low, high]: [Register; 2], selector: impl Into<Operand>) -> Register {
        let dst = self.code.fresh(Class::Bits32);
        self.code.push(Permute { mode: None, dst, sources: [low.into(), high.into(), selector.into()] });
        dst
    }

    /// A register with a number for each thread, if that is an exclusive or of the bits of the thread's.
    fn selector(
        &mut self,
        numbers: Vec<u64>,
        known: &mut FxHashMap<Vec<u64>, Option<Register>>,
    ) -> Option<Register> {
        if let Some(&register) = known.get(&numbers) {
            return register;
        }
        let constant = numbers[0];
        let bits = numbers.len().trailing_zeros();
        let terms: Vec<u64> = (0..bits).map(|bit| numbers[1 << bit] ^ constant).collect();
        let is_linear = (0u64..)
            .zip(&numbers)
            .all(|(thread, &number)| tegula_layout::span::multiply(&terms, thread) ^ constant == number);
        let register = is_linear.then(|| {
            let varying = self.of_thread(&terms);
            let sources = [varying.into(), Operand::Integer(constant as i64)];
            self.code.in_prologue(|code| code.math(MathOp::Xor, Type::B32, &sources))
        });
        known.insert(numbers, register);
        register
    }

    /// The value of which another is what a small mask leaves, and the mask.
    fn masked(&self, value: Value, below: i64) -> Option<(Value, i64)> {
        let Some(&Op::Binary { op: BinaryOp::And, lhs, rhs }) = self.definition(value) else { return None };
        let mask = |value: Value| match self.constant_of(value) {
            Some(Literal::Int(mask)) => (0..below).contains(&mask).then_some(mask),
            _ => None,
        };
        mask(rhs).map(|mask| (lhs, mask)).or_else(|| mask(lhs).map(|mask| (rhs, mask)))
    }

    /// The words of 32 bits that a value is shifted to the right from, with the amounts, if those are known.
    fn fields(&mut self, value: Value, layout: LayoutId) -> Option<Fields> {
        let &Op::Binary { op: BinaryOp::Shr, lhs, rhs } = self.definition(value)? else { return None };
        if self.scalar_type(lhs).bits() != 32 || crate::padding::is_padded(&self.function.ty(value).shape) {
            return None;
        }
        let words = self.blocks.get(&(lhs, layout)).cloned()?;
        let table = Tables::default().of(self.function, rhs)?;
        let layout = self.layouts.set.get(layout);
        let (inputs, outputs) = (layout.inputs(), layout.outputs());
        let threads = 0..self.threads();
        let threads: Vec<u64> = threads
            .map(|thread| {
                layout.apply(inputs.put(Dim::Lane, thread % 32) | inputs.put(Dim::Warp, thread / 32))
            })
            .collect();
        let axes = layout.rank() as u8;
        let amount = |place: u64| {
            let amount = table.at((0..axes).map(|axis| outputs.get(place, Dim::Axis(axis))));
            u64::try_from(amount).ok()
        };
        let of_register = |register: u64| -> Option<Vec<u64>> {
            let place = layout.apply(inputs.put(Dim::Register, register));
            threads.iter().map(|&thread| amount(thread ^ place)).collect()
        };
        let amounts: Option<Vec<Vec<u64>>> = (0..words.len() as u64).map(of_register).collect();
        Some(Fields { words, amounts: amounts? })
    }

    fn definition(&self, value: Value) -> Option<&Op> {
        match self.function.value(value).def {
            ValueDef::Result { op, .. } => Some(&self.function.op(op).op),
            _ => None,
        }
    }

    /// The number that all elements of a value equal, if it is known.
    fn constant_of(&self, value: Value) -> Option<Literal> {
        match *self.definition(value)? {
            Op::Constant(literal) => Some(literal),
            Op::Splat { value } | Op::Broadcast { value } | Op::ExpandDims { value, .. } => {
                self.constant_of(value)
            }
            _ => None,
        }
    }
}
