//! Users: which operations and regions take each value.

use tegula_ir::{Function, OpId, RegionId, Value};

/// What takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// An operation, as an operand.
    Op(OpId),
    /// A region, which yields it.
    Yield(RegionId),
}

/// The users of every value of a function.
pub(crate) struct Users {
    of: Vec<Vec<User>>,
}

impl Users {
    pub fn new(function: &Function) -> Users {
        let mut users = Users { of: vec![Vec::new(); function.value_count()] };
        users.region(function, function.body);
        users
    }

    /// The users of a value, one entry a use.
    pub fn of(&self, value: Value) -> &[User] {
        &self.of[value.0 as usize]
    }

    fn region(&mut self, function: &Function, id: RegionId) {
        let region = function.region(id);
        for &op in &region.ops {
            let data = &function.op(op).op;
            data.for_each_operand(|value| self.of[value.0 as usize].push(User::Op(op)));
            data.regions().iter().for_each(|&inner| self.region(function, inner));
        }
        region.yields.iter().for_each(|value| self.of[value.0 as usize].push(User::Yield(id)));
    }
}
