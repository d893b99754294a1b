//! A compiled kernel.

use crate::cuda::{CudaKernel, Stream};
use crate::disk_cache::DiskCache;
use crate::error::Error;
use crate::internal::guarded;
use crate::options::Options;
use crate::simulated::{Schedule, SimulatedKernel};
use crate::stores::stored_through;
use crate::target::Target;
use crate::warnings::{LaunchHistory, Warning};
use std::sync::Arc;
use tegula_cpu::{ArrayRange, LaunchError, LaunchOptions, Program, StopReason};
use tegula_frontend::{Host, Request};
use tegula_ir::Function;
use tegula_sim::Report;

/// A kernel compiled for one target and one specialisation of its arguments.
#[derive(Debug)]
pub struct Executable {
    function: Arc<Function>,
    code: Code,
    /// One a parameter: whether the kernel writes to memory through it.
    stored_through: Box<[bool]>,
    history: LaunchHistory,
}

/// What a back end made of the function.
#[derive(Debug)]
enum Code {
    Cpu(Program),
    Cuda(Box<CudaKernel>),
    Simulated(Box<SimulatedKernel>),
}

impl Executable {
    /// Passes and back end: makes a function from the front end ready to run. Needs no host.
    ///
    /// What is compiled for a GPU is taken from `cache`, or kept in it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the target cannot do what the function does; for GPUs, those of
    /// [`CudaKernel::compile`]; [`Error::Internal`] if the compiler is at fault.
    pub fn new(
        mut function: Function,
        target: Target,
        options: &Options,
        cache: Option<&DiskCache>,
    ) -> Result<Executable, Error> {
        let name = function.name.clone();
        guarded(&name, || {
            tegula_passes::optimise(&mut function);
            let stored_through = stored_through(&function).into();
            let history = LaunchHistory::new(&function);
            let function = Arc::new(function);
            let code = match target {
                Target::Cpu => Code::Cpu(Program::new(Arc::clone(&function)).map_err(|diagnostic| {
                    Error::Unsupported { diagnostic, sources: Box::new(function.sources.clone()) }
                })?),
                Target::Cuda(gpu) => {
                    Code::Cuda(Box::new(CudaKernel::compile(&function, gpu, options, cache)?))
                }
                Target::Simulated(gpu) => {
                    Code::Simulated(Box::new(SimulatedKernel::compile(&function, gpu, options)?))
                }
            };
            Ok(Executable { function, code, stored_through, history })
        })
    }

    /// What it was compiled for.
    pub fn target(&self) -> Target {
        match &self.code {
            Code::Cpu(_) => Target::Cpu,
            Code::Cuda(kernel) => Target::Cuda(kernel.gpu()),
            Code::Simulated(kernel) => Target::Simulated(kernel.gpu()),
        }
    }

    /// The kernel for GPUs, if it was compiled for one.
    pub fn cuda(&self) -> Option<&CudaKernel> {
        match &self.code {
            Code::Cpu(_) | Code::Simulated(_) => None,
            Code::Cuda(kernel) => Some(kernel),
        }
    }

    /// The kernel for the simulator, if it was compiled for that.
    pub fn simulated(&self) -> Option<&SimulatedKernel> {
        match &self.code {
            Code::Cpu(_) | Code::Cuda(_) => None,
            Code::Simulated(kernel) => Some(kernel),
        }
    }

    /// The optimised function.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// One a parameter: whether the kernel may write to memory through it.
    pub fn stored_through(&self) -> &[bool] {
        &self.stored_through
    }

    /// What usually is a mistake in the kernel's source.
    pub fn warnings(&self) -> Vec<Warning> {
        Warning::of_source(self.function())
    }

    /// Whether [`Executable::check_launch`] has nothing to say of a launch like this one, or has said it. Takes nanoseconds.
    pub fn is_checked(&self, grid: [u32; 3], arguments: &[u64]) -> bool {
        self.history.covers(grid, arguments)
    }

    /// Warns of accesses of a launch that go wrong: int32 offsets that wrap, and, if `arrays` is all the memory that was passed, accesses
    /// outside of it.
    ///
    /// Launches of one kernel are looked at once, and again when an argument or the grid has doubled.
    ///
    /// # Errors
    /// [`Error::Internal`] if the check is at fault.
    pub fn check_launch(
        &self,
        grid: [u32; 3],
        arguments: &[u64],
        arrays: Option<&[ArrayRange]>,
    ) -> Result<Vec<Warning>, Error> {
        let function = self.function();
        if grid.contains(&0) || arguments.len() != function.params.len() {
            return Ok(Vec::new());
        }
        guarded(&function.name, || {
            Ok(Warning::all(self.history.check(function, grid, arguments, arrays), function))
        })
    }

    /// Runs every program of the grid on the CPU, or in the simulator, and waits for the last. A grid with an extent of 0 has none.
    ///
    /// `arguments` are the run-time leaves in the order of the function's parameters, as [`Program::launch`] wants them.
    ///
    /// # Errors
    /// [`Error::ArgumentCount`], [`Error::Launch`] if the kernel stops, [`Error::Findings`] if the simulator finds fault with it, or
    /// [`Error::Option`] if it was compiled for a GPU.
    ///
    /// # Safety
    /// Every address that the kernel computes and does not mask must be valid for its access.
    pub unsafe fn launch(
        &self,
        grid: [u32; 3],
        arguments: &[u64],
        options: &LaunchOptions,
    ) -> Result<(), Error> {
        let program = match &self.code {
            Code::Cpu(program) => program,
            Code::Simulated(kernel) => {
                if grid.contains(&0) {
                    return Ok(());
                }
                return guarded(&self.function().name, || {
                    // SAFETY: the caller vouches for the addresses.
                    unsafe { kernel.launch(grid, arguments, options) }
                });
            }
            Code::Cuda(_) => return Err(self.elsewhere("the CPU")),
        };
        let expected = self.function.params.len();
        if arguments.len() != expected {
            return Err(Error::ArgumentCount { expected, given: arguments.len() });
        }
        if grid.contains(&0) {
            return Ok(());
        }
        // SAFETY: the caller vouches for the addresses.
        let launched = || unsafe { program.launch(grid, arguments, options) };
        guarded(&self.function().name, || launched().map_err(|error| self.launch_error(error)))
    }

    /// Runs every program of the grid in the simulator, and reports what happened.
    ///
    /// # Errors
    /// Those of [`SimulatedKernel::report`], or [`Error::Option`] if it was not compiled for the simulator.
    ///
    /// # Safety
    /// As for [`Executable::launch`], unless `options.bounds` has all memory that may be accessed.
    pub unsafe fn simulate(
        &self,
        grid: [u32; 3],
        arguments: &[u64],
        options: &LaunchOptions,
        schedule: Schedule,
    ) -> Result<Report, Error> {
        let Some(kernel) = self.simulated() else {
            return Err(self.elsewhere("the simulator"));
        };
        // SAFETY: the caller vouches for the addresses.
        guarded(&self.function().name, || unsafe { kernel.report(grid, arguments, options, schedule) })
    }

    /// Queues every program of the grid on a stream of a GPU; returns before they have run.
    ///
    /// `arguments` are as for [`Executable::launch`], with addresses of the device.
    ///
    /// # Errors
    /// Those of [`CudaKernel::launch`], or [`Error::Option`] if the kernel was compiled for the CPU.
    ///
    /// # Safety
    /// As for [`Executable::launch`], until the kernel ends; the stream must be one of the device.
    pub unsafe fn launch_cuda(
        &self,
        device: u32,
        stream: Stream,
        grid: [u32; 3],
        arguments: &[u64],
    ) -> Result<(), Error> {
        let Code::Cuda(kernel) = &self.code else {
            return Err(self.elsewhere("a GPU"));
        };
        // SAFETY: the caller vouches for the addresses and for the stream.
        unsafe { kernel.launch(device, stream, grid, arguments) }
    }

    fn elsewhere(&self, place: &str) -> Error {
        Error::Option(format!(
            "`{}` was compiled for {}, and cannot be launched on {place}",
            self.function.name,
            self.target()
        ))
    }

    fn launch_error(&self, error: LaunchError) -> Error {
        let function = self.function();
        match error.reason {
            StopReason::Internal => Error::Internal { kernel: function.name.clone(), message: error.message },
            StopReason::OutOfBounds
            | StopReason::Assertion
            | StopReason::Invalid
            | StopReason::Interrupted => Error::Launch { error, sources: Box::new(function.sources.clone()) },
        }
    }
}

/// The passes that every target wants.
///
/// # Errors
/// [`Error::Internal`] if a pass is at fault.
pub fn optimise(mut function: Function) -> Result<Function, Error> {
    let name = function.name.clone();
    guarded(&name, || {
        tegula_passes::optimise(&mut function);
        Ok(function)
    })
}

/// The front end: a kernel's source to the intermediate representation.
///
/// # Errors
/// [`Error::Compile`] with everything that is wrong with the kernel, [`Error::Internal`] if the front end is at fault.
pub fn lower(host: &dyn Host, request: &Request) -> Result<Function, Error> {
    let name =
        || host.function(request.kernel).map_or_else(|_| "kernel".to_owned(), |source| source.name.clone());
    guarded(&name(), || tegula_frontend::compile(host, request).map_err(Error::Compile))
}
