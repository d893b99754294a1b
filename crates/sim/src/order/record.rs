//! One access, in 64 bits.

use super::Actor;

/// Which lane of a warp made an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    One(u8),
    /// More than one, each for itself.
    Several,
    /// The warp as a whole, as `ldmatrix` and `wgmma` do.
    Whole,
}

/// An access: the actor, the lane, the actor's epoch, the step, and whether it is strong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record(u64);

const EPOCH_BITS: u32 = 26;
const EPOCH: u64 = (1 << EPOCH_BITS) - 1;
const STEP_BITS: u32 = 20;
const STEP: u64 = (1 << STEP_BITS) - 1;
const LANE_AT: u32 = EPOCH_BITS + STEP_BITS;
const STRONG: u64 = 1 << 52;
const ACTOR_AT: u32 = 54;
const SEVERAL: u64 = 62;
const WHOLE: u64 = 63;

/// The epoch of what is still going on: no clock reaches it.
pub const IN_FLIGHT: u32 = EPOCH as u32;

impl Record {
    /// No access yet.
    pub const NONE: Record = Record(0);

    pub fn new(actor: Actor, lane: Lane, epoch: u32, step: u32) -> Record {
        let lane = match lane {
            Lane::One(lane) => u64::from(lane),
            Lane::Several => SEVERAL,
            Lane::Whole => WHOLE,
        };
        Record(
            u64::from(epoch.min(IN_FLIGHT))
                | (u64::from(step) & STEP) << EPOCH_BITS
                | lane << LANE_AT
                | u64::from(actor & 0x3ff) << ACTOR_AT,
        )
    }

    /// A `cp.async` that nobody has waited for.
    pub fn in_flight(actor: Actor, lane: u8, step: u32) -> Record {
        Record::new(actor, Lane::One(lane), IN_FLIGHT, step)
    }

    /// Of an atomic, volatile, or otherwise strong access.
    pub fn strong(self, strong: bool) -> Record {
        if strong { Record(self.0 | STRONG) } else { self }
    }

    /// Of more lanes than one.
    pub fn of_several(self) -> Record {
        Record(self.0 & !(63 << LANE_AT) | SEVERAL << LANE_AT)
    }

    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    pub fn is_strong(self) -> bool {
        self.0 & STRONG != 0
    }

    pub fn actor(self) -> Actor {
        (self.0 >> ACTOR_AT) as Actor
    }

    pub fn epoch(self) -> u32 {
        (self.0 & EPOCH) as u32
    }

    pub fn step(self) -> u32 {
        (self.0 >> EPOCH_BITS & STEP) as u32
    }

    pub fn lane(self) -> Lane {
        match self.0 >> LANE_AT & 63 {
            SEVERAL => Lane::Several,
            WHOLE => Lane::Whole,
            lane => Lane::One(lane as u8),
        }
    }

    pub fn is_in_flight(self) -> bool {
        self.epoch() == IN_FLIGHT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_read_back() {
        for lane in [Lane::One(0), Lane::One(31), Lane::Several, Lane::Whole] {
            let record = Record::new(700, lane, 123_456, 654_321).strong(true);
            assert_eq!((record.actor(), record.lane(), record.epoch()), (700, lane, 123_456));
            assert_eq!((record.step(), record.is_strong()), (654_321, true));
        }
        assert!(Record::in_flight(3, 5, 7).is_in_flight());
        assert_eq!(Record::new(0, Lane::One(4), 9, 0).of_several().lane(), Lane::Several);
    }
}
