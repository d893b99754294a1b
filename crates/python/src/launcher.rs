//! What `kernel[grid]` is: a function that launches.
//!
//! It is one of Python's own functions in C, whose arguments are handed over as they lie; objects with a `__call__` would get a
//! tuple and a dictionary made for each launch.

use crate::call::Call;
use crate::compiled::CompiledKernel;
use crate::function::JITFunction;
use crate::grid::Grid;
use crate::launch;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use std::cell::UnsafeCell;
use std::sync::{Mutex, PoisonError};
use tegula_runtime::Options;

/// A kernel with its grid.
#[pyclass(frozen, module = "tegula._native")]
pub struct Launcher {
    kernel: Py<JITFunction>,
    grid: Grid,
    /// Options that have been chosen before the call.
    options: Option<Options>,
}

#[pymethods]
impl Launcher {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.kernel)?;
        match &self.grid {
            Grid::Fixed(_) => Ok(()),
            Grid::Callable(function) => visit.call(function),
        }
    }
}

impl Launcher {
    /// The function that launches a kernel on a grid.
    pub fn function<'py>(
        kernel: &Bound<'py, JITFunction>,
        grid: Grid,
        options: Option<Options>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = kernel.py();
        let launcher = Bound::new(py, Launcher { kernel: kernel.clone().unbind(), grid, options })?;
        // SAFETY: the definition lives as long as the process, and the interpreter only reads it.
        unsafe {
            let function =
                ffi::PyCFunction_NewEx(DEFINITION.0.get(), launcher.as_ptr(), std::ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, function)
        }
    }

    fn call<'py>(&self, py: Python<'py>, call: &Call<'_, 'py>) -> PyResult<Option<Py<CompiledKernel>>> {
        launch::launch(self.kernel.bind(py), call, &self.grid, self.options.as_ref())
    }
}

/// A function as the interpreter wants it defined.
struct Definition(UnsafeCell<ffi::PyMethodDef>);

// SAFETY: it is never written.
unsafe impl Sync for Definition {}

static DEFINITION: Definition = Definition(UnsafeCell::new(ffi::PyMethodDef {
    ml_name: c"launch".as_ptr(),
    ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: called },
    ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
    ml_doc: c"Launches a kernel on a grid.".as_ptr(),
}));

/// What the interpreter calls.
unsafe extern "C" fn called(
    launcher: *mut ffi::PyObject,
    values: *const *mut ffi::PyObject,
    positional: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    let launch = |py: Python<'_>| {
        // SAFETY: the function was made for a launcher, which outlives the call, as the arguments do.
        let (launcher, call) = unsafe {
            let launcher = Borrowed::from_ptr(py, launcher);
            (launcher.cast_unchecked::<Launcher>(), Call::from_raw(values, positional, &names))
        };
        match launcher.get().call(py, &call) {
            Ok(Some(compiled)) => compiled.into_ptr(),
            Ok(None) => py.None().into_ptr(),
            Err(error) => {
                error.restore(py);
                std::ptr::null_mut()
            }
        }
    };
    // SAFETY: the interpreter runs, since it called this function.
    unsafe { Python::attach_unchecked(launch) }
}

/// The launcher that a kernel was asked for last: loops ask for the same again.
#[derive(Default)]
pub struct LastLauncher(Mutex<Option<([u32; 3], Py<PyAny>)>>);

impl LastLauncher {
    /// The function that launches a kernel on a grid, without options.
    pub fn of<'py>(&self, kernel: &Bound<'py, JITFunction>, grid: Grid) -> PyResult<Bound<'py, PyAny>> {
        let py = kernel.py();
        let Grid::Fixed(extents) = grid else { return Launcher::function(kernel, grid, None) };
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, function)) = &*lock()
            && *known == extents
        {
            return Ok(function.bind(py).clone());
        }
        let function = Launcher::function(kernel, grid, None)?;
        let before = lock().replace((extents, function.clone().unbind()));
        // Not while the lock is held: what is freed may run code of the program.
        drop(before);
        Ok(function)
    }

    /// Shows the collector of cycles that a kernel refers to its launcher, which refers to the kernel.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.0.try_lock() {
            Ok(last) => last.as_ref().map_or(Ok(()), |(_, function)| visit.call(function)),
            Err(_) => Ok(()),
        }
    }

    /// Forgets the launcher.
    pub fn clear(&self) {
        let before = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(before);
    }
}
