//! Global memory: the host's own, at the host's addresses.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// An array that was passed to a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// The parameter, for messages.
    pub name: String,
    pub address: u64,
    pub bytes: u64,
    /// Whether the kernel may write to it.
    pub writable: bool,
}

/// What may be accessed.
#[derive(Clone, Debug, Default)]
pub struct Global {
    /// In the order of addresses; none if nothing is known.
    arrays: Option<Vec<Array>>,
}

/// Why an access is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Outside { nearest: Option<String> },
    ReadOnly(String),
}

impl Global {
    /// Memory of which the arrays are all that there is; without arrays, nothing is checked.
    pub fn new(arrays: Option<Vec<Array>>) -> Global {
        let arrays = arrays.map(|mut arrays| {
            arrays.sort_by_key(|array| array.address);
            arrays
        });
        Global { arrays }
    }

    /// Adds memory of the kernel itself.
    pub fn add(&mut self, array: Array) {
        if let Some(arrays) = &mut self.arrays {
            arrays.push(array);
            arrays.sort_by_key(|array| array.address);
        }
    }

    /// Whether an access is within an array. Arrays may overlap.
    pub fn check(&self, address: u64, bytes: u64, writes: bool) -> Result<(), Refusal> {
        let Some(arrays) = &self.arrays else { return Ok(()) };
        let holds = |array: &Array| {
            address >= array.address
                && address.checked_add(bytes).is_some_and(|end| end <= array.address + array.bytes)
        };
        let mut read_only = None;
        for array in arrays {
            if holds(array) {
                if array.writable || !writes {
                    return Ok(());
                }
                read_only = Some(&array.name);
            }
        }
        if let Some(name) = read_only {
            return Err(Refusal::ReadOnly(name.clone()));
        }
        let distance = |array: &Array| {
            let end = array.address + array.bytes;
            if address < array.address { array.address - address } else { address.saturating_sub(end) }
        };
        let nearest = arrays.iter().min_by_key(|array| distance(array)).map(|array| {
            if address < array.address {
                format!("{} bytes before `{}`", array.address - address, array.name)
            } else {
                let past = (address + bytes).saturating_sub(array.address + array.bytes);
                format!("{past} bytes past the end of `{}` ({} bytes)", array.name, array.bytes)
            }
        });
        Err(Refusal::Outside { nearest })
    }
}

/// Reads 1, 2, 4 or 8 bytes at an address that is a multiple of as many.
///
/// # Safety
/// The memory is valid for reads, and other threads access it through this module alone.
pub unsafe fn read(address: u64, bytes: u32) -> u64 {
    let address = address as usize;
    // SAFETY: the caller vouches for the memory; relaxed atomics let other programs of the grid write meanwhile.
    unsafe {
        match bytes {
            1 => u64::from((*(address as *const AtomicU8)).load(Ordering::Relaxed)),
            2 => u64::from((*(address as *const AtomicU16)).load(Ordering::Relaxed)),
            4 => u64::from((*(address as *const AtomicU32)).load(Ordering::Relaxed)),
            _ => (*(address as *const AtomicU64)).load(Ordering::Relaxed),
        }
    }
}

/// Writes 1, 2, 4 or 8 bytes at an address that is a multiple of as many.
///
/// # Safety
/// The memory is valid for writes, and other threads access it through this module alone.
pub unsafe fn write(address: u64, bytes: u32, value: u64) {
    let address = address as usize;
    // SAFETY: as in `read`.
    unsafe {
        match bytes {
            1 => (*(address as *const AtomicU8)).store(value as u8, Ordering::Relaxed),
            2 => (*(address as *const AtomicU16)).store(value as u16, Ordering::Relaxed),
            4 => (*(address as *const AtomicU32)).store(value as u32, Ordering::Relaxed),
            _ => (*(address as *const AtomicU64)).store(value, Ordering::Relaxed),
        }
    }
}

/// Changes 2, 4 or 8 bytes in one step; gives what was there before.
///
/// # Safety
/// As for [`write`].
pub unsafe fn update(address: u64, bytes: u32, change: impl Fn(u64) -> u64) -> u64 {
    let address = address as usize;
    // The closures always give a value, so the updates do not fail.
    // SAFETY: as in `read`.
    unsafe {
        match bytes {
            2 => {
                let place = &*(address as *const AtomicU16);
                let changed = |old: u16| Some(change(u64::from(old)) as u16);
                u64::from(
                    place
                        .fetch_update(Ordering::AcqRel, Ordering::Acquire, changed)
                        .unwrap_or_else(|old| old),
                )
            }
            4 => {
                let place = &*(address as *const AtomicU32);
                let changed = |old: u32| Some(change(u64::from(old)) as u32);
                u64::from(
                    place
                        .fetch_update(Ordering::AcqRel, Ordering::Acquire, changed)
                        .unwrap_or_else(|old| old),
                )
            }
            _ => {
                let place = &*(address as *const AtomicU64);
                let changed = |old: u64| Some(change(old));
                place.fetch_update(Ordering::AcqRel, Ordering::Acquire, changed).unwrap_or_else(|old| old)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_checked_against_the_arrays() {
        let array = |name: &str, address, writable| Array { name: name.into(), address, bytes: 64, writable };
        let memory = Global::new(Some(vec![array("out", 1000, true), array("x", 2000, false)]));
        assert_eq!(memory.check(1060, 4, true), Ok(()));
        assert_eq!(memory.check(2000, 64, false), Ok(()));
        assert_eq!(memory.check(2000, 4, true), Err(Refusal::ReadOnly("x".into())));
        let Err(Refusal::Outside { nearest }) = memory.check(1062, 4, true) else { panic!() };
        assert_eq!(nearest.unwrap(), "2 bytes past the end of `out` (64 bytes)");
        assert!(Global::new(None).check(1, 1, true).is_ok());
    }
}
