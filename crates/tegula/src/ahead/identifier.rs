//! Names of parameters as names in C and in Rust.

/// Words of C and C++ that name nothing, and the names that launchers use themselves.
const C_RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "constexpr",
    "continue",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "not",
    "nullptr",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "xor",
    "arguments",
    "grid_x",
    "grid_y",
    "grid_z",
    "kernel",
    "stream",
];

/// The same for Rust.
const RUST_RESERVED: &[&str] = &[
    "Self",
    "abstract",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
    "arguments",
    "grid",
    "stream",
    "status",
    "sys",
];

/// A name for a parameter in C.
pub fn c(name: &str) -> String {
    escaped(name, C_RESERVED)
}

/// A name for a parameter in Rust.
pub fn rust(name: &str) -> String {
    escaped(name, RUST_RESERVED)
}

/// A name for a type in Rust: `softmax_rows` is `SoftmaxRows`.
pub fn rust_type(name: &str) -> String {
    let words = name.split('_').filter(|word| !word.is_empty());
    let joined: String = words
        .map(|word| {
            let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
            first.to_uppercase() + rest
        })
        .collect();
    if joined.starts_with(|first: char| first.is_alphabetic()) { joined } else { format!("Kernel{joined}") }
}

/// Whether a name is one in C and in Rust as it stands.
pub fn is_plain(name: &str) -> bool {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts && c(name) == name && rust(name) == name
}

/// A name made of letters and digits that is no reserved word. Parameters that are parts of tuples have points in their names.
fn escaped(name: &str, reserved: &[&str]) -> String {
    let plain: String =
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    if reserved.contains(&plain.as_str()) || plain == "_" { format!("{plain}_") } else { plain }
}

#[cfg(test)]
mod tests {
    use super::{c, is_plain, rust, rust_type};

    #[test]
    fn names_stay_where_they_can() {
        assert_eq!((c("x_ptr").as_str(), rust("x_ptr").as_str()), ("x_ptr", "x_ptr"));
        assert_eq!((c("int").as_str(), rust("int").as_str()), ("int_", "int"));
        assert_eq!((c("type").as_str(), rust("type").as_str()), ("type", "type_"));
        assert_eq!((c("shape.0").as_str(), rust("_").as_str()), ("shape_0", "__"));
    }

    #[test]
    fn types_are_in_camel_case() {
        assert_eq!(rust_type("softmax_rows"), "SoftmaxRows");
        assert_eq!(rust_type("_matmul__fp16"), "MatmulFp16");
        assert_eq!(rust_type("_1d"), "Kernel1d");
    }

    #[test]
    fn names_of_functions() {
        assert!(is_plain("matmul_fp16") && is_plain("_f"));
        assert!(
            !is_plain("") && !is_plain("2d") && !is_plain("a-b") && !is_plain("match") && !is_plain("while")
        );
    }
}
