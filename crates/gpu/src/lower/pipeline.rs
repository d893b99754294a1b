//! Loops with channels: the producer slice ahead of the body, as `channels` plans it.
//!
//! The slice has its own loop counter and its own registers for the carried values that it needs. It is lowered anew wherever it runs: a
//! few times before the loop, and once in it. Where the hardware copies the tiles by itself (`bulk`), the slice is where its boxes
//! are, and threads meet at mbarriers instead of a barrier of all.

use super::bulk::{BARRIER_BYTES, Source};
use super::emit::fails;
use super::{Lowering, Registers, Result};
use crate::channels::LoopPlan;
use crate::layouts::LayoutId;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use tegula_ir::{Op, OpId, Value};
use tegula_ptx::{AsyncGroup, Comparison, MathOp, Operand, Register, Type, WarpBarrier, WgmmaControl};

/// The producer of a loop while the loop is lowered.
pub(super) struct Producer {
    loop_op: OpId,
    plan: Rc<LoopPlan>,
    /// The values from outside of the loop.
    scalars: FxHashMap<Value, Register>,
    blocks: FxHashMap<(Value, LayoutId), Registers>,
    counter: Register,
    /// Registers of the carried values that the slice needs.
    rooms: Vec<Registers>,
    /// Whether the iteration that comes next will be.
    alive: Register,
    /// Of a rotated loop: whether there is an iteration before that.
    trails: Option<Register>,
    ring: Ring,
    /// The stage that is filled next.
    position: Position,
    /// What the hardware copies.
    sources: Vec<Source>,
    /// Whether the iteration being lowered has yet to fill a stage.
    due: bool,
    /// The barriers of the stage that the iteration before has read, and whether there was one.
    previous: Register,
    is_later: Register,
}

/// Stages one after the other.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    pub start: Register,
    pub stage_bytes: u32,
    pub stages: u32,
    /// The barriers of the first stage, if the hardware fills them.
    pub barriers: Option<Register>,
}

/// A stage, in registers that change as the loop goes on.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub stage: Register,
    /// The address of its barriers, and the parity of its filling; nothing where threads fill.
    pub barriers: Register,
    pub parity: Register,
}

impl Lowering<'_> {
    /// The channels of a loop, in the shared memory that is left.
    pub(super) fn plan_of_loop(&self, id: OpId) -> Option<LoopPlan> {
        self.channels.of_loop(id)?.within(self.scratch.room(self.shared_limit))
    }

    pub(super) fn pipelined_loop(&mut self, id: OpId, plan: LoopPlan) -> Result<()> {
        let function = self.function;
        let data = function.op(id);
        let Op::For { lower, upper, step, inits, body, .. } = &data.op else {
            unreachable!("called for loops")
        };
        let plan = Rc::new(plan);
        if plan.rotation.is_some() {
            return self.rotated_loop(id, plan);
        }
        let region = function.region(*body);
        let (&index, carried) = region.args.split_first().expect("a loop has an index");
        let ty = super::element::integer_type(self.element(index));
        let (upper, step, lower) = (self.scalar(*upper), self.scalar(*step), self.scalar(*lower));
        let before = self.scratch;
        let ring = self.begin_ring(&plan);
        if plan.tiles.iter().chain(&plan.private).any(|&(load, _)| self.hazards.barrier_before(load)) {
            self.barrier();
        }
        self.begin_producer(id, &plan, ring, lower)?;
        for _ in 0..plan.distance {
            self.produce()?;
        }
        self.finish_tiles();
        let counter = self.code.copy(ty, lower);
        let rest =
            |values: &[Value]| -> Vec<Value> { plan.slice.rest.iter().map(|&place| values[place]).collect() };
        let arguments = rest(carried);
        let all_rooms: Vec<Registers> = (0..carried.len())
            .map(|place| {
                let needed = plan.slice.rest.contains(&place);
                if needed { self.room_for(carried[place]) } else { Rc::from([]) }
            })
            .collect();
        let rooms: Vec<Registers> = plan.slice.rest.iter().map(|&place| all_rooms[place].clone()).collect();
        let sources = self.read_all(&rest(inits), &arguments);
        self.assign_all(&rooms, &sources);
        let position = self.first_stage(ring);
        let (start, end) = (self.code.label(), self.code.label());
        // One turn after the other, each group reads its fragments while the other multiplies.
        let is_simple = region.ops.iter().all(|&op| function.op(op).op.regions().is_empty());
        let takes_turns = plan.threads_read && ring.barriers.is_some() && is_simple && self.begin_turns();
        self.code.place(start);
        let goes_on = self.goes_on(counter, upper, step, ty);
        self.code.branch(Some(fails(goes_on)), end, self.uniform());

        if ring.barriers.is_some() {
            self.wait_for_full(&position);
        }
        if !plan.private.is_empty() || ring.barriers.is_none() {
            self.code.push(AsyncGroup::Wait(plan.distance - 1));
        }
        if !plan.tiles.is_empty() && ring.barriers.is_none() {
            self.publish_tiles();
        } else if !plan.exchanged.is_empty() {
            self.barrier();
        }
        self.scratch.forget();
        for &(load, offset) in &plan.tiles {
            let address = self.in_stage(position.stage, offset);
            self.tiles.insert(load, address);
        }
        self.scalars.insert(index, counter);
        self.bind_all(&arguments, &rooms)?;
        let outer_defers = std::mem::replace(&mut self.defers, plan.deferred);
        let outer_turns = std::mem::replace(&mut self.takes_turns, takes_turns);
        self.rooms.push(all_rooms);
        self.loop_depth += 1;
        for (place, &yielded) in region.yields.iter().enumerate() {
            if plan.deferred && self.is_deferred(yielded, place) {
                self.in_flight.push(carried[place]);
            }
        }
        let is_later = self.code.compare(Comparison::NotEqual, ty, counter.into(), lower.into());
        let producer = self.producers.last_mut().expect("it has just begun");
        producer.due = true;
        producer.is_later = is_later;
        let previous = producer.previous;
        for &op in &region.ops {
            if let Some(&(_, offset)) = plan.private.iter().find(|(load, _)| *load == op) {
                self.locate(function.op(op).span);
                let base = self.in_stage(position.stage, offset);
                match plan.exchanged.get(&op) {
                    Some(block) => self.read_exchanged(op, base, block)?,
                    None => self.read_private(op, base)?,
                }
                continue;
            }
            if plan.slice.only.contains(&op) {
                if self.hazards.barrier_before(op) {
                    self.barrier();
                }
                continue;
            }
            if !function.op(op).op.regions().is_empty() && plan.relay.is_none() {
                self.produce_if_due()?;
            }
            self.op(op)?;
        }
        self.produce_if_due()?;
        let yields = rest(&region.yields);
        let next = self.read_all(&yields, &arguments);
        self.assign_all(&rooms, &next);
        // What was in flight before this iteration is done; its own products may stay.
        let own = self.in_flight.iter().filter(|value| !carried.contains(value)).count();
        if !self.in_flight.is_empty() {
            self.code.push(WgmmaControl::Wait(own as u32));
        }
        self.loop_depth -= 1;
        self.rooms.pop();
        self.defers = outer_defers;
        self.takes_turns = outer_turns;
        self.producers.pop();
        if ring.barriers.is_some() {
            if plan.threads_read {
                // One lane speaks for all.
                self.code.push(WarpBarrier { members: Operand::Integer(0xffff_ffff) });
            }
            match (plan.deferred, plan.relay) {
                (false, _) => self.release_stage(position.barriers, None),
                (true, None) => self.release_stage(previous, Some(is_later)),
                (true, Some(_)) => {}
            }
            self.code.assign(previous, position.barriers);
        }
        self.advance(ring, &position);
        let advanced = self.code.math(MathOp::Add, ty, &[counter.into(), step.into()]);
        let wraps = self.wraps(counter, advanced, step, ty);
        self.code.assign(counter, advanced);
        self.code.branch(Some(fails(wraps)), start, self.uniform());
        self.code.place(end);
        if takes_turns {
            self.end_turns();
        }
        self.finish_products();
        if let Some(barriers) = ring.barriers {
            self.end_barriers(barriers, ring.stages);
        }
        self.scratch.release_to(before);
        self.bind_all(&rest(&data.results), &rooms)
    }

    /// Whether a loop's carried value is a product that may be in flight when an iteration begins.
    fn is_deferred(&self, yielded: Value, place: usize) -> bool {
        let tegula_ir::ValueDef::Result { op, .. } = self.function.value(yielded).def else { return false };
        self.channels.carried_place(op) == Some(place) && self.channels.stays_in_flight(op)
    }

    pub(super) fn begin_producer(
        &mut self,
        id: OpId,
        plan: &Rc<LoopPlan>,
        ring: Ring,
        lower: Register,
    ) -> Result<()> {
        let function = self.function;
        let Op::For { upper, step, inits, body, .. } = &function.op(id).op else {
            unreachable!("called for loops")
        };
        let region = function.region(*body);
        let ty = super::element::integer_type(self.element(region.args[0]));
        let counter = self.code.copy(ty, lower);
        let alive = self.goes_on(counter, self.scalar(*upper), self.scalar(*step), ty);
        let needed: Vec<Value> = plan.slice.carried.iter().map(|&place| region.args[place + 1]).collect();
        let starts: Vec<Value> = plan.slice.carried.iter().map(|&place| inits[place]).collect();
        let rooms: Vec<Registers> = needed.iter().map(|&value| self.room_for(value)).collect();
        let sources = self.read_all(&starts, &needed);
        self.assign_all(&rooms, &sources);
        let trails = plan.rotation.as_ref().map(|_| self.code.truth(false));
        let position = self.first_stage(ring);
        let previous = self.code.copy(Type::U32, position.barriers);
        let sources = self.begin_sources(plan)?;
        let (scalars, blocks) = (self.scalars.clone(), self.blocks.clone());
        let plan = Rc::clone(plan);
        let due = false;
        let loop_op = id;
        self.producers.push(Producer {
            loop_op,
            plan,
            scalars,
            blocks,
            counter,
            rooms,
            alive,
            trails,
            ring,
            position,
            sources,
            due,
            previous,
            is_later: alive,
        });
        Ok(())
    }

    /// Fills the next stage, if this iteration has not yet done so.
    pub(super) fn produce_if_due(&mut self) -> Result<()> {
        if self.producers.last().is_some_and(|producer| producer.due) { self.produce() } else { Ok(()) }
    }

    /// Fills the next stage after a product, if that is where the innermost loop fills it.
    pub(super) fn produce_after(&mut self, product: OpId) -> Result<()> {
        let relay = self.producers.last().and_then(|producer| producer.plan.relay);
        if relay.is_some_and(|relay| relay.fill_after != product) {
            return Ok(());
        }
        self.produce_if_due()
    }

    /// Gives up the stage of the iteration before, if it is free after a product.
    pub(super) fn release_after(&mut self, product: OpId) {
        let Some(producer) = self.producers.last() else { return };
        if producer.plan.relay.is_some_and(|relay| relay.release_after == product) {
            self.release_stage(producer.previous, Some(producer.is_later));
        }
    }

    /// Runs the innermost loop's producer slice once: fills a stage, and goes on to the next.
    pub(super) fn produce(&mut self) -> Result<()> {
        let Some(mut producer) = self.producers.pop() else { return Ok(()) };
        let scalars = std::mem::replace(&mut self.scalars, producer.scalars.clone());
        let blocks = std::mem::replace(&mut self.blocks, producer.blocks.clone());
        let outcome = self.produce_stage(&mut producer);
        self.scalars = scalars;
        self.blocks = blocks;
        producer.due = false;
        self.producers.push(producer);
        outcome
    }

    fn produce_stage(&mut self, producer: &mut Producer) -> Result<()> {
        let function = self.function;
        let plan = Rc::clone(&producer.plan);
        let Op::For { upper, step, body, .. } = &function.op(producer.loop_op).op else {
            unreachable!("producers are of loops")
        };
        let region = function.region(*body);
        let index = region.args[0];
        let ty = super::element::integer_type(self.element(index));
        if producer.ring.barriers.is_some() {
            let (alive, trails) = (producer.alive, producer.trails);
            self.copy_stage(&plan, &producer.position, &producer.sources, alive, trails);
        }
        if producer.ring.barriers.is_some() && plan.private.is_empty() {
            return self.end_stage(producer, ty, self.scalar(*upper), self.scalar(*step));
        }
        let needed: Vec<Value> = plan.slice.carried.iter().map(|&place| region.args[place + 1]).collect();
        let yields: Vec<Value> = plan.slice.carried.iter().map(|&place| region.yields[place]).collect();
        self.scalars.insert(index, producer.counter);
        self.bind_all(&needed, &producer.rooms)?;
        for &op in &plan.slice.ops {
            let find = |loads: &[(OpId, u32)]| loads.iter().find(|(load, _)| *load == op).copied();
            match (find(&plan.tiles), find(&plan.private)) {
                (Some((load, offset)), _) => {
                    self.locate(function.op(load).span);
                    let base = self.in_stage(producer.position.stage, offset);
                    self.fill(load, base, Some(producer.alive))?;
                }
                (None, Some((load, offset))) => {
                    self.locate(function.op(load).span);
                    let base = self.in_stage(producer.position.stage, offset);
                    match plan.exchanged.get(&load) {
                        Some(block) => self.copy_to(load, base, Some(producer.alive), block)?,
                        None => self.fetch_private(load, base, producer.alive)?,
                    }
                }
                (None, None) => self.op(op)?,
            }
        }
        self.code.push(AsyncGroup::Commit);
        let next = self.read_all(&yields, &needed);
        self.assign_all(&producer.rooms, &next);
        self.end_stage(producer, ty, self.scalar(*upper), self.scalar(*step))
    }

    /// Goes on to the iteration and the stage that are filled next.
    fn end_stage(
        &mut self,
        producer: &mut Producer,
        ty: Type,
        upper: Register,
        step: Register,
    ) -> Result<()> {
        let advanced = self.code.math(MathOp::Add, ty, &[producer.counter.into(), step.into()]);
        let wraps = self.wraps(producer.counter, advanced, step, ty);
        let goes_on = self.goes_on(advanced, upper, step, ty);
        let stays = self.code.math(MathOp::Not, Type::Pred, &[wraps.into()]);
        let both = self.code.both(Some(goes_on), Some(stays));
        let alive = self.code.both(both, Some(producer.alive)).expect("of two predicates");
        if let Some(trails) = producer.trails {
            self.code.assign(trails, producer.alive);
        }
        self.code.assign(producer.alive, alive);
        self.code.assign(producer.counter, advanced);
        self.advance(producer.ring, &producer.position);
        Ok(())
    }

    /// Room for a loop's stages.
    pub(super) fn begin_ring(&mut self, plan: &LoopPlan) -> Ring {
        let stages = plan.stages();
        let bytes = plan.stage_bytes * stages;
        let is_bulk = !plan.copies.is_empty();
        let start = self.allocate_tiles(bytes + if is_bulk { BARRIER_BYTES * stages } else { 0 });
        let barriers = is_bulk.then(|| {
            let end = [start.into(), Operand::Integer(bytes.into())];
            self.code.math(MathOp::Add, Type::U32, &end)
        });
        if let Some(barriers) = barriers {
            self.begin_barriers(barriers, stages);
        }
        Ring { start, stage_bytes: plan.stage_bytes, stages, barriers }
    }

    pub(super) fn in_stage(&mut self, stage: Register, offset: u32) -> Register {
        let place = [stage.into(), Operand::Integer(offset.into())];
        if offset == 0 { stage } else { self.code.math(MathOp::Add, Type::U32, &place) }
    }

    pub(super) fn first_stage(&mut self, ring: Ring) -> Position {
        let stage = self.code.copy(Type::U32, ring.start);
        let barriers = self.code.copy(Type::U32, ring.barriers.unwrap_or(ring.start));
        let parity = self.code.copy(Type::B32, Operand::Integer(0));
        Position { stage, barriers, parity }
    }
}
