//! Compiled kernels in memory, by what they were compiled for.

use crate::options::Options;
use crate::specialization::Specialization;
use crate::target::Target;
use hashbrown::{Equivalent, HashMap};
use rustc_hash::FxBuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What a kernel is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant<'a> {
    target: Target,
    options: Options,
    arguments: &'a [Specialization],
}

impl<'a> Variant<'a> {
    /// Arguments for the CPU, which has no use for options.
    pub fn cpu(arguments: &'a [Specialization]) -> Variant<'a> {
        Variant::new(Target::Cpu, Options::default(), arguments)
    }

    /// Arguments for a target. Options make different variants on GPUs alone.
    pub fn new(target: Target, options: Options, arguments: &'a [Specialization]) -> Variant<'a> {
        let options = if target == Target::Cpu { Options::default() } else { options };
        Variant { target, options, arguments }
    }
}

/// A variant in the map. Its fields are those of [`Variant`], so that the two hash alike.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OwnedVariant {
    target: Target,
    options: Options,
    arguments: Box<[Specialization]>,
}

impl Equivalent<OwnedVariant> for Variant<'_> {
    fn equivalent(&self, owned: &OwnedVariant) -> bool {
        let OwnedVariant { target, options, arguments } = owned;
        self.target == *target && self.options == *options && self.arguments == &**arguments
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

type Slots<T> = HashMap<OwnedVariant, Arc<Slot<T>>, FxBuildHasher>;

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
    pub fn get(&self, key: &Variant<'_>) -> Option<Arc<T>> {
        lock(&self.slots).get(key)?.compiled.get().cloned()
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
        let slot = {
            let mut slots = lock(&self.slots);
            match slots.get(key) {
                Some(slot) => Arc::clone(slot),
                None => {
                    let slot = Arc::new(Slot { compiled: OnceLock::new(), compiling: Mutex::new(()) });
                    let Variant { target, options, arguments } = *key;
                    let owned = OwnedVariant { target, options, arguments: arguments.into() };
                    slots.insert(owned, Arc::clone(&slot));
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
    pub fn remove(&self, key: &Variant<'_>, stale: &Arc<T>) {
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
            assert_eq!(*cache.get(&Variant::cpu(&key(constant.clone()))).unwrap(), index);
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
        assert!(cache.get(&Variant::cpu(&key(Constant::None))).is_none());
        assert_eq!(*cache.get_or_compile(&Variant::cpu(&key(Constant::None)), || Ok::<_, ()>(3)).unwrap(), 3);
    }

    #[test]
    fn only_the_stale_variant_is_removed() {
        let cache = Cache::default();
        let stale = cache.get_or_compile(&Variant::cpu(&key(Constant::None)), || Ok::<_, ()>(1)).unwrap();
        cache.remove(&Variant::cpu(&key(Constant::None)), &Arc::new(1));
        assert!(cache.get(&Variant::cpu(&key(Constant::None))).is_some());
        cache.remove(&Variant::cpu(&key(Constant::None)), &stale);
        assert!(cache.get(&Variant::cpu(&key(Constant::None))).is_none());
        assert!(cache.compiled().is_empty());
    }

    #[test]
    fn options_make_variants_on_gpus_alone() {
        let cache = Cache::default();
        let arguments = key(Constant::Int(7));
        let wide = Options { num_warps: 8, ..Options::default() };
        let gpu: Target = "sm_90".parse().unwrap();
        let variants = [
            Variant::new(Target::Cpu, Options::default(), &arguments),
            Variant::new(gpu, Options::default(), &arguments),
            Variant::new(gpu, wide, &arguments),
            Variant::new("sm_80".parse().unwrap(), wide, &arguments),
        ];
        for (index, variant) in variants.iter().enumerate() {
            assert_eq!(*cache.get_or_compile(variant, || Ok::<_, ()>(index)).unwrap(), index);
        }
        for (index, variant) in variants.iter().enumerate() {
            assert_eq!(*cache.get(variant).unwrap(), index);
        }
        assert_eq!(*cache.get(&Variant::new(Target::Cpu, wide, &arguments)).unwrap(), 0);
    }
}
