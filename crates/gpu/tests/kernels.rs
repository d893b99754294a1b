//! The example kernels, for every kind of GPU: what they are compiled to, and that NVIDIA's assembler takes it.
//!
//! `tests/kernels` has the optimised functions of `examples/*.py` as text, and one with inline assembly. The assembler is not part of the build: see
//! the tests of `tegula-ptx` for how it is named; without it, those tests are listed as ignored.

use std::path::Path;
use std::process::Command;
use tegula_gpu::{Kernel, Options, Target, compile};

const TARGETS: [Target; 3] = [Target::portable(80), Target::portable(89), Target::specific(90)];

/// The kernels in the folder, by name.
fn kernels() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let mut kernels: Vec<(String, String)> = std::fs::read_dir(folder)
        .expect("the folder is part of the crate")
        .map(|entry| {
            let path = entry.expect("the folder can be listed").path();
            let name = path.file_stem().expect("kernels have names").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).expect("kernels are text"))
        })
        .collect();
    kernels.sort();
    assert!(kernels.len() > 8, "only {} kernels", kernels.len());
    kernels
}

fn compiled(name: &str, text: &str, target: Target) -> Kernel {
    let function = tegula_ir::Function::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    compile(&function, target, &Options::default())
        .unwrap_or_else(|error| panic!("{name}: {}", error.message))
}

fn kernel(wanted: &str) -> Kernel {
    let kernels = kernels();
    let (name, text) = kernels.iter().find(|(name, _)| name == wanted).expect("the kernel is in the folder");
    compiled(name, text, Target::portable(80))
}

/// How many conversions between layouts there are.
fn conversions(kernel: &Kernel) -> usize {
    let converted = kernel.layouts.lines().filter_map(|line| line.split_once("converted to "));
    converted.map(|(_, layouts)| layouts.matches('#').count()).sum()
}

#[test]
fn kernels_compile_for_every_target() {
    for (name, text) in kernels() {
        for target in TARGETS {
            let kernel = compiled(&name, &text, target);
            assert!(tegula_ptx::Module::parse(&kernel.ptx).is_ok(), "{name} is not read back");
        }
    }
}

#[test]
fn rows_stay_in_one_layout() {
    assert_eq!(conversions(&kernel("vector_add")), 0);
    assert_eq!(conversions(&kernel("softmax")), 0);
    let layer_norm = kernel("layer_norm");
    assert_eq!(conversions(&layer_norm), 0, "{}", layer_norm.layouts);
}

#[test]
fn a_matmul_converts_its_operands_and_its_result() {
    let matmul = kernel("matmul");
    assert_eq!(conversions(&matmul), 3, "{}", matmul.layouts);
    assert!(matmul.ptx.contains("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"));
}

#[test]
fn accesses_are_as_wide_as_16_bytes() {
    let copy = kernel("vector_add");
    // The mask is of a number of elements of which nothing is known.
    assert!(copy.ptx.contains("ld.global.b32"), "{}", copy.ptx);
    let matmul = kernel("matmul");
    let copy = matmul.ptx.lines().find(|line| line.contains("cp.async.cg.shared.global"));
    assert!(copy.is_some_and(|copy| copy.contains("], 16")), "{}", matmul.ptx);
}

#[test]
#[ignore = "needs ptxas: set TEGULA_PTXAS"]
fn kernels_assemble_without_spills() {
    let ptxas = std::env::var("TEGULA_PTXAS").unwrap_or_else(|_| "ptxas".into());
    for (name, text) in kernels() {
        let bulk = [Target::specific(90)].map(|target| (target, true));
        for (target, bulk_copies) in TARGETS.map(|target| (target, false)).into_iter().chain(bulk) {
            let function = tegula_ir::Function::parse(&text).expect("the kernel is read");
            let options = Options { bulk_copies, ..Options::default() };
            let kernel = compile(&function, target, &options).expect("the kernel compiles");
            // What does not fit the registers that resident programs leave gets all it likes.
            let messages = assembled(&ptxas, &kernel.ptx, target);
            let messages = if messages.contains(" 0 bytes spill stores") {
                messages
            } else {
                assembled(&ptxas, &kernel.with_free_registers().ptx, target)
            };
            assert!(messages.contains(" 0 bytes spill stores"), "{name} for {target}: {messages}");
        }
    }
}

/// What the assembler says of a kernel.
fn assembled(ptxas: &str, ptx: &str, target: Target) -> String {
    let file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    std::fs::write(file.path(), ptx).expect("a temporary file can be written");
    let arch = format!("-arch={target}");
    let output = Command::new(ptxas).args(["-v", &arch, "-o", "/dev/null"]).arg(file.path()).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {ptxas}: {error}"));
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{target}: {messages}");
    messages
}

fn for_hopper(name: &str, options: &Options) -> Kernel {
    let kernels = kernels();
    let (_, text) = kernels.iter().find(|(found, _)| found == name).expect("the kernel is in the folder");
    let function = tegula_ir::Function::parse(text).expect("the kernel is read");
    compile(&function, Target::specific(90), options).expect("the kernel compiles")
}

/// Where in the PTX each of some texts is, in order from the first on.
fn in_order(ptx: &str, texts: &[&str]) {
    let mut rest = ptx;
    for text in texts {
        let place =
            rest.find(text).unwrap_or_else(|| panic!("no `{text}` after what was found before: {ptx}"));
        rest = &rest[place + text.len()..];
    }
}

#[test]
fn a_hopper_matmul_fetches_ahead_and_accumulates_in_flight() {
    let matmul = for_hopper("matmul", &Options::default());
    // Only the result changes its layout, to be stored.
    assert_eq!(conversions(&matmul), 1, "{}", matmul.layouts);
    let fill = "cp.async.cg.shared.global";
    let ahead = [fill, "cp.async.commit_group", fill, "cp.async.commit_group"];
    let steady = [
        "cp.async.wait_group 1;",
        "fence.proxy.async.shared::cta",
        "bar.sync 0",
        "wgmma.fence.sync.aligned",
        "wgmma.mma_async",
        "wgmma.commit_group",
        fill,
        "cp.async.commit_group",
        "wgmma.wait_group.sync.aligned 1;",
        "wgmma.wait_group.sync.aligned 0;",
    ];
    in_order(&matmul.ptx, &[&ahead[..], &steady[..]].concat());
}

#[test]
fn one_stage_fetches_nothing_ahead() {
    let matmul = for_hopper("matmul", &Options { num_stages: 1, ..Options::default() });
    assert!(!matmul.ptx.contains("cp.async.commit_group"), "{}", matmul.ptx);
    in_order(&matmul.ptx, &["bar.sync", "cp.async.cg", "cp.async.wait_all", "bar.sync", "wgmma.mma_async"]);
    let three = for_hopper("matmul", &Options::default());
    assert!(matmul.shared_bytes < three.shared_bytes);
}

#[test]
fn probabilities_stay_in_registers() {
    let attention = for_hopper("attention", &Options::default());
    let first = attention.ptx.find("wgmma.mma_async").expect("attention multiplies");
    // The second product takes its left operand from four registers, as the first one's results lie.
    assert!(attention.ptx[first..].contains("}, {%r"), "{}", attention.ptx);
}

#[test]
fn boxes_of_matrices_are_copied_by_the_hardware() {
    let bulk = Options { bulk_copies: true, ..Options::default() };
    let matmul = for_hopper("matmul", &bulk);
    let copy = "cp.async.bulk.tensor.2d";
    let ahead = ["mbarrier.init", "fence.proxy.async", "mbarrier.arrive.expect_tx", copy, copy];
    let steady = [
        "mbarrier.try_wait.parity",
        "wgmma.mma_async",
        "wgmma.commit_group",
        "mbarrier.try_wait.parity",
        "mbarrier.arrive.expect_tx",
        copy,
        "wgmma.wait_group.sync.aligned 1;",
        "mbarrier.arrive.shared::cta.b64 _",
        "mbarrier.inval",
    ];
    in_order(&matmul.ptx, &[&ahead[..], &steady[..]].concat());
    assert!(!matmul.ptx.contains("cp.async.cg"), "{}", matmul.ptx);
    let maps: Vec<String> = matmul.tensor_maps.iter().map(ToString::to_string).collect();
    assert_eq!(maps.len(), 2, "{maps:?}");
    // Rows that wrap around must not do so inside of a block.
    assert_eq!(matmul.conditions.len(), 2, "{:?}", matmul.conditions);
}

#[test]
fn without_launches_that_make_maps_threads_copy() {
    let matmul = for_hopper("matmul", &Options::default());
    assert!(matmul.tensor_maps.is_empty() && !matmul.ptx.contains("cp.async.bulk"));
    let ampere = Options { bulk_copies: true, ..Options::default() };
    let kernels = kernels();
    let (_, text) = kernels.iter().find(|(found, _)| found == "matmul").expect("the kernel is in the folder");
    let function = tegula_ir::Function::parse(text).expect("the kernel is read");
    let matmul = compile(&function, Target::portable(80), &ampere).expect("the kernel compiles");
    assert!(matmul.tensor_maps.is_empty());
}

#[test]
fn loops_that_multiply_fetch_ahead_on_older_gpus_too() {
    let matmul = kernel("matmul");
    let fill = "cp.async.cg.shared.global";
    let ahead = [fill, "cp.async.commit_group", fill, "cp.async.commit_group"];
    let steady = ["cp.async.wait_group 1;", "ld.shared.v4.b32", "mma.sync", fill, "cp.async.commit_group"];
    in_order(&matmul.ptx, &[&ahead[..], &steady[..]].concat());
}

#[test]
fn products_and_sums_are_joined_unless_that_is_unwanted() {
    let text = "kernel @axpy(%x: *fp32, %y: *fp32) {
       %0 = arange 0..128 : <128xi32>
       %1 = splat %x : <128x*fp32>
       %2 = add_pointer %1, %0 : <128x*fp32>
       %3 = load %2 : <128xfp32>
       %4 = mul %3, %3 : <128xfp32>
       %5 = add %4, %3 : <128xfp32>
       %6 = splat %y : <128x*fp32>
       %7 = add_pointer %6, %0 : <128x*fp32>
       store %7, %5
     }";
    let function = tegula_ir::Function::parse(text).expect("the kernel is read");
    let ptx = |contracts| {
        let options = Options { contracts, ..Options::default() };
        compile(&function, Target::portable(80), &options).expect("the kernel compiles").ptx
    };
    assert!(ptx(true).contains("fma.rn.f32"));
    let apart = ptx(false);
    assert!(
        apart.contains("mul.rn.f32") && apart.contains("add.rn.f32") && !apart.contains("fma"),
        "{apart}"
    );
}
