//! What a thread of a launch does between programs and between the steps of a loop, beside running them.
//!
//! A launch can be stopped while it runs: by its caller, or because a program failed that others wait for. And its
//! programs are shared out among threads only once it has run for a while, which may well be in the middle of the first.

use crate::launch::{LaunchError, StopReason};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the calling thread works alone: waking another takes longer than a small grid runs.
const ALONE: Duration = Duration::from_micros(10);
/// Programs and steps between two looks: a look reads the clock, which takes as long as a short step.
const STEPS: u32 = 16;
/// How often the caller is asked whether the launch shall go on.
const PATIENCE: Duration = Duration::from_millis(50);

/// What one thread watches while it runs programs.
pub struct Watch<'l> {
    /// Set by any thread of the launch.
    stop: &'l AtomicBool,
    interrupted: Option<fn() -> bool>,
    share: Option<&'l dyn Fn() -> bool>,
    steps: u32,
    since: Instant,
}

impl<'l> Watch<'l> {
    /// Watches the flag `stop`, asks `interrupted` from time to time, and calls `share`, after a while, until it has
    /// shared the programs out.
    pub fn new(
        stop: &'l AtomicBool,
        interrupted: Option<fn() -> bool>,
        share: Option<&'l dyn Fn() -> bool>,
    ) -> Watch<'l> {
        Watch { stop, interrupted, share, steps: 0, since: Instant::now() }
    }

    /// Whether the launch shall stop.
    #[inline]
    pub fn stops(&mut self) -> bool {
        self.steps += 1;
        (self.steps >= STEPS || self.share.is_some()) && self.look()
    }

    #[inline(never)]
    fn look(&mut self) -> bool {
        self.steps = 0;
        if self.stop.load(Ordering::Relaxed) {
            return true;
        }
        let passed = self.since.elapsed();
        if passed > ALONE && self.share.is_some_and(|share| share()) {
            self.share = None;
        }
        let Some(interrupted) = self.interrupted.filter(|_| passed > PATIENCE) else { return false };
        self.since = Instant::now();
        interrupted()
    }
}

/// The error of a thread that stopped because its launch did.
pub fn interruption() -> LaunchError {
    LaunchError::outside(StopReason::Interrupted, "the launch was interrupted".to_owned())
}
