//! Runs kernels written as text, on arrays.

use std::sync::Arc;
use tegula_cpu::{ArrayRange, LaunchError, LaunchOptions, Program};
use tegula_ir::{Function, verify};

/// Parses, verifies and lowers a kernel.
pub fn program(text: &str) -> Program {
    let function = Function::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&function).unwrap_or_else(|diagnostics| panic!("{diagnostics:?}\n{text}"));
    Program::new(Arc::new(function)).unwrap_or_else(|diagnostic| panic!("{diagnostic:?}\n{text}"))
}

/// The address of an array, as an argument.
pub fn address<T>(array: &mut [T]) -> u64 {
    array.as_mut_ptr() as u64
}

/// Runs a kernel whose accesses are all within the arrays whose addresses it is given.
pub fn run(program: &Program, grid: [u32; 3], arguments: &[u64]) {
    // SAFETY: the tests pass addresses of arrays that are large enough.
    unsafe { program.launch(grid, arguments, &LaunchOptions::default()) }.expect("the launch succeeds");
}

/// Runs a kernel with every access checked against one array a pointer.
pub fn run_checked(
    program: &Program,
    grid: [u32; 3],
    arguments: &[u64],
    arrays: &[(&str, u64, usize)],
) -> Result<(), LaunchError> {
    let bounds = arrays
        .iter()
        .map(|&(name, address, bytes)| ArrayRange {
            name: name.to_owned(),
            address: address as usize,
            bytes,
            writable: !name.starts_with("const"),
        })
        .collect();
    let options = LaunchOptions { bounds: Some(bounds), ..LaunchOptions::default() };
    // SAFETY: every access is checked before it happens.
    unsafe { program.launch(grid, arguments, &options) }
}

/// A sequence of pseudo-random numbers (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number from -1 to 1.
    pub fn float(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    pub fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.float()).collect()
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }
}
