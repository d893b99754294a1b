//! A compiled kernel.

use crate::error::Error;
use crate::internal::guarded;
use crate::stores::stored_through;
use crate::target::Target;
use std::sync::Arc;
use tegula_cpu::{LaunchError, LaunchOptions, Program, StopReason};
use tegula_frontend::{Host, Request};
use tegula_ir::Function;

/// A kernel compiled for one target and one specialisation of its arguments.
#[derive(Debug)]
pub struct Executable {
    target: Target,
    program: Program,
    /// One a parameter: whether the kernel writes to memory through it.
    stored_through: Box<[bool]>,
}

impl Executable {
    /// Front end, passes and back end in a row.
    ///
    /// # Errors
    /// Those of [`lower`] and [`Executable::new`].
    pub fn compile(host: &dyn Host, request: &Request, target: Target) -> Result<Executable, Error> {
        Executable::new(lower(host, request)?, target)
    }

    /// Passes and back end: makes a function from the front end ready to run. Needs no host.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the target cannot do what the function does, [`Error::Internal`] if the compiler is at fault.
    pub fn new(mut function: Function, target: Target) -> Result<Executable, Error> {
        let name = function.name.clone();
        guarded(&name, || {
            tegula_passes::optimise(&mut function);
            let stored_through = stored_through(&function).into();
            let function = Arc::new(function);
            match Program::new(Arc::clone(&function)) {
                Ok(program) => Ok(Executable { target, program, stored_through }),
                Err(diagnostic) => {
                    Err(Error::Unsupported { diagnostic, sources: Box::new(function.sources.clone()) })
                }
            }
        })
    }

    /// What it was compiled for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The optimised function.
    pub fn function(&self) -> &Function {
        self.program.function()
    }

    /// One a parameter: whether the kernel may write to memory through it.
    pub fn stored_through(&self) -> &[bool] {
        &self.stored_through
    }

    /// Runs every program of the grid, and waits for the last. A grid with an extent of 0 has none.
    ///
    /// `arguments` are the run-time leaves in the order of the function's parameters, as [`Program::launch`] wants them.
    ///
    /// # Errors
    /// [`Error::ArgumentCount`], or [`Error::Launch`] if the kernel stops.
    ///
    /// # Safety
    /// Every address that the kernel computes and does not mask must be valid for its access.
    pub unsafe fn launch(
        &self,
        grid: [u32; 3],
        arguments: &[u64],
        options: &LaunchOptions,
    ) -> Result<(), Error> {
        let expected = self.function().params.len();
        if arguments.len() != expected {
            return Err(Error::ArgumentCount { expected, given: arguments.len() });
        }
        if grid.contains(&0) {
            return Ok(());
        }
        // SAFETY: the caller vouches for the addresses.
        let launched = || unsafe { self.program.launch(grid, arguments, options) };
        guarded(&self.function().name, || launched().map_err(|error| self.launch_error(error)))
    }

    fn launch_error(&self, error: LaunchError) -> Error {
        let function = self.function();
        match error.reason {
            StopReason::Internal => {
                Error::Internal { kernel: function.name.clone(), message: error.message }
            }
            StopReason::OutOfBounds | StopReason::Assertion | StopReason::Invalid => {
                Error::Launch { error, sources: Box::new(function.sources.clone()) }
            }
        }
    }
}

/// The front end: a kernel's source to the intermediate representation.
///
/// # Errors
/// [`Error::Compile`] with everything that is wrong with the kernel, [`Error::Internal`] if the front end is at fault.
pub fn lower(host: &dyn Host, request: &Request) -> Result<Function, Error> {
    let name = || host.function(request.kernel).map_or_else(|_| "kernel".to_owned(), |source| source.name.clone());
    guarded(&name(), || tegula_frontend::compile(host, request).map_err(Error::Compile))
}
