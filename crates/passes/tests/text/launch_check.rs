use super::kernel;
use tegula_passes::{Launch, LaunchCheck};

/// Addresses of the arrays `p` and `q`, which have 1000 elements of 4 bytes each.
const P: u64 = 1 << 20;
const Q: u64 = 1 << 21;

/// What is said of a launch of a body on a grid of `programs`: the messages and the texts at the place.
fn said(body: &str, programs: u32, [n, m]: [i32; 2], u: u32) -> Vec<String> {
    let function = kernel(body);
    let arguments = [n as i64 as u64, m as i64 as u64, 1 << 40, u.into(), 1, 0, 0, 0, 0, P, Q, 1 << 22]
        .map(|word: u64| word);
    let launch = Launch { grid: [programs, 1, 1], arguments: &arguments };
    let arrays = [P..P + 4000, Q..Q + 4000, (1 << 22)..(1 << 22) + 1000];
    LaunchCheck::new(&function)
        .warnings(&function, &launch, Some(&arrays))
        .into_iter()
        .map(|warning| match warning.labels[0].text.as_str() {
            "" => warning.message,
            text => format!("{}: {text}", warning.message),
        })
        .collect()
}

const ROWS: &str = "%pid = program_id 0 : i32 %row = mul %pid, %n : i32 %p1 = add_pointer %p, %row : *fp32
                    %x1 = load %p1 : fp32 store %p, %x1";

#[test]
fn an_offset_that_wraps_is_found_where_it_first_does() {
    assert_eq!(
        said(ROWS, 70_000, [40_000, 0], 0),
        ["this offset does not fit int32 in this launch: 2799960000 wraps to -1495007296"]
    );
    // The array is far too small, but no offset wraps.
    assert_eq!(said(ROWS, 50_000, [40_000, 0], 0), ["this reads element 1999960000 of `p`, which has 1000"]);
    assert_eq!(said(ROWS, 25, [40, 0], 0), [""; 0]);
}

#[test]
fn what_wraps_and_comes_back_does_not_matter() {
    let body = "%pid = program_id 0 : i32 %1 = add %n, %m : i32 %2 = sub %1, %n : i32 %3 = add %2, %pid : i32
                %p1 = add_pointer %p, %3 : *fp32 store %p1, %x";
    assert_eq!(said(body, 10, [i32::MAX, 900], 0), [""; 0]);
    // A remainder, and bits that are asked for, are as good as any.
    let hash = "%1 = mul %u, %u : u32 %2 = constant 7 : u32 %3 = rem %1, %2 : u32
                %p1 = add_pointer %p, %3 : *fp32 store %p1, %x";
    assert_eq!(said(hash, 1, [0, 0], u32::MAX / 3), [""; 0]);
}

#[test]
fn offsets_cast_in_time_are_fine() {
    let early = "%pid = program_id 0 : i32 %1 = cast %pid : i64 %2 = cast %n : i64 %3 = mul %1, %2 : i64
                 %p1 = add_pointer %p, %3 : *fp32 %c1 = compare eq %m, %n : i1 store %p1, %x mask %c1";
    assert_eq!(said(early, 70_000, [40_000, 0], 0), [""; 0]);
    let late = "%pid = program_id 0 : i32 %1 = mul %pid, %n : i32 %2 = cast %1 : i64
                %p1 = add_pointer %p, %2 : *fp32 store %p1, %x";
    assert_eq!(
        said(late, 70_000, [40_000, 0], 0),
        ["this offset does not fit int32 in this launch: 2799960000 wraps to -1495007296"]
    );
}

const MASKED: &str = "%pid = program_id 0 : i32 %b = constant 256 : i32 %s = mul %pid, %b : i32
                      %i = arange 0..256 : <256xi32> %s1 = splat %s : <256xi32> %o = add %s1, %i : <256xi32>
                      %ps = splat %p : <256x*fp32> %pp = add_pointer %ps, %o : <256x*fp32>
                      %ns = splat %n : <256xi32> %in = compare lt %o, %ns : <256xi1>";

#[test]
fn lanes_beyond_the_end_matter_unless_they_are_masked() {
    let masked = format!("{MASKED} %v = load %pp mask %in : <256xfp32> print \"v\" (%v)");
    let plain = format!("{MASKED} %v = load %pp : <256xfp32> print \"v\" (%v)");
    assert_eq!(said(&masked, 4, [1000, 0], 0), [""; 0]);
    assert_eq!(said(&masked, 4, [1003, 0], 0), ["this reads element 1002 of `p`, which has 1000"]);
    assert_eq!(said(&plain, 4, [1000, 0], 0), ["this reads element 1023 of `p`, which has 1000"]);
    assert_eq!(said(&plain, 3, [1000, 0], 0), [""; 0]);
}

#[test]
fn only_what_certainly_happens_counts() {
    let access = "%p1 = add_pointer %p, %n : *fp32 store %p1, %x";
    let found = ["this writes element 5000 of `p`, which has 1000"];
    let of = |body: &str| said(body, 1, [5000, 2], 0);
    assert_eq!(of(access), found);
    assert_eq!(of(&format!("if %c {{ {access} }}")), found);
    assert_eq!(of(&format!("if %d {{ {access} }}")), [""; 0]);
    let from_memory = format!("%a = load %flags : i1 if %a {{ {access} }}");
    assert_eq!(of(&from_memory), [""; 0]);
    let looped = |bounds: &str| {
        format!("%z = constant 0 : i32 %o = constant 1 : i32 for %i = {bounds} {{ {access} }}")
    };
    assert_eq!(of(&looped("%z to %m step %o")), found);
    assert_eq!(of(&looped("%m to %z step %o")), [""; 0]);
    assert_eq!(of(&format!("while {{ yield %c }} do {{ {access} }}")), [""; 0]);
    assert_eq!(of("%a = load %q : i32 %p1 = add_pointer %p, %a : *fp32 store %p1, %x"), [""; 0]);
}

#[test]
fn pointers_and_offsets_that_loops_carry() {
    // 10 iterations move the pointer by n each: the last reads element 9 * n.
    let pointer = "%z = constant 0 : i32 %o = constant 1 : i32 %t = constant 10 : i32
                   %1 = for %i = %z to %t step %o carry (%a = %p) {
                     %v = load %a : fp32 print \"v\" (%v) %a1 = add_pointer %a, %n : *fp32 yield %a1
                   } : *fp32";
    assert_eq!(said(pointer, 1, [111, 0], 0), [""; 0]);
    assert_eq!(said(pointer, 1, [112, 0], 0), ["this reads element 1008 of `p`, which has 1000"]);
    let offset = "%z = constant 0 : i32 %o = constant 1 : i32 %t = constant 10 : i32
                  %1 = for %i = %z to %t step %o carry (%a = %z) {
                    %p1 = add_pointer %p, %a : *fp32 %v = load %p1 : fp32 print \"v\" (%v)
                    %a1 = add %a, %n : i32 yield %a1
                  } : i32";
    assert_eq!(said(offset, 1, [111, 0], 0), [""; 0]);
    assert_eq!(
        said(offset, 1, [300_000_000, 0], 0),
        ["this offset does not fit int32 in this launch: 3000000000 wraps to -1294967296"]
    );
}

#[test]
fn the_filter_looks_at_masked_lanes_too() {
    let function = kernel(&format!("{MASKED} %v = load %pp mask %in : <256xfp32> print \"v\" (%v)"));
    let check = LaunchCheck::new(&function);
    let mut arguments = [0; 12];
    arguments[9] = P;
    let fits =
        |programs| check.offsets_fit(&function, &Launch { grid: [programs, 1, 1], arguments: &arguments });
    assert!(fits(1 << 22));
    assert!(!fits((1 << 23) + 1));
}

#[test]
fn expressions_without_end_are_left_alone() {
    let sums: String = (1..5000).map(|index| format!("%s{index} = add %s{}, %n : i32 ", index - 1)).collect();
    let body = format!("%s0 = add %n, %n : i32 {sums} %p1 = add_pointer %p, %s4999 : *fp32 store %p1, %x");
    assert_eq!(said(&body, 1, [1_000_000, 0], 0), [""; 0]);
}
