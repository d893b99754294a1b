//! Properties of the passes on random functions.

mod evaluator;

use evaluator::evaluate;
use proptest::prelude::*;
use tegula_ir::{Builder, Function, Op, arbitrary, verify};
use tegula_passes::{
    eliminate_common_subexpressions, eliminate_dead_code, fold, hoist_loop_invariants, optimise,
};

fn choices() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(any::<u32>(), 0..400)
}

/// A random function that prints some of what it computes.
fn function(choices: &[u32]) -> Function {
    let mut function = arbitrary::function(choices);
    let ops = &function.region(function.body).ops;
    let results = ops.iter().flat_map(|&op| function.op(op).results.iter().copied());
    let seed = choices.last().copied().unwrap_or(0);
    let values = results.filter(|value| (value.0 ^ seed).wrapping_mul(0x9E37_79B9) >> 30 == 0).collect();
    let mut builder = Builder::new(&mut function);
    builder.effect(Op::Print { prefix: "end".to_owned(), hex: false, values });
    builder.finish();
    function
}

/// Applies a pass, and says how what the function does differs after it, if it does.
fn check(choices: &[u32], pass: impl Fn(&mut Function)) -> Result<(), TestCaseError> {
    let before = function(choices);
    let mut after = before.clone();
    pass(&mut after);
    if let Err(diagnostics) = verify(&after) {
        prop_assert!(false, "{}\n{before}\n{after}", diagnostics[0].message);
    }
    for round in 0..3u64 {
        let seeds = choices.iter().map(|&choice| u64::from(choice) ^ round * 0x5bd1_e995);
        let arguments: Vec<u64> = seeds.chain([round; 10]).take(10).collect();
        let program = [round as i32, 3, 1];
        let (expected, actual) =
            (evaluate(&before, &arguments, program), evaluate(&after, &arguments, program));
        prop_assert!(expected == actual, "before:\n{expected}\nafter:\n{actual}\n{before}\n{after}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// `optimise` verifies after each pass; a second time it finds nothing.
    #[test]
    fn optimising_ends(choices in choices()) {
        let mut function = arbitrary::function(&choices);
        optimise(&mut function);
        let once = function.to_string();
        optimise(&mut function);
        prop_assert_eq!(function.to_string(), once);
    }

    #[test]
    fn optimise_changes_nothing_that_is_seen(choices in choices()) {
        check(&choices, optimise)?;
    }

    #[test]
    fn each_pass_alone_changes_nothing_that_is_seen(choices in choices()) {
        check(&choices, |function| { fold(function); })?;
        check(&choices, |function| { eliminate_common_subexpressions(function); })?;
        check(&choices, |function| { hoist_loop_invariants(function); })?;
        check(&choices, |function| { eliminate_dead_code(function); })?;
    }
}
