"""Which loads are made by bulk tensor copies: those whose addresses and masks are proven to be boxes of a matrix."""

import pytest
import torch

import tegula
import tegula.language as tl
from tegula import knobs


@pytest.fixture(autouse=True)
def for_hopper(tmp_path, monkeypatch):
    """Compiles for sm_90a, with a cache of the test's own."""
    monkeypatch.setenv("TEGULA_CACHE_DIR", str(tmp_path))
    before = knobs.runtime.target
    knobs.runtime.target = "sm_90a"
    yield
    knobs.runtime.target = before


@tegula.jit
def products(a_ptr, b_ptr, c_ptr, M, N, K, a_stride, b_stride, a_batch, KIND: tl.constexpr, BM: tl.constexpr,
             BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    row = m % M if KIND == "wraps" else m
    column = n % N if KIND == "wraps" else n
    if KIND == "before":
        a_ptr -= 64
    if KIND == "batch":
        a_ptr += tl.program_id(2).to(tl.int64) * a_batch
    if KIND == "spread":
        row = row * row
    a_ptrs = a_ptr + row[:, None] * a_stride + k[None, :]
    b_ptrs = b_ptr + k[:, None] * b_stride + column[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        if KIND == "masked" or KIND == "wraps":
            a = tl.load(a_ptrs, mask=k[None, :] < K - start, other=0.0)
            b = tl.load(b_ptrs, mask=(k[:, None] < K - start) & (n[None, :] < N), other=0.0)
        elif KIND == "odd mask":
            a = tl.load(a_ptrs, mask=(k[None, :] % 3 != 0) & (k[None, :] < K - start), other=0.0)
            b = tl.load(b_ptrs, mask=n[None, :] < N, other=0.0)
        else:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs, mask=n[None, :] < N, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BK
        b_ptrs += BK * b_stride
    tl.store(c_ptr + m[:, None] * N + n[None, :], total)


def copies(kind):
    """How many bulk copies the code has, and how many fills by threads."""
    half, single = torch.bfloat16, torch.float32
    compiled = products.warmup(half, half, single, 4096, 4096, 4096, 4096, 4096, 16, KIND=kind, BM=128, BN=128,
                               BK=64, grid=(32, 32, 2))
    ptx = compiled.asm["ptx"]
    return ptx.count("cp.async.bulk.tensor"), ptx.count("cp.async.cg.shared.global")


@pytest.mark.parametrize("kind", ["masked", "plain"])
def test_boxes_of_a_matrix_are_copied_by_the_hardware(kind):
    bulk, by_threads = copies(kind)
    assert bulk > 0 and by_threads == 0


@pytest.mark.parametrize("kind", ["before", "batch", "spread", "odd mask", "wraps"])
def test_what_may_be_something_else_is_copied_by_threads(kind):
    # "wraps" masks columns by numbers that do not wrap: not the matrix's own.
    bulk, by_threads = copies(kind)
    assert bulk == 0 and by_threads > 0


def test_fp32_across_k_is_read_from_its_tile_by_threads():
    single = torch.float32
    compiled = products.warmup(single, single, single, 4096, 4096, 4096, 4096, 4096, 16, KIND="masked", BM=128, BN=128,
                               BK=32, grid=(32, 32, 2), num_warps=8)
    loop = compiled.asm["ptx"].split("wgmma.commit_group")[0].split("mbarrier.try_wait")[-1]
    assert loop.count("wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32") == 4
    assert loop.count("ld.shared.v2.b32") == 8 and "st.shared" not in loop and "bar.sync 0;" not in loop
