//! What each pass makes of a text, and what each analysis says of one.

mod axis_info;
mod common_subexpressions;
mod dead_code;
mod fold;
mod launch_check;
mod loop_invariants;
mod pipeline;
mod uniform;
mod uses;

use std::collections::HashMap;
use tegula_ir::{Function, OpId, RegionId, Value, verify};

/// A function with a parameter of each common type, and the given body.
fn kernel(body: &str) -> Function {
    let text = format!(
        "kernel @f(%n: i32, %m: i32, %l: i64, %u: u32, %c: i1, %d: i1, %x: fp32, %y: fp32, %h: fp16, %p: *fp32, \
         %q: *i32 {{divisible 16}}, %flags: *i1) {{\n{body}\n}}"
    );
    let function = Function::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&function).unwrap_or_else(|diagnostics| panic!("{}\n{text}", diagnostics[0].message));
    function
}

/// Asserts that a pass turns one body into another, whatever its values are called, and says that it changed it.
#[track_caller]
fn becomes(pass: fn(&mut Function) -> bool, before: &str, after: &str) {
    let mut function = kernel(before);
    let changed = pass(&mut function);
    verify(&function).unwrap_or_else(|diagnostics| panic!("{}\n{function}", diagnostics[0].message));
    let (actual, expected) = (function.to_string(), kernel(after).to_string());
    assert!(actual == expected, "the pass made\n{actual}\ninstead of\n{expected}");
    assert!(changed, "the pass says that it changed nothing");
}

/// Asserts that a pass leaves a body as it is, and says so.
#[track_caller]
fn stays(pass: fn(&mut Function) -> bool, body: &str) {
    let mut function = kernel(body);
    let before = function.to_string();
    let changed = pass(&mut function);
    assert_eq!(function.to_string(), before);
    assert!(!changed, "the pass says that it changed something");
}

/// The values of a body that are stored, printed or compared by name in a test: `print "name" (%value)`.
fn named(function: &Function) -> HashMap<String, Value> {
    fn visit(function: &Function, region: RegionId, named: &mut HashMap<String, Value>) {
        for &id in &function.region(region).ops {
            let op = &function.op(id).op;
            if let tegula_ir::Op::Print { prefix, values, .. } = op {
                named.insert(prefix.clone(), values[0]);
            }
            for region in op.regions() {
                visit(function, region, named);
            }
        }
    }
    let mut named_values = HashMap::new();
    visit(function, function.body, &mut named_values);
    named_values
}

/// The operations of the body, in order.
fn ops(function: &Function) -> Vec<OpId> {
    function.region(function.body).ops.clone()
}
