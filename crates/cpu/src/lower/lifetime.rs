//! Where each value is used for the last time.

use tegula_ir::{Function, OpId, RegionId, Value};

/// The last use of a value, as seen from the region that defines it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastUse {
    /// It is never used.
    Never,
    /// It is an operand of the operation, as often as `times` says.
    Operand { user: OpId, times: u32 },
    /// It is used within a region of the operation.
    Nested { user: OpId },
    /// It is yielded, as often as `times` says.
    Yield { region: RegionId, times: u32 },
}

/// The last uses of all values of a function.
pub struct Lifetimes {
    last: Vec<LastUse>,
    /// For each operation, the values whose last use it is.
    ended: Vec<Vec<Value>>,
}

struct Walk<'f> {
    function: &'f Function,
    /// The region that defines each value.
    home: Vec<RegionId>,
    last: Vec<LastUse>,
    /// The regions around the current operation, with the operation of each that is being visited.
    around: Vec<(RegionId, Option<OpId>)>,
}

impl Lifetimes {
    pub fn of(function: &Function) -> Lifetimes {
        let mut walk = Walk {
            function,
            home: vec![function.body; function.value_count()],
            last: vec![LastUse::Never; function.value_count()],
            around: Vec::new(),
        };
        walk.region(function.body);
        let mut ended = vec![Vec::new(); function.op_count()];
        for (index, last) in walk.last.iter().enumerate() {
            if let LastUse::Operand { user, .. } | LastUse::Nested { user } = last {
                ended[user.0 as usize].push(Value(index as u32));
            }
        }
        Lifetimes { last: walk.last, ended }
    }

    /// Whether an operand of `user` may be taken: nothing else reads it there or later.
    pub fn ends_as_operand(&self, value: Value, user: OpId) -> bool {
        self.last[value.0 as usize] == LastUse::Operand { user, times: 1 }
    }

    /// Whether a yield of `region` may be taken.
    pub fn ends_as_yield(&self, value: Value, region: RegionId) -> bool {
        self.last[value.0 as usize] == LastUse::Yield { region, times: 1 }
    }

    pub fn is_unused(&self, value: Value) -> bool {
        self.last[value.0 as usize] == LastUse::Never
    }

    /// The values whose last use an operation, or something within its regions, is.
    pub fn ended_by(&self, op: OpId) -> &[Value] {
        &self.ended[op.0 as usize]
    }
}

impl Walk<'_> {
    fn region(&mut self, region: RegionId) {
        let function = self.function;
        let data = function.region(region);
        self.around.push((region, None));
        let depth = self.around.len() - 1;
        for &arg in &data.args {
            self.home[arg.0 as usize] = region;
        }
        for &id in &data.ops {
            self.around[depth].1 = Some(id);
            let op = function.op(id);
            op.op.for_each_operand(|value| self.mark(value));
            for nested in op.op.regions() {
                self.region(nested);
            }
            for &result in &op.results {
                self.home[result.0 as usize] = region;
            }
        }
        self.around[depth].1 = None;
        for &value in &data.yields {
            self.mark(value);
        }
        self.around.pop();
    }

    fn mark(&mut self, value: Value) {
        let home = self.home[value.0 as usize];
        let level = self.around.iter().rposition(|&(region, _)| region == home).unwrap_or(0);
        let nested = level + 1 != self.around.len();
        let last = &mut self.last[value.0 as usize];
        *last = match (self.around[level].1, nested, *last) {
            (Some(user), true, _) => LastUse::Nested { user },
            (Some(user), false, LastUse::Operand { user: before, times }) if before == user => {
                LastUse::Operand { user, times: times + 1 }
            }
            (Some(user), false, _) => LastUse::Operand { user, times: 1 },
            (None, _, LastUse::Yield { region, times }) => LastUse::Yield { region, times: times + 1 },
            (None, _, _) => LastUse::Yield { region: home, times: 1 },
        };
    }
}
