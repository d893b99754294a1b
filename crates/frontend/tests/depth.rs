//! Texts that are nested without measure are refused or compiled, and never exhaust the stack.

mod support;

const HEADER: &str =
    "# *i32 i32\nimport triton\nimport triton.language as tl\n@triton.jit\ndef kernel(x_ptr, n):\n";

/// What is said of a kernel with the given body; nothing if it compiles.
fn complaint(body: &str) -> Option<String> {
    support::compile_text("deep.py", &format!("{HEADER}{body}"), false).err().map(|error| error.render(false))
}

#[test]
fn a_long_sum_compiles() {
    let sum = vec!["n"; 1000].join(" + ");
    assert_eq!(complaint(&format!("    tl.store(x_ptr, {sum})\n")), None);
}

#[test]
fn expressions_without_end_are_refused() {
    let sum = vec!["n"; 20_000].join(" + ");
    let said = complaint(&format!("    tl.store(x_ptr, {sum})\n")).unwrap();
    assert!(said.contains("nested too deeply"), "{said}");
    for (open, close) in [("(", ")"), ("-", ""), ("[", "]"), ("abs(", ")"), ("1 if n else ", "")] {
        let body = format!("    v = {}n{}\n", open.repeat(20_000), close.repeat(20_000));
        // Python has limits of its own here; whichever is met first is fine.
        complaint(&body);
    }
    let text = format!("    v = f'{{{}n{}}}'\n", "(".repeat(20_000), ")".repeat(20_000));
    complaint(&text);
}

#[test]
fn early_returns_without_end_are_refused() {
    let returns: String = (0..150).map(|i| format!("    if n == {i}:\n        return\n")).collect();
    assert_eq!(complaint(&returns), None);
    let returns: String = (0..5000).map(|i| format!("    if n == {i}:\n        return\n")).collect();
    let said = complaint(&returns).unwrap();
    assert!(said.contains("branches and loops are nested more than"), "{said}");
}

#[test]
fn recursion_through_branches_is_refused() {
    let text = HEADER.replace(
        "@triton.jit",
        "@triton.jit\ndef f(n):\n    if n > 3:\n        return n\n    return f(n - 1) + f(n - 2)\n\n@triton.jit",
    );
    let error =
        support::compile_text("deep.py", &format!("{text}    tl.store(x_ptr, f(n))\n"), false).unwrap_err();
    assert!(error.render(false).contains("recursion does not end"), "{error}");
}
