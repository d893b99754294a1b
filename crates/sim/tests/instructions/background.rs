//! Copies in the background, and mbarriers.

use crate::support::{run, run_with};
use tegula_sim::FindingKind::{self, *};
use tegula_sim::TensorMap;

#[track_caller]
fn expect(body: &str, kind: FindingKind) {
    let run = run(32, body, |thread| thread);
    assert!(run.kinds().contains(&kind), "{kind:?} is not found: {}", run.report);
}

/// Every thread copies its word and the next lane's copy is read.
fn copied(commit: &str, wait: &str, barrier: &str) -> String {
    format!(
        "mad.lo.s32 %r4, %r0, 4, %r2; cp.async.ca.shared.global [%r4], [%d1], 4; {commit} {wait} {barrier}
         xor.b32 %r5, %r0, 1; mad.lo.s32 %r5, %r5, 4, %r2; ld.shared.b32 %r3, [%r5];"
    )
}

const COMMIT: &str = "cp.async.commit_group;";
const WAIT: &str = "cp.async.wait_group 0;";

#[test]
fn async_copies_are_waited_for() {
    let right = run(32, &copied(COMMIT, WAIT, "bar.sync 0;"), |thread| thread).clean();
    assert_eq!((right[0], right[31]), (1, 30));
    run(32, &copied("", "cp.async.wait_all;", "bar.sync 0;"), |thread| thread).clean();
    expect(&copied(COMMIT, "", "bar.sync 0;"), CopyInFlight);
    expect(&copied("", WAIT, "bar.sync 0;"), CopyInFlight);
    expect(&copied(COMMIT, "cp.async.wait_group 1;", "bar.sync 0;"), CopyInFlight);
    expect(&copied(COMMIT, WAIT, ""), Race);
}

#[test]
fn what_is_not_read_is_zero() {
    let body = "mad.lo.s32 %r4, %r0, 16, %r2; mov.u32 %r5, 0; add.s64 %d9, %d3, 0;
                cp.async.cg.shared.global [%r4], [%d9], 16, 8; cp.async.wait_all;
                ld.shared.v4.b32 {%r6, %r7, %r8, %r9}, [%r4]; mad.lo.s32 %r3, %r7, 100, %r9;";
    // The word behind the eight bytes is zero.
    let input: Vec<u32> = (5..37).collect();
    let mut aligned = vec![0u32; 64];
    let skip = (aligned.as_ptr() as usize).wrapping_neg() % 16 / 4;
    aligned[skip..skip + 32].copy_from_slice(&input);
    assert_eq!(run_with(32, body, &aligned[skip..skip + 32], 0, Vec::new()).clean()[3], 600);
}

/// Thread 0 makes an mbarrier at 8192; everybody waits for its first phase.
fn with_mbarrier(arrivals: u32, fence: &str, work: &str, wait: bool) -> String {
    let wait = if wait {
        "$L8: mbarrier.try_wait.parity.shared::cta.b64 %p9, [%r10], 0; @!%p9 bra $L8;"
    } else {
        ""
    };
    format!(
        "add.s32 %r10, %r2, 8192; setp.eq.u32 %p0, %r0, 0;
         @%p0 mbarrier.init.shared::cta.b64 [%r10], {arrivals}; {fence} bar.sync 0;
         {work} {wait}
         mad.lo.s32 %r4, %r0, 4, %r2; ld.shared.b32 %r3, [%r4];"
    )
}

const FENCE: &str = "fence.proxy.async;";
const LOAD: &str = "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], 128;
    @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d3], 128, [%r10];";

#[test]
fn bulk_copies_complete_mbarriers() {
    let mut input = vec![0u32; 64];
    let skip = (input.as_ptr() as usize).wrapping_neg() % 16 / 4;
    input.iter_mut().enumerate().for_each(|(index, word)| *word = index as u32);
    let go = |body: &str| run_with(32, body, &input[skip..skip + 32], 0, Vec::new());
    let right = go(&with_mbarrier(1, FENCE, LOAD, true)).clean();
    assert_eq!(right[7], 7 + skip as u32);
    assert!(go(&with_mbarrier(1, FENCE, LOAD, false)).kinds().contains(&CopyInFlight));
    assert!(go(&with_mbarrier(1, "", LOAD, true)).kinds().contains(&MissingProxyFence));
    assert!(go(&with_mbarrier(2, FENCE, LOAD, true)).kinds().contains(&Deadlock));
    let more = LOAD.replace("_, [%r10], 128", "_, [%r10], 256");
    assert!(go(&with_mbarrier(1, FENCE, &more, true)).kinds().contains(&Deadlock));
    // What was written by ordinary stores is fenced before the copy overwrites it.
    let dirty = format!("mad.lo.s32 %r4, %r0, 4, %r2; st.shared.b32 [%r4], %r1; bar.sync 0; {LOAD}");
    assert!(go(&with_mbarrier(1, FENCE, &dirty, true)).kinds().contains(&MissingProxyFence));
    let fenced = dirty.replace("bar.sync", "fence.proxy.async; bar.sync");
    go(&with_mbarrier(1, FENCE, &fenced, true)).clean();
}

#[test]
fn arrivals_pass_on_what_was_written() {
    let work =
        "mad.lo.s32 %r4, %r0, 4, %r2; st.shared.b32 [%r4], %r1; mbarrier.arrive.shared::cta.b64 _, [%r10];";
    run(32, &with_mbarrier(32, "", work, true), |thread| thread).clean();
    expect(&with_mbarrier(33, "", work, true), Deadlock);
    let async_arrive = "mad.lo.s32 %r4, %r0, 4, %r2; cp.async.ca.shared.global [%r4], [%d1], 4;
                        cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r10];";
    assert_eq!(run(32, &with_mbarrier(32, "", async_arrive, true), |thread| thread).clean()[9], 9);
    expect(&with_mbarrier(32, "", async_arrive, false), CopyInFlight);
    expect("mbarrier.arrive.shared::cta.b64 _, [%r2];", Uninitialised);
}

#[test]
fn mbarriers_are_made_anew_in_one_place() {
    let body =
        "add.s32 %r10, %r2, 8192; mad.lo.s32 %r4, %r0, 4, %r2; setp.eq.u32 %p0, %r0, 0; mov.u32 %r20, 0;
        $L1: @%p0 mbarrier.init.shared::cta.b64 [%r10], 32; bar.sync 0;
        cp.async.ca.shared.global [%r4], [%d1], 4; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r10];
        $L2: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r10], 0; @!%p1 bra $L2;
        xor.b32 %r5, %r0, 1; mad.lo.s32 %r5, %r5, 4, %r2; ld.shared.b32 %r3, [%r5]; bar.sync 0;
        @%p0 mbarrier.inval.shared::cta.b64 [%r10]; bar.sync 0;
        add.s32 %r20, %r20, 1; setp.lt.s32 %p2, %r20, 2000; @%p2 bra $L1;";
    assert_eq!(run(32, body, |thread| thread).clean()[6], 7);
    let twice = "setp.eq.u32 %p0, %r0, 0; @%p0 mbarrier.init.shared::cta.b64 [%r2], 1; @%p0 mbarrier.init.shared::cta.b64 [%r2], 1;";
    expect(twice, Invalid);
}

#[test]
fn boxes_are_copied_with_their_swizzle() {
    // A matrix of 8 rows of 16 words; boxes of 4 rows of 32 bytes.
    let mut words = vec![0u32; 160];
    let skip = (words.as_ptr() as usize).wrapping_neg() % 16 / 4;
    words.iter_mut().enumerate().for_each(|(index, word)| *word = index as u32 - skip.min(index) as u32);
    let input = &words[skip..skip + 128];
    let map = TensorMap {
        address: input.as_ptr() as u64,
        element_bytes: 4,
        rank: 2,
        extents: [16, 8, 0, 0, 0],
        strides: [4, 64, 0, 0, 0],
        box_extents: [8, 4, 0, 0, 0],
        swizzle_bytes: 32,
    };
    let load = "mov.u64 %d9, map; cvta.param.u64 %d9, %d9; mov.u32 %r20, 8; mov.u32 %r21, 6;
        @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], 128;
        @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%d9, {%r20, %r21}], [%r10];";
    let body = with_mbarrier(1, FENCE, load, true);
    let output = run_with(32, &body, input, 0, map.encode()).clean();
    // Rows 6 and 7 are there, the two after are zeros; nothing is swizzled in the first 128 bytes.
    assert_eq!((output[0], output[9], output[16], output[31]), (6 * 16 + 8, 7 * 16 + 9, 0, 0));
    let store = "mad.lo.s32 %r4, %r0, 4, %r2; st.shared.b32 [%r4], %r1; fence.proxy.async; bar.sync 0;
        setp.eq.u32 %p0, %r0, 0; @!%p0 bra $L3;
        cp.async.bulk.global.shared::cta.bulk_group [%d4], [%r2], 128; cp.async.bulk.commit_group; WAIT
        $L3: bar.sync 0; ld.global.b32 %r3, [%d2];";
    let waits = store.replace("WAIT", "cp.async.bulk.wait_group 0;");
    let stored = run_with(32, &waits, input, 0, Vec::new());
    assert!(stored.kinds().iter().all(|&kind| kind == Misaligned), "{}", stored.report);
    assert!(!run_with(32, &store.replace("WAIT", ""), input, 0, Vec::new()).report.findings.is_empty());
}
