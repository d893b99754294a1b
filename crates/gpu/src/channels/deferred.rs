//! Products that a loop accumulates: their results are written where the loop carries them.
//!
//! The sum of `for ...: sum = dot(a, b, sum)` has one set of registers for the whole loop, in which the tensor cores add up. They may
//! still be at it when the next iteration begins.

use crate::layouts::{Assignment, Operand, Product, Unit};
use crate::users::{User, Users};
use rustc_hash::FxHashMap;
use tegula_ir::{Function, Op, OpId, RegionId, Scalar};

impl Product {
    /// Whether the product may be in flight while the next iteration begins: what it reads is in rings, or outside of the loop.
    pub fn is_deferrable(&self) -> bool {
        let in_place = |operand: &Operand| matches!(operand, Operand::Staged { .. });
        matches!(self.unit, Unit::Warpgroup { .. }) && in_place(&self.rhs)
    }
}

/// The products of a loop's body that only the next iteration uses, once the value that it carries there is used up.
pub(super) fn carried_products(
    function: &Function,
    body: RegionId,
    layouts: &Assignment,
    users: &Users,
) -> FxHashMap<OpId, usize> {
    let region = function.region(body);
    let position = |op: OpId| region.ops.iter().position(|&other| encloses(function, other, op));
    let mut carried = FxHashMap::default();
    for (place, &value) in region.yields.iter().enumerate() {
        let argument = region.args[place + 1];
        let tegula_ir::ValueDef::Result { op, .. } = function.value(value).def else { continue };
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
            carried.insert(op, place);
        }
    }
    carried
}

/// Whether an operation is another, or contains it.
fn encloses(function: &Function, outer: OpId, op: OpId) -> bool {
    outer == op
        || function
            .op(outer)
            .op
            .regions()
            .iter()
            .any(|&region| function.region(region).ops.iter().any(|&inner| encloses(function, inner, op)))
}

/// Whether a product takes its own accumulator as another operand too.
fn encloses_other(function: &Function, product: OpId, user: OpId) -> bool {
    let Op::Dot { lhs, rhs, accumulator, .. } = &function.op(product).op else { return false };
    user == product && accumulator.is_some_and(|sum| sum == *lhs || sum == *rhs)
}
