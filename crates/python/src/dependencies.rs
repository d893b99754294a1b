//! What a compiled kernel was made from beside its own text: the globals, closures and modules that it read.
//!
//! A kernel is stale when one of these names no longer means the object that it meant: a helper defined anew in a
//! notebook, a `tl.constexpr` global with another value.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// A name that was looked up while compiling, and what was found.
pub enum Dependency {
    /// In the globals of a module.
    Name { names: Py<PyDict>, name: Py<PyString>, value: Option<Py<PyAny>> },
    /// In the closure of a function.
    Cell { cell: Py<PyAny>, value: Option<Py<PyAny>> },
}

impl Dependency {
    /// The addresses of the objects: the same for the same name with the same meaning.
    pub fn identity(&self) -> [usize; 3] {
        let address = |value: &Option<Py<PyAny>>| value.as_ref().map_or(0, |value| value.as_ptr() as usize);
        match self {
            Dependency::Name { names, name, value } => {
                [names.as_ptr() as usize, name.as_ptr() as usize, address(value)]
            }
            Dependency::Cell { cell, value } => [cell.as_ptr() as usize, 0, address(value)],
        }
    }

    /// Whether the name still means the same object.
    pub fn holds(&self, py: Python<'_>) -> PyResult<bool> {
        let (now, then) = match self {
            Dependency::Name { names, name, value } => (names.bind(py).get_item(name.bind(py))?, value),
            Dependency::Cell { cell, value } => (cell_contents(cell.bind(py)), value),
        };
        Ok(match (now, then) {
            (Some(now), Some(then)) => now.is(then.bind(py)),
            (None, None) => true,
            _ => false,
        })
    }
}

/// What a closure's cell holds, unless it is empty.
pub fn cell_contents<'py>(cell: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    cell.getattr(intern!(cell.py(), "cell_contents")).ok()
}
