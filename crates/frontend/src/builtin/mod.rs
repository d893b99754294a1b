//! The functions of the language, one table entry each.
//!
//! To add a function: write its entry, with its signature, its documentation and the Rust function that lowers it, in the file of its
//! kind (`memory`, `math`, `shape`, `reduce`, ...). Everything else follows from the table: the name in `tegula.language`, the method on
//! blocks, argument binding and its errors, the type stubs and the reference.
//! Functions that can be written in the language itself belong in the prelude (`prelude/*.py`) instead.

pub mod control;
pub mod operators;

use crate::host::HostValue;
use crate::lower::{Lowering, PythonFunction};
use crate::prelude;
use crate::value::Value;
use std::collections::HashMap;
use std::sync::OnceLock;
use tegula_ir::{Diagnostic, Scalar};

/// A function of the language.
#[derive(Debug)]
pub struct Builtin {
    /// The name, without its module: `load`.
    pub name: &'static str,
    /// Where Python finds it, below `triton.language`: `""`, `"math"`, `"extra.libdevice"`; a function may be in several.
    pub modules: &'static [&'static str],
    /// Parameters as in a `def`: `"pointer, mask=None, other=None, *, volatile=False"`. Defaults are literals
    /// (numbers, strings, `None`, `True`, `False`, tuples of them).
    pub signature: &'static str,
    /// Whether it can be called as a method of its first argument.
    pub method: bool,
    /// What it does: shapes, types, errors. The first line stands alone.
    pub doc: &'static str,
    /// Lowers a call. The arguments are in the order of the signature, defaults filled in; a `*name` parameter is one tuple.
    pub lower: fn(&mut Lowering<'_, '_>, &[Value]) -> Result<Value, Box<Diagnostic>>,
}

/// Entries are statics, so identity is equality.
impl PartialEq for Builtin {
    fn eq(&self, other: &Builtin) -> bool {
        std::ptr::eq(self, other)
    }
}

/// Every function, by the files that hold them.
static TABLES: &[&[Builtin]] = &[control::FUNCTIONS];

/// Every function of the table.
pub fn all() -> impl Iterator<Item = &'static Builtin> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// What `name` is in the module `module` below `triton.language` (`""`, `"math"`, `"extra.libdevice"`): a built-in, a
/// function of the prelude, a type, or a module within it.
pub fn find(module: &str, name: &str) -> Option<HostValue> {
    if let Some(builtin) = index().get(&(module, name)) {
        return Some(HostValue::Builtin(builtin));
    }
    if module.is_empty()
        && let Some(scalar) = Scalar::ALL.into_iter().find(|scalar| type_name(*scalar) == name)
    {
        return Some(HostValue::Type(scalar));
    }
    if module.is_empty()
        && let Some(class) = PythonFunction::language_class(name)
    {
        return Some(HostValue::Python(class));
    }
    if let Some(function) = prelude::find(module, name) {
        return Some(HostValue::Function(function));
    }
    let path = if module.is_empty() { name.to_owned() } else { format!("{module}.{name}") };
    MODULES.iter().find(|known| **known == path).map(|known| HostValue::Language(known))
}

/// The names that [`find`] knows in a module, for "did you mean".
pub fn names(module: &str) -> Vec<&'static str> {
    let builtins = index().keys().filter(|(place, _)| *place == module).map(|(_, name)| *name);
    let types = Scalar::ALL.into_iter().map(type_name).filter(|_| module.is_empty());
    builtins.chain(types).chain(prelude::names(module)).collect()
}

/// The name under which `triton.language` has a scalar type: `int32`, `float32`, `bfloat16`, `float8e4nv`.
pub fn type_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Float8E4M3 => "float8e4nv",
        Scalar::Float8E5M2 => "float8e5",
        Scalar::Float8E4B15 => "float8e4b15",
        Scalar::Float8E4B8 => "float8e4b8",
        Scalar::Float8E5B16 => "float8e5b16",
        Scalar::Float16 => "float16",
        Scalar::BFloat16 => "bfloat16",
        Scalar::Float32 => "float32",
        Scalar::Float64 => "float64",
        integer => integer.language_name(),
    }
}

/// The attribute `name` of a tensor, a type, a pointer type or a [`Value::Record`]: `.dtype`, `.shape`, `.T`, or a method
/// ([`Value::Method`]) such as `.to`. `None` if there is none.
///
/// # Errors
/// If the attribute exists but cannot be computed.
pub fn attribute(
    _cx: &mut Lowering<'_, '_>,
    value: &Value,
    name: &str,
) -> Result<Option<Value>, Box<Diagnostic>> {
    match value {
        Value::Tensor(_) => {
            Ok(method(name).map(|method| Value::Method(Box::new((value.clone(), method.into())))))
        }
        _ => Ok(None),
    }
}

/// The names that [`attribute`] knows for a value, for "did you mean".
pub fn attribute_names(value: &Value) -> Vec<&'static str> {
    match value {
        Value::Tensor(_) => all().filter(|builtin| builtin.method).map(|builtin| builtin.name).collect(),
        _ => Vec::new(),
    }
}

/// The function that a block has as the method `name`.
pub fn method(name: &str) -> Option<HostValue> {
    match find("", name)? {
        HostValue::Builtin(builtin) if builtin.method => Some(HostValue::Builtin(builtin)),
        _ => None,
    }
}

/// The modules below `triton.language`.
static MODULES: &[&str] = &["math", "core", "standard", "random", "extra", "extra.libdevice", "extra.cuda"];

fn index() -> &'static HashMap<(&'static str, &'static str), &'static Builtin> {
    static INDEX: OnceLock<HashMap<(&str, &str), &Builtin>> = OnceLock::new();
    INDEX.get_or_init(|| {
        let places = |builtin: &'static Builtin| {
            builtin.modules.iter().map(move |module| ((*module, builtin.name), builtin))
        };
        all().flat_map(places).collect()
    })
}
