//! Shared-memory layouts, bank conflicts and matrix accesses against plain simulators.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use support::any_layout;
use tegula_layout::{
    BulkSwizzle, Dim, Layout, MatrixAccess, SharedSwizzle, Warps, bank_cost, fragment, shared,
};

/// The wavefronts of one instruction: lanes in phases of 128 bytes, in each the most words of a bank.
fn simulate(addresses: &[u64], bytes: u64) -> u64 {
    let in_phase = (128 / bytes.max(4)).min(32) as usize;
    addresses
        .chunks(in_phase)
        .map(|phase| {
            let mut banks: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
            for &address in phase {
                for byte in 0..bytes {
                    let word = (address + byte) / 4;
                    banks.entry(word % 32).or_default().insert(word);
                }
            }
            banks.values().map(|words| words.len() as u64).max().unwrap_or(0)
        })
        .sum()
}

proptest! {
    #[test]
    fn bank_costs_match_a_simulation(
        layout in any_layout(vec![(Dim::Lane, 5)], vec![(Dim::Offset, 9)]),
        element_bits in prop_oneof![Just(8u32), Just(16), Just(32), Just(64)], vector in 0u32..4,
    ) {
        let vector = (1u64 << vector).min(128 / u64::from(element_bits));
        let bytes = vector * u64::from(element_bits) / 8;
        let addresses: Vec<u64> = (0..32u64)
            .map(|lane| layout.apply(lane) / vector * bytes)
            .collect();
        // Offsets aligned to the vector, as accesses are.
        let columns = layout.columns().iter().map(|&column| column / vector * vector).collect();
        let aligned = Layout::from_columns(layout.inputs().clone(), layout.outputs().clone(), columns).unwrap();
        let cost = bank_cost(&aligned, vector, element_bits).unwrap();
        prop_assert_eq!(cost.wavefronts(), simulate(&addresses, bytes));
    }

    #[test]
    fn swizzles_follow_their_formula(
        vector in 0u32..4, per_phase in 0u32..3, phases in 0u32..4, rows in 3u32..6, columns in 5u32..8,
    ) {
        let swizzle = SharedSwizzle { vector: 1 << vector, per_phase: 1 << per_phase, max_phase: 1 << phases };
        let shape = [1u64 << rows, 1 << columns];
        let layout = shared::swizzled(&shape, &[1, 0], swizzle).unwrap();
        prop_assert!(layout.is_bijective());
        for row in 0..shape[0] {
            for column in 0..shape[1] {
                let phase = row / swizzle.per_phase % swizzle.max_phase.min(shape[1] / swizzle.vector);
                let stored = ((column / swizzle.vector) ^ phase) * swizzle.vector + column % swizzle.vector;
                let place = layout.apply_to(&[(Dim::Axis(0), row), (Dim::Axis(1), column)]);
                prop_assert_eq!(place, vec![(Dim::Offset, row * shape[1] + stored)]);
            }
        }
    }

    #[test]
    fn bulk_tiles_are_boxes_of_swizzled_rows(
        mode in 0usize..4, element_log2 in 0u32..4, rows in 0u32..7, extra in 0u32..3, transposed in any::<bool>(),
    ) {
        let swizzle = BulkSwizzle::ALL[mode];
        let row_bytes = swizzle.row_bytes().unwrap_or(64);
        let element_bytes = 1u64 << element_log2;
        let width = (row_bytes / element_bytes) << extra;
        let height = 1u64 << rows;
        let (shape, order) = if transposed { ([width, height], [0, 1]) } else { ([height, width], [1, 0]) };
        let layout = shared::bulk(&shape, &order, 8 * element_bytes as u32, swizzle).unwrap();
        prop_assert!(layout.is_bijective());
        let box_width = if swizzle == BulkSwizzle::None { width } else { row_bytes / element_bytes };
        for row in 0..height {
            for column in 0..width {
                let plain = (column / box_width * height + row) * box_width + column % box_width;
                let byte = plain * element_bytes;
                // CUTLASS writes it Swizzle<B, 4, 3>: bits 7.. are added to bits 4.. .
                let moved = byte ^ ((byte >> 3) & (((1 << swizzle.bits()) - 1) << 4));
                let (first, second) = if transposed { (column, row) } else { (row, column) };
                let place = layout.apply_to(&[(Dim::Axis(0), first), (Dim::Axis(1), second)]);
                prop_assert_eq!(place, vec![(Dim::Offset, moved / element_bytes)]);
            }
        }
    }
}

#[test]
fn orders_are_strides() {
    let layout = shared::ordered(&[4, 8, 2], &[1, 2, 0]).unwrap();
    let place = layout.apply_to(&[(Dim::Axis(0), 3), (Dim::Axis(1), 5), (Dim::Axis(2), 1)]);
    assert_eq!(place, vec![(Dim::Offset, 5 + 8 + 3 * 16)]);
    assert_eq!(shared::row_major(&[4, 8]).unwrap().apply(0b10_011), 0b10_011);
    assert!(shared::ordered(&[4, 8], &[0, 0]).is_err());
    assert!(shared::ordered(&[4, 6], &[1, 0]).is_err());
    assert!(shared::bulk(&[8, 16], &[1, 0], 16, BulkSwizzle::Bytes128).is_err());
    assert!(shared::bulk(&[8, 16], &[1, 0], 12, BulkSwizzle::None).is_err());
}

#[test]
fn bank_costs_reject_what_is_no_access() {
    let lanes = Layout::identity(Dim::Lane, Dim::Offset, 5).unwrap();
    assert!(bank_cost(&lanes, 3, 32).is_err());
    assert!(bank_cost(&lanes, 8, 32).is_err());
    assert!(bank_cost(&lanes, 1, 1).is_err());
}

/// Loads with the instruction's own definition: lane `8 m + r` gives the address of row `r` of matrix
/// `m`, and register `m` of lane `l` receives from it.
fn load_matrices(access: &MatrixAccess, to_offset: &Layout, element_bits: u32, warp: u64) {
    let packed = u64::from(32 / element_bits);
    let count = 1u64 << access.matrices.len();
    let warp_offset = to_offset.apply(to_offset.inputs().put(Dim::Warp, warp));
    let mut filled = BTreeSet::new();
    for instruction in 0..access.instructions() {
        let rows: Vec<u64> =
            (0..32).map(|lane| warp_offset ^ access.address(to_offset, instruction, lane)).collect();
        for row in &rows {
            assert_eq!(row * u64::from(element_bits) % 128, 0, "a misaligned row");
        }
        for matrix in 0..count {
            for lane in 0..32u64 {
                for part in 0..packed {
                    let offset = if access.transposed {
                        rows[(8 * matrix + 2 * (lane % 4) + part) as usize] + (lane >> 2)
                    } else {
                        rows[(8 * matrix + (lane >> 2)) as usize] + packed * (lane % 4) + part
                    };
                    let multiply = tegula_layout::span::multiply;
                    let register = multiply(&access.between, instruction)
                        ^ multiply(&access.matrices, matrix)
                        ^ multiply(&access.within, part);
                    let space = to_offset.inputs();
                    let input = space.put(Dim::Register, register)
                        | space.put(Dim::Lane, lane)
                        | space.put(Dim::Warp, warp);
                    assert_eq!(offset, to_offset.apply(input), "register {register} of lane {lane}");
                    filled.insert((register, lane));
                }
            }
        }
    }
    let registers = to_offset.inputs().extent(Dim::Register) >> access.copies.len();
    assert_eq!(filled.len() as u64, registers * 32);
}

#[test]
fn operands_load_by_matrices() {
    let warps = [Warps::Along { axis: 0, count: 2 }, Warps::Copies { count: 2 }];
    let cases = [
        (fragment::operand_a(2, 16, 16), 16, [1, 0], false, 4),
        (fragment::operand_a(2, 16, 16), 16, [0, 1], true, 4),
        (fragment::operand_b(2, 16, 16), 16, [0, 1], false, 4),
        (fragment::operand_b(2, 16, 16), 16, [1, 0], true, 4),
        (fragment::operand_a(2, 8, 32), 8, [1, 0], false, 4),
        (fragment::operand_b(2, 8, 32), 8, [0, 1], false, 4),
        (fragment::operand_a(2, 32, 8), 32, [1, 0], false, 4),
        (fragment::accumulator(2), 16, [1, 0], false, 4),
    ];
    for (tile, element_bits, order, transposed, matrices) in cases {
        let layout = Warps::spread(&tile.unwrap(), &warps).unwrap().cover(&[128, 128]).unwrap();
        let swizzle = BulkSwizzle::Bytes128;
        let to_memory = shared::bulk(&[128, 128], &order, element_bits, swizzle).unwrap();
        let to_offset = layout.then(&to_memory).unwrap();
        let access = MatrixAccess::find(&to_offset, element_bits).unwrap().unwrap();
        assert_eq!((access.transposed, 1 << access.matrices.len()), (transposed, matrices));
        assert_eq!(access.ways, 1, "the swizzle frees rows of conflicts");
        for warp in 0..4 {
            load_matrices(&access, &to_offset, element_bits, warp);
        }
        let plain = layout.then(&shared::ordered(&[128, 128], &order).unwrap()).unwrap();
        let access = MatrixAccess::find(&plain, element_bits).unwrap().unwrap();
        assert_eq!(access.ways, 8, "rows of 128 bytes and more share their banks");
    }
}

#[test]
fn matrices_are_refused_where_they_do_not_fit() {
    let tf32 = fragment::operand_a(2, 32, 8).unwrap().cover(&[64, 64]).unwrap();
    let transposed = tf32.then(&shared::ordered(&[64, 64], &[0, 1]).unwrap()).unwrap();
    assert_eq!(MatrixAccess::find(&transposed, 32), Ok(None));
    let doubles = fragment::operand_a_f64(2).unwrap().cover(&[64, 64]).unwrap();
    let doubles = doubles.then(&shared::row_major(&[64, 64]).unwrap()).unwrap();
    assert_eq!(MatrixAccess::find(&doubles, 64), Ok(None));
    // A swizzle of single elements leaves no row whole.
    let fine = SharedSwizzle { vector: 2, per_phase: 1, max_phase: 8 };
    let operand = fragment::operand_a(2, 16, 16).unwrap().cover(&[64, 64]).unwrap();
    let fine = operand.then(&shared::swizzled(&[64, 64], &[1, 0], fine).unwrap()).unwrap();
    assert_eq!(MatrixAccess::find(&fine, 16), Ok(None));
}
