//! `cp.async`: copies by each thread, in groups.
//!
//! The data arrives at the last moment: when the thread waits. Until then whoever accesses the place is at fault.

use super::access::{Proxy, Touch};
use super::cluster::Cluster;
use super::fault::At;
use super::global;
use super::warp::{PendingCopy, lanes};
use crate::order::{Lane, Record};
use crate::program::{AccessSpace, LANES, Place, SHARED_BASE, Slot, Window};
use smallvec::SmallVec;
use tegula_ptx::AsyncGroup;

impl Cluster<'_> {
    pub(super) fn async_copy(&mut self, at: At, dst: Place, source: Place, bytes: u32, read: Option<Slot>) {
        let mut addresses = [None; LANES];
        for lane in lanes(at.lanes) {
            let to = self.address(at, dst, lane) as u32;
            if !self.is_valid(at, lane, Window::Shared(to), bytes, bytes, true) {
                continue;
            }
            let read = read.map_or(bytes, |slot| (self.warps[at.warp].row(slot)[lane] as u32).min(bytes));
            let from = self.address(at, source, lane);
            let mut data: SmallVec<[u8; 16]> = smallvec::smallvec![0; bytes as usize];
            // An address from which nothing is read may be any.
            if read > 0 {
                if !self.is_valid(at, lane, Window::Global(from), read, bytes, false) {
                    continue;
                }
                let touch = self.touch(at, lane, false, false);
                self.touch_global(at, from, read, touch);
                for (index, byte) in data.iter_mut().take(read as usize).enumerate() {
                    // SAFETY: the bytes are within an array, or believed.
                    *byte = unsafe { global::read(from + index as u64, 1) } as u8;
                }
                addresses[lane] = Some(from);
                self.collector.traffic.global_read += u64::from(read);
            }
            let actor = self.warps[at.warp].order.record(Lane::One(lane as u8), at.step).actor();
            let record = Record::in_flight(actor, lane as u8, at.step);
            let lane_of = Lane::One(lane as u8);
            let touch =
                Touch { lane: lane_of, record, writes: true, proxy: Proxy::Generic, changes_nothing: false };
            self.touch_shared(at, to, bytes, touch);
            self.collector.traffic.shared_written += u64::from(bytes);
            let warp = &mut self.warps[at.warp];
            let group = warp.copy_groups[lane];
            warp.copies.push(PendingCopy { lane: lane as u8, group, dst: to, data, step: at.step });
        }
        self.count_access(at, AccessSpace::Global, false, &addresses, bytes);
    }

    pub(super) fn async_group(&mut self, at: At, group: AsyncGroup) {
        match group {
            AsyncGroup::Commit => {
                for lane in lanes(at.lanes) {
                    self.warps[at.warp].copy_groups[lane] += 1;
                }
            }
            AsyncGroup::Wait(pending) => {
                let committed = self.warps[at.warp].copy_groups;
                let copies =
                    self.take_copies(at, |copy| copy.group + pending < committed[usize::from(copy.lane)]);
                self.finish_own(at, copies);
            }
            AsyncGroup::WaitAll => {
                let copies = self.take_copies(at, |_| true);
                self.finish_own(at, copies);
            }
        }
    }

    /// Takes the copies of the executing lanes that `wanted` chooses.
    pub(super) fn take_copies(&mut self, at: At, wanted: impl Fn(&PendingCopy) -> bool) -> Vec<PendingCopy> {
        let copies = &mut self.warps[at.warp].copies;
        let chosen = |copy: &PendingCopy| at.lanes >> copy.lane & 1 == 1 && wanted(copy);
        let (taken, left) = std::mem::take(copies).into_iter().partition(chosen);
        *copies = left;
        taken
    }

    /// The thread has waited: the copies are writes of its own.
    fn finish_own(&mut self, at: At, copies: Vec<PendingCopy>) {
        for copy in copies {
            let order = &self.warps[at.warp].order;
            let record = order.record(Lane::One(copy.lane), copy.step);
            self.finish_copy(&copy, record);
        }
    }

    /// Data arrives, as a write that `record` tells of.
    pub(super) fn finish_copy(&mut self, copy: &PendingCopy, record: Record) {
        let bytes = copy.data.len() as u32;
        self.shared_bytes_mut(copy.dst, bytes).copy_from_slice(&copy.data);
        let (rank, inside) = super::access::split(copy.dst);
        // What it conflicts with was found when it began.
        self.blocks[rank].shadow.access(inside - SHARED_BASE, bytes, record, true, |_, _| {});
    }
}
