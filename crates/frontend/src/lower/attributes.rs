//! `value.name`.

use super::strings::StringMethod;
use super::{Lowering, PythonFunction, Result, closest};
use crate::builtin;
use crate::value::Value;

impl Lowering<'_, '_> {
    /// The attribute `name` of a value.
    ///
    /// # Errors
    /// If there is none, with the name that was most likely meant.
    pub fn attribute(&mut self, value: &Value, name: &str) -> Result<Value> {
        match self.find_attribute(value, name)? {
            Some(found) => Ok(found),
            None if self.is_for_inspection(value, name) => Err(self.python_knows()),
            None => Err(self.no_attribute(value, name)),
        }
    }

    /// The attribute `name` of a value, if there is one.
    pub(super) fn find_attribute(&mut self, value: &Value, name: &str) -> Result<Option<Value>> {
        Ok(match value {
            Value::Language(module) => builtin::find(module, name).map(Value::from),
            Value::Module(object) | Value::Other(object, _) => {
                self.host.attribute(*object, name).map(Value::from)
            }
            // `tl.constexpr(...)` objects have it, and constants do not remember whether they were one.
            Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) if name == "value" => {
                Some(value.clone())
            }
            // What works for an argument of 7 works for one of 1, which is a constant by specialisation.
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
                let tensor = Value::Tensor(self.to_tensor(value)?);
                builtin::attribute(self, &tensor, name)?
            }
            Value::Str(_) => match StringMethod::from_name(name) {
                Some(method) => {
                    let method = Value::Python(PythonFunction::OfString(method));
                    Some(Value::Method(Box::new((value.clone(), method))))
                }
                None => (name == "value").then(|| value.clone()),
            },
            Value::Tuple(items, class) => {
                let field =
                    class.as_ref().and_then(|class| class.fields.iter().position(|field| field == name));
                match (field, class) {
                    (Some(field), _) => items.get(field).cloned(),
                    (None, Some(class)) if name != "value" => self.member(value, &class.clone(), name),
                    _ => (name == "value").then(|| value.clone()),
                }
            }
            Value::TupleClass(class) => self.host.attribute(class.object, name).map(Value::from),
            Value::Function(function) if name == "__name__" => {
                self.host.function(*function).ok().map(|source| Value::Str(source.name.as_str().into()))
            }
            Value::Function(_) if name == "fn" => Some(value.clone()),
            Value::Type(_) | Value::PointerType(_) | Value::Tensor(_) | Value::Record(_) => {
                match builtin::attribute(self, value, name)? {
                    Some(found) => Some(found),
                    None if name == "value" && !matches!(value, Value::Tensor(_)) => Some(value.clone()),
                    None => None,
                }
            }
            _ => None,
        })
    }

    fn no_attribute(&self, value: &Value, name: &str) -> Box<tegula_ir::Diagnostic> {
        let whose = match value {
            Value::Language("") => "`triton.language`".to_owned(),
            Value::Language(module) => format!("`triton.language.{module}`"),
            other => self.describe(other),
        };
        let known: Vec<String> = match value {
            Value::Language(module) => builtin::names(module).into_iter().map(str::to_owned).collect(),
            Value::Module(object) | Value::Other(object, _) => self.host.attribute_names(*object),
            Value::Tuple(_, Some(class)) => class.fields.to_vec(),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
                let tensor = Value::Tensor(tegula_ir::Value(0));
                builtin::attribute_names(&tensor).into_iter().map(str::to_owned).collect()
            }
            other => builtin::attribute_names(other).into_iter().map(str::to_owned).collect(),
        };
        let error = self.error(format!("{whose} has no attribute `{name}`"));
        match closest(name, known.iter().map(String::as_str)) {
            Some(close) => Box::new(error.with_help(format!("did you mean `{close}`?"))),
            None => error,
        }
    }
}
