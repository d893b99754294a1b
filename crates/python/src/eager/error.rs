//! Refused and stopped operations as Python exceptions.

use super::session;
use crate::errors;
use pyo3::exceptions::{PyAssertionError, PyIndexError};
use pyo3::prelude::*;
use std::sync::Arc;
use tegula_frontend::lower::OPERATION_FILE;
use tegula_ir::{Call, Diagnostic, FileId, Label, SourceFile, SourceMap, Span};
use tegula_runtime::{Error, LaunchError, StopReason};

/// The exception for an operation that was not compiled: it quotes the line of the user's that asked for it.
pub fn refused(py: Python<'_>, error: Error) -> PyErr {
    let error = match error {
        Error::Compile(mut error) => {
            relocate(py, &mut error.diagnostics, &mut error.sources);
            Error::Compile(error)
        }
        Error::Unsupported { mut diagnostic, mut sources } => {
            relocate(py, std::slice::from_mut(&mut *diagnostic), &mut sources);
            Error::Unsupported { diagnostic, sources }
        }
        other => other,
    };
    errors::to_python(py, &error)
}

/// The exception for an operation that was stopped.
pub fn stopped(py: Python<'_>, error: &LaunchError) -> PyErr {
    let [x, y, z] = error.program;
    let message = format!("{} (in program ({x}, {y}, {z}) of the grid)", error.message);
    match error.reason {
        StopReason::OutOfBounds | StopReason::Invalid | StopReason::Interrupted => {
            PyIndexError::new_err(message)
        }
        StopReason::Assertion => PyAssertionError::new_err(message),
        StopReason::Internal => {
            let kernel = "an interpreted operation".to_owned();
            errors::to_python(py, &Error::Internal { kernel, message })
        }
    }
}

/// Replaces places in the text of the operation by the line of Python that is running, and adds the calls that led there.
fn relocate(py: Python<'_>, diagnostics: &mut [Diagnostic], sources: &mut SourceMap) {
    let lines = lines(py).unwrap_or_default();
    let places: Vec<(String, Span)> = lines
        .into_iter()
        .map(|(function, file)| {
            let start = file.text.len() - file.text.trim_start().len();
            let end = file.text.trim_end().len();
            (function, Span { file: sources.add(Arc::new(file)), start: start as u32, end: end as u32 })
        })
        .collect();
    let Some((_, place)) = places.first() else { return };
    let of_operation = |file: FileId| sources.get(file).is_none_or(|file| file.name == OPERATION_FILE);
    for diagnostic in diagnostics {
        diagnostic.calls.retain(|call| !of_operation(call.site.span.file));
        let elsewhere = diagnostic.labels.first().is_some_and(|label| !of_operation(label.span.file));
        for label in diagnostic.labels.iter_mut().filter(|label| of_operation(label.span.file)) {
            label.span = *place;
        }
        // Within a function that the operation calls, as a combine function, the line itself is the first of the calls.
        if elsewhere {
            let site = Label { span: *place, text: String::new() };
            diagnostic.calls.push(Call { function: "the operation".to_owned(), site });
        }
        for ((function, _), (_, site)) in places.iter().zip(places.iter().skip(1)) {
            let site = Label { span: *site, text: String::new() };
            diagnostic.calls.push(Call { function: function.clone(), site });
        }
    }
}

/// The lines of Python that are running, from the innermost to the kernel's, each with the function that it is in.
fn lines(py: Python<'_>) -> PyResult<Vec<(String, SourceFile)>> {
    let linecache = py.import("linecache")?;
    let kernel = session::current()?;
    let mut lines = Vec::new();
    let mut frame = py.import("sys")?.call_method0("_getframe")?;
    while !frame.is_none() {
        let code = frame.getattr("f_code")?;
        let name: String = code.getattr("co_filename")?.extract()?;
        let first_line: u32 = frame.getattr("f_lineno")?.extract()?;
        let text = linecache.call_method1("getline", (&name, first_line, frame.getattr("f_globals")?))?;
        let function = code.getattr("co_name")?.extract()?;
        lines.push((function, SourceFile { name, text: text.extract()?, first_line }));
        if code.is(kernel.code.bind(py)) {
            break;
        }
        frame = frame.getattr("f_back")?;
    }
    Ok(lines)
}
