//! Values in the words of messages.

use super::Lowering;
use crate::value::{RecordKind, Value};
use tegula_ir::{Element, Type};

/// A type as the language prints it: `int32`, `fp32`, `pointer<fp32>`, `fp32[64, 32]`.
pub fn type_text(ty: &Type) -> String {
    let element = match ty.element {
        Element::Scalar(scalar) => scalar.language_name().to_owned(),
        Element::Pointer(pointer) => {
            let constant = if pointer.constant { "const " } else { "" };
            let depth = pointer.depth as usize;
            format!(
                "{}{constant}{}{}",
                "pointer<".repeat(depth),
                pointer.pointee.language_name(),
                ">".repeat(depth)
            )
        }
    };
    if ty.is_scalar() {
        return element;
    }
    let extents: Vec<String> = ty.shape.iter().map(u32::to_string).collect();
    format!("{element}[{}]", extents.join(", "))
}

impl Lowering<'_, '_> {
    /// What a value is, as a noun phrase for messages: "the constant 5", "a block fp32[64]", "a tuple of 3".
    pub fn describe(&self, value: &Value) -> String {
        match value {
            Value::Tensor(tensor) => {
                let ty = self.ty(*tensor);
                let kind = if ty.is_scalar() { "a run-time value of type" } else { "a block of type" };
                format!("{kind} {}", type_text(ty))
            }
            Value::None => "None".to_owned(),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => {
                format!("the constant {}", self.repr(value))
            }
            Value::Type(scalar) => format!("the type {}", scalar.language_name()),
            Value::PointerType(_) => "a pointer type".to_owned(),
            Value::Tuple(items, None) => format!("a tuple of {}", items.len()),
            Value::Tuple(_, Some(class)) if class.is_aggregate() => format!("an aggregate {}", class.name),
            Value::Tuple(_, Some(class)) => format!("a named tuple {}", class.name),
            Value::Slice(_) => "a slice".to_owned(),
            Value::Ellipsis => "an ellipsis".to_owned(),
            Value::Builtin(builtin) => format!("the function `tl.{}`", builtin.name),
            Value::Function(function) => match self.host.function(*function) {
                Ok(source) => format!("the function `{}`", source.name),
                Err(_) => "a function".to_owned(),
            },
            Value::Method(_) => "a method".to_owned(),
            Value::Python(_) => "a function of Python".to_owned(),
            Value::ConstexprFunction(_) => "a constexpr function".to_owned(),
            Value::Language(_) | Value::Module(_) => "a module".to_owned(),
            Value::TupleClass(class) => format!("the class {}", class.name),
            Value::PlainFunction(name) => format!("the Python function `{name}`"),
            Value::Record(record) => match record.kind {
                RecordKind::Range | RecordKind::StaticRange => "a range".to_owned(),
                RecordKind::BlockPointer => "a block pointer".to_owned(),
                RecordKind::TensorDescriptor => "a tensor descriptor".to_owned(),
                RecordKind::BlockType => "the type of a block".to_owned(),
            },
            Value::Other(_, class) => format!("an object of type {class}"),
        }
    }

    /// The text that Python's `repr` gives a constant; a type's text for what exists at run time.
    pub fn repr(&self, value: &Value) -> String {
        match value {
            Value::Bool(true) => "True".to_owned(),
            Value::Bool(false) => "False".to_owned(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => float_text(*value),
            Value::Str(text) => {
                format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
            }
            Value::Type(scalar) => scalar.language_name().to_owned(),
            Value::PointerType(pointer) => type_text(&Type::scalar(*pointer)),
            Value::Tensor(tensor) => type_text(self.ty(*tensor)),
            Value::Tuple(items, class) => {
                let fields = class.as_ref().map(|class| &class.fields);
                let items: Vec<String> = items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| match fields.and_then(|fields| fields.get(index)) {
                        Some(field) => format!("{field}={}", self.repr(item)),
                        None => self.repr(item),
                    })
                    .collect();
                let name = class.as_ref().map_or("", |class| &class.name);
                let comma = if items.len() == 1 && class.is_none() { "," } else { "" };
                format!("{name}({}{comma})", items.join(", "))
            }
            other => self.describe(other),
        }
    }

    /// The text that Python's `str` gives a constant: like [`Lowering::repr`], but strings stand for themselves.
    pub fn text(&self, value: &Value) -> String {
        match value {
            Value::Str(text) => text.to_string(),
            other => self.repr(other),
        }
    }
}

/// A float as Python prints it: the shortest digits that read back equal.
pub fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{value:?}")
}
