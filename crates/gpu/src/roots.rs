//! Roots of pointers: through which parameters an address was made.

use rustc_hash::FxHashMap;
use tegula_ir::{Function, Op, OpId, RegionId, Value, ValueDef};

/// Where each pointer of a function may lead.
pub(crate) struct Roots<'a> {
    function: &'a Function,
    known: FxHashMap<Value, Root>,
}

/// Where a pointer may lead: to what parameters point to, or anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Root {
    parameters: Vec<u32>,
    anywhere: bool,
}

impl Root {
    fn meets(&self, other: &Root) -> bool {
        self.anywhere
            || other.anywhere
            || self.parameters.iter().any(|parameter| other.parameters.contains(parameter))
    }
}

impl Roots<'_> {
    pub fn new(function: &Function) -> Roots<'_> {
        Roots { function, known: FxHashMap::default() }
    }

    /// Whether two pointers may lead to the same places.
    pub fn may_meet(&mut self, a: Value, b: Value) -> bool {
        let root = self.of(a);
        root.meets(&self.of(b))
    }

    fn of(&mut self, pointer: Value) -> Root {
        if let Some(root) = self.known.get(&pointer) {
            return root.clone();
        }
        // A carried pointer is found while its own root is asked for.
        self.known.insert(pointer, Root::default());
        let roots = self.find(pointer);
        self.known.insert(pointer, roots.clone());
        roots
    }

    fn union(&mut self, values: &[Value]) -> Root {
        let mut union = Root::default();
        for &value in values {
            let roots = self.of(value);
            union.anywhere |= roots.anywhere;
            union.parameters.extend(roots.parameters);
        }
        union.parameters.sort_unstable();
        union.parameters.dedup();
        union
    }

    fn find(&mut self, pointer: Value) -> Root {
        let function = self.function;
        let anywhere = Root { parameters: Vec::new(), anywhere: true };
        match function.value(pointer).def {
            ValueDef::Param(index) => Root { parameters: vec![index], anywhere: false },
            ValueDef::RegionArg { region, index } => {
                self.sources_of_argument(region, index as usize).unwrap_or(anywhere)
            }
            ValueDef::Result { op, index } => {
                let data = function.op(op);
                match &data.op {
                    Op::AddPointer { pointer, .. } => self.of(*pointer),
                    Op::Splat { value }
                    | Op::Broadcast { value }
                    | Op::ExpandDims { value, .. }
                    | Op::Reshape { value }
                    | Op::Transpose { value, .. }
                    | Op::Split { value }
                    | Op::Slice { value, .. }
                    | Op::Index { value, .. }
                    | Op::Annotate { value, .. } => self.of(*value),
                    Op::Select { on_true, on_false, .. } => self.union(&[*on_true, *on_false]),
                    Op::Join { lhs, rhs } | Op::Concatenate { lhs, rhs, .. } => self.union(&[*lhs, *rhs]),
                    Op::If { then, otherwise, .. } => {
                        let yields = [*then, *otherwise].map(|id| function.region(id).yields[index as usize]);
                        self.union(&yields)
                    }
                    Op::For { inits, body, .. } => {
                        let next = function.region(*body).yields[index as usize];
                        self.union(&[inits[index as usize], next])
                    }
                    Op::While { condition, .. } => {
                        self.of(function.region(*condition).yields[index as usize + 1])
                    }
                    _ => anywhere,
                }
            }
        }
    }

    /// What a loop's argument starts from and is followed by.
    fn sources_of_argument(&mut self, region: RegionId, index: usize) -> Option<Root> {
        let function = self.function;
        for op in (0..function.op_count() as u32).map(OpId) {
            match &function.op(op).op {
                Op::For { inits, body, .. } if *body == region => {
                    let place = index.checked_sub(1)?;
                    return Some(self.union(&[inits[place], function.region(region).yields[place]]));
                }
                Op::While { inits, condition, body } if *condition == region => {
                    return Some(self.union(&[inits[index], function.region(*body).yields[index]]));
                }
                Op::While { condition, body, .. } if *body == region => {
                    return Some(self.of(function.region(*condition).yields[index + 1]));
                }
                _ => {}
            }
        }
        None
    }
}
