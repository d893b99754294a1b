//! Arithmetic of 16- and 8-bit floats: every operation as in a wider type, rounded once.

use super::*;

const NARROW: [Scalar; 7] = [
    Scalar::Float8E4M3,
    Scalar::Float8E5M2,
    Scalar::Float8E4B15,
    Scalar::Float8E4B8,
    Scalar::Float8E5B16,
    Scalar::Float16,
    Scalar::BFloat16,
];

/// Random patterns of a type, as it lies in memory.
fn random_strip(scalar: Scalar, seed: u64, count: usize) -> Vec<u8> {
    let mut random = Random(seed);
    (0..count * scalar.bytes() as usize).map(|_| random.next() as u8).collect()
}

fn converted<O: Copy + Default>(isa: Isa, strip: &[u8], from: Scalar, to: Scalar, count: usize) -> Vec<O> {
    let mut out = vec![O::default(); count];
    let function = cast(isa, from, to, Rounding::NearestEven).expect("every pair is converted");
    // SAFETY: strips of `count` elements.
    unsafe { function(out.as_mut_ptr().cast(), &[strip.as_ptr(); 3], count) };
    out
}

fn bytes_of<E: Copy>(elements: &[E]) -> &[u8] {
    // SAFETY: plain numbers have no padding.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The same but for NaNs, which are all one.
fn assert_same(isa: Isa, scalar: Scalar, result: &[u8], expected: &[u8], what: &str) {
    let count = result.len() / scalar.bytes() as usize;
    let result: Vec<f64> = converted(isa, result, scalar, Scalar::Float64, count);
    let expected: Vec<f64> = converted(isa, expected, scalar, Scalar::Float64, count);
    for (i, (a, b)) in result.iter().zip(&expected).enumerate() {
        assert!(a == b || (a.is_nan() && b.is_nan()), "{isa:?} {scalar} {what}: element {i} is {a}, not {b}");
    }
}

#[test]
fn binary_operations() {
    for (scalar, isa) in
        NARROW.into_iter().flat_map(|scalar| instruction_sets().map(move |isa| (scalar, isa)))
    {
        let size = scalar.bytes() as usize;
        let (a, b) = (random_strip(scalar, 5, 1000), random_strip(scalar, 6, 1000));
        for op in
            [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Max, BinaryOp::MinNan]
        {
            for operands in [Operands::DenseDense, Operands::DenseSplat, Operands::SplatDense] {
                let function = binary(isa, op, scalar, operands).expect("floats have it");
                let wide = binary(isa, op, Scalar::Float64, operands).expect("floats have it");
                for count in COUNTS {
                    let mut result = vec![0x55; count * size];
                    // SAFETY: the strips have 1000 elements.
                    unsafe { function(result.as_mut_ptr(), &[a.as_ptr(), b.as_ptr(), b.as_ptr()], count) };
                    let left: Vec<f64> = converted(isa, &a, scalar, Scalar::Float64, 1000);
                    let right: Vec<f64> = converted(isa, &b, scalar, Scalar::Float64, 1000);
                    let exact = run(wide, [&left[..], &right[..], &[]], count, 0f64);
                    let expected: Vec<u64> = exact.iter().map(|x| x.to_bits()).collect();
                    let mut rounded = vec![0; count * size];
                    let narrow = cast(isa, Scalar::Float64, scalar, Rounding::NearestEven).expect("exists");
                    // SAFETY: strips of `count` elements.
                    unsafe { narrow(rounded.as_mut_ptr(), &[expected.as_ptr().cast(); 3], count) };
                    assert_same(isa, scalar, &result, &rounded, &format!("{op:?} {operands:?}"));
                }
            }
        }
    }
}

#[test]
fn comparisons_see_numbers_not_patterns() {
    for (scalar, isa) in
        NARROW.into_iter().flat_map(|scalar| instruction_sets().map(move |isa| (scalar, isa)))
    {
        let (a, b) = (random_strip(scalar, 7, 1000), random_strip(scalar, 8, 1000));
        let left: Vec<f64> = converted(isa, &a, scalar, Scalar::Float64, 1000);
        let right: Vec<f64> = converted(isa, &b, scalar, Scalar::Float64, 1000);
        for (predicate, holds) in COMPARISONS {
            let function = compare(isa, predicate, scalar, Operands::DenseDense).expect("all types compare");
            let mut result = vec![7u8; 1000];
            // SAFETY: strips of 1000 elements.
            unsafe { function(result.as_mut_ptr(), &[a.as_ptr(), b.as_ptr(), b.as_ptr()], 1000) };
            for i in 0..1000 {
                assert_eq!(result[i] != 0, holds(left[i], right[i]), "{isa:?} {scalar} {predicate:?}");
                assert!(result[i] < 2);
            }
        }
    }
}

type Comparison = fn(f64, f64) -> bool;

const COMPARISONS: [(Predicate, Comparison); 6] = [
    (Predicate::Eq, |a, b| a == b),
    (Predicate::Ne, |a, b| a != b),
    (Predicate::Lt, |a, b| a < b),
    (Predicate::Le, |a, b| a <= b),
    (Predicate::Gt, |a, b| a > b),
    (Predicate::Ge, |a, b| a >= b),
];

#[test]
fn comparisons_of_fp32() {
    let mut random = Random(11);
    let values = [0.0, -0.0, 1.0, f32::NAN, f32::INFINITY, -1.0];
    let a: Vec<f32> = (0..1000).map(|_| values[random.next() as usize % 6]).collect();
    let b: Vec<f32> = (0..1000).map(|_| values[random.next() as usize % 6]).collect();
    for isa in instruction_sets() {
        for (predicate, holds) in COMPARISONS {
            for count in COUNTS {
                let function =
                    compare(isa, predicate, Scalar::Float32, Operands::DenseDense).expect("compares");
                let result = run(function, [&a[..], &b[..], &[]], count, 9u8);
                for i in 0..count {
                    assert_eq!(result[i], u8::from(holds(a[i] as f64, b[i] as f64)));
                }
            }
        }
    }
}

#[test]
fn a_multiply_add_is_rounded_once() {
    for isa in instruction_sets() {
        for scalar in NARROW {
            let strips = [13, 14, 15].map(|seed| random_strip(scalar, seed, 1000));
            let function = fma(isa, scalar).expect("floats have it");
            let mut result = vec![0; strips[0].len()];
            let pointers = [strips[0].as_ptr(), strips[1].as_ptr(), strips[2].as_ptr()];
            // SAFETY: strips of 1000 elements.
            unsafe { function(result.as_mut_ptr(), &pointers, 1000) };
            let wide =
                strips.each_ref().map(|strip| converted::<f64>(isa, strip, scalar, Scalar::Float64, 1000));
            let sum = |i: usize| wide[0][i].mul_add(wide[1][i], wide[2][i]);
            let exact: Vec<f64> = (0..1000).map(sum).collect();
            let rounded: Vec<u8> = {
                let mut rounded = vec![0; result.len()];
                let narrow = cast(isa, Scalar::Float64, scalar, Rounding::NearestEven).expect("exists");
                // SAFETY: strips of 1000 elements.
                unsafe { narrow(rounded.as_mut_ptr(), &[bytes_of(&exact).as_ptr(); 3], 1000) };
                rounded
            };
            // Where fp64 rounds the sum, it does not tell on which side of a tie that is.
            let is_exact = |i: usize| wide[0][i].mul_add(wide[1][i], -exact[i]) == -wide[2][i];
            let size = scalar.bytes() as usize;
            for i in (0..1000).filter(|&i| is_exact(i)) {
                let place = i * size..(i + 1) * size;
                assert_same(isa, scalar, &result[place.clone()], &rounded[place], "fma");
            }
        }
    }
}

#[test]
fn the_least_summand_breaks_a_tie() {
    // 7 * 37 is a tie between 258 and 260 (even), and 9 * 29 one between 260 and 262.
    let bits = |x: f32| half::bf16::from_f32(x).to_bits();
    let (a, b) = ([7.0, 7.0, 9.0, 9.0].map(bits), [37.0, 37.0, 29.0, 29.0].map(bits));
    let c = [1e-30, -1e-30, 1e-30, -1e-30].map(bits);
    for isa in instruction_sets() {
        let function = fma(isa, Scalar::BFloat16).expect("floats have it");
        let out = run(function, [&a, &b, &c], 4, 0u16);
        assert_eq!(out, [260.0, 258.0, 262.0, 260.0].map(bits));
    }
}
