//! Compiled kernels in memory, by what they were compiled for.

use crate::specialization::Specialization;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// One kernel's compiled variants.
///
/// Two threads that ask for one variant at once compile it once: the second waits for the first. Different variants
/// compile side by side.
#[derive(Debug)]
pub struct Cache<T> {
    slots: Mutex<Slots<T>>,
}

type Slots<T> = FxHashMap<Box<[Specialization]>, Arc<Slot<T>>>;

/// The place of one variant: empty while it is being compiled, and after a compilation that failed.
#[derive(Debug)]
struct Slot<T> {
    compiled: OnceLock<Arc<T>>,
    compiling: Mutex<()>,
}

impl<T> Default for Cache<T> {
    fn default() -> Cache<T> {
        Cache { slots: Mutex::default() }
    }
}

impl<T> Cache<T> {
    /// The variant for `key`, if it has been compiled.
    pub fn get(&self, key: &[Specialization]) -> Option<Arc<T>> {
        lock(&self.slots).get(key)?.compiled.get().cloned()
    }

    /// The variant for `key`; `compile` makes it, unless another thread has done so by then.
    ///
    /// # Errors
    /// Those of `compile`; the next call tries again.
    pub fn get_or_compile<E>(
        &self,
        key: &[Specialization],
        compile: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let slot = {
            let mut slots = lock(&self.slots);
            match slots.get(key) {
                Some(slot) => Arc::clone(slot),
                None => {
                    let slot = Arc::new(Slot { compiled: OnceLock::new(), compiling: Mutex::new(()) });
                    slots.insert(key.into(), Arc::clone(&slot));
                    slot
                }
            }
        };
        let _turn = lock(&slot.compiling);
        if let Some(compiled) = slot.compiled.get() {
            return Ok(Arc::clone(compiled));
        }
        let compiled = Arc::new(compile()?);
        Ok(Arc::clone(slot.compiled.get_or_init(|| compiled)))
    }

    /// Forgets the variant for `key`, if it still is `stale`.
    pub fn remove(&self, key: &[Specialization], stale: &Arc<T>) {
        let mut slots = lock(&self.slots);
        let current = slots.get(key).and_then(|slot| slot.compiled.get());
        if current.is_some_and(|current| Arc::ptr_eq(current, stale)) {
            slots.remove(key);
        }
    }

    /// Forgets every variant.
    pub fn clear(&self) {
        lock(&self.slots).clear();
    }

    /// Every variant that has been compiled, in no order.
    pub fn compiled(&self) -> Vec<Arc<T>> {
        lock(&self.slots).values().filter_map(|slot| slot.compiled.get().cloned()).collect()
    }
}

/// A compiler that panicked leaves the map as it was, so a poisoned lock is still good.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::Cache;
    use crate::specialization::{Constant, Specialization};
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
            let compiled = cache.get_or_compile(&key(constant.clone()), || Ok::<_, ()>(index)).unwrap();
            assert_eq!(*compiled, index);
        }
        for (index, constant) in constants.iter().enumerate() {
            assert_eq!(*cache.get(&key(constant.clone())).unwrap(), index);
        }
    }

    #[test]
    fn concurrent_requests_compile_once() {
        let cache = Cache::default();
        let compilations = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let compiled = cache.get_or_compile(&key(Constant::Int(7)), || {
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
        assert_eq!(cache.get_or_compile(&key(Constant::None), || Err("no")).unwrap_err(), "no");
        assert!(cache.get(&key(Constant::None)).is_none());
        assert_eq!(*cache.get_or_compile(&key(Constant::None), || Ok::<_, ()>(3)).unwrap(), 3);
    }

    #[test]
    fn only_the_stale_variant_is_removed() {
        let cache = Cache::default();
        let stale = cache.get_or_compile(&key(Constant::None), || Ok::<_, ()>(1)).unwrap();
        cache.remove(&key(Constant::None), &Arc::new(1));
        assert!(cache.get(&key(Constant::None)).is_some());
        cache.remove(&key(Constant::None), &stale);
        assert!(cache.get(&key(Constant::None)).is_none());
        assert!(cache.compiled().is_empty());
    }
}
