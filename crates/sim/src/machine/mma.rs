//! `mma.sync`: a product by one warp.

use super::cluster::Cluster;
use super::fault::At;
use super::product::{accumulator, decoder, left_operand, right_operand, write_accumulator};
use crate::program::WarpProduct;
use tegula_ptx::{MmaShape, Type};

/// M, N and K.
fn extents(shape: MmaShape) -> [usize; 3] {
    match shape {
        MmaShape::M8N8K4 => [8, 8, 4],
        MmaShape::M16N8K4 => [16, 8, 4],
        MmaShape::M16N8K8 => [16, 8, 8],
        MmaShape::M16N8K16 => [16, 8, 16],
        MmaShape::M16N8K32 => [16, 8, 32],
    }
}

impl WarpProduct {
    /// Whether the registers are as many as the shape and the types ask for, of types that there are.
    pub fn is_known(&self) -> bool {
        let [m, n, k] = extents(self.shape);
        let [to, left, right, from] = self.types;
        let registers = |elements: usize, ty: Type| {
            (elements * ty.bits() as usize).div_ceil(32 * ty.bits().max(32) as usize)
        };
        [to, left, right, from].into_iter().all(|ty| decoder(ty).is_some())
            && (left == Type::F64) == (to == Type::F64)
            && self.a.len() == registers(m * k, left)
            && self.b.len() == registers(k * n, right)
            && self.c.len() == registers(m * n, from)
            && self.dst.len() == registers(m * n, to)
            && (m == 16 || left == Type::F64)
    }
}

impl Cluster<'_> {
    pub(super) fn mma(&mut self, at: At, product: &WarpProduct) {
        self.check_aligned(at);
        let [m, n, k] = extents(product.shape);
        let [to, left, right, from] = product.types;
        let (Some(of_left), Some(of_right), Some(of_sum)) = (decoder(left), decoder(right), decoder(from))
        else {
            return;
        };
        let warp = &mut self.warps[at.warp];
        let a = left_operand(warp, &product.a, left, of_left, m, k);
        let b = right_operand(warp, &product.b, right, of_right, k);
        let mut sum = accumulator(warp, &product.c, from, of_sum, [m, n]);
        sum.add_product(&a, &b, left == Type::F64);
        write_accumulator(warp, &product.dst, to, product.saturate, &sum);
    }
}
