//! Comparisons as functions from rows to lanes.

use super::integer::{is_signed, mask, signed};
use super::{LANES, Lanes, MaskFunction};
use crate::number::{BF16, F16, F32, Format};
use tegula_ptx::{Comparison, SetPredicate, TestProperty, TestedProperty, Type};

/// What a comparison asks; none if it is not one of the type.
pub fn set_predicate(compare: &SetPredicate) -> Option<MaskFunction> {
    let SetPredicate { comparison, flush, ty, .. } = *compare;
    let of_floats = move |format: Format| {
        move |a: u64, b: u64| {
            let [a, b] = [a, b].map(|bits| format.decode(if flush { format.flush(bits) } else { bits }));
            holds(comparison, a, b)
        }
    };
    Some(match ty {
        Type::F32 => each(of_floats(F32)),
        Type::F16 => each(of_floats(F16)),
        Type::Bf16 => each(of_floats(BF16)),
        Type::F64 => each(move |a, b| holds(comparison, f64::from_bits(a), f64::from_bits(b))),
        Type::F16x2 => pairs(of_floats(F16)),
        Type::Bf16x2 => pairs(of_floats(BF16)),
        Type::Pred | Type::B128 | Type::Tf32 | Type::F32x2 => return None,
        ty if ty.is_float8() => return None,
        ty if is_signed(ty) => {
            let bits = ty.bits();
            each(move |a, b| of_order(comparison, signed(a, bits).cmp(&signed(b, bits))))
        }
        ty => {
            let keep = mask(ty.bits());
            each(move |a, b| of_order(comparison, (a & keep).cmp(&(b & keep))))
        }
    })
}

fn each(f: impl Fn(u64, u64) -> bool + Send + Sync + 'static) -> MaskFunction {
    MaskFunction(Box::new(move |a, b| {
        let holds = lanes_where(a, b, &f);
        (holds, !holds)
    }))
}

fn pairs(f: impl Fn(u64, u64) -> bool + Send + Sync + 'static) -> MaskFunction {
    MaskFunction(Box::new(move |a, b| {
        let half = |shift: u32| lanes_where(a, b, &|a, b| f(a >> shift & 0xffff, b >> shift & 0xffff));
        (half(0), half(16))
    }))
}

fn lanes_where(a: &Lanes, b: &Lanes, f: &impl Fn(u64, u64) -> bool) -> u32 {
    (0..LANES).fold(0, |lanes, lane| lanes | u32::from(f(a[lane], b[lane])) << lane)
}

fn of_order(comparison: Comparison, order: std::cmp::Ordering) -> bool {
    match comparison {
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less | Comparison::Lower => order.is_lt(),
        Comparison::LessEqual | Comparison::LowerSame => order.is_le(),
        Comparison::Greater | Comparison::Higher => order.is_gt(),
        Comparison::GreaterEqual | Comparison::HigherSame => order.is_ge(),
        _ => order.is_eq(),
    }
}

fn holds(comparison: Comparison, a: f64, b: f64) -> bool {
    let unordered = a.is_nan() || b.is_nan();
    match comparison {
        Comparison::Equal => a == b,
        Comparison::NotEqual => !unordered && a != b,
        Comparison::Less | Comparison::Lower => a < b,
        Comparison::LessEqual | Comparison::LowerSame => a <= b,
        Comparison::Greater | Comparison::Higher => a > b,
        Comparison::GreaterEqual | Comparison::HigherSame => a >= b,
        Comparison::EqualUnordered => unordered || a == b,
        Comparison::NotEqualUnordered => a != b,
        Comparison::LessUnordered => unordered || a < b,
        Comparison::LessEqualUnordered => unordered || a <= b,
        Comparison::GreaterUnordered => unordered || a > b,
        Comparison::GreaterEqualUnordered => unordered || a >= b,
        Comparison::Ordered => !unordered,
        Comparison::Unordered => unordered,
    }
}

/// A property of a number, as a comparison with itself.
pub fn test_property(test: &TestProperty) -> MaskFunction {
    let (property, double) = (test.property, test.ty == Type::F64);
    each(move |bits, _| {
        let value = if double { f64::from_bits(bits) } else { F32.decode(bits) };
        // Single precision's subnormal numbers are normal ones of fp64.
        let least = if double { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
        match property {
            TestedProperty::Finite => value.is_finite(),
            TestedProperty::Infinite => value.is_infinite(),
            TestedProperty::Number => !value.is_nan(),
            TestedProperty::NotANumber => value.is_nan(),
            TestedProperty::Normal => value.is_finite() && value.abs() >= least,
            TestedProperty::Subnormal => value != 0.0 && value.abs() < least,
        }
    })
}
