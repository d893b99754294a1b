//! A compiled kernel as Python sees it.

use crate::constants::Objects;
use crate::dependencies::Dependency;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tegula_runtime::Executable;

/// A kernel compiled for one specialisation of its arguments; what a launch returns.
#[pyclass(frozen, module = "tegula")]
pub struct CompiledKernel {
    pub executable: Executable,
    /// What has to hold still for the kernel to be current.
    pub dependencies: Vec<Dependency>,
    /// The objects that the kernel's key refers to by address.
    pub objects: Objects,
}

#[pymethods]
impl CompiledKernel {
    /// The name of the kernel.
    #[getter]
    fn name(&self) -> &str {
        &self.executable.function().name
    }

    /// The target, as on the command line: `cpu`.
    #[getter]
    fn target(&self) -> String {
        self.executable.target().to_string()
    }

    /// The stages of the compilation by name; `ir` is the text of the optimised intermediate representation.
    #[getter]
    fn asm<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stages = PyDict::new(py);
        stages.set_item("ir", self.executable.function().to_string())?;
        Ok(stages)
    }

    fn __repr__(&self) -> String {
        format!("<CompiledKernel {} for {}>", self.name(), self.target())
    }
}
