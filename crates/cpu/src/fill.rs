//! Moves elements between strips, where they are packed, and places described by tiles or pointers.
//!
//! A strip is a run of elements, in row-major order, of a block; the functions take its first element's number and its length.

use crate::strided::{Row, Tile};

/// Elements that may be one for all: `step` is 0 or the width of an element.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    pub address: *const u8,
    pub step: usize,
}

impl Elements {
    /// No elements: zeros where they are asked for.
    pub const ZERO: Elements = Elements { address: (&raw const ZERO).cast(), step: 0 };

    fn at(self, index: usize) -> *const u8 {
        self.address.wrapping_add(index * self.step)
    }
}

static ZERO: u64 = 0;

/// Runs `$body` with `$T` being the unsigned integer of `$width` bytes.
macro_rules! with_width {
    ($width:expr, $T:ident => $body:expr) => {
        match $width {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            _ => {
                type $T = u64;
                $body
            }
        }
    };
}

/// Writes the values of an affine block as integers of `width` bytes.
///
/// # Safety
/// `out` is valid for writes of `count` elements.
pub unsafe fn numbers(out: *mut u8, width: usize, tile: &Tile, start: usize, count: usize) {
    tile.for_each_row(start, count, |row| {
        with_width!(width, T => {
            let out = out.cast::<T>().wrapping_add(row.position);
            let (base, stride) = (row.base as T, row.stride as T);
            for i in 0..row.length {
                let value = base.wrapping_add(stride.wrapping_mul(i as T));
                // SAFETY: the row lies within the strip.
                unsafe { out.add(i).write_unaligned(value) };
            }
        });
    });
}

/// Writes 1 inside of the tile's mask, and 0 outside.
///
/// # Safety
/// `out` is valid for writes of `count` bytes.
pub unsafe fn truth(out: *mut u8, tile: &Tile, start: usize, count: usize) {
    tile.for_each_row(start, count, |row| {
        // SAFETY: the row lies within the strip.
        unsafe {
            let out = out.add(row.position);
            out.write_bytes(0, row.length);
            out.add(row.low).write_bytes(1, row.high - row.low);
        }
    });
}

/// Repeats one element.
///
/// # Safety
/// `out` is valid for writes of `count` elements, `element` for a read of one.
pub unsafe fn splat(out: *mut u8, width: usize, element: *const u8, count: usize) {
    // SAFETY: by the caller's promise.
    with_width!(width, T => unsafe {
        let value = element.cast::<T>().read_unaligned();
        for i in 0..count {
            out.cast::<T>().add(i).write_unaligned(value);
        }
    });
}

/// Copies packed elements, or repeats one.
///
/// # Safety
/// `out` is valid for writes of `count` elements, `from` for reads of as many from number `index`.
unsafe fn copy(out: *mut u8, width: usize, from: Elements, index: usize, count: usize) {
    // SAFETY: by the caller's promise.
    unsafe {
        if count == 0 {
        } else if from.step == 0 {
            splat(out, width, from.address, count);
        } else {
            std::ptr::copy(from.at(index), out, count * width);
        }
    }
}

/// Reads the elements of a tile in memory; what is outside of its mask, or where `mask` is 0, is taken from `other`.
///
/// # Safety
/// `out`, `mask` and `other` are valid for `count` elements; the tile for reads of the elements inside of the mask.
pub unsafe fn load(
    out: *mut u8,
    width: usize,
    tile: &Tile,
    mask: Option<Elements>,
    other: Elements,
    start: usize,
    count: usize,
) {
    tile.for_each_row(start, count, |row| {
        // SAFETY: the row lies within the strip; what is read lies inside of the mask.
        unsafe {
            let first = out.add(row.position * width);
            if let Some(mask) = mask {
                load_masked(first, width, row, mask, other);
                return;
            }
            copy(first, width, other, row.position, row.low);
            let inside = Row {
                length: row.high - row.low,
                base: row.base.wrapping_add(row.stride.wrapping_mul(row.low as i64)),
                ..row
            };
            read_row(first.add(row.low * width), width, inside);
            copy(first.add(row.high * width), width, other, row.position + row.high, row.length - row.high);
        }
    });
}

/// Reads all elements of a row.
unsafe fn read_row(out: *mut u8, width: usize, row: Row) {
    let from = row.base as usize as *const u8;
    // SAFETY: by the caller's promise, all elements of the row are readable, and `out` is writable.
    unsafe {
        if row.length == 0 {
        } else if row.stride == width as i64 {
            std::ptr::copy(from, out, row.length * width);
        } else if row.stride == 0 {
            splat(out, width, from, row.length);
        } else {
            with_width!(width, T => for i in 0..row.length {
                let address = from.offset(row.stride as isize * i as isize).cast::<T>();
                out.cast::<T>().add(i).write_unaligned(address.read_unaligned());
            });
        }
    }
}

/// Reads the elements of a row where a mask says so.
unsafe fn load_masked(out: *mut u8, width: usize, row: Row, mask: Elements, other: Elements) {
    for i in 0..row.length {
        let position = row.position + i;
        // SAFETY: by the caller's promise; the element is read only where the mask is true.
        unsafe {
            let inside = i >= row.low && i < row.high && *mask.at(position) != 0;
            let address = row.base.wrapping_add(row.stride.wrapping_mul(i as i64)) as usize as *const u8;
            let from = if inside { address } else { other.at(position) };
            with_width!(width, T => {
                out.cast::<T>().add(i).write_unaligned(from.cast::<T>().read_unaligned());
            });
        }
    }
}

/// Writes the elements of a tile in memory that are inside of its mask and where `mask` is not 0.
///
/// # Safety
/// `value` and `mask` are valid for `count` elements; the tile for writes of the elements inside of the mask.
pub unsafe fn store(
    tile: &Tile,
    width: usize,
    value: Elements,
    mask: Option<Elements>,
    start: usize,
    count: usize,
) {
    tile.for_each_row(start, count, |row| {
        let address = |i: usize| row.base.wrapping_add(row.stride.wrapping_mul(i as i64)) as usize as *mut u8;
        // SAFETY: only elements inside of the mask are written, by the caller's promise.
        unsafe {
            if mask.is_none() && row.stride == width as i64 {
                copy(address(row.low), width, value, row.position + row.low, row.high - row.low);
                return;
            }
            with_width!(width, T => for i in row.low..row.high {
                if mask.is_none_or(|mask| *mask.at(row.position + i) != 0) {
                    let element = value.at(row.position + i).cast::<T>().read_unaligned();
                    address(i).cast::<T>().write_unaligned(element);
                }
            });
        }
    });
}

/// Reads through pointers where the mask is not 0, and from `other` elsewhere.
///
/// # Safety
/// All are valid for `count` elements; the pointers inside of the mask for reads.
pub unsafe fn gather(
    out: *mut u8,
    width: usize,
    pointers: Elements,
    mask: Option<Elements>,
    other: Elements,
    count: usize,
) {
    with_width!(width, T => for i in 0..count {
        // SAFETY: by the caller's promise; an element is read only where the mask is true.
        unsafe {
            let inside = mask.is_none_or(|mask| *mask.at(i) != 0);
            let from = if inside { pointers.at(i).cast::<*const u8>().read_unaligned() } else { other.at(i) };
            out.cast::<T>().add(i).write_unaligned(from.cast::<T>().read_unaligned());
        }
    });
}

/// Writes through pointers where the mask is not 0.
///
/// # Safety
/// All are valid for `count` elements; the pointers inside of the mask for writes.
pub unsafe fn scatter(
    pointers: Elements,
    width: usize,
    value: Elements,
    mask: Option<Elements>,
    count: usize,
) {
    with_width!(width, T => for i in 0..count {
        // SAFETY: by the caller's promise; an element is written only where the mask is true.
        unsafe {
            if mask.is_none_or(|mask| *mask.at(i) != 0) {
                let to = pointers.at(i).cast::<*mut T>().read_unaligned();
                to.write_unaligned(value.at(i).cast::<T>().read_unaligned());
            }
        }
    });
}
