//! Exchanges, votes and reductions among the lanes of a warp.

use super::cluster::Cluster;
use super::fault::At;
use super::warp::lanes;
use crate::program::{LANES, Operation, Slot};
use crate::report::FindingKind;
use tegula_ptx::{ShuffleMode, VoteMode, WarpReduceOp};

impl Cluster<'_> {
    /// The lanes that an instruction names as its members; all of them execute it, together.
    pub(super) fn members(&mut self, at: At, members: Slot) -> u32 {
        let warp = &self.warps[at.warp];
        let live = warp.live;
        let row = warp.row(members);
        let first = lanes(at.lanes).next().unwrap_or(0);
        let named = row[first] as u32;
        let wrong = lanes(at.lanes).find(|&lane| row[lane] as u32 != named || named >> lane & 1 == 0);
        if let Some(lane) = wrong {
            self.invalid(at, Some(lane), || {
                format!("the lane is not among the members {named:#010x}, or names others")
            });
        }
        let missing = named & live & !at.lanes;
        if missing != 0 {
            self.fault(at, FindingKind::Divergent, lanes(missing).next(), None, None, || {
                format!("the members are {named:#010x}, and {missing:#010x} of them do not execute it with the rest")
            });
        }
        named & at.lanes
    }

    pub(super) fn exchange(&mut self, at: At, operation: &Operation) {
        match *operation {
            Operation::ActiveMask { dst } => {
                let mask = [u64::from(at.lanes); LANES];
                self.warps[at.warp].write(dst, &mask, at.lanes);
            }
            Operation::Elect { lane, elected, members } => {
                let members = self.members(at, members);
                let leader = members.trailing_zeros();
                let warp = &mut self.warps[at.warp];
                if let Some(slot) = lane {
                    warp.write(slot, &[u64::from(leader); LANES], at.lanes);
                }
                warp.write_predicate(elected, members & members.wrapping_neg(), at.lanes);
            }
            Operation::Shuffle { mode, dst, in_range, source, lane, clamp, members } => {
                let members = self.members(at, members);
                let warp = &mut self.warps[at.warp];
                let (source, by, clamp) = (*warp.row(source), *warp.row(lane), *warp.row(clamp));
                let (mut result, mut valid, mut strange) = ([0; LANES], 0u32, None);
                for lane in lanes(at.lanes) {
                    let (from, in_range) = shuffled(mode, lane as u32, by[lane] as u32, clamp[lane] as u32);
                    if in_range && members >> from & 1 == 0 {
                        strange.get_or_insert(lane);
                    }
                    result[lane] = source[from as usize];
                    valid |= u32::from(in_range) << lane;
                }
                warp.write(dst, &result, at.lanes);
                if let Some(predicate) = in_range {
                    warp.write_predicate(predicate, valid, at.lanes);
                }
                if let Some(lane) = strange {
                    self.invalid(at, Some(lane), || {
                        "the lane reads a register of a lane that does not take part".into()
                    });
                }
            }
            Operation::Vote { mode, dst, condition, members } => {
                let members = self.members(at, members);
                let warp = &mut self.warps[at.warp];
                let holds = warp.predicate(condition.predicate);
                let holds = if condition.negated { !holds } else { holds } & members;
                let answer = match mode {
                    VoteMode::All => holds == members,
                    VoteMode::Any => holds != 0,
                    VoteMode::Uniform => holds == members || holds == 0,
                    VoteMode::Ballot => {
                        warp.write(dst, &[u64::from(holds); LANES], at.lanes);
                        return;
                    }
                };
                warp.write_predicate(dst, if answer { u32::MAX } else { 0 }, at.lanes);
            }
            Operation::Match { all, dst, agreed, value, members } => {
                let members = self.members(at, members);
                let warp = &mut self.warps[at.warp];
                let values = *warp.row(value);
                let same = |lane: usize| {
                    lanes(members)
                        .filter(|&other| values[other] == values[lane])
                        .fold(0u32, |mask, lane| mask | 1 << lane)
                };
                let mut result = [0; LANES];
                let mut agree = 0;
                for lane in lanes(at.lanes) {
                    let equal = same(lane);
                    let whole = equal == members;
                    agree |= u32::from(whole) << lane;
                    result[lane] = u64::from(if all && !whole { 0 } else { equal });
                }
                warp.write(dst, &result, at.lanes);
                if let Some(predicate) = agreed {
                    warp.write_predicate(predicate, agree, at.lanes);
                }
            }
            Operation::WarpReduce { op, signed, dst, source, members } => {
                let members = self.members(at, members);
                let warp = &mut self.warps[at.warp];
                let values = *warp.row(source);
                let all = lanes(members).map(|lane| values[lane] as u32);
                let joined = all.reduce(|a, b| match op {
                    WarpReduceOp::Add => a.wrapping_add(b),
                    WarpReduceOp::And => a & b,
                    WarpReduceOp::Or => a | b,
                    WarpReduceOp::Xor => a ^ b,
                    WarpReduceOp::Min if signed => (a as i32).min(b as i32) as u32,
                    WarpReduceOp::Max if signed => (a as i32).max(b as i32) as u32,
                    WarpReduceOp::Min => a.min(b),
                    WarpReduceOp::Max => a.max(b),
                });
                warp.write(dst, &[u64::from(joined.unwrap_or(0)); LANES], at.lanes);
            }
            _ => {}
        }
    }
}

/// The lane that a shuffle reads, and whether it was in range (PTX ISA, `shfl.sync`).
fn shuffled(mode: ShuffleMode, lane: u32, by: u32, clamp: u32) -> (u32, bool) {
    let (bound, segment) = (clamp & 31, clamp >> 8 & 31);
    let by = by & 31;
    let most = lane & segment | bound & !segment;
    let least = lane & segment;
    let (from, in_range) = match mode {
        ShuffleMode::Up => {
            let from = lane as i32 - by as i32;
            (from as u32 & 31, from >= most as i32)
        }
        ShuffleMode::Down => (lane + by, lane + by <= most),
        ShuffleMode::Butterfly => (lane ^ by, lane ^ by <= most),
        ShuffleMode::Index => {
            let from = least | by & !segment;
            (from, from <= most)
        }
    };
    if in_range { (from & 31, true) } else { (lane, false) }
}
