//! Tiles: filling shared memory with operands of products.

use super::emit::holds;
use super::{Lowering, Result};
use tegula_ir::{Element, Op, OpId, Value};
use tegula_layout::{Layout, SharedAccess, VectorAccess};
use tegula_ptx::{AsyncCopy, AsyncGroup, CacheOperator, Fence, Operand, Predicate, Register, Space, Type};

impl Lowering<'_> {
    /// A staged load that does not run ahead: the tile is filled, and waited for; outside of all else, as late as it is read.
    pub(super) fn load_staged(&mut self, id: OpId) -> Result<()> {
        let bytes = self.layouts.tile_of(id).map_or(0, |tile| tile.bytes);
        let base = self.room_for_tile(bytes);
        self.fill(id, base, None)?;
        self.tiles.insert(id, base);
        self.filling = true;
        if !self.function.region(self.function.body).ops.contains(&id) {
            self.finish_tiles();
        }
        Ok(())
    }

    /// Waits for the tiles that are being filled.
    pub(super) fn finish_tiles(&mut self) {
        if std::mem::take(&mut self.filling) {
            self.code.push(AsyncGroup::WaitAll);
            self.publish_tiles();
        }
    }

    /// Waits for the tiles that are being filled, before an operation that may read them. A loop whose own tiles come without the threads
    /// asks for those first.
    pub(super) fn finish_tiles_before(&mut self, id: OpId) {
        let op = &self.function.op(id).op;
        let asks_first = self.plan_of_loop(id).is_some_and(|plan| !plan.copies.is_empty());
        if matches!(op, Op::Dot { .. }) || !op.regions().is_empty() && !asks_first {
            self.finish_tiles();
        }
    }

    /// A tile with the elements of a value, wherever that is; zeros where its shape is padded.
    pub(super) fn store_to_tile(&mut self, value: Value, layout: &Layout, bytes: u32) -> Result<Register> {
        let base = self.room_for_tile(bytes);
        let (id, registers) = self.anywhere(value);
        let element = self.element(value);
        let shape = self.function.ty(value).shape.clone();
        let registers = self.zero_padding(id, &shape, element, registers);
        let access = SharedAccess::new(self.layouts.set.get(id), layout, element.bytes() * 8);
        let access = access.or_else(|error| self.refuse(&format!("an operand of a product ({error})")))?;
        self.store_shared(base, &access, element, &registers);
        self.publish_tiles();
        Ok(base)
    }

    /// The address of a tile, once nobody reads what was there.
    fn room_for_tile(&mut self, bytes: u32) -> Register {
        self.finish_products();
        if self.loop_depth > 0 {
            self.scratch.forget();
        }
        self.allocate_tiles(bytes)
    }

    /// What this thread has written to tiles can be read by all, and by the tensor cores.
    pub(super) fn publish_tiles(&mut self) {
        if self.target.architecture >= 90 {
            self.code.push(Fence::AsyncProxy { space: Some(Space::SharedCta) });
        }
        self.barrier();
    }

    /// Copies what a staged load reads to the tile at `base`, in the background if the addresses allow; nothing if `alive` is false.
    /// What is masked becomes zero.
    pub(super) fn fill(&mut self, id: OpId, base: Register, alive: Option<Register>) -> Result<()> {
        match self.layouts.tile_of(id).map(|tile| tile.layout.clone()) {
            Some(tile) => self.copy_to(id, base, alive, &tile),
            None => self.refuse("a load without a tile"),
        }
    }

    /// As [`Lowering::fill`], of a load that lies as the layout `tile` says.
    pub(super) fn copy_to(
        &mut self,
        id: OpId,
        base: Register,
        alive: Option<Register>,
        tile: &Layout,
    ) -> Result<()> {
        let function = self.function;
        let data = function.op(id);
        let Op::Load { pointer, mask, .. } = &data.op else { unreachable!("only loads are staged") };
        let element = self.element(data.results[0]);
        let layout = self.layouts.work[&id];
        let pointers = self.block(*pointer, layout);
        let masks = mask.map(|mask| self.block(mask, layout));
        let inside = self.inside(layout, &function.ty(*pointer).shape);
        let access = self.vectors(layout, *pointer, *mask)?;
        let Ok(to_offset) = self.layouts.set.get(layout).then(tile) else {
            return self.refuse("a tile of another shape");
        };
        let access = consecutive(&to_offset, access);
        let owner = self.is_owner(layout);
        let alive = self.code.both(alive, owner).map(holds);
        let addresses = self.shared_addresses_of(base, &to_offset, &access, element);
        for (instruction, address) in addresses.into_iter().enumerate() {
            let first = access.base(instruction as u64) as usize;
            let valid = self.code.both(masks.as_ref().map(|masks| masks[first]), inside[first]);
            let bytes = access.elements() * u64::from(element.bytes());
            let source = pointers[first].into();
            if bytes < 4 {
                let value = self.load_guarded(element, source, access.elements(), valid, alive);
                self.store_vector(Space::Shared, element, address, &value, alive, |store| store);
                continue;
            }
            let read = valid.map(|valid| {
                let all = Operand::Integer(bytes as i64);
                self.code.select(Type::U32, valid, all, Operand::Integer(0)).into()
            });
            let cache = if bytes == 16 { CacheOperator::Global } else { CacheOperator::All };
            let bytes = bytes as u8;
            let copy = AsyncCopy { cache, prefetch: None, dst: address, source, bytes, read, policy: None };
            self.code.push_if(alive, copy);
        }
        Ok(())
    }

    /// Elements of global memory, zero where they are not valid; undefined unless `alive`.
    fn load_guarded(
        &mut self,
        element: Element,
        address: tegula_ptx::Address,
        count: u64,
        valid: Option<Register>,
        alive: Option<Predicate>,
    ) -> Vec<Register> {
        let guard = self.code.both(valid, alive.map(|alive| alive.register));
        let zeros = vec![self.zero(element); count as usize];
        let guard = guard.map(|guard| (holds(guard), Some(&zeros[..])));
        self.load_vector(Space::Global, element, address, count as usize, guard, |load| load)
    }
}

/// The vectors of an access of global memory, cut where they are not consecutive in the tile.
fn consecutive(to_offset: &Layout, access: VectorAccess) -> VectorAccess {
    let columns = to_offset.columns_of(tegula_layout::Dim::Register);
    let offset = |register: u64| tegula_layout::span::multiply(columns, register);
    let fits = access.within.iter().enumerate();
    let fitting = fits.take_while(|&(bit, &register)| offset(register) == 1 << bit).count();
    let VectorAccess { mut within, mut between, copies } = access;
    between.extend(within.drain(fitting..));
    VectorAccess { within, between, copies }
}
