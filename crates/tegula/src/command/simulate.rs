//! `tegula simulate`: a kernel in the simulator of GPUs.

use super::Failure;
use super::compile::target;
use super::variant::Place;
use clap::{Args, ValueEnum};
use std::io::Write;
use tegula::{Constant, Error, Module, Options, Signature, Simulation, Target};

/// Runs one kernel in the simulator of GPUs, and reports what it did and what is wrong with it.
///
/// The kernel is compiled to PTX as for hardware. Floats of arrays are random, integers are zeros.
#[derive(Args)]
#[command(after_help = "\
Arguments: one entry, in order, for each parameter that is no constexpr.
  fp32[1000] or fp16[64x64] is an array of that type; a number, True, False or None is itself

Example:
  tegula simulate kernels.py:vector_add --arguments 'fp32[1000],fp32[1000],fp32[1000],1000' \\
      --constexpr BLOCK=256 --grid 4 --target sm_90

The exit code is 1 if anything is wrong with the kernel. docs/simulator.md says what is modelled.")]
pub struct Simulate {
    /// The file, and the kernel in it
    #[arg(value_name = "FILE.py:KERNEL", value_parser = super::variant::place)]
    kernel: Place,

    /// The run-time arguments, separated by commas
    #[arg(long, short, default_value = "", hide_default_value = true)]
    arguments: String,

    /// A value for the compiler: a number, True, False, None, tl.TYPE, or a string (may be repeated)
    #[arg(long, short, value_name = "NAME=VALUE", value_parser = Signature::parse_constexpr)]
    constexpr: Vec<(String, Constant)>,

    /// The programs: one to three extents, separated by commas
    #[arg(long, short, default_value = "1", value_delimiter = ',', num_args = 1..=3)]
    grid: Vec<u32>,

    /// The GPU's architecture, such as sm_80 or sm_90
    #[arg(long, short, default_value = "sm_90", value_parser = target)]
    target: Target,

    /// The order in which warps take turns: 0 runs each until it waits, others are random
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Warps of 32 threads that run one program
    #[arg(long, value_name = "N")]
    num_warps: Option<i64>,

    /// Stages of pipelined loops
    #[arg(long, value_name = "N")]
    num_stages: Option<i64>,

    /// How the report is written
    #[arg(long, short, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

impl Simulate {
    pub fn run(self) -> Result<bool, Failure> {
        let (path, name) = self.kernel;
        let kernel = Module::from_file(&path)?.kernel(&name)?;
        let mut options = Options::default();
        for (name, value) in [("num_warps", self.num_warps), ("num_stages", self.num_stages)] {
            if let Some(value) = value {
                options.set(name, value).map_err(|error| Error::Signature(error.to_string()))?;
            }
        }
        let mut grid = [1; 3];
        for (place, &extent) in grid.iter_mut().zip(&self.grid) {
            *place = extent;
        }
        let simulation = Simulation {
            arguments: self.arguments,
            constants: self.constexpr,
            grid,
            options,
            seed: self.seed,
        };
        let report = kernel.simulate(self.target, &simulation)?;
        let mut output = std::io::stdout().lock();
        match self.format {
            Format::Text => write!(output, "{}{report}", report.printed)?,
            Format::Json => writeln!(output, "{}", report.to_json())?,
        }
        Ok(report.findings.is_empty())
    }
}
