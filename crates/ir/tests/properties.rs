//! Properties of random functions: they verify, and their text reads back.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::collections::BTreeSet;
use tegula_ir::{BinaryOp, Function, OpId, UnaryOp, arbitrary, verify};

fn choices() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(any::<u32>(), 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_functions_verify(choices in choices()) {
        let function = arbitrary::function(&choices);
        if let Err(diagnostics) = verify(&function) {
            let messages: Vec<String> = diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect();
            prop_assert!(false, "{messages:?}\n{function}");
        }
    }

    #[test]
    fn text_reads_back(choices in choices()) {
        let function = arbitrary::function(&choices);
        let text = format!("{function:#}");
        let parsed = Function::parse(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert!(verify(&parsed).is_ok(), "{text}");
        prop_assert_eq!(format!("{parsed:#}"), text);
    }

    #[test]
    fn mutated_text_never_panics(
        choices in choices(),
        edits in proptest::collection::vec((any::<usize>(), 0usize..6, any::<usize>()), 1..8),
    ) {
        let mut text = arbitrary::function(&choices).to_string();
        for (position, kind, detail) in edits {
            mutate(&mut text, position, kind, detail);
        }
        // Whatever is read can be verified and printed, even if it is not a sound function.
        if let Ok(function) = Function::parse(&text) {
            let _sound = verify(&function).is_ok();
            prop_assert!(!function.to_string().is_empty());
        }
    }

    #[test]
    fn mere_noise_never_panics(text in "[kernel@f(%:i3{}) =<x>\\[\\]\"\\\\u\n0-9.]{0,80}") {
        prop_assert!(Function::parse(&text).is_err() || text.contains("kernel"));
    }
}

/// The generator is worth as much as what it reaches.
#[test]
fn every_operation_occurs() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..400 {
        let choices = choices().new_tree(&mut runner).unwrap().current();
        let function = arbitrary::function(&choices);
        for index in 0..function.op_count() {
            let op = &function.op(OpId(index as u32)).op;
            seen.insert(op.name());
        }
    }
    let names = "constant program_id num_programs arange splat broadcast expand_dims reshape transpose join split \
        concatenate slice index gather histogram compare select fma cast bitcast add_pointer load store atomic \
        atomic_cas dot reduce scan map for while if print assert assume barrier annotate";
    let mut expected: BTreeSet<&str> = names.split_whitespace().collect();
    expected.extend(UnaryOp::ALL.iter().map(|op| op.name()));
    expected.extend(BinaryOp::ALL.iter().map(|op| op.name()));
    assert_eq!(seen, expected);
}

/// Cuts, doubles, swaps or replaces something at a position.
fn mutate(text: &mut String, position: usize, kind: usize, detail: usize) {
    let words: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
    if words.is_empty() {
        return;
    }
    let at = position % words.len();
    let other = detail % words.len();
    let mut changed = words.clone();
    match kind {
        0 => {
            changed.remove(at);
        }
        1 => changed.insert(at, words[other]),
        2 => changed.swap(at, other),
        3 => changed[at] = ["{", "} ", "%0 ", "9999999999 ", "\"", "é", "<0x", "fp32 "][detail % 8],
        4 => {
            let place = text.floor_char_boundary(position % (text.len() + 1));
            text.truncate(place);
            return;
        }
        _ => {
            let place = text.floor_char_boundary(position % (text.len() + 1));
            text.insert(place, ['\\', '"', '*', '-', 'k', '\u{1F980}', '(', '%'][detail % 8]);
            return;
        }
    }
    *text = changed.concat();
}
