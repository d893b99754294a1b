//! Elementwise operations: on registers at once, on blocks by affine arithmetic or as nodes of the queue.

use crate::affine;
use crate::block::Block;
use crate::execute::Executor;
use crate::program::{
    AddPointer, Elementwise, ElementwiseKind, Functions, Operand, Place, ScalarOperation, ValueType,
};
use crate::queue::{Source, Work};
use crate::scalar;
use tegula_ir::{BinaryOp, Predicate, Scalar};
use tegula_strip::StripFn;

impl<'p> Executor<'p> {
    /// Executes an operation on registers.
    pub fn scalar_operation(&mut self, operation: &ScalarOperation) {
        let inputs = operation.inputs.map(|register| self.registers[register as usize]);
        let bits = integer_operation(operation.kind, operation.scalar, inputs)
            .unwrap_or_else(|| apply_once(operation.function, &inputs, operation.result));
        self.registers[operation.out as usize] = bits;
    }

    /// Executes an operation on blocks, or makes it pending.
    pub fn elementwise(&mut self, operation: &'p Elementwise) {
        if let Some(block) = self.symbolic(operation) {
            for operand in &operation.inputs {
                self.drop_last(*operand);
            }
            self.write(operation.out, block);
            return;
        }
        let ty = self.program.ty(operation.out);
        self.open(self.count(ty));
        let mut sources = [Source::None; 3];
        let mut widths = [0; 3];
        for (index, operand) in operation.inputs.iter().enumerate() {
            let input = self.program.ty(operand.place);
            sources[index] = match self.simple_source(*operand) {
                Some(source) => source,
                None => {
                    self.share(*operand, input);
                    let block = self.take(*operand);
                    self.source(block, input)
                }
            };
            widths[index] = input.width as u8;
        }
        let node = self.push_apply(&operation.functions, sources, widths, operation.inputs.len(), ty.width);
        self.write(operation.out, Block::Pending(node));
    }

    /// Appends the node of a strip operation with `count` operands; splats that it has no function for become strips.
    fn push_apply(
        &mut self,
        functions: &Functions,
        mut sources: [Source; 3],
        widths: [u8; 3],
        count: usize,
        width: usize,
    ) -> u32 {
        let splat = |source: &Source| matches!(source, Source::Splat(_));
        let mut function = None;
        if splat(&sources[count - 1]) {
            function = functions.last_splat;
        } else if count > 1 && splat(&sources[count - 2]) {
            function = functions.first_splat;
        }
        let spared = match function {
            Some(_) if splat(&sources[count - 1]) => Some(count - 1),
            Some(_) => Some(count - 2),
            None => None,
        };
        for (index, source) in sources.iter_mut().enumerate().take(count) {
            if Some(index) != spared && splat(source) {
                let width = widths[index] as usize;
                let work = Work::Splat(*source);
                *source = Source::Node(self.queue.push(work, width));
            }
        }
        let function = function.unwrap_or(functions.dense);
        self.push(Work::Apply { function, inputs: sources, widths }, width)
    }

    /// An operand as most are, one number for all elements or the result of a pending node, without moving its block about.
    fn simple_source(&mut self, operand: Operand) -> Option<Source> {
        let slot = match operand.place {
            Place::Register(register) => return Some(Source::Splat(self.registers[register as usize])),
            Place::Block(slot) => &mut self.blocks[slot as usize],
        };
        let source = match *slot {
            Block::Splat(bits) => Source::Splat(bits),
            Block::Pending(node) => Source::Node(node),
            _ => return None,
        };
        if operand.last {
            *slot = Block::Empty;
        }
        Some(source)
    }

    /// Drops a value that nothing reads afterwards.
    pub fn drop_last(&mut self, operand: Operand) {
        if let (Place::Block(slot), true) = (operand.place, operand.last) {
            self.blocks[slot as usize] = Block::Empty;
        }
    }

    /// Makes a value that several operations read element by element, and that is not packed, pending, so that it
    /// is read only once.
    fn share(&mut self, operand: Operand, ty: &ValueType) {
        let Place::Block(slot) = operand.place else { return };
        if operand.last {
            return;
        }
        let scattered = match &self.blocks[slot as usize] {
            Block::Memory(strided) | Block::Dense(strided, _) => !strided.is_compact(&ty.extents, ty.width),
            _ => false,
        };
        // A broadcast costs no more the second time, and other shape operations may yet follow it.
        if scattered && ty.count.is_some() {
            let repeated = match &self.blocks[slot as usize] {
                Block::Memory(strided) | Block::Dense(strided, _) => strided.strides.contains(&0),
                _ => false,
            };
            if !repeated {
                let block = self.blocks[slot as usize].take();
                let source = self.source(block, ty);
                if let Source::Node(node) = source {
                    self.accesses.read_by(node);
                    self.write(operand.place, Block::Pending(node));
                }
            }
        }
    }

    /// The result of an operation, where no element need be touched for it.
    fn symbolic(&mut self, operation: &Elementwise) -> Option<Block> {
        let ty = self.program.ty(operation.out);
        let mut scalars = [const { Block::Empty }; 3];
        let [first, second, third] = &mut scalars;
        let inputs = &operation.inputs;
        let a = self.peek(inputs[0], first);
        match operation.kind {
            ElementwiseKind::Unary | ElementwiseKind::Cast => match a {
                Block::Splat(bits) => {
                    Some(Block::Splat(apply_once(operation.functions.dense, &[*bits; 3], operation.result)))
                }
                Block::Affine(affine) if operation.kind == ElementwiseKind::Cast => {
                    affine::cast(operation.scalar, operation.result, &ty.extents, affine)
                }
                _ => None,
            },
            ElementwiseKind::Binary(op) => {
                let b = self.peek(inputs[1], second);
                match (a, b) {
                    (Block::Splat(x), Block::Splat(y)) => Some(Block::Splat(splat(operation, [*x, *y, 0]))),
                    (
                        Block::Affine(_) | Block::Mask(_),
                        Block::Affine(_) | Block::Mask(_) | Block::Splat(_),
                    )
                    | (Block::Splat(_), Block::Affine(_) | Block::Mask(_)) => {
                        affine::binary(op, operation.scalar, &ty.extents, a, b)
                    }
                    (Block::Splat(bits), other) | (other, Block::Splat(bits))
                        if operation.scalar == Scalar::Int1 =>
                    {
                        neutral(op, *bits, other)
                    }
                    _ => None,
                }
            }
            ElementwiseKind::Compare(predicate) => {
                let b = self.peek(inputs[1], second);
                match (a, b) {
                    (Block::Splat(x), Block::Splat(y)) => Some(Block::Splat(splat(operation, [*x, *y, 0]))),
                    (Block::Affine(_), Block::Affine(_) | Block::Splat(_))
                    | (Block::Splat(_), Block::Affine(_)) => {
                        affine::compare(predicate, operation.scalar, &ty.extents, a, b)
                    }
                    _ => None,
                }
            }
            ElementwiseKind::Select => match a {
                Block::Splat(0) => Some(self.peek(inputs[2], third).clone()),
                Block::Splat(_) => Some(self.peek(inputs[1], second).clone()),
                _ => None,
            },
            ElementwiseKind::Fma => match (a, self.peek(inputs[1], second), self.peek(inputs[2], third)) {
                (Block::Splat(x), Block::Splat(y), Block::Splat(z)) => {
                    Some(Block::Splat(splat(operation, [*x, *y, *z])))
                }
                _ => None,
            },
        }
    }

    /// Moves pointers.
    pub fn add_pointer(&mut self, operation: &AddPointer) {
        if let (Place::Register(pointer), Place::Register(offset), Place::Register(out)) =
            (operation.pointer.place, operation.offset.place, operation.out)
        {
            // Registers hold offsets of any width extended to 64 bits.
            let bytes = self.registers[offset as usize].wrapping_mul(operation.size as u64);
            self.registers[out as usize] = self.registers[pointer as usize].wrapping_add(bytes);
            return;
        }
        let ty = self.program.ty(operation.out);
        let mut scalars = [const { Block::Empty }; 2];
        let [first, second] = &mut scalars;
        let pointer = self.peek(operation.pointer, first);
        let offset = self.peek(operation.offset, second);
        if let Some(block) =
            affine::add_pointer(&ty.extents, pointer, offset, operation.scalar, operation.size)
        {
            self.drop_last(operation.pointer);
            self.drop_last(operation.offset);
            self.write(operation.out, block);
            return;
        }
        self.open(self.count(ty));
        let offset_ty = self.program.ty(operation.offset.place);
        let block = self.take(operation.offset);
        let mut offset = self.source(block, offset_ty);
        if let Source::Splat(bits) = offset {
            // Splats are extended already.
            offset = Source::Splat(bits.wrapping_mul(operation.size as u64));
        } else {
            if let Some(function) = operation.extend {
                let work = Work::Apply {
                    function,
                    inputs: [offset, Source::None, Source::None],
                    widths: [offset_ty.width as u8, 0, 0],
                };
                offset = Source::Node(self.push(work, 8));
            }
            let sources = [offset, Source::Splat(operation.size as u64), Source::None];
            offset = Source::Node(self.push_apply(&operation.multiply, sources, [8; 3], 2, 8));
        }
        let block = self.take(operation.pointer);
        let pointer = self.source(block, ty);
        let node = self.push_apply(&operation.add, [pointer, offset, Source::None], [8; 3], 2, 8);
        self.write(operation.out, Block::Pending(node));
    }

    /// The bits of a block as another type of the same width.
    pub fn bitcast(&mut self, value: Operand, out: Place) {
        let (from, to) = (self.program.ty(value.place), self.program.ty(out));
        let block = match out {
            Place::Register(_) => self.settled(value),
            Place::Block(_) => self.take(value),
        };
        let block = match block {
            Block::Splat(bits) => Block::Splat(scalar::canonical(bits, to.scalar)),
            Block::Affine(affine) => match affine::cast(from.scalar, to.scalar, &to.extents, &affine) {
                Some(block) => block,
                None => self.pack(Block::Affine(affine), from),
            },
            Block::Mask(bounds) => self.pack(Block::Mask(bounds), from),
            other => other,
        };
        self.write(out, block);
    }
}

/// The result of an operation on single elements.
fn splat(operation: &Elementwise, inputs: [u64; 3]) -> u64 {
    integer_operation(operation.kind, operation.scalar, inputs)
        .unwrap_or_else(|| apply_once(operation.functions.dense, &inputs, operation.result))
}

/// `and` and `or` of a block of truth values with the same value everywhere.
fn neutral(op: BinaryOp, bits: u64, other: &Block) -> Option<Block> {
    match (op, bits) {
        (BinaryOp::And, 1) | (BinaryOp::Or, 0) => Some(other.clone()),
        (BinaryOp::And, 0) => Some(Block::Splat(0)),
        (BinaryOp::Or, 1) => Some(Block::Splat(1)),
        _ => None,
    }
}

/// Applies a strip function to single elements.
fn apply_once(function: StripFn, inputs: &[u64; 3], result: Scalar) -> u64 {
    let mut out = 0u64;
    let inputs =
        [(&raw const inputs[0]).cast(), (&raw const inputs[1]).cast(), (&raw const inputs[2]).cast()];
    // SAFETY: one element is read from each input and one written, of at most 8 bytes each; the function was
    // looked up for this processor.
    unsafe { function((&raw mut out).cast(), &inputs, 1) };
    scalar::canonical(out, result)
}

/// The operations on integers that index arithmetic consists of, without the call of a strip function.
fn integer_operation(kind: ElementwiseKind, ty: Scalar, [a, b, c]: [u64; 3]) -> Option<u64> {
    if kind == ElementwiseKind::Select {
        return Some(if a != 0 { b } else { c });
    }
    if !matches!(ty, Scalar::Int32 | Scalar::Int64 | Scalar::Int1) {
        return None;
    }
    let (x, y) = (a as i64, b as i64);
    let bits = match kind {
        ElementwiseKind::Binary(op) => match op {
            BinaryOp::And => a & b,
            BinaryOp::Or => a | b,
            BinaryOp::Xor => a ^ b,
            _ if ty == Scalar::Int1 => return None,
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Sub => a.wrapping_sub(b),
            BinaryOp::Mul => a.wrapping_mul(b),
            BinaryOp::Div if y != 0 => x.wrapping_div(y) as u64,
            BinaryOp::Rem if y != 0 => x.wrapping_rem(y) as u64,
            BinaryOp::Min => x.min(y) as u64,
            BinaryOp::Max => x.max(y) as u64,
            _ => return None,
        },
        ElementwiseKind::Compare(predicate) => {
            return Some(u64::from(match predicate {
                Predicate::Eq => x == y,
                Predicate::Ne => x != y,
                Predicate::Lt => x < y,
                Predicate::Le => x <= y,
                Predicate::Gt => x > y,
                Predicate::Ge => x >= y,
            }));
        }
        _ => return None,
    };
    Some(scalar::canonical(bits, ty))
}
