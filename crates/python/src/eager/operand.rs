//! Python objects as operands of an operation.

use super::record::Record;
use super::tensor::Tensor;
use crate::classes::{classes, is_instance};
use crate::constants::{Objects, constant, named_tuple_class, number, pointer_type, scalar_type};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyFloat, PyInt, PyList, PySlice, PyTuple, PyType};
use tegula_frontend::value::RecordKind;
use tegula_ir::{Element, Type};
use tegula_runtime::{Constant, EagerBlock, OperandKey};

/// The operands of one operation.
#[derive(Default)]
pub struct Operands {
    /// What is given when the operation is executed, in order.
    pub blocks: Vec<EagerBlock>,
    /// The objects that keys refer to by address.
    pub objects: Objects,
    /// Whether a pointer among them comes from elsewhere than the arrays of the launch.
    pub foreign: bool,
}

impl Operands {
    /// What the operation is compiled for in the place of an object.
    ///
    /// # Errors
    /// A `TypeError` for objects that the language has no use for.
    pub fn read(&mut self, object: &Bound<'_, PyAny>) -> PyResult<OperandKey> {
        let py = object.py();
        if let Ok(tensor) = object.cast_exact::<Tensor>() {
            return Ok(self.tensor(tensor.get()));
        }
        if let Ok(value) = object.cast_exact::<PyInt>() {
            return Ok(OperandKey::Constant(Constant::Int(value.extract()?)));
        }
        if let Ok(value) = object.cast_exact::<PyFloat>() {
            return Ok(OperandKey::Constant(Constant::float(value.value())));
        }
        if object.is_none() {
            return Ok(OperandKey::Constant(Constant::None));
        }
        if let Ok(value) = object.cast_exact::<PyBool>() {
            return Ok(OperandKey::Constant(Constant::Bool(value.is_true())));
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            let items = tuple.iter().map(|item| self.read(&item)).collect::<PyResult<_>>()?;
            return Ok(OperandKey::Tuple(items, named_tuple_class(object, &mut self.objects)));
        }
        if let Ok(list) = object.cast::<PyList>() {
            let items = list.iter().map(|item| self.read(&item)).collect::<PyResult<_>>()?;
            return Ok(OperandKey::Tuple(items, None));
        }
        if object.cast::<PySlice>().is_ok() {
            let mut bound = |name| self.read(&object.getattr(name)?);
            let bounds = [bound("start")?, bound("stop")?, bound("step")?];
            return Ok(OperandKey::Slice(Box::new(bounds)));
        }
        if object.is(PyEllipsis::get(py)) {
            return Ok(OperandKey::Ellipsis);
        }
        if let Ok(record) = object.cast_exact::<Record>() {
            let record = record.get();
            let fields = record.fields.iter();
            let fields = fields.map(|(name, value)| Ok((*name, self.read(value.bind(py))?)));
            return Ok(OperandKey::Record(record.kind, fields.collect::<PyResult<_>>()?));
        }
        if is_instance(object, &classes(py)?.constexpr) {
            return self.read(&object.getattr(intern!(py, "value"))?);
        }
        if let Ok(class) = object.cast::<PyType>()
            && class.is_subclass_of::<PyTuple>()?
        {
            self.objects.push(object.clone().unbind());
            return Ok(OperandKey::Constant(Constant::Object(number(object))));
        }
        if is_instance(object, &classes(py)?.block_type) {
            let element = object.getattr("element_ty")?;
            let element = match scalar_type(&element) {
                Some(scalar) => Constant::Type(scalar),
                None => pointer_type(&element)?.map_or(Constant::None, Constant::PointerType),
            };
            let shape = self.read(&object.getattr("shape")?)?;
            let fields = vec![("element_ty", OperandKey::Constant(element)), ("shape", shape)];
            return Ok(OperandKey::Record(RecordKind::BlockType, fields));
        }
        Ok(OperandKey::Constant(constant(object, &mut self.objects)?))
    }

    fn tensor(&mut self, tensor: &Tensor) -> OperandKey {
        self.blocks.push(tensor.block().clone());
        self.foreign |= tensor.foreign && is_address(&tensor.ty);
        OperandKey::Runtime(tensor.ty.clone())
    }
}

/// Whether a value of the type is an address, or a block of them.
pub fn is_address(ty: &Type) -> bool {
    matches!(ty.element, Element::Pointer(_))
}
