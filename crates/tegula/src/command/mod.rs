//! Arguments to work: one file a subcommand.
//!
//! Results go to standard output and diagnostics to standard error. The exit code is 0 if all went well, 1 if the kernel
//! (or its file) is at fault, and 2 if the command line is.

mod build;
mod compile;
mod kernels;
mod simulate;
mod variant;

use clap::{Parser, Subcommand};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use tegula::Error;

/// Compiles kernels written in the Triton language, without Python.
#[derive(Parser)]
#[command(
    name = "tegula",
    version,
    after_help = "\
Examples:
  tegula kernels kernels.py
  tegula compile kernels.py:vector_add --signature '*fp32,*fp32,*fp32,i32' --constexpr BLOCK=1024 --emit ir
  tegula build kernels.py:vector_add --signature '*fp32,*fp32,*fp32,i32' --constexpr BLOCK=1024 --target sm_80,sm_90
  tegula simulate kernels.py:vector_add --arguments 'fp32[999],fp32[999],fp32[999],999' --constexpr BLOCK=256 --grid 4

Exit codes: 0 success, 1 the kernel or its file is at fault, 2 the command line is.
Messages are coloured on a terminal, unless NO_COLOR is set; TEGULA_WARNINGS=0 silences warnings."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Build(build::Build),
    Compile(compile::Compile),
    Kernels(kernels::Kernels),
    Simulate(simulate::Simulate),
}

/// Runs what the command line asks for.
pub fn run() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Build(build) => build.run(),
        Command::Compile(compile) => compile.run(),
        Command::Kernels(kernels) => kernels.run(),
        Command::Simulate(simulate) => match simulate.run() {
            // The report has said it.
            Ok(false) => return ExitCode::from(1),
            outcome => outcome.map(drop),
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // The reader (`head`, say) has seen enough.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Failure::Output(error)) => {
            complain(&format!("error: cannot write the output: {error}"));
            ExitCode::from(1)
        }
        Err(Failure::Tegula(error)) => {
            let message = error.render(colour());
            complain(&if message.contains("error") { message } else { format!("error: {message}") });
            ExitCode::from(if is_usage(&error) { 2 } else { 1 })
        }
    }
}

/// Why a command did not end well.
enum Failure {
    Tegula(Error),
    Output(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Tegula(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

/// Whether the command line is at fault, not the kernel.
fn is_usage(error: &Error) -> bool {
    matches!(error, Error::Signature(_) | Error::Call { .. } | Error::UnknownKernel { .. })
}

/// Whether messages are coloured.
fn colour() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn complain(message: &str) {
    // Nothing is left to be done if standard error is closed.
    let _ = writeln!(io::stderr(), "{message}");
}
