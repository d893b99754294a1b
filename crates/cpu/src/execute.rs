//! Executes the instructions of a program, for one program of the grid after another.

use crate::affine;
use crate::block::Block;
use crate::bounds::Bounds;
use crate::fill;
use crate::hazard::Accesses;
use crate::launch::{LaunchError, StopReason};
use crate::per_axis::PerAxis;
use crate::plan;
use crate::program::{Action, Instruction, Operand, Place, Program, ValueType};
use crate::queue::{LONGEST, Queue, Source, Work};
use crate::scalar;
use crate::stream;
use crate::strided::{Strided, Tile};
use crate::watch::{Watch, interruption};
use tegula_ir::{Scalar, Span};

/// The state of one thread that executes programs.
pub struct Executor<'p> {
    pub program: &'p Program,
    pub registers: Vec<u64>,
    pub blocks: Vec<Block>,
    pub queue: Queue,
    pub accesses: Accesses,
    /// Slots that may hold results of pending nodes.
    pending: Vec<u32>,
    pub bounds: Option<&'p Bounds>,
    pub grid: [u32; 3],
    pub id: [u32; 3],
    /// Elements of the blocks of a combine function that is being executed on tiles.
    pub lanes: usize,
    /// Text printed by the current program.
    pub printed: String,
    /// The instruction being executed.
    pub span: Span,
    /// Says whether the launch shall go on.
    pub watch: Option<Watch<'p>>,
    /// What the last plan left for the next; `None` while one runs.
    pub plan_state: Option<Box<plan::State>>,
    /// Programs that have been executed, and the bytes that their plans have written.
    pub ran: u64,
    pub stored: u64,
    /// Whether plans write past the caches.
    pub streaming: bool,
}

pub type Outcome = Result<(), Box<LaunchError>>;

impl<'p> Executor<'p> {
    /// Prepares to execute programs of a grid, and executes what they have in common.
    pub fn new(
        program: &'p Program,
        grid: [u32; 3],
        arguments: &[u64],
        bounds: Option<&'p Bounds>,
    ) -> Result<Executor<'p>, Box<LaunchError>> {
        let mut executor = Executor::idle(program, grid, bounds);
        for (&place, &bits) in program.parameters.iter().zip(arguments) {
            executor.write(place, Block::Splat(bits));
        }
        executor.begin()?;
        Ok(executor)
    }

    /// An executor whose parameters have no values yet.
    pub fn idle(program: &'p Program, grid: [u32; 3], bounds: Option<&'p Bounds>) -> Executor<'p> {
        let mut blocks = Vec::new();
        blocks.resize_with(program.block_types.len(), Block::default);
        let mut executor = Executor {
            program,
            registers: vec![0; program.register_types.len()],
            blocks,
            queue: Queue::default(),
            accesses: Accesses::default(),
            pending: Vec::new(),
            bounds,
            grid,
            id: [0; 3],
            lanes: 0,
            printed: String::new(),
            span: Span::default(),
            watch: None,
            plan_state: None,
            ran: 0,
            stored: 0,
            streaming: false,
        };
        for &(register, bits) in &program.constants {
            executor.registers[register as usize] = bits;
        }
        executor
    }

    /// Executes what all programs have in common.
    pub fn begin(&mut self) -> Outcome {
        self.run(&self.program.prologue)?;
        self.flush();
        Ok(())
    }

    /// Executes one program.
    pub fn run_program(&mut self, id: [u32; 3]) -> Outcome {
        self.id = id;
        self.accesses.views.clear();
        let outcome = self.run(&self.program.body);
        match outcome {
            Ok(()) => self.flush(),
            // What was stored before the error is not: the arrays of a failed launch are undefined.
            Err(_) => self.discard(),
        }
        self.print_out();
        outcome
    }

    /// Executes instructions.
    pub fn run(&mut self, code: &'p [Instruction]) -> Outcome {
        for instruction in code {
            self.span = instruction.span;
            self.act(&instruction.action)?;
            for &slot in &instruction.ends {
                self.blocks[slot as usize] = Block::Empty;
            }
        }
        Ok(())
    }

    fn act(&mut self, action: &'p Action) -> Outcome {
        match action {
            Action::ProgramId { axis, out } => {
                self.registers[*out as usize] = u64::from(self.id[*axis as usize]);
            }
            Action::NumPrograms { axis, out } => {
                self.registers[*out as usize] = u64::from(self.grid[*axis as usize]);
            }
            Action::Arange { start, out } => {
                let block = affine::arange(*start, &self.program.ty(*out).extents);
                self.write(*out, block);
            }
            Action::Move { value, out } => match (value.place, *out) {
                (Place::Register(from), Place::Block(slot)) => {
                    self.blocks[slot as usize] = Block::Splat(self.registers[from as usize]);
                }
                _ => {
                    let block = self.take(*value);
                    self.write(*out, block);
                }
            },
            Action::Bitcast { value, out } => self.bitcast(*value, *out),
            Action::Scalar(operation) => self.scalar_operation(operation),
            Action::Elementwise(operation) => self.elementwise(operation),
            Action::AddPointer(operation) => self.add_pointer(operation),
            Action::Reshape(operation) => self.reshape(operation)?,
            Action::Join { lhs, rhs, out } => self.join(*lhs, *rhs, *out),
            Action::Concatenate { lhs, rhs, axis, out } => self.concatenate(*lhs, *rhs, *axis, *out),
            Action::Gather { source, indices, axis, out } => self.gather(*source, *indices, *axis, *out)?,
            Action::Histogram { value, mask, out } => self.histogram(*value, *mask, *out),
            Action::Load(load) => self.load(load)?,
            Action::Store(store) => self.store(store)?,
            Action::AtomicRmw(operation) => self.atomic_rmw(operation)?,
            Action::AtomicCas { pointer, expected, desired, out } => {
                self.atomic_cas(*pointer, *expected, *desired, *out)?;
            }
            Action::Dot(dot) => self.dot(dot),
            Action::Reduce(fold) => self.reduce(fold)?,
            Action::Scan(fold) => self.scan(fold)?,
            Action::Map(map) => self.map(map)?,
            Action::For(operation) => self.run_for(operation)?,
            Action::While(operation) => self.run_while(operation)?,
            Action::If(operation) => self.run_if(operation)?,
            Action::Print(print) => self.print(print),
            Action::Assert(assert) => self.assert(assert)?,
            Action::Plan(plan) => self.run_plan(plan)?,
            Action::Nothing => {}
        }
        Ok(())
    }

    /// An error if the launch shall stop.
    #[inline]
    pub fn go_on(&mut self) -> Outcome {
        if self.watch.as_mut().is_some_and(Watch::stops) { Err(Box::new(interruption())) } else { Ok(()) }
    }

    /// The error with a message about the current instruction.
    pub fn error(&self, reason: StopReason, message: String) -> Box<LaunchError> {
        Box::new(LaunchError { reason, message, span: self.span, program: self.id })
    }

    /// Elements of a value.
    pub fn count(&self, ty: &ValueType) -> usize {
        ty.count.unwrap_or(self.lanes)
    }

    /// A value without taking it. A scalar is copied to `scalar`.
    pub fn peek<'a>(&'a self, operand: Operand, scalar: &'a mut Block) -> &'a Block {
        match operand.place {
            Place::Register(register) => {
                *scalar = Block::Splat(self.registers[register as usize]);
                scalar
            }
            Place::Block(slot) => &self.blocks[slot as usize],
        }
    }

    /// A value, out of its slot if nothing reads it afterwards.
    pub fn take(&mut self, operand: Operand) -> Block {
        match operand.place {
            Place::Register(register) => Block::Splat(self.registers[register as usize]),
            Place::Block(slot) if operand.last => self.blocks[slot as usize].take(),
            Place::Block(slot) => self.blocks[slot as usize].clone(),
        }
    }

    /// A value that is not pending, out of its slot if nothing reads it afterwards.
    pub fn settled(&mut self, operand: Operand) -> Block {
        if let Place::Block(slot) = operand.place
            && matches!(self.blocks[slot as usize], Block::Pending(_))
        {
            self.flush();
        }
        self.take(operand)
    }

    /// A value as packed elements in a buffer.
    pub fn packed(&mut self, operand: Operand) -> (Strided, crate::buffer::Buffer) {
        let block = self.settled(operand);
        match self.pack(block, self.program.ty(operand.place)) {
            Block::Dense(strided, buffer) => (strided, buffer),
            _ => unreachable!("a packed block is dense"),
        }
    }

    /// Puts a value where it lives.
    pub fn write(&mut self, place: Place, block: Block) {
        match place {
            Place::Register(register) => {
                let ty = self.program.register_types[register as usize].scalar;
                self.registers[register as usize] = element(&block, ty);
            }
            Place::Block(slot) => {
                match block {
                    Block::Pending(_) => self.pending.push(slot),
                    Block::Memory(_) => {
                        if self.accesses.views.len() > LONGEST {
                            let blocks = &self.blocks;
                            self.accesses
                                .views
                                .retain(|&slot| matches!(blocks[slot as usize], Block::Memory(_)));
                        }
                        self.accesses.views.push(slot);
                    }
                    _ => {}
                }
                self.blocks[slot as usize] = block;
            }
        }
    }

    /// Makes the queue ready for blocks of `count` elements.
    pub fn open(&mut self, count: usize) {
        if self.queue.count != count || self.queue.nodes.len() >= LONGEST {
            self.flush();
            self.queue.count = count;
        }
    }

    /// Executes what is pending.
    pub fn flush(&mut self) {
        if self.queue.is_empty() {
            return;
        }
        self.pending.retain(|&slot| match self.blocks[slot as usize] {
            Block::Pending(node) => {
                self.queue.mark_live(node);
                true
            }
            _ => false,
        });
        // SAFETY: the caller of the launch vouches for the memory; `hazard` keeps conflicting nodes apart.
        unsafe { self.queue.execute() };
        for &slot in &self.pending {
            // A slot may be listed twice.
            let Block::Pending(node) = self.blocks[slot as usize] else { continue };
            let (address, buffer) = self.queue.result(node);
            let ty = &self.program.block_types[slot as usize];
            let strided = Strided::compact(address, &ty.extents, ty.width);
            self.blocks[slot as usize] = Block::Dense(strided, buffer);
        }
        self.pending.clear();
        self.queue.clear();
        self.accesses.clear();
    }

    /// Forgets what is pending.
    fn discard(&mut self) {
        self.queue.clear();
        self.accesses.clear();
        for slot in std::mem::take(&mut self.pending) {
            self.blocks[slot as usize] = Block::Empty;
        }
    }

    /// A block as packed elements in a buffer. It is not pending.
    pub fn pack(&mut self, block: Block, ty: &ValueType) -> Block {
        pack(block, ty, self.count(ty))
    }

    /// Appends the node that reads the sources made last.
    pub fn push(&mut self, work: Work, width: usize) -> u32 {
        let node = self.queue.push(work, width);
        self.accesses.read_by(node);
        node
    }

    /// A block as an operand of a node. The queue has been opened for its number of elements.
    pub fn source(&mut self, block: Block, ty: &ValueType) -> Source {
        let width = ty.width;
        match block {
            Block::Splat(bits) => Source::Splat(bits),
            Block::Pending(node) => Source::Node(node),
            Block::Affine(affine) => {
                let tile = Tile::new(&affine, &ty.extents, None);
                let tile = self.queue.add_tile(tile);
                Source::Node(self.queue.push(Work::Numbers(tile), width))
            }
            Block::Mask(bounds) => {
                let tile = mask_tile(&bounds, ty);
                let tile = self.queue.add_tile(tile);
                Source::Node(self.queue.push(Work::Truth(tile), width))
            }
            Block::Dense(strided, buffer) => {
                if strided.is_compact(&ty.extents, width) {
                    return self.queue.keep(strided.base, buffer);
                }
                let tile = Tile::new(&strided, &ty.extents, None);
                self.queue.keep(strided.base, buffer);
                let tile = self.queue.add_tile(tile);
                Source::Node(
                    self.queue.push(Work::Load { tile, mask: Source::None, other: Source::None }, width),
                )
            }
            Block::Memory(strided) => {
                let tile = Tile::new(&strided, &ty.extents, None);
                let range = tile.range(width).expect("a tile without a mask is not empty");
                let run = tile.is_run(width);
                let tile = self.queue.add_tile(tile);
                self.accesses.add_read(range, Some((tile, width)));
                if run {
                    return Source::Memory(strided.base as usize as *const u8);
                }
                Source::Node(
                    self.queue.push(Work::Load { tile, mask: Source::None, other: Source::None }, width),
                )
            }
            Block::Empty => unreachable!("a value is computed before it is used"),
        }
    }
}

impl Drop for Executor<'_> {
    fn drop(&mut self) {
        // Whoever is told that the launch is over sees all that it wrote.
        stream::finish();
    }
}

/// The only element of a block that is not pending.
pub fn element(block: &Block, ty: Scalar) -> u64 {
    match block {
        Block::Splat(bits) => scalar::canonical(*bits, ty),
        Block::Affine(affine) => affine.base as u64,
        Block::Mask(bounds) => u64::from(bounds.iter().all(|&(low, high)| low == 0 && high > 0)),
        // SAFETY: the block has an element there.
        Block::Dense(strided, _) | Block::Memory(strided) => unsafe {
            scalar::read(strided.base as usize as *const u8, ty)
        },
        Block::Empty | Block::Pending(_) => unreachable!("a scalar is never pending"),
    }
}

/// A block of `count` elements, packed in a buffer. It is not pending.
pub fn pack(block: Block, ty: &ValueType, count: usize) -> Block {
    if let Block::Dense(strided, _) = &block
        && strided.is_compact(&ty.extents, ty.width)
    {
        return block;
    }
    let buffer = crate::buffer::Buffer::new(count * ty.width);
    let out = buffer.data();
    // SAFETY: the buffer has room for the block; its elements are readable.
    unsafe {
        match &block {
            Block::Splat(bits) => fill::splat(out, ty.width, (&raw const *bits).cast(), count),
            Block::Affine(affine) => {
                fill::numbers(out, ty.width, &Tile::new(affine, &ty.extents, None), 0, count);
            }
            Block::Mask(bounds) => fill::truth(out, &mask_tile(bounds, ty), 0, count),
            Block::Dense(strided, _) | Block::Memory(strided) => {
                let tile = Tile::new(strided, &ty.extents, None);
                fill::load(out, ty.width, &tile, None, fill::Elements::ZERO, 0, count);
            }
            Block::Empty | Block::Pending(_) => unreachable!("only settled blocks are packed"),
        }
    }
    Block::Dense(Strided::compact(out as i64, &ty.extents, ty.width), buffer)
}

/// The tile of a box mask.
pub fn mask_tile(bounds: &crate::block::Bounds, ty: &ValueType) -> Tile {
    // Distinct strides would keep dimensions apart that a mask merges; equal ones of 0 merge wherever the box allows.
    let strided = Strided { base: 0, strides: PerAxis::filled(0, ty.extents.len()) };
    Tile::new(&strided, &ty.extents, Some(bounds))
}
