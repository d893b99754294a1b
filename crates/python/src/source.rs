//! The text of functions, as Python's own tracebacks find it.
//!
//! `linecache` knows files, modules in archives, notebook cells, and whatever `exec`-ing libraries registered with it.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use std::sync::Arc;
use tegula_ir::SourceFile;

/// The lines of a function's file as they were when the function was defined.
pub struct Source {
    file: String,
    /// The line of the first decorator, from 1.
    first_line: u32,
    lines: Py<PyList>,
}

impl Source {
    /// Takes note of where a function stands. The text is cut out on demand, by [`Source::text`].
    pub fn of(function: &Bound<'_, PyAny>) -> PyResult<Source> {
        let py = function.py();
        let code = function.getattr("__code__")?;
        let file = code.getattr("co_filename")?.cast_into::<PyString>()?;
        let globals = function.getattr("__globals__")?;
        let linecache = py.import("linecache")?;
        linecache.call_method1("checkcache", (&file,))?;
        let lines = linecache.call_method1("getlines", (&file, &globals))?.cast_into::<PyList>()?;
        Ok(Source {
            file: file.to_str()?.to_owned(),
            first_line: code.getattr("co_firstlineno")?.extract()?,
            lines: lines.unbind(),
        })
    }

    /// The definition with its decorators. The error says why there is none.
    pub fn text(&self, py: Python<'_>, name: &str) -> Result<Arc<SourceFile>, String> {
        let lines = self.lines.bind(py);
        let start = self.first_line.saturating_sub(1) as usize;
        let missing = || {
            format!(
                "the source of `{name}` cannot be found: line {} of {} is not there; define the function in a file or a \
                 notebook, or register the text with Python's `linecache`",
                self.first_line, self.file
            )
        };
        if lines.len() <= start {
            return Err(missing());
        }
        let block = py
            .import("inspect")
            .and_then(|inspect| inspect.call_method1("getblock", (lines.get_slice(start, lines.len()),)))
            .and_then(|block| {
                block.try_iter()?.map(|line| line?.extract::<String>()).collect::<PyResult<String>>()
            })
            .map_err(|_| missing())?;
        if !block.contains("def ") {
            return Err(missing());
        }
        Ok(Arc::new(SourceFile { name: self.file.clone(), text: block, first_line: self.first_line }))
    }

    /// The line of the first decorator, from 1.
    pub fn first_line(&self) -> u32 {
        self.first_line
    }
}

/// The globals of a function.
pub fn globals<'py>(function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    Ok(function.getattr("__globals__")?.cast_into::<PyDict>()?)
}
