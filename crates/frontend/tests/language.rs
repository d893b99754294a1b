//! The functions and operators of the language: what they result in, and what is said of wrong calls.
//!
//! The kernels in `language` assert the types and shapes that they get; `INSTA_UPDATE=always cargo test -p tegula-frontend --test language`
//! writes the messages for those in `language_faults` anew, for review.

mod support;

use std::path::Path;

fn compile(path: &Path) -> Result<tegula_ir::Function, tegula_frontend::CompileError> {
    let text = std::fs::read_to_string(path).unwrap();
    support::compile_text(&path.file_name().unwrap().to_string_lossy(), &text, false)
}

#[test]
fn types_and_shapes_are_as_asserted() {
    insta::glob!("language/*.py", |path| {
        let function = compile(path).unwrap_or_else(|error| panic!("{}", error.render(false)));
        tegula_ir::verify(&function).unwrap_or_else(|faults| panic!("{faults:?}"));
    });
}

#[test]
fn wrong_calls_are_explained() {
    insta::glob!("language_faults/*.py", |path| {
        let error = compile(path).expect_err("the kernel is faulty");
        insta::assert_snapshot!(error.render(false));
    });
}

/// What the reference and the stubs are made from.
#[test]
fn every_function_is_documented() {
    for entry in tegula_frontend::builtin::all() {
        let first = entry.doc.lines().next().unwrap_or_default();
        assert!(first.ends_with('.') && first.len() < 160, "{}: {first}", entry.name);
        let mut names = entry.modules.to_vec();
        names.dedup();
        assert_eq!(names.len(), entry.modules.len(), "{} is twice in one module", entry.name);
    }
}
