//! Single numbers as 64 bits: integers sign- or zero-extended, floats as the bits of their type.

use tegula_ir::{Rounding, Scalar};
use tegula_strip as strip;
use tegula_strip::isa::Isa;

/// The bits with everything beyond the type's width sign- or zero-extended.
pub fn canonical(bits: u64, ty: Scalar) -> u64 {
    match ty {
        Scalar::Int8 => bits as i8 as u64,
        Scalar::Int16 => bits as i16 as u64,
        Scalar::Int32 => bits as i32 as u64,
        Scalar::Int64 | Scalar::UInt64 | Scalar::Float64 => bits,
        _ => match ty.bytes() {
            1 => bits as u8 as u64,
            2 => bits as u16 as u64,
            _ => bits as u32 as u64,
        },
    }
}

/// Reads an element from memory.
///
/// # Safety
/// `address` is valid for a read of the type.
pub unsafe fn read(address: *const u8, ty: Scalar) -> u64 {
    // SAFETY: by the caller's promise.
    let bits = unsafe {
        match ty.bytes() {
            1 => u64::from(*address),
            2 => u64::from(address.cast::<u16>().read_unaligned()),
            4 => u64::from(address.cast::<u32>().read_unaligned()),
            _ => address.cast::<u64>().read_unaligned(),
        }
    };
    canonical(bits, ty)
}

/// Writes the low `width` bytes (1, 2, 4 or 8) of an element to memory.
///
/// # Safety
/// `address` is valid for a write of `width` bytes.
pub unsafe fn write(address: *mut u8, width: usize, bits: u64) {
    // SAFETY: by the caller's promise.
    unsafe {
        match width {
            1 => *address = bits as u8,
            2 => address.cast::<u16>().write_unaligned(bits as u16),
            4 => address.cast::<u32>().write_unaligned(bits as u32),
            _ => address.cast::<u64>().write_unaligned(bits),
        }
    }
}

/// A number converted to any type, rounded to nearest.
pub fn from_f64(value: f64, ty: Scalar, isa: Isa) -> u64 {
    convert(value.to_bits(), Scalar::Float64, ty, isa)
}

/// A number of any type as a double.
pub fn to_f64(bits: u64, ty: Scalar, isa: Isa) -> f64 {
    f64::from_bits(convert(bits, ty, Scalar::Float64, isa))
}

fn convert(bits: u64, from: Scalar, to: Scalar, isa: Isa) -> u64 {
    if from == to {
        return bits;
    }
    let mut out = 0u64;
    if let Some(cast) = strip::cast(isa, from, to, Rounding::NearestEven) {
        let input = (&raw const bits).cast();
        // SAFETY: one element is read and one written, of at most 8 bytes each; the processor has `isa`.
        unsafe { cast((&raw mut out).cast(), &[input; 3], 1) };
    }
    canonical(out, to)
}
