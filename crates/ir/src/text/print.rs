//! Function to text.

use super::is_plain;
use crate::function::{Function, OpData, OpId, RegionId, Value};
use crate::op::{
    Assembly, AtomicOrdering, AtomicScope, CacheModifier, DotPrecision, EvictionPolicy, Literal,
    LoopAttributes, Op, Rounding,
};
use crate::types::{Scalar, Type};
use std::fmt::{self, Write};

impl fmt::Display for Function {
    /// Writes the text form; with spans if alternate (`{:#}`). Works on functions that do not verify, too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spans = f.alternate();
        let mut printer =
            Printer { function: self, out: f, names: vec![None; self.value_count()], next: 0, spans };
        printer.function()
    }
}

struct Printer<'a, 'f> {
    function: &'a Function,
    out: &'a mut fmt::Formatter<'f>,
    names: Vec<Option<Name>>,
    /// The number of the next value.
    next: u32,
    spans: bool,
}

#[derive(Clone, Copy)]
enum Name {
    Param(usize),
    Number(u32),
}

impl Printer<'_, '_> {
    fn function(&mut self) -> fmt::Result {
        let function = self.function;
        write!(self.out, "kernel @{}(", Identifier(&function.name))?;
        for (index, param) in function.params.iter().enumerate() {
            if let Some(name) = self.names.get_mut(param.value.0 as usize) {
                *name = Some(Name::Param(index));
            }
            let separator = if index == 0 { "" } else { ", " };
            write!(self.out, "{separator}%{}: {}", Identifier(&param.name), param.ty)?;
            if param.divisible_by != 1 {
                write!(self.out, " {{divisible {}}}", param.divisible_by)?;
            }
        }
        self.out.write_str(") {\n")?;
        self.region(function.body, 1)?;
        self.out.write_str("}\n")
    }

    /// The lines of a region, without its braces.
    fn region(&mut self, region: RegionId, depth: usize) -> fmt::Result {
        let function = self.function;
        let data = function.region(region);
        for &op in &data.ops {
            self.indent(depth)?;
            self.op(op, depth)?;
            self.out.write_char('\n')?;
        }
        if !data.yields.is_empty() {
            self.indent(depth)?;
            self.out.write_str("yield ")?;
            self.list(&data.yields)?;
            self.out.write_char('\n')?;
        }
        Ok(())
    }

    /// A region with its braces.
    fn braced(&mut self, region: RegionId, depth: usize) -> fmt::Result {
        self.out.write_str(" {\n")?;
        self.region(region, depth + 1)?;
        self.indent(depth)?;
        self.out.write_char('}')
    }

    fn indent(&mut self, depth: usize) -> fmt::Result {
        write!(self.out, "{:width$}", "", width = 2 * depth)
    }

    /// Writes a value where it is defined.
    fn define(&mut self, value: Value) -> fmt::Result {
        if let Some(name) = self.names.get_mut(value.0 as usize)
            && name.is_none()
        {
            *name = Some(Name::Number(self.next));
            self.next += 1;
        }
        self.value(value)
    }

    fn value(&mut self, value: Value) -> fmt::Result {
        match self.names.get(value.0 as usize).copied().flatten() {
            Some(Name::Param(index)) => {
                write!(self.out, "%{}", Identifier(&self.function.params[index].name))
            }
            Some(Name::Number(number)) => write!(self.out, "%{number}"),
            None => write!(self.out, "%undefined_{}", value.0),
        }
    }

    fn list(&mut self, values: &[Value]) -> fmt::Result {
        for (index, &value) in values.iter().enumerate() {
            self.out.write_str(if index == 0 { "" } else { ", " })?;
            self.value(value)?;
        }
        Ok(())
    }

    fn define_list(&mut self, values: &[Value]) -> fmt::Result {
        for (index, &value) in values.iter().enumerate() {
            self.out.write_str(if index == 0 { "" } else { ", " })?;
            self.define(value)?;
        }
        Ok(())
    }

    /// ` keyword %value`, if there is one.
    fn optional(&mut self, keyword: &str, value: Option<Value>) -> fmt::Result {
        let Some(value) = value else { return Ok(()) };
        write!(self.out, " {keyword} ")?;
        self.value(value)
    }

    /// `(%0, %1)`: the arguments of a region.
    fn args(&mut self, region: RegionId) -> fmt::Result {
        self.out.write_str(" (")?;
        self.define_list(&self.function.region(region).args)?;
        self.out.write_char(')')
    }

    /// ` carry (%a = %init)`; arguments or initial values that lack a partner are left out.
    fn carry(&mut self, args: &[Value], inits: &[Value]) -> fmt::Result {
        if inits.is_empty() {
            return Ok(());
        }
        self.out.write_str(" carry (")?;
        for (index, (&arg, &init)) in args.iter().zip(inits).enumerate() {
            self.out.write_str(if index == 0 { "" } else { ", " })?;
            self.define(arg)?;
            self.out.write_str(" = ")?;
            self.value(init)?;
        }
        self.out.write_char(')')
    }

    fn cache(&mut self, cache: CacheModifier, eviction: EvictionPolicy) -> fmt::Result {
        if cache != CacheModifier::Default {
            write!(self.out, " cache {cache}")?;
        }
        if eviction != EvictionPolicy::Normal {
            write!(self.out, " evict {eviction}")?;
        }
        Ok(())
    }

    fn ordering(&mut self, ordering: AtomicOrdering, scope: AtomicScope) -> fmt::Result {
        if ordering != AtomicOrdering::default() {
            write!(self.out, " order {ordering}")?;
        }
        if scope != AtomicScope::default() {
            write!(self.out, " scope {scope}")?;
        }
        Ok(())
    }

    fn op(&mut self, id: OpId, depth: usize) -> fmt::Result {
        let function = self.function;
        let data = function.op(id);
        if !data.results.is_empty() {
            self.define_list(&data.results)?;
            self.out.write_str(" = ")?;
        }
        self.out.write_str(data.op.name())?;
        self.rest(data, depth)?;
        for (index, &result) in data.results.iter().enumerate() {
            let separator = if index == 0 { " : " } else { ", " };
            write!(self.out, "{separator}{}", function.ty(result))?;
        }
        if self.spans {
            let span = data.span;
            write!(self.out, " loc({}:{}:{})", span.file.0, span.start, span.end)?;
        }
        Ok(())
    }

    /// What follows the operation's name, up to the types.
    fn rest(&mut self, data: &OpData, depth: usize) -> fmt::Result {
        let function = self.function;
        match &data.op {
            Op::Constant(literal) => {
                let ty = data.results.first().map(|&result| function.ty(result));
                self.out.write_char(' ')?;
                literal_text(self.out, *literal, ty)
            }
            Op::ProgramId { axis } | Op::NumPrograms { axis } => write!(self.out, " {axis}"),
            Op::Arange { start, end } => write!(self.out, " {start}..{end}"),
            Op::ExpandDims { value, axis } => {
                self.operands(&[*value])?;
                write!(self.out, " axis {axis}")
            }
            Op::Transpose { value, permutation } => {
                self.operands(&[*value])?;
                write!(self.out, " {:?}", permutation.as_slice())
            }
            Op::Concatenate { lhs, rhs, axis } => {
                self.operands(&[*lhs, *rhs])?;
                write!(self.out, " axis {axis}")
            }
            Op::Slice { value, starts } => {
                self.operands(&[*value])?;
                write!(self.out, " {:?}", starts.as_slice())
            }
            Op::Index { value, axis, index } => {
                self.operands(&[*value, *index])?;
                write!(self.out, " axis {axis}")
            }
            Op::Gather { source, indices, axis } => {
                self.operands(&[*source, *indices])?;
                write!(self.out, " axis {axis}")
            }
            Op::Histogram { value, mask } => {
                self.operands(&[*value])?;
                self.optional("mask", *mask)
            }
            Op::Compare { predicate, lhs, rhs } => {
                write!(self.out, " {predicate}")?;
                self.operands(&[*lhs, *rhs])
            }
            Op::Cast { value, rounding } => {
                self.operands(&[*value])?;
                match rounding {
                    Rounding::NearestEven => Ok(()),
                    Rounding::TowardsZero => write!(self.out, " {rounding}"),
                }
            }
            Op::Load { pointer, mask, other, cache, eviction, volatile } => {
                self.operands(&[*pointer])?;
                self.optional("mask", *mask)?;
                self.optional("other", *other)?;
                self.cache(*cache, *eviction)?;
                self.out.write_str(if *volatile { " volatile" } else { "" })
            }
            Op::Store { pointer, value, mask, cache, eviction } => {
                self.operands(&[*pointer, *value])?;
                self.optional("mask", *mask)?;
                self.cache(*cache, *eviction)
            }
            Op::AtomicRmw { op, pointer, value, mask, ordering, scope } => {
                write!(self.out, " {op}")?;
                self.operands(&[*pointer, *value])?;
                self.optional("mask", *mask)?;
                self.ordering(*ordering, *scope)
            }
            Op::AtomicCas { pointer, expected, desired, ordering, scope } => {
                self.operands(&[*pointer, *expected, *desired])?;
                self.ordering(*ordering, *scope)
            }
            Op::Dot { lhs, rhs, accumulator, precision } => {
                self.operands(&[*lhs, *rhs])?;
                self.optional("acc", *accumulator)?;
                if *precision == DotPrecision::default() {
                    return Ok(());
                }
                write!(self.out, " precision {precision}")
            }
            Op::Reduce { values, axis, combine } => {
                self.operands(values)?;
                write!(self.out, " axis {axis}")?;
                self.args(*combine)?;
                self.braced(*combine, depth)
            }
            Op::Scan { values, axis, reverse, combine } => {
                self.operands(values)?;
                write!(self.out, " axis {axis}{}", if *reverse { " reverse" } else { "" })?;
                self.args(*combine)?;
                self.braced(*combine, depth)
            }
            Op::MapElementwise { values, body } => {
                self.operands(values)?;
                self.args(*body)?;
                self.braced(*body, depth)
            }
            Op::InlineAssembly { assembly, values } => {
                let Assembly { text, constraints, pack, pure } = &**assembly;
                write!(self.out, " {} {} pack {pack}", Quoted(text), Quoted(constraints))?;
                self.out.write_str(if *pure { " pure" } else { "" })?;
                self.parenthesised(values)
            }
            Op::For { lower, upper, step, inits, body, attributes } => {
                let args = &function.region(*body).args;
                if let Some((&index, carried)) = args.split_first() {
                    self.out.write_char(' ')?;
                    self.define(index)?;
                    self.out.write_str(" =")?;
                    self.operands(&[*lower])?;
                    self.optional("to", Some(*upper))?;
                    self.optional("step", Some(*step))?;
                    self.carry(carried, inits)?;
                }
                self.loop_attributes(attributes)?;
                self.braced(*body, depth)
            }
            Op::While { inits, condition, body } => {
                self.carry(&function.region(*condition).args, inits)?;
                self.braced(*condition, depth)?;
                self.out.write_str(" do")?;
                if !function.region(*body).args.is_empty() {
                    self.args(*body)?;
                }
                self.braced(*body, depth)
            }
            Op::If { condition, then, otherwise } => {
                self.operands(&[*condition])?;
                self.braced(*then, depth)?;
                let region = function.region(*otherwise);
                if region.ops.is_empty() && region.yields.is_empty() {
                    return Ok(());
                }
                self.out.write_str(" else")?;
                self.braced(*otherwise, depth)
            }
            Op::Print { prefix, hex, values } => {
                write!(self.out, " {}{}", Quoted(prefix), if *hex { " hex" } else { "" })?;
                self.parenthesised(values)
            }
            Op::Assert { condition, message, mask } => {
                self.operands(&[*condition])?;
                write!(self.out, ", {}", Quoted(message))?;
                self.optional("mask", *mask)
            }
            Op::Annotate { value, hint } => {
                self.operands(&[*value])?;
                write!(self.out, " {} {:?}", hint.name(), hint.values())
            }
            Op::Splat { .. }
            | Op::Broadcast { .. }
            | Op::Reshape { .. }
            | Op::Join { .. }
            | Op::Split { .. }
            | Op::Unary { .. }
            | Op::Binary { .. }
            | Op::Select { .. }
            | Op::Fma { .. }
            | Op::Bitcast { .. }
            | Op::AddPointer { .. }
            | Op::Assume { .. }
            | Op::Barrier => {
                let mut operands = Vec::new();
                data.op.for_each_operand(|value| operands.push(value));
                self.operands(&operands)
            }
        }
    }

    /// ` %0, %1`.
    fn operands(&mut self, values: &[Value]) -> fmt::Result {
        if values.is_empty() {
            return Ok(());
        }
        self.out.write_char(' ')?;
        self.list(values)
    }

    /// ` (%0, %1)`; nothing without values.
    fn parenthesised(&mut self, values: &[Value]) -> fmt::Result {
        if values.is_empty() {
            return Ok(());
        }
        self.out.write_str(" (")?;
        self.list(values)?;
        self.out.write_char(')')
    }

    fn loop_attributes(&mut self, attributes: &LoopAttributes) -> fmt::Result {
        let LoopAttributes {
            num_stages,
            unroll,
            flatten,
            warp_specialize,
            disallow_acc_multi_buffer,
            disable_licm,
        } = attributes;
        if let Some(stages) = num_stages {
            write!(self.out, " num_stages {stages}")?;
        }
        if let Some(factor) = unroll {
            write!(self.out, " unroll {factor}")?;
        }
        let flags = [
            (flatten, " flatten"),
            (warp_specialize, " warp_specialize"),
            (disallow_acc_multi_buffer, " disallow_acc_multi_buffer"),
            (disable_licm, " disable_licm"),
        ];
        flags.into_iter().filter(|(set, _)| **set).try_for_each(|(_, name)| self.out.write_str(name))
    }
}

/// A literal as its type writes it: truth values by name, `u64` as a positive number, floats with the fewest digits.
fn literal_text(out: &mut impl Write, literal: Literal, ty: Option<&Type>) -> fmt::Result {
    let scalar = ty.and_then(|ty| ty.element.as_scalar());
    match literal {
        Literal::Int(0) if scalar == Some(Scalar::Int1) => out.write_str("false"),
        Literal::Int(1) if scalar == Some(Scalar::Int1) => out.write_str("true"),
        Literal::Int(value) if scalar == Some(Scalar::UInt64) => write!(out, "{}", value as u64),
        Literal::Int(value) => write!(out, "{value}"),
        Literal::Float(value) if value.is_nan() => out.write_str("nan"),
        Literal::Float(value) if scalar == Some(Scalar::Float32) => write!(out, "{:?}", value as f32),
        Literal::Float(value) => write!(out, "{value:?}"),
    }
}

/// A name, in quotes unless it is plain.
struct Identifier<'a>(&'a str);

impl fmt::Display for Identifier<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_plain(self.0) { f.write_str(self.0) } else { Quoted(self.0).fmt(f) }
    }
}

/// A string in quotes, with escapes.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                control if control.is_control() => write!(f, "\\u{{{:x}}}", u32::from(control))?,
                plain => f.write_char(plain)?,
            }
        }
        f.write_char('"')
    }
}
