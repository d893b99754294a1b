//! Matrices moved and multiplied.

use crate::program::build::Builder;
use crate::program::{LeftOperand, Operation, WarpProduct, WarpgroupProduct};
use tegula_ptx::{Instruction, WgmmaSource};

impl Builder {
    pub(super) fn matrix(&mut self, instruction: &Instruction) -> Option<Operation> {
        Some(match instruction {
            Instruction::MatrixLoad(load) => Operation::MatrixLoad {
                transpose: load.transpose,
                place: self.place(&load.address),
                dst: load.dst.iter().map(|&dst| self.write(dst)).collect(),
            },
            Instruction::MatrixStore(store) => Operation::MatrixStore {
                transpose: store.transpose,
                place: self.place(&store.address),
                values: store.values.iter().map(|&value| self.read_register(value)).collect(),
            },
            Instruction::MatrixTranspose(transpose) => Operation::MatrixTranspose {
                source: self.read_register(transpose.source),
                dst: self.write(transpose.dst),
            },
            Instruction::Mma(mma) => {
                let bits = if mma.types[0].bits() == 64 { 64 } else { 32 };
                let product = WarpProduct {
                    shape: mma.shape,
                    types: mma.types,
                    saturate: mma.saturate,
                    a: mma.a.iter().map(|&value| self.read_register(value)).collect(),
                    b: mma.b.iter().map(|&value| self.read_register(value)).collect(),
                    c: mma.c.iter().map(|&value| self.read(value, bits)).collect(),
                    dst: mma.dst.iter().map(|&dst| self.write(dst)).collect(),
                };
                if !product.is_known() {
                    return None;
                }
                Operation::Mma(Box::new(product))
            }
            Instruction::Wgmma(wgmma) => {
                let a = match &wgmma.a {
                    WgmmaSource::Descriptor(descriptor) => {
                        LeftOperand::Descriptor(self.read_register(*descriptor))
                    }
                    WgmmaSource::Registers(registers) => LeftOperand::Registers(
                        registers.iter().map(|&value| self.read_register(value)).collect(),
                    ),
                };
                let product = WarpgroupProduct {
                    n: u32::from(wgmma.n),
                    accumulator: wgmma.accumulator,
                    types: wgmma.types,
                    saturate: wgmma.saturate,
                    a,
                    b: self.read_register(wgmma.b),
                    accumulate: self.read_predicate(wgmma.accumulate.into()),
                    negate: wgmma.negate,
                    transpose: wgmma.transpose,
                    dst: wgmma.dst.iter().map(|&dst| self.write(dst)).collect(),
                };
                if !product.is_known() {
                    return None;
                }
                Operation::Wgmma(Box::new(product))
            }
            Instruction::WgmmaControl(control) => Operation::WgmmaControl(*control),
            _ => return None,
        })
    }
}
