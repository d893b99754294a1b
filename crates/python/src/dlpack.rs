//! DLPack: arrays of any library, as its C structures describe them.
//!
//! Two ways lead there. `__dlpack__()` returns a capsule that keeps the memory alive. Libraries that know version 1.3 of the standard
//! (torch since 2.10) also put a table of C functions on the class, `__dlpack_c_exchange_api__`, which describes a tensor that the
//! caller holds without making an object: one call in the place of an attribute each for type, device and address.

use crate::device::Place;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi::c_str;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyType};
use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use tegula_ir::Scalar;

/// `DLTensor` with its `DLDevice` and `DLDataType`.
#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    type_code: u8,
    type_bits: u8,
    type_lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// `kDLCPU`, `kDLCUDA` and `kDLCUDAHost`.
const CPU: i32 = 1;
const CUDA: i32 = 2;
const CUDA_HOST: i32 = 3;

const CAPSULE: &CStr = c_str!("dltensor");

/// What a tensor's description says of it.
pub struct Described {
    pub address: u64,
    pub scalar: Scalar,
    pub place: Place,
}

/// The tensor in a capsule that `__dlpack__` returned, which outlives the reference.
fn tensor<'c>(capsule: &'c Bound<'_, PyCapsule>) -> PyResult<&'c DlTensor> {
    let pointer = capsule.pointer_checked(Some(CAPSULE))?;
    // SAFETY: a capsule of this name holds a `DLManagedTensor`, which starts with a `DLTensor` and lives as long
    // as the capsule, which nobody else consumes.
    Ok(unsafe { pointer.cast::<DlTensor>().as_ref() })
}

/// Reads an object that has `__dlpack__`; the capsule keeps its memory alive.
pub fn read<'py>(object: &Bound<'py, PyAny>) -> PyResult<(Described, Bound<'py, PyCapsule>)> {
    let (kind, number): (i32, i32) = object.call_method0("__dlpack_device__")?.extract()?;
    // Asked before the capsule, which may copy or wait for the device.
    let place = place(kind, number).ok_or_else(|| {
        PyValueError::new_err(format!(
            "it is on DLPack's device {kind}, but kernels run on the CPU and on CUDA devices; copy it there first"
        ))
    })?;
    let capsule = object.call_method0("__dlpack__")?.cast_into::<PyCapsule>()?;
    let tensor = tensor(&capsule)?;
    let scalar = tensor.scalar().ok_or_else(|| {
        PyTypeError::new_err(format!(
            "its DLPack type (code {}, {} bits, {} lanes) is not supported",
            tensor.type_code, tensor.type_bits, tensor.type_lanes
        ))
    })?;
    Ok((Described { address: tensor.address(), scalar, place }, capsule))
}

/// Extents and strides of a capsule's tensor; strides are in elements, and row-major without.
pub fn extents(capsule: &Bound<'_, PyCapsule>) -> PyResult<(Vec<i64>, Option<Vec<i64>>)> {
    let tensor = tensor(capsule)?;
    let rank = tensor.ndim.max(0) as usize;
    if rank == 0 {
        return Ok((Vec::new(), None));
    }
    // SAFETY: DLPack says that `shape`, and `strides` unless it is null, point to `ndim` integers, which live as long as
    // the capsule.
    let list = |start: *const i64| unsafe { std::slice::from_raw_parts(start, rank) }.to_vec();
    Ok((list(tensor.shape), (!tensor.strides.is_null()).then(|| list(tensor.strides))))
}

impl DlTensor {
    fn address(&self) -> u64 {
        (self.data as u64).wrapping_add(self.byte_offset)
    }

    /// The type of the elements by `DLDataTypeCode`, if kernels have it.
    fn scalar(&self) -> Option<Scalar> {
        Some(match (self.type_code, self.type_bits, self.type_lanes) {
            (0, 8, 1) => Scalar::Int8,
            (0, 16, 1) => Scalar::Int16,
            (0, 32, 1) => Scalar::Int32,
            (0, 64, 1) => Scalar::Int64,
            (1, 8, 1) => Scalar::UInt8,
            (1, 16, 1) => Scalar::UInt16,
            (1, 32, 1) => Scalar::UInt32,
            (1, 64, 1) => Scalar::UInt64,
            (2, 16, 1) => Scalar::Float16,
            (2, 32, 1) => Scalar::Float32,
            (2, 64, 1) => Scalar::Float64,
            (4, 16, 1) => Scalar::BFloat16,
            (6, 8, 1) => Scalar::Int1,
            (10, 8, 1) => Scalar::Float8E4M3,
            (11, 8, 1) => Scalar::Float8E4B8,
            (12, 8, 1) => Scalar::Float8E5M2,
            (13, 8, 1) => Scalar::Float8E5B16,
            _ => return None,
        })
    }
}

fn place(kind: i32, number: i32) -> Option<Place> {
    match kind {
        CPU | CUDA_HOST => Some(Place::Cpu),
        CUDA => Some(Place::Cuda(number.max(0) as u32)),
        _ => None,
    }
}

/// `DLPackExchangeAPI`: what is called of it has its type, the rest is left opaque.
#[repr(C)]
struct ExchangeTable {
    major: u32,
    minor: u32,
    previous: *const c_void,
    managed_tensor_allocator: *const c_void,
    managed_tensor_from_object: *const c_void,
    managed_tensor_to_object: *const c_void,
    tensor_from_object: Option<unsafe extern "C" fn(*mut c_void, *mut DlTensor) -> c_int>,
    current_work_stream: Option<unsafe extern "C" fn(c_int, i32, *mut *mut c_void) -> c_int>,
}

/// The functions by which a class describes its objects.
pub struct Exchange {
    tensor_from_object: unsafe extern "C" fn(*mut c_void, *mut DlTensor) -> c_int,
    current_work_stream: unsafe extern "C" fn(c_int, i32, *mut *mut c_void) -> c_int,
}

impl Exchange {
    /// The functions of a class; `None` if it has none of a version that is known.
    pub fn of_class(class: &Bound<'_, PyType>) -> Option<Exchange> {
        let capsule = class.getattr("__dlpack_c_exchange_api__").ok()?.cast_into::<PyCapsule>().ok()?;
        let table: NonNull<c_void> = capsule.pointer_checked(Some(c_str!("dlpack_exchange_api"))).ok()?;
        // SAFETY: a capsule of this name points to a `DLPackExchangeAPI`, which lives as long as the process; the
        // version comes first in every version.
        let table = unsafe { table.cast::<ExchangeTable>().as_ref() };
        if table.major != 1 {
            return None;
        }
        Some(Exchange {
            tensor_from_object: table.tensor_from_object?,
            current_work_stream: table.current_work_stream?,
        })
    }

    /// Describes an object of the class; `None` where the standard has no words for it (a sparse tensor).
    pub fn describe(&self, object: &Bound<'_, PyAny>) -> Option<Described> {
        let mut tensor = MaybeUninit::<DlTensor>::uninit();
        // SAFETY: the object is of the class that the function was found on, and the interpreter's lock is held.
        let status = unsafe { (self.tensor_from_object)(object.as_ptr().cast(), tensor.as_mut_ptr()) };
        if status != 0 {
            // The exception is dropped: the caller finds its own words.
            drop(PyErr::take(object.py()));
            return None;
        }
        // SAFETY: the function said that it filled the structure.
        let tensor = unsafe { tensor.assume_init_ref() };
        let place = place(tensor.device_type, tensor.device_id)?;
        Some(Described { address: tensor.address(), scalar: tensor.scalar()?, place })
    }

    /// The stream that the library works on now, on a CUDA device.
    pub fn current_stream(&self, py: Python<'_>, device: u32) -> PyResult<u64> {
        let mut stream = std::ptr::null_mut();
        // SAFETY: the function writes one pointer; the interpreter's lock is held.
        match unsafe { (self.current_work_stream)(CUDA, device as i32, &mut stream) } {
            0 => Ok(stream as u64),
            _ => Err(PyErr::fetch(py)),
        }
    }
}
