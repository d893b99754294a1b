//! The blocks of a cluster, whose warps take turns on one thread of the host.

use super::barrier::BlockBarrier;
use super::bulk::PendingBulk;
use super::collect::Collector;
use super::launch::Prepared;
use super::mbarrier::MbarrierState;
use super::warp::Warp;
use crate::order::{Actors, Knowledge, Shadow};
use crate::program::{RANK_SHIFT, SHARED_BASE};
use crate::report::FindingKind;
use rustc_hash::FxHashMap;
use tegula_ptx::Special;

/// A block of the cluster.
#[derive(Debug, Default)]
pub struct Block {
    /// The program of the grid.
    pub program: [u32; 3],
    /// Its number in the grid, in the order in which programs begin.
    pub number: u64,
    /// From address 0; variables begin at `SHARED_BASE`.
    pub shared: Vec<u8>,
    /// Of shared memory from `SHARED_BASE`.
    pub shadow: Shadow,
    pub barriers: [BlockBarrier; 16],
    pub printed: String,
}

/// How far a cluster has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Ended,
    GoesOn,
    Trapped,
}

/// A cluster that runs.
#[derive(Debug)]
pub struct Cluster<'l> {
    pub launch: &'l Prepared<'l>,
    pub blocks: Vec<Block>,
    pub warps: Vec<Warp>,
    pub actors: Actors,
    pub mbarriers: Vec<MbarrierState>,
    /// The places of mbarriers by address.
    pub mbarrier_places: FxHashMap<u32, usize>,
    /// Copies in the background that have not been carried out.
    pub pending: Vec<PendingBulk>,
    /// What was done to global memory, by pages.
    pub pages: FxHashMap<u64, Shadow>,
    /// What releases have passed on through places of memory.
    pub passed: FxHashMap<u64, Knowledge>,
    pub cluster_barrier: super::barrier::ClusterBarrierState,
    pub collector: Collector,
    /// Counts what may let a waiting warp go on.
    pub progress: u64,
    pub executed: u64,
    pub trapped: bool,
    random: u64,
    turn: usize,
}

impl<'l> Cluster<'l> {
    pub fn new(launch: &'l Prepared<'l>) -> Cluster<'l> {
        Cluster {
            launch,
            blocks: Vec::new(),
            warps: Vec::new(),
            actors: Actors::new(0),
            mbarriers: Vec::new(),
            mbarrier_places: FxHashMap::default(),
            pending: Vec::new(),
            pages: FxHashMap::default(),
            passed: FxHashMap::default(),
            cluster_barrier: Default::default(),
            collector: Collector::default(),
            progress: 0,
            executed: 0,
            trapped: false,
            random: 0,
            turn: 0,
        }
    }

    /// Begins the cluster of this number.
    pub fn begin(&mut self, number: u64) {
        let launch = self.launch;
        let program = launch.program;
        let [x, y, z] = launch.grid.map(u64::from);
        let size = u64::from(program.cluster);
        let first = number * size;
        let blocks = size.min(x * y * z - first) as usize;
        self.blocks.resize_with(blocks, Block::default);
        let per_block = launch.warps as usize;
        self.warps.resize_with(blocks * per_block, Warp::default);
        self.actors = Actors::new(self.warps.len());
        self.mbarriers.clear();
        self.mbarrier_places.clear();
        self.pending.clear();
        self.pages.clear();
        self.passed.clear();
        self.cluster_barrier = Default::default();
        self.progress = 0;
        self.executed = 0;
        self.trapped = false;
        self.random = (launch.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1;
        self.turn = 0;
        for rank in 0..blocks {
            let number = first + rank as u64;
            let block = &mut self.blocks[rank];
            block.program = [number % x, number / x % y, number / (x * y)].map(|place| place as u32);
            block.number = number;
            // What a kernel does not write is not zero.
            block.shared.clear();
            block.shared.resize((SHARED_BASE + launch.shared_bytes) as usize, 0xcd);
            block.shadow.reset(launch.shared_bytes as usize);
            block.barriers = Default::default();
            block.printed.clear();
            for index in 0..per_block {
                let place = rank * per_block + index;
                self.warps[place].begin(program, rank, index as u32, place as u16);
                self.set_specials(place, rank);
            }
        }
    }

    fn set_specials(&mut self, warp: usize, rank: usize) {
        let launch = self.launch;
        let program = launch.program;
        let own = &self.blocks[rank];
        let [ctaid, grid] = [own.program, launch.grid];
        let threads = program.required_threads.unwrap_or([launch.warps * 32, 1, 1]);
        let cluster = program.cluster;
        let number = own.number;
        let state = &mut self.warps[warp];
        let first = state.index * 32;
        for &(slot, special) in &program.specials {
            let of_lane = |lane: u32| {
                let thread = first + lane;
                let [tx, ty, _] = threads.map(|extent| extent.max(1));
                let ones = |count: u32| if count >= 32 { u32::MAX } else { (1 << count) - 1 };
                let value = match special {
                    Special::TidX => thread % tx,
                    Special::TidY => thread / tx % ty,
                    Special::TidZ => thread / (tx * ty),
                    Special::NtidX => threads[0],
                    Special::NtidY => threads[1],
                    Special::NtidZ => threads[2],
                    Special::CtaidX => ctaid[0],
                    Special::CtaidY => ctaid[1],
                    Special::CtaidZ => ctaid[2],
                    Special::NctaidX => grid[0],
                    Special::NctaidY => grid[1],
                    Special::NctaidZ => grid[2],
                    Special::LaneId => lane,
                    Special::WarpId => state.index,
                    Special::SmId => (number % 132) as u32,
                    Special::GridId => 1,
                    Special::Clock | Special::Clock64 | Special::GlobalTimer => 0,
                    Special::LanemaskLt => ones(lane),
                    Special::LanemaskLe => ones(lane + 1),
                    Special::LanemaskEq => 1 << lane,
                    Special::LanemaskGe => !ones(lane),
                    Special::LanemaskGt => !ones(lane + 1),
                    Special::ClusterCtaidX | Special::ClusterCtaRank => rank as u32,
                    Special::ClusterCtaidY | Special::ClusterCtaidZ => 0,
                    Special::ClusterNctaidX => cluster,
                    Special::ClusterIdX => ctaid[0] / cluster,
                    Special::NclusterIdX => grid[0] / cluster,
                    Special::DynamicSmemSize => launch.shared_bytes - program.static_shared_bytes,
                    Special::TotalSmemSize => launch.shared_bytes,
                };
                u64::from(value)
            };
            state.words[slot as usize] = std::array::from_fn(|lane| of_lane(lane as u32));
            state.set[slot as usize] = u32::MAX;
        }
        for &(slot, offset) in &program.data_addresses {
            state.fill(slot, launch.data + offset);
        }
        for &(slot, offset) in &program.shared_addresses {
            state.fill(slot, u64::from((rank as u32) << RANK_SHIFT | offset));
        }
    }

    /// A random number below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The generator of Marsaglia (2003).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound.max(1)
    }

    /// Whether the order of things is chosen at random.
    pub fn is_random(&self) -> bool {
        self.launch.seed != 0
    }

    /// Runs for about so many instructions.
    pub fn run(&mut self, budget: u64) -> Progress {
        let until = self.executed + budget;
        loop {
            if self.trapped {
                return Progress::Trapped;
            }
            if self.executed >= self.launch.instruction_limit {
                self.note_no_end();
                return Progress::Ended;
            }
            if self.executed >= until {
                return Progress::GoesOn;
            }
            if self.is_random() && !self.pending.is_empty() && self.below(4) == 0 {
                let index = self.below(self.pending.len() as u64) as usize;
                self.carry_out(index);
            }
            match self.next_warp() {
                Some(warp) => {
                    let quantum = if self.is_random() { 1 + self.below(200) } else { 100_000 };
                    self.run_warp(warp, quantum);
                }
                None if self.warps.iter().all(Warp::has_ended) => {
                    self.note_unfinished_stores();
                    while !self.pending.is_empty() {
                        self.carry_out(0);
                    }
                    self.end();
                    return Progress::Ended;
                }
                None if !self.pending.is_empty() => {
                    let last = self.pending.len() - 1;
                    let index = if self.is_random() { self.below(last as u64 + 1) as usize } else { 0 };
                    self.carry_out(index);
                }
                None => {
                    self.note_deadlock();
                    self.end();
                    return Progress::Ended;
                }
            }
        }
    }

    /// The next warp that may go on.
    fn next_warp(&mut self) -> Option<usize> {
        let count = self.warps.len();
        if self.is_random() {
            self.turn = self.below(count as u64) as usize;
        }
        for offset in 0..count {
            let warp = (self.turn + offset) % count;
            let state = &self.warps[warp];
            let can = |tried: Option<u64>| tried.is_none_or(|tried| tried != self.progress);
            if !state.has_ended() && state.fragments.iter().any(|fragment| can(fragment.tried)) {
                self.turn = (warp + 1) % count;
                return Some(warp);
            }
        }
        None
    }

    /// Runs a warp until it waits, gives way or has had its turn.
    fn run_warp(&mut self, warp: usize, quantum: u64) {
        for _ in 0..quantum {
            let state = &mut self.warps[warp];
            if std::mem::take(&mut state.yields) {
                return;
            }
            let progress = self.progress;
            let index = state.fragments.iter().position(|fragment| fragment.tried != Some(progress));
            let Some(index) = index else { return };
            self.step(warp, index);
            if self.trapped || self.executed >= self.launch.instruction_limit {
                return;
            }
        }
    }

    fn end(&mut self) {
        self.check_ended();
        for block in &mut self.blocks {
            if !block.printed.is_empty() {
                self.collector.printed.push((block.number, std::mem::take(&mut block.printed)));
            }
            self.collector.programs += 1;
        }
    }

    fn note_no_end(&mut self) {
        let limit = self.launch.instruction_limit;
        let warp = self.warps.iter().position(|warp| !warp.has_ended());
        let Some(warp) = warp else { return };
        let at = self.place_of(warp);
        self.fault(at, FindingKind::NoEnd, None, None, None, || {
            format!("the program has executed {limit} instructions and has not ended")
        });
    }
}
