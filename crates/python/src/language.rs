//! The names of `tegula.language`, from the front end's table.

use crate::eager;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::ffi::CString;
use tegula_frontend::{HostValue, builtin, prelude};
use tegula_ir::Scalar;

// A function of the language, to be used in kernels. (No doc comment: Python would show that in the place of `__doc__`.)
#[pyclass(frozen, module = "tegula._native")]
pub struct LanguageFunction {
    /// The module below `tegula.language`: `""`, `"math"`.
    #[pyo3(get)]
    path: String,
    #[pyo3(get, name = "__name__")]
    name: String,
    /// The parameters as in a `def`.
    #[pyo3(get)]
    parameters: String,
    #[pyo3(get)]
    documentation: String,
    /// Whether blocks have it as a method.
    #[pyo3(get)]
    method: bool,
    /// Lines of a kernel, and what comes of them; none for the functions of libdevice.
    #[pyo3(get)]
    example: Option<(&'static str, &'static str)>,
    value: HostValue,
}

impl LanguageFunction {
    /// What the front end knows it as.
    pub fn value(&self) -> &HostValue {
        &self.value
    }

    /// The module below `tegula.language`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

#[pymethods]
impl LanguageFunction {
    #[getter(__module__)]
    fn module(&self) -> String {
        if self.path.is_empty() {
            "tegula.language".to_owned()
        } else {
            format!("tegula.language.{}", self.path)
        }
    }

    #[getter(__qualname__)]
    fn qualified_name(&self) -> &str {
        &self.name
    }

    #[getter(__doc__)]
    fn doc(&self) -> String {
        let example = self.example.map_or(String::new(), |(text, result)| {
            let result = if result.is_empty() { String::new() } else { format!("\n    # {result}") };
            format!("\n\nExample:\n\n    {}{result}", text.replace('\n', "\n    "))
        });
        format!("{}({})\n\n{}{example}", self.name, self.parameters, self.documentation)
    }

    #[getter(__text_signature__)]
    fn text_signature(&self) -> String {
        format!("({})", self.parameters)
    }

    /// For `inspect.signature`, and so for editors and notebooks that complete arguments.
    #[getter(__signature__)]
    fn signature<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let names = PyDict::new(py);
        names.set_item("tl", py.import("tegula.language")?)?;
        let text = CString::new(format!("def function({}): ...", self.parameters))?;
        py.run(&text, Some(&names), None)?;
        py.import("inspect")?.call_method1("signature", (names.get_item("function")?,))
    }

    /// In an interpreted kernel the function is computed at once; anywhere else there is nothing to compute it on.
    #[pyo3(signature = (*positional, **keywords))]
    fn __call__(
        &self,
        positional: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        if eager::is_active() {
            return eager::call(self, positional, keywords);
        }
        let message = format!(
            "`{}.{}` works on blocks, which exist only inside a kernel: call it in a function decorated with `jit`",
            self.module(),
            self.name
        );
        Err(PyRuntimeError::new_err(message))
    }

    fn __repr__(&self) -> String {
        format!("<function {}.{}>", self.module(), self.name)
    }
}

/// The functions of a module below `tegula.language`, sorted by name.
#[pyfunction]
pub fn language_functions(path: &str) -> Vec<LanguageFunction> {
    let mut names = builtin::names(path);
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter_map(|name| function(path, name)).collect()
}

fn function(path: &str, name: &str) -> Option<LanguageFunction> {
    let value = builtin::find(path, name)?;
    let (parameters, documentation, method) = match &value {
        HostValue::Builtin(entry) => (entry.signature.to_owned(), entry.doc.to_owned(), entry.method),
        HostValue::Function(reference) => {
            let source = prelude::function(*reference).ok()?;
            let (parameters, documentation) = definition(&source.file.text[source.start as usize..]);
            (parameters, documentation, builtin::method(name).is_some())
        }
        _ => return None,
    };
    Some(LanguageFunction {
        path: path.to_owned(),
        name: name.to_owned(),
        parameters,
        documentation,
        method,
        example: builtin::example(name)
            .filter(|_| !path.ends_with("libdevice"))
            .map(|example| (example.text, example.result)),
        value,
    })
}

/// The parameters and the docstring of a definition in the prelude, whose text is our own and plainly formatted.
fn definition(text: &str) -> (String, String) {
    let parameters = text
        .find("def ")
        .and_then(|start| text[start..].find('(').map(|open| start + open + 1))
        .and_then(|open| {
            let mut depth = 1;
            let close = text[open..].find(|c: char| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                depth == 0
            })?;
            Some((open, open + close))
        });
    let Some((open, close)) = parameters else { return (String::new(), String::new()) };
    let body = text[close..].split_once('\n').map_or("", |(_, body)| body.trim_start());
    let documentation = body.strip_prefix("\"\"\"").and_then(|body| body.split_once("\"\"\"")).map_or(
        String::new(),
        |(documentation, _)| {
            documentation.lines().map(str::trim_start).collect::<Vec<_>>().join("\n").trim_end().to_owned()
        },
    );
    (text[open..close].split_whitespace().collect::<Vec<_>>().join(" "), documentation)
}

/// The paths of the modules below `tegula.language`.
#[pyfunction]
pub fn language_modules() -> Vec<&'static str> {
    builtin::modules().collect()
}

/// The integer constants of a module below `tegula.language`.
#[pyfunction]
pub fn language_constants(path: &str) -> Vec<(&'static str, i128)> {
    builtin::constants(path).collect()
}

/// The scalar types: name in the language's module, name that it prints, name in signatures, bits.
#[pyfunction]
pub fn language_types() -> Vec<(&'static str, &'static str, &'static str, u32)> {
    Scalar::ALL
        .into_iter()
        .map(|scalar| (builtin::type_name(scalar), scalar.language_name(), scalar.name(), scalar.bits()))
        .collect()
}
