//! How many iterations bulk copies run ahead of their loop.
//!
//! The user's `num_stages` says how many at least. What is on its way to a multiprocessor is the bytes it takes in a nanosecond times the
//! nanoseconds that they take (Little's law): with fewer bytes in flight the loop waits for memory, whatever it computes. So short
//! iterations run further ahead, as far as that costs no program its place on the multiprocessor.
//!
//! ```text
//! fp8, 128 x 256 x 64, num_stages 3, 8 warps with 128 accumulators each: a stage of 24 KiB, one program on a multiprocessor
//! -> 96 KiB in flight: 4 iterations ahead instead of 2
//! ```

use crate::residency::REGISTERS;

/// What one multiprocessor of sm_90 should have in flight: a large product takes 73 bytes in a nanosecond from the second-level cache, which
/// answers after 1.2 microseconds when all ask it (measured on an H200).
const IN_FLIGHT_BYTES: u32 = 96 << 10;
/// The shared memory of a multiprocessor of sm_90 that programs can have ("Technical Specifications per Compute Capability").
const SHARED_BYTES: u32 = 227 << 10;
/// What a thread needs beside its accumulators.
const WORKING_REGISTERS: u32 = 56;

/// A loop whose tiles the hardware copies.
pub(super) struct Ring {
    pub stage_bytes: u32,
    /// Stages beside those that are in flight.
    pub spare: u32,
    pub threads: u32,
    /// Registers of each thread for the sums of the loop's products.
    pub accumulators: u32,
}

impl Ring {
    /// The iterations that copies run ahead, at least `asked`.
    pub fn distance(&self, asked: u32) -> u32 {
        let registers = (self.accumulators + WORKING_REGISTERS).min(255) * self.threads;
        let by_shared = SHARED_BYTES / (self.stage_bytes * (asked + self.spare));
        let programs = (REGISTERS / registers).min(by_shared).max(1);
        let wanted = (IN_FLIGHT_BYTES / programs).div_ceil(self.stage_bytes);
        let most = (SHARED_BYTES / programs / self.stage_bytes).saturating_sub(self.spare);
        wanted.min(most).max(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;

    #[test]
    fn short_iterations_run_further_ahead() {
        let ring = |kibibytes: u32, warps: u32, accumulators: u32| Ring {
            stage_bytes: kibibytes << 10,
            spare: 2,
            threads: warps * 32,
            accumulators,
        };
        // 128 x 256 x 64 in 16 bits and in 8.
        assert_eq!(ring(48, 8, 128).distance(2), 2);
        assert_eq!(ring(24, 8, 128).distance(2), 4);
        // Four programs share what is in flight: 64 x 64 x 64 in 16 bits by 4 warps.
        assert_eq!(ring(16, 4, 32).distance(2), 2);
        // What is asked for is given, even where it does not fit: the ring is cut when the loop is lowered.
        assert_eq!(ring(96, 8, 128).distance(2), 2);
        assert_eq!(ring(24, 8, 128).distance(7), 7);
    }
}
