//! How many programs a launch runs.

use std::cell::RefCell;
use tegula_runtime::Constant;

/// Something that says how many programs there are along each of up to three axes.
///
/// Arrays do, and so do functions of the constexprs, for grids that follow a tile size:
///
/// ```
/// # fn example(kernel: &tegula::Kernel, n: usize) {
/// kernel.launch([tegula::cdiv(n, 1024)]);
/// kernel.launch([16, 4]);
/// kernel.launch(|meta: &tegula::Meta| [tegula::cdiv(n, meta.int("BLOCK"))]);
/// # }
/// ```
pub trait Grid {
    /// Number of programs along each axis; 1 along those not used.
    fn extents(&self, meta: &Meta<'_>) -> [u32; 3];
}

impl Grid for [u32; 1] {
    fn extents(&self, _meta: &Meta<'_>) -> [u32; 3] {
        [self[0], 1, 1]
    }
}

impl Grid for [u32; 2] {
    fn extents(&self, _meta: &Meta<'_>) -> [u32; 3] {
        [self[0], self[1], 1]
    }
}

impl Grid for [u32; 3] {
    fn extents(&self, _meta: &Meta<'_>) -> [u32; 3] {
        *self
    }
}

impl<F: Fn(&Meta<'_>) -> G, G: Grid> Grid for F {
    fn extents(&self, meta: &Meta<'_>) -> [u32; 3] {
        self(meta).extents(meta)
    }
}

/// The constexprs of a launch, as a grid sees them.
#[derive(Debug)]
pub struct Meta<'l> {
    pub(crate) constants: &'l [(String, Constant)],
    /// The first name that was asked for in vain.
    pub(crate) missing: RefCell<Option<String>>,
}

impl Meta<'_> {
    /// An integer constexpr. If there is none of that name (or it is no positive integer) this is 1, and the launch
    /// is refused with an error that says so.
    pub fn int(&self, name: &str) -> usize {
        let found = self.constants.iter().find(|(known, _)| known == name);
        match found {
            Some((_, Constant::Int(value))) if *value > 0 => usize::try_from(*value).unwrap_or(usize::MAX),
            _ => {
                self.missing.borrow_mut().get_or_insert_with(|| name.to_owned());
                1
            }
        }
    }
}

/// How many blocks of `block` elements cover `n`: the quotient, rounded up, at most [`u32::MAX`].
///
/// A block of 0 counts as 1.
pub fn cdiv(n: usize, block: usize) -> u32 {
    u32::try_from(n.div_ceil(block.max(1))).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_constexprs_are_grids() {
        let constants = [("BLOCK".to_owned(), Constant::Int(64))];
        let meta = Meta { constants: &constants, missing: RefCell::default() };
        let grid = |meta: &Meta<'_>| [cdiv(100, meta.int("BLOCK")), 7];
        assert_eq!(grid.extents(&meta), [2, 7, 1]);
        assert_eq!(meta.missing.borrow().as_deref(), None);
        let wrong = |meta: &Meta<'_>| [cdiv(100, meta.int("BLOK"))];
        assert_eq!(wrong.extents(&meta), [100, 1, 1]);
        assert_eq!(meta.missing.borrow().as_deref(), Some("BLOK"));
    }
}
