//! How long the passes take for the examples' kernels, from the front end's output.
//!
//! The texts in `kernels/` are what `tegula compile examples/attention.py:attention_kernel --emit ir-unoptimised`
//! and the like print.

use divan::Bencher;
use tegula_ir::{Function, verify};
use tegula_passes::{AxisAnalysis, optimise};

fn main() {
    divan::main();
}

const KERNELS: [&str; 3] = ["attention", "dropout", "matmul"];

fn text(name: &str) -> &'static str {
    match name {
        "attention" => include_str!("kernels/attention.ir"),
        "dropout" => include_str!("kernels/dropout.ir"),
        _ => include_str!("kernels/matmul.ir"),
    }
}

fn function(name: &str) -> Function {
    Function::parse(text(name)).expect("the text is the printer's")
}

fn optimised(name: &str) -> Function {
    let mut function = function(name);
    optimise(&mut function);
    function
}

#[divan::bench(args = KERNELS)]
fn passes(bencher: Bencher, name: &str) {
    bencher.with_inputs(|| function(name)).bench_local_values(|mut function| {
        optimise(&mut function);
        function
    });
}

#[divan::bench(args = KERNELS)]
fn axis_information(bencher: Bencher, name: &str) {
    bencher.with_inputs(|| optimised(name)).bench_local_refs(|function| AxisAnalysis::new(function));
}

#[divan::bench(args = KERNELS)]
fn verification(bencher: Bencher, name: &str) {
    bencher.with_inputs(|| function(name)).bench_local_refs(|function| verify(function).is_ok());
}

#[divan::bench(args = KERNELS)]
fn parsing(bencher: Bencher, name: &str) {
    bencher.bench_local(|| function(name));
}

#[divan::bench(args = KERNELS)]
fn printing(bencher: Bencher, name: &str) {
    bencher.with_inputs(|| function(name)).bench_local_refs(|function| function.to_string());
}
