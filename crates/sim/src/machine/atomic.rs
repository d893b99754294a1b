//! Atomic operations.

use super::cluster::Cluster;
use super::fault::At;
use super::global;
use super::reduction::reduced;
use super::warp::lanes;
use crate::program::{AtomicAccess, LANES, Window, mask};
use crate::report::FindingKind;
use smallvec::SmallVec;
use tegula_ptx::AtomicOp;

impl Cluster<'_> {
    pub(super) fn atomic(&mut self, at: At, access: &AtomicAccess) {
        let bytes = access.ty.bits() / 8;
        let total = bytes * access.values.len() as u32;
        let mut results: SmallVec<[[u64; LANES]; 1]> = smallvec::smallvec![[0; LANES]; access.values.len()];
        let mut addresses = [None; LANES];
        let mut is_shared = false;
        // Lanes go one after another.
        for lane in lanes(at.lanes) {
            let window = Self::window(access.space, self.address(at, access.place, lane));
            if !self.is_valid(at, lane, window, total, total, true) {
                continue;
            }
            self.pass_on_write(at, lane, window, access.strength.release);
            let touch = self.touch(at, lane, true, true);
            let keep = mask(8 * bytes);
            for (index, &slot) in access.values.iter().enumerate() {
                let row = |slot: u32| self.warps[at.warp].row(slot)[lane] & keep;
                let value = row(slot);
                let replacement = access.replacement.map(row);
                let change = |old: u64| match (access.op, replacement) {
                    (AtomicOp::CompareExchange, Some(replacement)) => {
                        if old == value {
                            replacement
                        } else {
                            old
                        }
                    }
                    _ => reduced(access.op, access.ty, old, value),
                };
                let offset = index as u32 * bytes;
                let old = match window {
                    Window::Global(address) => {
                        addresses[lane] = Some(address);
                        self.touch_global(at, address + u64::from(offset), bytes, touch);
                        self.collector.traffic.global_read += u64::from(bytes);
                        self.collector.traffic.global_written += u64::from(bytes);
                        // SAFETY: the address is within a writable array, or believed, and aligned.
                        unsafe { global::update(address + u64::from(offset), bytes, change) }
                    }
                    Window::Shared(address) => {
                        addresses[lane] = Some(u64::from(address));
                        is_shared = true;
                        let place = address + offset;
                        let (rank, inside) = super::access::split(place);
                        let shadow = &self.blocks[rank].shadow;
                        if !shadow.is_written(inside - crate::program::SHARED_BASE, bytes) {
                            let message =
                                || "an atomic operation on shared memory that nothing has written".into();
                            let address = Some(u64::from(inside));
                            self.fault(at, FindingKind::Uninitialised, Some(lane), address, None, message);
                        }
                        self.touch_shared(at, place, bytes, touch);
                        self.collector.traffic.shared_read += u64::from(bytes);
                        self.collector.traffic.shared_written += u64::from(bytes);
                        let old = self.read_shared(place, bytes);
                        self.write_shared(place, bytes, change(old));
                        old
                    }
                    Window::Local(_) | Window::Parameter(_) => {
                        self.invalid(at, Some(lane), || {
                            "atomic operations are on global or shared memory".into()
                        });
                        0
                    }
                };
                results[index][lane] = old;
            }
            self.pass_on_read(at, lane, window, access.strength.acquire);
        }
        self.count_access(at, access.space, is_shared, &addresses, total);
        self.progress += 1;
        for (&slot, result) in access.dst.iter().zip(&results) {
            self.warps[at.warp].write(slot, result, at.lanes);
        }
    }
}
