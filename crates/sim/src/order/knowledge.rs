//! What the lanes of a warp know, and what they pass on.

use super::{Actor, Clock, Lane, Record};

/// What somebody comes after; and of that, what lies behind a fence between ordinary accesses and those of the async proxy.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    pub seen: Clock,
    pub fenced: Clock,
}

impl Knowledge {
    pub fn join(&mut self, other: &Knowledge) {
        self.seen.join(&other.seen);
        self.fenced.join(&other.fenced);
    }

    pub fn clear(&mut self) {
        self.seen.clear();
        self.fenced.clear();
    }

    /// Learns of an actor of the async proxy, for which no fence is needed.
    pub fn learn_async(&mut self, actor: Actor, epoch: u32) {
        self.seen.learn(actor, epoch);
        self.fenced.learn(actor, epoch);
    }
}

/// The place of a warp in the order of things.
#[derive(Clone, Debug, Default)]
pub struct WarpOrder {
    actor: Actor,
    /// Counts synchronisations; accesses are recorded with it.
    epoch: u32,
    /// What all lanes know.
    common: Knowledge,
    /// What some lanes know besides.
    partial: Vec<(u32, Knowledge)>,
    /// What strong reads have seen, which a fence makes known.
    observed: Knowledge,
    /// What was known at the last fence, which strong writes pass on.
    at_fence: Option<Box<Knowledge>>,
}

impl WarpOrder {
    /// Begins a program.
    pub fn begin(&mut self, actor: Actor) {
        self.actor = actor;
        self.epoch = 1;
        self.common.clear();
        self.partial.clear();
        self.observed.clear();
        self.at_fence = None;
    }

    /// A record of an access now.
    pub fn record(&self, lane: Lane, step: u32) -> Record {
        Record::new(self.actor, lane, self.epoch, step)
    }

    /// Whether an access of `lane` now comes after a recorded one.
    pub fn follows(&self, record: Record, lane: Lane) -> bool {
        if record.actor() == self.actor && !record.is_in_flight() {
            let own = match (record.lane(), lane) {
                (Lane::Whole, _) => true,
                (Lane::One(one), Lane::One(other)) => one == other,
                _ => false,
            };
            if own {
                return true;
            }
        }
        self.common.seen.knows(record) || self.of_lane(lane).any(|known| known.seen.knows(record))
    }

    /// Whether a fence between the proxies lies between a recorded access and one of `lane` now.
    pub fn is_fenced(&self, record: Record, lane: Lane) -> bool {
        self.common.fenced.knows(record) || self.of_lane(lane).any(|known| known.fenced.knows(record))
    }

    fn of_lane(&self, lane: Lane) -> impl Iterator<Item = &Knowledge> {
        let bit = match lane {
            Lane::One(lane) => 1u32 << lane,
            Lane::Several | Lane::Whole => u32::MAX,
        };
        self.partial.iter().filter(move |(lanes, _)| lanes & bit == bit).map(|(_, known)| known)
    }

    /// All lanes come after one another's accesses.
    pub fn synchronise(&mut self) {
        self.common.seen.learn(self.actor, self.epoch);
        self.epoch += 1;
        for (_, known) in self.partial.drain(..) {
            self.common.join(&known);
        }
    }

    /// What `lanes` pass on; `all` if these are all that live.
    pub fn release(&mut self, lanes: u32, all: bool) -> Knowledge {
        let mut known = self.common.clone();
        for (of, partial) in &self.partial {
            if all || of & lanes == lanes {
                known.join(partial);
            }
        }
        if all {
            known.seen.learn(self.actor, self.epoch);
        } else {
            known.seen.learn_lanes(self.actor, lanes, self.epoch);
        }
        self.epoch += 1;
        known
    }

    /// `lanes` come after what is passed on to them; `all` if these are all that live.
    pub fn acquire(&mut self, known: &Knowledge, lanes: u32, all: bool) {
        if all {
            self.common.join(known);
            return;
        }
        match self.partial.iter_mut().find(|(of, _)| *of == lanes) {
            Some((_, partial)) => partial.join(known),
            None => self.partial.push((lanes, known.clone())),
        }
    }

    /// `fence.proxy.async`: everything that `lanes` come after is visible to the async proxy.
    pub fn fence_proxy(&mut self, lanes: u32, all: bool) {
        if all {
            let seen = self.common.seen.clone();
            self.common.fenced.join(&seen);
            self.common.fenced.learn(self.actor, self.epoch);
            for (_, partial) in &mut self.partial {
                let seen = partial.seen.clone();
                partial.fenced.join(&seen);
            }
        } else {
            let mut fenced = self.release(lanes, false);
            let seen = fenced.seen.clone();
            fenced.fenced.join(&seen);
            self.acquire(&fenced, lanes, false);
        }
        self.epoch += 1;
    }

    /// Learns of an actor of the async proxy that somebody in the warp has waited for.
    pub fn learn_async(&mut self, actor: Actor, epoch: u32, lanes: u32, all: bool) {
        let mut known = Knowledge::default();
        known.learn_async(actor, epoch);
        self.acquire(&known, lanes, all);
    }

    /// A fence of memory: what strong reads have seen is known, and strong writes pass on what is known.
    pub fn fence_memory(&mut self, lanes: u32, all: bool) {
        let observed = std::mem::take(&mut self.observed);
        self.acquire(&observed, lanes, all);
        self.at_fence = Some(Box::new(self.release(lanes, all)));
    }

    /// A strong read has seen what somebody passed on.
    pub fn observe(&mut self, known: &Knowledge) {
        self.observed.join(known);
    }

    /// What a strong write passes on.
    pub fn passed_by_fence(&self) -> Option<&Knowledge> {
        self.at_fence.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warp(actor: Actor) -> WarpOrder {
        let mut order = WarpOrder::default();
        order.begin(actor);
        order
    }

    #[test]
    fn lanes_of_a_warp_are_in_no_order_until_synchronised() {
        let mut order = warp(0);
        let written = order.record(Lane::One(3), 0);
        assert!(order.follows(written, Lane::One(3)) && !order.follows(written, Lane::One(4)));
        assert!(!order.follows(written, Lane::Whole));
        order.synchronise();
        assert!(order.follows(written, Lane::One(4)) && order.follows(written, Lane::Whole));
    }

    #[test]
    fn what_one_lane_passes_on_is_its_own() {
        let (mut first, mut second) = (warp(0), warp(1));
        let [own, other] = [0, 1].map(|lane| first.record(Lane::One(lane), 0));
        let known = first.release(1, false);
        second.acquire(&known, u32::MAX, true);
        assert!(second.follows(own, Lane::One(9)) && !second.follows(other, Lane::One(9)));
        first.synchronise();
        let known = first.release(1, false);
        second.acquire(&known, 2, false);
        assert!(second.follows(other, Lane::One(1)) && !second.follows(other, Lane::One(9)));
        second.synchronise();
        assert!(second.follows(other, Lane::One(9)));
    }

    #[test]
    fn fences_between_proxies_pass_on() {
        let (mut writer, mut reader) = (warp(0), warp(1));
        let written = writer.record(Lane::One(0), 0);
        let unfenced = writer.clone().release(u32::MAX, true);
        reader.acquire(&unfenced, u32::MAX, true);
        assert!(reader.follows(written, Lane::Whole) && !reader.is_fenced(written, Lane::Whole));
        writer.fence_proxy(u32::MAX, true);
        let fenced = writer.release(u32::MAX, true);
        reader.acquire(&fenced, u32::MAX, true);
        assert!(reader.is_fenced(written, Lane::Whole));
    }
}
