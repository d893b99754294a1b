//! The one error type of the crate.

use std::io;
use std::path::PathBuf;
use thiserror::Error as ThisError;

/// Why a kernel was not found, compiled or launched, or why it stopped.
///
/// `Display` gives the whole message, with the quoted lines of the kernel where there are any; [`Error::render`] can colour it.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// A source file could not be read.
    #[error("cannot read {}: {error}", .path.display())]
    Read { path: PathBuf, error: io::Error },
    /// A module has no kernel of that name. `known` has the names of those it has.
    #[error("{file} has no kernel `{name}`{}", known_kernels(.known))]
    UnknownKernel { file: String, name: String, known: Vec<String> },
    /// A signature or a constexpr that cannot be read.
    #[error("{0}")]
    Signature(String),
    /// Arguments that do not fit the kernel's parameters.
    #[error("{kernel}: {message}")]
    Call { kernel: String, message: String },
    /// The kernel is ill-formed, or does what the target cannot, or stopped.
    #[error(transparent)]
    Kernel(#[from] tegula_runtime::Error),
}

impl Error {
    /// The message, with terminal colours if `colour`.
    pub fn render(&self, colour: bool) -> String {
        match self {
            Error::Kernel(error) => error.render(colour),
            other => other.to_string(),
        }
    }
}

fn known_kernels(known: &[String]) -> String {
    if known.is_empty() {
        return "; it has none: a kernel is a function decorated with @triton.jit".to_owned();
    }
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    format!("; it has {}", names.join(", "))
}
