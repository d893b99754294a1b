//! Loads that each thread fetches ahead for itself: by `cp.async` to places of its own in shared memory, which it reads when they are due.
//!
//! Where other threads want what a thread fetches, it copies to a block instead, which is read once all have met.
//!
//! The places of one instruction's vectors are neighbours, so neither access has bank conflicts. No thread reads what another
//! wrote: a thread waits for its own copies alone.

use super::emit::holds;
use super::{Lowering, Result};
use tegula_ir::{Op, OpId};
use tegula_layout::{Layout, SharedAccess};
use tegula_ptx::{Address, AsyncCopy, CacheOperator, Operand, Register, Space, Type};

impl Lowering<'_> {
    /// Copies what a load reads to this thread's places from `base` on; nothing if `alive` is false. What is masked becomes zero.
    pub(super) fn fetch_private(&mut self, id: OpId, base: Register, alive: Register) -> Result<()> {
        let function = self.function;
        let data = function.op(id);
        let Op::Load { pointer, mask, .. } = &data.op else { unreachable!("only loads are fetched") };
        let element_bytes = u64::from(self.element(data.results[0]).bytes());
        let layout = self.layouts.work[&id];
        let pointers = self.block(*pointer, layout);
        let masks = mask.map(|mask| self.block(mask, layout));
        let inside = self.inside(layout, &function.ty(*pointer).shape);
        let access = self.vectors(layout, *pointer, *mask)?;
        let bytes = access.elements() * element_bytes;
        let own = self.own_place(base, bytes);
        for instruction in 0..access.instructions() {
            let first = access.base(instruction) as usize;
            let valid = self.code.both(masks.as_ref().map(|masks| masks[first]), inside[first]);
            let read = valid.map(|valid| {
                let all = Operand::Integer(bytes as i64);
                self.code.select(Type::U32, valid, all, Operand::Integer(0)).into()
            });
            let copy = AsyncCopy {
                cache: if bytes == 16 { CacheOperator::Global } else { CacheOperator::All },
                prefetch: None,
                dst: self.place_of(own, instruction, bytes),
                source: pointers[first].into(),
                bytes: bytes as u8,
                read,
                policy: None,
            };
            self.code.push_if(Some(holds(alive)), copy);
        }
        Ok(())
    }

    /// Reads what was fetched for a load from `base` on.
    pub(super) fn read_private(&mut self, id: OpId, base: Register) -> Result<()> {
        let data = self.function.op(id);
        let Op::Load { pointer, mask, .. } = &data.op else { unreachable!("only loads are fetched") };
        let result = data.results[0];
        let element = self.element(result);
        let layout = self.layouts.work[&id];
        let access = self.vectors(layout, *pointer, *mask)?;
        let count = access.elements();
        let bytes = count * u64::from(element.bytes());
        let own = self.own_place(base, bytes);
        let mut registers: Vec<Option<Register>> = vec![None; self.layouts.set.registers(layout)];
        for instruction in 0..access.instructions() {
            let first = access.base(instruction);
            let address = self.place_of(own, instruction, bytes);
            let loaded = self.load_vector(Space::Shared, element, address, count as usize, None, |load| load);
            for (index, value) in (0..count).zip(loaded) {
                registers[(first ^ access.element(index)) as usize] = Some(value);
            }
        }
        let registers: Option<Vec<Register>> = registers.into_iter().collect();
        let registers = registers.expect("canonical layouts have no copies, so vectors cover all registers");
        self.define_block(result, layout, registers)
    }

    /// Reads what was fetched for a load to a block at `base`, in all layouts in which it is wanted.
    pub(super) fn read_exchanged(&mut self, id: OpId, base: Register, block: &Layout) -> Result<()> {
        let result = self.function.op(id).results[0];
        let element = self.element(result);
        let mut wanted = self.layouts.wanted[result.0 as usize].clone();
        wanted.extend(self.layouts.home_of(result).filter(|home| !wanted.contains(home)));
        for target in wanted {
            let access = SharedAccess::new(self.layouts.set.get(target), block, element.bytes() * 8);
            let access = access.or_else(|error| self.refuse(&format!("a load of a loop ({error})")))?;
            let registers = self.load_shared(base, &access, element);
            self.blocks.insert((result, target), registers);
        }
        Ok(())
    }

    fn own_place(&mut self, base: Register, bytes: u64) -> Register {
        let thread = self.thread();
        self.scratch_address(base, thread, bytes)
    }

    fn place_of(&self, own: Register, instruction: u64, bytes: u64) -> Address {
        Address::register(own, (instruction * self.threads() * bytes) as i32)
    }
}
