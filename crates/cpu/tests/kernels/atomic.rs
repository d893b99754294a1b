//! Atomic operations from many programs at once.

use crate::harness::{address, program, run};

fn kernel(element: &str, op: &str) -> String {
    format!(
        "kernel @many(%out: *{element}) {{
  %pid = program_id 0 : i32
  %range = arange 0..6 : <6xi32>
  %p0 = splat %pid : <6xi32>
  %v0 = add %p0, %range : <6xi32>
  %v = cast %v0 : <6x{element}>
  %three = constant 3 : i32
  %m = splat %three : <6xi32>
  %target = rem %range, %m : <6xi32>
  %os = splat %out : <6x*{element}>
  %op = add_pointer %os, %target : <6x*{element}>
  %five = constant 5 : i32
  %limit = splat %five : <6xi32>
  %mask = compare lt %range, %limit : <6xi1>
  %old = atomic {op} %op, %v mask %mask : <6x{element}>
}}"
    )
}

const PROGRAMS: u32 = 3000;

/// What each of three elements collects: lanes 0 and 3, 1 and 4, 2.
fn operands(target: i64) -> impl Iterator<Item = i64> {
    let lanes = if target < 2 { vec![target, target + 3] } else { vec![2] };
    (0..i64::from(PROGRAMS)).flat_map(move |pid| lanes.clone().into_iter().map(move |lane| pid + lane))
}

#[test]
fn sums_of_every_width() {
    macro_rules! check {
        ($($ty:ty: $name:literal),*) => {$({
            let mut out: [$ty; 4] = [0 as $ty; 4];
            run(&program(&kernel($name, "add")), [PROGRAMS, 1, 1], &[address(&mut out)]);
            for target in 0..3 {
                let sum = operands(target).fold(0 as $ty, |sum, value| sum.wrapping_add(value as $ty));
                assert_eq!(out[target as usize], sum, $name);
            }
            assert_eq!(out[3], 0 as $ty, "the neighbour is untouched");
        })*};
    }
    check!(i8: "i8", u8: "u8", i16: "i16", i32: "i32", u32: "u32", i64: "i64", u64: "u64");
    let mut out = [0.0f64; 3];
    run(&program(&kernel("fp64", "add")), [PROGRAMS, 1, 1], &[address(&mut out)]);
    for target in 0..3 {
        assert_eq!(out[target as usize], operands(target).sum::<i64>() as f64);
    }
}

#[test]
fn extremes() {
    let mut out = [0.0f32; 3];
    run(&program(&kernel("fp32", "max")), [PROGRAMS, 1, 1], &[address(&mut out)]);
    for target in 0..3 {
        assert_eq!(out[target as usize], operands(target).max().unwrap() as f32);
    }
    let mut out = [i16::MAX; 3];
    run(&program(&kernel("i16", "min")), [PROGRAMS, 1, 1], &[address(&mut out)]);
    for target in 0..3 {
        assert_eq!(
            i64::from(out[target as usize]),
            operands(target).map(|value| i64::from(value as i16)).min().unwrap()
        );
    }
}

#[test]
fn a_lock_by_compare_and_swap() {
    let program = program(
        "kernel @ticket(%counter: *i32, %seen: *i32) {
  %one = constant 1 : i32
  %zero = constant 0 : i32
  %mine, %last = while carry (%a = %zero, %b = %one) {
    %c = compare ne %a, %b : i1
    yield %c, %a, %b
  } do (%x, %y) {
    %now = atomic add %counter, %zero : i32
    %next = add %now, %one : i32
    %old = atomic_cas %counter, %now, %next : i32
    yield %now, %old
  } : i32, i32
  %p = add_pointer %seen, %mine : *i32
  %count = atomic add %p, %one : i32
}",
    );
    let (mut counter, mut seen) = ([0], vec![0; 2000]);
    run(&program, [2000, 1, 1], &[address(&mut counter), address(&mut seen)]);
    assert_eq!(counter[0], 2000);
    assert!(seen.iter().all(|&count| count == 1), "every ticket is drawn once");
}
