//! `wgmma`: products of a warpgroup, whose warps each compute 16 of the 64 rows.
//!
//! The results are there at once, but whoever uses them before they are waited for is at fault.

use super::access::{Proxy, Touch};
use super::cluster::Cluster;
use super::fault::At;
use super::product::{Matrix, accumulator, decoder, left_operand, write_accumulator};
use super::warp::{Busy, lanes};
use crate::order::{Lane, Record};
use crate::program::{LeftOperand, Operation, RANK_SHIFT, Slot, Step, WarpgroupProduct, Window};
use crate::report::FindingKind;
use tegula_ptx::{Type, WgmmaControl};

/// Rows of a product that one warp computes.
const ROWS: usize = 16;
/// Bytes of the contraction.
const DEPTH_BYTES: u32 = 32;
/// Bytes that lie together in every layout.
const CHUNK: u32 = 16;

/// A matrix in shared memory (PTX ISA, "Matrix-descriptor Format" and "Strides" of `wgmma`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Descriptor {
    start: u32,
    leading: u32,
    stride: u32,
    base_offset: u32,
    /// Bytes of a row of the swizzle; 16 without one.
    row_bytes: u32,
}

impl Descriptor {
    fn new(bits: u64) -> Descriptor {
        let field = |at: u32| (bits >> at & 0x3fff) as u32 * 16;
        Descriptor {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base_offset: (bits >> 49 & 7) as u32,
            row_bytes: match bits >> 62 {
                0 => 16,
                1 => 128,
                2 => 64,
                _ => 32,
            },
        }
    }

    /// Where the 16 bytes lie that begin `bytes` along the contiguous dimension, in the line `line` of the other.
    fn place(self, contiguous_is_depth: bool, line: u32, bytes: u32) -> u32 {
        let (group, inside) = (line / 8, line % 8);
        let (row, part) = (bytes / self.row_bytes, bytes % self.row_bytes);
        let swizzled = self.row_bytes > 16;
        // Without a swizzle, the two strides change roles where M or N is contiguous.
        let (of_group, of_row) = match (contiguous_is_depth, swizzled) {
            (true, _) | (false, true) => (self.stride, self.leading),
            (false, false) => (self.leading, self.stride),
        };
        let address = self.start + group * of_group + row * of_row + inside * self.row_bytes + part;
        let phase = match self.row_bytes {
            128 => address >> 7 & 7,
            64 => address >> 7 & 3,
            32 => address >> 7 & 1,
            _ => 0,
        };
        address ^ phase << 4
    }
}

impl Cluster<'_> {
    /// Registers that `wgmma` uses in the background are left alone, and those that are written are fenced before it reads them.
    pub(super) fn check_wgmma_registers(&mut self, at: At, step: &Step) {
        let state = &mut self.warps[at.warp].wgmma;
        if let Operation::Wgmma(_) = step.operation {
            return;
        }
        for &slot in &step.writes {
            state.dirty[slot as usize] = true;
        }
        if state.busy_rows.is_empty() {
            return;
        }
        let busy = |slot: &&Slot| state.busy[**slot as usize].is_some();
        let used = step.reads.iter().find(busy).map(|_| "read");
        if let Some(how) = used.or_else(|| step.writes.iter().find(busy).map(|_| "written")) {
            self.fault(at, FindingKind::WgmmaInFlight, lanes(at.lanes).next(), None, None, || {
                format!("a register is {how} that a `wgmma` uses which is not waited for")
            });
        }
    }

    pub(super) fn wgmma(&mut self, at: At, product: &WarpgroupProduct) {
        self.check_aligned(at);
        self.check_operands(at, product);
        let [left, right] = product.types;
        let (Some(of_left), Some(of_right), Some(of_sum)) =
            (decoder(left), decoder(right), decoder(product.accumulator))
        else {
            return;
        };
        let depth = (8 * DEPTH_BYTES / left.bits()) as usize;
        let warp = &self.warps[at.warp];
        let group = warp.wgmma.committed + 1;
        let first = at.lanes.trailing_zeros() as usize & 31;
        let record = Record::new(self.actors.wgmma(at.warp), Lane::Whole, group, at.step);
        let b = Descriptor::new(warp.row(product.b)[first]);
        let accumulates = warp.predicate(product.accumulate) >> first & 1 == 1;
        let rows = ROWS * (warp.index as usize % 4);
        let mut a = match &product.a {
            LeftOperand::Registers(slots) => left_operand(warp, slots, left, of_left, ROWS, depth),
            LeftOperand::Descriptor(slot) => {
                let descriptor = Descriptor::new(warp.row(*slot)[first]);
                let transposed = product.transpose[0];
                self.operand(at, descriptor, transposed, left, of_left, record, (rows, ROWS))
            }
        };
        let by_column =
            self.operand(at, b, product.transpose[1], right, of_right, record, (0, product.n as usize));
        let mut b_rows = Matrix::zeros(depth, product.n as usize);
        for column in 0..product.n as usize {
            for row in 0..depth {
                let number = by_column.get(column, row);
                b_rows.set(row, column, if product.negate[1] { -number } else { number });
            }
        }
        if product.negate[0] {
            a.numbers.iter_mut().for_each(|number| *number = -*number);
        }
        let warp = &mut self.warps[at.warp];
        let extents = [ROWS, product.n as usize];
        let mut sum = if accumulates {
            accumulator(warp, &product.dst, product.accumulator, of_sum, extents)
        } else {
            Matrix::zeros(extents[0], extents[1])
        };
        sum.add_product(&a, &b_rows, false);
        write_accumulator(warp, &product.dst, product.accumulator, product.saturate, &sum);
        let state = &mut warp.wgmma;
        state.open = true;
        // Of the four warps, each comes by here with the same.
        state.digest = (state.digest ^ u64::from(at.step)).wrapping_mul(0x0100_0000_01b3);
        for (slots, accumulates) in [(product.dst.as_slice(), true), (product.a.registers(), false)] {
            for &slot in slots {
                if state.busy[slot as usize].replace(Busy { group, accumulates }).is_none() {
                    state.busy_rows.push(slot);
                }
            }
        }
    }

    fn check_operands(&mut self, at: At, product: &WarpgroupProduct) {
        let warp = &self.warps[at.warp];
        let state = &warp.wgmma;
        let registers = || product.dst.iter().chain(product.a.registers());
        let unfenced = !state.fenced || registers().any(|&slot| state.dirty[slot as usize]);
        let accumulates = warp.predicate(product.accumulate) & at.lanes != 0;
        let unset =
            accumulates && product.dst.iter().any(|&slot| warp.set[slot as usize] & at.lanes != at.lanes);
        let in_use = |slot: &Slot, accumulates: bool| {
            state.busy[*slot as usize].is_some_and(|busy| busy.accumulates != accumulates)
        };
        let mixed = product.dst.iter().any(|slot| in_use(slot, true))
            || product.a.registers().iter().any(|slot| in_use(slot, false));
        if unfenced {
            self.fault(at, FindingKind::MissingWgmmaFence, None, None, None, || {
                "registers of it were written since the last `wgmma.fence`, or there was none".into()
            });
        }
        if unset {
            self.fault(at, FindingKind::Uninitialised, None, None, None, || {
                "the accumulator is added to, and nothing has written it".into()
            });
        }
        if mixed {
            self.fault(at, FindingKind::WgmmaInFlight, None, None, None, || {
                "an accumulator that is not waited for is an operand, or an operand an accumulator".into()
            });
        }
    }

    /// Reads an operand from shared memory: the rows (of the right operand, the columns) `first..first + count`.
    #[allow(clippy::too_many_arguments)]
    fn operand(
        &mut self,
        at: At,
        descriptor: Descriptor,
        transposed: bool,
        ty: Type,
        decode: fn(u64) -> f64,
        record: Record,
        (first, count): (usize, usize),
    ) -> Matrix {
        if descriptor.base_offset != 0 {
            self.invalid(at, None, || {
                "descriptors with a base offset are not simulated: atoms must be aligned".into()
            });
        }
        let bytes = ty.bits() / 8;
        let depth = (DEPTH_BYTES / bytes) as usize;
        let per_chunk = (CHUNK / bytes) as usize;
        let rank = (self.warps[at.warp].block as u32) << RANK_SHIFT;
        let mut matrix = Matrix::zeros(count, depth);
        let (lines, length) = if transposed { (0..depth, count) } else { (first..first + count, depth) };
        let begin = if transposed { first } else { 0 };
        for line in lines {
            for chunk in 0..length / per_chunk {
                let along = begin + chunk * per_chunk;
                let place = descriptor.place(!transposed, line as u32, along as u32 * bytes) | rank;
                if !self.is_valid(at, 0, Window::Shared(place), CHUNK, CHUNK, false) {
                    continue;
                }
                let touch = Touch {
                    lane: Lane::Whole,
                    record,
                    writes: false,
                    proxy: Proxy::Async,
                    changes_nothing: false,
                };
                self.touch_shared(at, place, CHUNK, touch);
                for (index, element) in self.shared_bytes(place, CHUNK).chunks(bytes as usize).enumerate() {
                    let mut word = [0; 8];
                    word[..element.len()].copy_from_slice(element);
                    let number = decode(u64::from_le_bytes(word));
                    let along = along - begin + index;
                    if transposed {
                        matrix.set(along, line, number)
                    } else {
                        matrix.set(line - first, along, number)
                    }
                }
            }
        }
        let moved = count as u64 * u64::from(DEPTH_BYTES);
        self.collector.traffic.shared_read += moved;
        self.collector.step(at.step).bytes += moved;
        matrix
    }

    pub(super) fn wgmma_control(&mut self, at: At, control: WgmmaControl) {
        self.check_aligned(at);
        let actor = self.actors.wgmma(at.warp);
        let warp = &mut self.warps[at.warp];
        let state = &mut warp.wgmma;
        match control {
            WgmmaControl::Fence => {
                state.fenced = true;
                state.dirty.fill(false);
            }
            WgmmaControl::Commit => {
                state.committed += 1;
                state.open = false;
            }
            WgmmaControl::Wait(pending) => {
                let done = state.committed.saturating_sub(pending);
                let busy = &mut state.busy;
                state.busy_rows.retain(|&slot| {
                    let entry = &mut busy[slot as usize];
                    let is_done = entry.is_some_and(|busy| busy.group <= done);
                    if is_done {
                        *entry = None;
                    }
                    !is_done
                });
                warp.order.learn_async(actor, done, at.lanes, true);
            }
        }
    }

    /// The warps of a warpgroup have executed the same products.
    pub(super) fn check_warpgroups(&mut self) {
        if !self.launch.program.has_wgmma {
            return;
        }
        for first in (0..self.warps.len()).step_by(4) {
            let group = first..(first + 4).min(self.warps.len());
            let own = self.warps[first].wgmma.digest;
            let Some(other) = group.clone().find(|&warp| self.warps[warp].wgmma.digest != own) else {
                continue;
            };
            let steps = &self.launch.program.steps;
            let step = steps.iter().position(|step| matches!(step.operation, Operation::Wgmma(_)));
            let at = At { warp: other, fragment: 0, step: step.unwrap_or(0) as u32, lanes: 0 };
            self.fault(at, FindingKind::Divergent, None, None, None, || {
                "the four warps of a warpgroup have not executed the same products".into()
            });
        }
    }
}

impl WarpgroupProduct {
    /// Whether the registers are as many as the types ask for, of types that there are.
    pub fn is_known(&self) -> bool {
        let known = |ty: Type| decoder(ty).is_some();
        let accumulators = self.n as usize / 2 * self.accumulator.bits() as usize / 32;
        let registers = self.a.registers().len();
        self.types.into_iter().all(known)
            && self.types[0].bits() == self.types[1].bits()
            && matches!(self.accumulator, Type::F32 | Type::F16 | Type::S32)
            && self.dst.len() == accumulators
            && matches!((&self.a, registers), (LeftOperand::Descriptor(_), _) | (_, 4))
    }
}

impl LeftOperand {
    /// The registers of the operand.
    fn registers(&self) -> &[Slot] {
        match self {
            LeftOperand::Descriptor(_) => &[],
            LeftOperand::Registers(slots) => slots,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tegula_ptx::{MatrixDescriptor, WgmmaSwizzle};

    fn descriptor(swizzle: WgmmaSwizzle, leading_bytes: u32, stride_bytes: u32) -> Descriptor {
        let made = MatrixDescriptor { address: 2048, leading_bytes, stride_bytes, base_offset: 0, swizzle };
        Descriptor::new(made.encode())
    }

    #[test]
    fn places_are_those_of_the_canonical_layouts() {
        let wide = descriptor(WgmmaSwizzle::Bytes128, 16, 1024);
        assert_eq!(wide.place(true, 0, 0), 2048);
        assert_eq!(wide.place(true, 1, 0), 2048 + 128 + 16);
        assert_eq!(wide.place(true, 9, 16), 2048 + 1024 + 128);
        // M is contiguous: 64 elements of 16 bits in a row, the next ones a leading stride further.
        let across = descriptor(WgmmaSwizzle::Bytes128, 8192, 1024);
        assert_eq!(across.place(false, 8, 128), 2048 + 8192 + 1024);
        let none = descriptor(WgmmaSwizzle::None, 128, 256);
        assert_eq!(none.place(true, 9, 16), 2048 + 256 + 128 + 16);
        assert_eq!(none.place(false, 9, 16), 2048 + 128 + 256 + 16);
        let narrow = descriptor(WgmmaSwizzle::Bytes32, 16, 256);
        assert_eq!(narrow.place(true, 4, 0), 2048 + 128 + 16);
    }
}
