//! Block pointers and tensor descriptors of an interpreted kernel, and methods bound to them and to tiles.

use super::operation::{Callee, apply, call_method};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use tegula_frontend::value::RecordKind;

// A structured value of the language, such as a block pointer. (No doc comment: Python would show that as `__doc__`.)
#[pyclass(frozen, module = "tegula._native")]
pub struct Record {
    pub kind: RecordKind,
    pub fields: Vec<(&'static str, Py<PyAny>)>,
}

#[pymethods]
impl Record {
    fn __getattr__(slf: &Bound<'_, Self>, name: &Bound<'_, PyString>) -> PyResult<Py<PyAny>> {
        apply(slf.py(), Callee::Attribute(name.to_str()?), &[slf.as_any().clone()], None)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let fields: PyResult<Vec<String>> = self
            .fields
            .iter()
            .map(|(name, value)| Ok(format!("{name}={}", value.bind(py).repr()?)))
            .collect();
        Ok(format!("{:?}({})", self.kind, fields?.join(", ")))
    }
}

/// The attribute of a constant that a scalar of its value would have: an argument of 1 is a constant, and behaves like one of 7.
#[pyfunction]
pub fn eager_attribute(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Py<PyAny>> {
    apply(value.py(), Callee::Attribute(name), std::slice::from_ref(value), None)
}

// A method of a tile or a record.
#[pyclass(frozen, module = "tegula._native")]
pub struct BoundMethod {
    receiver: Py<PyAny>,
    name: String,
}

impl BoundMethod {
    pub fn new(receiver: Py<PyAny>, name: &str) -> BoundMethod {
        BoundMethod { receiver, name: name.to_owned() }
    }
}

#[pymethods]
impl BoundMethod {
    #[pyo3(signature = (*positional, **keywords))]
    fn __call__<'py>(
        &self,
        positional: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        call_method(self.receiver.bind(positional.py()), &self.name, positional, keywords)
    }

    fn __repr__(&self) -> String {
        format!("<bound method {}>", self.name)
    }
}
