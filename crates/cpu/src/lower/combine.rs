//! Combine functions of reductions and scans, and the bodies of elementwise maps.
//!
//! Such a function is written for scalars. Where it has no loops and touches no memory, it is lowered so that each scalar
//! becomes a whole tile; branches are computed both and selected from.

use super::Lowering;
use crate::program::{
    Combine, Elementwise, ElementwiseKind, FoldFunctions, Instruction, MapBody, Operand, TileRegion,
};
use smallvec::SmallVec;
use tegula_ir::{BinaryOp, Diagnostic, Op, RegionId, Value};
use tegula_strip::{self as strip, Operands};

impl Lowering<'_> {
    /// The combine function of a reduction or scan.
    pub(super) fn combine(&mut self, region: RegionId) -> Result<Combine, Box<Diagnostic>> {
        if let Some(functions) = self.recognise_binary(region) {
            return Ok(Combine::Binary(functions));
        }
        if self.runs_on_tiles(region) {
            return Ok(Combine::Tiles(self.tile_region(region)?));
        }
        Ok(Combine::Scalars(self.region(region)?))
    }

    /// The body of an elementwise map.
    pub(super) fn map_body(&mut self, region: RegionId) -> Result<MapBody, Box<Diagnostic>> {
        if self.runs_on_tiles(region) {
            return Ok(MapBody::Tiles(self.tile_region(region)?));
        }
        Ok(MapBody::Scalars(self.region(region)?))
    }

    /// A region that is one commutative operation of its two arguments.
    fn recognise_binary(&self, region: RegionId) -> Option<FoldFunctions> {
        let data = self.function.region(region);
        let ([lhs, rhs], [op], [result]) = (&data.args[..], &data.ops[..], &data.yields[..]) else {
            return None;
        };
        let op = self.function.op(*op);
        let Op::Binary { op: binary, lhs: a, rhs: b } = op.op else { return None };
        if op.results[0] != *result || !((a, b) == (*lhs, *rhs) || (a, b) == (*rhs, *lhs)) {
            return None;
        }
        let commutative = matches!(
            binary,
            BinaryOp::Add
                | BinaryOp::Mul
                | BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::Min
                | BinaryOp::Max
                | BinaryOp::MinNan
                | BinaryOp::MaxNan
        );
        if !commutative {
            return None;
        }
        let scalar = self.scalar(*lhs);
        Some(FoldFunctions {
            reduce: strip::reduce(self.isa, binary, scalar)?,
            scan: strip::scan(self.isa, binary, scalar)?,
            binary: strip::binary(self.isa, binary, scalar, Operands::DenseDense)?,
        })
    }

    /// Whether a region consists of elementwise operations, and branches over such.
    fn runs_on_tiles(&self, region: RegionId) -> bool {
        self.function.region(region).ops.iter().all(|&op| match &self.function.op(op).op {
            Op::Constant(_) | Op::Annotate { .. } | Op::Assume { .. } => true,
            Op::If { then, otherwise, .. } => self.runs_on_tiles(*then) && self.runs_on_tiles(*otherwise),
            // Pointers are not folded.
            Op::AddPointer { .. } => false,
            op => op.is_elementwise(),
        })
    }

    /// A region lowered for tiles.
    fn tile_region(&mut self, region: RegionId) -> Result<TileRegion, Box<Diagnostic>> {
        let first = self.block_types.len() as u32;
        let outer = std::mem::replace(&mut self.tiles, true);
        let function = self.function;
        let data = function.region(region);
        let args = data.args.iter().map(|&arg| self.define(arg)).collect();
        let mut code = Vec::new();
        self.tile_code(region, &mut code)?;
        self.tiles = outer;
        let yields = data.yields.iter().map(|&value| self.kept(value)).collect();
        Ok(TileRegion { args, code, yields, slots: first..self.block_types.len() as u32 })
    }

    /// An operand that is read again.
    fn kept(&self, value: Value) -> Operand {
        Operand { place: self.place(value), last: false }
    }

    fn tile_code(&mut self, region: RegionId, code: &mut Vec<Instruction>) -> Result<(), Box<Diagnostic>> {
        let function = self.function;
        for &id in &function.region(region).ops {
            let data = function.op(id);
            let Op::If { condition, then, otherwise } = data.op else {
                self.lower_op(id, code)?;
                continue;
            };
            self.tile_code(then, code)?;
            self.tile_code(otherwise, code)?;
            let (then, otherwise) = (&function.region(then).yields, &function.region(otherwise).yields);
            for ((&result, &on_true), &on_false) in data.results.iter().zip(then).zip(otherwise) {
                let out = self.define(result);
                let functions = self.select_functions(result);
                let inputs = [condition, on_true, on_false].map(|value| self.kept(value));
                let action = crate::program::Action::Elementwise(Box::new(Elementwise {
                    kind: ElementwiseKind::Select,
                    scalar: self.scalar(result),
                    result: self.scalar(result),
                    functions,
                    inputs: SmallVec::from(inputs),
                    out,
                }));
                code.push(Instruction { action, ends: Box::new([]), span: data.span });
            }
        }
        Ok(())
    }
}
