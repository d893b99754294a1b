//! Every operation, type and instruction set against an oracle, at awkward counts and in place.

mod arithmetic;
mod casts;
mod folds;
mod math;
mod narrow;

use super::*;

/// The instruction sets that this machine can run.
fn instruction_sets() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|isa| isa.is_supported())
}

/// Counts around the sizes of vectors and blocks.
const COUNTS: [usize; 8] = [0, 1, 7, 63, 64, 65, 129, 1000];

/// Runs a strip operation into a fresh strip whose bytes beyond `count` elements must stay as they were.
fn run<I, O: Copy + Default + PartialEq + std::fmt::Debug>(
    function: StripFn,
    inputs: [&[I]; 3],
    count: usize,
    poison: O,
) -> Vec<O> {
    let mut out = vec![poison; count + 64];
    let pointers = inputs.map(|input| input.as_ptr().cast::<u8>());
    // SAFETY: the callers pass strips of `count` elements, or one of a splat, of the operation's types.
    unsafe { function(out.as_mut_ptr().cast(), &pointers, count) };
    // Compared by bytes below, since poison may be NaN.
    let tail: Vec<String> = out[count..].iter().map(|x| format!("{x:?}")).collect();
    assert!(tail.iter().all(|x| *x == format!("{poison:?}")), "written past the end");
    out.truncate(count);
    out
}

/// A generator of test data (splitmix64): reproducible, and good in all bits.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}
