//! At least one instruction of every form, with registers and constants chosen by a seed.

mod arithmetic;
mod asynchronous;
mod memory;
mod synchronous;

use smallvec::SmallVec;
use tegula_ptx::{Address, Class, Instruction, Operand, Predicate, Register};

/// Registers of each class that the catalogue uses.
pub const REGISTERS: u32 = 160;

/// Every form, with choices that follow from the seed.
pub fn catalogue(seed: u64) -> Vec<Instruction> {
    let mut pick = Pick { state: seed };
    let mut all = Vec::new();
    arithmetic::push(&mut pick, &mut all);
    memory::push(&mut pick, &mut all);
    synchronous::push(&mut pick, &mut all);
    asynchronous::push(&mut pick, &mut all);
    all
}

/// A source of choices.
pub struct Pick {
    state: u64,
}

impl Pick {
    /// A number below the limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        // The generator of Knuth's MMIX; its high bits are the good ones.
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.state >> 33) % limit
    }

    /// Whether, one time in two.
    pub fn flip(&mut self) -> bool {
        self.below(2) == 0
    }

    pub fn register(&mut self, class: Class) -> Register {
        // Few of each, for all may be live at once beside the largest accumulator.
        Register { class, index: self.below(16) as u32 }
    }

    pub fn p(&mut self) -> Register {
        self.register(Class::Pred)
    }

    pub fn h(&mut self) -> Register {
        self.register(Class::Bits16)
    }

    pub fn r(&mut self) -> Register {
        self.register(Class::Bits32)
    }

    pub fn d(&mut self) -> Register {
        self.register(Class::Bits64)
    }

    /// Registers that differ.
    pub fn several<C: FromIterator<Register>>(&mut self, class: Class, count: u32) -> C {
        let first = self.below(u64::from(REGISTERS - count)) as u32;
        (first..first + count).map(|index| Register { class, index }).collect()
    }

    pub fn guard(&mut self) -> Predicate {
        Predicate { register: self.p(), negated: self.flip() }
    }

    /// A register of the class, or a small number.
    pub fn integer(&mut self, class: Class) -> Operand {
        if self.flip() { self.register(class).into() } else { Operand::Integer(self.below(100) as i64 - 20) }
    }

    /// A 32-bit register, or a number from 1 to 31.
    pub fn small(&mut self) -> Operand {
        if self.flip() { self.r().into() } else { Operand::Integer(1 + self.below(31) as i64) }
    }

    /// A single-precision number or register.
    pub fn single(&mut self) -> Operand {
        if self.flip() { self.r().into() } else { Operand::from(self.below(1000) as f32 / 7.0) }
    }

    /// A double-precision number or register.
    pub fn double(&mut self) -> Operand {
        if self.flip() { self.d().into() } else { Operand::from(self.below(1000) as f64 / 7.0) }
    }

    /// An address in a 64-bit register.
    pub fn wide_address(&mut self) -> Address {
        let offset = 32 * (self.below(64) as i32 - 32);
        Address::register(self.d(), offset)
    }

    /// An address of shared memory.
    pub fn shared_address(&mut self) -> Address {
        let offset = 128 * self.below(64) as i32;
        if self.below(4) == 0 { Address::symbol("tile", offset) } else { Address::register(self.r(), offset) }
    }

    /// A policy of the second-level cache, or none.
    pub fn policy(&mut self) -> Option<Register> {
        if self.flip() { Some(self.d()) } else { None }
    }

    /// Coordinates of a tensor.
    pub fn coordinates(&mut self, count: usize) -> SmallVec<[Operand; 5]> {
        (0..count).map(|_| self.integer(Class::Bits32)).collect()
    }
}
