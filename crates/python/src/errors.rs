//! Errors of the runtime as Python exceptions.

use crate::classes::type_name;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use tegula_ir::{Diagnostic, SourceMap};
use tegula_runtime::Error;

/// The Python exception for an error.
pub fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Compile(error) => compilation(py, message, &error.diagnostics, &error.sources),
        Error::Unsupported { diagnostic, sources } => {
            compilation(py, message, std::slice::from_ref(diagnostic), sources)
        }
        Error::Internal { .. } => exception(py, "InternalCompilerError", (message,)),
        Error::Launch { .. } | Error::Findings { stopped: true, .. } => {
            exception(py, "KernelAssertionError", (message,))
        }
        Error::Findings { .. } => exception(py, "SimulationError", (message,)),
        Error::Simulator { .. } => exception(py, "InternalCompilerError", (message,)),
        Error::OutOfResources { required, available, resource, .. } => {
            exception(py, "OutOfResources", (*required, *available, resource.name()))
        }
        Error::Assembler { .. } => exception(py, "InternalCompilerError", (message,)),
        Error::Driver(_) | Error::NoAssembler { .. } | Error::NoDisassembler { .. } => {
            exception(py, "DriverError", (message,))
        }
        Error::Option(_) | Error::Grid { .. } => PyValueError::new_err(message),
        Error::IntegerRange(_) => PyOverflowError::new_err(message),
        Error::ArgumentCount { .. } => PyTypeError::new_err(message),
    }
}

/// Runs what a call from Python comes to; a panic becomes an `InternalCompilerError` about the kernel.
pub fn guarded<T>(py: Python<'_>, kernel: &str, step: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    match tegula_runtime::guarded::<_, Error>(kernel, || Ok(step())) {
        Ok(result) => result,
        Err(error) => Err(to_python(py, &error)),
    }
}

/// The error itself; the message of a `CompilationError` gets a note.
pub fn with_note(py: Python<'_>, error: PyErr, note: impl FnOnce() -> String) -> PyErr {
    let is_compilation = py
        .import("tegula.errors")
        .and_then(|errors| error.value(py).is_instance(&errors.getattr("CompilationError")?))
        .unwrap_or(false);
    if is_compilation && let Ok(message) = error.value(py).getattr("message") {
        // An exception that takes no attributes is raised as it is.
        let _ = error.value(py).setattr("message", format!("{message}\nnote: {}", note()));
    }
    error
}

/// A `CompilationError` with its message and the place of each diagnostic: message, file, line, column.
fn compilation(py: Python<'_>, message: String, diagnostics: &[Diagnostic], sources: &SourceMap) -> PyErr {
    let places: Vec<(String, String, u32, u32)> = diagnostics
        .iter()
        .filter_map(|diagnostic| {
            let span = diagnostic.labels.first()?.span;
            let file = sources.get(span.file)?;
            let (line, column) = file.position(span.start);
            Some((diagnostic.message.clone(), file.name.clone(), line, column))
        })
        .collect();
    exception(py, "CompilationError", (message, places))
}

/// An exception of the class `tegula.errors.NAME`.
fn exception<'py>(py: Python<'py>, name: &str, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let made = py.import("tegula.errors").and_then(|errors| errors.getattr(name)?.call1(arguments));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// An error about the argument of a parameter; what `error` says follows the name.
pub fn argument(
    py: Python<'_>,
    kernel: &str,
    parameter: &str,
    object: &Bound<'_, PyAny>,
    error: &PyErr,
) -> PyErr {
    let reason = error.value(py);
    let message = format!("argument `{parameter}` of `{kernel}` is of type {}: {reason}", type_name(object));
    let class = error.get_type(py);
    PyErr::from_type(class, message)
}
