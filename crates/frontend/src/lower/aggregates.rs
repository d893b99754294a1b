//! Aggregates: classes decorated with `@triton.aggregate`, whose instances are values with named fields and jitted methods.
//!
//! ```python
//! @triton.aggregate
//! class Running:
//!     total: tl.tensor
//!     WEIGHT: tl.constexpr = 2
//!
//!     @triton.jit
//!     def add(self, x):
//!         return tl.aggregate_replace(self, total=self.total + self.WEIGHT * x)
//! ```
//!
//! An instance is a named tuple of its class here, so that loops, branches and results carry it. What distinguishes the class is that
//! it knows which of its fields stay constants. Its constructor is an `__init__` that is evaluated like a jitted function, whose `self`
//! may be given fields; without one, the fields are the parameters.

use super::arguments::bind;
use super::names::Binding;
use super::{Lowering, Parameter, ParameterKind, Result};
use crate::host::{FunctionRef, HostValue, TupleClass};
use crate::value::Value;
use ruff_python_ast::{Expr, ExprAttribute};
use ruff_text_size::Ranged;
use std::sync::Arc;
use tegula_ir::Diagnostic;

/// What a field holds while it has not been given a value.
const UNSET: Value = Value::Ellipsis;

impl Lowering<'_, '_> {
    /// Makes an instance from the arguments of the constructor.
    pub(super) fn make_aggregate(
        &mut self,
        class: &TupleClass,
        positional: &[Value],
        keywords: &[(String, Value)],
    ) -> Result<Value> {
        if let Some(HostValue::Function(constructor)) = self.host.attribute(class.object, "_constructor") {
            return self.run_constructor(class, constructor, positional, keywords);
        }
        let defaults = match self.host.attribute(class.object, "_defaults") {
            Some(HostValue::Other(defaults, _)) => Some(defaults),
            _ => None,
        };
        let parameters: Vec<Parameter> = class
            .fields
            .iter()
            .map(|field| {
                let default = defaults.and_then(|defaults| self.host.attribute(defaults, field));
                let default = default.map(Value::from);
                Parameter { name: field.clone(), kind: ParameterKind::Positional, default }
            })
            .collect();
        let values = bind(&format!("`{}`", class.name), &parameters, positional, keywords)
            .map_err(|fact| self.error(fact))?;
        let values = values.iter().enumerate().map(|(index, value)| self.field_value(class, index, value));
        let values = values.collect::<Result<Vec<Value>>>()?;
        Ok(Value::Tuple(values.into(), Some(class.clone())))
    }

    fn run_constructor(
        &mut self,
        class: &TupleClass,
        constructor: FunctionRef,
        positional: &[Value],
        keywords: &[(String, Value)],
    ) -> Result<Value> {
        let unset = Value::Tuple(class.fields.iter().map(|_| UNSET).collect(), Some(class.clone()));
        let positional: Vec<Value> = std::iter::once(unset).chain(positional.iter().cloned()).collect();
        let made = self.construct(constructor, &positional, keywords)?;
        if let Value::Tuple(items, _) = &made
            && let Some(index) = items.iter().position(|item| matches!(item, Value::Ellipsis))
        {
            let message =
                format!("the constructor of `{}` gives `{}` no value", class.name, class.fields[index]);
            return Err(self.error(message));
        }
        Ok(made)
    }

    /// `self.field = value` in a constructor.
    pub(super) fn assign_field(&mut self, target: &ExprAttribute, value: &Value) -> Result<()> {
        self.at(target.range());
        let field = target.attr.as_str();
        let Expr::Name(name) = &*target.value else { return Err(self.immutable(field, None)) };
        let Some(binding) = self.frame().names.get(&name.id).cloned() else {
            return Err(self.immutable(field, None));
        };
        let (Some(Value::Tuple(items, Some(class))), Some(span)) = (binding.value(), binding.span()) else {
            return Err(self.immutable(field, None));
        };
        if self.frame().constructs.as_deref() != Some(name.id.as_str()) {
            return Err(self.immutable(field, Some(class)));
        }
        let Some(index) = class.fields.iter().position(|known| known == field) else {
            let message = format!("`{}` declares no field `{field}`", class.name);
            let help = format!("declare it in the class: `{field}: tl.tensor`");
            return Err(Box::new(self.error(message).with_help(help)));
        };
        let mut items = items.to_vec();
        items[index] = self.field_value(class, index, value)?;
        let made = Value::Tuple(items.into(), Some(class.clone()));
        self.frame_mut().names.insert(name.id.clone(), Binding::Value(made, span));
        Ok(())
    }

    fn immutable(&self, field: &str, class: Option<&TupleClass>) -> Box<Diagnostic> {
        match class.filter(|class| class.is_aggregate()) {
            Some(class) => {
                let message =
                    format!("the field `{field}` of `{}` is assigned outside of its constructor", class.name);
                let help = format!("make a changed copy: `tl.aggregate_replace(x, {field}=...)`");
                Box::new(self.error(message).with_help(help))
            }
            None => self.error("an attribute cannot be assigned in a kernel"),
        }
    }

    /// What a field holds when it is given a value: constants stay constants only in fields declared so.
    fn field_value(&mut self, class: &TupleClass, index: usize, value: &Value) -> Result<Value> {
        if !class.is_constant_field(index) {
            return self.materialise(value);
        }
        match value {
            Value::Tensor(_) => Err(self.error(format!(
                "the field `{}` of `{}` is a constexpr, but its value is {}",
                class.fields[index],
                class.name,
                self.describe(value)
            ))),
            constant => Ok(constant.clone()),
        }
    }

    /// `tl.aggregate_replace(instance, field=value, ...)`: a copy with other values in some fields.
    pub(super) fn replace_fields(
        &mut self,
        positional: &[Value],
        keywords: &[(String, Value)],
    ) -> Result<Value> {
        let [Value::Tuple(items, Some(class))] = positional else {
            return Err(
                self.error("`tl.aggregate_replace` takes one aggregate, and new values by their names")
            );
        };
        let mut items = items.to_vec();
        for (field, value) in keywords {
            let Some(index) = class.fields.iter().position(|known| known == field) else {
                return Err(self.error(format!("`{}` has no field `{field}`", class.name)));
            };
            items[index] = self.field_value(class, index, value)?;
        }
        Ok(Value::Tuple(items.into(), Some(class.clone())))
    }

    /// A method or a class attribute of a tuple with a class.
    pub(super) fn member(&mut self, value: &Value, class: &TupleClass, name: &str) -> Option<Value> {
        let found = self.host.attribute(class.object, name)?;
        let is_static = || match self.host.attribute(class.object, "_static_methods") {
            Some(HostValue::Tuple(names, _)) => {
                names.iter().any(|known| matches!(known, HostValue::Str(known) if known == name))
            }
            _ => false,
        };
        match found {
            method @ (HostValue::Function(_) | HostValue::ConstexprFunction(_)) if !is_static() => {
                Some(Value::Method(Box::new((value.clone(), method.into()))))
            }
            found => Some(found.into()),
        }
    }

    /// The jitted method `name` of an aggregate, bound to it: one that Python calls for an operator.
    pub(super) fn operator_method(&mut self, value: &Value, name: &str) -> Option<Value> {
        let Value::Tuple(_, Some(class)) = value else { return None };
        if !class.is_aggregate() {
            return None;
        }
        let class = class.clone();
        self.member(value, &class, name).filter(|method| matches!(method, Value::Method(_)))
    }

    /// Whether a class is another one or inherits from it.
    pub(super) fn is_subclass(&self, class: &TupleClass, of: &TupleClass) -> bool {
        if class == of {
            return true;
        }
        let bases = class.is_aggregate().then(|| self.host.attribute(class.object, "__mro__")).flatten();
        match bases {
            Some(HostValue::Tuple(bases, _)) => {
                bases.iter().any(|base| matches!(base, HostValue::TupleClass(base) if base == of))
            }
            _ => false,
        }
    }
}

impl TupleClass {
    /// Whether this is the class of an aggregate.
    pub fn is_aggregate(&self) -> bool {
        self.constants.is_some()
    }

    /// Whether a field stays a constant.
    fn is_constant_field(&self, index: usize) -> bool {
        self.constants
            .as_ref()
            .and_then(|constants: &Arc<[bool]>| constants.get(index))
            .is_some_and(|known| *known)
    }
}
