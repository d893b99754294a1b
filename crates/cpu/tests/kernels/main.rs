//! Kernels in text form, executed and compared with references.

mod atomic;
mod control;
mod dot;
mod fold;
mod harness;
mod memory;
mod random;
mod rows;
mod shape;
