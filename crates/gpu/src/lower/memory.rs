//! Loads and stores of global memory.
//!
//! A thread's registers are grouped into vectors as the layout and what is known of the addresses allow. A
//! scalar is loaded by every thread, and stored by the first.

use super::emit::holds;
use super::{Lowering, Registers, Result};
use crate::layouts::{LayoutId, vector_access};
use std::rc::Rc;
use tegula_ir::{CacheModifier, EvictionPolicy, Op, OpId, Value};
use tegula_layout::VectorAccess;
use tegula_ptx::{Address, CacheOperator, Eviction, Load, Ordering, Register, Scope, Space, Store};

impl Lowering<'_> {
    pub(super) fn load(&mut self, id: OpId) -> Result<()> {
        let function = self.function;
        let data = function.op(id);
        let Op::Load { pointer, mask, other, cache, eviction, volatile } = &data.op else {
            unreachable!("called for loads")
        };
        if self.layouts.tile_of(id).is_some() {
            return self.load_staged(id);
        }
        let result = data.results[0];
        let element = self.element(result);
        let (cache, eviction, volatile) = (*cache, *eviction, *volatile);
        let complete = move |load: Load| complete_load(load, cache, eviction, volatile);
        let Some(&layout) = self.layouts.work.get(&id) else {
            let address = Address::from(self.scalar(*pointer));
            let other = other.map(|other| [self.scalar(other)]);
            let guard = mask.map(|mask| (holds(self.scalar(mask)), other.as_ref().map(|other| &other[..])));
            let value = self.load_vector(Space::Global, element, address, 1, guard, complete)[0];
            self.scalars.insert(result, value);
            return Ok(());
        };
        let pointers = self.block(*pointer, layout);
        let masks = mask.map(|mask| self.block(mask, layout));
        let others = other.map(|other| self.block(other, layout));
        let inside = self.inside(layout, &function.ty(*pointer).shape);
        let access = self.vectors(layout, *pointer, *mask)?;
        let mut registers: Vec<Option<Register>> = vec![None; pointers.len()];
        for instruction in 0..access.instructions() {
            let first = access.base(instruction) as usize;
            let guard = self.code.both(masks.as_ref().map(|masks| masks[first]), inside[first]);
            let members: Vec<usize> =
                (0..access.elements()).map(|index| first ^ access.element(index) as usize).collect();
            let replaced: Option<Vec<Register>> =
                others.as_ref().map(|others| members.iter().map(|&member| others[member]).collect());
            let guard = guard.map(|guard| (holds(guard), replaced.as_deref()));
            let address = Address::from(pointers[first]);
            let loaded = self.load_vector(Space::Global, element, address, members.len(), guard, complete);
            for (&member, value) in members.iter().zip(loaded) {
                registers[member] = Some(value);
            }
        }
        let registers: Option<Registers> = registers.into_iter().collect();
        let registers = registers.expect("canonical layouts have no copies, so vectors cover all registers");
        self.define(result, layout, registers)
    }

    pub(super) fn store(&mut self, id: OpId) -> Result<()> {
        let function = self.function;
        let Op::Store { pointer, value, mask, cache, eviction } = &function.op(id).op else {
            unreachable!("called for stores")
        };
        let element = self.element(*value);
        let (cache, eviction) = (*cache, *eviction);
        let complete = move |store: Store| complete_store(store, cache, eviction);
        let Some(&layout) = self.layouts.work.get(&id) else {
            let first = self.is_first_thread();
            let guard = self.code.both(Some(first), mask.map(|mask| self.scalar(mask)));
            let address = Address::from(self.scalar(*pointer));
            let value = [self.scalar(*value)];
            self.store_vector(Space::Global, element, address, &value, guard.map(holds), complete);
            return Ok(());
        };
        let pointers = self.block(*pointer, layout);
        let values = self.block(*value, layout);
        let masks = mask.map(|mask| self.block(mask, layout));
        let inside = self.inside(layout, &function.ty(*pointer).shape);
        let owner = self.is_owner(layout);
        let access = self.vectors(layout, *pointer, *mask)?;
        for instruction in 0..access.instructions() {
            let first = access.base(instruction) as usize;
            let guard = self.code.both(masks.as_ref().map(|masks| masks[first]), inside[first]);
            let guard = self.code.both(guard, owner).map(holds);
            let elements: Vec<Register> =
                (0..access.elements()).map(|index| values[first ^ access.element(index) as usize]).collect();
            let address = Address::from(pointers[first]);
            self.store_vector(Space::Global, element, address, &elements, guard, complete);
        }
        Ok(())
    }

    /// How a thread's registers are grouped into accesses.
    pub(super) fn vectors(
        &self,
        layout: LayoutId,
        pointer: Value,
        mask: Option<Value>,
    ) -> Result<VectorAccess> {
        let layout = self.layouts.set.get(layout);
        let access = vector_access(self.function, &self.axis, layout, pointer, mask);
        access.or_else(|error| self.refuse(&format!("an access of memory ({error})")))
    }

    /// Scalars and copies of blocks.
    pub(super) fn define_block(
        &mut self,
        value: Value,
        layout: LayoutId,
        registers: Vec<Register>,
    ) -> Result<()> {
        self.define(value, layout, Rc::from(registers))
    }
}

fn complete_load(load: Load, cache: CacheModifier, eviction: EvictionPolicy, volatile: bool) -> Load {
    if volatile {
        // Volatile accesses take no cache operator.
        return Load { ordering: Some(Ordering::Volatile), scope: None, ..load };
    }
    let cache = cache_operator(cache, false);
    let eviction = if cache.is_some() { None } else { eviction_of(eviction) };
    Load { cache, eviction, ..load }
}

fn complete_store(store: Store, cache: CacheModifier, eviction: EvictionPolicy) -> Store {
    let cache = cache_operator(cache, true);
    let eviction = if cache.is_some() { None } else { eviction_of(eviction) };
    Store { cache, eviction, ..store }
}

fn cache_operator(cache: CacheModifier, stores: bool) -> Option<CacheOperator> {
    match cache {
        CacheModifier::Global => Some(CacheOperator::Global),
        CacheModifier::Streaming => Some(CacheOperator::Streaming),
        CacheModifier::All if !stores => Some(CacheOperator::All),
        CacheModifier::Volatile if !stores => Some(CacheOperator::Volatile),
        CacheModifier::WriteBack if stores => Some(CacheOperator::WriteBack),
        CacheModifier::WriteThrough if stores => Some(CacheOperator::WriteThrough),
        _ => None,
    }
}

fn eviction_of(eviction: EvictionPolicy) -> Option<Eviction> {
    match eviction {
        EvictionPolicy::Normal => None,
        EvictionPolicy::First => Some(Eviction::First),
        EvictionPolicy::Last => Some(Eviction::Last),
    }
}

/// The threads among which an atomic is atomic.
pub(super) fn scope_of(scope: tegula_ir::AtomicScope) -> Scope {
    match scope {
        tegula_ir::AtomicScope::Block => Scope::Cta,
        tegula_ir::AtomicScope::Gpu => Scope::Gpu,
        tegula_ir::AtomicScope::System => Scope::Sys,
    }
}
