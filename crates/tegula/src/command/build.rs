//! `tegula build`: a kernel to files that programs without a compiler launch it from.

use super::Failure;
use super::compile::target;
use super::variant::{SIGNATURE_HELP, Variant};
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::PathBuf;
use tegula::{Ahead, Target};

/// Compiles one kernel ahead of time, for GPUs that need not be here.
///
/// Writes the machine code of each target, a C header that holds it and has functions that load and launch it, and a Rust module that does the
/// same. Prints the names of the files. Needs an assembler: nvJitLink or ptxas.
#[derive(Args)]
#[command(after_help = after_help())]
pub struct Build {
    #[command(flatten)]
    variant: Variant,

    /// The architectures of GPUs, separated by commas, such as sm_80,sm_90
    #[arg(long, short, value_delimiter = ',', value_parser = target, required = true)]
    target: Vec<Target>,

    /// What the launchers and the files are called after; the kernel's name if not given
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// What to write, separated by commas; the Rust module wants the machine code beside it
    #[arg(long, short, value_enum, value_delimiter = ',', default_value = "cubin,c,rust")]
    emit: Vec<Product>,

    /// The folder to write to, which is made if need be
    #[arg(long, short, value_name = "FOLDER", default_value = ".")]
    output: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Product {
    /// Machine code, a file for each target
    Cubin,
    /// A header for C and C++, complete in itself
    C,
    /// A Rust module over the crate cudarc
    Rust,
}

fn after_help() -> String {
    format!(
        "\
Example:
  $ tegula build kernels.py:vector_add --signature '*fp32:16,*fp32:16,*fp32:16,i32' \\
        --constexpr BLOCK=1024 --target sm_80,sm_90 --output built
  built/vector_add.sm_90a.cubin
  built/vector_add.sm_80.cubin
  built/vector_add.h
  built/vector_add.rs

{SIGNATURE_HELP}"
    )
}

impl Build {
    pub fn run(self) -> Result<(), Failure> {
        let (kernel, signature, options) = self.variant.read()?;
        let mut ahead = Ahead::new(&kernel, &signature, &self.target, &options)?;
        if let Some(name) = &self.name {
            ahead = ahead.renamed(name)?;
        }
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        if self.emit.contains(&Product::Cubin) {
            files.extend(ahead.cubins().map(|(name, code)| (name, code.to_vec())));
        }
        if self.emit.contains(&Product::C) {
            files.push((format!("{}.h", ahead.name()), ahead.c_header().into_bytes()));
        }
        if self.emit.contains(&Product::Rust) {
            files.push((format!("{}.rs", ahead.name()), ahead.rust_module().into_bytes()));
        }
        std::fs::create_dir_all(&self.output)?;
        for (name, contents) in files {
            let path = self.output.join(name);
            std::fs::write(&path, contents)?;
            writeln!(std::io::stdout(), "{}", path.display())?;
        }
        Ok(())
    }
}
