//! `tegula build`: its files are compiled with stand-ins for the CUDA driver, and launch what they should.

use std::path::Path;
use std::process::{Command, Output};

const KERNEL: &str = "
import triton
import triton.language as tl

@triton.jit
def scale(x_ptr, factor, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, x * factor, mask=offsets < n)
";

/// A stand-in for ptxas, whose machine code is the name of the architecture.
const ASSEMBLER: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case "$1" in
        --gpu-name) machine=$2; shift ;;
        --output-file) output=$2; shift ;;
    esac
    shift
done
printf 'code for %s\0' "$machine" > "$output"
"#;

/// What a program prints that loads and launches on four kinds of devices.
const EXPECTED: &str = "\
load code for sm_80
launch 3 2 1 threads 256 1 1 shared 0 arguments 4096 2.5 -7
error 1
unload
load code for sm_80
launch 3 2 1 threads 256 1 1 shared 0 arguments 4096 2.5 -7
error 1
unload
load code for sm_90a
launch 3 2 1 threads 256 1 1 shared 0 arguments 4096 2.5 -7
error 1
unload
error 209
";

fn build(folder: &Path, more: &[&str]) -> Output {
    std::fs::write(folder.join("kernels.py"), KERNEL).unwrap();
    let assembler = folder.join("ptxas");
    std::fs::write(&assembler, ASSEMBLER).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&assembler, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let arguments = [
        "build",
        "kernels.py:scale",
        "--signature",
        "*fp32:16, fp32, i32",
        "--constexpr",
        "BLOCK=256",
        "--num-warps",
        "8",
    ];
    Command::new(env!("CARGO_BIN_EXE_tegula"))
        .args(arguments)
        .args(more)
        .current_dir(folder)
        .env("TEGULA_PTXAS", &assembler)
        .output()
        .unwrap()
}

fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn sources() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/built"))
}

#[test]
#[cfg(unix)]
fn c_programs_launch_what_was_built() {
    let folder = tempfile::tempdir().unwrap();
    let files = succeeds(&build(folder.path(), &["--target", "sm_80,sm_90", "--emit", "c"]));
    assert_eq!(files, "./scale.h\n");
    let program = folder.path().join("main");
    let compiled = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(sources())
        .arg("-I")
        .arg(folder.path())
        .arg("-o")
        .arg(&program)
        .arg(sources().join("launch.c"))
        .output()
        .unwrap();
    succeeds(&compiled);
    assert_eq!(succeeds(&Command::new(program).output().unwrap()), EXPECTED);
}

#[test]
#[cfg(unix)]
fn rust_programs_launch_what_was_built() {
    let folder = tempfile::tempdir().unwrap();
    let files = succeeds(&build(
        folder.path(),
        &["--target", "sm_90,sm_80", "--emit", "rust,cubin", "-o", "new/built"],
    ));
    assert_eq!(files, "new/built/scale.sm_90a.cubin\nnew/built/scale.sm_80.cubin\nnew/built/scale.rs\n");
    let built = folder.path().join("new/built");
    std::fs::copy(sources().join("launch.rs"), built.join("launch.rs")).unwrap();
    let compiler = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let rustc = || {
        let mut rustc = Command::new(&compiler);
        rustc.current_dir(&built).args(["--edition", "2024"]);
        rustc
    };
    succeeds(&rustc().args(["--crate-type", "rlib"]).arg(sources().join("cudarc.rs")).output().unwrap());
    let options = ["-D", "warnings", "--extern", "cudarc=libcudarc.rlib", "launch.rs"];
    succeeds(&rustc().args(options).output().unwrap());
    assert_eq!(succeeds(&Command::new(built.join("launch")).output().unwrap()), EXPECTED);
}

#[test]
#[cfg(unix)]
fn launchers_may_have_another_name() {
    let folder = tempfile::tempdir().unwrap();
    let files = succeeds(&build(folder.path(), &["--target", "sm_80", "--name", "scale_fp32"]));
    assert_eq!(files, "./scale_fp32.sm_80.cubin\n./scale_fp32.h\n./scale_fp32.rs\n");
    let header = std::fs::read_to_string(folder.path().join("scale_fp32.h")).unwrap();
    assert!(header.contains("CUresult scale_fp32_launch(") && header.contains("\"scale\""), "{header}");
    let module = std::fs::read_to_string(folder.path().join("scale_fp32.rs")).unwrap();
    assert!(module.contains("pub struct ScaleFp32") && module.contains("scale_fp32.sm_80.cubin"), "{module}");
}

#[test]
fn what_cannot_be_built_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (more, fact) in [
        (&["--target", "cpu"][..], "ahead of time for GPUs, such as sm_90, and not for cpu"),
        (&["--target", "sm_80", "--name", "2 words"], "`2 words` is no name"),
        (&[], "--target"),
    ] {
        let output = build(folder.path(), more);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(fact), "{message}");
    }
}
