//! Memory for dense blocks: reference-counted, 64-byte aligned, pooled per thread.
//!
//! A program allocates the same few sizes again and again, so freed memory is kept in size classes
//! (powers of two) by the thread that freed it, still warm in its cache.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

/// Alignment of the data, and the space before it that holds the header.
const ALIGNMENT: usize = 64;
/// The smallest class holds this many bytes.
const SMALLEST: usize = 256;
/// Bytes that a thread keeps for later at most.
const KEPT: usize = 64 << 20;

struct Header {
    references: Cell<u32>,
    class: u32,
}

/// Freed memory of one thread, by class.
struct Pool {
    free: Vec<Vec<NonNull<Header>>>,
    kept: usize,
}

impl Drop for Pool {
    fn drop(&mut self) {
        for (class, list) in self.free.iter().enumerate() {
            for &header in list {
                // SAFETY: the pool owns what it keeps; it was allocated with this layout.
                unsafe { dealloc(header.as_ptr().cast(), layout(class)) }
            }
        }
    }
}

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { free: Vec::new(), kept: 0 }) };
}

fn layout(class: usize) -> Layout {
    Layout::from_size_align(ALIGNMENT + (SMALLEST << class), ALIGNMENT)
        .expect("a block of bytes fits the address space")
}

/// Memory of one thread, shared by reference count.
#[derive(Debug)]
pub struct Buffer(NonNull<Header>);

impl Buffer {
    /// At least `bytes` bytes, of undefined contents.
    pub fn new(bytes: usize) -> Buffer {
        let class = bytes.div_ceil(SMALLEST).next_power_of_two().trailing_zeros() as usize;
        let kept = POOL.with_borrow_mut(|pool| {
            let header = pool.free.get_mut(class)?.pop()?;
            pool.kept -= SMALLEST << class;
            Some(header)
        });
        let header = kept.unwrap_or_else(|| {
            let layout = layout(class);
            // SAFETY: the layout is not empty.
            NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout)).cast()
        });
        // SAFETY: the memory is ours, aligned, and large enough for a header.
        unsafe { header.as_ptr().write(Header { references: Cell::new(1), class: class as u32 }) };
        Buffer(header)
    }

    /// The first byte.
    pub fn data(&self) -> *mut u8 {
        // SAFETY: the data follows the header within one allocation.
        unsafe { self.0.as_ptr().cast::<u8>().add(ALIGNMENT) }
    }

    /// Whether nothing else refers to this memory, so that it may be overwritten.
    pub fn is_unique(&self) -> bool {
        self.header().references.get() == 1
    }

    fn header(&self) -> &Header {
        // SAFETY: the header lives as long as any handle, and is written only through cells, by one thread.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Buffer {
        let references = &self.header().references;
        references.set(references.get() + 1);
        Buffer(self.0)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let header = self.header();
        let left = header.references.get() - 1;
        header.references.set(left);
        if left > 0 {
            return;
        }
        let class = header.class as usize;
        let bytes = SMALLEST << class;
        let keep = |pool: &RefCell<Pool>| {
            let pool = &mut *pool.borrow_mut();
            if pool.kept + bytes > KEPT {
                return false;
            }
            if pool.free.len() <= class {
                pool.free.resize_with(class + 1, Vec::new);
            }
            pool.free[class].push(self.0);
            pool.kept += bytes;
            true
        };
        if !POOL.try_with(keep).unwrap_or(false) {
            // SAFETY: this was the last handle; the layout is that of the allocation.
            unsafe { dealloc(self.0.as_ptr().cast(), layout(class)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reused_after_the_last_handle_is_dropped() {
        let first = Buffer::new(1000);
        let address = first.data() as usize;
        assert_eq!(address % ALIGNMENT, 0);
        let second = first.clone();
        assert!(!first.is_unique());
        drop(first);
        assert!(second.is_unique());
        let other = Buffer::new(1000);
        assert_ne!(other.data() as usize, address);
        drop(second);
        assert_eq!(Buffer::new(900).data() as usize, address);
    }
}
