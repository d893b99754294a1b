//! Values as the tensors they are made of, so that loops and branches can carry tuples and records.

use super::constants::identical;
use super::describe::type_text;
use super::{Lowering, Result};
use crate::value::{Record, Value};
use std::sync::Arc;

/// Appends the tensors that a value is made of.
pub fn flatten(value: &Value, tensors: &mut Vec<tegula_ir::Value>) {
    match value {
        Value::Tensor(tensor) => tensors.push(*tensor),
        Value::Tuple(items, _) => items.iter().for_each(|item| flatten(item, tensors)),
        Value::Record(record) => record.fields.iter().for_each(|(_, field)| flatten(field, tensors)),
        _ => {}
    }
}

/// The same value made of other tensors, which are taken in the order of [`flatten`].
pub fn rebuild(template: &Value, tensors: &mut impl Iterator<Item = tegula_ir::Value>) -> Value {
    match template {
        Value::Tensor(old) => Value::Tensor(tensors.next().unwrap_or(*old)),
        Value::Tuple(items, class) => {
            Value::Tuple(items.iter().map(|item| rebuild(item, tensors)).collect(), class.clone())
        }
        Value::Record(record) => Value::Record(Arc::new(Record {
            kind: record.kind,
            fields: record.fields.iter().map(|(name, field)| (*name, rebuild(field, tensors))).collect(),
        })),
        other => other.clone(),
    }
}

impl Lowering<'_, '_> {
    /// Makes the numbers of a value exist at run time, those inside tuples included. What has no counterpart at run time stays.
    ///
    /// # Errors
    /// If an integer does not fit in 64 bits.
    pub fn materialise(&mut self, value: &Value) -> Result<Value> {
        Ok(match value {
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => Value::Tensor(self.to_tensor(value)?),
            // The fields of an aggregate were made what they are declared to be when it was constructed.
            Value::Tuple(_, Some(class)) if class.is_aggregate() => value.clone(),
            Value::Tuple(items, class) => {
                let items: Result<Arc<[Value]>> = items.iter().map(|item| self.materialise(item)).collect();
                Value::Tuple(items?, class.clone())
            }
            other => other.clone(),
        })
    }

    /// Why two values cannot be joined into one at run time: what the one is and what the other is. `None` if they can.
    pub fn mismatch(&self, a: &Value, b: &Value) -> Option<(String, String)> {
        match (a, b) {
            (Value::Tensor(x), Value::Tensor(y)) => {
                let (x, y) = (self.ty(*x), self.ty(*y));
                (x != y).then(|| (type_text(x), type_text(y)))
            }
            (Value::Tuple(x, class_x), Value::Tuple(y, class_y))
                if x.len() == y.len() && class_x == class_y =>
            {
                x.iter().zip(y.iter()).find_map(|(x, y)| self.mismatch(x, y))
            }
            (Value::Record(x), Value::Record(y)) if x.kind == y.kind && x.fields.len() == y.fields.len() => {
                x.fields.iter().zip(&y.fields).find_map(|((_, x), (_, y))| self.mismatch(x, y))
            }
            _ if identical(a, b) => None,
            _ => Some((self.type_text_of(a), self.type_text_of(b))),
        }
    }
}
