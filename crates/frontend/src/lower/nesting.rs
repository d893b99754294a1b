//! Refuses texts that are nested without measure before they are parsed.
//!
//! The parser, and whoever walks or drops its trees, goes as deep as the text does. Python has such limits of its own.

/// The deepest tree that a statement may be parsed to.
const MAX_DEPTH: usize = 2000;

/// Brackets within brackets; Python's own limit.
const MAX_BRACKETS: usize = 200;

/// The most columns that a line may be indented.
const MAX_INDENTATION: usize = 1000;

/// The most letters of an f-string.
const MAX_F_STRING: usize = 64 * 1024;

/// Stack that parsing needs for each level that [`depth`] counts, and beside.
const STACK_PER_LEVEL: usize = 16 * 1024;
const LEAST_STACK: usize = 256 * 1024;

/// How deep a tree a text may be parsed to: an upper bound, counted without parsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub struct Depth(usize);

impl Depth {
    /// Runs a parser, or what goes over all it made, with stack enough. For ordinary texts that is what is there already.
    pub fn with_stack<T>(self, parse: impl FnOnce() -> T) -> T {
        let needed = LEAST_STACK + self.0 * STACK_PER_LEVEL;
        stacker::maybe_grow(needed, needed, parse)
    }
}

/// How deeply a text is nested, or where and why that is too deep.
///
/// Each operator and each bracket may be one level of the tree, up to the comma or the end of the line that ends its operand; and so may
/// each column of indentation.
pub fn depth(text: &str) -> Result<Depth, (usize, &'static str)> {
    let mut deepest = 0;
    let bytes = text.as_bytes();
    // Levels counted in each open bracket since its last comma, the line itself first, and their sum.
    let mut levels = vec![0usize];
    let mut depth = 0;
    let mut at = 0;
    let mut line_start = 0;
    let mut indentation = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'#' => {
                at += bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - at);
                continue;
            }
            b'"' | b'\'' => {
                let end = end_of_string(bytes, at);
                // The expressions of an f-string are parsed, too; each of its letters may be a level.
                let holds_expressions =
                    at > 0 && bytes[at - 1].is_ascii_alphabetic() && bytes[at..end].contains(&b'{');
                if holds_expressions {
                    if end - at > MAX_F_STRING {
                        return Err((at, "this f-string is too long"));
                    }
                    deepest = deepest.max(depth + indentation + levels.len() + end - at);
                }
                at = end;
                continue;
            }
            b'\n'
                if levels.len() == 1 && !bytes[..at].ends_with(b"\\") && !bytes[..at].ends_with(b"\\\r") =>
            {
                levels[0] = 0;
                depth = 0;
                line_start = at + 1;
                let rest = &bytes[line_start..];
                indentation =
                    rest.iter().take(MAX_INDENTATION).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            }
            b' ' | b'\t'
                if at - line_start > MAX_INDENTATION
                    && bytes[line_start..at].iter().all(|byte| byte.is_ascii_whitespace()) =>
            {
                return Err((at, "this line is indented too deeply"));
            }
            b'(' | b'[' | b'{' => {
                levels.push(1);
                depth += 1;
                if levels.len() > MAX_BRACKETS + 1 {
                    return Err((at, "there are too many brackets within brackets here"));
                }
            }
            b')' | b']' | b'}' if levels.len() > 1 => depth -= levels.pop().unwrap_or(0),
            b',' | b';' => {
                if let Some(last) = levels.last_mut() {
                    depth -= std::mem::take(last);
                }
            }
            b'+' | b'-' | b'*' | b'/' | b'%' | b'@' | b'&' | b'|' | b'^' | b'~' | b'<' | b'>' | b'='
            | b'.' | b':' => {
                add_level(&mut levels, &mut depth);
            }
            // Words such as `not`, `if`, `lambda`: every word counts, since names stand between operators anyway.
            letter if letter.is_ascii_alphabetic() => {
                add_level(&mut levels, &mut depth);
                while bytes.get(at + 1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
                    at += 1;
                }
            }
            _ => {}
        }
        // A name and the operator beside it count for two.
        if depth > 2 * MAX_DEPTH {
            return Err((at, "this expression is nested too deeply"));
        }
        // A comma takes what was counted in a bracket away, but not the bracket.
        deepest = deepest.max(depth + indentation + levels.len());
        at += 1;
    }
    Ok(Depth(deepest))
}

fn add_level(levels: &mut [usize], depth: &mut usize) {
    if let Some(last) = levels.last_mut() {
        *last += 1;
        *depth += 1;
    }
}

/// The position after a string literal that starts at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let triple = bytes[start..].starts_with(&[quote; 3]);
    let mut at = start + if triple { 3 } else { 1 };
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\n' if !triple => return at,
            _ if byte == quote && !triple => return at + 1,
            _ if byte == quote && bytes[at..].starts_with(&[quote; 3]) => return at + 3,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::{Depth, depth};

    #[test]
    fn ordinary_texts_pass() {
        assert_eq!(depth("x = [1, 2,\n  (3 + 4) * -5]\n"), Ok(Depth(7)));
        let table = format!("x = [{}]\n", "(1, -2), ".repeat(100_000));
        assert!(depth(&table).is_ok());
        let drawing = format!("'''\n{}\n'''  # {}\n", "-".repeat(10_000), "(".repeat(10_000));
        assert!(depth(&drawing).is_ok());
        assert_eq!(depth(&"x = a + b\n".repeat(10_000)), depth("x = a + b\n"));
    }

    #[test]
    fn deep_texts_do_not() {
        assert!(depth(&format!("x = {}", "(".repeat(201))).is_err());
        assert!(depth(&format!("x = {}1", "-".repeat(10_000))).is_err());
        assert!(depth(&format!("x = {}1", "not ".repeat(10_000))).is_err());
        assert!(depth(&format!("x = {}1", "1 if n else ".repeat(10_000))).is_err());
        assert!(depth(&format!("x = {}1", "1 + \\\n".repeat(10_000))).is_err());
        assert!(depth(&format!("if 1:\n{}pass", " ".repeat(5_000))).is_err());
    }

    #[test]
    fn f_strings_hold_expressions() {
        let nested = |count: usize| format!("x = f'{{{}1{}}}'\n", "(".repeat(count), ")".repeat(count));
        assert!(depth(&nested(1000)).is_ok_and(|depth| depth >= Depth(1000)));
        assert!(depth(&nested(40_000)).is_err());
        assert!(depth(&format!("x = f'{}'\n", "-".repeat(100_000))).is_ok());
    }

    #[test]
    fn unfinished_texts_pass() {
        for text in ["", "'", "'''", "'\\", ")", "x = (", "\"\"\"\\"] {
            assert!(depth(text).is_ok());
        }
    }
}
