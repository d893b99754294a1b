//! Launch invariance: which values every program of a launch computes alike.
//!
//! What depends on neither `program_id` nor memory can be computed once a launch instead of once a program: strides
//! times constants, masks of a last block, index blocks.

use tegula_ir::{Function, Op, RegionId, Value};

/// Which values of a function are the same in every program of a launch.
#[derive(Clone, Debug)]
pub struct LaunchInvariance {
    varying: Vec<bool>,
}

impl LaunchInvariance {
    /// Analyses a function.
    pub fn new(function: &Function) -> LaunchInvariance {
        let mut analysis =
            Analysis { function, varying: vec![false; function.value_count()], changed: false };
        // Variance only grows, and grows through every loop in one walk unless it enters by a carried value.
        loop {
            analysis.changed = false;
            analysis.region(function.body);
            if !analysis.changed {
                return LaunchInvariance { varying: analysis.varying };
            }
        }
    }

    /// Whether every program computes the same value (in each iteration, if it is computed in a loop).
    pub fn is_invariant(&self, value: Value) -> bool {
        !self.varying[value.0 as usize]
    }
}

struct Analysis<'f> {
    function: &'f Function,
    varying: Vec<bool>,
    changed: bool,
}

impl Analysis<'_> {
    fn varies(&self, value: Value) -> bool {
        self.varying[value.0 as usize]
    }

    fn set(&mut self, value: Value, varying: bool) {
        if varying && !self.varies(value) {
            self.varying[value.0 as usize] = true;
            self.changed = true;
        }
    }

    fn set_each(&mut self, values: &[Value], from: &[Value], all: bool) {
        for (&value, &from) in values.iter().zip(from) {
            self.set(value, all || self.varies(from));
        }
    }

    fn region(&mut self, region: RegionId) {
        let function = self.function;
        for &id in &function.region(region).ops {
            let data = function.op(id);
            let results = &data.results;
            match &data.op {
                Op::For { lower, upper, step, inits, body, .. } => {
                    // Where programs disagree on the number of iterations, they may disagree on all that is carried.
                    let trips = self.varies(*lower) || self.varies(*upper) || self.varies(*step);
                    let region = function.region(*body);
                    let (index, carried) = region.args.split_first().expect("a loop has an index");
                    self.set(*index, self.varies(*lower) || self.varies(*step));
                    self.set_each(carried, inits, false);
                    self.region(*body);
                    self.set_each(carried, &region.yields, false);
                    self.set_each(results, carried, trips);
                }
                Op::While { inits, condition, body } => {
                    let (test, inner) = (function.region(*condition), function.region(*body));
                    self.set_each(&test.args, inits, false);
                    self.region(*condition);
                    self.set_each(&inner.args, &test.yields[1..], false);
                    self.region(*body);
                    self.set_each(&test.args, &inner.yields, false);
                    self.set_each(results, &test.yields[1..], self.varies(test.yields[0]));
                }
                Op::If { condition, then, otherwise } => {
                    self.region(*then);
                    self.region(*otherwise);
                    let varying = self.varies(*condition);
                    self.set_each(results, &function.region(*then).yields, varying);
                    self.set_each(results, &function.region(*otherwise).yields, varying);
                }
                op => {
                    let mut varying = matches!(
                        op,
                        Op::ProgramId { .. }
                            | Op::Load { .. }
                            | Op::AtomicRmw { .. }
                            | Op::AtomicCas { .. }
                            | Op::InlineAssembly { .. }
                    );
                    op.for_each_operand(|value| varying |= self.varies(value));
                    for region in op.regions() {
                        let data = function.region(region);
                        data.args.iter().for_each(|&arg| self.set(arg, varying));
                        self.region(region);
                        varying |= data.yields.iter().any(|&value| self.varies(value));
                    }
                    results.iter().for_each(|&result| self.set(result, varying));
                }
            }
        }
    }
}
