//! Compiled kernels in memory, by what they were compiled for.

use crate::options::Options;
use crate::specialization::Specialization;
use crate::target::Target;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What a kernel is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant<'a> {
    target: Target,
    /// `None` where they make no difference.
    options: Option<&'a Options>,
    arguments: &'a [Specialization],
}

impl<'a> Variant<'a> {
    /// Arguments for the CPU, which has no use for options.
    pub fn cpu(arguments: &'a [Specialization]) -> Variant<'a> {
        Variant { target: Target::Cpu, options: None, arguments }
    }

    /// Arguments for a target. Options make different variants on GPUs alone.
    pub fn new(target: Target, options: &'a Options, arguments: &'a [Specialization]) -> Variant<'a> {
        let options = if target == Target::Cpu { None } else { Some(options) };
        Variant { target, options, arguments }
    }
}

/// One kernel's compiled variants.
///
/// Two threads that ask for one variant at once compile it once: the second waits for the first. Different variants
/// compile side by side.
#[derive(Debug)]
pub struct Cache<T> {
    slots: Mutex<Slots<T>>,
}

#[derive(Debug)]
struct Slots<T> {
    all: HashTable<Arc<Slot<T>>>,
    /// The slot that was asked for last. Launches mostly ask for the same again, and to compare takes less time than to hash.
    last: Option<Arc<Slot<T>>>,
}

/// The place of one variant: empty while it is being compiled, and after a compilation that failed.
#[derive(Debug)]
struct Slot<T> {
    target: Target,
    options: Option<Options>,
    arguments: Box<[Specialization]>,
    compiled: OnceLock<Arc<T>>,
    compiling: Mutex<()>,
}

impl<T> Slot<T> {
    fn new(variant: &Variant<'_>) -> Slot<T> {
        let Variant { target, options, arguments } = *variant;
        Slot {
            target,
            options: options.copied(),
            arguments: arguments.into(),
            compiled: OnceLock::new(),
            compiling: Mutex::new(()),
        }
    }

    fn variant(&self) -> Variant<'_> {
        Variant { target: self.target, options: self.options.as_ref(), arguments: &self.arguments }
    }
}

impl<T> Slots<T> {
    fn find(&mut self, key: &Variant<'_>) -> Option<&Arc<Slot<T>>> {
        if self.last.as_ref().is_none_or(|last| last.variant() != *key) {
            self.last = Some(Arc::clone(self.all.find(hash(key), |slot| slot.variant() == *key)?));
        }
        self.last.as_ref()
    }

    fn find_or_add(&mut self, key: &Variant<'_>) -> Arc<Slot<T>> {
        if let Some(slot) = self.find(key) {
            return Arc::clone(slot);
        }
        let slot = Arc::new(Slot::new(key));
        self.all.insert_unique(hash(key), Arc::clone(&slot), |slot| hash(&slot.variant()));
        slot
    }

    fn remove(&mut self, key: &Variant<'_>) {
        self.last = None;
        if let Ok(entry) = self.all.find_entry(hash(key), |slot| slot.variant() == *key) {
            entry.remove();
        }
    }
}

fn hash(variant: &Variant<'_>) -> u64 {
    FxBuildHasher.hash_one(variant)
}

impl<T> Default for Cache<T> {
    fn default() -> Cache<T> {
        Cache { slots: Mutex::new(Slots { all: HashTable::new(), last: None }) }
    }
}

impl<T> Cache<T> {
    /// What `read` takes of the variant for `key`, if that has been compiled. `read` runs with the cache locked.
    pub fn get<R>(&self, key: &Variant<'_>, read: impl FnOnce(&Arc<T>) -> R) -> Option<R> {
        lock(&self.slots).find(key)?.compiled.get().map(read)
    }

    /// The variant for `key`; `compile` makes it, unless another thread has done so by then.
    ///
    /// # Errors
    /// Those of `compile`; the next call tries again.
    pub fn get_or_compile<E>(
        &self,
        key: &Variant<'_>,
        compile: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let slot = lock(&self.slots).find_or_add(key);
        let _turn = lock(&slot.compiling);
        if let Some(compiled) = slot.compiled.get() {
            return Ok(Arc::clone(compiled));
        }
        let compiled = Arc::new(compile()?);
        Ok(Arc::clone(slot.compiled.get_or_init(|| compiled)))
    }

    /// Forgets the variant for `key`, if what it is now `is_stale`.
    pub fn remove(&self, key: &Variant<'_>, is_stale: impl FnOnce(&T) -> bool) {
        let mut slots = lock(&self.slots);
        let current = slots.find(key).and_then(|slot| slot.compiled.get());
        if current.is_some_and(|current| is_stale(current)) {
            slots.remove(key);
        }
    }

    /// Forgets every variant.
    pub fn clear(&self) {
        let mut slots = lock(&self.slots);
        slots.last = None;
        slots.all.clear();
    }

    /// Every variant that has been compiled, in no order.
    pub fn compiled(&self) -> Vec<Arc<T>> {
        lock(&self.slots).all.iter().filter_map(|slot| slot.compiled.get().cloned()).collect()
    }
}

/// A compiler that panicked leaves the map as it was, so a poisoned lock is still good.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Cache, Variant};
    use crate::options::Options;
    use crate::specialization::{Constant, Specialization};
    use crate::target::Target;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn key(constant: Constant) -> [Specialization; 1] {
        [Specialization::Constexpr(constant)]
    }

    #[test]
    fn equal_numbers_of_different_types_are_different_kernels() {
        let cache = Cache::default();
        let constants =
            [Constant::Int(1), Constant::float(1.0), Constant::Bool(true), Constant::Str("1".into())];
        for (index, constant) in constants.iter().enumerate() {
            let key = key(constant.clone());
            let compiled = cache.get_or_compile(&Variant::cpu(&key), || Ok::<_, ()>(index)).unwrap();
            assert_eq!(*compiled, index);
        }
        for (index, constant) in constants.iter().enumerate() {
            assert_eq!(cache.get(&Variant::cpu(&key(constant.clone())), |found| **found), Some(index));
        }
    }

    #[test]
    fn concurrent_requests_compile_once() {
        let cache = Cache::default();
        let compilations = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let compiled = cache.get_or_compile(&Variant::cpu(&key(Constant::Int(7))), || {
                        std::thread::sleep(std::time::Duration::from_millis(5));
                        Ok::<_, ()>(compilations.fetch_add(1, Ordering::SeqCst))
                    });
                    assert_eq!(*compiled.unwrap(), 0);
                });
            }
        });
        assert_eq!(compilations.into_inner(), 1);
    }

    #[test]
    fn a_failure_is_not_remembered() {
        let cache = Cache::<i32>::default();
        assert_eq!(
            cache.get_or_compile(&Variant::cpu(&key(Constant::None)), || Err("no")).unwrap_err(),
            "no"
        );
        assert!(cache.get(&Variant::cpu(&key(Constant::None)), Arc::clone).is_none());
        assert_eq!(*cache.get_or_compile(&Variant::cpu(&key(Constant::None)), || Ok::<_, ()>(3)).unwrap(), 3);
    }

    #[test]
    fn only_the_stale_variant_is_removed() {
        let cache = Cache::default();
        cache.get_or_compile(&Variant::cpu(&key(Constant::None)), || Ok::<_, ()>(1)).unwrap();
        cache.remove(&Variant::cpu(&key(Constant::None)), |&compiled| compiled == 2);
        assert!(cache.get(&Variant::cpu(&key(Constant::None)), Arc::clone).is_some());
        cache.remove(&Variant::cpu(&key(Constant::None)), |&compiled| compiled == 1);
        assert!(cache.get(&Variant::cpu(&key(Constant::None)), Arc::clone).is_none());
        assert!(cache.compiled().is_empty());
    }

    #[test]
    fn options_make_variants_on_gpus_alone() {
        let cache = Cache::default();
        let arguments = key(Constant::Int(7));
        let narrow = Options::default();
        let wide = Options { num_warps: 8, ..narrow };
        let gpu: Target = "sm_90".parse().unwrap();
        let variants = [
            Variant::new(Target::Cpu, &narrow, &arguments),
            Variant::new(gpu, &narrow, &arguments),
            Variant::new(gpu, &wide, &arguments),
            Variant::new("sm_80".parse().unwrap(), &wide, &arguments),
        ];
        for (index, variant) in variants.iter().enumerate() {
            assert_eq!(*cache.get_or_compile(variant, || Ok::<_, ()>(index)).unwrap(), index);
        }
        for (index, variant) in variants.iter().enumerate() {
            assert_eq!(cache.get(variant, |found| **found), Some(index));
        }
        assert_eq!(cache.get(&Variant::new(Target::Cpu, &wide, &arguments), |found| **found), Some(0));
    }
}
