//! Texts of the user as ordinary instructions, for those who execute PTX.
//!
//! ```text
//! { .reg .b32 t<2>;  mov.b32 t0, %r1;  add.s32 %r0, t0, 1; }   =>   mov.b32 %r7, %r1;  add.s32 %r0, %r7, 1;
//! ```
//!
//! Registers that a text declares become new ones of the function, and labels new labels; braces of scopes go away.

use super::lexer::{self, Token};
use super::{ParseError, Parser, Result};
use crate::{Class, Function, Label, Modifier, Statement, Type};
use std::collections::HashMap;

impl Function {
    /// The function with each text of the user as the instructions that it is, and the line of each statement in the module's
    /// text; `lines` has those of this function's statements.
    ///
    /// # Errors
    /// What of a text is not of the subset of PTX that this crate knows.
    pub fn with_texts_read(&self, lines: &[u32]) -> Result<(Function, Vec<u32>)> {
        let mut function = self.clone();
        let labels = self.body.iter().filter_map(|statement| match statement {
            Statement::Label(Label(number)) => Some(number + 1),
            _ => None,
        });
        let mut next_label = labels.max().unwrap_or(0);
        function.body = Vec::with_capacity(self.body.len());
        let mut all_lines = Vec::with_capacity(lines.len());
        for (index, statement) in self.body.iter().enumerate() {
            let line = lines.get(index).copied().unwrap_or_default();
            let Statement::Verbatim(text) = statement else {
                function.body.push(statement.clone());
                all_lines.push(line);
                continue;
            };
            // The lines of the marker and of the brace come first.
            let place = |inner: u32| line + 1 + inner;
            let at = |error: ParseError| ParseError { line: place(error.line), ..error };
            let flat = flattened(text, &mut function, &mut next_label).map_err(at)?;
            let mut parser = Parser::new(&flat).map_err(at)?;
            while parser.peek().is_some() {
                let inner = parser.line();
                parser.statement(&mut function).map_err(at)?;
                all_lines.resize(function.body.len(), place(inner));
            }
        }
        Ok((function, all_lines))
    }
}

/// The names of a scope.
type Names = HashMap<String, String>;

/// A text without scopes and declarations, line by line the same; what it declares has the names of new registers and labels.
fn flattened(text: &str, function: &mut Function, next_label: &mut u32) -> Result<String> {
    let tokens = lexer::tokens(text)?;
    let mut scopes: Vec<Names> = vec![Names::new()];
    for pair in tokens.windows(2) {
        if let [(Token::Word(name), _), (Token::Mark(':'), _)] = pair {
            scopes[0].insert((*name).to_owned(), format!("$L{next_label}"));
            *next_label += 1;
        }
    }
    let mut out = String::new();
    let mut line = 1;
    let mut begins = true;
    let mut position = 0;
    while let Some(&(token, at)) = tokens.get(position) {
        position += 1;
        while line < at {
            out.push('\n');
            line += 1;
        }
        match token {
            Token::Mark('{') if begins => scopes.push(Names::new()),
            Token::Mark('}') if begins => {
                scopes.pop();
            }
            Token::Word(word) if begins && word.split('.').nth(1) == Some("reg") => {
                let names = scopes.last_mut().ok_or_else(|| ParseError::new(at, "a brace closes nothing"))?;
                position = declare(&tokens, position - 1, names, function)?;
            }
            Token::Word(word) => {
                let known = scopes.iter().rev().find_map(|names| names.get(word));
                out.push_str(known.map_or(word, String::as_str));
                begins = false;
            }
            Token::Number(number) => out.push_str(number),
            Token::Text(inner) => {
                out.push('"');
                out.push_str(inner);
                out.push('"');
            }
            Token::Mark(mark) => {
                out.push(mark);
                begins = matches!(mark, ';' | ':');
            }
            Token::Verbatim(_) => return Err(ParseError::new(at, "a text holds the marks of another")),
        }
        out.push(' ');
    }
    Ok(out)
}

/// Reads `.reg .b32 a, b<4>;` from a position on; returns the position after it.
fn declare(
    tokens: &[(Token<'_>, u32)],
    mut position: usize,
    names: &mut Names,
    function: &mut Function,
) -> Result<usize> {
    let at = tokens[position].1;
    let fault = || ParseError::new(at, "expected registers with a type, as in `.reg .b32 t;`");
    let mut next = || {
        position += 1;
        tokens.get(position - 1).map(|&(token, _)| token)
    };
    let Some(Token::Word(first)) = next() else { return Err(fault()) };
    let written = match first.strip_prefix(".reg.") {
        Some(ty) => Some(ty),
        None => match next() {
            Some(Token::Word(ty)) => ty.strip_prefix('.'),
            _ => None,
        },
    };
    let ty: Type = written.and_then(Type::from_text).ok_or_else(fault)?;
    let class = Class::of(ty);
    loop {
        let Some(Token::Word(name)) = next() else { return Err(fault()) };
        let mut after = next();
        if after == Some(Token::Mark('<')) {
            let Some(Token::Number(count)) = next() else { return Err(fault()) };
            let count: u32 = count.parse().ok().filter(|&count| count <= 1 << 12).ok_or_else(fault)?;
            for index in 0..count {
                names.insert(format!("{name}{index}"), function.fresh(class).to_string());
            }
            if next() != Some(Token::Mark('>')) {
                return Err(fault());
            }
            after = next();
        } else {
            names.insert(name.to_owned(), function.fresh(class).to_string());
        }
        match after {
            Some(Token::Mark(',')) => {}
            Some(Token::Mark(';')) => return Ok(position),
            _ => return Err(fault()),
        }
    }
}
