//! Residency: how many programs a multiprocessor should hold at once.
//!
//! Kernels that wait for memory are fast when many of their programs are resident, and registers decide how many are. The assembler
//! knows nothing of that: it takes the registers that its schedule likes. So the PTX asks for as many programs as the values
//! that must be in registers together leave room for, those that live across a barrier: between barriers, elements can be computed
//! one after the other. Kernels with products take all the registers they can.
//!
//! ```text
//! softmax of 4096 fp32 by 8 warps: 16 registers across the barriers, and 16 for addresses and what is being computed
//! -> 32 registers a thread -> `.minnctapersm 8`
//! ```

use crate::layouts::Assignment;
use crate::{Options, Target};
use rustc_hash::FxHashSet;
use tegula_ir::{Function, Op, OpId, RegionId, Value};

/// Registers of 32 bits of a multiprocessor, of all architectures from sm_80 (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability").
pub(crate) const REGISTERS: u32 = 65536;
/// What a thread needs beside its part of the blocks that live across barriers.
const WORKING_REGISTERS: u32 = 16;
/// What a thread gets that waits for no other: elements can be computed one after the other, and some at once.
const STRAIGHT_REGISTERS: u32 = 48;
/// Registers beyond which more programs are not worth shorter schedules.
const MANY_REGISTERS: u32 = 64;

/// The programs that a multiprocessor should hold; `None` leaves it to the assembler.
pub(crate) fn resident_programs(
    function: &Function,
    layouts: &Assignment,
    target: Target,
    options: &Options,
) -> Option<u32> {
    if !layouts.products.is_empty() || options.max_registers.is_some() {
        return None;
    }
    let mut pressure = Pressure { function, layouts, most: None };
    pressure.region(function.body, FxHashSet::default());
    let registers = pressure.most.map_or(STRAIGHT_REGISTERS, |most| most + WORKING_REGISTERS);
    let registers = registers.next_multiple_of(8);
    if registers > MANY_REGISTERS {
        return None;
    }
    let threads = options.num_warps * 32;
    let programs = (REGISTERS / (registers * threads)).min(threads_limit(target) / threads);
    let programs = programs.min(programs_limit(target));
    (programs > 1).then_some(programs)
}

/// Threads that may be resident ("Technical Specifications per Compute Capability").
fn threads_limit(target: Target) -> u32 {
    if is_large(target) { 2048 } else { 1536 }
}

/// Programs that may be resident.
fn programs_limit(target: Target) -> u32 {
    if is_large(target) { 32 } else { 16 }
}

/// Whether the multiprocessor is that of a data centre's GPU.
fn is_large(target: Target) -> bool {
    matches!(target.architecture, 80 | 90 | 100 | 101 | 103)
}

/// A walk from the end of a function to its start, with the values that are needed later.
struct Pressure<'a> {
    function: &'a Function,
    layouts: &'a Assignment,
    /// The most registers that were live across a barrier; `None` if there is none.
    most: Option<u32>,
}

impl Pressure<'_> {
    /// Walks a region after which some values are live; returns those that are live before it.
    fn region(&mut self, id: RegionId, mut live: FxHashSet<Value>) -> FxHashSet<Value> {
        let function = self.function;
        let region = function.region(id);
        live.extend(&region.yields);
        for &op in region.ops.iter().rev() {
            let data = function.op(op);
            for result in &data.results {
                live.remove(result);
            }
            self.inner_regions(op, &mut live);
            if waits(&data.op) {
                let registers = live.iter().map(|&value| self.registers(value)).sum();
                self.most = self.most.max(Some(registers));
            }
            data.op.for_each_operand(|operand| {
                live.insert(operand);
            });
        }
        for argument in &region.args {
            live.remove(argument);
        }
        live
    }

    fn inner_regions(&mut self, op: OpId, live: &mut FxHashSet<Value>) {
        let function = self.function;
        match &function.op(op).op {
            Op::If { then, otherwise, .. } => {
                let first = self.region(*then, live.clone());
                live.extend(self.region(*otherwise, live.clone()));
                live.extend(first);
            }
            op @ (Op::For { .. } | Op::While { .. }) => {
                // What an iteration takes from outside is needed by the next one.
                for inner in op.regions() {
                    self.outside_of(inner, live);
                }
                for inner in op.regions() {
                    self.region(inner, live.clone());
                }
            }
            _ => {}
        }
    }

    /// Adds the values that a region, or one inside it, takes from outside.
    fn outside_of(&self, region: RegionId, live: &mut FxHashSet<Value>) {
        let function = self.function;
        let mut own = FxHashSet::default();
        let mut taken = FxHashSet::default();
        let mut open = vec![region];
        while let Some(region) = open.pop() {
            let region = function.region(region);
            own.extend(&region.args);
            taken.extend(&region.yields);
            for &op in &region.ops {
                let data = function.op(op);
                own.extend(&data.results);
                data.op.for_each_operand(|operand| {
                    taken.insert(operand);
                });
                open.extend(data.op.regions());
            }
        }
        live.extend(taken.difference(&own));
    }

    /// The registers of 32 bits that a thread needs for a value; cheap values are computed where they are wanted.
    fn registers(&self, value: Value) -> u32 {
        let bytes = self.function.ty(value).element.bytes();
        let home = self.layouts.home_of(value);
        home.map_or(0, |home| (self.layouts.set.registers(home) as u32 * bytes).div_ceil(4))
    }
}

/// Whether the threads wait for one another in the middle of an operation.
fn waits(op: &Op) -> bool {
    matches!(op, Op::Reduce { .. } | Op::Scan { .. } | Op::Barrier | Op::Histogram { .. } | Op::Gather { .. })
}
