//! Linear algebra over F2 on machine words: spans, solutions, intersections and complements.
//!
//! A vector is a `u64`, addition is exclusive or, and a matrix is a slice of its columns.

/// The subspace spanned by the vectors inserted so far, in echelon form.
///
/// Each row remembers which of the inserted vectors sum to it, so that a member of the span can be
/// written in terms of what was inserted (Gaussian elimination, one column at a time).
#[derive(Clone, Debug, Default)]
pub struct Span {
    /// Pairs of a reduced vector and the set of inserted vectors that sum to it. No two rows have
    /// the same leading bit.
    rows: Vec<(u64, u128)>,
    inserted: u32,
}

impl Span {
    /// The span of some vectors.
    pub fn of(vectors: &[u64]) -> Span {
        let mut span = Span::default();
        for &vector in vectors {
            span.insert(vector);
        }
        span
    }

    /// Adds a vector; whether it was independent of those before it.
    pub fn insert(&mut self, vector: u64) -> bool {
        let (rest, combination) = self.reduce(vector);
        let bit = 1u128.checked_shl(self.inserted).unwrap_or(0);
        self.inserted += 1;
        if rest == 0 {
            return false;
        }
        self.rows.push((rest, combination ^ bit));
        true
    }

    /// The dimension.
    pub fn rank(&self) -> usize {
        self.rows.len()
    }

    /// Whether a vector lies in the span.
    pub fn contains(&self, vector: u64) -> bool {
        self.reduce(vector).0 == 0
    }

    /// A set of inserted vectors (bit `i` for the `i`-th) whose sum is `vector`. Vectors that were
    /// dependent when they were inserted are never used, so earlier ones are preferred.
    pub fn express(&self, vector: u64) -> Option<u64> {
        let (rest, combination) = self.reduce(vector);
        (rest == 0).then_some(combination as u64)
    }

    fn reduce(&self, mut vector: u64) -> (u64, u128) {
        let mut combination = 0;
        for &(row, of) in &self.rows {
            let leading = 63 - row.leading_zeros();
            if vector >> leading & 1 == 1 {
                vector ^= row;
                combination ^= of;
            }
        }
        (vector, combination)
    }
}

/// The product of a matrix, given by its columns, with a vector.
pub fn multiply(columns: &[u64], vector: u64) -> u64 {
    columns
        .iter()
        .enumerate()
        .filter(|(bit, _)| vector >> bit & 1 == 1)
        .fold(0, |sum, (_, column)| sum ^ column)
}

/// The rank of a matrix.
pub fn rank(columns: &[u64]) -> usize {
    Span::of(columns).rank()
}

/// A basis of the vectors that a matrix sends to zero.
pub fn kernel(columns: &[u64]) -> Vec<u64> {
    let mut span = Span::default();
    let mut kernel = Vec::new();
    for (bit, &column) in columns.iter().enumerate() {
        if let Some(combination) = span.express(column) {
            kernel.push(combination | 1 << bit);
        }
        span.insert(column);
    }
    kernel
}

/// The vectors of `candidates`, in order, that are independent of `base` and of one another.
pub fn extend(base: &[u64], candidates: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut span = Span::of(base);
    candidates.into_iter().filter(|&vector| span.insert(vector)).collect()
}

/// A basis of the intersection of two spans: as far as they go, vectors given in `left`, then those given in
/// `right`, in their order.
pub fn intersection(left: &[u64], right: &[u64]) -> Vec<u64> {
    let (left_span, right_span) = (Span::of(left), Span::of(right));
    let given = left.iter().filter(|&&vector| right_span.contains(vector));
    let given = given.chain(right.iter().filter(|&&vector| left_span.contains(vector)));
    let left = extend(&[], left.iter().copied());
    let right = extend(&[], right.iter().copied());
    // A relation between the two bases says that a sum of the left equals a sum of the right.
    let columns: Vec<u64> = left.iter().chain(&right).copied().collect();
    let mask = (1u64 << left.len()) - 1;
    let sums = kernel(&columns).into_iter().map(|relation| multiply(&left, relation & mask));
    extend(&[], given.copied().chain(sums))
}

/// The first `bits` vectors of the standard basis.
pub fn standard(bits: u32) -> impl Iterator<Item = u64> {
    (0..bits).map(|bit| 1 << bit)
}

/// A largest subspace of the span of `space` that meets the spans of `left` and of `right` only in zero.
///
/// Both must lie in the span of `space`. With `common` a basis of their intersection, `left` is `common` and
/// some `a_i`, `right` is `common` and some `b_i`: the sums `a_i + b_i` with a complement of the whole
/// sum are independent of both. When the two differ in dimension the larger decides
/// (Linear Layouts, section 5.4).
pub fn common_complement(space: &[u64], left: &[u64], right: &[u64]) -> Vec<u64> {
    let common = intersection(left, right);
    let only_left = extend(&common, left.iter().copied());
    let only_right = extend(&common, right.iter().copied());
    let both: Vec<u64> = common.iter().chain(&only_left).chain(&only_right).copied().collect();
    let outside = extend(&both, space.iter().copied());
    only_left.iter().zip(&only_right).map(|(a, b)| a ^ b).chain(outside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn members(basis: &[u64]) -> std::collections::BTreeSet<u64> {
        (0..1u64 << basis.len()).map(|combination| multiply(basis, combination)).collect()
    }

    fn vectors() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(0u64..64, 0..6)
    }

    proptest! {
        #[test]
        fn expressions_sum_to_the_vector(basis in vectors(), vector in 0u64..64) {
            let span = Span::of(&basis);
            prop_assert_eq!(span.contains(vector), members(&basis).contains(&vector));
            if let Some(combination) = span.express(vector) {
                prop_assert_eq!(multiply(&basis, combination), vector);
            }
            prop_assert_eq!(1usize << span.rank(), members(&basis).len());
        }

        #[test]
        fn kernels_and_intersections_match_enumeration(left in vectors(), right in vectors()) {
            let zero: std::collections::BTreeSet<u64> =
                (0..1u64 << left.len()).filter(|&x| multiply(&left, x) == 0).collect();
            prop_assert_eq!(members(&kernel(&left)), zero);
            let expected: std::collections::BTreeSet<u64> =
                members(&left).intersection(&members(&right)).copied().collect();
            prop_assert_eq!(members(&intersection(&left, &right)), expected);
        }

        #[test]
        fn common_complements_are_largest(left in vectors(), right in vectors()) {
            let space: Vec<u64> = standard(6).collect();
            let complement = common_complement(&space, &left, &right);
            prop_assert_eq!(rank(&complement), complement.len());
            prop_assert_eq!(complement.len(), 6 - rank(&left).max(rank(&right)));
            prop_assert_eq!(intersection(&complement, &left), vec![]);
            prop_assert_eq!(intersection(&complement, &right), vec![]);
        }
    }
}
