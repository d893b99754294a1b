//! A function decorated with `jit`.

use crate::binding::{Description, Parameter};
use crate::call::{Call, Collected};
use crate::compiled::CompiledKernel;
use crate::eager;
use crate::grid::Grid;
use crate::launch;
use crate::launcher::LastLauncher;
use crate::source::{self, Source};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use std::sync::{Arc, OnceLock};
use tegula_frontend::lower::Syntax;
use tegula_frontend::{FunctionSource, ParamSource};
use tegula_ir::SourceFile;
use tegula_runtime::{Cache, Reported};

/// A kernel, or a function that kernels call; `kernel[grid](...)` launches it.
#[pyclass(frozen, subclass, module = "tegula._native")]
pub struct JITFunction {
    pub name: String,
    pub parameters: Vec<Parameter>,
    pub noinline: bool,
    /// Whether launches run the function as ordinary Python.
    #[pyo3(get)]
    pub interpret: bool,
    /// The compiled variants.
    pub cache: Cache<Py<CompiledKernel>>,
    /// The variants that have been checked for interpreted launches.
    pub checked: Cache<Py<CompiledKernel>>,
    /// The places that have been warned of.
    pub reported: Reported,
    /// The Python function.
    #[pyo3(get, name = "fn")]
    function: Py<PyAny>,
    /// Called with the arguments of each launch, before it.
    #[pyo3(get)]
    pre_run_hooks: Py<PyList>,
    launcher: LastLauncher,
    globals: Py<PyDict>,
    /// The names and cells of the closure.
    closure: Vec<(String, Py<PyAny>)>,
    place: Source,
    text: OnceLock<Result<Arc<SourceFile>, String>>,
    source: OnceLock<Arc<FunctionSource>>,
    /// The function as interpreted launches call it.
    interpreted: PyOnceLock<Py<PyAny>>,
}

impl JITFunction {
    /// The text of the definition, or why there is none.
    pub fn text(&self, py: Python<'_>) -> Result<Arc<SourceFile>, String> {
        self.text.get_or_init(|| self.place.text(py, &self.name)).clone()
    }

    /// The definition for the front end, made once with the parameters given. The error says why there is no text.
    pub fn source(&self, py: Python<'_>, params: Vec<ParamSource>) -> Result<Arc<FunctionSource>, String> {
        let file = self.text(py)?;
        let source = self.source.get_or_init(|| {
            Arc::new(FunctionSource {
                name: self.name.clone(),
                file,
                start: 0,
                noinline: self.noinline,
                params,
                syntax: Syntax::default(),
            })
        });
        Ok(Arc::clone(source))
    }

    /// The names that the function's module defines.
    pub fn globals<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        self.globals.bind(py).clone()
    }

    /// The closure's cell for a name.
    pub fn cell<'py>(&self, py: Python<'py>, name: &str) -> Option<Bound<'py, PyAny>> {
        let (_, cell) = self.closure.iter().find(|(known, _)| known == name)?;
        Some(cell.bind(py).clone())
    }

    /// The names of the closure.
    pub fn cell_names(&self) -> Vec<String> {
        self.closure.iter().map(|(name, _)| name.clone()).collect()
    }

    /// The name of the function's module, for filters of warnings.
    pub fn module<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.function.bind(py).getattr("__module__")
    }

    /// The function as interpreted launches call it: rewritten where Python's rules are not the language's.
    pub fn interpreted<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let interpreted = self.interpreted.get_or_try_init(py, || {
            let text = self.text(py).map_err(PyOSError::new_err)?;
            let module = py.import("tegula.runtime.interpreter")?;
            let arguments = (&self.function, &text.text, self.place.first_line());
            module.call_method1("interpreted", arguments).map(Bound::unbind)
        });
        Ok(interpreted?.bind(py).clone())
    }

    /// Calls what has to be called before a launch.
    pub fn call_hooks<'py>(&self, py: Python<'py>, call: &Call<'_, 'py>) -> PyResult<()> {
        let hooks = self.pre_run_hooks.bind(py);
        // Mostly there are none, and an iterator would have to be made to see that.
        if hooks.is_empty() {
            return Ok(());
        }
        hooks.iter().try_for_each(|hook| call.pass_to(&hook).map(drop))
    }
}

#[pymethods]
impl JITFunction {
    #[new]
    fn new(
        function: &Bound<'_, PyAny>,
        parameters: Vec<Description<'_>>,
        noinline: bool,
        interpret: bool,
    ) -> PyResult<JITFunction> {
        let py = function.py();
        let names: Vec<String> = function.getattr("__code__")?.getattr("co_freevars")?.extract()?;
        let cells = function.getattr("__closure__")?;
        let cells: Vec<Bound<'_, PyAny>> = if cells.is_none() { Vec::new() } else { cells.extract()? };
        Ok(JITFunction {
            name: function.getattr("__name__")?.extract()?,
            parameters: parameters
                .into_iter()
                .map(|description| Parameter::new(py, description))
                .collect::<PyResult<_>>()?,
            noinline,
            interpret,
            cache: Cache::default(),
            checked: Cache::default(),
            reported: Reported::default(),
            function: function.clone().unbind(),
            pre_run_hooks: PyList::empty(py).unbind(),
            launcher: LastLauncher::default(),
            globals: source::globals(function)?.unbind(),
            closure: names.into_iter().zip(cells.into_iter().map(Bound::unbind)).collect(),
            place: Source::of(function)?,
            text: OnceLock::new(),
            source: OnceLock::new(),
            interpreted: PyOnceLock::new(),
        })
    }

    /// The kernel with its grid, to be called with the arguments.
    fn __getitem__<'py>(slf: &Bound<'py, Self>, grid: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().launcher.of(slf, Grid::new(grid)?)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.launcher.traverse(&visit)
    }

    fn __clear__(&self) {
        self.launcher.clear();
    }

    /// Launches the kernel; with `warmup`, compiles it alone.
    #[pyo3(signature = (*args, grid, warmup = false, **kwargs))]
    fn run<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        grid: &Bound<'py, PyAny>,
        warmup: bool,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Py<CompiledKernel>>> {
        let call = Collected::new(args, kwargs)?;
        if warmup {
            launch::compile(slf, &call.as_call()).map(Some)
        } else {
            launch::launch(slf, &call.as_call(), &Grid::new(grid)?, None)
        }
    }

    /// Compiles the kernel for arguments like these, which may be types in the place of tensors.
    #[pyo3(signature = (*args, grid = None, **kwargs))]
    fn warmup<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        grid: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Py<CompiledKernel>> {
        if let Some(grid) = grid.filter(|grid| !grid.is_none()) {
            Grid::new(grid)?;
        }
        launch::compile(slf, &Collected::new(args, kwargs)?.as_call())
    }

    /// Within an interpreted kernel, a helper is a Python function like any other.
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if eager::is_active() {
            return self.interpreted(args.py())?.call(args, kwargs);
        }
        let message = format!(
            "`{0}` is a kernel: launch it with a grid, `{0}[grid](...)`, or call it inside another kernel",
            self.name
        );
        Err(PyRuntimeError::new_err(message))
    }

    /// Forgets everything that has been compiled.
    fn clear_cache(&self) {
        self.cache.clear();
        self.checked.clear();
    }

    /// Every variant that has been compiled.
    fn compiled_kernels(&self, py: Python<'_>) -> Vec<Py<CompiledKernel>> {
        self.cache.compiled().iter().map(|kernel| kernel.clone_ref(py)).collect()
    }

    /// The text of the definition, decorators included.
    #[getter]
    fn raw_src(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py).map(|file| file.text.clone()).map_err(PyOSError::new_err)
    }

    /// The line of the first decorator in its file.
    #[getter]
    fn starting_line_number(&self) -> u32 {
        self.place.first_line()
    }

    /// The names of the parameters, in order.
    #[getter]
    fn arg_names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.parameters.iter().map(|parameter| PyString::new(py, &parameter.name)))
    }

    /// The indices of the parameters annotated `tl.constexpr`.
    #[getter]
    fn constexprs(&self) -> Vec<usize> {
        let constexpr = |(index, parameter): (usize, &Parameter)| parameter.constexpr.then_some(index);
        self.parameters.iter().enumerate().filter_map(constexpr).collect()
    }
}
