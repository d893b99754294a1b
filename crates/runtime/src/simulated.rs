//! Kernels for GPUs that run in the simulator: PTX as for hardware, on arrays of the CPU.
//!
//! What the simulator finds wrong with a launch is an error of the launch.

use crate::cuda::Generated;
use crate::error::Error;
use crate::options::Options;
use crate::target::Gpu;
use crate::tensor_map::{Matrix, Plan};
use crate::versions::Versions;
use std::io::Write;
use std::sync::Arc;
use tegula_cpu::{ArrayRange, LaunchError, LaunchOptions, StopReason};
use tegula_gpu::ParameterKind;
use tegula_ir::{Element, Function, Op, Value};
use tegula_sim::{Argument, Array, FindingKind, Launch, Program, Report, TensorMap};

/// A kernel that launches in the simulator.
#[derive(Debug)]
pub struct SimulatedKernel {
    generated: Generated,
    gpu: Gpu,
    program: Program,
    plan: Plan,
    function: Arc<Function>,
    options: Options,
    /// Whether addresses come from elsewhere than the arguments, so that the arrays are not all the memory.
    makes_pointers: bool,
    /// Those for arguments that have no tensor maps.
    versions: Versions<SimulatedKernel>,
}

/// How the warps of a program take turns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Schedule {
    /// 0 runs a warp until it waits; others choose at random.
    pub seed: u64,
    /// Instructions of a program's warps after which it is found not to end; `None` for many.
    pub instruction_limit: Option<u64>,
}

impl SimulatedKernel {
    /// The environment variable with the number that chooses a schedule of warps: 0, the usual one, runs a warp until it waits.
    pub const SEED: &str = "TEGULA_SIM_SEED";

    /// Compiles an optimised function.
    ///
    /// # Errors
    /// Those of [`Generated::new`]; [`Error::OutOfResources`]; [`Error::Simulator`] if the PTX has what the simulator does not know.
    pub fn compile(function: &Arc<Function>, gpu: Gpu, options: &Options) -> Result<SimulatedKernel, Error> {
        let generated = Generated::new(function, gpu, options)?;
        generated.check_shared_memory()?;
        SimulatedKernel::of(generated, function, gpu, options)
    }

    /// The same kernel with other PTX, which takes the same arguments.
    ///
    /// # Errors
    /// [`Error::Simulator`] if the PTX has what the simulator does not know.
    pub fn with_ptx(&self, ptx: String) -> Result<SimulatedKernel, Error> {
        let mut generated = self.generated.clone();
        generated.kernel.ptx = ptx;
        SimulatedKernel::of(generated, &self.function, self.gpu, &self.options)
    }

    fn of(
        generated: Generated,
        function: &Arc<Function>,
        gpu: Gpu,
        options: &Options,
    ) -> Result<SimulatedKernel, Error> {
        let kernel = &generated.kernel;
        let program = Program::new(&kernel.ptx, &kernel.name)
            .map_err(|error| Error::Simulator { kernel: kernel.name.clone(), message: error.to_string() })?;
        let plan = Plan::new(function, kernel.tensor_maps.clone(), kernel.conditions.clone());
        let versions = Versions::new(function, options, &plan);
        Ok(SimulatedKernel {
            gpu,
            program,
            plan,
            function: Arc::clone(function),
            options: *options,
            makes_pointers: makes_pointers(function),
            versions,
            generated,
        })
    }

    /// What the back end made.
    pub fn kernel(&self) -> &tegula_gpu::Kernel {
        &self.generated.kernel
    }

    /// What it was compiled for.
    pub fn gpu(&self) -> Gpu {
        self.gpu
    }

    /// Runs every program of a grid, prints what they print, and waits for the last.
    ///
    /// # Errors
    /// [`Error::ArgumentCount`]; [`Error::Option`] if [`SimulatedKernel::SEED`] is no number; [`Error::Findings`] if anything is wrong;
    /// [`Error::Launch`] if a `device_assert` fails or the caller interrupts.
    ///
    /// # Safety
    /// Every address that the kernel computes and does not mask must be valid for its access, unless `options.bounds` has all that are.
    pub unsafe fn launch(
        &self,
        grid: [u32; 3],
        arguments: &[u64],
        options: &LaunchOptions,
    ) -> Result<(), Error> {
        let seed = match std::env::var(SimulatedKernel::SEED) {
            Ok(text) if !text.is_empty() => text.parse().map_err(|_| {
                Error::Option(format!("{} is `{text}`, and must be a number", SimulatedKernel::SEED))
            })?,
            _ => 0,
        };
        // SAFETY: the caller vouches for the addresses.
        let report =
            unsafe { self.report(grid, arguments, options, Schedule { seed, instruction_limit: None }) }?;
        if !report.printed.is_empty() {
            // As with `print`, a closed output is not the kernel's fault.
            let _ = std::io::stdout().lock().write_all(report.printed.as_bytes());
        }
        if report.interrupted {
            let error = LaunchError::outside(StopReason::Interrupted, "the launch was interrupted".into());
            return Err(Error::Launch { error, sources: Box::new(self.function.sources.clone()) });
        }
        if report.findings.is_empty() {
            return Ok(());
        }
        let stopped = report.findings.iter().all(|finding| finding.kind == FindingKind::Trap);
        Err(Error::Findings { kernel: self.kernel().name.clone(), stopped, findings: report.findings })
    }

    /// Runs every program of a grid, and reports what happened.
    ///
    /// # Errors
    /// [`Error::ArgumentCount`], and those of the compilation of another version.
    ///
    /// # Safety
    /// As for [`SimulatedKernel::launch`].
    pub unsafe fn report(
        &self,
        grid: [u32; 3],
        arguments: &[u64],
        options: &LaunchOptions,
        schedule: Schedule,
    ) -> Result<Report, Error> {
        let expected = self.function.params.len();
        if arguments.len() != expected {
            return Err(Error::ArgumentCount { expected, given: arguments.len() });
        }
        let Some(maps) = self.plan.matrices(arguments) else {
            let compile = |function: &_, options: &_| SimulatedKernel::compile(function, self.gpu, options);
            let version = self.versions.of(arguments, compile)?;
            // SAFETY: as for this version, which takes the same arguments.
            return unsafe { version.report(grid, arguments, options, schedule) };
        };
        let words = self.kernel().parameters.iter().zip(arguments).map(|(kind, &word)| match kind {
            ParameterKind::Scalar(_) | ParameterKind::Pointer => Argument::Word(word),
        });
        let launch = Launch {
            grid,
            warps: self.kernel().num_warps,
            shared_bytes: self.kernel().shared_bytes,
            arguments: words
                .chain(maps.iter().map(|map| Argument::Bytes(tensor_map(map).encode())))
                .collect(),
            arrays: options
                .bounds
                .as_ref()
                .filter(|_| !self.makes_pointers)
                .map(|ranges| ranges.iter().map(array).collect()),
        };
        let options = tegula_sim::Options {
            seed: schedule.seed,
            threads: options.threads,
            instruction_limit: schedule.instruction_limit,
            interrupted: options.interrupted,
        };
        // SAFETY: the caller vouches for the addresses.
        Ok(unsafe { self.program.launch(&launch, &options) })
    }
}

/// Whether pointers are loaded from memory, or made of integers.
fn makes_pointers(function: &Function) -> bool {
    let is_pointer = |value: Value| matches!(function.ty(value).element, Element::Pointer(_));
    (0..function.value_count() as u32).map(Value).filter(|&value| is_pointer(value)).any(|value| {
        function.defining_op(value).is_some_and(|data| {
            let mut of_pointers = !data.op.regions().is_empty();
            data.op.for_each_operand(|operand| of_pointers |= is_pointer(operand));
            matches!(data.op, Op::Load { .. }) || !of_pointers
        })
    })
}

fn array(range: &ArrayRange) -> Array {
    Array {
        name: range.name.clone(),
        address: range.address as u64,
        bytes: range.bytes as u64,
        writable: range.writable,
    }
}

fn tensor_map(matrix: &Matrix) -> TensorMap {
    let Matrix { address, element_bytes, extents, stride, box_extents, swizzle_bytes } = *matrix;
    TensorMap {
        address,
        element_bytes,
        rank: 2,
        extents: [extents[0], extents[1], 0, 0, 0].map(|extent: u64| extent.min(u32::MAX.into()) as u32),
        strides: [element_bytes.into(), stride, 0, 0, 0],
        box_extents: [box_extents[0], box_extents[1], 0, 0, 0],
        swizzle_bytes,
    }
}
