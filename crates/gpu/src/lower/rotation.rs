//! Rotated loops, as `channels/rotation` plans them.
//!
//! ```text
//! before   if the loop runs: wait for stage 0; leading product; what follows it
//! loop     wait for stage i; issue the leading product and the trailing one of the iteration before
//!          the leading one is over: what does not need the sum
//!          the trailing one is over: give up the stage, fill another; the rest, which makes the next trailing product's operands
//! after    wait for the last stage; the last trailing product
//! ```
//!
//! The trailing product has its operands in registers of their own: they are written in one turn, and read in the next.

use super::emit::fails;
use super::pipeline::{Position, Ring};
use super::{Lowering, Registers, Result};
use crate::channels::{LoopPlan, Rotation};
use std::rc::Rc;
use tegula_ir::{Op, OpId, RegionId, Value};
use tegula_ptx::{MathOp, Register, WgmmaControl};

/// A rotated loop while it is lowered.
struct Rotated<'a> {
    body: RegionId,
    plan: &'a LoopPlan,
    rotation: &'a Rotation,
    counter: Register,
    ring: Ring,
    position: Position,
    /// The registers of all carried values; of those that only the producer needs, none.
    rooms: Vec<Registers>,
}

impl Lowering<'_> {
    pub(super) fn rotated_loop(&mut self, id: OpId, plan: Rc<LoopPlan>) -> Result<()> {
        let function = self.function;
        let data = function.op(id);
        let (Op::For { lower, upper, step, inits, body, .. }, Some(rotation)) = (&data.op, &plan.rotation)
        else {
            unreachable!("called for rotated loops")
        };
        let region = function.region(*body);
        let (&index, carried) = region.args.split_first().expect("a loop has an index");
        let ty = super::element::integer_type(self.element(index));
        let (upper, step, lower) = (self.scalar(*upper), self.scalar(*step), self.scalar(*lower));
        let before = self.scratch;
        let ring = self.begin_ring(&plan);
        self.begin_producer(id, &plan, ring, lower)?;
        for _ in 0..plan.distance {
            self.produce()?;
        }
        self.finish_tiles();
        let counter = self.code.copy(ty, lower);
        let mut rooms: Vec<Registers> = vec![Rc::from([]); carried.len()];
        for &place in &plan.slice.rest {
            rooms[place] = self.room_for(carried[place]);
        }
        let rest =
            |values: &[Value]| -> Vec<Value> { plan.slice.rest.iter().map(|&place| values[place]).collect() };
        let outcome: Vec<Registers> = plan.slice.rest.iter().map(|&place| rooms[place].clone()).collect();
        let sources = self.read_all(&rest(inits), &rest(carried));
        self.assign_all(&outcome, &sources);
        let position = self.first_stage(ring);
        let (start, last, end) = (self.code.label(), self.code.label(), self.code.label());
        let goes_on = self.goes_on(counter, upper, step, ty);
        self.code.branch(Some(fails(goes_on)), end, self.uniform());
        let takes_turns = self.begin_turns();

        self.loop_depth += 1;
        let rotated = Rotated { body: *body, plan: &plan, rotation, counter, ring, position, rooms };
        let words = self.turn(&rotated, None)?;
        let words: Registers =
            words.into_iter().map(|word| self.code.copy(word.class.declared(), word)).collect();
        self.code.place(start);
        let advanced = self.code.math(MathOp::Add, ty, &[counter.into(), step.into()]);
        let wraps = self.wraps(counter, advanced, step, ty);
        self.code.branch(
            Some(tegula_ptx::Predicate { register: wraps, negated: false }),
            last,
            self.uniform(),
        );
        let goes_on = self.goes_on(advanced, upper, step, ty);
        self.code.branch(Some(fails(goes_on)), last, self.uniform());
        self.code.assign(counter, advanced);
        let next = self.turn(&rotated, Some(&words))?;
        self.assign_all(std::slice::from_ref(&words), &[next.into()]);
        self.code.branch(None, start, self.uniform());
        self.code.place(last);
        self.open_stage(&rotated);
        self.issue_trailing(&rotated, &words)?;
        self.code.push(WgmmaControl::Wait(0));
        if takes_turns {
            self.end_turns();
        }
        self.loop_depth -= 1;
        self.producers.pop();

        self.code.place(end);
        if let Some(barriers) = ring.barriers {
            self.end_barriers(barriers, ring.stages);
        }
        self.scratch.release_to(before);
        self.bind_all(&rest(&data.results), &outcome)
    }

    /// One turn of the loop, with the words of the trailing product of the iteration before, if there is one; returns those of its own.
    fn turn(&mut self, rotated: &Rotated<'_>, words: Option<&Registers>) -> Result<Vec<Register>> {
        let function = self.function;
        let &Rotated { rotation, plan, .. } = rotated;
        let region = function.region(rotated.body);
        let (&index, carried) = region.args.split_first().expect("a loop has an index");
        self.open_stage(rotated);
        self.scratch.forget();
        self.scalars.insert(index, rotated.counter);
        let arguments: Vec<Value> = plan.slice.rest.iter().map(|&place| carried[place]).collect();
        let rooms: Vec<Registers> =
            plan.slice.rest.iter().map(|&place| rotated.rooms[place].clone()).collect();
        self.bind_all(&arguments, &rooms)?;

        let leading = self.layouts.products[&rotation.leading].clone();
        let left = self.left_words(rotation.leading, &leading);
        let sums = self.room_for_sums(rotation.leading, &leading);
        self.begin_sums(rotation.leading, &leading, &sums)?;
        self.take_turn();
        self.issue_product(rotation.leading, &leading, &left, &sums)?;
        if let Some(words) = words {
            self.issue_trailing(rotated, words)?;
        }
        self.pass_turn();
        self.code.push(WgmmaControl::Wait(u32::from(words.is_some())));
        self.end_product(rotation.leading, &leading, &sums)?;
        rotation.early.iter().try_for_each(|&op| self.op(op))?;
        // The branches of the producer keep the assembler from waiting earlier.
        self.produce()?;
        if words.is_some() {
            self.code.push(WgmmaControl::Wait(0));
        }
        self.release_stage(rotated.position.barriers, None);
        rotation.late.iter().try_for_each(|&op| self.op(op))?;

        let trailing = self.layouts.products[&rotation.trailing].clone();
        let words = self.left_words(rotation.trailing, &trailing);
        self.begin_sums(rotation.trailing, &trailing, &rotated.rooms[rotation.place])?;
        let others = || plan.slice.rest.iter().copied().filter(|&place| place != rotation.place);
        let yields: Vec<Value> = others().map(|place| region.yields[place]).collect();
        let arguments: Vec<Value> = others().map(|place| carried[place]).collect();
        let rooms: Vec<Registers> = others().map(|place| rotated.rooms[place].clone()).collect();
        let next = self.read_all(&yields, &arguments);
        self.assign_all(&rooms, &next);
        self.advance(rotated.ring, &rotated.position);
        Ok(words)
    }

    /// Waits until the stage of a turn is filled.
    fn open_stage(&mut self, rotated: &Rotated<'_>) {
        self.wait_for_full(&rotated.position);
        for &(load, offset) in &rotated.plan.tiles {
            let address = self.in_stage(rotated.position.stage, offset);
            self.tiles.insert(load, address);
        }
    }

    fn issue_trailing(&mut self, rotated: &Rotated<'_>, words: &[Register]) -> Result<()> {
        let id = rotated.rotation.trailing;
        let product = self.layouts.products[&id].clone();
        self.issue_product(id, &product, words, &rotated.rooms[rotated.rotation.place])
    }
}
