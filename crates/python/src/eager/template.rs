//! What an operation evaluates to, as Python objects.

use super::operand::is_address;
use super::range::Range;
use super::record::{BoundMethod, Record};
use super::tensor::Tensor;
use crate::host::LiveHost;
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tegula_frontend::HostValue;
use tegula_frontend::value::{RecordKind, Value};
use tegula_ir::Scalar;
use tegula_runtime::{EagerBlock, Operation};

/// The shape of a result, made once when the operation is compiled; only the tiles in it are new in each execution.
pub enum Template {
    Tile(usize),
    Object(Py<PyAny>),
    Tuple(Vec<Template>, Option<Py<PyAny>>),
    Record(RecordKind, Vec<(&'static str, Template)>),
    /// The numbers of the bounds: start, stop, step.
    Range([usize; 3]),
    /// A method of the first operand.
    Method(String),
}

impl Template {
    /// The template of a value. `name` is that of the attribute, if the operation is one.
    ///
    /// # Errors
    /// A `RuntimeError` for values that exist only while a kernel is compiled.
    pub fn new(host: &LiveHost<'_>, value: &Value, name: &str) -> PyResult<Template> {
        let object = |value: HostValue| Ok(Template::Object(host.python(&value)?.unbind()));
        match value {
            Value::Tensor(number) => Ok(Template::Tile(number.0 as usize)),
            Value::Tuple(items, class) => {
                let items =
                    items.iter().map(|item| Template::new(host, item, name)).collect::<PyResult<_>>()?;
                let class =
                    class.clone().map(|class| host.python(&HostValue::TupleClass(class))).transpose()?;
                Ok(Template::Tuple(items, class.map(Bound::unbind)))
            }
            Value::Record(record) => {
                let field = |field: &str| {
                    let found = record.fields.iter().find(|(known, _)| *known == field);
                    found.map_or(&Value::None, |(_, value)| value)
                };
                match record.kind {
                    RecordKind::Range => {
                        let bound = |name: &str| match field(name) {
                            Value::Tensor(number) => number.0 as usize,
                            _ => 0,
                        };
                        Ok(Template::Range([bound("start"), bound("stop"), bound("step")]))
                    }
                    RecordKind::StaticRange => {
                        let bounds: PyResult<Vec<_>> = ["start", "stop", "step"]
                            .into_iter()
                            .map(|name| host.python(&constant(field(name)).unwrap_or(HostValue::None)))
                            .collect();
                        Ok(Template::Object(
                            host.builtin("range")?.call1(PyTuple::new(host.py(), bounds?)?)?.unbind(),
                        ))
                    }
                    RecordKind::BlockType => {
                        let (element, shape) = (constant(field("element_ty")), constant(field("shape")));
                        let (element, shape) =
                            (element.unwrap_or(HostValue::None), shape.unwrap_or(HostValue::None));
                        Ok(Template::Object(host.block_type(&element, &shape)?.unbind()))
                    }
                    kind @ (RecordKind::BlockPointer | RecordKind::TensorDescriptor) => {
                        let fields = record.fields.iter();
                        let fields =
                            fields.map(|(name, value)| Ok((*name, Template::new(host, value, name)?)));
                        Ok(Template::Record(kind, fields.collect::<PyResult<_>>()?))
                    }
                }
            }
            Value::Method(_) => Ok(Template::Method(name.to_owned())),
            other => match constant(other) {
                Some(value) => object(value),
                None => Err(PyRuntimeError::new_err("this value exists only while a kernel is compiled")),
            },
        }
    }

    /// The result of one execution.
    pub fn build(
        &self,
        py: Python<'_>,
        operation: &Operation,
        results: &[EagerBlock],
        receiver: Option<&Bound<'_, PyAny>>,
        foreign: bool,
    ) -> PyResult<Py<PyAny>> {
        let build = |template: &Template| template.build(py, operation, results, receiver, foreign);
        match self {
            Template::Tile(number) => {
                let ty = operation.result_type(*number).clone();
                let foreign = foreign && is_address(&ty);
                let tensor = Tensor::new(ty, results[*number].clone(), foreign);
                Ok(Bound::new(py, tensor)?.into_any().unbind())
            }
            Template::Object(object) => Ok(object.clone_ref(py)),
            Template::Tuple(items, class) => {
                let items = items.iter().map(build).collect::<PyResult<Vec<_>>>()?;
                let items = PyTuple::new(py, items)?;
                match class {
                    Some(class) => class.call_method1(py, intern!(py, "_make"), (items,)),
                    None => Ok(items.into_any().unbind()),
                }
            }
            Template::Record(kind, fields) => {
                let fields = fields.iter().map(|(name, field)| Ok((*name, build(field)?)));
                let record = Record { kind: *kind, fields: fields.collect::<PyResult<_>>()? };
                Ok(Bound::new(py, record)?.into_any().unbind())
            }
            Template::Range(bounds) => {
                let ty = operation.result_type(bounds[0]);
                let scalar = ty.element.as_scalar().unwrap_or(Scalar::Int32);
                let [start, stop, step] = bounds.map(|number| {
                    let bits = results[number].bits(ty);
                    if scalar.is_signed() { i128::from(bits as i64) } else { i128::from(bits) }
                });
                Ok(Bound::new(py, Range::new(start, stop, step, scalar))?.into_any().unbind())
            }
            Template::Method(name) => {
                let receiver = receiver.map_or_else(|| py.None(), |receiver| receiver.clone().unbind());
                Ok(Bound::new(py, BoundMethod::new(receiver, name))?.into_any().unbind())
            }
        }
    }
}

/// A value that does not depend on the launch, as the host has it.
fn constant(value: &Value) -> Option<HostValue> {
    Some(match value {
        Value::None => HostValue::None,
        Value::Bool(value) => HostValue::Bool(*value),
        Value::Int(value) => HostValue::Int(*value),
        Value::Float(value) => HostValue::Float(*value),
        Value::Str(text) => HostValue::Str(text.to_string()),
        Value::Type(scalar) => HostValue::Type(*scalar),
        Value::PointerType(pointer) => HostValue::PointerType(*pointer),
        Value::Tuple(items, class) => {
            HostValue::Tuple(items.iter().map(constant).collect::<Option<_>>()?, class.clone())
        }
        Value::Builtin(builtin) => HostValue::Builtin(builtin),
        Value::Function(function) => HostValue::Function(*function),
        Value::ConstexprFunction(object) => HostValue::ConstexprFunction(*object),
        Value::Language(path) => HostValue::Language(path),
        Value::TupleClass(class) => HostValue::TupleClass(class.clone()),
        Value::Other(object, class) => HostValue::Other(*object, class.to_string()),
        _ => return None,
    })
}
