//! Everything that can go wrong between a call and its end.

use crate::cuda::DriverError;
use std::fmt;
use tegula_cpu::LaunchError;
use tegula_frontend::CompileError;
use tegula_ir::{Diagnostic, SourceMap};
use tegula_sim::Finding;
use thiserror::Error as ThisError;

/// Why a kernel was not compiled, not launched, or stopped.
///
/// `Display` gives the message without colours; [`Error::render`] can colour it.
#[derive(Clone, Debug, ThisError)]
pub enum Error {
    /// The kernel is ill-formed.
    #[error("{}", render(&.0.diagnostics, &.0.sources, false))]
    Compile(CompileError),
    /// The kernel uses what the target cannot do.
    #[error("{}", .diagnostic.render(.sources, false))]
    Unsupported { diagnostic: Box<Diagnostic>, sources: Box<SourceMap> },
    /// The kernel stopped: a failed `device_assert`, an access out of bounds.
    #[error("{}", launch(.error).render(.sources, false))]
    Launch { error: LaunchError, sources: Box<SourceMap> },
    /// A fault of the compiler itself, in the kernel named.
    #[error(
        "internal compiler error in `{kernel}`: {message}\nThis is a bug of tegula, not of the kernel: please report it, with the kernel if you can."
    )]
    Internal { kernel: String, message: String },
    /// A launch option with an impossible value.
    #[error("{0}")]
    Option(String),
    /// An integer argument that fits no integer type.
    #[error("{0} fits neither int64 nor uint64")]
    IntegerRange(i128),
    /// A launch with too few or too many arguments.
    #[error("the compiled kernel takes {expected} run-time arguments, but {given} were given")]
    ArgumentCount { expected: usize, given: usize },
    /// A grid with more programs along an axis than a GPU takes.
    #[error("extent {axis} of the grid is {extent}, but a GPU takes at most {limit}")]
    Grid { axis: usize, extent: u32, limit: u32 },
    /// One program needs more of something than the GPU has.
    #[error(
        "one program of `{kernel}` needs {required} {resource}, but the GPU has {available}; smaller blocks, a smaller \
         `num_stages` or more warps need less"
    )]
    OutOfResources { kernel: String, resource: Resource, required: u32, available: u32 },
    /// The assembler refuses a kernel, which is tegula's fault.
    #[error(
        "the PTX of `{kernel}` is refused by {assembler}; please report this as a fault of tegula:\n{log}"
    )]
    Assembler { kernel: String, assembler: String, log: String },
    /// The simulator does not know the kernel's PTX.
    #[error("`{kernel}` cannot be simulated: {message}")]
    Simulator { kernel: String, message: String },
    /// What the simulator has found wrong with a launch; `stopped` if the kernel has stopped itself, and nothing else is wrong.
    #[error("{}", faults(.kernel, .findings))]
    Findings { kernel: String, stopped: bool, findings: Vec<Finding> },
    /// Nothing here makes text of machine code.
    #[error("the machine code of `{kernel}` cannot be disassembled: {reason}")]
    NoDisassembler { kernel: String, reason: String },
    /// Nothing here makes machine code for the target.
    #[error("`{kernel}` was compiled to PTX, but there is no machine code: {reason}")]
    NoAssembler { kernel: String, reason: String },
    /// The CUDA driver has not done something.
    #[error("{0}")]
    Driver(#[from] DriverError),
}

/// What a GPU has a limited amount of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    SharedMemory,
    Registers,
}

impl Resource {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Resource::SharedMemory => "shared memory",
            Resource::Registers => "registers",
        }
    }
}

/// Prints what a number of it is a number of.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Resource::SharedMemory => "bytes of shared memory",
            Resource::Registers => "registers",
        })
    }
}

impl Error {
    /// A program that needs too many bytes of shared memory.
    pub(crate) fn shared_memory(kernel: &str, required: u32, available: u32) -> Error {
        Error::OutOfResources {
            kernel: kernel.to_owned(),
            resource: Resource::SharedMemory,
            required,
            available,
        }
    }

    /// The message with the quoted source lines, with terminal colours if `colour`.
    pub fn render(&self, colour: bool) -> String {
        match self {
            Error::Compile(error) => render(&error.diagnostics, &error.sources, colour),
            Error::Unsupported { diagnostic, sources } => diagnostic.render(sources, colour),
            Error::Launch { error, sources } => launch(error).render(sources, colour),
            _ => self.to_string(),
        }
    }
}

fn render(diagnostics: &[Diagnostic], sources: &SourceMap, colour: bool) -> String {
    let messages: Vec<String> = diagnostics.iter().map(|one| one.render(sources, colour)).collect();
    messages.join("\n\n")
}

/// The most findings that a message describes.
const DESCRIBED: usize = 8;

/// What is to be said of findings.
fn faults(kernel: &str, findings: &[Finding]) -> String {
    let shown: Vec<String> = findings.iter().take(DESCRIBED).map(Finding::to_string).collect();
    let more = findings.len().saturating_sub(DESCRIBED);
    let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
    format!("the simulator finds fault with `{kernel}`:\n{}{more}", shown.join("\n"))
}

/// What is to be said of a launch that stopped.
fn launch(error: &LaunchError) -> Diagnostic {
    let [x, y, z] = error.program;
    Diagnostic::error(error.span, &error.message).with_note(format!("in program ({x}, {y}, {z}) of the grid"))
}
