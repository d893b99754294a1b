//! What an access costs: passes of the banks of shared memory, sectors of global memory.

use super::cluster::Cluster;
use super::fault::At;
use crate::program::{AccessSpace, LANES};
use smallvec::SmallVec;

/// Bytes that the banks deliver in one pass.
const ROW: u32 = 128;
const BANKS: usize = 32;
/// Bytes of a sector of global memory.
const SECTOR: u64 = 32;

/// Passes of the banks that an access of `bytes` bytes a lane takes: lanes go together until they ask for 128 bytes, and
/// a bank delivers one word of 4 bytes a pass, to however many lanes.
pub fn wavefronts(addresses: &[Option<u64>], bytes: u32) -> u64 {
    let together = (ROW / bytes.max(4)).max(1) as usize;
    addresses.chunks(together).map(|group| passes(group, bytes)).sum()
}

fn passes(group: &[Option<u64>], bytes: u32) -> u64 {
    let mut words: SmallVec<[u64; 64]> = SmallVec::new();
    for address in group.iter().flatten() {
        let last = (address + u64::from(bytes) - 1) / 4;
        words.extend(address / 4..=last);
    }
    words.sort_unstable();
    words.dedup();
    let mut banks = [0u64; BANKS];
    for word in words {
        banks[word as usize % BANKS] += 1;
    }
    banks.into_iter().max().unwrap_or(0)
}

impl Cluster<'_> {
    /// Counts an access of lanes at these addresses.
    pub(super) fn count_access(
        &mut self,
        at: At,
        space: AccessSpace,
        is_shared: bool,
        addresses: &[Option<u64>; LANES],
        bytes: u32,
    ) {
        let present = addresses.iter().flatten().count() as u64;
        let counts = self.collector.step(at.step);
        counts.bytes += present * u64::from(bytes);
        if present == 0 {
            return;
        }
        if is_shared {
            counts.wavefronts += wavefronts(addresses, bytes);
            counts.ideal_wavefronts += ideal(addresses, bytes);
        } else if matches!(space, AccessSpace::Global | AccessSpace::Generic) {
            let mut sectors: SmallVec<[u64; 64]> = SmallVec::new();
            for address in addresses.iter().flatten() {
                sectors.extend(address / SECTOR..=(address + u64::from(bytes) - 1) / SECTOR);
            }
            sectors.sort_unstable();
            sectors.dedup();
            let mut distinct: SmallVec<[u64; 32]> = addresses.iter().flatten().copied().collect();
            distinct.sort_unstable();
            distinct.dedup();
            counts.sectors += sectors.len() as u64;
            counts.ideal_sectors += (distinct.len() as u64 * u64::from(bytes)).div_ceil(SECTOR);
        }
    }
}

/// Passes that the bytes alone take: one for each group of lanes.
pub fn ideal(addresses: &[Option<u64>], bytes: u32) -> u64 {
    let together = (ROW / bytes.max(4)).max(1) as usize;
    addresses.chunks(together).filter(|group| group.iter().any(Option::is_some)).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each(address: impl Fn(u64) -> u64) -> Vec<Option<u64>> {
        (0..32).map(|lane| Some(address(lane))).collect()
    }

    #[test]
    fn banks_conflict_where_rows_meet() {
        assert_eq!(wavefronts(&each(|lane| 4 * lane), 4), 1);
        assert_eq!(wavefronts(&each(|_| 64), 4), 1);
        assert_eq!(wavefronts(&each(|lane| 128 * lane), 4), 32);
        assert_eq!(wavefronts(&each(|lane| 8 * lane), 4), 2);
        assert_eq!(wavefronts(&each(|lane| 16 * lane), 16), 4);
        assert_eq!(ideal(&each(|lane| 16 * lane), 16), 4);
        assert_eq!(wavefronts(&each(|lane| 2 * lane), 2), 1);
    }
}
