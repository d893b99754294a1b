//! What `range` and `tl.range` give in an interpreted kernel: scalars of the type that a compiled loop's index has.

use super::operation;
use super::tensor::Tensor;
use crate::language::LanguageFunction;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tegula_ir::{Scalar, Type};
use tegula_runtime::EagerBlock;

// A range over run-time integers.
#[pyclass(module = "tegula._native")]
pub struct Range {
    next: i128,
    stop: i128,
    step: i128,
    scalar: Scalar,
}

impl Range {
    pub fn new(start: i128, stop: i128, step: i128, scalar: Scalar) -> Range {
        Range { next: start, stop, step, scalar }
    }
}

#[pymethods]
impl Range {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self) -> Option<Tensor> {
        let inside = if self.step > 0 { self.next < self.stop } else { self.next > self.stop };
        if !inside || self.step == 0 {
            return None;
        }
        let index = self.next;
        self.next += self.step;
        Some(Tensor::new(Type::scalar(self.scalar), EagerBlock::splat(index as u64), false))
    }
}

/// Python's `range` in an interpreted kernel: that of the language.
#[pyfunction]
#[pyo3(signature = (*bounds))]
pub fn eager_range(bounds: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
    let py = bounds.py();
    if !super::is_active() {
        // The function may be called from elsewhere, as ordinary Python.
        return Ok(py.import("builtins")?.getattr("range")?.call1(bounds)?.unbind());
    }
    let function = py.import("tegula.language")?.getattr("range")?.cast_into::<LanguageFunction>()?;
    operation::call(function.get(), bounds, None::<&Bound<'_, PyDict>>)
}
