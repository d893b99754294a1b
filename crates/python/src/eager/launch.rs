//! Interpreted launches: the Python function is called for each program of the grid.

use super::record::Record;
use super::session::{Session, enter};
use super::tensor::Tensor;
use crate::binding::Parameter;
use crate::classes::{classes, is_instance};
use crate::function::JITFunction;
use crate::specialize::Arguments;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple};
use std::cell::Cell;
use std::rc::Rc;
use tegula_frontend::value::RecordKind;
use tegula_ir::Type;
use tegula_runtime::{Constant, EagerBlock, Memory, Specialization};

/// Calls the kernel for each program of the grid, the first axis fastest.
///
/// # Errors
/// Whatever the kernel raises.
pub fn launch(
    kernel: &Bound<'_, JITFunction>,
    bound: &[&Bound<'_, PyAny>],
    arguments: &Arguments,
    grid: [u32; 3],
) -> PyResult<()> {
    let py = kernel.py();
    let function = kernel.get();
    let mut leaves = arguments.leaves.iter().copied();
    let mut positional = Vec::new();
    let keywords = PyDict::new(py);
    for ((parameter, specialization), object) in function.parameters.iter().zip(&arguments.key).zip(bound) {
        let value = wrap(parameter, specialization, object, &mut leaves)?;
        if parameter.keyword_only {
            keywords.set_item(&parameter.name, value)?;
        } else {
            positional.push(value);
        }
    }
    let positional = PyTuple::new(py, positional)?;
    let ranges = arguments.ranges.as_deref().filter(|_| !arguments.unknown_extent);
    let callable = function.interpreted(py)?;
    let code = callable.getattr(intern!(py, "__code__"))?.unbind();
    let memory = ranges.map(Memory::new);
    let session = Rc::new(Session { grid, program: Cell::new([0; 3]), memory, code });
    let _entered = enter(Rc::clone(&session));
    let [x, y, z] = grid;
    for z in 0..z {
        for y in 0..y {
            for x in 0..x {
                session.program.set([x, y, z]);
                callable.call(&positional, Some(&keywords))?;
            }
        }
    }
    Ok(())
}

/// An argument as the kernel sees it: tiles for what a compiled kernel gets at run time, Python's values for constants.
fn wrap<'py>(
    parameter: &Parameter,
    specialization: &Specialization,
    object: &Bound<'py, PyAny>,
    leaves: &mut impl Iterator<Item = u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    match specialization {
        Specialization::Runtime { element, .. } => {
            let block = EagerBlock::splat(leaves.next().unwrap_or_default());
            Ok(Bound::new(py, Tensor::new(Type::scalar(*element), block, false))?.into_any())
        }
        Specialization::Constexpr(constant) => {
            if is_instance(object, &classes(py)?.constexpr) {
                return object.getattr(intern!(py, "value"));
            }
            if *constant == Constant::Int(1) && !parameter.constexpr && object.cast::<PyBool>().is_err() {
                return py.import("tegula.runtime.interpreter")?.call_method1("ConstantArgument", (1,));
            }
            Ok(object.clone())
        }
        Specialization::Tuple(items, _) => {
            let values = items
                .iter()
                .zip(object.try_iter()?)
                .map(|(item, object)| wrap(parameter, item, &object?, leaves))
                .collect::<PyResult<Vec<_>>>()?;
            let values = PyTuple::new(py, values)?;
            let class = object.get_type();
            if class.hasattr("_fields")? {
                class.call_method1(intern!(py, "_make"), (values,))
            } else {
                Ok(values.into_any())
            }
        }
        Specialization::Descriptor(descriptor) => {
            let base = wrap(parameter, &descriptor.base, &object.getattr("base")?, leaves)?;
            let mut list = |name: &str, parts: &[Specialization]| {
                let items = object.getattr(name)?;
                let values = parts
                    .iter()
                    .zip(items.try_iter()?)
                    .map(|(part, item)| wrap(parameter, part, &item?, leaves));
                PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)
            };
            let shape = list("shape", &descriptor.shape)?;
            let strides = list("strides", &descriptor.strides)?;
            let block = PyTuple::new(py, descriptor.block_shape.iter().copied())?;
            let pad = descriptor.pad_with_nan.into_pyobject(py)?.to_owned();
            let fields = vec![
                ("base", base.unbind()),
                ("shape", shape.into_any().unbind()),
                ("strides", strides.into_any().unbind()),
                ("block_shape", block.into_any().unbind()),
                ("pad_with_nan", pad.into_any().unbind()),
            ];
            Ok(Bound::new(py, Record { kind: RecordKind::TensorDescriptor, fields })?.into_any())
        }
    }
}
