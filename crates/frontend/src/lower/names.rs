//! What names stand for, and the names that a piece of syntax assigns.

use crate::value::Value;
use ruff_python_ast::name::Name;
use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
use ruff_python_ast::{Expr, Stmt};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tegula_ir::Span;

/// What a local name stands for.
#[derive(Clone, Debug)]
pub enum Binding {
    /// A value, and the place where the name was given it.
    Value(Value, Span),
    /// A value annotated as `tl.constexpr`: the annotation may not be repeated.
    Constant(Value, Span),
    /// The name has no value that can be used here; the text says why when it is used.
    Unusable(Arc<Unusable>),
    /// The value could not be computed, which has been reported.
    Poisoned,
}

impl Binding {
    /// The value, if there is one.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Binding::Value(value, _) | Binding::Constant(value, _) => Some(value),
            Binding::Unusable(_) | Binding::Poisoned => None,
        }
    }

    /// Where the name was given its value.
    pub fn span(&self) -> Option<Span> {
        match self {
            Binding::Value(_, span) | Binding::Constant(_, span) => Some(*span),
            Binding::Unusable(_) | Binding::Poisoned => None,
        }
    }
}

/// Why a name cannot be used.
#[derive(Clone, Debug)]
pub struct Unusable {
    pub message: String,
    /// Places that show why.
    pub labels: Vec<(Span, String)>,
    pub help: Option<String>,
}

/// The local names of a function at one point of its evaluation, in alphabetical order so that results do not depend on hashing.
pub type Environment = BTreeMap<Name, Binding>;

/// The names that statements assign, at any depth, loop targets included.
pub fn assigned(statements: &[Stmt]) -> BTreeSet<Name> {
    let mut visitor = Assigned::default();
    visitor.visit_body(statements);
    visitor.names
}

/// The names that a target of an assignment gives values to.
pub fn targets(target: &Expr, names: &mut BTreeSet<Name>) {
    match target {
        Expr::Name(name) => {
            names.insert(name.id.clone());
        }
        Expr::Tuple(tuple) => tuple.elts.iter().for_each(|target| targets(target, names)),
        Expr::List(list) => list.elts.iter().for_each(|target| targets(target, names)),
        Expr::Starred(starred) => targets(&starred.value, names),
        // `self.field = ...` in a constructor gives `self` a new value.
        Expr::Attribute(attribute) => targets(&attribute.value, names),
        _ => {}
    }
}

#[derive(Default)]
struct Assigned {
    names: BTreeSet<Name>,
}

impl StatementVisitor<'_> for Assigned {
    fn visit_stmt(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| targets(target, &mut self.names));
            }
            Stmt::AugAssign(assign) => targets(&assign.target, &mut self.names),
            Stmt::AnnAssign(assign) if assign.value.is_some() => targets(&assign.target, &mut self.names),
            Stmt::For(loop_) => targets(&loop_.target, &mut self.names),
            // A function or class within is refused, so what it assigns inside is of no account.
            Stmt::FunctionDef(definition) => {
                self.names.insert(definition.name.id.clone());
                return;
            }
            Stmt::ClassDef(class) => {
                self.names.insert(class.name.id.clone());
                return;
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }
}

/// Whether a `return` stands in the statements, at any depth.
pub fn contains_return(statements: &[Stmt]) -> bool {
    let mut visitor = Returns { found: false };
    visitor.visit_body(statements);
    visitor.found
}

struct Returns {
    found: bool,
}

impl StatementVisitor<'_> for Returns {
    fn visit_stmt(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Return(_) => self.found = true,
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            _ => walk_stmt(self, statement),
        }
    }
}
