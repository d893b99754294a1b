//! Descriptors of `wgmma` operands: the addresses that the hardware computes from them are those of the
//! layout.

use tegula_layout::{BulkSwizzle, Dim, Layout, WarpgroupOperand, shared};

/// The byte at which the hardware reads element (row, k) of a tile, by the table of the PTX ISA.
fn hardware(operand: &WarpgroupOperand, start: u64, element: u64, row: u64, k: u64) -> u64 {
    let unit = 16 / element;
    let atom = operand.swizzle.row_bytes().unwrap_or(16);
    let (leading, stride) = (operand.leading_bytes, operand.stride_bytes);
    let plain = match (operand.contraction_contiguous, operand.swizzle) {
        (true, BulkSwizzle::None) => {
            row % 8 * 16 + row / 8 * stride + k % unit * element + k / unit * leading
        }
        (true, _) => row % 8 * atom + row / 8 * stride + k % unit * element + k / unit * 16,
        (false, BulkSwizzle::None) => {
            row % unit * element + row / unit * stride + k % 8 * 16 + k / 8 * leading
        }
        (false, _) => {
            let across = atom / element;
            row % across * element + row / across * leading + k % 8 * atom + k / 8 * stride
        }
    };
    operand.swizzle.apply(start + plain)
}

/// Checks every tile of the tensor, and gives the operand.
fn check(to_memory: &Layout, contraction: u8, rows: u64, element_bits: u32) -> WarpgroupOperand {
    let operand = WarpgroupOperand::find(to_memory, contraction, rows, element_bits).unwrap().unwrap();
    let element = u64::from(element_bits / 8);
    let depth = 32 / element;
    let extent = |axis: u8| to_memory.inputs().extent(Dim::Axis(axis));
    let byte = |row: u64, k: u64| {
        let place = to_memory.apply_to(&[(Dim::Axis(1 - contraction), row), (Dim::Axis(contraction), k)]);
        place[0].1 * element
    };
    for first_row in (0..extent(1 - contraction)).step_by(rows as usize) {
        for first_k in (0..extent(contraction)).step_by(depth as usize) {
            let start = operand.start(byte(first_row, first_k));
            for row in 0..rows {
                for k in 0..depth {
                    let expected = byte(first_row + row, first_k + k);
                    assert_eq!(hardware(&operand, start, element, row, k), expected, "row {row}, k {k}");
                }
            }
        }
    }
    operand
}

#[test]
fn bulk_tiles_are_read_in_place() {
    for swizzle in [BulkSwizzle::Bytes128, BulkSwizzle::Bytes64, BulkSwizzle::Bytes32] {
        for element_bits in [8, 16, 32] {
            // 64 rows of K, as A is; K contiguous.
            let layout = shared::bulk(&[128, 128], &[1, 0], element_bits, swizzle).unwrap();
            let operand = check(&layout, 1, 64, element_bits);
            assert!(operand.contraction_contiguous);
            assert_eq!((operand.swizzle, operand.stride_bytes), (swizzle, 8 * swizzle.row_bytes().unwrap()));
        }
        for n in [64, 128, 256] {
            // K rows of N, as B often is; N contiguous, in boxes side by side.
            let layout = shared::bulk(&[64, 256], &[1, 0], 16, swizzle).unwrap();
            let operand = check(&layout, 0, n, 16);
            assert!(!operand.contraction_contiguous);
            let box_bytes = 64 * swizzle.row_bytes().unwrap();
            let boxes = n * 2 > swizzle.row_bytes().unwrap();
            assert_eq!(operand.leading_bytes, if boxes { box_bytes } else { 0 });
            assert_eq!((operand.swizzle, operand.stride_bytes), (swizzle, 8 * swizzle.row_bytes().unwrap()));
        }
    }
}

#[test]
fn core_matrices_need_no_swizzle() {
    // 8 rows of 16 bytes together, then down the rows, then across K.
    let bases = [
        (Dim::Axis(0), [16u64, 32, 64, 128, 256, 512].map(|byte| vec![byte / 2]).to_vec()),
        (Dim::Axis(1), [2u64, 4, 8, 1024, 2048].map(|byte| vec![byte / 2]).to_vec()),
    ];
    let layout = Layout::from_bases(&bases, &[(Dim::Offset, 11)]).unwrap();
    let operand = check(&layout, 1, 64, 16);
    assert_eq!(
        (operand.swizzle, operand.leading_bytes, operand.stride_bytes),
        (BulkSwizzle::None, 1024, 128)
    );
    // The same memory with the axes' roles exchanged.
    let bases = [bases[1].clone(), bases[0].clone()]
        .map(|(dim, columns)| (if dim == Dim::Axis(0) { Dim::Axis(1) } else { Dim::Axis(0) }, columns));
    let transposed = Layout::from_bases(&bases, &[(Dim::Offset, 11)]).unwrap();
    let operand = check(&transposed, 1, 32, 16);
    assert!(!operand.contraction_contiguous);
    assert_eq!((operand.leading_bytes, operand.stride_bytes), (128, 1024));
}

#[test]
fn what_no_descriptor_describes_is_refused() {
    // Rows of 256 bytes in one piece, unswizzled.
    let plain = shared::row_major(&[64, 128]).unwrap();
    assert_eq!(WarpgroupOperand::find(&plain, 1, 64, 16), Ok(None));
    // The instruction transposes 16-bit elements alone.
    let bytes = shared::bulk(&[64, 128], &[1, 0], 8, BulkSwizzle::Bytes128).unwrap();
    assert_eq!(WarpgroupOperand::find(&bytes, 0, 128, 8), Ok(None));
    // Tiles beyond the first are displaced by bits that the first one uses.
    let atoms = shared::bulk(&[64, 64], &[1, 0], 16, BulkSwizzle::Bytes128).unwrap();
    let mut columns = atoms.columns().to_vec();
    columns[5] ^= 1 << 8;
    let skewed = Layout::from_columns(atoms.inputs().clone(), atoms.outputs().clone(), columns).unwrap();
    assert_eq!(WarpgroupOperand::find(&skewed, 1, 64, 16), Ok(None));
    // The tensor is smaller than a tile.
    let short = shared::bulk(&[32, 64], &[1, 0], 16, BulkSwizzle::Bytes128).unwrap();
    assert_eq!(WarpgroupOperand::find(&short, 1, 64, 16), Ok(None));
    assert!(WarpgroupOperand::find(&short, 2, 64, 16).is_err());
    assert!(WarpgroupOperand::find(&short, 1, 48, 16).is_err());
}
