//! Launches on slices, and the refusals of calls that do not fit.

use tegula::{Constant, Error, Kernel, Meta, Module, Options, Scalar, Signature, bf16, cdiv, f16};

fn kernel(text: &str, name: &str) -> Kernel {
    let text = format!("import triton\nimport triton.language as tl\n\n{text}");
    Module::from_source("test.py", &text).unwrap().kernel(name).unwrap()
}

fn add() -> Kernel {
    let text = "
@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr = 16):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    y = tl.load(y_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x + y, mask=offsets < n)
";
    kernel(text, "add")
}

/// Copies `n` elements without a mask, so that a wrong `n` is an access out of bounds.
fn copy() -> Kernel {
    let text = "
@triton.jit
def copy(from_ptr, to_ptr, n):
    for i in range(n):
        tl.store(to_ptr + i, tl.load(from_ptr + i))
";
    kernel(text, "copy")
}

fn message(result: Result<(), Error>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn every_number_type_can_be_added() {
    fn check<T: tegula::Number + PartialEq + std::fmt::Debug + Default>(
        kernel: &Kernel,
        convert: impl Fn(u8) -> T,
    ) {
        for n in [0usize, 1, 15, 16, 17, 100] {
            let x: Vec<T> = (0..n).map(|i| convert(i as u8 % 10)).collect();
            let y: Vec<T> = (0..n).map(|i| convert(i as u8 % 7)).collect();
            let expected: Vec<T> = (0..n).map(|i| convert(i as u8 % 10 + i as u8 % 7)).collect();
            let mut out = vec![convert(99); n];
            kernel.launch([cdiv(n, 16)]).arg(&x).arg(&y).arg(&mut out).arg(n).run().unwrap();
            assert_eq!(out, expected, "{:?}", T::SCALAR);
        }
    }
    let kernel = add();
    check(&kernel, |x| x as i8);
    check(&kernel, i16::from);
    check(&kernel, i32::from);
    check(&kernel, i64::from);
    check(&kernel, |x| x);
    check(&kernel, u16::from);
    check(&kernel, u32::from);
    check(&kernel, u64::from);
    check(&kernel, |x| f16::from_f32(x.into()));
    check(&kernel, |x| bf16::from_f32(x.into()));
    check(&kernel, f32::from);
    check(&kernel, f64::from);
}

#[test]
fn arguments_by_name_and_grids_that_follow_constexprs() {
    let (x, y) = ([1.5f32; 40], [2.0f32; 40]);
    let mut out = [f32::NAN; 40];
    add()
        .launch(|meta: &Meta<'_>| [cdiv(40, meta.int("BLOCK"))])
        .named("n", 40)
        .named("out_ptr", &mut out)
        .arg(&x)
        .arg(&y)
        .constexpr("BLOCK", 8)
        .run()
        .unwrap();
    assert_eq!(out, [3.5; 40]);
}

#[test]
fn scalars_keep_their_types() {
    let text = "
@triton.jit
def scalars(float_ptr, int_ptr, a, b, flag, TYPE: tl.constexpr, WORD: tl.constexpr):
    tl.store(float_ptr, a)
    if flag:
        tl.store(int_ptr, b)
    tl.static_assert(TYPE == tl.float16)
    tl.static_assert(WORD == 'word')
";
    let kernel = kernel(text, "scalars");
    let run = |flag: bool| {
        let (mut float, mut int) = ([0.0f64], [7i64]);
        kernel
            .launch([1])
            .arg(&mut float)
            .arg(&mut int)
            .arg(0.1f64)
            .arg(1i64 << 40)
            .arg(flag)
            .constexpr("TYPE", Scalar::Float16)
            .constexpr("WORD", "word")
            .run()
            .unwrap();
        (float[0], int[0])
    };
    assert_eq!(run(true), (0.1, 1 << 40));
    assert_eq!(run(false), (0.1, 7));
}

#[test]
fn a_pointer_may_be_none() {
    let text = "
@triton.jit
def fill(out_ptr, bias_ptr):
    if bias_ptr is None:
        tl.store(out_ptr, 1.0)
    else:
        tl.store(out_ptr, tl.load(bias_ptr))
";
    let kernel = kernel(text, "fill");
    let mut out = [0.0f32];
    kernel.launch([1]).arg(&mut out).arg(Constant::None).run().unwrap();
    assert_eq!(out, [1.0]);
    kernel.launch([1]).arg(&mut out).arg(&[5.0f32]).run().unwrap();
    assert_eq!(out, [5.0]);
}

#[test]
fn calls_that_do_not_fit_are_refused() {
    let kernel = add();
    let (x, mut out) = (vec![1.0f32; 4], vec![9.0f32; 4]);
    let few = message(kernel.launch([1]).arg(&x).arg(&x).run());
    assert!(few.contains("`out_ptr`, `n`"), "{few}");
    let many = message(kernel.launch([1]).arg(&x).arg(&x).arg(&mut out).arg(4).arg(8).arg(9).run());
    assert!(many.contains("6 arguments") && many.contains("5 parameters"), "{many}");
    let unknown = message(kernel.launch([1]).arg(&x).constexpr("BLOK", 4).run());
    assert!(unknown.contains("`BLOK`") && unknown.contains("BLOCK"), "{unknown}");
    let twice = message(kernel.launch([1]).arg(&x).named("x_ptr", &x).run());
    assert!(twice.contains("`x_ptr` was given twice"), "{twice}");
    let slice = message(kernel.launch([1]).arg(&x).arg(&x).arg(&mut out).arg(4).named("BLOCK", &x).run());
    assert!(slice.contains("`BLOCK` is a constexpr"), "{slice}");
    let grid =
        kernel.launch(|meta: &Meta<'_>| [cdiv(4, meta.int("TILE"))]).arg(&x).arg(&x).arg(&mut out).arg(4);
    let grid = message(grid.run());
    assert!(grid.contains("`TILE`"), "{grid}");
    assert_eq!(out, [9.0; 4]);
}

#[test]
fn a_shared_slice_cannot_be_written() {
    let (x, out) = ([1.0f32; 4], [9.0f32; 4]);
    let refused = message(add().launch([1]).arg(&x).arg(&x).arg(&out).arg(4).run());
    assert!(refused.contains("writes to `out_ptr`") && refused.contains("&mut"), "{refused}");
    assert_eq!(out, [9.0; 4]);
}

#[test]
fn accesses_out_of_bounds_are_found() {
    let kernel = copy();
    let from = [1.0f32, 2.0, 3.0];
    let mut to = [0.0f32; 2];
    let read = message(kernel.launch([1]).arg(&from).arg(&mut [0.0f32; 9]).arg(4).run());
    assert!(read.contains("test.py:8") && read.contains("tl.load"), "{read}");
    let written = message(kernel.launch([1]).arg(&from).arg(&mut to).arg(3).run());
    assert!(written.contains("test.py:8") && written.contains("tl.store"), "{written}");
    assert_eq!(to, [1.0, 2.0]);
    kernel.launch([1]).arg(&from).arg(&mut to).arg(2).run().unwrap();
}

/// The slices lie side by side, so an overrun of one ends in the other: which may not be written.
#[test]
fn an_overrun_into_a_shared_slice_is_found() {
    let mut memory = [0.0f32; 8];
    let (to, beside) = memory.split_at_mut(4);
    let text = "
@triton.jit
def fill(to_ptr, beside_ptr, n):
    for i in range(n):
        tl.store(to_ptr + i, tl.load(beside_ptr) + 1.0)
";
    let kernel = kernel(text, "fill");
    let refused = message(kernel.launch([1]).arg(to).arg(&*beside).arg(5).run());
    assert!(refused.contains("test.py:8"), "{refused}");
    assert_eq!(memory, [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn unchecked_launches_use_the_same_kernels() {
    let kernel = add();
    let n = 10_000;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let mut out = vec![f32::NAN; n];
    let launch = kernel.launch([cdiv(n, 16)]).arg(&x).arg(&x).arg(&mut out).arg(n);
    // SAFETY: the mask keeps every access inside, and each program writes elements of its own.
    unsafe { launch.run_unchecked() }.unwrap();
    assert!(out.iter().zip(&x).all(|(sum, x)| *sum == 2.0 * x));
}

#[test]
fn kernels_are_send_and_share_what_they_compile() {
    let kernel = add();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let kernel = kernel.clone();
            scope.spawn(move || {
                let x = [1i32; 5];
                let mut out = [0i32; 5];
                kernel.launch([1]).arg(&x).arg(&x).arg(&mut out).arg(5).run().unwrap();
                assert_eq!(out, [2; 5]);
            });
        }
    });
}

#[test]
fn errors_quote_the_line() {
    let text = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef wrong(x_ptr):\n    tl.store(x_ptr, nothing)\n";
    let error = Module::from_source("test.py", text).unwrap().kernel("wrong").unwrap();
    let error = error.launch([1]).arg(&mut [0.0f32]).run().unwrap_err();
    assert!(matches!(error, Error::Kernel(_)));
    let plain = error.to_string();
    assert!(plain.contains("test.py:6") && plain.contains("tl.store(x_ptr, nothing)"), "{plain}");
    assert!(plain.contains('^') && !plain.contains('\u{1b}'), "{plain}");
    assert!(error.render(true).contains('\u{1b}'));
    let absent = Module::from_source("test.py", text).unwrap().kernel("absent").unwrap_err().to_string();
    assert!(absent.contains("`absent`") && absent.contains("`wrong`"), "{absent}");
    assert!(Module::from_file("no/such/file.py").unwrap_err().to_string().contains("no/such/file.py"));
}

#[test]
fn warnings_are_kept_one_a_place() {
    let text = "
@triton.jit
def rows(x_ptr, out_ptr, stride):
    row = tl.program_id(0)
    tl.store(out_ptr + row, tl.load(x_ptr + row * stride))
";
    let kernel = kernel(text, "rows");
    let x = vec![1.0f32; 100];
    let launch = |programs: u32, stride: i32| {
        let mut out = vec![0.0f32; programs as usize];
        kernel.launch([programs]).arg(&x).arg(&mut out).arg(stride).run()
    };
    launch(10, 9).unwrap();
    assert!(kernel.warnings().is_empty());
    for _ in 0..2 {
        launch(70_000, 40_000).unwrap_err();
        let warnings = kernel.warnings();
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].message(), "this offset does not fit int32 in this launch");
        assert_eq!(warnings[0].place(), Some(("test.py", 8, 45)));
        assert!(warnings[0].to_string().contains("2799960000 wraps to -1495007296"), "{}", warnings[0]);
    }
}

#[test]
fn kernels_ask_what_they_are_compiled_for() {
    let text = "
@triton.jit
def asks(out_ptr):
    if tl.target_info.cuda_capability_geq(9, 0):
        tl.store(out_ptr, tl.extra.cuda.num_threads())
    elif tl.target_info.is_cuda():
        tl.store(out_ptr, tl.inline_asm_elementwise('mov.u32 $0, %smid;', '=r', [], tl.int32, True, 1))
    else:
        tl.store(out_ptr, 1)
";
    let kernel = kernel(text, "asks");
    let signature = Signature::parse("*i32").unwrap();
    let options = Options { num_warps: 8, ..Options::default() };
    let ir = |target: &str| kernel.compile(&signature, target.parse().unwrap(), &options).unwrap().ir();
    assert!(ir("sm_90").contains("constant 256 : i32"), "{}", ir("sm_90"));
    assert!(
        ir("sm_80").contains("assembly \"mov.u32 $0, %smid;\" \"=r\" pack 1 pure : i32"),
        "{}",
        ir("sm_80")
    );
    assert!(ir("cpu").contains("constant 1 : i32"), "{}", ir("cpu"));
    let mut out = [0i32];
    kernel.launch([1]).arg(&mut out).run().unwrap();
    assert_eq!(out, [1]);
}
