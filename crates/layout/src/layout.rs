//! A linear map between spaces of bits, stored as one word for each input bit.

use std::fmt;

use crate::span::{Span, multiply, rank};
use crate::{Dim, Error, Space};

/// A linear layout: a linear map over F2 between two spaces.
///
/// Column `i` is the output of the input whose only set bit is `i`; the output of any other input is
/// the exclusive or of its bits' columns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    pub(crate) inputs: Space,
    pub(crate) outputs: Space,
    pub(crate) columns: Vec<u64>,
}

impl Layout {
    /// The layout with these columns, one for each bit of `inputs` and each a point of `outputs`.
    ///
    /// # Errors
    /// The number of columns is not that of the input's bits, or a column does not fit the outputs.
    pub fn from_columns(inputs: Space, outputs: Space, columns: Vec<u64>) -> Result<Layout, Error> {
        if columns.len() as u32 != inputs.bits() {
            return Err(Error::InvalidParameter {
                what: "the number of columns",
                value: columns.len() as u64,
                expected: "a layout has one column for each bit of its inputs",
            });
        }
        let bits = outputs.bits();
        if let Some(&value) = columns.iter().find(|&&column| column & !crate::space::low_mask(bits) != 0) {
            let dim = outputs.dims().last().map_or(Dim::Offset, |&(dim, _)| dim);
            return Err(Error::BasisTooLarge { dim, value, bits });
        }
        Ok(Layout { inputs, outputs, columns })
    }

    /// The layout given, as the literature prints them, by the coordinates of each basis vector.
    ///
    /// `outputs` are the dimensions with their numbers of bits; `bases` gives, for each input
    /// dimension and from its lowest bit, one coordinate for each of `outputs` in the order given.
    pub fn from_bases(bases: &[(Dim, Vec<Vec<u64>>)], outputs: &[(Dim, u32)]) -> Result<Layout, Error> {
        let output_space = Space::new(outputs.iter().copied())?;
        let inputs = Space::new(bases.iter().map(|(dim, vectors)| (*dim, vectors.len() as u32)))?;
        let mut columns = Vec::with_capacity(inputs.bits() as usize);
        for &(dim, _) in inputs.dims() {
            let vectors = bases.iter().filter(|(other, _)| *other == dim).flat_map(|(_, vectors)| vectors);
            for vector in vectors {
                let mut column = 0;
                for (&value, &(dim, bits)) in vector.iter().zip(outputs) {
                    if value & !crate::space::low_mask(bits) != 0 {
                        return Err(Error::BasisTooLarge { dim, value, bits });
                    }
                    column |= output_space.put(dim, value);
                }
                columns.push(column);
            }
        }
        Ok(Layout { inputs, outputs: output_space, columns })
    }

    /// The layout of no inputs and no outputs, the unit of [`product`](Layout::product).
    pub fn empty() -> Layout {
        Layout { inputs: Space::default(), outputs: Space::default(), columns: Vec::new() }
    }

    /// The map that numbers `output` by `input`, over `bits` bits (at most 64).
    pub fn identity(input: Dim, output: Dim, bits: u32) -> Result<Layout, Error> {
        let inputs = Space::new([(input, bits)])?;
        let outputs = Space::new([(output, bits)])?;
        Ok(Layout { inputs, outputs, columns: crate::span::standard(bits).collect() })
    }

    /// The map that sends every input to zero: `input` numbers copies. The output has no bits.
    pub fn copies(input: Dim, bits: u32, output: Dim) -> Result<Layout, Error> {
        let inputs = Space::new([(input, bits)])?;
        let outputs = Space::new([(output, 0)])?;
        Ok(Layout { inputs, outputs, columns: vec![0; bits as usize] })
    }

    /// The input space.
    pub fn inputs(&self) -> &Space {
        &self.inputs
    }

    /// The output space.
    pub fn outputs(&self) -> &Space {
        &self.outputs
    }

    /// The outputs of the input's single bits, lowest bit first.
    pub fn columns(&self) -> &[u64] {
        &self.columns
    }

    /// The columns of one input dimension, lowest bit first; none when it is absent.
    pub fn columns_of(&self, dim: Dim) -> &[u64] {
        let shift = self.inputs.shift_of(dim) as usize;
        &self.columns[shift..shift + self.inputs.bits_of(dim) as usize]
    }

    /// The output of an input, both as words.
    pub fn apply(&self, input: u64) -> u64 {
        multiply(&self.columns, input)
    }

    /// The output of an input given by coordinates, in the order of the output's dimensions.
    /// Coordinates are cut to the bits of their dimension; absent dimensions are ignored.
    pub fn apply_to(&self, coordinates: &[(Dim, u64)]) -> Vec<(Dim, u64)> {
        let input = coordinates.iter().fold(0, |word, &(dim, value)| word ^ self.inputs.put(dim, value));
        let output = self.apply(input);
        self.outputs.dims().iter().map(|&(dim, _)| (dim, self.outputs.get(output, dim))).collect()
    }

    /// The dimension of the image.
    pub fn rank(&self) -> usize {
        rank(&self.columns)
    }

    /// Whether no two inputs share an output: nothing is held twice.
    pub fn is_injective(&self) -> bool {
        self.rank() == self.columns.len()
    }

    /// Whether every output is reached: nothing is missing.
    pub fn is_surjective(&self) -> bool {
        self.rank() as u32 == self.outputs.bits()
    }

    /// Whether inputs and outputs correspond one to one.
    pub fn is_bijective(&self) -> bool {
        self.is_injective() && self.is_surjective()
    }

    /// For each input dimension, the bits that only number copies.
    ///
    /// Inputs whose masked bits are all zero reach every output exactly once, so a store needs to run
    /// only where `lane & mask == 0`, `warp & mask == 0` and so on. Bits of earlier dimensions and
    /// lower bits are kept in preference.
    pub fn free_variable_masks(&self) -> Vec<(Dim, u64)> {
        let mut span = Span::default();
        let free = self.columns.iter().enumerate();
        let word = free.fold(0, |word, (bit, &column)| word | u64::from(!span.insert(column)) << bit);
        self.inputs.dims().iter().map(|&(dim, _)| (dim, self.inputs.get(word, dim))).collect()
    }

    /// The mask of [`free_variable_masks`](Layout::free_variable_masks) of one dimension.
    pub fn free_variable_mask(&self, dim: Dim) -> u64 {
        self.free_variable_masks().into_iter().find(|&(other, _)| other == dim).map_or(0, |(_, mask)| mask)
    }

    /// Whether each point of the space that both layouts take goes to itself: an identity from the
    /// input dimensions to the same output dimensions.
    pub fn is_identity(&self) -> bool {
        self.inputs == self.outputs
            && self.columns.iter().enumerate().all(|(bit, &column)| column == 1 << bit)
    }
}

/// The bases in the notation of the literature, one input dimension a line, with the extents of the
/// outputs last. Axes print outermost first.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut outputs: Vec<Dim> = self.outputs.dims().iter().map(|&(dim, _)| dim).collect();
        outputs.reverse();
        for &(dim, _) in self.inputs.dims() {
            write!(f, "{dim}: [")?;
            for (index, &column) in self.columns_of(dim).iter().enumerate() {
                f.write_str(if index == 0 { "(" } else { ", (" })?;
                for (index, &output) in outputs.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", self.outputs.get(column, output))?;
                }
                f.write_str(")")?;
            }
            f.write_str("]\n")?;
        }
        f.write_str("-> (")?;
        for (index, &output) in outputs.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{output}: {}", self.outputs.extent(output))?;
        }
        f.write_str(")")
    }
}
