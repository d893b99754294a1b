//! The interpreted launch that a thread is in.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tegula_runtime::{Memory, Setting};

/// What operations need to know of a launch.
pub struct Session {
    pub grid: [u32; 3],
    /// The program that is running.
    pub program: Cell<[u32; 3]>,
    /// The memory of the arrays that were passed; `None` if an extent is unknown, so that nothing can be checked.
    pub memory: Option<Memory>,
    /// The code object of the kernel.
    pub code: Py<PyAny>,
}

impl Session {
    /// Where an operation is executed, with accesses checked if that is asked.
    pub fn setting(&self, checked: bool) -> Setting<'_> {
        let memory = self.memory.as_ref().filter(|_| checked);
        Setting { grid: self.grid, program: self.program.get(), memory }
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<Session>>> = const { RefCell::new(None) };
}

/// Ends a session when it is dropped.
pub struct Entered {
    outer: Option<Rc<Session>>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.replace(self.outer.take());
    }
}

/// Begins a session. One may begin within another: a hook of a kernel may launch kernels.
pub fn enter(session: Rc<Session>) -> Entered {
    Entered { outer: CURRENT.replace(Some(session)) }
}

/// Whether this thread is in an interpreted launch.
#[pyfunction]
pub fn is_interpreting() -> bool {
    is_active()
}

/// Whether this thread is in an interpreted launch.
pub fn is_active() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// The launch that this thread is in.
pub fn current() -> PyResult<Rc<Session>> {
    CURRENT.with_borrow(Clone::clone).ok_or_else(|| {
        PyRuntimeError::new_err(
            "tiles are computed with inside of a kernel alone; `.numpy()` gives the elements of one that is left over",
        )
    })
}
