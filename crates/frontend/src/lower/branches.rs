//! `if` statements, early returns and conditional expressions.
//!
//! A branch on a constant is taken or left. A branch on a run-time value becomes an operation with two regions, which
//! yield the names that differ after them. Where a branch returns, the rest of the function moves into the branch that does not:
//!
//! ```python
//! if pid >= n:                 if pid >= n:
//!     return            ->         pass
//! tl.store(p, 1.0)             else:
//!                                  tl.store(p, 1.0)
//! ```

use super::names::{Binding, Environment, Unusable, contains_return};
use super::statements::{Flow, Remaining, Rest, Returned};
use super::structure::{flatten, rebuild};
use super::{Lowering, Result, constants};
use crate::value::Value;
use ruff_python_ast::{ElifElseClause, Expr, ExprIf, Stmt, StmtIf};
use ruff_text_size::Ranged;
use std::sync::Arc;
use tegula_ir::{Op, RegionId, Scalar, Span};

/// What a branch left behind.
struct Branch {
    names: Environment,
    returned: Option<Returned>,
    /// Its place, for messages; that of the condition if there is no such branch.
    span: Span,
    /// Whether it is written down, not left out.
    written: bool,
}

impl Lowering<'_, '_> {
    pub(super) fn if_statement(&mut self, branch: &StmtIf, rest: &Rest<'_>) -> Result<Flow> {
        self.if_clauses(Some(&branch.test), &branch.body, &branch.elif_else_clauses, rest)
    }

    /// Evaluates the first clause whose condition is true, or all that follow one that is known only at run time.
    fn if_clauses<'a>(
        &mut self,
        mut test: Option<&'a Expr>,
        mut body: &'a [Stmt],
        mut clauses: &'a [ElifElseClause],
        rest: &Rest<'_>,
    ) -> Result<Flow> {
        while let Some(expression) = test {
            let condition = self.expression(expression)?;
            self.at(expression.range());
            match self.condition(&condition, "`if`")? {
                Condition::Known(true) => break,
                Condition::Known(false) => {}
                Condition::Runtime(condition) => {
                    return self.if_at_run_time(condition, expression, body, clauses, rest);
                }
            }
            let [next, others @ ..] = clauses else { return Ok(Flow::Next) };
            (test, body, clauses) = (next.test.as_ref(), &next.body, others);
        }
        Ok(self.block(body, Some(rest)))
    }

    fn otherwise(&mut self, clauses: &[ElifElseClause], rest: &Rest<'_>) -> Result<Flow> {
        match clauses {
            [] => Ok(Flow::Next),
            [first, others @ ..] => self.if_clauses(first.test.as_ref(), &first.body, others, rest),
        }
    }

    fn if_at_run_time(
        &mut self,
        condition: tegula_ir::Value,
        test: &Expr,
        body: &[Stmt],
        clauses: &[ElifElseClause],
        rest: &Rest<'_>,
    ) -> Result<Flow> {
        self.check_nesting()?;
        let returns = contains_return(body) || clauses.iter().any(|clause| contains_return(&clause.body));
        // Within a loop there is nothing that a return could lead to; it is refused where it stands.
        let returns = returns && self.frame().loops == 0;
        let site = self.place(test.range());
        let before = self.frame().names.clone();

        let then_span = self.block_place(body, site);
        let then_region = self.builder.open_region([]);
        let flow = Ok(self.block(body, Some(rest)));
        let then = self.end_branch(flow, returns, rest, (then_span, true));
        self.builder.close_region([]);

        self.frame_mut().names = before.clone();
        let else_span = clauses.first().map_or(site, |clause| self.place(clause.range()));
        let else_region = self.builder.open_region([]);
        let flow = self.otherwise(clauses, rest);
        let otherwise = self.end_branch(flow, returns, rest, (else_span, !clauses.is_empty()));
        self.builder.close_region([]);

        self.span = site;
        self.builder.set_span(site);
        if returns {
            self.frame_mut().names = before;
            return Ok(self.join_returns(condition, [then_region, else_region], then, otherwise));
        }
        self.join_names(condition, [then_region, else_region], &before, then, otherwise);
        Ok(Flow::Next)
    }

    /// Ends the evaluation of a branch: after an error its sibling is still checked; where a branch of the statement returns,
    /// the rest of the function follows in each that does not.
    fn end_branch(
        &mut self,
        flow: Result<Flow>,
        returns: bool,
        rest: &Rest<'_>,
        (span, written): (Span, bool),
    ) -> Branch {
        let returned = match flow {
            Ok(Flow::Return(returned)) => Some(returned),
            Ok(Flow::Next) if returns => Some(self.evaluate_rest(Some(rest))),
            Ok(Flow::Next) => None,
            Err(error) => {
                self.report(*error);
                returns.then_some(Returned { value: None, span })
            }
        };
        let returned = returned.map(|Returned { value, span }| {
            let value = value.and_then(|value| match self.materialise(&value) {
                Ok(value) => Some(value),
                Err(error) => {
                    self.report(*error);
                    None
                }
            });
            Returned { value, span }
        });
        Branch { names: self.frame().names.clone(), returned, span, written }
    }

    /// Evaluates what is left of the function.
    fn evaluate_rest(&mut self, rest: Option<&Rest<'_>>) -> Returned {
        let mut next = rest;
        while let Some(rest) = next {
            let flow = match rest.block {
                Remaining::Statements(statements) => self.block(statements, rest.outer),
                Remaining::Iterations { target, items, body } => {
                    self.unrolled(target, items, body, rest.outer)
                }
            };
            if let Flow::Return(returned) = flow {
                return returned;
            }
            next = rest.outer;
        }
        Returned { value: Some(Value::None), span: self.span }
    }

    /// The operation of an `if` whose branches both end the function.
    fn join_returns(
        &mut self,
        condition: tegula_ir::Value,
        regions: [RegionId; 2],
        then: Branch,
        otherwise: Branch,
    ) -> Flow {
        let unknown = |span| Flow::Return(Returned { value: None, span });
        let (Some(first), Some(second)) = (then.returned, otherwise.returned) else {
            return unknown(self.span);
        };
        let (Some(a), Some(b)) = (first.value, second.value) else {
            self.push_if(condition, regions, &[], &[]);
            return unknown(first.span);
        };
        if let Some((a, b)) = self.mismatch(&a, &b) {
            // A function that ends without a `return` has no second place to show.
            let implicit = first.span == second.span;
            let other = if implicit { "the end of the function" } else { "another" };
            let fact = format!(
                "the `return` here gives {a} and {other} gives {b}, and which one is taken is known only at run time"
            );
            let mut error = tegula_ir::Diagnostic::error(first.span, fact).with_text(format!("this is {a}"));
            if !implicit {
                error = error.with_label(second.span, format!("this is {b}"));
            }
            self.report(error.with_help("return values of one type; `.to(...)` converts"));
            self.push_if(condition, regions, &[], &[]);
            return unknown(first.span);
        }
        let value = self.join_values(condition, regions, &[(a, b)]).remove(0);
        Flow::Return(Returned { value: Some(value), span: first.span })
    }

    /// The operation of an `if` after which evaluation goes on, with the names that its branches changed.
    fn join_names(
        &mut self,
        condition: tegula_ir::Value,
        regions: [RegionId; 2],
        before: &Environment,
        then: Branch,
        otherwise: Branch,
    ) {
        let mut after = Environment::new();
        let mut joined = Vec::new();
        for name in
            then.names.keys().chain(otherwise.names.keys().filter(|name| !then.names.contains_key(*name)))
        {
            let sides = (then.names.get(name), otherwise.names.get(name));
            let binding = match sides {
                (Some(Binding::Poisoned), _) | (_, Some(Binding::Poisoned)) => Binding::Poisoned,
                (Some(Binding::Unusable(reason)), _) | (_, Some(Binding::Unusable(reason))) => {
                    Binding::Unusable(reason.clone())
                }
                (Some(a), Some(b)) => {
                    let (Some(x), Some(y)) = (a.value(), b.value()) else { continue };
                    if constants::identical(x, y) {
                        // A name that was a constexpr before stays one.
                        before
                            .get(name)
                            .filter(|old| old.value().is_some_and(|old| constants::identical(old, x)))
                            .unwrap_or(a)
                            .clone()
                    } else {
                        joined.push((name.clone(), a.clone(), b.clone()));
                        continue;
                    }
                }
                (one, other) => {
                    let Some(span) = one.or(other).and_then(Binding::span) else { continue };
                    let missing = if one.is_some() { &otherwise } else { &then };
                    let text = if missing.written {
                        "this branch does not define it"
                    } else {
                        "there is no `else` to define it"
                    };
                    Binding::Unusable(Arc::new(Unusable {
                        message: format!(
                            "`{name}` is defined in one branch of an `if` only, which is not always taken"
                        ),
                        labels: vec![(span, "defined here".to_owned()), (missing.span, text.to_owned())],
                        help: Some(format!("give `{name}` a value before the `if`, or in both branches")),
                    }))
                }
            };
            after.insert(name.clone(), binding);
        }

        let mut names = Vec::new();
        let mut pairs = Vec::new();
        for (name, a, b) in joined {
            let (Some(x), Some(y)) = (a.value(), b.value()) else { continue };
            let x = self.materialise_in(regions[0], x);
            let y = self.materialise_in(regions[1], y);
            let (x, y) = match (x, y) {
                (Ok(x), Ok(y)) => (x, y),
                (Err(error), _) | (_, Err(error)) => {
                    self.report(*error);
                    after.insert(name, Binding::Poisoned);
                    continue;
                }
            };
            if let Some((x, y)) = self.mismatch(&x, &y) {
                let place = |binding: &Binding| binding.span().unwrap_or(self.span);
                let reason = Unusable {
                    message: format!("`{name}` is {x} after one branch of an `if` and {y} after the other"),
                    labels: vec![
                        (place(&a), format!("this is {x}")),
                        (place(&b), format!("this is {y}")),
                        (self.span, "which branch is taken is known only at run time".to_owned()),
                    ],
                    help: Some(format!("give `{name}` one type in both branches; `.to(...)` converts")),
                };
                after.insert(name, Binding::Unusable(Arc::new(reason)));
                continue;
            }
            let span = a.span().unwrap_or(self.span);
            names.push((name, span));
            pairs.push((x, y));
        }
        let values = self.join_values(condition, regions, &pairs);
        for ((name, span), value) in names.into_iter().zip(values) {
            after.insert(name, Binding::Value(value, span));
        }
        self.frame_mut().names = after;
    }

    /// Makes the numbers of a value exist at run time, by operations at the end of a region that is already closed.
    fn materialise_in(&mut self, region: RegionId, value: &Value) -> Result<Value> {
        self.builder.reopen_region(region);
        let value = self.materialise(value);
        self.builder.close_region([]);
        value
    }

    /// Pushes the operation that yields either value of each pair, which must agree in structure and types.
    fn join_values(
        &mut self,
        condition: tegula_ir::Value,
        regions: [RegionId; 2],
        pairs: &[(Value, Value)],
    ) -> Vec<Value> {
        let mut yields = [Vec::new(), Vec::new()];
        for (a, b) in pairs {
            flatten(a, &mut yields[0]);
            flatten(b, &mut yields[1]);
        }
        let mut results = self.push_if(condition, regions, &yields[0], &yields[1]).into_iter();
        pairs.iter().map(|(a, _)| rebuild(a, &mut results)).collect()
    }

    fn push_if(
        &mut self,
        condition: tegula_ir::Value,
        [then, otherwise]: [RegionId; 2],
        then_yields: &[tegula_ir::Value],
        else_yields: &[tegula_ir::Value],
    ) -> Vec<tegula_ir::Value> {
        self.builder.function_mut().region_mut(then).yields = then_yields.to_vec();
        self.builder.function_mut().region_mut(otherwise).yields = else_yields.to_vec();
        let types: Vec<_> = then_yields.iter().map(|value| self.ty(*value).clone()).collect();
        self.builder.values(Op::If { condition, then, otherwise }, types)
    }

    /// The place of a block of statements.
    fn block_place(&self, statements: &[Stmt], default: Span) -> Span {
        match (statements.first(), statements.last()) {
            (Some(first), Some(last)) => {
                let (first, last) = (self.place(first.range()), self.place(last.range()));
                Span { end: last.end, ..first }
            }
            _ => default,
        }
    }

    /// `a if test else b`; with a run-time condition only the side that is chosen is evaluated.
    pub(super) fn conditional_expression(&mut self, expression: &ExprIf) -> Result<Value> {
        let condition = self.expression(&expression.test)?;
        self.at(expression.test.range());
        let condition = match self.condition(&condition, "a conditional expression")? {
            Condition::Known(true) => return self.expression(&expression.body),
            Condition::Known(false) => return self.expression(&expression.orelse),
            Condition::Runtime(condition) => condition,
        };
        self.check_nesting()?;
        let side = |cx: &mut Self, side: &Expr| {
            let region = cx.builder.open_region([]);
            let value = cx.expression(side).and_then(|value| cx.materialise(&value));
            cx.builder.close_region([]);
            value.map(|value| (region, value))
        };
        let first = side(self, &expression.body);
        let second = side(self, &expression.orelse);
        self.at(expression.range());
        let ((then, a), (otherwise, b)) = self.both(first, second)?;
        if let Some((x, y)) = self.mismatch(&a, &b) {
            let error = self.error(format!("the two sides of this conditional expression are {x} and {y}, and which one is taken is known only at run time"));
            return Err(Box::new(error.with_help("give both sides one type; `.to(...)` converts")));
        }
        Ok(self.join_values(condition, [then, otherwise], &[(a, b)]).remove(0))
    }

    /// Reads a value as the condition of `what`.
    pub(super) fn condition(&mut self, value: &Value, what: &str) -> Result<Condition> {
        if let Value::Tensor(tensor) = value {
            if !self.ty(*tensor).is_scalar() {
                let message = format!(
                    "the condition of {what} must be a scalar, but this is {}: its truth value is ambiguous",
                    self.describe(value)
                );
                let help =
                    "use `tl.where` to choose element by element, or reduce it with `tl.max` or `tl.sum`";
                return Err(Box::new(self.error(message).with_help(help)));
            }
            return Ok(Condition::Runtime(self.truth_of(*tensor)));
        }
        match constants::truth(value) {
            Some(truth) if value.is_constant() || matches!(value, Value::Tuple(..)) => {
                Ok(Condition::Known(truth))
            }
            _ => Err(self.error(format!("{} cannot be the condition of {what}", self.describe(value)))),
        }
    }

    /// Whether each element is not zero, as `int1`.
    pub(super) fn truth_of(&mut self, tensor: tegula_ir::Value) -> tegula_ir::Value {
        let integer = match self.ty(tensor).element {
            tegula_ir::Element::Pointer(_) => self.builder.bitcast(tensor, Scalar::Int64),
            tegula_ir::Element::Scalar(_) => tensor,
        };
        self.builder.cast(integer, Scalar::Int1, tegula_ir::Rounding::NearestEven)
    }
}

/// What is known of a condition.
pub(super) enum Condition {
    Known(bool),
    Runtime(tegula_ir::Value),
}
