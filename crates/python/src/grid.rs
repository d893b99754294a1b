//! The grid of a launch: how many programs along each of three axes.

use crate::classes::type_name;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// A grid as it stands in `kernel[grid]`.
pub enum Grid {
    Fixed([u32; 3]),
    /// A function of the kernel's arguments by name.
    Callable(Py<PyAny>),
}

impl Grid {
    /// Reads what stands in the brackets.
    pub fn new(grid: &Bound<'_, PyAny>) -> PyResult<Grid> {
        if grid.cast::<PyTuple>().is_err() && grid.is_callable() {
            return Ok(Grid::Callable(grid.clone().unbind()));
        }
        extents(grid).map(Grid::Fixed)
    }

    /// The extents; `arguments` are computed only if a function asks for them.
    pub fn resolve<'py>(
        &self,
        py: Python<'py>,
        arguments: impl FnOnce() -> PyResult<Bound<'py, PyDict>>,
    ) -> PyResult<[u32; 3]> {
        match self {
            Grid::Fixed(extents) => Ok(*extents),
            Grid::Callable(function) => extents(&function.bind(py).call1((arguments()?,))?),
        }
    }
}

/// Extents from a tuple or list of one to three integers.
fn extents(grid: &Bound<'_, PyAny>) -> PyResult<[u32; 3]> {
    let items: Vec<Bound<'_, PyAny>> = if let Ok(tuple) = grid.cast::<PyTuple>() {
        tuple.iter().collect()
    } else if let Ok(list) = grid.cast::<PyList>() {
        list.iter().collect()
    } else {
        let message = format!(
            "the grid must be a tuple of 1 to 3 ints, or a function that returns one, but it is {}",
            found(grid)
        );
        return Err(PyTypeError::new_err(message));
    };
    if items.is_empty() || items.len() > 3 {
        let message = format!("the grid must have 1 to 3 extents, but {} has {}", found(grid), items.len());
        return Err(PyValueError::new_err(message));
    }
    let mut extents = [1; 3];
    for (axis, item) in items.iter().enumerate() {
        // `__index__` lets numpy's integers in, and keeps floats out.
        let Ok(index) = item.call_method0("__index__") else {
            let message = format!("extent {axis} of the grid must be an int, but it is {}", found(item));
            return Err(PyTypeError::new_err(message));
        };
        extents[axis] = match index.extract::<i64>().ok().and_then(|extent| i32::try_from(extent).ok()) {
            Some(extent) if extent >= 0 => extent as u32,
            _ => {
                let message =
                    format!("extent {axis} of the grid is {index}, which is not from 0 to 2147483647");
                return Err(PyValueError::new_err(message));
            }
        };
    }
    Ok(extents)
}

fn found(object: &Bound<'_, PyAny>) -> String {
    let value = object.repr().map_or_else(|_| String::new(), |text| text.to_string());
    format!("{value} of type {}", type_name(object))
}
