//! The functions of Python itself, and the classes of the language, that a kernel may call or compare with: `len`, `isinstance`, ...

use super::strings::StringMethod;
use super::{Lowering, Result, constants};
use crate::builtin;
use crate::value::{Record, RecordKind, Value};
use std::sync::Arc;
use tegula_ir::{Element, Type};

/// A function or type of Python's `builtins`, or a class of `triton.language`, that the front end knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PythonFunction {
    Abs,
    Bool,
    Enumerate,
    Float,
    Getattr,
    Hasattr,
    Int,
    Isinstance,
    Len,
    List,
    Max,
    Min,
    Pow,
    Print,
    Range,
    Slice,
    Str,
    Sum,
    Tuple,
    Zip,
    /// A method of `str`, which takes the string first.
    OfString(StringMethod),
    /// `tl.constexpr`
    Constexpr,
    /// `tl.tensor`
    Tensor,
    /// `tl.dtype`
    Type,
    /// `tl.pointer_type`
    PointerType,
    /// `tl.block_type`
    BlockType,
    /// `tl.tensor_descriptor`
    TensorDescriptor,
    /// `tl.aggregate_replace`
    AggregateReplace,
}

impl PythonFunction {
    /// The function of Python's `builtins` with a name.
    pub fn from_name(name: &str) -> Option<PythonFunction> {
        PYTHON.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    /// The class of `triton.language` with a name.
    pub fn language_class(name: &str) -> Option<PythonFunction> {
        LANGUAGE.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    /// The name that the user writes.
    pub fn name(self) -> &'static str {
        PYTHON.iter().chain(LANGUAGE).find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }
}

static PYTHON: &[(&str, PythonFunction)] = &[
    ("abs", PythonFunction::Abs),
    ("bool", PythonFunction::Bool),
    ("enumerate", PythonFunction::Enumerate),
    ("float", PythonFunction::Float),
    ("getattr", PythonFunction::Getattr),
    ("hasattr", PythonFunction::Hasattr),
    ("int", PythonFunction::Int),
    ("isinstance", PythonFunction::Isinstance),
    ("len", PythonFunction::Len),
    ("list", PythonFunction::List),
    ("max", PythonFunction::Max),
    ("min", PythonFunction::Min),
    ("pow", PythonFunction::Pow),
    ("print", PythonFunction::Print),
    ("range", PythonFunction::Range),
    ("slice", PythonFunction::Slice),
    ("str", PythonFunction::Str),
    ("sum", PythonFunction::Sum),
    ("tuple", PythonFunction::Tuple),
    ("zip", PythonFunction::Zip),
];

static LANGUAGE: &[(&str, PythonFunction)] = &[
    ("constexpr", PythonFunction::Constexpr),
    ("tensor", PythonFunction::Tensor),
    ("dtype", PythonFunction::Type),
    ("pointer_type", PythonFunction::PointerType),
    ("block_type", PythonFunction::BlockType),
    ("tensor_descriptor", PythonFunction::TensorDescriptor),
    ("aggregate_replace", PythonFunction::AggregateReplace),
    ("slice", PythonFunction::Slice),
    ("tuple", PythonFunction::Tuple),
];

impl Lowering<'_, '_> {
    /// Calls a function of Python: on constants as Python does, on tensors by the function of the language that corresponds.
    pub(super) fn call_python(
        &mut self,
        function: PythonFunction,
        positional: &[Value],
        keywords: &[(String, Value)],
    ) -> Result<Value> {
        if function == PythonFunction::AggregateReplace {
            return self.replace_fields(positional, keywords);
        }
        if let Some((keyword, _)) = keywords.first()
            && function != PythonFunction::Print
        {
            return Err(self.error(format!("`{}` takes no `{keyword}` in a kernel", function.name())));
        }
        match (function, positional) {
            (PythonFunction::Abs, [value]) => match value {
                Value::Int(number) => match number.checked_abs() {
                    Some(number) => Ok(Value::Int(number)),
                    None => Err(self.error("the absolute value does not fit in 128 bits")),
                },
                Value::Float(number) => Ok(Value::Float(number.abs())),
                Value::Bool(number) => Ok(Value::Int(i128::from(*number))),
                _ => self.call_language("abs", positional),
            },
            (PythonFunction::Min | PythonFunction::Max, [Value::Tuple(items, _)]) if !items.is_empty() => {
                self.extremum(function, &items.clone())
            }
            (PythonFunction::Min | PythonFunction::Max, [_, _, ..]) => self.extremum(function, positional),
            (PythonFunction::Pow, [base, exponent]) => {
                self.binary(ruff_python_ast::Operator::Pow, base, exponent)
            }
            (PythonFunction::Sum, [Value::Tuple(items, _)]) => {
                let items = items.clone();
                items.iter().try_fold(Value::Int(0), |sum, item| {
                    self.binary(ruff_python_ast::Operator::Add, &sum, item)
                })
            }
            (PythonFunction::Len, [value]) => match value {
                Value::Tuple(items, _) => Ok(Value::Int(items.len() as i128)),
                Value::Str(text) => Ok(Value::Int(text.chars().count() as i128)),
                Value::Record(range) if matches!(range.kind, RecordKind::Range | RecordKind::StaticRange) => {
                    Ok(Value::Int(self.items(value)?.len() as i128))
                }
                other => Err(self.error(format!("`len` is not defined for {}", self.describe(other)))),
            },
            (PythonFunction::Int | PythonFunction::Float | PythonFunction::Bool, [value]) => {
                self.convert(function, value)
            }
            (PythonFunction::Str, [value]) => Ok(Value::Str(self.text(value).into())),
            (PythonFunction::Tuple | PythonFunction::List, []) => Ok(Value::Tuple(Arc::new([]), None)),
            (PythonFunction::Tuple | PythonFunction::List, [value]) => {
                Ok(Value::Tuple(self.items(value)?.into(), None))
            }
            (PythonFunction::Enumerate, [value]) => {
                let items = self.items(value)?.into_iter().enumerate();
                let pairs = items
                    .map(|(index, item)| Value::Tuple(Arc::new([Value::Int(index as i128), item]), None));
                Ok(Value::Tuple(pairs.collect(), None))
            }
            (PythonFunction::Zip, columns) => {
                let columns = columns.iter().map(|column| self.items(column)).collect::<Result<Vec<_>>>()?;
                let rows = columns.iter().map(Vec::len).min().unwrap_or(0);
                let row = |row: usize| {
                    Value::Tuple(columns.iter().map(|column| column[row].clone()).collect(), None)
                };
                Ok(Value::Tuple((0..rows).map(row).collect(), None))
            }
            (PythonFunction::Range, [stop]) => Ok(range(Value::Int(0), stop.clone(), Value::Int(1))),
            (PythonFunction::Range, [start, stop]) => Ok(range(start.clone(), stop.clone(), Value::Int(1))),
            (PythonFunction::Range, [start, stop, step]) => {
                Ok(range(start.clone(), stop.clone(), step.clone()))
            }
            (PythonFunction::Slice, [stop]) => Ok(slice(Value::None, stop.clone(), Value::None)),
            (PythonFunction::Slice, [start, stop]) => Ok(slice(start.clone(), stop.clone(), Value::None)),
            (PythonFunction::Slice, [start, stop, step]) => {
                Ok(slice(start.clone(), stop.clone(), step.clone()))
            }
            (PythonFunction::Isinstance, [value, class]) => self.is_instance(value, class).map(Value::Bool),
            (PythonFunction::Hasattr, [value, Value::Str(name)]) => {
                Ok(Value::Bool(self.find_attribute(value, name)?.is_some()))
            }
            (PythonFunction::Getattr, [value, Value::Str(name)]) => self.attribute(value, name),
            (PythonFunction::Getattr, [value, Value::Str(name), default]) => {
                Ok(self.find_attribute(value, name)?.unwrap_or_else(|| default.clone()))
            }
            (PythonFunction::Print, _) => {
                let print = self.language_function("device_print")?;
                self.call(&print, positional, keywords)
            }
            (PythonFunction::OfString(method), arguments) => self.call_string_method(method, arguments),
            (PythonFunction::Constexpr, [Value::Tensor(_)]) => {
                Err(self.error(format!("a constexpr cannot be made of {}", self.describe(&positional[0]))))
            }
            (PythonFunction::Constexpr, [value]) => Ok(value.clone()),
            (PythonFunction::PointerType, [Value::Type(scalar), ..]) => {
                Ok(Value::PointerType(tegula_ir::Pointer::to(*scalar)))
            }
            (PythonFunction::PointerType, [Value::PointerType(pointer), ..]) if pointer.depth < u8::MAX => {
                Ok(Value::PointerType(tegula_ir::Pointer { depth: pointer.depth + 1, ..*pointer }))
            }
            (
                PythonFunction::BlockType,
                [element @ (Value::Type(_) | Value::PointerType(_)), shape @ Value::Tuple(..)],
            ) => {
                let extents = self.shape("shape", shape)?;
                let element = match element {
                    Value::Type(scalar) => Element::Scalar(*scalar),
                    Value::PointerType(pointer) => Element::Pointer(*pointer),
                    _ => unreachable!("the pattern has these two"),
                };
                Ok(builtin::type_value(&Type { element, shape: extents }))
            }
            _ => {
                let given: Vec<String> = positional.iter().map(|value| self.describe(value)).collect();
                let given = if given.is_empty() { "no arguments".to_owned() } else { given.join(", ") };
                Err(self.error(format!("`{}` does not take {given} in a kernel", function.name())))
            }
        }
    }

    fn call_language(&mut self, name: &str, arguments: &[Value]) -> Result<Value> {
        let function = self.language_function(name)?;
        self.call(&function, arguments, &[])
    }

    fn extremum(&mut self, function: PythonFunction, values: &[Value]) -> Result<Value> {
        let (op, language) = match function {
            PythonFunction::Min => (ruff_python_ast::CmpOp::Lt, "minimum"),
            _ => (ruff_python_ast::CmpOp::Gt, "maximum"),
        };
        let mut best = values[0].clone();
        for value in &values[1..] {
            best = match constants::compare(op, value, &best) {
                Some(true) => value.clone(),
                Some(false) => best,
                None => self.call_language(language, &[best, value.clone()])?,
            };
        }
        Ok(best)
    }

    fn convert(&mut self, function: PythonFunction, value: &Value) -> Result<Value> {
        let converted = match (function, value) {
            (PythonFunction::Bool, value) => constants::truth(value).map(Value::Bool),
            (PythonFunction::Int, Value::Int(_)) | (PythonFunction::Float, Value::Float(_)) => {
                Some(value.clone())
            }
            (PythonFunction::Int, Value::Bool(value)) => Some(Value::Int(i128::from(*value))),
            (PythonFunction::Int, Value::Float(value)) => {
                let fits = value.is_finite() && value.abs() < i128::MAX as f64;
                fits.then_some(Value::Int(*value as i128))
            }
            (PythonFunction::Int, Value::Str(text)) => text.trim().parse().ok().map(Value::Int),
            (PythonFunction::Float, Value::Bool(value)) => Some(Value::Float(f64::from(u8::from(*value)))),
            (PythonFunction::Float, Value::Int(value)) => Some(Value::Float(*value as f64)),
            // Rust and Python write the special values alike, and nothing else that either reads differs.
            (PythonFunction::Float, Value::Str(text)) => text.trim().parse().ok().map(Value::Float),
            _ => None,
        };
        converted.ok_or_else(|| {
            let message = format!("`{}` is not defined for {}", function.name(), self.describe(value));
            let error = self.error(message);
            match value {
                Value::Tensor(_) => {
                    Box::new(error.with_help("use `.to(tl.int32)` or `.to(tl.float32)` to convert a tensor"))
                }
                _ => error,
            }
        })
    }

    fn is_instance(&self, value: &Value, class: &Value) -> Result<bool> {
        Ok(match class {
            Value::Tuple(classes, _) => {
                for class in classes.iter() {
                    if self.is_instance(value, class)? {
                        return Ok(true);
                    }
                }
                false
            }
            Value::Python(PythonFunction::Int) => matches!(value, Value::Int(_) | Value::Bool(_)),
            Value::Python(PythonFunction::Bool) => matches!(value, Value::Bool(_)),
            Value::Python(PythonFunction::Float) => matches!(value, Value::Float(_)),
            Value::Python(PythonFunction::Str) => matches!(value, Value::Str(_)),
            Value::Python(PythonFunction::Tuple | PythonFunction::List) => matches!(value, Value::Tuple(..)),
            Value::Python(PythonFunction::Constexpr) => value.is_constant(),
            Value::Python(PythonFunction::Tensor) => matches!(value, Value::Tensor(_)),
            Value::Python(PythonFunction::Type) => matches!(value, Value::Type(_) | Value::PointerType(_)),
            Value::Python(PythonFunction::PointerType) => matches!(value, Value::PointerType(_)),
            Value::Python(PythonFunction::BlockType) => is_record(value, RecordKind::BlockType),
            Value::Python(PythonFunction::TensorDescriptor) => is_record(value, RecordKind::TensorDescriptor),
            Value::Python(PythonFunction::Slice) => matches!(value, Value::Slice(_)),
            Value::TupleClass(class) => {
                matches!(value, Value::Tuple(_, Some(own)) if self.is_subclass(own, class))
            }
            other => {
                return Err(
                    self.error(format!("{} is not a class that a kernel knows", self.describe(other)))
                );
            }
        })
    }
}

fn is_record(value: &Value, kind: RecordKind) -> bool {
    matches!(value, Value::Record(record) if record.kind == kind)
}

fn slice(start: Value, stop: Value, step: Value) -> Value {
    Value::Slice(Box::new([start, stop, step]))
}

/// A range that a `for` statement goes over at run time.
fn range(start: Value, stop: Value, step: Value) -> Value {
    let fields = vec![("start", start), ("stop", stop), ("step", step)];
    Value::Record(Arc::new(Record { kind: RecordKind::Range, fields }))
}
