//! The text form: everything is written, and read back the same.

use tegula_ir::{Function, verify};

/// Parses, verifies, prints, and compares with the text itself.
fn round_trip(text: &str) {
    let function = Function::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&function).unwrap_or_else(|diagnostics| panic!("{diagnostics:?}\n{text}"));
    assert_eq!(function.to_string(), text);
}

#[test]
fn memory_and_arithmetic() {
    round_trip(
        "kernel @vector_add(%x_ptr: *fp32 {divisible 16}, %out: *fp32, %n: i32) {
  %0 = program_id 0 : i32
  %1 = constant 1024 : i32
  %2 = mul %0, %1 : i32
  %3 = arange 0..1024 : <1024xi32>
  %4 = splat %2 : <1024xi32>
  %5 = add %4, %3 : <1024xi32>
  %6 = splat %x_ptr : <1024x*fp32>
  %7 = add_pointer %6, %5 : <1024x*fp32>
  %8 = splat %n : <1024xi32>
  %9 = compare lt %5, %8 : <1024xi1>
  %10 = load %7 mask %9 cache cg evict first volatile : <1024xfp32>
  %11 = load %7 mask %9 other %10 : <1024xfp32>
  %12 = exp2 %11 : <1024xfp32>
  %13 = fma %12, %11, %10 : <1024xfp32>
  %14 = cast %13 towards_zero : <1024xbf16>
  %15 = cast %14 : <1024xfp32>
  %16 = select %9, %15, %10 : <1024xfp32>
  %17 = splat %out : <1024x*fp32>
  %18 = add_pointer %17, %5 : <1024x*fp32>
  store %18, %16 mask %9 cache wb evict last
  %19 = atomic add %18, %16 mask %9 order relaxed scope system : <1024xfp32>
  %20 = atomic_cas %18, %16, %19 order acquire : <1024xfp32>
  %21 = annotate %5 multiple_of [1024] : <1024xi32>
  %22 = annotate %21 max_contiguous [1024] : <1024xi32>
  barrier
  assume %9
  assert %9, \"in \\\"range\\\"\\n\\\\\\u{7f}é\" mask %9
  print \"x =\" hex (%22, %16)
  print \"\"
}
",
    );
}

#[test]
fn assembly() {
    round_trip(
        "kernel @texts(%x: fp32, %n: i32) {
  %0 = splat %x : <64xfp32>
  %1 = splat %n : <64xi32>
  %2, %3 = assembly \"{ min.f32 $0, $2, $4;\\n\\tmov.b32 $1, $3; }\" \"=f,=r,f,r,f\" pack 1 pure (%0, %1, %0) : <64xfp32>, <64xi32>
  %4 = assembly \"mov.u64 $0, %globaltimer;\" \"=l\" pack 1 : i64
}
",
    );
}

#[test]
fn control_flow() {
    round_trip(
        "kernel @loops(%n: i32, %\"x.0\": fp32, %flag: i1) {
  %0 = constant 0 : i32
  %1 = constant 1 : i32
  %2, %3 = for %4 = %0 to %n step %1 carry (%5 = %x.0, %6 = %0) num_stages 3 unroll 2 flatten disable_licm {
    %7 = add %5, %5 : fp32
    for %8 = %4 to %n step %1 {
    }
    yield %7, %4
  } : fp32, i32
  %9 = while carry (%10 = %n) {
    %11 = compare gt %10, %0 : i1
    yield %11, %10
  } do (%12) {
    %13 = sub %12, %1 : i32
    yield %13
  } : i32
  %14, %15 = if %flag {
    yield %2, %9
  } else {
    yield %x.0, %3
  } : fp32, i32
  if %flag {
    barrier
  }
  while {
    yield %flag
  } do {
  }
}
"
        .replace("%x.0", "%\"x.0\"")
        .as_str(),
    );
}

#[test]
fn shapes_and_regions() {
    round_trip(
        "kernel @shapes(%p: **kfp16, %s: u8) {
  %0 = splat %s : <3x5xu8>
  %1 = expand_dims %0 axis 1 : <3x1x5xu8>
  %2 = broadcast %1 : <3x4x5xu8>
  %3 = transpose %2 [2, 0, 1] : <5x3x4xu8>
  %4 = reshape %3 : <60xu8>
  %5 = join %4, %4 : <60x2xu8>
  %6, %7 = split %5 : <60xu8>, <60xu8>
  %8 = concatenate %6, %7 axis 0 : <120xu8>
  %9 = slice %8 [7] : <13xu8>
  %10 = constant 3 : i64
  %11 = index %9, %10 axis 0 : u8
  %12 = gather %8, %9 axis 0 : <13xu8>
  %13 = histogram %12 : <7xi32>
  %14, %15 = reduce %0, %2 axis 0 (%16, %17, %18, %19) {
    %20 = max %16, %18 : u8
    yield %20, %17
  } : <5xu8>, <5xu8>
  %21 = scan %13 axis 0 reverse (%22, %23) {
    %24 = add %22, %23 : i32
    yield %24
  } : <7xi32>
  %25 = map %13, %21 (%26, %27) {
    %28 = compare lt %26, %27 : i1
    yield %28
  } : <7xi1>
  %29 = load %p : *kfp16
  %30 = load %29 : fp16
  %31 = splat %30 : <4x4xfp16>
  %32 = dot %31, %31 precision ieee : <4x4xfp32>
  %33 = dot %31, %31 acc %32 : <4x4xfp32>
}
"
        .replace("reduce %0, %2", "reduce %0, %0")
        .as_str(),
    );
}

#[test]
fn literals_are_exact() {
    round_trip(
        "kernel @literals() {
  %0 = constant true : i1
  %1 = constant -128 : i8
  %2 = constant 18446744073709551615 : u64
  %3 = constant -9223372036854775808 : i64
  %4 = constant 0.1 : fp32
  %5 = constant 0.1 : fp64
  %6 = constant 1e-45 : fp32
  %7 = constant 5e-324 : fp64
  %8 = constant nan : fp16
  %9 = constant -inf : bf16
  %10 = constant -0.0 : fp32
  %11 = constant 0.0999755859375 : fp16
  %12 = constant 448.0 : fp8e4nv
  %13 = constant inf : fp8e5
  %14 = constant 3.4028235e38 : fp32
}
",
    );
}

#[test]
fn spans_are_written_on_request() {
    let text = "kernel @spans() {\n  barrier loc(1:20:30)\n  %0 = constant 1 : i32 loc(0:0:4)\n}\n";
    let function = Function::parse(text).unwrap();
    assert_eq!(format!("{function:#}"), text);
    assert_eq!(function.to_string(), "kernel @spans() {\n  barrier\n  %0 = constant 1 : i32\n}\n");
}

#[test]
fn names_of_the_text_do_not_matter() {
    let written = "kernel @f(%n: i32) { // a comment\n %sum = add %n, %n : i32 %b = constant 010 : i32 }";
    let printed = "kernel @f(%n: i32) {\n  %0 = add %n, %n : i32\n  %1 = constant 10 : i32\n}\n";
    assert_eq!(Function::parse(written).unwrap().to_string(), printed);
}

#[test]
fn errors_have_a_place() {
    let cases = [
        ("kernel @f() {\n  %0 = ad %1 : i32\n}", "2:8: there is no operation `ad`"),
        ("kernel @f() {\n  %0 = not %1 : i32\n}", "2:13: %1 is not defined"),
        ("kernel @f(%n: i33) {}", "1:15: expected a type, found `i33`"),
        ("kernel @f() {\n  %0 = constant 300 : u9\n}", "2:23: expected a type, found `u9`"),
        ("kernel @f() {\n  %0 = constant 1.5 : i32\n}", "2:17: `1.5` is no value of type i32"),
        ("kernel @f(%n: i32) {\n  %a, %b = not %n : i32\n}", "2:24: `not` has 2 results and 1 types"),
        ("kernel @f() {} x", "1:16: expected the end of the text"),
        ("kernel @f() {\n barrier", "2:9: expected an operation, found ``"),
        ("kernel @f(%n: i32) { %n = not %n : i32 }", "1:24: %n is defined twice"),
    ];
    for (text, expected) in cases {
        let error = Function::parse(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn deep_nesting_is_refused_and_not_overflowed() {
    let text = format!("kernel @f(%c: i1) {{ {}", "if %c {".repeat(100_000));
    let error = Function::parse(&text).unwrap_err();
    assert!(error.message.contains("nested"), "{error}");
}
