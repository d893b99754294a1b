use super::{kernel, named, ops};
use tegula_passes::Uses;

#[test]
fn values_die_with_their_last_use_in_their_own_region() {
    let function = kernel(
        "%a = add %n, %m : i32
         %unused = mul %a, %a : i32
         for %i = %n to %m step %n { %e = add %a, %i : i32 store %q, %e }
         print \"v\" (%n)",
    );
    let uses = Uses::new(&function);
    let [add, mul, each, print] = ops(&function)[..] else { panic!("four operations") };
    let (a, unused) = (function.op(add).results[0], function.op(mul).results[0]);
    let [n, m, q] = [0, 1, 10].map(|index| function.params[index].value);
    assert_eq!(uses.count(a), 3);
    assert_eq!(uses.count(unused), 0);
    assert_eq!(uses.dying_after(add), []);
    assert_eq!(uses.dying_after(mul), [unused]);
    assert_eq!(uses.dying_after(each), [m, q, a]);
    assert_eq!(uses.dying_after(print), [n]);
    assert_eq!(named(&function)["v"], n);
}

#[test]
fn yields_outlive_the_operations_of_their_region() {
    let function = kernel(
        "%r = for %i = %n to %m step %n carry (%a = %n) { %e = add %a, %i : i32 yield %e } : i32 store %q, %r",
    );
    let uses = Uses::new(&function);
    let each = ops(&function)[0];
    let body = function.op(each).op.regions()[0];
    let add = function.region(body).ops[0];
    let args = &function.region(body).args;
    assert_eq!(uses.dying_after(add), [args[0], args[1]]);
    assert_eq!(uses.count(function.op(add).results[0]), 1);
}
