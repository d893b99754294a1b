//! Common subexpressions: what has been computed already, with the same operands and in sight, is not computed again.
//!
//! ```text
//! %0 = add %n, %m : i32                         %0 = add %n, %m : i32
//! if %c {                                =>     if %c {
//!   %1 = add %n, %m : i32                         store %p, %0
//!   store %p, %1                                }
//! }
//! ```
//!
//! A table of the pure operations in sight, looked up by what they do (hash-based value numbering, one scope a region).
//! Loads are not pure: memory may have changed. Two reductions are equal if their regions are, whatever the
//! identifiers inside.

use crate::replacement::Replacements;
use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use tegula_ir::{BinaryOp, Function, Op, OpId, Predicate, RegionId, Type, Value};

/// Replaces operations by equal ones that come before them. Returns whether anything changed.
pub fn eliminate_common_subexpressions(function: &mut Function) -> bool {
    let body = function.body;
    let mut cse = Cse {
        function,
        replaced: Replacements::default(),
        table: HashTable::new(),
        shapes: FxHashMap::default(),
        canonical: FxHashMap::default(),
        changed: false,
    };
    cse.region(body);
    cse.changed
}

struct Cse<'f> {
    function: &'f mut Function,
    replaced: Replacements,
    /// The pure operations in sight.
    table: HashTable<OpId>,
    /// The first region with each structure.
    shapes: FxHashMap<Vec<Token>, RegionId>,
    /// For each region of a pure operation, the first that is equal.
    canonical: FxHashMap<RegionId, RegionId>,
    changed: bool,
}

/// A piece of a region's structure, with the values that it defines numbered in order.
#[derive(PartialEq, Eq, Hash)]
enum Token {
    Open(Vec<Type>),
    Op(Op, Vec<Type>),
    Close(Vec<Value>),
}

impl Cse<'_> {
    fn region(&mut self, region: RegionId) {
        let ops = std::mem::take(&mut self.function.region_mut(region).ops);
        let mut kept = Vec::with_capacity(ops.len());
        let mut entered: Vec<(u64, OpId)> = Vec::new();
        for id in ops {
            self.rename(id);
            for region in self.function.op(id).op.regions() {
                self.region(region);
            }
            let data = self.function.op(id);
            if !data.op.is_pure() || data.results.is_empty() {
                kept.push(id);
                continue;
            }
            if let Some(region) = data.op.regions().first().copied() {
                self.find_canonical(region);
            }
            let hash = self.hash(id);
            match self.table.find(hash, |&other| self.equal(id, other)) {
                Some(&other) => {
                    self.changed = true;
                    let news = self.function.op(other).results.clone();
                    for (&old, new) in self.function.op(id).results.iter().zip(news) {
                        self.replaced.replace(old, new);
                    }
                }
                None => {
                    let function = &*self.function;
                    let canonical = &self.canonical;
                    self.table.insert_unique(hash, id, |&id| hash_of(function, canonical, id));
                    entered.push((hash, id));
                    kept.push(id);
                }
            }
        }
        let replaced = &self.replaced;
        let data = self.function.region_mut(region);
        data.ops = kept;
        for value in &mut data.yields {
            *value = replaced.resolve(*value);
        }
        // What this region computed is out of sight after it.
        for (hash, id) in entered {
            if let Ok(entry) = self.table.find_entry(hash, |&other| other == id) {
                entry.remove();
            }
        }
    }

    /// Puts in the operands what stands for them.
    fn rename(&mut self, id: OpId) {
        let replaced = &self.replaced;
        self.function.op_mut(id).op.for_each_operand_mut(|value| *value = replaced.resolve(*value));
    }

    fn hash(&self, id: OpId) -> u64 {
        hash_of(self.function, &self.canonical, id)
    }

    fn equal(&self, a: OpId, b: OpId) -> bool {
        let (a, b) = (self.function.op(a), self.function.op(b));
        let same_type = |(&a, &b): (&Value, &Value)| self.function.ty(a) == self.function.ty(b);
        spelling(&a.op, &self.canonical) == spelling(&b.op, &self.canonical)
            && a.results.len() == b.results.len()
            && a.results.iter().zip(&b.results).all(same_type)
    }

    /// Finds the first region with the structure of this one.
    fn find_canonical(&mut self, region: RegionId) {
        let mut tokens = Vec::new();
        let mut numbers = FxHashMap::default();
        structure(self.function, region, &mut numbers, &mut tokens);
        let first = *self.shapes.entry(tokens).or_insert(region);
        self.canonical.insert(region, first);
    }
}

fn hash_of(function: &Function, canonical: &FxHashMap<RegionId, RegionId>, id: OpId) -> u64 {
    let mut hasher = FxHasher::default();
    let data = function.op(id);
    spelling(&data.op, canonical).hash(&mut hasher);
    for &result in &data.results {
        function.ty(result).hash(&mut hasher);
    }
    hasher.finish()
}

/// An operation as it is compared: `b + a` as `a + b`, `b > a` as `a < b`, its region as the first equal one.
fn spelling<'o>(op: &'o Op, canonical: &FxHashMap<RegionId, RegionId>) -> std::borrow::Cow<'o, Op> {
    use std::borrow::Cow;
    let mut op = Cow::Borrowed(op);
    match *op {
        // The order of operands of a float `min` may choose the sign of a zero, so it is kept.
        Op::Binary {
            op:
                name @ (BinaryOp::Add
                | BinaryOp::Mul
                | BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::MulHigh),
            lhs,
            rhs,
        } if rhs < lhs => op = Cow::Owned(Op::Binary { op: name, lhs: rhs, rhs: lhs }),
        Op::Compare { predicate, lhs, rhs } if rhs < lhs => {
            let predicate = match predicate {
                Predicate::Eq | Predicate::Ne => predicate,
                Predicate::Lt => Predicate::Gt,
                Predicate::Le => Predicate::Ge,
                Predicate::Gt => Predicate::Lt,
                Predicate::Ge => Predicate::Le,
            };
            op = Cow::Owned(Op::Compare { predicate, lhs: rhs, rhs: lhs });
        }
        Op::Reduce { combine, .. } | Op::Scan { combine, .. } => {
            let first = canonical.get(&combine).copied().unwrap_or(combine);
            if first != combine
                && let Op::Reduce { combine, .. } | Op::Scan { combine, .. } = op.to_mut()
            {
                *combine = first;
            }
        }
        _ => {}
    }
    op
}

/// Appends the structure of a region: values defined inside count down from the largest identifier, so that they
/// are told from those outside.
fn structure(
    function: &Function,
    region: RegionId,
    numbers: &mut FxHashMap<Value, Value>,
    tokens: &mut Vec<Token>,
) {
    fn define(values: &[Value], function: &Function, numbers: &mut FxHashMap<Value, Value>) -> Vec<Type> {
        for &value in values {
            let number = Value(u32::MAX - numbers.len() as u32);
            numbers.insert(value, number);
        }
        values.iter().map(|&value| function.ty(value).clone()).collect()
    }
    let data = function.region(region);
    tokens.push(Token::Open(define(&data.args, function, numbers)));
    for &id in &data.ops {
        let op = function.op(id);
        for region in op.op.regions() {
            structure(function, region, numbers, tokens);
        }
        let mut copy = op.op.clone();
        copy.for_each_operand_mut(|value| *value = numbers.get(value).copied().unwrap_or(*value));
        // Which regions are meant is said by the tokens before.
        copy.for_each_region_mut(|region| *region = RegionId(0));
        let types = define(&op.results, function, numbers);
        tokens.push(Token::Op(copy, types));
    }
    let yields = data.yields.iter().map(|value| numbers.get(value).copied().unwrap_or(*value));
    tokens.push(Token::Close(yields.collect()));
}
