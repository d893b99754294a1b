//! Loop invariants: pure operations whose operands come from outside a loop move out of it.
//!
//! ```text
//! for %i = %lo to %hi step %st {                %1 = splat %x : <64xfp32>
//!   %1 = splat %x : <64xfp32>            =>     for %i = %lo to %hi step %st {
//!   store %p, %1                                  store %p, %1
//! }                                             }
//! ```
//!
//! The regions of `reduce`, `scan` and `map` count as loops: they run for each element. Branches do not: what a branch
//! computes stays in it. An operation goes out of as many loops at once as its operands allow. Loads stay, since memory
//! may change, and so does what takes an element by its index, which may be out of range if the loop does not run.

use tegula_ir::{Function, Op, OpId, RegionId};

/// Moves what does not change out of loops. Returns whether anything moved.
pub fn hoist_loop_invariants(function: &mut Function) -> bool {
    let body = function.body;
    let levels = vec![0; function.value_count()];
    let mut licm = Licm { function, levels, open: Vec::new(), changed: false };
    licm.region(body, false);
    licm.changed
}

/// A set of levels of nesting: bit `n` stands for what is defined inside `n` regions.
type Levels = u128;

/// Regions nested deeper than this are left alone.
const MAX_LEVEL: usize = 127;

struct Licm<'f> {
    function: &'f mut Function,
    /// For each value, how many regions enclose the one that it is defined in.
    levels: Vec<usize>,
    /// The regions being rebuilt, outermost first.
    open: Vec<Open>,
    changed: bool,
}

struct Open {
    ops: Vec<OpId>,
    /// Whether operations may move out of this region, to before its owner.
    permeable: bool,
    /// The levels of the values that are used in it.
    used: Levels,
}

impl Licm<'_> {
    /// Rebuilds a region. Returns the levels outside it from which it uses values.
    fn region(&mut self, region: RegionId, permeable: bool) -> Levels {
        let level = self.open.len();
        let data = self.function.region_mut(region);
        let ops = std::mem::take(&mut data.ops);
        for &arg in &data.args {
            self.levels[arg.0 as usize] = level;
        }
        let permeable = permeable && level <= MAX_LEVEL;
        self.open.push(Open { ops: Vec::with_capacity(ops.len()), permeable, used: 0 });
        for id in ops {
            self.op(id, level);
        }
        let open = self.open.pop().expect("pushed above");
        let data = self.function.region_mut(region);
        data.ops = open.ops;
        let levels = &self.levels;
        let yields = data.yields.iter().fold(0, |used, &value| used | bit(levels[value.0 as usize]));
        (open.used | yields) & (bit(level) - 1)
    }

    fn op(&mut self, id: OpId, level: usize) {
        let data = self.function.op(id);
        let permeable = match &data.op {
            Op::For { attributes, .. } => !attributes.disable_licm,
            Op::While { .. } | Op::Reduce { .. } | Op::Scan { .. } | Op::MapElementwise { .. } => true,
            _ => false,
        };
        let movable = data.op.is_pure() && !matches!(data.op, Op::Index { .. } | Op::Gather { .. });
        let mut used = 0;
        for region in data.op.regions() {
            used |= self.region(region, permeable);
        }
        let levels = &self.levels;
        self.function.op(id).op.for_each_operand(|value| used |= bit(levels[value.0 as usize]));

        let deepest = Levels::BITS.saturating_sub(used.leading_zeros() + 1) as usize;
        let mut target = level;
        while movable && target > deepest && self.open[target].permeable {
            target -= 1;
        }
        self.changed |= target != level;
        for &result in &self.function.op(id).results {
            self.levels[result.0 as usize] = target;
        }
        self.open[target].used |= used;
        self.open[target].ops.push(id);
    }
}

fn bit(level: usize) -> Levels {
    1 << level.min(MAX_LEVEL)
}
