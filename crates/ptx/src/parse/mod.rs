//! Reads PTX text back into data: the subset that the printer writes.

mod lexer;
mod module;
mod user_text;

pub(crate) use lexer::{VERBATIM_BEGIN, VERBATIM_END};
pub use module::{parse_module, parse_module_with_lines};

use crate::operand::{Base, register, special};
use crate::{Address, Class, Label, Modifier, Operand, Predicate, Register, Symbol};
use lexer::Token;

/// Text that is not PTX of the subset known here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    /// The line, counted from 1.
    pub line: u32,
    /// What was found, and what was expected.
    pub message: String,
}

impl ParseError {
    pub(crate) fn new(line: u32, message: impl Into<String>) -> ParseError {
        ParseError { line, message: message.into() }
    }
}

/// The lines of each text of the user in a module's text, counted from 1, with the braces of its scope.
pub fn verbatim_lines(text: &str) -> Vec<std::ops::Range<u32>> {
    let mut found = Vec::new();
    let mut place = 0;
    let mut line = 1;
    while let Some(start) = text[place..].find(VERBATIM_BEGIN) {
        let (start, inside) = (place + start, place + start + VERBATIM_BEGIN.len());
        let end =
            text[inside..].find(VERBATIM_END).map_or(text.len(), |end| inside + end + VERBATIM_END.len());
        let newlines = |range: std::ops::Range<usize>| text[range].matches('\n').count() as u32;
        let first = line + newlines(place..start);
        line = first + newlines(start..end);
        found.push(first..line + 1);
        place = end;
    }
    found
}

pub(crate) type Result<T> = std::result::Result<T, ParseError>;

/// The name of an instruction, consumed word by word.
pub(crate) struct Name<'a> {
    whole: &'a str,
    words: std::iter::Peekable<std::str::Split<'a, char>>,
    line: u32,
    /// The words by which the instruction was recognised.
    pub prefix: &'static str,
}

impl<'a> Name<'a> {
    /// The name after the words of `prefix`, with which it begins.
    pub fn after(whole: &'a str, prefix: &'static str, line: u32) -> Name<'a> {
        let mut words = whole.split('.').peekable();
        for _ in prefix.split('.') {
            words.next();
        }
        Name { whole, words, line, prefix }
    }

    /// The next word, if it is of this kind.
    pub fn take<M: Modifier>(&mut self) -> Option<M> {
        let value = self.words.peek().and_then(|word| M::from_text(word))?;
        self.words.next();
        Some(value)
    }

    /// The next word, which must be of this kind.
    pub fn require<M: Modifier>(&mut self, what: &str) -> Result<M> {
        self.take().ok_or_else(|| self.unexpected(what))
    }

    /// Whether the next word is this one; if so it is consumed.
    pub fn flag(&mut self, word: &str) -> bool {
        self.words.next_if_eq(&word).is_some()
    }

    /// Consumes words that must follow.
    pub fn expect(&mut self, words: &str) -> Result<()> {
        match words.split('.').find(|&word| !self.flag(word)) {
            Some(missing) => Err(self.unexpected(&format!("`.{missing}`"))),
            None => Ok(()),
        }
    }

    /// The next word as it is.
    pub fn word(&mut self, what: &str) -> Result<&'a str> {
        match self.words.next() {
            Some(word) => Ok(word),
            None => Err(self.unexpected(what)),
        }
    }

    /// Checks that no word is left.
    pub fn end(&mut self) -> Result<()> {
        match self.words.peek() {
            Some(_) => Err(self.unexpected("the end of the name")),
            None => Ok(()),
        }
    }

    /// The error of a name that does not go on as it should.
    pub fn unexpected(&mut self, what: &str) -> ParseError {
        let found = self.words.peek().map_or("nothing".to_owned(), |word| format!("`.{word}`"));
        ParseError::new(self.line, format!("in `{}`: expected {what}, found {found}", self.whole))
    }
}

/// A position in the tokens.
pub(crate) struct Parser<'a> {
    tokens: Vec<(Token<'a>, u32)>,
    position: usize,
    /// Whether an operand of the current instruction has been read.
    separated: bool,
    /// For each function read so far, the line of each statement of its body.
    statement_lines: Vec<Vec<u32>>,
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a str) -> Result<Parser<'a>> {
        Ok(Parser {
            tokens: lexer::tokens(text)?,
            position: 0,
            separated: false,
            statement_lines: Vec::new(),
        })
    }

    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.position).map(|&(token, _)| token)
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek()?;
        self.position += 1;
        Some(token)
    }

    /// The line of the next token, or of the last.
    pub fn line(&self) -> u32 {
        self.tokens.get(self.position).or(self.tokens.last()).map_or(1, |&(_, line)| line)
    }

    pub fn unexpected(&self, what: &str) -> ParseError {
        let found = match self.peek() {
            None => "the end".to_owned(),
            Some(Token::Word(text) | Token::Number(text)) => format!("`{text}`"),
            Some(Token::Text(text)) => format!("\"{text}\""),
            Some(Token::Mark(mark)) => format!("`{mark}`"),
            Some(Token::Verbatim(_)) => "inline assembly".to_owned(),
        };
        ParseError::new(self.line(), format!("expected {what}, found {found}"))
    }

    /// Whether the next token is this character; if so it is consumed.
    pub fn mark(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(Token::Mark(mark));
        self.position += usize::from(found);
        found
    }

    pub fn expect_mark(&mut self, mark: char) -> Result<()> {
        if self.mark(mark) { Ok(()) } else { Err(self.unexpected(&format!("`{mark}`"))) }
    }

    fn word(&mut self, what: &str) -> Result<&'a str> {
        match self.peek() {
            Some(Token::Word(word)) => {
                self.position += 1;
                Ok(word)
            }
            _ => Err(self.unexpected(what)),
        }
    }

    fn word_if(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(Token::Word(word));
        self.position += usize::from(found);
        found
    }

    /// Prepares for the operands of an instruction.
    pub fn begin_operands(&mut self) {
        self.separated = false;
    }

    /// Whether another operand follows.
    pub fn more(&self) -> bool {
        self.peek() == Some(Token::Mark(',')) || (!self.separated && self.peek() != Some(Token::Mark(';')))
    }

    fn separate(&mut self) -> Result<()> {
        if self.separated {
            self.expect_mark(',')?;
        }
        self.separated = true;
        Ok(())
    }

    /// Checks that the instruction ends here.
    pub fn end_operands(&mut self) -> Result<()> {
        self.expect_mark(';')
    }

    /// An operand that is read.
    pub fn operand(&mut self) -> Result<Operand> {
        self.separate()?;
        self.value()
    }

    /// `N` operands that are read.
    pub fn operands<const N: usize>(&mut self) -> Result<[Operand; N]> {
        let mut operands = [Operand::Integer(0); N];
        for operand in &mut operands {
            *operand = self.operand()?;
        }
        Ok(operands)
    }

    /// An operand, if one follows.
    pub fn optional_operand(&mut self) -> Result<Option<Operand>> {
        if self.more() { self.operand().map(Some) } else { Ok(None) }
    }

    /// An operand, if it is wanted.
    pub fn operand_when(&mut self, wanted: bool) -> Result<Option<Operand>> {
        if wanted { self.operand().map(Some) } else { Ok(None) }
    }

    /// A register.
    pub fn register(&mut self) -> Result<Register> {
        self.separate()?;
        self.register_value()
    }

    /// A register, or `_`.
    pub fn sink(&mut self) -> Result<Option<Register>> {
        self.separate()?;
        self.register_or_sink()
    }

    /// `a` or `a|b`, the first perhaps `_`.
    pub fn pair(&mut self) -> Result<(Option<Register>, Option<Register>)> {
        self.separate()?;
        let first = self.register_or_sink()?;
        let second = if self.mark('|') { Some(self.register_value()?) } else { None };
        Ok((first, second))
    }

    /// A predicate that is read, perhaps negated.
    pub fn predicate(&mut self) -> Result<Predicate> {
        self.separate()?;
        self.predicate_value()
    }

    pub fn predicate_value(&mut self) -> Result<Predicate> {
        let negated = self.mark('!');
        Ok(Predicate { register: self.register_value()?, negated })
    }

    /// Whether the next operand begins with this character.
    pub fn operand_begins(&self, mark: char) -> bool {
        self.operand_start() == Some(Token::Mark(mark))
    }

    /// The token with which the next operand begins.
    fn operand_start(&self) -> Option<Token<'a>> {
        self.tokens.get(self.position + usize::from(self.separated)).map(|&(token, _)| token)
    }

    /// Whether the next operand is the name of a variable.
    pub fn operand_is_symbol(&self) -> bool {
        matches!(self.operand_start(), Some(Token::Word(word)) if register(word).is_none() && special(word).is_none())
    }

    /// Whether the next operand is a predicate, perhaps negated.
    pub fn operand_is_predicate(&self) -> bool {
        match self.operand_start() {
            Some(Token::Mark(mark)) => mark == '!',
            Some(Token::Word(word)) => register(word).is_some_and(|register| register.class == Class::Pred),
            _ => false,
        }
    }

    /// A register, if it is wanted.
    pub fn register_when(&mut self, wanted: bool) -> Result<Option<Register>> {
        if wanted { self.register().map(Some) } else { Ok(None) }
    }

    /// The registers in braces.
    pub fn registers<C: FromIterator<Register>>(&mut self) -> Result<C> {
        self.separate()?;
        self.braces(Self::register_value)
    }

    /// The operands in braces.
    pub fn vector<C: FromIterator<Operand>>(&mut self) -> Result<C> {
        self.separate()?;
        self.braces(Self::value)
    }

    /// The registers, or `_`, in braces.
    pub fn sinks<C: FromIterator<Option<Register>>>(&mut self) -> Result<C> {
        self.separate()?;
        self.braces(Self::register_or_sink)
    }

    /// One register, or several in braces.
    pub fn scalar_or_registers<C: FromIterator<Register>>(&mut self) -> Result<C> {
        if self.operand_begins('{') { self.registers() } else { Ok([self.register()?].into_iter().collect()) }
    }

    /// One operand, or several in braces.
    pub fn scalar_or_vector<C: FromIterator<Operand>>(&mut self) -> Result<C> {
        if self.operand_begins('{') { self.vector() } else { Ok([self.operand()?].into_iter().collect()) }
    }

    fn braces<T, C: FromIterator<T>>(&mut self, item: impl Fn(&mut Self) -> Result<T>) -> Result<C> {
        self.expect_mark('{')?;
        let mut items = vec![item(self)?];
        while self.mark(',') {
            items.push(item(self)?);
        }
        self.expect_mark('}')?;
        Ok(items.into_iter().collect())
    }

    /// An address in brackets.
    pub fn address(&mut self) -> Result<Address> {
        self.separate()?;
        self.expect_mark('[')?;
        let address = self.address_value()?;
        self.expect_mark(']')?;
        Ok(address)
    }

    /// A tensor map's address and coordinates.
    pub fn tensor_address<C: FromIterator<Operand>>(&mut self) -> Result<(Address, C)> {
        self.separate()?;
        self.expect_mark('[')?;
        let map = self.address_value()?;
        self.expect_mark(',')?;
        let coordinates = self.braces(Self::value)?;
        self.expect_mark(']')?;
        Ok((map, coordinates))
    }

    fn address_value(&mut self) -> Result<Address> {
        if matches!(self.peek(), Some(Token::Number(_)) | Some(Token::Mark('-'))) {
            return Ok(Address { base: Base::Zero, offset: self.offset()? });
        }
        let word = self.word("a register or a name")?;
        let base = register(word).map_or_else(|| Base::Symbol(word.into()), Base::Register);
        let offset = if self.mark('+') { self.offset()? } else { 0 };
        Ok(Address { base, offset })
    }

    fn offset(&mut self) -> Result<i32> {
        let value = self.integer()?;
        i32::try_from(value).map_err(|_| self.unexpected("an offset of 32 bits before"))
    }

    /// A name.
    pub fn symbol(&mut self) -> Result<Symbol> {
        self.separate()?;
        self.word("a name").map(Symbol::from)
    }

    /// A label.
    pub fn label(&mut self) -> Result<Label> {
        self.separate()?;
        let label = match self.peek() {
            Some(Token::Word(word)) => label(word),
            _ => None,
        };
        let label = label.ok_or_else(|| self.unexpected("a label"))?;
        self.position += 1;
        Ok(label)
    }

    /// An unsigned number that is part of the instruction.
    pub fn count<T: TryFrom<i64>>(&mut self) -> Result<T> {
        self.separate()?;
        let value = self.integer()?;
        T::try_from(value).map_err(|_| self.unexpected("a number in range before"))
    }

    fn register_or_sink(&mut self) -> Result<Option<Register>> {
        if self.word_if("_") { Ok(None) } else { self.register_value().map(Some) }
    }

    fn register_value(&mut self) -> Result<Register> {
        let found = match self.peek() {
            Some(Token::Word(word)) => register(word),
            _ => None,
        };
        let found = found.ok_or_else(|| self.unexpected("a register"))?;
        self.position += 1;
        Ok(found)
    }

    fn value(&mut self) -> Result<Operand> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let operand = special(word).map(Operand::Special).or(register(word).map(Operand::Register));
                let operand = operand.ok_or_else(|| self.unexpected("a register or a number"))?;
                self.position += 1;
                Ok(operand)
            }
            Some(Token::Number(text)) if text.len() == 10 && text.starts_with("0f") => {
                let bits = u32::from_str_radix(&text[2..], 16).map_err(|_| self.unexpected("a number"))?;
                self.position += 1;
                Ok(Operand::Float32(bits))
            }
            Some(Token::Number(text)) if text.len() == 18 && text.starts_with("0d") => {
                let bits = u64::from_str_radix(&text[2..], 16).map_err(|_| self.unexpected("a number"))?;
                self.position += 1;
                Ok(Operand::Float64(bits))
            }
            _ => self.integer().map(Operand::Integer),
        }
    }

    /// A signed integer, decimal or hexadecimal.
    pub fn integer(&mut self) -> Result<i64> {
        let negative = self.mark('-');
        let Some(Token::Number(text)) = self.peek() else { return Err(self.unexpected("a number")) };
        let magnitude = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse::<u64>(),
        };
        let magnitude = magnitude.map_err(|_| self.unexpected("an integer"))?;
        self.position += 1;
        Ok(if negative { (magnitude as i64).wrapping_neg() } else { magnitude as i64 })
    }
}

/// The label written as `text`.
fn label(text: &str) -> Option<Label> {
    text.strip_prefix("$L")?.parse().ok().map(Label)
}
