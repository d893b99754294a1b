//! Reductions and scans along one axis.
//!
//! A block is seen as `[outer, length, inner]` with the axis in the middle. Recognised combine functions run as
//! strips: along the axis where it is innermost, otherwise on whole rows of the inner dimensions. Other functions run on tiles:
//! neighbours are combined in pairs, all pairs at once, then the results again. That keeps the order of elements, so
//! functions need be associative, not commutative.

use crate::block::Block;
use crate::buffer::Buffer;
use crate::execute::{Executor, Outcome};
use crate::fill::{self, Elements};
use crate::launch::LaunchError;
use crate::per_axis::PerAxis;
use crate::program::{Combine, Fold, FoldFunctions, Map, MapBody, Place, Region, TileRegion, ValueType};
use crate::queue::{Source, Work};
use crate::scalar;
use crate::strided::{Strided, Tile};
use smallvec::SmallVec;
use tegula_strip::{self as strip, isa};

/// Elements in memory of this thread.
#[derive(Clone)]
struct Array {
    strided: Strided,
    /// Keeps the memory; `None` for memory of the caller.
    buffer: Option<Buffer>,
}

/// The values that are folded together.
type Arrays = SmallVec<[Array; 2]>;

/// The extents around the axis.
#[derive(Clone, Copy)]
struct Extents {
    outer: usize,
    length: usize,
    inner: usize,
}

impl Extents {
    fn of(ty: &ValueType, axis: usize) -> Extents {
        let product = |extents: &[u32]| extents.iter().map(|&extent| extent as usize).product();
        Extents {
            outer: product(&ty.extents[..axis]),
            length: ty.extents[axis] as usize,
            inner: product(&ty.extents[axis + 1..]),
        }
    }

    fn with_length(self, length: usize) -> Extents {
        Extents { length, ..self }
    }

    fn count(self) -> usize {
        self.outer * self.length * self.inner
    }

    fn array(self) -> [u32; 3] {
        [self.outer as u32, self.length as u32, self.inner as u32]
    }
}

impl Array {
    /// Packed elements with the given extents.
    fn packed(block: Block, extents: Extents, width: usize) -> Array {
        let Block::Dense(strided, buffer) = block else { unreachable!("a packed block is dense") };
        Array { strided: Strided::compact(strided.base, &extents.array(), width), buffer: Some(buffer) }
    }

    /// A new array for elements with the given extents.
    fn new(extents: Extents, width: usize) -> Array {
        let buffer = Buffer::new(extents.count() * width);
        Array {
            strided: Strided::compact(buffer.data() as i64, &extents.array(), width),
            buffer: Some(buffer),
        }
    }

    /// Every `step`th element along the axis, from number `start`.
    fn every(&self, start: i64, step: i64) -> Array {
        let mut array = self.clone();
        array.strided.base += array.strided.strides[1] * start;
        array.strided.strides[1] *= step;
        array
    }

    fn address(&self, element: usize, width: usize) -> *mut u8 {
        (self.strided.base as usize + element * width) as *mut u8
    }

    fn into_block(self, ty: &ValueType) -> Block {
        let buffer = self.buffer.expect("a result is in a buffer");
        Block::Dense(Strided::compact(self.strided.base, &ty.extents, ty.width), buffer)
    }
}

impl<'p> Executor<'p> {
    pub fn reduce(&mut self, fold: &'p Fold) -> Outcome {
        let ty = self.program.ty(fold.values[0].place);
        let extents = Extents::of(ty, fold.axis);
        if let Combine::Binary(functions) = &fold.combine {
            self.reduce_by_strips(fold, functions, extents);
            return Ok(());
        }
        let arrays = self.arrays(fold, extents);
        let widths = self.widths(fold);
        let results = match &fold.combine {
            Combine::Tiles(region) => self.reduce_by_tiles(region, arrays, extents, &widths)?,
            Combine::Scalars(region) => self.reduce_by_scalars(fold, region, &arrays, extents)?,
            Combine::Binary(_) => unreachable!("handled above"),
        };
        self.write_arrays(fold, results);
        Ok(())
    }

    /// The values of a fold as packed arrays.
    fn arrays(&mut self, fold: &Fold, extents: Extents) -> Arrays {
        let packed = |value: &crate::program::Operand| {
            let width = self.program.ty(value.place).width;
            let (strided, buffer) = self.packed(*value);
            Array::packed(Block::Dense(strided, buffer), extents, width)
        };
        fold.values.iter().map(packed).collect()
    }

    fn widths(&self, fold: &Fold) -> SmallVec<[usize; 2]> {
        fold.values.iter().map(|value| self.program.ty(value.place).width).collect()
    }

    fn write_arrays(&mut self, fold: &Fold, arrays: Arrays) {
        for (&out, array) in fold.outs.iter().zip(arrays) {
            let block = array.into_block(self.program.ty(out));
            self.write(out, block);
        }
    }

    fn reduce_by_strips(&mut self, fold: &Fold, functions: &FoldFunctions, extents: Extents) {
        let ty = self.program.ty(fold.values[0].place);
        let width = ty.width;
        let mut block = self.settled(fold.values[0]);
        let in_place = extents.inner == 1
            && matches!(&block, Block::Dense(strided, _) | Block::Memory(strided)
                if extents.length == 1 || strided.strides[fold.axis] == width as i64);
        if !in_place {
            block = self.pack(block, ty);
        }
        let (Block::Dense(strided, _) | Block::Memory(strided)) = &block else {
            unreachable!("a packed block is dense")
        };
        if let (Place::Register(out), 1) = (fold.outs[0], extents.inner) {
            // SAFETY: the row has `length` elements.
            let bits = unsafe { (functions.reduce)(strided.base as usize as *const u8, extents.length) };
            self.registers[out as usize] = bits;
            return;
        }
        let result = Array::new(extents.with_length(1), width);
        // SAFETY: rows lie within the block and the result; the functions suit this processor.
        unsafe {
            if extents.inner == 1 {
                let outer = Strided {
                    base: strided.base,
                    strides: PerAxis::from_slice(&strided.strides[..fold.axis]),
                };
                let tile = Tile::new(&outer, &ty.extents[..fold.axis], None);
                tile.for_each_row(0, extents.outer, |row| {
                    for i in 0..row.length {
                        let address = (row.base + row.stride * i as i64) as usize as *const u8;
                        let bits = (functions.reduce)(address, extents.length);
                        scalar::write(result.address(row.position + i, width), width, bits);
                    }
                });
            } else {
                let bytes = extents.inner * width;
                for outer in 0..extents.outer {
                    let from = (strided.base as usize + outer * extents.length * bytes) as *const u8;
                    let out = result.address(outer, bytes);
                    out.copy_from_nonoverlapping(from, bytes);
                    for index in 1..extents.length {
                        (functions.binary)(out, &[out, from.add(index * bytes), from], extents.inner);
                    }
                }
            }
        }
        self.write_arrays(fold, SmallVec::from_iter([result]));
    }

    /// Combines neighbours in pairs until one element is left along the axis.
    fn reduce_by_tiles(
        &mut self,
        region: &'p TileRegion,
        mut arrays: Arrays,
        extents: Extents,
        widths: &[usize],
    ) -> Result<Arrays, Box<LaunchError>> {
        let mut length = extents.length;
        // What an odd length leaves over comes after everything in `arrays`.
        let mut tail: Option<Arrays> = None;
        while length > 1 {
            if length % 2 == 1 {
                let last: Arrays = arrays.iter().map(|array| array.every(length as i64 - 1, 1)).collect();
                tail = Some(match tail {
                    Some(tail) => self.combine_tiles(region, &last, &tail, extents.with_length(1), widths)?,
                    None => last,
                });
            }
            let left: Arrays = arrays.iter().map(|array| array.every(0, 2)).collect();
            let right: Arrays = arrays.iter().map(|array| array.every(1, 2)).collect();
            length /= 2;
            arrays = self.combine_tiles(region, &left, &right, extents.with_length(length), widths)?;
        }
        match tail {
            Some(tail) => self.combine_tiles(region, &arrays, &tail, extents.with_length(1), widths),
            None => Ok(arrays),
        }
    }

    /// Runs a combine function on two tuples of arrays.
    fn combine_tiles(
        &mut self,
        region: &'p TileRegion,
        left: &Arrays,
        right: &Arrays,
        extents: Extents,
        widths: &[usize],
    ) -> Result<Arrays, Box<LaunchError>> {
        let args = left.iter().chain(right).zip(widths.iter().chain(widths));
        let args: SmallVec<[(Array, usize); 4]> =
            args.map(|(array, &width)| (array.clone(), width)).collect();
        let blocks = self.call_tiles(region, args, &extents.array())?;
        Ok(blocks
            .into_iter()
            .zip(widths)
            .map(|(block, &width)| Array::packed(block, extents, width))
            .collect())
    }

    /// Runs a function of scalars on tiles, and returns its yields packed.
    fn call_tiles(
        &mut self,
        region: &'p TileRegion,
        args: impl IntoIterator<Item = (Array, usize)>,
        extents: &[u32],
    ) -> Result<SmallVec<[Block; 2]>, Box<LaunchError>> {
        let lanes = extents.iter().map(|&extent| extent as usize).product();
        let outer = std::mem::replace(&mut self.lanes, lanes);
        self.open(lanes);
        for ((array, width), &place) in args.into_iter().zip(&region.args) {
            let Array { strided, buffer } = array;
            let buffer = buffer.expect("an argument is in a buffer");
            let block = if strided.is_compact(extents, width) {
                Block::Dense(Strided { base: strided.base, strides: PerAxis::default() }, buffer)
            } else {
                let tile = Tile::new(&strided, extents, None);
                self.queue.keep(strided.base, buffer);
                let tile = self.queue.add_tile(tile);
                Block::Pending(self.push(Work::Load { tile, mask: Source::None, other: Source::None }, width))
            };
            self.write(place, block);
        }
        self.run(&region.code)?;
        let mut blocks = SmallVec::new();
        for &value in &region.yields {
            let block = self.settled(value);
            let ty = self.program.ty(value.place);
            // A yielded constant lives in a register, whose type says that there is one.
            let ty = ValueType { count: None, ..ty.clone() };
            blocks.push(self.pack(block, &ty));
        }
        for slot in region.slots.clone() {
            self.blocks[slot as usize] = Block::Empty;
        }
        self.lanes = outer;
        Ok(blocks)
    }

    /// The elements of a tuple.
    fn read_tuple(&self, fold: &Fold, arrays: &Arrays, element: usize) -> SmallVec<[u64; 4]> {
        let read = |(array, value): (&Array, &crate::program::Operand)| {
            let ty = self.program.ty(value.place);
            // SAFETY: packed arrays have all their elements.
            unsafe { scalar::read(array.address(element, ty.width), ty.scalar) }
        };
        arrays.iter().zip(&fold.values).map(read).collect()
    }

    fn write_tuple(&self, fold: &Fold, arrays: &Arrays, element: usize, tuple: &[u64]) {
        for ((array, value), &bits) in arrays.iter().zip(&fold.values).zip(tuple) {
            let width = self.program.ty(value.place).width;
            // SAFETY: packed arrays have all their elements.
            unsafe { scalar::write(array.address(element, width), width, bits) };
        }
    }

    fn reduce_by_scalars(
        &mut self,
        fold: &Fold,
        region: &'p Region,
        arrays: &Arrays,
        extents: Extents,
    ) -> Result<Arrays, Box<LaunchError>> {
        let widths = self.widths(fold);
        let results: Arrays = widths.iter().map(|&width| Array::new(extents.with_length(1), width)).collect();
        for outer in 0..extents.outer {
            for inner in 0..extents.inner {
                let element = |index| (outer * extents.length + index) * extents.inner + inner;
                let mut left = self.read_tuple(fold, arrays, element(0));
                for index in 1..extents.length {
                    left.extend(self.read_tuple(fold, arrays, element(index)));
                    left = self.call(region, &left)?;
                }
                self.write_tuple(fold, &results, outer * extents.inner + inner, &left);
            }
        }
        Ok(results)
    }

    pub fn scan(&mut self, fold: &'p Fold) -> Outcome {
        let ty = self.program.ty(fold.values[0].place);
        let extents = Extents::of(ty, fold.axis);
        let arrays = self.arrays(fold, extents);
        let widths = self.widths(fold);
        let results = match &fold.combine {
            Combine::Binary(functions) => {
                SmallVec::from_iter([scan_by_strips(functions, &arrays[0], extents, ty.width, fold.reverse)])
            }
            Combine::Tiles(region) => {
                let last = extents.length as i64 - 1;
                let flip =
                    |arrays: Arrays| -> Arrays { arrays.iter().map(|array| array.every(last, -1)).collect() };
                if fold.reverse {
                    let flipped = self.scan_by_tiles(region, flip(arrays), extents, &widths)?;
                    let pack = |(array, &width): (Array, &usize)| pack_array(&array, extents, width);
                    flip(flipped).into_iter().zip(&widths).map(pack).collect()
                } else {
                    self.scan_by_tiles(region, arrays, extents, &widths)?
                }
            }
            Combine::Scalars(region) => self.scan_by_scalars(fold, region, &arrays, extents)?,
        };
        self.write_arrays(fold, results);
        Ok(())
    }

    /// All prefixes: those of the pairs of neighbours are the odd ones, and each even one is a prefix of pairs and one element.
    fn scan_by_tiles(
        &mut self,
        region: &'p TileRegion,
        arrays: Arrays,
        extents: Extents,
        widths: &[usize],
    ) -> Result<Arrays, Box<LaunchError>> {
        let length = extents.length;
        if length == 1 {
            return Ok(arrays
                .iter()
                .zip(widths)
                .map(|(array, &width)| pack_array(array, extents, width))
                .collect());
        }
        let half = extents.with_length(length / 2);
        let left: Arrays = arrays.iter().map(|array| array.every(0, 2)).collect();
        let right: Arrays = arrays.iter().map(|array| array.every(1, 2)).collect();
        let pairs = self.combine_tiles(region, &left, &right, half, widths)?;
        let odd = self.scan_by_tiles(region, pairs, half, widths)?;
        let results: Arrays = widths.iter().map(|&width| Array::new(extents, width)).collect();
        let evens = extents.with_length(length.div_ceil(2) - 1);
        let even = if evens.length == 0 {
            Arrays::new()
        } else {
            // The prefixes of pairs that an element follows.
            let elements: Arrays = arrays.iter().map(|array| array.every(2, 2)).collect();
            self.combine_tiles(region, &odd, &elements, evens, widths)?
        };
        for (index, (result, &width)) in results.iter().zip(widths).enumerate() {
            copy_array(&arrays[index], &result.every(0, 1), extents.with_length(1), width);
            copy_array(&odd[index], &result.every(1, 2), half, width);
            if let Some(even) = even.get(index) {
                copy_array(even, &result.every(2, 2), evens, width);
            }
        }
        Ok(results)
    }

    fn scan_by_scalars(
        &mut self,
        fold: &Fold,
        region: &'p Region,
        arrays: &Arrays,
        extents: Extents,
    ) -> Result<Arrays, Box<LaunchError>> {
        let widths = self.widths(fold);
        let results: Arrays = widths.iter().map(|&width| Array::new(extents, width)).collect();
        for outer in 0..extents.outer {
            for inner in 0..extents.inner {
                let element = |index: usize| {
                    let index = if fold.reverse { extents.length - 1 - index } else { index };
                    (outer * extents.length + index) * extents.inner + inner
                };
                let mut prefix = self.read_tuple(fold, arrays, element(0));
                self.write_tuple(fold, &results, element(0), &prefix);
                for index in 1..extents.length {
                    prefix.extend(self.read_tuple(fold, arrays, element(index)));
                    prefix = self.call(region, &prefix)?;
                    self.write_tuple(fold, &results, element(index), &prefix);
                }
            }
        }
        Ok(results)
    }

    /// Applies a function of scalars to each element.
    pub fn map(&mut self, map: &'p Map) -> Outcome {
        let ty = self.program.ty(map.values[0].place);
        let extents = Extents { outer: 1, length: self.count(ty), inner: 1 };
        let mut arrays = Arrays::new();
        for &value in &map.values {
            let width = self.program.ty(value.place).width;
            let (strided, buffer) = self.packed(value);
            arrays.push(Array::packed(Block::Dense(strided, buffer), extents, width));
        }
        let widths: SmallVec<[usize; 2]> =
            map.values.iter().map(|value| self.program.ty(value.place).width).collect();
        match &map.body {
            MapBody::Tiles(region) => {
                let args = arrays.into_iter().zip(widths);
                let blocks = self.call_tiles(region, args, &extents.array())?;
                for (&out, block) in map.outs.iter().zip(blocks) {
                    let ty = self.program.ty(out);
                    let block = Array::packed(block, extents, ty.width).into_block(ty);
                    self.write(out, block);
                }
            }
            MapBody::Scalars(region) => {
                let results: Arrays =
                    map.outs.iter().map(|&out| Array::new(extents, self.program.ty(out).width)).collect();
                for lane in 0..extents.length {
                    let mut args = SmallVec::<[u64; 4]>::new();
                    for (array, value) in arrays.iter().zip(&map.values) {
                        let ty = self.program.ty(value.place);
                        // SAFETY: packed arrays have all their elements.
                        args.push(unsafe { scalar::read(array.address(lane, ty.width), ty.scalar) });
                    }
                    let yields = self.call(region, &args)?;
                    for ((array, &out), &bits) in results.iter().zip(&map.outs).zip(&yields) {
                        let width = self.program.ty(out).width;
                        // SAFETY: as above.
                        unsafe { scalar::write(array.address(lane, width), width, bits) };
                    }
                }
                for (&out, array) in map.outs.iter().zip(results) {
                    let block = array.into_block(self.program.ty(out));
                    self.write(out, block);
                }
            }
        }
        Ok(())
    }
}

/// All prefixes of the rows of an array, or all suffixes.
fn scan_by_strips(
    functions: &FoldFunctions,
    array: &Array,
    extents: Extents,
    width: usize,
    reverse: bool,
) -> Array {
    let result = Array::new(extents, width);
    let bytes = extents.inner * width;
    let flip = strip::reverse(isa::selected(), width as u32);
    // SAFETY: rows lie within the packed arrays, which do not overlap; the functions suit this processor.
    unsafe {
        for outer in 0..extents.outer {
            let from: *const u8 = array.address(outer * extents.length, bytes);
            let out = result.address(outer * extents.length, bytes);
            if extents.inner == 1 {
                match flip {
                    Some(flip) if reverse => {
                        let row = Buffer::new(extents.length * width);
                        flip(row.data(), &[from; 3], extents.length);
                        (functions.scan)(row.data(), &[row.data().cast_const(); 3], extents.length);
                        flip(out, &[row.data().cast_const(); 3], extents.length);
                    }
                    _ => (functions.scan)(out, &[from; 3], extents.length),
                }
                continue;
            }
            let row = |index: usize| if reverse { extents.length - 1 - index } else { index } * bytes;
            out.add(row(0)).copy_from_nonoverlapping(from.add(row(0)), bytes);
            for index in 1..extents.length {
                let before = out.add(row(index - 1)).cast_const();
                (functions.binary)(
                    out.add(row(index)),
                    &[before, from.add(row(index)), before],
                    extents.inner,
                );
            }
        }
    }
    result
}

/// Copies packed elements to an array with the given extents.
fn copy_array(from: &Array, to: &Array, extents: Extents, width: usize) {
    let packed = pack_array(from, extents, width);
    let tile = Tile::new(&to.strided, &extents.array(), None);
    let value = Elements { address: packed.strided.base as usize as *const u8, step: width };
    // SAFETY: both arrays have these extents.
    unsafe { fill::store(&tile, width, value, None, 0, extents.count()) };
}

/// The elements of an array, packed.
fn pack_array(array: &Array, extents: Extents, width: usize) -> Array {
    if array.strided.is_compact(&extents.array(), width) {
        return array.clone();
    }
    let packed = Array::new(extents, width);
    let tile = Tile::new(&array.strided, &extents.array(), None);
    // SAFETY: both arrays have these extents.
    unsafe { fill::load(packed.address(0, 0), width, &tile, None, Elements::ZERO, 0, extents.count()) };
    packed
}
