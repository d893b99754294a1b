//! The simulator on what the back end prints: right kernels have no findings, and kernels without one of their barriers, waits, fences or
//! commits have some.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use tegula_cpu::{ArrayRange, LaunchOptions};
use tegula_ir::{Element, Function, Scalar};
use tegula_runtime::{Options, Schedule, SimulatedKernel, Target};

/// More instructions than the warps of any program here execute.
const LIMIT: u64 = 1_000_000;

/// Bytes of each array.
const BYTES: usize = 1 << 18;

/// A kernel of the GPU back end's tests, with grids and numbers in the order of the parameters, for launches of several lengths: what is
/// left out may be wrong for one and right for another.
struct Case {
    kernel: &'static str,
    target: &'static str,
    launches: &'static [(u32, &'static [i64])],
}

const fn case(
    kernel: &'static str,
    target: &'static str,
    launches: &'static [(u32, &'static [i64])],
) -> Case {
    Case { kernel, target, launches }
}

const MATMUL: &[(u32, &[i64])] = &[
    (2, &[128, 128, 256, 256, 128, 128]),
    (1, &[64, 128, 288, 288, 128, 128]),
    (1, &[64, 128, 320, 320, 128, 128]),
];
const ATTENTION: &[(u32, &[i64])] = &[(6, &[512])];
const INT4: &[(u32, &[i64])] = &[(1, &[64, 64, 512]), (1, &[64, 64, 576]), (1, &[64, 64, 640])];

const CASES: &[Case] = &[
    case("matmul", "sim:sm_80", MATMUL),
    case("matmul", "sim:sm_90", MATMUL),
    case("attention", "sim:sm_80", ATTENTION),
    case("attention", "sim:sm_90", ATTENTION),
    case("int4_matmul", "sim:sm_80", INT4),
    case("int4_matmul", "sim:sm_90", INT4),
    case("column_sum", "sim:sm_80", &[(1, &[100, 64])]),
    case("cross_entropy", "sim:sm_80", &[(1, &[5008, 5000])]),
    case("layer_norm", "sim:sm_80", &[(2, &[1008, 1000])]),
    case("softmax", "sim:sm_80", &[(2, &[1008, 1008, 1000])]),
    case("softmax_online", "sim:sm_90", &[(2, &[9008, 9008, 8999])]),
    case("recurrence", "sim:sm_80", &[(1, &[1024])]),
    case("row_scan", "sim:sm_90", &[(1, &[4096])]),
];

/// Mutants with which nothing is wrong: the kernel, what the line has, which of those lines from 0, and why.
struct Harmless(
    &'static str,
    &'static str,
    &'static str,
    usize,
    #[allow(dead_code, reason = "for readers")] &'static str,
);

const LATER_PLACE: &str = "what is stored next is not where the loop has read since its last barrier";
const OTHER_REDUCTION: &str = "the barrier of the iteration's other exchange lies between as well";

const HARMLESS: &[Harmless] = &[
    Harmless("matmul", "sim:sm_80", "bar.sync", 4, LATER_PLACE),
    Harmless("attention", "sim:sm_80", "bar.sync", 12, LATER_PLACE),
    Harmless("int4_matmul", "sim:sm_80", "bar.sync", 6, LATER_PLACE),
    Harmless(
        "int4_matmul",
        "sim:sm_90",
        "bar.sync",
        4,
        "what is stored next does not reach the mbarriers given up before",
    ),
    Harmless("matmul", "sim:sm_90", "bar.sync", 2, "as in int4_matmul"),
    Harmless(
        "attention",
        "sim:sm_90",
        "cp.async.wait_all",
        0,
        "the loop waits for this group before the first product",
    ),
    Harmless("attention", "sim:sm_90", "fence.proxy.async", 0, "the loop fences before the first product"),
    Harmless("attention", "sim:sm_90", "bar.sync", 0, "the loop has a barrier before the first product"),
    Harmless(
        "attention",
        "sim:sm_90",
        "wgmma.wait_group",
        1,
        "the next iteration waits for all products before it overwrites anything",
    ),
    Harmless("int4_matmul", "sim:sm_90", "wgmma.wait_group", 1, "as in attention"),
    Harmless("cross_entropy", "sim:sm_80", "bar.sync", 1, OTHER_REDUCTION),
    Harmless("softmax_online", "sim:sm_90", "bar.sync", 0, OTHER_REDUCTION),
    Harmless("row_scan", "sim:sm_90", "bar.sync", 0, OTHER_REDUCTION),
];

/// A kernel that is ready to launch, with its arguments.
struct Ready {
    kernel: SimulatedKernel,
    /// The arguments of each launch, with the programs.
    launches: Vec<(u32, Vec<u64>)>,
    arrays: Vec<Vec<u128>>,
    names: Vec<String>,
}

impl Ready {
    fn new(case: &Case) -> Ready {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu/tests/kernels");
        let text = std::fs::read_to_string(folder.join(case.kernel).with_extension("tir")).unwrap();
        let function = Arc::new(Function::parse(&text).unwrap());
        let Ok(Target::Simulated(gpu)) = Target::from_str(case.target) else { panic!("{}", case.target) };
        let kernel = SimulatedKernel::compile(&function, gpu, &Options::default()).unwrap();
        let (mut arrays, mut names) = (Vec::new(), Vec::new());
        for param in &function.params {
            // Indices are zeros; everything else is halves from 0.5 to 1, which as single precision are small numbers.
            if let Element::Pointer(pointer) = param.ty.element {
                let indices = pointer.pointee == Scalar::Int64;
                let mut state = arrays.len() as u64 + 1;
                let mut next = || {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    if indices { 0 } else { 0x3800 | (state >> 48) as u128 & 0x3ff }
                };
                let word = |_| (0..8).fold(0u128, |word, _| word << 16 | next());
                arrays.push((0..BYTES / 16).map(word).collect::<Vec<u128>>());
                names.push(param.name.clone());
            }
        }
        let mut words = |numbers: &[i64]| {
            let (mut numbers, mut arrays) = (numbers.iter(), arrays.iter_mut());
            let word = |element: &Element| match element {
                Element::Pointer(_) => arrays.next().unwrap().as_mut_ptr() as u64,
                Element::Scalar(Scalar::Float32) => u64::from(0.125f32.to_bits()),
                Element::Scalar(_) => *numbers.next().unwrap() as u64,
            };
            function.params.iter().map(|param| &param.ty.element).map(word).collect()
        };
        let launches = case.launches.iter().map(|&(programs, numbers)| (programs, words(numbers))).collect();
        Ready { kernel, launches, arrays, names }
    }

    /// What is found in any of the launches with a schedule.
    fn findings(&mut self, kernel: &SimulatedKernel, seed: u64) -> Vec<String> {
        let range = |(array, name): (&mut Vec<u128>, &String)| ArrayRange {
            name: name.clone(),
            address: array.as_mut_ptr() as usize,
            bytes: BYTES,
            writable: true,
        };
        let bounds: Vec<ArrayRange> = self.arrays.iter_mut().zip(&self.names).map(range).collect();
        let options = LaunchOptions { bounds: Some(bounds), ..LaunchOptions::default() };
        let schedule = Schedule { seed, instruction_limit: Some(LIMIT) };
        let mut all = Vec::new();
        for (programs, words) in &self.launches {
            // SAFETY: the simulator keeps the kernel within the arrays.
            let report = unsafe { kernel.report([*programs, 1, 1], words, &options, schedule) }.unwrap();
            all.extend(report.findings.iter().map(ToString::to_string));
            if !all.is_empty() {
                break;
            }
        }
        all
    }
}

/// Whether a line of PTX is a barrier, a wait, a fence or a commit, alone in its line.
fn synchronises(line: &str) -> bool {
    let line = line.trim_start();
    let instruction =
        if line.starts_with('@') { line.split_once(' ').map_or("", |(_, rest)| rest) } else { line };
    const NAMES: [&str; 12] = [
        "bar.",
        "barrier.",
        "fence.",
        "membar.",
        "cp.async.commit_group",
        "cp.async.wait_",
        "wgmma.fence",
        "wgmma.commit_group",
        "wgmma.wait_group",
        "mbarrier.arrive",
        "mbarrier.try_wait",
        "cp.async.bulk.wait_group",
    ];
    NAMES.iter().any(|name| instruction.starts_with(name))
}

#[test]
fn what_is_printed_has_no_findings() {
    for case in CASES {
        let mut ready = Ready::new(case);
        let text = ready.kernel.kernel().ptx.clone();
        let kernel = ready.kernel.with_ptx(text).unwrap();
        for seed in 0..4 {
            let found = ready.findings(&kernel, seed);
            assert!(found.is_empty(), "{} for {}: {}", case.kernel, case.target, found.join("\n"));
        }
    }
}

/// Whether a barrier orders accesses of global memory alone, or nothing: what follows it is the next access, or the end. The accesses of each
/// kernel here are apart, so that its barriers for arguments where they are not make no difference.
fn orders_nothing_shared(lines: &[&str], index: usize) -> bool {
    let accesses = |line: &&&str| {
        ["ld.", "st.", "atom.", "red.", "cp.async", "ldmatrix", "stmatrix", "mbarrier", "wgmma", "ret"]
            .iter()
            .any(|name| line.split_whitespace().any(|word| word.starts_with(name)))
    };
    let next = lines[index + 1..].iter().find(accesses);
    lines[index].contains("bar.sync")
        && next.is_none_or(|line| line.contains(".global.") || line.contains("ret;"))
}

/// The PTX without some lines.
fn without(lines: &[&str], removed: &[usize]) -> String {
    let mut mutant = lines.to_vec();
    removed.iter().for_each(|&index| mutant[index] = "");
    mutant.join("\n")
}

#[test]
fn what_is_left_out_is_found() {
    let (mut wrong, mut found, mut missed) = (0, 0, Vec::new());
    for case in CASES {
        let mut ready = Ready::new(case);
        let text = ready.kernel.kernel().ptx.clone();
        let lines: Vec<&str> = text.lines().collect();
        let mut is_found = |removed: &[usize]| {
            let kernel = ready.kernel.with_ptx(without(&lines, removed)).unwrap();
            (0..3).any(|seed| !ready.findings(&kernel, seed).is_empty())
        };
        let harmless = |index: usize| {
            HARMLESS.iter().any(|&Harmless(kernel, target, instruction, number, _)| {
                let before = lines[..index].iter().filter(|line| line.contains(instruction)).count();
                (kernel, target) == (case.kernel, case.target)
                    && lines[index].contains(instruction)
                    && before == number
            })
        };
        let all = (0..lines.len()).filter(|&index| synchronises(lines[index]));
        let (hits, silent): (Vec<usize>, Vec<usize>) = all.partition(|&index| is_found(&[index]));
        (wrong, found) = (wrong + hits.len(), found + hits.len());
        for &index in &silent {
            // Two that do the same make up for each other: without both, the kernel is wrong.
            let made_up_for = silent.iter().any(|&other| other != index && is_found(&[index, other]));
            if !made_up_for && !harmless(index) && !orders_nothing_shared(&lines, index) {
                wrong += 1;
                missed.push(format!(
                    "{} for {}, line {}: {}",
                    case.kernel,
                    case.target,
                    index + 1,
                    lines[index]
                ));
            }
        }
    }
    assert!(wrong >= 80, "only {wrong} mutants");
    assert!(
        100 * found >= 95 * wrong,
        "{found} of {wrong} mutants are found; not found are\n{}",
        missed.join("\n")
    );
}
