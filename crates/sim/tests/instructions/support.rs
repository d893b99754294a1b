//! Runs bodies of kernels, one word in and one word out a thread.

use tegula_sim::{Argument, Array, FindingKind, Launch, Options, Program, Report};

/// Bytes of shared memory of every run.
pub const SHARED: u32 = 16 * 1024;

/// A kernel around a body: `%r0` is the thread, `%r1` its word of the input, `%r2` the address of shared memory, `%d1` and `%d2` the
/// addresses of the thread's words of input and output; what the body leaves in `%r3` is stored.
pub fn module(threads: u32, body: &str) -> String {
    format!(
        ".version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 memory[];
.visible .entry kernel(
    .param .u64 input,
    .param .u64 output,
    .param .align 64 .b8 map[128]
)
.reqntid {threads}, 1, 1
{{
    .reg .pred %p<16>;
    .reg .b16 %h<16>;
    .reg .b32 %r<160>;
    .reg .b64 %d<32>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r2, memory;
    mul.wide.u32 %d0, %r0, 4;
    ld.param.u64 %d3, [input];
    ld.param.u64 %d4, [output];
    add.s64 %d1, %d3, %d0;
    add.s64 %d2, %d4, %d0;
    ld.global.b32 %r1, [%d1];
    mov.u32 %r3, 0;
{body}
    st.global.b32 [%d2], %r3;
    ret;
}}
"
    )
}

/// A run of one block.
pub struct Run {
    pub output: Vec<u32>,
    pub report: Report,
}

impl Run {
    /// The kinds of what was found, in the order of the lines.
    pub fn kinds(&self) -> Vec<FindingKind> {
        self.report.findings.iter().map(|finding| finding.kind).collect()
    }

    /// The output, if nothing was found.
    #[track_caller]
    pub fn clean(self) -> Vec<u32> {
        assert!(self.report.findings.is_empty(), "{}", self.report);
        self.output
    }
}

/// Runs a body on an input, with a schedule.
pub fn run_with(threads: u32, body: &str, input: &[u32], seed: u64, map: Vec<u8>) -> Run {
    let text = module(threads, body);
    let program = Program::new(&text, "kernel").unwrap_or_else(|error| panic!("{error}\n{text}"));
    // What no thread stores is found as this.
    let mut output = vec![0xdead_beefu32; threads.max(32) as usize];
    let array = |name: &str, address: *const u32, words: usize, writable| Array {
        name: name.into(),
        address: address as u64,
        bytes: 4 * words as u64,
        writable,
    };
    let launch = Launch {
        grid: [1, 1, 1],
        warps: threads.div_ceil(32),
        shared_bytes: SHARED,
        arguments: vec![
            Argument::Word(input.as_ptr() as u64),
            Argument::Word(output.as_mut_ptr() as u64),
            Argument::Bytes(map),
        ],
        arrays: Some(vec![
            array("input", input.as_ptr(), input.len(), false),
            array("output", output.as_ptr(), output.len(), true),
        ]),
    };
    let options = Options { seed, instruction_limit: Some(200_000), ..Options::default() };
    // SAFETY: the arrays are all that is accessed.
    let report = unsafe { program.launch(&launch, &options) };
    Run { output, report }
}

/// Runs a body on words that are given by the thread.
pub fn run(threads: u32, body: &str, input: impl Fn(u32) -> u32) -> Run {
    let words: Vec<u32> = (0..threads.max(32)).map(input).collect();
    run_with(threads, body, &words, 0, vec![0; 128])
}
