//! What an assembler says of a user's inline assembly, said of the line of the kernel that holds it.

use tegula_gpu::Kernel;
use tegula_ir::Diagnostic;

/// How many messages of the assembler are shown.
const SHOWN: usize = 5;

/// What is wrong with the first text of the user that the log complains of; `None` if it complains of other code alone.
pub fn fault(kernel: &Kernel, assembler: &str, log: &str) -> Option<Diagnostic> {
    let complaints: Vec<(u32, &str)> = log.lines().filter_map(complaint).collect();
    let texts = tegula_ptx::verbatim_lines(&kernel.ptx);
    let is_at_fault = |lines: &std::ops::Range<u32>| complaints.iter().any(|(line, _)| lines.contains(line));
    let (lines, &span) = texts.iter().zip(&kernel.texts).find(|(lines, _)| is_at_fault(lines))?;
    let message = format!("this inline assembly is refused by {assembler}");
    let mut error = Diagnostic::error(span, message);
    for (line, complaint) in complaints.into_iter().filter(|(line, _)| lines.contains(line)).take(SHOWN) {
        let code = kernel.ptx.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default().trim();
        error.notes.push(match code {
            "" | "}" => format!("at the end of the text: {complaint}"),
            _ => format!("of `{code}`: {complaint}"),
        });
    }
    Some(error)
}

/// The line and the message of `ptxas kernel.ptx, line 14; error   : Arguments mismatch for instruction 'add'`.
fn complaint(line: &str) -> Option<(u32, &str)> {
    let (number, rest) = line.split_once(", line ")?.1.split_once(';')?;
    let message = rest.split_once(": ").map_or(rest, |(_, message)| message);
    Some((number.trim().parse().ok()?, message.trim()))
}

#[cfg(test)]
mod tests {
    use super::fault;
    use tegula_gpu::{Options, Target, compile};
    use tegula_ir::Function;

    #[test]
    fn complaints_find_their_text() {
        let function = Function::parse(
            "kernel @k(%p: *i32) {
               %0 = assembly \"mov.u32 $0, %laneid;\" \"=r\" pack 1 : i32 loc(0:1:2)
               %1 = assembly \"{\\n  foo $0;\\n}\" \"=r\" pack 1 : i32 loc(0:3:4)
               %2 = add %0, %1 : i32
               store %p, %2
             }",
        )
        .unwrap();
        let kernel = compile(&function, Target::specific(90), &Options::default()).unwrap();
        let line = 1 + kernel.ptx.lines().position(|line| line.contains("foo")).unwrap();
        let log = format!(
            "ptxas application ptx input, line {line}; error   : Not a name: 'foo'\nptxas application ptx input, line {}; \
             fatal   : Parsing error near '}}': syntax error\nptxas fatal   : Ptx assembly aborted due to errors\n",
            line + 1
        );
        let found = fault(&kernel, "ptxas", &log).unwrap();
        assert_eq!((found.labels[0].span.start, found.labels[0].span.end), (3, 4));
        assert!(found.notes[0].starts_with("of `foo %r") && found.notes[0].ends_with("`: Not a name: 'foo'"));
        assert_eq!(found.notes[1], "at the end of the text: Parsing error near '}': syntax error");
        assert_eq!(fault(&kernel, "ptxas", "ptxas x.ptx, line 1; error   : no\nptxas fatal   : Ptx\n"), None);
    }
}
