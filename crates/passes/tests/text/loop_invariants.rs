use super::{becomes, stays};
use tegula_passes::hoist_loop_invariants as licm;

#[test]
fn invariants_leave_as_many_loops_as_they_can() {
    becomes(
        licm,
        "for %i = %n to %m step %n {
           for %j = %n to %m step %n {
             %1 = add %n, %m : i32
             %2 = mul %1, %i : i32
             %3 = add %2, %j : i32
             store %q, %3
           }
         }",
        "%1 = add %n, %m : i32
         for %i = %n to %m step %n {
           %2 = mul %1, %i : i32
           for %j = %n to %m step %n {
             %3 = add %2, %j : i32
             store %q, %3
           }
         }",
    );
}

#[test]
fn both_regions_of_a_while_are_loops() {
    becomes(
        licm,
        "while { %1 = compare lt %n, %m : i1 yield %1 } do { %2 = add %n, %m : i32 store %q, %2 }",
        "%1 = compare lt %n, %m : i1 %2 = add %n, %m : i32 while { yield %1 } do { store %q, %2 }",
    );
}

#[test]
fn regions_applied_to_elements_are_loops() {
    becomes(
        licm,
        "%v = splat %x : <4xfp32> %1 = map %v (%e) { %2 = mul %x, %y : fp32 %3 = add %e, %2 : fp32 yield %3 } : <4xfp32> print \"\" (%1)",
        "%v = splat %x : <4xfp32> %2 = mul %x, %y : fp32 %1 = map %v (%e) { %3 = add %e, %2 : fp32 yield %3 } : <4xfp32> print \"\" (%1)",
    );
}

#[test]
fn reductions_move_with_their_regions() {
    becomes(
        licm,
        "%v = splat %x : <4xfp32>
         for %i = %n to %m step %n {
           %1 = reduce %v axis 0 (%a, %b) { %s = add %a, %b : fp32 yield %s } : fp32
           %f = cast %i : fp32
           %2 = reduce %v axis 0 (%e, %g) { %t = mul %e, %f : fp32 yield %t } : fp32
           store %p, %1 store %p, %2
         }",
        "%v = splat %x : <4xfp32>
         %1 = reduce %v axis 0 (%a, %b) { %s = add %a, %b : fp32 yield %s } : fp32
         for %i = %n to %m step %n {
           %f = cast %i : fp32
           %2 = reduce %v axis 0 (%e, %g) { %t = mul %e, %f : fp32 yield %t } : fp32
           store %p, %1 store %p, %2
         }",
    );
}

#[test]
fn effects_reads_and_branches_stay() {
    stays(licm, "for %i = %n to %m step %n { %1 = load %p : fp32 store %p, %1 }");
    stays(licm, "for %i = %n to %m step %n { if %c { %1 = add %n, %m : i32 store %q, %1 } }");
    stays(licm, "if %c { %1 = add %n, %m : i32 store %q, %1 }");
    stays(licm, "for %i = %n to %m step %n disable_licm { %1 = add %n, %m : i32 store %q, %1 }");
    stays(
        licm,
        "%v = splat %n : <4xi32> for %i = %n to %m step %n { %1 = index %v, %m axis 0 : i32 store %q, %1 }",
    );
}

#[test]
fn assembly_with_effects_runs_in_every_iteration() {
    let inside = |pure: &str| {
        format!(
            "for %i = %n to %m step %n {{ %1 = assembly \"x\" \"=r,r\" pack 1{pure} (%n) : i32 store %q, %1 }}"
        )
    };
    stays(licm, &inside(""));
    let outside =
        "%1 = assembly \"x\" \"=r,r\" pack 1 pure (%n) : i32 for %i = %n to %m step %n { store %q, %1 }";
    becomes(licm, &inside(" pure"), outside);
}
