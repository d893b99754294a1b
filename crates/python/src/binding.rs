//! Which argument belongs to which parameter, by Python's rules.

use crate::classes::classes;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use tegula_ir::Scalar;
use tegula_runtime::{Options, Policy};

/// A parameter of a kernel, with what a launch needs to know of it.
pub struct Parameter {
    pub name: String,
    /// The name as Python has it at call sites: an interned string, so that it is mostly found by identity.
    interned: Py<PyString>,
    pub default: Option<Py<PyAny>>,
    pub keyword_only: bool,
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
            name: text,
            default: (!default.is(classes(py)?.empty.bind(py))).then(|| default.unbind()),
            keyword_only,
            constexpr,
            constant,
            declared,
            policy: Policy { value, alignment },
        })
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

/// Fills a place for each parameter from a call's arguments and the defaults.
///
/// # Errors
/// Python's own for missing, doubled and unknown arguments; a `ValueError` for an impossible launch option.
pub fn bind<'py>(
    kernel: &str,
    parameters: &[Parameter],
    positional: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Vec<Bound<'py, PyAny>>, Options)> {
    let py = positional.py();
    let mut places: Vec<Option<Bound<'py, PyAny>>> = Vec::with_capacity(parameters.len());
    let by_position = parameters.iter().take_while(|parameter| !parameter.keyword_only).count();
    if positional.len() > by_position {
        let message = format!(
            "`{kernel}` takes {by_position} positional argument{}, but {} were given",
            if by_position == 1 { "" } else { "s" },
            positional.len()
        );
        return Err(PyTypeError::new_err(message));
    }
    places.extend(positional.iter().map(Some));
    places.resize(parameters.len(), None);
    let mut options = Options::default();
    if let Some(keywords) = keywords {
        for (key, value) in keywords {
            let known = parameters.iter().position(|parameter| parameter.interned.is(&key));
            let known = match known {
                Some(index) => Some(index),
                None => {
                    let name = key.cast::<PyString>()?.to_str()?;
                    if set_option(&mut options, name, &value)? {
                        match parameters.iter().position(|parameter| parameter.name == name) {
                            Some(index) => Some(index),
                            None => continue,
                        }
                    } else {
                        parameters.iter().position(|parameter| parameter.name == name)
                    }
                }
            };
            let Some(index) = known else { return Err(unexpected(kernel, parameters, &key)) };
            let place = &mut places[index];
            if place.is_some() {
                let message =
                    format!("`{kernel}` got two values for the argument `{}`", parameters[index].name);
                return Err(PyTypeError::new_err(message));
            }
            *place = Some(value);
        }
    }
    let mut bound = Vec::with_capacity(parameters.len());
    for (place, parameter) in places.into_iter().zip(parameters) {
        match place.or_else(|| parameter.default.as_ref().map(|default| default.bind(py).clone())) {
            Some(argument) => bound.push(argument),
            None => return Err(missing(kernel, parameters, positional, keywords)),
        }
    }
    Ok((bound, options))
}

/// Takes a launch option; whether there is one of this name.
fn set_option(options: &mut Options, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if OTHER_OPTIONS.contains(&name) {
        return Ok(true);
    }
    if !OPTIONS.contains(&name) {
        return Ok(false);
    }
    if value.is_none() {
        return Ok(true);
    }
    let number = value
        .call_method0("__index__")
        .and_then(|index| index.extract())
        .map_err(|_| PyTypeError::new_err(format!("{name} must be an int, not {value}")))?;
    options.set(name, number).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn missing(
    kernel: &str,
    parameters: &[Parameter],
    positional: &Bound<'_, PyTuple>,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyErr {
    let given = |parameter: &Parameter| {
        keywords.is_some_and(|keywords| keywords.contains(&parameter.name).unwrap_or(false))
    };
    let names: Vec<String> = parameters
        .iter()
        .skip(positional.len())
        .filter(|parameter| parameter.default.is_none() && !given(parameter))
        .map(|parameter| {
            let kind = if parameter.constexpr { " (a constexpr)" } else { "" };
            format!("`{}`{kind}", parameter.name)
        })
        .collect();
    let plural = if names.len() == 1 { "" } else { "s" };
    PyTypeError::new_err(format!("`{kernel}` is missing the argument{plural} {}", names.join(", ")))
}

fn unexpected(kernel: &str, parameters: &[Parameter], key: &Bound<'_, PyAny>) -> PyErr {
    let name = key.to_string();
    let mut known: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    known.extend(OPTIONS);
    let nearest = known.into_iter().min_by_key(|known| edit_distance(known, &name));
    let hint = match nearest {
        Some(nearest) if edit_distance(nearest, &name) <= 1 + name.len() / 4 => {
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
