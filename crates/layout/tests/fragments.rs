//! Tensor-core fragments against the formulas of the PTX ISA, element by element.

use tegula_layout::{Dim, Layout, Warps, fragment};

/// Checks (row, column) of every register of every lane of warp `w`.
fn check(layout: &Layout, warps: u64, expected: impl Fn(u64, u64, u64) -> (u64, u64)) {
    for warp in 0..warps {
        for lane in 0..32 {
            for register in 0..layout.inputs().extent(Dim::Register) {
                let place =
                    layout.apply_to(&[(Dim::Register, register), (Dim::Lane, lane), (Dim::Warp, warp)]);
                let (row, column) = expected(register, lane, warp);
                assert_eq!(
                    place,
                    vec![(Dim::Axis(1), column), (Dim::Axis(0), row)],
                    "register {register} of lane {lane} of warp {warp}"
                );
            }
        }
    }
}

#[test]
fn accumulators_of_16x8() {
    let layout = fragment::accumulator(2).unwrap();
    assert!(layout.is_bijective());
    check(&layout, 1, |i, lane, _| {
        let row = if i < 2 { lane >> 2 } else { (lane >> 2) + 8 };
        (row, (lane % 4) * 2 + (i & 1))
    });
}

#[test]
fn operands_of_m16n8k16_of_16_bits() {
    check(&fragment::operand_a(2, 16, 16).unwrap(), 1, |i, lane, _| {
        let row = if i < 2 || (4..6).contains(&i) { lane >> 2 } else { (lane >> 2) + 8 };
        let column = (lane % 4) * 2 + (i & 1);
        (row, if i >= 4 { column + 8 } else { column })
    });
    check(&fragment::operand_b(2, 16, 16).unwrap(), 1, |i, lane, _| {
        let row = (lane % 4) * 2 + (i & 1);
        (if i >= 2 { row + 8 } else { row }, lane >> 2)
    });
}

#[test]
fn operands_of_m16n8k8_of_16_bits() {
    check(&fragment::operand_a(2, 16, 8).unwrap(), 1, |i, lane, _| {
        (if i < 2 { lane >> 2 } else { (lane >> 2) + 8 }, (lane % 4) * 2 + (i & 1))
    });
    check(&fragment::operand_b(2, 16, 8).unwrap(), 1, |i, lane, _| ((lane % 4) * 2 + i, lane >> 2));
}

#[test]
fn operands_of_m16n8k8_of_tf32() {
    check(&fragment::operand_a(2, 32, 8).unwrap(), 1, |i, lane, _| {
        let row = if i == 0 || i == 2 { lane >> 2 } else { (lane >> 2) + 8 };
        (row, if i < 2 { lane % 4 } else { lane % 4 + 4 })
    });
    check(&fragment::operand_b(2, 32, 8).unwrap(), 1, |i, lane, _| {
        (if i == 0 { lane % 4 } else { lane % 4 + 4 }, lane >> 2)
    });
}

#[test]
fn operands_of_m16n8k32_of_8_bits() {
    check(&fragment::operand_a(2, 8, 32).unwrap(), 1, |i, lane, _| {
        let row = if i < 4 || (8..12).contains(&i) { lane >> 2 } else { (lane >> 2) + 8 };
        let column = (lane % 4) * 4 + (i & 3);
        (row, if i < 8 { column } else { column + 16 })
    });
    check(&fragment::operand_b(2, 8, 32).unwrap(), 1, |i, lane, _| {
        let row = (lane % 4) * 4 + (i & 3);
        (if i < 4 { row } else { row + 16 }, lane >> 2)
    });
}

#[test]
fn fragments_of_m8n8k4_of_f64() {
    check(&fragment::operand_a_f64(2).unwrap(), 1, |_, lane, _| (lane >> 2, lane % 4));
    check(&fragment::operand_b_f64(2).unwrap(), 1, |_, lane, _| (lane % 4, lane >> 2));
    check(&fragment::accumulator_f64(2).unwrap(), 1, |i, lane, _| (lane >> 2, (lane % 4) * 2 + i));
}

#[test]
fn fragments_of_a_warpgroup() {
    for n in [8, 64, 256] {
        let layout = fragment::warpgroup_accumulator(2, n).unwrap();
        assert!(layout.is_bijective());
        assert_eq!(layout.shape(), vec![64, n]);
        // d[i]: row by bit 1 of i, column 8 * (i / 4) and two to a lane.
        check(&layout, 4, |i, lane, warp| {
            (16 * warp + (lane >> 2) + 8 * (i / 2 % 2), 8 * (i / 4) + (lane % 4) * 2 + i % 2)
        });
    }
    check(&fragment::warpgroup_operand_a(2, 16, 16).unwrap(), 4, |i, lane, warp| {
        (16 * warp + (lane >> 2) + 8 * (i / 2 % 2), 8 * (i / 4) + (lane % 4) * 2 + i % 2)
    });
    check(&fragment::warpgroup_operand_a(2, 8, 32).unwrap(), 4, |i, lane, warp| {
        (16 * warp + (lane >> 2) + 8 * (i / 4 % 2), 16 * (i / 8) + (lane % 4) * 4 + i % 4)
    });
}

#[test]
fn matrix_tiles() {
    check(&fragment::matrix_tile(2, 16, 4).unwrap(), 1, |i, lane, _| {
        (8 * (i / 2) + (lane >> 2), (lane % 4) * 2 + i % 2)
    });
    check(&fragment::matrix_tile(2, 8, 2).unwrap(), 1, |i, lane, _| {
        (8 * (i / 4) + (lane >> 2), (lane % 4) * 4 + i % 4)
    });
    check(&fragment::transposed_matrix_tile(2, 2).unwrap(), 1, |i, lane, _| {
        (8 * (i / 2) + (lane % 4) * 2 + i % 2, lane >> 2)
    });
}

#[test]
fn a_left_operand_is_four_matrices_in_the_order_of_its_registers() {
    // m16n8k16: ldmatrix.x4 of the two upper and two lower 8x8 matrices gives a0..a7.
    let operand = fragment::operand_a(2, 16, 16).unwrap();
    let tile = fragment::matrix_tile(2, 16, 1).unwrap();
    let quotient = operand.divide_left(&tile).unwrap();
    assert_eq!(quotient.apply_to(&[(Dim::Register, 1)]), vec![(Dim::Axis(1), 0), (Dim::Axis(0), 1)]);
    assert_eq!(quotient.apply_to(&[(Dim::Register, 2)]), vec![(Dim::Axis(1), 1), (Dim::Axis(0), 0)]);
}

#[test]
fn warps_spread_tiles_and_hold_copies() {
    // Four warps, 2 x 2: the left operand is shared by the warps along N.
    let a = fragment::operand_a(2, 16, 16).unwrap();
    let warps = [Warps::Copies { count: 2 }, Warps::Along { axis: 0, count: 2 }];
    let layout = Warps::spread(&a, &warps).unwrap().cover(&[64, 32]).unwrap();
    assert!(layout.is_surjective());
    assert_eq!(layout.free_variable_mask(Dim::Warp), 1);
    assert_eq!(layout.apply_to(&[(Dim::Warp, 2)]), vec![(Dim::Axis(1), 0), (Dim::Axis(0), 16)]);
    // Registers repeat K first, then rows.
    assert_eq!(layout.apply_to(&[(Dim::Register, 8)]), vec![(Dim::Axis(1), 16), (Dim::Axis(0), 0)]);
    assert_eq!(layout.apply_to(&[(Dim::Register, 16)]), vec![(Dim::Axis(1), 0), (Dim::Axis(0), 32)]);
    assert!(Warps::spread(&a, &[Warps::Along { axis: 2, count: 2 }]).is_err());
    assert!(Warps::spread(&a, &[Warps::Copies { count: 3 }]).is_err());
}

#[test]
fn instructions_that_do_not_exist_are_errors() {
    assert!(fragment::operand_a(2, 16, 32).is_err());
    assert!(fragment::operand_a(2, 64, 4).is_err());
    assert!(fragment::operand_b(2, 8, u64::MAX).is_err());
    assert!(fragment::accumulator(1).is_err());
    assert!(fragment::warpgroup_accumulator(2, 24).is_err());
    assert!(fragment::warpgroup_accumulator(2, 512).is_err());
    assert!(fragment::warpgroup_operand_a(2, 16, 8).is_err());
    assert!(fragment::matrix_tile(2, 16, 3).is_err());
}
