//! Text to function.
//!
//! A recursive descent over characters; there are no tokens, since `16x64xfp32` has none.

use crate::function::{Function, Param, RegionId, Value};
use crate::op::{
    Assembly, AtomicOp, AtomicOrdering, AtomicScope, BinaryOp, CacheModifier, DotPrecision, EvictionPolicy,
    Hint, Literal, LoopAttributes, Op, Predicate, Rounding, UnaryOp,
};
use crate::source::{FileId, Span};
use crate::types::{Element, Pointer, Scalar, Shape, Type};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

/// Regions nested deeper than this are refused, so that no text exhausts the stack.
const MAX_DEPTH: usize = 100;

/// Why a text is no function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

impl Function {
    /// Reads the text form. The result has the text's types, but is not verified: `verify` says whether they fit.
    ///
    /// # Errors
    /// Text that is not in the form that `Display` writes, or uses a value before it is defined.
    pub fn parse(text: &str) -> Result<Function, ParseError> {
        let mut parser = Parser {
            text,
            position: 0,
            function: Function::new("", Vec::new()),
            names: HashMap::new(),
            depth: 0,
        };
        parser.function().map_err(|message| {
            let before = &text[..parser.position];
            ParseError {
                line: before.matches('\n').count() + 1,
                column: before.rsplit('\n').next().unwrap_or("").chars().count() + 1,
                message,
            }
        })?;
        Ok(parser.function)
    }
}

impl FromStr for Function {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Function, ParseError> {
        Function::parse(text)
    }
}

/// The error is a message; it is about the current position.
type Parse<T> = Result<T, String>;

struct Parser<'t> {
    text: &'t str,
    position: usize,
    function: Function,
    names: HashMap<String, Value>,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.position..]
    }

    fn skip_space(&mut self) {
        loop {
            let rest = self.rest().trim_start();
            self.position = self.text.len() - rest.len();
            if !rest.starts_with("//") {
                return;
            }
            self.position += rest.find('\n').unwrap_or(rest.len());
        }
    }

    /// Takes a punctuation mark, if it comes next; otherwise moves nowhere.
    fn eat(&mut self, mark: &str) -> bool {
        let start = self.position;
        self.skip_space();
        let found = self.rest().starts_with(mark);
        self.position = if found { self.position + mark.len() } else { start };
        found
    }

    fn expect(&mut self, mark: &str) -> Parse<()> {
        if self.eat(mark) { Ok(()) } else { Err(format!("expected `{mark}`")) }
    }

    /// Takes characters as long as they satisfy a condition.
    fn take_while(&mut self, condition: impl Fn(char) -> bool) -> &'t str {
        self.skip_space();
        let rest = self.rest();
        let end = rest.find(|c| !condition(c)).unwrap_or(rest.len());
        self.position += end;
        &rest[..end]
    }

    fn peek_word(&mut self) -> &'t str {
        let start = {
            self.skip_space();
            self.position
        };
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        self.position = start;
        word
    }

    /// Takes a keyword, if it comes next.
    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == word;
        if found {
            self.position += word.len();
        }
        found
    }

    fn expect_word(&mut self, word: &str) -> Parse<()> {
        if self.eat_word(word) { Ok(()) } else { Err(format!("expected `{word}`")) }
    }

    /// Takes a word that a table knows.
    fn word<T>(&mut self, what: &str, lookup: impl Fn(&str) -> Option<T>) -> Parse<T> {
        let word = self.peek_word();
        let found = lookup(word).ok_or_else(|| format!("expected {what}, found `{word}`"))?;
        self.position += word.len();
        Ok(found)
    }

    fn number<T: FromStr>(&mut self) -> Parse<T> {
        self.skip_space();
        let start = self.position;
        let sign = if self.eat("-") { self.position - start } else { 0 };
        let rest = self.rest();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let text = &self.text[start..start + sign + digits];
        let number = text.parse().map_err(|_| {
            if digits == 0 { "expected a number".to_owned() } else { format!("{text} is out of range") }
        });
        self.position = if number.is_ok() { start + sign + digits } else { start };
        number
    }

    fn numbers<T: FromStr, A: smallvec::Array<Item = T>>(&mut self) -> Parse<SmallVec<A>> {
        self.expect("[")?;
        let mut numbers = SmallVec::new();
        while !self.eat("]") {
            if !numbers.is_empty() {
                self.expect(",")?;
            }
            numbers.push(self.number()?);
        }
        Ok(numbers)
    }

    fn string(&mut self) -> Parse<String> {
        self.expect("\"")?;
        let mut string = String::new();
        let mut characters = self.rest().char_indices();
        loop {
            let (offset, character) = characters.next().ok_or("the string is not closed")?;
            match character {
                '"' => {
                    self.position += offset + 1;
                    return Ok(string);
                }
                '\\' => match characters.next().map(|(_, escape)| escape) {
                    Some('n') => string.push('\n'),
                    Some('t') => string.push('\t'),
                    Some('u') => {
                        let (offset, _) = characters.next().ok_or("the string is not closed")?;
                        let rest = &self.rest()[offset..];
                        let code = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
                        let code = code.ok_or("`\\u` wants a code point in braces")?.0;
                        let character = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
                        string.push(character.ok_or_else(|| format!("{code} is no code point"))?);
                        characters.nth(code.chars().count());
                    }
                    Some(plain @ ('"' | '\\')) => string.push(plain),
                    _ => return Err("unknown escape in the string".to_owned()),
                },
                plain => string.push(plain),
            }
        }
    }

    /// A name after its `@` or `%`.
    fn name(&mut self) -> Parse<String> {
        if self.rest().starts_with('"') {
            return self.string();
        }
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end == 0 {
            return Err("expected a name".to_owned());
        }
        self.position += end;
        Ok(rest[..end].to_owned())
    }

    fn element(&mut self) -> Parse<Element> {
        let mut depth = 0u8;
        while self.eat("*") {
            depth = depth.checked_add(1).ok_or("too many `*`")?;
        }
        let constant = depth > 0 && self.peek_word().starts_with('k');
        if constant {
            self.position += 1;
        }
        let pointee = self.word("a type", Scalar::from_name)?;
        Ok(match depth {
            0 => Element::Scalar(pointee),
            depth => Element::Pointer(Pointer { pointee, depth, constant }),
        })
    }

    fn ty(&mut self) -> Parse<Type> {
        if !self.eat("<") {
            return Ok(Type::scalar(self.element()?));
        }
        let mut extents: Vec<u32> = Vec::new();
        while {
            self.skip_space();
            self.rest().starts_with(|c: char| c.is_ascii_digit())
        } {
            extents.push(self.number()?);
            self.expect("x")?;
        }
        if extents.is_empty() {
            return Err("expected the extents of a block".to_owned());
        }
        let element = self.element()?;
        self.expect(">")?;
        Ok(Type { element, shape: Shape::from(&extents[..]) })
    }

    fn types(&mut self) -> Parse<Vec<Type>> {
        let mut types = vec![self.ty()?];
        while self.eat(",") {
            types.push(self.ty()?);
        }
        Ok(types)
    }

    fn function(&mut self) -> Parse<()> {
        self.expect_word("kernel")?;
        self.expect("@")?;
        let name = self.name()?;
        self.expect("(")?;
        let mut params: Vec<Param> = Vec::new();
        while !self.eat(")") {
            if !params.is_empty() {
                self.expect(",")?;
            }
            self.expect("%")?;
            let name = self.name()?;
            if params.iter().any(|param| param.name == name) {
                return Err(format!("%{name} is defined twice"));
            }
            self.expect(":")?;
            let mut param = Param::new(name, self.ty()?);
            if self.eat("{") {
                self.expect_word("divisible")?;
                param.divisible_by = self.number()?;
                self.expect("}")?;
            }
            params.push(param);
        }
        self.function = Function::new(name, params);
        let params = self.function.params.iter().map(|param| (param.name.clone(), param.value));
        self.names = params.collect();
        let body = self.function.body;
        self.region(body)?;
        self.skip_space();
        if self.rest().is_empty() { Ok(()) } else { Err("expected the end of the text".to_owned()) }
    }

    /// A region with its braces.
    fn region(&mut self, region: RegionId) -> Parse<()> {
        if self.depth == MAX_DEPTH {
            return Err(format!("regions are nested more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        self.expect("{")?;
        while !self.eat("}") {
            if self.eat_word("yield") {
                let yields = self.values()?;
                self.function.region_mut(region).yields = yields;
                self.expect("}")?;
                break;
            }
            self.statement(region)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn bind(&mut self, name: String, value: Value) -> Parse<()> {
        match self.names.insert(name.clone(), value) {
            None => Ok(()),
            Some(_) => Err(format!("%{name} is defined twice")),
        }
    }

    /// The name of a value about to be defined.
    fn new_name(&mut self) -> Parse<String> {
        self.expect("%")?;
        let name = self.name()?;
        if self.names.contains_key(&name) { Err(format!("%{name} is defined twice")) } else { Ok(name) }
    }

    fn value(&mut self) -> Parse<Value> {
        self.expect("%")?;
        let start = self.position;
        let name = self.name()?;
        self.names.get(&name).copied().ok_or_else(|| {
            self.position = start;
            format!("%{name} is not defined")
        })
    }

    /// Values separated by commas; at least one.
    fn values(&mut self) -> Parse<Vec<Value>> {
        let mut values = vec![self.value()?];
        while self.eat(",") {
            values.push(self.value()?);
        }
        Ok(values)
    }

    /// `(%0, %1)`, or nothing.
    fn parenthesised(&mut self) -> Parse<SmallVec<[Value; 2]>> {
        if !self.eat("(") {
            return Ok(SmallVec::new());
        }
        let values = self.values()?;
        self.expect(")")?;
        Ok(values.into())
    }

    /// As many values as the operation takes.
    fn operands<const N: usize>(&mut self) -> Parse<[Value; N]> {
        let mut values = [Value(0); N];
        for (index, value) in values.iter_mut().enumerate() {
            if index > 0 {
                self.expect(",")?;
            }
            *value = self.value()?;
        }
        Ok(values)
    }

    fn optional(&mut self, keyword: &str) -> Parse<Option<Value>> {
        if self.eat_word(keyword) { self.value().map(Some) } else { Ok(None) }
    }

    fn axis(&mut self) -> Parse<u8> {
        self.expect_word("axis")?;
        self.number()
    }

    fn statement(&mut self, region: RegionId) -> Parse<()> {
        let mut results = Vec::new();
        self.skip_space();
        if self.rest().starts_with('%') {
            results.push(self.new_name()?);
            while self.eat(",") {
                results.push(self.new_name()?);
            }
            self.expect("=")?;
        }
        let name = self.word("an operation", |word| (!word.is_empty()).then(|| word.to_owned()))?;
        let (op, types) = if name == "constant" {
            let (literal, ty) = self.constant()?;
            (Op::Constant(literal), vec![ty])
        } else {
            let op = self.op(&name)?;
            (
                op,
                if results.is_empty() {
                    Vec::new()
                } else {
                    self.expect(":")?;
                    self.types()?
                },
            )
        };
        if types.len() != results.len() {
            return Err(format!("`{name}` has {} results and {} types", results.len(), types.len()));
        }
        let span = if self.eat_word("loc") { self.span()? } else { Span::default() };
        let id = self.function.add_op(op, types, span);
        self.function.region_mut(region).ops.push(id);
        for (name, value) in results.into_iter().zip(self.function.op(id).results.clone()) {
            self.bind(name, value)?;
        }
        Ok(())
    }

    /// `(file:start:end)`.
    fn span(&mut self) -> Parse<Span> {
        self.expect("(")?;
        let file = FileId(self.number()?);
        self.expect(":")?;
        let start = self.number()?;
        self.expect(":")?;
        let end = self.number()?;
        self.expect(")")?;
        Ok(Span { file, start, end })
    }

    /// A literal with its type, which says how it is read; a float is rounded to it.
    fn constant(&mut self) -> Parse<(Literal, Type)> {
        let start = {
            self.skip_space();
            self.position
        };
        let text = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'));
        self.expect(":")?;
        let ty = self.ty()?;
        let literal = ty.element.as_scalar().and_then(|scalar| match scalar {
            Scalar::Int1 => match text {
                "true" => Some(Literal::Int(1)),
                "false" => Some(Literal::Int(0)),
                _ => None,
            },
            Scalar::UInt64 => text.parse::<u64>().ok().map(|value| Literal::Int(value as i64)),
            scalar if scalar.is_int() => text.parse().ok().map(Literal::Int),
            _ if text.contains("nan") => (text == "nan").then_some(Literal::Float(f64::NAN)),
            // Read as fp32 at once: by way of fp64 it would be rounded twice.
            Scalar::Float32 => text.parse::<f32>().ok().map(|value| Literal::Float(f64::from(value))),
            scalar => text.parse().ok().map(|value: f64| {
                let exact = scalar.holds(Literal::Float(value));
                Literal::Float(if exact { value } else { scalar.round(value, Rounding::NearestEven) })
            }),
        });
        literal.map(|literal| (literal, ty.clone())).ok_or_else(|| {
            self.position = start;
            format!("`{text}` is no value of type {ty}")
        })
    }

    /// What follows an operation's name, up to the types.
    fn op(&mut self, name: &str) -> Parse<Op> {
        Ok(match name {
            "program_id" => Op::ProgramId { axis: self.number()? },
            "num_programs" => Op::NumPrograms { axis: self.number()? },
            "arange" => {
                let start = self.number()?;
                self.expect("..")?;
                Op::Arange { start, end: self.number()? }
            }
            "splat" => Op::Splat { value: self.value()? },
            "broadcast" => Op::Broadcast { value: self.value()? },
            "expand_dims" => Op::ExpandDims { value: self.value()?, axis: self.axis()? },
            "reshape" => Op::Reshape { value: self.value()? },
            "transpose" => Op::Transpose { value: self.value()?, permutation: self.numbers()? },
            "join" => {
                let [lhs, rhs] = self.operands()?;
                Op::Join { lhs, rhs }
            }
            "split" => Op::Split { value: self.value()? },
            "concatenate" => {
                let [lhs, rhs] = self.operands()?;
                Op::Concatenate { lhs, rhs, axis: self.axis()? }
            }
            "slice" => Op::Slice { value: self.value()?, starts: self.numbers()? },
            "index" => {
                let [value, index] = self.operands()?;
                Op::Index { value, axis: self.axis()?, index }
            }
            "gather" => {
                let [source, indices] = self.operands()?;
                Op::Gather { source, indices, axis: self.axis()? }
            }
            "histogram" => Op::Histogram { value: self.value()?, mask: self.optional("mask")? },
            "compare" => {
                let predicate = self.word("a comparison", Predicate::from_name)?;
                let [lhs, rhs] = self.operands()?;
                Op::Compare { predicate, lhs, rhs }
            }
            "select" => {
                let [condition, on_true, on_false] = self.operands()?;
                Op::Select { condition, on_true, on_false }
            }
            "fma" => {
                let [a, b, c] = self.operands()?;
                Op::Fma { a, b, c }
            }
            "cast" => {
                let value = self.value()?;
                let towards_zero = self.eat_word(Rounding::TowardsZero.name());
                let rounding = if towards_zero { Rounding::TowardsZero } else { Rounding::NearestEven };
                Op::Cast { value, rounding }
            }
            "bitcast" => Op::Bitcast { value: self.value()? },
            "add_pointer" => {
                let [pointer, offset] = self.operands()?;
                Op::AddPointer { pointer, offset }
            }
            "load" => {
                let pointer = self.value()?;
                let mask = self.optional("mask")?;
                let other = self.optional("other")?;
                let (cache, eviction) = self.cache()?;
                Op::Load { pointer, mask, other, cache, eviction, volatile: self.eat_word("volatile") }
            }
            "store" => {
                let [pointer, value] = self.operands()?;
                let mask = self.optional("mask")?;
                let (cache, eviction) = self.cache()?;
                Op::Store { pointer, value, mask, cache, eviction }
            }
            "atomic" => {
                let op = self.word("an atomic operation", AtomicOp::from_name)?;
                let [pointer, value] = self.operands()?;
                let mask = self.optional("mask")?;
                let (ordering, scope) = self.ordering()?;
                Op::AtomicRmw { op, pointer, value, mask, ordering, scope }
            }
            "atomic_cas" => {
                let [pointer, expected, desired] = self.operands()?;
                let (ordering, scope) = self.ordering()?;
                Op::AtomicCas { pointer, expected, desired, ordering, scope }
            }
            "dot" => {
                let [lhs, rhs] = self.operands()?;
                let accumulator = self.optional("acc")?;
                let precision = match self.eat_word("precision") {
                    true => self.word("a precision", DotPrecision::from_name)?,
                    false => DotPrecision::default(),
                };
                Op::Dot { lhs, rhs, accumulator, precision }
            }
            "reduce" => {
                let values: SmallVec<_> = self.values()?.into();
                let axis = self.axis()?;
                Op::Reduce { combine: self.combine(&values)?, values, axis }
            }
            "scan" => {
                let values: SmallVec<_> = self.values()?.into();
                let axis = self.axis()?;
                let reverse = self.eat_word("reverse");
                Op::Scan { combine: self.combine(&values)?, values, axis, reverse }
            }
            "map" => {
                let values: SmallVec<_> = self.values()?.into();
                let elements = self.elements(&values);
                Op::MapElementwise { values, body: self.region_on(elements)? }
            }
            "assembly" => {
                let (text, constraints) = (self.string()?, self.string()?);
                self.expect_word("pack")?;
                let pack = self.number()?;
                let pure = self.eat_word("pure");
                let assembly = Box::new(Assembly { text, constraints, pack, pure });
                Op::InlineAssembly { assembly, values: self.parenthesised()? }
            }
            "for" => self.for_loop()?,
            "while" => self.while_loop()?,
            "if" => {
                let condition = self.value()?;
                let then = self.function.add_region();
                self.region(then)?;
                let otherwise = self.function.add_region();
                if self.eat_word("else") {
                    self.region(otherwise)?;
                }
                Op::If { condition, then, otherwise }
            }
            "print" => {
                let prefix = self.string()?;
                let hex = self.eat_word("hex");
                Op::Print { prefix, hex, values: self.parenthesised()? }
            }
            "assert" => {
                let condition = self.value()?;
                self.expect(",")?;
                Op::Assert { condition, message: self.string()?, mask: self.optional("mask")? }
            }
            "assume" => Op::Assume { condition: self.value()? },
            "barrier" => Op::Barrier,
            "annotate" => {
                let value = self.value()?;
                let hint = match self.peek_word() {
                    "multiple_of" => Hint::MultipleOf,
                    "max_contiguous" => Hint::MaxContiguous,
                    "max_constancy" => Hint::MaxConstancy,
                    word => return Err(format!("expected a hint, found `{word}`")),
                };
                self.position += self.peek_word().len();
                Op::Annotate { value, hint: hint(self.numbers()?) }
            }
            _ => {
                if let Some(op) = UnaryOp::from_name(name) {
                    Op::Unary { op, value: self.value()? }
                } else if let Some(op) = BinaryOp::from_name(name) {
                    let [lhs, rhs] = self.operands()?;
                    Op::Binary { op, lhs, rhs }
                } else {
                    self.position -= name.len();
                    return Err(format!("there is no operation `{name}`"));
                }
            }
        })
    }

    fn cache(&mut self) -> Parse<(CacheModifier, EvictionPolicy)> {
        let cache = match self.eat_word("cache") {
            true => self.word("a cache modifier", CacheModifier::from_name)?,
            false => CacheModifier::default(),
        };
        let eviction = match self.eat_word("evict") {
            true => self.word("an eviction policy", EvictionPolicy::from_name)?,
            false => EvictionPolicy::default(),
        };
        Ok((cache, eviction))
    }

    fn ordering(&mut self) -> Parse<(AtomicOrdering, AtomicScope)> {
        let ordering = match self.eat_word("order") {
            true => self.word("a memory ordering", AtomicOrdering::from_name)?,
            false => AtomicOrdering::default(),
        };
        let scope = match self.eat_word("scope") {
            true => self.word("a scope", AtomicScope::from_name)?,
            false => AtomicScope::default(),
        };
        Ok((ordering, scope))
    }

    fn elements(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|&value| Type::scalar(self.function.ty(value).element)).collect()
    }

    /// `(%0, %1) {...}`: a region whose arguments have the given types.
    fn region_on(&mut self, types: Vec<Type>) -> Parse<RegionId> {
        self.expect("(")?;
        let region = self.function.add_region();
        for (index, ty) in types.into_iter().enumerate() {
            if index > 0 {
                self.expect(",")?;
            }
            self.argument(region, ty)?;
        }
        self.expect(")")?;
        self.region(region)?;
        Ok(region)
    }

    fn argument(&mut self, region: RegionId, ty: Type) -> Parse<()> {
        let name = self.new_name()?;
        let value = self.function.add_region_arg(region, ty, Span::default());
        self.bind(name, value)
    }

    fn combine(&mut self, values: &[Value]) -> Parse<RegionId> {
        let elements = self.elements(values);
        self.region_on([elements.clone(), elements].concat())
    }

    /// `carry (%a = %init, ...)`: adds arguments to the region, and returns their initial values.
    fn carry(&mut self, region: RegionId) -> Parse<SmallVec<[Value; 4]>> {
        let mut inits = SmallVec::new();
        if !self.eat_word("carry") {
            return Ok(inits);
        }
        self.expect("(")?;
        while !self.eat(")") {
            if !inits.is_empty() {
                self.expect(",")?;
            }
            let name = self.new_name()?;
            self.expect("=")?;
            let init = self.value()?;
            let ty = self.function.ty(init).clone();
            let value = self.function.add_region_arg(region, ty, Span::default());
            self.bind(name, value)?;
            inits.push(init);
        }
        Ok(inits)
    }

    fn for_loop(&mut self) -> Parse<Op> {
        let index = self.new_name()?;
        self.expect("=")?;
        let lower = self.value()?;
        self.expect_word("to")?;
        let upper = self.value()?;
        self.expect_word("step")?;
        let step = self.value()?;
        let body = self.function.add_region();
        let ty = self.function.ty(lower).clone();
        let value = self.function.add_region_arg(body, ty, Span::default());
        self.bind(index, value)?;
        let inits = self.carry(body)?;
        let mut attributes = LoopAttributes::default();
        loop {
            match self.peek_word() {
                "num_stages" => {
                    self.expect_word("num_stages")?;
                    attributes.num_stages = Some(self.number()?);
                    continue;
                }
                "unroll" => {
                    self.expect_word("unroll")?;
                    attributes.unroll = Some(self.number()?);
                    continue;
                }
                "flatten" => attributes.flatten = true,
                "warp_specialize" => attributes.warp_specialize = true,
                "disallow_acc_multi_buffer" => attributes.disallow_acc_multi_buffer = true,
                "disable_licm" => attributes.disable_licm = true,
                _ => break,
            }
            self.position += self.peek_word().len();
        }
        self.region(body)?;
        Ok(Op::For { lower, upper, step, inits, body, attributes })
    }

    fn while_loop(&mut self) -> Parse<Op> {
        let condition = self.function.add_region();
        let inits = self.carry(condition)?;
        self.region(condition)?;
        self.expect_word("do")?;
        let yields = self.function.region(condition).yields.clone();
        let types: Vec<Type> = yields.iter().skip(1).map(|&v| self.function.ty(v).clone()).collect();
        let body = if types.is_empty() {
            let body = self.function.add_region();
            self.region(body)?;
            body
        } else {
            self.region_on(types)?
        };
        Ok(Op::While { inits, condition, body })
    }
}
