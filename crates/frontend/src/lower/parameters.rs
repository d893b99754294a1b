//! Reading the argument of a built-in: a constant, a shape, a type, an axis, or else an error that names the parameter.

use super::describe::type_text;
use super::{Lowering, Result};
use crate::value::Value;
use tegula_ir::{Literal, Op, Scalar, Shape, Type};

/// The most elements that a block may have; Triton's limit.
pub const MAX_BLOCK_ELEMENTS: u64 = 1 << 20;

/// The type that an integer constant takes when nothing else decides it: the first of int32, uint32, int64, uint64 that holds it.
pub fn integer_type(value: i128) -> Option<Scalar> {
    if i32::try_from(value).is_ok() {
        Some(Scalar::Int32)
    } else if u32::try_from(value).is_ok() {
        Some(Scalar::UInt32)
    } else if i64::try_from(value).is_ok() {
        Some(Scalar::Int64)
    } else if u64::try_from(value).is_ok() {
        Some(Scalar::UInt64)
    } else {
        None
    }
}

/// The type that a float constant takes when nothing else decides it: fp64 if it is outside fp32's normal range, else fp32.
pub fn float_type(value: f64) -> Scalar {
    let magnitude = value.abs();
    let normal = (f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX)).contains(&magnitude);
    if normal || magnitude == 0.0 || !value.is_finite() { Scalar::Float32 } else { Scalar::Float64 }
}

impl Lowering<'_, '_> {
    /// Makes a value exist at run time: constants take the type of [`integer_type`] or [`float_type`], truth values `int1`.
    ///
    /// # Errors
    /// If the value has no counterpart at run time, or is an integer beyond 64 bits.
    pub fn to_tensor(&mut self, value: &Value) -> Result<tegula_ir::Value> {
        let scalar = match value {
            Value::Tensor(tensor) => return Ok(*tensor),
            Value::Bool(_) => Scalar::Int1,
            Value::Int(number) => match integer_type(*number) {
                Some(scalar) => scalar,
                None => return Err(self.error(format!("the integer {number} does not fit in 64 bits"))),
            },
            Value::Float(number) => float_type(*number),
            other => {
                let message = format!("expected a number or a tensor, but this is {}", self.describe(other));
                return Err(self.error(message));
            }
        };
        let tensor = self.constant(value, scalar)?;
        if matches!(value, Value::Float(_)) && scalar == Scalar::Float64 {
            self.implicit_doubles.push(tensor);
        }
        Ok(tensor)
    }

    /// A constant number as a run-time scalar of the given type: integers wrap to it, floats are rounded to it
    /// (through fp32, unless it is fp64), and truth is whether it is not zero. A float becomes an integer by truncation.
    ///
    /// # Errors
    /// If the value is not a constant number.
    pub fn constant(&mut self, value: &Value, scalar: Scalar) -> Result<tegula_ir::Value> {
        let literal = match (value, scalar) {
            (Value::Bool(value), _) => literal_of_int(i128::from(*value), scalar),
            (Value::Int(value), _) => literal_of_int(*value, scalar),
            (Value::Float(value), Scalar::Int1) => Literal::Int(i64::from(*value != 0.0)),
            (Value::Float(value), scalar) if scalar.is_int() => literal_of_int(*value as i128, scalar),
            (Value::Float(value), Scalar::Float64) => Literal::Float(*value),
            (Value::Float(value), _) => Literal::Float(f64::from(*value as f32)),
            (other, _) => {
                let message =
                    format!("expected a number known at compile time, but this is {}", self.describe(other));
                return Err(self.error(message));
            }
        };
        // Only what the narrow formats hold exactly may stand in a constant of theirs; the rest is a conversion, which folds.
        if scalar.is_float() && !matches!(scalar, Scalar::Float32 | Scalar::Float64) {
            let wide = self.builder.value(Op::Constant(literal), Type::scalar(Scalar::Float32));
            return Ok(self.builder.cast(wide, scalar, tegula_ir::Rounding::NearestEven));
        }
        Ok(self.builder.value(Op::Constant(literal), Type::scalar(scalar)))
    }

    /// The error for a parameter of the built-in being called: "`end` of `tl.arange` must be ..., but it is ...".
    pub fn parameter_error(
        &self,
        parameter: &str,
        expected: &str,
        value: &Value,
    ) -> Box<tegula_ir::Diagnostic> {
        let place = match self.builtin_name() {
            Some(name) => format!("`{parameter}` of `tl.{name}`"),
            None => format!("`{parameter}`"),
        };
        let found = self.describe(value);
        let error = self.error(format!("{place} must be {expected}, but it is {found}"));
        match value {
            Value::Tensor(_) if expected.contains("constexpr") => Box::new(
                error.with_help("pass it to the kernel as a `tl.constexpr` parameter, or compute it from those and annotate it: `NAME: tl.constexpr = ...`"),
            ),
            _ => error,
        }
    }

    /// A constant integer; truth values count as 0 and 1.
    pub fn integer(&self, parameter: &str, value: &Value) -> Result<i128> {
        match value {
            Value::Int(value) => Ok(*value),
            Value::Bool(value) => Ok(i128::from(*value)),
            other => Err(self.parameter_error(parameter, "a constexpr int", other)),
        }
    }

    /// A constant integer, or `None`.
    pub fn optional_integer(&self, parameter: &str, value: &Value) -> Result<Option<i128>> {
        match value {
            Value::None => Ok(None),
            other => self.integer(parameter, other).map(Some),
        }
    }

    /// A constant truth value; integers count by whether they are zero.
    pub fn truth(&self, parameter: &str, value: &Value) -> Result<bool> {
        match value {
            Value::Bool(value) => Ok(*value),
            Value::Int(value) => Ok(*value != 0),
            Value::None => Ok(false),
            other => Err(self.parameter_error(parameter, "a constexpr bool", other)),
        }
    }

    /// A constant string.
    pub fn string<'v>(&self, parameter: &str, value: &'v Value) -> Result<&'v str> {
        match value {
            Value::Str(text) => Ok(text),
            other => Err(self.parameter_error(parameter, "a constexpr string", other)),
        }
    }

    /// A constant string, or `None`.
    pub fn optional_string<'v>(&self, parameter: &str, value: &'v Value) -> Result<Option<&'v str>> {
        match value {
            Value::None => Ok(None),
            other => self.string(parameter, other).map(Some),
        }
    }

    /// A scalar type. Strings name types as signatures do (`"fp32"`) or as the language does (`"float32"`).
    pub fn scalar_type(&self, parameter: &str, value: &Value) -> Result<Scalar> {
        let named = |name: &str| {
            Scalar::ALL
                .into_iter()
                .find(|scalar| scalar.name() == name || crate::builtin::type_name(*scalar) == name)
        };
        match value {
            Value::Type(scalar) => Ok(*scalar),
            Value::Str(name) if named(name).is_some() => Ok(named(name).expect("checked")),
            other => Err(self.parameter_error(parameter, "a type such as `tl.float32`", other)),
        }
    }

    /// A tuple of constant integers; a single integer counts as a tuple of one.
    pub fn integers(&self, parameter: &str, value: &Value) -> Result<Vec<i128>> {
        match value {
            Value::Tuple(items, _) => items.iter().map(|item| self.integer(parameter, item)).collect(),
            Value::Int(value) => Ok(vec![*value]),
            other => Err(self.parameter_error(parameter, "a tuple of constexpr ints", other)),
        }
    }

    /// A shape: positive constant extents, of at most [`MAX_BLOCK_ELEMENTS`] elements in all.
    pub fn shape(&self, parameter: &str, value: &Value) -> Result<Shape> {
        let extents = self.integers(parameter, value)?;
        for &extent in &extents {
            if extent < 1 {
                let expected = format!("made of extents of at least 1, and {extent} is not");
                return Err(self.error(format!("`{parameter}` must be {expected}")));
            }
        }
        self.check_elements(&extents)?;
        Ok(extents.iter().map(|&extent| extent as u32).collect())
    }

    /// Refuses a block of more than [`MAX_BLOCK_ELEMENTS`] elements.
    pub fn check_elements(&self, extents: &[i128]) -> Result<()> {
        let elements = extents.iter().try_fold(1i128, |product, extent| product.checked_mul(*extent));
        match elements {
            Some(elements) if elements <= i128::from(MAX_BLOCK_ELEMENTS) => Ok(()),
            _ => {
                let shape: Vec<String> = extents.iter().map(i128::to_string).collect();
                let count = elements.map_or_else(|| "too many".to_owned(), |elements| elements.to_string());
                let message = format!(
                    "a block of shape ({}) has {count} elements, and the most is {MAX_BLOCK_ELEMENTS}",
                    shape.join(", ")
                );
                Err(Box::new(
                    self.error(message)
                        .with_help("process the data in smaller blocks, in a loop or by a larger grid"),
                ))
            }
        }
    }

    /// An axis of a block of rank `rank`; negative ones count from the end.
    pub fn axis(&self, parameter: &str, value: &Value, rank: usize) -> Result<usize> {
        let axis = self.integer(parameter, value)?;
        let from_start = if axis < 0 { axis + rank as i128 } else { axis };
        if (0..rank as i128).contains(&from_start) {
            return Ok(from_start as usize);
        }
        let place = self.builtin_name().map_or_else(String::new, |name| format!(" of `tl.{name}`"));
        Err(self.error(if rank == 0 {
            format!("`{parameter}`{place} is {axis}, but the value is a scalar and has no axes")
        } else {
            format!(
                "`{parameter}`{place} is {axis}, but the block has rank {rank}: it must be from {} to {}",
                -(rank as i128),
                rank - 1
            )
        }))
    }

    /// The type of a value that is or becomes a tensor, without making it one.
    pub fn type_of(&self, value: &Value) -> Option<Type> {
        match value {
            Value::Tensor(tensor) => Some(self.ty(*tensor).clone()),
            Value::Bool(_) => Some(Type::scalar(Scalar::Int1)),
            Value::Int(value) => integer_type(*value).map(Type::scalar),
            Value::Float(value) => Some(Type::scalar(float_type(*value))),
            _ => None,
        }
    }

    /// The type of a value, as the language prints it, for messages.
    pub fn type_text_of(&self, value: &Value) -> String {
        self.type_of(value).map_or_else(|| self.describe(value), |ty| type_text(&ty))
    }
}

/// The literal of an integer wrapped to a type; of a float type, the nearest float.
fn literal_of_int(value: i128, scalar: Scalar) -> Literal {
    match scalar {
        Scalar::Int1 => Literal::Int(i64::from(value != 0)),
        Scalar::Int8 => Literal::Int(i64::from(value as i8)),
        Scalar::Int16 => Literal::Int(i64::from(value as i16)),
        Scalar::Int32 => Literal::Int(i64::from(value as i32)),
        Scalar::UInt8 => Literal::Int(i64::from(value as u8)),
        Scalar::UInt16 => Literal::Int(i64::from(value as u16)),
        Scalar::UInt32 => Literal::Int(i64::from(value as u32)),
        Scalar::Int64 | Scalar::UInt64 => Literal::Int(value as i64),
        Scalar::Float64 => Literal::Float(value as f64),
        _ => Literal::Float(f64::from(value as f32)),
    }
}
