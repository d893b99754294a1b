//! What the simulator says of right and wrong synchronisation.

use crate::support::{Run, run, run_with};
use tegula_sim::FindingKind::{self, *};

/// Every thread writes its place of shared memory and reads its mirror image's.
fn mirrored(between: &str) -> String {
    format!(
        "mad.lo.s32 %r4, %r0, 4, %r2; st.shared.b32 [%r4], %r1; {between}
         sub.s32 %r5, 127, %r0; mad.lo.s32 %r5, %r5, 4, %r2; ld.shared.b32 %r3, [%r5];"
    )
}

#[track_caller]
fn expect(run: &Run, kind: FindingKind) {
    assert!(run.kinds().contains(&kind), "{kind:?} is not found: {}", run.report);
}

#[test]
fn barriers_order_warps() {
    let right = run(128, &mirrored("bar.sync 0;"), |thread| thread).clean();
    assert!((0..128).all(|thread| right[thread] == 127 - thread as u32));
    expect(&run(128, &mirrored(""), |thread| thread), Race);
    // Within a warp, lanes are in no order either.
    let near = |between: &str| {
        format!(
            "mad.lo.s32 %r4, %r0, 4, %r2; st.shared.b32 [%r4], %r1; {between}
             xor.b32 %r5, %r0, 1; mad.lo.s32 %r5, %r5, 4, %r2; ld.shared.b32 %r3, [%r5];"
        )
    };
    expect(&run(32, &near(""), |thread| thread), Race);
    assert_eq!(run(32, &near("bar.warp.sync -1;"), |thread| thread).clean()[4], 5);
}

#[test]
fn findings_name_the_place() {
    let run = run(128, &mirrored(""), |thread| thread);
    let finding = run.report.findings.iter().find(|finding| finding.kind == Race).unwrap();
    let text = finding.to_string();
    assert!(finding.instruction.contains(".shared.b32") && finding.other_ptx_line.is_some(), "{text}");
    for word in ["PTX line", "program (0, 0, 0)", "warp", "lane", "address"] {
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn schedules_differ_and_agree() {
    let input: Vec<u32> = (0..128).collect();
    let first = run_with(128, &mirrored("bar.sync 0;"), &input, 0, Vec::new()).clean();
    for seed in 1..20 {
        assert_eq!(run_with(128, &mirrored("bar.sync 0;"), &input, seed, Vec::new()).clean(), first);
    }
}

#[test]
fn barriers_that_not_all_reach_are_found() {
    let some = "setp.lt.u32 %p0, %r0, 64; @!%p0 bra $L1; bar.sync 0; $L1:";
    expect(&run(128, some, |_| 0), Barrier);
    let named = "setp.lt.u32 %p0, %r0, 64; @!%p0 bra $L1; bar.sync 1, 64; $L1:";
    run(128, named, |_| 0).clean();
    expect(&run(128, "bar.sync 1, 256;", |_| 0), Barrier);
    let half = "setp.lt.u32 %p0, %r0, 16; @!%p0 bra $L1; bar.sync 0; $L1:";
    expect(&run(32, half, |_| 0), Divergent);
}

#[test]
fn memory_is_checked() {
    expect(&run(32, "ld.shared.b32 %r3, [%r2];", |_| 0), Uninitialised);
    expect(&run(32, "st.shared.b32 [%r2 + 16384], %r1;", |_| 0), OutOfBounds);
    expect(&run(32, "ld.global.b32 %r3, [%d1 + 4096];", |_| 0), OutOfBounds);
    expect(&run(32, "st.global.b32 [%d1], %r1;", |_| 1), OutOfBounds);
    expect(&run(32, "ld.global.b32 %r3, [%d1 + 2];", |_| 0), Misaligned);
    expect(&run(32, "add.s32 %r3, %r50, 1;", |_| 0), Uninitialised);
    expect(&run(32, "trap;", |_| 0), Trap);
    expect(&run(32, "$L1: bra $L1;", |_| 0), NoEnd);
}

#[test]
fn atomic_operations_add_up() {
    let sum = "mov.u32 %r5, 0; setp.eq.u32 %p0, %r0, 0; @%p0 st.shared.b32 [%r2], %r5; bar.sync 0;
               atom.shared.add.u32 %r4, [%r2], %r1; bar.sync 0; ld.shared.b32 %r3, [%r2];";
    assert!(run(128, sum, |thread| thread).clean().iter().all(|&word| word == 127 * 64));
    let swap = "atom.global.cas.b32 %r3, [%d2], 0xdeadbeef, 7; ld.global.b32 %r3, [%d2];";
    assert_eq!(run(32, swap, |_| 0).clean()[3], 7);
    let float = "atom.global.exch.b32 %r4, [%d2], 0f3F800000; red.global.add.f32 [%d2], 0f40000000;
                 ld.global.b32 %r3, [%d2];";
    assert_eq!(run(32, float, |_| 0).clean()[0], 3f32.to_bits());
}

#[test]
fn acquire_and_release_order_what_lies_between() {
    // Warp 0 leaves a word for warp 1, and says so.
    let hand_over = |store: &str, load: &str| {
        format!(
            "add.s32 %r6, %r2, 64; mov.u32 %r5, 0; setp.eq.u32 %p0, %r0, 0; @%p0 st.shared.b32 [%r6], %r5; bar.sync 0;
             mov.u32 %r8, 1; setp.ge.u32 %p1, %r0, 32; @%p1 bra $L1;
             @%p0 st.shared.b32 [%r2], %r1; @%p0 {store} [%r6], %r8; bra $L2;
             $L1: {load} %r7, [%r6]; setp.eq.u32 %p2, %r7, 0; @%p2 bra $L1; ld.shared.b32 %r3, [%r2];
             $L2:"
        )
    };
    let right = hand_over("st.release.cta.shared.b32", "ld.acquire.cta.shared.b32");
    assert_eq!(run(64, &right, |_| 9).clean()[40], 9);
    expect(&run(64, &hand_over("st.relaxed.cta.shared.b32", "ld.relaxed.cta.shared.b32"), |_| 9), Race);
}

#[test]
fn banks_and_sectors_are_counted() {
    let column = "mad.lo.s32 %r4, %r0, 128, %r2; st.shared.b32 [%r4], %r1;";
    assert_eq!(run(32, column, |_| 0).report.bank_conflicts(), 31);
    let row = "mad.lo.s32 %r4, %r0, 4, %r2; st.shared.b32 [%r4], %r1;";
    let report = run(32, row, |_| 0).report;
    assert_eq!(
        (report.bank_conflicts(), report.traffic.shared_written, report.traffic.global_read),
        (0, 128, 128)
    );
    assert!(report.excess_sectors() <= 2, "at either end of the arrays");
}
