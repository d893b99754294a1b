//! Axis information: what is known of neighbouring elements along each dimension of a block.
//!
//! Of `%p + 16 * pid + arange(0, 16)` with `%p` aligned to 16 bytes, the analysis knows that all 16 elements follow each
//! other in memory, from an address that is a multiple of 16: one vector access loads them. Three facts a dimension:
//!
//! * *contiguity* c: in each aligned run of c elements (those whose index starts at a multiple of c), every element is
//!   one more than the element before; for pointers, one element further;
//! * *constancy* k: in each aligned run of k elements, all are equal;
//! * *divisibility* d: the first element of each run of c is a multiple of d, a power of two; for pointers, in bytes.
//!   Where c is 1, that is every element.
//!
//! The last run of a dimension may be cut short by the end of the block; extents need not be powers of two. A run that
//! spans the whole dimension is kept as such, so that 1000 and 24 agree on runs of 24.
//! Divisors are powers of two only, because integers wrap: a multiple of 3 that wraps is none any more, a multiple
//! of 4 is. For the same reason nothing is said of the sign of a sum.
//!
//! One thing is taken for granted, as everywhere in this language: of 32 or more bits, an index does not wrap in the middle of
//! a run. The elements before and after would be 2^32 elements apart, and no array holds both.
//!
//! Carried values of loops start from what is known of the initial value, and lose what an iteration does not keep,
//! until nothing is lost any more. See also the analysis of the same name in Triton (`AxisInfo`), which assumes powers of
//! two and no overflow.

mod fact;
mod transfer;

pub use fact::AxisInfo;

use rustc_hash::FxHashSet;
use tegula_ir::{Function, Op, RegionId, Value};

/// What is known of the elements of every value of a function.
#[derive(Clone, Debug)]
pub struct AxisAnalysis {
    infos: Vec<AxisInfo>,
}

impl AxisAnalysis {
    /// Analyses a function.
    pub fn new(function: &Function) -> AxisAnalysis {
        AxisAnalysis::with(function, false)
    }

    /// Analyses a function, for what its addresses are.
    ///
    /// Kernels wrap indices around: `(start + arange(0, 128)) % n`, where the sign of `start` and `n` is beyond what can be proven. This
    /// takes for granted that a remainder by a number known at run time alone is of numbers from 0 by one above: otherwise,
    /// neighbours would be `n` elements apart, on both sides of the array's start. It also takes for granted that divisors
    /// are positive, and that sums of numbers that are
    /// not negative, and a counter times an extent, do not wrap around.
    pub fn of_indices(function: &Function) -> AxisAnalysis {
        AxisAnalysis::with(function, true)
    }

    fn with(function: &Function, wraps_forward: bool) -> AxisAnalysis {
        let infos =
            (0..function.value_count()).map(|index| AxisInfo::unknown(function.ty(Value(index as u32))));
        let mut analysis =
            Analysis { function, wraps_forward, infos: infos.collect(), loop_indices: FxHashSet::default() };
        for param in &function.params {
            let mut info = AxisInfo::unknown(&param.ty);
            info.set_divisor(param.divisible_by.max(1).into());
            analysis.infos[param.value.0 as usize] = info;
        }
        analysis.region(function.body);
        AxisAnalysis { infos: analysis.infos }
    }

    /// Whether the function had the value when it was analysed.
    pub(crate) fn covers(&self, value: Value) -> bool {
        (value.0 as usize) < self.infos.len()
    }

    /// What is known of a value. A scalar has one dimension, of extent 1.
    pub fn of(&self, value: Value) -> &AxisInfo {
        &self.infos[value.0 as usize]
    }
}

struct Analysis<'f> {
    function: &'f Function,
    /// Whether remainders by numbers that are no constants are taken to be of numbers from 0 by numbers above.
    wraps_forward: bool,
    loop_indices: FxHashSet<Value>,
    infos: Vec<AxisInfo>,
}

impl Analysis<'_> {
    fn of(&self, value: Value) -> &AxisInfo {
        &self.infos[value.0 as usize]
    }

    fn set(&mut self, value: Value, info: AxisInfo) {
        self.infos[value.0 as usize] = info;
    }

    fn region(&mut self, region: RegionId) {
        let function = self.function;
        for &id in &function.region(region).ops {
            let data = function.op(id);
            match &data.op {
                Op::For { lower, step, inits, body, .. } => {
                    let region = function.region(*body);
                    let (&index, carried) = region.args.split_first().expect("a loop has an index");
                    let info = AxisInfo::index(self.of(*lower), self.of(*step));
                    self.set(index, info);
                    self.loop_indices.insert(index);
                    self.settle(carried, inits, |analysis| {
                        analysis.region(*body);
                        region.yields.clone()
                    });
                    for (&result, &arg) in data.results.iter().zip(carried) {
                        self.set(result, self.of(arg).clone());
                    }
                }
                Op::While { inits, condition, body } => {
                    let (test, inner) = (function.region(*condition), function.region(*body));
                    self.settle(&test.args, inits, |analysis| {
                        analysis.region(*condition);
                        for (&arg, &value) in inner.args.iter().zip(&test.yields[1..]) {
                            analysis.set(arg, analysis.of(value).clone());
                        }
                        analysis.region(*body);
                        inner.yields.clone()
                    });
                    for (&result, &value) in data.results.iter().zip(&test.yields[1..]) {
                        self.set(result, self.of(value).clone());
                    }
                }
                Op::If { then, otherwise, .. } => {
                    self.region(*then);
                    self.region(*otherwise);
                    let yields =
                        function.region(*then).yields.iter().zip(&function.region(*otherwise).yields);
                    for (&result, (&then, &otherwise)) in data.results.iter().zip(yields) {
                        self.set(result, self.of(then).meet(self.of(otherwise)));
                    }
                }
                op => {
                    for region in op.regions() {
                        self.region(region);
                    }
                    for &result in &data.results {
                        let info = self.transfer(op, function.ty(result));
                        self.set(result, info);
                    }
                }
            }
        }
    }

    /// Finds what holds of carried values before every iteration: what holds of the initial values and of those that `iterate`,
    /// which walks the loop, passes on.
    fn settle(&mut self, args: &[Value], inits: &[Value], mut iterate: impl FnMut(&mut Self) -> Vec<Value>) {
        for (&arg, &init) in args.iter().zip(inits) {
            self.set(arg, self.of(init).clone());
        }
        loop {
            let nexts = iterate(self);
            let mut settled = true;
            for (&arg, next) in args.iter().zip(nexts) {
                let met = self.of(arg).meet(self.of(next));
                if met != *self.of(arg) {
                    settled = false;
                    self.set(arg, met);
                }
            }
            if settled {
                return;
            }
        }
    }
}
