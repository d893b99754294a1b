//! Functions of the language that are written in the language: `softmax`, `cdiv`, `sort`, ...
//!
//! The sources are embedded. Their functions have references with the highest bit set, and `lower` asks this module for them
//! instead of the user's host, so they work the same under every host.

use crate::host::{FunctionRef, FunctionSource, HostValue};
use std::sync::Arc;

/// The bit that is set in the references of the prelude's functions, and in no other.
pub const BIT: u64 = 1 << 63;

/// The function `name` of a module below `triton.language`.
pub fn find(_module: &str, _name: &str) -> Option<FunctionRef> {
    None
}

/// The names of the functions of a module below `triton.language`.
pub fn names(_module: &str) -> Vec<&'static str> {
    Vec::new()
}

/// The functions that blocks have as methods.
pub fn methods() -> impl Iterator<Item = (&'static str, FunctionRef)> {
    std::iter::empty()
}

/// Whether a function belongs to the prelude.
pub fn contains(function: FunctionRef) -> bool {
    function.0 & BIT != 0
}

/// The text of a function of the prelude.
pub fn function(_function: FunctionRef) -> Result<Arc<FunctionSource>, String> {
    Err("no such function in the prelude".to_owned())
}

/// A name that a function of the prelude uses and does not define.
pub fn global(_function: FunctionRef, _name: &str) -> Option<HostValue> {
    None
}
