//! Loads and stores: masks, strides, and arrays that overlap.

use crate::harness::{Random, address, program, run, run_checked};

/// `out[i] = x[i] + y[i]` for `i < n`, with blocks of `block` elements.
fn vector_add(block: u32) -> String {
    format!(
        "kernel @vector_add(%x: *fp32, %y: *fp32, %out: *fp32, %n: i32) {{
  %pid = program_id 0 : i32
  %block = constant {block} : i32
  %start = mul %pid, %block : i32
  %range = arange 0..{block} : <{block}xi32>
  %starts = splat %start : <{block}xi32>
  %offsets = add %starts, %range : <{block}xi32>
  %ns = splat %n : <{block}xi32>
  %mask = compare lt %offsets, %ns : <{block}xi1>
  %xs = splat %x : <{block}x*fp32>
  %xp = add_pointer %xs, %offsets : <{block}x*fp32>
  %a = load %xp mask %mask : <{block}xfp32>
  %ys = splat %y : <{block}x*fp32>
  %yp = add_pointer %ys, %offsets : <{block}x*fp32>
  %b = load %yp mask %mask : <{block}xfp32>
  %sum = add %a, %b : <{block}xfp32>
  %outs = splat %out : <{block}x*fp32>
  %op = add_pointer %outs, %offsets : <{block}x*fp32>
  store %op, %sum mask %mask
}}"
    )
}

#[test]
fn vectors_of_any_length_in_blocks_of_any_size() {
    let mut random = Random(1);
    for block in [1, 7, 64, 1000, 1024, 4099] {
        let program = program(&vector_add(block));
        for n in [1usize, 2, 63, 1000, 1024, 5000] {
            let (mut x, mut y) = (random.floats(n), random.floats(n));
            let mut out = vec![f32::NAN; n + 8];
            let arguments = [address(&mut x), address(&mut y), address(&mut out), n as u64];
            let grid = [(n as u32).div_ceil(block), 1, 1];
            let arrays =
                [("x", arguments[0], 4 * n), ("y", arguments[1], 4 * n), ("out", arguments[2], 4 * n)];
            run_checked(&program, grid, &arguments, &arrays).expect("all accesses are masked");
            for i in 0..n {
                assert_eq!(out[i], x[i] + y[i], "block {block}, n {n}, element {i}");
            }
            assert!(out[n..].iter().all(|value| value.is_nan()), "elements beyond the mask are untouched");
        }
    }
}

#[test]
fn an_empty_grid_runs_nothing() {
    let program = program(&vector_add(64));
    for grid in [[0, 1, 1], [1, 0, 1], [1, 1, 0]] {
        run(&program, grid, &[0, 0, 0, 64]);
    }
}

#[test]
fn results_may_overwrite_operands() {
    let mut random = Random(2);
    let program = program(&vector_add(3000));
    let n = 5001;
    let (x, y) = (random.floats(n), random.floats(n));
    let expected: Vec<f32> = x.iter().zip(&y).map(|(a, b)| a + b).collect();
    let (mut first, mut other) = (x.clone(), y.clone());
    run(&program, [2, 1, 1], &[address(&mut first), address(&mut other), address(&mut first), n as u64]);
    assert_eq!(first, expected);
    let (mut first, mut other) = (x, y);
    run(&program, [2, 1, 1], &[address(&mut first), address(&mut other), address(&mut other), n as u64]);
    assert_eq!(other, expected);
}

#[test]
fn a_shifted_copy_reads_the_whole_block_first() {
    let program = program(&vector_add(5000));
    let mut random = Random(3);
    for shift in [1usize, 3, 1000, 1024] {
        let n = 4000;
        let zeros = &mut vec![0.0f32; n];
        // Forwards and backwards: whichever way the strips go, one of the two would be wrong.
        for backwards in [false, true] {
            let mut array = random.floats(n + shift);
            let before = array.clone();
            let (from, to) = if backwards { (shift, 0) } else { (0, shift) };
            let base = address(&mut array);
            let arguments = [base + 4 * from as u64, address(zeros), base + 4 * to as u64, n as u64];
            run(&program, [1, 1, 1], &arguments);
            for i in 0..n {
                assert_eq!(
                    array[to + i],
                    before[from + i],
                    "shift {shift}, backwards {backwards}, element {i}"
                );
            }
        }
    }
}

#[test]
fn a_loaded_value_survives_a_store_to_where_it_was() {
    // x is read, overwritten, and its old value used again; y = old x, and x = 2 * old x.
    let program = program(
        "kernel @swap(%x: *fp32, %y: *fp32) {
  %range = arange 0..3000 : <3000xi32>
  %xs = splat %x : <3000x*fp32>
  %xp = add_pointer %xs, %range : <3000x*fp32>
  %a = load %xp : <3000xfp32>
  %double = add %a, %a : <3000xfp32>
  store %xp, %double
  %ys = splat %y : <3000x*fp32>
  %yp = add_pointer %ys, %range : <3000x*fp32>
  store %yp, %a
  %again = load %xp : <3000xfp32>
  %four = add %again, %again : <3000xfp32>
  store %xp, %four
}",
    );
    let before = Random(4).floats(3000);
    let (mut x, mut y) = (before.clone(), vec![f32::NAN; 3000]);
    run(&program, [1, 1, 1], &[address(&mut x), address(&mut y)]);
    assert_eq!(y, before);
    assert_eq!(x, before.iter().map(|x| 4.0 * x).collect::<Vec<_>>());
    // The two are the same array.
    let mut x = before.clone();
    let argument = address(&mut x);
    run(&program, [1, 1, 1], &[argument, argument]);
    assert_eq!(x, before.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
}

#[test]
fn a_transposed_block_in_place() {
    // A 40 x 40 matrix replaced by its transpose: the store conflicts with the load in every strip.
    let program = program(
        "kernel @transpose(%x: *i32) {
  %range = arange 0..40 : <40xi32>
  %r = expand_dims %range axis 1 : <40x1xi32>
  %rows = broadcast %r : <40x40xi32>
  %c = expand_dims %range axis 0 : <1x40xi32>
  %columns = broadcast %c : <40x40xi32>
  %forty = constant 40 : i32
  %forties = splat %forty : <40x40xi32>
  %scaled = mul %rows, %forties : <40x40xi32>
  %offsets = add %scaled, %columns : <40x40xi32>
  %turned = transpose %offsets [1, 0] : <40x40xi32>
  %xs = splat %x : <40x40x*i32>
  %from = add_pointer %xs, %offsets : <40x40x*i32>
  %to = add_pointer %xs, %turned : <40x40x*i32>
  %values = load %from : <40x40xi32>
  store %to, %values
}",
    );
    let before: Vec<i32> = (0..1600).collect();
    let mut x = before.clone();
    run(&program, [1, 1, 1], &[address(&mut x)]);
    for i in 0..40 {
        for j in 0..40 {
            assert_eq!(x[j * 40 + i], before[i * 40 + j]);
        }
    }
}

#[test]
fn indices_from_memory_gather_and_scatter() {
    let program = program(
        "kernel @permute(%x: *fp32, %index: *i64, %out: *fp32, %limit: i64) {
  %range = arange 0..2500 : <2500xi32>
  %is = splat %index : <2500x*i64>
  %ip = add_pointer %is, %range : <2500x*i64>
  %i = load %ip : <2500xi64>
  %xs = splat %x : <2500x*fp32>
  %xp = add_pointer %xs, %i : <2500x*fp32>
  %l = splat %limit : <2500xi64>
  %mask = compare lt %i, %l : <2500xi1>
  %minus = constant -1.0 : fp32
  %other = splat %minus : <2500xfp32>
  %v = load %xp mask %mask other %other : <2500xfp32>
  %os = splat %out : <2500x*fp32>
  %op = add_pointer %os, %i : <2500x*fp32>
  store %op, %v
}",
    );
    let mut random = Random(5);
    let mut x = random.floats(2500);
    let mut index: Vec<i64> = (0..2500).collect();
    for i in (1..2500).rev() {
        index.swap(i, random.below(i as u64 + 1) as usize);
    }
    let mut out = vec![f32::NAN; 2500];
    let limit = 1700;
    let arguments = [address(&mut x), address(&mut index), address(&mut out), limit as u64];
    let arrays = [
        ("const x", arguments[0], 4 * limit),
        ("const index", arguments[1], 8 * 2500),
        ("out", arguments[2], 4 * 2500),
    ];
    run_checked(&program, [1, 1, 1], &arguments, &arrays).expect("all accesses are masked");
    for i in 0..2500 {
        assert_eq!(out[i], if i < limit { x[i] } else { -1.0 });
    }
}

#[test]
fn an_access_out_of_bounds_is_named() {
    let program = program(&vector_add(64));
    let (mut x, mut y, mut out) = ([1.0f32; 100], [1.0f32; 100], [0.0f32; 100]);
    let arguments = [address(&mut x), address(&mut y), address(&mut out), 100];
    let array = |name, index: usize, elements: usize| (name, arguments[index], 4 * elements);
    let short = [array("x", 0, 100), array("y", 1, 90), array("out", 2, 100)];
    let error = run_checked(&program, [2, 1, 1], &arguments, &short).expect_err("y is too short");
    assert_eq!(error.program, [1, 0, 0]);
    assert!(error.message.starts_with("out-of-bounds load in lane (26)"), "{}", error.message);
    assert!(error.message.contains("byte 360 of `y`, which has 360 bytes"), "{}", error.message);
    let constant = [array("x", 0, 100), array("y", 1, 100), array("const out", 2, 100)];
    let error = run_checked(&program, [2, 1, 1], &arguments, &constant).expect_err("out is read-only");
    assert!(error.message.contains("not writable"), "{}", error.message);
}

#[test]
fn scalars_keep_program_order() {
    let program = program(
        "kernel @counter(%p: *i32, %q: *i32) {
  %range = arange 0..8 : <8xi32>
  %ps = splat %p : <8x*i32>
  %pp = add_pointer %ps, %range : <8x*i32>
  %block = load %pp : <8xi32>
  %one = constant 1 : i32
  %ones = splat %one : <8xi32>
  %more = add %block, %ones : <8xi32>
  store %pp, %more
  %first = load %p : i32
  %sum = add %first, %first : i32
  store %p, %sum
  %again = load %pp : <8xi32>
  %qs = splat %q : <8x*i32>
  %qp = add_pointer %qs, %range : <8x*i32>
  store %qp, %again
}",
    );
    let (mut p, mut q) = ([10, 11, 12, 13, 14, 15, 16, 17], [0; 8]);
    run(&program, [1, 1, 1], &[address(&mut p), address(&mut q)]);
    assert_eq!(q, [22, 12, 13, 14, 15, 16, 17, 18]);
    assert_eq!(p, q);
}

#[test]
fn masked_prefixes_of_every_length_in_place_or_not() {
    // What lies beyond the mask is `other`, which the maximum sees, and is not written.
    const BLOCK: usize = 131;
    let program = program(&format!(
        "kernel @below_maximum(%x: *fp32, %out: *fp32, %n: i32, %beyond: fp32) {{
  %range = arange 0..{BLOCK} : <{BLOCK}xi32>
  %ns = splat %n : <{BLOCK}xi32>
  %mask = compare lt %range, %ns : <{BLOCK}xi1>
  %xs = splat %x : <{BLOCK}x*fp32>
  %xp = add_pointer %xs, %range : <{BLOCK}x*fp32>
  %other = splat %beyond : <{BLOCK}xfp32>
  %a = load %xp mask %mask other %other : <{BLOCK}xfp32>
  %m = reduce %a axis 0 (%p, %q) {{
    %r = max %p, %q : fp32
    yield %r
  }} : fp32
  %ms = splat %m : <{BLOCK}xfp32>
  %d = sub %a, %ms : <{BLOCK}xfp32>
  %outs = splat %out : <{BLOCK}x*fp32>
  %op = add_pointer %outs, %range : <{BLOCK}x*fp32>
  store %op, %d mask %mask
}}"
    ));
    let mut random = Random(8);
    for n in 0..=BLOCK {
        for in_place in [false, true] {
            let mut x = random.floats(BLOCK + 1);
            let mut out = random.floats(BLOCK + 1);
            let before = x.clone();
            let kept = if in_place { before.clone() } else { out.clone() };
            let beyond = if n % 2 == 0 { 2.0f32 } else { -2.0 };
            let to = if in_place { address(&mut x) } else { address(&mut out) };
            run(&program, [1, 1, 1], &[address(&mut x), to, n as u64, u64::from(beyond.to_bits())]);
            let tail = if n < BLOCK { beyond } else { f32::NEG_INFINITY };
            let maximum = before[..n].iter().fold(tail, |a, &b| a.max(b));
            let written = if in_place { &x } else { &out };
            for i in 0..=BLOCK {
                let expected = if i < n { before[i] - maximum } else { kept[i] };
                assert_eq!(
                    written[i], expected,
                    "{n} of {BLOCK} elements, element {i}, in place: {in_place}"
                );
            }
        }
    }
}
