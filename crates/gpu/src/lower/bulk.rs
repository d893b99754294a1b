//! Stages that the hardware fills: bulk tensor copies, counted by mbarriers.
//!
//! Every stage of a ring has two mbarriers. A lane of the first warp asks for the copies, and the *full* one counts their bytes; each
//! warp arrives at the *empty* one when it has read the stage:
//!
//! ```text
//! fill     all: wait for empty; a lane of the first warp: expect the bytes on full, copy boxes
//! read     all: wait for full; ...; one lane of each warp: arrive at empty
//! ```
//!
//! A barrier that has never been completed counts as complete for a wait with parity 1: so a stage's first fill does not wait.

use super::emit::{fails, holds};
use super::pipeline::{Position, Ring};
use super::{Lowering, Result};
use crate::bulk::{Polynomial, Symbol, TensorCopy, TensorMap, Wrap};
use crate::channels::LoopPlan;
use tegula_ptx::{
    Address, BulkTensor, Comparison, ConvertAddress, Elect, Fence, MathOp, MbarrierArrive, MbarrierArriveOp,
    MbarrierInit, MbarrierInvalidate, MbarrierWait, Move, Operand, Parameter, Phase, Register, Space, Type,
};

/// The bytes of a stage's two barriers.
pub(super) const BARRIER_BYTES: u32 = 16;
/// Where the empty barrier is, from the full one.
const EMPTY: i32 = 8;
/// The bytes of a tensor map, and what its address is a multiple of (CUDA Driver API, `CUtensorMap`).
const MAP_BYTES: u64 = 128;
const MAP_ALIGNMENT: u32 = 64;

/// The copies of one load.
#[derive(Clone)]
pub(super) struct Source {
    map: Register,
    /// The column and the row of the box that is copied next.
    start: [Register; 2],
    /// What every iteration adds to them.
    step: [Option<Register>; 2],
}

impl Lowering<'_> {
    /// Makes a ring's barriers; what is in shared memory may then be overwritten by copies.
    pub(super) fn begin_barriers(&mut self, barriers: Register, stages: u32) {
        let first = Some(holds(self.is_first_thread()));
        let warps = i64::from(self.options.num_warps);
        for stage in 0..stages {
            for (offset, count) in [(0, 1), (EMPTY, warps)] {
                let address = Address::register(barriers, (stage * BARRIER_BYTES) as i32 + offset);
                let count = Operand::Integer(count);
                self.code.push_if(first, MbarrierInit { space: Space::SharedCta, address, count });
            }
        }
        self.code.push(Fence::AsyncProxy { space: None });
        self.barrier();
    }

    /// Gives the barriers up, once all threads are done with them.
    pub(super) fn end_barriers(&mut self, barriers: Register, stages: u32) {
        self.barrier();
        let first = Some(holds(self.is_first_thread()));
        for stage in 0..stages {
            for offset in [0, EMPTY] {
                let address = Address::register(barriers, (stage * BARRIER_BYTES) as i32 + offset);
                self.code.push_if(first, MbarrierInvalidate { space: Space::SharedCta, address });
            }
        }
    }

    /// The first boxes of a loop's loads.
    pub(super) fn begin_sources(&mut self, plan: &LoopPlan) -> Result<Vec<Source>> {
        plan.copies.iter().map(|copy| self.begin_source(copy)).collect()
    }

    fn begin_source(&mut self, copy: &TensorCopy) -> Result<Source> {
        let map = self.tensor_map(&copy.map);
        for condition in &copy.conditions {
            if !self.conditions.contains(condition) {
                self.conditions.push(condition.clone());
            }
        }
        let mut start = Vec::new();
        let mut step = Vec::new();
        for coordinate in &copy.start {
            let (rest, more) = coordinate.linear_in(Symbol::Iteration).expect("it was planned so");
            let first = self.evaluate(&rest, &copy.wraps);
            start.push(self.code.copy(Type::U32, first));
            step.push((!more.is_zero()).then(|| self.evaluate(&more, &copy.wraps)));
        }
        Ok(Source { map, start: [start[0], start[1]], step: [step[0], step[1]] })
    }

    /// The address of a tensor map, which is a parameter of the kernel.
    fn tensor_map(&mut self, map: &TensorMap) -> Register {
        let number = self.tensor_maps.iter().position(|known| known == map).unwrap_or_else(|| {
            self.tensor_maps.push(map.clone());
            self.tensor_maps.len() - 1
        });
        let name = format!("tensor_map{number}");
        if self.code.function.parameters.iter().all(|parameter| *parameter.name != *name) {
            let mut parameter = Parameter::new(name.as_str(), Type::B8);
            parameter.array = Some(MAP_BYTES);
            parameter.align = Some(MAP_ALIGNMENT);
            self.code.function.parameters.push(parameter);
        }
        self.code.in_prologue(|code| {
            let place = code.fresh(tegula_ptx::Class::Bits64);
            code.push(Move::AddressOf { ty: Type::U64, dst: place, symbol: name.as_str().into() });
            let dst = code.fresh(tegula_ptx::Class::Bits64);
            let source = place.into();
            code.push(ConvertAddress { to_space: false, space: Space::Param, ty: Type::U64, dst, source });
            dst
        })
    }

    /// The lower 32 bits of a polynomial of what is outside of the loop.
    fn evaluate(&mut self, polynomial: &Polynomial, wraps: &[Wrap]) -> Register {
        let mut sum: Operand = Operand::Integer(0);
        for (monomial, coefficient) in polynomial.terms() {
            let mut product = Operand::Integer(i64::from(coefficient as i32));
            for &symbol in monomial {
                let factor = self.symbol(symbol, wraps);
                product = match product {
                    Operand::Integer(1) => factor.into(),
                    _ => self.code.multiply(Type::U32, factor.into(), product).into(),
                };
            }
            sum = match sum {
                Operand::Integer(0) => product,
                _ => self.code.math(MathOp::Add, Type::U32, &[sum, product]).into(),
            };
        }
        self.code.copy(Type::U32, sum)
    }

    fn symbol(&mut self, symbol: Symbol, wraps: &[Wrap]) -> Register {
        match symbol {
            Symbol::Value(value) => {
                let register = self.scalar(value);
                match register.class {
                    tegula_ptx::Class::Bits64 => self.code.convert(Type::U32, Type::U64, None, register),
                    _ => register,
                }
            }
            Symbol::Wrapped(number) => {
                let wrap = &wraps[number as usize];
                let start = self.evaluate(&wrap.start, wraps);
                let modulus = self.symbol(Symbol::Value(wrap.modulus), wraps);
                self.code.math(MathOp::Rem, Type::S32, &[start.into(), modulus.into()])
            }
            Symbol::Iteration => unreachable!("iterations are steps"),
        }
    }

    /// Waits until the full barrier of a stage says that it is filled.
    pub(super) fn wait_for_full(&mut self, position: &Position) {
        self.wait_for_barrier(position, 0, position.parity);
    }

    fn wait_for_barrier(&mut self, position: &Position, offset: i32, parity: Register) {
        let again = self.code.label();
        self.code.place(again);
        let complete = self.code.fresh(tegula_ptx::Class::Pred);
        self.code.push(MbarrierWait {
            suspend: true,
            ordering: None,
            scope: None,
            space: Space::SharedCta,
            complete,
            address: Address::register(position.barriers, offset),
            phase: Phase::Parity(parity.into()),
            time: None,
        });
        self.code.branch(Some(fails(complete)), again, false);
    }

    /// Says that this warp has read a stage, where a condition holds.
    pub(super) fn release_stage(&mut self, barriers: Register, condition: Option<Register>) {
        let lane = Some(self.where_zero(31));
        let guard = self.code.both(lane, condition).map(holds);
        let empty = Address::register(barriers, EMPTY);
        self.code.push_if(guard, arrival(MbarrierArriveOp::Arrive, empty, None));
    }

    /// Asks for the copies of a stage, if the iteration that reads it will be; those of what trails, if the iteration before will be.
    pub(super) fn copy_stage(
        &mut self,
        plan: &LoopPlan,
        position: &Position,
        sources: &[Source],
        alive: Register,
        trails: Option<Register>,
    ) {
        let skip = self.code.label();
        let any = match trails {
            Some(trails) => self.code.math(MathOp::Or, Type::Pred, &[alive.into(), trails.into()]),
            None => alive,
        };
        let first = Some(self.is_first_warp());
        let copies = self.code.both(first, Some(any)).expect("of two predicates");
        self.code.branch(Some(fails(copies)), skip, true);
        // The parity of the reads before is the other one.
        let parity = self.code.math(MathOp::Xor, Type::B32, &[position.parity.into(), Operand::Integer(1)]);
        self.wait_for_barrier(position, EMPTY, parity);
        let elected = self.elected();
        self.code.branch(Some(fails(elected)), skip, false);
        let bytes = |trailing: bool| -> Operand {
            let copies = plan.copies.iter().zip(&plan.tiles);
            let wanted = copies.filter(|&(_, &(load, _))| plan.trails(load) == trailing);
            Operand::Integer(wanted.map(|(copy, _)| i64::from(copy.bytes)).sum())
        };
        let count = match trails {
            Some(trails) => {
                let zero = Operand::Integer(0);
                let leading = self.code.select(Type::U32, alive, bytes(false), zero);
                let trailing = self.code.select(Type::U32, trails, bytes(true), zero);
                self.code.math(MathOp::Add, Type::U32, &[leading.into(), trailing.into()]).into()
            }
            None => bytes(false),
        };
        let op = MbarrierArriveOp::ArriveExpectTransaction;
        self.code.push(arrival(op, position.barriers.into(), Some(count)));
        for ((copy, source), &(load, tile)) in plan.copies.iter().zip(sources).zip(&plan.tiles) {
            let after = self.code.label();
            if let Some(trails) = trails {
                let wanted = if plan.trails(load) { trails } else { alive };
                self.code.branch(Some(fails(wanted)), after, true);
            }
            for &(moved, offset) in &copy.boxes {
                let coordinate = |axis: usize, lowering: &mut Self| match moved[axis] {
                    0 => source.start[axis].into(),
                    more => {
                        let terms = [source.start[axis].into(), Operand::Integer(more.into())];
                        Operand::from(lowering.code.math(MathOp::Add, Type::U32, &terms))
                    }
                };
                let coordinates = [coordinate(0, self), coordinate(1, self)];
                self.code.push(BulkTensor::Load {
                    dst: Address::register(position.stage, (tile + offset) as i32),
                    map: source.map.into(),
                    coordinates: coordinates.into_iter().collect(),
                    barrier: position.barriers.into(),
                    multicast: None,
                    policy: None,
                });
            }
            for axis in 0..2 {
                if let Some(step) = source.step[axis] {
                    let terms = [source.start[axis].into(), step.into()];
                    let next = self.code.math(MathOp::Add, Type::U32, &terms);
                    self.code.assign(source.start[axis], next);
                }
            }
            if trails.is_some() {
                self.code.place(after);
            }
        }
        self.code.place(skip);
    }

    /// Whether this lane is the one of its warp that does what one thread does: the same each time.
    fn elected(&mut self) -> Register {
        let elected = self.code.fresh(tegula_ptx::Class::Pred);
        self.code.push(Elect { lane: None, elected, members: Operand::Integer(0xffff_ffff) });
        elected
    }

    /// Goes on to the next stage, in a circle; the parity changes where it begins anew.
    pub(super) fn advance(&mut self, ring: Ring, position: &Position) {
        let code = &mut self.code;
        let stage_bytes = Operand::Integer(ring.stage_bytes.into());
        let next = code.math(MathOp::Add, Type::U32, &[position.stage.into(), stage_bytes]);
        let total = Operand::Integer((ring.stage_bytes * ring.stages).into());
        let end = code.math(MathOp::Add, Type::U32, &[ring.start.into(), total]);
        let is_end = code.compare(Comparison::Equal, Type::U32, next.into(), end.into());
        let next = code.select(Type::U32, is_end, ring.start.into(), next.into());
        code.assign(position.stage, next);
        let Some(barriers) = ring.barriers else { return };
        let step = Operand::Integer(BARRIER_BYTES.into());
        let next = code.math(MathOp::Add, Type::U32, &[position.barriers.into(), step]);
        let next = code.select(Type::U32, is_end, barriers.into(), next.into());
        code.assign(position.barriers, next);
        let other = code.math(MathOp::Xor, Type::B32, &[position.parity.into(), Operand::Integer(1)]);
        let parity = code.select(Type::B32, is_end, other.into(), position.parity.into());
        code.assign(position.parity, parity);
    }
}

/// An arrival at a barrier of this block.
fn arrival(op: MbarrierArriveOp, address: Address, count: Option<Operand>) -> MbarrierArrive {
    let space = Space::SharedCta;
    MbarrierArrive { op, ordering: None, scope: None, space, state: None, address, count }
}
