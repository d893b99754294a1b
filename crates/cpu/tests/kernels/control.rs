//! Loops, branches, and values that only some programs compute.

use crate::harness::{address, program, run};
use tegula_cpu::LaunchOptions;

#[test]
fn loops_count_up_and_down_and_not_at_all() {
    let program = program(
        "kernel @count(%lower: i32, %upper: i32, %step: i32, %out: *i32) {
  %zero = constant 0 : i32
  %sum, %last = for %i = %lower to %upper step %step carry (%a = %zero, %b = %zero) {
    %n = add %a, %i : i32
    yield %n, %i
  } : i32, i32
  store %out, %sum
  %one = constant 1 : i32
  %next = add_pointer %out, %one : *i32
  store %next, %last
}",
    );
    let cases = [
        (0, 10, 1, [45, 9]),
        (0, 10, 3, [18, 9]),
        (10, 0, -4, [18, 2]),
        (5, 5, 1, [0, 0]),
        (5, 3, 1, [0, 0]),
        (i32::MAX - 2, i32::MAX, 2, [i32::MAX - 2, i32::MAX - 2]),
    ];
    for (lower, upper, step, expected) in cases {
        let mut out = [-1; 2];
        let arguments = [lower as u64, upper as u64, step as i64 as u64, address(&mut out)];
        run(&program, [1, 1, 1], &arguments);
        assert_eq!(out, expected, "{lower} to {upper} step {step}");
    }
}

#[test]
fn carried_blocks_may_change_places() {
    let program = program(
        "kernel @fibonacci(%n: i32, %x: *i64) {
  %zero = constant 0 : i32
  %one = constant 1 : i32
  %range = arange 0..100 : <100xi32>
  %xs = splat %x : <100x*i64>
  %xp = add_pointer %xs, %range : <100x*i64>
  %v = load %xp : <100xi64>
  %wide = cast %range : <100xi64>
  %a, %b = for %i = %zero to %n step %one carry (%p = %v, %q = %wide) {
    %s = add %p, %q : <100xi64>
    yield %q, %s
  } : <100xi64>, <100xi64>
  store %xp, %b
}",
    );
    let mut x: Vec<i64> = (0..100).map(|i| 3 * i + 1).collect();
    let before = x.clone();
    run(&program, [1, 1, 1], &[20, address(&mut x)]);
    for i in 0..100 {
        let (mut p, mut q) = (before[i], i as i64);
        for _ in 0..20 {
            (p, q) = (q, p + q);
        }
        assert_eq!(x[i], q);
    }
}

#[test]
fn branches_yield_blocks() {
    let program = program(
        "kernel @branches(%out: *fp32) {
  %pid = program_id 0 : i32
  %two = constant 2 : i32
  %odd = rem %pid, %two : i32
  %zero = constant 0 : i32
  %is_odd = compare ne %odd, %zero : i1
  %range = arange 0..48 : <48xi32>
  %floats = cast %range : <48xfp32>
  %r = if %is_odd {
    %d = add %floats, %floats : <48xfp32>
    yield %d
  } else {
    yield %floats
  } : <48xfp32>
  %n = constant 48 : i32
  %start = mul %pid, %n : i32
  %base = add_pointer %out, %start : *fp32
  %bs = splat %base : <48x*fp32>
  %bp = add_pointer %bs, %range : <48x*fp32>
  store %bp, %r
}",
    );
    // Results must not depend on the number of threads.
    for threads in [1, 2, 5] {
        let mut out = vec![f32::NAN; 48 * 1000];
        let options = LaunchOptions { threads: Some(threads), ..LaunchOptions::default() };
        // SAFETY: the array has 48 elements a program.
        unsafe { program.launch([1000, 1, 1], &[address(&mut out)], &options) }.expect("nothing stops it");
        for (index, value) in out.iter().enumerate() {
            let (pid, lane) = (index / 48, index % 48);
            assert_eq!(*value, ((pid % 2 + 1) * lane) as f32);
        }
    }
}

#[test]
fn a_grid_in_three_dimensions() {
    let program = program(
        "kernel @ids(%out: *i32) {
  %x = program_id 0 : i32
  %y = program_id 1 : i32
  %z = program_id 2 : i32
  %nx = num_programs 0 : i32
  %ny = num_programs 1 : i32
  %zy = mul %z, %ny : i32
  %zyy = add %zy, %y : i32
  %zyx = mul %zyy, %nx : i32
  %linear = add %zyx, %x : i32
  %p = add_pointer %out, %linear : *i32
  %old = load %p : i32
  %new = add %old, %linear : i32
  store %p, %new
}",
    );
    let mut out = vec![1; 7 * 5 * 300];
    run(&program, [7, 5, 300], &[address(&mut out)]);
    assert!(out.iter().enumerate().all(|(index, &value)| value == index as i32 + 1));
}

#[test]
fn a_failed_assertion_stops_the_launch() {
    let program = program(
        "kernel @check(%x: *i32) {
  %pid = program_id 0 : i32
  %range = arange 0..10 : <10xi32>
  %xs = splat %x : <10x*i32>
  %xp = add_pointer %xs, %range : <10x*i32>
  %v = load %xp : <10xi32>
  %zero = constant 0 : i32
  %zeros = splat %zero : <10xi32>
  %ok = compare ge %v, %zeros : <10xi1>
  assert %ok, \"negative\"
}",
    );
    let mut x = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    run(&program, [3, 1, 1], &[address(&mut x)]);
    x[6] = -1;
    // SAFETY: the array has ten elements.
    let error = unsafe { program.launch([3, 1, 1], &[address(&mut x)], &LaunchOptions::default()) };
    assert_eq!(
        error.expect_err("an element is negative").message,
        "device assertion failed in lane (6): negative"
    );
}

#[test]
fn a_wrong_number_of_arguments_is_refused() {
    let program = program("kernel @nothing(%n: i32) {\n}");
    // SAFETY: the kernel does nothing.
    let error = unsafe { program.launch([1, 1, 1], &[], &LaunchOptions::default()) };
    assert_eq!(error.expect_err("an argument is missing").message, "0 arguments for 1 parameters");
}
