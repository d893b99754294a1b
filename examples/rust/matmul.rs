//! Multiplies matrices with the kernel of `examples/matmul.py`: grouped programs, any strides, tile sizes chosen here.
//!
//! `cargo run --release --example matmul`

use tegula::{Kernel, Module, cdiv};

/// A matrix in row-major order, or a transposed view of one.
struct Matrix {
    numbers: Vec<f32>,
    rows: usize,
    cols: usize,
    /// Elements from one row to the next, and from one column to the next.
    strides: [usize; 2],
}

impl Matrix {
    fn new(rows: usize, cols: usize, number: impl Fn(usize) -> f32) -> Matrix {
        Matrix { numbers: (0..rows * cols).map(number).collect(), rows, cols, strides: [cols, 1] }
    }

    /// The same numbers with rows and columns exchanged; nothing is moved.
    fn transposed(self) -> Matrix {
        Matrix { rows: self.cols, cols: self.rows, strides: [self.strides[1], self.strides[0]], ..self }
    }

    fn at(&self, row: usize, col: usize) -> f32 {
        self.numbers[row * self.strides[0] + col * self.strides[1]]
    }
}

/// `a @ b` by tiles of `tile` x `tile` elements.
fn multiply(kernel: &Kernel, a: &Matrix, b: &Matrix, tile: usize) -> Result<Matrix, tegula::Error> {
    let mut c = Matrix::new(a.rows, b.cols, |_| f32::NAN);
    let launch = kernel
        .launch([cdiv(a.rows, tile) * cdiv(b.cols, tile)])
        .arg(&a.numbers)
        .arg(&b.numbers)
        .arg(&mut c.numbers)
        .arg(a.rows)
        .arg(b.cols)
        .arg(a.cols)
        .arg(a.strides[0])
        .arg(a.strides[1])
        .arg(b.strides[0])
        .arg(b.strides[1])
        .arg(c.strides[0])
        .arg(c.strides[1])
        .constexpr("BLOCK_M", tile)
        .constexpr("BLOCK_N", tile)
        .constexpr("BLOCK_K", 32)
        .constexpr("GROUP", 4);
    // SAFETY: rows and columns wrap around at the matrices' extents when they are read, and masks keep writes inside;
    // each program writes a tile of its own.
    unsafe { launch.run_unchecked() }?;
    Ok(c)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let module = Module::from_file(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/matmul.py"))?;
    let kernel = module.kernel("matmul_kernel")?;

    let number = |seed: usize| move |i: usize| ((i * 7919 + seed) % 1009) as f32 / 1009.0 - 0.5;
    for (rows, cols, inner) in [(64, 64, 64), (1, 70, 35), (97, 51, 129)] {
        for transposed in [false, true] {
            let a = Matrix::new(rows, inner, number(1));
            let b = if transposed {
                Matrix::new(cols, inner, number(2)).transposed()
            } else {
                Matrix::new(inner, cols, number(2))
            };
            let c = multiply(&kernel, &a, &b, 32)?;
            for row in 0..rows {
                for col in 0..cols {
                    let products = (0..inner).map(|k| f64::from(a.at(row, k)) * f64::from(b.at(k, col)));
                    let (sum, size) = products.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
                    let error = (f64::from(c.at(row, col)) - sum).abs();
                    assert!(
                        error <= 1e-6 * size,
                        "row {row}, column {col}: {} instead of {sum}",
                        c.at(row, col)
                    );
                }
            }
            let view = if transposed { " with B a transposed view" } else { "" };
            println!("matmul: {rows} x {cols} x {inner}{view} correct");
        }
    }
    Ok(())
}
