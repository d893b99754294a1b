//! Exchanges among lanes, barriers, fences and control.

use crate::program::build::Builder;
use crate::program::{FenceKind, Operation};
use tegula_ptx::{Control, Fence, Instruction, Space, Type, VoteMode};

impl Builder {
    pub(super) fn exchange(&mut self, instruction: &Instruction) -> Option<Operation> {
        Some(match instruction {
            Instruction::Shuffle(shuffle) => Operation::Shuffle {
                mode: shuffle.mode,
                source: self.read(shuffle.source, 32),
                lane: self.read(shuffle.lane, 32),
                clamp: self.read(shuffle.clamp, 32),
                members: self.read(shuffle.members, 32),
                dst: self.write(shuffle.dst),
                in_range: shuffle.in_range.map(|predicate| self.write_predicate(predicate)),
            },
            Instruction::Vote(vote) => Operation::Vote {
                mode: vote.mode,
                condition: self.condition(vote.predicate),
                members: self.read(vote.members, 32),
                dst: match vote.mode {
                    VoteMode::Ballot => self.write(vote.dst),
                    _ => self.write_predicate(vote.dst),
                },
            },
            Instruction::Match(matching) => Operation::Match {
                all: matching.all,
                value: self.read(matching.value, matching.ty.bits()),
                members: self.read(matching.members, 32),
                dst: self.write(matching.dst),
                agreed: matching.agreed.map(|predicate| self.write_predicate(predicate)),
            },
            Instruction::WarpReduce(reduce) => {
                if reduce.ty == Type::F32 {
                    return None;
                }
                Operation::WarpReduce {
                    op: reduce.op,
                    signed: reduce.ty == Type::S32,
                    source: self.read_register(reduce.source),
                    members: self.read(reduce.members, 32),
                    dst: self.write(reduce.dst),
                }
            }
            Instruction::ActiveMask(mask) => Operation::ActiveMask { dst: self.write(mask.dst) },
            Instruction::Elect(elect) => Operation::Elect {
                members: self.read(elect.members, 32),
                lane: elect.lane.map(|lane| self.write(lane)),
                elected: self.write_predicate(elect.elected),
            },
            Instruction::Barrier(barrier) => Operation::Barrier {
                action: barrier.action,
                aligned: barrier.aligned,
                id: self.read(barrier.id, 32),
                threads: barrier.threads.map(|threads| self.read(threads, 32)),
            },
            Instruction::BarrierReduce(barrier) => Operation::BarrierReduce {
                reduction: barrier.reduction,
                id: self.read(barrier.id, 32),
                threads: barrier.threads.map(|threads| self.read(threads, 32)),
                condition: self.condition(barrier.predicate),
                dst: match barrier.reduction {
                    tegula_ptx::BarrierReduction::Count => self.write(barrier.dst),
                    _ => self.write_predicate(barrier.dst),
                },
            },
            Instruction::WarpBarrier(barrier) => {
                Operation::WarpBarrier { members: self.read(barrier.members, 32) }
            }
            Instruction::ClusterBarrier(barrier) => Operation::ClusterBarrier(*barrier),
            Instruction::Fence(fence) => Operation::Fence(match fence {
                Fence::AcquireRelease(_) | Fence::SequentiallyConsistent(_) => FenceKind::Memory,
                Fence::AsyncProxy { space } => FenceKind::Proxy {
                    global: matches!(space, None | Some(Space::Global)),
                    shared: *space != Some(Space::Global),
                },
                Fence::MbarrierInit => FenceKind::MbarrierInit,
                Fence::AliasProxy | Fence::TensorMapRelease(_) | Fence::TensorMapAcquire(..) => {
                    FenceKind::Other
                }
            }),
            Instruction::Branch(branch) => Operation::Branch { target: self.target(branch.target) },
            Instruction::Control(control) => match control {
                Control::Return | Control::Exit => Operation::Exit,
                Control::Trap => Operation::Trap,
                Control::Breakpoint | Control::LaunchDependents | Control::WaitForDependencies => {
                    Operation::Nothing
                }
            },
            Instruction::Nanosleep(_) => Operation::Nothing,
            Instruction::SetMaxRegisters(_) => Operation::SetMaxRegisters,
            _ => return None,
        })
    }
}
