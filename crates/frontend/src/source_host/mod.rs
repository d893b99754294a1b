//! A host that reads source files alone: kernels without Python.
//!
//! The statements at the top level of a file are followed as far as kernels can need them: imports (of the language, and
//! of files beside this one), constants and arithmetic on them, `tl.constexpr(...)`, named tuples, and decorated functions.
//! What only a running Python could know (a call of torch, say) becomes a name that kernels cannot use, with a message that says so.
//!
//! ```
//! use tegula_frontend::source_host::SourceHost;
//!
//! let host = SourceHost::from_text("scale.py", "
//! import triton
//! import triton.language as tl
//! FACTOR = tl.constexpr(1 << 3)
//!
//! @triton.jit
//! def scale(x_ptr, BLOCK: tl.constexpr):
//!     ...
//! ").unwrap();
//! assert_eq!(host.kernels().map(|(name, _)| name).collect::<Vec<_>>(), ["scale"]);
//! ```

mod call;
mod evaluate;
mod import;
mod known;
mod statements;

use crate::host::{FunctionRef, FunctionSource, Host, HostValue, ObjectRef};
use crate::lower::{CompileError, nesting};
use known::Known;
use ruff_python_ast::StmtFunctionDef;
use ruff_python_parser::parse_module;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tegula_ir::{Diagnostic, SourceFile, SourceMap, Span};
use thiserror::Error as ThisError;

/// Why a file could not be loaded.
#[derive(Debug, ThisError)]
pub enum LoadError {
    #[error("cannot read {}: {error}", .path.display())]
    Read { path: PathBuf, error: io::Error },
    /// The file is not Python.
    #[error("the file has a syntax error")]
    Syntax(Box<CompileError>),
}

/// The kernels of a source file, and what they need of it and of the files that it imports.
#[derive(Debug)]
pub struct SourceHost {
    modules: Vec<Module>,
    /// The files loaded so far, so that a file imported twice is one module.
    loaded: HashMap<PathBuf, usize>,
    functions: Vec<JitFunction>,
    /// What is known by name comes first, in the order of [`Known::ALL`].
    objects: Vec<Object>,
}

/// A source file.
#[derive(Debug)]
struct Module {
    file: Arc<SourceFile>,
    /// Where the files that it imports may lie; `None` for a text without a place.
    path: Option<PathBuf>,
    names: BTreeMap<String, HostValue>,
    /// The object by which the module itself is referred to.
    object: ObjectRef,
}

/// A `@triton.jit` function.
#[derive(Debug)]
struct JitFunction {
    source: Arc<FunctionSource>,
    module: usize,
}

/// What an [`ObjectRef`] of this host stands for.
#[derive(Clone, Debug)]
enum Object {
    /// A source file, by its index.
    Module(usize),
    /// A class or a package with the values of its attributes.
    Attributes(BTreeMap<String, HostValue>),
    /// A function that is evaluated at compile time, with the module that it is defined in.
    ConstexprFunction { definition: Arc<StmtFunctionDef>, module: usize },
    /// A named-tuple class.
    TupleClass,
    /// Something of Triton's or of Python's library that is known by name.
    Known(Known),
    /// Something that only a running Python could know; how the source names it.
    Unknown,
}

impl SourceHost {
    /// Reads a file, and the files that it imports.
    ///
    /// # Errors
    /// If the file cannot be read or is not Python. An import that cannot be followed is no error until a kernel uses it.
    pub fn from_file(path: impl AsRef<Path>) -> Result<SourceHost, LoadError> {
        let path = path.as_ref();
        let mut host = SourceHost::empty();
        host.load(path)?;
        Ok(host)
    }

    /// Reads a text; `name` stands for its file in messages. Files cannot be imported, since the text has no place among any.
    ///
    /// # Errors
    /// If the text is not Python.
    pub fn from_text(name: &str, text: &str) -> Result<SourceHost, LoadError> {
        let mut host = SourceHost::empty();
        host.add_module(name.to_owned(), text.to_owned(), None)?;
        Ok(host)
    }

    /// The `@triton.jit` functions that the file defines, in their order. Of two with one name only the last is there.
    pub fn kernels(&self) -> impl Iterator<Item = (&str, FunctionRef)> {
        let names = self.modules.first().map(|module| &module.names);
        self.functions.iter().enumerate().filter_map(move |(index, function)| {
            let reference = FunctionRef(index as u64);
            let name = function.source.name.as_str();
            let current = matches!(names?.get(name), Some(HostValue::Function(known)) if *known == reference);
            (function.module == 0 && current).then_some((name, reference))
        })
    }

    fn empty() -> SourceHost {
        SourceHost {
            modules: Vec::new(),
            loaded: HashMap::new(),
            functions: Vec::new(),
            objects: Known::ALL.iter().map(|known| Object::Known(*known)).collect(),
        }
    }

    /// Loads a file, unless it has been.
    fn load(&mut self, path: &Path) -> Result<usize, LoadError> {
        let read = |error| LoadError::Read { path: path.to_owned(), error };
        let place = path.canonicalize().map_err(read)?;
        if let Some(&index) = self.loaded.get(&place) {
            return Ok(index);
        }
        let text = std::fs::read_to_string(path).map_err(read)?;
        self.add_module(path.display().to_string(), text, Some(place))
    }

    /// Parses a text and follows its statements.
    fn add_module(&mut self, name: String, text: String, path: Option<PathBuf>) -> Result<usize, LoadError> {
        let file = Arc::new(SourceFile { name, text, first_line: 1 });
        let fault = |start: u32, end: u32, message: String| {
            let mut sources = SourceMap::default();
            let span = Span { file: sources.add(Arc::clone(&file)), start, end };
            let diagnostics = vec![Diagnostic::error(span, message)];
            LoadError::Syntax(Box::new(CompileError { diagnostics, sources }))
        };
        let depth = nesting::depth(&file.text)
            .map_err(|(at, message)| fault(at as u32, at as u32 + 1, message.to_owned()))?;
        let parsed = depth.with_stack(|| parse_module(&file.text)).map_err(|error| {
            let range = error.location;
            fault(range.start().into(), range.end().into(), error.error.to_string())
        })?;
        let index = self.modules.len();
        let object = self.add_object(Object::Module(index));
        if let Some(path) = &path {
            self.loaded.insert(path.clone(), index);
        }
        self.modules.push(Module { file, path, names: BTreeMap::new(), object });
        depth.with_stack(|| self.follow(index, parsed.suite()));
        Ok(index)
    }

    fn add_object(&mut self, object: Object) -> ObjectRef {
        self.objects.push(object);
        ObjectRef(self.objects.len() as u64 - 1)
    }

    fn object(&self, object: ObjectRef) -> Option<&Object> {
        self.objects.get(usize::try_from(object.0).ok()?)
    }

    fn module_of(&self, function: FunctionRef) -> Option<&Module> {
        let function = self.functions.get(usize::try_from(function.0).ok()?)?;
        self.modules.get(function.module)
    }
}

impl Host for SourceHost {
    fn function(&self, function: FunctionRef) -> Result<Arc<FunctionSource>, String> {
        let index = usize::try_from(function.0).ok();
        let known = index.and_then(|index| self.functions.get(index));
        known.map(|known| Arc::clone(&known.source)).ok_or_else(|| "the function is not known".to_owned())
    }

    fn global(&self, function: FunctionRef, name: &str) -> Option<HostValue> {
        self.module_of(function)?.names.get(name).cloned()
    }

    fn global_names(&self, function: FunctionRef) -> Vec<String> {
        self.module_of(function).map(|module| module.names.keys().cloned().collect()).unwrap_or_default()
    }

    fn attribute(&self, object: ObjectRef, name: &str) -> Option<HostValue> {
        match self.object(object)? {
            Object::Module(index) => self.modules.get(*index)?.names.get(name).cloned(),
            Object::Attributes(attributes) => attributes.get(name).cloned(),
            Object::Known(known) => known.attribute(name),
            Object::ConstexprFunction { .. } | Object::TupleClass | Object::Unknown => None,
        }
    }

    fn attribute_names(&self, object: ObjectRef) -> Vec<String> {
        match self.object(object) {
            Some(Object::Module(index)) => {
                self.modules.get(*index).map(|module| module.names.keys().cloned().collect())
            }
            Some(Object::Attributes(attributes)) => Some(attributes.keys().cloned().collect()),
            Some(Object::Known(known)) => Some(known.attribute_names()),
            _ => None,
        }
        .unwrap_or_default()
    }

    fn call(
        &self,
        function: ObjectRef,
        positional: Vec<HostValue>,
        keywords: Vec<(String, HostValue)>,
    ) -> Result<HostValue, String> {
        self.call_object(function, positional, keywords)
    }

    /// Standard error: standard output belongs to results.
    fn print(&self, text: &str) {
        eprintln!("{text}");
    }
}

#[cfg(test)]
mod tests;
