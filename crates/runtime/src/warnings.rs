//! Warnings: what usually is a mistake in a kernel, and what goes wrong in a launch of it.
//!
//! [`Warning`]s are made by [`Executable::warnings`](crate::Executable::warnings) and
//! [`Executable::check_launch`](crate::Executable::check_launch); who delivers them keeps a [`Reported`] for each kernel, so that one place
//! is complained of once. `TEGULA_WARNINGS=0` silences all.

use rustc_hash::FxHashSet;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tegula_cpu::ArrayRange;
use tegula_ir::{Diagnostic, Element, Function, SourceMap};
use tegula_passes::{Launch, LaunchCheck};

/// Whether warnings are wanted: not with `TEGULA_WARNINGS=0`. The variable is read once.
pub fn enabled() -> bool {
    static ENABLED: OnceLock<bool> = OnceLock::new();
    *ENABLED.get_or_init(|| std::env::var_os("TEGULA_WARNINGS").is_none_or(|value| value != "0"))
}

/// One warning. `Display` gives the message with the quoted source lines, without colours.
#[derive(Clone, Debug)]
pub struct Warning {
    diagnostic: Diagnostic,
    sources: SourceMap,
}

impl Warning {
    /// What usually is a mistake in the source of a function.
    pub fn of_source(function: &Function) -> Vec<Warning> {
        Warning::all(function.warnings.clone(), function)
    }

    pub(crate) fn all(diagnostics: Vec<Diagnostic>, function: &Function) -> Vec<Warning> {
        let warning = |diagnostic| Warning { diagnostic, sources: function.sources.clone() };
        diagnostics.into_iter().map(warning).collect()
    }

    /// The fact, in one sentence.
    pub fn message(&self) -> &str {
        &self.diagnostic.message
    }

    /// The message with the quoted source lines, with terminal colours if `colour`.
    pub fn render(&self, colour: bool) -> String {
        self.diagnostic.render(&self.sources, colour)
    }

    /// File, line and column that it is about.
    pub fn place(&self) -> Option<(&str, u32, u32)> {
        let span = self.diagnostic.labels.first()?.span;
        let file = self.sources.get(span.file)?;
        let (line, column) = file.position(span.start);
        Some((&file.name, line, column))
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

/// The places that a kernel has been complained of, in all its variants.
#[derive(Debug, Default)]
pub struct Reported {
    places: Mutex<FxHashSet<(String, u32, u32)>>,
}

impl Reported {
    /// Whether nothing has been said of the place of a warning.
    pub fn is_new(&self, warning: &Warning) -> bool {
        Reported::key(warning).is_none_or(|key| !lock(&self.places).contains(&key))
    }

    /// Notes that something has been said of the place of a warning.
    pub fn note(&self, warning: &Warning) {
        if let Some(key) = Reported::key(warning) {
            lock(&self.places).insert(key);
        }
    }

    fn key(warning: &Warning) -> Option<(String, u32, u32)> {
        warning.place().map(|(file, line, column)| (file.to_owned(), line, column))
    }
}

/// Which launches of a kernel have been checked.
///
/// A launch whose integers and grid are all smaller than powers of two for which no offset wraps is not looked at again. Where some
/// offset would wrap at those powers, each launch with new arguments is.
#[derive(Debug)]
pub(crate) struct LaunchHistory {
    /// One a parameter, then one an axis of the grid: smaller magnitudes are known to be harmless.
    limits: Box<[AtomicU64]>,
    check: OnceLock<LaunchCheck>,
    /// What was looked at last.
    last: Mutex<Option<Looked>>,
}

/// A launch that was looked at.
#[derive(Debug, PartialEq, Eq)]
struct Looked {
    grid: [u32; 3],
    arguments: Box<[u64]>,
}

impl LaunchHistory {
    pub fn new(function: &Function) -> LaunchHistory {
        let limit = |element: Element| match element {
            Element::Scalar(scalar) if scalar.is_int() => 0,
            // Floats are no offsets, and an address is as good as any other.
            _ => u64::MAX,
        };
        let limits = function.params.iter().map(|param| limit(param.ty.element)).chain([0; 3]);
        let limits = limits.map(AtomicU64::new).collect();
        LaunchHistory { limits, check: OnceLock::new(), last: Mutex::default() }
    }

    /// Whether a launch needs no check.
    pub fn covers(&self, grid: [u32; 3], arguments: &[u64]) -> bool {
        let (of_arguments, of_grid) = self.limits.split_at(self.limits.len() - grid.len());
        let within = |limit: &AtomicU64, magnitude: u64| magnitude < limit.load(Ordering::Relaxed);
        let mut of_arguments = of_arguments.iter().zip(arguments);
        of_arguments.all(|(limit, &argument)| within(limit, magnitude(argument)))
            && of_grid.iter().zip(grid).all(|(limit, extent)| within(limit, extent.into()))
    }

    /// What is wrong with a launch that has not been checked; nothing, if it was the last to be.
    pub fn check(
        &self,
        function: &Function,
        grid: [u32; 3],
        arguments: &[u64],
        arrays: Option<&[ArrayRange]>,
    ) -> Vec<Diagnostic> {
        {
            let looked = Looked { grid, arguments: arguments.into() };
            let mut last = lock(&self.last);
            if last.as_ref() == Some(&looked) {
                return Vec::new();
            }
            *last = Some(looked);
        }
        let check = self.check.get_or_init(|| LaunchCheck::new(function));
        let arrays: Option<Vec<Range<u64>>> = arrays.map(|arrays| {
            let range = |array: &ArrayRange| array.address as u64..(array.address + array.bytes) as u64;
            arrays.iter().map(range).collect()
        });
        let launch = Launch { grid, arguments };
        let warnings = check.warnings(function, &launch, arrays.as_deref());
        self.extend(function, check, grid, arguments);
        warnings
    }

    /// Raises the limits to the next powers of two, if no offset wraps there.
    fn extend(&self, function: &Function, check: &LaunchCheck, grid: [u32; 3], arguments: &[u64]) {
        let raised: Vec<(&AtomicU64, u64)> = self
            .magnitudes(grid, arguments)
            .map(|(limit, magnitude)| {
                let power = magnitude.checked_add(1).and_then(u64::checked_next_power_of_two);
                (limit, power.unwrap_or(u64::MAX).max(limit.load(Ordering::Relaxed)))
            })
            .collect();
        let (of_arguments, of_grid) = raised.split_at(arguments.len());
        let largest = |(&argument, (_, limit)): (&u64, &(&AtomicU64, u64))| match *limit {
            u64::MAX => argument,
            limit if (argument as i64) < 0 => (limit - 1).wrapping_neg(),
            limit => limit - 1,
        };
        let arguments: Vec<u64> = arguments.iter().zip(of_arguments).map(largest).collect();
        let extent = |axis: usize| u32::try_from(of_grid[axis].1 - 1).unwrap_or(u32::MAX);
        let launch = Launch { grid: [extent(0), extent(1), extent(2)], arguments: &arguments };
        if check.offsets_fit(function, &launch) {
            for (limit, power) in raised {
                limit.fetch_max(power, Ordering::Relaxed);
            }
        }
    }

    fn magnitudes<'a>(
        &'a self,
        grid: [u32; 3],
        arguments: &'a [u64],
    ) -> impl Iterator<Item = (&'a AtomicU64, u64)> {
        let values = arguments.iter().copied().map(magnitude).chain(grid.map(u64::from));
        self.limits.iter().zip(values)
    }
}

/// How far an integer is from 0. Addresses and floats have a limit above which there is none.
fn magnitude(argument: u64) -> u64 {
    (argument as i64).unsigned_abs()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
