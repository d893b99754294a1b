//! Barriers of the block, the warp and the cluster, and fences.

use super::cluster::Cluster;
use super::fault::At;
use super::step::Flow;
use super::warp::{Waiting, lanes};
use crate::order::Knowledge;
use crate::program::{Condition, FenceKind, LANES, Operation, Slot};
use crate::report::FindingKind;
use tegula_ptx::{BarrierAction, BarrierReduction, ClusterBarrier};

/// One of the 16 barriers of a block.
#[derive(Clone, Debug, Default)]
pub struct BlockBarrier {
    /// Threads that have arrived since it last opened.
    arrived: u32,
    /// Threads that it waits for, as those that arrived say; all if none says.
    threads: Option<u32>,
    /// A step that arrived, for messages.
    step: u32,
    /// How often it has opened.
    opened: u64,
    /// What those that have arrived pass on.
    arriving: Knowledge,
    /// What everybody passed on by the time it last opened.
    released: Knowledge,
    /// The predicates of those that have arrived: whether all hold, how many do.
    all: bool,
    count: u32,
    /// The same, when it last opened.
    result: (bool, u32),
}

/// The barrier of a cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterBarrierState {
    arrived: u32,
    opened: u64,
    arriving: Knowledge,
    released: Knowledge,
    /// For each warp, the phase that it has arrived at and not waited for.
    phases: Vec<Option<u64>>,
}

impl Cluster<'_> {
    pub(super) fn synchronise(&mut self, at: At, operation: &Operation) -> Flow {
        match *operation {
            Operation::Barrier { action, aligned, id, threads } => {
                self.block_barrier(at, action, aligned, id, threads, None)
            }
            Operation::BarrierReduce { reduction, dst, id, threads, condition } => {
                let flow = self.block_barrier(at, BarrierAction::Sync, true, id, threads, Some(condition));
                if flow == Flow::Next {
                    let id = self.barrier_id(at, id);
                    let block = self.warps[at.warp].block;
                    let (all, count) = self.blocks[block].barriers[id].result;
                    let warp = &mut self.warps[at.warp];
                    match reduction {
                        BarrierReduction::Count => warp.write(dst, &[u64::from(count); LANES], at.lanes),
                        BarrierReduction::And => {
                            warp.write_predicate(dst, if all { u32::MAX } else { 0 }, at.lanes)
                        }
                        BarrierReduction::Or => {
                            warp.write_predicate(dst, if count > 0 { u32::MAX } else { 0 }, at.lanes);
                        }
                    }
                }
                flow
            }
            Operation::WarpBarrier { members } => {
                self.members(at, members);
                self.warps[at.warp].order.synchronise();
                Flow::Next
            }
            Operation::ClusterBarrier(kind) => self.cluster_barrier(at, kind),
            Operation::Fence(kind) => {
                let warp = &mut self.warps[at.warp];
                let all = at.lanes == warp.live;
                match kind {
                    FenceKind::Memory => warp.order.fence_memory(at.lanes, all),
                    FenceKind::Proxy { .. } => warp.order.fence_proxy(at.lanes, all),
                    FenceKind::MbarrierInit | FenceKind::Other => {}
                }
                if matches!(kind, FenceKind::MbarrierInit | FenceKind::Proxy { shared: true, .. }) {
                    self.fence_mbarriers(at);
                }
                Flow::Next
            }
            _ => Flow::Next,
        }
    }

    fn barrier_id(&mut self, at: At, id: Slot) -> usize {
        let first = lanes(at.lanes).next().unwrap_or(0);
        let id = self.warps[at.warp].row(id)[first];
        if id >= 16 {
            self.invalid(at, Some(first), || format!("there is no barrier {id}: a block has 16"));
        }
        id as usize & 15
    }

    /// Whether an aligned instruction is executed by all lanes that live.
    pub(super) fn check_aligned(&mut self, at: At) {
        let live = self.warps[at.warp].live;
        if at.lanes != live {
            let missing = live & !at.lanes;
            self.fault(at, FindingKind::Divergent, lanes(missing).next(), None, None, || {
                format!("lanes {missing:#010x} of the warp do not execute it with the rest")
            });
        }
    }

    fn block_barrier(
        &mut self,
        at: At,
        action: BarrierAction,
        aligned: bool,
        id: Slot,
        threads: Option<Slot>,
        condition: Option<Condition>,
    ) -> Flow {
        let id = self.barrier_id(at, id);
        let block = self.warps[at.warp].block;
        if let Some(Waiting::Block { opened, .. }) = self.warps[at.warp].fragments[at.fragment].waiting {
            self.try_open(block, id);
            let barrier = &self.blocks[block].barriers[id];
            if barrier.opened == opened {
                return Flow::WaitAt(Waiting::Block { id: id as u32, opened });
            }
            let warp = &mut self.warps[at.warp];
            let all = at.lanes == warp.live;
            warp.order.acquire(&barrier.released, at.lanes, all);
            return Flow::Next;
        }
        if aligned {
            self.check_aligned(at);
        }
        let first = lanes(at.lanes).next().unwrap_or(0);
        let threads = threads.map(|slot| self.warps[at.warp].row(slot)[first] as u32);
        if let Some(count) = threads
            && (count == 0 || count % 32 != 0)
        {
            self.invalid(at, Some(first), || format!("{count} threads are no whole number of warps"));
        }
        let warp = &mut self.warps[at.warp];
        let all = at.lanes == warp.live;
        if action == BarrierAction::Sync && all {
            warp.order.synchronise();
        }
        let known = warp.order.release(at.lanes, all);
        let holds = condition.map_or(0, |condition| {
            let holds = warp.predicate(condition.predicate);
            (if condition.negated { !holds } else { holds }) & at.lanes
        });
        let barrier = &mut self.blocks[block].barriers[id];
        if barrier.arrived == 0 {
            (barrier.all, barrier.count) = (true, 0);
            barrier.threads = threads;
        }
        let (others, other_step) = (barrier.threads, barrier.step);
        barrier.step = at.step;
        // A warp counts as a whole.
        barrier.arrived += if all { 32 } else { at.lanes.count_ones() };
        barrier.arriving.join(&known);
        barrier.all &= holds == at.lanes;
        barrier.count += holds.count_ones();
        let opened = barrier.opened;
        if others != threads {
            self.fault(at, FindingKind::Barrier, None, None, Some(other_step), || {
                let count = |threads: Option<u32>| threads.map_or("all".into(), |count| count.to_string());
                format!(
                    "barrier {id} is for {} threads here, and for {} elsewhere",
                    count(threads),
                    count(others)
                )
            });
        }
        self.try_open(block, id);
        match action {
            BarrierAction::Arrive => Flow::Next,
            BarrierAction::Sync if self.blocks[block].barriers[id].opened > opened => {
                let barrier = &self.blocks[block].barriers[id];
                let warp = &mut self.warps[at.warp];
                warp.order.acquire(&barrier.released, at.lanes, all);
                Flow::Next
            }
            BarrierAction::Sync => Flow::WaitAt(Waiting::Block { id: id as u32, opened }),
        }
    }

    /// Opens a barrier at which all that it waits for have arrived.
    fn try_open(&mut self, block: usize, id: usize) {
        let ended = self.warps.iter().filter(|warp| warp.block == block && warp.has_ended()).count() as u32;
        let total = self.launch.warps * 32;
        let barrier = &mut self.blocks[block].barriers[id];
        if barrier.arrived == 0 {
            return;
        }
        let wanted = barrier.threads.unwrap_or(total - 32 * ended);
        if barrier.arrived < wanted {
            return;
        }
        let (step, incomplete) = (barrier.step, barrier.threads.is_none() && ended > 0);
        let excess = barrier.arrived > wanted;
        barrier.arrived = 0;
        barrier.opened += 1;
        barrier.result = (barrier.all, barrier.count);
        let arriving = std::mem::take(&mut barrier.arriving);
        barrier.released.join(&arriving);
        self.progress += 1;
        if incomplete || excess {
            let warp = self.warps.iter().position(|warp| warp.block == block && !warp.has_ended());
            let at = At { step, ..self.place_of(warp.unwrap_or(0)) };
            self.fault(at, FindingKind::Barrier, None, None, None, || {
                if excess {
                    format!("more threads arrive at barrier {id} than it waits for")
                } else {
                    format!("{ended} warps have ended without coming to barrier {id}")
                }
            });
        }
    }

    fn cluster_barrier(&mut self, at: At, kind: ClusterBarrier) -> Flow {
        self.check_aligned(at);
        let count = self.warps.len();
        let warp = &mut self.warps[at.warp];
        let state = &mut self.cluster_barrier;
        state.phases.resize(count, None);
        match kind {
            ClusterBarrier::Arrive | ClusterBarrier::ArriveRelaxed => {
                let twice = state.phases[at.warp].is_some();
                state.phases[at.warp] = Some(state.opened);
                if kind == ClusterBarrier::Arrive {
                    warp.order.synchronise();
                    let known = warp.order.release(at.lanes, true);
                    state.arriving.join(&known);
                }
                state.arrived += 1;
                if state.arrived as usize >= count {
                    state.arrived = 0;
                    state.opened += 1;
                    let arriving = std::mem::take(&mut state.arriving);
                    state.released.join(&arriving);
                    self.progress += 1;
                }
                if twice {
                    self.fault(at, FindingKind::Barrier, None, None, None, || {
                        "the warp arrives at the cluster's barrier again without having waited".into()
                    });
                }
                Flow::Next
            }
            ClusterBarrier::Wait => match state.phases[at.warp] {
                None => {
                    self.fault(at, FindingKind::Barrier, None, None, None, || {
                        "the warp waits at the cluster's barrier without having arrived".into()
                    });
                    Flow::Next
                }
                Some(phase) if state.opened > phase => {
                    state.phases[at.warp] = None;
                    let released = state.released.clone();
                    warp.order.acquire(&released, at.lanes, true);
                    Flow::Next
                }
                Some(_) => Flow::Wait,
            },
        }
    }

    /// Notes who waits for what when nobody can go on.
    pub(super) fn note_deadlock(&mut self) {
        for warp in 0..self.warps.len() {
            for index in 0..self.warps[warp].fragments.len() {
                let fragment = &self.warps[warp].fragments[index];
                let at = At { warp, fragment: index, step: fragment.step, lanes: fragment.lanes };
                let lane = lanes(at.lanes).next();
                let waiting = fragment.waiting;
                let block = self.warps[warp].block;
                let ended =
                    self.warps.iter().filter(|other| other.block == block && other.has_ended()).count();
                match waiting {
                    Some(Waiting::Block { id, .. }) => {
                        let barrier = &self.blocks[block].barriers[id as usize];
                        let (arrived, total) =
                            (barrier.arrived, barrier.threads.unwrap_or(self.launch.warps * 32));
                        self.fault(at, FindingKind::Barrier, lane, None, None, || {
                            format!(
                                "barrier {id} waits for {total} threads, {arrived} have come, and nobody can go on \
                                 ({ended} warps have ended)"
                            )
                        });
                    }
                    None => self.fault(at, FindingKind::Deadlock, lane, None, None, || {
                        format!(
                            "nobody can go on: the warp waits here ({ended} warps of the block have ended)"
                        )
                    }),
                }
            }
        }
    }

    /// What must hold when all warps have ended.
    pub(super) fn check_ended(&mut self) {
        for block in 0..self.blocks.len() {
            for id in 0..16 {
                let barrier = &self.blocks[block].barriers[id];
                let (arrived, step) = (barrier.arrived, barrier.step);
                let waits = self.warps.iter().any(|warp| !warp.has_ended());
                if arrived > 0 && !waits {
                    let warp = self.warps.iter().position(|warp| warp.block == block).unwrap_or(0);
                    let at = At { warp, fragment: 0, step, lanes: 0 };
                    self.fault(at, FindingKind::Barrier, None, None, None, || {
                        format!(
                            "{arrived} threads have arrived at barrier {id}, and nobody has waited for them"
                        )
                    });
                }
            }
        }
        self.check_warpgroups();
    }

    /// `setmaxnreg`: all warps of a warpgroup, and all lanes of a warp, change together.
    pub(super) fn set_max_registers(&mut self, at: At) {
        self.check_aligned(at);
    }
}
