//! `tl.tensor`: a scalar or a block of an interpreted kernel.

use super::operation::{Callee, apply, apply_anywhere};
use super::record::BoundMethod;
use super::session;
use crate::host::LiveHost;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use tegula_frontend::{HostValue, builtin};
use tegula_ir::{Element, Scalar, Type};
use tegula_runtime::EagerBlock;

/// A block that is owned by a Python object.
struct Held(EagerBlock);

// SAFETY: Python objects are used, and dropped, with the interpreter's lock held, so never by two threads at once.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

// A scalar or a block of an interpreted kernel. (No doc comment: Python shows `__doc__` of the class below.)
#[pyclass(frozen, name = "tensor", module = "tegula.language")]
pub struct Tensor {
    pub ty: Type,
    block: Held,
    /// Whether it holds addresses that come from elsewhere than the arrays of the launch, so that accesses cannot be checked.
    pub foreign: bool,
}

impl Tensor {
    pub fn new(ty: Type, block: EagerBlock, foreign: bool) -> Tensor {
        Tensor { ty, block: Held(block), foreign }
    }

    /// The elements.
    pub fn block(&self) -> &EagerBlock {
        &self.block.0
    }

    /// The only element as a Python number.
    fn number<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.ty.shape.elements() != 1 {
            let message = format!(
                "a block of shape {:?} is not one number; `.numpy()` gives its elements",
                self.ty.shape.iter().collect::<Vec<_>>()
            );
            return Err(PyValueError::new_err(message));
        }
        let bits = self.block().bits(&self.ty);
        Ok(match self.ty.element {
            Element::Scalar(Scalar::Int1) => (bits != 0).into_pyobject(py)?.to_owned().into_any(),
            Element::Scalar(Scalar::Float64) => f64::from_bits(bits).into_pyobject(py)?.into_any(),
            Element::Scalar(Scalar::Float32) => {
                f64::from(f32::from_bits(bits as u32)).into_pyobject(py)?.into_any()
            }
            Element::Scalar(scalar) if scalar.is_float() => self.as_float32(py)?.get().number(py)?,
            Element::Scalar(scalar) if scalar.is_signed() => (bits as i64).into_pyobject(py)?.into_any(),
            Element::Scalar(_) | Element::Pointer(_) => bits.into_pyobject(py)?.into_any(),
        })
    }

    /// The same values as fp32, for types that Python and numpy lack.
    fn as_float32<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Tensor>> {
        let narrow = Tensor::new(self.ty.clone(), self.block().clone(), false).into_pyobject(py)?.into_any();
        let wide = LiveHost::new(py).python(&HostValue::Type(Scalar::Float32))?;
        let result = apply_anywhere(py, Callee::Method("to"), &[narrow, wide], None)?;
        Ok(result.into_bound(py).cast_into::<Tensor>()?)
    }

    /// The elements as an array of numpy, which may not be written. The types that numpy lacks come as fp32, addresses as uint64.
    fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let kind = match self.ty.element {
            Element::Pointer(_) => "<u8",
            Element::Scalar(scalar) => match interface_type(scalar) {
                Some(kind) => kind,
                None => return self.as_float32(py)?.get().array(py),
            },
        };
        // Scalars live in registers, as 64 bits: they become blocks of rank 0.
        let packed = self.block().packed(&self.ty);
        let elements = Elements { address: packed.address().unwrap_or(0), _owner: Held(packed) };
        let interface = PyDict::new(py);
        interface.set_item("shape", PyTuple::new(py, self.ty.shape.iter().copied())?)?;
        interface.set_item("typestr", kind)?;
        interface.set_item("data", (elements.address, true))?;
        interface.set_item("version", 3)?;
        let elements = Bound::new(py, ElementsObject { interface: interface.unbind(), _elements: elements })?;
        py.import("numpy")?.call_method1("asarray", (elements,))
    }

    fn binary(
        slf: &Bound<'_, Self>,
        expression: &'static str,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        apply(slf.py(), Callee::Operator(expression), &[slf.as_any().clone(), other.clone()], None)
    }

    fn unary(slf: &Bound<'_, Self>, expression: &'static str) -> PyResult<Py<PyAny>> {
        apply(slf.py(), Callee::Operator(expression), &[slf.as_any().clone()], None)
    }
}

/// A type as `__array_interface__` writes it.
fn interface_type(scalar: Scalar) -> Option<&'static str> {
    Some(match scalar {
        Scalar::Int1 => "|b1",
        Scalar::Int8 => "|i1",
        Scalar::Int16 => "<i2",
        Scalar::Int32 => "<i4",
        Scalar::Int64 => "<i8",
        Scalar::UInt8 => "|u1",
        Scalar::UInt16 => "<u2",
        Scalar::UInt32 => "<u4",
        Scalar::UInt64 => "<u8",
        Scalar::Float16 => "<f2",
        Scalar::Float32 => "<f4",
        Scalar::Float64 => "<f8",
        _ => return None,
    })
}

/// Packed elements and their address.
struct Elements {
    address: usize,
    _owner: Held,
}

/// What numpy reads the elements through, and keeps alive.
#[pyclass(frozen, module = "tegula._native")]
struct ElementsObject {
    interface: Py<PyDict>,
    _elements: Elements,
}

#[pymethods]
impl ElementsObject {
    #[getter(__array_interface__)]
    fn interface(&self, py: Python<'_>) -> Py<PyDict> {
        self.interface.clone_ref(py)
    }
}

#[pymethods]
impl Tensor {
    fn __add__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "a + b", other)
    }

    fn __radd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "b + a", other)
    }

    fn __sub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "a - b", other)
    }

    fn __rsub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "b - a", other)
    }

    fn __mul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "a * b", other)
    }

    fn __rmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "b * a", other)
    }

    fn __truediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "a / b", other)
    }

    fn __rtruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "b / a", other)
    }

    fn __floordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "a // b", other)
    }

    fn __rfloordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "b // a", other)
    }

    fn __mod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "a % b", other)
    }

    fn __rmod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "b % a", other)
    }

    fn __lshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "a << b", other)
    }

    fn __rlshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "b << a", other)
    }

    fn __rshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "a >> b", other)
    }

    fn __rrshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "b >> a", other)
    }

    fn __and__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "a & b", other)
    }

    fn __rand__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "b & a", other)
    }

    fn __or__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "a | b", other)
    }

    fn __ror__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "b | a", other)
    }

    fn __xor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "a ^ b", other)
    }

    fn __rxor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "b ^ a", other)
    }

    fn __matmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "a @ b", other)
    }

    fn __rmatmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "b @ a", other)
    }

    fn __pow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        _modulus: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "a ** b", other)
    }

    fn __rpow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        _modulus: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "b ** a", other)
    }

    fn __neg__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Tensor::unary(slf, "-a")
    }

    fn __pos__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Tensor::unary(slf, "+a")
    }

    fn __invert__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Tensor::unary(slf, "~a")
    }

    fn __abs__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        apply(slf.py(), Callee::Method("abs"), &[slf.as_any().clone()], None)
    }

    fn __getitem__(slf: &Bound<'_, Self>, index: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Tensor::binary(slf, "a[b]", index)
    }

    fn __richcmp__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let expression = match op {
            CompareOp::Lt => "a < b",
            CompareOp::Le => "a <= b",
            CompareOp::Eq => "a == b",
            CompareOp::Ne => "a != b",
            CompareOp::Gt => "a > b",
            CompareOp::Ge => "a >= b",
        };
        Tensor::binary(slf, expression, other)
    }

    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let (py, tensor) = (slf.py(), slf.get());
        if tensor.ty.shape.elements() != 1 && session::is_active() {
            // The language says why a block is no condition.
            return apply(py, Callee::Operator("True if a else False"), &[slf.as_any().clone()], None)?
                .is_truthy(py);
        }
        tensor.number(py)?.is_truthy()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("builtins")?.call_method1("int", (self.number(py)?,))
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.number(py)?.extract()
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if matches!(self.ty.element, Element::Scalar(scalar) if scalar.is_float()) {
            return Err(PyTypeError::new_err(format!("a scalar of {} is no index", self.dtype(py)?)));
        }
        self.__int__(py)
    }

    fn __iter__(&self) -> PyResult<Py<PyAny>> {
        Err(PyTypeError::new_err("a block cannot be iterated; index it, or loop over `range`"))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        if self.ty.is_scalar() {
            return Ok(format!("tl.tensor({}, {})", self.number(py)?.repr()?, self.dtype(py)?));
        }
        let options = PyDict::new(py);
        options.set_item("separator", ", ")?;
        options.set_item("prefix", "tl.tensor(")?;
        let text = py.import("numpy")?.call_method("array2string", (self.array(py)?,), Some(&options))?;
        Ok(format!("tl.tensor({text}, {})", self.dtype(py)?))
    }

    fn __str__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        if self.ty.is_scalar() { self.number(py)?.str() } else { self.array(py)?.str() }
    }

    fn __format__<'py>(&self, py: Python<'py>, specification: &str) -> PyResult<Bound<'py, PyAny>> {
        if specification.is_empty() {
            return Ok(self.__str__(py)?.into_any());
        }
        self.number(py)?.call_method1("__format__", (specification,))
    }

    /// The elements as an array of numpy, which may not be written. What numpy has no type for (bf16, fp8) comes as float32, pointers
    /// as uint64.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py)
    }

    /// The elements as an array of numpy; as `numpy()`.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py)
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = self.array(py)?;
        match (dtype, copy) {
            (Some(dtype), _) => array.call_method1("astype", (dtype,)),
            (None, Some(true)) => array.call_method0("copy"),
            (None, _) => Ok(array),
        }
    }

    /// The type of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = match self.ty.element {
            Element::Scalar(scalar) => HostValue::Type(scalar),
            Element::Pointer(pointer) => HostValue::PointerType(pointer),
        };
        LiveHost::new(py).python(&value)
    }

    /// The extents of a block; `()` for a scalar.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.ty.shape.iter().copied())
    }

    /// The number of elements.
    #[getter]
    fn numel(&self) -> usize {
        self.ty.shape.elements()
    }

    /// The type: of the elements and the shape for a block, the element's for a scalar.
    #[getter(r#type)]
    fn whole_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let element = self.dtype(py)?;
        if self.ty.is_scalar() {
            return Ok(element);
        }
        py.import("tegula.language")?.call_method1("block_type", (element, self.shape(py)?))
    }

    fn __getattr__(slf: &Bound<'_, Self>, name: &Bound<'_, PyString>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let text = name.to_str()?;
        if builtin::method(text).is_some() {
            let method = BoundMethod::new(slf.as_any().clone().unbind(), text);
            return Ok(method.into_pyobject(py)?.into_any().unbind());
        }
        // `hasattr` and Python's protocols ask for names that are none of the language's.
        if !builtin::attribute_names(&tegula_frontend::value::Value::Tensor(tegula_ir::Value(0)))
            .contains(&text)
        {
            return Err(PyAttributeError::new_err(format!("a `tl.tensor` has no attribute `{text}`")));
        }
        apply(py, Callee::Attribute(text), &[slf.as_any().clone()], None)
    }
}
