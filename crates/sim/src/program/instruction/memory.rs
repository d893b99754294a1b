//! Loads, stores and atomic operations.

use crate::program::build::{Builder, access_space, strength};
use crate::program::integer::{is_signed, mask, unary};
use crate::program::{AtomicAccess, Operation};
use tegula_ptx::{ClusterAddress, Instruction, Load, Operand, Store, Type};

impl Builder {
    pub(super) fn memory(&mut self, instruction: &Instruction) -> Option<Operation> {
        match instruction {
            Instruction::Load(load) => self.load(load),
            Instruction::Store(store) => self.store(store),
            Instruction::PrefetchLine(_) => Some(Operation::Nothing),
            // A policy has no effect here; its register has a value.
            Instruction::CreatePolicy(policy) => {
                Some(self.lanes(unary(|_| 0), &[(policy.fraction, 32)], policy.dst))
            }
            Instruction::ClusterAddress(ClusterAddress::Map { ty, dst, address, rank }) => {
                let (address, rank) = (self.read_register(*address), self.read(*rank, 32));
                Some(Operation::MapAddress {
                    dst: self.write(*dst),
                    address,
                    rank,
                    generic: *ty == Type::U64,
                })
            }
            Instruction::ClusterAddress(ClusterAddress::Rank { dst, address, .. }) => {
                let function = unary(|address| address >> crate::program::RANK_SHIFT & 0xff);
                Some(self.lanes(function, &[((*address).into(), 64)], *dst))
            }
            Instruction::Atomic(atomic) => {
                if atomic.ty == Type::B128 {
                    return None;
                }
                let place = self.place(&atomic.address);
                let bits = atomic.ty.bits();
                let values = atomic.values.iter().map(|&value| self.read(value, bits)).collect();
                let replacement = atomic.replacement.map(|value| self.read(value, bits));
                let dst = atomic.dst.iter().map(|&dst| self.write(dst)).collect();
                Some(Operation::Atomic(Box::new(AtomicAccess {
                    space: access_space(atomic.space),
                    place,
                    op: atomic.op,
                    ty: atomic.ty,
                    dst,
                    values,
                    replacement,
                    strength: strength(atomic.ordering, true),
                })))
            }
            Instruction::Reduce(reduce) => {
                if reduce.ty == Type::B128 {
                    return None;
                }
                let place = self.place(&reduce.address);
                let bits = reduce.ty.bits();
                let values = reduce.values.iter().map(|&value| self.read(value, bits)).collect();
                Some(Operation::Atomic(Box::new(AtomicAccess {
                    space: access_space(reduce.space),
                    place,
                    op: reduce.op,
                    ty: reduce.ty,
                    dst: Default::default(),
                    values,
                    replacement: None,
                    strength: strength(reduce.ordering, true),
                })))
            }
            _ => None,
        }
    }

    fn load(&mut self, load: &Load) -> Option<Operation> {
        let mut access = self.access(load.space, load.ordering, load.ty, &load.address)?;
        access.values = load.dst.iter().map(|&dst| self.write(dst)).collect();
        let width = load.dst.first()?.class.declared().bits();
        access.sign_extend = (is_signed(load.ty) && width > load.ty.bits()).then_some(width);
        Some(Operation::Load(access))
    }

    fn store(&mut self, store: &Store) -> Option<Operation> {
        let mut access = self.access(store.space, store.ordering, store.ty, &store.address)?;
        let bits = store.ty.bits();
        let narrow = |value: Operand| match value {
            Operand::Float32(value) => Operand::Integer(i64::from(value) & mask(bits) as i64),
            other => other,
        };
        access.values = store.values.iter().map(|&value| self.read(narrow(value), bits)).collect();
        Some(Operation::Store(access))
    }
}
