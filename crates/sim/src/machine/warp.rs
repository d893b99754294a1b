//! A warp: its registers, and which of its lanes are where.

use crate::order::WarpOrder;
use crate::program::{LANES, Lanes, PredicateSlot, Program, Slot};
use smallvec::{SmallVec, smallvec};

/// Lanes that are at one instruction.
#[derive(Clone, Debug)]
pub struct Fragment {
    pub step: u32,
    pub lanes: u32,
    /// What they have arrived at and wait for.
    pub waiting: Option<Waiting>,
    /// The cluster's progress when they were last found to wait.
    pub tried: Option<u64>,
}

/// A barrier that has been arrived at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// One of the block's, with the number of times that it has opened.
    Block { id: u32, opened: u64 },
}

/// A `cp.async` that has not been waited for.
#[derive(Clone, Debug)]
pub struct PendingCopy {
    pub lane: u8,
    /// The group that it is in, counted from 0 for each lane.
    pub group: u32,
    pub dst: u32,
    pub data: SmallVec<[u8; 16]>,
    pub step: u32,
}

/// How a product in the background uses a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// Its group, from 1.
    pub group: u32,
    /// Whether the register is of the accumulator, rather than of the left operand.
    pub accumulates: bool,
}

/// What `wgmma` has in hand.
#[derive(Clone, Debug, Default)]
pub struct WgmmaState {
    /// Groups that were committed.
    pub committed: u32,
    /// Whether there are products in no group yet.
    pub open: bool,
    /// For each row, the product that uses it in the background.
    pub busy: Vec<Option<Busy>>,
    /// For each row, whether it was written since the last `wgmma.fence`.
    pub dirty: Vec<bool>,
    /// Rows that are busy.
    pub busy_rows: Vec<Slot>,
    /// Whether there was a `wgmma.fence` at all.
    pub fenced: bool,
    /// A digest of the products so far: all warps of a warpgroup have the same.
    pub digest: u64,
}

/// A warp of a block.
#[derive(Debug, Default)]
pub struct Warp {
    /// The block in the cluster.
    pub block: usize,
    /// The number in the block.
    pub index: u32,
    pub words: Vec<Lanes>,
    /// For each row, the lanes that have been written.
    pub set: Vec<u32>,
    pub predicates: Vec<u32>,
    pub predicates_set: Vec<u32>,
    /// In the order of steps.
    pub fragments: SmallVec<[Fragment; 2]>,
    /// Lanes that have not left.
    pub live: u32,
    pub order: WarpOrder,
    /// Local memory, one piece a lane, and which of its bytes were written.
    pub local: Vec<u8>,
    pub local_written: Vec<bool>,
    pub copies: Vec<PendingCopy>,
    /// Groups of `cp.async` that each lane has committed.
    pub copy_groups: [u32; LANES],
    /// Groups of bulk copies committed, and whether there is an open one.
    pub bulk_groups: u32,
    pub wgmma: WgmmaState,
    /// Whether it gives way to others before it goes on.
    pub yields: bool,
}

impl Warp {
    /// Begins a program.
    pub fn begin(&mut self, program: &Program, block: usize, index: u32, actor: u16) {
        self.block = block;
        self.index = index;
        self.words.resize(program.slots as usize, [0; LANES]);
        self.set.clear();
        self.set.resize(program.slots as usize, 0);
        self.predicates.clear();
        self.predicates.resize(program.predicates as usize, 0);
        self.predicates_set.clear();
        self.predicates_set.resize(program.predicates as usize, 0);
        for &(slot, value) in &program.constants {
            self.fill(slot, value);
        }
        for &(predicate, value) in &program.constant_predicates {
            self.predicates[predicate as usize] = if value { u32::MAX } else { 0 };
            self.predicates_set[predicate as usize] = u32::MAX;
        }
        self.fragments = smallvec![Fragment { step: 0, lanes: u32::MAX, waiting: None, tried: None }];
        self.live = u32::MAX;
        self.order.begin(actor);
        let local = program.local_bytes as usize * LANES;
        self.local.resize(local, 0);
        self.local_written.clear();
        self.local_written.resize(local, false);
        self.copies.clear();
        self.copy_groups = [0; LANES];
        self.bulk_groups = 0;
        self.wgmma = WgmmaState::default();
        if program.has_wgmma {
            self.wgmma.busy.resize(program.slots as usize, None);
            self.wgmma.dirty.resize(program.slots as usize, false);
        }
        self.yields = false;
    }

    /// Gives all lanes of a row one value.
    pub fn fill(&mut self, slot: Slot, value: u64) {
        self.words[slot as usize] = [value; LANES];
        self.set[slot as usize] = u32::MAX;
    }

    pub fn row(&self, slot: Slot) -> &Lanes {
        &self.words[slot as usize]
    }

    /// Writes some lanes of a row.
    pub fn write(&mut self, slot: Slot, values: &Lanes, lanes: u32) {
        let row = &mut self.words[slot as usize];
        if lanes == u32::MAX {
            *row = *values;
        } else {
            for lane in 0..LANES {
                if lanes >> lane & 1 == 1 {
                    row[lane] = values[lane];
                }
            }
        }
        self.set[slot as usize] |= lanes;
    }

    pub fn predicate(&self, predicate: PredicateSlot) -> u32 {
        self.predicates[predicate as usize]
    }

    /// Writes a predicate of some lanes.
    pub fn write_predicate(&mut self, predicate: PredicateSlot, holds: u32, lanes: u32) {
        let old = &mut self.predicates[predicate as usize];
        *old = *old & !lanes | holds & lanes;
        self.predicates_set[predicate as usize] |= lanes;
    }

    pub fn has_ended(&self) -> bool {
        self.live == 0
    }

    /// Moves lanes of the fragment at `index` to other steps, and joins fragments that meet.
    pub fn advance(&mut self, index: usize, next: u32, branched: Option<(u32, u32)>) {
        let fragment = &mut self.fragments[index];
        fragment.waiting = None;
        fragment.tried = None;
        match branched {
            Some((target, lanes)) if lanes == fragment.lanes => fragment.step = target,
            Some((target, lanes)) if lanes != 0 => {
                fragment.lanes &= !lanes;
                fragment.step = next;
                self.fragments.push(Fragment { step: target, lanes, waiting: None, tried: None });
            }
            _ => fragment.step = next,
        }
        if self.fragments.len() > 1 {
            self.join();
        }
    }

    /// Takes lanes out of the fragment at `index`.
    pub fn leave(&mut self, index: usize, lanes: u32, next: u32) {
        self.live &= !lanes;
        let fragment = &mut self.fragments[index];
        fragment.lanes &= !lanes;
        if fragment.lanes == 0 {
            self.fragments.remove(index);
        } else {
            self.advance(index, next, None);
        }
    }

    fn join(&mut self) {
        self.fragments.sort_by_key(|fragment| fragment.step);
        let mut joined: SmallVec<[Fragment; 2]> = SmallVec::new();
        for fragment in self.fragments.drain(..) {
            match joined.last_mut() {
                // Those that wait at a barrier have arrived; others have yet to.
                Some(last)
                    if last.step == fragment.step && last.waiting.is_none() && fragment.waiting.is_none() =>
                {
                    last.lanes |= fragment.lanes;
                    last.tried = None;
                }
                _ => joined.push(fragment),
            }
        }
        self.fragments = joined;
    }
}

/// The lanes of a mask.
pub fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}
