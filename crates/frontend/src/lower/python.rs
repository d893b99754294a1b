//! The functions of Python itself, and the classes of the language, that a kernel may call or compare with: `len`, `isinstance`, ...

/// A function or type of Python's `builtins`, or a class of `triton.language`, that the front end knows.
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
    /// `tl.constexpr`
    Constexpr,
    /// `tl.tensor`
    Tensor,
    /// `tl.dtype`
    Type,
    /// `tl.pointer_type`
    PointerType,
}

impl PythonFunction {
    /// The function of Python's `builtins` with a name.
    pub fn from_name(name: &str) -> Option<PythonFunction> {
        PYTHON.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    /// The class of `triton.language` with a name.
    pub fn language_class(name: &str) -> Option<PythonFunction> {
        LANGUAGE.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    /// The name that the user writes.
    pub fn name(self) -> &'static str {
        PYTHON.iter().chain(LANGUAGE).find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }
}

static PYTHON: &[(&str, PythonFunction)] = &[
    ("abs", PythonFunction::Abs),
    ("bool", PythonFunction::Bool),
    ("enumerate", PythonFunction::Enumerate),
    ("float", PythonFunction::Float),
    ("getattr", PythonFunction::Getattr),
    ("hasattr", PythonFunction::Hasattr),
    ("int", PythonFunction::Int),
    ("isinstance", PythonFunction::Isinstance),
    ("len", PythonFunction::Len),
    ("list", PythonFunction::List),
    ("max", PythonFunction::Max),
    ("min", PythonFunction::Min),
    ("pow", PythonFunction::Pow),
    ("print", PythonFunction::Print),
    ("range", PythonFunction::Range),
    ("str", PythonFunction::Str),
    ("sum", PythonFunction::Sum),
    ("tuple", PythonFunction::Tuple),
    ("zip", PythonFunction::Zip),
];

static LANGUAGE: &[(&str, PythonFunction)] = &[
    ("constexpr", PythonFunction::Constexpr),
    ("tensor", PythonFunction::Tensor),
    ("dtype", PythonFunction::Type),
    ("pointer_type", PythonFunction::PointerType),
    ("tuple", PythonFunction::Tuple),
];
