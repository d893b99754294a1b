//! The functions of the language, one table entry each.
//!
//! To add a function: write its entry, with its signature, its documentation and the Rust function that lowers it, in the file of its
//! kind (`memory`, `math`, `shape`, `reduce`, ...). Everything else follows from the table: the name in `tegula.language`, the method on
//! blocks, argument binding and its errors, the type stubs and the reference.
//! Functions that can be written in the language itself belong in the prelude (`prelude/*.py`) instead.

use crate::lower::Lowering;
use crate::value::Value;
use tegula_ir::Diagnostic;

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
