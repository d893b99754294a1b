"""Instructions of a GPU in kernels, compiled for GPUs that are not here; and what a kernel asks of its target."""

import numpy as np
import pytest
import torch

import tegula
import tegula.language as tl
from tegula import knobs

ELF = b"\x7fELF"


@pytest.fixture(autouse=True)
def target(tmp_path, monkeypatch):
    """Compiles for sm_90, with a cache of the test's own; another target by a call."""
    monkeypatch.setenv("TEGULA_CACHE_DIR", str(tmp_path))

    def use(name):
        knobs.runtime.target = name

    before = knobs.runtime.target
    use("sm_90")
    yield use
    knobs.runtime.target = before


def compiled(kernel, *arguments, **keywords):
    """The kernel's stages; the assembler has taken its PTX."""
    stages = kernel.warmup(*arguments, grid=(1,), **keywords).asm
    assert stages["cubin"].startswith(ELF)
    return stages


def texts(ptx):
    """The texts of inline assembly in PTX."""
    return [part.split("// end inline asm")[0].strip() for part in ptx.split("// begin inline asm")[1:]]


@tegula.jit
def sorted_pairs(x_ptr, y_ptr, low_ptr, high_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    low, high = tl.inline_asm_elementwise(
        "{ min.f32 $0, $2, $3; max.f32 $1, $2, $3; }",
        "=f,=f,f,f",
        [tl.load(x_ptr + i), tl.load(y_ptr + i)],
        (tl.float32, tl.float32),
        is_pure=True,
        pack=1,
    )
    tl.store(low_ptr + i, low)
    tl.store(high_ptr + i, high)


@pytest.mark.parametrize("extent", [1, 96, 1024])
def test_several_results(extent):
    stages = compiled(sorted_pairs, *[torch.float32] * 4, B=extent)
    assert 'assembly "{ min.f32' in stages["ir"]
    # Blocks that are smaller than 128 threads have copies; the rest of 1024 elements is in 8 registers a thread.
    assert len(texts(stages["ptx"])) == max(1, extent // 128)


@tegula.jit
def halves(x_ptr, out_ptr, B: tl.constexpr, PACK: tl.constexpr, CONSTRAINTS: tl.constexpr):
    i = tl.arange(0, B)
    doubled = tl.inline_asm_elementwise(
        "add.rn.f16x2 $0, $1, $1;", CONSTRAINTS, [tl.load(x_ptr + i)], tl.float16, is_pure=True, pack=PACK
    )
    tl.store(out_ptr + i, doubled)


@pytest.mark.parametrize("extent", [1, 48, 1024])
def test_narrow_elements_share_registers(extent):
    stages = compiled(halves, torch.float16, torch.float16, B=extent, PACK=2, CONSTRAINTS="=r,r")
    assert len(texts(stages["ptx"])) == max(1, extent // 256)
    assert "add.rn.f16x2 %r" in stages["ptx"]


@tegula.jit
def converted_bytes(a_ptr, b_ptr, c_ptr, d_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    c, d = tl.inline_asm_elementwise(
        asm="""
        {
            // Unpack `a` into `ai`.
            .reg .b8 tmp<4>;
            mov.b32 {tmp0, tmp1, tmp2, tmp3}, $8;
            cvt.u32.u8 $0, tmp0;
            cvt.u32.u8 $1, tmp1;
            cvt.u32.u8 $2, tmp2;
            cvt.u32.u8 $3, tmp3;
        }
        cvt.rn.f32.s32 $4, $0;
        cvt.rn.f32.s32 $5, $1;
        cvt.rn.f32.s32 $6, $2;
        cvt.rn.f32.s32 $7, $3;
        max.f32 $4, $4, $9;
        max.f32 $5, $5, $10;
        max.f32 $6, $6, $11;
        max.f32 $7, $7, $12;
        """,
        constraints="=r,=r,=r,=r,=r,=r,=r,=r,r,r,r,r,r",
        args=[tl.load(a_ptr + i), tl.load(b_ptr + i)],
        dtype=(tl.int32, tl.float32),
        is_pure=True,
        pack=4,
    )
    tl.store(c_ptr + i, c)
    tl.store(d_ptr + i, d)


@pytest.mark.parametrize("extent", [2, 1024])
def test_the_example_of_the_documentation(extent):
    stages = compiled(converted_bytes, torch.uint8, torch.float32, torch.int32, torch.float32, B=extent)
    assert len(texts(stages["ptx"])) == max(1, extent // 512)


@tegula.jit
def every_type(p8, p16, p64, pd, pb, out, B: tl.constexpr):
    i = tl.arange(0, B)
    a, b = tl.load(p8 + i), tl.load(p16 + i)
    c = tl.inline_asm_elementwise("cvt.s16.s8 $0, $1; // $$", "=h,h", [a], tl.int16, True, 1)
    d = tl.inline_asm_elementwise("mov.b16 $0, $1;", "=h,h", [b], tl.bfloat16, True, 1)
    e = tl.inline_asm_elementwise("add.s64 $0, $0, ${2};", "=l,0,l", [tl.load(p64 + i), c], tl.int64, True, 1)
    f = tl.inline_asm_elementwise("add.f64 $0, $1, 0d3FF0000000000000;", "=d,d", [tl.load(pd + i)], tl.float64, True, 1)
    g = tl.inline_asm_elementwise("xor.b32 $0, $1, 1;", "=&r,r", [tl.load(pb + i) != 0], tl.int1, True, 1)
    h = tl.inline_asm_elementwise("ld.global.b64 $0, [$1];", "=l,l", [p64 + i], tl.int64, False, 1)
    tl.store(out + i, tl.where(g, e + f.to(tl.int64) + d.to(tl.int64), h))


def test_registers_of_every_width():
    types = [torch.int8, torch.float16, torch.int64, torch.float64, torch.int32, torch.int64]
    for extent in (3, 256):
        compiled(every_type, *types, B=extent)


@tegula.jit
def numbers(out_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    x = i.to(tl.float32)
    rows = tl.inline_asm_elementwise(
        "fma.rn.f32 $0, $1, $2, $3;", "=f,f,f,f", [x[:, None], 2.0, x[None, :]], tl.float32, True, 1
    )
    scalar = tl.inline_asm_elementwise("mad.lo.s32 $0, $1, $2, 5;", "=r,r,r", [n, 3], tl.int32, True, 1)
    tl.store(out_ptr + i[:, None] * B + i[None, :], rows + scalar)


def test_operands_broadcast():
    lines = compiled(numbers, torch.float32, 7, B=16)["ir"].splitlines()
    assert next(line for line in lines if "fma.rn" in line).endswith(": <16x16xfp32>")
    assert next(line for line in lines if "mad.lo" in line).endswith(": i32")


@tegula.jit
def twice(out_ptr, PURE: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    for k in range(4):
        tl.inline_asm_elementwise("mov.u32 $0, $1;", "=r,r", [i], tl.int32, is_pure=PURE, pack=1)
        a = tl.inline_asm_elementwise("mov.u32 $0, %laneid;", "=r", [], tl.int32, is_pure=PURE, pack=1)
        b = tl.inline_asm_elementwise("mov.u32 $0, %laneid;", "=r", [], tl.int32, is_pure=PURE, pack=1)
        tl.store(out_ptr + k * B + i, a + b)


def test_effects_stay():
    pure, effects = (compiled(twice, torch.int32, PURE=pure, B=128)["ir"] for pure in (True, False))
    assert pure.count(" = assembly") == 1
    assert pure.index(" = assembly") < pure.index(" for ")
    assert effects.count(" = assembly") == 3
    assert effects.index(" = assembly") > effects.index(" for ")


@tegula.jit
def counted(out_ptr, B: tl.constexpr, PACK: tl.constexpr, CONSTRAINTS: tl.constexpr):
    i = tl.arange(0, B)
    tl.inline_asm_elementwise(
        "red.global.add.u32 [$" + str(PACK) + "], 1;", CONSTRAINTS, [out_ptr + i], tl.int32, False, PACK
    )


def test_effects_do_not_reach_beyond_the_block():
    stages = compiled(counted, torch.int32, B=100, PACK=1, CONSTRAINTS="=r,l")
    assert "bra" in stages["ptx"]
    stages = compiled(counted, torch.int32, B=300, PACK=2, CONSTRAINTS="=r,=r,l,l")
    assert "selp.b64" in stages["ptx"]
    assert "bra" not in compiled(counted, torch.int32, B=128, PACK=1, CONSTRAINTS="=r,l")["ptx"]


@tegula.jit
def refused(x_ptr, TEXT: tl.constexpr, CONSTRAINTS: tl.constexpr):
    i = tl.arange(0, 512)
    y = tl.inline_asm_elementwise(TEXT, CONSTRAINTS, [tl.load(x_ptr + i)], tl.int32, True, 1)
    tl.store(x_ptr + i, y)


def complaint(text, constraints="=r,r"):
    with pytest.raises(tegula.CompilationError) as caught:
        refused.warmup(torch.int32, TEXT=text, CONSTRAINTS=constraints, grid=(1,))
    message = str(caught.value)
    assert "test_inline_assembly.py" in message and "y = tl.inline_asm_elementwise(TEXT, CONSTRAINTS" in message
    return message


def test_the_assembler_is_quoted_at_the_line_of_the_kernel():
    message = complaint("mov.u32 $0, $1;\nadd.f64 $0, $1, $1;")
    assert "this inline assembly is refused by" in message
    assert "add.f64 %r" in message and "Arguments mismatch for instruction 'add'" in message
    assert message.count("Arguments mismatch") == 1
    assert "Not a name of any known instruction: 'foo'" in complaint("foo.b32 $0, $1;")
    assert "at the end of the text" in complaint("mov.u32 $0, $1")
    assert "unknown" in complaint("mov.u32 $0, nowhere;").lower()


def test_faults_of_constraints_are_explained():
    assert "`$2`, but the constraints have 2 registers" in complaint("mov.u32 $0, $2;")
    assert "the operands take 1 register, but the constraints have 2" in complaint("", "=r,r,r")
    assert "asks for a number known at compile time" in complaint("", "=r,n")
    assert "does not hold the 32 bits" in complaint("", "=r,h")
    assert "are not balanced" in complaint("{ mov.u32 $0, $1;")
    assert "as registers of the compiler are named" in complaint(".reg .b32 %r<3>; mov.u32 $0, %r1;")


@tegula.jit
def asked(out_ptr):
    if tl.target_info.is_cuda():
        tl.store(out_ptr, 1)
    if tl.target_info.cuda_capability_geq(8, 6):
        tl.store(out_ptr, 86)
    if tl.target_info.cuda_capability_geq(9):
        tl.store(out_ptr, 90)
    if tl.target_info.cuda_capability_geq(major=9, minor=1) or tl.target_info.is_hip():
        tl.store(out_ptr, 91)


ANSWERS = {"cpu": [], "sm_80": [1], "sm_89": [1, 86], "sm_90": [1, 86, 90], "sm_120": [1, 86, 90, 91]}


@pytest.mark.parametrize("name, expected", ANSWERS.items())
def test_the_target_answers(target, name, expected):
    target(name)
    ir = asked.warmup(torch.int32, grid=(1,)).asm["ir"]
    assert [int(line.split()[3]) for line in ir.splitlines() if " constant " in line] == expected


@tegula.jit
def of_cuda(out_ptr, SKIP: tl.constexpr):
    tl.extra.cuda.gdc_wait()
    if not SKIP:
        start = tl.extra.cuda.globaltimer()
        tl.store(out_ptr, tl.extra.cuda.globaltimer() - start)
        tl.store(out_ptr + 1, tl.extra.cuda.smid())
        tl.store(out_ptr + 2, tl.extra.cuda.num_threads() + tl.extra.cuda.num_warps())
    tl.extra.cuda.gdc_launch_dependents()


def test_functions_of_cuda(target):
    for num_warps in (4, 8):
        stages = compiled(of_cuda, torch.int64, SKIP=False, num_warps=num_warps)
        assert f"constant {33 * num_warps} :" in stages["ir"]
    found = texts(stages["ptx"])
    assert sum("%globaltimer" in text for text in found) == 2 and sum("%smid" in text for text in found) == 1
    assert "griddepcontrol.wait;" in found[0] and "griddepcontrol.launch_dependents;" in found[-1]
    target("sm_80")
    assert "griddepcontrol" not in compiled(of_cuda, torch.int64, SKIP=False)["ptx"]


def test_the_cpu_has_no_such_instructions(target):
    target("cpu")
    out = np.zeros(4, np.int64)
    of_cuda[(1,)](out, SKIP=True)
    with pytest.raises(tegula.CompilationError, match=r"`tl.extra.cuda.globaltimer` asks a GPU.* compiled for the CPU"):
        of_cuda[(1,)](out, SKIP=False)
    with pytest.raises(tegula.CompilationError, match=r"holds instructions of a GPU.* compiled for the CPU"):
        twice[(1,)](out.astype(np.int32), PURE=True, B=2)
