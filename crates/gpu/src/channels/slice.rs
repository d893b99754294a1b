//! The producer slice of a loop, and what is left for the body.

use crate::layouts::Assignment;
use crate::users::{User, Users};
use rustc_hash::FxHashSet;
use tegula_ir::{Function, Op, OpId, RegionId, Value, ValueDef};
use tegula_layout::Conversion;

/// Which part of a loop's body computes the addresses of its channels, and which the rest; simple arithmetic that both need is in
/// both.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    /// The operations of the slice, the loads included, in order.
    pub ops: Vec<OpId>,
    /// The carried values that the slice needs, by their place.
    pub carried: Vec<usize>,
    /// The operations of the body that nothing but the slice needs.
    pub only: FxHashSet<OpId>,
    /// The carried values that the body or the code after the loop needs, by their place.
    pub rest: Vec<usize>,
}

impl Slice {
    /// The slice of some loads of a loop, of all that are fetched ahead; `None` if an address depends on what cannot be computed ahead.
    pub fn new(
        function: &Function,
        op: OpId,
        body: RegionId,
        loads: &[OpId],
        all: &[OpId],
        layouts: &Assignment,
        users: &Users,
    ) -> Option<Slice> {
        let region = function.region(body);
        let in_body: FxHashSet<OpId> = region.ops.iter().copied().collect();
        let mut needed: FxHashSet<OpId> = FxHashSet::default();
        let mut carried: Vec<usize> = Vec::new();
        let mut open: Vec<Value> = Vec::new();
        for &load in loads {
            needed.insert(load);
            let Op::Load { pointer, mask, .. } = &function.op(load).op else { return None };
            open.push(*pointer);
            open.extend(mask);
        }
        while let Some(value) = open.pop() {
            match function.value(value).def {
                ValueDef::RegionArg { region: owner, index } if owner == body => {
                    let Some(place) = (index as usize).checked_sub(1) else { continue };
                    if !carried.contains(&place) {
                        carried.push(place);
                        open.push(region.yields[place]);
                    }
                }
                ValueDef::Result { op, .. } if in_body.contains(&op) => {
                    if !runs_ahead(&function.op(op).op) {
                        return None;
                    }
                    if needed.insert(op) {
                        function.op(op).op.for_each_operand(|operand| open.push(operand));
                    }
                }
                _ => {}
            }
        }
        carried.sort_unstable();
        let ops: Vec<OpId> = region.ops.iter().copied().filter(|op| needed.contains(op)).collect();
        let values =
            ops.iter().filter(|op| !loads.contains(op)).flat_map(|&op| function.op(op).results.iter());
        let arguments = carried.iter().map(|&place| &region.args[place + 1]);
        if !values.chain(arguments).all(|&value| stays_in_registers(function, layouts, value)) {
            return None;
        }
        let (only, rest) = leave_out(function, op, body, all, users);
        Some(Slice { ops, carried, only, rest })
    }
}

/// Whether an operation can be computed for iterations that may never come: it is pure, and no thread waits for another.
fn runs_ahead(op: &Op) -> bool {
    let is_plain = matches!(
        op,
        Op::Constant(_)
            | Op::ProgramId { .. }
            | Op::NumPrograms { .. }
            | Op::Arange { .. }
            | Op::Splat { .. }
            | Op::Broadcast { .. }
            | Op::ExpandDims { .. }
            | Op::Transpose { .. }
            | Op::Annotate { .. }
    );
    is_plain || op.is_elementwise()
}

/// Whether a value gets from its home to where it is wanted without shared memory, whose barriers would stand in the way of the
/// body's.
fn stays_in_registers(function: &Function, layouts: &Assignment, value: Value) -> bool {
    let Some(home) = layouts.home_of(value) else { return true };
    let bits = function.ty(value).element.bytes() * 8;
    layouts.wanted[value.0 as usize].iter().all(|&wanted| {
        let plan = Conversion::plan(layouts.set.get(home), layouts.set.get(wanted), bits);
        plan.is_ok_and(|plan| !matches!(plan, Conversion::SharedMemory(_)))
    })
}

/// The operations that the body can do without once the loads are filled ahead, and the carried values that it still needs.
fn leave_out(
    function: &Function,
    op: OpId,
    body: RegionId,
    loads: &[OpId],
    users: &Users,
) -> (FxHashSet<OpId>, Vec<usize>) {
    let region = function.region(body);
    let results = &function.op(op).results;
    let mut only: FxHashSet<OpId> = region
        .ops
        .iter()
        .copied()
        .filter(|&op| function.op(op).op.is_pure() || loads.contains(&op))
        .collect();
    let mut idle: FxHashSet<usize> =
        (0..results.len()).filter(|&place| users.of(results[place]).is_empty()).collect();
    // Everything is left out at first; what somebody turns out to need is taken back.
    loop {
        let is_needed = |value: Value| {
            users.of(value).iter().any(|user| match *user {
                User::Op(user) => !only.contains(&user),
                User::Yield(owner) if owner == body => (region.yields.iter().enumerate())
                    .any(|(place, &one)| one == value && !idle.contains(&place)),
                User::Yield(_) => true,
            })
        };
        let back = only.iter().copied().find(|&op| {
            !loads.contains(&op) && function.op(op).results.iter().any(|&result| is_needed(result))
        });
        let busy = idle.iter().copied().find(|&place| is_needed(region.args[place + 1]));
        match (back, busy) {
            (None, None) => break,
            _ => {
                back.iter().for_each(|op| {
                    only.remove(op);
                });
                busy.iter().for_each(|place| {
                    idle.remove(place);
                });
            }
        }
    }
    let rest = (0..results.len()).filter(|place| !idle.contains(place)).collect();
    (only, rest)
}
