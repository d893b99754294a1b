//! Who knows of which access: happens-before by vector clocks, and what was last done to each byte.
//!
//! An *actor* makes accesses in an order of its own: a warp; the `wgmma` of a warp; its bulk copies, which read shared memory; the
//! bytes that an mbarrier counts. Each access is a [`Record`] of its actor and the actor's *epoch*. A [`Clock`] says up to which epoch
//! of each actor its owner comes after. Synchronisation passes clocks on, and an access races with a recorded one that the clock does
//! not know. The lanes of a warp are told apart, since they are in no order unless `bar.warp.sync`, or a barrier, orders them.

mod clock;
mod knowledge;
mod record;
mod shadow;

pub use clock::Clock;
pub use knowledge::{Knowledge, WarpOrder};
pub use record::{Lane, Record};
pub use shadow::{Past, Shadow};

/// The number of an actor in a cluster.
pub type Actor = u16;

/// The actors of a cluster of `warps` warps.
#[derive(Clone, Copy, Debug)]
pub struct Actors {
    warps: u16,
}

impl Actors {
    pub fn new(warps: usize) -> Actors {
        Actors { warps: warps as u16 }
    }

    /// The `wgmma` of a warp.
    pub fn wgmma(self, warp: usize) -> Actor {
        self.warps + warp as u16
    }

    /// The bulk copies of a warp that read shared memory.
    pub fn bulk(self, warp: usize) -> Actor {
        2 * self.warps + warp as u16
    }

    /// The bytes that an mbarrier counts.
    pub fn mbarrier(self, index: usize) -> Actor {
        3 * self.warps + index as u16
    }

    /// What an actor is.
    pub fn kind(self, actor: Actor) -> ActorKind {
        match (actor / self.warps.max(1), usize::from(actor % self.warps.max(1))) {
            (0, warp) => ActorKind::Warp(warp),
            (1, warp) => ActorKind::Wgmma(warp),
            (2, warp) => ActorKind::Bulk(warp),
            _ => ActorKind::Mbarrier(usize::from(actor - 3 * self.warps)),
        }
    }
}

/// What makes accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActorKind {
    Warp(usize),
    Wgmma(usize),
    Bulk(usize),
    Mbarrier(usize),
}
