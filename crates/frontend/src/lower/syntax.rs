//! A function's text to its syntax tree, with positions that lead back to the user's file.

use super::nesting;
use super::statements::is_constexpr;
use crate::host::FunctionSource;
use ruff_python_ast::{Stmt, StmtFunctionDef};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_text_size::{Ranged, TextRange};
use std::sync::{Arc, OnceLock};

/// The line that makes an indented definition a module of its own.
const HEADER: &str = "if 1:\n";

/// The syntax tree of a function, made when it is first wanted.
#[derive(Debug, Default)]
pub struct Syntax(OnceLock<Result<Arc<ParsedFunction>, SyntaxError>>);

/// A text that is not Python.
#[derive(Clone, Debug)]
pub struct SyntaxError {
    pub message: String,
    /// Byte offsets in the file.
    pub start: u32,
    pub end: u32,
}

/// A parsed definition.
#[derive(Debug)]
pub struct ParsedFunction {
    pub definition: StmtFunctionDef,
    /// What is added to an offset of the tree to get one of the file.
    shift: i64,
}

impl ParsedFunction {
    /// A range of the tree as byte offsets of the file.
    pub fn place(&self, range: TextRange) -> (u32, u32) {
        place(self.shift, range)
    }

    /// The names of the parameters that are annotated as `tl.constexpr`.
    pub fn constexpr_parameters(&self) -> Vec<&str> {
        let parameters = self.definition.parameters.iter_non_variadic_params();
        let annotated =
            parameters.filter(|one| one.parameter.annotation.as_deref().is_some_and(is_constexpr));
        annotated.map(|one| one.parameter.name.as_str()).collect()
    }
}

fn place(shift: i64, range: TextRange) -> (u32, u32) {
    let offset = |offset: u32| (i64::from(offset) + shift).max(0) as u32;
    (offset(range.start().to_u32()), offset(range.end().to_u32()))
}

impl FunctionSource {
    /// The syntax tree of the function.
    ///
    /// # Errors
    /// If the text is not Python, or there is no definition at `start`.
    pub fn parsed(&self) -> Result<Arc<ParsedFunction>, SyntaxError> {
        self.syntax.0.get_or_init(|| parse(&self.file.text, self.start)).clone()
    }
}

/// Parses the definition that starts at `start`, which may be indented.
fn parse(text: &str, start: u32) -> Result<Arc<ParsedFunction>, SyntaxError> {
    let start = text.floor_char_boundary((start as usize).min(text.len()));
    let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line = if text[line..start].trim().is_empty() { line } else { start };
    let extract = &text[line..];
    // Most often the text goes on after the function (it is a whole file), so the cheap guess at its end is tried first.
    let guess = guess_end(extract);
    match parse_extract(&extract[..guess], line) {
        Err(_) if guess < extract.len() => parse_extract(extract, line),
        result => result,
    }
}

/// Where the first line after the definition starts that is indented no deeper, as far as can be seen without parsing.
fn guess_end(extract: &str) -> usize {
    let indentation = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let own = extract.lines().find(|line| !line.trim().is_empty()).map_or(0, indentation);
    let mut offset = 0;
    let mut defined = false;
    for line in extract.split_inclusive('\n') {
        let content = line.trim();
        if defined
            && !content.is_empty()
            && indentation(line) <= own
            && !content.starts_with([')', ']', '}', '#'])
        {
            return offset;
        }
        defined |= content.starts_with("def ") || content.starts_with("async def ");
        offset += line.len();
    }
    extract.len()
}

fn parse_extract(extract: &str, offset: usize) -> Result<Arc<ParsedFunction>, SyntaxError> {
    let indented = extract
        .lines()
        .find(|line| !line.trim().is_empty())
        .is_some_and(|line| line.starts_with([' ', '\t']));
    let header = if indented { HEADER } else { "" };
    let shift = offset as i64 - header.len() as i64;
    let depth = nesting::depth(extract).map_err(|(at, message)| {
        let start = (offset + at) as u32;
        SyntaxError { message: message.to_owned(), start, end: start + 1 }
    })?;
    let text = format!("{header}{extract}");
    let parsed = depth.with_stack(|| parse_unchecked(&text, ParseOptions::from(Mode::Module)));
    let errors: Vec<(String, TextRange)> =
        parsed.errors().iter().map(|error| (error.error.to_string(), error.location)).collect();
    let Some(module) = parsed.try_into_module() else { unreachable!("the mode asks for a module") };
    let mut body = module.into_syntax().body;
    if indented && let Some(Stmt::If(block)) = body.first() {
        body = block.body.clone();
    }
    let definition = body.into_iter().find_map(|statement| match statement {
        Stmt::FunctionDef(definition) => Some(definition),
        _ => None,
    });
    // What follows the function may be anything: an extract ends anywhere.
    let end = definition.as_ref().map(Ranged::end);
    let fault = errors.into_iter().find(|(_, range)| end.is_none_or(|end| range.start() <= end));
    match (definition, fault) {
        (_, Some((message, range))) => {
            let (start, end) = place(shift, range);
            Err(SyntaxError { message, start, end })
        }
        (Some(definition), None) => Ok(Arc::new(ParsedFunction { definition, shift })),
        (None, None) => {
            let start = offset as u32;
            Err(SyntaxError { message: "there is no function definition here".to_owned(), start, end: start })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &str, start: usize) -> String {
        let parsed = parse(text, start as u32).unwrap();
        let (start, end) = parsed.place(parsed.definition.body.last().unwrap().range());
        text[start as usize..end as usize].to_owned()
    }

    #[test]
    fn a_whole_file_with_an_offset() {
        let text = "import triton\n\n@triton.jit\ndef f(x):\n    return x\n\nrest = (1,\n2)\n";
        assert_eq!(quoted(text, text.find('@').unwrap()), "return x");
    }

    #[test]
    fn constexprs_under_any_name_of_the_module() {
        let text =
            "def f(a, b: tl.constexpr, c: int, d: constexpr = 3, *, e: triton.language.constexpr): pass\n";
        assert_eq!(parse(text, 0).unwrap().constexpr_parameters(), ["b", "d", "e"]);
    }

    #[test]
    fn an_indented_extract() {
        assert_eq!(quoted("    @triton.jit\n    def f(x):\n        return x + 1\n", 0), "return x + 1");
        assert_eq!(
            quoted("class A:\n    def f(x):\n        return x + 2\n  \n    y = 3\n", 9),
            "return x + 2"
        );
    }

    #[test]
    fn lines_that_are_indented_less_inside_the_function() {
        let text = "def f(x,\ny):\n    \"\"\"First\nlines.\n    \"\"\"\n    return x\nz = 1\n";
        assert_eq!(quoted(text, 0), "return x");
    }

    #[test]
    fn an_error_is_placed_in_the_file() {
        let text = "x = 1\ndef f(x):\n    return x +\n";
        let error = parse(text, 6).unwrap_err();
        assert!(text[..error.start as usize].ends_with("return x +"), "{error:?}");
    }
}
