//! Products: by `wgmma` (`wgmma`), by `mma.sync` on fragments in registers, or by multiply-adds (`multiply_add`).

use super::{Lowering, Registers, Result};
use crate::layouts::{LayoutId, Operand, Product, Unit, register_map};
use tegula_ir::{Element, Op, OpId, Rounding, Scalar, Shape, Value};
use tegula_layout::Layout;
use tegula_ptx::{Mma, MmaShape, Register, Rounding as PtxRounding, Type};

impl Lowering<'_> {
    pub(super) fn dot(&mut self, id: OpId) -> Result<()> {
        let Op::Dot { lhs, rhs, accumulator, .. } = self.function.op(id).op else {
            unreachable!("called for products")
        };
        let result = self.function.op(id).results[0];
        let product = self.layouts.products[&id].clone();
        let scalar = self.scalar_type(result);
        let compute = compute_type(self.scalar_type(lhs), scalar);
        if let Unit::Warpgroup { .. } = product.unit {
            return self.warpgroup_product(id, &product);
        }
        let count = self.layouts.set.registers(product.accumulator_id);
        let sums: Vec<Register> = match accumulator {
            Some(accumulator) => {
                let registers = self.block(accumulator, product.accumulator_id);
                let mut sums = Vec::new();
                for &register in registers.iter() {
                    sums.push(self.cast(scalar, compute, Rounding::NearestEven, register)?);
                }
                sums
            }
            None => vec![self.zero(compute.into()); count],
        };
        let sums = match (&product.lhs, &product.rhs) {
            (Operand::Fragment { layout: left, .. }, Operand::Fragment { layout: right, .. }) => {
                self.tensor_core(&product, [left, right], [lhs, rhs], sums)
            }
            (Operand::Scratch { id: left }, Operand::Scratch { id: right }) => {
                self.multiply_add(&product, [*left, *right], [lhs, rhs], result, compute, sums)?
            }
            _ => unreachable!("only wgmma reads tiles"),
        };
        let mut registers = Vec::new();
        for sum in sums {
            registers.push(self.cast(compute, scalar, Rounding::NearestEven, sum)?);
        }
        self.define_block(result, product.accumulator_id, registers)
    }

    /// An operand's registers in the order of the instruction, with zeros for padding.
    pub(super) fn fragment(&mut self, value: Value, layout: &Layout) -> Vec<Register> {
        let id = self.layouts.set.add(layout);
        let registers = self.block(value, id);
        let shape = self.function.ty(value).shape.clone();
        let registers = self.zero_padding(id, &shape, self.element(value), registers);
        register_map(layout).into_iter().map(|register| registers[register]).collect()
    }

    /// A block with zeros where its shape is padded.
    pub(super) fn zero_padding(
        &mut self,
        id: LayoutId,
        shape: &Shape,
        element: Element,
        registers: Registers,
    ) -> Registers {
        if !crate::padding::is_padded(shape) {
            return registers;
        }
        let inside = self.inside(id, shape);
        let zero = self.zero(element);
        (registers.iter().zip(inside))
            .map(|(&register, inside)| match inside {
                Some(inside) => self.select_element(element, inside, register, zero),
                None => register,
            })
            .collect()
    }

    /// Elements as the instruction takes them: packed in words of 32 bits, fp32 rounded to tf32.
    pub(super) fn operand_words(&mut self, value: Value, elements: &[Register]) -> Vec<Register> {
        let scalar = self.scalar_type(value);
        match scalar {
            Scalar::Float64 => elements.to_vec(),
            Scalar::Float32 => {
                let nearest = Some(PtxRounding::NearestAway);
                elements.iter().map(|&one| self.code.convert(Type::Tf32, Type::F32, nearest, one)).collect()
            }
            _ => self.pack_words(scalar.into(), elements),
        }
    }

    fn tensor_core(
        &mut self,
        product: &Product,
        [left, right]: [&Layout; 2],
        [lhs, rhs]: [Value; 2],
        sums: Vec<Register>,
    ) -> Vec<Register> {
        let unit = product.unit;
        let (a_scalar, b_scalar) = (self.scalar_type(lhs), self.scalar_type(rhs));
        let a = self.fragment(lhs, left);
        let a = self.operand_words(lhs, &a);
        let b = self.fragment(rhs, right);
        let b = self.operand_words(rhs, &b);
        // The registers of one instruction; beyond them, K counts first in the left operand, N in the right and in the result.
        let (words_a, words_b, words_c, k) = match unit {
            Unit::TensorCore { k } => (4, 2, 4, k),
            _ => (1, 1, 2, 4),
        };
        let depth = left.shape()[1] / k;
        let along_n = b.len() / words_b / depth as usize;
        let along_m = a.len() / words_a / depth as usize;
        let types =
            [accumulator_type(a_scalar), mma_type(a_scalar), mma_type(b_scalar), accumulator_type(a_scalar)];
        let shape = mma_shape(unit);
        let map = register_map(&product.accumulator);
        let mut full: Vec<Register> = map.iter().map(|&register| sums[register]).collect();
        for step in 0..depth as usize {
            for row in 0..along_m {
                for column in 0..along_n {
                    let a_start = (row * depth as usize + step) * words_a;
                    let b_start = (step * along_n + column) * words_b;
                    let c_start = (row * along_n + column) * words_c;
                    let c = &full[c_start..c_start + words_c];
                    let dst: Vec<Register> = c.iter().map(|one| self.code.fresh(one.class)).collect();
                    self.code.push(Mma {
                        shape,
                        saturate: false,
                        types,
                        dst: dst.iter().copied().collect(),
                        a: a[a_start..a_start + words_a].iter().copied().collect(),
                        b: b[b_start..b_start + words_b].iter().copied().collect(),
                        c: c.iter().map(|&one| one.into()).collect(),
                    });
                    full[c_start..c_start + words_c].copy_from_slice(&dst);
                }
            }
        }
        let mut sums = sums;
        for (register, &place) in map.iter().enumerate() {
            sums[place] = full[register];
        }
        sums
    }
}

/// The type in which a product is summed.
pub(super) fn compute_type(operand: Scalar, result: Scalar) -> Scalar {
    match (operand, result) {
        (Scalar::Float64, _) | (_, Scalar::Float64) => Scalar::Float64,
        (operand, result) if operand.is_int() && result.bits() == 64 => Scalar::Int64,
        (operand, _) if operand.is_int() => Scalar::Int32,
        _ => Scalar::Float32,
    }
}

pub(super) fn accumulator_type(operand: Scalar) -> Type {
    match operand {
        Scalar::Float64 => Type::F64,
        operand if operand.is_int() => Type::S32,
        _ => Type::F32,
    }
}

pub(super) fn mma_type(operand: Scalar) -> Type {
    match operand {
        Scalar::Float64 => Type::F64,
        Scalar::Float32 => Type::Tf32,
        Scalar::Float16 => Type::F16,
        Scalar::BFloat16 => Type::Bf16,
        Scalar::Float8E4M3 => Type::E4m3,
        Scalar::Float8E5M2 => Type::E5m2,
        Scalar::UInt8 => Type::U8,
        _ => Type::S8,
    }
}

fn mma_shape(unit: Unit) -> MmaShape {
    match unit {
        Unit::TensorCore { k: 8 } => MmaShape::M16N8K8,
        Unit::TensorCore { k: 16 } => MmaShape::M16N8K16,
        Unit::TensorCore { .. } => MmaShape::M16N8K32,
        _ => MmaShape::M8N8K4,
    }
}
