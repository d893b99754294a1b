//! Splits PTX text into words, numbers and punctuation.

use super::ParseError;

/// A token of PTX.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    /// A name with all its dots: of an instruction, a directive, a register, a symbol or a label.
    Word(&'a str),
    /// What begins with a digit.
    Number(&'a str),
    /// A string, without its quotes.
    Text(&'a str),
    /// A single character.
    Mark(char),
    /// Text between the markers of inline assembly.
    Verbatim(&'a str),
}

/// What stands before inline assembly, which has a scope of its own.
pub(crate) const VERBATIM_BEGIN: &str = "// begin inline asm\n\t{\n";
/// What stands after it; the line's end closes a comment of the text.
pub(crate) const VERBATIM_END: &str = "\n\t}\n\t// end inline asm";

/// The tokens of a text, each with its line, counted from 1.
pub(crate) fn tokens(text: &str) -> Result<Vec<(Token<'_>, u32)>, ParseError> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\n' => {
                line += 1;
                1
            }
            _ if first.is_whitespace() => first.len_utf8(),
            '/' if rest.starts_with(VERBATIM_BEGIN) => {
                let begin = VERBATIM_BEGIN.len();
                let end = rest
                    .find(VERBATIM_END)
                    .ok_or_else(|| ParseError::new(line, "inline assembly has no end"))?;
                tokens.push((Token::Verbatim(&rest[begin..end]), line));
                let length = end + VERBATIM_END.len();
                line += rest[..length].matches('\n').count() as u32;
                length
            }
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => {
                let end =
                    rest[2..].find("*/").ok_or_else(|| ParseError::new(line, "a comment has no end"))?;
                line += rest[..end + 2].matches('\n').count() as u32;
                end + 4
            }
            '"' => {
                let inside =
                    rest[1..].find('"').ok_or_else(|| ParseError::new(line, "a string has no end"))?;
                tokens.push((Token::Text(&rest[1..1 + inside]), line));
                inside + 2
            }
            _ if starts_word(first) => {
                let length = word_length(rest);
                tokens.push((Token::Word(&rest[..length]), line));
                length
            }
            _ if first.is_ascii_digit() => {
                let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                // Versions have a point.
                let point = rest[length..]
                    .strip_prefix('.')
                    .filter(|after| after.starts_with(|c: char| c.is_ascii_digit()));
                let length = match point {
                    Some(after) => {
                        length + 1 + after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len())
                    }
                    None => length,
                };
                tokens.push((Token::Number(&rest[..length]), line));
                length
            }
            _ => {
                tokens.push((Token::Mark(first), line));
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    Ok(tokens)
}

fn starts_word(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '_' | '.' | '%' | '$')
}

/// The length of the word at the start. A single colon ends it (a label); a double one is part of it.
fn word_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 1;
    while end < bytes.len() {
        match bytes[end] {
            b':' if bytes.get(end + 1) == Some(&b':') => end += 2,
            byte if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'%' | b'$') => end += 1,
            _ => break,
        }
    }
    end
}
