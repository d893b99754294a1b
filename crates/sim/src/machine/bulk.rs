//! Copies by the background engine: consecutive bytes, and boxes of tensors.
//!
//! A request is checked when it is made, and carried out later: as late as may be, or at some random time.

use super::access::{Proxy, Touch, split};
use super::cluster::Cluster;
use super::fault::At;
use super::global;
use super::reduction::{of_bulk, reduced};
use super::tensor_map::TensorMap;
use super::warp::lanes;
use crate::order::{Lane, Record};
use crate::program::{Bulk, Place, RANK_SHIFT, Slot, Window};
use crate::report::FindingKind;
use smallvec::SmallVec;
use tegula_ptx::{AtomicOp, BulkGroup, Type};

/// What sizes and addresses of copies of bytes are multiples of.
const UNIT: u32 = 16;
/// What addresses of boxes in shared memory are multiples of.
const BOX_ALIGN: u32 = 128;

/// A copy that was asked for.
#[derive(Clone, Debug)]
pub struct PendingBulk {
    at: At,
    pub work: Work,
}

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Work {
    Load { dst: u32, from: u64, bytes: u32, barrier: usize },
    Forward { dst: u32, from: u32, bytes: u32, barrier: usize },
    Store { to: u64, from: u32, bytes: u32, reduction: Option<(AtomicOp, Type)>, group: u32 },
    TensorLoad { dst: u32, map: Box<TensorMap>, coordinates: SmallVec<[i32; 5]>, barrier: usize },
    TensorStore { map: Box<TensorMap>, coordinates: SmallVec<[i32; 5]>, from: u32, group: u32 },
}

impl Work {
    /// The group of a store, from 1.
    fn group(&self) -> Option<u32> {
        match self {
            Work::Store { group, .. } | Work::TensorStore { group, .. } => Some(*group),
            _ => None,
        }
    }
}

impl Cluster<'_> {
    pub(super) fn bulk(&mut self, at: At, bulk: &Bulk) {
        for lane in lanes(at.lanes) {
            match bulk {
                Bulk::Load { dst, source, bytes, barrier, multicast } => {
                    let bytes = self.warps[at.warp].row(*bytes)[lane] as u32;
                    let from = self.address(at, *source, lane);
                    if !self.are_units(at, lane, bytes)
                        || !self.is_valid(at, lane, Window::Global(from), bytes, UNIT, false)
                    {
                        continue;
                    }
                    self.note_global_read(at, lane, from, bytes);
                    for (dst, barrier) in self.destinations(at, lane, *dst, *barrier, *multicast) {
                        if let Some(barrier) = self.begin_load(at, lane, dst, bytes, UNIT, barrier) {
                            self.ask(at, Work::Load { dst, from, bytes, barrier });
                        }
                    }
                }
                Bulk::Forward { dst, source, bytes, barrier } => {
                    let bytes = self.warps[at.warp].row(*bytes)[lane] as u32;
                    let (dst, from) =
                        (self.address(at, *dst, lane) as u32, self.address(at, *source, lane) as u32);
                    let barrier = self.address(at, *barrier, lane) as u32;
                    if !self.are_units(at, lane, bytes) || !self.begin_read(at, lane, from, bytes, UNIT) {
                        continue;
                    }
                    if let Some(barrier) = self.begin_load(at, lane, dst, bytes, UNIT, barrier) {
                        self.ask(at, Work::Forward { dst, from, bytes, barrier });
                    }
                }
                Bulk::Store { dst, source, bytes, reduction } => {
                    let bytes = self.warps[at.warp].row(*bytes)[lane] as u32;
                    let (to, from) = (self.address(at, *dst, lane), self.address(at, *source, lane) as u32);
                    if !self.are_units(at, lane, bytes)
                        || !self.is_valid(at, lane, Window::Global(to), bytes, UNIT, true)
                        || !self.begin_read(at, lane, from, bytes, UNIT)
                    {
                        continue;
                    }
                    self.note_global_write(at, lane, to, bytes, reduction.is_some());
                    let reduction = reduction.map(|(reduction, ty)| (of_bulk(reduction), ty));
                    let group = self.warps[at.warp].bulk_groups + 1;
                    self.ask(at, Work::Store { to, from, bytes, reduction, group });
                }
                Bulk::TensorLoad { dst, map, coordinates, barrier, multicast } => {
                    let Some((map, coordinates)) = self.tensor(at, lane, *map, coordinates) else { continue };
                    let (inside, bytes) =
                        (self.rows_inside(at, lane, &map, &coordinates, false), map.box_bytes());
                    for (address, bytes) in inside {
                        self.note_global_read(at, lane, address, bytes);
                    }
                    for (dst, barrier) in self.destinations(at, lane, *dst, *barrier, *multicast) {
                        if let Some(barrier) = self.begin_load(at, lane, dst, bytes, BOX_ALIGN, barrier) {
                            let (map, coordinates) = (map.clone(), coordinates.clone());
                            self.ask(at, Work::TensorLoad { dst, map, coordinates, barrier });
                        }
                    }
                }
                Bulk::TensorStore { map, coordinates, source } => {
                    let Some((map, coordinates)) = self.tensor(at, lane, *map, coordinates) else { continue };
                    let from = self.address(at, *source, lane) as u32;
                    if !self.begin_read(at, lane, from, map.box_bytes(), BOX_ALIGN) {
                        continue;
                    }
                    for (address, bytes) in self.rows_inside(at, lane, &map, &coordinates, true) {
                        self.note_global_write(at, lane, address, bytes, false);
                    }
                    let group = self.warps[at.warp].bulk_groups + 1;
                    self.ask(at, Work::TensorStore { map, coordinates, from, group });
                }
                Bulk::Prefetch => {}
            }
        }
    }

    fn ask(&mut self, at: At, work: Work) {
        self.pending.push(PendingBulk { at, work });
    }

    fn are_units(&mut self, at: At, lane: usize, bytes: u32) -> bool {
        if !bytes.is_multiple_of(UNIT) {
            self.invalid(at, Some(lane), || format!("{bytes} bytes are no multiple of {UNIT}"));
        }
        bytes.is_multiple_of(UNIT) && bytes > 0
    }

    /// The places in shared memory that a load fills, with the mbarriers that count it.
    fn destinations(
        &self,
        at: At,
        lane: usize,
        dst: Place,
        barrier: Place,
        multicast: Option<Slot>,
    ) -> SmallVec<[(u32, u32); 1]> {
        let (dst, barrier) = (self.address(at, dst, lane) as u32, self.address(at, barrier, lane) as u32);
        let Some(mask) = multicast else { return smallvec::smallvec![(dst, barrier)] };
        let mask = self.warps[at.warp].row(mask)[lane];
        let inside = |address: u32, rank: u32| rank << RANK_SHIFT | split(address).1;
        let blocks = (0..16).filter(|rank| mask >> rank & 1 == 1);
        blocks.map(|rank| (inside(dst, rank), inside(barrier, rank))).collect()
    }

    /// Checks and notes what a load does to shared memory; gives the mbarrier.
    fn begin_load(
        &mut self,
        at: At,
        lane: usize,
        dst: u32,
        bytes: u32,
        align: u32,
        barrier: u32,
    ) -> Option<usize> {
        if !self.is_valid(at, lane, Window::Shared(dst), bytes, align, true) {
            return None;
        }
        let index = self.mbarrier_at(at, lane, barrier)?;
        if !self.mbarriers[index].fenced {
            let address = Some(u64::from(split(barrier).1));
            self.fault(at, FindingKind::MissingProxyFence, Some(lane), address, None, || {
                "the mbarrier has been made without `fence.mbarrier_init` or `fence.proxy.async` since".into()
            });
        }
        let touch = self.touch_of_mbarrier(at, lane, index);
        self.touch_shared(at, dst, bytes, touch);
        self.collector.traffic.shared_written += u64::from(bytes);
        self.collector.step(at.step).bytes += u64::from(bytes);
        Some(index)
    }

    /// Checks and notes that a store reads shared memory.
    fn begin_read(&mut self, at: At, lane: usize, from: u32, bytes: u32, align: u32) -> bool {
        if !self.is_valid(at, lane, Window::Shared(from), bytes, align, false) {
            return false;
        }
        let touch = Touch { writes: false, ..self.touch_of_bulk(at, lane) };
        self.touch_shared(at, from, bytes, touch);
        self.collector.traffic.shared_read += u64::from(bytes);
        self.collector.step(at.step).bytes += u64::from(bytes);
        true
    }

    fn touch_of_bulk(&self, at: At, lane: usize) -> Touch {
        let warp = &self.warps[at.warp];
        let record =
            Record::new(self.actors.bulk(at.warp), Lane::One(lane as u8), warp.bulk_groups + 1, at.step);
        Touch {
            lane: Lane::One(lane as u8),
            record,
            writes: true,
            proxy: Proxy::Async,
            changes_nothing: false,
        }
    }

    fn note_global_read(&mut self, at: At, lane: usize, from: u64, bytes: u32) {
        let touch = Touch { writes: false, ..self.touch_of_bulk(at, lane) };
        self.touch_global(at, from, bytes, touch);
        self.collector.traffic.global_read += u64::from(bytes);
    }

    fn note_global_write(&mut self, at: At, lane: usize, to: u64, bytes: u32, reduces: bool) {
        let mut touch = self.touch_of_bulk(at, lane);
        touch.record = touch.record.strong(reduces);
        self.touch_global(at, to, bytes, touch);
        self.collector.traffic.global_written += u64::from(bytes);
    }

    fn tensor(
        &mut self,
        at: At,
        lane: usize,
        map: Place,
        coordinates: &[Slot],
    ) -> Option<(Box<TensorMap>, SmallVec<[i32; 5]>)> {
        let map = self.tensor_map(at, lane, map)?;
        if map.rank as usize != coordinates.len() {
            let (rank, given) = (map.rank, coordinates.len());
            self.invalid(at, Some(lane), || {
                format!("{given} coordinates, and the tensor map has {rank} dimensions")
            });
            return None;
        }
        let row = |slot: &Slot| self.warps[at.warp].row(*slot)[lane] as i32;
        let coordinates = coordinates.iter().map(row).collect();
        Some((Box::new(map), coordinates))
    }

    /// The rows of a box that are inside of the tensor, and within the arrays.
    fn rows_inside(
        &mut self,
        at: At,
        lane: usize,
        map: &TensorMap,
        coordinates: &[i32],
        writes: bool,
    ) -> Vec<(u64, u32)> {
        let mut rows = Vec::new();
        map.for_each_row(coordinates, |_, row| rows.extend(row.map(|row| (row.address, row.bytes))));
        rows.retain(|&(address, bytes)| {
            self.is_valid(at, lane, Window::Global(address), bytes, map.element_bytes, writes)
        });
        rows
    }

    /// Does what was asked for.
    pub(super) fn carry_out(&mut self, index: usize) {
        let PendingBulk { at, work } = self.pending.remove(index);
        match work {
            Work::Load { dst, from, bytes, barrier } => {
                self.copy_in(from, dst, bytes);
                self.complete_bytes(at, barrier, bytes);
            }
            Work::Forward { dst, from, bytes, barrier } => {
                let data = self.shared_bytes(from, bytes).to_vec();
                self.shared_bytes_mut(dst, bytes).copy_from_slice(&data);
                self.complete_bytes(at, barrier, bytes);
            }
            Work::Store { to, from, bytes, reduction, .. } => {
                let data = self.shared_bytes(from, bytes).to_vec();
                copy_out(&data, to, reduction);
            }
            Work::TensorLoad { dst, map, coordinates, barrier } => {
                let rank = dst & !((1 << RANK_SHIFT) - 1);
                let row_bytes = map.box_extents[0] * map.element_bytes;
                map.for_each_row(&coordinates, |offset, row| {
                    for byte in 0..row_bytes {
                        let inside = row.filter(|row| (row.offset..row.offset + row.bytes).contains(&byte));
                        let value = match inside {
                            Some(row) => self.global_byte(row.address + u64::from(byte - row.offset)),
                            None => 0,
                        };
                        let place = map.swizzled(split(dst).1, offset + byte);
                        self.shared_bytes_mut(rank | place, 1)[0] = value;
                    }
                });
                self.complete_bytes(at, barrier, map.box_bytes());
            }
            Work::TensorStore { map, coordinates, from, .. } => {
                map.for_each_row(&coordinates, |offset, row| {
                    let Some(row) = row else { return };
                    if self.launch.global.check(row.address, row.bytes.into(), true).is_err() {
                        return;
                    }
                    let place = |byte: u32| map.swizzled(split(from).1, offset + row.offset + byte);
                    let rank = from & !((1 << RANK_SHIFT) - 1);
                    let data: Vec<u8> =
                        (0..row.bytes).map(|byte| self.shared_bytes(rank | place(byte), 1)[0]).collect();
                    copy_out(&data, row.address, None);
                });
            }
        }
        self.progress += 1;
    }

    fn copy_in(&mut self, from: u64, dst: u32, bytes: u32) {
        for (index, byte) in self.shared_bytes_mut(dst, bytes).iter_mut().enumerate() {
            // SAFETY: the range was checked when the copy was asked for.
            *byte = unsafe { global::read(from + index as u64, 1) } as u8;
        }
    }

    /// A byte of global memory, if there is memory.
    fn global_byte(&self, address: u64) -> u8 {
        match self.launch.global.check(address, 1, false) {
            // SAFETY: the byte is within an array, or believed.
            Ok(()) => (unsafe { global::read(address, 1) }) as u8,
            Err(_) => 0,
        }
    }

    pub(super) fn bulk_group(&mut self, at: At, group: BulkGroup) {
        let (BulkGroup::Wait(pending) | BulkGroup::WaitRead(pending)) = group else {
            self.warps[at.warp].bulk_groups += 1;
            return;
        };
        let done = self.warps[at.warp].bulk_groups.saturating_sub(pending);
        let is_done = |copy: &PendingBulk| {
            copy.at.warp == at.warp && copy.work.group().is_some_and(|group| group <= done)
        };
        while let Some(index) = self.pending.iter().position(is_done) {
            self.carry_out(index);
        }
        let actor = self.actors.bulk(at.warp);
        let warp = &mut self.warps[at.warp];
        let all = at.lanes == warp.live;
        warp.order.learn_async(actor, done, at.lanes, all);
    }

    /// Shared memory ends with its block: nothing may still be read from it.
    pub(super) fn note_unfinished_stores(&mut self) {
        let unfinished: Vec<At> =
            self.pending.iter().filter(|copy| copy.work.group().is_some()).map(|copy| copy.at).collect();
        for at in unfinished {
            self.fault(at, FindingKind::CopyInFlight, lanes(at.lanes).next(), None, None, || {
                "the block ends while the copy may still read its shared memory: nothing waits for it".into()
            });
        }
    }
}

/// Writes to global memory that was checked, element by element if they are reduced.
fn copy_out(data: &[u8], to: u64, reduction: Option<(AtomicOp, Type)>) {
    let Some((op, ty)) = reduction else {
        for (index, &byte) in data.iter().enumerate() {
            // SAFETY: the range was checked when the copy was asked for.
            unsafe { global::write(to + index as u64, 1, u64::from(byte)) };
        }
        return;
    };
    let bytes = ty.bits() / 8;
    for (index, element) in data.chunks_exact(bytes as usize).enumerate() {
        let mut word = [0; 8];
        word[..element.len()].copy_from_slice(element);
        let value = u64::from_le_bytes(word);
        let address = to + index as u64 * u64::from(bytes);
        // SAFETY: as above, and the address is a multiple of the element's size.
        unsafe { global::update(address, bytes, |old| reduced(op, ty, old, value)) };
    }
}
