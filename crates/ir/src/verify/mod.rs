//! Checks that a function is well formed: every value defined once, before its uses and in their sight; every
//! operation listed once; every operation's types as [`Op`] asks.
//!
//! The front end's output and each pass's are verified in tests and debug builds, so that a mistake is found
//! where it is made. A function that passes can be printed, parsed again and executed.

mod rules;

use crate::diagnostic::Diagnostic;
use crate::function::{Function, OpId, RegionId, Value, ValueDef};
use crate::op::Op;
use crate::source::Span;
use std::collections::HashSet;

/// The most elements that a block may have.
pub const MAX_ELEMENTS: u64 = 1 << 30;

/// Checks every rule of the intermediate representation.
///
/// # Errors
/// One diagnostic an operation (or parameter) at fault, which names the operation and both types; spans are the
/// operations'. A value that is not defined is reported before any type is looked at.
pub fn verify(function: &Function) -> Result<(), Vec<Diagnostic>> {
    let mut verifier = Verifier {
        function,
        visible: vec![None; function.value_count()],
        defined: vec![false; function.value_count()],
        listed: vec![false; function.op_count()],
        owned: vec![false; function.region_count()],
        isolation: 0,
        diagnostics: Vec::new(),
    };
    verifier.params();
    if verifier.own(function.body, Span::default()) {
        verifier.region(function.body);
        if !function.region(function.body).args.is_empty() {
            verifier.report(Span::default(), "the body of a function has no arguments");
        }
    }
    if verifier.diagnostics.is_empty() { Ok(()) } else { Err(verifier.diagnostics) }
}

struct Verifier<'f> {
    function: &'f Function,
    /// For each value in sight, how many isolated regions its definition lies in.
    visible: Vec<Option<u32>>,
    defined: Vec<bool>,
    listed: Vec<bool>,
    owned: Vec<bool>,
    /// How many isolated regions (those of `reduce`, `scan` and `map`) are open.
    isolation: u32,
    diagnostics: Vec<Diagnostic>,
}

impl Verifier<'_> {
    fn report(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(span, message));
    }

    fn params(&mut self) {
        let mut names = HashSet::new();
        for (index, param) in self.function.params.iter().enumerate() {
            if param.name.is_empty() || !names.insert(&param.name) {
                self.report(Span::default(), format!("two parameters are named `{}`", param.name));
            }
            if !param.divisible_by.is_power_of_two() {
                let message = format!(
                    "parameter `{}` is divisible by {}, which is no power of two",
                    param.name, param.divisible_by
                );
                self.report(Span::default(), message);
            }
            self.define(param.value, ValueDef::Param(index as u32), Span::default());
            if self.exists(param.value) && *self.function.ty(param.value) != param.ty {
                let message = format!(
                    "parameter `{}` is declared {}, and its value is {}",
                    param.name,
                    param.ty,
                    self.function.ty(param.value)
                );
                self.report(Span::default(), message);
            }
        }
    }

    fn exists(&self, value: Value) -> bool {
        (value.0 as usize) < self.function.value_count()
    }

    /// Brings a value into sight, at its only definition.
    fn define(&mut self, value: Value, def: ValueDef, span: Span) {
        if !self.exists(value) {
            self.report(span, format!("value {} is not in the arena", value.0));
        } else if std::mem::replace(&mut self.defined[value.0 as usize], true) {
            self.report(span, format!("value {} is defined twice", value.0));
        } else if self.function.value(value).def != def {
            let recorded = self.function.value(value).def;
            self.report(span, format!("value {} is defined as {def:?}, but records {recorded:?}", value.0));
        } else {
            self.visible[value.0 as usize] = Some(self.isolation);
            let extents = &self.function.ty(value).shape;
            let elements = extents.iter().try_fold(1u64, |product, &extent| {
                product.checked_mul(u64::from(extent)).filter(|&elements| elements <= MAX_ELEMENTS)
            });
            if elements.is_none_or(|elements| elements == 0) {
                let message = format!(
                    "a block of type {} has an extent of 0, or more than {MAX_ELEMENTS} elements",
                    self.function.ty(value)
                );
                self.report(span, message);
            }
        }
    }

    /// Whether a value may be used here; reports it if not.
    fn check_use(&mut self, value: Value, user: &str, span: Span) -> bool {
        let level = self.exists(value).then(|| self.visible[value.0 as usize]).flatten();
        match level {
            None => {
                self.report(span, format!("`{user}` uses value {}, which is not defined before it", value.0));
                false
            }
            Some(level) if level < self.isolation && !self.function.ty(value).is_scalar() => {
                let message = format!(
                    "`{user}`, in a region applied to each element, uses a block from outside, of type {}",
                    self.function.ty(value)
                );
                self.report(span, message);
                false
            }
            Some(_) => true,
        }
    }

    /// Marks a region as owned; false (and reported) if it does not exist or has an owner already.
    fn own(&mut self, region: RegionId, span: Span) -> bool {
        match self.owned.get_mut(region.0 as usize) {
            None => {
                self.report(span, format!("region {} is not in the arena", region.0));
                false
            }
            Some(owned) if *owned => {
                self.report(span, format!("region {} belongs to two operations", region.0));
                false
            }
            Some(owned) => {
                *owned = true;
                true
            }
        }
    }

    fn region(&mut self, region: RegionId) {
        let function = self.function;
        let data = function.region(region);
        for (index, &arg) in data.args.iter().enumerate() {
            self.define(arg, ValueDef::RegionArg { region, index: index as u32 }, Span::default());
        }
        for &op in &data.ops {
            self.op(op);
        }
        let last = data.ops.last().map_or(Span::default(), |&op| {
            if (op.0 as usize) < function.op_count() { function.op(op).span } else { Span::default() }
        });
        for &value in &data.yields {
            self.check_use(value, "yield", last);
        }
    }

    /// Takes what a region defines out of sight again.
    fn leave(&mut self, region: RegionId) {
        let function = self.function;
        let data = function.region(region);
        let ops = data.ops.iter().filter(|op| (op.0 as usize) < function.op_count());
        let results = ops.flat_map(|&op| function.op(op).results.iter());
        for &value in data.args.iter().chain(results) {
            if let Some(visible) = self.visible.get_mut(value.0 as usize) {
                *visible = None;
            }
        }
    }

    fn op(&mut self, id: OpId) {
        let function = self.function;
        let Some(listed) = self.listed.get_mut(id.0 as usize) else {
            self.report(Span::default(), format!("operation {} is not in the arena", id.0));
            return;
        };
        let data = function.op(id);
        let name = data.op.name();
        if std::mem::replace(listed, true) {
            self.report(data.span, format!("one `{name}` is listed twice"));
            return;
        }
        let mut sound = true;
        data.op.for_each_operand(|value| sound &= self.check_use(value, name, data.span));
        if self.isolation > 0 && !allowed_on_elements(&data.op) {
            self.report(
                data.span,
                format!("`{name}` stands in a region applied to each element, which must have no effects"),
            );
        }

        let block = data.results.iter().find(|&&r| self.exists(r) && !function.ty(r).is_scalar());
        if self.isolation > 0
            && let Some(&block) = block
        {
            let message = format!(
                "`{name}`, in a region applied to each element, makes a block, {}",
                function.ty(block)
            );
            self.report(data.span, message);
        }

        let regions = data.op.regions();
        let isolated = matches!(data.op, Op::Reduce { .. } | Op::Scan { .. } | Op::MapElementwise { .. });
        self.isolation += u32::from(isolated);
        let before = self.diagnostics.len();
        for &region in &regions {
            if self.own(region, data.span) {
                self.region(region);
                self.leave(region);
            } else {
                sound = false;
            }
        }
        self.isolation -= u32::from(isolated);
        sound &= self.diagnostics.len() == before;

        let before = self.diagnostics.len();
        for (index, &result) in data.results.iter().enumerate() {
            self.define(result, ValueDef::Result { op: id, index: index as u32 }, data.span);
        }
        sound &= self.diagnostics.len() == before;
        // Types are only looked up once every value is known to exist.
        if sound && let Err(message) = rules::check(function, data) {
            self.report(data.span, format!("`{name}`: {message}"));
        }
    }
}

/// Whether an operation may stand in the region of a `reduce`, a `scan` or a `map`.
fn allowed_on_elements(op: &Op) -> bool {
    op.is_pure()
        || matches!(
            op,
            Op::For { .. }
                | Op::While { .. }
                | Op::If { .. }
                | Op::MapElementwise { .. }
                | Op::InlineAssembly { .. }
                | Op::Assume { .. }
        )
}
