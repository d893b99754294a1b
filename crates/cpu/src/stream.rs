//! Copies to memory that is not read again soon, past the caches.
//!
//! A store to a line that is not in the cache reads that line first, and drives out another. Where a launch writes more than
//! the caches hold, both are in vain: streaming stores save a third of the traffic of a kernel that reads as much as it writes.

use std::sync::OnceLock;
use tegula_strip::isa::{self, Isa};

/// Copies `bytes` bytes. [`finish`] makes them visible to other threads in order.
///
/// # Safety
/// `out` is valid for writes and `from` for reads of `bytes` bytes, and they do not overlap.
pub unsafe fn copy(out: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: by the caller's promise; the instructions are those of this machine.
    unsafe {
        match isa::selected() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => x86::copy_by_64(out, from, bytes),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => x86::copy_by_32(out, from, bytes),
            _ => out.copy_from_nonoverlapping(from, bytes),
        }
    }
}

/// Orders what [`copy`] wrote before whatever this thread writes afterwards.
pub fn finish() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this architecture has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Bytes that a launch must write for streaming to pay: what fits stays in the cache for whoever reads it next.
pub fn threshold() -> u64 {
    static THRESHOLD: OnceLock<u64> = OnceLock::new();
    *THRESHOLD.get_or_init(|| last_level_cache().unwrap_or(32 << 20))
}

/// Bytes of the largest cache, as Linux tells them.
fn last_level_cache() -> Option<u64> {
    let folder = std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let sizes = folder.filter_map(|entry| {
        let text = std::fs::read_to_string(entry.ok()?.path().join("size")).ok()?;
        let text = text.trim();
        let (digits, unit) = match text.strip_suffix('K') {
            Some(digits) => (digits, 1 << 10),
            None => (text.strip_suffix('M')?, 1 << 20),
        };
        Some(digits.parse::<u64>().ok()? * unit)
    });
    sizes.max()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    macro_rules! copy_by {
        ($name:ident, $feature:literal, $bytes:literal, $load:ident, $stream:ident, $vector:ty) => {
            /// # Safety
            /// As for [`super::copy`]; and the processor has the feature.
            #[target_feature(enable = $feature)]
            pub unsafe fn $name(out: *mut u8, from: *const u8, bytes: usize) {
                let head = out.align_offset($bytes).min(bytes);
                let whole = (bytes - head) / $bytes * $bytes;
                // SAFETY: all three parts are within the memory; streaming stores are to whole, aligned vectors.
                unsafe {
                    out.copy_from_nonoverlapping(from, head);
                    let (out, from) = (out.add(head), from.add(head));
                    for at in (0..whole).step_by($bytes) {
                        let vector = $load(from.add(at).cast());
                        $stream(out.add(at).cast::<$vector>(), vector);
                    }
                    out.add(whole).copy_from_nonoverlapping(from.add(whole), bytes - head - whole);
                }
            }
        };
    }

    copy_by!(copy_by_64, "avx512f", 64, _mm512_loadu_si512, _mm512_stream_si512, __m512i);
    copy_by!(copy_by_32, "avx", 32, _mm256_loadu_si256, _mm256_stream_si256, __m256i);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length_at_any_alignment_is_copied() {
        let from: Vec<u8> = (0..1000).map(|i| (i * 31 % 251) as u8).collect();
        for start in 0..70 {
            for length in [0, 1, 5, 63, 64, 65, 127, 200, 900] {
                let mut out = vec![0xAAu8; 1000];
                // SAFETY: both ranges lie within their vectors.
                unsafe { copy(out.as_mut_ptr().add(start), from.as_ptr().add(start / 2), length) };
                finish();
                assert_eq!(out[start..start + length], from[start / 2..start / 2 + length]);
                assert!(out[..start].iter().chain(&out[start + length..]).all(|&byte| byte == 0xAA));
            }
        }
    }
}
