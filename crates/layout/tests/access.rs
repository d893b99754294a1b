//! Vector widths against their definition, and accesses of tensors shared by the blocks of a cluster.

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use support::{any_layout, points};
use tegula_layout::{Blocked, Conversion, Dim, Layout, VectorAccess, shared};

/// Whether every thread can move whole aligned vectors of `elements`, each register in the same place of
/// its vector in all threads.
fn vectorises(layout: &Layout, elements: u64) -> bool {
    let registers = layout.inputs().extent(Dim::Register);
    let threads = points(layout.inputs()).step_by(registers as usize);
    threads.into_iter().all(|thread| {
        let offsets: Vec<u64> = (0..registers).map(|register| layout.apply(thread | register)).collect();
        let held: BTreeSet<u64> = offsets.iter().copied().collect();
        offsets.iter().enumerate().all(|(register, &offset)| {
            let start = offset / elements * elements;
            let whole = (start..start + elements).all(|other| held.contains(&other));
            whole && offset % elements == layout.apply(register as u64) % elements
        })
    })
}

proptest! {
    #[test]
    fn vectors_are_the_widest(
        layout in (1u64..6, prop::collection::vec(0u64..64, 6)).prop_map(|(zeros, columns)| {
            // Threads that leave low bits alone, so that wide vectors occur.
            let low = (1u64 << zeros) - 1;
            let columns: Vec<u64> =
                columns.iter().enumerate().map(|(bit, &c)| if bit < 3 { c & low } else { c & !low }).collect();
            let inputs = tegula_layout::Space::new([(Dim::Register, 3), (Dim::Lane, 3)]).unwrap();
            let outputs = tegula_layout::Space::new([(Dim::Offset, 6)]).unwrap();
            Layout::from_columns(inputs, outputs, columns).unwrap()
        }),
    ) {
        let access = VectorAccess::widest(&layout, 16).unwrap();
        prop_assert!(vectorises(&layout, access.elements()));
        prop_assert!(access.elements() == 16 || !vectorises(&layout, access.elements() * 2));
    }

    #[test]
    fn vectors_name_every_register_once(
        layout in any_layout(vec![(Dim::Register, 4), (Dim::Lane, 2)], vec![(Dim::Offset, 5)]),
    ) {
        let access = VectorAccess::widest(&layout, 8).unwrap();
        let mut seen = BTreeSet::new();
        for instruction in 0..access.instructions() {
            for element in 0..access.elements() {
                let register = access.base(instruction) ^ access.element(element);
                for copy in 0..1u64 << access.copies.len() {
                    let copied = register ^ tegula_layout::span::multiply(&access.copies, copy);
                    prop_assert_eq!(layout.apply(copied), layout.apply(register));
                    prop_assert!(seen.insert(copied));
                }
                prop_assert_eq!(layout.apply(register), layout.apply(access.base(instruction)) + element);
            }
        }
        prop_assert_eq!(seen.len(), 16);
    }
}

#[test]
fn a_coalesced_load_takes_the_width_that_facts_allow() {
    let shape = [32, 128];
    let layout = Blocked::coalesced(&shape, &[1, 0], 8, 4).unwrap().layout(&shape).unwrap();
    assert_eq!((layout.contiguity(1), layout.contiguity(0)), (Ok(8), Ok(1)));
    let to_memory = layout.then(&shared::row_major(&shape).unwrap()).unwrap();
    for (known, width) in [(1, 1), (2, 2), (8, 8), (64, 8)] {
        let access = VectorAccess::widest(&to_memory, known).unwrap();
        assert_eq!((access.elements(), access.instructions()), (width, 32 / width));
    }
    assert!(VectorAccess::widest(&layout, 8).is_err());
    assert!(layout.contiguity(2).is_err());
}

#[test]
fn blocks_of_a_cluster_convert_each_in_its_own_memory() {
    let with_block = |order: [u8; 2]| {
        let half = Blocked::coalesced(&[32, 32], &order, 4, 4).unwrap().layout(&[32, 32]).unwrap();
        half.product(&Layout::identity(Dim::Block, Dim::Axis(0), 1).unwrap()).unwrap()
    };
    let (source, target) = (with_block([1, 0]), with_block([0, 1]));
    let Ok(Conversion::SharedMemory(exchange)) = Conversion::plan(&source, &target, 32) else {
        panic!("a transpose between warps needs shared memory")
    };
    assert_eq!(exchange.elements(), 1024);
    for block in 0..2 {
        let of_block = |input: u64| source.inputs().get(input, Dim::Block) == block;
        let offsets: BTreeSet<u64> = points(source.inputs())
            .filter(|&input| of_block(input))
            .map(|input| exchange.store.to_offset.apply(input))
            .collect();
        assert_eq!(offsets, (0..1024).collect());
    }
    assert_eq!(exchange.store.cost.conflicts() + exchange.load.cost.conflicts(), 0);
}
