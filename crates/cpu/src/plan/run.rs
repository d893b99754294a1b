//! Executes plans.

use super::{Access, Early, Export, Fits, Interval, MultiplyAdd, Phase, Plan, Source, Step};
use crate::affine;
use crate::block::{Block, Bounds};
use crate::buffer::Buffer;
use crate::execute::{Executor, Outcome};
use crate::fill;
use crate::per_axis::PerAxis;
use crate::program::Place;
use crate::scalar;
use crate::stream;
use crate::strided::{Strided, Tile};

/// Elements of a strip that goes past the caches: what is written waits for memory, and so little of it that the processor reads what
/// comes after meanwhile.
const STREAMED: usize = 256;

/// Memory that plans use while they run.
#[derive(Debug, Default)]
pub struct State {
    scratch: Vec<Line>,
    /// Where the elements of nodes are, and of blocks from elsewhere.
    nodes: Vec<Spot>,
    outers: Vec<Spot>,
    /// For each access, its first byte, and the elements from the first to after the last.
    ranges: Vec<Range>,
    /// Buffers that hold the elements of nodes and of blocks from elsewhere.
    node_buffers: Vec<Option<Buffer>>,
    outer_blocks: Vec<Block>,
}

/// One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; 64],
}

/// Elements in memory: `step` bytes further for each element of the block, or the same strip again and again.
#[derive(Clone, Copy, Debug)]
struct Spot {
    address: *mut u8,
    step: usize,
}

impl Spot {
    fn at(self, start: usize) -> *mut u8 {
        self.address.wrapping_add(start * self.step)
    }
}

#[derive(Clone, Copy, Debug)]
struct Range {
    base: i64,
    low: usize,
    high: usize,
    width: usize,
}

impl Range {
    fn is_empty(self) -> bool {
        self.low >= self.high
    }

    fn bytes(self) -> (i64, i64) {
        let at = |index: usize| self.base.wrapping_add((index * self.width) as i64);
        (at(self.low), at(self.high))
    }

    fn meets(self, other: Range) -> bool {
        let (a, b) = (self.bytes(), other.bytes());
        !self.is_empty() && !other.is_empty() && a.0 < b.1 && b.0 < a.1
    }

    fn address(self, index: usize) -> *mut u8 {
        self.base.wrapping_add((index * self.width) as i64) as usize as *mut u8
    }

    /// The elements of a strip that are inside.
    fn clip(self, start: usize, count: usize) -> (usize, usize) {
        let (low, high) = (self.low.clamp(start, start + count), self.high.clamp(start, start + count));
        (low, high.max(low))
    }
}

impl<'p> Executor<'p> {
    /// Executes a plan, or the instructions that it stands for.
    pub fn run_plan(&mut self, plan: &'p Plan) -> Outcome {
        if self.bounds.is_some() {
            return self.run(&plan.general);
        }
        let mut state = self.plan_state.take().unwrap_or_default();
        let done = self.prepare(plan, &mut state);
        if done {
            self.carry_out(plan, &mut state);
        }
        self.plan_state = Some(state);
        if done { Ok(()) } else { self.run(&plan.general) }
    }

    /// Computes what is known early; says whether the checks succeed, so that the rest may follow.
    fn prepare(&mut self, plan: &Plan, state: &mut State) -> bool {
        for step in &plan.early {
            self.early(step, plan.count);
        }
        if !plan.checks.iter().all(|check| self.fits(check)) {
            return false;
        }
        state.ranges.clear();
        state.ranges.extend(plan.accesses.iter().map(|access| self.range(access)));
        plan.conflicts.iter().all(|conflict| {
            let (first, second) = (state.ranges[conflict.first], state.ranges[conflict.second]);
            let same = conflict.same && first.base == second.base && first.width == second.width;
            same || !first.meets(second)
        })
    }

    #[inline]
    fn early(&mut self, step: &Early, count: usize) {
        match step {
            Early::ProgramId { axis, out } => {
                self.registers[*out as usize] = u64::from(self.id[*axis as usize]);
            }
            Early::NumPrograms { axis, out } => {
                self.registers[*out as usize] = u64::from(self.grid[*axis as usize]);
            }
            Early::Operation(operation) => self.scalar_operation(operation),
            Early::MultiplyAdd(MultiplyAdd { a, b, factor, out }) => {
                let product = self.registers[*b as usize].wrapping_mul(*factor as u64);
                self.registers[*out as usize] = self.registers[*a as usize].wrapping_add(product);
            }
            Early::Interval(interval) => {
                let (low, high) = inside(self.registers[interval.base as usize] as i64, interval, count);
                self.set_interval(interval.out, low, high);
            }
            Early::Intersect { lhs, rhs, out } => {
                let ((a, b), (c, d)) = (self.interval(*lhs), self.interval(*rhs));
                self.set_interval(*out, a.max(c), b.min(d));
            }
        }
    }

    fn interval(&self, [low, high]: [u32; 2]) -> (usize, usize) {
        (self.registers[low as usize] as usize, self.registers[high as usize] as usize)
    }

    fn set_interval(&mut self, [out_low, out_high]: [u32; 2], low: usize, high: usize) {
        self.registers[out_low as usize] = low as u64;
        self.registers[out_high as usize] = high as u64;
    }

    fn fits(&self, check: &Fits) -> bool {
        let base = self.registers[check.base as usize] as i64;
        base >= check.least
            && base <= check.greatest
            && base + check.low >= check.least
            && base + check.high <= check.greatest
    }

    fn range(&self, access: &Access) -> Range {
        let (low, high) = access.mask.map_or((0, access.count), |mask| self.interval(mask));
        Range { base: self.registers[access.base as usize] as i64, low, high, width: access.width }
    }

    /// Executes the phases of a plan whose checks have succeeded.
    fn carry_out(&mut self, plan: &'p Plan, state: &mut State) {
        self.flush();
        for &store in &plan.stores {
            let range = state.ranges[store];
            if !range.is_empty() {
                self.copy_views(range.bytes());
                self.stored += ((range.high - range.low) * range.width) as u64;
            }
        }
        self.find_spots(plan, state);
        for phase in &plan.phases {
            self.phase(plan, state, phase);
        }
        self.export(plan, state);
        state.node_buffers.clear();
        state.outer_blocks.clear();
        for &slot in &plan.ends {
            self.blocks[slot as usize] = Block::Empty;
        }
    }

    /// Says where all elements are.
    fn find_spots(&mut self, plan: &Plan, state: &mut State) {
        let lines = plan.scratch.div_ceil(size_of::<Line>());
        if state.scratch.len() < lines {
            state.scratch.resize(lines, Line { _bytes: [0; 64] });
        }
        let scratch = state.scratch.as_mut_ptr().cast::<u8>();
        state.nodes.clear();
        for node in &plan.nodes {
            let step = if node.whole { node.width } else { 0 };
            if !node.exported {
                state.nodes.push(Spot { address: scratch.wrapping_add(node.offset), step });
                continue;
            }
            let buffer = Buffer::new(plan.count * node.width);
            state.nodes.push(Spot { address: buffer.data(), step });
            state.node_buffers.resize(state.nodes.len() - 1, None);
            state.node_buffers.push(Some(buffer));
        }
        state.outers.clear();
        for &slot in &plan.outers {
            let ty = &self.program.block_types[slot as usize];
            let compact = match &self.blocks[slot as usize] {
                Block::Dense(strided, _) | Block::Memory(strided) => {
                    strided.is_compact(&ty.extents, ty.width)
                }
                _ => false,
            };
            if !compact {
                let block = self.blocks[slot as usize].take();
                self.blocks[slot as usize] = self.pack(block, ty);
            }
            let block = self.blocks[slot as usize].clone();
            if let Block::Dense(strided, _) | Block::Memory(strided) = &block {
                state.outers.push(Spot { address: strided.base as usize as *mut u8, step: ty.width });
            }
            state.outer_blocks.push(block);
        }
    }

    fn phase(&mut self, plan: &Plan, state: &mut State, phase: &Phase) {
        match phase {
            Phase::Strips(steps) => {
                let stores = steps.iter().any(Step::stores);
                let strip = if self.streaming && stores { plan.strip.min(STREAMED) } else { plan.strip };
                let mut start = 0;
                while start < plan.count {
                    let count = strip.min(plan.count - start);
                    for step in steps {
                        // SAFETY: the caller of the launch vouches for the memory; the checks keep conflicting accesses apart.
                        unsafe { self.step(plan, state, step, start, count) };
                    }
                    start += count;
                }
            }
            Phase::Reduce { function, value, out } => {
                let elements = self.elements(state, *value, 0);
                // SAFETY: what is folded has all its elements in memory.
                self.registers[*out as usize] = unsafe { function(elements, plan.count) };
            }
            Phase::Scalar(step) => self.early(step, plan.count),
            Phase::LoadScalar { access, other, mask, scalar, out } => {
                let inside = mask.is_none_or(|mask| self.registers[mask as usize] != 0);
                self.registers[*out as usize] = if inside {
                    // SAFETY: the caller of the launch vouches for the address.
                    unsafe { scalar::read(self.scalar_address(plan, *access), *scalar) }
                } else {
                    other.map_or(0, |other| self.registers[other as usize])
                };
            }
            Phase::StoreScalar { access, mask, value } => {
                if mask.is_none_or(|mask| self.registers[mask as usize] != 0) {
                    let (address, width) = (self.scalar_address(plan, *access), plan.accesses[*access].width);
                    // SAFETY: the caller of the launch vouches for the address.
                    unsafe { scalar::write(address, width, self.registers[*value as usize]) };
                }
            }
        }
    }

    fn scalar_address(&self, plan: &Plan, access: usize) -> *mut u8 {
        self.registers[plan.accesses[access].base as usize] as usize as *mut u8
    }

    /// The elements of an operand from number `start` on.
    #[inline]
    fn elements(&self, state: &State, source: Source, start: usize) -> *const u8 {
        match source {
            Source::None => std::ptr::null(),
            Source::Register(register) => (&raw const self.registers[register as usize]).cast(),
            Source::Node(node) => state.nodes[node as usize].at(start),
            Source::Outer(outer) => state.outers[outer as usize].at(start),
        }
    }

    /// Executes a step on a strip.
    ///
    /// # Safety
    /// The accesses are valid and do not conflict.
    unsafe fn step(&self, plan: &Plan, state: &mut State, step: &Step, start: usize, count: usize) {
        // SAFETY: by the caller's promise; nodes have room for a strip.
        unsafe {
            match *step {
                Step::Load { access, other, out } => {
                    self.load_strip(plan, state, access, other, out, start, count);
                }
                Step::Apply { function, inputs, out, direct } => {
                    let inputs = inputs.map(|input| self.elements(state, input, start));
                    let strip = state.nodes[out as usize].at(start);
                    let Some(access) = direct else { return function(strip, &inputs, count) };
                    let range = state.ranges[access];
                    let (low, high) = range.clip(start, count);
                    if low == high {
                    } else if low == start && !self.streaming {
                        function(range.address(low), &inputs, high - low);
                    } else {
                        function(strip, &inputs, count);
                        self.write_out(range, low, high, strip.add((low - start) * range.width));
                    }
                }
                Step::Choose { interval, on_true, on_false, out } => {
                    let width = plan.nodes[out as usize].width;
                    let (low, high) = self.interval(interval);
                    let (low, high) = Range { base: 0, low, high, width }.clip(start, count);
                    let out = state.nodes[out as usize].at(start);
                    let copy = |source: Source, from: usize, to: usize| {
                        let elements = self.elements(state, source, start);
                        let place = out.add((from - start) * width);
                        if from == to {
                        } else if matches!(source, Source::Register(_)) {
                            fill::splat(place, width, elements, to - from);
                        } else if elements != out.cast_const() {
                            std::ptr::copy(elements.add((from - start) * width), place, (to - from) * width);
                        }
                    };
                    copy(on_true, low, high);
                    copy(on_false, start, low);
                    copy(on_false, high, start + count);
                }
                Step::Splat { register, out } => {
                    let element = self.elements(state, Source::Register(register), start);
                    let width = plan.nodes[out as usize].width;
                    fill::splat(state.nodes[out as usize].at(start), width, element, count);
                }
                Step::Numbers { base, stride, out } => {
                    let node = plan.nodes[out as usize];
                    let tile = self.row(plan, base, stride);
                    fill::numbers(state.nodes[out as usize].at(start), node.width, &tile, start, count);
                }
                Step::Truth { interval, out } => {
                    let (low, high) = self.interval(interval);
                    let (low, high) = Range { base: 0, low, high, width: 1 }.clip(start, count);
                    let out = state.nodes[out as usize].at(start);
                    out.write_bytes(0, count);
                    out.add(low - start).write_bytes(1, high - low);
                }
                Step::Store { access, value } => {
                    let range = state.ranges[access];
                    let (low, high) = range.clip(start, count);
                    if low < high {
                        let elements = self.elements(state, value, start);
                        self.write_out(range, low, high, elements.add((low - start) * range.width));
                    }
                }
            }
        }
    }

    /// Writes elements `low..high` of a block to memory.
    ///
    /// # Safety
    /// The memory and the elements are valid.
    unsafe fn write_out(&self, range: Range, low: usize, high: usize, elements: *const u8) {
        let (address, bytes) = (range.address(low), (high - low) * range.width);
        // SAFETY: by the caller's promise. Where they overlap, they are the same.
        unsafe {
            if address.cast_const() == elements {
            } else if self.streaming {
                stream::copy(address, elements, bytes);
            } else {
                std::ptr::copy(elements, address, bytes);
            }
        }
    }

    /// Reads a strip of memory; where all of a block is inside of the mask and it need not be kept, it is read where it is instead.
    ///
    /// # Safety
    /// The memory is valid.
    #[allow(clippy::too_many_arguments)]
    unsafe fn load_strip(
        &self,
        plan: &Plan,
        state: &mut State,
        access: usize,
        other: Option<u32>,
        out: u32,
        start: usize,
        count: usize,
    ) {
        let (range, node) = (state.ranges[access], plan.nodes[out as usize]);
        if range.low == 0 && range.high == plan.count && !node.exported {
            state.nodes[out as usize] = Spot { address: range.address(0), step: range.width };
            return;
        }
        let (low, high) = range.clip(start, count);
        let place = state.nodes[out as usize].at(start);
        let zero = 0u64;
        let other =
            other.map_or((&raw const zero).cast(), |other| self.elements(state, Source::Register(other), 0));
        // SAFETY: by the caller's promise; the node has room for the strip.
        unsafe {
            let width = range.width;
            fill::splat(place, width, other, low - start);
            std::ptr::copy(range.address(low), place.add((low - start) * width), (high - low) * width);
            fill::splat(place.add((high - start) * width), width, other, start + count - high);
        }
    }

    fn row(&self, plan: &Plan, base: u32, stride: i64) -> Tile {
        let base = self.registers[base as usize] as i64;
        Tile::new(&Strided { base, strides: PerAxis::filled(stride, 1) }, &[plan.count as u32], None)
    }

    /// Puts what is read after the plan into slots.
    fn export(&mut self, plan: &Plan, state: &mut State) {
        let extents = [plan.count as u32];
        for export in &plan.exports {
            let (slot, block) = match *export {
                Export::Splat { register, slot } => (slot, Block::Splat(self.registers[register as usize])),
                Export::Numbers { base, stride, slot } => {
                    let base = self.registers[base as usize] as i64;
                    let block = if stride == 0 {
                        Block::Splat(base as u64)
                    } else {
                        Block::Affine(Strided { base, strides: PerAxis::filled(stride, 1) })
                    };
                    (slot, block)
                }
                Export::Interval { interval, slot } => {
                    let (low, high) = self.interval(interval);
                    let bounds: Bounds = PerAxis::from_slice(&[(low as u32, high as u32)]);
                    (slot, affine::mask(bounds, &extents))
                }
                Export::Node { node, slot } => {
                    let buffer = state.node_buffers[node as usize].clone();
                    let buffer = buffer.expect("an exported node has a buffer");
                    let width = plan.nodes[node as usize].width;
                    (slot, Block::Dense(Strided::compact(buffer.data() as i64, &extents, width), buffer))
                }
                Export::Outer { outer, slot } => (slot, state.outer_blocks[outer as usize].clone()),
            };
            self.write(Place::Block(slot), block);
        }
    }
}

/// The elements of a block that an interval holds.
fn inside(base: i64, interval: &Interval, count: usize) -> (usize, usize) {
    let (least, greatest) = (interval.least.saturating_sub(base), interval.greatest.saturating_sub(base));
    let (from, to) = if interval.stride > 0 {
        (least, greatest)
    } else {
        (greatest.saturating_neg(), least.saturating_neg())
    };
    let step = interval.stride.abs();
    let (first, last) = if step == 1 {
        (from, to)
    } else {
        (from.div_euclid(step) + i64::from(from.rem_euclid(step) != 0), to.div_euclid(step))
    };
    let count = count as i64;
    let low = first.clamp(0, count);
    (low as usize, last.saturating_add(1).clamp(low, count) as usize)
}
