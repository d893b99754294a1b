//! mbarriers, and copies in the background.

use crate::program::build::Builder;
use crate::program::{Bulk, Mbarrier, Operation, WaitPhase};
use tegula_ptx::{BulkCopy, BulkTensor, Instruction, Ordering, Phase};

impl Builder {
    pub(super) fn background(&mut self, instruction: &Instruction) -> Option<Operation> {
        Some(match instruction {
            Instruction::MbarrierInit(init) => Operation::Mbarrier(Mbarrier::Init {
                place: self.place(&init.address),
                count: self.read(init.count, 32),
            }),
            Instruction::MbarrierInvalidate(invalidate) => {
                Operation::Mbarrier(Mbarrier::Invalidate { place: self.place(&invalidate.address) })
            }
            Instruction::MbarrierTransaction(transaction) => Operation::Mbarrier(Mbarrier::Transaction {
                complete: transaction.complete,
                place: self.place(&transaction.address),
                bytes: self.read(transaction.bytes, 32),
            }),
            Instruction::MbarrierArrive(arrive) => Operation::Mbarrier(Mbarrier::Arrive {
                op: arrive.op,
                place: self.place(&arrive.address),
                count: arrive.count.map(|count| self.read(count, 32)),
                state: arrive.state.map(|state| self.write(state)),
                release: arrive.ordering != Some(Ordering::Relaxed),
            }),
            Instruction::MbarrierWait(wait) => Operation::Mbarrier(Mbarrier::Wait {
                place: self.place(&wait.address),
                phase: match wait.phase {
                    Phase::State(state) => WaitPhase::State(self.read_register(state)),
                    Phase::Parity(parity) => WaitPhase::Parity(self.read(parity, 32)),
                },
                suspend: wait.suspend,
                acquire: wait.ordering != Some(Ordering::Relaxed),
                complete: self.write_predicate(wait.complete),
            }),
            Instruction::MbarrierAsyncArrive(arrive) => Operation::Mbarrier(Mbarrier::AsyncArrive {
                expected: arrive.expected,
                place: self.place(&arrive.address),
            }),
            Instruction::AsyncCopy(copy) => Operation::AsyncCopy {
                dst: self.place(&copy.dst),
                source: self.place(&copy.source),
                bytes: u32::from(copy.bytes),
                read: copy.read.map(|read| self.read(read, 32)),
            },
            Instruction::AsyncGroup(group) => Operation::AsyncGroup(*group),
            Instruction::BulkCopy(copy) => self.bulk_copy(copy),
            Instruction::BulkTensor(copy) => self.bulk_tensor(copy)?,
            Instruction::BulkGroup(group) => Operation::BulkGroup(*group),
            Instruction::TensorMapReplace(replace) => Operation::TensorMapReplace {
                field: replace.field,
                place: self.place(&replace.address),
                dimension: replace.dimension.unwrap_or(0),
                value: self.read(replace.value, 64),
            },
            Instruction::TensorMapPublish(publish) => Operation::TensorMapPublish {
                dst: self.place(&publish.dst),
                source: self.place(&publish.source),
            },
            _ => return None,
        })
    }

    fn bulk_copy(&mut self, copy: &BulkCopy) -> Operation {
        let bulk = match copy {
            BulkCopy::Load { dst, source, bytes, barrier, multicast, .. } => Bulk::Load {
                dst: self.place(dst),
                source: self.place(source),
                bytes: self.read(*bytes, 32),
                barrier: self.place(barrier),
                multicast: multicast.map(|mask| self.read_register(mask)),
            },
            BulkCopy::Forward { dst, source, bytes, barrier } => Bulk::Forward {
                dst: self.place(dst),
                source: self.place(source),
                bytes: self.read(*bytes, 32),
                barrier: self.place(barrier),
            },
            BulkCopy::Store { dst, source, bytes, reduction, .. } => Bulk::Store {
                dst: self.place(dst),
                source: self.place(source),
                bytes: self.read(*bytes, 32),
                reduction: *reduction,
            },
            BulkCopy::Prefetch { .. } => Bulk::Prefetch,
        };
        Operation::Bulk(Box::new(bulk))
    }

    fn bulk_tensor(&mut self, copy: &BulkTensor) -> Option<Operation> {
        let bulk = match copy {
            BulkTensor::Load { dst, map, coordinates, barrier, multicast, .. } => Bulk::TensorLoad {
                dst: self.place(dst),
                map: self.place(map),
                coordinates: coordinates.iter().map(|&coordinate| self.read(coordinate, 32)).collect(),
                barrier: self.place(barrier),
                multicast: multicast.map(|mask| self.read_register(mask)),
            },
            // Of the elements' type, the map that the simulator makes has the size alone.
            BulkTensor::Store { reduction: Some(_), .. } => return None,
            BulkTensor::Store { map, coordinates, source, .. } => Bulk::TensorStore {
                map: self.place(map),
                coordinates: coordinates.iter().map(|&coordinate| self.read(coordinate, 32)).collect(),
                source: self.place(source),
            },
            BulkTensor::Prefetch { .. } => Bulk::Prefetch,
        };
        Some(Operation::Bulk(Box::new(bulk)))
    }
}
