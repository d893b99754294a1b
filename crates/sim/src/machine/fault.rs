//! Faults as findings.

use super::cluster::Cluster;
use crate::report::{Finding, FindingKind, described};

/// Where a warp is: what an instruction needs to know of its own place.
#[derive(Clone, Copy, Debug)]
pub struct At {
    pub warp: usize,
    pub fragment: usize,
    pub step: u32,
    /// Lanes that execute the instruction.
    pub lanes: u32,
}

impl Cluster<'_> {
    /// The place of the first fragment of a warp that has not ended.
    pub fn place_of(&self, warp: usize) -> At {
        let fragment = self.warps[warp].fragments.first();
        At {
            warp,
            fragment: 0,
            step: fragment.map_or(0, |fragment| fragment.step),
            lanes: fragment.map_or(0, |fragment| fragment.lanes),
        }
    }

    /// Notes a fault.
    pub fn fault(
        &mut self,
        at: At,
        kind: FindingKind,
        lane: Option<usize>,
        address: Option<u64>,
        other: Option<u32>,
        message: impl FnOnce() -> String,
    ) {
        let program = self.launch.program;
        let warp = &self.warps[at.warp];
        let block = self.blocks[warp.block].program;
        let line = |step: u32| program.steps[step as usize].ptx_line;
        let index = warp.index;
        self.collector.note((kind, at.step, other), || {
            let step = &program.steps[at.step as usize];
            Finding {
                kind,
                message: message(),
                ptx_line: step.ptx_line,
                instruction: step.name.to_string(),
                source: described(program, step.source),
                program: block,
                warp: index,
                lane: lane.map(|lane| lane as u32),
                address,
                other_ptx_line: other.map(line),
                occurrences: 0,
            }
        });
    }

    /// Notes an operand that the instruction does not take.
    pub fn invalid(&mut self, at: At, lane: Option<usize>, message: impl FnOnce() -> String) {
        self.fault(at, FindingKind::Invalid, lane, None, None, message);
    }
}
