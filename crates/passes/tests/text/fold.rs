use super::{becomes, stays};
use tegula_passes::fold;

#[test]
fn constants_are_computed() {
    becomes(
        fold,
        "%1 = constant 1024 : i32 %2 = constant 3 : i32 %3 = mul %1, %2 : i32 %4 = compare lt %3, %1 : i1
         store %q, %3 store %flags, %4",
        "%1 = constant 1024 : i32 %2 = constant 3 : i32 %3 = constant 3072 : i32 %4 = constant false : i1
         store %q, %3 store %flags, %4",
    );
    becomes(
        fold,
        "%1 = constant 2147483647 : i32 %2 = constant 1 : i32 %3 = add %1, %2 : i32 store %q, %3",
        "%1 = constant 2147483647 : i32 %2 = constant 1 : i32 %3 = constant -2147483648 : i32 store %q, %3",
    );
    becomes(
        fold,
        "%1 = constant 0.1 : fp32 %2 = constant 0.2 : fp32 %3 = add %1, %2 : fp32 store %p, %3",
        "%1 = constant 0.1 : fp32 %2 = constant 0.2 : fp32 %3 = constant 0.3 : fp32 store %p, %3",
    );
}

#[test]
fn what_back_ends_may_compute_differently_stays() {
    stays(fold, "%1 = constant 1.0 : fp32 %2 = exp %1 : fp32 store %p, %2");
    stays(fold, "%1 = constant 0.0 : fp32 %2 = constant -0.0 : fp32 %3 = min %1, %2 : fp32 store %p, %3");
    stays(fold, "%1 = constant 1e10 : fp32 %2 = cast %1 : i32 store %q, %2");
    stays(fold, "%1 = constant nan : fp32 %2 = bitcast %1 : i32 store %q, %2");
}

#[test]
fn integer_identities() {
    for (op, identity) in
        [("add", 0), ("sub", 0), ("or", 0), ("xor", 0), ("shl", 0), ("mul", 1), ("div", 1), ("and", -1)]
    {
        let constant = format!("%0 = constant {identity} : i32");
        becomes(
            fold,
            &format!("{constant} %1 = {op} %n, %0 : i32 store %q, %1"),
            &format!("{constant} store %q, %n"),
        );
    }
    for (op, absorbing) in
        [("mul", 0), ("and", 0), ("or", -1), ("div", 0), ("rem", 0), ("min", i32::MIN), ("max", i32::MAX)]
    {
        let constant = format!("%0 = constant {absorbing} : i32");
        becomes(
            fold,
            &format!("{constant} %1 = {op} %n, %0 : i32 store %q, %1"),
            &format!("{constant} store %q, %0"),
        );
    }
    becomes(fold, "%1 = sub %n, %n : i32 store %q, %1", "%1 = constant 0 : i32 store %q, %1");
    becomes(fold, "%1 = max %n, %n : i32 store %q, %1", "store %q, %n");
    stays(fold, "%1 = div %n, %n : i32 store %q, %1");
}

#[test]
fn float_identities_respect_zeros_and_nan() {
    for (op, number) in [("add", "-0.0"), ("sub", "0.0"), ("mul", "1.0"), ("div", "1.0")] {
        let constant = format!("%0 = constant {number} : fp32");
        becomes(
            fold,
            &format!("{constant} %1 = {op} %x, %0 : fp32 store %p, %1"),
            &format!("{constant} store %p, %x"),
        );
    }
    for (op, number) in [("add", "0.0"), ("sub", "-0.0"), ("mul", "0.0"), ("mul", "-1.0"), ("max", "-inf")] {
        stays(fold, &format!("%0 = constant {number} : fp32 %1 = {op} %x, %0 : fp32 store %p, %1"));
    }
    stays(fold, "%1 = sub %x, %x : fp32 store %p, %1");
    stays(fold, "%1 = div %x, %x : fp32 store %p, %1");
    stays(fold, "%1 = compare eq %x, %x : i1 store %flags, %1");
    stays(fold, "%1 = compare lt %x, %y : i1 %2 = not %1 : i1 store %flags, %2");
}

#[test]
fn integers_reassociate_and_floats_do_not() {
    becomes(
        fold,
        "%1 = constant 5 : i32 %2 = constant 7 : i32 %3 = add %n, %1 : i32 %4 = sub %3, %2 : i32 store %q, %4",
        "%1 = constant 5 : i32 %2 = constant 7 : i32 %3 = add %n, %1 : i32 %5 = constant -2 : i32 %4 = add %n, %5 : i32 store %q, %4",
    );
    becomes(
        fold,
        "%0 = constant 0 : i32 %1 = constant 1 : i32 %2 = sub %0, %n : i32 %3 = sub %2, %1 : i32 store %q, %3",
        "%0 = constant 0 : i32 %1 = constant 1 : i32 %2 = sub %0, %n : i32 %4 = constant -1 : i32 %3 = not %n : i32 store %q, %3",
    );
    stays(
        fold,
        "%1 = constant 5.0 : fp32 %2 = constant 7.0 : fp32 %3 = add %x, %1 : fp32 %4 = add %3, %2 : fp32 store %p, %4",
    );
}

#[test]
fn comparisons() {
    becomes(fold, "%1 = compare le %n, %n : i1 store %flags, %1", "%1 = constant true : i1 store %flags, %1");
    becomes(
        fold,
        "%0 = constant 0 : u32 %1 = compare ge %u, %0 : i1 store %flags, %1",
        "%0 = constant 0 : u32 %1 = constant true : i1 store %flags, %1",
    );
    becomes(
        fold,
        "%0 = constant 8 : i32 %1 = compare lt %0, %n : i1 %2 = not %1 : i1 store %flags, %2",
        "%0 = constant 8 : i32 %1 = compare gt %n, %0 : i1 %2 = compare le %n, %0 : i1 store %flags, %2",
    );
    becomes(
        fold,
        "%0 = constant true : i1 %1 = compare ne %c, %0 : i1 store %flags, %1",
        "%0 = constant true : i1 %1 = not %c : i1 store %flags, %1",
    );
}

#[test]
fn choices() {
    becomes(
        fold,
        "%1 = constant true : i1 %2 = select %1, %n, %m : i32 store %q, %2",
        "%1 = constant true : i1 store %q, %n",
    );
    becomes(fold, "%1 = select %c, %n, %n : i32 store %q, %1", "store %q, %n");
    becomes(
        fold,
        "%1 = not %c : i1 %2 = select %1, %n, %m : i32 store %q, %2",
        "%1 = not %c : i1 %2 = select %c, %m, %n : i32 store %q, %2",
    );
    becomes(
        fold,
        "%1 = constant true : i1 %2 = constant false : i1 %3 = select %c, %1, %2 : i1 store %flags, %3",
        "%1 = constant true : i1 %2 = constant false : i1 store %flags, %c",
    );
}

#[test]
fn casts() {
    becomes(
        fold,
        "%1 = cast %h : fp32 %2 = cast %1 : fp16 %3 = cast %2 : fp64 %4 = cast %3 : fp32 store %p, %4",
        "%1 = cast %h : fp32 %3 = cast %h : fp64 %4 = cast %h : fp32 store %p, %4",
    );
    becomes(
        fold,
        "%1 = cast %l : i32 %2 = cast %1 : i8 %3 = cast %2 : i32 store %q, %3",
        "%1 = cast %l : i32 %2 = cast %l : i8 %3 = cast %2 : i32 store %q, %3",
    );
    stays(fold, "%1 = cast %x : fp16 %2 = cast %1 : fp32 store %p, %2");
    // Integers wrap, floats saturate.
    stays(fold, "%1 = cast %n : fp64 %2 = cast %1 : i8 %3 = cast %2 : i32 store %q, %3");
    stays(fold, "%1 = cast %n : u64 %2 = cast %1 : fp32 store %p, %2");
    becomes(
        fold,
        "%1 = bitcast %n : fp32 %2 = bitcast %1 : i32 store %q, %2",
        "%1 = bitcast %n : fp32 store %q, %n",
    );
}

#[test]
fn equal_elements_are_computed_once() {
    becomes(
        fold,
        "%1 = splat %n : <64xi32> %2 = splat %m : <64xi32> %3 = mul %1, %2 : <64xi32>
         %4 = expand_dims %3 axis 0 : <1x64xi32> %5 = broadcast %4 : <8x64xi32> %6 = reshape %5 : <512xi32>
         %7 = arange 0..512 : <512xi32> %8 = add %6, %7 : <512xi32> print \"\" (%8)",
        "%1 = splat %n : <64xi32> %2 = splat %m : <64xi32> %s = mul %n, %m : i32 %3 = splat %s : <64xi32>
         %4 = splat %s : <1x64xi32> %5 = splat %s : <8x64xi32> %6 = splat %s : <512xi32>
         %7 = arange 0..512 : <512xi32> %8 = add %6, %7 : <512xi32> print \"\" (%8)",
    );
    becomes(
        fold,
        "%1 = arange 3..4 : <1xi32> print \"\" (%1)",
        "%0 = constant 3 : i32 %1 = splat %0 : <1xi32> print \"\" (%1)",
    );
    becomes(
        fold,
        "%1 = splat %p : <4x*fp32> %2 = load %1 : <4xfp32> print \"\" (%2)",
        "%1 = splat %p : <4x*fp32> %3 = load %p : fp32 %2 = splat %3 : <4xfp32> print \"\" (%2)",
    );
    becomes(
        fold,
        "%1 = splat %n : <4xi32> %2 = map %1 (%e) { %f = add %e, %m : i32 yield %f } : <4xi32> print \"\" (%2)",
        "%1 = splat %n : <4xi32> %f = add %n, %m : i32 %2 = splat %f : <4xi32> print \"\" (%2)",
    );
}

#[test]
fn promises_do_not_stand_in_the_way() {
    becomes(
        fold,
        "%1 = splat %n : <64xi32> %2 = annotate %1 multiple_of [16] : <64xi32> %3 = add %2, %2 : <64xi32> print \"\" (%3)",
        "%1 = splat %n : <64xi32> %4 = annotate %n multiple_of [16] : i32 %2 = splat %4 : <64xi32>
         %5 = add %4, %4 : i32 %3 = splat %5 : <64xi32> print \"\" (%3)",
    );
    becomes(
        fold,
        "%1 = constant 64 : i32 %2 = annotate %1 multiple_of [16] : i32 store %q, %2",
        "%1 = constant 64 : i32 store %q, %1",
    );
    becomes(fold, "%1 = constant true : i1 assume %1", "%1 = constant true : i1");
}

#[test]
fn rearrangements() {
    let blocks = "%0 = arange 0..6 : <6xi32> %1 = reshape %0 : <2x3xi32>";
    becomes(
        fold,
        &format!(
            "{blocks} %2 = transpose %1 [1, 0] : <3x2xi32> %3 = transpose %2 [1, 0] : <2x3xi32> print \"\" (%3)"
        ),
        &format!("{blocks} %2 = transpose %1 [1, 0] : <3x2xi32> print \"\" (%1)"),
    );
    becomes(
        fold,
        &format!("{blocks} %2 = reshape %1 : <3x2xi32> %3 = reshape %2 : <6xi32> print \"\" (%3)"),
        &format!("{blocks} %2 = reshape %0 : <3x2xi32> print \"\" (%0)"),
    );
    becomes(
        fold,
        &format!(
            "{blocks} %2 = join %1, %1 : <2x3x2xi32> %3, %4 = split %2 : <2x3xi32>, <2x3xi32> print \"\" (%3, %4)"
        ),
        &format!("{blocks} %2 = join %1, %1 : <2x3x2xi32> print \"\" (%1, %1)"),
    );
    becomes(
        fold,
        &format!("{blocks} %2 = slice %0 [1] : <4xi32> %3 = slice %2 [2] : <2xi32> print \"\" (%3)"),
        &format!("{blocks} %2 = slice %0 [1] : <4xi32> %3 = slice %0 [3] : <2xi32> print \"\" (%3)"),
    );
    becomes(
        fold,
        "%0 = splat %x : <1x4xfp32> %1 = arange 0..4 : <4xi32> %2 = cast %1 : <4xfp32> %3 = reshape %2 : <1x4xfp32>
         %4 = reduce %3 axis 0 (%a, %b) { %s = add %a, %b : fp32 yield %s } : <4xfp32> print \"\" (%4)",
        "%0 = splat %x : <1x4xfp32> %1 = arange 0..4 : <4xi32> %2 = cast %1 : <4xfp32> %3 = reshape %2 : <1x4xfp32>
         print \"\" (%2)",
    );
}

#[test]
fn pointers_move_once() {
    becomes(
        fold,
        "%1 = constant 4 : i32 %2 = add_pointer %p, %1 : *fp32 %3 = add_pointer %2, %1 : *fp32 store %3, %x",
        "%1 = constant 4 : i32 %2 = add_pointer %p, %1 : *fp32 %4 = constant 8 : i32 %3 = add_pointer %p, %4 : *fp32 store %3, %x",
    );
    // A sum that wraps is another offset.
    stays(
        fold,
        "%1 = constant 2147483647 : i32 %2 = add_pointer %p, %1 : *fp32 %3 = add_pointer %2, %1 : *fp32 store %3, %x",
    );
    becomes(
        fold,
        "%1 = constant 0 : i32 %2 = add_pointer %p, %1 : *fp32 store %2, %x",
        "%1 = constant 0 : i32 store %p, %x",
    );
}

#[test]
fn masks() {
    let block =
        "%t = constant true : i1 %f = constant false : i1 %o = constant 0.0 : fp32 %a = arange 0..4 : <4xi32>
        %s = splat %p : <4x*fp32> %r = add_pointer %s, %a : <4x*fp32>
        %all = splat %t : <4xi1> %none = splat %f : <4xi1> %zero = splat %o : <4xfp32>";
    becomes(
        fold,
        &format!("{block} %1 = load %r mask %all other %zero : <4xfp32> store %r, %1 mask %all"),
        &format!("{block} %1 = load %r : <4xfp32> store %r, %1"),
    );
    becomes(
        fold,
        &format!(
            "{block} %1 = load %r mask %none other %zero : <4xfp32> store %r, %1 store %r, %zero mask %none"
        ),
        &format!("{block} store %r, %zero"),
    );
    becomes(
        fold,
        &format!("{block} %k = splat %c : <4xi1> %1 = load %r mask %k other %zero : <4xfp32> store %r, %1"),
        &format!("{block} %k = splat %c : <4xi1> %1 = load %r mask %k : <4xfp32> store %r, %1"),
    );
}

#[test]
fn branches() {
    becomes(
        fold,
        "%t = constant true : i1 %1 = if %t { store %p, %x yield %n } else { store %p, %y yield %m } : i32 store %q, %1",
        "%t = constant true : i1 store %p, %x store %q, %n",
    );
    let mut function = super::kernel(
        "%1, %2 = if %c { %a = constant 3 : i32 store %p, %x yield %n, %a } else { %b = constant 3 : i32 yield %n, %b } : i32, i32
         store %q, %1 store %q, %2",
    );
    fold(&mut function);
    let expected = super::kernel(
        "%4 = constant 3 : i32
         %1, %2 = if %c { %a = constant 3 : i32 store %p, %x yield %n, %a } else { %b = constant 3 : i32 yield %n, %b } : i32, i32
         store %q, %n store %q, %4",
    );
    assert_eq!(function.to_string(), expected.to_string());
}

#[test]
fn loops_that_run_never_or_once() {
    let bounds = "%0 = constant 0 : i32 %1 = constant 1 : i32 %8 = constant 8 : i32 %16 = constant 16 : i32";
    becomes(
        fold,
        &format!(
            "{bounds} %2 = for %i = %8 to %8 step %1 carry (%a = %n) {{ store %q, %i yield %i }} : i32 store %q, %2"
        ),
        &format!("{bounds} store %q, %n"),
    );
    becomes(
        fold,
        &format!(
            "{bounds} %2 = for %i = %8 to %16 step %8 carry (%a = %n) {{ store %q, %a yield %i }} : i32 store %q, %2"
        ),
        &format!("{bounds} store %q, %n store %q, %8"),
    );
    stays(
        fold,
        &format!(
            "{bounds} %2 = for %i = %0 to %16 step %8 carry (%a = %n) {{ store %q, %a yield %i }} : i32 store %q, %2"
        ),
    );
    // The next index would be -128, and the loop would go on.
    stays(
        fold,
        "%0 = constant 100 : i8 %1 = constant 120 : i8 %2 = constant 28 : i8 for %i = %0 to %1 step %2 { barrier }",
    );
    becomes(
        fold,
        "%f = constant false : i1 %1 = while carry (%a = %n) { store %q, %a yield %f, %m } do (%b) { yield %b } : i32 store %q, %1",
        "%f = constant false : i1 store %q, %n store %q, %m",
    );
}

#[test]
fn what_loops_carry_unchanged_is_known() {
    let mut function = super::kernel(
        "%1, %2 = for %i = %n to %m step %n carry (%a = %x, %b = %y) { %s = add %a, %b : fp32 yield %a, %s } : fp32, fp32
         store %p, %1 store %p, %2",
    );
    fold(&mut function);
    let expected = super::kernel(
        "%1, %2 = for %i = %n to %m step %n carry (%a = %x, %b = %y) { %s = add %x, %b : fp32 yield %x, %s } : fp32, fp32
         store %p, %x store %p, %2",
    );
    assert_eq!(function.to_string(), expected.to_string());
    let mut function = super::kernel(
        "%1, %2 = while carry (%a = %n, %b = %m) { %t = compare lt %b, %a : i1 yield %t, %b, %a }
         do (%v, %w) { %s = add %v, %w : i32 yield %w, %s } : i32, i32 store %q, %1 store %q, %2",
    );
    fold(&mut function);
    let expected = super::kernel(
        "%1, %2 = while carry (%a = %n, %b = %m) { %t = compare lt %b, %n : i1 yield %t, %b, %n }
         do (%v, %w) { %s = add %v, %n : i32 yield %n, %s } : i32, i32 store %q, %1 store %q, %n",
    );
    assert_eq!(function.to_string(), expected.to_string());
}
