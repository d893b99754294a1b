//! Properties of the passes on random functions.

mod evaluator;

use evaluator::{evaluate, observe};
use proptest::prelude::*;
use std::collections::HashMap;
use tegula_ir::{Builder, Element, Function, Literal, Op, Scalar, Value, arbitrary, verify};
use tegula_passes::{
    AxisAnalysis, AxisInfo, LaunchInvariance, carry_single_pointers, eliminate_common_subexpressions,
    eliminate_dead_code, fold, hoist_loop_invariants, narrow_floats, optimise,
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
    let values = results.filter(|value| (value.0 ^ seed).wrapping_mul(0x9E37_79B9) >> 31 == 0).collect();
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
        let seeds = choices.iter().map(|&choice| u64::from(choice) ^ (round * 0x5bd1_e995));
        let arguments: Vec<u64> = seeds.chain([round; 10]).take(10).collect();
        let program = [round as i32, 3, 1];
        let (expected, actual) =
            (evaluate(&before, &arguments, program), evaluate(&after, &arguments, program));
        prop_assert!(expected == actual, "before:\n{expected}\nafter:\n{actual}\n{before}\n{after}");
    }
    Ok(())
}

/// Whether what the analysis says of a value holds of its elements.
fn holds(function: &Function, value: Value, info: &AxisInfo, cells: &[Literal]) -> bool {
    let ty = function.ty(value);
    let numbers: Vec<i128> = match ty.element {
        Element::Scalar(scalar) if scalar.is_float() => Vec::new(),
        _ => cells
            .iter()
            .map(|cell| if let Literal::Int(value) = cell { (*value).into() } else { 0 })
            .collect(),
    };
    let unit = match ty.element {
        Element::Scalar(_) => 1,
        Element::Pointer(pointer) => i128::from(pointer.target().bytes()),
    };
    let extents = if ty.is_scalar() { vec![1] } else { ty.shape.to_vec() };
    (0..extents.len()).all(|axis| {
        let stride: usize = extents[axis + 1..].iter().map(|&extent| extent as usize).product();
        (0..cells.len()).all(|position| {
            let index = (position / stride % extents[axis] as usize) as u32;
            let next = |run: u32| {
                (index + 1 < extents[axis] && !(index + 1).is_multiple_of(run)).then_some(position + stride)
            };
            let equal = next(info.constancy(axis)).is_none_or(|next| cells[next] == cells[position]);
            if numbers.is_empty() {
                return equal;
            }
            // That indices of 32 bits do not wrap within a run is taken for granted.
            let follows = next(info.contiguity(axis))
                .is_none_or(|next| (numbers[next] - numbers[position] - unit) % (unit << 32) == 0);
            let divides = !index.is_multiple_of(info.contiguity(axis))
                || (numbers[position] as u64).is_multiple_of(info.divisibility(axis));
            let constant = info.constant().is_none_or(|constant| numbers[position] == constant.into());
            let unsigned = ty.element == Element::Scalar(Scalar::UInt64);
            let sign = !info.is_non_negative() || unsigned || numbers[position] >= 0;
            equal && follows && divides && constant && sign
        })
    })
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
        check(&choices, |function| { carry_single_pointers(function); })?;
        check(&choices, |function| { eliminate_dead_code(function); })?;
        check(&choices, |function| { narrow_floats(function); })?;
    }

    #[test]
    fn axis_information_holds(choices in choices()) {
        let function = arbitrary::function(&choices);
        let analysis = AxisAnalysis::new(&function);
        let arguments: Vec<u64> = choices.iter().map(|&choice| choice.into()).chain([5; 10]).take(10).collect();
        let mut wrong = None;
        observe(&function, &arguments, [7, 3, 1], 0, &mut |value, cells| {
            if !holds(&function, value, analysis.of(value), cells) {
                wrong.get_or_insert((value, analysis.of(value).clone(), cells.clone()));
            }
        });
        prop_assert!(wrong.is_none(), "{wrong:?}\n{function}");
    }

    #[test]
    fn what_is_invariant_does_not_vary(choices in choices()) {
        let function = arbitrary::function(&choices);
        let invariance = LaunchInvariance::new(&function);
        let arguments: Vec<u64> = choices.iter().map(|&choice| choice.into()).chain([5; 10]).take(10).collect();
        let mut runs = [[7, 3, 1], [0, 1, 2]].map(|program| {
            let mut last = HashMap::new();
            observe(&function, &arguments, program, program[0] as u64, &mut |value, cells| {
                last.insert(value, cells.clone());
            });
            last
        });
        let [first, second] = &mut runs;
        for value in function.region(function.body).ops.iter().flat_map(|&op| function.op(op).results.clone()) {
            if invariance.is_invariant(value) {
                prop_assert_eq!(&first[&value], &second[&value], "{}", function);
            }
        }
    }
}
