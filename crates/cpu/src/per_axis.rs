//! A few numbers for each dimension of a block, which are copied with the block again and again.
//!
//! Those of up to four dimensions lie within the value itself and are copied as a whole, whatever their number; only the rest is on the heap.

use std::ops::{Deref, DerefMut};

/// Dimensions that need no heap.
const INLINE: usize = 4;

#[derive(Clone)]
pub struct PerAxis<T>(Storage<T>);

#[derive(Clone)]
enum Storage<T> {
    Inline(u8, [T; INLINE]),
    Heap(Box<[T]>),
}

impl<T: Copy + Default> PerAxis<T> {
    /// The same for each of `rank` dimensions.
    pub fn filled(value: T, rank: usize) -> PerAxis<T> {
        if rank <= INLINE {
            PerAxis(Storage::Inline(rank as u8, [value; INLINE]))
        } else {
            PerAxis(Storage::Heap(vec![value; rank].into()))
        }
    }

    pub fn from_slice(values: &[T]) -> PerAxis<T> {
        let mut all = PerAxis::filled(T::default(), values.len());
        all.copy_from_slice(values);
        all
    }

    /// With a dimension inserted before `axis`.
    pub fn with_inserted(&self, axis: usize, value: T) -> PerAxis<T> {
        let mut all = PerAxis::filled(value, self.len() + 1);
        all[..axis].copy_from_slice(&self[..axis]);
        all[axis + 1..].copy_from_slice(&self[axis..]);
        all
    }

    /// Without a dimension.
    pub fn without(&self, axis: usize) -> PerAxis<T> {
        let mut all = PerAxis::filled(T::default(), self.len() - 1);
        all[..axis].copy_from_slice(&self[..axis]);
        all[axis..].copy_from_slice(&self[axis + 1..]);
        all
    }
}

impl<T> Deref for PerAxis<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Storage::Inline(rank, values) => &values[..usize::from(*rank)],
            Storage::Heap(values) => values,
        }
    }
}

impl<T> DerefMut for PerAxis<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Storage::Inline(rank, values) => &mut values[..usize::from(*rank)],
            Storage::Heap(values) => values,
        }
    }
}

impl<T: Copy + Default> Default for PerAxis<T> {
    fn default() -> PerAxis<T> {
        PerAxis::filled(T::default(), 0)
    }
}

impl<T: PartialEq> PartialEq for PerAxis<T> {
    fn eq(&self, other: &PerAxis<T>) -> bool {
        self[..] == other[..]
    }
}

impl<T: Eq> Eq for PerAxis<T> {}

impl<T: std::fmt::Debug> std::fmt::Debug for PerAxis<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self[..].fmt(f)
    }
}

impl<T: Copy + Default> FromIterator<T> for PerAxis<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> PerAxis<T> {
        let mut inline = [T::default(); INLINE];
        let mut rank = 0;
        let mut values = values.into_iter();
        while let Some(value) = values.next() {
            if rank == INLINE {
                return PerAxis(Storage::Heap(inline.into_iter().chain([value]).chain(values).collect()));
            }
            inline[rank] = value;
            rank += 1;
        }
        PerAxis(Storage::Inline(rank as u8, inline))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_dimensions_behaves_like_a_vector() {
        for rank in 0..9usize {
            let values: Vec<i64> = (10..10 + rank as i64).collect();
            let axes = PerAxis::from_slice(&values);
            assert_eq!(axes[..], values);
            assert_eq!(values.iter().copied().collect::<PerAxis<i64>>(), axes);
            for axis in 0..=rank {
                let mut inserted = values.clone();
                inserted.insert(axis, 7);
                let with = axes.with_inserted(axis, 7);
                assert_eq!(with[..], inserted);
                assert_eq!(with.without(axis), axes);
                assert_ne!(with, axes);
            }
        }
    }
}
