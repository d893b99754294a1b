//! Collecting errors: several independent ones of a kernel are reported together, and none that only follows from another.

use super::{CompileError, Frame, Lowering};
use crate::prelude;
use tegula_ir::{Call, Diagnostic, Label, Span};

/// More errors than this are not collected.
const MAX_DIAGNOSTICS: usize = 20;

/// Of longer chains of calls only the ends are shown.
const MAX_CALLS: usize = 8;

impl CompileError {
    /// The messages as text, with terminal colours if `colour`.
    pub fn render(&self, colour: bool) -> String {
        let rendered: Vec<String> =
            self.diagnostics.iter().map(|diagnostic| diagnostic.render(&self.sources, colour)).collect();
        rendered.join("\n\n")
    }
}

impl std::fmt::Display for CompileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for CompileError {}

/// The error of what depends on something that has been reported: it is itself not reported.
pub fn already_reported() -> Box<Diagnostic> {
    Box::new(Diagnostic::error(Span::default(), ""))
}

impl Lowering<'_, '_> {
    /// Keeps an error, with the calls that led to it, unless it is known already or follows from one that is.
    pub fn report(&mut self, mut diagnostic: Diagnostic) {
        if diagnostic.message.is_empty() {
            debug_assert!(
                self.interpreted || !self.diagnostics.is_empty(),
                "an error was taken for reported and is not"
            );
            return;
        }
        if self.diagnostics.len() >= MAX_DIAGNOSTICS {
            return;
        }
        // The user has not seen the prelude: an error there is an error of the call into it.
        let visible = self.visible_frames();
        if let Some(entered) = self.frames.get(visible) {
            diagnostic.labels = vec![Label { span: entered.site, text: String::new() }];
            diagnostic.notes.push(format!("the fault is in the evaluation of `tl.{}`", entered.name));
        }
        self.add_calls(&mut diagnostic, visible);
        // A function that is called often is at fault once.
        if !self.diagnostics.iter().any(|other| is_same(other, &diagnostic)) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Keeps a warning, with the calls that led to it, unless it is known already or is about the prelude, which the user cannot change.
    pub fn warn(&mut self, mut warning: Diagnostic) {
        let visible = self.visible_frames();
        if visible < self.frames.len() || self.warnings.len() >= MAX_DIAGNOSTICS {
            return;
        }
        self.add_calls(&mut warning, visible);
        if !self.warnings.iter().any(|other| is_same(other, &warning)) {
            self.warnings.push(warning);
        }
    }

    /// How many of the functions being evaluated are the user's: those after them are of the prelude.
    fn visible_frames(&self) -> usize {
        self.frames.iter().rposition(|frame| !is_own(frame)).map_or(0, |last| last + 1)
    }

    /// Adds the calls that led to the innermost of the user's functions.
    fn add_calls(&self, diagnostic: &mut Diagnostic, visible: usize) {
        let calls = (1..visible).rev().filter(|index| !is_own(&self.frames[index - 1])).map(|index| {
            let frame = &self.frames[index];
            Call { function: frame.name.clone(), site: Label { span: frame.site, text: String::new() } }
        });
        let mut calls: Vec<Call> = calls.collect();
        calls.dedup();
        if calls.len() > MAX_CALLS {
            let left_out = calls.len() - MAX_CALLS;
            calls.drain(MAX_CALLS / 2..MAX_CALLS / 2 + left_out);
            diagnostic.notes.push(format!("{left_out} calls in between are not shown"));
        }
        diagnostic.calls = calls;
    }
}

/// Whether a function is one of the prelude.
fn is_own(frame: &Frame) -> bool {
    prelude::contains(frame.function)
}

/// Whether two messages say the same of the same place, on whatever ways it was reached.
fn is_same(a: &Diagnostic, b: &Diagnostic) -> bool {
    a.message == b.message && a.labels == b.labels
}

/// The name of `known` that a misspelt `name` most likely stands for.
pub fn closest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let likeness = |candidate: &str| strsim::damerau_levenshtein(name, candidate);
    let limit = (name.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (likeness(candidate), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *candidate != name)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn misspelt_names_are_recognised() {
        let known = ["load", "store", "exp", "exp2", "bias"];
        assert_eq!(closest("bais", known), Some("bias"));
        assert_eq!(closest("stor", known), Some("store"));
        assert_eq!(closest("something", known), None);
    }
}
