//! `tegula compile`: a kernel to stages of its compilation.

use super::Failure;
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::PathBuf;
use tegula::{Compiled, Constant, Error, Module, Options, Signature, Target};

/// Compiles one kernel and prints stages of its compilation.
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

  For a GPU, which need not be there; several stages go to vector_add.ptx and vector_add.cubin:
    tegula compile kernels.py:vector_add --signature '*fp32:16,*fp32:16,*fp32:16,i32:16' \\
        --constexpr BLOCK=1024 --target sm_90 --num-warps 8 --emit ptx,cubin -o vector_add

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

    /// What to compile for: cpu, or a GPU's architecture, such as sm_80 or sm_90
    #[arg(long, short, default_value = "cpu", value_parser = target)]
    target: Target,

    /// Warps of 32 threads that run one program (GPUs)
    #[arg(long, value_name = "N")]
    num_warps: Option<i64>,

    /// Stages of pipelined loops (GPUs)
    #[arg(long, value_name = "N")]
    num_stages: Option<i64>,

    /// The stages to print, separated by commas
    #[arg(long, short, value_enum, value_delimiter = ',', default_value = "ir")]
    emit: Vec<Stage>,

    /// Where to write; several stages get a suffix each, such as `.ptx`; standard output if not given
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// The intermediate representation, optimised
    Ir,
    /// The intermediate representation as the front end makes it
    IrUnoptimised,
    /// How blocks are spread over the threads of a GPU
    Layouts,
    /// NVIDIA's assembly language, with the lines of the kernel between
    Ptx,
    /// Machine code of a GPU
    Cubin,
    /// The instructions of the machine code, with the lines of the kernel between (needs nvdisasm)
    Sass,
}

impl Stage {
    /// The name on the command line, which is also the suffix of files.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// What is printed; an error if the target has no such stage.
    fn of(self, compiled: &Compiled) -> Result<Vec<u8>, Error> {
        let contents = match self {
            Stage::Ir => Some(compiled.ir().into_bytes()),
            Stage::IrUnoptimised => Some(compiled.unoptimised_ir().into_bytes()),
            Stage::Layouts => compiled.layouts().map(|text| text.as_bytes().to_vec()),
            Stage::Ptx => compiled.annotated_ptx().map(String::into_bytes),
            Stage::Cubin => compiled.cubin()?,
            Stage::Sass => compiled.sass()?.map(String::into_bytes),
        };
        let mut stage = contents.ok_or_else(|| {
            Error::Signature(format!(
                "--emit {}: only GPUs have this stage; --target sm_90, say, names one",
                self.name()
            ))
        })?;
        if self != Stage::Cubin && !stage.ends_with(b"\n") {
            stage.push(b'\n');
        }
        Ok(stage)
    }
}

impl Compile {
    pub fn run(self) -> Result<(), Failure> {
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
        let compiled = kernel.compile(&signature, self.target, &options)?;
        for warning in compiled.warnings() {
            super::complain(&warning.render(super::colour()));
        }
        let several = self.emit.len() > 1;
        for &stage in &self.emit {
            let contents = stage.of(&compiled)?;
            match &self.output {
                Some(path) if several => {
                    let mut path = path.clone().into_os_string();
                    path.push(format!(".{}", stage.name()));
                    std::fs::write(path, contents)?;
                }
                Some(path) => std::fs::write(path, contents)?,
                None => {
                    let mut output = std::io::stdout().lock();
                    if several {
                        writeln!(output, "// {}", stage.name())?;
                    }
                    output.write_all(&contents)?;
                }
            }
        }
        Ok(())
    }
}

/// A target; the message of a wrong one names those that there are.
fn target(text: &str) -> Result<Target, Error> {
    Ok(text.parse::<Target>()?)
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
