//! The extension module `tegula._native`: Python calls to launches, live Python objects to the front end.
//!
//! The way of a call `kernel[grid](x, n, BLOCK=64)`, a module each:
//! [`function`] holds the kernel, [`grid`] the grid; [`launcher`] is called, [`call`] its arguments; [`binding`] finds each parameter's argument;
//! [`specialize`] says what the compiler may know of it ([`arrays`] and [`dlpack`] read tensors, [`constants`] constants);
//! [`launch`] looks the compiled kernel up, or has [`host`] answer the front end's questions while it is compiled
//! ([`source`] finds the text) for the target that [`device`] chooses, checks that what it was compiled from still stands ([`dependencies`]), and runs it, with the calls that [`hooks`] makes around it.
//! [`eager`] is the interpreter: there, the function runs as ordinary Python, one operation at a time.

mod ahead;
mod arrays;
mod binding;
mod call;
mod classes;
mod compiled;
mod constants;
mod dependencies;
mod device;
mod dlpack;
mod eager;
mod errors;
mod function;
mod grid;
mod hooks;
mod host;
mod language;
mod launch;
mod launcher;
mod source;
mod specialize;
mod warnings;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<function::JITFunction>()?;
    module.add_class::<launcher::Launcher>()?;
    module.add_class::<compiled::CompiledKernel>()?;
    module.add_class::<language::LanguageFunction>()?;
    module.add_class::<eager::Tensor>()?;
    module.add_class::<eager::Record>()?;
    module.add_class::<eager::BoundMethod>()?;
    module.add_class::<eager::Range>()?;
    module.add_function(wrap_pyfunction!(eager::eager_range, module)?)?;
    module.add_function(wrap_pyfunction!(eager::is_interpreting, module)?)?;
    module.add_function(wrap_pyfunction!(eager::eager_name, module)?)?;
    module.add_function(wrap_pyfunction!(eager::eager_decides, module)?)?;
    module.add_function(wrap_pyfunction!(eager::eager_combine, module)?)?;
    module.add_function(wrap_pyfunction!(eager::eager_not, module)?)?;
    module.add_function(wrap_pyfunction!(eager::eager_chain, module)?)?;
    module.add_function(wrap_pyfunction!(eager::eager_attribute, module)?)?;
    module.add_function(wrap_pyfunction!(language::language_functions, module)?)?;
    module.add_function(wrap_pyfunction!(language::language_modules, module)?)?;
    module.add_function(wrap_pyfunction!(language::language_constants, module)?)?;
    module.add_function(wrap_pyfunction!(language::language_types, module)?)?;
    module.add_function(wrap_pyfunction!(launch::set_debug, module)?)?;
    module.add_function(wrap_pyfunction!(device::set_target, module)?)?;
    module.add_function(wrap_pyfunction!(device::cache_folder, module)?)?;
    module.add_function(wrap_pyfunction!(compiled::disassemble, module)?)?;
    module.add_function(wrap_pyfunction!(hooks::set_launch_hooks, module)?)?;
    module.add_function(wrap_pyfunction!(ahead::compile_ahead, module)?)?;
    Ok(())
}
