//! The Python classes that the extension recognises.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Classes of the package `tegula` and of the standard library.
pub struct Classes {
    pub constexpr: Py<PyType>,
    pub dtype: Py<PyType>,
    pub pointer_type: Py<PyType>,
    pub block_type: Py<PyType>,
    pub constexpr_function: Py<PyType>,
    pub tensor_descriptor: Py<PyType>,
    pub enumeration: Py<PyType>,
    /// What a parameter without a default has in its place.
    pub empty: Py<PyAny>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

/// The classes, imported on first use: by then the package is complete.
pub fn classes(py: Python<'_>) -> PyResult<&'static Classes> {
    CLASSES.get_or_try_init(py, || {
        let class = |module: &str, name: &str| -> PyResult<Py<PyType>> {
            Ok(py.import(module)?.getattr(name)?.cast_into::<PyType>()?.unbind())
        };
        Ok(Classes {
            constexpr: class("tegula.language", "constexpr")?,
            dtype: class("tegula.language", "dtype")?,
            pointer_type: class("tegula.language", "pointer_type")?,
            block_type: class("tegula.language", "block_type")?,
            constexpr_function: class("tegula.runtime.jit", "ConstexprFunction")?,
            tensor_descriptor: class("tegula.tools.tensor_descriptor", "TensorDescriptor")?,
            enumeration: class("enum", "Enum")?,
            empty: py.import("inspect")?.getattr("Parameter")?.getattr("empty")?.unbind(),
        })
    })
}

/// Whether an object is an instance of a class.
pub fn is_instance(object: &Bound<'_, PyAny>, class: &Py<PyType>) -> bool {
    let class = class.bind(object.py());
    object.get_type().is(class) || object.is_instance(class).unwrap_or(false)
}

/// The name of an object's class with its module, as messages say it: `list`, `torch.Tensor`, `numpy.ndarray`.
pub fn type_name(object: &Bound<'_, PyAny>) -> String {
    let class = object.get_type();
    match class.fully_qualified_name() {
        Ok(name) => name.to_string(),
        Err(_) => "object".to_owned(),
    }
}
