//! Where the results of steps are kept, and which accesses may meet in which order.

use super::build::phase_of;
use super::{Conflict, Early, Node, Phase, Plan, Source, Step};
use tegula_ir::Scalar;
use tegula_strip::ReduceFn;

/// Elements of a strip, unless some are 8 bytes wide.
const STRIP: usize = 1024;
/// Results begin at multiples of this many bytes.
const LINE: usize = 64;

/// A step of a plan in the making.
#[derive(Debug)]
pub enum Item {
    Step(Step),
    Scalar(Early),
    Reduce { function: ReduceFn, value: Source, out: u32 },
    LoadScalar { access: usize, other: Option<u32>, mask: Option<u32>, scalar: Scalar, out: u32 },
    StoreScalar { access: usize, mask: Option<u32>, value: u32 },
}

/// A phase, and the number of an item.
type Position = (usize, usize);

/// Where a node is computed, where it is read for the last time, and how often.
#[derive(Clone, Copy, Debug, Default)]
pub struct Use {
    defined: Position,
    last: Position,
    reads: usize,
}

/// What an access does, in the order of the source and in that of the plan.
struct Order {
    access: usize,
    stores: bool,
    /// Where the source has it.
    stated: Position,
    /// Where memory is accessed first and last.
    first: Position,
    last: Position,
}

impl Step {
    fn sources(&self) -> [Source; 3] {
        match *self {
            Step::Apply { inputs, .. } => inputs,
            Step::Choose { on_true, on_false, .. } => [on_true, on_false, Source::None],
            Step::Store { value, .. } => [value, Source::None, Source::None],
            Step::Load { .. } | Step::Splat { .. } | Step::Numbers { .. } | Step::Truth { .. } => {
                [Source::None; 3]
            }
        }
    }

    fn out(&self) -> Option<u32> {
        match *self {
            Step::Load { out, .. }
            | Step::Apply { out, .. }
            | Step::Choose { out, .. }
            | Step::Splat { out, .. }
            | Step::Numbers { out, .. }
            | Step::Truth { out, .. } => Some(out),
            Step::Store { .. } => None,
        }
    }
}

impl Item {
    fn sources(&self) -> [Source; 3] {
        match self {
            Item::Step(step) => step.sources(),
            Item::Reduce { value, .. } => [*value, Source::None, Source::None],
            _ => [Source::None; 3],
        }
    }
}

/// Completes a plan from its steps.
pub fn place(plan: &mut Plan, mut items: Vec<(usize, Item)>, mut uses: Vec<Use>) {
    drop_unread(plan, &mut items);
    find_uses(&items, &mut uses);
    let mut orders = orders(plan, &items, &uses);
    store_directly(plan, &mut items, &uses, &mut orders);
    plan.conflicts = conflicts(&orders);
    plan.stores = orders.iter().filter(|order| order.stores).map(|order| order.access).collect();
    let widest = plan.nodes.iter().map(|node| node.width).max().unwrap_or(1);
    plan.strip = if widest > 4 { STRIP / 2 } else { STRIP }.min(plan.count);
    for (node, used) in plan.nodes.iter_mut().zip(&uses) {
        node.whole = node.exported || used.defined.0 != used.last.0 || plan.strip == plan.count;
    }
    place_nodes(plan, &items);
    for (_, item) in items {
        match (item, plan.phases.last_mut()) {
            (Item::Step(step), Some(Phase::Strips(steps))) => steps.push(step),
            (item, _) => plan.phases.push(phase_of(item)),
        }
    }
}

/// Drops steps whose results nothing reads.
fn drop_unread(plan: &Plan, items: &mut Vec<(usize, Item)>) {
    let mut read: Vec<bool> = plan.nodes.iter().map(|node| node.exported).collect();
    let mut kept = Vec::new();
    for item in std::mem::take(items).into_iter().rev() {
        let out = match &item.1 {
            Item::Step(step) => step.out(),
            _ => None,
        };
        if out.is_some_and(|out| !read[out as usize]) {
            continue;
        }
        for source in item.1.sources() {
            if let Source::Node(node) = source {
                read[node as usize] = true;
            }
        }
        kept.push(item);
    }
    kept.reverse();
    *items = kept;
}

fn find_uses(items: &[(usize, Item)], uses: &mut [Use]) {
    for (index, (phase, item)) in items.iter().enumerate() {
        for source in item.sources() {
            if let Source::Node(node) = source {
                uses[node as usize].last = (*phase, index);
                uses[node as usize].reads += 1;
            }
        }
        if let Item::Step(step) = item
            && let Some(out) = step.out()
        {
            uses[out as usize] = Use { defined: (*phase, index), last: (*phase, index), reads: 0 };
        }
    }
}

/// The accesses in the order of the source.
fn orders(plan: &Plan, items: &[(usize, Item)], uses: &[Use]) -> Vec<Order> {
    let mut orders = Vec::new();
    for (index, (phase, item)) in items.iter().enumerate() {
        let at = (*phase, index);
        let (access, stores, last) = match *item {
            // What is exported is copied at once; else memory may be read where the elements are used.
            Item::Step(Step::Load { access, out, .. }) if plan.nodes[out as usize].exported => {
                (access, false, at)
            }
            Item::Step(Step::Load { access, out, .. }) => (access, false, uses[out as usize].last),
            Item::Step(Step::Store { access, .. }) | Item::StoreScalar { access, .. } => (access, true, at),
            Item::LoadScalar { access, .. } => (access, false, at),
            _ => continue,
        };
        orders.push(Order { access, stores, stated: at, first: at, last });
    }
    orders
}

/// Lets strip functions write to memory what is only computed to be stored.
fn store_directly(plan: &Plan, items: &mut Vec<(usize, Item)>, uses: &[Use], orders: &mut [Order]) {
    let mut removed = vec![false; items.len()];
    for index in 0..items.len() {
        let (phase, Item::Step(Step::Store { access, value: Source::Node(node) })) = &items[index] else {
            continue;
        };
        let (phase, access, used) = (*phase, *access, uses[*node as usize]);
        let node = plan.nodes[*node as usize];
        if node.exported || used.defined.0 != phase || used.reads > 1 {
            continue;
        }
        let Item::Step(Step::Apply { direct, .. }) = &mut items[used.defined.1].1 else { continue };
        *direct = Some(access);
        removed[index] = true;
        for order in orders.iter_mut().filter(|order| order.access == access) {
            (order.first, order.last) = (used.defined, used.defined);
        }
    }
    // Positions are only compared from here on, so that the gaps do not matter.
    let mut kept = removed.iter().map(|removed| !removed);
    items.retain(|_| kept.next().unwrap_or(true));
}

/// The pairs of accesses whose order in the plan is not that of the source.
fn conflicts(orders: &[Order]) -> Vec<Conflict> {
    let mut conflicts = Vec::new();
    for (index, before) in orders.iter().enumerate() {
        for after in &orders[index + 1..] {
            debug_assert!(before.stated <= after.stated);
            if !before.stores && !after.stores || before.last.0 < after.first.0 {
                continue;
            }
            // Within a phase, strips follow one another: only the same elements keep their order.
            let same = before.last.0 == after.first.0 && before.last.1 <= after.first.1;
            conflicts.push(Conflict { first: before.access, second: after.access, same });
        }
    }
    conflicts
}

/// Places that results have left: offset, width, and whether all elements fit.
struct Free(Vec<(usize, usize, bool)>);

impl Free {
    fn release(&mut self, plan: &Plan, node: u32) {
        let node = plan.nodes[node as usize];
        self.0.push((node.offset, node.width, node.whole));
    }

    /// The place that was left last, which is the likeliest to be in the cache, and to be an operand's.
    fn take(&mut self, width: usize, whole: bool) -> Option<usize> {
        let found = self.0.iter().rposition(|&(_, other, wholly)| (other, wholly) == (width, whole))?;
        Some(self.0.remove(found).0)
    }
}

/// Gives each result its place in the scratch memory, which several have one after another.
fn place_nodes(plan: &mut Plan, items: &[(usize, Item)]) {
    let mut ends: Vec<Vec<u32>> = vec![Vec::new(); items.len()];
    for (node, last) in last_items(plan.nodes.len(), items).into_iter().enumerate() {
        if let Some(last) = last.filter(|_| !plan.nodes[node].exported) {
            ends[last].push(node as u32);
        }
    }
    let mut free = Free(Vec::new());
    for (index, (_, item)) in items.iter().enumerate() {
        let out = match item {
            Item::Step(step) => step.out().filter(|&out| !plan.nodes[out as usize].exported),
            _ => None,
        };
        let in_place = matches!(item, Item::Step(Step::Apply { .. } | Step::Choose { .. }));
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for &node in &ends[index] {
            let Some(out) = out.filter(|&out| out != node && in_place) else {
                after.push(node);
                continue;
            };
            let matching = plan.nodes[node as usize].width == plan.nodes[out as usize].width;
            if matching { before.push(node) } else { after.push(node) }
        }
        before.iter().for_each(|&node| free.release(plan, node));
        if let Some(out) = out {
            let Node { width, whole, .. } = plan.nodes[out as usize];
            let offset = free.take(width, whole).unwrap_or_else(|| {
                let elements = if whole { plan.count } else { plan.strip };
                let offset = plan.scratch;
                plan.scratch += (elements * width).next_multiple_of(LINE);
                offset
            });
            plan.nodes[out as usize].offset = offset;
        }
        after.iter().for_each(|&node| free.release(plan, node));
    }
}

/// The item that each node is read by for the last time, or that makes it if none does.
fn last_items(nodes: usize, items: &[(usize, Item)]) -> Vec<Option<usize>> {
    let mut last = vec![None; nodes];
    for (index, (_, item)) in items.iter().enumerate() {
        if let Item::Step(step) = item
            && let Some(out) = step.out()
        {
            last[out as usize] = Some(index);
        }
        for source in item.sources() {
            if let Source::Node(node) = source {
                last[node as usize] = Some(index);
            }
        }
    }
    last
}
