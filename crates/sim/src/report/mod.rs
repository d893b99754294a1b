//! What a simulation found and counted.

mod json;

use crate::program::{Program, SourcePlace};
use std::collections::BTreeMap;
use std::fmt;

/// The kinds of faults that are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingKind {
    /// An access outside of the arrays that were passed, or of shared, local or parameter memory; a write to a read-only array.
    OutOfBounds,
    /// An access whose address is no multiple of its size.
    Misaligned,
    /// A read of a register or of shared or local memory that nothing has written.
    Uninitialised,
    /// Two accesses of one place, one of them a write, in no order.
    Race,
    /// An access of the place of a copy in the background that nobody has waited for.
    CopyInFlight,
    /// An access of the async proxy after one of the generic proxy, without a fence between.
    MissingProxyFence,
    /// `wgmma` without `wgmma.fence` since its registers were written.
    MissingWgmmaFence,
    /// A register of a `wgmma` that nobody has waited for.
    WgmmaInFlight,
    /// An aligned instruction that the lanes of a warp, or the warps of a warpgroup, do not execute together.
    Divergent,
    /// A barrier that not all come to, or are expected at.
    Barrier,
    /// Nobody can go on.
    Deadlock,
    /// The kernel does not end.
    NoEnd,
    /// `trap`: a failed assertion, usually.
    Trap,
    /// An operand with a value that the instruction does not take.
    Invalid,
}

impl FindingKind {
    /// A name for reports.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::OutOfBounds => "out of bounds",
            FindingKind::Misaligned => "misaligned",
            FindingKind::Uninitialised => "uninitialised",
            FindingKind::Race => "race",
            FindingKind::CopyInFlight => "copy in flight",
            FindingKind::MissingProxyFence => "missing fence.proxy.async",
            FindingKind::MissingWgmmaFence => "missing wgmma.fence",
            FindingKind::WgmmaInFlight => "wgmma in flight",
            FindingKind::Divergent => "divergent",
            FindingKind::Barrier => "barrier",
            FindingKind::Deadlock => "deadlock",
            FindingKind::NoEnd => "no end",
            FindingKind::Trap => "trap",
            FindingKind::Invalid => "invalid operand",
        }
    }
}

/// A fault, at the first place in time where an instruction shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    /// The fact, without the place.
    pub message: String,
    /// The line of the PTX, from 1.
    pub ptx_line: u32,
    /// The instruction's name with its modifiers.
    pub instruction: String,
    /// The file, line and column of the kernel's source.
    pub source: Option<(String, u32, u32)>,
    /// The program of the grid.
    pub program: [u32; 3],
    pub warp: u32,
    pub lane: Option<u32>,
    pub address: Option<u64>,
    /// Of a conflict, the line of the other access.
    pub other_ptx_line: Option<u32>,
    /// How often the instruction showed it.
    pub occurrences: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.program;
        if let Some((file, line, column)) = &self.source {
            write!(f, "{file}:{line}:{column}: ")?;
        }
        write!(f, "{}: {}", self.kind.name(), self.message)?;
        write!(f, "\n  in `{}` (PTX line {}", self.instruction, self.ptx_line)?;
        if let Some(other) = self.other_ptx_line {
            write!(f, ", the other access is in line {other}")?;
        }
        write!(f, "), program ({x}, {y}, {z}), warp {}", self.warp)?;
        if let Some(lane) = self.lane {
            write!(f, ", lane {lane}")?;
        }
        if let Some(address) = self.address {
            write!(f, ", address {address:#x}")?;
        }
        if self.occurrences > 1 {
            write!(f, ", {} times", self.occurrences)?;
        }
        Ok(())
    }
}

/// What was counted of one instruction of the kernel, over all programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCounts {
    /// Times that a warp executed it.
    pub warps: u64,
    /// Lanes that executed it.
    pub lanes: u64,
    /// Bytes that it moved.
    pub bytes: u64,
    /// Of shared memory, passes of the banks.
    pub wavefronts: u64,
    /// Passes that there would be without conflicts of banks.
    pub ideal_wavefronts: u64,
    /// Of global memory, sectors of 32 bytes that were touched.
    pub sectors: u64,
    /// Sectors that the bytes would fill.
    pub ideal_sectors: u64,
}

impl StepCounts {
    pub(crate) fn add(&mut self, other: &StepCounts) {
        self.warps += other.warps;
        self.lanes += other.lanes;
        self.bytes += other.bytes;
        self.wavefronts += other.wavefronts;
        self.ideal_wavefronts += other.ideal_wavefronts;
        self.sectors += other.sectors;
        self.ideal_sectors += other.ideal_sectors;
    }
}

/// Counts of one instruction, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionReport {
    pub instruction: String,
    pub ptx_line: u32,
    pub source: Option<(String, u32, u32)>,
    pub counts: StepCounts,
}

/// Bytes moved from and to the spaces of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub global_read: u64,
    pub global_written: u64,
    pub shared_read: u64,
    pub shared_written: u64,
    pub local_read: u64,
    pub local_written: u64,
}

/// The outcome of a launch.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Faults, in the order of PTX lines.
    pub findings: Vec<Finding>,
    /// Instructions that were executed, in the order of the text.
    pub instructions: Vec<InstructionReport>,
    pub traffic: Traffic,
    /// What `printf` printed, program by program.
    pub printed: String,
    /// Programs that ran.
    pub programs: u64,
    /// Whether the caller asked for an end before the last program.
    pub interrupted: bool,
}

impl Report {
    /// Instructions executed by lanes.
    pub fn lane_instructions(&self) -> u64 {
        self.instructions.iter().map(|one| one.counts.lanes).sum()
    }

    /// Instructions executed by warps.
    pub fn warp_instructions(&self) -> u64 {
        self.instructions.iter().map(|one| one.counts.warps).sum()
    }

    /// Counts by instruction name.
    pub fn by_name(&self) -> BTreeMap<&str, StepCounts> {
        let mut names: BTreeMap<&str, StepCounts> = BTreeMap::new();
        for one in &self.instructions {
            names.entry(&one.instruction).or_default().add(&one.counts);
        }
        names
    }

    /// Passes of the banks of shared memory that conflicts cost.
    pub fn bank_conflicts(&self) -> u64 {
        self.instructions.iter().map(|one| one.counts.wavefronts - one.counts.ideal_wavefronts).sum()
    }

    /// Sectors of global memory that were touched beyond those that the bytes fill.
    pub fn excess_sectors(&self) -> u64 {
        let excess = |counts: &StepCounts| counts.sectors.saturating_sub(counts.ideal_sectors);
        self.instructions.iter().map(|one| excess(&one.counts)).sum()
    }

    /// Barriers that warps waited at.
    pub fn barriers(&self) -> u64 {
        let waits = |name: &str| {
            ["bar.", "barrier.", "mbarrier.try_wait", "mbarrier.test_wait"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
        };
        self.instructions.iter().filter(|one| waits(&one.instruction)).map(|one| one.counts.warps).sum()
    }
}

/// A place in the source, with the file's name.
pub(crate) fn described(program: &Program, place: Option<SourcePlace>) -> Option<(String, u32, u32)> {
    let SourcePlace { file, line, column } = place?;
    let name = program.files.get((file as usize).checked_sub(1)?)?;
    Some((name.clone(), line, column))
}

/// A report for people.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let traffic = &self.traffic;
        writeln!(f, "programs              {:>14}", self.programs)?;
        writeln!(f, "warp instructions     {:>14}", self.warp_instructions())?;
        writeln!(f, "lane instructions     {:>14}", self.lane_instructions())?;
        for (name, read, written) in [
            ("global", traffic.global_read, traffic.global_written),
            ("shared", traffic.shared_read, traffic.shared_written),
            ("local", traffic.local_read, traffic.local_written),
        ] {
            writeln!(f, "{name:<6} bytes read     {read:>14}")?;
            writeln!(f, "{name:<6} bytes written  {written:>14}")?;
        }
        writeln!(f, "bank conflicts        {:>14}", self.bank_conflicts())?;
        writeln!(f, "excess sectors        {:>14}", self.excess_sectors())?;
        writeln!(f, "barriers              {:>14}", self.barriers())?;
        let mut names: Vec<(&str, StepCounts)> = self.by_name().into_iter().collect();
        names.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.warps));
        writeln!(f, "\ninstruction                                warps          bytes   bank conflicts")?;
        for (name, counts) in names {
            let conflicts = counts.wavefronts - counts.ideal_wavefronts;
            writeln!(f, "{name:<36} {:>11} {:>14} {conflicts:>16}", counts.warps, counts.bytes)?;
        }
        if self.findings.is_empty() {
            return writeln!(f, "\nno findings");
        }
        writeln!(f, "\n{} findings", self.findings.len())?;
        self.findings.iter().try_for_each(|finding| writeln!(f, "{finding}"))
    }
}
