//! `tegula kernels`: the kernels of a file.

use super::Failure;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use tegula::{Module, Parameter};

/// Lists the kernels of a file with their parameters.
///
/// Each line has the place of a kernel and its parameters; `= ...` marks those with a default.
#[derive(Args)]
#[command(after_help = "\
Example:
  $ tegula kernels kernels.py
  kernels.py:8: vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: constexpr)")]
pub struct Kernels {
    /// The file
    #[arg(value_name = "FILE.py")]
    file: PathBuf,
}

impl Kernels {
    pub fn run(self) -> Result<(), Failure> {
        let module = Module::from_file(&self.file)?;
        let mut output = std::io::stdout().lock();
        for kernel in module.kernels()? {
            let parameters: Vec<String> = kernel.parameters().iter().map(Parameter::to_string).collect();
            writeln!(
                output,
                "{}:{}: {}({})",
                self.file.display(),
                kernel.line(),
                kernel.name(),
                parameters.join(", ")
            )?;
        }
        Ok(())
    }
}
