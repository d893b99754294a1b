//! Loads and stores, with all that is checked of an access.

use super::cluster::Cluster;
use super::fault::At;
use super::global::{self, Refusal};
use super::warp::lanes;
use crate::order::{ActorKind, Lane, Past, Record, Shadow};
use crate::program::{
    Access, AccessSpace, LANES, PARAMETER_WINDOW, Place, RANK_SHIFT, SHARED_BASE, SHARED_WINDOW, Window,
};
use crate::report::FindingKind;
use smallvec::SmallVec;

/// Bytes of global memory that share a shadow.
const PAGE: u64 = 1024;

/// Who accesses memory: ordinary instructions, or the background engine and `wgmma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxy {
    Generic,
    Async,
}

/// What is done to a range of memory.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    pub lane: Lane,
    pub record: Record,
    pub writes: bool,
    pub proxy: Proxy,
    /// Whether it leaves in memory what was there: another write that did so as well does no harm.
    pub changes_nothing: bool,
}

/// The kinds of conflicts that are looked for.
type Conflict = (Record, Past, bool);

impl Cluster<'_> {
    /// The address that a lane computes.
    pub fn address(&self, at: At, place: Place, lane: usize) -> u64 {
        self.warps[at.warp].row(place.base)[lane].wrapping_add(place.offset as u64)
    }

    /// The window and address of an access in a space.
    pub fn window(space: AccessSpace, address: u64) -> Window {
        match space {
            AccessSpace::Generic => Window::of(address),
            AccessSpace::Global => Window::Global(address),
            AccessSpace::Shared => Window::Shared(address as u32),
            AccessSpace::Local => Window::Local(address as u32),
            AccessSpace::Parameter => Window::Parameter(address as u32),
        }
    }

    /// The address as people know it, of a window.
    fn shown(window: Window) -> u64 {
        match window {
            Window::Global(address) => address,
            Window::Shared(address) | Window::Local(address) | Window::Parameter(address) => {
                u64::from(address)
            }
        }
    }

    /// Whether an access is aligned and within bounds; if not, that is a finding.
    pub fn is_valid(
        &mut self,
        at: At,
        lane: usize,
        window: Window,
        bytes: u32,
        align: u32,
        writes: bool,
    ) -> bool {
        let address = Self::shown(window);
        if !address.is_multiple_of(u64::from(align)) {
            self.fault(at, FindingKind::Misaligned, Some(lane), Some(address), None, || {
                format!("an address of {bytes} bytes is no multiple of {align}")
            });
            return false;
        }
        let outside = match window {
            Window::Global(address) => match self.launch.global.check(address, u64::from(bytes), writes) {
                Ok(()) => None,
                Err(Refusal::ReadOnly(name)) => Some(format!("`{name}` is read-only, and is written to")),
                Err(Refusal::Outside { nearest }) => {
                    let what = if writes { "write" } else { "read" };
                    let nearest = nearest.unwrap_or_else(|| "there are no arrays".into());
                    Some(format!("{what} of {bytes} bytes outside of the arrays: {nearest}"))
                }
            },
            Window::Shared(address) => self.shared_fault(address, bytes),
            Window::Local(address) => {
                let size = self.launch.program.local_bytes;
                (u64::from(address) + u64::from(bytes) > u64::from(size))
                    .then(|| format!("{bytes} bytes at {address} of the {size} bytes of local memory"))
            }
            Window::Parameter(address) => {
                let size = self.launch.parameters.len();
                (address as usize + bytes as usize > size || writes)
                    .then(|| format!("{bytes} bytes at {address} of the {size} bytes of parameters"))
            }
        };
        match outside {
            None => true,
            Some(message) => {
                self.fault(at, FindingKind::OutOfBounds, Some(lane), Some(address), None, || message);
                false
            }
        }
    }

    fn shared_fault(&self, address: u32, bytes: u32) -> Option<String> {
        let (rank, inside) = split(address);
        let size = self.launch.shared_bytes;
        if rank >= self.blocks.len() {
            return Some(format!("there is no block {rank} in the cluster"));
        }
        let fits =
            inside >= SHARED_BASE && u64::from(inside) + u64::from(bytes) <= u64::from(SHARED_BASE + size);
        (!fits).then(|| {
            let place = i64::from(inside) - i64::from(SHARED_BASE);
            format!("{bytes} bytes at {place} of the {size} bytes of shared memory")
        })
    }

    /// Notes an access of shared memory that is within bounds, and what it conflicts with.
    pub fn touch_shared(&mut self, at: At, address: u32, bytes: u32, touch: Touch) {
        let (rank, inside) = split(address);
        let mut conflicts: SmallVec<[Conflict; 2]> = SmallVec::new();
        let mut unwritten = false;
        let order = &self.warps[at.warp].order;
        let actors = self.actors;
        let shadow = &mut self.blocks[rank].shadow;
        shadow.access(inside - SHARED_BASE, bytes, touch.record, touch.writes, |record, past| {
            if record.is_none() {
                unwritten |= past == Past::Write && !touch.writes;
                return;
            }
            let conflict = if order.follows(record, touch.lane) {
                let unfenced = touch.proxy == Proxy::Async
                    && past == Past::Write
                    && matches!(actors.kind(record.actor()), ActorKind::Warp(_))
                    && !order.is_fenced(record, touch.lane);
                unfenced.then_some(true)
            } else {
                let harmless = (record.is_strong() && touch.record.is_strong())
                    || (touch.changes_nothing && past == Past::Write && !record.is_in_flight());
                (!harmless).then_some(false)
            };
            if let Some(fence) = conflict
                && !conflicts.iter().any(|known| known.0.step() == record.step())
            {
                conflicts.push((record, past, fence));
            }
        });
        let (lane, address) = (lane_number(touch.lane), u64::from(inside));
        if unwritten {
            self.fault(at, FindingKind::Uninitialised, lane, Some(address), None, || {
                "shared memory is read that nothing has written".into()
            });
        }
        for conflict in conflicts {
            self.conflict(at, lane, address, touch, conflict, "shared memory");
        }
    }

    /// Notes an access of global memory that is within bounds, and what it conflicts with among those of the cluster.
    pub fn touch_global(&mut self, at: At, address: u64, bytes: u32, touch: Touch) {
        let mut from = address;
        let end = address + u64::from(bytes);
        while from < end {
            let page = from / PAGE;
            let to = end.min((page + 1) * PAGE);
            let mut conflicts: SmallVec<[Conflict; 2]> = SmallVec::new();
            let order = &self.warps[at.warp].order;
            let shadow = self.pages.entry(page).or_insert_with(|| {
                let mut shadow = Shadow::default();
                shadow.reset(PAGE as usize);
                shadow
            });
            shadow.access(
                (from % PAGE) as u32,
                (to - from) as u32,
                touch.record,
                touch.writes,
                |record, past| {
                    if record.is_none()
                        || order.follows(record, touch.lane)
                        || (record.is_strong() && touch.record.is_strong())
                        || (touch.changes_nothing && past == Past::Write && !record.is_in_flight())
                    {
                        return;
                    }
                    if !conflicts.iter().any(|known| known.0.step() == record.step()) {
                        conflicts.push((record, past, false));
                    }
                },
            );
            let lane = lane_number(touch.lane);
            for conflict in conflicts {
                self.conflict(at, lane, from, touch, conflict, "global memory");
            }
            from = to;
        }
    }

    fn conflict(
        &mut self,
        at: At,
        lane: Option<usize>,
        address: u64,
        touch: Touch,
        (record, past, fence): Conflict,
        memory: &str,
    ) {
        let actor = self.actors.kind(record.actor());
        let what = match (touch.writes, past) {
            (true, Past::Write) => "write after a write",
            (true, Past::Read) => "write after a read",
            (false, _) => "read after a write",
        };
        let (kind, message) = if fence {
            (
                FindingKind::MissingProxyFence,
                format!("{what} of {memory} by the async proxy, without `fence.proxy.async` since"),
            )
        } else if record.is_in_flight() {
            (FindingKind::CopyInFlight, format!("{what} of {memory} by a `cp.async` that is not waited for"))
        } else {
            match actor {
                ActorKind::Warp(warp) => {
                    let same = warp == at.warp;
                    let who = if same {
                        "another lane of the warp".into()
                    } else {
                        format!("warp {}", self.warps[warp].index)
                    };
                    (FindingKind::Race, format!("{what} of {memory} by {who}, and nothing orders the two"))
                }
                ActorKind::Wgmma(_) => {
                    (FindingKind::Race, format!("{what} of {memory} by a `wgmma` that may still be running"))
                }
                ActorKind::Bulk(_) => (
                    FindingKind::Race,
                    format!("{what} of {memory} by a bulk copy that may still be running"),
                ),
                ActorKind::Mbarrier(_) => (
                    FindingKind::CopyInFlight,
                    format!("{what} of {memory} by a bulk copy whose mbarrier is not waited for"),
                ),
            }
        };
        self.fault(at, kind, lane, Some(address), Some(record.step()), || message);
    }

    /// What an ordinary access of a lane is.
    pub fn touch(&self, at: At, lane: usize, writes: bool, strong: bool) -> Touch {
        let lane = Lane::One(lane as u8);
        Touch {
            lane,
            record: self.warps[at.warp].order.record(lane, at.step).strong(strong),
            writes,
            proxy: Proxy::Generic,
            changes_nothing: false,
        }
    }

    /// Reads bytes of a block's shared memory that are within bounds.
    pub fn shared_bytes(&self, address: u32, bytes: u32) -> &[u8] {
        let (rank, inside) = split(address);
        &self.blocks[rank].shared[inside as usize..][..bytes as usize]
    }

    /// The same, to be written.
    pub fn shared_bytes_mut(&mut self, address: u32, bytes: u32) -> &mut [u8] {
        let (rank, inside) = split(address);
        &mut self.blocks[rank].shared[inside as usize..][..bytes as usize]
    }

    pub fn read_shared(&self, address: u32, bytes: u32) -> u64 {
        let mut word = [0; 8];
        word[..bytes as usize].copy_from_slice(self.shared_bytes(address, bytes));
        u64::from_le_bytes(word)
    }

    pub fn write_shared(&mut self, address: u32, bytes: u32, value: u64) {
        self.shared_bytes_mut(address, bytes).copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
    }

    pub(super) fn load(&mut self, at: At, access: &Access) {
        let (bytes, count) = (access.bytes, access.values.len() as u32);
        let total = bytes * count;
        let mut results: SmallVec<[[u64; LANES]; 4]> = smallvec::smallvec![[0; LANES]; count as usize];
        let mut addresses = [None; LANES];
        let mut is_shared = false;
        for lane in lanes(at.lanes) {
            let window = Self::window(access.space, self.address(at, access.place, lane));
            if !self.is_valid(at, lane, window, total, total, false) {
                continue;
            }
            addresses[lane] = Some(Self::shown(window));
            let element = |index: u32| index * bytes;
            match window {
                Window::Global(address) => {
                    let touch = self.touch(at, lane, false, access.strength.strong);
                    self.touch_global(at, address, total, touch);
                    for (index, result) in results.iter_mut().enumerate() {
                        // SAFETY: the address is within an array, or believed, and aligned.
                        result[lane] =
                            unsafe { global::read(address + u64::from(element(index as u32)), bytes) };
                    }
                    self.collector.traffic.global_read += u64::from(total);
                }
                Window::Shared(address) => {
                    is_shared = true;
                    let touch = self.touch(at, lane, false, access.strength.strong);
                    self.touch_shared(at, address, total, touch);
                    for (index, result) in results.iter_mut().enumerate() {
                        result[lane] = self.read_shared(address + element(index as u32), bytes);
                    }
                    self.collector.traffic.shared_read += u64::from(total);
                }
                Window::Local(address) => {
                    for (index, result) in results.iter_mut().enumerate() {
                        result[lane] = self.read_local(at, lane, address + element(index as u32), bytes);
                    }
                    self.collector.traffic.local_read += u64::from(total);
                }
                Window::Parameter(address) => {
                    for (index, result) in results.iter_mut().enumerate() {
                        let mut word = [0; 8];
                        let from = (address + element(index as u32)) as usize;
                        let source = &self.launch.parameters[from..][..bytes as usize];
                        word[..bytes as usize].copy_from_slice(source);
                        result[lane] = u64::from_le_bytes(word);
                    }
                }
            }
            if access.strength.strong {
                self.pass_on_read(at, lane, window, access.strength.acquire);
            }
        }
        self.count_access(at, access.space, is_shared, &addresses, total);
        for (&slot, result) in access.values.iter().zip(&mut results) {
            if let Some(width) = access.sign_extend {
                let shift = 64 - 8 * bytes;
                for value in result.iter_mut() {
                    *value = ((*value << shift) as i64 >> shift) as u64 & u64::MAX >> (64 - width);
                }
            }
            self.warps[at.warp].write(slot, result, at.lanes);
        }
    }

    pub(super) fn store(&mut self, at: At, access: &Access) {
        let (bytes, count) = (access.bytes, access.values.len() as u32);
        let total = bytes * count;
        let keep = u64::MAX >> (64 - 8 * bytes);
        let mut addresses = [None; LANES];
        let mut is_shared = false;
        for lane in lanes(at.lanes) {
            let window = Self::window(access.space, self.address(at, access.place, lane));
            if !self.is_valid(at, lane, window, total, total, true) {
                continue;
            }
            addresses[lane] = Some(Self::shown(window));
            if access.strength.strong {
                self.pass_on_write(at, lane, window, access.strength.release);
            }
            let values: SmallVec<[u64; 8]> =
                access.values.iter().map(|&slot| self.warps[at.warp].row(slot)[lane] & keep).collect();
            let mut touch = self.touch(at, lane, true, access.strength.strong);
            match window {
                Window::Global(address) => {
                    let place = |index: usize| address + index as u64 * u64::from(bytes);
                    // SAFETY: the address is within an array, or believed, and aligned.
                    touch.changes_nothing = values
                        .iter()
                        .enumerate()
                        .all(|(index, &value)| unsafe { global::read(place(index), bytes) } == value);
                    self.touch_global(at, address, total, touch);
                    for (index, &value) in values.iter().enumerate() {
                        // SAFETY: as above, and the array is writable.
                        unsafe { global::write(place(index), bytes, value) };
                    }
                    self.collector.traffic.global_written += u64::from(total);
                }
                Window::Shared(address) => {
                    is_shared = true;
                    let place = |index: usize| address + index as u32 * bytes;
                    touch.changes_nothing = values
                        .iter()
                        .enumerate()
                        .all(|(index, &value)| self.read_shared(place(index), bytes) == value);
                    self.touch_shared(at, address, total, touch);
                    for (index, &value) in values.iter().enumerate() {
                        self.write_shared(place(index), bytes, value);
                    }
                    self.collector.traffic.shared_written += u64::from(total);
                }
                Window::Local(address) => {
                    for (index, &value) in values.iter().enumerate() {
                        self.write_local(at, lane, address + index as u32 * bytes, bytes, value);
                    }
                    self.collector.traffic.local_written += u64::from(total);
                }
                Window::Parameter(_) => {}
            }
        }
        self.count_access(at, access.space, is_shared, &addresses, total);
    }

    fn local_place(&self, lane: usize, address: u32) -> usize {
        lane * self.launch.program.local_bytes as usize + address as usize
    }

    /// Reads local memory that is within bounds.
    pub fn read_local(&mut self, at: At, lane: usize, address: u32, bytes: u32) -> u64 {
        let from = self.local_place(lane, address);
        let warp = &self.warps[at.warp];
        let range = from..from + bytes as usize;
        let mut word = [0; 8];
        word[..bytes as usize].copy_from_slice(&warp.local[range.clone()]);
        if !warp.local_written[range].iter().all(|&written| written) {
            let message = || "local memory is read that nothing has written".into();
            self.fault(at, FindingKind::Uninitialised, Some(lane), Some(u64::from(address)), None, message);
        }
        u64::from_le_bytes(word)
    }

    fn write_local(&mut self, at: At, lane: usize, address: u32, bytes: u32, value: u64) {
        let from = self.local_place(lane, address);
        let warp = &mut self.warps[at.warp];
        let range = from..from + bytes as usize;
        warp.local[range.clone()].copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
        warp.local_written[range].fill(true);
    }

    /// The place of memory through which accesses pass on what is known.
    fn passing(window: Window) -> u64 {
        match window {
            Window::Global(address) => address & !7,
            Window::Shared(address) => (SHARED_WINDOW + u64::from(address)) & !7,
            Window::Local(address) => u64::from(address),
            Window::Parameter(address) => PARAMETER_WINDOW + u64::from(address),
        }
    }

    /// A strong read sees what strong writes of the place have passed on.
    pub fn pass_on_read(&mut self, at: At, lane: usize, window: Window, acquire: bool) {
        if let Some(known) = self.passed.get(&Self::passing(window)) {
            let warp = &mut self.warps[at.warp];
            if acquire {
                warp.order.acquire(known, 1 << lane, warp.live == 1 << lane);
            } else {
                warp.order.observe(known);
            }
        }
    }

    /// A strong write passes on what the lane knows, or knew at its last fence.
    pub fn pass_on_write(&mut self, at: At, lane: usize, window: Window, release: bool) {
        let warp = &mut self.warps[at.warp];
        let known = if release {
            Some(warp.order.release(1 << lane, warp.live == 1 << lane))
        } else {
            warp.order.passed_by_fence().cloned()
        };
        if let Some(known) = known {
            self.passed.entry(Self::passing(window)).or_default().join(&known);
        }
    }

    /// An address in another block's shared memory.
    pub(super) fn map_address(&mut self, at: At, dst: u32, address: u32, rank: u32, generic: bool) {
        let warp = &mut self.warps[at.warp];
        let (addresses, ranks) = (*warp.row(address), *warp.row(rank));
        let mapped = std::array::from_fn(|lane| {
            let inside = addresses[lane] & ((1 << RANK_SHIFT) - 1) | (ranks[lane] & 0xff) << RANK_SHIFT;
            if generic { SHARED_WINDOW + inside } else { inside }
        });
        warp.write(dst, &mapped, at.lanes);
    }
}

/// The rank and the address inside the block of an address of shared memory.
pub fn split(address: u32) -> (usize, u32) {
    ((address >> RANK_SHIFT) as usize, address & ((1 << RANK_SHIFT) - 1))
}

/// The lane, if it is one.
fn lane_number(lane: Lane) -> Option<usize> {
    match lane {
        Lane::One(lane) => Some(usize::from(lane)),
        Lane::Several | Lane::Whole => None,
    }
}
