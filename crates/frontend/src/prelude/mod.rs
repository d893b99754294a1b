//! Functions of the language that are written in the language: `softmax`, `cdiv`, `rand`, ...
//!
//! The sources are embedded. Their functions have references with the highest bit set, and `lower` asks this module for them
//! instead of the user's host, so they work the same under every host. In a source, `tl` is the language; a function whose name
//! starts with `_` is known to that source alone; `@method` makes a function a method of its first argument.

use crate::host::{FunctionRef, FunctionSource, HostValue, ParamSource};
use crate::lower::Syntax;
use ruff_python_ast::{Expr, Number, Stmt, StmtFunctionDef, UnaryOp};
use ruff_python_parser::parse_module;
use ruff_text_size::Ranged;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use tegula_ir::SourceFile;

/// The bit that is set in the references of the prelude's functions, and in no other.
pub const BIT: u64 = 1 << 63;

/// An embedded source, and the modules below `triton.language` that have its functions.
struct Source {
    name: &'static str,
    text: &'static str,
    modules: &'static [&'static str],
}

const LIBDEVICE: &[&str] = &["extra.libdevice", "extra.cuda.libdevice"];

static SOURCES: &[Source] = &[
    Source { name: "core.py", text: include_str!("core.py"), modules: &["", "core"] },
    Source { name: "standard.py", text: include_str!("standard.py"), modules: &["", "standard"] },
    Source { name: "random.py", text: include_str!("random.py"), modules: &["", "random"] },
    Source { name: "libdevice.py", text: include_str!("libdevice.py"), modules: LIBDEVICE },
    Source { name: "rounding.py", text: include_str!("rounding.py"), modules: LIBDEVICE },
    Source { name: "bessel.py", text: include_str!("bessel.py"), modules: LIBDEVICE },
];

/// A function of the prelude, as the reference and the stubs show it.
#[derive(Debug)]
pub struct PreludeFunction {
    pub name: &'static str,
    /// Where Python finds it, below `triton.language`; nowhere, if it is private.
    pub modules: &'static [&'static str],
    /// Parameters as in a `def`, without annotations: `"x, dim=None"`.
    pub signature: String,
    /// Whether it can be called as a method of its first argument.
    pub method: bool,
    /// What it does. The first line stands alone.
    pub doc: String,
    source: &'static str,
    text: Arc<FunctionSource>,
}

/// Every function of the prelude, private ones included.
pub fn all() -> &'static [PreludeFunction] {
    static FUNCTIONS: OnceLock<Vec<PreludeFunction>> = OnceLock::new();
    FUNCTIONS.get_or_init(|| SOURCES.iter().flat_map(read).collect())
}

/// The functions of a source.
///
/// # Panics
/// If a source is not Python, or a default no literal; a test reads them all.
fn read(source: &'static Source) -> Vec<PreludeFunction> {
    let file = Arc::new(SourceFile {
        name: format!("tegula/{}", source.name),
        text: source.text.to_owned(),
        first_line: 1,
    });
    let module = parse_module(source.text).expect("the prelude is Python");
    let statements = module.into_syntax().body;
    statements
        .iter()
        .filter_map(Stmt::as_function_def_stmt)
        .map(|definition| entry(source, &file, definition))
        .collect()
}

fn entry(source: &'static Source, file: &Arc<SourceFile>, definition: &StmtFunctionDef) -> PreludeFunction {
    let name = &source.text[definition.name.range.start().to_usize()..definition.name.range.end().to_usize()];
    let mut params = Vec::new();
    let mut signature = Vec::new();
    for parameter in &definition.parameters {
        let name = parameter.name().as_str();
        let variadic = definition.parameters.vararg.as_ref().is_some_and(|rest| rest.name.as_str() == name);
        let default = parameter.default();
        signature.push(match default {
            Some(default) => {
                format!("{name}={}", &source.text[default.start().to_usize()..default.end().to_usize()])
            }
            None if variadic => format!("*{name}"),
            None => name.to_owned(),
        });
        let default = default.map(|default| literal(default).expect("defaults of the prelude are literals"));
        params.push(ParamSource { name: name.to_owned(), default });
    }
    let doc = match definition.body.first() {
        Some(Stmt::Expr(statement)) => match &*statement.value {
            Expr::StringLiteral(text) => without_indentation(text.value.to_str()),
            _ => String::new(),
        },
        _ => String::new(),
    };
    PreludeFunction {
        name,
        modules: if name.starts_with('_') { &[] } else { source.modules },
        signature: signature.join(", "),
        method: !definition.decorator_list.is_empty(),
        doc,
        source: source.name,
        text: Arc::new(FunctionSource {
            name: name.to_owned(),
            file: file.clone(),
            start: definition.start().to_u32(),
            noinline: false,
            params,
            syntax: Syntax::default(),
        }),
    }
}

/// A documentation string without the indentation of the function.
fn without_indentation(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    lines.join("\n")
}

/// The value of a literal that stands as a default.
fn literal(expression: &Expr) -> Option<HostValue> {
    Some(match expression {
        Expr::NoneLiteral(_) => HostValue::None,
        Expr::BooleanLiteral(literal) => HostValue::Bool(literal.value),
        Expr::StringLiteral(literal) => HostValue::Str(literal.value.to_str().to_owned()),
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(value) => HostValue::Int(i128::from(value.as_i64()?)),
            Number::Float(value) => HostValue::Float(*value),
            Number::Complex { .. } => return None,
        },
        Expr::UnaryOp(unary) if unary.op == UnaryOp::USub => match literal(&unary.operand)? {
            HostValue::Int(value) => HostValue::Int(-value),
            HostValue::Float(value) => HostValue::Float(-value),
            _ => return None,
        },
        _ => return None,
    })
}

fn reference(index: usize) -> FunctionRef {
    FunctionRef(BIT | index as u64)
}

fn by_reference(function: FunctionRef) -> Option<&'static PreludeFunction> {
    if !contains(function) {
        return None;
    }
    all().get(usize::try_from(function.0 & !BIT).ok()?)
}

/// The function `name` of a module below `triton.language`.
pub fn find(module: &str, name: &str) -> Option<FunctionRef> {
    static INDEX: OnceLock<HashMap<(&str, &str), usize>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let places = |(index, function): (usize, &'static PreludeFunction)| {
            function.modules.iter().map(move |module| ((*module, function.name), index))
        };
        all().iter().enumerate().flat_map(places).collect()
    });
    index.get(&(module, name)).copied().map(reference)
}

/// The names of the functions of a module below `triton.language`.
pub fn names(module: &str) -> Vec<&'static str> {
    all().iter().filter(|function| function.modules.contains(&module)).map(|function| function.name).collect()
}

/// The functions that blocks have as methods.
pub fn methods() -> impl Iterator<Item = (&'static str, FunctionRef)> {
    let functions = all().iter().enumerate();
    functions
        .filter(|(_, function)| function.method)
        .map(|(index, function)| (function.name, reference(index)))
}

/// Whether a function belongs to the prelude.
pub fn contains(function: FunctionRef) -> bool {
    function.0 & BIT != 0
}

/// The text of a function of the prelude.
///
/// # Errors
/// If there is no such function.
pub fn function(function: FunctionRef) -> Result<Arc<FunctionSource>, String> {
    by_reference(function)
        .map(|function| function.text.clone())
        .ok_or_else(|| "no such function in the prelude".to_owned())
}

/// A name that a function of the prelude uses and does not define: another function of its source, or `tl`.
pub fn global(function: FunctionRef, name: &str) -> Option<HostValue> {
    if name == "tl" {
        return Some(HostValue::Language(""));
    }
    let source = by_reference(function)?.source;
    let neighbour = all().iter().position(|other| other.source == source && other.name == name)?;
    Some(HostValue::Function(reference(neighbour)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_read_and_documented() {
        for function in all() {
            assert!(function.doc.lines().next().is_some_and(|line| line.ends_with('.')), "{}", function.name);
        }
        assert!(
            find("random", "rand").is_some() && find("", "rand").is_some() && find("math", "rand").is_none()
        );
    }

    #[test]
    fn defaults_and_signatures_are_those_of_the_text() {
        let index = (find("", "softmax").unwrap().0 & !BIT) as usize;
        let softmax = &all()[index];
        assert_eq!(softmax.signature, "x, dim=None, keep_dims=False, ieee_rounding=False");
        assert!(softmax.method && softmax.text.params.len() == 4);
        assert!(softmax.text.file.text[softmax.text.start as usize..].starts_with("@method\ndef softmax"));
    }
}
