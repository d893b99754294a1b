//! Random layouts, and the plain enumeration that the algebra is held against.
#![allow(dead_code)]

use proptest::prelude::*;
use tegula_layout::{Dim, Layout, Space, span};

/// Any linear map between spaces of the given bits.
pub fn any_layout(inputs: Vec<(Dim, u32)>, outputs: Vec<(Dim, u32)>) -> impl Strategy<Value = Layout> {
    let inputs = Space::new(inputs).unwrap();
    let outputs = Space::new(outputs).unwrap();
    let limit = 1u64 << outputs.bits();
    prop::collection::vec(0..limit, inputs.bits() as usize)
        .prop_map(move |columns| Layout::from_columns(inputs.clone(), outputs.clone(), columns).unwrap())
}

/// A basis of all vectors of `bits` bits: units in some order, with a few sums of others when `mixed`.
pub fn basis(bits: u32, mixed: bool) -> impl Strategy<Value = Vec<u64>> {
    let units: Vec<u64> = span::standard(bits).collect();
    let additions = if mixed { bits as usize } else { 0 };
    let pairs = prop::collection::vec((0..bits as usize, 0..bits as usize), additions);
    (Just(units).prop_shuffle(), pairs).prop_map(|(mut basis, pairs)| {
        for (to, from) in pairs {
            if to != from {
                basis[to] ^= basis[from];
            }
        }
        basis
    })
}

/// How many bits of each kind a family of distributed layouts has.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    pub lanes: u32,
    pub warps: u32,
    pub tensor: u32,
}

/// A surjective layout of a two-axis tensor over the program's lanes and warps, with as many registers as it
/// takes and up to two more; what exceeds the tensor is copies of random kinds.
pub fn distributed(program: Program, mixed: bool) -> impl Strategy<Value = Layout> {
    let Program { lanes, warps, tensor } = program;
    let threads = lanes + warps;
    let fewest = tensor.saturating_sub(threads);
    let copies = prop::collection::vec(prop_oneof![3 => Just(0u64), 1 => 0..1u64 << tensor], 16);
    (fewest..fewest + 3, basis(tensor, mixed), copies).prop_flat_map(move |(registers, basis, copies)| {
        let total = (registers + threads) as usize;
        let mut columns = basis;
        columns.extend(copies.into_iter().take(total - columns.len().min(total)));
        columns.truncate(total);
        Just(columns).prop_shuffle().prop_map(move |columns| {
            let inputs =
                Space::new([(Dim::Register, registers), (Dim::Lane, lanes), (Dim::Warp, warps)]).unwrap();
            let rows = tensor / 2;
            let outputs = Space::tensor(&[rows, tensor - rows]).unwrap();
            Layout::from_columns(inputs, outputs, columns).unwrap()
        })
    })
}

/// Every word of a space.
pub fn points(space: &Space) -> std::ops::Range<u64> {
    0..1 << space.bits()
}

/// The word of coordinates.
pub fn word(space: &Space, coordinates: &[(Dim, u64)]) -> u64 {
    coordinates.iter().fold(0, |word, &(dim, value)| word | space.put(dim, value))
}
