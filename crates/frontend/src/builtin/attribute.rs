//! Attributes of tensors, types and records: `x.dtype`, `x.shape`, `x.T`, `pointer.dtype.element_ty`, `desc.block_shape`.

use super::{descriptor, shape, type_method, window};
use crate::builtin;
use crate::host::HostValue;
use crate::lower::{Lowering, Result};
use crate::value::{Record, RecordKind, Value};
use std::sync::Arc;
use tegula_ir::{Element, Pointer, Scalar, Type};

/// The attribute `name` of a tensor, a type, a pointer type or a [`Value::Record`]: `.dtype`, `.shape`, `.T`, or a method
/// ([`Value::Method`]) such as `.to`. `None` if there is none.
///
/// # Errors
/// If the attribute exists but cannot be computed.
pub fn attribute(cx: &mut Lowering<'_, '_>, value: &Value, name: &str) -> Result<Option<Value>> {
    match value {
        Value::Tensor(tensor) => of_tensor(cx, value, *tensor, name),
        Value::Type(scalar) => Ok(of_scalar_type(*scalar, name).or_else(|| type_method::bound(value, name))),
        Value::PointerType(pointer) => {
            Ok(of_pointer_type(*pointer, name).or_else(|| type_method::bound(value, name)))
        }
        Value::Record(record) => match record.kind {
            RecordKind::TensorDescriptor => descriptor::attribute(cx, value, record, name),
            RecordKind::BlockType => {
                Ok(of_block_type(record, name).or_else(|| type_method::bound(value, name)))
            }
            RecordKind::BlockPointer => Ok(match name {
                "store" | "advance" => language_method(value, name),
                _ => None,
            }),
            RecordKind::Range | RecordKind::StaticRange => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The names that [`attribute`] knows for a value, for "did you mean".
pub fn attribute_names(value: &Value) -> Vec<&'static str> {
    let methods = || builtin::methods().map(|(name, _)| name);
    match value {
        Value::Tensor(_) => TENSOR.iter().copied().chain(methods()).collect(),
        Value::Type(_) | Value::PointerType(_) => TYPE.iter().copied().chain(type_method::names()).collect(),
        Value::Record(record) => match record.kind {
            RecordKind::TensorDescriptor => descriptor::attribute_names(),
            RecordKind::BlockType => TYPE.iter().copied().chain(type_method::names()).collect(),
            RecordKind::BlockPointer => vec!["store", "advance"],
            RecordKind::Range | RecordKind::StaticRange => Vec::new(),
        },
        _ => Vec::new(),
    }
}

const TENSOR: &[&str] = &["T", "dtype", "numel", "shape", "type"];
const TYPE: &[&str] = &[
    "element_ty",
    "exponent_bias",
    "fp_mantissa_width",
    "int_bitwidth",
    "itemsize",
    "name",
    "numel",
    "primitive_bitwidth",
    "scalar",
    "shape",
];

fn of_tensor(
    cx: &mut Lowering<'_, '_>,
    value: &Value,
    tensor: tegula_ir::Value,
    name: &str,
) -> Result<Option<Value>> {
    let ty = cx.ty(tensor).clone();
    Ok(match name {
        "dtype" => Some(element_type(ty.element)),
        "shape" => Some(extents(&ty)),
        "numel" => Some(Value::Int(ty.shape.elements() as i128)),
        "type" => Some(type_value(&ty)),
        "T" => Some(Value::Tensor(shape::transposed(cx, tensor)?)),
        _ => language_method(value, name),
    })
}

/// A function of the language bound to a value, if it is a method of blocks.
fn language_method(value: &Value, name: &str) -> Option<Value> {
    builtin::method(name).map(|method: HostValue| Value::Method(Box::new((value.clone(), method.into()))))
}

/// The value that stands for an element type.
pub fn element_type(element: Element) -> Value {
    match element {
        Element::Scalar(scalar) => Value::Type(scalar),
        Element::Pointer(pointer) => Value::PointerType(pointer),
    }
}

/// The value that stands for a type: an element type, or a record for that of a block.
pub fn type_value(ty: &Type) -> Value {
    if ty.is_scalar() {
        return element_type(ty.element);
    }
    Value::Record(Arc::new(Record {
        kind: RecordKind::BlockType,
        fields: vec![("element_ty", element_type(ty.element)), ("shape", extents(ty))],
    }))
}

/// The extents of a block as a tuple of constants.
pub fn extents(ty: &Type) -> Value {
    Value::Tuple(ty.shape.iter().map(|&extent| Value::Int(i128::from(extent))).collect(), None)
}

fn of_scalar_type(scalar: Scalar, name: &str) -> Option<Value> {
    let number = |value: u32| Some(Value::Int(i128::from(value)));
    match name {
        "name" => Some(Value::Str(scalar.language_name().into())),
        "primitive_bitwidth" => number(scalar.bits()),
        "itemsize" => number(scalar.bits() / 8),
        "scalar" => Some(Value::Type(scalar)),
        "int_bitwidth" if scalar.is_int() => number(scalar.bits()),
        "fp_mantissa_width" if scalar.is_float() => number(float_format(scalar).0),
        "exponent_bias" if scalar.is_float() => number(float_format(scalar).1),
        _ => None,
    }
}

/// Bits of the significand that are stored, and the bias of the exponent.
fn float_format(scalar: Scalar) -> (u32, u32) {
    match scalar {
        Scalar::Float8E4B15 => (3, 15),
        Scalar::Float8E4M3 => (3, 7),
        Scalar::Float8E4B8 => (3, 8),
        Scalar::Float8E5M2 => (2, 15),
        Scalar::Float8E5B16 => (2, 16),
        Scalar::Float16 => (10, 15),
        Scalar::BFloat16 => (7, 127),
        Scalar::Float64 => (52, 1023),
        _ => (23, 127),
    }
}

fn of_pointer_type(pointer: Pointer, name: &str) -> Option<Value> {
    match name {
        "element_ty" => Some(element_type(pointer.target())),
        "scalar" => Some(Value::PointerType(pointer)),
        "primitive_bitwidth" => Some(Value::Int(64)),
        "address_space" => Some(Value::Int(1)),
        "const" => Some(Value::Bool(pointer.constant)),
        _ => None,
    }
}

fn of_block_type(record: &Record, name: &str) -> Option<Value> {
    match name {
        "element_ty" | "scalar" => Some(window::field(record, "element_ty").clone()),
        "shape" => Some(window::field(record, "shape").clone()),
        "numel" => match window::field(record, "shape") {
            Value::Tuple(items, _) => {
                let extents =
                    items.iter().map(|item| if let Value::Int(extent) = item { *extent } else { 1 });
                Some(Value::Int(extents.product()))
            }
            _ => None,
        },
        _ => None,
    }
}
