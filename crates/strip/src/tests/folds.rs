//! Folds, prefixes, and strips that are only moved.

use super::*;

#[test]
fn sums_of_integers_wrap() {
    let mut random = Random(21);
    let values: Vec<i32> = (0..1000).map(|_| random.next() as i32).collect();
    for isa in instruction_sets() {
        let sum = reduce(isa, BinaryOp::Add, Scalar::Int32).expect("integers add");
        for count in COUNTS.into_iter().filter(|&count| count > 0) {
            let expected = values[..count].iter().fold(0i32, |sum, &x| sum.wrapping_add(x));
            // SAFETY: the strip has 1000 elements.
            let bits = unsafe { sum(values.as_ptr().cast(), count) };
            assert_eq!(bits as i32, expected);
            // The bits are sign-extended.
            assert_eq!(bits, expected as i64 as u64);
        }
    }
}

#[test]
fn folds_of_every_type_agree_with_a_chain_of_operations() {
    let ops = [
        BinaryOp::Add,
        BinaryOp::Mul,
        BinaryOp::Min,
        BinaryOp::Max,
        BinaryOp::MinNan,
        BinaryOp::MaxNan,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::Xor,
    ];
    for isa in instruction_sets() {
        for scalar in Scalar::ALL {
            let size = scalar.bytes() as usize;
            // Small whole numbers: sums and products of a few are exact in every type.
            let small: Vec<i8> =
                (0..300).map(|i| if i % 97 == 3 { 2 } else { i8::from(i % 64 == 5) }).collect();
            let mut strip = vec![0; 300 * size];
            let from_small = cast(isa, Scalar::Int8, scalar, Rounding::NearestEven).expect("every pair");
            // SAFETY: strips of 300 elements.
            unsafe { from_small(strip.as_mut_ptr(), &[small.as_ptr().cast(); 3], 300) };
            for op in ops {
                let fold = reduce(isa, op, scalar);
                let prefixes = scan(isa, op, scalar);
                let step = binary(isa, op, scalar, Operands::DenseDense);
                assert_eq!(fold.is_some(), step.is_some(), "{op:?} {scalar}");
                let (Some(fold), Some(prefixes), Some(step)) = (fold, prefixes, step) else { continue };
                // Longer sums of 8-bit floats are not exact.
                let longest = if scalar.is_float8() { 65 } else { 300 };
                for count in [1, 7, 63, 64, 65, 129, 300].into_iter().filter(|&count| count <= longest) {
                    let mut chain = vec![0; count * size];
                    chain[..size].copy_from_slice(&strip[..size]);
                    for i in 1..count {
                        let (done, rest) = chain.split_at_mut(i * size);
                        let inputs =
                            [done[(i - 1) * size..].as_ptr(), strip[i * size..].as_ptr(), strip.as_ptr()];
                        // SAFETY: strips of one element.
                        unsafe { step(rest.as_mut_ptr(), &inputs, 1) };
                    }
                    let mut scanned = vec![0x11; count * size];
                    // SAFETY: the strips have at least `count` elements.
                    unsafe { prefixes(scanned.as_mut_ptr(), &[strip.as_ptr(); 3], count) };
                    assert_eq!(scanned, chain, "{isa:?} scan {op:?} {scalar} of {count}");
                    // SAFETY: as above.
                    let bits = unsafe { fold(strip.as_ptr(), count) };
                    let last = &chain[(count - 1) * size..];
                    assert_eq!(
                        &bits.to_le_bytes()[..size],
                        last,
                        "{isa:?} reduce {op:?} {scalar} of {count}"
                    );
                }
            }
        }
    }
}

#[test]
fn sums_of_fp32_are_precise_and_the_same_everywhere() {
    let mut random = Random(22);
    let values: Vec<f32> = (0..128_256).map(|_| random.next() as f32 / 2f32.powi(64)).collect();
    let exact: f64 = values.iter().map(|&x| x as f64).sum();
    let mut sums = Vec::new();
    for isa in instruction_sets() {
        let sum = reduce(isa, BinaryOp::Add, Scalar::Float32).expect("floats add");
        // SAFETY: the strip has as many elements.
        let bits = unsafe { sum(values.as_ptr().cast(), values.len()) };
        let result = f32::from_bits(bits as u32);
        assert!((result as f64 - exact).abs() < 2e-6 * exact, "{result} is not {exact}");
        sums.push(result);
    }
    assert!(sums.windows(2).all(|pair| pair[0] == pair[1]), "{sums:?}");
}

#[test]
fn sums_of_narrow_floats_are_rounded_once() {
    // In fp16, adding one at a time stops at 2048.
    let ones = vec![half::f16::ONE.to_bits(); 5000];
    for isa in instruction_sets() {
        let sum = reduce(isa, BinaryOp::Add, Scalar::Float16).expect("floats add");
        // SAFETY: the strip has 5000 elements.
        assert_eq!(unsafe { sum(ones.as_ptr().cast(), 5000) }, half::f16::from_f32(5000.0).to_bits() as u64);
        let prefixes = scan(isa, BinaryOp::Add, Scalar::Float16).expect("floats add");
        let out = run(prefixes, [&ones[..], &[], &[]], 5000, 0u16);
        for (i, &bits) in out.iter().enumerate() {
            assert_eq!(bits, half::f16::from_f32(i as f32 + 1.0).to_bits());
        }
    }
}

#[test]
fn prefixes_in_place() {
    for isa in instruction_sets() {
        let prefixes = scan(isa, BinaryOp::Add, Scalar::Float32).expect("floats add");
        for count in COUNTS {
            let mut values: Vec<f32> = (0..count).map(|i| (i % 5) as f32).collect();
            let mut sum = 0.0;
            let expected: Vec<f32> = values
                .iter()
                .map(|x| {
                    sum += x;
                    sum
                })
                .collect();
            let own = values.as_mut_ptr().cast::<u8>();
            // SAFETY: one strip of `count` elements.
            unsafe { prefixes(own, &[own.cast_const(); 3], count) };
            assert_eq!(values, expected);
        }
    }
}

#[test]
fn extremes_are_found_where_they_first_stand() {
    let mut values: Vec<f32> = (0..1000).map(|i| ((i * 37) % 101) as f32).collect();
    values[0] = f32::NAN;
    values[500] = f32::NAN;
    let halves: Vec<u16> = values.iter().map(|&x| half::f16::from_f32(x).to_bits()).collect();
    for isa in instruction_sets() {
        for (op, better) in
            [(BinaryOp::Max, (|a, b| a > b) as fn(f32, f32) -> bool), (BinaryOp::Min, |a, b| a < b)]
        {
            let single = arg_reduce(isa, op, Scalar::Float32).expect("all types are ordered");
            let narrow = arg_reduce(isa, op, Scalar::Float16).expect("all types are ordered");
            for first in [0, 1, 499] {
                for count in [2, 7, 63, 64, 65, 129, 501] {
                    let part = &values[first..first + count];
                    let mut best = 0;
                    for (i, &x) in part.iter().enumerate() {
                        if better(x, part[best]) || (part[best].is_nan() && !x.is_nan()) {
                            best = i;
                        }
                    }
                    // SAFETY: the strips have 1000 elements.
                    unsafe {
                        assert_eq!(single(part.as_ptr().cast(), count), (part[best].to_bits() as u64, best));
                        let (bits, index) = narrow(halves[first..].as_ptr().cast(), count);
                        assert_eq!((bits, index), (halves[first + best] as u64, best));
                    }
                }
            }
            let nans = [f32::NAN; 100];
            // SAFETY: the strip has 100 elements.
            let (bits, index) = unsafe { single(nans.as_ptr().cast(), 100) };
            assert!(f32::from_bits(bits as u32).is_nan() && index == 0);
        }
    }
    let ties = vec![3i64; 3000];
    for isa in instruction_sets() {
        let find = arg_reduce(isa, BinaryOp::Min, Scalar::Int64).expect("all types are ordered");
        // SAFETY: the strip has 3000 elements.
        assert_eq!(unsafe { find(ties.as_ptr().cast(), 3000) }, (3, 0));
    }
}

#[test]
fn strips_are_selected_filled_counted_and_reversed() {
    let condition: Vec<u8> = (0..1000).map(|i| u8::from(i % 3 == 0)).collect();
    let a: Vec<u16> = (0..1000).collect();
    let b: Vec<u16> = (0..1000).map(|i| 5000 + i).collect();
    for isa in instruction_sets() {
        for count in COUNTS {
            for operands in [Operands::DenseDense, Operands::DenseSplat, Operands::SplatDense] {
                let function = select(isa, 2, operands).expect("two bytes");
                let mut out = vec![0u16; count + 1];
                let inputs = [condition.as_ptr(), a.as_ptr().cast(), b.as_ptr().cast()];
                // SAFETY: the strips have 1000 elements.
                unsafe { function(out.as_mut_ptr().cast(), &inputs, count) };
                assert_eq!(out.pop(), Some(0));
                for (i, &x) in out.iter().enumerate() {
                    let left = if operands == Operands::SplatDense { a[0] } else { a[i] };
                    let right = if operands == Operands::DenseSplat { b[0] } else { b[i] };
                    assert_eq!(x, if i % 3 == 0 { left } else { right });
                }
            }
            let filled = run(fill(isa, 2).expect("two bytes"), [&b[7..8], &[], &[]], count, 0u16);
            assert_eq!(filled, vec![5007; count]);
            let counted =
                run(iota(isa, Scalar::Int16).expect("integers"), [&[-3i16], &[100], &[]], count, 0i16);
            assert!(counted.iter().enumerate().all(|(i, &x)| x == (-3i64 + 100 * i as i64) as i16));
            let reversed = run(reverse(isa, 2).expect("two bytes"), [&a[..], &[], &[]], count, 0u16);
            assert!(reversed.iter().enumerate().all(|(i, &x)| x == a[count - 1 - i]));
        }
        assert!(select(isa, 3, Operands::DenseDense).is_none());
        assert!(iota(isa, Scalar::Float32).is_none());
    }
}

#[test]
fn functions_of_bits() {
    let values = [0u8, 1, 2, 0x80, 0xff, 0x0f];
    for isa in instruction_sets() {
        let apply =
            |op| run(unary(isa, op, Scalar::UInt8).expect("integers"), [&values[..], &[], &[]], 6, 9u8);
        assert_eq!(apply(UnaryOp::Popcount), [0, 1, 1, 1, 8, 4]);
        assert_eq!(apply(UnaryOp::LeadingZeros), [8, 7, 6, 0, 0, 4]);
        assert_eq!(apply(UnaryOp::ReverseBits), [0, 0x80, 0x40, 1, 0xff, 0xf0]);
        assert_eq!(apply(UnaryOp::Not), [0xff, 0xfe, 0xfd, 0x7f, 0, 0xf0]);
        let truths =
            run(unary(isa, UnaryOp::Not, Scalar::Int1).expect("exists"), [&[0u8, 1], &[], &[]], 2, 9u8);
        assert_eq!(truths, [1, 0]);
        let signed = [i64::MIN, -1, 7];
        let absolute = unary(isa, UnaryOp::Abs, Scalar::Int64).expect("integers");
        assert_eq!(run(absolute, [&signed[..], &[], &[]], 3, 0i64), [i64::MIN, 1, 7]);
        let wide = unary(isa, UnaryOp::Popcount, Scalar::Int64).expect("integers");
        assert_eq!(run(wide, [&signed[..], &[], &[]], 3, 0i64), [1, 64, 3]);
        assert!(unary(isa, UnaryOp::Exp, Scalar::Int32).is_none());
    }
}
