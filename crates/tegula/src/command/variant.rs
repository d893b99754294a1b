//! The arguments that say which kernel is compiled, and for what: common to `compile` and `build`.

use clap::Args;
use std::path::PathBuf;
use tegula::{Constant, Error, Kernel, Module, Options, Signature};

/// How signatures are written, for the help.
pub const SIGNATURE_HELP: &str = "\
Signature: one entry, in order, for each parameter that is no constexpr.
  i1 i8 i16 i32 i64 u8 u16 u32 u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5 fp8e4b15 fp8e4b8 fp8e5b16
  *T is a pointer to T, and *kT one that is only read through
  T:16 promises a multiple of 16 (of a pointer: an address that is one)
  a number, True, False or None is known to the compiler";

/// A file, and the name of a kernel in it.
pub type Place = (PathBuf, String);

#[derive(Args)]
pub struct Variant {
    /// The file, and the kernel in it
    #[arg(value_name = "FILE.py:KERNEL", value_parser = place)]
    kernel: Place,

    /// The types of the run-time arguments, separated by commas
    #[arg(long, short, default_value = "", hide_default_value = true)]
    signature: String,

    /// A value for the compiler: a number, True, False, None, tl.TYPE, or a string (may be repeated)
    #[arg(long, short, value_name = "NAME=VALUE", value_parser = Signature::parse_constexpr)]
    constexpr: Vec<(String, Constant)>,

    /// Warps of 32 threads that run one program (GPUs)
    #[arg(long, value_name = "N")]
    num_warps: Option<i64>,

    /// Stages of pipelined loops (GPUs)
    #[arg(long, value_name = "N")]
    num_stages: Option<i64>,
}

impl Variant {
    /// The kernel, and what it is to be compiled for.
    pub fn read(self) -> Result<(Kernel, Signature, Options), Error> {
        let (path, name) = self.kernel;
        let kernel = Module::from_file(&path)?.kernel(&name)?;
        let mut signature = Signature::parse(&self.signature)?;
        for (name, value) in self.constexpr {
            signature = signature.constexpr(name, value);
        }
        let mut options = Options::default();
        for (name, value) in [("num_warps", self.num_warps), ("num_stages", self.num_stages)] {
            if let Some(value) = value {
                options.set(name, value).map_err(|error| Error::Signature(error.to_string()))?;
            }
        }
        Ok((kernel, signature, options))
    }
}

/// `FILE.py:KERNEL`; the file's name may itself contain colons.
pub fn place(text: &str) -> Result<Place, Error> {
    match text.rsplit_once(':') {
        Some((file, kernel)) if !file.is_empty() && !kernel.is_empty() && !kernel.contains(['/', '\\']) => {
            Ok((file.into(), kernel.to_owned()))
        }
        _ => Err(Error::Signature(
            "expected the file and the kernel in it, such as kernels.py:vector_add".to_owned(),
        )),
    }
}
