//! Slots for the registers, constants and special registers of a function.

use super::{PredicateSlot, Slot};
use rustc_hash::FxHashMap;
use tegula_ptx::{Class, Function, Operand, Register, Special};

/// Hands out slots.
#[derive(Debug)]
pub struct Registers {
    /// The first slot of each class of words.
    first: [u32; 5],
    declared: [u32; 5],
    slots: u32,
    predicates: u32,
    constants: FxHashMap<u64, Slot>,
    constant_predicates: [Option<PredicateSlot>; 2],
    specials: FxHashMap<Special, Slot>,
    data: FxHashMap<u64, Slot>,
    shared: FxHashMap<u32, Slot>,
}

impl Registers {
    pub fn new(function: &Function) -> Registers {
        let mut first = [0; 5];
        let mut slots = 0;
        for class in [Class::Bits16, Class::Bits32, Class::Bits64] {
            first[class as usize] = slots;
            slots += function.registers[class as usize];
        }
        Registers {
            first,
            declared: function.registers,
            slots,
            predicates: function.registers[Class::Pred as usize],
            constants: FxHashMap::default(),
            constant_predicates: [None; 2],
            specials: FxHashMap::default(),
            data: FxHashMap::default(),
            shared: FxHashMap::default(),
        }
    }

    fn fresh(&mut self) -> Slot {
        self.slots += 1;
        self.slots - 1
    }

    /// Whether a register is declared, and of a class that has slots.
    pub fn knows(&self, register: Register) -> bool {
        register.class != Class::Bits128 && register.index < self.declared[register.class as usize]
    }

    /// The slot of a register of words.
    pub fn word(&self, register: Register) -> Slot {
        self.first[register.class as usize] + register.index
    }

    /// A row that holds a number.
    pub fn constant(&mut self, value: u64) -> Slot {
        if let Some(&slot) = self.constants.get(&value) {
            return slot;
        }
        let slot = self.fresh();
        self.constants.insert(value, slot);
        slot
    }

    /// A row that holds a special register.
    pub fn special(&mut self, special: Special) -> Slot {
        if let Some(&slot) = self.specials.get(&special) {
            return slot;
        }
        let slot = self.fresh();
        self.specials.insert(special, slot);
        slot
    }

    /// A row that holds the address of module data.
    pub fn data(&mut self, offset: u64) -> Slot {
        if let Some(&slot) = self.data.get(&offset) {
            return slot;
        }
        let slot = self.fresh();
        self.data.insert(offset, slot);
        slot
    }

    /// A row that holds an address of the block's own shared memory.
    pub fn shared(&mut self, offset: u32) -> Slot {
        if let Some(&slot) = self.shared.get(&offset) {
            return slot;
        }
        let slot = self.fresh();
        self.shared.insert(offset, slot);
        slot
    }

    /// The slot of an operand of so many bits; immediates are cut to them.
    pub fn operand(&mut self, operand: Operand, bits: u32) -> Slot {
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        match operand {
            Operand::Register(register) => self.word(register),
            Operand::Integer(value) => self.constant(value as u64 & mask),
            Operand::Float32(bits) => self.constant(u64::from(bits)),
            // As the assembler does, to the type of the instruction.
            Operand::Float64(value) if bits == 32 => {
                self.constant(u64::from((f64::from_bits(value) as f32).to_bits()))
            }
            Operand::Float64(bits) => self.constant(bits),
            Operand::Special(special) => self.special(special),
        }
    }

    /// A predicate that always or never holds.
    pub fn constant_predicate(&mut self, value: bool) -> PredicateSlot {
        let predicates = &mut self.predicates;
        *self.constant_predicates[usize::from(value)].get_or_insert_with(|| {
            *predicates += 1;
            *predicates - 1
        })
    }

    /// The slot of a predicate operand.
    pub fn predicate(&mut self, operand: Operand) -> PredicateSlot {
        match operand {
            Operand::Register(register) => register.index,
            Operand::Integer(value) => self.constant_predicate(value != 0),
            _ => self.constant_predicate(true),
        }
    }

    pub fn slots(&self) -> u32 {
        self.slots
    }

    pub fn predicates(&self) -> u32 {
        self.predicates
    }

    pub fn constants(&self) -> Vec<(Slot, u64)> {
        self.constants.iter().map(|(&value, &slot)| (slot, value)).collect()
    }

    pub fn constant_predicates(&self) -> Vec<(PredicateSlot, bool)> {
        let each = [false, true].into_iter().zip(self.constant_predicates);
        each.filter_map(|(value, slot)| Some((slot?, value))).collect()
    }

    pub fn specials(&self) -> Vec<(Slot, Special)> {
        self.specials.iter().map(|(&special, &slot)| (slot, special)).collect()
    }

    pub fn data_addresses(&self) -> Vec<(Slot, u64)> {
        self.data.iter().map(|(&offset, &slot)| (slot, offset)).collect()
    }

    pub fn shared_addresses(&self) -> Vec<(Slot, u32)> {
        self.shared.iter().map(|(&offset, &slot)| (slot, offset)).collect()
    }
}
