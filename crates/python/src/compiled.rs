//! A compiled kernel as Python sees it.

use crate::constants::Objects;
use crate::dependencies::Dependency;
use crate::device;
use crate::errors;
use crate::function::JITFunction;
use crate::grid::Grid;
use crate::launcher::Launcher;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyWeakrefMethods, PyWeakrefReference};
use tegula_runtime::{Executable, Options};

/// A kernel compiled for one specialisation of its arguments; what a launch returns.
#[pyclass(frozen, module = "tegula")]
pub struct CompiledKernel {
    /// The kernel that was compiled, as long as it lives.
    pub kernel: Option<Py<PyWeakrefReference>>,
    pub executable: Executable,
    pub options: Options,
    /// What has to hold still for the kernel to be current.
    pub dependencies: Vec<Dependency>,
    /// The objects that the kernel's key refers to by address.
    pub objects: Objects,
}

/// The instructions of machine code, with the lines of the kernel that they come from.
#[pyfunction]
pub fn disassemble(py: Python<'_>, cubin: &[u8]) -> PyResult<String> {
    py.detach(|| tegula_runtime::cuda::assemble::disassemble(cubin))
        .map_err(|failure| PyRuntimeError::new_err(failure.to_string()))
}

/// Bytes of a register.
const REGISTER_BYTES: u32 = 4;

#[pymethods]
impl CompiledKernel {
    /// The name of the kernel.
    #[getter]
    fn name(&self) -> &str {
        &self.executable.function().name
    }

    /// The target, as on the command line: `cpu`, `sm_90a`.
    #[getter]
    fn target(&self) -> String {
        self.executable.target().to_string()
    }

    /// The stages of the compilation by name: `ir` is the text of the optimised intermediate representation; on GPUs,
    /// `layouts` and `ptx` are texts, `cubin` is the machine code, and `sass` is made of it when it is asked for.
    #[getter]
    fn asm<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stages = py.import("tegula.compiler.compiler")?.getattr("AsmDict")?.call0()?;
        stages.set_item("ir", self.executable.function().to_string())?;
        if let Some(kernel) = self.executable.cuda() {
            let code = kernel.code();
            stages.set_item("layouts", &code.layouts)?;
            stages.set_item("ptx", &code.ptx)?;
            stages.set_item("cubin", PyBytes::new(py, &code.cubin))?;
        }
        if let Some(simulated) = self.executable.simulated() {
            stages.set_item("layouts", &simulated.kernel().layouts)?;
            stages.set_item("ptx", &simulated.kernel().ptx)?;
        }
        Ok(stages)
    }

    /// Name, target, warps, stages, and bytes of shared memory, as attributes.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let facts = PyDict::new(py);
        facts.set_item("name", self.name())?;
        facts.set_item("target", self.target())?;
        facts.set_item("num_warps", self.options.num_warps)?;
        facts.set_item("num_stages", self.options.num_stages)?;
        facts.set_item("num_ctas", self.options.num_ctas)?;
        facts.set_item("maxnreg", self.options.maxnreg)?;
        facts.set_item("launch_cooperative_grid", self.options.cooperative)?;
        facts.set_item("launch_pdl", self.options.overlapping)?;
        facts.set_item("shared", self.shared())?;
        py.import("types")?.getattr("SimpleNamespace")?.call((), Some(&facts))
    }

    /// Bytes of shared memory of one program; 0 on the CPU.
    #[getter]
    fn shared(&self) -> u32 {
        match (self.executable.cuda(), self.executable.simulated()) {
            (Some(kernel), _) => kernel.code().shared_bytes,
            (None, Some(simulated)) => simulated.kernel().shared_bytes,
            (None, None) => 0,
        }
    }

    /// Registers of one thread; `None` on the CPU, or where the assembler does not say.
    #[getter]
    fn n_regs(&self) -> Option<u32> {
        self.executable.cuda()?.code().report.registers
    }

    /// Registers that one thread stores to memory and loads back for want of room, each way counted; `None` as for `n_regs`.
    #[getter]
    fn n_spills(&self) -> Option<u32> {
        let bytes = self.executable.cuda()?.code().report.spilled_bytes?;
        Some(bytes.div_ceil(REGISTER_BYTES))
    }

    /// With a grid, to be called with all arguments in order, as the kernel itself is: the options are those of the compilation.
    fn __getitem__<'py>(&self, py: Python<'py>, grid: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let alive = self.kernel.as_ref().and_then(|kernel| kernel.bind(py).upgrade());
        let Some(kernel) = alive.and_then(|kernel| kernel.cast_into::<JITFunction>().ok()) else {
            return Err(PyRuntimeError::new_err(format!("the kernel `{}` is gone", self.name())));
        };
        Launcher::function(&kernel, Grid::new(grid)?, Some(self.options))
    }

    /// Loads the machine code onto a device, as the first launch there would. `device` is torch's current one if it is not given; on the
    /// CPU there is nothing to load.
    #[pyo3(signature = (device = None))]
    fn _init_handles(&self, py: Python<'_>, device: Option<u32>) -> PyResult<()> {
        let Some(cuda) = self.executable.cuda() else { return Ok(()) };
        let device = match device {
            Some(device) => device,
            None => device::torch_device(py)?.unwrap_or(0),
        };
        cuda.module(device).map(drop).map_err(|error| errors::to_python(py, &error))
    }

    fn __repr__(&self) -> String {
        format!("<CompiledKernel {} for {}>", self.name(), self.target())
    }
}
