//! Products of matrices, as far as those of one warp and those of a warpgroup have them in common.
//!
//! Products and sums are those of fp64, rounded once at the end: more exact than tensor cores, whose sums are cut off.

use super::warp::Warp;
use crate::number::{BF16, E4M3, E5M2, Exact, F16, F32, Mode, TF32};
use crate::program::{LANES, Slot, mask, signed};
use tegula_ptx::Type;

/// A matrix of numbers, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    pub columns: usize,
    pub numbers: Vec<f64>,
}

impl Matrix {
    pub fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix { columns, numbers: vec![0.0; rows * columns] }
    }

    pub fn set(&mut self, row: usize, column: usize, number: f64) {
        self.numbers[row * self.columns + column] = number;
    }

    pub fn get(&self, row: usize, column: usize) -> f64 {
        self.numbers[row * self.columns + column]
    }

    /// Adds a product. With `fused`, every sum is rounded as `fma` does.
    pub fn add_product(&mut self, left: &Matrix, right: &Matrix, fused: bool) {
        let own = self.numbers.chunks_exact_mut(self.columns);
        for (sums, lefts) in own.zip(left.numbers.chunks_exact(left.columns)) {
            for (&factor, rights) in lefts.iter().zip(right.numbers.chunks_exact(right.columns)) {
                for (sum, &right) in sums.iter_mut().zip(rights) {
                    *sum = if fused { factor.mul_add(right, *sum) } else { *sum + factor * right };
                }
            }
        }
    }
}

/// The number that the lowest bits of a word are; none for types that no product takes.
pub fn decoder(ty: Type) -> Option<fn(u64) -> f64> {
    Some(match ty {
        Type::F16 => |bits| F16.decode(bits),
        Type::Bf16 => |bits| f64::from(f32::from_bits((bits as u32) << 16)),
        Type::Tf32 => |bits| TF32.decode(bits & mask(32)),
        Type::F32 => |bits| f64::from(f32::from_bits(bits as u32)),
        Type::E4m3 => |bits| E4M3.decode(bits & mask(8)),
        Type::E5m2 => |bits| E5M2.decode(bits & mask(8)),
        Type::F64 => f64::from_bits,
        Type::S8 => |bits| signed(bits & mask(8), 8) as f64,
        Type::U8 => |bits| (bits & mask(8)) as f64,
        Type::S32 => |bits| f64::from(bits as i32),
        _ => return None,
    })
}

/// The bits of a result.
pub fn encode(number: f64, ty: Type, saturate: bool) -> u64 {
    match ty {
        Type::F16 => F16.encode(Exact::from(number), Mode::Nearest, false),
        Type::Bf16 => BF16.encode(Exact::from(number), Mode::Nearest, false),
        Type::F64 => number.to_bits(),
        Type::S32 if saturate => u64::from(number.clamp(i32::MIN.into(), i32::MAX.into()) as i32 as u32),
        Type::S32 => number as i64 as u64 & mask(32),
        _ if number.is_nan() => F32.nan(),
        _ => u64::from((number as f32).to_bits()),
    }
}

/// The left operand in registers: 16 rows (8, if there is one register). A register holds neighbours of one row.
pub fn left_operand(
    warp: &Warp,
    slots: &[Slot],
    ty: Type,
    decode: fn(u64) -> f64,
    rows: usize,
    depth: usize,
) -> Matrix {
    let mut matrix = Matrix::zeros(rows, depth);
    let (bits, neighbours) = (ty.bits(), elements_of_register(ty));
    for (register, &slot) in slots.iter().enumerate() {
        let words = warp.row(slot);
        for (lane, &word) in words.iter().enumerate() {
            let row = if rows == 8 { lane / 4 } else { lane / 4 + 8 * (register & 1) };
            let group = if rows == 8 { register } else { register >> 1 };
            for place in 0..neighbours {
                let column = neighbours * (lane % 4) + 4 * neighbours * group + place;
                matrix.set(row, column, decode(part(word, place, bits)));
            }
        }
    }
    matrix
}

/// The right operand in registers: 8 columns.
pub fn right_operand(warp: &Warp, slots: &[Slot], ty: Type, decode: fn(u64) -> f64, depth: usize) -> Matrix {
    let mut matrix = Matrix::zeros(depth, 8);
    let (bits, neighbours) = (ty.bits(), elements_of_register(ty));
    for (register, &slot) in slots.iter().enumerate() {
        for (lane, &word) in warp.row(slot).iter().enumerate() {
            for place in 0..neighbours {
                let row = neighbours * (lane % 4) + 4 * neighbours * register + place;
                matrix.set(row, lane / 4, decode(part(word, place, bits)));
            }
        }
    }
    matrix
}

/// Elements of a register: those narrower than 32 bits are packed.
fn elements_of_register(ty: Type) -> usize {
    (32 / ty.bits() as usize).max(1)
}

fn part(word: u64, place: usize, bits: u32) -> u64 {
    word >> (place as u32 * bits) & mask(bits)
}

/// The row and the column of the element of an accumulator that a lane holds at a place.
fn accumulator_place(index: usize, lane: usize) -> (usize, usize) {
    (lane / 4 + 8 * (index >> 1 & 1), 8 * (index >> 2) + 2 * (lane % 4) + (index & 1))
}

/// The accumulator in registers.
pub fn accumulator(
    warp: &Warp,
    slots: &[Slot],
    ty: Type,
    decode: fn(u64) -> f64,
    [rows, columns]: [usize; 2],
) -> Matrix {
    let mut matrix = Matrix::zeros(rows, columns);
    let packed = elements_of_register(ty);
    for (register, &slot) in slots.iter().enumerate() {
        for (lane, &word) in warp.row(slot).iter().enumerate() {
            for place in 0..packed {
                let (row, column) = accumulator_place(register * packed + place, lane);
                matrix.set(row, column, decode(part(word, place, ty.bits())));
            }
        }
    }
    matrix
}

/// Writes the accumulator back.
pub fn write_accumulator(warp: &mut Warp, slots: &[Slot], ty: Type, saturate: bool, matrix: &Matrix) {
    let packed = elements_of_register(ty);
    for (register, &slot) in slots.iter().enumerate() {
        let mut words = [0; LANES];
        for (lane, word) in words.iter_mut().enumerate() {
            for place in 0..packed {
                let (row, column) = accumulator_place(register * packed + place, lane);
                *word |= encode(matrix.get(row, column), ty, saturate) << (place as u32 * ty.bits());
            }
        }
        warp.write(slot, &words, u32::MAX);
    }
}
