//! One launch of a kernel: arguments bound to parameters, checked, and run.

use crate::argument::{Argument, Array, Kind};
use crate::error::Error;
use crate::grid::{Grid, Meta};
use crate::kernel::Kernel;
use std::cell::RefCell;
use std::sync::Arc;
use tegula_runtime::{ArrayRange, Constant, Executable, LaunchOptions, Specialization};

/// A launch being put together: made by [`Kernel::launch`], ended by [`Launch::run`].
///
/// A slice passed as `&x` may only be read by the kernel; one passed as `&mut x` may be written.
#[must_use = "nothing happens until `run` or `run_unchecked`"]
pub struct Launch<'a> {
    kernel: &'a Kernel,
    grid: Box<dyn Grid + 'a>,
    positional: Vec<Kind>,
    named: Vec<(String, Kind)>,
}

/// A launch whose arguments have been found to fit.
struct Prepared {
    executable: Arc<Executable>,
    grid: [u32; 3],
    leaves: Vec<u64>,
    ranges: Vec<ArrayRange>,
}

impl<'a> Launch<'a> {
    pub(crate) fn new(kernel: &'a Kernel, grid: Box<dyn Grid + 'a>) -> Launch<'a> {
        Launch { kernel, grid, positional: Vec::new(), named: Vec::new() }
    }

    /// The next argument, in the order of the parameters.
    pub fn arg(mut self, value: impl Into<Argument<'a>>) -> Launch<'a> {
        self.positional.push(value.into().kind);
        self
    }

    /// The argument of the parameter called `name`.
    pub fn named(mut self, name: impl Into<String>, value: impl Into<Argument<'a>>) -> Launch<'a> {
        self.named.push((name.into(), value.into().kind));
        self
    }

    /// A value for the compiler: an integer, a float, a truth value, a string, a [`Scalar`](crate::Scalar) type, or
    /// [`Constant::None`] in the place of a pointer that the kernel does without.
    pub fn constexpr(mut self, name: impl Into<String>, value: impl Into<Constant>) -> Launch<'a> {
        self.named.push((name.into(), Kind::Constant(value.into())));
        self
    }

    /// Runs the programs of the grid one after another, checking every access.
    ///
    /// # Errors
    /// [`Error::Call`] if the arguments do not fit, [`Error::Kernel`] if the kernel is ill-formed, or accesses memory outside the slices, writes to a
    /// shared slice, or fails a `device_assert`. What it has written by then stays written.
    pub fn run(self) -> Result<(), Error> {
        let Prepared { executable, grid, leaves, ranges } = self.prepare(true)?;
        let options = LaunchOptions { threads: Some(1), bounds: Some(ranges), interrupted: None };
        // SAFETY: every access is checked to lie in one of the slices, which live as long as `self`'s borrows, and a
        // write in one that is borrowed mutably; every bit pattern is a valid `Number`; a single thread cannot race.
        unsafe { executable.launch(grid, &leaves, &options) }?;
        Ok(())
    }

    /// Runs the programs of the grid on all cores, without checking accesses unless `TEGULA_DEBUG=1` is set.
    ///
    /// `TEGULA_NUM_THREADS` limits the cores.
    ///
    /// # Errors
    /// As those of [`Launch::run`], except that accesses outside the slices are only found with `TEGULA_DEBUG=1`.
    ///
    /// # Safety
    /// Every element that the kernel reads or writes, where its mask is true, must lie in one of the slices, those that it writes in
    /// one passed as `&mut`; and no two programs may access one element unless both read it or both use atomics.
    pub unsafe fn run_unchecked(self) -> Result<(), Error> {
        let debug = std::env::var_os("TEGULA_DEBUG").is_some_and(|value| value == "1");
        let Prepared { executable, grid, leaves, ranges } = self.prepare(debug)?;
        let options = LaunchOptions { threads: None, bounds: debug.then_some(ranges), interrupted: None };
        // SAFETY: the caller vouches for the accesses, and for the absence of races.
        unsafe { executable.launch(grid, &leaves, &options) }?;
        Ok(())
    }

    /// Finds out what is to be run. A launch whose accesses are `checked` needs no warnings about them.
    fn prepare(self, checked: bool) -> Result<Prepared, Error> {
        let (kernel, grid) = (self.kernel, self.grid);
        let arguments = bind(kernel, self.positional, self.named)?;

        let constants: Vec<(String, Constant)> = kernel
            .parameters()
            .iter()
            .zip(&arguments)
            .filter_map(|(parameter, argument)| Some((parameter.name.clone(), argument.constant()?)))
            .collect();
        let meta = Meta { constants: &constants, missing: RefCell::default() };
        let grid = grid.extents(&meta);
        if let Some(name) = meta.missing.into_inner() {
            return Err(kernel.call_error(format!(
                "the grid asks for `{name}`, which is no positive integer argument of this launch"
            )));
        }

        let mut leaves = Vec::new();
        let specialisations: Vec<Specialization> = arguments
            .iter()
            .map(|argument| argument.specialise(&mut leaves))
            .collect::<Result<_, tegula_runtime::Error>>()?;
        let executable = kernel.executable(&specialisations)?;
        refuse_shared_outputs(kernel, &executable, &arguments, &specialisations)?;

        let ranges: Vec<ArrayRange> = kernel
            .parameters()
            .iter()
            .zip(&arguments)
            .filter_map(|(parameter, argument)| match argument {
                Kind::Array(Array { address, bytes, writable, .. }) => Some(ArrayRange {
                    name: parameter.name.clone(),
                    address: *address,
                    bytes: *bytes,
                    writable: *writable,
                }),
                _ => None,
            })
            .collect();
        if !executable.is_checked(grid, &leaves) && tegula_runtime::warnings::enabled() {
            kernel.warn(executable.check_launch(grid, &leaves, (!checked).then_some(&ranges[..]))?);
        }
        Ok(Prepared { executable, grid, leaves, ranges })
    }
}

/// One argument a parameter.
pub(crate) fn bind(
    kernel: &Kernel,
    positional: Vec<Kind>,
    named: Vec<(String, Kind)>,
) -> Result<Vec<Kind>, Error> {
    let parameters = kernel.parameters();
    if positional.len() > parameters.len() {
        return Err(kernel.call_error(format!(
            "{} arguments were given, but there are {} parameters: {}",
            positional.len(),
            parameters.len(),
            kernel.listed()
        )));
    }
    let mut places: Vec<Option<Kind>> = positional.into_iter().map(Some).collect();
    places.resize_with(parameters.len(), || None);
    for (name, argument) in named {
        let place = &mut places[kernel.position(&name)?];
        if place.is_some() {
            return Err(kernel.call_error(format!("the parameter `{name}` was given twice")));
        }
        *place = Some(argument);
    }
    let mut arguments = Vec::with_capacity(parameters.len());
    let mut missing = Vec::new();
    for (index, (place, parameter)) in places.into_iter().zip(parameters).enumerate() {
        match place.or_else(|| kernel.default(index)) {
            None => missing.push(format!("`{}`", parameter.name)),
            Some(argument) if parameter.is_constexpr => match argument.constant() {
                Some(constant) => arguments.push(Kind::Constant(constant)),
                None => {
                    return Err(kernel.call_error(format!(
                        "the parameter `{}` is a constexpr, but a slice was given",
                        parameter.name
                    )));
                }
            },
            Some(argument) => arguments.push(argument),
        }
    }
    if missing.is_empty() {
        return Ok(arguments);
    }
    Err(kernel.call_error(format!("no argument was given for {}: {}", missing.join(", "), kernel.listed())))
}

/// Refuses a slice that the kernel writes to but that was not passed as a mutable one.
fn refuse_shared_outputs(
    kernel: &Kernel,
    executable: &Executable,
    arguments: &[Kind],
    specialisations: &[Specialization],
) -> Result<(), Error> {
    let mut written = executable.stored_through().iter();
    let run_time = |one: &Specialization| matches!(one, Specialization::Runtime { .. });
    for ((argument, specialisation), parameter) in
        arguments.iter().zip(specialisations).zip(kernel.parameters())
    {
        let written = run_time(specialisation) && written.next() == Some(&true);
        if written && matches!(argument, Kind::Array(Array { writable: false, .. })) {
            return Err(kernel.call_error(format!(
                "the kernel writes to `{0}`, but it was given as a shared slice; pass it as `&mut`",
                parameter.name
            )));
        }
    }
    Ok(())
}
