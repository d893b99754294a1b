//! What steers the compilation: ranges, static assertions, static prints.

use crate::builtin::Builtin;

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[];
