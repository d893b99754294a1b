//! Shared memory: a scratch area that operations share one after the other.
//!
//! An operation that passes elements between threads writes them, waits, and reads them. Nothing outlives its operation, so all
//! begin at the same place and the largest decides the size. Before writing, an operation waits until all threads
//! have read what the one before left there, unless a barrier has passed since.

use super::{Lowering, SHARED};
use tegula_ptx::{Barrier, MathOp, Move, Operand, Register, Type};

#[derive(Clone, Copy, Default)]
pub(super) struct Scratch {
    bytes: u32,
    base: Option<Register>,
    /// Whether some thread may still read the area.
    busy: bool,
}

impl Scratch {
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Goes back to what was true before a branch; the size stays.
    pub fn restore(&mut self, before: Scratch) {
        self.busy = before.busy;
    }

    /// Where control joins, another way may have left reads behind.
    pub fn forget(&mut self) {
        self.busy = true;
    }
}

impl Lowering<'_> {
    /// All threads of the block wait for one another.
    pub(super) fn barrier(&mut self) {
        self.code.push(Barrier::block());
        self.scratch.busy = false;
    }

    /// The address of the scratch area, once it may be written; it has at least so many bytes.
    pub(super) fn begin_scratch(&mut self, bytes: u64) -> super::Result<Register> {
        // More than any GPU has. What one has is known to the launch alone.
        if bytes > 1 << 20 {
            return self.refuse(&format!("an operation that needs {bytes} bytes of shared memory"));
        }
        self.scratch.bytes = self.scratch.bytes.max((bytes as u32).next_multiple_of(16));
        if self.scratch.busy {
            self.barrier();
        }
        Ok(self.scratch_base())
    }

    fn scratch_base(&mut self) -> Register {
        if let Some(base) = self.scratch.base {
            return base;
        }
        let base = self.code.in_prologue(|code| {
            let dst = code.fresh(tegula_ptx::Class::Bits32);
            code.push(Move::AddressOf { ty: Type::U32, dst, symbol: SHARED.into() });
            dst
        });
        self.scratch.base = Some(base);
        base
    }

    /// Everything is written: what was written can be read.
    pub(super) fn publish_scratch(&mut self) {
        self.barrier();
        self.scratch.busy = true;
    }

    /// `base + index * bytes`.
    pub(super) fn scratch_address(&mut self, base: Register, index: Register, bytes: u64) -> Register {
        let offset = self.code.multiply(Type::U32, index.into(), Operand::Integer(bytes as i64));
        self.code.math(MathOp::Add, Type::U32, &[base.into(), offset.into()])
    }
}
