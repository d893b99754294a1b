//! Arithmetic, comparisons, conversions and moves.

use smallvec::smallvec;
use tegula_ptx::*;

use super::Pick;

pub fn push(pick: &mut Pick, all: &mut Vec<Instruction>) {
    integers(pick, all);
    floats(pick, all);
    halves(pick, all);
    bits(pick, all);
    comparisons(pick, all);
    conversions(pick, all);
    moves(pick, all);
}

fn class(ty: Type) -> Class {
    Class::of(ty)
}

/// Registers as operands.
fn registers(pick: &mut Pick, ty: Type, count: usize) -> Vec<Operand> {
    (0..count).map(|_| pick.register(class(ty)).into()).collect()
}

fn math(pick: &mut Pick, op: MathOp, ty: Type) -> Math {
    let dst = pick.register(class(ty));
    let sources = registers(pick, ty, op.arity());
    Math::new(op, ty, dst, sources)
}

fn integers(pick: &mut Pick, all: &mut Vec<Instruction>) {
    use MathOp::*;
    for ty in [Type::S16, Type::U16, Type::S32, Type::U32, Type::S64, Type::U64] {
        for op in [Add, Sub, Div, Rem, Min, Max] {
            all.push(math(pick, op, ty).into());
        }
        for part in [MulPart::Low, MulPart::High] {
            all.push(math(pick, Mul, ty).part(part).into());
            all.push(math(pick, Mad, ty).part(part).into());
        }
        let amount = Operand::Integer(3);
        let source = pick.register(class(ty)).into();
        all.push(Math::new(ShiftRight, ty, pick.register(class(ty)), [source, amount]).into());
    }
    for (ty, wide) in [(Type::S16, Class::Bits32), (Type::U32, Class::Bits64), (Type::S32, Class::Bits64)] {
        let mut product = math(pick, Mul, ty).part(MulPart::Wide);
        product.dst = pick.register(wide);
        all.push(product.into());
        let mut sum = math(pick, Mad, ty).part(MulPart::Wide);
        sum.dst = pick.register(wide);
        sum.sources[2] = pick.register(wide).into();
        all.push(sum.into());
    }
    for op in [Add, Sub] {
        all.push(Math { clamp: Some(Clamp::Saturate), ..math(pick, op, Type::S32) }.into());
    }
    all.push(Math::new(Add, Type::S32, pick.r(), [pick.r().into(), pick.integer(Class::Bits32)]).into());
    all.push(Math::new(Add, Type::S64, pick.d(), [pick.d().into(), Operand::Integer(i64::MIN)]).into());
    for ty in [Type::S16, Type::S32, Type::S64] {
        all.push(math(pick, Abs, ty).into());
        all.push(math(pick, Neg, ty).into());
    }
    for ty in [Type::U16x2, Type::S16x2] {
        all.push(math(pick, Min, ty).into());
        all.push(math(pick, Add, ty).into());
    }
    all.push(Math { clamp: Some(Clamp::Relu), ..math(pick, Max, Type::S32) }.into());
    for types in [[Type::S32, Type::S32], [Type::U32, Type::S32]] {
        let sources = [pick.r().into(), pick.r().into(), pick.integer(Class::Bits32)];
        all.push(DotProduct { types, dst: pick.r(), sources }.into());
    }
}

fn floats(pick: &mut Pick, all: &mut Vec<Instruction>) {
    use MathOp::*;
    for ty in [Type::F32, Type::F64] {
        for op in [Add, Sub, Mul, Fma, Div, SquareRoot, Reciprocal] {
            for rounding in [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up] {
                all.push(math(pick, op, ty).rounding(rounding).into());
            }
        }
        for op in [Abs, Neg, Min, Max, CopySign] {
            all.push(math(pick, op, ty).into());
        }
        for &property in TestedProperty::ALL {
            all.push(
                TestProperty { property, ty, dst: pick.p(), source: pick.register(class(ty)).into() }.into(),
            );
        }
    }
    all.push(math(pick, Mad, Type::F32).rounding(Rounding::Nearest).into());
    for op in [SquareRoot, Reciprocal, ReciprocalSquareRoot, Exp2, Log2, Sin, Cos, Tanh] {
        all.push(math(pick, op, Type::F32).precision(Precision::Approximate).into());
    }
    all.push(Math { flush: true, ..math(pick, Exp2, Type::F32).precision(Precision::Approximate) }.into());
    all.push(math(pick, ReciprocalSquareRoot, Type::F64).precision(Precision::Approximate).into());
    for precision in [Precision::Approximate, Precision::Full] {
        all.push(math(pick, Div, Type::F32).precision(precision).into());
        all.push(Math { flush: true, ..math(pick, Div, Type::F32).precision(precision) }.into());
    }
    for op in [Add, Mul, Fma] {
        let clamp = Some(Clamp::Saturate);
        all.push(Math { flush: true, clamp, ..math(pick, op, Type::F32).rounding(Rounding::Nearest) }.into());
        all.push(math(pick, op, Type::F32x2).rounding(Rounding::Nearest).into());
    }
    for op in [Min, Max] {
        all.push(Math { flush: true, propagate_nan: true, ..math(pick, op, Type::F32) }.into());
        all.push(Math { xor_sign: true, ..math(pick, op, Type::F32) }.into());
    }
    all.push(Math::new(Mul, Type::F32, pick.r(), [pick.single(), pick.r().into()]).into());
    all.push(Math::new(Add, Type::F64, pick.d(), [pick.d().into(), pick.double()]).into());
    all.push(Math::new(Add, Type::F32, pick.r(), [pick.r().into(), Operand::from(f32::NEG_INFINITY)]).into());
}

fn halves(pick: &mut Pick, all: &mut Vec<Instruction>) {
    use MathOp::*;
    for ty in [Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2] {
        for op in [Add, Sub, Mul, Fma] {
            all.push(math(pick, op, ty).rounding(Rounding::Nearest).into());
        }
        for op in [Min, Max] {
            all.push(math(pick, op, ty).into());
            all.push(Math { propagate_nan: true, ..math(pick, op, ty) }.into());
        }
        for op in [Abs, Neg] {
            all.push(math(pick, op, ty).into());
        }
        all.push(Math { clamp: Some(Clamp::Relu), ..math(pick, Fma, ty).rounding(Rounding::Nearest) }.into());
        all.push(math(pick, Tanh, ty).precision(Precision::Approximate).into());
        let flush = ty.is_bf16();
        all.push(Math { flush, ..math(pick, Exp2, ty).precision(Precision::Approximate) }.into());
    }
    for ty in [Type::F16, Type::F16x2] {
        let clamp = Some(Clamp::Saturate);
        all.push(Math { flush: true, clamp, ..math(pick, Mul, ty).rounding(Rounding::Nearest) }.into());
    }
}

fn bits(pick: &mut Pick, all: &mut Vec<Instruction>) {
    use MathOp::*;
    for ty in [Type::Pred, Type::B16, Type::B32, Type::B64] {
        for op in [And, Or, Xor, Not] {
            all.push(math(pick, op, ty).into());
        }
    }
    for ty in [Type::B16, Type::B32, Type::B64] {
        let sources = [pick.register(class(ty)).into(), pick.small()];
        all.push(Math::new(ShiftLeft, ty, pick.register(class(ty)), sources).into());
    }
    for ty in [Type::B32, Type::B64] {
        for op in [PopulationCount, LeadingZeros] {
            all.push(Math { dst: pick.r(), ..math(pick, op, ty) }.into());
        }
        all.push(math(pick, ReverseBits, ty).into());
        let wide = pick.register(class(ty)).into();
        let inserted = [pick.register(class(ty)).into(), wide, pick.small(), pick.small()];
        all.push(Math::new(InsertBits, ty, pick.register(class(ty)), inserted).into());
    }
    for ty in [Type::U32, Type::S32, Type::U64, Type::S64] {
        all.push(Math { dst: pick.r(), ..math(pick, FindLeading, ty) }.into());
        let sources = [pick.register(class(ty)).into(), pick.small(), pick.small()];
        all.push(Math::new(ExtractBits, ty, pick.register(class(ty)), sources).into());
    }
    let three = |pick: &mut Pick| [pick.r().into(), pick.r().into(), pick.integer(Class::Bits32)];
    all.push(Lop3 { dst: pick.r(), sources: three(pick), table: pick.below(256) as u8 }.into());
    all.push(Permute { mode: None, dst: pick.r(), sources: three(pick) }.into());
    for &mode in PermuteMode::ALL {
        all.push(Permute { mode: Some(mode), dst: pick.r(), sources: three(pick) }.into());
    }
    for &direction in ShiftDirection::ALL {
        for &mode in ShiftMode::ALL {
            all.push(FunnelShift { direction, mode, dst: pick.r(), sources: three(pick) }.into());
        }
    }
}

fn comparisons(pick: &mut Pick, all: &mut Vec<Instruction>) {
    use Comparison::*;
    let ordered = [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual];
    let of_floats = [
        EqualUnordered,
        NotEqualUnordered,
        LessUnordered,
        LessEqualUnordered,
        GreaterUnordered,
        GreaterEqualUnordered,
        Ordered,
        Unordered,
    ];
    let compare = |pick: &mut Pick, comparison, ty| {
        let sources = [pick.register(class(ty)).into(), pick.register(class(ty)).into()];
        SetPredicate::new(comparison, ty, pick.p(), sources)
    };
    for ty in [Type::S16, Type::S32, Type::S64, Type::F16, Type::Bf16, Type::F32, Type::F64] {
        for comparison in ordered {
            all.push(compare(pick, comparison, ty).into());
        }
    }
    for ty in [Type::U16, Type::U32, Type::U64] {
        for comparison in [Equal, NotEqual, Lower, LowerSame, Higher, HigherSame] {
            all.push(compare(pick, comparison, ty).into());
        }
    }
    for comparison in of_floats {
        all.push(compare(pick, comparison, Type::F32).into());
    }
    for ty in [Type::B16, Type::B32, Type::B64] {
        all.push(compare(pick, Equal, ty).into());
    }
    for &op in BoolOp::ALL {
        let combine = Some((op, pick.guard()));
        all.push(SetPredicate { combine, flush: true, ..compare(pick, Less, Type::F32) }.into());
        let [dst, second] = pick.several::<Vec<Register>>(Class::Pred, 2)[..] else { unreachable!() };
        all.push(
            SetPredicate { combine, dst, second: Some(second), ..compare(pick, Less, Type::S32) }.into(),
        );
    }
    let [dst, second] = pick.several::<Vec<Register>>(Class::Pred, 2)[..] else { unreachable!() };
    all.push(SetPredicate { dst, second: Some(second), ..compare(pick, Less, Type::F16x2) }.into());
    for ty in [Type::B16, Type::B32, Type::B64, Type::F32, Type::F64, Type::S32] {
        let sources = [pick.register(class(ty)).into(), pick.register(class(ty)).into()];
        all.push(Select { ty, dst: pick.register(class(ty)), sources, predicate: pick.p() }.into());
    }
}

fn conversions(pick: &mut Pick, all: &mut Vec<Instruction>) {
    use Rounding::*;
    let convert = |pick: &mut Pick, to, from| {
        let source = pick.register(class(from)).into();
        Convert::new(to, from, pick.register(class(to)), source)
    };
    let integers = [Type::S8, Type::U8, Type::S16, Type::U16, Type::S32, Type::U32, Type::S64, Type::U64];
    for to in integers {
        for from in integers {
            if to != from {
                all.push(convert(pick, to, from).into());
            }
        }
        if to != Type::S64 {
            all.push(Convert { clamp: Some(Clamp::Saturate), ..convert(pick, to, Type::S64) }.into());
        }
        for float in [Type::F16, Type::F32, Type::F64] {
            for rounding in [NearestInteger, ZeroInteger, DownInteger, UpInteger] {
                all.push(convert(pick, to, float).rounding(rounding).into());
            }
            all.push(convert(pick, float, to).rounding(Nearest).into());
        }
        if to.bits() > 8 {
            all.push(convert(pick, Type::Bf16, to).rounding(Nearest).into());
            all.push(convert(pick, to, Type::Bf16).rounding(ZeroInteger).into());
        }
    }
    for (to, from) in [(Type::F16, Type::F32), (Type::Bf16, Type::F32), (Type::F32, Type::F64)] {
        for rounding in [Nearest, Zero] {
            all.push(convert(pick, to, from).rounding(rounding).into());
        }
        all.push(convert(pick, from, to).into());
    }
    for rounding in [NearestInteger, ZeroInteger, DownInteger, UpInteger] {
        for ty in [Type::F16, Type::F32, Type::F64] {
            all.push(convert(pick, ty, ty).rounding(rounding).into());
        }
    }
    all.push(
        Convert { flush: true, clamp: Some(Clamp::Saturate), ..convert(pick, Type::F32, Type::F32) }.into(),
    );
    let relu = Some(Clamp::Relu);
    for to in [Type::F16, Type::Bf16] {
        all.push(Convert { clamp: relu, ..convert(pick, to, Type::F32).rounding(Nearest) }.into());
        let saturated = Convert { saturate_finite: true, ..convert(pick, to, Type::F32).rounding(Nearest) };
        all.push(saturated.clone().into());
        all.push(Convert { clamp: relu, ..saturated }.into());
    }
    for to in [Type::F16x2, Type::Bf16x2] {
        let pair = convert(pick, to, Type::F32).rounding(Nearest);
        let sources = smallvec![pick.r().into(), pick.r().into()];
        all.push(Convert { sources, ..pair }.into());
    }
    for rounding in [NearestAway, Nearest, Zero] {
        all.push(convert(pick, Type::Tf32, Type::F32).rounding(rounding).into());
    }
    for float8 in [Type::E4m3x2, Type::E5m2x2] {
        let pair = Convert { saturate_finite: true, ..convert(pick, float8, Type::F32).rounding(Nearest) };
        let sources = smallvec![pick.r().into(), pick.r().into()];
        let pair = Convert { sources, ..pair };
        all.push(pair.clone().into());
        all.push(Convert { clamp: relu, ..pair }.into());
        let halves = convert(pick, float8, Type::F16x2).rounding(Nearest);
        all.push(Convert { saturate_finite: true, ..halves }.into());
        all.push(convert(pick, Type::F16x2, float8).rounding(Nearest).into());
    }
    for (to, above) in [(Type::S16, false), (Type::U16, false), (Type::S8, true), (Type::U8, true)] {
        let above = if above { Some(pick.r().into()) } else { None };
        let sources = [pick.r().into(), pick.r().into()];
        all.push(ConvertPack { to, from: Type::S32, dst: pick.r(), sources, above }.into());
    }
}

fn moves(pick: &mut Pick, all: &mut Vec<Instruction>) {
    for &special in Special::ALL {
        let wide = matches!(special, Special::Clock64 | Special::GlobalTimer | Special::GridId);
        let (ty, dst) = if wide { (Type::U64, pick.d()) } else { (Type::U32, pick.r()) };
        all.push(Move::Value { ty, dst, source: special.into() }.into());
    }
    for ty in [Type::Pred, Type::B16, Type::B32, Type::B64, Type::F32, Type::F64] {
        all.push(
            Move::Value { ty, dst: pick.register(class(ty)), source: pick.register(class(ty)).into() }.into(),
        );
    }
    all.push(Move::Value { ty: Type::B32, dst: pick.r(), source: pick.integer(Class::Bits32) }.into());
    all.push(Move::Value { ty: Type::F32, dst: pick.r(), source: pick.single() }.into());
    all.push(Move::Value { ty: Type::F64, dst: pick.d(), source: pick.double() }.into());
    for (ty, part, count) in [
        (Type::B32, Class::Bits16, 2),
        (Type::B64, Class::Bits32, 2),
        (Type::B64, Class::Bits16, 4),
        (Type::B128, Class::Bits64, 2),
    ] {
        let parts = pick.several::<Vec<Register>>(part, count).into_iter().map(Operand::from).collect();
        all.push(Move::Pack { ty, dst: pick.register(class(ty)), parts }.into());
        let parts = pick.several::<Vec<Register>>(part, count).into_iter().map(Some).collect();
        all.push(Move::Unpack { ty, parts, source: pick.register(class(ty)) }.into());
    }
    let low_only = smallvec![Some(pick.r()), None];
    all.push(Move::Unpack { ty: Type::B64, parts: low_only, source: pick.d() }.into());
    all.push(Move::AddressOf { ty: Type::U32, dst: pick.r(), symbol: "tile".into() }.into());
    all.push(Move::AddressOf { ty: Type::U64, dst: pick.d(), symbol: "text".into() }.into());
    for space in [Space::Global, Space::Shared, Space::Local, Space::Const] {
        for to_space in [false, true] {
            all.push(
                ConvertAddress { to_space, space, ty: Type::U64, dst: pick.d(), source: pick.d().into() }
                    .into(),
            );
        }
    }
}
