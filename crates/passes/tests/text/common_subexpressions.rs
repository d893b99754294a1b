use super::{becomes, stays};
use tegula_passes::eliminate_common_subexpressions as cse;

#[test]
fn equal_operations_are_one() {
    becomes(
        cse,
        "%1 = add %n, %m : i32 %2 = add %m, %n : i32 %3 = compare lt %1, %n : i1 %4 = compare gt %n, %2 : i1
         store %q, %2 store %flags, %3 store %flags, %4",
        "%1 = add %n, %m : i32 %3 = compare lt %1, %n : i1 store %q, %1 store %flags, %3 store %flags, %3",
    );
    stays(cse, "%1 = sub %n, %m : i32 %2 = sub %m, %n : i32 store %q, %1 store %q, %2");
    stays(cse, "%1 = min %x, %y : fp32 %2 = min %y, %x : fp32 store %p, %1 store %p, %2");
    stays(cse, "%1 = cast %n : i64 %2 = cast %n : i8 print \"\" (%1, %2)");
    stays(cse, "%1 = constant 0.0 : fp32 %2 = constant -0.0 : fp32 store %p, %1 store %p, %2");
}

#[test]
fn regions_see_outwards_only() {
    becomes(
        cse,
        "%1 = add %n, %m : i32 if %c { %2 = add %n, %m : i32 store %q, %2 } store %q, %1",
        "%1 = add %n, %m : i32 if %c { store %q, %1 } store %q, %1",
    );
    stays(cse, "if %c { %1 = add %n, %m : i32 store %q, %1 } else { %2 = add %n, %m : i32 store %q, %2 }");
    stays(cse, "if %c { %1 = add %n, %m : i32 store %q, %1 } %2 = add %n, %m : i32 store %q, %2");
}

#[test]
fn loads_are_not_equal() {
    stays(cse, "%1 = load %p : fp32 store %p, %x %2 = load %p : fp32 store %p, %1 store %p, %2");
}

#[test]
fn equal_texts_of_assembly_are_one_unless_they_have_effects() {
    let twice = |pure: &str| {
        let text = format!("assembly \"x\" \"=r,=r,r\" pack 1{pure} (%n) : i32, i32");
        format!("%1, %2 = {text} %3, %4 = {text} print \"\" (%1, %2, %3, %4)")
    };
    let once = "%1, %2 = assembly \"x\" \"=r,=r,r\" pack 1 pure (%n) : i32, i32 print \"\" (%1, %2, %1, %2)";
    becomes(cse, &twice(" pure"), once);
    stays(cse, &twice(""));
    let other = "%1 = assembly \"x\" \"=r,r\" pack 1 pure (%n) : i32 %2 = assembly \"y\" \"=r,r\" pack 1 pure (%n) : i32";
    stays(cse, &format!("{other} print \"\" (%1, %2)"));
}

#[test]
fn reductions_with_equal_regions_are_one() {
    let reduce = |result: &str, names: [&str; 3], op: &str| {
        let [a, b, s] = names;
        format!(
            "%{result} = reduce %v axis 0 (%{a}, %{b}) {{ %{s} = {op} %{a}, %{b} : fp32 yield %{s} }} : fp32"
        )
    };
    let block = "%v = splat %x : <4xfp32>";
    let (first, second) = (reduce("1", ["a", "b", "s"], "add"), reduce("2", ["e", "f", "g"], "add"));
    becomes(
        cse,
        &format!("{block} {first} {second} store %p, %1 store %p, %2"),
        &format!("{block} {first} store %p, %1 store %p, %1"),
    );
    let other = reduce("2", ["e", "f", "g"], "mul");
    stays(cse, &format!("{block} {first} {other} store %p, %1 store %p, %2"));
    let swapped = reduce("2", ["f", "e", "g"], "sub").replace("(%f, %e)", "(%e, %f)");
    let first = reduce("1", ["a", "b", "s"], "sub");
    stays(cse, &format!("{block} {first} {swapped} store %p, %1 store %p, %2"));
}
