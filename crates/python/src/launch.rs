//! Launches: find or compile the kernel for these arguments, and run it.

use crate::arrays;
use crate::binding::{BoundArguments, bind};
use crate::call::Call;
use crate::compiled::CompiledKernel;
use crate::constants::Objects;
use crate::dependencies::Dependency;
use crate::device::{self, Placement};
use crate::eager;
use crate::errors;
use crate::function::JITFunction;
use crate::grid::Grid;
use crate::hooks::Around;
use crate::host::LiveHost;
use crate::specialize::{Arguments, Purpose};
use crate::warnings;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyWeakrefReference};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tegula_frontend::{HostValue, Request};
use tegula_ir::Function;
use tegula_runtime::cuda::Stream;
use tegula_runtime::{
    DiskCache, Error, Executable, LaunchOptions, Options, Specialization, Target, Variant, executable,
};

/// Whether accesses are checked against the arrays passed.
static DEBUG: AtomicBool = AtomicBool::new(false);

/// Whether accesses are checked against the arrays passed (`TEGULA_DEBUG=1`).
#[pyfunction]
pub fn set_debug(on: bool) {
    DEBUG.store(on, Ordering::Relaxed);
}

/// Launches a kernel: on the CPU, and waits for its end; on a GPU, without waiting. Options that have been `chosen` before take the place of
/// those of the call. Returns the compiled kernel, unless it was interpreted.
pub fn launch<'py>(
    kernel: &Bound<'py, JITFunction>,
    call: &Call<'_, 'py>,
    grid: &Grid,
    chosen: Option<&Options>,
) -> PyResult<Option<Py<CompiledKernel>>> {
    errors::guarded(kernel.py(), &kernel.get().name, || run(kernel, call, grid, chosen))
}

fn run<'py>(
    kernel: &Bound<'py, JITFunction>,
    call: &Call<'_, 'py>,
    grid: &Grid,
    chosen: Option<&Options>,
) -> PyResult<Option<Py<CompiledKernel>>> {
    let (py, function) = (kernel.py(), kernel.get());
    function.call_hooks(py, call)?;
    let mut bound = BoundArguments::new();
    let mut options = Options::default();
    bind(py, &function.name, &function.parameters, call, &mut bound, &mut options)?;
    let options = chosen.unwrap_or(&options);
    let forced = device::forced();
    let purpose = match forced {
        _ if function.interpret => Purpose::Interpretation,
        _ if DEBUG.load(Ordering::Relaxed) => Purpose::CheckedLaunch,
        // The simulator checks every access.
        Some(Target::Simulated(_)) => Purpose::Simulation,
        _ => Purpose::Launch,
    };
    let mut arguments = Arguments::new(purpose);
    specialize(kernel, &bound, &mut arguments)?;
    let resolve = || grid.resolve(py, || named(py, function, call, &bound));
    let place = arguments.place.map(|(place, _)| place);
    if function.interpret {
        device::check_interpreted(place)?;
        let compiled = find_or_compile(kernel, &arguments, &bound, Target::Cpu, options, Reader::Python)?;
        let grid = resolve()?;
        // An interpreted launch finds every access outside the arrays itself.
        warn(kernel, &compiled.get().executable, grid, &arguments, None)?;
        let outcome = eager::launch(kernel, &bound, &arguments, grid);
        return match outcome {
            Ok(()) => Ok(None),
            Err(error) => Err(errors::with_note(py, error, || called_with(kernel, &bound))),
        };
    }
    if let Some(index) = arguments.cpu_tensor
        && device::expects_gpu_tensors(py, forced)?
    {
        return Err(tensor_of_the_cpu(kernel, index, bound[index], forced));
    }
    let placement = device::of_launch(py, forced, place)?;
    let compiled =
        find_or_compile(kernel, &arguments, &bound, placement.target(), options, Reader::Compiler)?;
    let grid = resolve()?;
    let executable = &compiled.get().executable;
    check_writable(function, executable, &arguments, &bound)?;
    // So does a checked one.
    let owners =
        if matches!(purpose, Purpose::CheckedLaunch | Purpose::Simulation) { None } else { Some(&*bound) };
    warn(kernel, executable, grid, &arguments, owners)?;
    let stream = match placement {
        Placement::Cpu | Placement::Simulated { .. } => Stream::default(),
        Placement::Cuda { device, .. } => device::current_stream(py, device)?,
    };
    let around = Around::begin(kernel, &compiled, grid, placement, stream, &bound)?;
    let outcome = match placement {
        Placement::Cpu | Placement::Simulated { .. } => {
            // Of a simulated launch's arrays, the memory that they are part of may be accessed.
            let owners = (purpose == Purpose::Simulation)
                .then(|| warnings::allocations(&function.parameters, &arguments.key, &bound))
                .flatten();
            let bounds = owners.or_else(|| arguments.ranges.take().filter(|_| !arguments.unknown_extent));
            let options = LaunchOptions { threads: None, bounds, interrupted: Some(interrupted) };
            let leaves = &arguments.leaves;
            // SAFETY: as in Triton, the addresses that a kernel computes from its arguments are the caller's
            // responsibility; the arrays themselves outlive the launch, since the caller holds them.
            py.detach(|| unsafe { executable.launch(grid, leaves, &options) })
        }
        Placement::Cuda { device, .. } => {
            let leaves = &arguments.leaves;
            // The driver waits where a stream has no room for another launch.
            // SAFETY: as above; what frees an array on the same stream, as torch does, waits for the kernel.
            py.detach(|| unsafe { executable.launch_cuda(device, stream, grid, leaves) })
        }
    };
    match outcome {
        Ok(()) => {
            around.map_or(Ok(()), Around::end)?;
            Ok(Some(compiled))
        }
        Err(error) => Err(RAISED.take().unwrap_or_else(|| errors::to_python(py, &error))),
    }
}

/// What a function that computes the grid may ask for: the arguments by the names of parameters, and options that are no parameters, since
/// `num_warps` may well decide a grid.
fn named<'py>(
    py: Python<'py>,
    function: &JITFunction,
    call: &Call<'_, 'py>,
    bound: &[&Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyDict>> {
    let meta = PyDict::new(py);
    for (parameter, argument) in function.parameters.iter().zip(bound) {
        meta.set_item(&parameter.name, argument)?;
    }
    for (name, value) in call.named() {
        if !meta.contains(name)? {
            meta.set_item(name, value)?;
        }
    }
    Ok(meta)
}

fn tensor_of_the_cpu(
    kernel: &Bound<'_, JITFunction>,
    index: usize,
    tensor: &Bound<'_, PyAny>,
    forced: Option<Target>,
) -> PyErr {
    let function = kernel.get();
    let reason = match forced {
        Some(target) => format!("but {} is {target}", Target::VARIABLE),
        None => "and this program computes on a GPU".to_owned(),
    };
    let error = PyValueError::new_err(format!(
        "it is on the cpu, {reason}: move it there by `.cuda()`, or choose the CPU for kernels by {}=cpu or \
         `tegula.knobs.runtime.target = \"cpu\"`",
        Target::VARIABLE
    ));
    errors::argument(kernel.py(), &function.name, &function.parameters[index].name, tensor, &error)
}

/// Refuses read-only arrays that the kernel stores to.
fn check_writable(
    function: &JITFunction,
    executable: &Executable,
    arguments: &Arguments,
    bound: &[&Bound<'_, PyAny>],
) -> PyResult<()> {
    for &(leaf, parameter) in &arguments.read_only {
        if executable.stored_through().get(leaf).copied().unwrap_or(false) {
            let message = format!(
                "argument `{}` of `{}` is a read-only {}, but the kernel stores through it; pass a writable copy",
                function.parameters[parameter].name,
                function.name,
                arrays::describe(bound[parameter])
            );
            return Err(PyValueError::new_err(message));
        }
    }
    Ok(())
}

/// Gives the warnings of a launch with arguments that have not been looked at: of accesses outside of the arrays, if the arguments that own
/// them are given.
fn warn(
    kernel: &Bound<'_, JITFunction>,
    executable: &Executable,
    grid: [u32; 3],
    arguments: &Arguments,
    owners: Option<&[&Bound<'_, PyAny>]>,
) -> PyResult<()> {
    if executable.is_checked(grid, &arguments.leaves) || !tegula_runtime::warnings::enabled() {
        return Ok(());
    }
    let (py, function) = (kernel.py(), kernel.get());
    let arrays =
        owners.and_then(|owners| warnings::allocations(&function.parameters, &arguments.key, owners));
    let found = executable
        .check_launch(grid, &arguments.leaves, arrays.as_deref())
        .map_err(|error| errors::to_python(py, &error))?;
    warnings::deliver(py, function, found)
}

thread_local! {
    /// What a signal's handler raised while this thread ran a launch.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Runs the handlers of signals that have arrived; whether one raised an exception, as that of Ctrl-C does.
fn interrupted() -> bool {
    let raised = Python::try_attach(|py| py.check_signals().err()).flatten();
    let interrupted = raised.is_some();
    RAISED.set(raised);
    interrupted
}

/// Compiles a kernel for arguments like these, without running it.
pub fn compile<'py>(kernel: &Bound<'py, JITFunction>, call: &Call<'_, 'py>) -> PyResult<Py<CompiledKernel>> {
    let (py, function) = (kernel.py(), kernel.get());
    errors::guarded(py, &function.name, || {
        let mut bound = BoundArguments::new();
        let mut options = Options::default();
        bind(py, &function.name, &function.parameters, call, &mut bound, &mut options)?;
        let mut arguments = Arguments::new(Purpose::Compilation);
        specialize(kernel, &bound, &mut arguments)?;
        let target = device::of_compilation(py, arguments.place.map(|(place, _)| place))?;
        find_or_compile(kernel, &arguments, &bound, target, &options, Reader::Compiler)
    })
}

fn specialize(
    kernel: &Bound<'_, JITFunction>,
    bound: &[&Bound<'_, PyAny>],
    arguments: &mut Arguments,
) -> PyResult<()> {
    let function = kernel.get();
    arguments.specialize(&function.parameters, bound).map_err(|(index, error)| {
        let parameter = &function.parameters[index];
        errors::argument(kernel.py(), &function.name, &parameter.name, bound[index], &error)
    })
}

/// Who reads a kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    Compiler,
    /// It is compiled to find its faults; what only Python can do in it is left out.
    Python,
}

/// The kernel compiled for these arguments, from the cache if what it was compiled from has not changed.
fn find_or_compile(
    kernel: &Bound<'_, JITFunction>,
    arguments: &Arguments,
    bound: &[&Bound<'_, PyAny>],
    target: Target,
    options: &Options,
    reader: Reader,
) -> PyResult<Py<CompiledKernel>> {
    let py = kernel.py();
    let function = kernel.get();
    let cache = match reader {
        Reader::Compiler => &function.cache,
        Reader::Python => &function.checked,
    };
    let variant = Variant::new(target, options, &arguments.key);
    if let Some(compiled) = cache.get(&variant, |compiled| compiled.clone_ref(py)) {
        if is_current(py, compiled.get())? {
            return Ok(compiled);
        }
        cache.remove(&variant, |current| current.is(&compiled));
    }
    let (key, objects) = (&arguments.key, &arguments.objects);
    let unbound = kernel.clone().unbind();
    let disk_cache = device::disk_cache(py, target)?;
    // Another thread may be compiling the same: waiting for it with the interpreter's lock held would stop both.
    let outcome: Result<Arc<Py<CompiledKernel>>, Error> = py.detach(|| {
        cache.get_or_compile(&variant, || {
            Python::attach(|py| Lowered::new(unbound.bind(py), key, objects, target, options, reader))
                .finish(target, *options, disk_cache)
        })
    });
    match outcome {
        Ok(compiled) => {
            warnings::deliver(py, function, compiled.get().executable.warnings())?;
            Ok(compiled.clone_ref(py))
        }
        Err(mut error) => {
            if let Error::Compile(error) = &mut error
                && let Some(last) = error.diagnostics.last_mut()
            {
                last.notes.push(called_with(kernel, bound));
            }
            Err(errors::to_python(py, &error))
        }
    }
}

/// A kernel after the front end, with what the front end read of the live program.
pub struct Lowered {
    kernel: Option<Py<PyWeakrefReference>>,
    function: Result<Function, Error>,
    dependencies: Vec<Dependency>,
    objects: Objects,
}

impl Lowered {
    /// Runs the front end; `key` has one specialisation a parameter, which refers to `objects`.
    pub fn new(
        kernel: &Bound<'_, JITFunction>,
        key: &[Specialization],
        objects: &[Py<PyAny>],
        target: Target,
        options: &Options,
        reader: Reader,
    ) -> Lowered {
        let py = kernel.py();
        let host = LiveHost::new(py);
        let objects: Vec<_> = objects.iter().map(|object| object.bind(py).clone()).collect();
        let resolve = |number| {
            let object = objects.iter().find(|object| crate::constants::number(object) == number);
            object.map_or(HostValue::None, |object| host.value(object))
        };
        let request = Request {
            kernel: host.function_ref(kernel),
            arguments: key.iter().map(|one| one.to_argument(&resolve)).collect(),
            machine: target.machine(options),
            interpreted: reader == Reader::Python,
        };
        let function = executable::lower(&host, &request);
        let (dependencies, mut kept) = host.finish();
        // The kernel holds what is compiled: were it held in turn, neither would ever be freed.
        kept.retain(|object| !object.is(kernel));
        kept.extend(objects.into_iter().map(Bound::unbind));
        // Held weakly, for the same reason.
        let kernel = PyWeakrefReference::new(kernel).ok().map(Bound::unbind);
        Lowered { kernel, function, dependencies, objects: kept }
    }

    /// Runs passes and back end, which need no Python, and makes the object that Python gets.
    pub fn finish(
        self,
        target: Target,
        options: Options,
        cache: Option<DiskCache>,
    ) -> Result<Py<CompiledKernel>, Error> {
        let executable = Executable::new(self.function?, target, &options, cache.as_ref())?;
        Python::attach(|py| {
            let compiled = CompiledKernel {
                kernel: self.kernel,
                executable,
                options,
                dependencies: self.dependencies,
                objects: self.objects,
            };
            Ok(Py::new(py, compiled).expect("an object without a base class needs memory alone"))
        })
    }
}

fn is_current(py: Python<'_>, compiled: &CompiledKernel) -> PyResult<bool> {
    for dependency in &compiled.dependencies {
        if !dependency.holds(py)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The arguments of a call in the words of a message.
fn called_with(kernel: &Bound<'_, JITFunction>, bound: &[&Bound<'_, PyAny>]) -> String {
    let function = kernel.get();
    let arguments: Vec<String> = function
        .parameters
        .iter()
        .zip(bound)
        .map(|(parameter, object)| {
            let kind = arrays::describe(object);
            let plain = matches!(kind.as_str(), "int" | "float" | "bool" | "str" | "NoneType");
            let text = if plain { object.repr().map_or(kind, |text| text.to_string()) } else { kind };
            format!("{}={text}", parameter.name)
        })
        .collect();
    format!("`{}` was called with {}", function.name, arguments.join(", "))
}
