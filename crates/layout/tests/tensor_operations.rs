//! Shape operations against the operation on the tensor itself: a thread's registers hold the same
//! elements before and after.

mod support;

use proptest::prelude::*;
use support::{Program, distributed, points};
use tegula_layout::{Blocked, Dim, Error, Layout};

const PROGRAM: Program = Program { lanes: 3, warps: 1, tensor: 5 };

/// The axes' coordinates of an output word, outermost first.
fn index(layout: &Layout, input: u64) -> Vec<u64> {
    let output = layout.apply(input);
    (0..layout.outputs().rank() as u8).map(|axis| layout.outputs().get(output, Dim::Axis(axis))).collect()
}

fn row_major(index: &[u64], shape: &[u64]) -> u64 {
    index.iter().zip(shape).fold(0, |position, (&coordinate, &extent)| position * extent + coordinate)
}

proptest! {
    #[test]
    fn reshape_keeps_row_major_order(layout in distributed(PROGRAM, true)) {
        prop_assert_eq!(layout.shape(), vec![4, 8]);
        for shape in [vec![32], vec![2, 2, 8], vec![8, 1, 4]] {
            let reshaped = layout.reshape(&shape).unwrap();
            for input in points(layout.inputs()) {
                let before = row_major(&index(&layout, input), &[4, 8]);
                prop_assert_eq!(row_major(&index(&reshaped, input), &shape), before);
            }
        }
        let other_size = matches!(layout.reshape(&[16]), Err(Error::SpaceMismatch { .. }));
        prop_assert!(other_size);
        let odd_extent = matches!(layout.reshape(&[4, 7]), Err(Error::NotPowerOfTwo { .. }));
        prop_assert!(odd_extent);
    }

    #[test]
    fn axes_move_as_coordinates(layout in distributed(PROGRAM, true)) {
        let cube = layout.reshape(&[2, 4, 4]).unwrap();
        let permuted = cube.permute(&[2, 0, 1]).unwrap();
        let expanded = layout.expand_dims(1).unwrap();
        let rows = layout.slice(1).unwrap();
        for input in points(layout.inputs()) {
            let old = index(&cube, input);
            prop_assert_eq!(index(&permuted, input), vec![old[2], old[0], old[1]]);
            let old = index(&layout, input);
            prop_assert_eq!(index(&expanded, input), vec![old[0], 0, old[1]]);
            prop_assert_eq!(index(&rows, input), vec![old[0]]);
        }
        prop_assert!(cube.permute(&[0, 0, 1]).is_err());
        prop_assert!(cube.permute(&[0, 1]).is_err());
        prop_assert!(cube.permute(&[0, 1, 3]).is_err());
        prop_assert!(layout.slice(2).is_err());
        prop_assert!(layout.expand_dims(3).is_err());
    }

    #[test]
    fn broadcast_repeats_in_registers(layout in distributed(PROGRAM, true)) {
        let wide = layout.expand_dims(1).unwrap().broadcast(1, 4).unwrap();
        let registers = layout.inputs().bits_of(Dim::Register);
        for input in points(wide.inputs()) {
            let register = wide.inputs().get(input, Dim::Register);
            let old = wide.inputs().dims().iter().fold(0, |word, &(dim, _)| {
                word | layout.inputs().put(dim, wide.inputs().get(input, dim))
            });
            let (new, old) = (index(&wide, input), index(&layout, old));
            prop_assert_eq!(new, vec![old[0], register >> registers, old[1]]);
        }
        prop_assert!(layout.broadcast(0, 4).is_err());
    }

    #[test]
    fn joined_halves_split_again(layout in distributed(PROGRAM, true)) {
        let joined = layout.join().unwrap();
        let half = joined.split();
        prop_assert_eq!(half, Some((layout.clone(), 0)));
        for input in points(joined.inputs()) {
            // The low register bit chooses the half, and what is above it is the register of the halves.
            let (new, old) = (index(&joined, input), index(&layout, input >> 1));
            prop_assert_eq!(new, vec![old[0], old[1], input & 1]);
        }
        let tall = layout.concatenate(0).unwrap();
        prop_assert_eq!(tall.shape(), vec![8, 8]);
    }

    #[test]
    fn a_last_axis_in_lanes_does_not_split(layout in distributed(PROGRAM, false)) {
        let pairs = layout.reshape(&[16, 2]).unwrap();
        if let Some((half, bit)) = pairs.split() {
            prop_assert_eq!(pairs.columns_of(Dim::Register)[bit as usize], 1);
            prop_assert_eq!(half.shape(), vec![16]);
            prop_assert!(half.is_surjective());
        }
    }

    #[test]
    fn blocked_layouts_follow_their_parameters(
        order in prop_oneof![Just(vec![0u8, 1]), Just(vec![1, 0])],
        per in (0u32..3, 0u32..3), warps in (0u32..2, 0u32..2), split in 0u32..6,
    ) {
        let per_thread = vec![1 << per.0, 1 << per.1];
        let lanes = vec![1 << split, 32 >> split];
        let warps = vec![1 << warps.0, 1 << warps.1];
        let shape: Vec<u64> = (0..2).map(|axis| per_thread[axis] * lanes[axis] * warps[axis]).collect();
        let blocked = Blocked { per_thread: per_thread.clone(), lanes: lanes.clone(), warps: warps.clone(), order: order.clone() };
        let layout = blocked.layout(&shape).unwrap();
        prop_assert!(layout.is_bijective());
        let along = |number: u64, extents: &[u64], axis: usize| {
            let first = order[0] as usize;
            if axis == first { number % extents[first] } else { number / extents[first] }
        };
        for input in points(layout.inputs()) {
            let get = |dim| layout.inputs().get(input, dim);
            let place = index(&layout, input);
            for axis in 0..2 {
                let expected = along(get(Dim::Register), &per_thread, axis)
                    + per_thread[axis] * (along(get(Dim::Lane), &lanes, axis) + lanes[axis] * along(get(Dim::Warp), &warps, axis));
                prop_assert_eq!(place[axis], expected);
            }
        }
    }

    #[test]
    fn coalesced_layouts_cover_any_tensor(bits in (0u32..8, 0u32..8), vector in 0u32..4, warps in 0u32..4) {
        let shape = [1 << bits.0, 1 << bits.1];
        let blocked = Blocked::coalesced(&shape, &[1, 0], 1 << vector, 1 << warps).unwrap();
        let layout = blocked.layout(&shape).unwrap();
        prop_assert!(layout.is_surjective());
        prop_assert_eq!(layout.inputs().bits_of(Dim::Lane), 5);
        prop_assert_eq!(layout.inputs().bits_of(Dim::Warp), warps);
        prop_assert_eq!(layout.contiguity(1).unwrap() >= (1 << vector).min(shape[1]), true);
    }
}

#[test]
fn a_tile_larger_than_the_tensor_holds_copies() {
    let blocked = Blocked { per_thread: vec![4], lanes: vec![32], warps: vec![2], order: vec![0] };
    let layout = blocked.layout(&[64]).unwrap();
    assert_eq!(layout.free_variable_masks(), vec![(Dim::Register, 0), (Dim::Lane, 0b10000), (Dim::Warp, 1)]);
    let repeated = blocked.layout(&[1024]).unwrap();
    assert_eq!(repeated.inputs().bits_of(Dim::Register), 4);
    assert_eq!(repeated.apply_to(&[(Dim::Register, 4)]), vec![(Dim::Axis(0), 256)]);
    assert!(blocked.layout(&[64, 64]).is_err());
    assert!(matches!(blocked.layout(&[48]), Err(Error::NotPowerOfTwo { .. })));
    assert!(Blocked::coalesced(&[64], &[0], 3, 4).is_err());
    assert!(Blocked::coalesced(&[], &[], 1, 4).is_err());
}
