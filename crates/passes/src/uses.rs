//! Uses: how often each value is used, and where it is needed last.
//!
//! An executor that keeps a buffer for each block frees it after the value's last use.

use tegula_ir::{Function, Op, OpId, RegionId, Value};

/// How often each value of a function is used, and what each operation is the last to use.
#[derive(Clone, Debug)]
pub struct Uses {
    counts: Vec<u32>,
    dying: Vec<Vec<Value>>,
}

impl Uses {
    /// Counts the uses in a function.
    pub fn new(function: &Function) -> Uses {
        let mut walk = Walk {
            function,
            counts: vec![0; function.value_count()],
            level: vec![0; function.value_count()],
            last: vec![None; function.value_count()],
            enclosing: Vec::new(),
        };
        walk.region(function.body);
        let mut dying = vec![Vec::new(); function.op_count()];
        for (index, last) in walk.last.iter().enumerate() {
            if let Some(LastUse::Op(op)) = last {
                dying[op.0 as usize].push(Value(index as u32));
            }
        }
        Uses { counts: walk.counts, dying }
    }

    /// How many operands and yields a value is.
    pub fn count(&self, value: Value) -> u32 {
        self.counts[value.0 as usize]
    }

    /// The values that nothing needs after an operation: defined in the region that lists it (arguments included), used
    /// last by it or by what its regions contain, or its own results if they are never used.
    ///
    /// Values that a region yields, and its arguments that are never used, are in no list: they end with the region.
    pub fn dying_after(&self, op: OpId) -> &[Value] {
        &self.dying[op.0 as usize]
    }
}

#[derive(Clone, Copy)]
enum LastUse {
    Op(OpId),
    Yield,
}

struct Walk<'f> {
    function: &'f Function,
    counts: Vec<u32>,
    /// How many operations enclose each value's definition.
    level: Vec<usize>,
    last: Vec<Option<LastUse>>,
    /// The operations whose regions are being walked, outermost first.
    enclosing: Vec<OpId>,
}

impl Walk<'_> {
    fn region(&mut self, region: RegionId) {
        let function = self.function;
        let data = function.region(region);
        self.define(&data.args);
        for &id in &data.ops {
            let op: &Op = &function.op(id).op;
            op.for_each_operand(|value| self.use_by(value, LastUse::Op(id)));
            self.enclosing.push(id);
            for region in op.regions() {
                self.region(region);
            }
            self.enclosing.pop();
            self.define(&function.op(id).results);
            for &result in &function.op(id).results {
                self.last[result.0 as usize] = Some(LastUse::Op(id));
            }
        }
        for &value in &data.yields {
            self.use_by(value, LastUse::Yield);
        }
    }

    fn define(&mut self, values: &[Value]) {
        for &value in values {
            self.level[value.0 as usize] = self.enclosing.len();
        }
    }

    /// Notes a use; from inside a nested region, it is the operation in the value's own region that uses it.
    fn use_by(&mut self, value: Value, user: LastUse) {
        let index = value.0 as usize;
        self.counts[index] += 1;
        let level = self.level[index];
        self.last[index] = Some(self.enclosing.get(level).map_or(user, |&op| LastUse::Op(op)));
    }
}
