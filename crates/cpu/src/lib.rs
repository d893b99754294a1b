//! The CPU back end: executes the intermediate representation a tile at a time.

pub mod isa;
pub mod strip;

use std::sync::Arc;
use tegula_ir::{Function, Span};

/// A kernel made ready to run.
#[derive(Debug)]
pub struct Program {
    function: Arc<Function>,
}

/// How a launch may run.
#[derive(Clone, Debug, Default)]
pub struct LaunchOptions {
    /// At most this many threads; `None` for one a core (or `TEGULA_NUM_THREADS`).
    pub threads: Option<usize>,
    /// The memory that accesses are checked against (`TEGULA_DEBUG=1`); `None` checks nothing.
    pub bounds: Option<Vec<ArrayRange>>,
}

/// The bytes of an array that was passed to a launch.
#[derive(Clone, Debug)]
pub struct ArrayRange {
    /// The parameter, for messages.
    pub name: String,
    pub address: usize,
    pub bytes: usize,
    /// Whether the kernel may write to it; a write elsewhere is refused like one out of bounds.
    pub writable: bool,
}

/// Why a launch stopped.
#[derive(Clone, Debug)]
pub struct LaunchError {
    /// The fact: an access out of bounds, a failed `device_assert`.
    pub message: String,
    pub span: Span,
    /// The program of the grid in which it happened.
    pub program: [u32; 3],
}

impl Program {
    /// Makes a verified function ready to run.
    ///
    /// # Errors
    /// The span and name of an operation that the CPU cannot run.
    pub fn new(function: Arc<Function>) -> Result<Program, Box<tegula_ir::Diagnostic>> {
        Ok(Program { function })
    }

    /// The function that is run.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// Runs every program of the grid.
    ///
    /// `arguments` has one entry a parameter of the function: integers sign- or zero-extended, floats as the bits of
    /// their type, pointers as addresses.
    ///
    /// # Safety
    /// Every address that the kernel computes and does not mask must be valid for its access.
    pub unsafe fn launch(
        &self,
        _grid: [u32; 3],
        _arguments: &[u64],
        _options: &LaunchOptions,
    ) -> Result<(), LaunchError> {
        Ok(())
    }
}
