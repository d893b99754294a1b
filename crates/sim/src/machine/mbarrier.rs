//! mbarriers: phases that count arrivals and bytes.
//!
//! The bytes of a phase are an actor of their own: whoever sees that the phase is complete comes after all that they wrote.

use super::access::{Proxy, Touch, split};
use super::cluster::Cluster;
use super::fault::At;
use super::step::Flow;
use super::warp::lanes;
use crate::order::{Knowledge, Lane, Record};
use crate::program::{LANES, Mbarrier, Place, WaitPhase, Window};
use crate::report::FindingKind;
use tegula_ptx::MbarrierArriveOp;

/// Bytes of an mbarrier, and its alignment.
const BYTES: u32 = 8;

/// An mbarrier in shared memory.
#[derive(Clone, Debug, Default)]
pub struct MbarrierState {
    /// The address, with the block's rank.
    pub address: u32,
    /// Arrivals that later phases expect.
    expected: i64,
    /// Arrivals that this phase still waits for.
    pending: i64,
    /// Bytes that this phase still waits for.
    bytes: i64,
    /// Whether it has been made, and not given up since.
    is_live: bool,
    /// Phases that are complete.
    phase: u32,
    /// The same, with those of the mbarriers that were in this place before.
    completed: u32,
    /// What those that have arrived in this phase pass on.
    arriving: Knowledge,
    /// What those of complete phases have passed on.
    released: Knowledge,
    /// The access that made it.
    made: Option<Record>,
    /// Whether its making is visible to the async proxy.
    pub fenced: bool,
}

impl MbarrierState {
    /// The epoch of the bytes that are counted now.
    pub fn epoch(&self) -> u32 {
        self.completed + 1
    }
}

impl Cluster<'_> {
    pub(super) fn mbarrier(&mut self, at: At, operation: &Mbarrier) -> Flow {
        match *operation {
            Mbarrier::Init { place, count } => {
                for lane in lanes(at.lanes) {
                    let count = self.warps[at.warp].row(count)[lane] as u32;
                    self.make_mbarrier(at, lane, self.address(at, place, lane) as u32, count);
                }
            }
            Mbarrier::Invalidate { place } => {
                for lane in lanes(at.lanes) {
                    if let Some(index) = self.known_mbarrier(at, place, lane) {
                        self.touch_mbarrier(at, lane, index, true);
                        self.mbarriers[index].is_live = false;
                    }
                }
            }
            Mbarrier::Transaction { complete, place, bytes } => {
                for lane in lanes(at.lanes) {
                    let bytes = self.warps[at.warp].row(bytes)[lane] as u32;
                    if let Some(index) = self.known_mbarrier(at, place, lane) {
                        self.touch_mbarrier(at, lane, index, false);
                        self.mbarriers[index].bytes +=
                            if complete { -i64::from(bytes) } else { bytes.into() };
                        self.try_complete(at, index);
                    }
                }
            }
            Mbarrier::Arrive { op, state, place, count, release } => {
                let mut phases = [0; LANES];
                for lane in lanes(at.lanes) {
                    let count = count.map(|slot| self.warps[at.warp].row(slot)[lane] as u32);
                    if let Some(index) = self.known_mbarrier(at, place, lane) {
                        self.touch_mbarrier(at, lane, index, false);
                        phases[lane] = u64::from(self.mbarriers[index].phase);
                        self.arrive(at, lane, index, op, count, release);
                    }
                }
                if let Some(slot) = state {
                    self.warps[at.warp].write(slot, &phases, at.lanes);
                }
            }
            Mbarrier::Wait { complete, place, phase, suspend, acquire } => {
                return self.wait_for_mbarrier(at, complete, place, phase, suspend, acquire);
            }
            Mbarrier::AsyncArrive { expected, place } => {
                for lane in lanes(at.lanes) {
                    if let Some(index) = self.known_mbarrier(at, place, lane) {
                        self.touch_mbarrier(at, lane, index, false);
                        self.arrive_with_copies(at, lane, index, expected);
                    }
                }
            }
        }
        Flow::Next
    }

    fn make_mbarrier(&mut self, at: At, lane: usize, address: u32, count: u32) {
        if !self.is_valid(at, lane, Window::Shared(address), BYTES, BYTES, true) {
            return;
        }
        if count == 0 || count >= 1 << 20 {
            self.invalid(at, Some(lane), || {
                format!("an mbarrier of {count} arrivals: there may be 1 to 2^20 - 1")
            });
        }
        let place = self.mbarrier_places.get(&address).copied();
        if place.is_some_and(|index| self.mbarriers[index].is_live) {
            self.invalid(at, Some(lane), || {
                "there is an mbarrier already, which nothing has invalidated".into()
            });
        }
        let touch = self.touch(at, lane, true, false);
        self.touch_shared(at, address, BYTES, touch);
        self.write_shared(address, BYTES, u64::from(count));
        // One in the place of another is the same actor, in later epochs.
        let index = place.unwrap_or_else(|| {
            self.mbarrier_places.insert(address, self.mbarriers.len());
            self.mbarriers.push(MbarrierState::default());
            self.mbarriers.len() - 1
        });
        let before = std::mem::take(&mut self.mbarriers[index]);
        self.mbarriers[index] = MbarrierState {
            address,
            is_live: true,
            completed: before.completed + u32::from(place.is_some()),
            expected: count.into(),
            pending: count.into(),
            made: Some(touch.record),
            ..MbarrierState::default()
        };
    }

    /// The mbarrier at an address that a lane computes; if there is none, that is a finding.
    fn known_mbarrier(&mut self, at: At, place: Place, lane: usize) -> Option<usize> {
        self.mbarrier_at(at, lane, self.address(at, place, lane) as u32)
    }

    /// The mbarrier at an address; if there is none, that is a finding.
    pub(super) fn mbarrier_at(&mut self, at: At, lane: usize, address: u32) -> Option<usize> {
        let index =
            self.mbarrier_places.get(&address).copied().filter(|&index| self.mbarriers[index].is_live);
        if index.is_none() {
            let inside = Some(u64::from(split(address).1));
            self.fault(at, FindingKind::Uninitialised, Some(lane), inside, None, || {
                "there is no mbarrier: `mbarrier.init` has not been executed for this place".into()
            });
        }
        index
    }

    /// An operation on an mbarrier comes after its making, and before its end.
    fn touch_mbarrier(&mut self, at: At, lane: usize, index: usize, ends: bool) {
        let address = self.mbarriers[index].address;
        let mut touch = self.touch(at, lane, ends, !ends);
        touch.changes_nothing = false;
        self.touch_shared(at, address, BYTES, touch);
    }

    fn arrive(
        &mut self,
        at: At,
        lane: usize,
        index: usize,
        op: MbarrierArriveOp,
        count: Option<u32>,
        release: bool,
    ) {
        if release {
            let warp = &mut self.warps[at.warp];
            let known = warp.order.release(1 << lane, warp.live == 1 << lane);
            self.mbarriers[index].arriving.join(&known);
        }
        let barrier = &mut self.mbarriers[index];
        let mut arrivals = 1;
        match op {
            MbarrierArriveOp::ArriveExpectTransaction => barrier.bytes += i64::from(count.unwrap_or(0)),
            MbarrierArriveOp::ArriveDrop => {
                arrivals = i64::from(count.unwrap_or(1));
                barrier.expected -= arrivals;
            }
            MbarrierArriveOp::Arrive => arrivals = i64::from(count.unwrap_or(1)),
        }
        barrier.pending -= arrivals;
        if barrier.pending < 0 {
            barrier.pending = 0;
            let address = Some(u64::from(split(barrier.address).1));
            self.fault(at, FindingKind::Barrier, Some(lane), address, None, || {
                "more arrive at the mbarrier than its phase expects".into()
            });
        }
        self.try_complete(at, index);
    }

    /// Bytes have come.
    pub(super) fn complete_bytes(&mut self, at: At, index: usize, bytes: u32) {
        self.mbarriers[index].bytes -= i64::from(bytes);
        self.try_complete(at, index);
    }

    fn try_complete(&mut self, at: At, index: usize) {
        let barrier = &mut self.mbarriers[index];
        if barrier.pending > 0 || barrier.bytes != 0 {
            return;
        }
        barrier.phase += 1;
        barrier.completed += 1;
        barrier.pending = barrier.expected;
        let arriving = std::mem::take(&mut barrier.arriving);
        barrier.released.join(&arriving);
        self.progress += 1;
        self.warps[at.warp].yields |= self.is_random();
    }

    fn wait_for_mbarrier(
        &mut self,
        at: At,
        complete: u32,
        place: Place,
        phase: WaitPhase,
        suspend: bool,
        acquire: bool,
    ) -> Flow {
        let mut done = 0u32;
        let mut wanted = 0u32;
        for lane in lanes(at.lanes) {
            let Some(index) = self.known_mbarrier(at, place, lane) else {
                // Whoever waits in vain would wait forever.
                done |= 1 << lane;
                continue;
            };
            wanted |= 1 << lane;
            self.touch_mbarrier(at, lane, index, false);
            let barrier = &self.mbarriers[index];
            let is_done = match phase {
                WaitPhase::State(slot) => u64::from(barrier.phase) > self.warps[at.warp].row(slot)[lane],
                WaitPhase::Parity(slot) => {
                    self.warps[at.warp].row(slot)[lane] as u32 & 1 != barrier.phase & 1
                }
            };
            done |= u32::from(is_done) << lane;
        }
        // A suspended thread may be woken before; that it is not is the schedule that shows who waits in vain.
        if suspend && wanted & !done != 0 {
            return Flow::Wait;
        }
        if acquire {
            self.acquire_phases(at, place, wanted & done);
        }
        let warp = &mut self.warps[at.warp];
        warp.write_predicate(complete, done, at.lanes);
        // Others go on meanwhile.
        warp.yields |= done != at.lanes;
        Flow::Next
    }

    /// Lanes come after the complete phases of their mbarriers.
    fn acquire_phases(&mut self, at: At, place: Place, mut waiting: u32) {
        while waiting != 0 {
            let address = |lane: usize| self.address(at, place, lane) as u32;
            let first = address(waiting.trailing_zeros() as usize);
            let together =
                lanes(waiting).filter(|&lane| address(lane) == first).fold(0, |all, lane| all | 1 << lane);
            waiting &= !together;
            let Some(&index) = self.mbarrier_places.get(&first) else { continue };
            let barrier = &self.mbarriers[index];
            let actor = self.actors.mbarrier(index);
            let warp = &mut self.warps[at.warp];
            let all = together == warp.live;
            warp.order.acquire(&barrier.released, together, all);
            warp.order.learn_async(actor, barrier.completed, together, all);
        }
    }

    /// Copies of a lane that complete an mbarrier's phase with it.
    fn arrive_with_copies(&mut self, at: At, lane: usize, index: usize, expected: bool) {
        let own = At { lanes: 1 << lane, ..at };
        let (actor, epoch) = (self.actors.mbarrier(index), self.mbarriers[index].epoch());
        for copy in self.take_copies(own, |_| true) {
            let record = Record::new(actor, Lane::One(copy.lane), epoch, copy.step);
            self.finish_copy(&copy, record);
        }
        if expected {
            self.arrive(at, lane, index, MbarrierArriveOp::Arrive, None, false);
        }
    }

    /// What the executing lanes know to be made is visible to the async proxy.
    pub(super) fn fence_mbarriers(&mut self, at: At) {
        let order = &self.warps[at.warp].order;
        for barrier in &mut self.mbarriers {
            if let Some(made) = barrier.made
                && !barrier.fenced
            {
                barrier.fenced = lanes(at.lanes).any(|lane| order.follows(made, Lane::One(lane as u8)));
            }
        }
    }

    /// What a background copy that an mbarrier counts does to shared memory.
    pub(super) fn touch_of_mbarrier(&self, at: At, lane: usize, index: usize) -> Touch {
        let record =
            Record::new(self.actors.mbarrier(index), Lane::Whole, self.mbarriers[index].epoch(), at.step);
        Touch {
            lane: Lane::One(lane as u8),
            record,
            writes: true,
            proxy: Proxy::Async,
            changes_nothing: false,
        }
    }
}
