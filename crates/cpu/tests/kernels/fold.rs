//! Reductions and scans: recognised functions, functions on tiles, functions with loops; every axis, odd extents.

use crate::harness::{Random, address, program, run};

/// A kernel that loads a block of `extents` from `%x`, applies `body` to `%v`, and stores `%r` of `result` extents to `%out`.
fn kernel(extents: &[u32], element: &str, body: &str, result: &[u32], result_element: &str) -> String {
    let ty = |extents: &[u32], element: &str| {
        let dimensions: String = extents.iter().map(|extent| format!("{extent}x")).collect();
        if extents.is_empty() { element.to_owned() } else { format!("<{dimensions}{element}>") }
    };
    let count: u32 = extents.iter().product();
    let results: u32 = result.iter().product();
    let store = if result.is_empty() {
        "store %out, %r".to_owned()
    } else {
        format!(
            "%ro = arange 0..{results} : <{results}xi32>
  %rs = reshape %ro : {}
  %os = splat %out : {}
  %op = add_pointer %os, %rs : {}
  store %op, %r",
            ty(result, "i32"),
            ty(result, &format!("*{result_element}")),
            ty(result, &format!("*{result_element}")),
        )
    };
    format!(
        "kernel @fold(%x: *{element}, %out: *{result_element}) {{
  %range = arange 0..{count} : <{count}xi32>
  %shaped = reshape %range : {}
  %xs = splat %x : {}
  %xp = add_pointer %xs, %shaped : {}
  %v = load %xp : {}
  {body}
  {store}
}}",
        ty(extents, "i32"),
        ty(extents, &format!("*{element}")),
        ty(extents, &format!("*{element}")),
        ty(extents, element),
    )
}

const SHAPES: [&[u32]; 6] = [&[1], &[37], &[2000], &[5, 1, 7], &[3, 17, 9], &[4, 8, 33]];

fn type_text(extents: &[u32], element: &str) -> String {
    let dimensions: String = extents.iter().map(|extent| format!("{extent}x")).collect();
    if extents.is_empty() { element.to_owned() } else { format!("<{dimensions}{element}>") }
}

/// Calls `check` with the elements along the axis, in order, for each line of the block, and the number of the line.
fn for_each_line(extents: &[u32], axis: usize, mut check: impl FnMut(usize, Vec<usize>)) {
    let product = |extents: &[u32]| extents.iter().product::<u32>() as usize;
    let (outer, length, inner) =
        (product(&extents[..axis]), extents[axis] as usize, product(&extents[axis + 1..]));
    for line in 0..outer * inner {
        let (o, i) = (line / inner, line % inner);
        check(line, (0..length).map(|k| (o * length + k) * inner + i).collect());
    }
}

#[test]
fn sums_along_every_axis() {
    let mut random = Random(10);
    for extents in SHAPES {
        for axis in 0..extents.len() {
            let mut result = extents.to_vec();
            result.remove(axis);
            let body = format!(
                "%r = reduce %v axis {axis} (%a, %b) {{ %s = add %a, %b : fp32 yield %s }} : {}",
                type_text(&result, "fp32")
            );
            let program = program(&kernel(extents, "fp32", &body, &result, "fp32"));
            let count = extents.iter().product::<u32>() as usize;
            let mut x = random.floats(count);
            let mut out = vec![f32::NAN; count];
            run(&program, [1, 1, 1], &[address(&mut x), address(&mut out)]);
            for_each_line(extents, axis, |line, elements| {
                let sum: f64 = elements.iter().map(|&element| f64::from(x[element])).sum();
                assert!(
                    (f64::from(out[line]) - sum).abs() < 1e-4,
                    "{extents:?} axis {axis}: {} {sum}",
                    out[line]
                );
            });
        }
    }
}

/// The composition of affine maps x -> p x + q modulo 2^32: associative, not commutative.
const COMPOSE: &str = "(%p, %q, %r0, %s0) {
    %m = mul %p, %r0 : u32
    %t = mul %q, %r0 : u32
    %u = add %t, %s0 : u32
    yield %m, %u
  }";

fn compose(a: (u32, u32), b: (u32, u32)) -> (u32, u32) {
    (a.0.wrapping_mul(b.0), a.1.wrapping_mul(b.0).wrapping_add(b.1))
}

#[test]
fn functions_on_tiles_keep_the_order() {
    let mut random = Random(11);
    for extents in SHAPES {
        for axis in 0..extents.len() {
            let mut result = extents.to_vec();
            result.remove(axis);
            let (full, less) = (type_text(extents, "u32"), type_text(&result, "u32"));
            let two = format!(
                "%three = constant 3 : u32\n  %k = splat %three : {full}\n  %w = add %v, %k : {full}"
            );
            let reduce = format!("{two}\n  %i, %r = reduce %v, %w axis {axis} {COMPOSE} : {less}, {less}");
            let count = extents.iter().product::<u32>() as usize;
            let mut x: Vec<u32> = (0..count).map(|_| random.bits() as u32).collect();
            let mut out = vec![0u32; count];
            let reduced = program(&kernel(extents, "u32", &reduce, &result, "u32"));
            run(&reduced, [1, 1, 1], &[address(&mut x), address(&mut out)]);
            let pair = |element: usize| (x[element], x[element].wrapping_add(3));
            for_each_line(extents, axis, |line, elements| {
                let expected = elements.iter().map(|&element| pair(element)).reduce(compose).unwrap();
                assert_eq!(out[line], expected.1, "{extents:?} axis {axis} line {line}");
            });
            for reverse in [false, true] {
                let word = if reverse { " reverse" } else { "" };
                let scan =
                    format!("{two}\n  %i, %r = scan %v, %w axis {axis}{word} {COMPOSE} : {full}, {full}");
                let scanned = program(&kernel(extents, "u32", &scan, extents, "u32"));
                out.fill(0);
                run(&scanned, [1, 1, 1], &[address(&mut { x.clone() }), address(&mut out)]);
                for_each_line(extents, axis, |_, mut elements| {
                    if reverse {
                        elements.reverse();
                    }
                    let mut prefix = None;
                    for element in elements {
                        let next = prefix.map_or(pair(element), |prefix| compose(prefix, pair(element)));
                        assert_eq!(
                            out[element], next.1,
                            "{extents:?} axis {axis} reverse {reverse} at {element}"
                        );
                        prefix = Some(next);
                    }
                });
            }
        }
    }
}

#[test]
fn prefix_sums_in_both_directions() {
    let mut random = Random(12);
    for extents in SHAPES {
        for axis in 0..extents.len() {
            for reverse in [false, true] {
                let full = type_text(extents, "i32");
                let word = if reverse { " reverse" } else { "" };
                let body = format!(
                    "%r = scan %v axis {axis}{word} (%a, %b) {{ %s = add %a, %b : i32 yield %s }} : {full}"
                );
                let program = program(&kernel(extents, "i32", &body, extents, "i32"));
                let count = extents.iter().product::<u32>() as usize;
                let mut x: Vec<i32> = (0..count).map(|_| random.bits() as i32).collect();
                let mut out = vec![0; count];
                run(&program, [1, 1, 1], &[address(&mut x), address(&mut out)]);
                for_each_line(extents, axis, |_, mut elements| {
                    if reverse {
                        elements.reverse();
                    }
                    let mut sum = 0i32;
                    for element in elements {
                        sum = sum.wrapping_add(x[element]);
                        assert_eq!(out[element], sum, "{extents:?} axis {axis} reverse {reverse}");
                    }
                });
            }
        }
    }
}

#[test]
fn branches_and_loops_in_a_combine_function() {
    // The greatest common divisor, by a loop; and the value of the larger key, by a branch.
    let gcd = "%r = reduce %v axis 0 (%a, %b) {
    %zero = constant 0 : u32
    %x0, %y0 = while carry (%p = %a, %q = %b) {
      %c = compare ne %q, %zero : i1
      yield %c, %p, %q
    } do (%m, %n) {
      %k = rem %m, %n : u32
      yield %n, %k
    } : u32, u32
    yield %x0
  } : u32";
    let mut x: Vec<u32> = (0..100).map(|i| 36 * (i * 7 + 5)).collect();
    let mut out = [0u32];
    run(&program(&kernel(&[100], "u32", gcd, &[], "u32")), [1, 1, 1], &[address(&mut x), address(&mut out)]);
    let divisor = |mut a: u32, mut b: u32| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    assert_eq!(out[0], x.iter().copied().reduce(divisor).unwrap());

    let largest = "%range2 = arange 0..100 : <100xi32>
  %key, %r = reduce %v, %range2 axis 0 (%k1, %i1, %k2, %i2) {
    %c = compare ge %k1, %k2 : i1
    %k, %i = if %c { yield %k1, %i1 } else { yield %k2, %i2 } : u32, i32
    yield %k, %i
  } : u32, i32";
    let mut random = Random(13);
    let mut x: Vec<u32> = (0..100).map(|_| random.below(40) as u32).collect();
    let mut out = [0i32];
    run(
        &program(&kernel(&[100], "u32", largest, &[], "i32")),
        [1, 1, 1],
        &[address(&mut x), address(&mut out)],
    );
    let greatest = *x.iter().max().unwrap();
    assert_eq!(out[0] as usize, x.iter().position(|&value| value == greatest).unwrap());
}

#[test]
fn a_map_with_and_without_a_loop() {
    let straight = "%r = map %v (%a) { %t = mul %a, %a : i32 %five = constant 5 : i32 %s = sub %t, %five : i32 yield %s } : <777xi32>";
    let looping = "%r = map %v (%a) {
    %zero = constant 0 : i32
    %one = constant 1 : i32
    %seven = constant 7 : i32
    %n = and %a, %seven : i32
    %f = for %i = %zero to %n step %one carry (%c = %one) {
      %j = add %i, %one : i32
      %d = mul %c, %j : i32
      yield %d
    } : i32
    yield %f
  } : <777xi32>";
    let mut random = Random(14);
    let mut x: Vec<i32> = (0..777).map(|_| random.below(100) as i32).collect();
    let mut out = vec![0; 777];
    run(
        &program(&kernel(&[777], "i32", straight, &[777], "i32")),
        [1, 1, 1],
        &[address(&mut x), address(&mut out)],
    );
    assert!(x.iter().zip(&out).all(|(x, out)| *out == x * x - 5));
    run(
        &program(&kernel(&[777], "i32", looping, &[777], "i32")),
        [1, 1, 1],
        &[address(&mut x), address(&mut out)],
    );
    assert!(x.iter().zip(&out).all(|(x, out)| *out == (1..=(x & 7)).product::<i32>()));
}
