//! Shuffles, votes, matches and reductions among lanes.

use crate::support::run;
use tegula_sim::FindingKind;

#[test]
fn shuffles_move_words() {
    let from = |text: &str| run(32, text, |thread| 100 + thread).clean();
    let up = from("shfl.sync.up.b32 %r3, %r1, 1, 0, -1;");
    assert_eq!((up[0], up[1], up[31]), (100, 100, 130));
    let down = from("shfl.sync.down.b32 %r3, %r1, 2, 31, -1;");
    assert_eq!((down[0], down[29], down[31]), (102, 131, 131));
    let butterfly = from("shfl.sync.bfly.b32 %r3, %r1, 5, 31, -1;");
    assert!((0..32).all(|lane| butterfly[lane] == 100 + (lane as u32 ^ 5)));
    let one = from("shfl.sync.idx.b32 %r3, %r1, 7, 31, -1;");
    assert!(one.iter().all(|&word| word == 107));
    // Segments of eight lanes.
    let segments = from("shfl.sync.idx.b32 %r3, %r1, 1, 6175, -1;");
    assert_eq!((segments[0], segments[9], segments[31]), (101, 109, 125));
}

#[test]
fn votes_count_lanes() {
    let odd = "and.b32 %r4, %r0, 1; setp.ne.s32 %p0, %r4, 0;";
    let ballot = run(32, &format!("{odd} vote.sync.ballot.b32 %r3, %p0, -1;"), |_| 0).clean();
    assert!(ballot.iter().all(|&word| word == 0xaaaa_aaaa));
    for (mode, expected) in [("all", 0), ("any", 1), ("uni", 0)] {
        let text = format!("{odd} vote.sync.{mode}.pred %p1, %p0, -1; selp.b32 %r3, 1, 0, %p1;");
        assert_eq!(run(32, &text, |_| 0).clean()[5], expected, "{mode}");
    }
}

#[test]
fn reductions_and_matches_see_all_members() {
    let sum = run(32, "redux.sync.add.s32 %r3, %r1, -1;", |thread| thread).clean();
    assert_eq!(sum[3], 31 * 32 / 2);
    let least = run(32, "redux.sync.min.s32 %r3, %r1, -1;", |thread| (thread as i32 - 7) as u32).clean();
    assert_eq!(least[0] as i32, -7);
    let matching = run(32, "match.any.sync.b32 %r3, %r1, -1;", |thread| thread / 16).clean();
    assert_eq!((matching[0], matching[31]), (0xffff, 0xffff_0000));
}

#[test]
fn members_that_do_not_come_are_found() {
    let text = "setp.lt.u32 %p0, %r0, 16; @!%p0 bra $L1; shfl.sync.idx.b32 %r3, %r1, 0, 31, -1; $L1:";
    assert!(run(32, text, |_| 1).kinds().contains(&FindingKind::Divergent));
    let right = "setp.lt.u32 %p0, %r0, 16; @!%p0 bra $L1; shfl.sync.idx.b32 %r3, %r1, 0, 31, 65535; $L1:";
    assert_eq!(run(32, right, |_| 1).clean()[15], 1);
}

#[test]
fn one_lane_is_elected() {
    let output = run(32, "elect.sync %r4|%p0, -1; selp.b32 %r3, 1, 0, %p0;", |_| 0).clean();
    assert_eq!(output.iter().sum::<u32>(), 1);
}
