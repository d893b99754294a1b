//! Source files and positions in them.

use std::sync::Arc;

/// A file known to a [`SourceMap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A range of bytes in a source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

/// Source text and where it came from.
///
/// A kernel's text may be an extract of its file (what Python's `inspect` returns), so the number
/// of its first line is kept with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path as the user knows it, or a name such as `<string>`.
    pub name: String,
    pub text: String,
    /// The line number in the user's file of the first line of `text`; 1 for a whole file.
    pub first_line: u32,
}

impl SourceFile {
    /// Line (as the user counts) and column (from 1, in characters) of a byte offset.
    pub fn position(&self, offset: u32) -> (u32, u32) {
        let offset = (offset as usize).min(self.text.len());
        let before = &self.text[..self.text.floor_char_boundary(offset)];
        let line = before.matches('\n').count() as u32;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u32;
        (self.first_line + line, column + 1)
    }
}

/// The source files that the spans of a function refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    files: Vec<Arc<SourceFile>>,
}

impl SourceMap {
    /// Adds a file, or finds the equal one that is already there.
    pub fn add(&mut self, file: Arc<SourceFile>) -> FileId {
        let known = self.files.iter().position(|other| Arc::ptr_eq(other, &file) || **other == *file);
        let index = known.unwrap_or_else(|| {
            self.files.push(file);
            self.files.len() - 1
        });
        FileId(index as u32)
    }

    /// The file with the given identifier, if this map made it.
    pub fn get(&self, file: FileId) -> Option<&SourceFile> {
        self.files.get(file.0 as usize).map(|file| &**file)
    }

    /// `path:line:column` of the start of a span, or `<unknown>`.
    pub fn describe(&self, span: Span) -> String {
        match self.get(span.file) {
            Some(file) => {
                let (line, column) = file.position(span.start);
                format!("{}:{line}:{column}", file.name)
            }
            None => "<unknown>".to_owned(),
        }
    }
}
