//! Refuses texts that are nested without measure before they are parsed.
//!
//! The parser, and whoever walks or drops its trees, goes as deep as the text does. Python has such limits of its own.

/// The deepest tree that a statement may be parsed to.
const MAX_DEPTH: usize = 2000;

/// Brackets within brackets; Python's own limit.
const MAX_BRACKETS: usize = 200;

/// The most columns that a line may be indented.
const MAX_INDENTATION: usize = 1000;

/// Stack that parsing a text of the greatest depth needs.
const PARSER_STACK: usize = 64 * 1024 * 1024;

/// Runs a parser, or what goes over all it made, with stack enough for any text that [`fault`] lets pass.
pub fn with_parser_stack<T>(parse: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(PARSER_STACK, PARSER_STACK, parse)
}

/// Where and why a text is nested too deeply; `None` if it is not.
///
/// Each operator and each bracket may be one level of the tree, up to the comma or the end of the line that ends its operand.
pub fn fault(text: &str) -> Option<(usize, &'static str)> {
    let bytes = text.as_bytes();
    // Levels counted in each open bracket since its last comma, the line itself first, and their sum.
    let mut levels = vec![0usize];
    let mut depth = 0;
    let mut at = 0;
    let mut line_start = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'#' => {
                at += bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - at);
                continue;
            }
            b'"' | b'\'' => {
                at = end_of_string(bytes, at);
                continue;
            }
            b'\n'
                if levels.len() == 1 && !bytes[..at].ends_with(b"\\") && !bytes[..at].ends_with(b"\\\r") =>
            {
                levels[0] = 0;
                depth = 0;
                line_start = at + 1;
            }
            b' ' | b'\t'
                if at - line_start > MAX_INDENTATION
                    && bytes[line_start..at].iter().all(|byte| byte.is_ascii_whitespace()) =>
            {
                return Some((at, "this line is indented too deeply"));
            }
            b'(' | b'[' | b'{' => {
                levels.push(1);
                depth += 1;
                if levels.len() > MAX_BRACKETS + 1 {
                    return Some((at, "there are too many brackets within brackets here"));
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
            return Some((at, "this expression is nested too deeply"));
        }
        at += 1;
    }
    None
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
    use super::fault;

    #[test]
    fn ordinary_texts_pass() {
        assert_eq!(fault("x = [1, 2,\n  (3 + 4) * -5]\n"), None);
        let table = format!("x = [{}]\n", "(1, -2), ".repeat(100_000));
        assert_eq!(fault(&table), None);
        let drawing = format!("'''\n{}\n'''  # {}\n", "-".repeat(10_000), "(".repeat(10_000));
        assert_eq!(fault(&drawing), None);
        assert_eq!(fault(&"x = a + b\n".repeat(10_000)), None);
    }

    #[test]
    fn deep_texts_do_not() {
        assert!(fault(&format!("x = {}", "(".repeat(201))).is_some());
        assert!(fault(&format!("x = {}1", "-".repeat(10_000))).is_some());
        assert!(fault(&format!("x = {}1", "not ".repeat(10_000))).is_some());
        assert!(fault(&format!("x = {}1", "1 if n else ".repeat(10_000))).is_some());
        assert!(fault(&format!("x = {}1", "1 + \\\n".repeat(10_000))).is_some());
        assert!(fault(&format!("if 1:\n{}pass", " ".repeat(5_000))).is_some());
    }

    #[test]
    fn unfinished_texts_pass() {
        for text in ["", "'", "'''", "'\\", ")", "x = (", "\"\"\"\\"] {
            assert_eq!(fault(text), None);
        }
    }
}
