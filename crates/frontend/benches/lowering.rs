//! How long the front end takes for kernels of the examples: from text to optimised intermediate representation.
//!
//! `cold` reads the text of the whole file first, as a command line does; `warm` has the syntax trees, as for a second
//! specialisation of a kernel.

#[path = "../tests/support/signature.rs"]
mod signature;

use divan::{Bencher, black_box};
use tegula_frontend::source_host::SourceHost;
use tegula_frontend::{Machine, Request, compile};
use tegula_ir::Function;

fn main() {
    divan::main();
}

/// A kernel, and what its arguments are.
#[derive(Clone, Copy)]
struct Kernel {
    text: &'static str,
    name: &'static str,
    signature: &'static str,
}

const KERNELS: [(&str, Kernel); 3] = [
    (
        "attention",
        Kernel {
            text: include_str!("../../../examples/attention.py"),
            name: "attention_kernel",
            signature: "*fp16 *fp16 *fp16 *fp16 fp32 i32 64 128 64 True",
        },
    ),
    (
        "matmul",
        Kernel {
            text: include_str!("../../../examples/matmul.py"),
            name: "matmul_kernel",
            signature: "*fp16 *fp16 *fp16 i32 i32 i32 i32 1 i32 1 i32 1 64 128 64 8",
        },
    ),
    (
        "vector_add",
        Kernel {
            text: include_str!("../../../examples/vector_add.py"),
            name: "add_kernel",
            signature: "*fp32 *fp32 *fp32 i32 1024",
        },
    ),
];

fn kernel(name: &str) -> Kernel {
    KERNELS.iter().find(|(known, _)| *known == name).expect("the kernel is listed").1
}

fn read(kernel: &Kernel) -> SourceHost {
    SourceHost::from_text("example.py", kernel.text).expect("the example is Python")
}

fn lower(host: &SourceHost, kernel: &Kernel) -> Function {
    let reference =
        host.kernels().find(|(name, _)| *name == kernel.name).expect("the example has the kernel").1;
    let request = Request {
        kernel: reference,
        arguments: signature::arguments(kernel.signature),
        machine: Machine::Cpu,
        interpreted: false,
    };
    let mut function = compile(host, &request).unwrap_or_else(|error| panic!("{error}"));
    tegula_passes::optimise(&mut function);
    function
}

#[divan::bench(args = ["attention", "matmul", "vector_add"])]
fn cold(bencher: Bencher, name: &str) {
    let kernel = kernel(name);
    bencher.bench(|| lower(&read(black_box(&kernel)), &kernel));
}

#[divan::bench(args = ["attention", "matmul", "vector_add"])]
fn warm(bencher: Bencher, name: &str) {
    let kernel = kernel(name);
    let host = read(&kernel);
    bencher.bench(|| lower(black_box(&host), &kernel));
}
