//! Reads a module: its directives, then functions statement by statement.

use super::lexer::Token;
use super::{ParseError, Parser, Result, label};
use crate::{
    Call, Class, Extent, ExternFunction, Function, Instruction, LaunchBounds, Linkage, Modifier, Module,
    Operand, Parameter, PointerFact, Register, Space, Statement, Symbol, Target, Type, Variable,
};

/// Reads the text of a module.
pub fn parse_module(text: &str) -> Result<Module> {
    parse_module_with_lines(text).map(|(module, _)| module)
}

/// Reads the text of a module; gives the lines of the statements of each function, too.
pub fn parse_module_with_lines(text: &str) -> Result<(Module, Vec<Vec<u32>>)> {
    let mut parser = Parser::new(text)?;
    parser.directive("version")?;
    // The version follows from the instructions; the one written is only checked to be one.
    if !matches!(parser.next(), Some(Token::Number(_))) {
        return Err(parser.unexpected("a version before"));
    }
    parser.directive("target")?;
    let line = parser.line();
    let target = Target::from_text(parser.word("a target")?);
    let target = target.ok_or_else(|| ParseError::new(line, "expected a target such as `sm_90`"))?;
    parser.directive("address_size")?;
    if parser.integer()? != 64 {
        return Err(parser.unexpected("64-bit addresses before"));
    }
    let mut module = Module::new(target.architecture);
    while parser.peek().is_some() {
        parser.module_item(&mut module)?;
    }
    Ok((module, parser.statement_lines))
}

impl<'a> Parser<'a> {
    /// Consumes `.word`.
    fn directive(&mut self, word: &str) -> Result<()> {
        if self.directive_if(word) { Ok(()) } else { Err(self.unexpected(&format!("`.{word}`"))) }
    }

    fn directive_if(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(found)) if found.strip_prefix('.') == Some(word));
        self.position += usize::from(found);
        found
    }

    /// The next word, without its dot, as a modifier.
    fn dotted<M: Modifier>(&mut self) -> Option<M> {
        let Some(Token::Word(word)) = self.peek() else { return None };
        let value = M::from_text(word.strip_prefix('.')?)?;
        self.position += 1;
        Some(value)
    }

    fn require_dotted<M: Modifier>(&mut self, what: &str) -> Result<M> {
        self.dotted().ok_or_else(|| self.unexpected(what))
    }

    fn unsigned<T: TryFrom<i64>>(&mut self) -> Result<T> {
        let value = self.integer()?;
        T::try_from(value).map_err(|_| self.unexpected("a number in range before"))
    }

    fn module_item(&mut self, module: &mut Module) -> Result<()> {
        if self.directive_if("file") {
            let number: usize = self.unsigned()?;
            let Some(Token::Text(path)) = self.next() else { return Err(self.unexpected("a path before")) };
            if number != module.files.len() + 1 {
                return Err(self.unexpected("files numbered from 1 in order, before"));
            }
            module.files.push(path.to_owned());
            return Ok(());
        }
        let linkage = self.dotted().unwrap_or(Linkage::Internal);
        let is_kernel = self.directive_if("entry");
        if !is_kernel && !self.directive_if("func") {
            let variable = self.variable(linkage)?;
            module.variables.push(variable);
            return Ok(());
        }
        let (name, results, parameters) = self.signature()?;
        if linkage == Linkage::Extern {
            self.expect_mark(';')?;
            module.externs.push(ExternFunction { name, results, parameters });
            return Ok(());
        }
        let mut function = Function::kernel(name);
        function.is_kernel = is_kernel;
        function.visible = linkage == Linkage::Visible;
        function.results = results;
        function.parameters = parameters;
        self.bounds(&mut function.bounds)?;
        self.body(&mut function)?;
        module.functions.push(function);
        Ok(())
    }

    fn signature(&mut self) -> Result<(Symbol, Vec<Parameter>, Vec<Parameter>)> {
        let results = if self.peek() == Some(Token::Mark('(')) { self.parameters()? } else { Vec::new() };
        let name = self.word("a name")?.into();
        Ok((name, results, self.parameters()?))
    }

    fn parameters(&mut self) -> Result<Vec<Parameter>> {
        self.expect_mark('(')?;
        let mut parameters = Vec::new();
        if self.mark(')') {
            return Ok(parameters);
        }
        loop {
            self.directive("param")?;
            let align = if self.directive_if("align") { Some(self.unsigned()?) } else { None };
            let ty = self.require_dotted("a type")?;
            let pointer = if self.directive_if("ptr") {
                let space: Space = self.require_dotted("a space")?;
                self.directive("align")?;
                Some(PointerFact { space, align: self.unsigned()? })
            } else {
                None
            };
            let name = self.word("a name")?.into();
            let array = if self.mark('[') {
                let count = self.unsigned()?;
                self.expect_mark(']')?;
                Some(count)
            } else {
                None
            };
            parameters.push(Parameter { name, ty, array, align, pointer });
            if !self.mark(',') {
                self.expect_mark(')')?;
                return Ok(parameters);
            }
        }
    }

    fn variable(&mut self, linkage: Linkage) -> Result<Variable> {
        let space = self.require_dotted("a function, a variable or a file")?;
        self.directive("align")?;
        let align = self.unsigned()?;
        let ty: Type = self.require_dotted("a type")?;
        let name = self.word("a name")?.into();
        let extent = if !self.mark('[') {
            Extent::One
        } else if self.mark(']') {
            Extent::Unsized
        } else {
            let count = self.unsigned()?;
            self.expect_mark(']')?;
            Extent::Array(count)
        };
        let mut bytes = Vec::new();
        if self.mark('=') {
            bytes = self.braces(|parser| parser.unsigned::<u8>())?;
        }
        self.expect_mark(';')?;
        Ok(Variable { linkage, space, align, ty, name, extent, bytes })
    }

    fn bounds(&mut self, bounds: &mut LaunchBounds) -> Result<()> {
        loop {
            if self.directive_if("maxntid") {
                bounds.max_threads = Some(self.triple()?);
            } else if self.directive_if("reqntid") {
                bounds.required_threads = Some(self.triple()?);
            } else if self.directive_if("reqnctapercluster") {
                bounds.cluster = Some(self.triple()?);
            } else if self.directive_if("minnctapersm") {
                bounds.min_blocks = Some(self.unsigned()?);
            } else if self.directive_if("maxnreg") {
                bounds.max_registers = Some(self.unsigned()?);
            } else {
                return Ok(());
            }
        }
    }

    /// One to three numbers; those not given are 1.
    fn triple(&mut self) -> Result<[u32; 3]> {
        let mut triple = [1; 3];
        for (index, value) in triple.iter_mut().enumerate() {
            if index > 0 && !self.mark(',') {
                break;
            }
            *value = self.unsigned()?;
        }
        Ok(triple)
    }

    fn body(&mut self, function: &mut Function) -> Result<()> {
        self.expect_mark('{')?;
        let mut lines = Vec::new();
        while !self.mark('}') {
            let line = self.line();
            self.statement(function)?;
            // Declarations are no statements.
            lines.resize(function.body.len(), line);
        }
        self.statement_lines.push(lines);
        Ok(())
    }

    /// A statement or a declaration of a function's body.
    pub(super) fn statement(&mut self, function: &mut Function) -> Result<()> {
        match self.peek() {
            Some(Token::Verbatim(text)) => {
                self.position += 1;
                function.body.push(Statement::Verbatim(text.to_owned()));
            }
            Some(Token::Mark('{')) => {
                let call = self.call()?;
                function.body.push(Statement::Call(call));
            }
            Some(Token::Mark('@')) => {
                self.position += 1;
                let guard = self.predicate_value()?;
                let instruction = self.instruction()?;
                function.body.push(Statement::Instruction { guard: Some(guard), instruction });
            }
            Some(Token::Word(word)) if word.starts_with('.') => self.body_directive(function)?,
            Some(Token::Word(word)) if word.starts_with('$') => {
                let label = label(word).ok_or_else(|| self.unexpected("a label such as `$L1`"))?;
                self.position += 1;
                self.expect_mark(':')?;
                function.body.push(Statement::Label(label));
            }
            _ => {
                let instruction = self.instruction()?;
                function.body.push(Statement::Instruction { guard: None, instruction });
            }
        }
        Ok(())
    }

    fn instruction(&mut self) -> Result<Instruction> {
        let line = self.line();
        let name = self.word("an instruction")?;
        Instruction::parse(name, line, self)
    }

    fn body_directive(&mut self, function: &mut Function) -> Result<()> {
        if self.directive_if("loc") {
            let (file, line, column) = (self.unsigned()?, self.unsigned()?, self.unsigned()?);
            function.body.push(Statement::Location { file, line, column });
            return Ok(());
        }
        if !self.directive_if("reg") {
            let variable = self.variable(Linkage::Internal)?;
            function.variables.push(variable);
            return Ok(());
        }
        let ty: Type = self.require_dotted("a type")?;
        let name = self.word("a family of registers")?;
        let class = Class::ALL.iter().copied().find(|class| name.strip_prefix('%') == Some(class.text()));
        match class {
            Some(class) if class.declared() == ty => {
                self.expect_mark('<')?;
                function.registers[class as usize] = self.unsigned()?;
                self.expect_mark('>')?;
                self.expect_mark(';')
            }
            _ => Err(self.unexpected(&format!("the letter of registers of `.{}` before", ty.text()))),
        }
    }

    /// A call, in braces with the stores and loads of its parameters.
    fn call(&mut self) -> Result<Call> {
        self.expect_mark('{')?;
        let mut arguments = Vec::new();
        let mut result_type = None;
        while self.directive_if("param") {
            let ty: Type = self.require_dotted("a type")?;
            let name = self.word("a parameter")?;
            self.expect_mark(';')?;
            if name.starts_with("result") {
                result_type = Some(ty);
                continue;
            }
            self.parameter_access("st.param", ty)?;
            self.expect_mark('[')?;
            self.expect_word(name)?;
            self.expect_mark(']')?;
            self.expect_mark(',')?;
            arguments.push((ty, self.value()?));
            self.expect_mark(';')?;
        }
        let uniform = self.word_if("call.uni");
        if !uniform {
            self.expect_word("call")?;
        }
        if result_type.is_some() {
            self.expect_mark('(')?;
            self.expect_word("result0")?;
            self.expect_mark(')')?;
            self.expect_mark(',')?;
        }
        let function = self.word("a function")?.into();
        self.expect_mark(',')?;
        self.expect_mark('(')?;
        for index in 0..arguments.len() {
            if index > 0 {
                self.expect_mark(',')?;
            }
            self.expect_word(&format!("argument{index}"))?;
        }
        self.expect_mark(')')?;
        self.expect_mark(';')?;
        let result = match result_type {
            Some(ty) => Some((ty, self.call_result(ty)?)),
            None => None,
        };
        self.expect_mark('}')?;
        Ok(Call { uniform, function, arguments, result })
    }

    fn call_result(&mut self, ty: Type) -> Result<Register> {
        self.parameter_access("ld.param", ty)?;
        let Operand::Register(result) = self.value()? else {
            return Err(self.unexpected("a register before"));
        };
        self.expect_mark(',')?;
        self.expect_mark('[')?;
        self.expect_word("result0")?;
        self.expect_mark(']')?;
        self.expect_mark(';')?;
        Ok(result)
    }

    fn parameter_access(&mut self, access: &str, ty: Type) -> Result<()> {
        self.expect_word(&format!("{access}.{}", ty.text()))
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.word_if(word) { Ok(()) } else { Err(self.unexpected(&format!("`{word}`"))) }
    }
}
