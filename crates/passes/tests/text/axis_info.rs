use super::{kernel, named};
use tegula_passes::{AxisAnalysis, AxisInfo};

/// What is known of the value that the body prints as `v`.
fn info(body: &str) -> AxisInfo {
    let function = kernel(body);
    let value = named(&function)["v"];
    AxisAnalysis::new(&function).of(value).clone()
}

/// Contiguity, constancy and divisibility along a dimension.
fn facts(body: &str, dimension: usize) -> (u32, u32, u64) {
    let info = info(body);
    (info.contiguity(dimension), info.constancy(dimension), info.divisibility(dimension))
}

const ZERO: u64 = 1 << 63;

#[test]
fn ranges_and_repeated_scalars() {
    assert_eq!(facts("%v = arange 0..100 : <100xi32> print \"v\" (%v)", 0), (100, 1, ZERO));
    assert_eq!(facts("%v = arange 24..64 : <40xi32> print \"v\" (%v)", 0), (40, 1, 8));
    assert_eq!(facts("%0 = constant 48 : i32 %v = splat %0 : <6xi32> print \"v\" (%v)", 0), (1, 6, 16));
    assert_eq!(facts("%v = splat %q : <6x*i32> print \"v\" (%v)", 0), (1, 6, 16));
}

const OFFSETS: &str = "%pid = program_id 0 : i32 %size = constant 64 : i32 %start = mul %pid, %size : i32
    %range = arange 0..64 : <64xi32> %starts = splat %start : <64xi32> %offsets = add %starts, %range : <64xi32> ";

#[test]
fn addresses_of_a_row() {
    assert_eq!(facts(&format!("{OFFSETS} print \"v\" (%offsets)"), 0), (64, 1, 64));
    let pointers = |base: &str, ty: &str| {
        format!(
            "{OFFSETS} %bases = splat {base} : <64x{ty}> %v = add_pointer %bases, %offsets : <64x{ty}> print \"v\" (%v)"
        )
    };
    assert_eq!(facts(&pointers("%q", "*i32"), 0), (64, 1, 16));
    assert_eq!(info(&pointers("%q", "*i32")).vector_width(0), 4);
    assert_eq!(facts(&pointers("%p", "*fp32"), 0), (64, 1, 1));
    assert_eq!(info(&pointers("%p", "*fp32")).vector_width(0), 1);
}

#[test]
fn blocks_that_are_no_powers_of_two() {
    let offsets = OFFSETS.replace("64", "96");
    let v = format!(
        "{offsets} %qs = splat %q : <96x*i32> %v = add_pointer %qs, %offsets : <96x*i32> print \"v\" (%v)"
    );
    assert_eq!(facts(&v, 0), (96, 1, 16));
    assert_eq!(info(&v).vector_width(0), 4);
}

#[test]
fn tiles_have_two_axes() {
    let v = format!(
        "{OFFSETS} %row = expand_dims %offsets axis 0 : <1x64xi32> %rows = broadcast %row : <8x64xi32>
         %r = arange 0..8 : <8xi32> %column = expand_dims %r axis 1 : <8x1xi32> %stride = constant 128 : i32
         %strides = splat %stride : <8x1xi32> %scaled = mul %column, %strides : <8x1xi32>
         %columns = broadcast %scaled : <8x64xi32> %v = add %columns, %rows : <8x64xi32> print \"v\" (%v)"
    );
    assert_eq!(facts(&v, 1), (64, 1, 64));
    assert_eq!(facts(&v, 0), (1, 1, 1));
}

#[test]
fn quotients_are_constant_and_remainders_contiguous() {
    let divided = "%r = arange 0..64 : <64xi32> %8 = constant 8 : i32 %e = splat %8 : <64xi32>";
    assert_eq!(facts(&format!("{divided} %v = div %r, %e : <64xi32> print \"v\" (%v)"), 0).1, 8);
    assert_eq!(facts(&format!("{divided} %v = rem %r, %e : <64xi32> print \"v\" (%v)"), 0), (8, 1, 8));
    // Truncating division of negative numbers is another matter.
    let negative = divided.replace("0..64", "-32..32");
    assert_eq!(facts(&format!("{negative} %v = div %r, %e : <64xi32> print \"v\" (%v)"), 0).1, 1);
    assert_eq!(facts(&format!("{negative} %v = rem %r, %e : <64xi32> print \"v\" (%v)"), 0).0, 1);
    // Shifts and masks round down.
    let bits = negative.replace("constant 8", "constant 3");
    assert_eq!(facts(&format!("{bits} %v = shr %r, %e : <64xi32> print \"v\" (%v)"), 0).1, 8);
    let bits = negative.replace("constant 8", "constant 7");
    assert_eq!(facts(&format!("{bits} %v = and %r, %e : <64xi32> print \"v\" (%v)"), 0), (8, 1, 8));
}

#[test]
fn masks_are_constant_along_runs() {
    let mask = |bound: &str, predicate: &str| {
        format!(
            "{OFFSETS} {bound} %bs = splat %bound : <64xi32> %v = compare {predicate} %offsets, %bs : <64xi1> print \"v\" (%v)"
        )
    };
    let multiple = "%bound = annotate %n multiple_of [16] : i32";
    assert_eq!(facts(&mask(multiple, "lt"), 0).1, 16);
    assert_eq!(facts(&mask(multiple, "ge"), 0).1, 16);
    assert_eq!(facts(&mask(multiple, "le"), 0).1, 1);
    assert_eq!(facts(&mask("%bound = add %n, %m : i32", "lt"), 0).1, 1);
}

#[test]
fn narrow_integers_wrap() {
    let narrow = "%r = arange 0..1024 : <1024xi32> %v = cast %r : <1024xu8> print \"v\" (%v)";
    assert_eq!(facts(narrow, 0).0, 128);
    let wide = "%r = arange 0..1024 : <1024xi32> %v = cast %r : <1024xi64> print \"v\" (%v)";
    assert_eq!(facts(wide, 0).0, 1024);
}

#[test]
fn loops_keep_what_every_iteration_keeps() {
    let advance = |step: u32| {
        format!(
            "%0 = constant 0 : i32 %1 = constant 1 : i32 %r = arange 0..64 : <64xi32> %qs = splat %q : <64x*i32>
             %first = add_pointer %qs, %r : <64x*i32> %step = constant {step} : i32 %steps = splat %step : <64xi32>
             %last = for %i = %0 to %n step %1 carry (%a = %first) {{
               print \"v\" (%a) %next = add_pointer %a, %steps : <64x*i32> yield %next
             }} : <64x*i32>"
        )
    };
    assert_eq!(facts(&advance(64), 0), (64, 1, 16));
    assert_eq!(facts(&advance(6), 0), (64, 1, 8));
    let index =
        "%0 = constant 0 : i32 %32 = constant 32 : i32 for %i = %0 to %n step %32 { print \"v\" (%i) }";
    assert_eq!(facts(index, 0).2, 32);
    assert!(info(index).is_non_negative());
    let sideways = "%r = arange 0..64 : <64xi32> %z = splat %n : <64xi32>
        %1 = for %i = %n to %m step %n carry (%a = %r) { print \"v\" (%a) yield %z } : <64xi32>";
    assert_eq!(facts(sideways, 0), (1, 1, 1));
}

#[test]
fn promises_are_believed() {
    let wrapped = format!("{OFFSETS} %ns = splat %n : <64xi32> %w = rem %offsets, %ns : <64xi32>");
    assert_eq!(facts(&format!("{wrapped} print \"v\" (%w)"), 0).0, 1);
    let promised = format!(
        "{wrapped} %k = annotate %w multiple_of [64] : <64xi32> %v = annotate %k max_contiguous [64] : <64xi32> print \"v\" (%v)"
    );
    assert_eq!(facts(&promised, 0), (64, 1, 64));
    let other_way = format!(
        "{wrapped} %k = annotate %w max_contiguous [64] : <64xi32> %v = annotate %k multiple_of [64] : <64xi32> print \"v\" (%v)"
    );
    assert_eq!(facts(&other_way, 0), (64, 1, 64));
    assert_eq!(
        facts(&format!("{wrapped} %v = annotate %w max_constancy [4] : <64xi32> print \"v\" (%v)"), 0).1,
        4
    );
}

#[test]
fn wrapped_indices_count_up_where_that_is_taken_for_granted() {
    let wrapped = format!(
        "{OFFSETS} %k = constant 16 : i32 %sixteens = mul %n, %k : i32 %ns = splat %sixteens : <64xi32> \
         %v = rem %offsets, %ns : <64xi32> print \"v\" (%v)"
    );
    assert_eq!(facts(&wrapped, 0).0, 1);
    let function = kernel(&wrapped);
    let value = named(&function)["v"];
    let info = AxisAnalysis::of_indices(&function).of(value).clone();
    assert_eq!((info.contiguity(0), info.divisibility(0)), (16, 16));
}
