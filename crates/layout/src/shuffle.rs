//! Conversions within a warp, by rounds in which every lane sends one vector and receives one.
//!
//! Let `A` and `B` be the registers' spans in the source and the target, and `V` what they share: vectors
//! of `V` move whole. A subspace `W` that contains `V`, and meets `A` and `B` in nothing more, cuts the
//! warp's elements into parallel slices in each of which every lane holds exactly one vector before and one
//! after. One round moves one slice, so no lane sends what is not wanted and none waits (Linear Layouts,
//! section 5.3). `W` is `V` with a common complement of `A` and `B`.
//!
//! ```text
//! registers hold rows, lanes columns        and the other way round
//!        r0 r1 | lane 0: a b                 lane 0: a c
//!              | lane 1: c d        ->       lane 1: b d
//! W = {a, d}: round 0 moves a and d (nothing to exchange), round 1 moves b and c.
//! ```
//!
//! Lanes and warps that hold copies first share the work: each answers for a part of what it holds.

use crate::span::{Span, common_complement, extend, intersection, multiply, rank};
use crate::{Dim, Layout};

/// A number that depends on the thread by exclusive or: `constant` and a term for each set bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadFunction {
    /// The value for lane 0 of warp 0.
    pub constant: u64,
    /// What each bit of the lane adds.
    pub lane_bits: Vec<u64>,
    /// What each bit of the warp adds, then each bit of the block.
    pub outer_bits: Vec<u64>,
}

impl ThreadFunction {
    /// The value for a thread; `outer` is the warp with the block above it.
    pub fn at(&self, lane: u64, outer: u64) -> u64 {
        self.constant ^ multiply(&self.lane_bits, lane) ^ multiply(&self.outer_bits, outer)
    }

    /// The number of values that threads differ in, as a base-two logarithm.
    pub fn varying_bits(&self) -> usize {
        rank(&self.lane_bits).max(rank(&[self.lane_bits.as_slice(), &self.outer_bits].concat()))
    }

    /// Whether it is the lane itself.
    fn is_lane(&self) -> bool {
        let own = self.lane_bits.iter().enumerate().all(|(bit, &term)| term == 1 << bit);
        own && self.constant == 0 && self.outer_bits.iter().all(|&term| term == 0)
    }
}

/// One round: thread `t` offers register `send(t)`, reads what lane `source_lane(t)` offers, and keeps it as
/// register `receive(t)`. A vector's other elements go the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// The register of the source that a thread offers.
    pub send: ThreadFunction,
    /// The lane whose offer a thread takes.
    pub source_lane: ThreadFunction,
    /// The register of the target that a thread fills.
    pub receive: ThreadFunction,
}

impl Round {
    /// Whether every lane takes its own offer, so that no shuffle is needed.
    pub fn stays(&self) -> bool {
        self.source_lane.is_lane()
    }
}

/// A conversion within each warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShufflePlan {
    /// The rounds, which together fill every register that is not a copy.
    pub rounds: Vec<Round>,
    /// For each bit that counts elements of a vector, what it adds to the source's register and to the
    /// target's.
    pub vector: Vec<(u64, u64)>,
    /// For each bit of the target's register, the register (without copies) it stands for: register `r`
    /// of the target holds what the exclusive or of its bits' entries holds.
    pub canonical: Vec<u64>,
}

impl ShufflePlan {
    /// The plan from one distributed layout to another, or `None` where a warp lacks an element that it
    /// needs, or holds it in a way that rounds cannot describe.
    ///
    /// Both must have the same lanes, warps, blocks and outputs; the source must be surjective.
    pub fn find(source: &Layout, target: &Layout) -> Option<ShufflePlan> {
        let from = Half::source(source, target)?;
        let to = Half::target(target);
        exchange(from, to, target)
    }

    /// 32-bit shuffles that a thread executes, for elements of the given width.
    pub fn shuffles(&self, element_bits: u32) -> u64 {
        let moving = self.rounds.iter().filter(|round| !round.stays()).count() as u64;
        moving * self.words(element_bits)
    }

    /// 32-bit selections that a thread executes to choose registers that depend on the lane.
    pub fn selections(&self, element_bits: u32) -> u64 {
        let Some(round) = self.rounds.first() else { return 0 };
        let choose = (1u64 << round.send.varying_bits()) - 1;
        let place = round.receive.varying_bits() as u64;
        (choose + place) * self.rounds.len() as u64 * self.words(element_bits)
    }

    /// Words of a vector.
    fn words(&self, element_bits: u32) -> u64 {
        (u64::from(element_bits) << self.vector.len()).div_ceil(32)
    }
}

/// One side of the exchange: within a warp, a bijection from registers and lanes to elements.
struct Half {
    /// The element of each register bit, with the register's number.
    registers: Vec<(u64, u64)>,
    /// The element of each lane bit.
    lanes: Vec<u64>,
    /// What each lane bit adds to a register's number.
    lane_registers: Vec<u64>,
    /// What each bit of warp and block adds to a register's number.
    outer_registers: Vec<u64>,
}

impl Half {
    fn target(layout: &Layout) -> Half {
        let lanes = layout.columns_of(Dim::Lane).to_vec();
        Half {
            registers: independent_registers(layout),
            lane_registers: vec![0; lanes.len()],
            outer_registers: vec![0; outer_columns(layout).len()],
            lanes,
        }
    }

    /// The source, restricted to what the target's warps need: a warp that holds more picks its part by
    /// its number, and a lane whose elements lie outside is moved inside by a register.
    fn source(source: &Layout, target: &Layout) -> Option<Half> {
        let registers = independent_registers(source);
        let elements: Vec<u64> = registers.iter().map(|&(element, _)| element).collect();
        let numbers: Vec<u64> = registers.iter().map(|&(_, number)| number).collect();
        let span = Span::of(&elements);
        let outer_registers = outer_columns(source)
            .iter()
            .zip(outer_columns(target))
            .map(|(own, wanted)| span.express(own ^ wanted).map(|set| multiply(&numbers, set)))
            .collect::<Option<Vec<u64>>>()?;

        let needed: Vec<u64> =
            target.columns_of(Dim::Register).iter().chain(target.columns_of(Dim::Lane)).copied().collect();
        let needed = extend(&[], needed);
        let kept = intersection(&elements, &needed);
        let registers = kept
            .iter()
            .map(|&element| Some((element, multiply(&numbers, span.express(element)?))))
            .collect::<Option<Vec<_>>>()?;
        let reachable = Span::of(&needed.iter().chain(&elements).copied().collect::<Vec<_>>());
        let mut lanes = Vec::new();
        let mut lane_registers = Vec::new();
        for &lane in source.columns_of(Dim::Lane) {
            let moved_by = reachable.express(lane)? >> needed.len();
            lanes.push(lane ^ multiply(&elements, moved_by));
            lane_registers.push(multiply(&numbers, moved_by));
        }
        let held: Vec<u64> =
            registers.iter().map(|&(element, _)| element).chain(lanes.iter().copied()).collect();
        (rank(&held) == needed.len()).then_some(Half { registers, lanes, lane_registers, outer_registers })
    }

    /// The elements of the register bits.
    fn elements(&self) -> Vec<u64> {
        self.registers.iter().map(|&(element, _)| element).collect()
    }

    fn rank(&self) -> usize {
        rank(&self.elements().into_iter().chain(self.lanes.iter().copied()).collect::<Vec<_>>())
    }

    /// The lane bits that only number copies.
    fn free_lanes(&self) -> Vec<usize> {
        let mut span = Span::of(&self.elements());
        (0..self.lanes.len()).filter(|&bit| !span.insert(self.lanes[bit])).collect()
    }

    /// Makes a lane that holds copies answer for one bit of its registers; a lane that can be made to hold
    /// what it will need is preferred. It succeeds wherever a lane and a register are left.
    fn share_registers(&mut self, wanted: &[u64]) -> bool {
        let elements = self.elements();
        let span = Span::of(&elements);
        let free = self.free_lanes();
        let to_wanted =
            free.iter().filter_map(|&bit| Some((bit, span.express(self.lanes[bit] ^ wanted[bit])?)));
        let to_any = free.iter().flat_map(|&bit| {
            std::iter::once((bit, 0)).chain((0..elements.len()).map(move |index| (bit, 1 << index)))
        });
        let complete = self.rank();
        for (bit, set) in to_wanted.chain(to_any).collect::<Vec<_>>() {
            let mut lanes = self.lanes.clone();
            lanes[bit] ^= multiply(&elements, set);
            for dropped in (0..elements.len()).rev() {
                let others = elements.iter().enumerate().filter(|&(index, _)| index != dropped);
                let held: Vec<u64> =
                    others.map(|(_, &element)| element).chain(lanes.iter().copied()).collect();
                if rank(&held) == complete {
                    self.lane_registers[bit] ^= number(&self.registers, Some(set));
                    self.lanes = lanes;
                    self.registers.remove(dropped);
                    return true;
                }
            }
        }
        false
    }
}

/// The rounds between two halves that hold the same elements.
fn exchange(mut from: Half, mut to: Half, target: &Layout) -> Option<ShufflePlan> {
    while from.free_lanes().len() > to.free_lanes().len() {
        if !from.share_registers(&to.lanes) {
            return None;
        }
    }
    number_copies(&mut from, &mut to, target.outputs().bits());

    let (held, wanted) = (from.elements(), to.elements());
    let shared = intersection(&held, &wanted);
    let only_held = extend(&shared, held.iter().copied());
    let both_lanes = intersection(&from.lanes, &to.lanes);
    let space: Vec<u64> = both_lanes.iter().chain(&from.lanes).chain(&held).copied().collect();
    // With the shared vectors it is W. Kept apart, it fixes which element of its vector a lane
    // moves first, the same for the sender and the receiver.
    let slice = common_complement(&extend(&[], space), &held, &wanted);

    let held_span = Span::of(&held);
    let wanted_span = Span::of(&wanted);
    let sent = |element: u64| number(&from.registers, held_span.express(element));
    let received = |element: u64| number(&to.registers, wanted_span.express(element));
    let vector = shared.iter().map(|&element| (sent(element), received(element))).collect();

    let to_held = Span::of(&held.iter().chain(&slice).copied().collect::<Vec<_>>());
    let to_wanted = Span::of(&wanted.iter().chain(&slice).copied().collect::<Vec<_>>());
    // The register element that brings an element into the slice through zero.
    let into_slice = |span: &Span, registers: &[u64], element: u64| {
        multiply(registers, span.express(element).unwrap_or(0) & ((1 << registers.len()) - 1))
    };
    let places = Span::of(&held.iter().chain(&from.lanes).copied().collect::<Vec<_>>());
    let lane_of = |element: u64| places.express(element).unwrap_or(0) >> held.len();

    let send_lanes: Vec<u64> = (from.lanes.iter().zip(&from.lane_registers))
        .map(|(&lane, &moved)| sent(into_slice(&to_held, &held, lane)) ^ moved)
        .collect();
    let wanted_lanes: Vec<u64> = to.lanes.iter().map(|&lane| into_slice(&to_wanted, &wanted, lane)).collect();
    let source_lanes: Vec<u64> =
        to.lanes.iter().zip(&wanted_lanes).map(|(&lane, &register)| lane_of(lane ^ register)).collect();
    let none = vec![0; to.outer_registers.len()];
    let rounds = (0..1u64 << only_held.len()).map(|round| {
        let start = multiply(&only_held, round);
        let register = into_slice(&to_wanted, &wanted, start);
        Round {
            send: ThreadFunction {
                constant: sent(start),
                lane_bits: send_lanes.clone(),
                outer_bits: from.outer_registers.clone(),
            },
            source_lane: ThreadFunction {
                constant: lane_of(register),
                lane_bits: source_lanes.clone(),
                outer_bits: none.clone(),
            },
            receive: ThreadFunction {
                constant: received(register),
                lane_bits: wanted_lanes.iter().map(|&element| received(element)).collect(),
                outer_bits: none.clone(),
            },
        }
    });
    Some(ShufflePlan { rounds: rounds.collect(), vector, canonical: canonical_registers(target) })
}

/// Gives copies numbers of their own, in bits above the tensor's, so that both halves become bijections. A
/// copy in a lane of the target comes from the copy in the same lane of the source where there is
/// one; where the source has fewer, all its registers serve for both.
fn number_copies(from: &mut Half, to: &mut Half, tensor_bits: u32) {
    let mut sources = from.free_lanes();
    let mut targets = to.free_lanes();
    let same: Vec<usize> = sources.iter().copied().filter(|lane| targets.contains(lane)).collect();
    sources.retain(|lane| !same.contains(lane));
    targets.retain(|lane| !same.contains(lane));
    let pairs =
        same.iter().map(|&lane| (lane, lane)).chain(sources.iter().copied().zip(targets.iter().copied()));
    let mut bit = tensor_bits;
    for (source, target) in pairs.collect::<Vec<_>>() {
        from.lanes[source] ^= 1 << bit;
        to.lanes[target] ^= 1 << bit;
        bit += 1;
    }
    for &target in targets.iter().skip(sources.len()) {
        to.lanes[target] ^= 1 << bit;
        from.registers.push((1 << bit, 0));
        bit += 1;
    }
    debug_assert_eq!(from.rank(), to.rank());
}

/// The register numbers of a set of register bits.
fn number(registers: &[(u64, u64)], set: Option<u64>) -> u64 {
    let numbers: Vec<u64> = registers.iter().map(|&(_, number)| number).collect();
    multiply(&numbers, set.unwrap_or(0))
}

/// The register bits that are not copies: their elements and numbers.
fn independent_registers(layout: &Layout) -> Vec<(u64, u64)> {
    let mut span = Span::default();
    let columns = layout.columns_of(Dim::Register).iter().enumerate();
    columns.filter(|&(_, &column)| span.insert(column)).map(|(bit, &column)| (column, 1 << bit)).collect()
}

/// For each register bit, the set of register bits that are not copies and hold the same.
fn canonical_registers(layout: &Layout) -> Vec<u64> {
    let registers = layout.columns_of(Dim::Register);
    let span = Span::of(registers);
    registers.iter().map(|&column| span.express(column).unwrap_or(0)).collect()
}

/// The columns of warps, then of blocks.
fn outer_columns(layout: &Layout) -> Vec<u64> {
    layout.columns_of(Dim::Warp).iter().chain(layout.columns_of(Dim::Block)).copied().collect()
}
