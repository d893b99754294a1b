"""Loops of two products of which the second takes what is computed of the first: rotated, both are in flight."""

import pytest
import torch

import tegula
import tegula.language as tl
from tegula import knobs


@tegula.jit
def chained(q_ptr, k_ptr, v_ptr, o_ptr, first, last, SCALED: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
            D: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    k_ptrs = k_ptr + (first + n[None, :]) * D + d[:, None]
    v_ptrs = v_ptr + (first + n[:, None]) * D + d[None, :]
    total = tl.zeros((BM, D), tl.float32)
    largest = tl.full((BM,), 1.0, tl.float32)
    for _ in range(first, last, BN):
        s = tl.dot(q, tl.load(k_ptrs))
        if SCALED:
            larger = tl.maximum(largest, tl.max(tl.abs(s), 1))
            total *= (largest / larger)[:, None]
            s /= larger[:, None]
            largest = larger
        total = tl.dot(s.to(tl.float16), tl.load(v_ptrs), total)
        k_ptrs += BN * D
        v_ptrs += BN * D
    tl.store(o_ptr + m[:, None] * D + d[None, :], total * largest[:, None])


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("warps, BM, BN", [(8, 128, 128), (4, 64, 256), (16, 256, 128)])
@pytest.mark.parametrize("bounds", [(0, 0), (128, 0), (0, 256), (256, 512), (0, 768), (256, 1024)])
def test_any_number_of_iterations(bounds, warps, BM, BN, scaled):
    first, last = bounds
    q, k, v = (torch.randn(rows, 128).half() / 4 for rows in (2 * BM, 1024, 1024))
    o = torch.full((2 * BM, 128), float("nan"))
    chained[2,](q, k, v, o, first, last, SCALED=scaled, BM=BM, BN=BN, D=128, num_warps=warps, num_stages=2)
    q, k, v = q.double(), k.double()[first:last], v.double()[first:last]
    scores = q @ k.t()
    # Scores are rounded to 11 bits on the way, by the largest of their row if they are scaled.
    sizes = scores.abs()
    if scaled and last > first:
        sizes = sizes.amax(1, keepdim=True).clamp(min=1.0)
    bound = sizes.expand_as(scores) @ v.abs() * 2.0**-10 + 1e-4
    assert ((o.double() - scores @ v).abs() <= bound).all()


def test_both_products_are_in_flight(tmp_path, monkeypatch):
    monkeypatch.setenv("TEGULA_CACHE_DIR", str(tmp_path))
    before = knobs.runtime.target
    knobs.runtime.target = "sm_90a"
    try:
        half = torch.float16
        ptx = {
            keys: chained.warmup(half, half, half, torch.float32, 0, 4096, SCALED=True, BM=128, BN=keys, D=128,
                                 num_warps=8, num_stages=2, grid=(1,)).asm["ptx"]
            for keys in (128, 64)
        }
    finally:
        knobs.runtime.target = before
    # Short products are left in their order.
    assert ptx[128].count("wgmma.wait_group.sync.aligned 1;") == 1 and "bar.arrive" in ptx[128]
    assert "bar.arrive" not in ptx[64]
