//! Runs the programs of a grid on the cores of the machine.
//!
//! Each thread gets a contiguous part of the grid, for locality, and takes it in pieces; a thread that is done helps
//! the others. The calling thread takes part. It begins alone, because waking another takes longer than a small grid runs.

use crate::bounds::Bounds;
use crate::execute::Executor;
use crate::program::{Place, Program};
use crate::stream;
use crate::watch::Watch;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tegula_ir::{Diagnostic, Function, Span};

/// Pieces that each thread takes its part in.
const PIECES: usize = 16;

/// How a launch may run.
#[derive(Clone, Debug, Default)]
pub struct LaunchOptions {
    /// At most this many threads; `None` for one a core (or `TEGULA_NUM_THREADS`).
    pub threads: Option<usize>,
    /// The memory that accesses are checked against (`TEGULA_DEBUG=1`); `None` checks nothing.
    pub bounds: Option<Vec<ArrayRange>>,
    /// Asked now and then, on the calling thread, whether the launch shall stop before its end.
    pub interrupted: Option<fn() -> bool>,
}

/// The bytes of an array that was passed to a launch.
#[derive(Clone, Debug)]
pub struct ArrayRange {
    /// The parameter, for messages.
    pub name: String,
    pub address: usize,
    pub bytes: usize,
    /// Whether the kernel may write to it; a write elsewhere is refused like one out of bounds.
    pub writable: bool,
}

/// What stops a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// An access outside of the arrays, or a write to one that is not writable.
    OutOfBounds,
    /// A failed `device_assert`.
    Assertion,
    /// An index outside of a block, a grid that is too large, arguments that do not fit.
    Invalid,
    /// A fault of the back end itself.
    Internal,
    /// The caller, who was asked by `LaunchOptions::interrupted`.
    Interrupted,
}

/// Why a launch stopped.
#[derive(Clone, Debug)]
pub struct LaunchError {
    pub reason: StopReason,
    /// The fact: an access out of bounds, a failed `device_assert`.
    pub message: String,
    pub span: Span,
    /// The program of the grid in which it happened.
    pub program: [u32; 3],
}

impl LaunchError {
    /// An error that belongs to no instruction.
    pub fn outside(reason: StopReason, message: String) -> LaunchError {
        LaunchError { reason, message, span: Span::default(), program: [0; 3] }
    }
}

impl std::fmt::Display for LaunchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [x, y, z] = self.program;
        write!(f, "program ({x}, {y}, {z}): {}", self.message)
    }
}

impl std::error::Error for LaunchError {}

impl Program {
    /// Makes a verified function ready to run.
    ///
    /// # Errors
    /// The span and name of an operation that the CPU cannot run.
    pub fn new(function: Arc<Function>) -> Result<Program, Box<Diagnostic>> {
        crate::lower::lower(&function)
    }

    /// The function that is run.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// Runs every program of the grid.
    ///
    /// `arguments` has one entry a parameter of the function: integers sign- or zero-extended, floats as the bits of
    /// their type, pointers as addresses.
    ///
    /// # Errors
    /// What stopped the launch. The arrays that it wrote to are undefined then.
    ///
    /// # Safety
    /// Every address that the kernel computes and does not mask must be valid for its access.
    pub unsafe fn launch(
        &self,
        grid: [u32; 3],
        arguments: &[u64],
        options: &LaunchOptions,
    ) -> Result<(), LaunchError> {
        if arguments.len() != self.parameters.len() {
            let message = format!("{} arguments for {} parameters", arguments.len(), self.parameters.len());
            return Err(LaunchError::outside(StopReason::Invalid, message));
        }
        if let Some(index) = self.parameters.iter().position(|place| matches!(place, Place::Block(_))) {
            let name = &self.function.params[index].name;
            let message = format!("parameter `{name}` is a block, which cannot be passed to a launch");
            return Err(LaunchError::outside(StopReason::Invalid, message));
        }
        let Some(total) = grid.iter().try_fold(1usize, |total, &extent| total.checked_mul(extent as usize))
        else {
            let message = format!("a grid of {grid:?} programs is too large");
            return Err(LaunchError::outside(StopReason::Invalid, message));
        };
        if total == 0 {
            return Ok(());
        }
        let bounds = options.bounds.as_deref().map(Bounds::new);
        let interrupted = options.interrupted;
        let launch = Launch { program: self, grid, arguments, bounds: bounds.as_ref(), total, interrupted };
        let threads = options.threads.unwrap_or_else(default_threads).clamp(1, total);
        launch.run(threads)
    }
}

/// `TEGULA_NUM_THREADS`, or one thread a core.
fn default_threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let asked = std::env::var("TEGULA_NUM_THREADS").ok().and_then(|text| text.trim().parse().ok());
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        asked.filter(|&threads| threads > 0).unwrap_or_else(cores)
    })
}

/// The pools of a process by their number of threads.
struct Pools {
    process: u32,
    by_threads: Mutex<HashMap<usize, Arc<Helpers>>>,
}

impl Pools {
    /// Those of this process.
    fn get() -> &'static Pools {
        static CURRENT: AtomicPtr<Pools> = AtomicPtr::new(std::ptr::null_mut());
        let process = std::process::id();
        loop {
            let current = CURRENT.load(Ordering::Acquire);
            // SAFETY: what the pointer is set to is never freed.
            if let Some(pools) = unsafe { current.as_ref() }
                && pools.process == process
            {
                return pools;
            }
            // A fork copies the pools but not their threads, and the lock as it was: another thread may have held it, who is not
            // there to release it. So the pools of another process are not touched, and never dropped.
            let new = Box::into_raw(Box::new(Pools { process, by_threads: Mutex::default() }));
            if CURRENT.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // SAFETY: nobody else has seen it.
                drop(unsafe { Box::from_raw(new) });
            }
        }
    }
}

/// Threads that help the calling thread of one launch at a time.
struct Helpers {
    pool: ThreadPool,
    /// Whether a launch has them. Another that queued its work would wait for the end of the first.
    taken: AtomicBool,
}

/// So many threads, which live as long as the process.
fn helpers(threads: usize) -> Option<Arc<Helpers>> {
    let mut pools = Pools::get().by_threads.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(helpers) = pools.get(&threads) {
        return Some(helpers.clone());
    }
    let name = |index| format!("tegula-{index}");
    let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build().ok()?;
    let helpers = Arc::new(Helpers { pool, taken: AtomicBool::new(false) });
    pools.insert(threads, helpers.clone());
    Some(helpers)
}

struct Launch<'a> {
    program: &'a Program,
    grid: [u32; 3],
    arguments: &'a [u64],
    bounds: Option<&'a Bounds>,
    total: usize,
    interrupted: Option<fn() -> bool>,
}

/// A thread's part of the grid.
#[repr(align(128))]
struct Part {
    next: AtomicUsize,
    end: usize,
    piece: usize,
}

impl Part {
    /// The next piece, unless the part is used up.
    fn claim(&self) -> Option<std::ops::Range<usize>> {
        let start = self.next.fetch_add(self.piece, Ordering::Relaxed);
        (start < self.end).then(|| start..(start + self.piece).min(self.end))
    }
}

/// What the threads of a launch share.
#[derive(Default)]
struct Team {
    /// What each thread runs, once there are several.
    parts: OnceLock<Vec<Part>>,
    stop: AtomicBool,
    failure: Mutex<Option<LaunchError>>,
}

impl Team {
    /// Notes how a thread ended; an error stops the others.
    fn note(&self, outcome: Result<(), LaunchError>) {
        let Err(error) = outcome else { return };
        self.stop.store(true, Ordering::Relaxed);
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let rank = |error: &LaunchError| {
            let [x, y, z] = error.program;
            (error.reason == StopReason::Interrupted, z, y, x)
        };
        if failure.as_ref().is_none_or(|first| rank(&error) < rank(first)) {
            *failure = Some(error);
        }
    }

    fn outcome(self) -> Result<(), LaunchError> {
        match self.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Launch<'_> {
    fn run(&self, threads: usize) -> Result<(), LaunchError> {
        let team = Team::default();
        let begun = Cell::new(0);
        let helpers = if threads > 1 { helpers(threads - 1) } else { None };
        let Some(helpers) = helpers else {
            team.note(guarded(|| self.begin(&team, &begun, None)));
            return team.outcome();
        };
        helpers.pool.in_place_scope(|scope| {
            let share = || {
                if begun.get() == self.total {
                    return true;
                }
                if helpers.taken.swap(true, Ordering::Acquire) {
                    return false;
                }
                let team = &team;
                let parts = team.parts.get_or_init(|| self.split(begun.get(), threads));
                for index in 1..threads.min(1 + self.total - begun.get()) {
                    scope.spawn(move |_| team.note(guarded(|| self.work(parts, index, &team.stop))));
                }
                true
            };
            team.note(guarded(|| self.begin(&team, &begun, Some(&share))));
            if let Some(parts) = team.parts.get() {
                team.note(guarded(|| self.work(parts, 0, &team.stop)));
            }
        });
        if team.parts.get().is_some() {
            helpers.taken.store(false, Ordering::Release);
        }
        team.outcome()
    }

    /// Runs programs on the calling thread until they are shared out, which may happen in the middle of one: the others
    /// need not wait for it, and it may wait for others.
    fn begin(
        &self,
        team: &Team,
        begun: &Cell<usize>,
        share: Option<&dyn Fn() -> bool>,
    ) -> Result<(), LaunchError> {
        let mut executor = self.executor(Watch::new(&team.stop, self.interrupted, share))?;
        while begun.get() < self.total && team.parts.get().is_none() {
            let linear = begun.replace(begun.get() + 1);
            self.run_program(&mut executor, linear)?;
        }
        Ok(())
    }

    /// A part of the programs from `start` on for each thread.
    fn split(&self, start: usize, threads: usize) -> Vec<Part> {
        let left = self.total - start;
        let bound = |index: usize| start + left / threads * index + (left % threads).min(index);
        (0..threads)
            .map(|index| {
                let (start, end) = (bound(index), bound(index + 1));
                Part { next: AtomicUsize::new(start), end, piece: ((end - start) / PIECES).max(1) }
            })
            .collect()
    }

    fn executor<'l>(&'l self, watch: Watch<'l>) -> Result<Executor<'l>, LaunchError> {
        let mut executor =
            Executor::new(self.program, self.grid, self.arguments, self.bounds).map_err(|error| *error)?;
        executor.watch = Some(watch);
        Ok(executor)
    }

    /// Runs the programs of a thread's own part, then of the others'.
    fn work(&self, parts: &[Part], own: usize, stop: &AtomicBool) -> Result<(), LaunchError> {
        let interrupted = self.interrupted.filter(|_| own == 0);
        let mut executor = None;
        for index in 0..parts.len() {
            let part = &parts[(own + index) % parts.len()];
            while let Some(piece) = part.claim() {
                let executor = match &mut executor {
                    Some(executor) => executor,
                    None => executor.insert(self.executor(Watch::new(stop, interrupted, None))?),
                };
                for linear in piece {
                    if stop.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    self.run_program(executor, linear)?;
                }
            }
        }
        Ok(())
    }

    fn run_program(&self, executor: &mut Executor<'_>, linear: usize) -> Result<(), LaunchError> {
        let (x, y) = (self.grid[0] as usize, self.grid[1] as usize);
        let id = [linear % x, linear / x % y, linear / (x * y)].map(|index| index as u32);
        executor.go_on().and_then(|()| executor.run_program(id)).map_err(|error| *error)?;
        executor.ran += 1;
        let written = u128::from(executor.stored) * self.total as u128;
        executor.streaming = written > u128::from(executor.ran) * u128::from(stream::threshold());
        Ok(())
    }
}

/// Runs a part of a launch; a panic, which would be an error of the executor itself, becomes an error of the launch.
pub fn guarded<T>(run: impl FnOnce() -> Result<T, LaunchError>) -> Result<T, LaunchError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
        let message = format!("in the CPU back end: {}", panic_text(&*payload));
        Err(LaunchError::outside(StopReason::Internal, message))
    })
}

/// What a panic said.
pub fn panic_text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}
