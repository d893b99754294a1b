//! Mutated kernels never make the front end panic: each compiles, to a function that verifies, or is refused with a message.
//!
//! `TEGULA_FUZZ_CASES=100000 cargo test -p tegula-frontend --release --test fuzz` looks longer.

mod support;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

/// A change of a text. Positions are fractions of its length, so that each fits any text.
#[derive(Clone, Debug)]
enum Mutation {
    DeleteToken(Index),
    DuplicateToken(Index, Index),
    SwapTokens(Index, Index),
    ReplaceToken(Index, usize),
    DeleteLine(Index),
    DuplicateLine(Index, Index),
    SwapLines(Index, Index),
    Indent(Index, bool),
    /// A line of another kernel.
    Transplant(Index, Index, Index),
}

/// What tokens are replaced with: the words of the language, and constants at the edges of types.
const WORDS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2**31",
    "2**63",
    "2**126",
    "1e300",
    "float('nan')",
    "None",
    "True",
    "'text'",
    "(1, 2)",
    "[]",
    "()",
    "tl",
    "tl.float16",
    "tl.int1",
    "x_ptr",
    "n",
    "kernel",
    "tl.load",
    "tl.arange(0, 8)",
    "tl.zeros((4, 4), tl.int8)",
    "tl.static_range(3)",
    "range(n)",
    "print",
    "len",
    "isinstance",
    "not",
    "and",
    "in",
    "is",
    "if",
    "else",
    "for",
    "while",
    "return",
    "pass",
    ":",
    "=",
    "+=",
    "**",
    "//",
    "<<",
    "@",
    "[:, None]",
    "[::2]",
    "...",
    "*",
    "f'{n}'",
    "lambda",
    "==",
];

fn mutation() -> impl Strategy<Value = Mutation> {
    let index = any::<Index>;
    prop_oneof![
        1 => index().prop_map(Mutation::DeleteToken),
        1 => (index(), index()).prop_map(|(a, b)| Mutation::DuplicateToken(a, b)),
        1 => (index(), index()).prop_map(|(a, b)| Mutation::SwapTokens(a, b)),
        4 => (index(), 0..WORDS.len()).prop_map(|(a, word)| Mutation::ReplaceToken(a, word)),
        1 => index().prop_map(Mutation::DeleteLine),
        1 => (index(), index()).prop_map(|(a, b)| Mutation::DuplicateLine(a, b)),
        1 => (index(), index()).prop_map(|(a, b)| Mutation::SwapLines(a, b)),
        1 => (index(), any::<bool>()).prop_map(|(a, deeper)| Mutation::Indent(a, deeper)),
        1 => (index(), index(), index()).prop_map(|(kernel, from, to)| Mutation::Transplant(kernel, from, to)),
    ]
}

/// Names, numbers and signs, with the space between them as tokens of its own, so that joining them gives the text back.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let word = |letter: char| letter.is_alphanumeric() || letter == '_';
    for letter in text.chars() {
        match tokens.last_mut() {
            Some(last) if word(letter) && last.chars().all(word) => last.push(letter),
            _ => tokens.push(letter.to_string()),
        }
    }
    tokens
}

fn mutate(text: &str, seeds: &[String], mutation: &Mutation) -> String {
    let mut tokens = tokens(text);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // The first line tells how to compile the kernel.
    if lines.len() < 2 || tokens.is_empty() {
        return text.to_owned();
    }
    let first = tokens.iter().position(|token| token == "\n").map_or(0, |newline| newline + 1);
    let token =
        |index: &Index, length: usize| if first < length { first + index.index(length - first) } else { 0 };
    let line = |index: &Index, length: usize| 1 + index.index(length - 1);
    match mutation {
        Mutation::DeleteToken(at) => drop(tokens.remove(token(at, tokens.len()))),
        Mutation::DuplicateToken(from, to) => {
            let copy = tokens[token(from, tokens.len())].clone();
            tokens.insert(token(to, tokens.len()), copy);
        }
        Mutation::SwapTokens(a, b) => {
            let length = tokens.len();
            tokens.swap(token(a, length), token(b, length));
        }
        Mutation::ReplaceToken(at, word) => {
            let at = token(at, tokens.len());
            tokens[at] = WORDS[*word].to_owned();
        }
        line_mutation => {
            let length = lines.len();
            match line_mutation {
                Mutation::DeleteLine(at) => drop(lines.remove(line(at, length))),
                Mutation::DuplicateLine(from, to) => {
                    let copy = lines[line(from, length)].clone();
                    lines.insert(line(to, length), copy);
                }
                Mutation::SwapLines(a, b) => lines.swap(line(a, length), line(b, length)),
                Mutation::Indent(at, true) => lines[line(at, length)].insert_str(0, "    "),
                Mutation::Indent(at, false) => {
                    let line = &mut lines[line(at, length)];
                    *line = line.strip_prefix("    ").unwrap_or(line).to_owned();
                }
                Mutation::Transplant(kernel, from, to) => {
                    let other: Vec<&str> = kernel.get(seeds).lines().collect();
                    lines.insert(line(to, length), other[from.index(other.len())].to_owned());
                }
                _ => {}
            }
            return lines.join("\n") + "\n";
        }
    }
    tokens.concat()
}

#[test]
fn mutated_kernels_never_panic() {
    let seeds: Vec<String> = ["kernels", "faults", "seeds"]
        .iter()
        .flat_map(|folder| {
            std::fs::read_dir(format!("{}/tests/{folder}", env!("CARGO_MANIFEST_DIR"))).unwrap()
        })
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    assert!(seeds.len() > 15, "the seeds are there");
    let cases = std::env::var("TEGULA_FUZZ_CASES").map_or(300, |cases| cases.parse().unwrap());
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let strategy = (any::<Index>(), vec(mutation(), 1..6));
    let outcome = TestRunner::new(config).run(&strategy, |(seed, mutations)| {
        let text =
            mutations.iter().fold(seed.get(&seeds).clone(), |text, mutation| mutate(&text, &seeds, mutation));
        for interpreted in [false, true] {
            match support::compile_text("mutated.py", &text, interpreted) {
                Ok(function) => {
                    let verified = tegula_ir::verify(&function);
                    prop_assert!(verified.is_ok(), "{text}\n{function}\n{verified:?}");
                }
                Err(error) => {
                    let message = error.render(false);
                    prop_assert!(!message.is_empty());
                    prop_assert!(!message.contains("fault of the compiler"), "{text}\n{message}");
                }
            }
        }
        Ok(())
    });
    outcome.unwrap();
}
