//! Arithmetic and conversions.

use crate::support::run;

/// The result of one instruction on a word.
fn of(text: &str, word: u32) -> u32 {
    run(32, text, |_| word).clean()[0]
}

fn float(text: &str, value: f32) -> f32 {
    f32::from_bits(of(text, value.to_bits()))
}

#[test]
fn integers_wrap_and_widen() {
    assert_eq!(of("mul.lo.s32 %r3, %r1, 3;", u32::MAX), (-3i32) as u32);
    assert_eq!(of("mul.hi.u32 %r3, %r1, %r1;", u32::MAX), 0xffff_fffe);
    assert_eq!(of("mad.lo.s32 %r3, %r1, 5, 7;", 2), 17);
    assert_eq!(of("mul.wide.s32 %d10, %r1, -2; cvt.u32.u64 %r3, %d10;", 5), (-10i32) as u32);
    assert_eq!(of("shr.s32 %r3, %r1, 40;", 0x8000_0000), u32::MAX);
    assert_eq!(of("shl.b32 %r3, %r1, 32;", 1), 0);
    assert_eq!(of("div.s32 %r3, %r1, 3;", (-7i32) as u32) as i32, -2);
    assert_eq!(of("rem.u32 %r3, %r1, 10;", 123), 3);
}

#[test]
fn bits_are_chosen() {
    assert_eq!(of("prmt.b32 %r3, %r1, 0, 0x0123;", 0x1122_3344), 0x4433_2211);
    assert_eq!(of("lop3.b32 %r3, %r1, 0xff00, 0xf0f0, 0x96;", 0x1234), 0x1234 ^ 0xff00 ^ 0xf0f0);
    assert_eq!(of("popc.b32 %r3, %r1;", 0xf0f0), 8);
    assert_eq!(of("clz.b32 %r3, %r1;", 1), 31);
    assert_eq!(of("brev.b32 %r3, %r1;", 1), 1 << 31);
    assert_eq!(of("bfe.u32 %r3, %r1, 4, 8;", 0x1234), 0x23);
    assert_eq!(of("shf.l.wrap.b32 %r3, %r1, %r1, 8;", 0x1122_3344), 0x2233_4411);
}

#[test]
fn conversions_round_as_they_say() {
    for (mode, expected) in [("rni", 2), ("rzi", 2), ("rmi", 2), ("rpi", 3)] {
        assert_eq!(of(&format!("cvt.{mode}.s32.f32 %r3, %r1;"), 2.5f32.to_bits()), expected, "{mode}");
    }
    assert_eq!(of("cvt.rzi.s32.f32 %r3, %r1;", (-1e20f32).to_bits()), i32::MIN as u32);
    assert_eq!(of("cvt.rzi.u32.f32 %r3, %r1;", f32::NAN.to_bits()), 0);
    assert_eq!(float("cvt.rn.f32.s32 %r4, 16777217; mov.b32 %r3, %r4;", 0.0), 16_777_216.0);
    assert_eq!(of("cvt.rn.bf16x2.f32 %r3, %r1, 0f3F800000;", 2f32.to_bits()), 0x4000_3f80);
    assert_eq!(of("cvt.rn.f16x2.f32 %r3, %r1, 0f3F800000;", 65_520f32.to_bits()), 0x7c00_3c00);
    assert_eq!(of("cvt.rna.tf32.f32 %r3, %r1;", 0x3f80_1000), 0x3f80_2000);
    let pair = "cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, 0f3F800000; cvt.u32.u16 %r3, %h0;";
    assert_eq!(of(pair, 1e9f32.to_bits()), 0x7e38);
    let back = "cvt.u16.u32 %h0, %r1; cvt.rn.f16x2.e5m2x2 %r3, %h0;";
    assert_eq!(of(back, 0x3c40), 0x3c00_4000);
}

#[test]
fn floats_round_once() {
    let one = 1f32;
    assert_eq!(float("fma.rn.f32 %r3, %r1, %r1, 0fBF800000;", one + f32::EPSILON), {
        let x = f64::from(one + f32::EPSILON);
        (x * x - 1.0) as f32
    });
    assert_eq!(float("add.rz.f32 %r3, %r1, 0f33000000;", one), one);
    assert_eq!(float("add.rp.f32 %r3, %r1, 0f33000000;", one), one + f32::EPSILON);
    assert_eq!(float("div.rn.f32 %r3, %r1, 0f40400000;", one), one / 3.0);
    assert_eq!(float("sqrt.rn.f32 %r3, %r1;", 2.0), 2f32.sqrt());
    assert_eq!(float("min.f32 %r3, %r1, 0f3F800000;", f32::NAN), 1.0);
    assert!(float("min.NaN.f32 %r3, %r1, 0f3F800000;", f32::NAN).is_nan());
    assert_eq!(float("mul.ftz.f32 %r3, %r1, 0f3F000000;", f32::MIN_POSITIVE), 0.0);
    assert_eq!(of("add.rn.bf16x2 %r3, %r1, %r1;", 0x3f80_4000), 0x4000_4080);
    assert_eq!(of("fma.rn.f16x2 %r3, %r1, %r1, %r1;", 0x3c00_4000), 0x4000_4600);
}

#[test]
fn approximations_are_within_their_errors() {
    for value in [0.1f32, 1.0, 3.7, 20.0] {
        let near = |text: &str, exact: f64| {
            let got = f64::from(float(text, value));
            assert!((got - exact).abs() <= 2e-6 * exact.abs().max(1.0), "{text} of {value}: {got}, {exact}");
        };
        let x = f64::from(value);
        near("ex2.approx.f32 %r3, %r1;", x.exp2());
        near("lg2.approx.f32 %r3, %r1;", x.log2());
        near("rcp.approx.f32 %r3, %r1;", 1.0 / x);
        near("rsqrt.approx.f32 %r3, %r1;", 1.0 / x.sqrt());
        near("sin.approx.f32 %r3, %r1;", x.sin());
        near("tanh.approx.f32 %r3, %r1;", x.tanh());
    }
}

#[test]
fn what_is_not_known_is_named() {
    let text = crate::support::module(32, "mov.b64 %d9, 0; mov.b128 %q0, {%d9, %d9};")
        .replace(".reg .b64 %d<32>;", ".reg .b64 %d<32>; .reg .b128 %q<2>;");
    let error = tegula_sim::Program::new(&text, "kernel").unwrap_err().to_string();
    assert!(error.contains("does not know `mov.b128"), "{error}");
    let text = crate::support::module(32, "bra $L9;");
    assert!(tegula_sim::Program::new(&text, "kernel").unwrap_err().to_string().contains("$L9"));
    assert!(tegula_sim::Program::new(&text, "other").unwrap_err().to_string().contains("no kernel `other`"));
}
