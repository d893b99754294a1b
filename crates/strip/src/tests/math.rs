//! Functions of fp32 against fp64 ones, in ulps, over all of fp32.

use super::*;

/// A function's exact value, from a good fp64 function.
type Oracle = fn(f64) -> f64;

/// Likewise, of two operands.
type Oracle2 = fn(f64, f64) -> f64;

/// Each function of one operand, its oracle, and the bound that its documentation states.
const FUNCTIONS: [(UnaryOp, Oracle, f64); 33] = [
    (UnaryOp::Exp, libm::exp, 1.1),
    (UnaryOp::Exp2, libm::exp2, 1.3),
    (UnaryOp::Expm1, libm::expm1, 0.51),
    (UnaryOp::Log, libm::log, 1.1),
    (UnaryOp::Log2, libm::log2, 0.51),
    (UnaryOp::Log10, libm::log10, 0.51),
    (UnaryOp::Log1p, libm::log1p, 0.51),
    (UnaryOp::Sin, libm::sin, 1.7),
    (UnaryOp::Cos, libm::cos, 1.7),
    (UnaryOp::Tan, libm::tan, 0.51),
    (UnaryOp::Asin, libm::asin, 0.51),
    (UnaryOp::Acos, libm::acos, 0.51),
    (UnaryOp::Atan, libm::atan, 0.51),
    (UnaryOp::Sinh, libm::sinh, 0.51),
    (UnaryOp::Cosh, libm::cosh, 0.51),
    (UnaryOp::Tanh, libm::tanh, 1.5),
    (UnaryOp::Asinh, libm::asinh, 0.51),
    (UnaryOp::Acosh, |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) }, 0.51),
    (UnaryOp::Atanh, libm::atanh, 0.51),
    (UnaryOp::Sqrt, libm::sqrt, 0.5),
    (UnaryOp::Rsqrt, |x| 1.0 / x.sqrt(), 1.5),
    (UnaryOp::Cbrt, libm::cbrt, 0.51),
    (UnaryOp::Floor, libm::floor, 0.0),
    (UnaryOp::Ceil, libm::ceil, 0.0),
    (UnaryOp::Trunc, libm::trunc, 0.0),
    (UnaryOp::Round, libm::round, 0.0),
    (UnaryOp::RoundEven, libm::rint, 0.0),
    (UnaryOp::Erf, libm::erf, 1.5),
    (UnaryOp::Erfc, libm::erfc, 0.51),
    (UnaryOp::Erfinv, inverse_error_function, 0.51),
    (UnaryOp::Lgamma, libm::lgamma, 0.51),
    (UnaryOp::Tgamma, libm::tgamma, 0.51),
    (UnaryOp::Abs, f64::abs, 0.0),
];

/// `erf^-1` by bisection on the complement, then Newton's method.
fn inverse_error_function(x: f64) -> f64 {
    let a = x.abs();
    if a.is_nan() || a > 1.0 {
        return f64::NAN;
    }
    if a == 1.0 {
        return f64::INFINITY.copysign(x);
    }
    // Near 0, erf is a straight line to more than an fp64 can tell.
    let mut y = a * std::f64::consts::PI.sqrt() / 2.0;
    if a > 1e-9 {
        let (mut low, mut high) = (0.0, 6.0);
        for _ in 0..40 {
            y = 0.5 * (low + high);
            if libm::erfc(y) > 1.0 - a { low = y } else { high = y }
        }
        for _ in 0..2 {
            let slope = std::f64::consts::FRAC_2_SQRT_PI * (-y * y).exp();
            let excess = if a < 0.5 { libm::erf(y) - a } else { (1.0 - a) - libm::erfc(y) };
            y -= excess / slope;
        }
    }
    y.copysign(x)
}

/// The distance of an fp32 result from the exact one, in ulps; infinite where one is special and the other is not.
fn ulps(result: f32, exact: f64) -> f64 {
    if exact.is_nan() || result.is_nan() {
        return if exact.is_nan() && result.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let rounded = exact as f32;
    if result == rounded {
        // Zeros must agree in sign.
        let signs = result != 0.0 || exact != 0.0 || result.is_sign_negative() == exact.is_sign_negative();
        if !signs {
            return f64::INFINITY;
        }
        if !rounded.is_finite() {
            return 0.0;
        }
    }
    if !exact.is_finite() {
        return f64::INFINITY;
    }
    let exponent = libm::ilogb(if exact == 0.0 { f64::MIN_POSITIVE } else { exact }).clamp(-126, 127);
    let ulp = 2f64.powi(exponent - 23);
    let result = if result.is_infinite() { 2f64.powi(128).copysign(result as f64) } else { result as f64 };
    (result - exact).abs() / ulp
}

/// Patterns spread over all of fp32, and the special ones.
fn all_over(stride: usize) -> Vec<f32> {
    let mut values: Vec<f32> = (0..=u32::MAX).step_by(stride).map(f32::from_bits).collect();
    for special in
        [0.0, 1.0, f32::MIN_POSITIVE, f32::from_bits(1), f32::MAX, f32::INFINITY, f32::NAN, 0.5, 2.0]
    {
        values.extend([special, -special]);
    }
    for whole in 0..200 {
        values.extend([whole as f32, -(whole as f32), whole as f32 + 0.5, -(whole as f32) - 0.5]);
    }
    values
}

#[test]
fn unary_functions_keep_their_bounds() {
    // TEGULA_TEST_STRIDE=257 takes some minutes and sees sixty times as many.
    let stride = std::env::var("TEGULA_TEST_STRIDE").ok().and_then(|x| x.parse().ok()).unwrap_or(16_411);
    let values = all_over(stride);
    let mut beyond = Vec::new();
    for (op, oracle, bound) in FUNCTIONS {
        let exact: Vec<f64> = values.iter().map(|&x| oracle(x as f64)).collect();
        for isa in instruction_sets() {
            let function = unary(isa, op, Scalar::Float32).expect("fp32 has it");
            let results = run(function, [&values[..], &[], &[]], values.len(), 7f32);
            let mut worst = (0.0, 0.0, 0.0);
            for ((&x, &result), &exact) in values.iter().zip(&results).zip(&exact) {
                let error = ulps(result, exact);
                if error > worst.0 {
                    worst = (error, x, result);
                }
            }
            println!("{isa:?} {op:?}: {} ulp at {:e}", worst.0, worst.1);
            if worst.0 > bound {
                beyond.push(format!("{isa:?} {op:?}({:e}) = {:e}: {} ulp", worst.1, worst.2, worst.0));
            }
        }
    }
    assert!(beyond.is_empty(), "beyond the bounds: {beyond:#?}");
}

#[test]
fn binary_functions_keep_their_bounds() {
    let special =
        [0.0, 1.0, 2.0, 3.0, 0.5, f32::INFINITY, f32::NAN, f32::MIN_POSITIVE, f32::MAX, 1e-40, 16_777_217.0];
    let special: Vec<f32> = special.into_iter().flat_map(|x| [x, -x]).collect();
    let mut pairs: Vec<(f32, f32)> =
        special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y))).collect();
    let mut random = Random(3);
    for _ in 0..200_000 {
        let (x, y) = (random.next(), random.next());
        pairs.push((f32::from_bits(x as u32), f32::from_bits(y as u32)));
        // Of magnitudes whose power is neither infinite nor zero.
        pairs.push(((x % 4000) as f32 / 100.0 + 0.01, (y % 4000) as f32 / 100.0 - 20.0));
        pairs.push((-((x % 40) as f32), (y % 40) as f32 - 20.0));
    }
    let (left, right): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
    let functions: [(BinaryOp, Oracle2, f64); 5] = [
        (BinaryOp::Pow, libm::pow, 0.6),
        (BinaryOp::Atan2, libm::atan2, 0.51),
        (BinaryOp::Hypot, libm::hypot, 0.51),
        (BinaryOp::CopySign, f64::copysign, 0.0),
        (BinaryOp::Remainder, libm::remainder, 0.0),
    ];
    for (op, oracle, bound) in functions {
        for isa in instruction_sets() {
            let function = binary(isa, op, Scalar::Float32, Operands::DenseDense).expect("fp32 has it");
            let results = run(function, [&left[..], &right[..], &[]], left.len(), 7f32);
            for ((&x, &y), &result) in left.iter().zip(&right).zip(&results) {
                let error = ulps(result, oracle(x as f64, y as f64));
                assert!(error <= bound, "{isa:?} {op:?}({x:e}, {y:e}) = {result:e} is off by {error} ulp");
            }
        }
    }
}

#[test]
fn the_next_float_is_one_pattern_away() {
    for isa in instruction_sets() {
        let function =
            binary(isa, BinaryOp::NextAfter, Scalar::Float32, Operands::DenseDense).expect("fp32 has it");
        let out = run(function, [&[1f32, 1.0, 0.0, 5.0], &[2f32, 0.0, -1.0, 5.0], &[]], 4, 0f32);
        assert_eq!(out.map_bits(), [0x3f80_0001, 0x3f7f_ffff, 0x8000_0001, 5f32.to_bits()]);
        assert!(binary(isa, BinaryOp::NextAfter, Scalar::Float16, Operands::DenseDense).is_none());
    }
}

trait MapBits {
    fn map_bits(&self) -> Vec<u32>;
}

impl MapBits for Vec<f32> {
    fn map_bits(&self) -> Vec<u32> {
        self.iter().map(|x| x.to_bits()).collect()
    }
}

#[test]
fn double_functions_are_precise() {
    let values: Vec<f64> = (1..1000).map(|i| i as f64 / 1000.0).collect();
    for isa in instruction_sets() {
        for (op, oracle, _) in FUNCTIONS {
            let function = unary(isa, op, Scalar::Float64).expect("fp64 has it");
            let results = run(function, [&values[..], &[], &[]], values.len(), 7f64);
            for (&x, &result) in values.iter().zip(&results) {
                let exact = oracle(x);
                let error = (result - exact).abs() / exact.abs();
                assert!(
                    error < 1e-15 || (result.is_nan() && exact.is_nan()) || result == exact,
                    "{isa:?} {op:?}({x}) = {result}, not {exact}"
                );
            }
        }
    }
}

#[test]
fn a_multiply_add_is_rounded_once() {
    // a * b is 1 - 2^-46 (fp32), of which rounding would leave 1.
    let (a, b) = (1.0 + 2f32.powi(-23), 1.0 - 2f32.powi(-23));
    for isa in instruction_sets() {
        let function = fma(isa, Scalar::Float32).expect("fp32 has it");
        assert_eq!(run(function, [&[a], &[b], &[-1f32]], 1, 0f32), [-(2f32.powi(-46))]);
        let function = fma(isa, Scalar::UInt8).expect("integers have it");
        assert_eq!(run(function, [&[200u8], &[3u8], &[7u8]], 1, 0u8), [95]);
    }
}

/// Blocks of arguments with common exponentials are computed in another way than single ones, and than those beside others.
#[test]
fn exponentials_do_not_depend_on_their_neighbours() {
    let mut values: Vec<f32> = (-9000..9000).map(|i| i as f32 / 100.0 + 0.003).collect();
    values.extend(all_over(1_000_003));
    for isa in instruction_sets() {
        for op in [UnaryOp::Exp, UnaryOp::Exp2] {
            let function = unary(isa, op, Scalar::Float32).expect("fp32 has it");
            let together = run(function, [&values[..], &[], &[]], values.len(), 7f32);
            for (&x, together) in values.iter().zip(together) {
                let [alone] = run(function, [&[x], &[], &[]], 1, 7f32)[..] else { panic!("one result") };
                let same = alone.to_bits() == together.to_bits() || alone.is_nan() && together.is_nan();
                assert!(same, "{isa:?} {op:?}({x:e}): {alone:e} alone, {together:e} in a strip");
            }
        }
    }
}

#[test]
fn exponentials_of_differences_are_those_of_the_differences() {
    let values = all_over(5_000_011);
    for isa in instruction_sets() {
        let subtract =
            binary(isa, BinaryOp::Sub, Scalar::Float32, Operands::DenseSplat).expect("fp32 has it");
        for op in [UnaryOp::Exp, UnaryOp::Exp2] {
            let function = of_difference(isa, op, Scalar::Float32).expect("fp32 has it");
            let plain = unary(isa, op, Scalar::Float32).expect("fp32 has it");
            for subtrahend in [0.0, 1.5, -70.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
                for count in COUNTS {
                    let count = count.min(values.len());
                    let inputs = [&values[..count], &[subtrahend], &[]];
                    let differences = run(subtract, inputs, count, 7f32);
                    let expected = run(plain, [&differences[..], &[], &[]], count, 7f32);
                    let found = run(function, inputs, count, 7f32);
                    for (found, expected) in found.iter().zip(&expected) {
                        let same =
                            found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
                        assert!(
                            same,
                            "{isa:?} {op:?} of differences to {subtrahend}: {found:e}, not {expected:e}"
                        );
                    }
                }
            }
        }
        assert!(of_difference(isa, UnaryOp::Exp, Scalar::Float16).is_none(), "differences are rounded");
    }
}
