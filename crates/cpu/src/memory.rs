//! Loads and stores: of registers at once, of blocks as views of memory or as nodes of the queue.

use crate::block::Block;
use crate::execute::{Executor, Outcome};
use crate::hazard::EVERYWHERE;
use crate::per_axis::PerAxis;
use crate::program::{Load, Operand, Place, Store, ValueType};
use crate::queue::{Source, Work};
use crate::scalar;
use crate::strided::{Strided, Tile};

/// What a mask says without its elements.
enum Masked {
    /// Every element is inside.
    Full,
    /// No element is inside.
    Nothing,
    /// Those within a box.
    Box(crate::block::Bounds),
    /// Each by itself.
    Elements,
}

impl Executor<'_> {
    fn masked(&self, mask: Option<Operand>) -> Masked {
        let Some(mask) = mask else { return Masked::Full };
        let mut scalar = Block::Empty;
        match self.peek(mask, &mut scalar) {
            Block::Splat(0) => Masked::Nothing,
            Block::Splat(_) => Masked::Full,
            Block::Mask(bounds) => Masked::Box(bounds.clone()),
            _ => Masked::Elements,
        }
    }

    /// The addresses of a pointer block, if they are a linear function of the index.
    fn addresses(&self, pointer: Operand) -> Option<Strided> {
        let mut scalar = Block::Empty;
        match self.peek(pointer, &mut scalar) {
            Block::Splat(address) => {
                let rank = self.program.ty(pointer.place).extents.len();
                Some(Strided { base: *address as i64, strides: PerAxis::filled(0, rank) })
            }
            Block::Affine(affine) => Some(affine.clone()),
            _ => None,
        }
    }

    pub fn load(&mut self, load: &Load) -> Outcome {
        let ty = self.program.ty(load.out);
        let masked = self.masked(load.mask);
        if matches!(masked, Masked::Nothing) {
            let block = match load.other {
                Some(other) => self.settled(other),
                None => Block::Splat(0),
            };
            self.drop_last(load.pointer);
            self.write(load.out, block);
            return Ok(());
        }
        if self.bounds.is_some() {
            self.check_access("load", load.pointer, load.mask, ty)?;
        }
        let Some(strided) = self.addresses(load.pointer) else {
            self.load_gathered(load, ty);
            return Ok(());
        };
        self.drop_last(load.pointer);
        match masked {
            Masked::Full => {
                let (low, high) = strided.extremes(&ty.extents).unwrap_or(EVERYWHERE);
                self.before_read((low, high.saturating_add(ty.width as i64)));
                if let Some(other) = load.other {
                    self.drop_last(other);
                }
                if let Place::Register(out) = load.out {
                    // SAFETY: the caller of the launch vouches for the address.
                    self.registers[out as usize] =
                        unsafe { scalar::read(strided.base as usize as *const u8, ty.scalar) };
                    return Ok(());
                }
                self.write(load.out, Block::Memory(strided));
                Ok(())
            }
            _ => {
                let bounds = match masked {
                    Masked::Box(bounds) => Some(bounds),
                    _ => None,
                };
                let tile = Tile::new(&strided, &ty.extents, bounds.as_deref());
                self.load_masked(load, ty, tile, bounds.is_none());
                Ok(())
            }
        }
    }

    /// A load of what is inside of the tile's box, and where the mask's elements say so if `by_elements`.
    fn load_masked(&mut self, load: &Load, ty: &ValueType, tile: Tile, by_elements: bool) {
        if let Some(range) = tile.range(ty.width) {
            self.before_read(range);
        }
        self.open(self.count(ty));
        let mask = self.mask_source(load.mask.filter(|_| by_elements));
        let other = self.other_source(load.other, ty);
        let range = tile.range(ty.width);
        let tile = self.queue.add_tile(tile);
        if let Some(range) = range {
            self.accesses.add_read(range, Some((tile, ty.width)));
        }
        let node = self.push(Work::Load { tile, mask, other }, ty.width);
        self.write(load.out, Block::Pending(node));
    }

    fn load_gathered(&mut self, load: &Load, ty: &ValueType) {
        self.before_read(EVERYWHERE);
        self.open(self.count(ty));
        let pointer_ty = self.program.ty(load.pointer.place);
        let block = self.take(load.pointer);
        let pointers = self.source(block, pointer_ty);
        let mask = self.mask_source(load.mask);
        let other = self.other_source(load.other, ty);
        self.accesses.add_read(EVERYWHERE, None);
        let node = self.push(Work::Gather { pointers, mask, other }, ty.width);
        self.write(load.out, Block::Pending(node));
    }

    /// A mask as an operand of a node; all ones are no mask.
    fn mask_source(&mut self, mask: Option<Operand>) -> Source {
        let Some(mask) = mask else { return Source::None };
        let ty = self.program.ty(mask.place);
        match self.take(mask) {
            Block::Splat(bits) if bits != 0 => Source::None,
            block => self.source(block, ty),
        }
    }

    fn other_source(&mut self, other: Option<Operand>, ty: &ValueType) -> Source {
        let Some(other) = other else { return Source::None };
        let block = self.take(other);
        self.source(block, ty)
    }

    pub fn store(&mut self, store: &Store) -> Outcome {
        let ty = self.program.ty(store.value.place);
        let masked = self.masked(store.mask);
        if matches!(masked, Masked::Nothing) {
            self.drop_last(store.pointer);
            self.drop_last(store.value);
            return Ok(());
        }
        if self.bounds.is_some() {
            self.check_access("store", store.pointer, store.mask, ty)?;
        }
        let Some(strided) = self.addresses(store.pointer) else {
            self.store_scattered(store, ty);
            return Ok(());
        };
        self.drop_last(store.pointer);
        let bounds = match &masked {
            Masked::Box(bounds) => Some(bounds),
            _ => None,
        };
        let tile = Tile::new(&strided, &ty.extents, bounds.map(|bounds| &bounds[..]));
        let Some(range) = tile.range(ty.width) else { return Ok(()) };
        if let (Place::Register(value), Masked::Full) = (store.value.place, &masked) {
            self.before_immediate_write(range);
            // SAFETY: the caller of the launch vouches for the address.
            unsafe {
                scalar::write(strided.base as usize as *mut u8, ty.width, self.registers[value as usize])
            };
            return Ok(());
        }
        self.open(self.count(ty));
        let direct_after = self.before_write(range, Some((&tile, ty.width)));
        let by_elements = matches!(masked, Masked::Elements);
        let mask = self.mask_source(store.mask.filter(|_| by_elements));
        let block = self.take(store.value);
        let value = self.source(block, ty);
        self.accesses.add_write(range);
        let tile = self.queue.add_tile(tile);
        self.push(Work::Store { tile, value, mask, direct_after }, ty.width);
        Ok(())
    }

    fn store_scattered(&mut self, store: &Store, ty: &ValueType) {
        self.open(self.count(ty));
        self.before_write(EVERYWHERE, None);
        let pointer_ty = self.program.ty(store.pointer.place);
        let block = self.take(store.pointer);
        let pointers = self.source(block, pointer_ty);
        let mask = self.mask_source(store.mask);
        let block = self.take(store.value);
        let value = self.source(block, ty);
        self.accesses.add_write(EVERYWHERE);
        self.push(Work::Scatter { pointers, value, mask }, ty.width);
    }
}
