//! Which parameters a kernel writes through.
//!
//! `tl.store(out_ptr + i, x)` writes through `out_ptr`, so a read-only array is refused in its place.

use tegula_ir::{Element, Function, Op, RegionId, Value};

/// One a parameter: whether a store or an atomic may reach memory through it.
///
/// Addresses are followed through everything that makes pointers of pointers; what is loaded from memory is not.
pub(crate) fn stored_through(function: &Function) -> Vec<bool> {
    let mut origins = Origins {
        function,
        of: vec![Vec::new(); function.value_count()],
        stored: vec![false; function.params.len()],
        changed: false,
    };
    for (index, param) in function.params.iter().enumerate() {
        if matches!(param.ty.element, Element::Pointer(_)) {
            origins.of[param.value.0 as usize].push(index as u32);
        }
    }
    // Carried values of loops reach the top of the loop only on the next round; a round adds a parameter to a
    // value or ends the search, so this is short.
    loop {
        origins.changed = false;
        origins.region(function.body);
        if !origins.changed {
            return origins.stored;
        }
    }
}

struct Origins<'f> {
    function: &'f Function,
    /// For each value, the parameters that its addresses may come from, sorted.
    of: Vec<Vec<u32>>,
    stored: Vec<bool>,
    changed: bool,
}

impl Origins<'_> {
    fn region(&mut self, region: RegionId) {
        let function = self.function;
        for &id in &function.region(region).ops {
            let data = function.op(id);
            for inner in data.op.regions() {
                self.enter(&data.op, inner);
                self.region(inner);
            }
            match &data.op {
                Op::Store { pointer, .. } | Op::AtomicRmw { pointer, .. } | Op::AtomicCas { pointer, .. } => {
                    for &param in &self.of[pointer.0 as usize] {
                        self.stored[param as usize] = true;
                    }
                }
                // What was stored in memory says nothing of where the address came from.
                Op::Load { .. } => {}
                Op::For { inits, body, .. } => {
                    self.flow(&function.region(*body).yields, &data.results);
                    self.flow(inits, &data.results);
                }
                Op::While { condition, .. } => {
                    let yields = &function.region(*condition).yields;
                    self.flow(&yields[1.min(yields.len())..], &data.results);
                }
                Op::If { then, otherwise, .. } => {
                    self.flow(&function.region(*then).yields, &data.results);
                    self.flow(&function.region(*otherwise).yields, &data.results);
                }
                op => {
                    let results = &data.results;
                    op.for_each_operand(|operand| {
                        results.iter().for_each(|&result| self.flow(&[operand], &[result]));
                    });
                }
            }
        }
    }

    /// What the arguments of an operation's region get from outside and from the region's last turn.
    fn enter(&mut self, op: &Op, region: RegionId) {
        let function = self.function;
        let args = &function.region(region).args;
        match op {
            Op::For { inits, body, .. } => {
                let carried = &args[1.min(args.len())..];
                self.flow(inits, carried);
                self.flow(&function.region(*body).yields, carried);
            }
            Op::While { inits, condition, body } if region == *condition => {
                self.flow(inits, args);
                self.flow(&function.region(*body).yields, args);
            }
            Op::While { condition, .. } => {
                let yields = &function.region(*condition).yields;
                self.flow(&yields[1.min(yields.len())..], args);
            }
            _ => {}
        }
    }

    /// Adds the origins of each source to the target at the same place, if it can hold an address.
    fn flow(&mut self, sources: &[Value], targets: &[Value]) {
        for (&source, &target) in sources.iter().zip(targets) {
            if !self.holds_address(target) {
                continue;
            }
            for index in 0..self.of[source.0 as usize].len() {
                let param = self.of[source.0 as usize][index];
                let known = &mut self.of[target.0 as usize];
                if let Err(place) = known.binary_search(&param) {
                    known.insert(place, param);
                    self.changed = true;
                }
            }
        }
    }

    /// Pointers, and the 64-bit integers that they may be cast to.
    fn holds_address(&self, value: Value) -> bool {
        match self.function.ty(value).element {
            Element::Pointer(_) => true,
            Element::Scalar(scalar) => scalar.is_int() && scalar.bits() == 64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::stored_through;
    use tegula_ir::{
        AtomicOp, AtomicOrdering, AtomicScope, Builder, CacheModifier, EvictionPolicy, Function,
        LoopAttributes, Op, Param, Pointer, Scalar, Type, Value,
    };

    fn store(builder: &mut Builder<'_>, pointer: Value, value: Value) {
        let (cache, eviction) = (CacheModifier::Default, EvictionPolicy::Normal);
        builder.effect(Op::Store { pointer, value, mask: None, cache, eviction });
    }

    fn load(builder: &mut Builder<'_>, pointer: Value) -> Value {
        let op = Op::Load {
            pointer,
            mask: None,
            other: None,
            cache: CacheModifier::Default,
            eviction: EvictionPolicy::Normal,
            volatile: false,
        };
        builder.value(op, Type::scalar(Scalar::Float32))
    }

    fn pointers(names: &[&str]) -> Function {
        let ty = Type::scalar(Pointer::to(Scalar::Float32));
        Function::new("kernel", names.iter().map(|name| Param::new(*name, ty.clone())).collect())
    }

    #[test]
    fn copies_write_through_the_destination_alone() {
        let mut function = pointers(&["source", "destination"]);
        let [source, destination] = [function.params[0].value, function.params[1].value];
        let mut builder = Builder::new(&mut function);
        let one = builder.int(Scalar::Int32, 1);
        let from = builder.add_pointer(source, one);
        let to = builder.add_pointer(destination, one);
        let value = load(&mut builder, from);
        store(&mut builder, to, value);
        builder.finish();
        assert_eq!(stored_through(&function), [false, true]);
    }

    #[test]
    fn addresses_are_followed_through_loops_and_choices() {
        let mut function = pointers(&["a", "b", "c", "d"]);
        let [a, b, c, d]: [Value; 4] = std::array::from_fn(|index| function.params[index].value);
        let pointer = function.ty(a).clone();
        let mut builder = Builder::new(&mut function);
        let [zero, one] = [0, 1].map(|value| builder.int(Scalar::Int32, value));
        let value = load(&mut builder, d);
        // p, q = a, b; for _ in range(...): *p = value; p, q = q, c
        let index = Type::scalar(Scalar::Int32);
        let body = builder.open_region([index, pointer.clone(), pointer.clone()]);
        let args = builder.args(body);
        store(&mut builder, args[1], value);
        builder.close_region([args[2], c]);
        let inits = [a, b].into_iter().collect();
        let attributes = LoopAttributes::default();
        let op = Op::For { lower: zero, upper: one, step: one, inits, body, attributes };
        builder.values(op, [pointer.clone(), pointer]);
        builder.finish();
        assert_eq!(stored_through(&function), [true, true, true, false]);
    }

    #[test]
    fn atomics_write() {
        let mut function = pointers(&["counter"]);
        let counter = function.params[0].value;
        let mut builder = Builder::new(&mut function);
        let value = builder.float(Scalar::Float32, 1.0);
        let op = Op::AtomicRmw {
            op: AtomicOp::Add,
            pointer: counter,
            value,
            mask: None,
            ordering: AtomicOrdering::Relaxed,
            scope: AtomicScope::Gpu,
        };
        builder.value(op, Type::scalar(Scalar::Float32));
        builder.finish();
        assert_eq!(stored_through(&function), [true]);
    }
}
