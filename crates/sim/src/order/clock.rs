//! Vector clocks.

use super::{Actor, Lane, Record};

/// Up to which epoch of each actor the owner comes after.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    known: Vec<u32>,
    /// What is known of some lanes of a warp alone.
    lanes: Vec<OfLanes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OfLanes {
    actor: Actor,
    lanes: u32,
    epoch: u32,
}

impl Clock {
    /// The epoch of an actor up to which everything is known.
    pub fn epoch(&self, actor: Actor) -> u32 {
        self.known.get(usize::from(actor)).copied().unwrap_or(0)
    }

    /// Whether the owner comes after an access.
    pub fn knows(&self, record: Record) -> bool {
        let (actor, epoch) = (record.actor(), record.epoch());
        if self.epoch(actor) >= epoch {
            return true;
        }
        let of = match record.lane() {
            Lane::One(lane) => 1 << lane,
            Lane::Several => u32::MAX,
            // Whoever of the warp passes it on passes on the whole.
            Lane::Whole => 0,
        };
        self.lanes.iter().any(|known| known.actor == actor && known.epoch >= epoch && known.lanes & of == of)
    }

    /// Learns of an actor up to an epoch.
    pub fn learn(&mut self, actor: Actor, epoch: u32) {
        let place = usize::from(actor);
        if self.known.len() <= place {
            self.known.resize(place + 1, 0);
        }
        if self.known[place] < epoch {
            self.known[place] = epoch;
            let known = &self.known;
            self.lanes.retain(|one| known.get(usize::from(one.actor)).is_none_or(|&epoch| epoch < one.epoch));
        }
    }

    /// Learns of some lanes of a warp up to an epoch.
    pub fn learn_lanes(&mut self, actor: Actor, lanes: u32, epoch: u32) {
        if self.epoch(actor) >= epoch {
            return;
        }
        let dominated = |one: &OfLanes| one.actor == actor && one.epoch <= epoch && one.lanes & !lanes == 0;
        self.lanes.retain(|one| !dominated(one));
        if lanes == u32::MAX {
            self.learn(actor, epoch);
        } else {
            self.lanes.push(OfLanes { actor, lanes, epoch });
        }
    }

    /// Learns what another knows.
    pub fn join(&mut self, other: &Clock) {
        if self.known.len() < other.known.len() {
            self.known.resize(other.known.len(), 0);
        }
        for (own, &theirs) in self.known.iter_mut().zip(&other.known) {
            *own = (*own).max(theirs);
        }
        for one in &other.lanes {
            self.learn_lanes(one.actor, one.lanes, one.epoch);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.known.clear();
        self.lanes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_told_apart() {
        let mut clock = Clock::default();
        clock.learn_lanes(2, 0b10, 5);
        let of = |lane, epoch| Record::new(2, lane, epoch, 0);
        assert!(clock.knows(of(Lane::One(1), 5)) && clock.knows(of(Lane::Whole, 4)));
        assert!(!clock.knows(of(Lane::One(0), 5)) && !clock.knows(of(Lane::One(1), 6)));
        assert!(!clock.knows(of(Lane::Several, 1)));
        let mut other = Clock::default();
        other.learn(2, 3);
        other.join(&clock);
        assert!(other.knows(of(Lane::Several, 3)) && other.knows(of(Lane::One(1), 5)));
        other.learn(2, 9);
        assert!(other.knows(of(Lane::One(0), 9)));
    }
}
