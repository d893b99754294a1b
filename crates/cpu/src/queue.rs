//! Operations that wait to be executed together, strip by strip.
//!
//! Elementwise operations, loads and stores on blocks with one number of elements become nodes of a queue. A flush
//! executes all of them on the first strip, then on the second, and so on, so that intermediate results
//! stay in the L1 cache and need no more than a strip each:
//!
//! ```text
//! x = load p        strip 0:  x0 = p[0..1024];  y0 = exp(x0);  q[0..1024] = y0
//! y = exp x         strip 1:  ...
//! store q, y
//! ```
//!
//! Each operation must seem to complete before the next begins; [`crate::hazard`] says when that forces a flush.

use crate::buffer::Buffer;
use crate::fill::{self, Elements};
use crate::strided::Tile;
use tegula_strip::StripFn;

/// Elements of a strip, unless some are 8 bytes wide.
const STRIP: usize = 1024;
/// A flush happens when the queue is this long.
pub const LONGEST: usize = 256;

/// Where an operand comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    None,
    /// One element for all.
    Splat(u64),
    /// The result of an earlier node.
    Node(u32),
    /// Packed elements in the caller's memory.
    Memory(*const u8),
    /// Packed elements in a buffer that the queue holds.
    Buffer(*const u8, u32),
}

/// The number of a tile that the queue holds.
pub type TileId = u32;

/// What a node does. Tiles are kept apart, so that nodes are small: most have none.
#[derive(Debug)]
pub enum Work {
    /// A strip function, with the widths of its operands.
    Apply { function: StripFn, inputs: [Source; 3], widths: [u8; 3] },
    /// One element, repeated: for strip functions that want a strip.
    Splat(Source),
    /// The values of an affine block.
    Numbers(TileId),
    /// The truth values of a box mask.
    Truth(TileId),
    /// Elements of memory or of a buffer, where the tile's box and the mask say so.
    Load { tile: TileId, mask: Source, other: Source },
    /// Elements at pointers.
    Gather { pointers: Source, mask: Source, other: Source },
    /// Elements to memory. `direct_after` is the first node that may write to the destination itself.
    Store { tile: TileId, value: Source, mask: Source, direct_after: u32 },
    /// Elements to pointers.
    Scatter { pointers: Source, value: Source, mask: Source },
}

/// A pending operation.
#[derive(Debug)]
pub struct Node {
    pub work: Work,
    /// Bytes of an element of the result, or of what is stored.
    pub width: usize,
    /// Whether a slot holds the result.
    live: bool,
    /// Whether a store or a live result depends on the node.
    needed: bool,
    /// The last node that reads the result.
    last_use: u32,
    spot: Spot,
    buffer: Option<Buffer>,
}

/// Where the result of a node goes: `step` bytes further for each element of the block, or the same strip again and again.
#[derive(Clone, Copy, Debug)]
struct Spot {
    address: *mut u8,
    step: usize,
}

const NOWHERE: Spot = Spot { address: std::ptr::null_mut(), step: 0 };

/// Pending operations.
#[derive(Debug, Default)]
pub struct Queue {
    /// Elements of every block in the queue.
    pub count: usize,
    pub nodes: Vec<Node>,
    tiles: Vec<Tile>,
    /// Buffers that sources refer to.
    kept: Vec<Buffer>,
    /// Memory for strips.
    strips: Vec<Line>,
    free: Vec<(usize, usize)>,
}

/// One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; 64],
}

impl Work {
    fn sources(&self) -> [Source; 3] {
        match *self {
            Work::Apply { inputs, .. } => inputs,
            Work::Splat(_) | Work::Numbers(_) | Work::Truth(_) => [Source::None; 3],
            Work::Load { mask, other, .. } => [mask, other, Source::None],
            Work::Gather { pointers, mask, other } => [pointers, mask, other],
            Work::Store { value, mask, .. } => [value, mask, Source::None],
            Work::Scatter { pointers, value, mask } => [pointers, value, mask],
        }
    }

    fn is_store(&self) -> bool {
        matches!(self, Work::Store { .. } | Work::Scatter { .. })
    }
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Appends a node and returns its number.
    pub fn push(&mut self, work: Work, width: usize) -> u32 {
        self.nodes.push(Node {
            work,
            width,
            live: false,
            needed: false,
            last_use: 0,
            spot: NOWHERE,
            buffer: None,
        });
        self.nodes.len() as u32 - 1
    }

    /// Holds a tile for a node.
    pub fn add_tile(&mut self, tile: Tile) -> TileId {
        self.tiles.push(tile);
        self.tiles.len() as u32 - 1
    }

    /// A tile that the queue holds.
    pub fn tile(&self, tile: TileId) -> &Tile {
        &self.tiles[tile as usize]
    }

    /// A source that reads packed elements of a buffer.
    pub fn keep(&mut self, address: i64, buffer: Buffer) -> Source {
        self.kept.push(buffer);
        Source::Buffer(address as usize as *const u8, self.kept.len() as u32 - 1)
    }

    /// Says that the result of a node is wanted after the flush.
    pub fn mark_live(&mut self, node: u32) {
        self.nodes[node as usize].live = true;
    }

    /// The result of a live node after the flush.
    pub fn result(&self, node: u32) -> (i64, Buffer) {
        let node = &self.nodes[node as usize];
        let buffer = node.buffer.clone().expect("a live node has a buffer");
        (node.spot.address as i64, buffer)
    }

    /// Forgets all nodes.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.tiles.clear();
        self.kept.clear();
    }

    /// Executes all nodes.
    ///
    /// # Safety
    /// The memory that the nodes refer to is valid, and no two nodes conflict.
    pub unsafe fn execute(&mut self) {
        self.find_needed();
        let widest = self.nodes.iter().map(|node| node.width).max().unwrap_or(1);
        let mut strip = if widest > 4 { STRIP / 2 } else { STRIP }.min(self.count);
        if self.find_spots(strip) == 0 {
            // Nothing passes from node to node: all elements may as well be one strip.
            strip = self.count;
        }
        let mut start = 0;
        while start < self.count {
            let count = strip.min(self.count - start);
            for index in 0..self.nodes.len() {
                let node = &self.nodes[index];
                if node.needed {
                    // SAFETY: by the caller's promise; strips have room for `strip` elements.
                    unsafe { self.run(node, start, count) };
                }
            }
            start += count;
        }
    }

    /// Finds the nodes that a store or a live result depends on, and the last use of each.
    fn find_needed(&mut self) {
        for index in (0..self.nodes.len()).rev() {
            let node = &mut self.nodes[index];
            node.needed |= node.live || node.work.is_store();
            if !node.needed {
                continue;
            }
            for source in node.work.sources() {
                if let Source::Node(input) = source {
                    let input = &mut self.nodes[input as usize];
                    input.needed = true;
                    input.last_use = input.last_use.max(index as u32);
                }
            }
        }
        for index in 0..self.nodes.len() {
            let Work::Store { tile, value: Source::Node(value), mask: Source::None, direct_after } =
                &self.nodes[index].work
            else {
                continue;
            };
            let (value, direct_after) = (*value as usize, *direct_after as usize);
            let width = self.nodes[index].width;
            let tile = self.tile(*tile);
            let destination = Spot { address: tile.base as usize as *mut u8, step: width };
            let run = tile.is_run(width) && tile.is_full();
            let producer = &mut self.nodes[value];
            let computes = matches!(producer.work, Work::Apply { .. });
            if run
                && computes
                && !producer.live
                && producer.last_use as usize == index
                && value >= direct_after
            {
                producer.spot = destination;
                self.nodes[index].needed = false;
            }
        }
    }

    /// Gives each result a strip, or a buffer if it is live; returns how many lines the strips take.
    fn find_spots(&mut self, strip: usize) -> usize {
        let mut used = 0;
        self.free.clear();
        for index in 0..self.nodes.len() {
            if !self.nodes[index].needed {
                continue;
            }
            let node = &self.nodes[index];
            let width = node.width;
            let sources = node.work.sources();
            let in_place = matches!(node.work, Work::Apply { .. });
            if in_place {
                self.release(&sources, index, Some(width), strip);
            }
            if !self.nodes[index].work.is_store() && self.nodes[index].spot.address.is_null() {
                if self.nodes[index].live {
                    let (address, buffer) = self.full_buffer(index, width);
                    self.nodes[index].spot = Spot { address, step: width };
                    self.nodes[index].buffer = Some(buffer);
                } else {
                    let lines = (strip * width).div_ceil(64);
                    let found = self.free.iter().position(|&(_, size)| size == lines);
                    let line = match found {
                        Some(position) => self.free.swap_remove(position).0,
                        None => {
                            used += lines;
                            used - lines
                        }
                    };
                    // The offset becomes an address once the strips have their final place; +1 keeps it from being null.
                    self.nodes[index].spot = Spot { address: (line + 1) as *mut u8, step: 0 };
                }
            }
            self.release(&sources, index, None, strip);
        }
        if self.strips.len() < used {
            self.strips.resize(used, Line { _bytes: [0; 64] });
        }
        let base = self.strips.as_mut_ptr();
        for node in &mut self.nodes {
            if node.needed && node.spot.step == 0 && !node.spot.address.is_null() {
                node.spot.address = base.wrapping_add(node.spot.address as usize - 1).cast();
            }
        }
        used
    }

    /// Frees the strips whose last use is node `index`: before its result is placed, if they have its `width`.
    fn release(&mut self, sources: &[Source; 3], index: usize, width: Option<usize>, strip: usize) {
        for (position, source) in sources.iter().enumerate() {
            let Source::Node(input) = *source else { continue };
            let again =
                sources[..position].iter().any(|other| matches!(other, Source::Node(node) if *node == input));
            let node = &mut self.nodes[input as usize];
            let strip_only = node.spot.step == 0 && !node.spot.address.is_null();
            let matching = width.is_none_or(|width| node.width == width);
            if again || !strip_only || node.last_use as usize != index || !matching {
                continue;
            }
            // Freed once: a use that is over can not come again.
            node.last_use = u32::MAX;
            let lines = (strip * node.width).div_ceil(64);
            self.free.push((node.spot.address as usize - 1, lines));
        }
    }

    /// A buffer for the whole result of a node: that of an operand which ends here, if there is one.
    fn full_buffer(&self, index: usize, width: usize) -> (*mut u8, Buffer) {
        if let Work::Apply { inputs, widths, .. } = &self.nodes[index].work {
            for (source, &input_width) in inputs.iter().zip(widths) {
                if let Source::Buffer(address, kept) = *source {
                    let buffer = &self.kept[kept as usize];
                    if input_width as usize == width && buffer.is_unique() {
                        return (address.cast_mut(), buffer.clone());
                    }
                }
            }
        }
        let buffer = Buffer::new(self.count * width);
        (buffer.data(), buffer)
    }

    fn elements(&self, source: &Source, width: usize, start: usize) -> Elements {
        match source {
            Source::None => Elements::ZERO,
            Source::Splat(bits) => Elements { address: (&raw const *bits).cast(), step: 0 },
            Source::Node(node) => {
                let spot = self.nodes[*node as usize].spot;
                Elements { address: spot.address.wrapping_add(start * spot.step), step: width }
            }
            Source::Memory(address) | Source::Buffer(address, _) => {
                Elements { address: address.wrapping_add(start * width), step: width }
            }
        }
    }

    fn mask(&self, source: &Source, start: usize) -> Option<Elements> {
        match source {
            Source::None => None,
            source => Some(self.elements(source, 1, start)),
        }
    }

    /// Executes a node on one strip.
    unsafe fn run(&self, node: &Node, start: usize, count: usize) {
        let out = node.spot.address.wrapping_add(start * node.spot.step);
        let width = node.width;
        // SAFETY: by the caller's promise.
        unsafe {
            match &node.work {
                Work::Apply { function, inputs, widths } => {
                    let input = |i: usize| self.elements(&inputs[i], widths[i] as usize, start).address;
                    function(out, &[input(0), input(1), input(2)], count);
                }
                Work::Splat(element) => {
                    fill::splat(out, width, self.elements(element, width, 0).address, count)
                }
                Work::Numbers(tile) => fill::numbers(out, width, self.tile(*tile), start, count),
                Work::Truth(tile) => fill::truth(out, self.tile(*tile), start, count),
                Work::Load { tile, mask, other } => {
                    let other = self.elements(other, width, start);
                    fill::load(out, width, self.tile(*tile), self.mask(mask, start), other, start, count);
                }
                Work::Gather { pointers, mask, other } => {
                    let pointers = self.elements(pointers, 8, start);
                    let other = self.elements(other, width, start);
                    fill::gather(out, width, pointers, self.mask(mask, start), other, count);
                }
                Work::Store { tile, value, mask, .. } => {
                    let value = self.elements(value, width, start);
                    fill::store(self.tile(*tile), width, value, self.mask(mask, start), start, count);
                }
                Work::Scatter { pointers, value, mask } => {
                    let pointers = self.elements(pointers, 8, start);
                    let value = self.elements(value, width, start);
                    fill::scatter(pointers, width, value, self.mask(mask, start), count);
                }
            }
        }
    }
}
