//! Methods of strings, which exist at compile time alone.

use super::{Lowering, Result};
use crate::value::Value;

/// A method of Python's `str`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringMethod {
    EndsWith,
    Join,
    Lower,
    Replace,
    Split,
    StartsWith,
    Strip,
    Upper,
}

impl StringMethod {
    /// The method with a name.
    pub fn from_name(name: &str) -> Option<StringMethod> {
        Some(match name {
            "endswith" => StringMethod::EndsWith,
            "join" => StringMethod::Join,
            "lower" => StringMethod::Lower,
            "replace" => StringMethod::Replace,
            "split" => StringMethod::Split,
            "startswith" => StringMethod::StartsWith,
            "strip" => StringMethod::Strip,
            "upper" => StringMethod::Upper,
            _ => return None,
        })
    }
}

impl Lowering<'_, '_> {
    /// Calls a method of a string: `arguments[0]` is the string.
    pub(super) fn call_string_method(&mut self, method: StringMethod, arguments: &[Value]) -> Result<Value> {
        let text = |text: String| Ok(Value::Str(text.into()));
        match (method, arguments) {
            (StringMethod::Lower, [Value::Str(this)]) => text(this.to_lowercase()),
            (StringMethod::Upper, [Value::Str(this)]) => text(this.to_uppercase()),
            (StringMethod::Strip, [Value::Str(this)]) => text(this.trim().to_owned()),
            (StringMethod::StartsWith, [Value::Str(this), Value::Str(start)]) => {
                Ok(Value::Bool(this.starts_with(&**start)))
            }
            (StringMethod::EndsWith, [Value::Str(this), Value::Str(end)]) => {
                Ok(Value::Bool(this.ends_with(&**end)))
            }
            (StringMethod::Replace, [Value::Str(this), Value::Str(old), Value::Str(new)]) => {
                text(this.replace(&**old, new))
            }
            (StringMethod::Split, [Value::Str(this)]) => {
                Ok(Value::Tuple(this.split_whitespace().map(|part| Value::Str(part.into())).collect(), None))
            }
            (StringMethod::Split, [Value::Str(this), Value::Str(separator)]) if !separator.is_empty() => {
                Ok(Value::Tuple(this.split(&**separator).map(|part| Value::Str(part.into())).collect(), None))
            }
            (StringMethod::Join, [Value::Str(this), Value::Tuple(items, _)]) => {
                let items: Vec<String> = items.iter().map(|item| self.text(item)).collect();
                text(items.join(this))
            }
            _ => Err(self.error("a method of a string does not take these arguments")),
        }
    }
}
