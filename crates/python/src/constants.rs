//! Python objects as constants of a compilation.

use crate::arrays;
use crate::classes::{classes, is_instance, type_name};
use crate::function::JITFunction;
use crate::language::LanguageFunction;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use tegula_ir::{Pointer, Scalar};
use tegula_runtime::Constant;

/// Python objects that constants refer to by their address; whoever keeps the constants keeps these alive.
pub type Objects = Vec<Py<PyAny>>;

/// The number by which a constant refers to an object.
pub fn number(object: &Bound<'_, PyAny>) -> u64 {
    object.as_ptr() as u64
}

/// The constant that an object is.
///
/// # Errors
/// A `TypeError` for objects whose contents a kernel cannot depend on: arrays, dictionaries, sets.
pub fn constant(object: &Bound<'_, PyAny>, objects: &mut Objects) -> PyResult<Constant> {
    let py = object.py();
    if object.is_none() {
        return Ok(Constant::None);
    }
    if object.is_exact_instance_of::<PyBool>() {
        return Ok(Constant::Bool(object.is_truthy()?));
    }
    if object.is_instance_of::<PyInt>() {
        // Integers of 128 bits are read piece by piece.
        return Ok(Constant::Int(object.extract::<i64>().map(i128::from).or_else(|_| object.extract())?));
    }
    if let Ok(value) = object.cast::<PyFloat>() {
        return Ok(Constant::float(value.value()));
    }
    if let Ok(value) = object.cast::<PyString>() {
        return Ok(Constant::Str(value.to_str()?.into()));
    }
    if let Some(scalar) = scalar_type(object) {
        return Ok(Constant::Type(scalar));
    }
    let classes = classes(py)?;
    if is_instance(object, &classes.constexpr) {
        return constant(&object.getattr(intern!(py, "value"))?, objects);
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        let items = tuple.iter().map(|item| constant(&item, objects)).collect::<PyResult<_>>()?;
        return Ok(Constant::Tuple(items, named_tuple_class(object, objects)));
    }
    if let Ok(list) = object.cast::<PyList>() {
        let items = list.iter().map(|item| constant(&item, objects)).collect::<PyResult<_>>()?;
        return Ok(Constant::Tuple(items, None));
    }
    if let Some(pointer) = pointer_type(object)? {
        return Ok(Constant::PointerType(pointer));
    }
    if let Some(value) = numpy_scalar(object)? {
        return constant(&value, objects);
    }
    let by_identity = object.cast::<JITFunction>().is_ok()
        || object.cast::<LanguageFunction>().is_ok()
        || object.cast::<PyType>().is_ok()
        || is_instance(object, &classes.constexpr_function)
        || is_instance(object, &classes.enumeration);
    if !by_identity
        && (object.cast::<PyDict>().is_ok() || object.hash().is_err() || arrays::read(object)?.is_some())
    {
        let message = format!("a constexpr cannot be of type {}", type_name(object));
        return Err(PyTypeError::new_err(message));
    }
    objects.push(object.clone().unbind());
    Ok(Constant::Object(number(object)))
}

/// The scalar type that an object of the class `tegula.language.dtype` is.
pub fn scalar_type(object: &Bound<'_, PyAny>) -> Option<Scalar> {
    let py = object.py();
    if !is_instance(object, &classes(py).ok()?.dtype) {
        return None;
    }
    let name = object.getattr(intern!(py, "name")).ok()?;
    let name = name.cast::<PyString>().ok()?;
    let name = name.to_str().ok()?;
    Scalar::ALL.into_iter().find(|scalar| scalar.language_name() == name)
}

/// The pointer type that an object of the class `tegula.language.pointer_type` is.
pub fn pointer_type(object: &Bound<'_, PyAny>) -> PyResult<Option<Pointer>> {
    let py = object.py();
    if !is_instance(object, &classes(py)?.pointer_type) {
        return Ok(None);
    }
    let element = object.getattr("element_ty")?;
    let constant = object.getattr("const")?.is_truthy()?;
    if let Some(pointee) = scalar_type(&element) {
        return Ok(Some(Pointer { pointee, depth: 1, constant }));
    }
    match pointer_type(&element)? {
        Some(inner) => Ok(Some(Pointer { depth: inner.depth.saturating_add(1), ..inner })),
        None => {
            Err(PyTypeError::new_err(format!("{object} points to what is neither a number nor a pointer")))
        }
    }
}

/// The number of a named tuple's class; `None` for a plain tuple.
pub fn named_tuple_class(object: &Bound<'_, PyAny>, objects: &mut Objects) -> Option<u64> {
    let class = object.get_type();
    if class.is(object.py().get_type::<PyTuple>()) || !class.hasattr("_fields").unwrap_or(false) {
        return None;
    }
    objects.push(class.clone().into_any().unbind());
    Some(number(&class))
}

/// The Python number that a numpy scalar is.
pub fn numpy_scalar<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    static GENERIC: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = object.py();
    let generic = match GENERIC.get(py) {
        Some(generic) => generic,
        None => {
            // Without numpy there are no scalars of numpy; this never imports it.
            let Ok(numpy) = py.import("sys")?.getattr("modules")?.get_item("numpy") else { return Ok(None) };
            let Ok(generic) = numpy.getattr("generic") else { return Ok(None) };
            let generic = generic.cast_into::<PyType>()?.unbind();
            GENERIC.get_or_init(py, || generic)
        }
    };
    if is_instance(object, generic) { object.call_method0(intern!(py, "item")).map(Some) } else { Ok(None) }
}
