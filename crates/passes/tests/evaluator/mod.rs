//! A slow and simple evaluator of functions, to hold the passes to: it executes one program, and writes down what can be
//! seen from outside (stores, atomics, volatile reads, prints and failed assertions).
//!
//! Memory is everywhere: an address that was not written holds a number made of the address. Functions that the passes
//! may not fold (exp, sin, pow, ...) are stood for by any function of their name and operands.

use std::collections::HashMap;
use std::fmt::Write;
use tegula_ir::{
    AtomicOp, BinaryOp, Element, Function, Literal, Op, OpId, Predicate, RegionId, Rounding, Scalar, Type,
    UnaryOp, Value,
};

/// One element: integers and pointers as `Literal::Int` has them, floats as numbers.
type Cell = Literal;

/// A scalar, or the elements of a block in row-major order.
pub type Cells = Vec<Cell>;

/// What the program with the given index does, when it gets arguments made of the given numbers.
pub fn evaluate(function: &Function, arguments: &[u64], program: [i32; 3]) -> String {
    observe(function, arguments, program, 0, &mut |_, _| {})
}

/// The same, with other contents of memory for each `salt`; `observer` is shown each value when it is computed.
pub fn observe(
    function: &Function,
    arguments: &[u64],
    program: [i32; 3],
    salt: u64,
    observer: &mut dyn FnMut(Value, &Cells),
) -> String {
    let mut machine = Machine {
        function,
        program,
        salt,
        observer,
        values: vec![Vec::new(); function.value_count()],
        memory: HashMap::new(),
        trace: String::new(),
    };
    for (param, &seed) in function.params.iter().zip(arguments) {
        let argument = match (cell(param.ty.element, seed), param.ty.element) {
            (Literal::Int(value), Element::Scalar(scalar)) => {
                Literal::Int(scalar.wrap(value * i64::from(param.divisible_by)))
            }
            (Literal::Int(value), Element::Pointer(_)) => Literal::Int(value * i64::from(param.divisible_by)),
            (float, _) => float,
        };
        machine.set(&[param.value], vec![vec![argument]]);
    }
    machine.region(function.body);
    machine.trace
}

/// Some element of a type, made of a number.
fn cell(element: Element, seed: u64) -> Cell {
    match element {
        Element::Pointer(_) => Literal::Int((seed % 1024 * 64) as i64),
        Element::Scalar(scalar) if scalar.is_int() => Literal::Int(scalar.wrap(seed as i64 % 101)),
        Element::Scalar(scalar) => {
            let number = match seed % 11 {
                0 => -0.0,
                1 => f64::INFINITY,
                2 => f64::NAN,
                _ => (seed % 1000) as f64 / 16.0 - 20.0,
            };
            Literal::Float(round(scalar, number))
        }
    }
}

fn round(scalar: Scalar, number: f64) -> f64 {
    if number.is_nan() { f64::NAN } else { scalar.round(number, Rounding::NearestEven) }
}

fn int(cell: Cell) -> i64 {
    match cell {
        Literal::Int(value) => value,
        Literal::Float(value) => panic!("{value} is no integer"),
    }
}

fn float(cell: Cell) -> f64 {
    match cell {
        Literal::Float(value) => value,
        Literal::Int(value) => panic!("{value} is no float"),
    }
}

fn truth(cell: Cell) -> bool {
    int(cell) != 0
}

/// A number of an integer type, without wrapping.
fn wide(scalar: Scalar, value: i64) -> i128 {
    if scalar.is_signed() { value.into() } else { (value as u64).into() }
}

fn text(cell: Cell) -> String {
    match cell {
        Literal::Int(value) => value.to_string(),
        Literal::Float(value) if value.is_nan() => "nan".to_owned(),
        Literal::Float(value) => format!("{value:?}"),
    }
}

/// Strides of a shape, in elements.
fn strides(shape: &[u32]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis] as usize;
    }
    strides
}

/// Every index of a shape, in row-major order.
fn indices(shape: &[u32]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &extent in shape {
        let extended = |index: &Vec<usize>| {
            let index = index.clone();
            (0..extent as usize).map(move |next| [index.clone(), vec![next]].concat())
        };
        all = all.iter().flat_map(extended).collect();
    }
    all
}

struct Machine<'f> {
    function: &'f Function,
    program: [i32; 3],
    salt: u64,
    observer: &'f mut dyn FnMut(Value, &Cells),
    values: Vec<Cells>,
    memory: HashMap<u64, (Element, Cell)>,
    trace: String,
}

impl Machine<'_> {
    fn get(&self, value: Value) -> &Cells {
        let cells = &self.values[value.0 as usize];
        assert!(!cells.is_empty(), "used before it is computed");
        cells
    }

    fn one(&self, value: Value) -> Cell {
        self.get(value)[0]
    }

    fn ty(&self, value: Value) -> &Type {
        self.function.ty(value)
    }

    fn scalar(&self, value: Value) -> Scalar {
        self.ty(value).element.as_scalar().expect("numbers")
    }

    fn set(&mut self, values: &[Value], all: Vec<Cells>) {
        assert_eq!(values.len(), all.len());
        for (value, cells) in values.iter().zip(all) {
            assert_eq!(cells.len(), self.ty(*value).shape.elements());
            (self.observer)(*value, &cells);
            self.values[value.0 as usize] = cells;
        }
    }

    /// Executes a region, and returns what it yields.
    fn region(&mut self, region: RegionId) -> Vec<Cells> {
        let data = self.function.region(region);
        for &op in &data.ops {
            self.op(op);
        }
        data.yields.iter().map(|&value| self.get(value).clone()).collect()
    }

    fn call(&mut self, region: RegionId, arguments: Vec<Cells>) -> Vec<Cells> {
        let args = &self.function.region(region).args;
        self.set(args, arguments);
        self.region(region)
    }

    fn op(&mut self, id: OpId) {
        let function = self.function;
        let data = function.op(id);
        let results = match &data.op {
            Op::For { .. } | Op::While { .. } | Op::If { .. } => self.control(&data.op),
            Op::Reduce { .. } | Op::Scan { .. } | Op::MapElementwise { .. } => self.combine(&data.op),
            Op::Split { value } => {
                let halves = self.get(*value).chunks(2).map(|pair| (pair[0], pair[1]));
                let (left, right) = halves.unzip();
                vec![left, right]
            }
            Op::Store { .. } | Op::Print { .. } | Op::Assert { .. } | Op::Assume { .. } | Op::Barrier => {
                self.effect(&data.op);
                Vec::new()
            }
            op => vec![self.one_result(op, function.ty(data.results[0]))],
        };
        self.set(&data.results, results);
    }

    fn control(&mut self, op: &Op) -> Vec<Cells> {
        match op {
            Op::If { condition, then, otherwise } => {
                let taken = if truth(self.one(*condition)) { *then } else { *otherwise };
                self.region(taken)
            }
            Op::For { lower, upper, step, inits, body, .. } => {
                let scalar = self.scalar(*lower);
                let number = |value| wide(scalar, int(self.one(value)));
                let (mut index, upper, step) = (number(*lower), number(*upper), number(*step));
                let mut carried: Vec<Cells> = inits.iter().map(|&value| self.get(value).clone()).collect();
                for _ in 0..100 {
                    if if step < 0 { index <= upper } else { index >= upper } {
                        return carried;
                    }
                    let index_cells = vec![Literal::Int(index as i64)];
                    carried = self.call(*body, [vec![index_cells], carried].concat());
                    index = wide(scalar, scalar.wrap((index + step) as i64));
                }
                panic!("a loop does not end");
            }
            Op::While { inits, condition, body } => {
                let mut carried: Vec<Cells> = inits.iter().map(|&value| self.get(value).clone()).collect();
                for _ in 0..100 {
                    let mut yields = self.call(*condition, carried);
                    let test = yields.remove(0);
                    if !truth(test[0]) {
                        return yields;
                    }
                    carried = self.call(*body, yields);
                }
                panic!("a loop does not end");
            }
            _ => unreachable!("not control flow"),
        }
    }

    /// Operations whose regions are applied to elements.
    fn combine(&mut self, op: &Op) -> Vec<Cells> {
        let (values, axis, region) = match op {
            Op::Reduce { values, axis, combine } | Op::Scan { values, axis, combine, .. } => {
                (values, usize::from(*axis), *combine)
            }
            Op::MapElementwise { values, body } => (values, 0, *body),
            _ => unreachable!("no region applied to elements"),
        };
        let inputs: Vec<Cells> = values.iter().map(|&value| self.get(value).clone()).collect();
        let shape = self.ty(values[0]).shape.to_vec();
        let at = |index: usize| -> Vec<Cells> { inputs.iter().map(|cells| vec![cells[index]]).collect() };
        let mut outputs = inputs.clone();
        if matches!(op, Op::MapElementwise { .. }) {
            outputs = vec![Vec::new(); self.function.region(region).yields.len()];
            for index in 0..inputs[0].len() {
                let yields = self.call(region, at(index));
                outputs.iter_mut().zip(yields).for_each(|(output, cells)| output.extend(cells));
            }
            return outputs;
        }
        let reverse = matches!(op, Op::Scan { reverse: true, .. });
        let (extent, stride) = (shape[axis] as usize, strides(&shape)[axis]);
        let mut reduced = vec![Vec::new(); inputs.len()];
        for start in (0..inputs[0].len()).filter(|index| index / stride % extent == 0) {
            let mut line: Vec<usize> = (0..extent).map(|step| start + step * stride).collect();
            if reverse {
                line.reverse();
            }
            let mut total = at(line[0]);
            for &index in &line[1..] {
                total = self.call(region, [total, at(index)].concat());
                outputs.iter_mut().zip(&total).for_each(|(output, cells)| output[index] = cells[0]);
            }
            reduced.iter_mut().zip(total).for_each(|(output, cells)| output.extend(cells));
        }
        if matches!(op, Op::Reduce { .. }) { reduced } else { outputs }
    }

    fn read(&self, address: u64, element: Element) -> Cell {
        match self.memory.get(&address) {
            Some((written, cell)) if *written == element => *cell,
            _ => cell(element, (address ^ self.salt).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 17),
        }
    }

    fn write(&mut self, address: u64, element: Element, cell: Cell) {
        writeln!(self.trace, "{address}: {element} = {}", text(cell)).expect("strings grow");
        self.memory.insert(address, (element, cell));
    }

    fn masked(&self, mask: Option<Value>, index: usize) -> bool {
        mask.is_some_and(|mask| !truth(self.get(mask)[index]))
    }

    fn effect(&mut self, op: &Op) {
        match op {
            Op::Store { pointer, value, mask, .. } => {
                let element = self.ty(*value).element;
                for index in 0..self.get(*pointer).len() {
                    if !self.masked(*mask, index) {
                        let cell = self.get(*value)[index];
                        self.write(int(self.get(*pointer)[index]) as u64, element, cell);
                    }
                }
            }
            Op::Print { prefix, values, .. } => {
                let cells = values.iter().flat_map(|&value| self.get(value)).map(|&cell| text(cell));
                let line = cells.collect::<Vec<_>>().join(" ");
                writeln!(self.trace, "print {prefix} {line}").expect("strings grow");
            }
            Op::Assert { condition, message, mask } => {
                let cells = self.get(*condition).iter().enumerate();
                if cells.into_iter().any(|(index, &cell)| !truth(cell) && !self.masked(*mask, index)) {
                    writeln!(self.trace, "assertion failed: {message}").expect("strings grow");
                }
            }
            _ => {}
        }
    }

    fn atomic(&mut self, op: &Op, ty: &Type) -> Cells {
        let scalar = ty.element.as_scalar().expect("verified");
        (0..ty.shape.elements())
            .map(|index| match *op {
                Op::AtomicRmw { op, pointer, value, mask, .. } => {
                    let address = int(self.get(pointer)[index]) as u64;
                    let old = self.read(address, ty.element);
                    let value = self.get(value)[index];
                    let new = match op {
                        AtomicOp::Add => binary(BinaryOp::Add, scalar, old, value),
                        AtomicOp::Min => binary(BinaryOp::Min, scalar, old, value),
                        AtomicOp::Max => binary(BinaryOp::Max, scalar, old, value),
                        AtomicOp::And => binary(BinaryOp::And, scalar, old, value),
                        AtomicOp::Or => binary(BinaryOp::Or, scalar, old, value),
                        AtomicOp::Xor => binary(BinaryOp::Xor, scalar, old, value),
                        AtomicOp::Exchange => value,
                    };
                    if !self.masked(mask, index) {
                        self.write(address, ty.element, new);
                    }
                    old
                }
                Op::AtomicCas { pointer, expected, desired, .. } => {
                    let address = int(self.get(pointer)[index]) as u64;
                    let old = self.read(address, ty.element);
                    if old == self.get(expected)[index] {
                        let desired = self.get(desired)[index];
                        self.write(address, ty.element, desired);
                    }
                    old
                }
                _ => unreachable!("no atomic"),
            })
            .collect()
    }

    fn load(&mut self, op: &Op, ty: &Type) -> Cells {
        let &Op::Load { pointer, mask, other, volatile, .. } = op else { unreachable!("no load") };
        let zero = match ty.element {
            Element::Scalar(scalar) if scalar.is_float() => Literal::Float(0.0),
            _ => Literal::Int(0),
        };
        let mut cells = Cells::new();
        for index in 0..ty.shape.elements() {
            if self.masked(mask, index) {
                cells.push(other.map_or(zero, |other| self.get(other)[index]));
                continue;
            }
            let address = int(self.get(pointer)[index]) as u64;
            if volatile {
                writeln!(self.trace, "read {address}").expect("strings grow");
            }
            cells.push(self.read(address, ty.element));
        }
        cells
    }

    fn one_result(&mut self, op: &Op, ty: &Type) -> Cells {
        match op {
            Op::Constant(literal) => vec![*literal],
            Op::ProgramId { axis } => vec![Literal::Int(self.program[usize::from(*axis)].into())],
            Op::NumPrograms { axis } => vec![Literal::Int(10 + i64::from(*axis))],
            Op::Arange { start, end } => (*start..*end).map(|value| Literal::Int(value.into())).collect(),
            Op::Load { .. } => self.load(op, ty),
            Op::AtomicRmw { .. } | Op::AtomicCas { .. } => self.atomic(op, ty),
            Op::Histogram { value, mask } => {
                let mut counts = vec![0i64; ty.shape.elements()];
                for (index, &cell) in self.get(*value).iter().enumerate() {
                    let bin = usize::try_from(wide(self.scalar(*value), int(cell))).ok();
                    let bin = bin.filter(|_| !self.masked(*mask, index));
                    if let Some(count) = bin.and_then(|bin| counts.get_mut(bin)) {
                        *count += 1;
                    }
                }
                counts.into_iter().map(Literal::Int).collect()
            }
            Op::Dot { lhs, rhs, accumulator, .. } => self.dot(*lhs, *rhs, *accumulator, ty),
            Op::Join { lhs, rhs } => {
                let pairs = self.get(*lhs).iter().zip(self.get(*rhs));
                pairs.flat_map(|(&left, &right)| [left, right]).collect()
            }
            Op::Splat { .. }
            | Op::Broadcast { .. }
            | Op::ExpandDims { .. }
            | Op::Reshape { .. }
            | Op::Transpose { .. }
            | Op::Concatenate { .. }
            | Op::Slice { .. }
            | Op::Index { .. }
            | Op::Gather { .. } => self.rearrange(op, ty),
            _ => (0..ty.shape.elements()).map(|index| self.element(op, ty, index)).collect(),
        }
    }

    fn dot(&self, lhs: Value, rhs: Value, accumulator: Option<Value>, ty: &Type) -> Cells {
        let (from, total) = (self.scalar(lhs), ty.element.as_scalar().expect("verified"));
        let rank = ty.shape.rank();
        let depth = *self.ty(lhs).shape.last().expect("a matrix") as usize;
        let element = |value: Value, batch: usize, row: usize, column: usize| {
            let shape = &self.ty(value).shape;
            let (rows, columns) = (shape[rank - 2] as usize, shape[rank - 1] as usize);
            self.get(value)[(batch * rows + row) * columns + column]
        };
        let element_of = |index: &Vec<usize>, position: usize| {
            let batch = if rank == 3 { index[0] } else { 0 };
            let (row, column) = (index[rank - 2], index[rank - 1]);
            let products = (0..depth).map(|k| (element(lhs, batch, row, k), element(rhs, batch, k, column)));
            let start = accumulator.map(|value| self.get(value)[position]);
            if from.is_int() {
                let sum = products
                    .fold(start.map_or(0, int), |sum, (a, b)| sum.wrapping_add(int(a).wrapping_mul(int(b))));
                return Literal::Int(total.wrap(sum));
            }
            Literal::Float(round(
                total,
                products.fold(start.map_or(0.0, float), |sum, (a, b)| sum + float(a) * float(b)),
            ))
        };
        indices(&ty.shape).iter().enumerate().map(|(position, index)| element_of(index, position)).collect()
    }

    fn rearrange(&self, op: &Op, ty: &Type) -> Cells {
        let at = |value: Value, index: &[usize]| {
            let strides = strides(&self.ty(value).shape);
            self.get(value)[index.iter().zip(strides).map(|(index, stride)| index * stride).sum::<usize>()]
        };
        let element = |(position, mut index): (usize, Vec<usize>)| match op {
            Op::Splat { value } => self.one(*value),
            Op::Reshape { value } => self.get(*value)[position],
            Op::Broadcast { value } => {
                let shape = &self.ty(*value).shape;
                index.iter_mut().zip(shape.iter()).for_each(|(index, &extent)| *index %= extent as usize);
                at(*value, &index)
            }
            Op::ExpandDims { value, axis } => {
                index.remove(usize::from(*axis));
                at(*value, &index)
            }
            Op::Transpose { value, permutation } => {
                let mut source = index.clone();
                permutation.iter().zip(&index).for_each(|(&axis, &i)| source[usize::from(axis)] = i);
                at(*value, &source)
            }
            Op::Concatenate { lhs, rhs, axis } => {
                let axis = usize::from(*axis);
                let extent = self.ty(*lhs).shape[axis] as usize;
                if index[axis] < extent {
                    return at(*lhs, &index);
                }
                index[axis] -= extent;
                at(*rhs, &index)
            }
            Op::Slice { value, starts } => {
                index.iter_mut().zip(starts).for_each(|(index, &start)| *index += start as usize);
                at(*value, &index)
            }
            Op::Index { value, axis, index: number } => {
                index.insert(usize::from(*axis), int(self.one(*number)) as usize);
                at(*value, &index)
            }
            Op::Gather { source, indices, axis } => {
                index[usize::from(*axis)] = int(at(*indices, &index)) as usize;
                at(*source, &index)
            }
            _ => unreachable!("rearranges nothing"),
        };
        indices(&ty.shape).into_iter().enumerate().map(element).collect()
    }

    /// One element of an elementwise operation.
    fn element(&self, op: &Op, ty: &Type, index: usize) -> Cell {
        let get = |value: Value| self.get(value)[index];
        match *op {
            Op::Unary { op, value } => unary(op, self.scalar(value), get(value)),
            Op::Binary { op, lhs, rhs } => binary(op, self.scalar(lhs), get(lhs), get(rhs)),
            Op::Compare { predicate, lhs, rhs } => {
                let order = match (get(lhs), get(rhs)) {
                    (Literal::Int(a), Literal::Int(b)) => {
                        Some(wide(self.scalar(lhs), a).cmp(&wide(self.scalar(lhs), b)))
                    }
                    (a, b) => float(a).partial_cmp(&float(b)),
                };
                let truth = match predicate {
                    Predicate::Eq => order.is_some_and(|order| order.is_eq()),
                    Predicate::Ne => !order.is_some_and(|order| order.is_eq()),
                    Predicate::Lt => order.is_some_and(|order| order.is_lt()),
                    Predicate::Le => order.is_some_and(|order| order.is_le()),
                    Predicate::Gt => order.is_some_and(|order| order.is_gt()),
                    Predicate::Ge => order.is_some_and(|order| order.is_ge()),
                };
                Literal::Int(truth.into())
            }
            Op::Select { condition, on_true, on_false } => {
                if truth(get(condition)) {
                    get(on_true)
                } else {
                    get(on_false)
                }
            }
            Op::Fma { a, b, c } => {
                let (a, b, c) = (float(get(a)), float(get(b)), float(get(c)));
                let scalar = ty.element.as_scalar().expect("verified");
                Literal::Float(match scalar {
                    Scalar::Float32 => round(scalar, (a as f32).mul_add(b as f32, c as f32).into()),
                    _ => round(scalar, a.mul_add(b, c)),
                })
            }
            Op::Cast { value, rounding } => {
                cast(self.scalar(value), ty.element.as_scalar().expect("verified"), get(value), rounding)
            }
            Op::Bitcast { value } => match (get(value), ty.element) {
                (Literal::Int(bits), Element::Scalar(Scalar::Float32)) => {
                    Literal::Float(round(Scalar::Float64, f32::from_bits(bits as u32).into()))
                }
                (Literal::Int(bits), Element::Scalar(Scalar::Float64)) => {
                    Literal::Float(round(Scalar::Float64, f64::from_bits(bits as u64)))
                }
                (Literal::Int(bits), Element::Scalar(Scalar::Float16)) => {
                    Literal::Float(round(Scalar::Float64, half::f16::from_bits(bits as u16).into()))
                }
                (Literal::Int(bits), Element::Scalar(Scalar::BFloat16)) => {
                    Literal::Float(round(Scalar::Float64, half::bf16::from_bits(bits as u16).into()))
                }
                (Literal::Int(bits), Element::Scalar(scalar)) => Literal::Int(scalar.wrap(bits)),
                (cell, _) => cell,
            },
            Op::AddPointer { pointer, offset } => {
                let Element::Pointer(to) = ty.element else { unreachable!("verified") };
                let bytes = i64::from(to.target().bytes());
                let offset = wide(self.scalar(offset), int(get(offset))) as i64;
                Literal::Int(int(get(pointer)).wrapping_add(offset.wrapping_mul(bytes)))
            }
            Op::Annotate { value, .. } => get(value),
            _ => unreachable!("{} is not elementwise", op.name()),
        }
    }
}

/// Some function of two numbers, for those that the passes must not know.
fn opaque(name: &str, a: f64, b: f64) -> f64 {
    let seed = name.bytes().fold(1.0, |sum, byte| sum * 1.1 + f64::from(byte));
    (a * 0.7 + b * 0.3 + seed).sin()
}

fn unary(op: UnaryOp, scalar: Scalar, cell: Cell) -> Cell {
    let value = match cell {
        Literal::Int(value) => {
            let bit = |position: u32| value >> position & 1;
            let bits = scalar.bits();
            return Literal::Int(scalar.wrap(match op {
                UnaryOp::Not => -1 - value,
                UnaryOp::Abs => {
                    if scalar.is_signed() && value < 0 {
                        0i64.wrapping_sub(value)
                    } else {
                        value
                    }
                }
                UnaryOp::Popcount => (0..bits).map(bit).sum(),
                UnaryOp::LeadingZeros => {
                    (0..bits).rev().take_while(|&position| bit(position) == 0).count() as i64
                }
                UnaryOp::ReverseBits => (0..bits).fold(0, |sum, position| sum << 1 | bit(position)),
                _ => unreachable!("verified"),
            }));
        }
        Literal::Float(value) => value,
    };
    Literal::Float(round(
        scalar,
        match op {
            UnaryOp::Abs => value.abs(),
            UnaryOp::Floor => value.floor(),
            UnaryOp::Ceil => value.ceil(),
            UnaryOp::Trunc => value.trunc(),
            UnaryOp::Round => value.round(),
            UnaryOp::RoundEven => value.round_ties_even(),
            UnaryOp::Sqrt if scalar == Scalar::Float32 => (value as f32).sqrt().into(),
            UnaryOp::Sqrt => value.sqrt(),
            _ => opaque(op.name(), value, 0.0),
        },
    ))
}

fn binary(op: BinaryOp, scalar: Scalar, lhs: Cell, rhs: Cell) -> Cell {
    if let (Literal::Int(a), Literal::Int(b)) = (lhs, rhs) {
        return Literal::Int(int_binary(op, scalar, wide(scalar, a), wide(scalar, b)));
    }
    let (a, b) = (float(lhs), float(rhs));
    let (single_a, single_b) = (a as f32, b as f32);
    let single = scalar == Scalar::Float32;
    let result = match op {
        BinaryOp::Add if single => (single_a + single_b).into(),
        BinaryOp::Sub if single => (single_a - single_b).into(),
        BinaryOp::Mul if single => (single_a * single_b).into(),
        BinaryOp::Div | BinaryOp::DivRn if single => (single_a / single_b).into(),
        BinaryOp::Rem if single => (single_a % single_b).into(),
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div | BinaryOp::DivRn => a / b,
        BinaryOp::Rem => a % b,
        BinaryOp::Min | BinaryOp::Max if a.is_nan() => b,
        BinaryOp::Min | BinaryOp::Max if b.is_nan() => a,
        BinaryOp::MinNan | BinaryOp::MaxNan if a.is_nan() || b.is_nan() => f64::NAN,
        BinaryOp::Min | BinaryOp::MinNan => {
            if b < a {
                b
            } else {
                a
            }
        }
        BinaryOp::Max | BinaryOp::MaxNan => {
            if b > a {
                b
            } else {
                a
            }
        }
        BinaryOp::CopySign => a.copysign(b),
        _ => opaque(op.name(), a, b),
    };
    Literal::Float(round(scalar, result))
}

fn int_binary(op: BinaryOp, scalar: Scalar, a: i128, b: i128) -> i64 {
    let bits = i128::from(scalar.bits());
    let unsigned = |value: i128| value as u128 & ((1 << bits) - 1);
    let result = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div => a.checked_div(b).unwrap_or(0),
        BinaryOp::Rem => a.checked_rem(b).unwrap_or(0),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => {
            if unsigned(b) >= bits as u128 {
                0
            } else {
                a << b
            }
        }
        BinaryOp::Shr => a >> unsigned(b).min(127),
        BinaryOp::Min | BinaryOp::MinNan => a.min(b),
        BinaryOp::Max | BinaryOp::MaxNan => a.max(b),
        BinaryOp::MulHigh if scalar.is_signed() => (a * b) >> bits,
        BinaryOp::MulHigh => ((unsigned(a) * unsigned(b)) >> bits) as i128,
        _ => unreachable!("verified"),
    };
    scalar.wrap(result as i64)
}

fn cast(from: Scalar, to: Scalar, cell: Cell, rounding: Rounding) -> Cell {
    match (cell, to.is_int()) {
        (Literal::Int(value), true) if to == Scalar::Int1 => Literal::Int((value != 0).into()),
        (Literal::Int(value), true) => Literal::Int(to.wrap(value)),
        (Literal::Int(value), false) if to == Scalar::Float32 && rounding == Rounding::NearestEven => {
            Literal::Float((wide(from, value) as f32).into())
        }
        (Literal::Int(value), false) => Literal::Float(to.round(wide(from, value) as f64, rounding)),
        (Literal::Float(value), true) if to == Scalar::Int1 => Literal::Int((value != 0.0).into()),
        (Literal::Float(value), true) => Literal::Int(to.wrap(value as i64)),
        (Literal::Float(value), false) if value.is_nan() => Literal::Float(f64::NAN),
        (Literal::Float(value), false) => Literal::Float(to.round(value, rounding)),
    }
}
