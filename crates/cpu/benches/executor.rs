//! Time of a program of the grid, on one thread and on data in the caches: the work of the strips, and all that the executor adds to it.
//!
//! `cargo bench -p tegula-cpu`. The kernels are the representation of textbook kernels, as `tegula compile --emit ir` prints it.

use divan::Bencher;
use divan::counter::ItemsCount;
use std::sync::Arc;
use tegula_cpu::{LaunchOptions, Program};
use tegula_ir::Function;

fn main() {
    divan::main();
}

fn program(text: &str) -> Program {
    let function = Function::parse(text).unwrap_or_else(|error| panic!("{error}"));
    Program::new(Arc::new(function)).unwrap_or_else(|error| panic!("{error:?}"))
}

/// Numbers between -1 and 1.
fn floats(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i * 7919 % 2001) as f32 / 1000.0 - 1.0).collect()
}

fn address(array: &mut [f32]) -> u64 {
    array.as_mut_ptr() as u64
}

/// Times launches on one thread; counts programs.
fn time(bencher: Bencher, text: &str, grid: [u32; 3], arguments: &[u64]) {
    time_on(Some(1), bencher, text, grid, arguments);
}

fn time_on(threads: Option<usize>, bencher: Bencher, text: &str, grid: [u32; 3], arguments: &[u64]) {
    let program = program(text);
    let options = LaunchOptions { threads, ..LaunchOptions::default() };
    bencher.counter(ItemsCount::new(grid.iter().product::<u32>() as usize)).bench_local(|| {
        // SAFETY: the benchmarks pass arrays that are as large as their kernels' accesses.
        unsafe { program.launch(grid, arguments, &options) }.expect("the launch succeeds");
    });
}

/// What a launch costs.
#[divan::bench]
fn empty(bencher: Bencher) {
    time(bencher, "kernel @empty(%n: i32) {\n}", [1, 1, 1], &[1]);
}

#[divan::bench]
fn vector_add(bencher: Bencher) {
    const COUNT: usize = 1 << 17;
    let (mut x, mut y, mut out) = (floats(COUNT), floats(COUNT), floats(COUNT));
    let arguments = [address(&mut x), address(&mut y), address(&mut out), COUNT as u64];
    time(bencher, include_str!("kernels/vector_add.ir"), [COUNT as u32 / 4096, 1, 1], &arguments);
}

/// Programs of so few elements that what the executor adds to them is most of the time.
#[divan::bench]
fn short_rows(bencher: Bencher) {
    const COUNT: usize = 1 << 13;
    let (mut x, mut y, mut out) = (floats(COUNT), floats(COUNT), floats(COUNT));
    let arguments = [address(&mut x), address(&mut y), address(&mut out), COUNT as u64];
    time(bencher, include_str!("kernels/short_rows.ir"), [COUNT as u32 / 64, 1, 1], &arguments);
}

/// Arrays that no cache holds, on all cores.
#[divan::bench]
fn vector_add_from_memory(bencher: Bencher) {
    const COUNT: usize = 1 << 24;
    let (mut x, mut y, mut out) = (floats(COUNT), floats(COUNT), floats(COUNT));
    let arguments = [address(&mut x), address(&mut y), address(&mut out), COUNT as u64];
    time_on(None, bencher, include_str!("kernels/vector_add.ir"), [COUNT as u32 / 4096, 1, 1], &arguments);
}

#[divan::bench]
fn softmax_rows_from_memory(bencher: Bencher) {
    const ROWS: usize = 8192;
    let (mut x, mut out) = (floats(ROWS * 1000), floats(ROWS * 1000));
    let arguments = [address(&mut x), address(&mut out), 1000, 1000, 1000];
    time_on(None, bencher, include_str!("kernels/softmax_rows.ir"), [ROWS as u32, 1, 1], &arguments);
}

/// Rows that fill their block of 1024, and rows that do not.
#[divan::bench(args = [1024, 1000])]
fn softmax_rows(bencher: Bencher, columns: usize) {
    const ROWS: usize = 64;
    let (mut x, mut out) = (floats(ROWS * columns), floats(ROWS * columns));
    let columns = columns as u64;
    let arguments = [address(&mut x), address(&mut out), columns, columns, columns];
    time(bencher, include_str!("kernels/softmax_rows.ir"), [ROWS as u32, 1, 1], &arguments);
}

#[divan::bench]
fn softmax_online(bencher: Bencher) {
    const COLUMNS: usize = 128_256;
    let (mut x, mut out) = (floats(COLUMNS), floats(COLUMNS));
    let columns = COLUMNS as u64;
    let arguments = [address(&mut x), address(&mut out), columns, columns, columns];
    time(bencher, include_str!("kernels/softmax_online.ir"), [1, 1, 1], &arguments);
}

#[divan::bench(args = [1024, 1008])]
fn layer_norm(bencher: Bencher, columns: usize) {
    const ROWS: usize = 64;
    let (mut x, mut out) = (floats(ROWS * columns), floats(ROWS * columns));
    let (mut weight, mut bias) = (floats(columns), floats(columns));
    let arguments = [
        address(&mut x),
        address(&mut weight),
        address(&mut bias),
        address(&mut out),
        columns as u64,
        columns as u64,
        u64::from(1e-5f32.to_bits()),
    ];
    time(bencher, include_str!("kernels/layer_norm.ir"), [ROWS as u32, 1, 1], &arguments);
}

#[divan::bench]
fn matmul(bencher: Bencher) {
    const SIZE: usize = 256;
    let (mut a, mut b, mut c) = (floats(SIZE * SIZE), floats(SIZE * SIZE), floats(SIZE * SIZE));
    let size = SIZE as u64;
    let arguments = [address(&mut a), address(&mut b), address(&mut c), size, size, size, size, size, size];
    time(bencher, include_str!("kernels/matmul.ir"), [16, 1, 1], &arguments);
}

#[divan::bench]
fn attention(bencher: Bencher) {
    const LENGTH: usize = 512;
    let [mut q, mut k, mut v, mut out] = std::array::from_fn(|_| floats(LENGTH * 64));
    let mut sums = floats(LENGTH);
    let arguments = [
        address(&mut q),
        address(&mut k),
        address(&mut v),
        address(&mut out),
        address(&mut sums),
        u64::from(0.125f32.to_bits()),
        LENGTH as u64,
    ];
    time(bencher, include_str!("kernels/attention.ir"), [8, 1, 1], &arguments);
}

#[divan::bench]
fn dropout(bencher: Bencher) {
    const COUNT: usize = 1 << 14;
    let (mut x, mut out) = (floats(COUNT), floats(COUNT));
    let arguments = [address(&mut x), address(&mut out), COUNT as u64, u64::from(0.5f32.to_bits()), 7];
    time(bencher, include_str!("kernels/dropout.ir"), [16, 1, 1], &arguments);
}

#[divan::bench]
fn row_cumsum(bencher: Bencher) {
    const ROWS: usize = 16;
    let (mut x, mut out) = (floats(ROWS * 4096), floats(ROWS * 4096));
    let arguments = [address(&mut x), address(&mut out), 4096];
    time(bencher, include_str!("kernels/row_cumsum.ir"), [ROWS as u32, 1, 1], &arguments);
}
