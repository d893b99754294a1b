//! Binding the arguments of a call to parameters, as Python does.

use crate::builtin::{self, Builtin};
use crate::value::Value;
use ruff_python_ast::{Expr, Parameters, UnaryOp};
use ruff_python_parser::parse_module;
use std::collections::HashMap;
use std::sync::OnceLock;

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: String,
    pub kind: ParameterKind,
    pub default: Option<Value>,
}

/// How arguments reach a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// By position or by name.
    Positional,
    /// `*name`: all positional arguments that are left, as a tuple.
    Variadic,
    /// By name alone.
    KeywordOnly,
}

/// The parameters of a definition; the defaults are asked of `default`.
pub fn parameters(
    definition: &Parameters,
    mut default: impl FnMut(&str, Option<&Expr>) -> Option<Value>,
) -> Vec<Parameter> {
    let mut list = Vec::new();
    for parameter in definition.posonlyargs.iter().chain(&definition.args) {
        let name = parameter.parameter.name.as_str();
        let default = default(name, parameter.default.as_deref());
        list.push(Parameter { name: name.to_owned(), kind: ParameterKind::Positional, default });
    }
    if let Some(variadic) = &definition.vararg {
        list.push(Parameter {
            name: variadic.name.to_string(),
            kind: ParameterKind::Variadic,
            default: None,
        });
    }
    for parameter in &definition.kwonlyargs {
        let name = parameter.parameter.name.as_str();
        let default = default(name, parameter.default.as_deref());
        list.push(Parameter { name: name.to_owned(), kind: ParameterKind::KeywordOnly, default });
    }
    list
}

/// The values of the parameters, in order.
///
/// # Errors
/// The fact: arguments that are missing, given twice, unknown, or too many. `function` is how the function is called in it.
pub fn bind(
    function: &str,
    parameters: &[Parameter],
    positional: &[Value],
    keywords: &[(String, Value)],
) -> Result<Vec<Value>, String> {
    let mut values: Vec<Option<Value>> = vec![None; parameters.len()];
    let mut rest = positional.iter();
    for (value, parameter) in values.iter_mut().zip(parameters) {
        match parameter.kind {
            ParameterKind::Positional => *value = rest.next().cloned(),
            ParameterKind::Variadic => *value = Some(Value::Tuple(rest.by_ref().cloned().collect(), None)),
            ParameterKind::KeywordOnly => {}
        }
    }
    if rest.next().is_some() {
        let most = parameters.iter().filter(|parameter| parameter.kind == ParameterKind::Positional).count();
        return Err(format!(
            "{function} takes at most {most} positional arguments, but {} are given",
            positional.len()
        ));
    }
    for (name, value) in keywords {
        let index = parameters
            .iter()
            .position(|parameter| parameter.name == *name && parameter.kind != ParameterKind::Variadic);
        let Some(index) = index else {
            let known = parameters.iter().map(|parameter| parameter.name.as_str());
            let hint = match super::diagnostics::closest(name, known) {
                Some(close) => format!("; did you mean `{close}`?"),
                None => String::new(),
            };
            return Err(format!("{function} has no parameter `{name}`{hint}"));
        };
        if values[index].is_some() {
            return Err(format!("{function} is given `{name}` twice"));
        }
        values[index] = Some(value.clone());
    }
    let mut missing = Vec::new();
    let mut bound = Vec::with_capacity(values.len());
    for (value, parameter) in values.into_iter().zip(parameters) {
        match value.or_else(|| parameter.default.clone()) {
            Some(value) => bound.push(value),
            None => missing.push(format!("`{}`", parameter.name)),
        }
    }
    if missing.is_empty() { Ok(bound) } else { Err(format!("{function} is missing {}", missing.join(", "))) }
}

/// The parameters of a built-in, read from its signature once.
pub fn builtin_parameters(builtin: &'static Builtin) -> &'static [Parameter] {
    // Entries are statics, so an address identifies one.
    static SIGNATURES: OnceLock<HashMap<usize, OnceLock<Vec<Parameter>>>> = OnceLock::new();
    let address = |entry: &'static Builtin| std::ptr::from_ref(entry) as usize;
    let signatures =
        SIGNATURES.get_or_init(|| builtin::all().map(|entry| (address(entry), OnceLock::new())).collect());
    signatures[&address(builtin)].get_or_init(|| signature(builtin.signature))
}

/// Reads a signature such as `"pointer, mask=None, *, volatile=False"`.
///
/// # Panics
/// If it is not one. A test of the table reads every signature.
fn signature(text: &str) -> Vec<Parameter> {
    let module = parse_module(&format!("def f({text}): pass")).expect("signatures of the table are Python");
    let definition =
        module.into_syntax().body.into_iter().find_map(|statement| statement.function_def_stmt());
    let definition = definition.expect("the text is a definition");
    parameters(&definition.parameters, |_, default| {
        default.map(|default| literal(default).expect("defaults are literals"))
    })
}

/// The value of a literal, or of a tuple of literals.
pub fn literal(expression: &Expr) -> Option<Value> {
    Some(match expression {
        Expr::NoneLiteral(_) => Value::None,
        Expr::EllipsisLiteral(_) => Value::Ellipsis,
        Expr::BooleanLiteral(literal) => Value::Bool(literal.value),
        Expr::NumberLiteral(literal) => super::expressions::number(&literal.value)?,
        Expr::StringLiteral(literal) => Value::Str(literal.value.to_str().into()),
        Expr::Tuple(tuple) => Value::Tuple(tuple.elts.iter().map(literal).collect::<Option<_>>()?, None),
        Expr::UnaryOp(unary) if unary.op == UnaryOp::USub => {
            super::constants::unary(unary.op, &literal(&unary.operand)?).ok()??
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_of_the_table_is_readable() {
        for builtin in builtin::all() {
            builtin_parameters(builtin);
        }
    }

    fn bound(text: &str, positional: &[i128], keywords: &[(&str, i128)]) -> Result<String, String> {
        let positional: Vec<Value> = positional.iter().copied().map(Value::Int).collect();
        let keywords: Vec<(String, Value)> =
            keywords.iter().map(|(name, value)| ((*name).to_owned(), Value::Int(*value))).collect();
        bind("f", &signature(text), &positional, &keywords).map(|values| format!("{values:?}"))
    }

    #[test]
    fn arguments_reach_their_parameters() {
        assert_eq!(bound("a, b=7", &[1], &[]).unwrap(), "[Int(1), Int(7)]");
        assert_eq!(bound("a, b=7", &[], &[("b", 2), ("a", 1)]).unwrap(), "[Int(1), Int(2)]");
        assert_eq!(bound("*a, b=-1", &[1, 2], &[]).unwrap(), "[Tuple([Int(1), Int(2)], None), Int(-1)]");
    }

    #[test]
    fn what_does_not_fit_is_said() {
        assert_eq!(bound("a, b", &[1], &[]).unwrap_err(), "f is missing `b`");
        assert_eq!(
            bound("a", &[1, 2], &[]).unwrap_err(),
            "f takes at most 1 positional arguments, but 2 are given"
        );
        assert_eq!(bound("a", &[1], &[("a", 2)]).unwrap_err(), "f is given `a` twice");
        assert_eq!(
            bound("mask", &[], &[("mas", 2)]).unwrap_err(),
            "f has no parameter `mas`; did you mean `mask`?"
        );
    }
}
