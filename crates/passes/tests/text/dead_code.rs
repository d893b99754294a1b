use super::{becomes, stays};
use tegula_passes::eliminate_dead_code as dce;

#[test]
fn what_nobody_uses_goes() {
    becomes(
        dce,
        "%1 = add %n, %m : i32 %2 = mul %1, %1 : i32 %3 = load %p : fp32 store %p, %x",
        "store %p, %x",
    );
    stays(
        dce,
        "%1 = load %p volatile : fp32 %2 = atomic add %p, %x : fp32 barrier assert %c, \"c\" print \"n\" (%n)",
    );
}

#[test]
fn assembly_goes_unless_it_has_effects() {
    becomes(dce, "%1 = assembly \"x\" \"=r,r\" pack 1 pure (%n) : i32 store %p, %x", "store %p, %x");
    stays(dce, "%1 = assembly \"x\" \"=r,r\" pack 1 (%n) : i32 store %p, %x");
}

#[test]
fn carried_values_that_only_feed_themselves_go() {
    becomes(
        dce,
        "%1, %2, %3 = for %i = %n to %m step %n carry (%a = %x, %b = %y, %e = %n) {
           %4 = add %a, %b : fp32 %5 = mul %a, %x : fp32 %6 = add %e, %i : i32 yield %5, %4, %6
         } : fp32, fp32, i32
         store %p, %1",
        "%1 = for %i = %n to %m step %n carry (%a = %x) { %5 = mul %a, %x : fp32 yield %5 } : fp32 store %p, %1",
    );
    becomes(
        dce,
        "%1, %2, %3 = while carry (%a = %n, %b = %m, %e = %n) { %t = compare lt %a, %m : i1 yield %t, %a, %b, %e }
         do (%f, %g, %h0) { %4 = add %f, %n : i32 %5 = add %g, %f : i32 yield %4, %5, %h0 } : i32, i32, i32
         store %q, %3",
        "%z, %3 = while carry (%a = %n, %e = %n) { %t = compare lt %a, %m : i1 yield %t, %a, %e }
         do (%f, %h0) { %4 = add %f, %n : i32 yield %4, %h0 } : i32, i32
         store %q, %3",
    );
}

#[test]
fn loops_and_branches_without_effects_go() {
    becomes(
        dce,
        "%1 = for %i = %n to %m step %n carry (%a = %x) { %2 = load %p : fp32 yield %2 } : fp32
         %3 = if %c { yield %n } else { yield %m } : i32
         while { yield %d } do { }
         if %c { if %d { } } else { %4 = add %n, %m : i32 }
         store %p, %x",
        "store %p, %x",
    );
    becomes(
        dce,
        "%1, %2 = if %c { %3 = add %n, %m : i32 yield %n, %3 } else { yield %m, %m } : i32, i32 store %q, %1",
        "%1 = if %c { yield %n } else { yield %m } : i32 store %q, %1",
    );
    stays(dce, "for %i = %n to %m step %n { if %c { store %q, %i } }");
}

#[test]
fn results_of_reductions_live_and_die_together() {
    stays(
        dce,
        "%v = splat %x : <4xfp32> %i = arange 0..4 : <4xi32>
         %1, %2 = reduce %v, %i axis 0 (%a, %b, %e, %f) {
           %g = compare gt %a, %e : i1 %h2 = select %g, %a, %e : fp32 %k = select %g, %b, %f : i32 yield %h2, %k
         } : fp32, i32
         store %q, %2",
    );
}

#[test]
fn promises_about_blocks_cost_nothing() {
    becomes(dce, "%1 = splat %c : <64xi1> assume %1 store %p, %x", "store %p, %x");
    stays(dce, "assume %c store %p, %x");
}
