//! Where operations and regions lie: which region lists an operation, and which operation owns a region.

use tegula_ir::{Function, OpId, RegionId, Value, ValueDef};

/// The nesting of a function.
#[derive(Clone, Debug)]
pub struct Places {
    region_of: Vec<RegionId>,
    owner: Vec<Option<OpId>>,
    defined_in: Vec<RegionId>,
}

impl Places {
    /// Reads the nesting of a function.
    pub fn new(function: &Function) -> Places {
        let mut places = Places {
            region_of: vec![function.body; function.op_count()],
            owner: vec![None; function.region_count()],
            defined_in: Vec::new(),
        };
        places.region(function, function.body);
        places.defined_in = (0..function.value_count())
            .map(|index| match function.value(Value(index as u32)).def {
                ValueDef::Param(_) => function.body,
                ValueDef::Result { op, .. } => places.region_of(op),
                ValueDef::RegionArg { region, .. } => region,
            })
            .collect();
        places
    }

    fn region(&mut self, function: &Function, region: RegionId) {
        for &id in &function.region(region).ops {
            self.region_of[id.0 as usize] = region;
            for inner in function.op(id).op.regions() {
                self.owner[inner.0 as usize] = Some(id);
                self.region(function, inner);
            }
        }
    }

    /// The region that lists an operation.
    pub fn region_of(&self, op: OpId) -> RegionId {
        self.region_of[op.0 as usize]
    }

    /// The operation that owns a region; `None` for the function's body.
    pub fn owner(&self, region: RegionId) -> Option<OpId> {
        self.owner[region.0 as usize]
    }

    /// Whether a value is defined in a region or in one within it.
    pub fn is_within(&self, value: Value, region: RegionId) -> bool {
        let mut at = self.defined_in[value.0 as usize];
        loop {
            if at == region {
                return true;
            }
            match self.owner(at) {
                Some(owner) => at = self.region_of(owner),
                None => return false,
            }
        }
    }
}
