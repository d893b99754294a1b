//! Products of matrices: any extents, operands in either order of memory, accumulators.

use crate::harness::{Random, address, program, run};

/// `out = a @ b (+ c)`, where `a` is stored transposed if `turned`, and the products are repeated `times` times.
fn kernel(m: u32, n: u32, k: u32, element: &str, result: &str, turned: bool, times: u32) -> String {
    let (rows, columns) = if turned { (k, m) } else { (m, k) };
    let (a_count, b_count, c_count) = (m * k, k * n, m * n);
    let (loaded, a) = if turned {
        ("a0", format!("%a = transpose %a0 [1, 0] : <{m}x{k}x{element}>"))
    } else {
        ("a", String::new())
    };
    format!(
        "kernel @product(%ap: *{element}, %bp: *{element}, %cp: *{result}) {{
  %ar = arange 0..{a_count} : <{a_count}xi32>
  %as = splat %ap : <{a_count}x*{element}>
  %aa = add_pointer %as, %ar : <{a_count}x*{element}>
  %aq = reshape %aa : <{rows}x{columns}x*{element}>
  %{loaded} = load %aq : <{rows}x{columns}x{element}>
  {a}
  %br = arange 0..{b_count} : <{b_count}xi32>
  %bs = splat %bp : <{b_count}x*{element}>
  %ba = add_pointer %bs, %br : <{b_count}x*{element}>
  %bq = reshape %ba : <{k}x{n}x*{element}>
  %b = load %bq : <{k}x{n}x{element}>
  %cr = arange 0..{c_count} : <{c_count}xi32>
  %cs = splat %cp : <{c_count}x*{result}>
  %ca = add_pointer %cs, %cr : <{c_count}x*{result}>
  %cq = reshape %ca : <{m}x{n}x*{result}>
  %c = load %cq : <{m}x{n}x{result}>
  %lower = constant 0 : i32
  %upper = constant {times} : i32
  %step = constant 1 : i32
  %sum = for %i = %lower to %upper step %step carry (%acc = %c) {{
    %next = dot %a, %b acc %acc precision ieee : <{m}x{n}x{result}>
    yield %next
  }} : <{m}x{n}x{result}>
  store %cq, %sum
}}"
    )
}

const EXTENTS: [(u32, u32, u32); 7] =
    [(1, 1, 1), (16, 16, 16), (64, 64, 64), (1, 33, 70), (33, 1, 5), (7, 19, 1), (65, 130, 31)];

#[test]
fn floats_accumulate_in_their_accumulator() {
    let mut random = Random(20);
    for (m, n, k) in EXTENTS {
        for turned in [false, true] {
            let program = program(&kernel(m, n, k, "fp32", "fp32", turned, 3));
            let (mut a, mut b) = (random.floats((m * k) as usize), random.floats((k * n) as usize));
            let c = random.floats((m * n) as usize);
            let mut out = c.clone();
            run(&program, [1, 1, 1], &[address(&mut a), address(&mut b), address(&mut out)]);
            for i in 0..m as usize {
                for j in 0..n as usize {
                    let (m, n, k) = (m as usize, n as usize, k as usize);
                    let left = |l: usize| f64::from(if turned { a[l * m + i] } else { a[i * k + l] });
                    let product: f64 = (0..k).map(|l| left(l) * f64::from(b[l * n + j])).sum();
                    let expected = f64::from(c[i * n + j]) + 3.0 * product;
                    let found = f64::from(out[i * n + j]);
                    assert!((found - expected).abs() < 1e-4, "{m} {n} {k} {turned}: {found} {expected}");
                }
            }
        }
    }
}

#[test]
fn bytes_accumulate_exactly() {
    let mut random = Random(21);
    for (m, n, k) in EXTENTS {
        let program = program(&kernel(m, n, k, "i8", "i32", false, 2));
        let mut bytes = |count: u32| -> Vec<i8> { (0..count).map(|_| random.bits() as i8).collect() };
        let (mut a, mut b) = (bytes(m * k), bytes(k * n));
        let mut out = vec![-5i32; (m * n) as usize];
        run(&program, [1, 1, 1], &[address(&mut a), address(&mut b), address(&mut out)]);
        let (n, k) = (n as usize, k as usize);
        for (index, found) in out.iter().enumerate() {
            let (i, j) = (index / n, index % n);
            let product: i32 = (0..k).map(|l| i32::from(a[i * k + l]) * i32::from(b[l * n + j])).sum();
            assert_eq!(*found, 2 * product - 5);
        }
    }
}

#[test]
fn halves_and_doubles() {
    let mut random = Random(22);
    let (m, n, k) = (17, 20, 40);
    let (a, b) = (random.floats(m * k), random.floats(k * n));
    let halves = |x: &[f32]| -> Vec<half::f16> { x.iter().map(|&x| half::f16::from_f32(x)).collect() };
    let (mut a16, mut b16) = (halves(&a), halves(&b));
    let mut out = vec![0.0f32; m * n];
    let program16 = program(&kernel(17, 20, 40, "fp16", "fp32", true, 1));
    run(&program16, [1, 1, 1], &[address(&mut a16), address(&mut b16), address(&mut out)]);
    let double = |x: &[half::f16]| -> Vec<f64> { x.iter().map(|x| x.to_f64()).collect() };
    let (mut a64, mut b64) = (double(&a16), double(&b16));
    let mut out64 = vec![0.0f64; m * n];
    let program64 = program(&kernel(17, 20, 40, "fp64", "fp64", true, 1));
    run(&program64, [1, 1, 1], &[address(&mut a64), address(&mut b64), address(&mut out64)]);
    for index in 0..m * n {
        let (i, j) = (index / n, index % n);
        let expected: f64 = (0..k).map(|l| a64[l * m + i] * b64[l * n + j]).sum();
        assert!((out64[index] - expected).abs() < 1e-13);
        assert!((f64::from(out[index]) - expected).abs() < 1e-5);
    }
}

#[test]
fn batches() {
    let text = "kernel @batches(%p: *fp32, %out: *fp32) {
  %r = arange 0..60 : <60xi32>
  %s = splat %p : <60x*fp32>
  %q = add_pointer %s, %r : <60x*fp32>
  %q3 = reshape %q : <3x4x5x*fp32>
  %a = load %q3 : <3x4x5xfp32>
  %b = transpose %a [0, 2, 1] : <3x5x4xfp32>
  %d = dot %a, %b precision ieee : <3x4x4xfp32>
  %or = arange 0..48 : <48xi32>
  %o3 = reshape %or : <3x4x4xi32>
  %os = splat %out : <3x4x4x*fp32>
  %op = add_pointer %os, %o3 : <3x4x4x*fp32>
  store %op, %d
}";
    let mut x = Random(23).floats(60);
    let mut out = vec![f32::NAN; 48];
    run(&program(text), [1, 1, 1], &[address(&mut x), address(&mut out)]);
    for batch in 0..3 {
        for i in 0..4 {
            for j in 0..4 {
                let row = |i: usize, k: usize| f64::from(x[batch * 20 + i * 5 + k]);
                let expected: f64 = (0..5).map(|k| row(i, k) * row(j, k)).sum();
                assert!((f64::from(out[batch * 16 + i * 4 + j]) - expected).abs() < 1e-5);
            }
        }
    }
}
