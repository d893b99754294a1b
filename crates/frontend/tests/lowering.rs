//! Kernels and the intermediate representation that they become; faulty kernels and what is said of them.
//!
//! `INSTA_UPDATE=always cargo test -p tegula-frontend` writes what is expected anew, for review.

mod support;

use std::path::Path;
use tegula_frontend::CompileError;
use tegula_ir::Function;

fn compile(path: &Path) -> Result<Function, CompileError> {
    let text = std::fs::read_to_string(path).unwrap();
    support::compile_text(&path.file_name().unwrap().to_string_lossy(), &text, false)
}

#[test]
fn kernels_become_ir() {
    insta::glob!("kernels/*.py", |path| {
        let function = compile(path).unwrap_or_else(|error| panic!("{error}"));
        tegula_ir::verify(&function).unwrap_or_else(|faults| panic!("{faults:?}"));
        assert_eq!(function.warnings, []);
        insta::assert_snapshot!(function.to_string());
    });
}

/// These use more of the language's functions than the front end's own evaluation, so what they become is not spelt out here.
#[test]
fn larger_kernels_verify() {
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/seeds")).unwrap() {
        let function = compile(&entry.unwrap().path()).unwrap_or_else(|error| panic!("{error}"));
        tegula_ir::verify(&function).unwrap_or_else(|faults| panic!("{faults:?}"));
        assert_eq!(function.warnings, []);
    }
}

/// What is likely a mistake is warned of; the lines that are marked as fine are not.
#[test]
fn mistakes_are_warned_of() {
    insta::glob!("warnings/*.py", |path| {
        let function = compile(path).unwrap_or_else(|error| panic!("{error}"));
        let warnings = function.warnings.iter();
        let rendered: Vec<String> =
            warnings.map(|warning| warning.render(&function.sources, false)).collect();
        insta::assert_snapshot!(rendered.join("\n\n"));
    });
}

#[test]
fn faults_are_reported() {
    insta::glob!("faults/*.py", |path| {
        let error = compile(path).expect_err("the kernel is faulty");
        insta::assert_snapshot!(error.render(false));
    });
}
