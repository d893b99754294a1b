//! Blocks whose elements lie at `base + sum(index[d] * stride[d])`, and what the shape operations do to them.
//!
//! The same description serves three kinds of value: addresses of elements of a buffer, addresses in the caller's
//! memory, and integers that *are* such sums (`pid * BLOCK + arange`). Transposing, slicing or broadcasting
//! any of them moves no element.

use crate::per_axis::PerAxis;
use smallvec::SmallVec;

/// Extents of a block, outermost first.
pub type Extents = SmallVec<[u32; 4]>;

/// A linear function of the index in a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strided {
    pub base: i64,
    pub strides: PerAxis<i64>,
}

/// Bytes from one element to the next along each dimension, when elements are packed in row-major order.
pub fn compact_strides(extents: &[u32], width: usize) -> PerAxis<i64> {
    let mut strides = PerAxis::filled(0, extents.len());
    let mut stride = width as i64;
    for axis in (0..extents.len()).rev() {
        strides[axis] = stride;
        stride *= i64::from(extents[axis]);
    }
    strides
}

impl Strided {
    /// Elements of `width` bytes packed from `base` in row-major order.
    pub fn compact(base: i64, extents: &[u32], width: usize) -> Strided {
        Strided { base, strides: compact_strides(extents, width) }
    }

    /// Whether elements of `width` bytes are packed in row-major order.
    pub fn is_compact(&self, extents: &[u32], width: usize) -> bool {
        let mut stride = width as i64;
        for (&extent, &own) in extents.iter().zip(self.strides.iter()).rev() {
            if extent != 1 && own != stride {
                return false;
            }
            stride *= i64::from(extent);
        }
        true
    }

    /// The least and the greatest value, unless they overflow.
    pub fn extremes(&self, extents: &[u32]) -> Option<(i64, i64)> {
        let (mut low, mut high) = (self.base, self.base);
        for (&extent, &stride) in extents.iter().zip(self.strides.iter()) {
            let reach = stride.checked_mul(i64::from(extent) - 1)?;
            if reach < 0 {
                low = low.checked_add(reach)?;
            } else {
                high = high.checked_add(reach)?;
            }
        }
        Some((low, high))
    }

    /// A dimension of extent 1 inserted before `axis`.
    pub fn expand_dims(mut self, axis: usize) -> Strided {
        self.strides = self.strides.with_inserted(axis, 0);
        self
    }

    /// Dimensions of extent 1 in `from` repeated to the extents `to`.
    pub fn broadcast(mut self, from: &[u32], to: &[u32]) -> Strided {
        for (axis, stride) in self.strides.iter_mut().enumerate() {
            if from[axis] != to[axis] {
                *stride = 0;
            }
        }
        self
    }

    /// Dimension `i` of the result is dimension `permutation[i]` of this.
    pub fn transpose(&self, permutation: &[u8]) -> Strided {
        Strided {
            base: self.base,
            strides: permutation.iter().map(|&axis| self.strides[axis as usize]).collect(),
        }
    }

    /// The sub-block that starts at `starts`.
    pub fn slice(mut self, starts: &[u32]) -> Strided {
        for (&start, &stride) in starts.iter().zip(self.strides.iter()) {
            self.base = self.base.wrapping_add(stride.wrapping_mul(i64::from(start)));
        }
        self
    }

    /// Dimension `axis` removed by taking its element number `index`.
    pub fn index(mut self, axis: usize, index: i64) -> Strided {
        let stride = self.strides[axis];
        self.strides = self.strides.without(axis);
        self.base = self.base.wrapping_add(stride.wrapping_mul(index));
        self
    }

    /// The same elements in row-major order in another shape, where that is again a linear function.
    pub fn reshape(&self, from: &[u32], to: &[u32]) -> Option<Strided> {
        // Dimensions of extent 1 carry no information; those that continue one another are one.
        let mut runs: SmallVec<[(u64, i64); 4]> = SmallVec::new();
        for (&extent, &stride) in from.iter().zip(self.strides.iter()) {
            if extent == 1 {
                continue;
            }
            match runs.last_mut() {
                Some((length, last)) if *last == stride.checked_mul(i64::from(extent))? => {
                    *length *= u64::from(extent);
                    *last = stride;
                }
                _ => runs.push((u64::from(extent), stride)),
            }
        }
        let mut strides = PerAxis::filled(0, to.len());
        let mut axis = to.len();
        for &(mut length, mut stride) in runs.iter().rev() {
            while length > 1 {
                axis = axis.checked_sub(1)?;
                let extent = u64::from(to[axis]);
                if extent == 1 {
                    continue;
                }
                if length % extent != 0 {
                    return None;
                }
                strides[axis] = stride;
                stride = stride.checked_mul(extent as i64)?;
                length /= extent;
            }
        }
        Some(Strided { base: self.base, strides })
    }
}

/// One dimension of a [`Tile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    pub extent: i64,
    pub stride: i64,
    /// Indices in `low..high` are inside of the mask.
    pub low: i64,
    pub high: i64,
}

/// A strided block with a box mask, in as few dimensions as describe it.
///
/// There is always at least one dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    pub base: i64,
    pub dimensions: SmallVec<[Dimension; 3]>,
}

impl Tile {
    /// Merges dimensions that continue one another. `bounds` is the box mask, if there is one.
    pub fn new(strided: &Strided, extents: &[u32], bounds: Option<&[(u32, u32)]>) -> Tile {
        let mut dimensions: SmallVec<[Dimension; 3]> = SmallVec::new();
        let mut outside = false;
        for (axis, &extent) in extents.iter().enumerate() {
            let (low, high) = bounds.map_or((0, extent), |bounds| bounds[axis]);
            if extent == 1 {
                outside |= low >= high;
                continue;
            }
            let extent = i64::from(extent);
            let stride = strided.strides[axis];
            let (low, high) = (i64::from(low), i64::from(high));
            match dimensions.last_mut() {
                Some(last) if last.stride == stride.wrapping_mul(extent) && low == 0 && high == extent => {
                    last.extent *= extent;
                    last.stride = stride;
                    last.low *= extent;
                    last.high *= extent;
                }
                _ => dimensions.push(Dimension { extent, stride, low, high }),
            }
        }
        if dimensions.is_empty() {
            dimensions.push(Dimension { extent: 1, stride: 0, low: 0, high: 1 });
        }
        if outside {
            dimensions[0].high = dimensions[0].low;
        }
        Tile { base: strided.base, dimensions }
    }

    /// Whether every element is inside of the mask.
    pub fn is_full(&self) -> bool {
        self.dimensions.iter().all(|dimension| dimension.low == 0 && dimension.high == dimension.extent)
    }

    /// Whether this is one run of elements of `width` bytes, or a single one.
    pub fn is_run(&self, width: usize) -> bool {
        let [dimension] = self.dimensions[..] else { return false };
        dimension.stride == width as i64 || dimension.extent == 1
    }

    /// The addresses from the first to after the last byte of the elements inside of the mask, if there is any element.
    pub fn range(&self, width: usize) -> Option<(i64, i64)> {
        let (mut low, mut high) = (self.base, self.base);
        for dimension in &self.dimensions {
            if dimension.low >= dimension.high {
                return None;
            }
            let first = dimension.stride.wrapping_mul(dimension.low);
            let last = dimension.stride.wrapping_mul(dimension.high - 1);
            low = low.wrapping_add(first.min(last));
            high = high.wrapping_add(first.max(last));
        }
        Some((low, high.wrapping_add(width as i64)))
    }

    /// Calls `visit` with each piece of a row that elements `start..start + count` (in row-major order) consist of.
    pub fn for_each_row(&self, start: usize, count: usize, mut visit: impl FnMut(Row)) {
        let (inner, outer) = self.dimensions.split_last().expect("a tile has a dimension");
        let extent = inner.extent as usize;
        let (mut row, mut column) =
            if outer.is_empty() { (0, start) } else { (start / extent, start % extent) };
        let mut position = 0;
        while position < count {
            let length = (extent - column).min(count - position);
            let (mut address, mut inside, mut rest) = (self.base, true, row as i64);
            for dimension in outer.iter().rev() {
                let index = rest % dimension.extent;
                rest /= dimension.extent;
                address = address.wrapping_add(index.wrapping_mul(dimension.stride));
                inside &= index >= dimension.low && index < dimension.high;
            }
            let clip = |limit: i64| (limit.clamp(column as i64, (column + length) as i64) as usize) - column;
            let (low, high) = if inside { (clip(inner.low), clip(inner.high)) } else { (0, 0) };
            visit(Row {
                position,
                length,
                base: address.wrapping_add((column as i64).wrapping_mul(inner.stride)),
                stride: inner.stride,
                low,
                high: high.max(low),
            });
            position += length;
            column = 0;
            row += 1;
        }
    }
}

/// A piece of a row of a [`Tile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Elements of the strip before this piece.
    pub position: usize,
    pub length: usize,
    /// The value (or address) of the first element.
    pub base: i64,
    pub stride: i64,
    /// Elements `low..high` of the piece are inside of the mask.
    pub low: usize,
    pub high: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every value of a strided block in row-major order.
    fn values(strided: &Strided, extents: &[u32]) -> Vec<i64> {
        let count: u32 = extents.iter().product();
        (0..count)
            .map(|mut linear| {
                let mut value = strided.base;
                for axis in (0..extents.len()).rev() {
                    value += i64::from(linear % extents[axis]) * strided.strides[axis];
                    linear /= extents[axis];
                }
                value
            })
            .collect()
    }

    #[test]
    fn a_reshape_keeps_the_elements_in_row_major_order() {
        let block = Strided { base: 5, strides: PerAxis::from_slice(&[60, 0, 20, 5]) };
        let from = [3, 1, 3, 4];
        for to in [&[36][..], &[9, 4], &[3, 12], &[3, 3, 2, 2], &[1, 36, 1], &[4, 9]] {
            let reshaped = block.reshape(&from, to).expect("the block is one run");
            assert_eq!(values(&reshaped, to), values(&block, &from), "{to:?}");
        }
        let transposed = block.transpose(&[0, 1, 3, 2]);
        assert_eq!(transposed.reshape(&[3, 1, 4, 3], &[36]), None);
        let kept =
            transposed.reshape(&[3, 1, 4, 3], &[3, 2, 2, 3]).expect("each dimension is split by itself");
        assert_eq!(values(&kept, &[3, 2, 2, 3]), values(&transposed, &[3, 1, 4, 3]));
    }

    #[test]
    fn rows_cover_every_strip_of_a_masked_tile() {
        let strided = Strided { base: 100, strides: PerAxis::from_slice(&[50, 7, 1]) };
        let extents = [3, 2, 5];
        let bounds = [(0, 2), (0, 2), (1, 4)];
        let tile = Tile::new(&strided, &extents, Some(&bounds));
        let all = values(&strided, &extents);
        for start in 0..30 {
            for count in 0..=30 - start {
                let mut seen = Vec::new();
                tile.for_each_row(start, count, |row| {
                    assert_eq!(row.position, seen.len());
                    for i in 0..row.length {
                        let inside = i >= row.low && i < row.high;
                        seen.push((row.base + row.stride * i as i64, inside));
                    }
                });
                let expected: Vec<_> = (start..start + count)
                    .map(|i| (all[i], i / 10 < 2 && (1..4).contains(&(i % 5))))
                    .collect();
                assert_eq!(seen, expected);
            }
        }
        assert_eq!(tile.range(4), Some((101, 100 + 50 + 7 + 3 + 4)));
    }

    #[test]
    fn a_packed_block_is_one_run() {
        let tile =
            Tile::new(&Strided::compact(64, &[4, 1, 8], 4), &[4, 1, 8], Some(&[(0, 3), (0, 1), (0, 8)]));
        assert!(tile.is_run(4) && !tile.is_full());
        assert_eq!(tile.dimensions[0].high, 24);
    }
}
