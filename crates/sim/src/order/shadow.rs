//! What was last done to each byte of a piece of memory.

use super::{Lane, Record};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Bytes that one cell stands for, unless they are accessed one by one.
pub const GRANULE: u64 = 4;

/// The last write, and the reads since, of a few bytes.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub write: Record,
    /// The last read, if one actor alone has read.
    read: Record,
    /// The place of the reads of several actors, plus 1.
    several: u32,
}

impl Cell {
    const EMPTY: Cell = Cell { write: Record::NONE, read: Record::NONE, several: 0 };
}

/// Cells of one piece of memory.
#[derive(Debug, Default)]
pub struct Shadow {
    cells: Vec<Cell>,
    /// The cells of single bytes, where bytes of a granule were accessed apart.
    split: FxHashMap<u32, [Cell; GRANULE as usize]>,
    /// The reads of several actors, one an actor.
    readers: Vec<SmallVec<[Record; 4]>>,
}

impl Shadow {
    /// Forgets everything, and has room for so many bytes.
    pub fn reset(&mut self, bytes: usize) {
        self.cells.clear();
        self.cells.resize(bytes.div_ceil(GRANULE as usize), Cell::EMPTY);
        self.split.clear();
        self.readers.clear();
    }

    /// Calls `check` with the last write and each read since of every cell of an access, and records it.
    ///
    /// `begin` and `bytes` lie within the memory. A write forgets the reads.
    pub fn access(
        &mut self,
        begin: u32,
        bytes: u32,
        record: Record,
        writes: bool,
        mut check: impl FnMut(Record, Past),
    ) {
        let end = begin + bytes;
        let mut at = begin;
        while at < end {
            let granule = at / GRANULE as u32;
            let next = (granule + 1) * GRANULE as u32;
            let whole = at == granule * GRANULE as u32 && next <= end;
            if whole && self.split.is_empty() {
                let readers = &mut self.readers;
                touch(&mut self.cells[granule as usize], readers, record, writes, &mut check);
            } else {
                self.touch_bytes(granule, at, end.min(next), record, writes, whole, &mut check);
            }
            at = next.min(end);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn touch_bytes(
        &mut self,
        granule: u32,
        from: u32,
        to: u32,
        record: Record,
        writes: bool,
        whole: bool,
        check: &mut impl FnMut(Record, Past),
    ) {
        let cell = &mut self.cells[granule as usize];
        if whole && !self.split.contains_key(&granule) {
            touch(cell, &mut self.readers, record, writes, check);
            return;
        }
        let single = self.split.entry(granule).or_insert_with(|| {
            // Each byte gets reads of its own.
            let several = cell.several;
            std::array::from_fn(|_| match several {
                0 => *cell,
                several => {
                    let reads = self.readers[several as usize - 1].clone();
                    self.readers.push(reads);
                    Cell { several: self.readers.len() as u32, ..*cell }
                }
            })
        });
        for at in from..to {
            touch(&mut single[(at % GRANULE as u32) as usize], &mut self.readers, record, writes, check);
        }
        if whole && writes {
            let written = single[0];
            self.split.remove(&granule);
            self.cells[granule as usize] = written;
        }
    }

    /// Whether all bytes were written.
    pub fn is_written(&self, begin: u32, bytes: u32) -> bool {
        (begin..begin + bytes).all(|at| {
            let granule = at / GRANULE as u32;
            let cell = match self.split.get(&granule) {
                Some(single) => single[(at % GRANULE as u32) as usize],
                None => self.cells[granule as usize],
            };
            !cell.write.is_none()
        })
    }
}

/// What a recorded access was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    Write,
    Read,
}

fn touch(
    cell: &mut Cell,
    readers: &mut Vec<SmallVec<[Record; 4]>>,
    record: Record,
    writes: bool,
    check: &mut impl FnMut(Record, Past),
) {
    check(cell.write, Past::Write);
    if writes {
        if cell.several > 0 {
            let reads = &mut readers[cell.several as usize - 1];
            reads.iter().for_each(|&read| check(read, Past::Read));
            reads.clear();
        } else if !cell.read.is_none() {
            check(cell.read, Past::Read);
        }
        *cell = Cell { write: record, read: Record::NONE, several: cell.several };
        return;
    }
    if cell.several > 0 {
        add(&mut readers[cell.several as usize - 1], record);
    } else if cell.read.is_none() {
        cell.read = record;
    } else if cell.read.actor() == record.actor() {
        cell.read = merged(cell.read, record);
    } else {
        readers.push(SmallVec::from_slice(&[cell.read, record]));
        cell.several = readers.len() as u32;
    }
}

fn add(reads: &mut SmallVec<[Record; 4]>, record: Record) {
    match reads.iter_mut().find(|read| read.actor() == record.actor()) {
        Some(read) => *read = merged(*read, record),
        None => reads.push(record),
    }
}

/// Two reads of one actor as one.
fn merged(before: Record, now: Record) -> Record {
    if before.epoch() == now.epoch() && before.lane() != now.lane() && now.lane() != Lane::Whole {
        now.of_several()
    } else {
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(
        shadow: &mut Shadow,
        begin: u32,
        bytes: u32,
        record: Record,
        writes: bool,
    ) -> Vec<(Record, Past)> {
        let mut seen = Vec::new();
        shadow.access(begin, bytes, record, writes, |record, past| {
            if !record.is_none() {
                seen.push((record, past));
            }
        });
        seen
    }

    #[test]
    fn bytes_are_told_apart_where_they_are_accessed_apart() {
        let mut shadow = Shadow::default();
        shadow.reset(16);
        let record = |actor| Record::new(actor, Lane::One(0), 1, 0);
        assert!(seen(&mut shadow, 4, 1, record(0), true).is_empty());
        assert!(seen(&mut shadow, 5, 1, record(1), true).is_empty());
        assert!(shadow.is_written(4, 2) && !shadow.is_written(4, 4));
        assert_eq!(seen(&mut shadow, 4, 2, record(2), false).len(), 2);
        // The reader is remembered for both bytes, and forgotten by the write.
        assert_eq!(seen(&mut shadow, 4, 4, record(3), true).len(), 4);
        assert_eq!(seen(&mut shadow, 4, 4, record(4), true), [(record(3), Past::Write)]);
    }

    #[test]
    fn all_readers_are_remembered() {
        let mut shadow = Shadow::default();
        shadow.reset(8);
        let record = |actor, lane| Record::new(actor, Lane::One(lane), 1, 0);
        seen(&mut shadow, 0, 8, record(0, 0), false);
        seen(&mut shadow, 0, 8, record(0, 1), false);
        seen(&mut shadow, 0, 8, record(1, 0), false);
        let reads = seen(&mut shadow, 0, 4, record(2, 0), true);
        assert_eq!(reads.len(), 2);
        assert_eq!(reads[0].0.lane(), Lane::Several);
    }
}
