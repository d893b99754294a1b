//! Compilation for types instead of arguments, with no cache read or written.

use crate::compiled::CompiledKernel;
use crate::constants::{Objects, constant};
use crate::device;
use crate::errors;
use crate::function::JITFunction;
use crate::launch::{Lowered, Reader};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tegula_ir::{Pointer, Scalar};
use tegula_runtime::{Error, Options, Policy, Specialization, Target, specialization};

/// Compiles a kernel for a target, such as `"sm_90"`, that need not be here.
///
/// `signature` has the types of run-time parameters by name: `"*bf16"` is a pointer, `"i32"` an integer; both count as
/// divisible by 16. `constexprs` has the values of the others.
#[pyfunction]
#[pyo3(signature = (kernel, signature, constexprs, target, num_warps = 4, num_stages = 3))]
pub fn compile_ahead(
    kernel: &Bound<'_, JITFunction>,
    signature: &Bound<'_, PyDict>,
    constexprs: &Bound<'_, PyDict>,
    target: &str,
    num_warps: i64,
    num_stages: i64,
) -> PyResult<Py<CompiledKernel>> {
    let py = kernel.py();
    let function = kernel.get();
    let wrong = |error: Error| PyValueError::new_err(error.to_string());
    let target: Target = target.parse().map_err(wrong)?;
    let mut options = Options::default();
    options.set("num_warps", num_warps).map_err(wrong)?;
    options.set("num_stages", num_stages).map_err(wrong)?;

    let (mut key, mut objects) = (Vec::new(), Objects::new());
    for parameter in &function.parameters {
        let name = &parameter.name;
        if let Some(text) = signature.get_item(name)?.filter(|ty| !is_constexpr(ty)) {
            let text: String = text.extract()?;
            key.push(runtime(&text).ok_or_else(|| {
                PyValueError::new_err(format!("`{text}`, the type of `{name}`, is no type of a parameter"))
            })?);
            continue;
        }
        let default = parameter.default(py)?.cloned();
        let Some(value) = constexprs.get_item(name)?.or(default) else {
            let message = format!("`{}` is given neither a type nor a value for `{name}`", function.name);
            return Err(PyTypeError::new_err(message));
        };
        key.push(Specialization::Constexpr(constant(&value, &mut objects)?));
    }
    // Says where assemblers may be found; the cache itself is not used.
    device::disk_cache(py, target)?;
    errors::guarded(py, &function.name, || {
        let lowered = Lowered::new(kernel, &key, &objects, target, &options, Reader::Compiler);
        py.detach(|| lowered.finish(target, options, None)).map_err(|error| errors::to_python(py, &error))
    })
}

/// Whether an entry of a signature says that the parameter's value is among the constexprs.
fn is_constexpr(ty: &Bound<'_, PyAny>) -> bool {
    ty.extract::<&str>().is_ok_and(|text| text == "constexpr")
}

/// A type as signatures write it, with the divisibility that launches mostly find.
fn runtime(text: &str) -> Option<Specialization> {
    let policy = Policy::default();
    if let Some(pointee) = text.strip_prefix('*') {
        let (constant, pointee) = match pointee.strip_prefix('k') {
            Some(pointee) => (true, pointee),
            None => (false, pointee),
        };
        let pointer = Pointer { pointee: Scalar::from_name(pointee)?, depth: 1, constant };
        return Some(specialization::pointer(0, pointer, policy).into());
    }
    let scalar = Scalar::from_name(text)?;
    Some(if scalar.is_float() {
        Specialization::Runtime { element: scalar.into(), divisible_by: 1 }
    } else {
        specialization::typed_integer(0, scalar, policy).into()
    })
}
