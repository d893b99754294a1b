//! Warnings of the runtime as Python's.

use crate::arrays;
use crate::binding::Parameter;
use crate::function::JITFunction;
use pyo3::prelude::*;
use tegula_ir::Element;
use tegula_runtime::{ArrayRange, Specialization, Warning, warnings};

/// Gives warnings to Python's `warnings`, those of places that have not been warned of.
///
/// # Errors
/// The warning itself, if Python's filters make it an error.
pub fn deliver(py: Python<'_>, kernel: &JITFunction, found: Vec<Warning>) -> PyResult<()> {
    if found.is_empty() || !warnings::enabled() {
        return Ok(());
    }
    let warn = py.import("warnings")?.getattr("warn_explicit")?;
    let class = py.import("tegula.errors")?.getattr("KernelWarning")?;
    for warning in found.iter().filter(|warning| kernel.reported.is_new(warning)) {
        let (file, line, _) = warning.place().unwrap_or(("<unknown>", 1, 1));
        warn.call1((warning.to_string(), &class, file, line, kernel.module(py)?))?;
        kernel.reported.note(warning);
    }
    Ok(())
}

/// All the memory that the arguments of a launch are parts of; `None` if that of one of them is not known.
pub fn allocations(
    parameters: &[Parameter],
    specialisations: &[Specialization],
    bound: &[&Bound<'_, PyAny>],
) -> Option<Vec<ArrayRange>> {
    let mut ranges = Vec::new();
    for ((parameter, specialisation), object) in parameters.iter().zip(specialisations).zip(bound) {
        match specialisation {
            Specialization::Runtime { element: Element::Pointer(_), .. } => {
                let (address, bytes) = arrays::allocation(object)?;
                ranges.push(ArrayRange {
                    name: parameter.name.clone(),
                    address: address as usize,
                    bytes: bytes as usize,
                    writable: true,
                });
            }
            Specialization::Runtime { .. } | Specialization::Constexpr(_) => {}
            Specialization::Tuple(..) | Specialization::Descriptor(_) => return None,
        }
    }
    Some(ranges)
}
