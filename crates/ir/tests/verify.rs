//! What the verifier refuses, and how it says so.

use tegula_ir::{BinaryOp, Builder, Function, Op, OpId, Param, Scalar, Type, Value, verify};

/// The messages about a function whose body is `body`, with a parameter of each common type.
fn messages(body: &str) -> Vec<String> {
    let text = format!(
        "kernel @f(%i: i32, %l: i64, %c: i1, %x: fp32, %h: fp16, %p: *fp32, %k: *kfp32) {{
  %b = splat %i : <4x6xi32>
  %f = splat %x : <4x6xfp32>
  %m = splat %c : <4x6xi1>
  %pb = splat %p : <4x6x*fp32>
  {body}
}}"
    );
    let function = Function::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    match verify(&function) {
        Ok(()) => Vec::new(),
        Err(diagnostics) => diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect(),
    }
}

#[test]
fn blocks_may_not_be_made_for_each_element() {
    let expected = "`splat`, in a region applied to each element, makes a block, <2xfp32>";
    assert_eq!(messages("%0 = map %f (%1) { %2 = splat %1 : <2xfp32> yield %1 } : <4x6xfp32>"), [expected]);
}

#[test]
fn types_are_checked() {
    let cases = [
        ("%0 = add %i, %l : i32", "`add`: the right operand is i64, and should be i32, as the left"),
        (
            "%0 = add %b, %i : <4x6xi32>",
            "`add`: the right operand is i32, and should be <4x6xi32>, as the left",
        ),
        ("%0 = add %i, %i : i64", "`add`: the result is i64, and should be i32, as the operands"),
        ("%0 = and %x, %x : fp32", "`and`: the left operand is fp32, and should be integers"),
        ("%0 = pow %i, %i : i32", "`pow`: the left operand is i32, and should be floats"),
        ("%0 = add %p, %p : *fp32", "`add`: the left operand is *fp32, and should be numbers"),
        ("%0 = exp %i : i32", "`exp`: the operand is i32, and should be floats"),
        ("%0 = not %x : fp32", "`not`: the operand is fp32, and should be integers"),
        (
            "%0 = compare lt %i, %i : i32",
            "`compare`: the result is i32, and should be i1, as a comparison's type",
        ),
        (
            "%0 = select %c, %b, %b : <4x6xi32>",
            "`select`: the condition is i1, and should be <4x6xi1>, as a condition here",
        ),
        ("%0 = fma %x, %x, %h : fp32", "`fma`: the third operand is fp16, and should be fp32, as the first"),
        ("%0 = cast %p : i64", "`cast`: the operand is *fp32, and should be numbers"),
        ("%0 = bitcast %i : fp16", "`bitcast`: i32 has 32 bits an element, fp16 has 16"),
        ("assembly \"exit;\" \"\" pack 1", "`assembly`: it has no result"),
        ("%0 = assembly \"\" \"=r\" pack 0 : i32", "`assembly`: it takes 0 elements at a time"),
        (
            "%0, %1 = assembly \"\" \"=r,=r,r\" pack 1 (%b) : <4x6xi32>, i32",
            "`assembly`: the first result is <4x6xi32>, another value is i32: the shapes differ",
        ),
        ("%0 = program_id 3 : i32", "`program_id`: the grid has no axis 3"),
        (
            "%0 = arange 0..8 : <9xi32>",
            "`arange`: the result is <9xi32>, and should be <8xi32>, as the range's type",
        ),
        ("%0 = arange 8..8 : <1xi32>", "`arange`: 8..8 is empty"),
        ("%0 = splat %b : <4x6xi32>", "`splat`: the operand is <4x6xi32>, and should be a scalar"),
        ("%0 = splat %i : <4xi64>", "`splat`: the operand is i32, the result <4xi64>"),
        ("%0 = broadcast %b : <8x6xi32>", "`broadcast`: <4x6xi32> does not broadcast to <8x6xi32>"),
        ("%0 = expand_dims %b axis 3 : <4x6x1xi32>", "`expand_dims`: <4x6xi32> has no place for axis 3"),
        ("%0 = reshape %b : <5x5xi32>", "`reshape`: <4x6xi32> and <5x5xi32> differ in number of elements"),
        (
            "%0 = transpose %b [0, 0] : <4x4xi32>",
            "`transpose`: [0, 0] is no permutation of the dimensions of <4x6xi32>",
        ),
        (
            "%0 = transpose %b [1, 0] : <4x6xi32>",
            "`transpose`: the result is <4x6xi32>, and should be <6x4xi32>, as the transposed type",
        ),
        ("%0, %1 = split %b : <4xi32>, <4xi32>", "`split`: the last extent of <4x6xi32> is not 2"),
        ("%0 = slice %b [1, 0] : <4x6xi32>", "`slice`: <4x6xi32> has no part <4x6xi32> at [1, 0]"),
        ("%0 = index %b, %i axis 2 : <4xi32>", "`index`: <4x6xi32> has no axis 2"),
        (
            "%0 = concatenate %b, %b axis 0 : <4x12xi32>",
            "`concatenate`: the result is <4x12xi32>, and should be <8x6xi32>, as the concatenated type",
        ),
        ("%0 = histogram %f : <9xi32>", "`histogram`: the operand is <4x6xfp32>, and should be integers"),
        ("%0 = load %b : <4x6xi32>", "`load`: <4x6xi32> is no pointer"),
        (
            "%0 = load %pb mask %c : <4x6xfp32>",
            "`load`: the mask is i1, and should be <4x6xi1>, as a mask here",
        ),
        ("%0 = load %p other %h : fp32", "`load`: `other` is fp16, and should be fp32, as the result"),
        ("store %k, %x", "`store`: *kfp32 is a pointer to constants"),
        ("store %p, %h", "`store`: the value is fp16, and should be fp32, as what the pointer points to"),
        ("%0 = atomic xor %p, %x : fp32", "`atomic`: the value is fp32, and should be integers"),
        (
            "%0 = add_pointer %pb, %i : <4x6x*fp32>",
            "`add_pointer`: the pointer is <4x6x*fp32>, the offset is i32: the shapes differ",
        ),
        ("%0 = add_pointer %p, %x : *fp32", "`add_pointer`: the offset is fp32, and should be integers"),
        ("%0 = dot %f, %f : <4x6xfp32>", "`dot`: <4x6xfp32> times <4x6xfp32> is not <4x6xfp32>"),
        ("%0 = dot %b, %b : <4x6xfp32>", "`dot`: <4x6xi32> and <4x6xi32> do not multiply to <4x6xfp32>"),
        (
            "%0 = annotate %f multiple_of [4, 4] : <4x6xfp32>",
            "`annotate`: the operand is <4x6xfp32>, and should be integers or pointers",
        ),
        (
            "%0 = annotate %b multiple_of [4] : <4x6xi32>",
            "`annotate`: [4] are no promises for the dimensions of <4x6xi32>",
        ),
        ("if %i {}", "`if`: the condition is i32, and should be i1, as a branch's condition"),
        (
            "%0 = if %c { yield %i } else { yield %x } : i32",
            "`if`: the yields of a region are (fp32), but the results are (i32)",
        ),
        ("for %0 = %i to %l step %i {}", "`for`: the upper bound is i64, and should be i32, as the lower"),
        ("for %0 = %c to %c step %c {}", "`for`: the lower bound is a truth value"),
        (
            "%0 = for %1 = %i to %i step %i carry (%2 = %x) { yield %i } : fp32",
            "`for`: the yields of a region are (i32), but the initial values are (fp32)",
        ),
        (
            "while { yield %i } do {}",
            "`while`: the yields of a region are (i32), but a truth value and the arguments of the body are (i1)",
        ),
        (
            "%0 = reduce %f axis 1 (%1, %2) { yield %1 } : <6xfp32>",
            "`reduce`: the result is <6xfp32>, and should be <4xfp32>, as the reduced type",
        ),
        (
            "%0 = scan %f axis 1 (%1, %2) { yield %i } : <4x6xfp32>",
            "`scan`: the yields of a region are (i32), but the elements are (fp32)",
        ),
        (
            "%0 = map %f (%1) { yield %b } : <4x6xi32>",
            "`yield`, in a region applied to each element, uses a block from outside, of type <4x6xi32>",
        ),
        ("assume %i", "`assume`: the condition is i32, and should be i1, as a condition here"),
        ("%0 = constant 300 : i8", "`constant`: Int(300) is no value of i8"),
        (
            "%0 = splat %i : <0xi32>",
            "a block of type <0xi32> has an extent of 0, or more than 1073741824 elements",
        ),
        (
            "%0 = splat %i : <4000000000x4000000000x4000000000xi32>",
            "a block of type <4000000000x4000000000x4000000000xi32> has an extent of 0, or more than 1073741824 elements",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(messages(body), [expected], "{body}");
    }
}

#[test]
fn scalars_from_outside_are_seen_by_every_region_and_blocks_by_loops() {
    let body = "%0 = map %f (%1) { %2 = add %1, %x : fp32 yield %2 } : <4x6xfp32>
        %3 = for %4 = %i to %i step %i carry (%5 = %f) { %6 = add %5, %0 : <4x6xfp32> yield %6 } : <4x6xfp32>";
    assert_eq!(messages(body), [""; 0]);
}

#[test]
fn effects_may_not_be_repeated_for_each_element() {
    let expected = "`store` stands in a region applied to each element, which must have no effects";
    assert_eq!(messages("%0 = map %f (%1) { store %p, %1 yield %1 } : <4x6xfp32>"), [expected]);
}

#[test]
fn values_do_not_leave_their_region() {
    let body = "if %c { %0 = add %i, %i : i32 } %1 = add %0, %i : i32";
    let messages = messages(body);
    assert_eq!(messages.len(), 1);
    assert!(messages[0].starts_with("`add` uses value"), "{messages:?}");
    assert!(messages[0].ends_with("which is not defined before it"), "{messages:?}");
}

#[test]
fn damaged_arenas_are_reported() {
    let build = || {
        let mut function = Function::new("f", vec![Param::new("n", Type::scalar(Scalar::Int32))]);
        let n = function.params[0].value;
        let mut builder = Builder::new(&mut function);
        let sum = builder.binary(BinaryOp::Add, n, n);
        builder.binary(BinaryOp::Add, sum, n);
        builder.finish();
        function
    };
    let says = |function: &Function, text: &str| {
        let diagnostics = verify(function).unwrap_err();
        assert!(diagnostics.iter().any(|d| d.message.contains(text)), "{diagnostics:?}");
    };

    let mut function = build();
    let body = function.body;
    function.region_mut(body).ops.swap(0, 1);
    says(&function, "not defined before");

    let mut function = build();
    function.region_mut(body).ops.push(OpId(0));
    says(&function, "listed twice");

    let mut function = build();
    function.region_mut(body).ops.push(OpId(99));
    says(&function, "not in the arena");

    let mut function = build();
    function.op_mut(OpId(1)).op = Op::Splat { value: Value(99) };
    says(&function, "not defined before");

    let mut function = build();
    let first = function.op(OpId(0)).results[0];
    function.op_mut(OpId(1)).results[0] = first;
    says(&function, "defined twice");
}

#[test]
fn sizes_that_overflow_are_reported_once_each() {
    let huge = "<4000000000x4000000000x4000000000xi32>";
    let found = messages(&format!("%0 = splat %i : {huge} %1 = reshape %0 : {huge}"));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|message| message.contains("more than 1073741824 elements")), "{found:?}");
}
