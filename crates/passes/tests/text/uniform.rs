use super::{kernel, named};
use tegula_passes::LaunchInvariance;

fn invariant(body: &str) -> bool {
    let function = kernel(body);
    LaunchInvariance::new(&function).is_invariant(named(&function)["v"])
}

#[test]
fn arguments_are_invariant_programs_and_memory_are_not() {
    assert!(invariant(
        "%0 = num_programs 0 : i32 %1 = mul %n, %0 : i32 %v = splat %1 : <4xi32> print \"v\" (%v)"
    ));
    assert!(!invariant("%0 = program_id 1 : i32 %v = mul %n, %0 : i32 print \"v\" (%v)"));
    assert!(!invariant("%0 = load %p : fp32 %v = exp %0 : fp32 print \"v\" (%v)"));
}

#[test]
fn variance_enters_by_carried_values_bounds_and_conditions() {
    let carried = "%0 = program_id 0 : i32
        %1, %2 = for %i = %n to %m step %n carry (%a = %n, %b = %n) { yield %b, %0 } : i32, i32 print \"v\" (%1)";
    assert!(!invariant(carried));
    assert!(invariant(&carried.replace("program_id", "num_programs")));
    let bound = "%0 = program_id 0 : i32 %v = for %i = %n to %0 step %n carry (%a = %n) { yield %i } : i32 print \"v\" (%v)";
    assert!(!invariant(bound));
    let inside = "%0 = program_id 0 : i32 for %i = %n to %0 step %n { print \"v\" (%i) }";
    assert!(invariant(inside));
    let condition = "%0 = program_id 0 : i32 %t = compare lt %0, %n : i1 %v = if %t { yield %n } else { yield %m } : i32 print \"v\" (%v)";
    assert!(!invariant(condition));
}
