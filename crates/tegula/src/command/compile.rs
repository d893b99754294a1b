//! `tegula compile`: a kernel to stages of its compilation.

use super::Failure;
use super::variant::{SIGNATURE_HELP, Variant};
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::PathBuf;
use tegula::{Compiled, Error, Target};

/// Compiles one kernel and prints stages of its compilation.
///
/// The kernel is compiled for the types of its run-time arguments and for the values of its constexprs. Imports of other files are
/// followed, as far as they can be found beside the kernel's own.
#[derive(Args)]
#[command(after_help = after_help())]
pub struct Compile {
    #[command(flatten)]
    variant: Variant,

    /// What to compile for: cpu, or a GPU's architecture, such as sm_80 or sm_90
    #[arg(long, short, default_value = "cpu", value_parser = target)]
    target: Target,

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

fn after_help() -> String {
    format!(
        "\
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

{SIGNATURE_HELP}"
    )
}

impl Compile {
    pub fn run(self) -> Result<(), Failure> {
        let (kernel, signature, options) = self.variant.read()?;
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
pub fn target(text: &str) -> Result<Target, Error> {
    Ok(text.parse::<Target>()?)
}
