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
    let of_list;
    let items = if let Ok(tuple) = grid.cast::<PyTuple>() {
        tuple
    } else if let Ok(list) = grid.cast::<PyList>() {
        of_list = list.to_tuple();
        &of_list
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
    for (axis, item) in items.iter_borrowed().enumerate() {
        extents[axis] = extent(axis, &item)?;
    }
    Ok(extents)
}

/// One extent. `__index__` lets numpy's integers in, and keeps floats out.
fn extent(axis: usize, item: &Bound<'_, PyAny>) -> PyResult<u32> {
    let number = item.extract::<i64>();
    if let Ok(number) = number.as_ref()
        && let Ok(extent) = i32::try_from(*number)
        && extent >= 0
    {
        return Ok(extent as u32);
    }
    Err(match item.call_method0("__index__") {
        Ok(index) => PyValueError::new_err(format!(
            "extent {axis} of the grid is {index}, which is not from 0 to 2147483647"
        )),
        Err(_) => PyTypeError::new_err(format!(
            "extent {axis} of the grid must be an int, but it is {}",
            found(item)
        )),
    })
}

fn found(object: &Bound<'_, PyAny>) -> String {
    let value = object.repr().map_or_else(|_| String::new(), |text| text.to_string());
    format!("{value} of type {}", type_name(object))
}
