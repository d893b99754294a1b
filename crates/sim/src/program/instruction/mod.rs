//! Instructions to operations, a file for each family.

mod arithmetic;
mod background;
mod exchange;
mod matrix;
mod memory;

use super::Operation;
use super::build::Builder;
use tegula_ptx::Instruction;

impl Builder {
    /// What an instruction does; none if it is not known.
    pub fn operation(&mut self, instruction: &Instruction) -> Option<Operation> {
        match instruction {
            Instruction::Math(_)
            | Instruction::Lop3(_)
            | Instruction::Permute(_)
            | Instruction::FunnelShift(_)
            | Instruction::DotProduct(_)
            | Instruction::TestProperty(_)
            | Instruction::SetPredicate(_)
            | Instruction::Select(_)
            | Instruction::Convert(_)
            | Instruction::ConvertPack(_)
            | Instruction::Move(_)
            | Instruction::ConvertAddress(_) => self.arithmetic(instruction),
            Instruction::Load(_)
            | Instruction::Store(_)
            | Instruction::PrefetchLine(_)
            | Instruction::CreatePolicy(_)
            | Instruction::ClusterAddress(_)
            | Instruction::Atomic(_)
            | Instruction::Reduce(_) => self.memory(instruction),
            Instruction::Shuffle(_)
            | Instruction::Vote(_)
            | Instruction::Match(_)
            | Instruction::WarpReduce(_)
            | Instruction::ActiveMask(_)
            | Instruction::Elect(_)
            | Instruction::Barrier(_)
            | Instruction::BarrierReduce(_)
            | Instruction::WarpBarrier(_)
            | Instruction::ClusterBarrier(_)
            | Instruction::Fence(_)
            | Instruction::Branch(_)
            | Instruction::Control(_)
            | Instruction::Nanosleep(_)
            | Instruction::SetMaxRegisters(_) => self.exchange(instruction),
            Instruction::MbarrierInit(_)
            | Instruction::MbarrierInvalidate(_)
            | Instruction::MbarrierTransaction(_)
            | Instruction::MbarrierArrive(_)
            | Instruction::MbarrierWait(_)
            | Instruction::MbarrierAsyncArrive(_)
            | Instruction::AsyncCopy(_)
            | Instruction::AsyncGroup(_)
            | Instruction::BulkCopy(_)
            | Instruction::BulkTensor(_)
            | Instruction::BulkGroup(_)
            | Instruction::TensorMapReplace(_)
            | Instruction::TensorMapPublish(_) => self.background(instruction),
            Instruction::MatrixLoad(_)
            | Instruction::MatrixStore(_)
            | Instruction::MatrixTranspose(_)
            | Instruction::Mma(_)
            | Instruction::Wgmma(_)
            | Instruction::WgmmaControl(_) => self.matrix(instruction),
        }
    }
}
