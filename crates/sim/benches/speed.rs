//! Lane-instructions a second of one core, where warps compute and where they exchange words through shared memory.
//!
//! `cargo bench --package tegula-sim` counts them as items.

use divan::Bencher;
use divan::counter::ItemsCount;
use tegula_sim::{Argument, Launch, Options, Program};

/// Iterations of each loop.
const ROUNDS: u32 = 2000;

fn main() {
    divan::main();
}

/// A kernel of 128 threads around the body of a loop.
fn program(body: &str) -> Program {
    let text = format!(
        ".version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 memory[];
.visible .entry kernel(.param .u64 unused)
.reqntid 128, 1, 1
{{
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, memory;
    mad.lo.s32 %r2, %r0, 4, %r1;
    xor.b32 %r3, %r0, 1;
    mad.lo.s32 %r3, %r3, 4, %r1;
    mov.u32 %r4, 0;
    mov.u32 %r5, 0;
$L0:
    {body}
    add.s32 %r4, %r4, 1;
    setp.lt.s32 %p0, %r4, {ROUNDS};
    @%p0 bra $L0;
    ret;
}}
"
    );
    Program::new(&text, "kernel").expect("the text is PTX")
}

fn bench(bencher: Bencher, body: &str) {
    let program = program(body);
    let launch = Launch {
        grid: [1, 1, 1],
        warps: 4,
        shared_bytes: 512,
        arguments: vec![Argument::Word(0)],
        arrays: Some(Vec::new()),
    };
    let options = Options { threads: Some(1), ..Options::default() };
    // SAFETY: the kernel accesses its own shared memory alone.
    let run = || unsafe { program.launch(&launch, &options) };
    let report = run();
    assert!(report.findings.is_empty(), "{report}");
    bencher.counter(ItemsCount::new(report.lane_instructions())).bench(run);
}

#[divan::bench]
fn arithmetic(bencher: Bencher) {
    bench(
        bencher,
        "fma.rn.f32 %r5, %r5, 0f3F000000, 0f3F800000; mad.lo.s32 %r6, %r4, 3, %r0; xor.b32 %r7, %r6, %r4;
         cvt.rn.f32.s32 %r8, %r7; add.rn.f32 %r5, %r5, %r8;",
    );
}

#[divan::bench]
fn shared_memory(bencher: Bencher) {
    bench(bencher, "st.shared.b32 [%r2], %r4; bar.sync 0; ld.shared.b32 %r5, [%r3]; bar.sync 0;");
}
