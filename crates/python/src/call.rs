//! The arguments of a call, as Python hands them to functions in C: values in a row, the last of which have names.
//!
//! ```text
//! kernel[grid](x, y, 1024, BLOCK=64)    values: x, y, 1024, 64; names: BLOCK
//! ```
//!
//! No tuple and no dictionary are made for a launch. Calls that come with those already are [`Collected`].

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

/// Most calls have so many arguments or fewer; more cost an allocation.
pub const USUAL_ARGUMENTS: usize = 32;

/// The arguments of a call, which its caller keeps alive.
#[derive(Clone, Copy)]
pub struct Call<'a, 'py> {
    positional: &'a [Bound<'py, PyAny>],
    named: &'a [Bound<'py, PyAny>],
    /// As many as there are named arguments; `None` without any.
    names: Option<&'a Bound<'py, PyTuple>>,
}

impl<'a, 'py> Call<'a, 'py> {
    /// Reads what a function of the convention `METH_FASTCALL | METH_KEYWORDS` is called with.
    ///
    /// # Safety
    /// They must be what the interpreter passed, and live for `'a`; this thread must be attached to the interpreter for `'py`.
    pub unsafe fn from_raw(
        values: *const *mut ffi::PyObject,
        positional: ffi::Py_ssize_t,
        names: &'a *mut ffi::PyObject,
    ) -> Call<'a, 'py> {
        // SAFETY: names are a tuple of strings, or null where there are none. A `Bound` is the address of an object, as this is; behind
        // a shared reference it is never dropped.
        let names =
            (!names.is_null()).then(|| unsafe { &*std::ptr::from_ref(names).cast::<Bound<'py, PyTuple>>() });
        let (positional, named) = (positional as usize, names.map_or(0, |names| names.len()));
        if positional + named == 0 {
            return Call { positional: &[], named: &[], names };
        }
        // SAFETY: as above; the values with names follow the others.
        let values =
            unsafe { std::slice::from_raw_parts(values.cast::<Bound<'py, PyAny>>(), positional + named) };
        let (positional, named) = values.split_at(positional);
        Call { positional, named, names }
    }

    /// The arguments without names.
    pub fn positional(&self) -> &'a [Bound<'py, PyAny>] {
        self.positional
    }

    /// The names with their arguments.
    pub fn named(
        &self,
    ) -> impl Iterator<Item = (Borrowed<'a, 'py, PyAny>, &'a Bound<'py, PyAny>)> + use<'a, 'py> {
        self.names.into_iter().flat_map(|names| names.iter_borrowed()).zip(self.named)
    }

    /// Calls a function of Python with the same arguments.
    pub fn pass_to(&self, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = function.py();
        let named = PyDict::new(py);
        for (name, value) in self.named() {
            named.set_item(name, value)?;
        }
        function.call(PyTuple::new(py, self.positional)?, Some(&named))
    }
}

/// The arguments of a call that came in a tuple and a dictionary.
pub struct Collected<'py> {
    values: Vec<Bound<'py, PyAny>>,
    positional: usize,
    names: Option<Bound<'py, PyTuple>>,
}

impl<'py> Collected<'py> {
    pub fn new(
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Collected<'py>> {
        let mut values: Vec<_> = positional.iter().collect();
        let mut names = SmallVec::<[_; USUAL_ARGUMENTS]>::new();
        for (name, value) in named.into_iter().flatten() {
            names.push(name);
            values.push(value);
        }
        let names = if names.is_empty() { None } else { Some(PyTuple::new(positional.py(), names)?) };
        Ok(Collected { values, positional: positional.len(), names })
    }

    /// The arguments.
    pub fn as_call(&self) -> Call<'_, 'py> {
        let (positional, named) = self.values.split_at(self.positional);
        Call { positional, named, names: self.names.as_ref() }
    }
}
