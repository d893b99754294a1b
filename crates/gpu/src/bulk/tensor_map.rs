//! What the host must know to make the tensor maps of a launch: expressions of its arguments.

use super::polynomial::{Polynomial, Symbol};
use std::fmt;
use std::str::FromStr;
use tegula_ir::{Function, Scalar, ValueDef};

/// A sum of products of arguments.
///
/// As text, `64*1*3 + 5` is 64 times the arguments 1 and 3, and 5.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct HostExpression {
    /// A coefficient, and the arguments it is multiplied with.
    terms: Vec<(i64, Vec<u32>)>,
}

/// A matrix in memory, and the boxes of it that a kernel copies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorMap {
    /// The parameter that points to the matrix.
    pub parameter: u32,
    /// The type of its elements.
    pub element: Scalar,
    /// Its columns and rows; `None` where it has no end that matters.
    pub extents: [Option<HostExpression>; 2],
    /// From a row to the next, in elements.
    pub stride: HostExpression,
    /// The columns and rows of a box.
    pub box_extents: [u32; 2],
    /// The bytes of a row of the swizzle: 32, 64 or 128.
    pub swizzle_bytes: u32,
}

/// What must hold of a launch's arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    /// This ...
    pub value: HostExpression,
    /// ... is a multiple of this.
    pub multiple_of: u32,
}

impl HostExpression {
    /// A polynomial of integer parameters; `None` if it depends on more than those.
    pub(crate) fn of(function: &Function, polynomial: &Polynomial) -> Option<HostExpression> {
        let mut terms = Vec::new();
        for (monomial, coefficient) in polynomial.terms() {
            let parameter = |symbol: &Symbol| match *symbol {
                Symbol::Value(value) => match function.value(value).def {
                    ValueDef::Param(number) => Some(number),
                    _ => None,
                },
                _ => None,
            };
            terms.push((coefficient, monomial.iter().map(parameter).collect::<Option<Vec<u32>>>()?));
        }
        Some(HostExpression { terms })
    }

    /// The arguments that it depends on.
    pub fn arguments(&self) -> impl Iterator<Item = u32> {
        self.terms.iter().flat_map(|(_, factors)| factors.iter().copied())
    }

    /// The value for some arguments; `None` if it is beyond 64 bits.
    pub fn evaluate(&self, argument: impl Fn(u32) -> i64) -> Option<i64> {
        self.terms.iter().try_fold(0i64, |sum, (coefficient, factors)| {
            let product = factors
                .iter()
                .try_fold(*coefficient, |product, &factor| product.checked_mul(argument(factor)));
            sum.checked_add(product?)
        })
    }
}

impl fmt::Display for HostExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return f.write_str("0");
        }
        for (index, (coefficient, factors)) in self.terms.iter().enumerate() {
            let plus = if index > 0 { "+" } else { "" };
            write!(f, "{plus}{coefficient}")?;
            factors.iter().try_for_each(|factor| write!(f, "*{factor}"))?;
        }
        Ok(())
    }
}

impl FromStr for HostExpression {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<HostExpression, Self::Err> {
        let term = |text: &str| {
            let mut parts = text.split('*');
            let coefficient = parts.next().unwrap_or_default().parse()?;
            Ok((coefficient, parts.map(str::parse).collect::<Result<_, _>>()?))
        };
        Ok(HostExpression { terms: text.split('+').map(term).collect::<Result<_, _>>()? })
    }
}

/// `parameter element columns rows stride box_columns box_rows swizzle`; `-` has no end.
impl fmt::Display for TensorMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.parameter, self.element)?;
        for extent in &self.extents {
            match extent {
                Some(extent) => write!(f, " {extent}")?,
                None => write!(f, " -")?,
            }
        }
        let [columns, rows] = self.box_extents;
        write!(f, " {} {columns} {rows} {}", self.stride, self.swizzle_bytes)
    }
}

/// Text that is no [`TensorMap`] or [`Condition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl FromStr for TensorMap {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<TensorMap, Malformed> {
        let fields: Vec<&str> = text.split(' ').collect();
        let &[parameter, element, columns, rows, stride, box_columns, box_rows, swizzle] = fields.as_slice()
        else {
            return Err(Malformed);
        };
        let number = |text: &str| text.parse::<u32>().map_err(|_| Malformed);
        let expression = |text: &str| text.parse::<HostExpression>().map_err(|_| Malformed);
        let extent = |text: &str| if text == "-" { Ok(None) } else { expression(text).map(Some) };
        Ok(TensorMap {
            parameter: number(parameter)?,
            element: Scalar::from_name(element).ok_or(Malformed)?,
            extents: [extent(columns)?, extent(rows)?],
            stride: expression(stride)?,
            box_extents: [number(box_columns)?, number(box_rows)?],
            swizzle_bytes: number(swizzle)?,
        })
    }
}

/// `value multiple_of`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.value, self.multiple_of)
    }
}

impl FromStr for Condition {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Condition, Malformed> {
        let (value, multiple_of) = text.split_once(' ').ok_or(Malformed)?;
        let value = value.parse().map_err(|_| Malformed)?;
        Ok(Condition { value, multiple_of: multiple_of.parse().map_err(|_| Malformed)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_as_they_are_written() {
        for text in ["0", "64*1*3+5", "-1*2", "1*0+-64"] {
            let expression: HostExpression = text.parse().expect("it is an expression");
            assert_eq!(expression.to_string(), text);
        }
        let expression: HostExpression = "64*1*3+5".parse().expect("it is an expression");
        assert_eq!(expression.evaluate(|argument| i64::from(argument) * 10), Some(64 * 10 * 30 + 5));
        assert_eq!(expression.evaluate(|_| i64::MAX), None);
    }

    #[test]
    fn maps_are_read_as_they_are_written() {
        let text = "0 bf16 1*5 - 1*6 64 128 128";
        let map: TensorMap = text.parse().expect("it is a map");
        assert_eq!((map.to_string().as_str(), map.box_extents), (text, [64, 128]));
        let condition: Condition = "1*3 128".parse().expect("it is a condition");
        assert_eq!(condition.to_string(), "1*3 128");
        assert_eq!("0 bf16".parse::<TensorMap>(), Err(Malformed));
    }
}
