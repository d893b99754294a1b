//! The shared-memory layout that serves a store in one layout and a load in another best.
//!
//! An offset's bits are, from the lowest: those within a vector, those within a 4-byte word, those that
//! number the banks, and those that number the rows of all banks. Two lanes of a phase conflict when
//! they agree in the bank and differ in the row, so the rows must be a subspace that meets neither the
//! lanes of the store nor those of the load: a common complement, which exists whenever it is small
//! enough, and for whole vectors it always is (Linear Layouts, section 5.4).

use crate::access::VectorAccess;
use crate::banks::{BankCost, bank_cost, byte_log2, phase_lane_bits};
use crate::span::{Span, common_complement, extend, intersection, rank, standard};
use crate::{Dim, Error, Layout, Space};

/// One side of a trip through shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedAccess {
    /// The offset of each (register, lane, warp, block).
    pub to_offset: Layout,
    /// The vectors each thread moves.
    pub vector: VectorAccess,
    /// The cost of one of its instructions.
    pub cost: BankCost,
}

impl SharedAccess {
    /// The access of a distributed layout to a tensor kept in the shared layout `to_memory`.
    ///
    /// # Errors
    /// The layouts are of different tensors, or elements are not whole bytes.
    pub fn new(distributed: &Layout, to_memory: &Layout, element_bits: u32) -> Result<SharedAccess, Error> {
        let most = (16u64 >> byte_log2(element_bits)?).max(1);
        let to_offset = distributed.then(to_memory)?;
        let vector = VectorAccess::widest(&to_offset, most)?;
        let cost = bank_cost(&to_offset, vector.elements(), element_bits)?;
        Ok(SharedAccess { to_offset, vector, cost })
    }

    /// Wavefronts of all of a warp's instructions.
    pub fn wavefronts(&self) -> u64 {
        self.vector.instructions() * self.cost.wavefronts()
    }
}

/// A shared-memory layout with the two accesses it was chosen for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedExchange {
    /// The map from the tensor's index to an offset in elements. Elements of different
    /// blocks share offsets: each block has its own memory.
    pub layout: Layout,
    /// The writing side.
    pub store: SharedAccess,
    /// The reading side.
    pub load: SharedAccess,
}

impl SharedExchange {
    /// The elements of shared memory that each block needs.
    pub fn elements(&self) -> u64 {
        self.layout.outputs().extent(Dim::Offset)
    }

    /// Wavefronts of the store and the load together.
    pub fn wavefronts(&self) -> u64 {
        self.store.wavefronts() + self.load.wavefronts()
    }

    /// Chooses the layout. Three are tried (vectors that both sides share, and vectors
    /// as wide as either side alone allows), and the one with the fewest wavefronts, counted rather
    /// than assumed, is taken.
    ///
    /// # Errors
    /// The layouts are of different tensors, elements are not whole bytes, or the blocks of a cluster
    /// would have to exchange elements.
    pub fn choose(store: &Layout, load: &Layout, element_bits: u32) -> Result<SharedExchange, Error> {
        store.outputs().expect(load.outputs())?;
        let element_log2 = byte_log2(element_bits)?;
        let blocks = store.columns_of(Dim::Block);
        if blocks != load.columns_of(Dim::Block) {
            return Err(Error::CrossesBlocks);
        }
        let blocks = extend(&[], blocks.iter().copied());
        let bits = store.outputs().bits();
        let to_block = quotient(bits, &blocks);
        let sides = [Side::new(store, &to_block), Side::new(load, &to_block)];
        let block_bits = bits - blocks.len() as u32;
        let mut best: Option<SharedExchange> = None;
        for owner in [None, Some(0), Some(1)] {
            let basis = Arrangement { sides: &sides, element_log2, bits: block_bits }.basis(owner);
            let span = Span::of(&basis);
            let columns = to_block.iter().map(|&element| span.express(element).unwrap_or(0)).collect();
            let outputs = Space::new([(Dim::Offset, block_bits)])?;
            let layout = Layout::from_columns(store.outputs().clone(), outputs, columns)?;
            let exchange = SharedExchange {
                store: SharedAccess::new(store, &layout, element_bits)?,
                load: SharedAccess::new(load, &layout, element_bits)?,
                layout,
            };
            let cheaper = |other: &SharedExchange| exchange.wavefronts() < other.wavefronts();
            if best.as_ref().is_none_or(cheaper) {
                best = Some(exchange);
            }
        }
        best.ok_or(Error::NotSurjective)
    }
}

/// A distributed layout's columns, as elements of one block.
struct Side {
    registers: Vec<u64>,
    lanes: Vec<u64>,
    /// Lanes and warps.
    threads: Vec<u64>,
}

impl Side {
    fn new(layout: &Layout, to_block: &[u64]) -> Side {
        let columns = |dim| -> Vec<u64> {
            let columns = layout.columns_of(dim).iter();
            columns.map(|&column| crate::span::multiply(to_block, column)).collect()
        };
        let lanes = columns(Dim::Lane);
        let threads = lanes.iter().copied().chain(columns(Dim::Warp)).collect();
        Side { registers: columns(Dim::Register), lanes, threads }
    }
}

/// The choice of a basis of the block's elements, one vector for each bit of the offset.
struct Arrangement<'a> {
    sides: &'a [Side; 2],
    element_log2: u32,
    bits: u32,
}

impl Arrangement<'_> {
    /// The basis, when vectors are as wide as both sides allow or, for an `owner`, as that side allows.
    fn basis(&self, owner: Option<usize>) -> Vec<u64> {
        let threads: Vec<u64> = self.sides.iter().flat_map(|side| &side.threads).copied().collect();
        let shared = self.shared_vector(&threads);
        let extra = owner.map_or(Vec::new(), |owner| self.extra_vector(&shared, &threads, owner));
        let low: Vec<u64> = shared.iter().chain(&extra).copied().collect();

        // The rest of the offset is a complement of the vector that contains the threads' own offsets, so
        // that those leave the vector's bits alone.
        let first = &self.sides[owner.unwrap_or(0)].threads;
        let high = extend(&low, first.iter().chain(&threads).copied().chain(standard(self.bits)));
        let span = Span::of(&low.iter().chain(&high).copied().collect::<Vec<_>>());
        let above = |vector: u64| span.express(vector).unwrap_or(0) >> low.len();
        let width = |side: usize| if owner == Some(side) { low.len() } else { shared.len() };
        let lanes: Vec<Vec<u64>> = (0..2)
            .map(|side| {
                let unit = (width(side) as u32 + self.element_log2).max(2);
                self.sides[side].lanes.iter().take(phase_lane_bits(unit)).map(|&lane| above(lane)).collect()
            })
            .collect();
        let arranged = self.arrange_banks(high.len() as u32, low.len() as u32, &lanes[0], &lanes[1]);
        let lifted = arranged.iter().map(|&vector| crate::span::multiply(&high, vector));
        low.iter().copied().chain(lifted).collect()
    }

    /// Vectors that lie in the registers of both sides, and that no thread's offset disturbs.
    fn shared_vector(&self, threads: &[u64]) -> Vec<u64> {
        let [store, load] = self.sides.each_ref().map(|side| side.registers.as_slice());
        // Single register bits come first, so that elements packed in one register stay together.
        let mut vector = extend(threads, intersection(store, load));
        vector.truncate(self.vector_bits());
        vector
    }

    /// Further vectors of one side's registers, which leave the shared ones undisturbed.
    fn extra_vector(&self, shared: &[u64], threads: &[u64], owner: usize) -> Vec<u64> {
        let side = &self.sides[owner];
        let mut extra: Vec<u64> = Vec::new();
        for &register in &side.registers {
            if shared.len() + extra.len() == self.vector_bits() {
                break;
            }
            let own: Vec<u64> = side.threads.iter().chain(shared).chain(&extra).copied().collect();
            let others: Vec<u64> = threads.iter().chain(&extra).copied().chain([register]).collect();
            let all: Vec<u64> = others.iter().chain(shared).copied().collect();
            if !Span::of(&own).contains(register) && rank(&all) == shared.len() + rank(&others) {
                extra.push(register);
            }
        }
        extra
    }

    /// A basis of the `bits` above the vector: the rest of a word, the banks, then the rows.
    fn arrange_banks(&self, bits: u32, low: u32, store: &[u64], load: &[u64]) -> Vec<u64> {
        let in_word = 2u32.saturating_sub(low + self.element_log2) as usize;
        let both = intersection(store, load);
        let preferred: Vec<u64> = both.iter().chain(store).chain(load).copied().collect();
        let mut word = extend(&[], preferred.iter().copied().chain(standard(bits)));
        word.truncate(in_word);

        let rest = extend(&word, standard(bits));
        let span = Span::of(&word.iter().chain(&rest).copied().collect::<Vec<_>>());
        let beyond = |vectors: &[u64]| -> Vec<u64> {
            vectors.iter().map(|&vector| span.express(vector).unwrap_or(0) >> word.len()).collect()
        };
        let (store, load) = (beyond(store), beyond(load));
        let units: Vec<u64> = standard(rest.len() as u32).collect();
        let bank_bits = 7u32.saturating_sub(self.element_log2 + low + word.len() as u32) as usize;
        let row_bits = units.len().saturating_sub(bank_bits);
        let mut rows = common_complement(&units, &store, &load);
        rows.truncate(row_bits);
        // Where the lanes leave too little room some conflicts remain; the caller counts them.
        let missing = row_bits - rows.len();
        let more: Vec<u64> = extend(&rows, units.iter().copied()).into_iter().rev().take(missing).collect();
        rows.extend(more);
        let banks = extend(&rows, store.iter().chain(&load).chain(&units).copied());
        let lifted = banks.iter().chain(&rows).map(|&vector| crate::span::multiply(&rest, vector));
        word.iter().copied().chain(lifted).collect()
    }

    /// The most bits that count within a vector: 16 bytes.
    fn vector_bits(&self) -> usize {
        4u32.saturating_sub(self.element_log2) as usize
    }
}

/// The columns of the projection along the given independent vectors onto a complement of them.
fn quotient(bits: u32, vectors: &[u64]) -> Vec<u64> {
    let basis: Vec<u64> = vectors.iter().copied().chain(extend(vectors, standard(bits))).collect();
    let span = Span::of(&basis);
    standard(bits).map(|unit| span.express(unit).unwrap_or(0) >> vectors.len()).collect()
}
