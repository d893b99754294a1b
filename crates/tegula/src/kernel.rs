//! A kernel of a module, and its compiled form.

use crate::argument::Kind;
use crate::error::Error;
use crate::grid::Grid;
use crate::launch::Launch;
use crate::signature::Signature;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tegula_frontend::source_host::SourceHost;
use tegula_frontend::{FunctionRef, FunctionSource, HostValue, Request};
use tegula_ir::Function;
use tegula_runtime::cuda::assemble::disassemble;
use tegula_runtime::cuda::{Code, Generated, listing};
use tegula_runtime::warnings;
use tegula_runtime::{
    Cache, Constant, Executable, Options, Reported, Specialization, Target, Variant, Warning, executable,
};

/// A parameter of a kernel, as its definition has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    /// Whether its argument must be known to the compiler (`BLOCK: tl.constexpr`).
    pub is_constexpr: bool,
    /// Whether the argument may be left out.
    pub has_default: bool,
}

/// Prints `name`, `NAME: constexpr` or `name = ...`.
impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.is_constexpr {
            f.write_str(": constexpr")?;
        }
        if self.has_default {
            f.write_str(" = ...")?;
        }
        Ok(())
    }
}

/// A `@triton.jit` function, ready to be launched.
///
/// It is compiled at the first launch with new types or constexprs, and remembered; clones share what they remember.
#[derive(Clone, Debug)]
pub struct Kernel {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    host: Arc<SourceHost>,
    function: FunctionRef,
    source: Arc<FunctionSource>,
    parameters: Vec<Parameter>,
    cache: Cache<Executable>,
    reported: Reported,
    warnings: Mutex<Vec<Warning>>,
}

impl Kernel {
    pub(crate) fn new(
        host: Arc<SourceHost>,
        function: FunctionRef,
        source: Arc<FunctionSource>,
        parameters: Vec<Parameter>,
    ) -> Kernel {
        let shared = Shared {
            host,
            function,
            source,
            parameters,
            cache: Cache::default(),
            reported: Reported::default(),
            warnings: Mutex::default(),
        };
        Kernel { shared: Arc::new(shared) }
    }

    /// The name of the function.
    pub fn name(&self) -> &str {
        &self.shared.source.name
    }

    /// The line of its file that has the function's name, after the decorators.
    pub fn line(&self) -> u32 {
        let source = &self.shared.source;
        let offset =
            source.parsed().map_or(source.start, |parsed| parsed.place(parsed.definition.name.range).0);
        source.file.position(offset).0
    }

    /// The parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.shared.parameters
    }

    /// Starts a launch on a grid: `[programs]`, `[x, y]`, `[x, y, z]`, or a function of the constexprs.
    pub fn launch<'a>(&'a self, grid: impl Grid + 'a) -> Launch<'a> {
        Launch::new(self, Box::new(grid))
    }

    /// Compiles the kernel without launching it. Options count for GPUs alone.
    ///
    /// # Errors
    /// [`Error::Call`] if the signature does not fit the parameters, [`Error::Kernel`] if the kernel is ill-formed.
    pub fn compile(
        &self,
        signature: &Signature,
        target: Target,
        options: &Options,
    ) -> Result<Compiled, Error> {
        let unoptimised = self.lower(&self.specialisations(signature)?, target, options)?;
        let function = unoptimised.clone();
        let (optimised, generated) = match target {
            Target::Cpu => {
                let executable = Executable::new(function, target, options, None)?;
                (executable.function().clone(), None)
            }
            Target::Cuda(gpu) | Target::Simulated(gpu) => {
                let optimised = executable::optimise(function)?;
                let generated = Generated::new(&optimised, gpu, options)?;
                (optimised, Some(generated))
            }
        };
        Ok(Compiled { target, unoptimised, optimised, generated })
    }

    /// The executable for these specialisations on the CPU, or in the simulator if `TEGULA_TARGET` says so.
    pub(crate) fn executable(&self, specialisations: &[Specialization]) -> Result<Arc<Executable>, Error> {
        // Asked once: a launch is to take less time than the environment does.
        static FORCED: OnceLock<Result<Option<Target>, tegula_runtime::Error>> = OnceLock::new();
        let target = match FORCED.get_or_init(Target::from_environment).clone()? {
            Some(target @ Target::Simulated(_)) => target,
            _ => Target::Cpu,
        };
        self.executable_for(specialisations, target, &Options::default())
    }

    /// The executable for these specialisations and a target, compiled now unless it has been before.
    pub(crate) fn executable_for(
        &self,
        specialisations: &[Specialization],
        target: Target,
        options: &Options,
    ) -> Result<Arc<Executable>, Error> {
        let variant = Variant::new(target, options, specialisations);
        if let Some(known) = self.shared.cache.get(&variant, Arc::clone) {
            return Ok(known);
        }
        let compiled = self.shared.cache.get_or_compile(&variant, || {
            let function = self.lower(specialisations, target, options)?;
            Ok::<_, Error>(Executable::new(function, target, options, None)?)
        })?;
        self.warn(compiled.warnings());
        Ok(compiled)
    }

    /// What usually is a mistake in the kernel, as far as it has been compiled, and what went wrong in launches: one warning a place, in the
    /// order in which they were found.
    ///
    /// `TEGULA_WARNINGS=0` leaves it empty.
    pub fn warnings(&self) -> Vec<Warning> {
        self.shared.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps warnings of places that have none yet.
    pub(crate) fn warn(&self, found: Vec<Warning>) {
        if found.is_empty() || !warnings::enabled() {
            return;
        }
        let mut kept = self.shared.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        for warning in found {
            if self.shared.reported.is_new(&warning) {
                self.shared.reported.note(&warning);
                kept.push(warning);
            }
        }
    }

    fn lower(
        &self,
        specialisations: &[Specialization],
        target: Target,
        options: &Options,
    ) -> Result<Function, Error> {
        // Objects are numbered by Python's host alone: here every constant is a plain one.
        let object = |_: u64| HostValue::None;
        let arguments = specialisations.iter().map(|one| one.to_argument(&object)).collect();
        let request = Request {
            kernel: self.shared.function,
            arguments,
            machine: target.machine(options),
            interpreted: false,
        };
        Ok(executable::lower(&*self.shared.host, &request)?)
    }

    /// The default of the parameter at `index`, if it has one that can be an argument.
    pub(crate) fn default(&self, index: usize) -> Option<Kind> {
        self.shared.source.params.get(index)?.default.as_ref().and_then(default_argument)
    }

    /// An error about a call of this kernel.
    pub(crate) fn call_error(&self, message: String) -> Error {
        Error::Call { kernel: self.shared.source.name.clone(), message }
    }

    /// The place of the parameter called `name`.
    pub(crate) fn position(&self, name: &str) -> Result<usize, Error> {
        let parameters = &self.shared.parameters;
        parameters.iter().position(|parameter| parameter.name == name).ok_or_else(|| {
            let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
            self.call_error(format!("there is no parameter `{name}`; there are {}", names.join(", ")))
        })
    }

    /// One specialisation a parameter: constexprs by name, the entries of the signature in order, defaults.
    fn specialisations(&self, signature: &Signature) -> Result<Vec<Specialization>, Error> {
        let mut places: Vec<Option<Specialization>> = vec![None; self.parameters().len()];
        for (name, constant) in &signature.constants {
            places[self.position(name)?] = Some(Specialization::Constexpr(constant.clone()));
        }
        let mut given = signature.arguments.iter().cloned();
        for (place, parameter) in places.iter_mut().zip(self.parameters()) {
            if place.is_none() && !parameter.is_constexpr {
                *place = given.next();
            }
        }
        let surplus = given.count();
        if surplus > 0 {
            let taken = signature.arguments.len() - surplus;
            return Err(self.call_error(format!(
                "the signature has {} entries, but only {taken} parameters are not given as constexprs: {}",
                signature.arguments.len(),
                self.listed()
            )));
        }
        let mut missing = Vec::new();
        let mut complete = Vec::new();
        for (index, place) in places.into_iter().enumerate() {
            let default = || self.default(index)?.constant().map(Specialization::Constexpr);
            match place.or_else(default) {
                Some(specialisation) => complete.push(specialisation),
                None => missing.push(&self.parameters()[index]),
            }
        }
        if missing.is_empty() {
            return Ok(complete);
        }
        let describe = |parameter: &&Parameter| match parameter.is_constexpr {
            true => format!("`{0}` (a constexpr: --constexpr {0}=VALUE)", parameter.name),
            false => format!("`{}`", parameter.name),
        };
        let missing: Vec<String> = missing.iter().map(describe).collect();
        Err(self.call_error(format!("nothing is said of the parameters {}", missing.join(", "))))
    }

    /// The parameters as in the definition.
    pub(crate) fn listed(&self) -> String {
        let parameters: Vec<String> = self.parameters().iter().map(Parameter::to_string).collect();
        format!("{}({})", self.name(), parameters.join(", "))
    }
}

/// A default as an argument, unless it is an object that only a running Python could make sense of.
fn default_argument(value: &HostValue) -> Option<Kind> {
    Some(match value {
        HostValue::Bool(value) => Kind::Bool(*value),
        HostValue::Int(value) => Kind::Int(*value, None),
        HostValue::Float(value) => Kind::Float32(*value as f32),
        other => Kind::Constant(constant(other)?),
    })
}

fn constant(value: &HostValue) -> Option<Constant> {
    Some(match value {
        HostValue::None => Constant::None,
        HostValue::Bool(value) => Constant::Bool(*value),
        HostValue::Int(value) => Constant::Int(*value),
        HostValue::Float(value) => Constant::float(*value),
        HostValue::Str(text) => Constant::Str(text.as_str().into()),
        HostValue::Type(scalar) => Constant::Type(*scalar),
        HostValue::PointerType(pointer) => Constant::PointerType(*pointer),
        HostValue::Constexpr(inner) => constant(inner)?,
        HostValue::Tuple(items, None) => {
            Constant::Tuple(items.iter().map(constant).collect::<Option<_>>()?, None)
        }
        _ => return None,
    })
}

/// A kernel compiled for one signature.
#[derive(Debug)]
pub struct Compiled {
    target: Target,
    unoptimised: Function,
    optimised: Function,
    generated: Option<Generated>,
}

impl Compiled {
    /// The text of the intermediate representation that runs.
    pub fn ir(&self) -> String {
        self.optimised.to_string()
    }

    /// The text of the intermediate representation as the front end made it.
    pub fn unoptimised_ir(&self) -> String {
        self.unoptimised.to_string()
    }

    /// What usually is a mistake in the kernel.
    pub fn warnings(&self) -> Vec<Warning> {
        if warnings::enabled() { Warning::of_source(&self.unoptimised) } else { Vec::new() }
    }

    /// How blocks are spread over threads, if it was compiled for a GPU.
    pub fn layouts(&self) -> Option<&str> {
        Some(&self.generated.as_ref()?.kernel.layouts)
    }

    /// The PTX, if it was compiled for a GPU.
    pub fn ptx(&self) -> Option<&str> {
        Some(&self.generated.as_ref()?.kernel.ptx)
    }

    /// The machine code, if it was compiled for a GPU; assembled anew by each call.
    ///
    /// # Errors
    /// [`Error::Kernel`] if there is no assembler, or if a program needs more shared memory than the GPU has.
    pub fn cubin(&self) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.code()?.map(|code| code.cubin))
    }

    /// The machine code and what is known of it.
    pub(crate) fn code(&self) -> Result<Option<Code>, Error> {
        Ok(self.generated.clone().map(Generated::assemble).transpose()?)
    }

    /// The run-time parameters, in order.
    pub(crate) fn parameters(&self) -> &[tegula_ir::Param] {
        &self.optimised.params
    }

    /// The PTX with the lines of the source between, if it was compiled for a GPU.
    pub fn annotated_ptx(&self) -> Option<String> {
        Some(listing::of_ptx(self.ptx()?, &self.optimised.sources))
    }

    /// The machine instructions with the lines of the source between, if it was compiled for a GPU.
    ///
    /// # Errors
    /// Those of [`Compiled::cubin`], and [`Error::Kernel`] without a disassembler.
    pub fn sass(&self) -> Result<Option<String>, Error> {
        let Some(cubin) = self.cubin()? else { return Ok(None) };
        let text = disassemble(&cubin).map_err(|failure| tegula_runtime::Error::NoDisassembler {
            kernel: self.optimised.name.clone(),
            reason: failure.to_string(),
        })?;
        Ok(Some(listing::of_sass(&text, &self.optimised.sources)))
    }

    /// What it was compiled for.
    pub fn target(&self) -> Target {
        self.target
    }
}
