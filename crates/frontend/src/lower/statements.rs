//! Statements: assignments, and the dispatch to the files that lower control flow.

use super::names::{Binding, targets};
use super::{Lowering, RED_ZONE, Result, STACK_SEGMENT, constants};
use crate::value::Value;
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged;
use std::collections::BTreeSet;
use tegula_ir::{Diagnostic, Span};

/// A kernel that evaluates more statements than this is refused: a static loop without end would otherwise never stop.
const MAX_STATEMENTS: u32 = 1_000_000;

/// Where evaluation goes after a statement.
pub enum Flow {
    Next,
    Return(Returned),
}

/// What a `return` returned.
pub struct Returned {
    /// `None` if the value could not be computed, which has been reported.
    pub value: Option<Value>,
    pub span: Span,
}

/// What is left to evaluate in a function after a statement; a branch that returns early hands this to its sibling.
///
/// Inside a run-time loop nothing is left: one cannot leave it.
#[derive(Clone, Copy)]
pub struct Rest<'a> {
    pub block: Remaining<'a>,
    pub outer: Option<&'a Rest<'a>>,
}

/// The part of [`Rest`] in one block.
#[derive(Clone, Copy)]
pub enum Remaining<'a> {
    Statements(&'a [Stmt]),
    /// The iterations of an unrolled loop that are still to come.
    Iterations {
        target: &'a Expr,
        items: &'a [Value],
        body: &'a [Stmt],
    },
}

impl Lowering<'_, '_> {
    /// Evaluates statements one after the other, up to a `return`. A statement at fault is reported, and the names that it
    /// would have assigned are poisoned, so that what follows is still checked.
    pub(super) fn block(&mut self, statements: &[Stmt], rest: Option<&Rest<'_>>) -> Flow {
        for (index, statement) in statements.iter().enumerate() {
            if self.stopped {
                return Flow::Return(Returned { value: None, span: self.span });
            }
            if self.statements >= MAX_STATEMENTS {
                self.at(statement.range());
                let error =
                    self.error(format!("the kernel unrolls to more than {MAX_STATEMENTS} statements"));
                let help = "use `tl.range`, which loops at run time, in place of `tl.static_range`";
                self.stop(error.with_help(help));
                continue;
            }
            self.statements += 1;
            let rest = Rest { block: Remaining::Statements(&statements[index + 1..]), outer: rest };
            let flow = stacker::maybe_grow(RED_ZONE, STACK_SEGMENT, || self.statement(statement, &rest));
            match flow {
                Ok(Flow::Next) => {}
                Ok(Flow::Return(returned)) => return Flow::Return(returned),
                Err(error) => {
                    self.report(*error);
                    for name in super::names::assigned(std::slice::from_ref(statement)) {
                        self.frame_mut().names.insert(name, Binding::Poisoned);
                    }
                }
            }
        }
        Flow::Next
    }

    fn statement(&mut self, statement: &Stmt, rest: &Rest<'_>) -> Result<Flow> {
        self.at(statement.range());
        if self.interpreted && self.only_looks(statement)? {
            return Ok(Flow::Next);
        }
        match statement {
            Stmt::Expr(expression) => {
                if !expression.value.is_string_literal_expr() {
                    self.expression(&expression.value)?;
                }
            }
            Stmt::Assign(assign) => {
                let value = self.expression(&assign.value)?;
                if let [Expr::Attribute(target)] = &*assign.targets {
                    self.assign_field(target, &value)?;
                    return Ok(Flow::Next);
                }
                self.at(assign.value.range());
                let value = self.materialise(&value)?;
                for target in &assign.targets {
                    self.assign(target, value.clone())?;
                }
            }
            Stmt::AugAssign(assign) => {
                if !assign.target.is_name_expr() {
                    self.at(assign.target.range());
                    return Err(self.unassignable(&assign.target));
                }
                let old = self.expression(&assign.target)?;
                let operand = self.expression(&assign.value)?;
                self.at(statement.range());
                let value = self.binary(assign.op, &old, &operand)?;
                let value = self.materialise(&value)?;
                self.assign(&assign.target, value)?;
            }
            Stmt::AnnAssign(assign) => {
                let Some(value) = &assign.value else { return Ok(Flow::Next) };
                let value = self.expression(value)?;
                self.at(statement.range());
                if is_constexpr(&assign.annotation) {
                    self.assign_constexpr(&assign.target, value)?;
                } else {
                    let value = self.materialise(&value)?;
                    self.assign(&assign.target, value)?;
                }
            }
            Stmt::Return(return_) => {
                let span = self.span;
                let value = match &return_.value {
                    None => Ok(Value::None),
                    Some(value) => self.expression(value),
                };
                if self.frame().loops > 0 {
                    self.at(return_.range());
                    let error = self.error("a `return` cannot leave a loop (`for` or `while`) at run time");
                    return Err(Box::new(error.with_help(
                        "keep the result in a variable and return after the loop, or give a `while` loop a condition that ends it",
                    )));
                }
                self.at(return_.range());
                // A constant stays one on the way out, unless it is joined with another value at run time.
                let value = match value {
                    Ok(value) => Some(value),
                    Err(error) => {
                        self.report(*error);
                        None
                    }
                };
                return Ok(Flow::Return(Returned { value, span }));
            }
            Stmt::If(branch) => return self.if_statement(branch, rest),
            Stmt::For(for_loop) => return self.for_statement(for_loop, rest),
            Stmt::While(while_loop) => return self.while_statement(while_loop),
            Stmt::Assert(assert) => {
                let condition = self.expression(&assert.test)?;
                let message = match &assert.msg {
                    Some(message) => self.expression(message)?,
                    None => Value::Str("".into()),
                };
                self.at(statement.range());
                match constants::truth(&condition) {
                    Some(true) => {}
                    Some(false) => {
                        let text = self.text(&message);
                        let colon = if text.is_empty() { "" } else { ": " };
                        return Err(self.error(format!("the assertion fails at compile time{colon}{text}")));
                    }
                    None => {
                        let assert = self.language_function("device_assert")?;
                        self.call(&assert, &[condition, message], &[])?;
                    }
                }
            }
            Stmt::Pass(_) => {}
            unsupported => return Err(self.unsupported_statement(unsupported)),
        }
        Ok(Flow::Next)
    }

    /// Gives the names of a target their values. Constants stay constants: `materialise` is up to the caller.
    pub(super) fn assign(&mut self, target: &Expr, value: Value) -> Result<()> {
        match target {
            Expr::Name(name) => {
                let span = self.place(target.range());
                self.frame_mut().names.insert(name.id.clone(), Binding::Value(value, span));
                Ok(())
            }
            Expr::Tuple(tuple) => self.unpack(target, &tuple.elts, &value),
            Expr::List(list) => self.unpack(target, &list.elts, &value),
            other => {
                self.at(other.range());
                Err(self.unassignable(other))
            }
        }
    }

    /// Assigns the items of a tuple to targets, of which one may be starred.
    fn unpack(&mut self, whole: &Expr, targets: &[Expr], value: &Value) -> Result<()> {
        self.at(whole.range());
        let Value::Tuple(items, _) = value else {
            let message = format!("{} cannot be unpacked into {} names", self.describe(value), targets.len());
            return Err(self.error(message));
        };
        let star = targets.iter().position(Expr::is_starred_expr);
        let fits = match star {
            None => items.len() == targets.len(),
            Some(_) => items.len() + 1 >= targets.len(),
        };
        if !fits {
            let least = if star.is_some() { "at least " } else { "" };
            let wanted = targets.len() - usize::from(star.is_some());
            return Err(self
                .error(format!("{least}{wanted} values are unpacked here, but there are {}", items.len())));
        }
        let surplus = items.len() + usize::from(star.is_some()) - targets.len();
        let mut next = 0;
        for (index, target) in targets.iter().enumerate() {
            match target {
                Expr::Starred(starred) if Some(index) == star => {
                    self.assign(&starred.value, Value::Tuple(items[next..next + surplus].into(), None))?;
                    next += surplus;
                }
                target => {
                    self.assign(target, items[next].clone())?;
                    next += 1;
                }
            }
        }
        Ok(())
    }

    /// `NAME: tl.constexpr = value`, which holds for the rest of the function.
    fn assign_constexpr(&mut self, target: &Expr, value: Value) -> Result<()> {
        let Expr::Name(name) = target else { return Err(self.unassignable(target)) };
        let span = self.place(target.range());
        if let Value::Tensor(_) = value {
            let message = format!(
                "`{}` is annotated as a constexpr, but its value is {}",
                name.id,
                self.describe(&value)
            );
            return Err(self.error(message));
        }
        let known = self.frame().names.get(&name.id);
        // An unrolled loop evaluates one assignment many times.
        if let Some(first) = known.and_then(Binding::span)
            && first != span
        {
            let message =
                format!("`{}` is already defined, and a constexpr cannot be assigned again", name.id);
            return Err(Box::new(
                self.error(message).with_label(first, "defined here").with_help("choose another name"),
            ));
        }
        self.frame_mut().names.insert(name.id.clone(), Binding::Constant(value, span));
        Ok(())
    }

    fn unassignable(&self, target: &Expr) -> Box<Diagnostic> {
        match target {
            Expr::Subscript(_) => Box::new(
                self.error("an element of a block cannot be assigned")
                    .with_help("make a new block with `tl.where`, or store to memory with `tl.store`"),
            ),
            Expr::Attribute(_) => self.error("an attribute cannot be assigned in a kernel"),
            _ => self.error("this cannot be assigned"),
        }
    }

    fn unsupported_statement(&mut self, statement: &Stmt) -> Box<Diagnostic> {
        // Of a statement with a body, the first line says it all.
        let file = self.builder.function().sources.get(self.span.file);
        let text = file.and_then(|file| file.text.get(self.span.start as usize..self.span.end as usize));
        let line = text.and_then(|text| text.lines().next()).map_or(0, str::len);
        self.span.end = self.span.start + line as u32;
        let (what, help) = match statement {
            Stmt::Break(_) => ("`break`", "give a `while` loop a condition that ends it"),
            Stmt::Continue(_) => ("`continue`", "put the rest of the loop's body into an `if`"),
            Stmt::Try(_) => ("`try`/`except`", "a kernel raises no exceptions: test the condition with `if`"),
            Stmt::With(_) => ("`with`", ""),
            Stmt::FunctionDef(_) => {
                ("a nested function (`def`)", "define it outside of the kernel, with `@triton.jit`")
            }
            Stmt::ClassDef(_) => {
                ("`class`", "define it outside of the kernel; named tuples can be used inside")
            }
            Stmt::Global(_) => ("`global`", "pass the value to the kernel as an argument"),
            Stmt::Nonlocal(_) => ("`nonlocal`", "pass the value to the kernel as an argument"),
            Stmt::Delete(_) => ("`del`", "leave it out: values that are not used cost nothing"),
            Stmt::Raise(_) => ("`raise`", "use `tl.static_assert` or `tl.device_assert`"),
            Stmt::Import(_) | Stmt::ImportFrom(_) => ("`import`", "import outside of the kernel"),
            Stmt::Match(_) => ("`match`", "use `if` and `elif`"),
            Stmt::TypeAlias(_) => ("`type`", ""),
            _ => ("this statement", ""),
        };
        let error = self.error(format!("{what} is not supported in a kernel"));
        if help.is_empty() { error } else { Box::new(error.with_help(help)) }
    }

    /// Poisons the names of a target.
    pub(super) fn poison(&mut self, target: &Expr) {
        let mut names = BTreeSet::new();
        targets(target, &mut names);
        for name in names {
            self.frame_mut().names.insert(name, Binding::Poisoned);
        }
    }
}

/// Whether an annotation says `constexpr`, under any alias of the module.
pub(super) fn is_constexpr(annotation: &Expr) -> bool {
    match annotation {
        Expr::Name(name) => name.id.as_str() == "constexpr",
        Expr::Attribute(attribute) => attribute.attr.as_str() == "constexpr",
        Expr::StringLiteral(text) => text.value.to_str().ends_with("constexpr"),
        _ => false,
    }
}
