//! Properties of the passes on random functions.

use proptest::prelude::*;
use tegula_ir::arbitrary;
use tegula_passes::optimise;

fn choices() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(any::<u32>(), 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// `optimise` verifies after each pass; a second time it finds nothing.
    #[test]
    fn optimising_ends(choices in choices()) {
        let mut function = arbitrary::function(&choices);
        optimise(&mut function);
        let once = function.to_string();
        optimise(&mut function);
        prop_assert_eq!(function.to_string(), once);
    }
}
