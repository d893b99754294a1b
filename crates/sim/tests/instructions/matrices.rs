//! Matrices moved and multiplied, against sums made one by one.

use crate::support::run;
use tegula_sim::FindingKind::{self, *};

#[test]
fn matrices_are_loaded_stored_and_transposed() {
    // The matrix has its number in each element: row * 8 + column.
    let fill = "and.b32 %r4, %r0, 31; shl.b32 %r5, %r4, 1; add.s32 %r6, %r5, 1; shl.b32 %r6, %r6, 16; or.b32 %r7, %r5, %r6;
                mad.lo.s32 %r8, %r4, 4, %r2; st.shared.b32 [%r8], %r7; bar.warp.sync -1;
                and.b32 %r9, %r4, 7; mad.lo.s32 %r9, %r9, 16, %r2;";
    let element = |word: u32, half: u32| word >> (16 * half) & 0xffff;
    let plain =
        run(32, &format!("{fill} ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r3}}, [%r9];"), |_| 0).clean();
    let turned =
        run(32, &format!("{fill} ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {{%r3}}, [%r9];"), |_| 0)
            .clean();
    for lane in 0..32u32 {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        for half in 0..2 {
            assert_eq!(element(plain[lane as usize], half), row * 8 + column + half);
            assert_eq!(element(turned[lane as usize], half), (column + half) * 8 + row);
        }
    }
    let moved = format!(
        "{fill} ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r10}}, [%r9]; movmatrix.sync.aligned.m8n8.trans.b16 %r11, %r10;
         bar.warp.sync -1; stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r9], {{%r11}}; bar.warp.sync -1;
         ld.shared.b32 %r3, [%r8];"
    );
    assert_eq!(run(32, &moved, |_| 0).clean(), plain);
}

/// A product by one warp: every element of A is 1 in the column that `%r1` of the lane has it in, so D has sums of B.
fn ones(shape: &str, types: &str, one: u32, registers: [usize; 3]) -> Vec<u32> {
    let list = |first: usize, count: usize| {
        let names: Vec<String> = (first..first + count).map(|index| format!("%r{index}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let [a, b, c] = registers;
    let sets: String = (0..a.max(b))
        .map(|index| format!("mov.u32 %r{}, {one}; mov.u32 %r{}, {one};", 20 + index, 40 + index))
        .collect();
    let zeros: String = (0..c).map(|index| format!("mov.u32 %r{}, 0;", 60 + index)).collect();
    let body = format!(
        "{sets} {zeros} mma.sync.aligned.{shape}.row.col.{types} {}, {}, {}, {}; mov.b32 %r3, %r60;",
        list(60, c),
        list(20, a),
        list(40, b),
        list(60, c)
    );
    run(32, &body, |_| 0).clean()
}

#[test]
fn every_shape_sums_over_its_depth() {
    let depth = |k: f32| vec![k.to_bits(); 32];
    let halves = 0x3c00_3c00;
    assert_eq!(ones("m16n8k8", "f32.f16.f16.f32", halves, [2, 1, 4]), depth(8.0));
    assert_eq!(ones("m16n8k16", "f32.f16.f16.f32", halves, [4, 2, 4]), depth(16.0));
    assert_eq!(ones("m16n8k16", "f32.bf16.bf16.f32", 0x3f80_3f80, [4, 2, 4]), depth(16.0));
    assert_eq!(ones("m16n8k8", "f32.tf32.tf32.f32", 1f32.to_bits(), [4, 2, 4]), depth(8.0));
    assert_eq!(ones("m16n8k32", "f32.e4m3.e4m3.f32", 0x3838_3838, [4, 2, 4]), depth(32.0));
    assert_eq!(ones("m16n8k32", "s32.s8.s8.s32", 0x0101_0101, [4, 2, 4]), vec![32; 32]);
    assert_eq!(ones("m16n8k16", "f16.f16.f16.f16", halves, [4, 2, 2]), vec![0x4c00_4c00; 32]);
}

#[test]
fn elements_are_where_the_fragments_say() {
    // A is the unit matrix, so D is B; B[k][n] is 8 k + n.
    let body = "shr.u32 %r4, %r0, 2; and.b32 %r5, %r0, 3; shl.b32 %r6, %r5, 1; sub.s32 %r7, %r4, %r6;
        setp.eq.s32 %p0, %r7, 0; setp.eq.s32 %p1, %r7, 1; selp.b32 %r8, 0x3c00, 0, %p0; selp.b32 %r9, 0x3c000000, 0, %p1;
        or.b32 %r20, %r8, %r9; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 %r23, %r20;
        mad.lo.s32 %r10, %r6, 8, %r4; cvt.rn.f32.s32 %r11, %r10; add.s32 %r12, %r10, 8; cvt.rn.f32.s32 %r13, %r12;
        cvt.rn.f16x2.f32 %r30, %r13, %r11;
        add.s32 %r14, %r10, 64; cvt.rn.f32.s32 %r15, %r14; add.s32 %r16, %r12, 64; cvt.rn.f32.s32 %r17, %r16;
        cvt.rn.f16x2.f32 %r31, %r17, %r15; mov.u32 %r40, 0;
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r41, %r42, %r43, %r44}, {%r20, %r21, %r22, %r23}, {%r30, %r31},
            {%r40, %r40, %r40, %r40};
        mov.b32 %r3, ";
    for (register, row, column) in [(41, 0, 0), (42, 0, 1), (43, 8, 0), (44, 8, 1)] {
        let output = run(32, &format!("{body} %r{register};"), |_| 0).clean();
        for lane in 0..32 {
            let expected = 8 * (lane / 4 + row) + 2 * (lane % 4) + column;
            assert_eq!(f32::from_bits(output[lane as usize]), expected as f32, "{register} {lane}");
        }
    }
}

/// A product of a warpgroup: A and B are tiles of ones of bf16, 64 rows and 8 columns of 32 bytes, in core matrices.
fn wgmma(fence_proxy: &str, fence: &str, commit: &str, wait: &str) -> String {
    format!(
        "mov.u32 %r4, 0x3f803f80; mad.lo.s32 %r5, %r0, 16, %r2; mov.u32 %r6, 0;
         st.shared.v4.b32 [%r5], {{%r4, %r4, %r4, %r4}}; st.shared.v4.b32 [%r5 + 2048], {{%r4, %r4, %r4, %r4}};
         {fence_proxy} bar.sync 0;
         shr.u32 %r7, %r2, 4; add.s32 %r8, %r7, 0x80000; mov.u32 %r9, 16; mov.b64 %d9, {{%r8, %r9}};
         add.s32 %r8, %r8, 128; mov.b64 %d10, {{%r8, %r9}};
         mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 %r23, 0; setp.eq.s32 %p0, 0, 0; {fence}
         wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%r20, %r21, %r22, %r23}}, %d9, %d10, %p0, 1, 1, 0, 0;
         {commit} {wait} mov.b32 %r3, %r23;"
    )
}

#[test]
fn warpgroups_multiply_tiles() {
    let [proxy, fence] = ["fence.proxy.async;", "wgmma.fence.sync.aligned;"];
    let [commit, wait] = ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"];
    let right = run(128, &wgmma(proxy, fence, commit, wait), |_| 0).clean();
    assert_eq!(right, vec![16f32.to_bits(); 128]);
    let expect = |body: String, kind: FindingKind| {
        let run = run(128, &body, |_| 0);
        assert!(run.kinds().contains(&kind), "{kind:?} is not found: {}", run.report);
    };
    expect(wgmma("", fence, commit, wait), MissingProxyFence);
    expect(wgmma(proxy, "", commit, wait), MissingWgmmaFence);
    expect(wgmma(proxy, fence, "", wait), WgmmaInFlight);
    expect(wgmma(proxy, fence, commit, ""), WgmmaInFlight);
    // The tile may not be overwritten before the product has read it.
    let overwritten = format!("{commit} st.shared.b32 [%r5], %r6; {wait}");
    expect(wgmma(proxy, fence, &overwritten, ""), Race);
}
