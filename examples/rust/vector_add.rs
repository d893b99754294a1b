//! Adds two vectors with the kernel of `examples/vector_add.py`, from Rust and without Python.
//!
//! `cargo run --release --example vector_add`

use tegula::{Module, cdiv};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let module = Module::from_file(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/vector_add.py"))?;
    let kernel = module.kernel("add_kernel")?;

    for n in [1, 1000, 1024, 100_003] {
        let x: Vec<f32> = (0..n).map(|i| i as f32 * 0.25).collect();
        let y: Vec<f32> = (0..n).map(|i| 7.0 - i as f32).collect();

        // Safe: every access is checked against the slices, and programs run one after another.
        let mut checked = vec![f32::NAN; n];
        kernel
            .launch(|meta: &tegula::Meta<'_>| [cdiv(n, meta.int("BLOCK"))])
            .arg(&x)
            .arg(&y)
            .arg(&mut checked)
            .arg(n)
            .constexpr("BLOCK", 1024)
            .run()?;

        // On all cores, unchecked.
        let mut fast = vec![f32::NAN; n];
        let launch =
            kernel.launch([cdiv(n, 1024)]).arg(&x).arg(&y).arg(&mut fast).arg(n).constexpr("BLOCK", 1024);
        // SAFETY: the mask keeps every access below n, the length of the three slices, and each program writes elements of its own.
        unsafe { launch.run_unchecked() }?;

        for i in 0..n {
            assert_eq!(checked[i], x[i] + y[i], "element {i} of {n}");
            assert_eq!(fast[i], checked[i], "element {i} of {n}");
        }
        println!("vector_add: {n} elements correct");
    }
    Ok(())
}
