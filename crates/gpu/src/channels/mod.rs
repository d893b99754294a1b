//! Channels: loads that run ahead of the loop that consumes them.
//!
//! A *channel* is a ring of shared tiles for a staged load of a loop. Its *producer slice*, the operations that the load's addresses
//! and mask depend on, runs some iterations ahead and fills the ring in the background, while the products of the loop's body read the
//! tile that is due:
//!
//! ```text
//! before   fill the first `distance` stages
//! loop     wait for the stage of this iteration; all threads meet
//!          body: products read the stage; after the first, fill the stage `distance` iterations ahead
//! ```
//!
//! Loads that do not reach a product's tile, such as of packed weights, have channels as well, in loops that multiply: there each thread
//! fills and reads places of its own, and need not meet the others; or, where what it loads is wanted by other threads ([`exchanged`]), all
//! fill a block that each reads where it wants.
//!
//! When threads meet at the start of an iteration, all have left the one before: what its products read is free again, unless they
//! are still in flight (*deferred*), and then only what the one before that read. So a ring has `distance + 1` stages, or
//! `distance + 2` where products are deferred. In what shared memory is left when the loop is lowered, [`LoopPlan::within`] fits it.

mod deferred;
mod distance;
mod exchanged;
mod rotation;
mod slice;

pub(crate) use rotation::Rotation;
pub(crate) use slice::Slice;

use crate::bulk::{TensorCopy, tensor_copy};
use crate::layouts::{Assignment, Operand, SharedTile, Unit, element_bytes, is_zero, vector_access};
use crate::roots::Roots;
use crate::users::Users;
use crate::{Options, Target};
use deferred::Carried;
use rotation::Candidate;
use rustc_hash::FxHashMap;
use tegula_ir::{Function, Op, OpId, RegionId, Value};
use tegula_layout::Layout;
use tegula_passes::AxisAnalysis;

/// How the loops of a function run.
pub(crate) struct Channels {
    loops: FxHashMap<OpId, LoopPlan>,
    /// Products whose result is written where the loop carries it.
    carried: FxHashMap<OpId, Carried>,
}

/// How a loop with channels runs.
#[derive(Clone, Debug)]
pub(crate) struct LoopPlan {
    pub slice: Slice,
    /// The staged loads, each with the place of its tile in a stage.
    pub tiles: Vec<(OpId, u32)>,
    /// The loads that each thread fetches for itself, each with the place of its elements in a stage.
    pub private: Vec<(OpId, u32)>,
    /// Those of them that lie as a block that all threads read, with the block's layout.
    pub exchanged: FxHashMap<OpId, Layout>,
    /// Whether threads read tiles themselves, and not the tensor cores alone.
    pub threads_read: bool,
    /// How the hardware fills the tiles by itself, in their order; empty if threads do.
    pub copies: Vec<TensorCopy>,
    /// The bytes of a stage.
    pub stage_bytes: u32,
    /// The iterations that the producer slice runs ahead.
    pub distance: u32,
    /// Whether products of the loop stay in flight when an iteration ends.
    pub deferred: bool,
    /// The products after which the stage of the iteration before is free and after which the next one is filled, if another product
    /// ends while those in flight do; the first product fills otherwise.
    pub relay: Option<Relay>,
    /// How the loop is rotated, if it is.
    pub rotation: Option<Rotation>,
}

/// Where an iteration of a loop whose tiles the hardware fills gives up a stage and fills one.
///
/// A product that is waited for at once, such as the first of attention, ends no earlier than those that were in flight before. So the stage
/// of the iteration before is free in the middle of an iteration, and one fewer is needed; it is filled at the end, when other warps
/// have come as far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relay {
    pub release_after: OpId,
    pub fill_after: OpId,
}

impl LoopPlan {
    /// Whether a stage holds what a load reads in the iteration before the stage's.
    pub fn trails(&self, load: OpId) -> bool {
        self.rotation.as_ref().is_some_and(|rotation| rotation.trailing_loads.contains(&load))
    }

    /// The stages of the ring.
    pub fn stages(&self) -> u32 {
        let overlaps = self.deferred && self.relay.is_none() && self.rotation.is_none();
        self.distance + if overlaps { 2 } else { 1 }
    }

    /// The plan whose ring fits into so many bytes; `None` if none does.
    ///
    /// A product that stays in flight takes a stage from the copies. Where that leaves them less than two iterations, they had better have it.
    pub fn within(&self, bytes: u32) -> Option<LoopPlan> {
        let fitting = |deferred: bool| {
            let stages = bytes / self.stage_bytes;
            let spare = LoopPlan { distance: 0, deferred, ..self.clone() }.stages();
            let distance = self.distance.min(stages.saturating_sub(spare));
            (distance > 0).then(|| LoopPlan { distance, deferred, ..self.clone() })
        };
        let planned = fitting(self.deferred);
        if self.deferred && self.relay.is_none() && planned.as_ref().is_none_or(|plan| plan.distance < 2) {
            return fitting(false)
                .filter(|other| planned.as_ref().is_none_or(|plan| plan.distance < other.distance))
                .or(planned);
        }
        planned
    }
}

impl Channels {
    /// Plans every loop.
    pub fn new(
        function: &Function,
        layouts: &Assignment,
        axis: &AxisAnalysis,
        target: Target,
        options: &Options,
    ) -> Channels {
        let mut channels = Channels { loops: FxHashMap::default(), carried: FxHashMap::default() };
        let users = Users::new(function);
        let bulk_copies = options.copies_in_bulk(target);
        let settings = Settings { bulk_copies, axis, options };
        channels.region(function, function.body, layouts, &users, &settings);
        channels
    }

    /// The plan of a loop that has channels.
    pub fn of_loop(&self, op: OpId) -> Option<&LoopPlan> {
        self.loops.get(&op)
    }

    /// Which of the carried values of its loop a product's result becomes, if it may be written there at once.
    pub fn carried_place(&self, product: OpId) -> Option<usize> {
        self.carried.get(&product).map(|carried| carried.place)
    }

    /// Whether a product may be in flight when an iteration of its loop ends.
    pub fn stays_in_flight(&self, product: OpId) -> bool {
        self.carried.get(&product).is_some_and(|carried| carried.stays_in_flight)
    }

    fn region(
        &mut self,
        function: &Function,
        region: RegionId,
        layouts: &Assignment,
        users: &Users,
        settings: &Settings<'_>,
    ) {
        for &op in &function.region(region).ops {
            let data = function.op(op);
            for inner in data.op.regions() {
                self.region(function, inner, layouts, users, settings);
            }
            let Op::For { body, attributes, .. } = &data.op else { continue };
            let carried = deferred::carried_products(function, *body, layouts, users);
            let num_stages = attributes.num_stages.unwrap_or(settings.options.num_stages);
            let found = Found { function, op, body: *body, layouts, users, carried: &carried };
            if let Some(plan) = found.plan(num_stages, settings) {
                self.loops.insert(op, plan);
            }
            self.carried.extend(carried);
        }
    }
}

/// What is asked of all loops.
struct Settings<'a> {
    options: &'a Options,
    axis: &'a AxisAnalysis,
    bulk_copies: bool,
}

/// A loop.
struct Found<'a> {
    function: &'a Function,
    op: OpId,
    body: RegionId,
    layouts: &'a Assignment,
    users: &'a Users,
    /// The products that the loop accumulates.
    carried: &'a FxHashMap<OpId, Carried>,
}

impl Found<'_> {
    fn plan(&self, num_stages: u32, settings: &Settings<'_>) -> Option<LoopPlan> {
        let &Found { function, op, body, layouts, users, carried } = self;
        if num_stages < 2 {
            return None;
        }
        let in_body = || function.region(body).ops.iter().copied();
        let staged: Vec<OpId> = in_body().filter(|&op| layouts.tile_of(op).is_some()).collect();
        let multiplies = in_body().any(|op| matches!(function.op(op).op, Op::Dot { .. }));
        let mut private: Vec<OpId> = in_body()
            .filter(|&op| multiplies && !staged.contains(&op) && self.private_bytes(op, settings).is_some())
            .collect();
        private.retain(|&load| {
            may_run_ahead(function, body, &[load])
                && Slice::new(function, op, body, &[load], &[load], layouts, users).is_some()
        });
        if !staged.is_empty() && !may_run_ahead(function, body, &staged) {
            return None;
        }
        let copies = if settings.bulk_copies { self.tensor_copies(&staged, settings.axis) } else { None };
        let all = [&staged[..], &private[..]].concat();
        let by_threads = if copies.is_some() { &private } else { &all };
        if all.is_empty() {
            return None;
        }
        let slice = Slice::new(function, op, body, by_threads, &all, layouts, users)?;
        let mut stage_bytes = 0;
        let mut place = |load: OpId, bytes: u32| {
            let place = (load, stage_bytes);
            stage_bytes += bytes;
            place
        };
        let tile_bytes = |load: OpId| layouts.tile_of(load).map_or(0, |tile| tile.bytes);
        let tiles: Vec<_> = staged.into_iter().map(|load| place(load, tile_bytes(load))).collect();
        let exchanged: FxHashMap<OpId, Layout> = private
            .iter()
            .filter_map(|&load| Some((load, exchanged::layout(function, layouts, settings.axis, load)?)))
            .collect();
        let private_bytes = |load: OpId| match exchanged.get(&load) {
            Some(layout) => (exchanged::bytes(function, load, layout) as u32).next_multiple_of(16),
            None => self.private_bytes(load, settings).unwrap_or(0),
        };
        let private: Vec<_> = private.into_iter().map(|load| place(load, private_bytes(load))).collect();
        stage_bytes = stage_bytes.next_multiple_of(SharedTile::ALIGNMENT);
        let reads = |op: OpId| {
            let product = layouts.products.get(&op);
            product.is_some_and(|product| matches!(product.lhs, Operand::Read { .. }))
        };
        let threads_read = in_body().any(reads);
        let deferred = carried.values().any(|product| product.stays_in_flight);
        let copies = copies.unwrap_or_default();
        let relay = if copies.is_empty() || !deferred { None } else { self.relay() };
        let mut distance = num_stages - 1 + u32::from(relay.is_some());
        if !copies.is_empty() {
            let spare = if deferred && relay.is_none() { 2 } else { 1 };
            let threads = settings.options.num_warps * 32;
            let ring = distance::Ring { stage_bytes, spare, threads, accumulators: self.accumulators() };
            distance = ring.distance(distance);
        }
        let mut plan = LoopPlan {
            slice,
            tiles,
            private,
            exchanged,
            threads_read,
            copies,
            stage_bytes,
            distance,
            deferred,
            relay,
            rotation: None,
        };
        if let Some(relay) = plan.relay {
            let options = settings.options;
            let place = carried[&relay.fill_after].place;
            let candidate = Candidate { function, body, layouts, users, options, plan: &plan };
            plan.rotation = candidate.rotation(relay.fill_after, place);
        }
        Some(plan)
    }

    /// Registers of each thread for the sums of the loop's products.
    fn accumulators(&self) -> u32 {
        let ops = self.function.region(self.body).ops.iter();
        let products = ops.filter_map(|op| self.layouts.products.get(op));
        products.map(|product| self.layouts.set.registers(product.accumulator_id) as u32).sum()
    }

    /// The relay of a loop whose last product is in flight when the next iteration begins, and whose first one is not.
    fn relay(&self) -> Option<Relay> {
        let products: Vec<OpId> = (self.function.region(self.body).ops.iter().copied())
            .filter(|op| matches!(self.function.op(*op).op, Op::Dot { .. }))
            .collect();
        let (&first, &last) = (products.first()?, products.last()?);
        let by_warpgroups = |op: &OpId| {
            let product = self.layouts.products.get(op);
            product.is_some_and(|product| matches!(product.unit, Unit::Warpgroup { .. }))
        };
        let deferred = |op: OpId| self.carried.get(&op).is_some_and(|carried| carried.stays_in_flight);
        let relays =
            first != last && products.iter().all(by_warpgroups) && deferred(last) && !deferred(first);
        relays.then_some(Relay { release_after: first, fill_after: last })
    }

    /// The shared memory that a load needs whose elements each thread fetches for itself; `None` if they cannot be copied in the background.
    fn private_bytes(&self, load: OpId, settings: &Settings<'_>) -> Option<u32> {
        let &Found { function, layouts, .. } = self;
        let Op::Load { pointer, mask, other, volatile: false, .. } = &function.op(load).op else {
            return None;
        };
        let layout = layouts.set.get(*layouts.work.get(&load)?);
        if !other.is_none_or(|other| is_zero(function, other)) {
            return None;
        }
        let access = vector_access(function, settings.axis, layout, *pointer, *mask).ok()?;
        let bytes = access.elements() * element_bytes(function, *pointer);
        let threads = u64::from(settings.options.num_warps) * 32;
        (bytes >= 4).then(|| (bytes * threads * access.instructions()) as u32)
    }

    /// The copies that all loads are.
    fn tensor_copies(&self, loads: &[OpId], axis: &AxisAnalysis) -> Option<Vec<TensorCopy>> {
        let copy = |&load: &OpId| {
            let tile = self.layouts.tile_of(load)?;
            tensor_copy(self.function, axis, (self.op, self.body), load, tile)
        };
        loads.iter().map(copy).collect()
    }
}

/// Whether nothing in a loop's body may write what the loads read, or wait for somebody who does.
fn may_run_ahead(function: &Function, body: RegionId, loads: &[OpId]) -> bool {
    let pointers: Vec<Value> = loads
        .iter()
        .filter_map(|&load| match &function.op(load).op {
            Op::Load { pointer, .. } => Some(*pointer),
            _ => None,
        })
        .collect();
    let mut roots = Roots::new(function);
    every_op(function, body, &mut |op| match &function.op(op).op {
        Op::Store { pointer, .. } => !pointers.iter().any(|&load| roots.may_meet(load, *pointer)),
        Op::AtomicRmw { .. } | Op::AtomicCas { .. } | Op::Barrier => false,
        Op::Load { volatile, .. } => !volatile,
        Op::InlineAssembly { assembly, .. } => assembly.pure,
        _ => true,
    })
}

/// Whether something holds of all operations of a region and of those inside them.
fn every_op(function: &Function, region: RegionId, holds: &mut impl FnMut(OpId) -> bool) -> bool {
    function.region(region).ops.iter().all(|&op| {
        holds(op) && function.op(op).op.regions().iter().all(|&inner| every_op(function, inner, holds))
    })
}
