//! Functions of fp32 elements: branch-free, so that they are vectorised, with stated bounds of error.
//!
//! An *ulp* is the distance between the two floats next to the exact result.

mod exponential;

pub(super) use exponential::Exp;
