//! Program order in global memory: where the threads of a block must wait for one another.
//!
//! The language promises that a program's accesses happen in order, but its threads run ahead of each other: a scalar is
//! stored by one thread and loaded by all. Two accesses of which one writes may meet if they go through the same
//! pointer parameter (pointers that are loaded or made from numbers may meet anything). They need a barrier between them, unless both use the same
//! block of pointers in the same layout, where every thread meets only itself. Different parameters are taken to be
//! different arrays, or the same places in the same threads, unless several threads hold copies of a place.

use crate::layouts::{Assignment, LayoutId};
use crate::nesting::{contains, encloses};
use crate::roots::Roots;
use rustc_hash::FxHashSet;
use tegula_ir::{Element, Function, Op, OpId, RegionId, Value, ValueDef};
use tegula_layout::Dim;

/// The operations before which all threads wait.
pub(crate) struct Hazards {
    before: FxHashSet<OpId>,
}

impl Hazards {
    pub fn new(function: &Function, layouts: &Assignment) -> Hazards {
        let mut walk = Walk { function, layouts, roots: Roots::new(function), before: FxHashSet::default() };
        walk.region(function.body, Vec::new());
        Hazards { before: walk.before }
    }

    pub fn barrier_before(&self, op: OpId) -> bool {
        self.before.contains(&op)
    }
}

/// An access since the last barrier.
#[derive(Clone, PartialEq)]
struct Access {
    pointer: Value,
    /// Whether it happened in another iteration, in which the pointer had another value.
    stale: bool,
    layout: Option<LayoutId>,
    writes: bool,
}

struct Walk<'a> {
    function: &'a Function,
    layouts: &'a Assignment,
    roots: Roots<'a>,
    before: FxHashSet<OpId>,
}

impl Walk<'_> {
    /// Walks a region after some accesses, and returns those that are open at its end.
    fn region(&mut self, id: RegionId, mut open: Vec<Access>) -> Vec<Access> {
        let function = self.function;
        for &op in &function.region(id).ops {
            let data = function.op(op);
            match &data.op {
                Op::Barrier => open.clear(),
                Op::If { then, otherwise, .. } => {
                    let other = self.region(*otherwise, open.clone());
                    open = self.region(*then, open);
                    merge(&mut open, other);
                }
                Op::For { body, .. } => {
                    // What an iteration leaves open meets the next one.
                    for _ in 0..2 {
                        let after = self.region(*body, open.clone());
                        let after = self.outdated(after, &[*body]);
                        merge(&mut open, after);
                    }
                }
                Op::While { condition, body, .. } => {
                    for _ in 0..2 {
                        let tested = self.region(*condition, open.clone());
                        let after = self.region(*body, tested.clone());
                        let tested = self.outdated(tested, &[*condition]);
                        let after = self.outdated(after, &[*condition, *body]);
                        merge(&mut open, tested);
                        merge(&mut open, after);
                    }
                }
                Op::Load { pointer, .. } => self.access(op, *pointer, false, &mut open),
                Op::Store { pointer, .. } => self.access(op, *pointer, true, &mut open),
                Op::AtomicRmw { pointer, .. } | Op::AtomicCas { pointer, .. } => {
                    self.access(op, *pointer, true, &mut open);
                }
                // What a text with effects does with its pointers is unknown.
                Op::InlineAssembly { assembly, values } if !assembly.pure => {
                    for &value in values {
                        if matches!(function.ty(value).element, Element::Pointer(_)) {
                            self.access(op, value, true, &mut open);
                        }
                    }
                }
                _ => {}
            }
        }
        open
    }

    /// Accesses as the next iteration sees them: pointers that the loop computes are others then.
    fn outdated(&self, accesses: Vec<Access>, regions: &[RegionId]) -> Vec<Access> {
        let computed = |pointer| match self.function.value(pointer).def {
            ValueDef::Param(_) => false,
            ValueDef::Result { op, .. } => regions.iter().any(|&region| contains(self.function, region, op)),
            ValueDef::RegionArg { region, .. } => {
                regions.iter().any(|&outer| encloses(self.function, outer, region))
            }
        };
        let renew = |access: Access| Access { stale: access.stale || computed(access.pointer), ..access };
        accesses.into_iter().map(renew).collect()
    }

    fn access(&mut self, op: OpId, pointer: Value, writes: bool, open: &mut Vec<Access>) {
        let layout = self.layouts.work.get(&op).copied();
        let access = Access { pointer, stale: false, layout, writes };
        if open.iter().any(|other| self.collide(other, &access)) {
            self.before.insert(op);
            open.clear();
        }
        if !open.contains(&access) {
            open.push(access);
        }
    }

    fn collide(&mut self, before: &Access, after: &Access) -> bool {
        if !before.writes && !after.writes {
            return false;
        }
        let same_threads = match (before.layout, after.layout) {
            (Some(a), Some(b)) => {
                a == b && !before.stale && before.pointer == after.pointer && !self.has_copies(a)
            }
            _ => false,
        };
        if same_threads {
            return false;
        }
        // Of one array under two names, threads that hold copies meet what others write.
        let meets_copies = |access: &Access| access.layout.is_some_and(|layout| self.has_copies(layout));
        meets_copies(before) || meets_copies(after) || self.roots.may_meet(before.pointer, after.pointer)
    }

    fn has_copies(&self, layout: LayoutId) -> bool {
        let layout = self.layouts.set.get(layout);
        layout.free_variable_mask(Dim::Lane) != 0 || layout.free_variable_mask(Dim::Warp) != 0
    }
}

fn merge(open: &mut Vec<Access>, more: Vec<Access>) {
    for access in more {
        if !open.contains(&access) {
            open.push(access);
        }
    }
}
