//! One instruction of one warp.

use super::cluster::Cluster;
use super::fault::At;
use super::warp::{Waiting, lanes};
use crate::program::{LANES, Operation, PredicateOp, Step};
use crate::report::FindingKind;
use tegula_ptx::BoolOp;

/// Where the lanes that executed an instruction go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Next,
    Branch {
        target: u32,
        lanes: u32,
    },
    Leave(u32),
    /// The instruction is tried again when something has happened.
    Wait,
    /// It has arrived somewhere, and waits there.
    WaitAt(Waiting),
}

impl Cluster<'_> {
    /// Executes the instruction of a fragment of a warp.
    pub fn step(&mut self, warp: usize, fragment: usize) {
        let program = self.launch.program;
        let state = &self.warps[warp];
        let place = &state.fragments[fragment];
        let (index, present) = (place.step, place.lanes);
        let step = &program.steps[index as usize];
        let active = match step.guard {
            None => present,
            Some((predicate, negated)) => {
                let holds = state.predicate(predicate);
                present & if negated { !holds } else { holds }
            }
        };
        let at = At { warp, fragment, step: index, lanes: active };
        if place.waiting.is_none() && place.tried.is_none() {
            self.executed += 1;
            let counts = self.collector.step(index);
            counts.warps += 1;
            counts.lanes += u64::from(active.count_ones());
            self.check_registers(at, step, present);
        }
        let flow = if active == 0 { Flow::Next } else { self.execute(at, step) };
        let progress = self.progress;
        let state = &mut self.warps[warp];
        match flow {
            Flow::Next => state.advance(fragment, index + 1, None),
            Flow::Branch { target, lanes } => state.advance(fragment, index + 1, Some((target, lanes))),
            Flow::Leave(lanes) => {
                state.leave(fragment, lanes, index + 1);
                // Whoever waits for the warp may have to wait for one fewer.
                self.progress += 1;
            }
            Flow::Wait => state.fragments[fragment].tried = Some(progress),
            Flow::WaitAt(waiting) => {
                state.fragments[fragment].waiting = Some(waiting);
                state.fragments[fragment].tried = Some(progress);
            }
        }
    }

    /// Registers are read after they are written, and not while `wgmma` has them.
    fn check_registers(&mut self, at: At, step: &Step, present: u32) {
        let state = &self.warps[at.warp];
        let mut missing = None;
        for &slot in &step.reads {
            let unset = at.lanes & !state.set[slot as usize];
            if unset != 0 {
                missing = Some((unset, "a register"));
            }
        }
        for &predicate in &step.predicate_reads {
            let is_guard = step.guard.is_some_and(|(guard, _)| guard == predicate);
            let unset = if is_guard { present } else { at.lanes } & !state.predicates_set[predicate as usize];
            if unset != 0 {
                missing = Some((unset, "a predicate"));
            }
        }
        if let Some((unset, what)) = missing {
            let lane = lanes(unset).next();
            self.fault(at, FindingKind::Uninitialised, lane, None, None, || {
                format!("{what} is read that nothing has written")
            });
        }
        if self.launch.program.has_wgmma {
            self.check_wgmma_registers(at, step);
        }
    }

    fn execute(&mut self, at: At, step: &Step) -> Flow {
        let state = &mut self.warps[at.warp];
        match &step.operation {
            Operation::Lanes { function, sources, dst } => {
                let mut result = [0; LANES];
                function.0(&sources.map(|slot| &state.words[slot as usize]), &mut result);
                state.write(*dst, &result, at.lanes);
            }
            Operation::Unpack { source, parts, bits } => {
                let whole = *state.row(*source);
                let keep = u64::MAX >> (64 - bits);
                for (index, part) in parts.iter().enumerate() {
                    if let Some(part) = *part {
                        let shift = bits * index as u32;
                        state.write(part, &whole.map(|value| value >> shift & keep), at.lanes);
                    }
                }
            }
            Operation::Compare { function, sources, dst, second, packed, combine } => {
                let [a, b] = sources.map(|slot| &state.words[slot as usize]);
                let (mut holds, mut other) = function.0(a, b);
                if !packed {
                    other = !holds;
                }
                if let Some((op, condition)) = combine {
                    let with = state.predicate(condition.predicate);
                    let with = if condition.negated { !with } else { with };
                    let join = |value: u32| match op {
                        BoolOp::And => value & with,
                        BoolOp::Or => value | with,
                        BoolOp::Xor => value ^ with,
                    };
                    (holds, other) = (join(holds), join(other));
                }
                state.write_predicate(*dst, holds, at.lanes);
                if let Some(second) = *second {
                    state.write_predicate(second, other, at.lanes);
                }
            }
            Operation::Predicate { op, sources, dst } => {
                let [a, b] = sources.map(|predicate| state.predicate(predicate));
                let result = match op {
                    PredicateOp::And => a & b,
                    PredicateOp::Or => a | b,
                    PredicateOp::Xor => a ^ b,
                    PredicateOp::Not => !a,
                    PredicateOp::Copy => a,
                };
                state.write_predicate(*dst, result, at.lanes);
            }
            Operation::Select { sources: [a, b], predicate, dst } => {
                let holds = state.predicate(*predicate);
                let (a, b) = (state.row(*a), state.row(*b));
                let chosen =
                    std::array::from_fn(|lane| if holds >> lane & 1 == 1 { a[lane] } else { b[lane] });
                state.write(*dst, &chosen, at.lanes);
            }
            Operation::Clock { dst } => {
                let now = [self.executed; LANES];
                state.write(*dst, &now, at.lanes);
            }
            Operation::Load(access) => self.load(at, access),
            Operation::Store(access) => self.store(at, access),
            Operation::Atomic(access) => self.atomic(at, access),
            Operation::Branch { target } => return Flow::Branch { target: *target, lanes: at.lanes },
            Operation::Exit => return Flow::Leave(at.lanes),
            Operation::Trap => {
                let lane = lanes(at.lanes).next();
                self.fault(at, FindingKind::Trap, lane, None, None, || {
                    "the kernel has stopped itself".into()
                });
                self.trapped = true;
                self.end_printing();
            }
            Operation::Nothing => {}
            Operation::SetMaxRegisters => self.set_max_registers(at),
            Operation::ActiveMask { .. }
            | Operation::Elect { .. }
            | Operation::Shuffle { .. }
            | Operation::Vote { .. }
            | Operation::Match { .. }
            | Operation::WarpReduce { .. } => self.exchange(at, &step.operation),
            Operation::Barrier { .. }
            | Operation::BarrierReduce { .. }
            | Operation::WarpBarrier { .. }
            | Operation::ClusterBarrier(_)
            | Operation::Fence(_) => return self.synchronise(at, &step.operation),
            Operation::Mbarrier(operation) => return self.mbarrier(at, operation),
            Operation::AsyncCopy { dst, source, bytes, read } => {
                self.async_copy(at, *dst, *source, *bytes, *read);
            }
            Operation::AsyncGroup(group) => self.async_group(at, *group),
            Operation::Bulk(bulk) => self.bulk(at, bulk),
            Operation::BulkGroup(group) => self.bulk_group(at, *group),
            Operation::TensorMapReplace { field, place, dimension, value } => {
                self.replace_in_tensor_map(at, *field, *place, *dimension, *value);
            }
            Operation::TensorMapPublish { dst, source } => self.publish_tensor_map(at, *dst, *source),
            Operation::MatrixLoad { transpose, dst, place } => self.matrix_load(at, *transpose, dst, *place),
            Operation::MatrixStore { transpose, values, place } => {
                self.matrix_store(at, *transpose, values, *place);
            }
            Operation::MatrixTranspose { dst, source } => self.matrix_transpose(at, *dst, *source),
            Operation::Mma(product) => self.mma(at, product),
            Operation::Wgmma(product) => self.wgmma(at, product),
            Operation::WgmmaControl(control) => self.wgmma_control(at, *control),
            Operation::MapAddress { dst, address, rank, generic } => {
                self.map_address(at, *dst, *address, *rank, *generic);
            }
            Operation::Print { format, arguments, result } => self.print(at, *format, *arguments, *result),
        }
        Flow::Next
    }
}
