//! Random well-formed functions, for property tests of whatever reads or rewrites functions.
//!
//! A list of numbers decides everything, so that a property-testing library shrinks a failure by shrinking the
//! list: numbers that are missing count as 0, and the function ends when they run out. Every operation but
//! `assembly`, which no reference evaluates, can occur; loops end after a few iterations, blocks have few elements, and
//! an element is never taken from beyond a block.

use crate::builder::Builder;
use crate::function::{Function, Param, RegionId, Value};
use crate::op::{
    AtomicOp, AtomicOrdering, AtomicScope, BinaryOp, CacheModifier, DotPrecision, EvictionPolicy, Hint,
    Literal, LoopAttributes, Op, Predicate, Rounding, UnaryOp,
};
use crate::types::{Element, Pointer, Scalar, Shape, Type};
use smallvec::SmallVec;

/// Regions nest at most this deep.
const MAX_DEPTH: usize = 3;

/// Blocks have at most this many elements.
const MAX_ELEMENTS: usize = 48;

/// The function that a list of choices describes.
pub fn function(choices: &[u32]) -> Function {
    let scalars =
        [Scalar::Int32, Scalar::Int64, Scalar::Float32, Scalar::Int1, Scalar::UInt8, Scalar::Float16];
    let pointees = [Scalar::Float32, Scalar::Int32, Scalar::BFloat16];
    let types = scalars
        .map(Type::scalar)
        .into_iter()
        .chain(pointees.map(|pointee| Type::scalar(Pointer::to(pointee))))
        .chain([Type::scalar(Pointer { pointee: Scalar::Int8, depth: 2, constant: true })]);
    let params = types.enumerate().map(|(index, ty)| Param::new(format!("p{index}"), ty)).collect();
    let mut function = Function::new("arbitrary", params);
    let scope = function.params.iter().map(|param| param.value).collect();
    let mut generator = Generator {
        choices: choices.iter(),
        builder: Builder::new(&mut function),
        scope,
        isolated: 0,
        depth: 0,
    };
    while generator.choices.len() > 0 {
        generator.statement();
    }
    generator.builder.finish();
    for (index, param) in function.params.iter_mut().enumerate() {
        param.divisible_by = 1 << (choices.get(index).copied().unwrap_or(0) % 6);
    }
    function
}

struct Generator<'c, 'f> {
    choices: std::slice::Iter<'c, u32>,
    builder: Builder<'f>,
    /// The values in sight, outermost first.
    scope: Vec<Value>,
    /// Of the values before this one in `scope`, only scalars may be used.
    isolated: usize,
    depth: usize,
}

impl Generator<'_, '_> {
    /// The next choice among `count`.
    fn pick(&mut self, count: usize) -> usize {
        self.choices.next().map_or(0, |&choice| choice as usize % count)
    }

    fn one_of<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.pick(options.len())]
    }

    /// Any scalar type; mostly one of a few, so that values of one type meet.
    fn any_scalar(&mut self) -> Scalar {
        let usual = [Scalar::Int32, Scalar::Float32, Scalar::Int1, Scalar::Int8];
        let all = self.pick(3) == 0;
        self.one_of(if all { &Scalar::ALL[..] } else { &usual })
    }

    fn flag(&mut self) -> bool {
        self.pick(2) == 1
    }

    /// Whether this is a region whose values are all scalars.
    fn elementwise(&self) -> bool {
        self.isolated > 0
    }

    /// A value in sight with a property.
    fn find(&mut self, wanted: impl Fn(&Type) -> bool) -> Option<Value> {
        let visible = self.scope.iter().enumerate().filter(|&(index, &value)| {
            let ty = self.builder.ty(value);
            (index >= self.isolated || ty.is_scalar()) && wanted(ty)
        });
        let found: Vec<Value> = visible.map(|(_, &value)| value).collect();
        // Half of the time one of the latest, so that operations feed each other.
        let latest = if self.flag() { found.len().saturating_sub(4) } else { 0 };
        if found.is_empty() { None } else { Some(self.one_of(&found[latest..])) }
    }

    /// A value of the given type: one in sight, or a new one.
    fn of(&mut self, ty: &Type) -> Value {
        if self.pick(3) != 0
            && let Some(value) = self.find(|other| other == ty)
        {
            return value;
        }
        if !ty.is_scalar() {
            let value = self.of(&Type::scalar(ty.element));
            return self.add(Op::Splat { value }, ty.clone());
        }
        match ty.element {
            Element::Scalar(scalar) => self.constant(scalar),
            Element::Pointer(_) => self.find(|other| other == ty).unwrap_or_else(|| {
                let address = self.constant(Scalar::UInt64);
                self.add(Op::Bitcast { value: address }, ty.clone())
            }),
        }
    }

    fn add(&mut self, op: Op, ty: Type) -> Value {
        let value = self.builder.value(op, ty);
        self.scope.push(value);
        value
    }

    fn constant(&mut self, scalar: Scalar) -> Value {
        let literal = if scalar.is_int() {
            let value = self.one_of(&[0, 1, 2, 3, -1, 7, 16, 96, i64::MIN, i64::MAX, i64::from(i32::MIN)]);
            Literal::Int(scalar.wrap(value))
        } else {
            let numbers = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 0.1, 1e-40, 1e38, f64::NAN, f64::INFINITY];
            let number = scalar.round(self.one_of(&numbers), Rounding::NearestEven);
            Literal::Float(if scalar.holds(Literal::Float(number)) { number } else { 1.0 })
        };
        self.add(Op::Constant(literal), Type::scalar(scalar))
    }

    /// A value of some numeric type.
    fn number(&mut self, wanted: impl Fn(Scalar) -> bool) -> Value {
        let found = self.find(|ty| ty.element.as_scalar().is_some_and(&wanted));
        found.unwrap_or_else(|| {
            let scalars: Vec<Scalar> = Scalar::ALL.into_iter().filter(|&scalar| wanted(scalar)).collect();
            let scalar = self.one_of(&scalars);
            self.constant(scalar)
        })
    }

    fn shape(&mut self, rank: usize) -> Shape {
        (0..rank).map(|_| self.pick(4) as u32 + 1).collect()
    }

    /// A block of some numeric type with at least `rank` dimensions.
    fn block(&mut self, rank: usize) -> Value {
        let found = self.find(|ty| ty.shape.rank() >= rank && ty.element.as_scalar().is_some());
        found.unwrap_or_else(|| {
            let scalar = self.any_scalar();
            let ty = Type { element: Element::Scalar(scalar), shape: self.shape(rank) };
            self.of(&ty)
        })
    }

    fn ty(&self, value: Value) -> Type {
        self.builder.ty(value).clone()
    }

    fn mask(&mut self, ty: &Type) -> Option<Value> {
        self.flag().then(|| self.of(&ty.with_element(Scalar::Int1)))
    }

    /// A pointer, or a block of them, and the type of what lies there.
    fn pointer(&mut self, writable: bool) -> (Value, Type) {
        let pointers = |ty: &Type| match ty.element {
            Element::Pointer(pointer) => !writable || (!pointer.constant && pointer.depth == 1),
            Element::Scalar(_) => false,
        };
        let pointer =
            self.find(pointers).unwrap_or_else(|| self.of(&Type::scalar(Pointer::to(Scalar::Int32))));
        let ty = self.ty(pointer);
        let Element::Pointer(to) = ty.element else { unreachable!("found by this property") };
        (pointer, ty.with_element(to.target()))
    }

    fn statement(&mut self) {
        match self.pick(16) {
            0 => self.leaf(),
            1..=5 => self.arithmetic(),
            6 => self.conversion(),
            7..=9 if !self.elementwise() => self.rearrangement(),
            10 | 11 if !self.elementwise() => self.memory(),
            12 if !self.elementwise() => self.effect(),
            13 if !self.elementwise() => self.combination(),
            14 | 15 if self.depth < MAX_DEPTH => self.control_flow(),
            _ => self.arithmetic(),
        }
    }

    fn leaf(&mut self) {
        match self.pick(if self.elementwise() { 3 } else { 5 }) {
            0 => {
                let scalar = self.any_scalar();
                self.constant(scalar);
            }
            1 => {
                let axis = self.pick(3) as u8;
                self.add(Op::ProgramId { axis }, Type::scalar(Scalar::Int32));
            }
            2 => {
                let axis = self.pick(3) as u8;
                self.add(Op::NumPrograms { axis }, Type::scalar(Scalar::Int32));
            }
            3 => {
                let start = self.pick(9) as i32 - 2;
                let extent = self.pick(8) as u32 + 1;
                let op = Op::Arange { start, end: start + extent as i32 };
                self.add(op, Type::block(Scalar::Int32, &[extent][..]));
            }
            _ => {
                let scalar = self.number(|_| true);
                let value = self.of(&Type::scalar(self.ty(scalar).element));
                let rank = self.pick(3) + 1;
                let ty = self.ty(value).with_shape(self.shape(rank));
                self.add(Op::Splat { value }, ty);
            }
        }
    }

    fn arithmetic(&mut self) {
        match self.pick(8) {
            0 | 1 => {
                let op = self.one_of(UnaryOp::ALL);
                let value = match op {
                    UnaryOp::Abs => self.number(|_| true),
                    UnaryOp::Not | UnaryOp::Popcount | UnaryOp::LeadingZeros | UnaryOp::ReverseBits => {
                        self.number(Scalar::is_int)
                    }
                    _ => self.number(Scalar::is_float),
                };
                let ty = self.ty(value);
                self.add(Op::Unary { op, value }, ty);
            }
            2 => {
                let lhs = self.number(|_| true);
                let rhs = self.of(&self.ty(lhs));
                let predicate = self.one_of(Predicate::ALL);
                let ty = self.ty(lhs).with_element(Scalar::Int1);
                self.add(Op::Compare { predicate, lhs, rhs }, ty);
            }
            3 => {
                let Some(on_true) = self.find(|_| true) else { return self.leaf() };
                let ty = self.ty(on_true);
                let on_false = self.of(&ty);
                let condition = self.of(&ty.with_element(Scalar::Int1));
                self.add(Op::Select { condition, on_true, on_false }, ty);
            }
            4 => {
                let a = self.number(Scalar::is_float);
                let ty = self.ty(a);
                let (b, c) = (self.of(&ty), self.of(&ty));
                self.add(Op::Fma { a, b, c }, ty);
            }
            _ => {
                let op = self.one_of(BinaryOp::ALL);
                use BinaryOp::*;
                let lhs = match op {
                    And | Or | Xor | Shl | Shr | MulHigh => self.number(Scalar::is_int),
                    DivRn | Pow | Atan2 | Hypot | CopySign | NextAfter | Remainder => {
                        self.number(Scalar::is_float)
                    }
                    _ => self.number(|_| true),
                };
                let ty = self.ty(lhs);
                let rhs = self.of(&ty);
                let (lhs, rhs) = if self.flag() { (lhs, rhs) } else { (rhs, lhs) };
                self.add(Op::Binary { op, lhs, rhs }, ty);
            }
        }
    }

    fn conversion(&mut self) {
        let value = self.number(|_| true);
        let ty = self.ty(value);
        if self.pick(3) != 0 {
            let rounding = self.one_of(Rounding::ALL);
            let to = self.any_scalar();
            self.add(Op::Cast { value, rounding }, ty.with_element(to));
            return;
        }
        // Never from a float: the bits of NaN are nothing to rely on.
        let value = self.number(Scalar::is_int);
        let ty = self.ty(value);
        let bits = ty.element.as_scalar().map_or(0, Scalar::bits);
        let fits = |scalar: &Scalar| scalar.bits() == bits && !scalar.is_float8();
        let targets: Vec<Scalar> = Scalar::ALL.into_iter().filter(fits).collect();
        let to = self.one_of(&targets);
        self.add(Op::Bitcast { value }, ty.with_element(to));
    }

    fn rearrangement(&mut self) {
        let value = self.block(1);
        let ty = self.ty(value);
        let rank = ty.shape.rank();
        let axis = self.pick(rank);
        match self.pick(12) {
            0 => {
                let extents = ty.shape.iter().map(|&e| if e == 1 { self.pick(3) as u32 + 1 } else { e });
                let shape: Shape = extents.collect();
                if shape.elements() <= MAX_ELEMENTS {
                    self.add(Op::Broadcast { value }, ty.with_shape(shape));
                }
            }
            1 | 2 if rank < 4 => {
                let axis = self.pick(rank + 1);
                let shape = ty.shape.with_inserted(axis, 1);
                self.add(Op::ExpandDims { value, axis: axis as u8 }, ty.with_shape(shape));
            }
            3 => {
                let elements = ty.shape.elements() as u32;
                let mut divisors: Vec<u32> = (1..=elements).filter(|d| elements.is_multiple_of(*d)).collect();
                divisors.reverse();
                let first = self.one_of(&divisors);
                let shape: Shape = [first, elements / first].into_iter().collect();
                self.add(Op::Reshape { value }, ty.with_shape(shape));
            }
            4 => {
                let mut permutation: SmallVec<[u8; 4]> = (0..rank as u8).collect();
                permutation.rotate_left(axis);
                let shape: Shape = permutation.iter().map(|&axis| ty.shape[usize::from(axis)]).collect();
                self.add(Op::Transpose { value, permutation }, ty.with_shape(shape));
            }
            5 if rank < 4 && 2 * ty.shape.elements() <= MAX_ELEMENTS => {
                let rhs = self.of(&ty);
                let shape = ty.shape.with_inserted(rank, 2);
                let joined = self.add(Op::Join { lhs: value, rhs }, ty.with_shape(shape));
                if self.flag() {
                    let halves = self.builder.values(Op::Split { value: joined }, [ty.clone(), ty]);
                    self.scope.extend(halves);
                }
            }
            6 if 2 * ty.shape.elements() <= MAX_ELEMENTS => {
                let rhs = self.of(&ty);
                let shape = ty.shape.with_extent(axis, 2 * ty.shape[axis]);
                self.add(Op::Concatenate { lhs: value, rhs, axis: axis as u8 }, ty.with_shape(shape));
            }
            7 => {
                let starts: SmallVec<[u32; 4]> =
                    ty.shape.iter().map(|&e| self.pick(e as usize) as u32).collect();
                let shape: Shape = (0..rank).map(|d| ty.shape[d] - starts[d]).collect();
                self.add(Op::Slice { value, starts }, ty.with_shape(shape));
            }
            8 => {
                let index = self.pick(ty.shape[axis] as usize) as i64;
                let index = self.add(Op::Constant(Literal::Int(index)), Type::scalar(Scalar::Int32));
                let shape = ty.shape.with_removed(axis);
                self.add(Op::Index { value, axis: axis as u8, index }, ty.with_shape(shape));
            }
            9 => {
                // The remainder keeps the indices within the block.
                let extent = i64::from(ty.shape[axis]);
                let index_ty = ty.with_element(Scalar::UInt32);
                let lhs = self.of(&index_ty);
                let scalar = self.add(Op::Constant(Literal::Int(extent)), Type::scalar(Scalar::UInt32));
                let rhs = self.add(Op::Splat { value: scalar }, index_ty.clone());
                let indices = self.add(Op::Binary { op: BinaryOp::Rem, lhs, rhs }, index_ty);
                self.add(Op::Gather { source: value, indices, axis: axis as u8 }, ty);
            }
            10 => {
                let value = self.number(Scalar::is_int);
                let mask = self.mask(&self.ty(value));
                let bins = self.pick(5) as u32 + 1;
                self.add(Op::Histogram { value, mask }, Type::block(Scalar::Int32, &[bins][..]));
            }
            _ => {
                let value = self.find(|ty| ty.element.as_scalar().is_none_or(Scalar::is_int));
                let Some(value) = value else { return };
                // Runs of one element and multiples of one are promises that hold.
                let ones = SmallVec::from_elem(1, self.ty(value).shape.rank().max(1));
                let hint = self.one_of(&[Hint::MultipleOf, Hint::MaxContiguous, Hint::MaxConstancy])(ones);
                let ty = self.ty(value);
                self.add(Op::Annotate { value, hint }, ty);
            }
        }
    }

    fn memory(&mut self) {
        let cache = self.one_of(CacheModifier::ALL);
        let eviction = self.one_of(EvictionPolicy::ALL);
        let ordering = self.one_of(AtomicOrdering::ALL);
        let scope = self.one_of(AtomicScope::ALL);
        match self.pick(6) {
            0 | 1 => {
                let (pointer, _) = self.pointer(false);
                let ty = self.ty(pointer);
                let scalar = self.one_of(&[Scalar::Int32, Scalar::UInt8, Scalar::Int64, Scalar::Int1]);
                let shape = if ty.is_scalar() {
                    let rank = self.pick(3);
                    self.shape(rank)
                } else {
                    ty.shape.clone()
                };
                let offset = self.of(&Type { element: Element::Scalar(scalar), shape: shape.clone() });
                let pointers = self.of(&ty.with_shape(shape));
                let ty = self.ty(pointers);
                self.add(Op::AddPointer { pointer: pointers, offset }, ty);
            }
            2 => {
                let (pointer, ty) = self.pointer(false);
                let mask = self.mask(&ty);
                let other = self.flag().then(|| self.of(&ty));
                let volatile = self.flag();
                self.add(Op::Load { pointer, mask, other, cache, eviction, volatile }, ty);
            }
            3 => {
                let (pointer, ty) = self.pointer(true);
                let value = self.of(&ty);
                let mask = self.mask(&ty);
                self.builder.effect(Op::Store { pointer, value, mask, cache, eviction });
            }
            4 => {
                let (pointer, ty) = self.pointer(true);
                let float = ty.element.as_scalar().is_some_and(Scalar::is_float);
                let ops = if float {
                    &[AtomicOp::Add, AtomicOp::Max, AtomicOp::Exchange][..]
                } else {
                    AtomicOp::ALL
                };
                let op = self.one_of(ops);
                let value = self.of(&ty);
                let mask = self.mask(&ty);
                self.add(Op::AtomicRmw { op, pointer, value, mask, ordering, scope }, ty);
            }
            _ => {
                let (pointer, ty) = self.pointer(true);
                let (expected, desired) = (self.of(&ty), self.of(&ty));
                self.add(Op::AtomicCas { pointer, expected, desired, ordering, scope }, ty);
            }
        }
    }

    fn effect(&mut self) {
        let condition = self.find(|ty| ty.element == Element::Scalar(Scalar::Int1));
        match (self.pick(4), condition) {
            (0, Some(condition)) => self.builder.effect(Op::Assume { condition }),
            (1, Some(condition)) => {
                let mask = self.mask(&self.ty(condition));
                self.builder.effect(Op::Assert { condition, message: "no \"luck\"\n".to_owned(), mask });
            }
            (2, _) => self.builder.effect(Op::Barrier),
            _ => {
                let values = (0..self.pick(3)).filter_map(|_| self.find(|_| true)).collect();
                let hex = self.flag();
                self.builder.effect(Op::Print { prefix: "at \\ ".to_owned(), hex, values });
            }
        }
    }

    fn combination(&mut self) {
        if self.pick(4) == 0 {
            return self.dot();
        }
        let first = self.block(1);
        let ty = self.ty(first);
        let mut values: SmallVec<[Value; 2]> = SmallVec::from_slice(&[first]);
        if self.flag() {
            let scalar = self.one_of(&[Scalar::Int32, Scalar::Float32]);
            values.push(self.of(&ty.with_element(scalar)));
        }
        let types: Vec<Type> = values.iter().map(|&value| self.ty(value)).collect();
        let elements: Vec<Type> = types.iter().map(|ty| Type::scalar(ty.element)).collect();
        let axis = self.pick(ty.shape.rank()) as u8;
        let twice = [elements.clone(), elements.clone()].concat();
        match self.pick(3) {
            0 => {
                let combine = self.isolated_region(twice, &elements);
                let results = types.iter().map(|ty| ty.with_shape(ty.shape.with_removed(usize::from(axis))));
                let results: Vec<Type> = results.collect();
                self.finish(Op::Reduce { values, axis, combine }, results);
            }
            1 => {
                let combine = self.isolated_region(twice, &elements);
                let reverse = self.flag();
                self.finish(Op::Scan { values, axis, reverse, combine }, types);
            }
            _ => {
                let outputs: Vec<Type> = (0..=self.pick(2))
                    .map(|_| Type::scalar(self.one_of(&[Scalar::Int32, Scalar::Float32, Scalar::Int1])))
                    .collect();
                let body = self.isolated_region(elements, &outputs);
                let results: Vec<Type> =
                    outputs.iter().map(|output| output.with_shape(ty.shape.clone())).collect();
                self.finish(Op::MapElementwise { values, body }, results);
            }
        }
    }

    fn dot(&mut self) {
        let batch = if self.flag() { Some(self.pick(2) as u32 + 1) } else { None };
        let (m, n, k) = (self.pick(3) as u32 + 1, self.pick(3) as u32 + 1, self.pick(3) as u32 + 1);
        let pairs = [
            (Scalar::Float32, Scalar::Float32),
            (Scalar::Float16, Scalar::Float32),
            (Scalar::Float8E5M2, Scalar::Float16),
            (Scalar::Int8, Scalar::Int32),
        ];
        let (operand, total) = self.one_of(&pairs);
        let block = |element: Scalar, rows, columns| {
            let extents = batch.into_iter().chain([rows, columns]);
            Type { element: Element::Scalar(element), shape: extents.collect() }
        };
        let (lhs, rhs) = (self.of(&block(operand, m, k)), self.of(&block(operand, k, n)));
        let ty = block(total, m, n);
        let accumulator = self.flag().then(|| self.of(&ty));
        let precision = self.one_of(DotPrecision::ALL);
        self.add(Op::Dot { lhs, rhs, accumulator, precision }, ty);
    }

    fn finish(&mut self, op: Op, results: impl IntoIterator<Item = Type>) {
        let results = self.builder.values(op, results);
        self.scope.extend(results);
    }

    /// A region with some statements, whose yields `finish` chooses.
    fn region<const N: usize>(
        &mut self,
        args: Vec<Type>,
        finish: impl FnOnce(&mut Self, &[Value]) -> [Vec<Value>; N],
    ) -> RegionId {
        let before = self.scope.len();
        let region = self.builder.open_region(args);
        let args = self.builder.args(region);
        self.scope.extend(&args);
        self.depth += 1;
        for _ in 0..self.pick(5) {
            self.statement();
        }
        self.depth -= 1;
        let yields = finish(self, &args).concat();
        self.builder.close_region(yields);
        self.scope.truncate(before);
        region
    }

    fn isolated_region(&mut self, args: Vec<Type>, yields: &[Type]) -> RegionId {
        let outer = std::mem::replace(&mut self.isolated, self.scope.len());
        let region = self.region(args, |generator, _| [yields.iter().map(|ty| generator.of(ty)).collect()]);
        self.isolated = outer;
        region
    }

    fn control_flow(&mut self) {
        let carried: SmallVec<[Value; 4]> = (0..self.pick(4)).filter_map(|_| self.find(|_| true)).collect();
        let types: Vec<Type> = carried.iter().map(|&value| self.ty(value)).collect();
        match self.pick(3) {
            0 => self.branch(&types),
            1 => self.counted_loop(carried, types),
            _ => self.conditional_loop(carried, types),
        }
    }

    fn branch(&mut self, types: &[Type]) {
        let condition = self.of(&Type::scalar(Scalar::Int1));
        let then =
            self.region(Vec::new(), |generator, _| [types.iter().map(|ty| generator.of(ty)).collect()]);
        let otherwise =
            self.region(Vec::new(), |generator, _| [types.iter().map(|ty| generator.of(ty)).collect()]);
        self.finish(Op::If { condition, then, otherwise }, types.to_vec());
    }

    fn counted_loop(&mut self, inits: SmallVec<[Value; 4]>, types: Vec<Type>) {
        let scalar = self.one_of(&[Scalar::Int32, Scalar::Int64, Scalar::UInt8]);
        let ty = Type::scalar(scalar);
        let lower = self.pick(4) as i64;
        let trips = self.pick(4) as i64;
        let step = if scalar.is_signed() { self.one_of(&[1, 2, -1, -3]) } else { 1 };
        let [lower, upper, step] = [lower, lower + trips * step, step].map(|number| {
            let value = self.builder.value(Op::Constant(Literal::Int(number)), ty.clone());
            self.scope.push(value);
            value
        });
        let args: Vec<Type> = std::iter::once(ty).chain(types.iter().cloned()).collect();
        let body = self.region(args, |generator, _| [types.iter().map(|ty| generator.of(ty)).collect()]);
        let attributes = LoopAttributes {
            num_stages: self.flag().then_some(3),
            unroll: self.flag().then_some(2),
            flatten: self.flag(),
            warp_specialize: self.flag(),
            disallow_acc_multi_buffer: self.flag(),
            disable_licm: self.flag(),
        };
        self.finish(Op::For { lower, upper, step, inits, body, attributes }, types);
    }

    /// A loop that counts down, so that it ends, and passes some of what it carries to its body.
    fn conditional_loop(&mut self, carried: SmallVec<[Value; 4]>, types: Vec<Type>) {
        let counter_ty = Type::scalar(Scalar::Int32);
        let trips = self.pick(4) as i64;
        let counter = self.add(Op::Constant(Literal::Int(trips)), counter_ty.clone());
        let inits: SmallVec<[Value; 4]> = std::iter::once(counter).chain(carried).collect();
        let args: Vec<Type> = std::iter::once(counter_ty.clone()).chain(types.iter().cloned()).collect();
        let passed: Vec<Type> = types.iter().rev().cloned().collect();
        let condition = self.region(args, |generator, args| {
            let zero = generator.builder.int(Scalar::Int32, 0);
            let more = generator.builder.compare(Predicate::Gt, args[0], zero);
            [vec![more, args[0]], passed.iter().map(|ty| generator.of(ty)).collect()]
        });
        let results: Vec<Type> = std::iter::once(counter_ty).chain(passed.iter().cloned()).collect();
        let body = self.region(results.clone(), |generator, args| {
            let one = generator.builder.int(Scalar::Int32, 1);
            let next = generator.builder.binary(BinaryOp::Sub, args[0], one);
            [vec![next], types.iter().map(|ty| generator.of(ty)).collect()]
        });
        self.finish(Op::While { inits, condition, body }, results);
    }
}
