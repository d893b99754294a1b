//! Which parameters a kernel reads from and writes to.
//!
//! A launch needs this before it starts: an array that is written must be a writable one. The analysis follows
//! pointers from the parameters through address arithmetic, choices and loops to the accesses:
//!
//! ```text
//! %2 = add_pointer %out_ptr, %1      ; derived from out_ptr
//! store %2, %3                       ; so out_ptr is written
//! ```

use std::collections::BTreeSet;
use tegula_ir::{Element, Function, Op, RegionId, Value};

/// Which parameters a kernel may access, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterAccess {
    /// One entry a parameter: whether memory that it points to may be read.
    pub reads: Vec<bool>,
    /// One entry a parameter: whether memory that it points to may be written.
    pub writes: Vec<bool>,
    /// Whether a pointer may be read through that came from memory or from an integer.
    pub reads_elsewhere: bool,
    /// Whether a pointer may be written through that came from memory or from an integer.
    pub writes_elsewhere: bool,
}

/// What a pointer may be derived from; the largest index stands for places that are no parameter.
type Roots = BTreeSet<u32>;

const ELSEWHERE: u32 = u32::MAX;

/// Finds what a kernel accesses through each of its parameters.
///
/// The answer errs on the side of access: code that never runs counts, and so does every pointer that a choice may yield.
pub fn parameter_access(function: &Function) -> ParameterAccess {
    let mut analysis =
        Analysis { function, roots: vec![Roots::new(); function.value_count()], changed: true };
    for (index, param) in function.params.iter().enumerate() {
        if matches!(param.ty.element, Element::Pointer(_)) {
            analysis.roots[param.value.0 as usize].insert(index as u32);
        }
    }
    while std::mem::take(&mut analysis.changed) {
        analysis.region(function.body);
    }
    let mut access = ParameterAccess {
        reads: vec![false; function.params.len()],
        writes: vec![false; function.params.len()],
        reads_elsewhere: false,
        writes_elsewhere: false,
    };
    analysis.accesses(function.body, &mut access);
    access
}

struct Analysis<'f> {
    function: &'f Function,
    roots: Vec<Roots>,
    changed: bool,
}

impl Analysis<'_> {
    /// Adds the roots of `from` to those of `to`.
    fn flow(&mut self, from: Value, to: Value) {
        let roots = self.roots[from.0 as usize].clone();
        self.add(to, roots);
    }

    fn add(&mut self, to: Value, roots: Roots) {
        let known = &mut self.roots[to.0 as usize];
        let before = known.len();
        known.extend(roots);
        self.changed |= known.len() != before;
    }

    fn flow_all(&mut self, from: &[Value], to: &[Value]) {
        for (&from, &to) in from.iter().zip(to) {
            self.flow(from, to);
        }
    }

    fn region(&mut self, region: RegionId) {
        for &id in &self.function.region(region).ops {
            let data = self.function.op(id);
            self.op(&data.op, &data.results);
        }
    }

    fn op(&mut self, op: &Op, results: &[Value]) {
        let function = self.function;
        for region in op.regions() {
            self.region(region);
        }
        match op {
            Op::AddPointer { pointer, .. } => self.flow(*pointer, results[0]),
            Op::Bitcast { value } => {
                self.flow(*value, results[0]);
                let is_pointer = matches!(function.ty(results[0]).element, Element::Pointer(_));
                if is_pointer && self.roots[value.0 as usize].is_empty() {
                    self.add(results[0], Roots::from([ELSEWHERE]));
                }
            }
            Op::Load { .. } | Op::AtomicRmw { .. } | Op::AtomicCas { .. } => {
                if matches!(function.ty(results[0]).element, Element::Pointer(_)) {
                    self.add(results[0], Roots::from([ELSEWHERE]));
                }
            }
            Op::For { inits, body, .. } => {
                let body = function.region(*body);
                for from in [inits.as_slice(), &body.yields] {
                    self.flow_all(from, &body.args[1..]);
                    self.flow_all(from, results);
                }
            }
            Op::While { inits, condition, body } => {
                let (condition, body) = (function.region(*condition), function.region(*body));
                self.flow_all(inits, &condition.args);
                self.flow_all(&body.yields, &condition.args);
                if let Some((_, passed)) = condition.yields.split_first() {
                    self.flow_all(passed, &body.args);
                    self.flow_all(passed, results);
                }
            }
            Op::If { then, otherwise, .. } => {
                for region in [*then, *otherwise] {
                    self.flow_all(&function.region(region).yields, results);
                }
            }
            Op::MapElementwise { values, body } => {
                let body = function.region(*body);
                self.flow_all(values, &body.args);
                self.flow_all(&body.yields, results);
            }
            Op::Reduce { values, combine, .. } | Op::Scan { values, combine, .. } => {
                let args = &function.region(*combine).args;
                self.flow_all(values, args);
                self.flow_all(values, &args[values.len().min(args.len())..]);
                self.flow_all(values, results);
            }
            other => other.for_each_operand(|operand| {
                for &result in results {
                    self.flow(operand, result);
                }
            }),
        }
    }

    /// Notes the accesses of a region, once the roots are known.
    fn accesses(&self, region: RegionId, access: &mut ParameterAccess) {
        for &id in &self.function.region(region).ops {
            let op = &self.function.op(id).op;
            let (pointer, reads, writes) = match op {
                Op::Load { pointer, .. } => (pointer, true, false),
                Op::Store { pointer, .. } => (pointer, false, true),
                Op::AtomicRmw { pointer, .. } | Op::AtomicCas { pointer, .. } => (pointer, true, true),
                _ => {
                    for inner in op.regions() {
                        self.accesses(inner, access);
                    }
                    continue;
                }
            };
            for &root in &self.roots[pointer.0 as usize] {
                match access.reads.get_mut(root as usize) {
                    Some(read) => {
                        *read |= reads;
                        access.writes[root as usize] |= writes;
                    }
                    None => {
                        access.reads_elsewhere |= reads;
                        access.writes_elsewhere |= writes;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tegula_ir::{Builder, LoopAttributes, Param, Pointer, Scalar, Type};

    fn pointers(count: usize) -> Vec<Param> {
        let ty = Type::scalar(Pointer::to(Scalar::Float32));
        (0..count).map(|index| Param::new(format!("p{index}"), ty.clone())).collect()
    }

    fn load(pointer: Value) -> Op {
        Op::Load {
            pointer,
            mask: None,
            other: None,
            cache: Default::default(),
            eviction: Default::default(),
            volatile: false,
        }
    }

    fn store(pointer: Value, value: Value) -> Op {
        Op::Store { pointer, value, mask: None, cache: Default::default(), eviction: Default::default() }
    }

    #[test]
    fn a_copy_reads_one_and_writes_the_other() {
        let mut function = Function::new("copy", pointers(3));
        let [from, to] = [function.params[0].value, function.params[1].value];
        let mut builder = Builder::new(&mut function);
        let one = builder.int(Scalar::Int32, 1);
        let (from, to) = (builder.add_pointer(from, one), builder.add_pointer(to, one));
        let value = builder.value(load(from), Type::scalar(Scalar::Float32));
        builder.effect(store(to, value));
        builder.finish();
        let access = parameter_access(&function);
        assert_eq!(access.reads, [true, false, false]);
        assert_eq!(access.writes, [false, true, false]);
        assert!(!access.reads_elsewhere && !access.writes_elsewhere);
    }

    /// The pointers change places in every step, so that each is written through the other's name.
    #[test]
    fn pointers_are_followed_around_a_loop() {
        let mut function = Function::new("swap", pointers(3));
        let [a, b] = [function.params[0].value, function.params[1].value];
        let ty = function.ty(a).clone();
        let mut builder = Builder::new(&mut function);
        let bound = builder.int(Scalar::Int32, 4);
        let zero = builder.float(Scalar::Float32, 0.0);
        let body = builder.open_region([Type::scalar(Scalar::Int32), ty.clone(), ty.clone()]);
        let args = builder.args(body);
        builder.effect(store(args[1], zero));
        builder.close_region([args[2], args[1]]);
        builder.values(
            Op::For {
                lower: bound,
                upper: bound,
                step: bound,
                inits: [a, b].into_iter().collect(),
                body,
                attributes: LoopAttributes::default(),
            },
            [ty.clone(), ty],
        );
        builder.finish();
        assert_eq!(parameter_access(&function).writes, [true, true, false]);
    }

    #[test]
    fn pointers_made_from_integers_lead_elsewhere() {
        let mut function = Function::new("raw", vec![Param::new("address", Type::scalar(Scalar::Int64))]);
        let address = function.params[0].value;
        let mut builder = Builder::new(&mut function);
        let pointer = builder.bitcast(address, Pointer::to(Scalar::Float32));
        let zero = builder.float(Scalar::Float32, 0.0);
        builder.effect(store(pointer, zero));
        builder.finish();
        let access = parameter_access(&function);
        assert!(access.writes_elsewhere && !access.reads_elsewhere);
    }
}
