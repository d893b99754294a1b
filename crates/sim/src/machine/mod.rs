//! The machine: programs of a grid, each a block of warps in lockstep, on the cores of the host.
//!
//! | what | module |
//! |---|---|
//! | a launch: the grid over threads | [`launch`] |
//! | the blocks of a cluster, whose warps take turns | [`cluster`] |
//! | a warp: registers, divergence | [`warp`] |
//! | one instruction | [`step`], which names the files of the families |

mod access;
mod async_copy;
mod atomic;
mod banks;
mod barrier;
mod bulk;
mod cluster;
mod collect;
mod exchange;
mod fault;
mod global;
mod launch;
mod matrix;
mod mbarrier;
mod mma;
mod print;
mod product;
mod reduction;
mod step;
mod tensor_map;
mod warp;
mod wgmma;

pub use global::Array;
pub use launch::{Argument, Launch, Options};
pub use tensor_map::TensorMap;
