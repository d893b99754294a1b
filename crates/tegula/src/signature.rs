//! What to compile a kernel for, written as text: `*fp32, *fp32, i32:16`.

use crate::error::Error;
use tegula_ir::{Element, Pointer, Scalar};
use tegula_runtime::{Constant, Specialization};

/// The types of a kernel's run-time arguments, and its constexprs.
///
/// ```
/// let signature = tegula::Signature::parse("*fp32, *fp32:16, i32")?.constexpr("BLOCK", 1024);
/// # Ok::<(), tegula::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signature {
    pub(crate) arguments: Vec<Specialization>,
    pub(crate) constants: Vec<(String, Constant)>,
}

impl Signature {
    /// Reads types separated by commas, one for each parameter that is not given as a constexpr.
    ///
    /// A type is a scalar (`i1`, `i8` to `i64`, `u8` to `u64`, `fp16`, `bf16`, `fp32`, `fp64`, `fp8e4nv`, ...) or a pointer to one
    /// (`*fp32`; `*kfp32` is one that is only read through). `:16` after it promises that the argument (for a pointer, its address in bytes)
    /// is a multiple of 16. A number, `True`, `False` or `None` is a constant.
    ///
    /// # Errors
    /// [`Error::Signature`] names the entry that cannot be read.
    pub fn parse(text: &str) -> Result<Signature, Error> {
        let entries = text.split(',').map(str::trim);
        let arguments = if text.trim().is_empty() {
            Vec::new()
        } else {
            entries.map(argument).collect::<Result<_, _>>()?
        };
        Ok(Signature { arguments, constants: Vec::new() })
    }

    /// Adds a constexpr; of two with one name the last counts.
    pub fn constexpr(mut self, name: impl Into<String>, value: impl Into<Constant>) -> Signature {
        let name = name.into();
        self.constants.retain(|(known, _)| *known != name);
        self.constants.push((name, value.into()));
        self
    }

    /// Reads a constexpr as the command line has it: `BLOCK=1024`, `CAUSAL=True`, `EPS=1e-5`, `DTYPE=tl.float16`, `MODE=relu`.
    ///
    /// Numbers, `True`, `False` and `None` are read as Python reads them, and `tl.` followed by a type's name is the type; anything else,
    /// or what stands in quotes, is a string.
    ///
    /// # Errors
    /// [`Error::Signature`] if there is no `=` or no name before it.
    pub fn parse_constexpr(text: &str) -> Result<(String, Constant), Error> {
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                let value = value.trim();
                let constant = constant(value).unwrap_or_else(|| Constant::Str(unquoted(value).into()));
                Ok((name.trim().to_owned(), constant))
            }
            _ => Err(Error::Signature(format!(
                "the constexpr `{text}` is not of the form NAME=VALUE, such as BLOCK=1024"
            ))),
        }
    }
}

fn argument(text: &str) -> Result<Specialization, Error> {
    if let Some(constant) = constant(text) {
        return Ok(Specialization::Constexpr(constant));
    }
    let (ty, divisible_by) = match text.split_once(':') {
        None => (text, 1),
        Some((ty, "16")) => (ty, 16),
        Some((_, divisor)) => {
            return Err(Error::Signature(format!(
                "the signature entry `{text}` promises a multiple of `{divisor}`, but only `:16` can be promised"
            )));
        }
    };
    match element(ty) {
        Some(Element::Scalar(Scalar::Int1)) if divisible_by != 1 => Err(Error::Signature(format!(
            "the signature entry `{text}` promises a multiple of a truth value"
        ))),
        Some(element) => Ok(Specialization::Runtime { element, divisible_by }),
        None => {
            let scalars: Vec<&str> = Scalar::ALL.iter().map(|scalar| scalar.name()).collect();
            Err(Error::Signature(format!(
                "the signature entry `{text}` is no type: expected one of {}, `*` and one of these, or a constant",
                scalars.join(", ")
            )))
        }
    }
}

/// `fp32`, `*fp32`, `**fp32`, `*kfp32`.
fn element(text: &str) -> Option<Element> {
    let name = text.trim_start_matches('*');
    let depth = u8::try_from(text.len() - name.len()).ok()?;
    if depth == 0 {
        return Some(Scalar::from_name(name)?.into());
    }
    let (pointee, constant) = match Scalar::from_name(name) {
        Some(scalar) => (scalar, false),
        None => (Scalar::from_name(name.strip_prefix('k')?)?, true),
    };
    Some(Pointer { pointee, depth, constant }.into())
}

/// A number, a truth value, `None`, or a type.
fn constant(text: &str) -> Option<Constant> {
    match text {
        "None" => return Some(Constant::None),
        "True" => return Some(Constant::Bool(true)),
        "False" => return Some(Constant::Bool(false)),
        _ => {}
    }
    if let Some(name) = text.strip_prefix("tl.") {
        let named = |scalar: &Scalar| scalar.name() == name || language_name(*scalar) == name;
        return Scalar::ALL.iter().copied().find(named).map(Constant::Type);
    }
    let digits = text.replace('_', "");
    if let Some(hexadecimal) = digits.strip_prefix("0x") {
        return i128::from_str_radix(hexadecimal, 16).ok().map(Constant::Int);
    }
    // Words that Rust reads as floats (`inf`, `nan`) are strings to Python, unless a sign or digit starts them.
    let numeric = digits
        .trim_start_matches(['-', '+'])
        .starts_with(|first: char| first.is_ascii_digit() || first == '.');
    if !numeric {
        return None;
    }
    digits.parse().map(Constant::Int).or_else(|_| digits.parse().map(Constant::float)).ok()
}

/// The name that `triton.language` gives a type: `float32` for `fp32`.
fn language_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Float16 => "float16",
        Scalar::BFloat16 => "bfloat16",
        Scalar::Float32 => "float32",
        Scalar::Float64 => "float64",
        Scalar::Float8E4M3 => "float8e4nv",
        Scalar::Float8E5M2 => "float8e5",
        Scalar::Float8E4B15 => "float8e4b15",
        Scalar::Float8E4B8 => "float8e4b8",
        Scalar::Float8E5B16 => "float8e5b16",
        other => other.language_name(),
    }
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_pointers_and_promises() {
        let signature = Signature::parse("*fp32, *kbf16:16, **i32, u8, i32:16, 1, None").unwrap();
        let runtime = |element: Element, divisible_by| Specialization::Runtime { element, divisible_by };
        let constant = Pointer { pointee: Scalar::BFloat16, depth: 1, constant: true };
        let deep = Pointer { pointee: Scalar::Int32, depth: 2, constant: false };
        assert_eq!(
            signature.arguments,
            [
                runtime(Pointer::to(Scalar::Float32).into(), 1),
                runtime(constant.into(), 16),
                runtime(deep.into(), 1),
                runtime(Scalar::UInt8.into(), 1),
                runtime(Scalar::Int32.into(), 16),
                Specialization::Constexpr(Constant::Int(1)),
                Specialization::Constexpr(Constant::None),
            ]
        );
        assert_eq!(Signature::parse(" ").unwrap(), Signature::default());
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, fact) in [
            ("*fp32, float", "`float`"),
            ("*fp32:8", "`:16`"),
            ("i32,,i32", "``"),
            ("i1:16", "truth value"),
            ("*", "`*`"),
            ("kfp32", "`kfp32`"),
        ] {
            let message = Signature::parse(text).unwrap_err().to_string();
            assert!(message.contains(fact), "{message}");
        }
        assert!(Signature::parse_constexpr("BLOCK").is_err());
        assert!(Signature::parse_constexpr("=3").is_err());
    }

    #[test]
    fn constexprs_are_read_as_python_reads_them() {
        for (text, expected) in [
            ("A=1024", Constant::Int(1024)),
            ("A=-1_000", Constant::Int(-1000)),
            ("A=0xff", Constant::Int(255)),
            ("A=1.0", Constant::float(1.0)),
            ("A=1e-5", Constant::float(1e-5)),
            ("A=True", Constant::Bool(true)),
            ("A=None", Constant::None),
            ("A=tl.float32", Constant::Type(Scalar::Float32)),
            ("A=tl.int8", Constant::Type(Scalar::Int8)),
            ("A=relu", Constant::Str("relu".into())),
            ("A='1024'", Constant::Str("1024".into())),
            ("A=inf", Constant::Str("inf".into())),
            ("A=x=y", Constant::Str("x=y".into())),
        ] {
            assert_eq!(Signature::parse_constexpr(text).unwrap(), ("A".to_owned(), expected), "{text}");
        }
    }

    #[test]
    fn the_last_constexpr_of_a_name_counts() {
        let signature = Signature::default().constexpr("A", 1).constexpr("A", 2);
        assert_eq!(signature.constants, [("A".to_owned(), Constant::Int(2))]);
    }
}
