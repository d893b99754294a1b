//! Products that a loop accumulates: their results are written where the loop carries them.
//!
//! The sum of `for ...: sum = dot(a, b, sum)` has one set of registers for the whole loop, in which the tensor cores add up. They may
//! still be at it when the next iteration begins.

use crate::layouts::{Assignment, Operand, Unit};
use crate::nesting::is_within;
use crate::users::{User, Users};
use rustc_hash::{FxHashMap, FxHashSet};
use tegula_ir::{Function, Op, OpId, RegionId, Scalar, Value, ValueDef};

/// A product that a loop accumulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    /// The place of its result among the carried values.
    pub place: usize,
    /// Whether it may be in flight while the next iteration begins.
    pub stays_in_flight: bool,
}

/// Whether a product may be in flight while the next iteration begins: what it reads from shared memory is in rings, and what
/// it reads from registers is not computed again before it is over, because that takes the result of a product in between.
fn stays_in_flight(function: &Function, body: RegionId, layouts: &Assignment, op: OpId) -> bool {
    let Op::Dot { lhs, rhs, .. } = function.op(op).op else { return false };
    let product = &layouts.products[&op];
    let [(left, left_source), (_, right_source)] = product.operands(lhs, rhs);
    let is_staged = |source: &Operand| matches!(source, Operand::Staged { .. });
    matches!(product.unit, Unit::Warpgroup { .. })
        && is_staged(right_source)
        && (is_staged(left_source) || takes_a_product(function, body, left))
}

/// Whether a value is computed in a region, from the result of a product there.
fn takes_a_product(function: &Function, body: RegionId, value: Value) -> bool {
    let ops: FxHashSet<OpId> = function.region(body).ops.iter().copied().collect();
    let mut seen = FxHashSet::default();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        let ValueDef::Result { op, .. } = function.value(value).def else { continue };
        if !ops.contains(&op) || !seen.insert(op) {
            continue;
        }
        let data = &function.op(op).op;
        if matches!(data, Op::Dot { .. }) {
            return true;
        }
        data.for_each_operand(|operand| open.push(operand));
    }
    false
}

/// The products of a loop's body that only the next iteration uses, once the value that it carries there is used up.
pub(super) fn carried_products(
    function: &Function,
    body: RegionId,
    layouts: &Assignment,
    users: &Users,
) -> FxHashMap<OpId, Carried> {
    let region = function.region(body);
    let position = |op: OpId| region.ops.iter().position(|&other| is_within(function, other, op));
    let mut carried = FxHashMap::default();
    for (place, &value) in region.yields.iter().enumerate() {
        let argument = region.args[place + 1];
        let ValueDef::Result { op, .. } = function.value(value).def else { continue };
        let Some(product) = layouts.products.get(&op).filter(|_| region.ops.contains(&op)) else { continue };
        let sums = [Some(Scalar::Float32), Some(Scalar::Int32)];
        let is_in_place = matches!(product.unit, Unit::Warpgroup { .. })
            && sums.contains(&function.ty(value).element.as_scalar())
            && layouts.home_of(argument) == Some(product.accumulator_id)
            && layouts.home_of(value) == Some(product.accumulator_id)
            && layouts.wanted[value.0 as usize].iter().all(|&wanted| wanted == product.accumulator_id)
            && users.of(value) == [User::Yield(body)];
        let own = position(op);
        let used_up = users.of(argument).iter().all(|user| match *user {
            User::Op(user) => position(user) <= own && !encloses_other(function, op, user),
            User::Yield(_) => false,
        });
        if is_in_place && used_up {
            let stays_in_flight = stays_in_flight(function, body, layouts, op);
            carried.insert(op, Carried { place, stays_in_flight });
        }
    }
    carried
}

/// Whether a product takes its own accumulator as another operand too.
fn encloses_other(function: &Function, product: OpId, user: OpId) -> bool {
    let Op::Dot { lhs, rhs, accumulator, .. } = &function.op(product).op else { return false };
    user == product && accumulator.is_some_and(|sum| sum == *lhs || sum == *rhs)
}
