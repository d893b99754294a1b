//! What Python does differently from the language, done as the language does: numbers that get a name, `and`, `or`, `not`, comparisons
//! in a chain. The package rewrites kernels to call these.

use super::operation::{Callee, apply};
use super::tensor::Tensor;
use crate::classes::{classes, is_instance};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyTuple};
use tegula_frontend::lower::{float_type, integer_type};
use tegula_ir::{Scalar, Type};
use tegula_runtime::EagerBlock;

/// The value that a name gets, or a function returns: numbers become scalars of a type, those in tuples included.
#[pyfunction]
pub fn eager_name<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    if let Ok(number) = value.cast_exact::<PyBool>() {
        return scalar(py, Scalar::Int1, u64::from(number.is_true()));
    }
    if let Ok(number) = value.cast_exact::<PyInt>() {
        let Ok(number) = number.extract::<i128>() else { return Ok(value.clone()) };
        // What fits no type stays Python's, and is refused where it is used.
        return match integer_type(number) {
            Some(ty) => scalar(py, ty, number as u64),
            None => Ok(value.clone()),
        };
    }
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        let number = number.value();
        return match float_type(number) {
            Scalar::Float64 => scalar(py, Scalar::Float64, number.to_bits()),
            ty => scalar(py, ty, u64::from((number as f32).to_bits())),
        };
    }
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        let items = tuple.iter().map(|item| eager_name(&item)).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyTuple::new(py, items)?.into_any());
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        let items = list.iter().map(|item| eager_name(&item)).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyList::new(py, items)?.into_any());
    }
    if is_instance(value, &classes(py)?.constexpr) {
        return eager_name(&value.getattr(intern!(py, "value"))?);
    }
    Ok(value.clone())
}

fn scalar(py: Python<'_>, ty: Scalar, bits: u64) -> PyResult<Bound<'_, PyAny>> {
    Ok(Bound::new(py, Tensor::new(Type::scalar(ty), EagerBlock::splat(bits), false))?.into_any())
}

/// Whether the left operand of `and` or `or` decides: a tile never does.
#[pyfunction]
pub fn eager_decides(operator: &str, left: &Bound<'_, PyAny>) -> PyResult<bool> {
    if left.cast_exact::<Tensor>().is_ok() {
        return Ok(false);
    }
    Ok(left.is_truthy()? == (operator == "or"))
}

/// `left and right` or `left or right`, where `left` does not decide.
#[pyfunction]
pub fn eager_combine(
    operator: &str,
    left: &Bound<'_, PyAny>,
    right: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    if left.cast_exact::<Tensor>().is_err() {
        return Ok(right.clone().unbind());
    }
    let expression = if operator == "or" { "a or b" } else { "a and b" };
    apply(left.py(), Callee::Operator(expression), &[left.clone(), right.clone()], None)
}

/// `not value`.
#[pyfunction]
pub fn eager_not(value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = value.py();
    if value.cast_exact::<Tensor>().is_ok() {
        return apply(py, Callee::Operator("not a"), std::slice::from_ref(value), None);
    }
    Ok((!value.is_truthy()?).into_pyobject(py)?.to_owned().into_any().unbind())
}

/// `a < b <= c`, given the operators and the operands.
#[pyfunction]
#[pyo3(signature = (operators, *operands))]
pub fn eager_chain(operators: Vec<String>, operands: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
    let py = operands.py();
    let functions = py.import("operator")?;
    let mut combined: Option<Py<PyAny>> = None;
    for (index, operator) in operators.iter().enumerate() {
        let (left, right) = (operands.get_item(index)?, operands.get_item(index + 1)?);
        let name = match operator.as_str() {
            "Lt" => "lt",
            "LtE" => "le",
            "Gt" => "gt",
            "GtE" => "ge",
            "Eq" => "eq",
            "NotEq" => "ne",
            other => return Err(PyValueError::new_err(format!("`{other}` is no comparison of numbers"))),
        };
        let holds = functions.call_method1(name, (left, right))?;
        combined = Some(match combined {
            None => holds.unbind(),
            Some(before) if eager_decides("and", before.bind(py))? => return Ok(before),
            Some(before) => eager_combine("and", before.bind(py), &holds)?,
        });
    }
    Ok(combined.unwrap_or_else(|| py.None()))
}
