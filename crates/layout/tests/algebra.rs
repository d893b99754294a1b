//! The algebra of layouts against enumeration of all points.

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use support::{any_layout, points, word};
use tegula_layout::{Dim, Error, Layout, Space};

const REGISTER: Dim = Dim::Register;
const LANE: Dim = Dim::Lane;
const WARP: Dim = Dim::Warp;
const OFFSET: Dim = Dim::Offset;

fn small() -> impl Strategy<Value = Layout> {
    any_layout(vec![(REGISTER, 2), (LANE, 3), (WARP, 1)], vec![(Dim::Axis(0), 2), (Dim::Axis(1), 3)])
}

fn to_memory() -> impl Strategy<Value = Layout> {
    any_layout(vec![(Dim::Axis(0), 2), (Dim::Axis(1), 3)], vec![(OFFSET, 5)])
}

proptest! {
    #[test]
    fn a_layout_is_linear(layout in small(), a in 0u64..64, b in 0u64..64) {
        prop_assert_eq!(layout.apply(a ^ b), layout.apply(a) ^ layout.apply(b));
    }

    #[test]
    fn coordinates_and_words_agree(layout in small(), input in 0u64..64) {
        let space = layout.inputs();
        let coordinates: Vec<(Dim, u64)> =
            space.dims().iter().map(|&(dim, _)| (dim, space.get(input, dim))).collect();
        let output = word(layout.outputs(), &layout.apply_to(&coordinates));
        prop_assert_eq!(output, layout.apply(input));
    }

    #[test]
    fn composition_applies_both(first in small(), second in to_memory()) {
        let both = first.then(&second).unwrap();
        for input in points(first.inputs()) {
            prop_assert_eq!(both.apply(input), second.apply(first.apply(input)));
        }
    }

    #[test]
    fn properties_match_enumeration(layout in small()) {
        let image: BTreeSet<u64> = points(layout.inputs()).map(|input| layout.apply(input)).collect();
        prop_assert_eq!(image.len(), 1usize << layout.rank());
        prop_assert_eq!(layout.is_injective(), image.len() == 64);
        prop_assert_eq!(layout.is_surjective(), image.len() == 32);
    }

    #[test]
    fn unmasked_inputs_reach_each_output_once(layout in small()) {
        let masks = layout.free_variable_masks();
        let mask = word(layout.inputs(), &masks);
        let kept: Vec<u64> =
            points(layout.inputs()).filter(|input| input & mask == 0).map(|input| layout.apply(input)).collect();
        let image: BTreeSet<u64> = points(layout.inputs()).map(|input| layout.apply(input)).collect();
        prop_assert_eq!(kept.len(), image.len());
        prop_assert_eq!(kept.into_iter().collect::<BTreeSet<u64>>(), image);
    }

    #[test]
    fn right_inverses_invert(layout in small()) {
        match layout.right_inverse() {
            Ok(inverse) => {
                prop_assert!(layout.is_surjective());
                prop_assert!(inverse.then(&layout).unwrap().is_identity());
            }
            Err(error) => {
                prop_assert_eq!(error, Error::NotSurjective);
                prop_assert!(!layout.is_surjective());
            }
        }
    }

    #[test]
    fn pseudo_inverses_fix_the_image(layout in small()) {
        let back = layout.pseudo_inverse();
        for input in points(layout.inputs()) {
            let output = layout.apply(input);
            prop_assert_eq!(layout.apply(back.apply(output)), output);
        }
    }

    #[test]
    fn bijections_have_inverses(
        layout in any_layout(vec![(LANE, 3)], vec![(Dim::Axis(0), 3)])
    ) {
        let inverse = layout.inverse();
        prop_assert_eq!(inverse.is_ok(), layout.is_bijective());
        if let Ok(inverse) = inverse {
            prop_assert!(layout.then(&inverse).unwrap().is_identity());
        }
    }

    #[test]
    fn products_act_on_low_and_high_bits(
        inner in any_layout(vec![(REGISTER, 1), (LANE, 2)], vec![(Dim::Axis(0), 2), (Dim::Axis(1), 1)]),
        outer in any_layout(vec![(LANE, 1), (WARP, 2)], vec![(Dim::Axis(1), 2)]),
    ) {
        let whole = inner.product(&outer).unwrap();
        for register in 0..2 {
            for lane in 0..8 {
                for warp in 0..4 {
                    let low = inner.apply_to(&[(REGISTER, register), (LANE, lane & 3)]);
                    let high = outer.apply_to(&[(LANE, lane >> 2), (WARP, warp)]);
                    let expected = vec![(Dim::Axis(1), low[0].1 | high[0].1 << 1), low[1]];
                    prop_assert_eq!(whole.apply_to(&[(REGISTER, register), (LANE, lane), (WARP, warp)]), expected);
                }
            }
        }
        let quotient = whole.divide_left(&inner).unwrap();
        prop_assert_eq!(inner.product(&quotient).unwrap(), whole);
    }

    #[test]
    fn quotients_are_exact(
        whole in small(),
        divisor in any_layout(vec![(REGISTER, 1)], vec![(Dim::Axis(1), 1)]),
    ) {
        if let Some(quotient) = whole.divide_left(&divisor) {
            prop_assert_eq!(divisor.product(&quotient).unwrap(), whole);
        }
    }

    #[test]
    fn sublayouts_see_some_dimensions(layout in small()) {
        let part = layout.sublayout(&[LANE], &[Dim::Axis(1)]).unwrap();
        for lane in 0..8 {
            let whole = layout.apply_to(&[(LANE, lane)]);
            prop_assert_eq!(part.apply_to(&[(LANE, lane)]), vec![whole[0]]);
        }
        let zero = part.columns().iter().all(|&column| column == 0);
        prop_assert_eq!(layout.is_independent(&[LANE], &[Dim::Axis(1)]), zero);
        let rest = layout.without_input(LANE);
        prop_assert_eq!(rest.apply_to(&[(REGISTER, 3), (WARP, 1)]), layout.apply_to(&[(REGISTER, 3), (WARP, 1)]));
    }

    #[test]
    fn register_copies_are_dropped(layout in small()) {
        let (shrunk, kept) = layout.without_register_copies();
        let own = layout.sublayout(&[REGISTER], &[Dim::Axis(0), Dim::Axis(1)]).unwrap();
        prop_assert_eq!(kept.len(), own.rank());
        for lane in 0..8u64 {
            let held = |layout: &Layout, registers: u64| -> BTreeSet<Vec<(Dim, u64)>> {
                (0..registers).map(|register| layout.apply_to(&[(REGISTER, register), (LANE, lane)])).collect()
            };
            prop_assert_eq!(held(&shrunk, 1 << kept.len()), held(&layout, 4));
        }
    }

    #[test]
    fn renaming_keeps_the_map(layout in small(), input in 0u64..8) {
        let renamed = layout.rename_input(REGISTER, OFFSET).unwrap();
        prop_assert_eq!(renamed.apply_to(&[(OFFSET, 3), (LANE, input)]), layout.apply_to(&[(REGISTER, 3), (LANE, input)]));
    }
}

#[test]
fn mistakes_are_errors() {
    let identity = Layout::identity(LANE, Dim::Axis(0), 5).unwrap();
    assert_eq!(Layout::identity(LANE, Dim::Axis(0), 65), Err(Error::TooManyBits(65)));
    assert!(matches!(identity.then(&identity), Err(Error::SpaceMismatch { .. })));
    assert_eq!(identity.sublayout(&[WARP], &[]), Err(Error::MissingDimension(WARP)));
    assert_eq!(identity.sublayout(&[LANE, LANE], &[]), Err(Error::RepeatedDimension(LANE)));
    assert_eq!(identity.rename_input(WARP, LANE), Err(Error::MissingDimension(WARP)));
    let copies = Layout::copies(LANE, 2, Dim::Axis(0)).unwrap();
    assert_eq!(copies.inverse(), Err(Error::NotInjective));
    let inputs = Space::new([(LANE, 1)]).unwrap();
    let outputs = Space::new([(OFFSET, 1)]).unwrap();
    assert!(matches!(
        Layout::from_columns(inputs.clone(), outputs.clone(), vec![2]),
        Err(Error::BasisTooLarge { .. })
    ));
    assert!(Layout::from_columns(inputs, outputs, vec![]).is_err());
    assert_eq!(Layout::empty().product(&identity), Ok(identity));
}

#[test]
fn layouts_print_their_bases() {
    let bases = [(REGISTER, vec![vec![0, 1]]), (LANE, vec![vec![0, 2], vec![1, 0]])];
    let layout = Layout::from_bases(&bases, &[(Dim::Axis(0), 1), (Dim::Axis(1), 2)]).unwrap();
    let text = "register: [(0, 1)]\nlane: [(0, 2), (1, 0)]\n-> (axis0: 2, axis1: 4)";
    assert_eq!(layout.to_string(), text);
}
