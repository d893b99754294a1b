//! The functions of the language, one table entry each.
//!
//! To add a function: write its entry, with its signature, its documentation and the Rust function that lowers it, in the file of its
//! kind (`memory`, `math`, `shape`, `reduce`, ...). Everything else follows from the table: the name in `tegula.language`, the method on
//! blocks, argument binding and its errors, the type stubs and the reference (`scripts/stubs.py`, `scripts/reference.py`). Its example goes to
//! `example`, without which a test fails.
//! Functions that can be written in the language itself belong in the prelude (`prelude/*.py`) instead.

mod arithmetic;
mod assembly;
mod atomic;
mod attribute;
mod bitwise;
mod block_pointer;
mod broadcast;
mod comparison;
pub mod control;
mod conversion;
mod creation;
pub mod descriptor;
mod dot;
mod dot_scaled;
mod example;
mod hint;
mod map;
mod math;
mod memory;
pub mod operators;
mod promotion;
mod reduce;
mod shape;
mod sort;
mod subscript;
mod target;
mod type_method;
mod window;

pub use attribute::{attribute, attribute_names, type_value};
pub use comparison::{PROPAGATE_ALL, PROPAGATE_NONE};
pub use example::{Example, example};

use crate::host::HostValue;
use crate::lower::{Lowering, PythonFunction};
use crate::prelude;
use crate::value::Value;
use std::collections::HashMap;
use std::sync::OnceLock;
use tegula_ir::{Diagnostic, Pointer, Scalar};

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

/// Every function of the table, the methods of types and records included.
///
/// The tables are read from their statics at run time: a static made of other statics would hold copies of the entries, at addresses
/// of their own.
pub fn all() -> impl Iterator<Item = &'static Builtin> {
    [
        creation::FUNCTIONS,
        memory::FUNCTIONS,
        block_pointer::FUNCTIONS,
        descriptor::FUNCTIONS,
        atomic::FUNCTIONS,
        arithmetic::FUNCTIONS,
        bitwise::FUNCTIONS,
        comparison::FUNCTIONS,
        math::FUNCTIONS,
        conversion::FUNCTIONS,
        shape::FUNCTIONS,
        reduce::FUNCTIONS,
        sort::FUNCTIONS,
        dot::FUNCTIONS,
        dot_scaled::FUNCTIONS,
        map::FUNCTIONS,
        hint::FUNCTIONS,
        control::FUNCTIONS,
        target::FUNCTIONS,
        assembly::FUNCTIONS,
        type_method::METHODS,
        descriptor::METHODS,
    ]
    .into_iter()
    .flatten()
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
    if module.is_empty() && name == "pi32_t" {
        return Some(HostValue::PointerType(Pointer::to(Scalar::Int32)));
    }
    if let Some((_, value)) = CONSTANTS.iter().find(|(known, _)| *known == (module, name)) {
        return Some(HostValue::Int(*value));
    }
    if let Some(function) = prelude::find(module, name) {
        return Some(HostValue::Function(function));
    }
    if module == "core" {
        // There Triton keeps what `triton.language` exports, and more.
        return find("", name);
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

/// The integer constants of a module: `tl.PropagateNan.ALL`.
pub fn constants(module: &str) -> impl Iterator<Item = (&'static str, i128)> {
    CONSTANTS.iter().filter(move |((place, _), _)| *place == module).map(|((_, name), value)| (*name, *value))
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

/// The functions that blocks have as methods, with their names.
pub fn methods() -> impl Iterator<Item = (&'static str, HostValue)> {
    let builtins =
        all().filter(|builtin| builtin.method).map(|builtin| (builtin.name, HostValue::Builtin(builtin)));
    builtins.chain(prelude::methods().map(|(name, function)| (name, HostValue::Function(function))))
}

/// The function that a block has as the method `name`.
pub fn method(name: &str) -> Option<HostValue> {
    static METHODS: OnceLock<HashMap<&'static str, HostValue>> = OnceLock::new();
    METHODS.get_or_init(|| methods().collect()).get(name).cloned()
}

/// The paths of `triton.language` itself, which is empty, and of the modules below it.
pub fn modules() -> impl Iterator<Item = &'static str> {
    std::iter::once("").chain(MODULES.iter().copied())
}

/// The modules below `triton.language`.
static MODULES: &[&str] = &[
    "math",
    "core",
    "standard",
    "random",
    "extra",
    "extra.libdevice",
    "extra.cuda",
    "extra.cuda.libdevice",
    "PropagateNan",
    "target_info",
];

/// Numbers of `triton.language`, by module and name.
static CONSTANTS: &[((&str, &str), i128)] = &[
    (("PropagateNan", "ALL"), PROPAGATE_ALL),
    (("PropagateNan", "NONE"), PROPAGATE_NONE),
    (("", "TRITON_MAX_TENSOR_NUMEL"), crate::lower::MAX_BLOCK_ELEMENTS as i128),
];

fn index() -> &'static HashMap<(&'static str, &'static str), &'static Builtin> {
    static INDEX: OnceLock<HashMap<(&str, &str), &Builtin>> = OnceLock::new();
    INDEX.get_or_init(|| {
        let places = |builtin: &'static Builtin| {
            builtin.modules.iter().map(move |module| ((*module, builtin.name), builtin))
        };
        all().flat_map(places).collect()
    })
}
