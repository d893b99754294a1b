//! Assembly with the kernel's own lines between.
//!
//! ```text
//! .loc 1 6 15                    // kernels.py:6:     offsets = tl.program_id(0) * BLOCK + ...
//! mov.u32 %r2, %ctaid.x;    =>   .loc 1 6 15
//!                                mov.u32 %r2, %ctaid.x;
//! ```

use std::collections::HashMap;
use tegula_ir::{FileId, SourceMap};

/// The PTX, with a comment wherever another line of the source begins.
pub fn of_ptx(ptx: &str, sources: &SourceMap) -> String {
    let mut files = HashMap::new();
    for line in ptx.lines() {
        if let Some((number, name)) = line.strip_prefix(".file ").and_then(|rest| rest.split_once(' ')) {
            files.insert(number, name.trim_matches('"'));
        }
    }
    let place = |line: &str| {
        let mut words = line.trim_start().strip_prefix(".loc ")?.split(' ');
        let file = files.get(words.next()?)?;
        Some((file.to_string(), words.next()?.parse().ok()?))
    };
    interleaved(ptx, sources, place, true)
}

/// What `nvdisasm` prints, with lines of the source in the place of their numbers.
pub fn of_sass(sass: &str, sources: &SourceMap) -> String {
    let place = |line: &str| {
        let rest = line.trim_start().strip_prefix("//## File \"")?;
        let (file, rest) = rest.split_once("\", line ")?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        Some((file.to_owned(), digits.parse().ok()?))
    };
    interleaved(sass, sources, place, false)
}

/// Puts a line of the source before each place where another begins; the lines that say so stay if `keep`.
fn interleaved(
    assembly: &str,
    sources: &SourceMap,
    place: impl Fn(&str) -> Option<(String, u32)>,
    keep: bool,
) -> String {
    let mut out = String::with_capacity(2 * assembly.len());
    let mut current = None;
    for line in assembly.lines() {
        let found = place(line);
        if let Some((file, number)) = &found
            && current != found
        {
            let text = source_line(sources, file, *number).unwrap_or_default();
            out += format!("\t// {file}:{number}: {text}").trim_end();
            out.push('\n');
        }
        if found.is_none() || keep {
            out += line;
            out.push('\n');
        }
        current = found.or(current);
    }
    out
}

/// A line of the source, as the user counts.
fn source_line<'s>(sources: &'s SourceMap, file: &str, number: u32) -> Option<&'s str> {
    // A file may be there in several extracts.
    (0..).map_while(|index| sources.get(FileId(index))).find_map(|source| {
        let index = number.checked_sub(source.first_line).filter(|_| source.name == file)?;
        source.text.lines().nth(index as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::{of_ptx, of_sass};
    use std::sync::Arc;
    use tegula_ir::{SourceFile, SourceMap};

    fn sources() -> SourceMap {
        let mut sources = SourceMap::default();
        for (name, text, first_line) in
            [("k.py", "def f():\n    one\n    two", 10), ("k.py", "def g(): pass", 3)]
        {
            sources.add(Arc::new(SourceFile { name: name.into(), text: text.into(), first_line }));
        }
        sources
    }

    #[test]
    fn lines_stand_where_they_begin() {
        let ptx = "a;\n\t.loc 1 11 5\n\tb;\n\t.loc 1 11 9\n\tc;\n\t.loc 1 3 1\n\td;\n\t.loc 2 1 1\n.file 1 \"k.py\"\n";
        let expected = "a;\n\t// k.py:11:     one\n\t.loc 1 11 5\n\tb;\n\t.loc 1 11 9\n\tc;\n\
                        \t// k.py:3: def g(): pass\n\t.loc 1 3 1\n\td;\n\t.loc 2 1 1\n.file 1 \"k.py\"\n";
        assert_eq!(of_ptx(ptx, &sources()), expected);
    }

    #[test]
    fn numbers_become_lines() {
        let sass = "k:\n\t//## File \"k.py\", line 12 inlined at \"k.py\", line 2\n  MOV R1;\n\t//## File \"other.py\", line 1\n  EXIT;\n";
        let expected = "k:\n\t// k.py:12:     two\n  MOV R1;\n\t// other.py:1:\n  EXIT;\n";
        assert_eq!(of_sass(sass, &sources()), expected);
    }
}
