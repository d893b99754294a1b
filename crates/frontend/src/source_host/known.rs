//! The parts of Triton and of Python's library that source files use outside kernels.

use crate::host::{HostValue, ObjectRef};

/// Something that is known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// `triton`, or `tegula`.
    Triton,
    /// `@triton.jit`
    Jit,
    /// `@triton.constexpr_function`
    ConstexprFunction,
    /// `triton.cdiv`
    CeilingDivide,
    /// `triton.next_power_of_2`
    NextPowerOf2,
    /// `math`
    Math,
    Sqrt,
    Exp,
    Log,
    Log2,
    Floor,
    Ceil,
    /// `collections`
    Collections,
    /// `collections.namedtuple`
    MakeNamedTuple,
    /// `typing`
    Typing,
    /// `typing.NamedTuple`
    NamedTuple,
}

impl Known {
    /// Everything, in the order of its objects: the place in this list is the number of the object.
    pub const ALL: [Known; 16] = [
        Known::Triton,
        Known::Jit,
        Known::ConstexprFunction,
        Known::CeilingDivide,
        Known::NextPowerOf2,
        Known::Math,
        Known::Sqrt,
        Known::Exp,
        Known::Log,
        Known::Log2,
        Known::Floor,
        Known::Ceil,
        Known::Collections,
        Known::MakeNamedTuple,
        Known::Typing,
        Known::NamedTuple,
    ];

    /// The module that an `import` of this name gives.
    pub fn module(name: &str) -> Option<Known> {
        match name {
            "triton" | "tegula" => Some(Known::Triton),
            "math" => Some(Known::Math),
            "collections" => Some(Known::Collections),
            "typing" => Some(Known::Typing),
            _ => None,
        }
    }

    /// The value by which this is referred to.
    pub fn value(self) -> HostValue {
        let object = ObjectRef(Known::ALL.iter().position(|known| *known == self).unwrap_or_default() as u64);
        match self {
            Known::Triton | Known::Math | Known::Collections | Known::Typing => HostValue::Module(object),
            Known::CeilingDivide
            | Known::NextPowerOf2
            | Known::Sqrt
            | Known::Exp
            | Known::Log
            | Known::Log2
            | Known::Floor
            | Known::Ceil => HostValue::ConstexprFunction(object),
            Known::Jit | Known::ConstexprFunction => HostValue::Other(object, "decorator".to_owned()),
            Known::MakeNamedTuple => HostValue::Other(object, "function".to_owned()),
            Known::NamedTuple => HostValue::Other(object, "type".to_owned()),
        }
    }

    /// An attribute of a module.
    pub fn attribute(self, name: &str) -> Option<HostValue> {
        self.attributes().iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }

    /// The names of a module's attributes.
    pub fn attribute_names(self) -> Vec<String> {
        self.attributes().iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    fn attributes(self) -> Vec<(&'static str, HostValue)> {
        match self {
            Known::Triton => vec![
                ("language", HostValue::Language("")),
                ("jit", Known::Jit.value()),
                ("constexpr_function", Known::ConstexprFunction.value()),
                ("cdiv", Known::CeilingDivide.value()),
                ("next_power_of_2", Known::NextPowerOf2.value()),
            ],
            Known::Math => vec![
                ("pi", HostValue::Float(std::f64::consts::PI)),
                ("e", HostValue::Float(std::f64::consts::E)),
                ("tau", HostValue::Float(std::f64::consts::TAU)),
                ("inf", HostValue::Float(f64::INFINITY)),
                ("nan", HostValue::Float(f64::NAN)),
                ("sqrt", Known::Sqrt.value()),
                ("exp", Known::Exp.value()),
                ("log", Known::Log.value()),
                ("log2", Known::Log2.value()),
                ("floor", Known::Floor.value()),
                ("ceil", Known::Ceil.value()),
            ],
            Known::Collections => vec![("namedtuple", Known::MakeNamedTuple.value())],
            Known::Typing => vec![("NamedTuple", Known::NamedTuple.value())],
            _ => Vec::new(),
        }
    }

    /// Calls a function with constants. `None` if this is none.
    ///
    /// # Errors
    /// The exception that Python would raise.
    pub fn call(self, arguments: &[HostValue]) -> Option<Result<HostValue, String>> {
        let float = |function: fn(f64) -> f64| match arguments {
            [value] => match number(value) {
                Some(value) => {
                    let result = function(value);
                    // Python raises where C gives NaN.
                    if result.is_nan() && !value.is_nan() || result.is_infinite() && value.is_finite() {
                        Err("ValueError: math domain error".to_owned())
                    } else {
                        Ok(HostValue::Float(result))
                    }
                }
                None => Err("TypeError: must be a real number".to_owned()),
            },
            _ => Err(format!("TypeError: expected 1 argument, got {}", arguments.len())),
        };
        let whole = |function: fn(f64) -> f64| {
            float(function).and_then(|value| match value {
                HostValue::Float(value) if value.abs() < 1e38 => Ok(HostValue::Int(value as i128)),
                _ => Err("OverflowError: cannot convert float to an integer".to_owned()),
            })
        };
        Some(match self {
            Known::Sqrt => float(f64::sqrt),
            Known::Exp => float(f64::exp),
            Known::Log => float(f64::ln),
            Known::Log2 => float(f64::log2),
            Known::Floor => whole(f64::floor),
            Known::Ceil => whole(f64::ceil),
            Known::CeilingDivide => {
                match arguments.iter().map(integer).collect::<Option<Vec<_>>>().as_deref() {
                    Some([_, 0]) => Err("ZeroDivisionError: integer division or modulo by zero".to_owned()),
                    Some([x, y]) => x
                        .checked_neg()
                        .map(|negative| HostValue::Int(floor_divide(negative, *y).wrapping_neg()))
                        .ok_or_else(|| "OverflowError: the integer is too large".to_owned()),
                    _ => Err("TypeError: cdiv takes two integers".to_owned()),
                }
            }
            Known::NextPowerOf2 => match arguments.iter().map(integer).collect::<Option<Vec<_>>>().as_deref()
            {
                Some([value]) => Ok(HostValue::Int(next_power_of_2(*value))),
                _ => Err("TypeError: next_power_of_2 takes one integer".to_owned()),
            },
            _ => return None,
        })
    }
}

fn floor_divide(dividend: i128, divisor: i128) -> i128 {
    let quotient = dividend.wrapping_div(divisor);
    let inexact = dividend.wrapping_rem(divisor) != 0;
    if inexact && (dividend < 0) != (divisor < 0) { quotient - 1 } else { quotient }
}

/// The least power of two that is not below `value`; 0 for what is not positive.
fn next_power_of_2(value: i128) -> i128 {
    u128::try_from(value)
        .ok()
        .filter(|value| *value > 0)
        .and_then(u128::checked_next_power_of_two)
        .and_then(|power| power.try_into().ok())
        .unwrap_or(0)
}

fn integer(value: &HostValue) -> Option<i128> {
    match value {
        HostValue::Int(value) => Some(*value),
        HostValue::Bool(value) => Some(i128::from(*value)),
        HostValue::Constexpr(value) => integer(value),
        _ => None,
    }
}

fn number(value: &HostValue) -> Option<f64> {
    match value {
        HostValue::Float(value) => Some(*value),
        HostValue::Constexpr(value) => number(value),
        other => integer(other).map(|value| value as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_has_its_number() {
        for known in Known::ALL {
            let (HostValue::Module(object)
            | HostValue::ConstexprFunction(object)
            | HostValue::Other(object, _)) = known.value()
            else {
                panic!("{known:?} is referred to by an object")
            };
            assert_eq!(Known::ALL[object.0 as usize], known);
        }
    }

    #[test]
    fn functions_of_integers() {
        let call = |known: Known, arguments: &[i128]| {
            let arguments: Vec<_> = arguments.iter().map(|value| HostValue::Int(*value)).collect();
            known.call(&arguments).unwrap().map(|value| integer(&value))
        };
        assert_eq!(call(Known::CeilingDivide, &[10, 4]), Ok(Some(3)));
        assert_eq!(call(Known::CeilingDivide, &[-10, 4]), Ok(Some(-2)));
        assert!(call(Known::CeilingDivide, &[1, 0]).is_err());
        for (value, power) in [(-3, 0), (0, 0), (1, 1), (3, 4), (1024, 1024), (1025, 2048)] {
            assert_eq!(call(Known::NextPowerOf2, &[value]), Ok(Some(power)));
        }
        assert_eq!(call(Known::Floor, &[7]), Ok(Some(7)));
        assert!(call(Known::Log, &[0]).is_err());
    }
}
