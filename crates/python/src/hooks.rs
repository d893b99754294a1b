//! Functions that profilers have called around launches (`knobs.runtime.launch_enter_hook` and `launch_exit_hook`).

use crate::compiled::CompiledKernel;
use crate::device::Placement;
use crate::errors;
use crate::function::JITFunction;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use tegula_runtime::cuda::Stream;

/// What is called before and after each launch, if anything is.
struct Hooks {
    enter: Option<Py<PyAny>>,
    exit: Option<Py<PyAny>>,
}

static HOOKS: RwLock<Option<Arc<Hooks>>> = RwLock::new(None);
/// Whether there are hooks: a launch without any looks no further.
static ANY: AtomicBool = AtomicBool::new(false);

/// Has `enter` called before and `exit` after each launch, with what [`Around::begin`] makes.
#[pyfunction]
pub fn set_launch_hooks(enter: Option<Py<PyAny>>, exit: Option<Py<PyAny>>) {
    let any = enter.is_some() || exit.is_some();
    let hooks = any.then(|| Arc::new(Hooks { enter, exit }));
    *HOOKS.write().unwrap_or_else(PoisonError::into_inner) = hooks;
    ANY.store(any, Ordering::Release);
}

/// The hooks of one launch, and what they are called with.
pub struct Around<'py> {
    hooks: Arc<Hooks>,
    metadata: Bound<'py, PyAny>,
}

impl<'py> Around<'py> {
    /// Calls the hook before a launch; `None` without hooks. They get a `LazyDict` of the kernel's name, the driver's handle of the
    /// code, the stream, and what the kernel's own `launch_metadata` adds.
    pub fn begin(
        kernel: &Bound<'py, JITFunction>,
        compiled: &Py<CompiledKernel>,
        [x, y, z]: [u32; 3],
        placement: Placement,
        stream: Stream,
        arguments: &[&Bound<'py, PyAny>],
    ) -> PyResult<Option<Around<'py>>> {
        if !ANY.load(Ordering::Acquire) {
            return Ok(None);
        }
        let py = kernel.py();
        let Some(hooks) = HOOKS.read().unwrap_or_else(PoisonError::into_inner).clone() else {
            return Ok(None);
        };
        let named = PyDict::new(py);
        for (parameter, argument) in kernel.get().parameters.iter().zip(arguments) {
            named.set_item(&parameter.name, argument)?;
        }
        let function = match (placement, compiled.get().executable.cuda()) {
            (Placement::Cuda { device, .. }, Some(cuda)) => {
                cuda.module(device).map_err(|error| errors::to_python(py, &error))?.handle()
            }
            _ => 0,
        };
        let make = py.import("tegula.compiler.compiler")?.getattr("launch_metadata")?;
        let metadata = make.call1((kernel, compiled, (x, y, z), function, stream.0, named))?;
        if let Some(enter) = &hooks.enter {
            enter.call1(py, (&metadata,))?;
        }
        Ok(Some(Around { hooks, metadata }))
    }

    /// Calls the hook after the launch.
    pub fn end(self) -> PyResult<()> {
        match &self.hooks.exit {
            Some(exit) => exit.call1(self.metadata.py(), (&self.metadata,)).map(drop),
            None => Ok(()),
        }
    }
}
