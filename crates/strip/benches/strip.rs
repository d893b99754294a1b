//! Throughput of the strips that kernels spend their time in, on data in the first-level cache.
//!
//! `cargo bench -p tegula-strip`; `TEGULA_CPU_ISA` chooses the instruction set.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use tegula_ir::{BinaryOp, Rounding, Scalar, UnaryOp};
use tegula_strip::{self as strip, Operands, StripFn, isa};

fn main() {
    divan::main();
}

/// Elements of a strip.
const COUNT: usize = 2048;

/// Times a strip operation on numbers between -1 and 1; counts elements, and the bytes read and written.
fn time(bencher: Bencher, function: Option<StripFn>, bytes: usize, in_place: bool) {
    let function = function.expect("the benchmarks name operations that exist");
    let values: Vec<f32> = (0..2 * COUNT).map(|i| (i % 201) as f32 / 100.0 - 1.0).collect();
    let mut out = vec![0u64; COUNT];
    let (a, b) = (values.as_ptr().cast::<u8>(), values[COUNT..].as_ptr().cast::<u8>());
    let a = if in_place { out.as_ptr().cast::<u8>() } else { a };
    bencher.counter(ItemsCount::new(COUNT)).counter(BytesCount::new(bytes * COUNT)).bench_local(|| {
        // SAFETY: the strips hold `COUNT` elements of up to 8 bytes (the output) and 4 bytes (the inputs).
        unsafe { function(black_box(out.as_mut_ptr().cast()), &[a, b, b], COUNT) };
    });
}

#[divan::bench]
fn add_fp32(bencher: Bencher) {
    let add = strip::binary(isa::selected(), BinaryOp::Add, Scalar::Float32, Operands::DenseDense);
    time(bencher, add, 12, false);
}

/// Short strips, whose last block is padded.
#[divan::bench(args = [1, 16, 64, 100])]
fn add_few_fp32(bencher: Bencher, count: usize) {
    let add =
        strip::binary(isa::selected(), BinaryOp::Add, Scalar::Float32, Operands::DenseDense).expect("exists");
    let (a, b, mut out) = ([1f32; 100], [2f32; 100], [0f32; 100]);
    let inputs = [a.as_ptr().cast(), b.as_ptr().cast(), std::ptr::null()];
    bencher.counter(ItemsCount::new(count)).bench_local(|| {
        // SAFETY: the strips hold 100 elements, and `count` is at most that.
        unsafe { add(black_box(out.as_mut_ptr().cast()), &inputs, count) };
    });
}

#[divan::bench]
fn add_fp32_in_place(bencher: Bencher) {
    let add = strip::binary(isa::selected(), BinaryOp::Add, Scalar::Float32, Operands::DenseDense);
    time(bencher, add, 12, true);
}

#[divan::bench]
fn add_one_fp32(bencher: Bencher) {
    let add = strip::binary(isa::selected(), BinaryOp::Add, Scalar::Float32, Operands::DenseSplat);
    time(bencher, add, 8, false);
}

#[divan::bench]
fn divide_int32(bencher: Bencher) {
    let divide = strip::binary(isa::selected(), BinaryOp::Div, Scalar::Int32, Operands::DenseSplat);
    time(bencher, divide, 8, false);
}

#[divan::bench(args = [
    UnaryOp::Exp, UnaryOp::Exp2, UnaryOp::Log, UnaryOp::Log2, UnaryOp::Tanh, UnaryOp::Erf, UnaryOp::Sin, UnaryOp::Tan,
    UnaryOp::Sqrt, UnaryOp::Rsqrt, UnaryOp::Erfc, UnaryOp::Expm1, UnaryOp::Lgamma
])]
fn function_fp32(bencher: Bencher, op: UnaryOp) {
    time(bencher, strip::unary(isa::selected(), op, Scalar::Float32), 8, false);
}

#[divan::bench(args = [BinaryOp::Pow, BinaryOp::Atan2])]
fn function_of_two_fp32(bencher: Bencher, op: BinaryOp) {
    time(bencher, strip::binary(isa::selected(), op, Scalar::Float32, Operands::DenseDense), 12, false);
}

#[divan::bench(args = [Scalar::Float16, Scalar::BFloat16])]
fn add_narrow(bencher: Bencher, scalar: Scalar) {
    time(bencher, strip::binary(isa::selected(), BinaryOp::Add, scalar, Operands::DenseDense), 6, false);
}

#[divan::bench(args = [
    (Scalar::Float32, Scalar::Float16), (Scalar::Float16, Scalar::Float32), (Scalar::Float32, Scalar::BFloat16),
    (Scalar::BFloat16, Scalar::Float32), (Scalar::Float32, Scalar::Float8E4M3), (Scalar::Float8E4M3, Scalar::Float32),
    (Scalar::Int32, Scalar::Float32), (Scalar::Float32, Scalar::Int32), (Scalar::Int8, Scalar::Float16)
])]
fn cast(bencher: Bencher, (from, to): (Scalar, Scalar)) {
    let bytes = (from.bytes() + to.bytes()) as usize;
    time(bencher, strip::cast(isa::selected(), from, to, Rounding::NearestEven), bytes, false);
}

#[divan::bench(args = [(BinaryOp::Add, Scalar::Float32), (BinaryOp::Max, Scalar::Float32), (BinaryOp::Add, Scalar::Float16)])]
fn reduce(bencher: Bencher, (op, scalar): (BinaryOp, Scalar)) {
    let function = strip::reduce(isa::selected(), op, scalar).expect("exists");
    let values = vec![1f32; COUNT];
    let bytes = scalar.bytes() as usize * COUNT;
    bencher.counter(ItemsCount::new(COUNT)).counter(BytesCount::new(bytes)).bench_local(|| {
        // SAFETY: the strip holds `COUNT` elements of up to 4 bytes.
        unsafe { function(black_box(values.as_ptr().cast()), COUNT) }
    });
}

#[divan::bench]
fn argmax_fp32(bencher: Bencher) {
    let function = strip::arg_reduce(isa::selected(), BinaryOp::Max, Scalar::Float32).expect("exists");
    let values: Vec<f32> = (0..COUNT).map(|i| i as f32).collect();
    bencher.counter(ItemsCount::new(COUNT)).counter(BytesCount::new(4 * COUNT)).bench_local(|| {
        // SAFETY: the strip holds `COUNT` elements.
        unsafe { function(black_box(values.as_ptr().cast()), COUNT) }
    });
}

#[divan::bench(args = [(BinaryOp::Add, Scalar::Float32), (BinaryOp::Max, Scalar::Float32), (BinaryOp::Add, Scalar::Int32)])]
fn scan(bencher: Bencher, (op, scalar): (BinaryOp, Scalar)) {
    time(bencher, strip::scan(isa::selected(), op, scalar), 8, false);
}

#[divan::bench]
fn select_fp32(bencher: Bencher) {
    time(bencher, strip::select(isa::selected(), 4, Operands::DenseDense), 13, false);
}
