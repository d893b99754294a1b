//! Shape operations on every representation of a block.

use crate::harness::{address, program, run};

/// Stores `%r`, a block of 24 int32 in whatever shape, after `body`; `%a` is an affine block of 24 elements, `%d` a
/// loaded one, `%e` a computed one, `%s` a splat, each of shape 2 x 3 x 4. `%x` holds 0, 1, 2, ...
fn kernel(body: &str) -> String {
    format!(
        "kernel @shape(%x: *i32, %out: *i32) {{
  %range = arange 0..24 : <24xi32>
  %a = reshape %range : <2x3x4xi32>
  %xs = splat %x : <2x3x4x*i32>
  %xp = add_pointer %xs, %a : <2x3x4x*i32>
  %d = load %xp : <2x3x4xi32>
  %e = xor %d, %d : <2x3x4xi32>
  %e2 = add %e, %d : <2x3x4xi32>
  %seven = constant 7 : i32
  %s = splat %seven : <2x3x4xi32>
  {body}
  %flat = reshape %r : <24xi32>
  %os = splat %out : <24x*i32>
  %op = add_pointer %os, %range : <24x*i32>
  store %op, %flat
}}"
    )
}

fn result(body: &str) -> Vec<i32> {
    let mut x: Vec<i32> = (0..24).collect();
    let mut out = vec![-1; 24];
    run(&program(&kernel(body)), [1, 1, 1], &[address(&mut x), address(&mut out)]);
    out
}

/// Elements of the 2 x 3 x 4 block in the order that indices come.
fn gather(index: impl Fn(usize) -> [usize; 3]) -> Vec<i32> {
    (0..24).map(index).map(|[i, j, k]| (i * 12 + j * 4 + k) as i32).collect()
}

#[test]
fn transposes_and_reshapes() {
    for source in ["a", "d", "e2"] {
        let turned = result(&format!("%r = transpose %{source} [2, 0, 1] : <4x2x3xi32>"));
        assert_eq!(turned, gather(|n| [n / 3 % 2, n % 3, n / 6]), "{source}");
        let body = format!("%t = transpose %{source} [1, 2, 0] : <3x4x2xi32>\n  %r = reshape %t : <6x4xi32>");
        assert_eq!(result(&body), gather(|n| [n % 2, n / 8, n / 2 % 4]), "{source}");
    }
    assert_eq!(result("%r = transpose %s [2, 1, 0] : <4x3x2xi32>"), vec![7; 24]);
}

#[test]
fn slices_and_concatenation() {
    for source in ["a", "d", "e2"] {
        let body = format!(
            "%l = slice %{source} [0, 0, 0] : <2x1x4xi32>
  %h = slice %{source} [0, 1, 0] : <2x2x4xi32>
  %r = concatenate %h, %l axis 1 : <2x3x4xi32>"
        );
        assert_eq!(result(&body), gather(|n| [n / 12, (n / 4 + 1) % 3, n % 4]), "{source}");
    }
}

#[test]
fn join_and_split() {
    for source in ["a", "d", "e2"] {
        let body = format!(
            "%p = reshape %{source} : <3x4x2xi32>
  %even, %odd = split %p : <3x4xi32>, <3x4xi32>
  %r = join %odd, %even : <3x4x2xi32>"
        );
        let expected: Vec<i32> = (0..24).map(|n| n ^ 1).collect();
        assert_eq!(result(&body), expected, "{source}");
    }
}

#[test]
fn indexing_and_broadcasting() {
    for source in ["a", "d", "e2"] {
        let body = format!(
            "%two = constant 2 : i32
  %i = index %{source}, %two axis 1 : <2x4xi32>
  %x0 = expand_dims %i axis 1 : <2x1x4xi32>
  %r = broadcast %x0 : <2x3x4xi32>"
        );
        assert_eq!(result(&body), gather(|n| [n / 12, 2, n % 4]), "{source}");
    }
}

#[test]
fn gathers_along_an_axis() {
    let body = "%three = constant 3 : i32
  %m = splat %three : <2x3x4xi32>
  %index = rem %e2, %m : <2x3x4xi32>
  %r = gather %d, %index axis 1 : <2x3x4xi32>";
    assert_eq!(result(body), gather(|n| [n / 12, n % 3, n % 4]));
}

#[test]
fn histograms_count_what_is_in_range_and_not_masked() {
    let body = "%flat0 = reshape %d : <24xi32>
  %five = constant 5 : i32
  %m = splat %five : <24xi32>
  %v = rem %flat0, %m : <24xi32>
  %twenty = constant 20 : i32
  %l = splat %twenty : <24xi32>
  %mask = compare lt %flat0, %l : <24xi1>
  %h = histogram %v mask %mask : <4xi32>
  %h1 = expand_dims %h axis 0 : <1x4xi32>
  %r = broadcast %h1 : <6x4xi32>";
    assert_eq!(result(body), vec![4; 24]);
}
