//! Runs the programs of a grid on the cores of the machine.
//!
//! Each thread gets a contiguous part of the grid, for locality, and takes it in pieces; a thread that is done helps
//! the others. The calling thread takes part. It begins alone, because waking another takes longer than a small grid runs.

use crate::bounds::Bounds;
use crate::execute::Executor;
use crate::program::Program;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tegula_ir::{Diagnostic, Function, Span};

/// How long the calling thread works alone.
const ALONE: Duration = Duration::from_micros(10);
/// Pieces that each thread takes its part in.
const PIECES: usize = 16;

/// How a launch may run.
#[derive(Clone, Debug, Default)]
pub struct LaunchOptions {
    /// At most this many threads; `None` for one a core (or `TEGULA_NUM_THREADS`).
    pub threads: Option<usize>,
    /// The memory that accesses are checked against (`TEGULA_DEBUG=1`); `None` checks nothing.
    pub bounds: Option<Vec<ArrayRange>>,
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
    fn outside(reason: StopReason, message: String) -> LaunchError {
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
        let Some(total) = grid.iter().try_fold(1usize, |total, &extent| total.checked_mul(extent as usize))
        else {
            let message = format!("a grid of {grid:?} programs is too large");
            return Err(LaunchError::outside(StopReason::Invalid, message));
        };
        if total == 0 {
            return Ok(());
        }
        let bounds = options.bounds.as_deref().map(Bounds::new);
        let launch = Launch { program: self, grid, arguments, bounds: bounds.as_ref(), total };
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

/// The pool with this many threads, which lives as long as the process.
fn pool(threads: usize) -> Option<Arc<ThreadPool>> {
    static POOLS: Mutex<Option<HashMap<usize, Arc<ThreadPool>>>> = Mutex::new(None);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let pools = pools.get_or_insert_default();
    if let Some(pool) = pools.get(&threads) {
        return Some(pool.clone());
    }
    let name = |index| format!("tegula-{index}");
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build().ok()?);
    pools.insert(threads, pool.clone());
    Some(pool)
}

struct Launch<'a> {
    program: &'a Program,
    grid: [u32; 3],
    arguments: &'a [u64],
    bounds: Option<&'a Bounds>,
    total: usize,
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

impl Launch<'_> {
    fn run(&self, threads: usize) -> Result<(), LaunchError> {
        let alone = || -> Result<usize, LaunchError> {
            let mut executor = self.executor()?;
            let begun = Instant::now();
            let mut done = 0;
            while done < self.total {
                self.run_program(&mut executor, done)?;
                done += 1;
                if threads > 1 && begun.elapsed() > ALONE {
                    break;
                }
            }
            Ok(done)
        };
        let done = guarded(alone)?;
        if done == self.total {
            return Ok(());
        }
        let Some(pool) = pool(threads - 1) else {
            return guarded(|| self.work(&[self.part(done, self.total)], 0, &AtomicBool::new(false)));
        };
        let left = self.total - done;
        let bound = |index: usize| done + left / threads * index + (left % threads).min(index);
        let parts: Vec<Part> = (0..threads).map(|index| self.part(bound(index), bound(index + 1))).collect();
        let stop = AtomicBool::new(false);
        let failure: Mutex<Option<LaunchError>> = Mutex::new(None);
        let work = |index: usize| {
            if let Err(error) = guarded(|| self.work(&parts, index, &stop)) {
                stop.store(true, Ordering::Relaxed);
                let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                let order = |id: [u32; 3]| [id[2], id[1], id[0]];
                if failure.as_ref().is_none_or(|first| order(error.program) < order(first.program)) {
                    *failure = Some(error);
                }
            }
        };
        pool.in_place_scope(|scope| {
            for index in 1..threads {
                let work = &work;
                scope.spawn(move |_| work(index));
            }
            work(0);
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn part(&self, start: usize, end: usize) -> Part {
        Part { next: AtomicUsize::new(start), end, piece: ((end - start) / PIECES).max(1) }
    }

    fn executor(&self) -> Result<Executor<'_>, LaunchError> {
        Executor::new(self.program, self.grid, self.arguments, self.bounds).map_err(|error| *error)
    }

    /// Runs the programs of a thread's own part, then of the others'.
    fn work(&self, parts: &[Part], own: usize, stop: &AtomicBool) -> Result<(), LaunchError> {
        let mut executor = None;
        for index in 0..parts.len() {
            let part = &parts[(own + index) % parts.len()];
            while let Some(piece) = part.claim() {
                let executor = match &mut executor {
                    Some(executor) => executor,
                    None => executor.insert(self.executor()?),
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
        executor.run_program(id).map_err(|error| *error)
    }
}

/// Runs a part of a launch; a panic, which would be an error of the executor itself, becomes an error of the launch.
fn guarded<T>(run: impl FnOnce() -> Result<T, LaunchError>) -> Result<T, LaunchError> {
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
