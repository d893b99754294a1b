//! Runs the clusters of a grid on threads of the host.

use super::cluster::{Cluster, Progress};
use super::collect::Collector;
use super::global::{Array, Global};
use crate::program::Program;
use crate::report::{FindingKind, Report};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A number or an address, of which the parameter takes the lowest bytes.
    Word(u64),
    /// Bytes as they are, such as those of a tensor map.
    Bytes(Vec<u8>),
}

/// What is run.
#[derive(Clone, Debug)]
pub struct Launch {
    pub grid: [u32; 3],
    /// Warps of a block, unless the text says.
    pub warps: u32,
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// One a parameter.
    pub arguments: Vec<Argument>,
    /// All memory that may be accessed; without it, every address is believed.
    pub arrays: Option<Vec<Array>>,
}

/// How it is run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// 0 runs a warp until it waits, and background copies as late as may be; others choose at random.
    pub seed: u64,
    /// At most so many threads of the host; `None` for one a core.
    pub threads: Option<usize>,
    /// At most so many instructions of a block's warps; `None` for 10^10.
    pub instruction_limit: Option<u64>,
    /// Asked now and then whether the launch shall stop, on the calling thread.
    pub interrupted: Option<fn() -> bool>,
}

/// A launch with its memory in place.
#[derive(Debug)]
pub struct Prepared<'l> {
    pub program: &'l Program,
    pub grid: [u32; 3],
    pub warps: u32,
    pub shared_bytes: u32,
    pub parameters: Vec<u8>,
    pub global: Global,
    /// The address of the module's variables.
    pub data: u64,
    pub seed: u64,
    pub instruction_limit: u64,
}

/// Instructions that a cluster runs before its thread looks at others that are waiting.
const SLICE: u64 = 4_000_000;
/// Clusters that one thread has begun and not ended: those that wait for others in global memory are set aside.
const RESIDENT: usize = 64;
/// Programs up to which the calling thread runs alone, since beginning another takes as long.
const FEW: u64 = 1;

impl Program {
    /// Runs every program of a grid, and reports what went wrong in them.
    ///
    /// Too few or too many arguments, or warps beyond 32, are a finding of kind [`FindingKind::Invalid`].
    ///
    /// # Safety
    /// Every address that the kernel computes must be valid for its access, unless it is outside of the arrays passed, and no other thread may
    /// write to that memory meanwhile.
    pub unsafe fn launch(&self, launch: &Launch, options: &Options) -> Report {
        let mut data = vec![0u128; self.data.len().div_ceil(16)];
        // SAFETY: the words have at least as many bytes as the data, and any bytes are a number.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast::<u8>(), self.data.len()) };
        bytes.copy_from_slice(&self.data);
        let address = bytes.as_mut_ptr().expose_provenance() as u64;
        let mut global = Global::new(launch.arrays.clone());
        let own = |name: &str| Array {
            name: name.to_owned(),
            address,
            bytes: self.data.len() as u64,
            writable: true,
        };
        global.add(own("the module's variables"));
        let warps = self.required_threads.map_or(launch.warps, |[x, y, z]| (x * y * z).div_ceil(32));
        let mut parameters = vec![0; self.parameter_bytes as usize];
        for (place, argument) in self.parameters.iter().zip(&launch.arguments) {
            let target = &mut parameters[place.offset as usize..][..place.bytes as usize];
            let word;
            let source = match argument {
                Argument::Word(value) => {
                    word = value.to_le_bytes();
                    &word[..]
                }
                Argument::Bytes(bytes) => bytes,
            };
            let bytes = source.len().min(target.len());
            target[..bytes].copy_from_slice(&source[..bytes]);
        }
        let prepared = Prepared {
            program: self,
            grid: launch.grid,
            warps: warps.clamp(1, 32),
            shared_bytes: self.static_shared_bytes + launch.shared_bytes,
            parameters,
            global,
            data: address,
            seed: options.seed,
            instruction_limit: options.instruction_limit.unwrap_or(10_000_000_000),
        };
        let programs = launch.grid.iter().map(|&extent| u64::from(extent)).product::<u64>();
        let clusters = programs.div_ceil(u64::from(self.cluster));
        let available = std::thread::available_parallelism().map_or(1, |count| count.get());
        let threads = options.threads.unwrap_or(available).clamp(1, clusters.clamp(1, 1024) as usize);
        let state = Shared { next: AtomicU64::new(0), clusters, stop: AtomicBool::new(false) };
        let mut collectors = Vec::new();
        let mut interrupted = false;
        if threads == 1 || programs <= FEW {
            let (collector, was) = state.work(&prepared, options.interrupted);
            collectors.push(collector);
            interrupted |= was;
        } else {
            std::thread::scope(|scope| {
                let others: Vec<_> =
                    (1..threads).map(|_| scope.spawn(|| state.work(&prepared, None).0)).collect();
                let (collector, was) = state.work(&prepared, options.interrupted);
                collectors.push(collector);
                interrupted |= was;
                for other in others {
                    match other.join() {
                        Ok(collector) => collectors.push(collector),
                        Err(panic) => std::panic::resume_unwind(panic),
                    }
                }
            });
        }
        let mut report = Collector::report(self, collectors);
        report.interrupted = interrupted;
        report
    }
}

/// What the threads of a launch share.
struct Shared {
    /// The first cluster that nobody has begun: they begin in order, as on a GPU.
    next: AtomicU64,
    clusters: u64,
    /// Whether all shall stop, after a trap or an interruption.
    stop: AtomicBool,
}

impl Shared {
    /// Runs clusters until none is left; whether the caller interrupted.
    fn work(&self, launch: &Prepared<'_>, interrupted: Option<fn() -> bool>) -> (Collector, bool) {
        let mut collector = Collector::new(launch.program);
        let mut resident: VecDeque<Box<Cluster<'_>>> = VecDeque::new();
        let mut spare: Option<Box<Cluster<'_>>> = None;
        let mut may_begin = true;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return (collector, false);
            }
            if interrupted.is_some_and(|ask| ask()) {
                self.stop.store(true, Ordering::Relaxed);
                return (collector, true);
            }
            if may_begin && resident.len() < RESIDENT {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                if number < self.clusters {
                    let mut cluster = spare.take().unwrap_or_else(|| Box::new(Cluster::new(launch)));
                    cluster.begin(number);
                    resident.push_front(cluster);
                }
            }
            let Some(mut cluster) = resident.pop_front() else { return (collector, false) };
            std::mem::swap(&mut cluster.collector, &mut collector);
            let progress = cluster.run(SLICE);
            std::mem::swap(&mut cluster.collector, &mut collector);
            match progress {
                Progress::Ended => {
                    spare = Some(cluster);
                    may_begin = true;
                }
                // It may wait for a program that has not begun.
                Progress::GoesOn => {
                    resident.push_back(cluster);
                    may_begin = true;
                }
                Progress::Trapped => {
                    self.stop.store(true, Ordering::Relaxed);
                    return (collector, false);
                }
            }
            if collector.has_found(FindingKind::NoEnd) {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }
}
