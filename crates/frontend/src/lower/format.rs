//! f-strings. They exist at compile time alone, where a run-time value stands for its type.

use super::{Lowering, Result};
use crate::value::Value;
use ruff_python_ast::{
    ConversionFlag, ExprFString, FStringPart, InterpolatedStringElement, InterpolatedStringElements,
};

impl Lowering<'_, '_> {
    pub(super) fn f_string(&mut self, expression: &ExprFString) -> Result<Value> {
        let mut text = String::new();
        for part in expression.value.iter() {
            match part {
                FStringPart::Literal(literal) => text.push_str(&literal.value),
                FStringPart::FString(part) => self.interpolate(&part.elements, &mut text)?,
            }
        }
        Ok(Value::Str(text.into()))
    }

    fn interpolate(&mut self, elements: &InterpolatedStringElements, text: &mut String) -> Result<()> {
        for element in elements.iter() {
            match element {
                InterpolatedStringElement::Literal(literal) => text.push_str(&literal.value),
                InterpolatedStringElement::Interpolation(interpolation) => {
                    let value = self.expression(&interpolation.expression)?;
                    let mut specification = String::new();
                    if let Some(format) = &interpolation.format_spec {
                        self.interpolate(&format.elements, &mut specification)?;
                    }
                    let value = match interpolation.conversion {
                        ConversionFlag::None => value,
                        ConversionFlag::Str => Value::Str(self.text(&value).into()),
                        ConversionFlag::Ascii | ConversionFlag::Repr => Value::Str(self.repr(&value).into()),
                    };
                    let formatted = self.formatted(&value, &specification);
                    text.push_str(&formatted.map_err(|error| self.unless_python_knows(error, &[value]))?);
                }
            }
        }
        Ok(())
    }

    /// A value by a format specification: `[[fill]align][0][width][.precision][type]`, the part of Python's that is in common use.
    fn formatted(&self, value: &Value, specification: &str) -> Result<String> {
        let refused = || {
            self.error(format!("the format `{specification}` is not supported for {}", self.describe(value)))
        };
        let mut letters: Vec<char> = specification.chars().collect();
        let kind = letters.pop_if(|letter| letter.is_ascii_alphabetic());
        let mut rest = letters.iter().copied().peekable();
        let mut fill = ' ';
        let mut align = None;
        if letters.len() > 1 && matches!(letters[1], '<' | '>' | '^') {
            fill = letters[0];
            align = Some(letters[1]);
            rest.nth(1);
        } else if let Some(sign) = rest.next_if(|letter| matches!(letter, '<' | '>' | '^')) {
            align = Some(sign);
        }
        if rest.next_if_eq(&'0').is_some() {
            fill = '0';
            align = align.or(Some('='));
        }
        let number = |rest: &mut std::iter::Peekable<_>| -> Option<usize> {
            let digits: String =
                std::iter::from_fn(|| rest.next_if(|letter: &char| letter.is_ascii_digit())).collect();
            digits.parse().ok().filter(|width| *width <= 1000)
        };
        let width = number(&mut rest).unwrap_or(0);
        let precision =
            if rest.next_if_eq(&'.').is_some() { Some(number(&mut rest).ok_or_else(refused)?) } else { None };
        if rest.next().is_some() {
            return Err(refused());
        }
        let body = match (kind, value, precision) {
            (None | Some('s'), value, None) => self.text(value),
            (Some('d'), Value::Int(value), None) => value.to_string(),
            (Some('x'), Value::Int(value), None) => signed(*value, |value| format!("{value:x}")),
            (Some('X'), Value::Int(value), None) => signed(*value, |value| format!("{value:X}")),
            (Some('b'), Value::Int(value), None) => signed(*value, |value| format!("{value:b}")),
            (Some('o'), Value::Int(value), None) => signed(*value, |value| format!("{value:o}")),
            (Some('f'), Value::Int(value), precision) => {
                format!("{:.*}", precision.unwrap_or(6), *value as f64)
            }
            (Some('f'), Value::Float(value), precision) => format!("{:.*}", precision.unwrap_or(6), value),
            _ => return Err(refused()),
        };
        let missing = width.saturating_sub(body.chars().count());
        let padding = |count: usize| fill.to_string().repeat(count);
        let number = matches!(value, Value::Int(_) | Value::Float(_));
        Ok(match align.unwrap_or(if number { '>' } else { '<' }) {
            '<' => format!("{body}{}", padding(missing)),
            '^' => format!("{}{body}{}", padding(missing / 2), padding(missing - missing / 2)),
            '=' => match body.strip_prefix('-') {
                Some(digits) => format!("-{}{digits}", padding(missing)),
                None => format!("{}{body}", padding(missing)),
            },
            _ => format!("{}{body}", padding(missing)),
        })
    }
}

fn signed(value: i128, digits: impl Fn(u128) -> String) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", digits(value.unsigned_abs()))
}
