//! Values that others stand for from now on.

use tegula_ir::Value;

/// A map from values to what replaces them; values that are not in it stand for themselves.
#[derive(Debug, Default)]
pub(crate) struct Replacements(Vec<Option<Value>>);

impl Replacements {
    /// From now on, `new` stands for `old`. `new` must be final: not itself replaced later.
    pub(crate) fn replace(&mut self, old: Value, new: Value) {
        let index = old.0 as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        self.0[index] = Some(new);
    }

    /// What stands for a value.
    pub(crate) fn resolve(&self, value: Value) -> Value {
        self.0.get(value.0 as usize).copied().flatten().unwrap_or(value)
    }
}
