//! What atomic operations and reducing copies make of two values.

use crate::number::{BF16, Exact, F16, F32, Format, Mode};
use crate::program::{mask, signed};
use tegula_ptx::{AtomicOp, BulkReduction, Type};

/// The value after `op` with `value` on `old`. Exchange and compare are the caller's.
pub fn reduced(op: AtomicOp, ty: Type, old: u64, value: u64) -> u64 {
    let half = |format: Format| {
        let part =
            |shift: u32| of_format(op, format, old >> shift & 0xffff, value >> shift & 0xffff) << shift;
        part(0) | part(16)
    };
    match ty {
        Type::F16 => of_format(op, F16, old, value),
        Type::Bf16 => of_format(op, BF16, old, value),
        Type::F16x2 => half(F16),
        Type::Bf16x2 => half(BF16),
        Type::F32 => of_format(op, F32, old, value),
        Type::F64 => {
            let (a, b) = (f64::from_bits(old), f64::from_bits(value));
            match op {
                AtomicOp::Min => a.min(b).to_bits(),
                AtomicOp::Max => a.max(b).to_bits(),
                _ => (a + b).to_bits(),
            }
        }
        _ => of_integers(op, ty, old, value),
    }
}

fn of_format(op: AtomicOp, format: Format, old: u64, value: u64) -> u64 {
    let (a, b) = (format.decode(old), format.decode(value));
    match op {
        AtomicOp::Min | AtomicOp::Max => match (a.is_nan(), b.is_nan()) {
            (true, true) => format.nan(),
            (true, false) => value,
            (false, true) => old,
            _ => {
                let old_is_less = a < b || (a == b && format.is_negative(old));
                if old_is_less == (op == AtomicOp::Min) { old } else { value }
            }
        },
        _ => format.encode(Exact::sum(a, b, Mode::Nearest), Mode::Nearest, false),
    }
}

fn of_integers(op: AtomicOp, ty: Type, old: u64, value: u64) -> u64 {
    let bits = ty.bits();
    let is_signed = matches!(ty, Type::S32 | Type::S64);
    let old_is_less = if is_signed {
        signed(old, bits) < signed(value, bits)
    } else {
        old & mask(bits) < value & mask(bits)
    };
    let result = match op {
        AtomicOp::Add => old.wrapping_add(value),
        AtomicOp::Min => {
            if old_is_less {
                old
            } else {
                value
            }
        }
        AtomicOp::Max => {
            if old_is_less {
                value
            } else {
                old
            }
        }
        AtomicOp::And => old & value,
        AtomicOp::Or => old | value,
        AtomicOp::Xor => old ^ value,
        AtomicOp::Increment => {
            if old >= value {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Decrement => {
            if old == 0 || old > value {
                value
            } else {
                old - 1
            }
        }
        AtomicOp::Exchange | AtomicOp::CompareExchange => value,
    };
    result & mask(bits)
}

/// The atomic operation that a reducing copy does to each element.
pub fn of_bulk(reduction: BulkReduction) -> AtomicOp {
    match reduction {
        BulkReduction::Add => AtomicOp::Add,
        BulkReduction::Min => AtomicOp::Min,
        BulkReduction::Max => AtomicOp::Max,
        BulkReduction::Increment => AtomicOp::Increment,
        BulkReduction::Decrement => AtomicOp::Decrement,
        BulkReduction::And => AtomicOp::And,
        BulkReduction::Or => AtomicOp::Or,
        BulkReduction::Xor => AtomicOp::Xor,
    }
}
