//! The front end's questions, answered from live Python objects.

use crate::classes::{classes, is_instance, type_name};
use crate::constants::{Objects, number, numpy_scalar, pointer_type, scalar_type};
use crate::dependencies::{Dependency, cell_contents};
use crate::function::JITFunction;
use crate::language::LanguageFunction;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyCFunction, PyDict, PyFloat, PyFunction, PyInt, PyList, PyModule, PyString, PyTuple, PyType,
};
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use tegula_frontend::host::TupleClass;
use tegula_frontend::lower::PythonFunction;
use tegula_frontend::{
    FunctionRef, FunctionSource, Host, HostValue, ObjectRef, ParamSource, builtin, prelude,
};

/// Live Python objects as the world outside a kernel, for the time of one compilation.
///
/// Objects are referred to by their address, and kept alive by the host and then by the compiled kernel.
pub struct LiveHost<'py> {
    py: Python<'py>,
    objects: RefCell<HashMap<u64, Bound<'py, PyAny>>>,
    dependencies: RefCell<Vec<Dependency>>,
}

impl<'py> LiveHost<'py> {
    /// A host for the compilation of one kernel.
    pub fn new(py: Python<'py>) -> LiveHost<'py> {
        LiveHost { py, objects: RefCell::default(), dependencies: RefCell::default() }
    }

    /// The reference of a jitted function.
    pub fn function_ref(&self, function: &Bound<'py, JITFunction>) -> FunctionRef {
        FunctionRef(self.keep(function.as_any()))
    }

    /// What was asked for, and what the answers refer to.
    pub fn finish(self) -> (Vec<Dependency>, Objects) {
        let objects = self.objects.into_inner().into_values().map(Bound::unbind).collect();
        let mut dependencies = self.dependencies.into_inner();
        // A kernel reads one name many times; each launch looks whether it still means the same.
        let mut seen = FxHashSet::default();
        dependencies.retain(|dependency| seen.insert(dependency.identity()));
        (dependencies, objects)
    }

    fn keep(&self, object: &Bound<'py, PyAny>) -> u64 {
        let number = number(object);
        self.objects.borrow_mut().entry(number).or_insert_with(|| object.clone());
        number
    }

    fn object(&self, number: u64) -> Option<Bound<'py, PyAny>> {
        self.objects.borrow().get(&number).cloned()
    }

    fn jit_function(&self, function: FunctionRef) -> Option<Bound<'py, JITFunction>> {
        self.object(function.0)?.cast_into().ok()
    }

    /// What an object is to the language.
    pub fn value(&self, object: &Bound<'py, PyAny>) -> HostValue {
        self.try_value(object).unwrap_or_else(|_| self.other(object))
    }

    fn try_value(&self, object: &Bound<'py, PyAny>) -> PyResult<HostValue> {
        let py = self.py;
        if object.is_none() {
            return Ok(HostValue::None);
        }
        if let Ok(value) = object.cast::<PyBool>() {
            return Ok(HostValue::Bool(value.is_true()));
        }
        if object.cast::<PyInt>().is_ok() {
            return Ok(HostValue::Int(object.extract()?));
        }
        if let Ok(value) = object.cast::<PyFloat>() {
            return Ok(HostValue::Float(value.value()));
        }
        if let Ok(value) = object.cast::<PyString>() {
            return Ok(HostValue::Str(value.to_str()?.to_owned()));
        }
        if let Ok(function) = object.cast::<LanguageFunction>() {
            return Ok(function.get().value().clone());
        }
        if let Ok(module) = object.cast::<PyModule>() {
            return Ok(language_path(module)
                .map_or_else(|| HostValue::Module(ObjectRef(self.keep(object))), HostValue::Language));
        }
        if object.cast::<JITFunction>().is_ok() {
            return Ok(HostValue::Function(FunctionRef(self.keep(object))));
        }
        if let Some(scalar) = scalar_type(object) {
            return Ok(HostValue::Type(scalar));
        }
        if let Some(pointer) = pointer_type(object)? {
            return Ok(HostValue::PointerType(pointer));
        }
        let classes = classes(py)?;
        if is_instance(object, &classes.constexpr) {
            let inner = self.value(&object.getattr(intern!(py, "value"))?);
            return Ok(HostValue::Constexpr(Box::new(inner)));
        }
        if is_instance(object, &classes.constexpr_function) {
            return Ok(HostValue::ConstexprFunction(ObjectRef(self.keep(object))));
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            let items = tuple.iter().map(|item| self.value(&item)).collect();
            return Ok(HostValue::Tuple(items, self.tuple_class(object.get_type().as_any())?));
        }
        if let Ok(list) = object.cast::<PyList>() {
            return Ok(HostValue::Tuple(list.iter().map(|item| self.value(&item)).collect(), None));
        }
        if let Ok(class) = object.cast::<PyType>() {
            if let Some(class) = self.tuple_class(object)? {
                return Ok(HostValue::TupleClass(class));
            }
            return Ok(known_by_name(object).unwrap_or_else(|| self.other(class)));
        }
        if let Some(value) = numpy_scalar(object)? {
            return self.try_value(&value);
        }
        if object.cast::<PyFunction>().is_ok() || object.cast::<PyCFunction>().is_ok() {
            if let Some(value) = known_by_name(object) {
                return Ok(value);
            }
            // `math.log2(N)` of a constant is one: these functions depend on nothing but their arguments.
            let module: Option<String> = object.getattr("__module__")?.extract()?;
            if module.as_deref() == Some("math") {
                return Ok(HostValue::ConstexprFunction(ObjectRef(self.keep(object))));
            }
            let name = object.getattr("__qualname__")?.extract()?;
            return Ok(HostValue::PlainFunction { name });
        }
        Ok(self.other(object))
    }

    fn other(&self, object: &Bound<'py, PyAny>) -> HostValue {
        HostValue::Other(ObjectRef(self.keep(object)), type_name(object))
    }

    /// The class of a named tuple or of an aggregate; `None` for every other class.
    fn tuple_class(&self, class: &Bound<'py, PyAny>) -> PyResult<Option<TupleClass>> {
        let is_named = class.cast::<PyType>()?.is_subclass_of::<PyTuple>()? && class.hasattr("_fields")?;
        if !is_named {
            return Ok(None);
        }
        let fields: Vec<String> = class.getattr("_fields")?.extract()?;
        let name = class.getattr("__name__")?.extract()?;
        let constants: Option<Vec<bool>> = match class.getattr_opt("_constant_fields")? {
            Some(constants) => Some(constants.extract()?),
            None => None,
        };
        let object = ObjectRef(self.keep(class));
        Ok(Some(TupleClass { object, name, fields: fields.into(), constants: constants.map(Into::into) }))
    }

    /// The interpreter.
    pub fn py(&self) -> Python<'py> {
        self.py
    }

    /// A function or class of Python's `builtins`.
    pub fn builtin(&self, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.py.import("builtins")?.getattr(name)
    }

    /// A `tl.block_type`.
    pub fn block_type(&self, element: &HostValue, shape: &HostValue) -> PyResult<Bound<'py, PyAny>> {
        let arguments = (self.python(element)?, self.python(shape)?);
        self.py.import("tegula.language")?.call_method1("block_type", arguments)
    }

    /// The Python object that a value is.
    pub fn python(&self, value: &HostValue) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let kept =
            |number| self.object(number).ok_or_else(|| PyValueError::new_err("an object from elsewhere"));
        Ok(match value {
            HostValue::None => py.None().into_bound(py),
            HostValue::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
            HostValue::Int(value) => value.into_pyobject(py)?.into_any(),
            HostValue::Float(value) => PyFloat::new(py, *value).into_any(),
            HostValue::Str(text) => PyString::new(py, text).into_any(),
            HostValue::Type(scalar) => py.import("tegula.language")?.getattr(builtin::type_name(*scalar))?,
            HostValue::PointerType(pointer) => {
                let language = py.import("tegula.language")?;
                let mut ty = language.getattr(builtin::type_name(pointer.pointee))?;
                for _ in 0..pointer.depth {
                    ty = language.call_method1("pointer_type", (ty, pointer.constant))?;
                }
                ty
            }
            HostValue::Tuple(items, class) => {
                let items = items.iter().map(|item| self.python(item)).collect::<PyResult<Vec<_>>>()?;
                let items = PyTuple::new(py, items)?;
                match class {
                    Some(class) => kept(class.object.0)?.call_method1("_make", (items,))?,
                    None => items.into_any(),
                }
            }
            HostValue::Constexpr(value) => self.python(value)?,
            HostValue::Builtin(entry) => {
                let path = entry.modules.first().copied().unwrap_or("");
                language_module(py, path)?.getattr(entry.name)?
            }
            HostValue::Language(path) => language_module(py, path)?.into_any(),
            HostValue::Function(function) if prelude::contains(*function) => {
                let source = prelude::function(*function).map_err(PyValueError::new_err)?;
                py.import("tegula.language")?.getattr(source.name.as_str())?
            }
            HostValue::Function(FunctionRef(number))
            | HostValue::ConstexprFunction(ObjectRef(number))
            | HostValue::Module(ObjectRef(number))
            | HostValue::Other(ObjectRef(number), _) => kept(*number)?,
            HostValue::TupleClass(class) => kept(class.object.0)?,
            HostValue::Python(function) => {
                let name = function.name();
                match py.import("builtins")?.getattr_opt(name)? {
                    Some(function) => function,
                    None => py.import("tegula.language")?.getattr(name)?,
                }
            }
            HostValue::PlainFunction { name } => {
                let message =
                    format!("the Python function `{name}` cannot be passed to a constexpr function");
                return Err(PyValueError::new_err(message));
            }
        })
    }

    /// Looks a name up where Python would, and remembers what was found.
    fn find(&self, function: &JITFunction, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = self.py;
        if let Some(cell) = function.cell(py, name) {
            let value = cell_contents(&cell);
            self.depend(value.as_ref(), |value| Dependency::Cell { cell: cell.unbind(), value });
            return Ok(value);
        }
        let globals = function.globals(py);
        if let Some(value) = self.look_up(&globals, name)? {
            return Ok(Some(value));
        }
        py.import("builtins")?.getattr_opt(name)
    }

    fn look_up(&self, names: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = names.get_item(name)?;
        self.depend(value.as_ref(), |value| Dependency::Name {
            names: names.clone().unbind(),
            name: PyString::intern(self.py, name).unbind(),
            value,
        });
        Ok(value)
    }

    /// Notes that the kernel depends on what a name means. Modules and the language itself are taken to stay.
    fn depend(
        &self,
        value: Option<&Bound<'py, PyAny>>,
        dependency: impl FnOnce(Option<Py<PyAny>>) -> Dependency,
    ) {
        let stays = value.is_some_and(|value| {
            value.cast::<PyModule>().is_ok() || value.cast::<LanguageFunction>().is_ok()
        });
        if !stays {
            self.dependencies.borrow_mut().push(dependency(value.map(|value| value.clone().unbind())));
        }
    }
}

impl Host for LiveHost<'_> {
    fn function(&self, function: FunctionRef) -> Result<Arc<FunctionSource>, String> {
        let function = self.jit_function(function).ok_or("it is no function of this program")?;
        let function = function.get();
        // The defaults are looked at for each compilation, so that this host knows the objects in them.
        let params = function.parameters.iter().map(|parameter| {
            let default = parameter.default(self.py)?.map(|default| self.value(default));
            Ok(ParamSource { name: parameter.name.clone(), default })
        });
        let params: PyResult<_> = params.collect();
        function.source(self.py, params.map_err(|error| error.to_string())?)
    }

    fn global(&self, function: FunctionRef, name: &str) -> Option<HostValue> {
        let function = self.jit_function(function)?;
        let found = self.find(function.get(), name).ok()??;
        Some(self.value(&found))
    }

    fn global_names(&self, function: FunctionRef) -> Vec<String> {
        let Some(function) = self.jit_function(function) else { return Vec::new() };
        let function = function.get();
        let mut names = function.cell_names();
        names.extend(function.globals(self.py).keys().iter().filter_map(|name| name.extract().ok()));
        names
    }

    fn attribute(&self, object: ObjectRef, name: &str) -> Option<HostValue> {
        let object = self.object(object.0)?;
        if let Ok(module) = object.cast::<PyModule>()
            && let Ok(Some(value)) = self.look_up(&module.dict(), name)
        {
            return Some(self.value(&value));
        }
        Some(self.value(&object.getattr(name).ok()?))
    }

    fn attribute_names(&self, object: ObjectRef) -> Vec<String> {
        let names = self.object(object.0).and_then(|object| object.dir().ok());
        names.map_or_else(Vec::new, |names| names.iter().filter_map(|name| name.extract().ok()).collect())
    }

    fn call(
        &self,
        function: ObjectRef,
        positional: Vec<HostValue>,
        keywords: Vec<(String, HostValue)>,
    ) -> Result<HostValue, String> {
        let call = || -> PyResult<HostValue> {
            let function =
                self.object(function.0).ok_or_else(|| PyValueError::new_err("an object from elsewhere"))?;
            let positional =
                positional.iter().map(|value| self.python(value)).collect::<PyResult<Vec<_>>>()?;
            let keyword_arguments = PyDict::new(self.py);
            for (name, value) in &keywords {
                keyword_arguments.set_item(name, self.python(value)?)?;
            }
            let result = function.call(PyTuple::new(self.py, positional)?, Some(&keyword_arguments))?;
            Ok(self.value(&result))
        };
        call().map_err(|error| error.to_string())
    }

    fn print(&self, text: &str) {
        // A program without a standard output prints nothing, as Python's own `print` does.
        let _ = self.py.import("builtins").and_then(|builtins| builtins.call_method1("print", (text,)));
    }
}

/// The path below `tegula.language` of a module of the package, under whatever name it was imported.
fn language_path(module: &Bound<'_, PyModule>) -> Option<&'static str> {
    let path = module.dict().get_item("__tegula_path__").ok()??;
    let path = path.cast::<PyString>().ok()?;
    let path = path.to_str().ok()?;
    builtin::modules().find(|known| *known == path)
}

/// A class of the language, or a function or class of Python's `builtins`, that the front end knows.
fn known_by_name(object: &Bound<'_, PyAny>) -> Option<HostValue> {
    let name: String = object.getattr("__name__").ok()?.extract().ok()?;
    let module: String = object.getattr("__module__").ok()?.extract().ok()?;
    if module == "builtins" {
        return PythonFunction::from_name(&name).map(HostValue::Python);
    }
    let place = module.strip_prefix("tegula.language")?;
    // `types` and `constant` are files of the package, whose classes are the language's own.
    let found = builtin::find(place.trim_start_matches('.'), &name).or_else(|| builtin::find("", &name));
    PythonFunction::language_class(&name).map(HostValue::Python).or(found)
}

fn language_module<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyModule>> {
    if path.is_empty() { py.import("tegula.language") } else { py.import(format!("tegula.language.{path}")) }
}
