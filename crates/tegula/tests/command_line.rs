//! The binary as a user meets it: what it prints where, and its exit codes.

use std::path::PathBuf;
use std::process::{Command, Output};

/// A folder with one kernel file, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, text: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tegula-command-line-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(
            path.join("kernels.py"),
            format!("import triton\nimport triton.language as tl\n\n{text}"),
        )
        .unwrap();
        Folder(path)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tegula"));
        command
            .args(arguments)
            .current_dir(&self.0)
            .env_remove("NO_COLOR")
            .env_remove("TEGULA_WARNINGS")
            // An error must not need Python, or anything else, to be found.
            .env("PATH", "");
        command
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// The command fails with this code, says nothing on standard output, and all the facts on standard error.
fn fails(output: &Output, code: i32, facts: &[&str]) {
    assert_eq!(output.status.code(), Some(code), "{}", stderr(output));
    assert_eq!(stdout(output), "");
    for fact in facts {
        assert!(stderr(output).contains(fact), "no `{fact}` in:\n{}", stderr(output));
    }
    assert!(!stderr(output).contains('\u{1b}'), "colours belong on a terminal alone");
}

const SCALE: &str = "
@triton.jit
def scale(x_ptr, factor, n, BLOCK: tl.constexpr, ROUND: tl.constexpr = False):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, x * factor, mask=offsets < n)
";

#[test]
fn compile_prints_the_representation() {
    let folder = Folder::new("compile", SCALE);
    let arguments =
        ["compile", "kernels.py:scale", "--signature", "*fp32, fp32, i32", "--constexpr", "BLOCK=64"];
    let output = folder.run(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("@scale(%x_ptr: *fp32"), "{}", stdout(&output));
    assert!(stdout(&output).contains("<64xfp32>"));
    assert_eq!(stderr(&output), "");

    let explicit = folder.run(&[&arguments[..], &["--target", "cpu", "--emit", "ir"]].concat());
    assert_eq!(stdout(&explicit), stdout(&output));

    let unoptimised = folder.run(&[&arguments[..], &["--emit", "ir-unoptimised"]].concat());
    assert!(unoptimised.status.success());
    assert!(stdout(&unoptimised).contains("@scale(%x_ptr: *fp32"));

    let written = folder.run(&[&arguments[..], &["-o", "scale.ir"]].concat());
    assert!(written.status.success());
    assert_eq!(stdout(&written), "");
    assert_eq!(std::fs::read_to_string(folder.0.join("scale.ir")).unwrap(), stdout(&output));
}

#[test]
fn stages_of_gpus_and_targets_that_there_are_not_are_refused() {
    let folder = Folder::new("targets", SCALE);
    let arguments =
        ["compile", "kernels.py:scale", "--signature", "*fp32, fp32, i32", "--constexpr", "BLOCK=64"];
    for stage in ["layouts", "ptx", "cubin", "sass"] {
        let output = folder.run(&[&arguments[..], &["--emit", stage]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(stage) && stderr(&output).contains("sm_90"), "{}", stderr(&output));
    }
    let output = folder.run(&[&arguments[..], &["--target", "sm_75"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("sm_75") && stderr(&output).contains("sm_80"), "{}", stderr(&output));
    let output = folder.run(&[&arguments[..], &["--num-warps", "3"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("num_warps"), "{}", stderr(&output));

    let both = folder.run(&[&arguments[..], &["--emit", "ir,ir-unoptimised", "-o", "scale"]].concat());
    assert!(both.status.success(), "{}", stderr(&both));
    for stage in ["ir", "ir-unoptimised"] {
        let text = std::fs::read_to_string(folder.0.join(format!("scale.{stage}"))).unwrap();
        assert!(text.contains("@scale(%x_ptr: *fp32"));
    }
}

#[test]
fn lines_of_the_kernel_stand_in_the_assembly() {
    let folder = Folder::new("lines", SCALE);
    let output = folder.run(&[
        "compile",
        "kernels.py:scale",
        "--signature",
        "*fp32, fp32, i32",
        "--constexpr",
        "BLOCK=64",
        "--target",
        "sm_80",
        "--emit",
        "ptx",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let lines: Vec<&str> = stdout(&output).lines().collect();
    for (number, text) in [
        (7, "offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)"),
        (8, "x = tl.load(x_ptr + offsets, mask=offsets < n)"),
        (9, "tl.store(x_ptr + offsets, x * factor, mask=offsets < n)"),
    ] {
        let comment = format!("\t// kernels.py:{number}:     {text}");
        let place = lines.iter().position(|line| *line == comment);
        let place = place.unwrap_or_else(|| panic!("no `{comment}` in:\n{}", stdout(&output)));
        assert!(lines[place + 1].starts_with(&format!("\t.loc 1 {number} ")), "{}", lines[place + 1]);
    }
}

#[test]
fn promises_and_constants_of_the_signature_reach_the_compiler() {
    let folder = Folder::new("promises", SCALE);
    let run = |signature: &str| {
        let output =
            folder.run(&["compile", "kernels.py:scale", "--signature", signature, "--constexpr", "BLOCK=64"]);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output).to_owned()
    };
    assert!(run("*fp16:16,fp32,i32").contains("16"));
    assert!(!run("*fp32,fp32,1").contains("%n:"), "a constant is no parameter");
}

#[test]
fn warnings_go_to_standard_error_and_can_be_silenced() {
    let text = "@triton.jit\ndef k(x_ptr, N: tl.constexpr):\n    i = tl.arange(0, N)\n    tl.store(x_ptr + i, 1.0, mask=i < N)\n";
    let folder = Folder::new("warnings", text);
    let arguments = ["compile", "kernels.py:k", "--signature", "*fp32", "--constexpr", "N=64"];
    let output = folder.run(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("kernel @k("), "{}", stdout(&output));
    assert!(stderr(&output).starts_with("warning: "), "{}", stderr(&output));
    assert!(stderr(&output).contains("kernels.py:7"), "{}", stderr(&output));

    let silenced = folder.command(&arguments).env("TEGULA_WARNINGS", "0").output().unwrap();
    assert_eq!(stdout(&silenced), stdout(&output));
    assert_eq!(stderr(&silenced), "");
}

#[test]
fn kernels_are_listed() {
    let folder = Folder::new("list", SCALE);
    let output = folder.run(&["kernels", "kernels.py"]);
    assert!(output.status.success());
    let expected = "kernels.py:6: scale(x_ptr, factor, n, BLOCK: constexpr, ROUND: constexpr = ...)\n";
    assert_eq!(stdout(&output), expected);
}

#[test]
fn faults_of_the_kernel_give_code_1_and_its_line() {
    let folder = Folder::new("kernel-fault", "@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, missing)\n");
    let output = folder.run(&["compile", "kernels.py:k", "--signature", "*fp32"]);
    fails(&output, 1, &["error", "kernels.py:6", "tl.store(x_ptr, missing)", "missing"]);

    let folder = Folder::new("syntax", "def k(:\n    pass\n");
    fails(&folder.run(&["kernels", "kernels.py"]), 1, &["error", "kernels.py:4", "def k(:"]);
    fails(&folder.run(&["kernels", "absent.py"]), 1, &["error", "absent.py"]);
}

#[test]
fn faults_of_the_command_line_give_code_2() {
    let folder = Folder::new("usage", SCALE);
    let compile = |arguments: &[&str]| folder.run(&[&["compile"], arguments].concat());
    fails(&compile(&["kernels.py"]), 2, &["kernels.py:vector_add"]);
    fails(&compile(&["kernels.py:absent"]), 2, &["no kernel `absent`", "`scale`"]);
    fails(&compile(&["kernels.py:scale", "-s", "*fp32,float,i32", "-c", "BLOCK=1"]), 2, &["`float`", "fp32"]);
    fails(
        &compile(&["kernels.py:scale", "-s", "*fp32,fp32,i32"]),
        2,
        &["`BLOCK`", "--constexpr BLOCK=VALUE"],
    );
    fails(&compile(&["kernels.py:scale", "-s", "*fp32", "-c", "BLOCK=1"]), 2, &["`factor`", "`n`"]);
    fails(&compile(&["kernels.py:scale", "-s", "*fp32,fp32,i32,i32", "-c", "BLOCK=1"]), 2, &["4 entries"]);
    fails(&compile(&["kernels.py:scale", "-s", "*fp32,fp32,i32", "-c", "BLOK=1"]), 2, &["`BLOK`", "BLOCK"]);
    fails(&compile(&["kernels.py:scale", "-c", "BLOCK"]), 2, &["NAME=VALUE"]);
    fails(&compile(&["kernels.py:scale", "--target", "toaster"]), 2, &["toaster", "cpu"]);
    fails(&folder.run(&["paint"]), 2, &["paint"]);
}

#[test]
fn help_has_examples() {
    let folder = Folder::new("help", "");
    for arguments in [&["--help"][..], &["compile", "--help"], &["kernels", "--help"]] {
        let output = folder.run(arguments);
        assert!(output.status.success());
        assert!(stdout(&output).contains("Example"), "{}", stdout(&output));
    }
}
