//! Which argument belongs to which parameter, by Python's rules.

use crate::call::{Call, USUAL_ARGUMENTS};
use crate::classes::classes;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use smallvec::SmallVec;
use tegula_ir::Scalar;
use tegula_runtime::{Options, Policy};

/// A parameter of a kernel, with what a launch needs to know of it.
pub struct Parameter {
    pub name: String,
    /// The name as Python has it at call sites: an interned string, so that it is mostly found by identity.
    interned: Py<PyString>,
    /// `inspect.Parameter.empty` if there is none.
    default: Py<PyAny>,
    pub keyword_only: bool,
    /// Whether launches have an option of the same name: then an argument of that name is for both.
    names_option: bool,
    pub constexpr: bool,
    /// Whether it is annotated `tl.const`: a pointer that is not stored through.
    pub constant: bool,
    /// The scalar type that it is annotated with.
    pub declared: Option<Scalar>,
    pub policy: Policy,
}

/// A parameter as the package describes it: name, default, keyword-only, constexpr, `tl.const`, declared type, specialise the value,
/// specialise the alignment.
pub type Description<'py> =
    (Bound<'py, PyString>, Bound<'py, PyAny>, bool, bool, bool, Option<String>, bool, bool);

impl Parameter {
    /// Reads a description.
    pub fn new(py: Python<'_>, description: Description<'_>) -> PyResult<Parameter> {
        let (name, default, keyword_only, constexpr, constant, declared, value, alignment) = description;
        let declared = match declared {
            Some(name) => Some(
                Scalar::from_name(&name)
                    .ok_or_else(|| PyValueError::new_err(format!("`{name}` is no type of a parameter")))?,
            ),
            None => None,
        };
        let text = name.to_str()?.to_owned();
        Ok(Parameter {
            interned: PyString::intern(py, &text).unbind(),
            names_option: OPTIONS.contains(&text.as_str()),
            name: text,
            default: default.unbind(),
            keyword_only,
            constexpr,
            constant,
            declared,
            policy: Policy { value, alignment },
        })
    }

    /// The default, if there is one.
    pub fn default<'py>(&self, py: Python<'py>) -> PyResult<Option<&Bound<'py, PyAny>>> {
        let default = self.default.bind(py);
        Ok((!default.is(&classes(py)?.empty)).then_some(default))
    }
}

/// Every option of a launch that Triton's targets know beside those of [`Options`]. They steer other hardware, so they
/// are accepted and have no effect.
const OTHER_OPTIONS: &[&str] = &[
    "debug",
    "deprecated_fp8_dot_operand_dtypes",
    "extern_libs",
    "grf_mode",
    "instrumentation_mode",
    "ir_override",
    "kpack",
    "matrix_instr_nonkdim",
    "max_num_imprecise_acc_default",
    "num_buffers_warp_spec",
    "num_consumer_groups",
    "reg_dec_producer",
    "reg_inc_consumer",
    "sanitize_overflow",
    "schedule_hint",
    "waves_per_eu",
];

/// The names of [`Options`].
const OPTIONS: &[&str] = &[
    "num_warps",
    "num_stages",
    "num_ctas",
    "maxnreg",
    "enable_fp_fusion",
    "launch_cooperative_grid",
    "launch_pdl",
];

/// One argument a parameter.
pub type BoundArguments<'a, 'py> = SmallVec<[&'a Bound<'py, PyAny>; USUAL_ARGUMENTS]>;

/// Adds the argument of each parameter, or its default, to `bound`, and sets the options that are among them.
///
/// # Errors
/// Python's own for missing, doubled and unknown arguments; a `ValueError` for an impossible launch option.
pub fn bind<'a, 'py>(
    py: Python<'py>,
    kernel: &str,
    parameters: &'a [Parameter],
    call: &Call<'a, 'py>,
    bound: &mut BoundArguments<'a, 'py>,
    options: &mut Options,
) -> PyResult<()> {
    let positional = call.positional();
    // Parameters that are keyword-only come last.
    let taken = parameters.get(..positional.len());
    if taken.is_none_or(|taken| taken.last().is_some_and(|last| last.keyword_only)) {
        return Err(too_many(kernel, parameters, positional.len()));
    }
    let rest = &parameters[positional.len()..];
    bound.extend(positional);
    bound.extend(rest.iter().map(|parameter| parameter.default.bind(py)));
    for (key, value) in call.named() {
        let Some(index) = place_of(kernel, parameters, &key, value, options)? else { continue };
        if index < positional.len() {
            let message = format!("`{kernel}` got two values for the argument `{}`", parameters[index].name);
            return Err(PyTypeError::new_err(message));
        }
        bound[index] = value;
    }
    let empty = classes(py)?.empty.bind(py);
    if bound[positional.len()..].iter().any(|argument| argument.is(empty)) {
        return Err(missing(kernel, rest, &bound[positional.len()..], empty));
    }
    Ok(())
}

/// The index of the parameter that a named argument is for; `None` if it is an option alone. It may be both.
fn place_of(
    kernel: &str,
    parameters: &[Parameter],
    key: &Borrowed<'_, '_, PyAny>,
    value: &Bound<'_, PyAny>,
    options: &mut Options,
) -> PyResult<Option<usize>> {
    let by_identity = parameters.iter().position(|parameter| parameter.interned.is(key));
    if by_identity.is_some_and(|index| !parameters[index].names_option) {
        return Ok(by_identity);
    }
    let name = key.extract::<&str>()?;
    let by_name = parameters.iter().position(|parameter| parameter.name == name);
    if set_option(options, name, value)? || by_name.is_some() {
        return Ok(by_name);
    }
    Err(unexpected(kernel, parameters, name))
}

/// Takes a launch option; whether there is one of this name.
fn set_option(options: &mut Options, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !OPTIONS.contains(&name) {
        return Ok(OTHER_OPTIONS.contains(&name));
    }
    if value.is_none() {
        return Ok(true);
    }
    let number =
        value.extract().map_err(|_| PyTypeError::new_err(format!("{name} must be an int, not {value}")))?;
    options.set(name, number).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn too_many(kernel: &str, parameters: &[Parameter], given: usize) -> PyErr {
    let most = parameters.iter().filter(|parameter| !parameter.keyword_only).count();
    let plural = if most == 1 { "" } else { "s" };
    PyTypeError::new_err(format!(
        "`{kernel}` takes {most} positional argument{plural}, but {given} were given"
    ))
}

/// An error that names the parameters whose place is `empty`.
fn missing(
    kernel: &str,
    parameters: &[Parameter],
    bound: &[&Bound<'_, PyAny>],
    empty: &Bound<'_, PyAny>,
) -> PyErr {
    let missing = parameters.iter().zip(bound).filter(|(_, argument)| argument.is(empty));
    let names: Vec<String> = missing
        .map(|(parameter, _)| {
            let kind = if parameter.constexpr { " (a constexpr)" } else { "" };
            format!("`{}`{kind}", parameter.name)
        })
        .collect();
    let plural = if names.len() == 1 { "" } else { "s" };
    PyTypeError::new_err(format!("`{kernel}` is missing the argument{plural} {}", names.join(", ")))
}

fn unexpected(kernel: &str, parameters: &[Parameter], name: &str) -> PyErr {
    let mut known: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    known.extend(OPTIONS);
    let nearest = known.into_iter().min_by_key(|known| edit_distance(known, name));
    let hint = match nearest {
        Some(nearest) if edit_distance(nearest, name) <= 1 + name.len() / 4 => {
            format!("; did you mean `{nearest}`?")
        }
        _ => String::new(),
    };
    PyTypeError::new_err(format!("`{kernel}` has no parameter `{name}`, and neither has a launch{hint}"))
}

/// Levenshtein distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.chars().count()]
}
