//! `tegula compile`: a kernel to one of the stages of its compilation.

use super::Failure;
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::PathBuf;
use tegula::{Constant, Error, Module, Signature, Target};

/// Compiles one kernel and prints a stage of its compilation.
///
/// The kernel is compiled for the types of its run-time arguments and for the values of its constexprs. Imports of other files are
/// followed, as far as they can be found beside the kernel's own.
#[derive(Args)]
#[command(after_help = "\
Examples:
  Vector addition, of pointers of which nothing is known:
    tegula compile kernels.py:vector_add --signature '*fp32,*fp32,*fp32,i32' --constexpr BLOCK=1024

  As launched on aligned arrays whose length is a multiple of 16, before optimisation:
    tegula compile kernels.py:vector_add --signature '*fp32:16,*fp32:16,*fp32:16,i32:16' \\
        --constexpr BLOCK=1024 --emit ir-unoptimised -o vector_add.ir

  A kernel that does without one of its pointers, specialised for a type and a stride of 1:
    tegula compile kernels.py:scale --signature '*fp16,None,i32,1' --constexpr DTYPE=tl.float32

Signature: one entry, in order, for each parameter that is no constexpr.
  i1 i8 i16 i32 i64 u8 u16 u32 u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5 fp8e4b15 fp8e4b8 fp8e5b16
  *T is a pointer to T, and *kT one that is only read through
  T:16 promises a multiple of 16 (of a pointer: an address that is one)
  a number, True, False or None is known to the compiler")]
pub struct Compile {
    /// The file, and the kernel in it
    #[arg(value_name = "FILE.py:KERNEL", value_parser = place)]
    kernel: (PathBuf, String),

    /// The types of the run-time arguments, separated by commas
    #[arg(long, short, default_value = "", hide_default_value = true)]
    signature: String,

    /// A value for the compiler: a number, True, False, None, tl.TYPE, or a string (may be repeated)
    #[arg(long, short, value_name = "NAME=VALUE", value_parser = Signature::parse_constexpr)]
    constexpr: Vec<(String, Constant)>,

    /// What to compile for
    #[arg(long, short, value_enum, default_value_t = TargetName::Cpu)]
    target: TargetName,

    /// The stage to print
    #[arg(long, short, value_enum, default_value_t = Stage::Ir)]
    emit: Stage,

    /// Where to write; standard output if not given
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum TargetName {
    /// The processor that tegula runs on
    Cpu,
}

#[derive(Clone, Copy, ValueEnum)]
enum Stage {
    /// The intermediate representation, optimised
    Ir,
    /// The intermediate representation as the front end makes it
    IrUnoptimised,
}

impl Compile {
    pub fn run(self) -> Result<(), Failure> {
        let (path, name) = self.kernel;
        let kernel = Module::from_file(&path)?.kernel(&name)?;
        let mut signature = Signature::parse(&self.signature)?;
        for (name, value) in self.constexpr {
            signature = signature.constexpr(name, value);
        }
        let target = match self.target {
            TargetName::Cpu => Target::Cpu,
        };
        let compiled = kernel.compile(&signature, target)?;
        let mut text = match self.emit {
            Stage::Ir => compiled.ir(),
            Stage::IrUnoptimised => compiled.unoptimised_ir(),
        };
        if !text.ends_with('\n') {
            text.push('\n');
        }
        match self.output {
            Some(path) => std::fs::write(path, text)?,
            None => std::io::stdout().write_all(text.as_bytes())?,
        }
        Ok(())
    }
}

/// `FILE.py:KERNEL`; the file's name may itself contain colons.
fn place(text: &str) -> Result<(PathBuf, String), Error> {
    match text.rsplit_once(':') {
        Some((file, kernel)) if !file.is_empty() && !kernel.is_empty() && !kernel.contains(['/', '\\']) => {
            Ok((file.into(), kernel.to_owned()))
        }
        _ => Err(Error::Signature(
            "expected the file and the kernel in it, such as kernels.py:vector_add".to_owned(),
        )),
    }
}
