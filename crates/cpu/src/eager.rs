//! One operation at a time: a program whose parameters and results are blocks, executed on blocks that outlive it.
//!
//! An interpreter holds [`EagerBlock`]s between operations. They keep the representations of [`crate::block`], so
//! `pid * BLOCK + arange(0, BLOCK)` is three numbers here as well, and a load through it is a copy.

use crate::block::Block;
use crate::bounds::Bounds;
use crate::execute::{Executor, element, pack};
use crate::launch::{ArrayRange, LaunchError, StopReason, guarded};
use crate::program::{Place, Program, ValueType};
use tegula_ir::Type;

/// A scalar or a block that belongs to no launch. Its type is known to its owner.
///
/// It shares memory with others by a reference count that is not atomic: whoever moves it between threads must
/// see to it that no two of them use blocks at once.
#[derive(Clone, Debug)]
pub struct EagerBlock(Block);

impl EagerBlock {
    /// A block all of whose elements have these bits, or a scalar: integers sign- or zero-extended, floats as the bits of their type.
    pub fn splat(bits: u64) -> EagerBlock {
        EagerBlock(Block::Splat(bits))
    }

    /// The bits of a scalar, or of the only element of a block.
    pub fn bits(&self, ty: &Type) -> u64 {
        element(&self.0, ValueType::new(ty).scalar)
    }

    /// The same block with its elements packed in row-major order.
    pub fn packed(&self, ty: &Type) -> EagerBlock {
        EagerBlock(pack(self.0.clone(), &ValueType::new(ty), ty.shape.elements()))
    }

    /// The address of the first element of a packed block, which is valid as long as the block.
    pub fn address(&self) -> Option<usize> {
        match &self.0 {
            Block::Dense(strided, _) => Some(strided.base as usize),
            _ => None,
        }
    }
}

/// The memory that operations may access, made ready for many checks.
#[derive(Debug)]
pub struct Memory(Bounds);

impl Memory {
    /// The memory of the arrays of a launch.
    pub fn new(arrays: &[ArrayRange]) -> Memory {
        Memory(Bounds::new(arrays))
    }
}

/// Where an operation is executed.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    pub grid: [u32; 3],
    /// The program of the grid that the operation belongs to.
    pub program: [u32; 3],
    /// What accesses are checked against; `None` checks nothing.
    pub memory: Option<&'a Memory>,
}

/// What an operation came to.
#[derive(Debug)]
pub struct Evaluation {
    pub results: Vec<EagerBlock>,
    /// What it printed, whole lines.
    pub printed: String,
}

impl Program {
    /// Executes the program once, with a block for each parameter, and returns its results.
    ///
    /// # Errors
    /// What stopped it.
    ///
    /// # Safety
    /// Operands are of the parameters' types. Every address that is accessed and not masked must be valid, unless `setting` has the
    /// memory that accesses are checked against.
    pub unsafe fn evaluate<'b>(
        &self,
        operands: impl ExactSizeIterator<Item = &'b EagerBlock>,
        setting: &Setting<'_>,
    ) -> Result<Evaluation, LaunchError> {
        if operands.len() != self.parameters.len() {
            let message = format!("{} operands for {} parameters", operands.len(), self.parameters.len());
            return Err(LaunchError::outside(StopReason::Invalid, message));
        }
        guarded(|| {
            let mut executor = Executor::idle(self, setting.grid, setting.memory.map(|memory| &memory.0));
            executor.id = setting.program;
            for (&place, operand) in self.parameters.iter().zip(operands) {
                executor.write(place, operand.0.clone());
            }
            executor.begin().and_then(|()| executor.run(&self.body)).map_err(|error| *error)?;
            executor.flush();
            let results = self.results.iter().map(|&place| EagerBlock(executor.result(place))).collect();
            Ok(Evaluation { results, printed: std::mem::take(&mut executor.printed) })
        })
    }
}

impl Executor<'_> {
    /// A value that stays when the executor is gone: no longer in the caller's memory, which may change.
    fn result(&mut self, place: Place) -> Block {
        match place {
            Place::Register(register) => Block::Splat(self.registers[register as usize]),
            Place::Block(slot) => match self.blocks[slot as usize].clone() {
                memory @ Block::Memory(_) => self.pack(memory, self.program.ty(place)),
                block => block,
            },
        }
    }
}
