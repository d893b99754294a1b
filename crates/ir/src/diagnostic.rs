//! Messages to the user: a fact, the line of the kernel it is about, and the remedy.
//!
//! Every refusal of tegula, from the parser to a run-time check, is a [`Diagnostic`]; rendering is
//! left to the `annotate-snippets` crate so that all of them look alike.

use crate::source::{FileId, SourceMap, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// How grave a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

/// A place in the source, with what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub span: Span,
    pub text: String,
}

/// A call that led to the place at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function that was called.
    pub function: String,
    /// Where it was called; the label's text is empty.
    pub site: Label,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// The fact, in one sentence.
    pub message: String,
    /// The place that is at fault comes first.
    pub labels: Vec<Label>,
    /// Calls that led to the place at fault, innermost first.
    pub calls: Vec<Call>,
    /// What else is known.
    pub notes: Vec<String>,
    /// What the user can do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            message: message.into(),
            labels: vec![Label { span, text: String::new() }],
            calls: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// A warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(span, message) }
    }

    /// Says something at the place at fault, beneath its caret.
    pub fn with_text(mut self, text: impl Into<String>) -> Diagnostic {
        if let Some(label) = self.labels.first_mut() {
            label.text = text.into();
        }
        self
    }

    /// Adds a second place.
    pub fn with_label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds a fact that has no place.
    pub fn with_note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// Sets the remedy.
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// The message as text with quoted source lines, with terminal colours if `colour`.
    pub fn render(&self, sources: &SourceMap, colour: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut groups = vec![snippets(level.primary_title(&self.message), &self.labels, sources, true)];
        for call in &self.calls {
            let title = Level::NOTE.secondary_title(format!("in the call of `{}` here", call.function));
            groups.push(snippets(title, std::slice::from_ref(&call.site), sources, false));
        }
        for note in &self.notes {
            groups.push(Group::with_title(Level::NOTE.secondary_title(note)));
        }
        if let Some(help) = &self.help {
            groups.push(Group::with_title(Level::HELP.secondary_title(help)));
        }
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&groups)
    }
}

/// A title followed by the source lines of its labels, one extract a file; the first is the primary one.
fn snippets<'a>(
    title: annotate_snippets::Title<'a>,
    labels: &'a [Label],
    sources: &'a SourceMap,
    primary: bool,
) -> Group<'a> {
    let mut group = Group::with_title(title);
    let mut files: Vec<FileId> = Vec::new();
    for label in labels {
        if !files.contains(&label.span.file) {
            files.push(label.span.file);
        }
    }
    for id in files {
        let Some(file) = sources.get(id) else { continue };
        let mut snippet = Snippet::source(&file.text).path(&file.name).line_start(file.first_line as usize);
        for (index, label) in labels.iter().enumerate().filter(|(_, label)| label.span.file == id) {
            let end = file.text.len();
            let start = (label.span.start as usize).min(end);
            let stop = (label.span.end as usize).clamp(start, end);
            let kind = if index == 0 && primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let mut annotation = kind.span(start..stop);
            if !label.text.is_empty() {
                annotation = annotation.label(&label.text);
            }
            snippet = snippet.annotation(annotation);
        }
        group = group.element(snippet);
    }
    group
}
