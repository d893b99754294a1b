//! What a thread of the host has found and counted.

use crate::program::Program;
use crate::report::{Finding, FindingKind, InstructionReport, Report, StepCounts, Traffic, described};
use rustc_hash::FxHashMap;

/// Findings that are told apart by kind, instruction and the other access's instruction.
type Key = (FindingKind, u32, Option<u32>);

/// Findings and counts of the programs that one thread has run.
#[derive(Debug, Default)]
pub struct Collector {
    counts: Vec<StepCounts>,
    pub traffic: Traffic,
    findings: FxHashMap<Key, Finding>,
    /// What programs printed, with their number in the grid.
    pub printed: Vec<(u64, String)>,
    pub programs: u64,
}

impl Collector {
    pub fn new(program: &Program) -> Collector {
        Collector { counts: vec![StepCounts::default(); program.steps.len()], ..Collector::default() }
    }

    /// The counts of a step.
    pub fn step(&mut self, step: u32) -> &mut StepCounts {
        &mut self.counts[step as usize]
    }

    /// Notes a fault; only the first of its kind at an instruction is described.
    pub fn note(&mut self, key: Key, describe: impl FnOnce() -> Finding) {
        self.findings.entry(key).or_insert_with(describe).occurrences += 1;
    }

    /// Whether anything was found.
    pub fn has_found(&self, kind: FindingKind) -> bool {
        self.findings.keys().any(|key| key.0 == kind)
    }

    fn merge(&mut self, other: Collector) {
        for (own, theirs) in self.counts.iter_mut().zip(&other.counts) {
            own.add(theirs);
        }
        let (own, theirs) = (&mut self.traffic, other.traffic);
        own.global_read += theirs.global_read;
        own.global_written += theirs.global_written;
        own.shared_read += theirs.shared_read;
        own.shared_written += theirs.shared_written;
        own.local_read += theirs.local_read;
        own.local_written += theirs.local_written;
        for (key, finding) in other.findings {
            match self.findings.get_mut(&key) {
                Some(known) => {
                    let occurrences = known.occurrences + finding.occurrences;
                    if (finding.program, finding.warp, finding.lane) < (known.program, known.warp, known.lane)
                    {
                        *known = finding;
                    }
                    known.occurrences = occurrences;
                }
                None => {
                    self.findings.insert(key, finding);
                }
            }
        }
        self.printed.extend(other.printed);
        self.programs += other.programs;
    }

    /// The report of what all threads have found.
    pub fn report(program: &Program, collectors: Vec<Collector>) -> Report {
        let mut all = Collector::new(program);
        collectors.into_iter().for_each(|one| all.merge(one));
        let mut findings: Vec<Finding> = all.findings.into_values().collect();
        findings.sort_by_key(|finding| (finding.ptx_line, finding.kind, finding.other_ptx_line));
        let instructions = program
            .steps
            .iter()
            .zip(&all.counts)
            .filter(|(_, counts)| counts.warps > 0)
            .map(|(step, &counts)| InstructionReport {
                instruction: step.name.to_string(),
                ptx_line: step.ptx_line,
                source: described(program, step.source),
                counts,
            })
            .collect();
        all.printed.sort_by_key(|(program, _)| *program);
        Report {
            findings,
            instructions,
            traffic: all.traffic,
            printed: all.printed.into_iter().map(|(_, text)| text).collect(),
            programs: all.programs,
            interrupted: false,
        }
    }
}
