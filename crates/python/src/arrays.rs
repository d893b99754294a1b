//! Reading arrays: address, type of elements, whether they may be written.
//!
//! torch tensors are recognised by their class and read through a few attributes and methods; everything else through
//! `__array_interface__`, `__cuda_array_interface__` or DLPack.

use crate::classes::type_name;
use crate::constants::{numpy_scalar, scalar_type};
use crate::device::Place;
use crate::dlpack::{self, Described, Exchange};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyDict, PyString, PyTuple, PyType};
use tegula_ir::Scalar;

/// An array that a kernel gets as a pointer.
pub struct Array<'a, 'py> {
    pub address: u64,
    pub scalar: Scalar,
    pub read_only: bool,
    /// Where its memory is; `None` if the object does not say.
    pub place: Option<Place>,
    /// The object that says how far the array extends.
    layout: Layout<'a, 'py>,
}

enum Layout<'a, 'py> {
    /// A tensor, or what has `shape` and `stride()` like one.
    Tensor(&'a Bound<'py, PyAny>),
    Interface(Bound<'py, PyDict>),
    DlPack(Bound<'py, PyCapsule>),
    /// Nothing is known.
    Unknown,
}

/// Reads an object as an array; `None` if it is none.
///
/// # Errors
/// A `TypeError` that says why an array cannot be used, without the parameter's name.
#[inline]
pub fn read<'a, 'py>(object: &'a Bound<'py, PyAny>) -> PyResult<Option<Array<'a, 'py>>> {
    if let Some(torch) = torch(object.py())
        && torch.is_tensor(object)
    {
        return match torch.exchange.as_ref().and_then(|exchange| exchange.describe(object)) {
            Some(described) => Ok(Some(Array::described(described, Layout::Tensor(object)))),
            None => tensor(object, torch).map(Some),
        };
    }
    read_other(object)
}

/// The same for what is no tensor of torch.
fn read_other<'a, 'py>(object: &'a Bound<'py, PyAny>) -> PyResult<Option<Array<'a, 'py>>> {
    let py = object.py();
    if let Ok(interface) = object.getattr(intern!(py, "__array_interface__")) {
        // numpy's scalars have one too, but they are numbers.
        if numpy_scalar(object)?.is_some() {
            return Ok(None);
        }
        return array_interface(object, &interface, |_| Ok(Place::Cpu)).map(Some);
    }
    if let Ok(interface) = object.getattr(intern!(py, "__cuda_array_interface__")) {
        return array_interface(object, &interface, Place::of_address).map(Some);
    }
    if object.hasattr(intern!(py, "__dlpack__"))? {
        let (described, capsule) = dlpack::read(object)?;
        return Ok(Some(Array::described(described, Layout::DlPack(capsule))));
    }
    if object.hasattr(intern!(py, "data_ptr"))? && object.hasattr(intern!(py, "dtype"))? {
        return duck(object).map(Some);
    }
    Ok(None)
}

impl<'a, 'py> Array<'a, 'py> {
    fn described(described: Described, layout: Layout<'a, 'py>) -> Array<'a, 'py> {
        let Described { address, scalar, place } = described;
        Array { address, scalar, read_only: false, place: Some(place), layout }
    }

    /// Whether it is a tensor of torch, or a wrapper of one.
    pub fn is_tensor(&self) -> bool {
        matches!(self.layout, Layout::Tensor(_))
    }

    /// What has to live while the address is in use, beside the argument itself.
    pub fn owner(&self) -> Option<Py<PyAny>> {
        match &self.layout {
            Layout::DlPack(capsule) => Some(capsule.clone().into_any().unbind()),
            Layout::Tensor(_) | Layout::Interface(_) | Layout::Unknown => None,
        }
    }

    /// The lowest address and the number of bytes of the memory that the array is a view of, as far as it is known to be one.
    pub fn storage(&self) -> PyResult<Option<(u64, u64)>> {
        if let Layout::Tensor(tensor) = &self.layout
            && let Ok(storage) = tensor.call_method0("untyped_storage")
        {
            let address = storage.call_method0("data_ptr")?.extract()?;
            return Ok(Some((address, storage.call_method0("nbytes")?.extract()?)));
        }
        self.extent()
    }

    /// The lowest address and the number of bytes of the array; `None` if its extent is unknown.
    pub fn extent(&self) -> PyResult<Option<(u64, u64)>> {
        let (shape, strides) = match &self.layout {
            Layout::Tensor(tensor) => {
                let shape: Vec<i64> = tensor.getattr("shape")?.extract()?;
                let strides: Vec<i64> = tensor.call_method0("stride")?.extract()?;
                (shape, Some(strides))
            }
            Layout::Interface(interface) => {
                let Some(shape) = interface.get_item("shape")? else { return Ok(None) };
                let strides = match interface.get_item("strides")? {
                    Some(strides) if !strides.is_none() => {
                        let bytes: Vec<i64> = strides.extract()?;
                        Some(bytes.iter().map(|stride| stride / i64::from(self.scalar.bytes())).collect())
                    }
                    _ => None,
                };
                (shape.extract()?, strides)
            }
            Layout::DlPack(capsule) => dlpack::extents(capsule)?,
            Layout::Unknown => return Ok(None),
        };
        Ok(Some(span(self.address, &shape, strides.as_deref(), self.scalar.bytes())))
    }
}

/// Start and number of bytes of the memory that an array is all or a part of; `None` if its owner is no tensor and no array of numpy.
pub fn allocation(object: &Bound<'_, PyAny>) -> Option<(u64, u64)> {
    let py = object.py();
    if torch(py).is_some_and(|torch| torch.is_tensor(object)) {
        let storage = object.call_method0(intern!(py, "untyped_storage")).ok()?;
        let start = storage.call_method0(intern!(py, "data_ptr")).ok()?.extract().ok()?;
        return Some((start, storage.call_method0(intern!(py, "nbytes")).ok()?.extract().ok()?));
    }
    let mut owner = object.clone();
    loop {
        // Only numpy's own arrays are sure to have no other owner if they have no base.
        if !owner.hasattr(intern!(py, "__array_interface__")).ok()? {
            return None;
        }
        let base = owner.getattr(intern!(py, "base")).ok()?;
        if base.is_none() {
            break;
        }
        owner = base;
    }
    let interface = owner.getattr(intern!(py, "__array_interface__")).ok()?;
    let data = interface.get_item(intern!(py, "data")).ok()?.cast_into::<PyTuple>().ok()?;
    let start = data.get_item(0).ok()?.extract().ok()?;
    Some((start, owner.getattr(intern!(py, "nbytes")).ok()?.extract().ok()?))
}

/// The bytes between the first and the last element of a strided array. Strides are in elements; `None` is row-major.
fn span(address: u64, shape: &[i64], strides: Option<&[i64]>, element: u32) -> (u64, u64) {
    if shape.contains(&0) {
        return (address, 0);
    }
    let element = i64::from(element);
    let (mut below, mut above) = (0, 0);
    let mut contiguous = 1;
    for (axis, extent) in shape.iter().enumerate().rev() {
        let stride = strides.and_then(|strides| strides.get(axis)).copied().unwrap_or(contiguous);
        contiguous *= extent;
        let reach = (extent - 1) * stride * element;
        if reach < 0 { below += reach } else { above += reach }
    }
    (address.wrapping_add_signed(below), (above - below + element) as u64)
}

/// What is needed of torch, once it has been imported.
struct Torch {
    tensor: Py<PyType>,
    parameter: Py<PyType>,
    /// `torch.Tensor.data_ptr` and `torch.Tensor.get_device`, looked up once.
    data_ptr: Py<PyAny>,
    get_device: Py<PyAny>,
    /// The module `torch.cuda`.
    cuda: Py<PyAny>,
    /// How torch describes a tensor in one call; older releases have no such thing.
    exchange: Option<Exchange>,
    /// torch has one object a type, so they are known by identity.
    dtypes: Vec<(Py<PyAny>, Scalar)>,
}

static TORCH: PyOnceLock<Torch> = PyOnceLock::new();

/// torch, if the program uses it: this never imports it.
fn torch(py: Python<'_>) -> Option<&'static Torch> {
    if let Some(torch) = TORCH.get(py) {
        return Some(torch);
    }
    let modules = py.import("sys").ok()?.getattr("modules").ok()?;
    let torch = modules.get_item("torch").ok()?;
    let load = || -> PyResult<Torch> {
        let tensor = torch.getattr("Tensor")?.cast_into::<PyType>()?;
        let parameter = torch.getattr("nn")?.getattr("Parameter")?.cast_into::<PyType>()?;
        let mut dtypes = Vec::new();
        for (name, scalar) in DTYPES {
            // Older releases lack the newer types.
            if let Ok(dtype) = torch.getattr(*name) {
                dtypes.push((dtype.unbind(), *scalar));
            }
        }
        Ok(Torch {
            data_ptr: tensor.getattr("data_ptr")?.unbind(),
            get_device: tensor.getattr("get_device")?.unbind(),
            cuda: torch.getattr("cuda")?.unbind(),
            exchange: Exchange::of_class(&tensor),
            tensor: tensor.unbind(),
            parameter: parameter.unbind(),
            dtypes,
        })
    };
    // An import that is still under way has no classes yet.
    TORCH.get_or_try_init(py, load).ok()
}

/// Whether the program has begun to use GPUs through torch.
pub fn torch_uses_cuda(py: Python<'_>) -> PyResult<bool> {
    let Some(torch) = torch(py) else { return Ok(false) };
    torch.cuda.bind(py).getattr(intern!(py, "is_initialized"))?.call0()?.is_truthy()
}

/// How torch describes tensors in one call, if the program uses a release that does.
pub fn torch_exchange(py: Python<'_>) -> Option<&'static Exchange> {
    torch(py)?.exchange.as_ref()
}

/// The names that torch and numpy's extensions give types.
const DTYPES: &[(&str, Scalar)] = &[
    ("float32", Scalar::Float32),
    ("float16", Scalar::Float16),
    ("bfloat16", Scalar::BFloat16),
    ("int32", Scalar::Int32),
    ("int64", Scalar::Int64),
    ("float64", Scalar::Float64),
    ("bool", Scalar::Int1),
    ("uint8", Scalar::UInt8),
    ("int8", Scalar::Int8),
    ("int16", Scalar::Int16),
    ("uint16", Scalar::UInt16),
    ("uint32", Scalar::UInt32),
    ("uint64", Scalar::UInt64),
    ("float8_e4m3fn", Scalar::Float8E4M3),
    ("float8_e5m2", Scalar::Float8E5M2),
    ("float8_e4m3fnuz", Scalar::Float8E4B8),
    ("float8_e5m2fnuz", Scalar::Float8E5B16),
];

impl Torch {
    fn is_tensor(&self, object: &Bound<'_, PyAny>) -> bool {
        let (tensor, class) = (self.tensor.bind(object.py()), object.get_type_ptr());
        class == tensor.as_type_ptr()
            || class == self.parameter.bind(object.py()).as_type_ptr()
            || object.get_type().is_subclass(tensor).unwrap_or(false)
    }

    fn scalar(&self, dtype: &Bound<'_, PyAny>) -> Option<Scalar> {
        self.dtypes.iter().find(|(known, _)| known.is(dtype)).map(|(_, scalar)| *scalar)
    }
}

/// The scalar type of a `torch.dtype`.
pub fn torch_dtype(object: &Bound<'_, PyAny>) -> Option<Scalar> {
    torch(object.py())?.scalar(object)
}

/// A tensor of torch, by its attributes.
fn tensor<'a, 'py>(object: &'a Bound<'py, PyAny>, torch: &Torch) -> PyResult<Array<'a, 'py>> {
    let py = object.py();
    let place = if object.getattr(intern!(py, "is_cuda"))?.is_truthy()? {
        Place::of_cuda_tensor(|| torch.get_device.bind(py).call1((object,))?.extract())?
    } else if object.getattr(intern!(py, "is_cpu"))?.is_truthy()? {
        Place::Cpu
    } else {
        return Err(elsewhere(&object.getattr(intern!(py, "device"))?.str()?.to_string()));
    };
    let dtype = object.getattr(intern!(py, "dtype"))?;
    let scalar = torch.scalar(&dtype).ok_or_else(|| no_type(&dtype))?;
    let address = torch.data_ptr.bind(py).call1((object,))?.extract()?;
    let layout = Layout::Tensor(object);
    Ok(Array { address, scalar, read_only: false, place: Some(place), layout })
}

/// A wrapper of a tensor: `data_ptr()` and a `dtype` of torch or of `tegula.language`.
fn duck<'a, 'py>(object: &'a Bound<'py, PyAny>) -> PyResult<Array<'a, 'py>> {
    let dtype = object.getattr("dtype")?;
    let scalar = torch_dtype(&dtype).or_else(|| scalar_type(&dtype));
    let scalar = scalar.ok_or_else(|| no_type(&dtype))?;
    let address = object.call_method0("data_ptr")?.extract()?;
    let sized = object.hasattr("shape")? && object.hasattr("stride")?;
    let layout = if sized { Layout::Tensor(object) } else { Layout::Unknown };
    // What stands for a tensor where only its type matters is nowhere.
    let place = object.getattr("device").ok().and_then(|device| Place::of_torch_device(&device));
    Ok(Array { address, scalar, read_only: false, place, layout })
}

/// Reads `__array_interface__` or `__cuda_array_interface__`, whose entries are the same; `place` says where an address is.
fn array_interface<'a, 'py>(
    object: &'a Bound<'py, PyAny>,
    interface: &Bound<'py, PyAny>,
    place: impl FnOnce(u64) -> PyResult<Place>,
) -> PyResult<Array<'a, 'py>> {
    let py = object.py();
    let interface = interface.cast::<PyDict>()?;
    let field = |name: &Bound<'py, PyString>| {
        interface
            .get_item(name)?
            .ok_or_else(|| PyTypeError::new_err(format!("its array interface has no entry {name}")))
    };
    let type_text = field(intern!(py, "typestr"))?;
    let known = type_text.cast::<PyString>().ok().and_then(|text| text.to_str().ok());
    let scalar = match known {
        // Types that numpy itself lacks (ml_dtypes' bfloat16) are void to the interface, but have a name.
        Some(text) if text.contains('V') => object
            .getattr(intern!(py, "dtype"))
            .and_then(|dtype| dtype.getattr(intern!(py, "name")))
            .ok()
            .and_then(|name| named_scalar(name.extract().ok()?)),
        Some(text) => interface_scalar(text),
        None => None,
    };
    let scalar = scalar.ok_or_else(|| no_type(&type_text))?;
    let data = field(intern!(py, "data"))?;
    let data = data
        .cast::<PyTuple>()
        .map_err(|_| PyTypeError::new_err("the `data` of its array interface is no tuple"))?;
    let address = data.get_item(0)?.extract()?;
    Ok(Array {
        address,
        place: Some(place(address)?),
        scalar,
        read_only: data.get_item(1)?.is_truthy()?,
        layout: Layout::Interface(interface.clone()),
    })
}

/// A type as `__array_interface__` writes it, in this machine's byte order: `<f4`, `|b1`.
fn interface_scalar(text: &str) -> Option<Scalar> {
    let native = if cfg!(target_endian = "little") { '<' } else { '>' };
    let kind = text.strip_prefix([native, '|', '='])?;
    Some(match kind {
        "b1" => Scalar::Int1,
        "i1" => Scalar::Int8,
        "i2" => Scalar::Int16,
        "i4" => Scalar::Int32,
        "i8" => Scalar::Int64,
        "u1" => Scalar::UInt8,
        "u2" => Scalar::UInt16,
        "u4" => Scalar::UInt32,
        "u8" => Scalar::UInt64,
        "f2" => Scalar::Float16,
        "f4" => Scalar::Float32,
        "f8" => Scalar::Float64,
        _ => return None,
    })
}

fn named_scalar(name: &str) -> Option<Scalar> {
    DTYPES.iter().find(|(known, _)| *known == name).map(|(_, scalar)| *scalar)
}

fn elsewhere(device: &str) -> PyErr {
    PyValueError::new_err(format!(
        "it is on the device {device}, but kernels run on the CPU and on CUDA devices; copy it there first"
    ))
}

fn no_type(dtype: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("its elements are of type {dtype}, which kernels do not have"))
}

/// An argument in the words of a message: `torch.Tensor of bf16`, `numpy.ndarray of int32`, `list`, `int`.
pub fn describe(object: &Bound<'_, PyAny>) -> String {
    match read(object) {
        Ok(Some(array)) => format!("{} of {}", type_name(object), array.scalar.language_name()),
        _ => type_name(object),
    }
}
