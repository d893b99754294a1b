//! Conversion plans, executed element by element on a program of registers, lanes and warps.

mod support;

use proptest::prelude::*;
use support::{Program, distributed};
use tegula_layout::{Blocked, Conversion, Dim, Error, Layout, SharedExchange, ShufflePlan, Warps, fragment};

/// What every register of every thread holds: the element's number, indexed by the input's word.
fn fill(layout: &Layout) -> Vec<u64> {
    support::points(layout.inputs()).map(|input| layout.apply(input)).collect()
}

fn place(layout: &Layout, register: u64, lane: u64, warp: u64) -> usize {
    let space = layout.inputs();
    (space.put(Dim::Register, register) | space.put(Dim::Lane, lane) | space.put(Dim::Warp, warp)) as usize
}

fn threads(layout: &Layout) -> impl Iterator<Item = (u64, u64)> {
    let (lanes, warps) = (layout.inputs().extent(Dim::Lane), layout.inputs().extent(Dim::Warp));
    (0..warps).flat_map(move |warp| (0..lanes).map(move |lane| (lane, warp)))
}

fn run_shuffles(plan: &ShufflePlan, source: &Layout, target: &Layout) -> Vec<Option<u64>> {
    let held = fill(source);
    let mut result = vec![None; 1 << target.inputs().bits()];
    for round in &plan.rounds {
        for (lane, warp) in threads(target) {
            let from = round.source_lane.at(lane, warp);
            for element in 0..1u64 << plan.vector.len() {
                let part = |choose: fn(&(u64, u64)) -> u64| {
                    let bits = plan.vector.iter().enumerate();
                    bits.filter(|(bit, _)| element >> bit & 1 == 1)
                        .fold(0, |sum, (_, pair)| sum ^ choose(pair))
                };
                let sent = round.send.at(from, warp) ^ part(|pair| pair.0);
                let received = round.receive.at(lane, warp) ^ part(|pair| pair.1);
                let slot = &mut result[place(target, received, lane, warp)];
                assert!(slot.is_none(), "a register is filled twice");
                *slot = Some(held[place(source, sent, from, warp)]);
            }
        }
    }
    for (lane, warp) in threads(target) {
        for register in 0..target.inputs().extent(Dim::Register) {
            let canonical = tegula_layout::span::multiply(&plan.canonical, register);
            result[place(target, register, lane, warp)] = result[place(target, canonical, lane, warp)];
        }
    }
    result
}

fn run_exchange(exchange: &SharedExchange, source: &Layout, target: &Layout) -> Vec<Option<u64>> {
    let held = fill(source);
    let mut memory = vec![None; exchange.elements() as usize];
    let store = &exchange.store;
    let address = |access: &tegula_layout::SharedAccess, layout: &Layout, register, lane, warp| {
        access.to_offset.apply(place(layout, register, lane, warp) as u64)
    };
    for (lane, warp) in threads(source) {
        for instruction in 0..store.vector.instructions() {
            let base = store.vector.base(instruction);
            let start = address(store, source, base, lane, warp);
            assert_eq!(start % store.vector.elements(), 0, "a misaligned vector");
            for element in 0..store.vector.elements() {
                let register = base ^ store.vector.element(element);
                let value = held[place(source, register, lane, warp)];
                let slot = &mut memory[(start + element) as usize];
                assert!(slot.is_none_or(|old| old == value), "two elements at one offset");
                *slot = Some(value);
            }
        }
    }
    let load = &exchange.load;
    let mut result = vec![None; 1 << target.inputs().bits()];
    for (lane, warp) in threads(target) {
        for copy in 0..1u64 << load.vector.copies.len() {
            let copy = tegula_layout::span::multiply(&load.vector.copies, copy);
            for instruction in 0..load.vector.instructions() {
                let base = load.vector.base(instruction);
                let start = address(load, target, base, lane, warp);
                assert_eq!(start % load.vector.elements(), 0, "a misaligned vector");
                for element in 0..load.vector.elements() {
                    let register = base ^ load.vector.element(element) ^ copy;
                    result[place(target, register, lane, warp)] = memory[(start + element) as usize];
                }
            }
        }
    }
    result
}

fn expect_target(result: Vec<Option<u64>>, target: &Layout) {
    let expected: Vec<Option<u64>> = fill(target).into_iter().map(Some).collect();
    assert_eq!(result, expected);
}

fn run(conversion: &Conversion, source: &Layout, target: &Layout) {
    match conversion {
        Conversion::Nothing => assert_eq!(fill(source), fill(target)),
        Conversion::Registers(permutation) => {
            let held = fill(source);
            let mut result = vec![None; 1 << target.inputs().bits()];
            for (lane, warp) in threads(target) {
                for (register, &from) in permutation.sources().iter().enumerate() {
                    result[place(target, register as u64, lane, warp)] =
                        Some(held[place(source, from, lane, warp)]);
                }
            }
            expect_target(result, target);
        }
        Conversion::Shuffles(plan) => expect_target(run_shuffles(plan, source, target), target),
        Conversion::SharedMemory(exchange) => expect_target(run_exchange(exchange, source, target), target),
    }
}

fn pair(program: Program, mixed: bool) -> impl Strategy<Value = (Layout, Layout)> {
    (distributed(program, mixed), distributed(program, mixed))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn plans_convert(
        (source, target) in (0u32..4, 0u32..3, 2u32..8, any::<bool>())
            .prop_flat_map(|(lanes, warps, tensor, mixed)| pair(Program { lanes, warps, tensor }, mixed)),
        element_bits in prop_oneof![Just(8u32), Just(16), Just(32), Just(64)],
    ) {
        let conversion = Conversion::plan(&source, &target, element_bits).unwrap();
        run(&conversion, &source, &target);
    }

    #[test]
    fn every_way_that_applies_converts(
        (source, target) in (1u32..4, 0u32..2, 3u32..7, any::<bool>())
            .prop_flat_map(|(lanes, warps, tensor, mixed)| pair(Program { lanes, warps, tensor }, mixed)),
    ) {
        if let Some(plan) = ShufflePlan::find(&source, &target) {
            expect_target(run_shuffles(&plan, &source, &target), &target);
        }
        let exchange = SharedExchange::choose(&source, &target, 16).unwrap();
        expect_target(run_exchange(&exchange, &source, &target), &target);
    }

    #[test]
    fn within_one_warp_lanes_always_exchange(
        (source, target) in (0u32..5, 2u32..8, any::<bool>())
            .prop_flat_map(|(lanes, tensor, mixed)| pair(Program { lanes, warps: 0, tensor }, mixed)),
    ) {
        let plan = ShufflePlan::find(&source, &target);
        prop_assert!(plan.is_some());
        let fewest = target.sublayout(&[Dim::Register], &[Dim::Axis(0), Dim::Axis(1)]).unwrap().rank();
        let plan = plan.unwrap();
        prop_assert!(plan.rounds.len() << plan.vector.len() >= 1 << fewest);
    }

    #[test]
    fn whole_words_pass_without_conflicts(
        (source, target) in (6u32..10, any::<bool>())
            .prop_flat_map(|(tensor, mixed)| pair(Program { lanes: 5, warps: 1, tensor }, mixed)),
        element_bits in prop_oneof![Just(8u32), Just(16), Just(32), Just(64)],
    ) {
        let exchange = SharedExchange::choose(&source, &target, element_bits).unwrap();
        let bytes = |access: &tegula_layout::SharedAccess| access.vector.elements() * u64::from(element_bits) / 8;
        // With equal widths a swizzle free of conflicts exists; unequal widths are taken only if cheaper.
        if bytes(&exchange.store) == bytes(&exchange.load) {
            prop_assert_eq!(exchange.store.cost.conflicts(), 0);
            prop_assert_eq!(exchange.load.cost.conflicts(), 0);
        }
    }
}

fn coalesced(shape: [u64; 2], order: [u8; 2], vector: u64, warps: u64) -> Layout {
    Blocked::coalesced(&shape, &order, vector, warps).unwrap().layout(&shape).unwrap()
}

#[test]
fn register_order_alone_is_a_permutation() {
    let rows = Blocked { per_thread: vec![2, 2], lanes: vec![8, 4], warps: vec![1, 1], order: vec![1, 0] };
    let columns = Blocked { order: vec![0, 1], ..rows.clone() };
    let (source, target) = (rows.layout(&[16, 8]).unwrap(), columns.layout(&[16, 8]).unwrap());
    // Lanes count along the order too, so only registers of the same lanes are a permutation.
    assert!(matches!(Conversion::plan(&source, &target, 32), Ok(Conversion::Shuffles(_))));
    let swapped = Layout::from_columns(
        source.inputs().clone(),
        source.outputs().clone(),
        [&[source.columns()[1], source.columns()[0]], &source.columns()[2..]].concat(),
    )
    .unwrap();
    let conversion = Conversion::plan(&source, &swapped, 32).unwrap();
    let Conversion::Registers(permutation) = &conversion else { panic!("{conversion:?}") };
    assert_eq!(permutation.sources(), vec![0, 2, 1, 3]);
    run(&conversion, &source, &swapped);
}

#[test]
fn an_accumulator_becomes_the_left_operand_in_registers() {
    // Flash attention's P: the accumulator of m16n8 twice is the left operand of m16n8k16.
    let warps = [Warps::Along { axis: 0, count: 4 }];
    let accumulator =
        Warps::spread(&fragment::accumulator(2).unwrap(), &warps).unwrap().cover(&[64, 64]).unwrap();
    let operand =
        Warps::spread(&fragment::operand_a(2, 16, 16).unwrap(), &warps).unwrap().cover(&[64, 64]).unwrap();
    assert_eq!(Conversion::plan(&accumulator, &operand, 16), Ok(Conversion::Nothing));
    // At 8 bits a register packs four columns, so lanes of a group exchange.
    let narrow =
        Warps::spread(&fragment::operand_a(2, 8, 32).unwrap(), &warps).unwrap().cover(&[64, 64]).unwrap();
    let conversion = Conversion::plan(&accumulator, &narrow, 8).unwrap();
    assert!(matches!(conversion, Conversion::Shuffles(_)), "{conversion:?}");
    run(&conversion, &accumulator, &narrow);
}

#[test]
fn transposes_pass_through_shared_memory_without_conflicts() {
    for (element_bits, vector) in [(8, 16), (16, 8), (32, 4), (64, 2)] {
        let source = coalesced([64, 64], [1, 0], vector, 4);
        let target = coalesced([64, 64], [0, 1], vector, 4);
        let conversion = Conversion::plan(&source, &target, element_bits).unwrap();
        run(&conversion, &source, &target);
        let Conversion::SharedMemory(exchange) = &conversion else { panic!("{conversion:?}") };
        assert_eq!(exchange.store.cost.conflicts(), 0, "store of {element_bits} bits");
        assert_eq!(exchange.load.cost.conflicts(), 0, "load of {element_bits} bits");
    }
}

#[test]
fn an_accumulator_is_stored_in_rows_without_conflicts() {
    let warps = [Warps::Along { axis: 0, count: 4 }];
    let source =
        Warps::spread(&fragment::accumulator(2).unwrap(), &warps).unwrap().cover(&[64, 128]).unwrap();
    let target = coalesced([64, 128], [1, 0], 8, 4);
    let exchange = SharedExchange::choose(&source, &target, 16).unwrap();
    expect_target(run_exchange(&exchange, &source, &target), &target);
    assert_eq!(exchange.store.cost.conflicts() + exchange.load.cost.conflicts(), 0);
}

#[test]
fn copies_in_lanes_need_no_shuffle_to_be_spread() {
    // All lanes hold everything; each keeps its own element by a selection.
    let source = Layout::identity(Dim::Register, Dim::Axis(0), 5)
        .unwrap()
        .product(&Layout::copies(Dim::Lane, 5, Dim::Axis(0)).unwrap())
        .unwrap();
    let target = Layout::identity(Dim::Lane, Dim::Axis(0), 5).unwrap();
    let target = Layout::copies(Dim::Register, 0, Dim::Axis(0)).unwrap().product(&target).unwrap();
    let plan = ShufflePlan::find(&source, &target).unwrap();
    assert_eq!(plan.rounds.len(), 1);
    assert_eq!(plan.shuffles(32), 0);
    expect_target(run_shuffles(&plan, &source, &target), &target);
}

#[test]
fn impossible_conversions_are_errors() {
    let layout = coalesced([32, 32], [1, 0], 1, 4);
    let fewer = coalesced([32, 32], [1, 0], 1, 2);
    assert!(matches!(Conversion::plan(&layout, &fewer, 32), Err(Error::SpaceMismatch { .. })));
    let other = coalesced([32, 16], [1, 0], 1, 4);
    assert!(matches!(Conversion::plan(&layout, &other, 32), Err(Error::SpaceMismatch { .. })));
    let hollow = Layout::from_columns(
        layout.inputs().clone(),
        layout.outputs().clone(),
        vec![0; layout.columns().len()],
    );
    assert_eq!(Conversion::plan(&hollow.unwrap(), &layout, 32), Err(Error::NotSurjective));
    let block = |bit| {
        let half = Layout::identity(Dim::Lane, Dim::Axis(0), bit).unwrap();
        let block = Layout::identity(Dim::Block, Dim::Axis(0), 1).unwrap();
        let rest = Layout::identity(Dim::Lane, Dim::Axis(0), 4 - bit).unwrap();
        half.product(&block).unwrap().product(&rest).unwrap()
    };
    assert_eq!(Conversion::plan(&block(0), &block(4), 32), Err(Error::CrossesBlocks));
}
