//! Kernels that Python runs: what only looks into them is passed over.
//!
//! An interpreted kernel is read as if it were to be compiled, so the faults that a compiler finds are found in it, too. What is there for
//! the one who debugs it, no compiled kernel could have: statements that call functions of Python (`print(x)`, `breakpoint()`,
//! `seen.append(x)`), `import` and `raise`, and values that Python alone knows (`x.numpy()`, `float(x)`). Nothing is said of these, nor of what
//! depends on them.

use super::diagnostics::already_reported;
use super::names::Binding;
use super::{Lowering, PythonFunction, Result};
use crate::value::Value;
use ruff_python_ast::{Alias, Expr, Stmt};
use tegula_ir::Diagnostic;

/// The attributes that tiles have in Python alone.
const INSPECTION: &[&str] = &["numpy", "data"];

impl Lowering<'_, '_> {
    /// Whether a statement computes nothing for the kernel. The names that it imports are known to Python alone.
    ///
    /// # Errors
    /// Those of the function that it calls, which need not be one.
    pub(super) fn only_looks(&mut self, statement: &Stmt) -> Result<bool> {
        match statement {
            Stmt::Expr(expression) => {
                let Expr::Call(call) = &*expression.value else { return Ok(false) };
                if self.is_method_of_global(&call.func) {
                    return Ok(true);
                }
                let callee = self.expression(&call.func)?;
                Ok(self.is_of_python(&callee)
                    || matches!(callee, Value::PlainFunction(_) | Value::Python(PythonFunction::Print)))
            }
            Stmt::Raise(_) => Ok(true),
            Stmt::Import(import) => {
                self.imports(&import.names);
                Ok(true)
            }
            Stmt::ImportFrom(import) => {
                self.imports(&import.names);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Whether a callee is a method of a list, a text or a number outside of the kernel, which kernels have no use for.
    fn is_method_of_global(&self, callee: &Expr) -> bool {
        let Expr::Attribute(method) = callee else { return false };
        let Expr::Name(name) = &*method.value else { return false };
        let frame = self.frame();
        !frame.names.contains_key(&name.id)
            && self
                .host
                .global(frame.function, &name.id)
                .map(Value::from)
                .is_some_and(|value| value.is_constant() || matches!(value, Value::Tuple(_, None)))
    }

    fn imports(&mut self, names: &[Alias]) {
        for alias in names {
            let first = alias.name.as_str().split('.').next().unwrap_or_default();
            let name = alias.asname.as_ref().map_or(first, |name| name.as_str());
            self.frame_mut().names.insert(name.into(), Binding::Poisoned);
        }
    }

    /// Whether a value is an object of Python's that the language has no use for, in a kernel that Python runs.
    pub(super) fn is_of_python(&self, value: &Value) -> bool {
        self.interpreted && matches!(value, Value::Other(..) | Value::Module(_))
    }

    /// Whether an attribute is there to look at a tile, in a kernel that Python runs.
    pub(super) fn is_for_inspection(&self, value: &Value, name: &str) -> bool {
        self.interpreted
            && matches!(value, Value::Tensor(_) | Value::Bool(_) | Value::Int(_) | Value::Float(_))
            && INSPECTION.contains(&name)
    }

    /// An error of what is done with values, unless it may well be done in Python: with tiles that can be looked at.
    pub(super) fn unless_python_knows(&self, error: Box<Diagnostic>, values: &[Value]) -> Box<Diagnostic> {
        let looks = self.interpreted && values.iter().any(|value| matches!(value, Value::Tensor(_)));
        if looks { self.python_knows() } else { error }
    }

    /// The error of what Python alone can compute: it is no fault, and nothing is said of it.
    pub(super) fn python_knows(&self) -> Box<Diagnostic> {
        already_reported()
    }
}
