//! `for` and `while`.
//!
//! Loops over `tl.static_range` and tuples are unrolled. Other loops become an operation that carries the names which
//! its body assigns and which had a value before:
//!
//! ```python
//! total = 0                                  total0 = 0
//! for i in range(n):               ->        total = for i in 0..n carrying (total1 = total0)
//!     total += tl.load(p + i)                    yield total1 + load(p + i)
//! ```

use super::branches::Condition;
use super::names::{Binding, Environment, Unusable, assigned, targets};
use super::statements::{Flow, Remaining, Rest};
use super::structure::{flatten, rebuild};
use super::{Lowering, Result, constants};
use crate::value::{Record, RecordKind, Value};
use ruff_python_ast::name::Name;
use ruff_python_ast::{Expr, Stmt, StmtFor, StmtWhile};
use ruff_text_size::Ranged;
use std::collections::BTreeSet;
use std::sync::Arc;
use tegula_ir::{Diagnostic, LoopAttributes, Op, RegionId, Rounding, Scalar, Span, Type};

/// The most iterations of a loop that is unrolled.
const MAX_UNROLLED: i128 = 1 << 16;

/// A name that a loop carries from one iteration to the next.
struct Carried {
    name: Name,
    /// Its value before the loop.
    initial: Value,
    /// Where it got that.
    span: Span,
}

/// A loop's body may be evaluated twice, if a constant turns out to change in it; this is what is restored in between.
struct Checkpoint {
    names: Environment,
    diagnostics: usize,
    warnings: usize,
    printed: usize,
}

/// A loop whose body has been evaluated for good.
struct Settled<T> {
    /// The state before the loop.
    before: Checkpoint,
    carried: Vec<Carried>,
    /// The tensors that are carried, before the loop, and their types.
    inits: Vec<tegula_ir::Value>,
    types: Vec<Type>,
    outcome: T,
}

impl Lowering<'_, '_> {
    pub(super) fn for_statement(&mut self, statement: &StmtFor, rest: &Rest<'_>) -> Result<Flow> {
        if let Some(first) = statement.orelse.first() {
            self.at(first.range());
            return Err(self.error("an `else` after a loop is not supported in a kernel"));
        }
        if statement.is_async {
            return Err(self.error("`async for` is not supported in a kernel"));
        }
        let iterated = self.expression(&statement.iter)?;
        self.at(statement.iter.range());
        match &iterated {
            Value::Record(range) if range.kind == RecordKind::Range => {
                self.for_range(statement, range)?;
                Ok(Flow::Next)
            }
            _ => {
                let items = self.items(&iterated)?;
                Ok(self.unrolled(&statement.target, &items, &statement.body, Some(rest)))
            }
        }
    }

    /// The values that a loop over something known at compile time visits.
    pub(super) fn items(&mut self, iterated: &Value) -> Result<Vec<Value>> {
        match iterated {
            Value::Tuple(items, _) => Ok(items.to_vec()),
            Value::Str(text) => {
                Ok(text.chars().map(|letter| Value::Str(letter.to_string().into())).collect())
            }
            Value::Record(range) if matches!(range.kind, RecordKind::StaticRange | RecordKind::Range) => {
                let bound = |index: usize, name: &str| match &range.fields[index].1 {
                    Value::Int(value) => Ok(*value),
                    Value::Bool(value) => Ok(i128::from(*value)),
                    other => {
                        let kind =
                            if range.kind == RecordKind::StaticRange { "tl.static_range" } else { "range" };
                        let message = format!(
                            "{name} of `{kind}` must be a constexpr int here, known at compile time, but it is {}",
                            self.describe(other)
                        );
                        Err(Box::new(
                            self.error(message)
                                .with_help("`range` and `tl.range` take run-time values, in a `for`"),
                        ))
                    }
                };
                let (start, stop, step) = (bound(0, "`start`")?, bound(1, "`stop`")?, bound(2, "`step`")?);
                if step == 0 {
                    return Err(self.error("the step of a range must not be 0"));
                }
                let distance = if step > 0 { stop.checked_sub(start) } else { start.checked_sub(stop) };
                let count = distance.map(|distance| (distance.max(0) as u128).div_ceil(step.unsigned_abs()));
                match count {
                    Some(count) if count <= MAX_UNROLLED as u128 => {
                        Ok((0..count as i128).map(|index| Value::Int(start + index * step)).collect())
                    }
                    _ => {
                        let message =
                            format!("this range has more than {MAX_UNROLLED} items, too many to unroll");
                        Err(Box::new(
                            self.error(message).with_help("use `tl.range`, which loops at run time"),
                        ))
                    }
                }
            }
            other => {
                let message = format!("a loop cannot go over {}", self.describe(other));
                Err(Box::new(
                    self.error(message)
                        .with_help("loop over `range`, `tl.range`, `tl.static_range` or a tuple"),
                ))
            }
        }
    }

    /// Evaluates the body once for each item.
    pub(super) fn unrolled(
        &mut self,
        target: &Expr,
        items: &[Value],
        body: &[Stmt],
        outer: Option<&Rest<'_>>,
    ) -> Flow {
        for (index, item) in items.iter().enumerate() {
            self.at(target.range());
            if let Err(error) = self.assign(target, item.clone()) {
                self.report(*error);
                self.poison(target);
            }
            let block = Remaining::Iterations { target, items: &items[index + 1..], body };
            if let Flow::Return(returned) = self.block(body, Some(&Rest { block, outer })) {
                return Flow::Return(returned);
            }
        }
        Flow::Next
    }

    fn for_range(&mut self, statement: &StmtFor, range: &Record) -> Result<()> {
        let site = self.span;
        self.check_nesting()?;
        self.warn_of_empty_range(&statement.iter, range);
        let [lower, upper, step] = self.bounds(range)?;
        let index_type = self.ty(lower).clone();
        let attributes = self.loop_attributes(range)?;
        let mut index_names = BTreeSet::new();
        targets(&statement.target, &mut index_names);
        let mut names = assigned(&statement.body);
        names.retain(|name| !index_names.contains(name));

        let settled = self.settled(&names, |cx, carried, as_tensors| {
            let index = Some((&*statement.target, &index_type));
            cx.loop_body(carried, index, &statement.body, as_tensors)
        })?;
        self.span = site;
        self.builder.set_span(site);
        let Settled { before, carried, inits, types, outcome: body } = settled;
        let operation = Op::For { lower, upper, step, inits: inits.into(), body, attributes };
        let results = self.builder.values(operation, types);
        self.end_loop(before.names, &carried, results, site);
        for name in index_names {
            let reason = Unusable {
                message: format!("`{name}` is the index of a loop, and has no value after it"),
                labels: vec![(site, "the loop is here".to_owned())],
                help: Some("assign it to a name that had a value before the loop".to_owned()),
            };
            self.frame_mut().names.insert(name, Binding::Unusable(Arc::new(reason)));
        }
        Ok(())
    }

    pub(super) fn while_statement(&mut self, statement: &StmtWhile) -> Result<Flow> {
        if let Some(first) = statement.orelse.first() {
            self.at(first.range());
            return Err(self.error("an `else` after a loop is not supported in a kernel"));
        }
        let site = self.place(statement.test.range());
        self.check_nesting()?;
        let names = assigned(&statement.body);
        let settled = self.settled(&names, |cx, carried, as_tensors| {
            let (_, types) = cx.leaves(carried);
            let region = cx.builder.open_region(types);
            let args = cx.builder.args(region);
            cx.bind_carried(carried, &args);
            let condition = cx.expression(&statement.test).and_then(|value| {
                cx.at(statement.test.range());
                cx.condition(&value, "`while`")
            });
            let (condition, endless) = match condition {
                Ok(Condition::Runtime(condition)) => (condition, false),
                Ok(Condition::Known(true)) => (cx.builder.int(Scalar::Int1, 1), true),
                // The values before the loop decide it: it does not run.
                Ok(Condition::Known(false)) => {
                    cx.builder.close_region([]);
                    return Ok((None, Vec::new()));
                }
                Err(error) => {
                    cx.builder.close_region([]);
                    return Err(error);
                }
            };
            cx.builder.close_region(std::iter::once(condition).chain(args));
            let (body, changed) = cx.loop_body(carried, None, &statement.body, as_tensors)?;
            Ok((Some((region, body, endless)), changed))
        })?;
        let Settled { before, carried, inits, types, outcome } = settled;
        let Some((condition, body, endless)) = outcome else {
            self.restore(before);
            return Ok(Flow::Next);
        };
        self.span = site;
        self.builder.set_span(site);
        if endless {
            self.frame_mut().names = before.names;
            return Err(self.error("the condition of this `while` is always true: the loop never ends"));
        }
        let results = self.builder.values(Op::While { inits: inits.into(), condition, body }, types);
        self.end_loop(before.names, &carried, results, site);
        Ok(Flow::Next)
    }

    /// Evaluates a loop that carries those of `names` which have a value, until no constant changes in it. `evaluate` gets what is carried, and
    /// which constants are tensors by now; it says which others have to be.
    fn settled<T>(
        &mut self,
        names: &BTreeSet<Name>,
        mut evaluate: impl FnMut(&mut Self, &[Carried], &BTreeSet<Name>) -> Result<(T, Vec<Name>)>,
    ) -> Result<Settled<T>> {
        let mut as_tensors = BTreeSet::new();
        loop {
            let before = self.checkpoint();
            let carried = self.carried(names, &as_tensors)?;
            let (inits, types) = self.leaves(&carried);
            let (outcome, changed) = match evaluate(self, &carried, &as_tensors) {
                Ok(evaluated) => evaluated,
                Err(error) => {
                    self.frame_mut().names = before.names;
                    return Err(error);
                }
            };
            if changed.is_empty() {
                return Ok(Settled { before, carried, inits, types, outcome });
            }
            self.restore(before);
            as_tensors.extend(changed);
        }
    }

    /// Evaluates the body of a loop in a region of its own, whose arguments are the index, if there is one, and what is carried. Says
    /// which constants change in it.
    fn loop_body(
        &mut self,
        carried: &[Carried],
        index: Option<(&Expr, &Type)>,
        statements: &[Stmt],
        as_tensors: &BTreeSet<Name>,
    ) -> Result<(RegionId, Vec<Name>)> {
        let (_, types) = self.leaves(carried);
        let index_type = index.map(|(_, ty)| ty.clone());
        let region = self.builder.open_region(index_type.into_iter().chain(types));
        let args = self.builder.args(region);
        let (indices, values) = args.split_at(usize::from(index.is_some()));
        let initial = self.bind_carried(carried, values);
        if let (Some((target, _)), &[value]) = (index, indices)
            && let Err(error) = self.assign(target, Value::Tensor(value))
        {
            self.builder.close_region([]);
            return Err(error);
        }
        self.frame_mut().loops += 1;
        self.block(statements, None);
        self.frame_mut().loops -= 1;
        let (yields, changed) = self.next_values(carried, &initial, as_tensors);
        Ok((self.builder.close_region(yields), changed))
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            names: self.frame().names.clone(),
            diagnostics: self.diagnostics.len(),
            warnings: self.warnings.len(),
            printed: self.printed.len(),
        }
    }

    fn restore(&mut self, checkpoint: Checkpoint) {
        self.frame_mut().names = checkpoint.names;
        self.diagnostics.truncate(checkpoint.diagnostics);
        self.warnings.truncate(checkpoint.warnings);
        self.printed.truncate(checkpoint.printed);
    }

    /// The names that a loop carries: those it assigns that have a value now. Constants stay constants inside, as
    /// long as the loop does not change them, which is known only afterwards; those in `as_tensors` did change.
    fn carried(&mut self, names: &BTreeSet<Name>, as_tensors: &BTreeSet<Name>) -> Result<Vec<Carried>> {
        let mut carried = Vec::new();
        for name in names {
            let Some(binding) = self.frame().names.get(name) else { continue };
            let (Some(value), Some(span)) = (binding.value().cloned(), binding.span()) else { continue };
            let initial = if as_tensors.contains(name) { self.materialise(&value)? } else { value };
            carried.push(Carried { name: name.clone(), initial, span });
        }
        Ok(carried)
    }

    /// The tensors that carried names are made of, and their types.
    fn leaves(&self, carried: &[Carried]) -> (Vec<tegula_ir::Value>, Vec<Type>) {
        let mut tensors = Vec::new();
        carried.iter().for_each(|carried| flatten(&carried.initial, &mut tensors));
        let types = tensors.iter().map(|tensor| self.ty(*tensor).clone()).collect();
        (tensors, types)
    }

    /// Gives carried names the values that a region's arguments stand for, and returns those.
    fn bind_carried(&mut self, carried: &[Carried], args: &[tegula_ir::Value]) -> Vec<Value> {
        let mut args = args.iter().copied();
        let mut values = Vec::new();
        for carried in carried {
            let value = rebuild(&carried.initial, &mut args);
            let binding = match self.frame_mut().names.get(&carried.name) {
                Some(Binding::Constant(_, span)) if !matches!(value, Value::Tensor(_)) => {
                    Binding::Constant(value.clone(), *span)
                }
                _ => Binding::Value(value.clone(), carried.span),
            };
            self.frame_mut().names.insert(carried.name.clone(), binding);
            values.push(value);
        }
        values
    }

    /// What the body yields for the carried names, and those that have to be carried as tensors although they were constants.
    fn next_values(
        &mut self,
        carried: &[Carried],
        initial: &[Value],
        as_tensors: &BTreeSet<Name>,
    ) -> (Vec<tegula_ir::Value>, Vec<Name>) {
        let mut yields = Vec::new();
        let mut changed = Vec::new();
        for (carried, initial) in carried.iter().zip(initial) {
            let next = self.next_value(carried, initial);
            match next {
                Ok(Some(next)) => flatten(&next, &mut yields),
                Ok(None) => flatten(initial, &mut yields),
                Err(_) if has_numbers(&carried.initial) && !as_tensors.contains(&carried.name) => {
                    changed.push(carried.name.clone());
                }
                Err(error) => {
                    self.report(*error);
                    self.frame_mut().names.insert(carried.name.clone(), Binding::Poisoned);
                    flatten(initial, &mut yields);
                }
            }
        }
        (yields, changed)
    }

    /// The value of a carried name after the body; `None` if it did not change, or is poisoned.
    fn next_value(&mut self, carried: &Carried, initial: &Value) -> Result<Option<Value>> {
        let name = &carried.name;
        let binding = match self.frame().names.get(name) {
            None | Some(Binding::Poisoned) => return Ok(None),
            Some(Binding::Unusable(reason)) => {
                let reason = reason.clone();
                return Err(self.unusable(&reason));
            }
            Some(binding) => binding.clone(),
        };
        let (Some(value), Some(span)) = (binding.value(), binding.span()) else { return Ok(None) };
        if constants::identical(value, initial) {
            return Ok(None);
        }
        let value = self.materialise(value)?;
        let Some((before, after)) = self.mismatch(initial, &value) else { return Ok(Some(value)) };
        let message = format!("`{name}` is {before} before the loop and {after} after an iteration");
        Err(Box::new(
            Diagnostic::error(span, message)
                .with_text(format!("this is {after}"))
                .with_label(carried.span, format!("this is {before}"))
                .with_help(format!(
                    "give `{name}` the same type before the loop, or convert it in the loop with `.to(...)`"
                )),
        ))
    }

    /// Gives the names their values after a loop.
    fn end_loop(
        &mut self,
        before: Environment,
        carried: &[Carried],
        results: Vec<tegula_ir::Value>,
        site: Span,
    ) {
        let body = std::mem::replace(&mut self.frame_mut().names, before);
        let mut results = results.into_iter();
        for carried in carried {
            let value = rebuild(&carried.initial, &mut results);
            let binding = match (body.get(&carried.name), self.frame().names.get(&carried.name)) {
                (Some(Binding::Poisoned), _) => Binding::Poisoned,
                (_, Some(Binding::Constant(_, span))) if !matches!(value, Value::Tensor(_)) => {
                    Binding::Constant(value, *span)
                }
                (Some(after), _) => Binding::Value(value, after.span().unwrap_or(carried.span)),
                (None, _) => Binding::Value(value, carried.span),
            };
            self.frame_mut().names.insert(carried.name.clone(), binding);
        }
        for (name, binding) in body {
            if self.frame().names.get(&name).is_some_and(|known| known.value().is_some()) {
                continue;
            }
            let binding = match binding.span() {
                Some(span) => Binding::Unusable(Arc::new(Unusable {
                    message: format!("`{name}` is defined in the body of a loop only, which may not run"),
                    labels: vec![
                        (span, "defined here".to_owned()),
                        (site, "this loop may run not at all".to_owned()),
                    ],
                    help: Some(format!("give `{name}` a value before the loop")),
                })),
                None => binding,
            };
            self.frame_mut().names.insert(name, binding);
        }
    }

    /// Start, stop and step of a run-time range, in one integer type.
    pub(super) fn bounds(&mut self, range: &Record) -> Result<[tegula_ir::Value; 3]> {
        let mut bounds = [tegula_ir::Value(0); 3];
        let mut scalars = [Scalar::Int32; 3];
        for index in 0..3 {
            let (name, value) = &range.fields[index];
            if index == 2 && matches!(value, Value::Int(0)) {
                return Err(self.error("the step of a range must not be 0"));
            }
            bounds[index] = self.to_tensor(value)?;
            let ty = self.ty(bounds[index]);
            match ty.element.as_scalar() {
                Some(scalar) if scalar.is_int() && ty.is_scalar() => scalars[index] = scalar,
                _ => {
                    let value = Value::Tensor(bounds[index]);
                    let message = format!(
                        "`{name}` of a range must be a scalar integer, but it is {}",
                        self.describe(&value)
                    );
                    return Err(self.error(message));
                }
            }
        }
        let scalar = promote_integers(promote_integers(scalars[0], scalars[1]), scalars[2]);
        Ok(bounds.map(|bound| self.builder.cast(bound, scalar, Rounding::NearestEven)))
    }

    fn loop_attributes(&self, range: &Record) -> Result<LoopAttributes> {
        let mut attributes = LoopAttributes::default();
        let count = |name: &str, value: &Value| -> Result<Option<u32>> {
            let number = self.optional_integer(name, value)?;
            Ok(number.map(|number| number.clamp(0, i128::from(u32::MAX)) as u32))
        };
        for (name, value) in &range.fields[3..] {
            match *name {
                "num_stages" => attributes.num_stages = count(name, value)?,
                "loop_unroll_factor" => attributes.unroll = count(name, value)?,
                "flatten" => attributes.flatten = self.truth(name, value)?,
                "warp_specialize" => attributes.warp_specialize = self.truth(name, value)?,
                "disallow_acc_multi_buffer" => {
                    attributes.disallow_acc_multi_buffer = self.truth(name, value)?
                }
                "disable_licm" => attributes.disable_licm = self.truth(name, value)?,
                _ => {}
            }
        }
        Ok(attributes)
    }
}

/// The type of an integer operation between two types: the wider one; of the unsigned one, if that is at least as wide.
fn promote_integers(a: Scalar, b: Scalar) -> Scalar {
    let (width_a, width_b) = (a.bits(), b.bits());
    if a.is_signed() == b.is_signed() {
        if width_a > width_b { a } else { b }
    } else if a.is_unsigned() {
        if width_a >= width_b { a } else { b }
    } else if width_b >= width_a {
        b
    } else {
        a
    }
}

/// Whether a value holds numbers that could exist at run time.
fn has_numbers(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => true,
        Value::Tuple(items, _) => items.iter().any(has_numbers),
        _ => false,
    }
}
