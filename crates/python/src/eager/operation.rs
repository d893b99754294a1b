//! Finds the compiled operation for operands, or compiles it, and executes it.

use super::error;
use super::operand::Operands;
use super::session::{self, Session};
use super::template::Template;
use crate::constants::{Objects, number};
use crate::dependencies::Dependency;
use crate::host::LiveHost;
use crate::language::LanguageFunction;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tegula_frontend::{HostValue, Operand};
use tegula_runtime::{OperandKey, Operation, Setting};

/// What is applied to operands.
#[derive(Clone, Copy)]
pub enum Callee<'a> {
    /// An expression over `a`, `b`, ...
    Operator(&'static str),
    /// An attribute of the first operand.
    Attribute(&'a str),
    /// A method of the first operand.
    Method(&'a str),
    Function(&'a LanguageFunction),
}

/// A [`Callee`] as part of a key.
#[derive(PartialEq, Eq, Hash)]
enum CalleeKey {
    Operator(&'static str),
    Attribute(String),
    Method(String),
    /// The path of the module below `tegula.language`, and the name.
    Function(String, String),
}

/// What an operation is compiled for.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    callee: CalleeKey,
    operands: Vec<OperandKey>,
    /// The names of the last operands.
    keywords: Vec<String>,
}

struct Compiled {
    operation: Operation,
    template: Template,
    /// What has to hold still for the operation to be current: what a combine function of the user's reads.
    dependencies: Vec<Dependency>,
    /// The objects that the key refers to by address.
    _objects: Objects,
}

impl Compiled {
    fn is_current(&self, py: Python<'_>) -> PyResult<bool> {
        for dependency in &self.dependencies {
            if !dependency.holds(py)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The operations that have been compiled, for as long as the process lives: they are few, and small.
static OPERATIONS: Mutex<Option<FxHashMap<Key, Arc<Compiled>>>> = Mutex::new(None);

/// Applies an operation in the launch that is under way.
///
/// # Errors
/// A `RuntimeError` outside of a launch; a `CompilationError` if the operands do not fit; an `IndexError` or `AssertionError` if
/// the operation is stopped.
pub fn apply<'py>(
    py: Python<'py>,
    callee: Callee<'_>,
    positional: &[Bound<'py, PyAny>],
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Py<PyAny>> {
    let session = session::current()?;
    evaluate(py, Some(&session), callee, positional, keywords)
}

/// Applies an operation that has nothing to do with a launch, such as a conversion for printing.
pub fn apply_anywhere<'py>(
    py: Python<'py>,
    callee: Callee<'_>,
    positional: &[Bound<'py, PyAny>],
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Py<PyAny>> {
    evaluate(py, None, callee, positional, keywords)
}

/// Calls a function of the language.
pub fn call<'py>(
    function: &LanguageFunction,
    positional: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Py<PyAny>> {
    let operands: Vec<Bound<'py, PyAny>> = positional.iter().collect();
    apply(positional.py(), Callee::Function(function), &operands, keywords)
}

/// Calls a method of a tile or a record.
pub fn call_method<'py>(
    receiver: &Bound<'py, PyAny>,
    name: &str,
    positional: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Py<PyAny>> {
    let operands: Vec<Bound<'py, PyAny>> =
        std::iter::once(receiver.clone()).chain(positional.iter()).collect();
    apply(receiver.py(), Callee::Method(name), &operands, keywords)
}

fn evaluate<'py>(
    py: Python<'py>,
    session: Option<&Session>,
    callee: Callee<'_>,
    positional: &[Bound<'py, PyAny>],
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Py<PyAny>> {
    let mut operands = Operands::default();
    let mut key = Key {
        callee: match callee {
            Callee::Operator(expression) => CalleeKey::Operator(expression),
            Callee::Attribute(name) => CalleeKey::Attribute(name.to_owned()),
            Callee::Method(name) => CalleeKey::Method(name.to_owned()),
            Callee::Function(function) => {
                CalleeKey::Function(function.path().to_owned(), function.name().to_owned())
            }
        },
        operands: Vec::with_capacity(positional.len()),
        keywords: Vec::new(),
    };
    for object in positional {
        key.operands.push(operands.read(object)?);
    }
    if let Some(keywords) = keywords {
        for (name, object) in keywords {
            key.keywords.push(name.cast::<PyString>()?.to_str()?.to_owned());
            key.operands.push(operands.read(&object)?);
        }
    }
    let compiled = find_or_compile(py, callee, key, operands.objects)?;
    let operation = &compiled.operation;
    // Accesses through pointers that come from elsewhere (tensors of pointers) cannot be checked against the arrays.
    let checked = !operands.foreign && !operation.makes_addresses();
    let setting = match session {
        Some(session) => session.setting(checked),
        None => Setting { grid: [1; 3], program: [0; 3], memory: None },
    };
    // SAFETY: the operation was compiled for the types of these blocks; as in a compiled launch, addresses that cannot be checked are
    // the caller's responsibility.
    let outcome = unsafe { operation.evaluate(operands.blocks.iter(), &setting) };
    let evaluation = outcome.map_err(|stop| error::stopped(py, &stop))?;
    if !evaluation.printed.is_empty() {
        py.import("sys")?.getattr("stdout")?.call_method1("write", (evaluation.printed,))?;
    }
    let foreign = operands.foreign || operation.makes_addresses();
    compiled.template.build(py, operation, &evaluation.results, positional.first(), foreign)
}

fn find_or_compile(
    py: Python<'_>,
    callee: Callee<'_>,
    key: Key,
    objects: Objects,
) -> PyResult<Arc<Compiled>> {
    let known = OPERATIONS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()
        .and_then(|operations| operations.get(&key).cloned());
    if let Some(known) = known
        && known.is_current(py)?
    {
        return Ok(known);
    }
    let compiled = Arc::new(compile(py, callee, &key, objects)?);
    let stale = OPERATIONS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get_or_insert_default()
        .insert(key, Arc::clone(&compiled));
    // Dropping Python objects may run code that asks for operations: not while the lock is held.
    drop(stale);
    Ok(compiled)
}

fn compile(py: Python<'_>, callee: Callee<'_>, key: &Key, objects: Objects) -> PyResult<Compiled> {
    let host = LiveHost::new(py);
    let resolve = |wanted| {
        let object = objects.iter().find(|object| number(object.bind(py)) == wanted);
        object.map_or(HostValue::None, |object| host.value(object.bind(py)))
    };
    let names: Vec<String> = (0..key.operands.len()).map(name).collect();
    let mut operands: Vec<(&str, Operand)> = names
        .iter()
        .zip(&key.operands)
        .map(|(name, operand)| (name.as_str(), operand.to_operand(&resolve)))
        .collect();
    let (expression, attribute) = match callee {
        Callee::Operator(expression) => (expression.to_owned(), ""),
        Callee::Attribute(attribute) => (format!("a.{attribute}"), attribute),
        Callee::Method(method) => (format!("a.{method}({})", arguments(&names, &key.keywords, 1)), ""),
        Callee::Function(function) => {
            operands.push(("function", Operand::Constant(function.value().clone())));
            (format!("function({})", arguments(&names, &key.keywords, 0)), "")
        }
    };
    let operation =
        Operation::compile(&host, &expression, &operands).map_err(|error| error::refused(py, error))?;
    let template = Template::new(&host, operation.result(), attribute)?;
    let (dependencies, mut kept) = host.finish();
    kept.extend(objects);
    Ok(Compiled { operation, template, dependencies, _objects: kept })
}

/// The name of an operand in the expression: `a` to `z`, then `x26`, ...
fn name(index: usize) -> String {
    match u8::try_from(index) {
        Ok(letter) if letter < 26 => char::from(b'a' + letter).to_string(),
        _ => format!("x{index}"),
    }
}

/// The arguments of a call: all names from `first`, the last of them by keyword.
fn arguments(names: &[String], keywords: &[String], first: usize) -> String {
    let by_position = names.len() - keywords.len();
    let arguments =
        names.iter().enumerate().skip(first).map(|(index, name)| match index.checked_sub(by_position) {
            Some(keyword) => format!("{}={name}", keywords[keyword]),
            None => name.clone(),
        });
    arguments.collect::<Vec<_>>().join(", ")
}
