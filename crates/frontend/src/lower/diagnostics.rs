//! Collecting errors: several independent ones of a kernel are reported together, and none that only follows from another.

use super::{CompileError, Lowering};
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
        if diagnostic.message.is_empty() || self.diagnostics.len() >= MAX_DIAGNOSTICS {
            return;
        }
        // The user has not seen the prelude: an error there is an error of the call into it.
        let own = self.frames.iter().position(|frame| prelude::contains(frame.function));
        let visible = own.unwrap_or(self.frames.len());
        if let Some(first) = own {
            let site = self.frames[first].site;
            diagnostic.labels = vec![Label { span: site, text: String::new() }];
        }
        let calls = self.frames[..visible].iter().skip(1).rev().map(|frame| Call {
            function: frame.name.clone(),
            site: Label { span: frame.site, text: String::new() },
        });
        let mut calls: Vec<Call> = calls.collect();
        calls.dedup();
        if calls.len() > MAX_CALLS {
            let left_out = calls.len() - MAX_CALLS;
            calls.drain(MAX_CALLS / 2..MAX_CALLS / 2 + left_out);
            diagnostic.notes.push(format!("{left_out} calls in between are not shown"));
        }
        diagnostic.calls = calls;
        // A function that is called often is at fault once.
        let known =
            |other: &Diagnostic| other.message == diagnostic.message && other.labels == diagnostic.labels;
        if !self.diagnostics.iter().any(known) {
            self.diagnostics.push(diagnostic);
        }
    }
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
