//! The functions of Python itself that a kernel may call: `len`, `isinstance`, `min`, ...

/// A function or type of Python's `builtins` that the front end knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PythonFunction {
    Abs,
    Bool,
    Enumerate,
    Float,
    Getattr,
    Hasattr,
    Int,
    Isinstance,
    Len,
    List,
    Max,
    Min,
    Pow,
    Print,
    Range,
    Str,
    Sum,
    Tuple,
    Zip,
}
