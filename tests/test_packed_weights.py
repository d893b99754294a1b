"""Weights of few bits, packed in words: unpacked, made floats and scaled, they are right to the last bit."""

import pytest
import torch

import tegula
import tegula.language as tl


@tegula.jit
def unpack(q_ptr, s_ptr, k, n, N, BITS: tl.constexpr):
    fields: tl.constexpr = 32 // BITS
    q = tl.load(q_ptr + (k[:, None] // fields) * N + n[None, :])
    field = (q >> ((k[:, None] % fields) * BITS)) & ((1 << BITS) - 1)
    s = tl.load(s_ptr + n)
    return ((field - (1 << BITS >> 1)).to(tl.float32) * s[None, :].to(tl.float32)).to(s.dtype)


@tegula.jit
def dequantise(q_ptr, s_ptr, w_ptr, N, BITS: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr):
    k = tl.arange(0, BK)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    tl.store(w_ptr + k[:, None] * N + n[None, :], unpack(q_ptr, s_ptr, k, n, N, BITS))


@tegula.jit
def product(a_ptr, q_ptr, s_ptr, c_ptr, N, K, BITS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
            BK: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :])
        total = tl.dot(a, unpack(q_ptr, s_ptr, k, n, N, BITS), total)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total)


def packed(K, N, bits):
    """Random words, and the weights in them as integers."""
    q = torch.randint(-2**31, 2**31, (K * bits // 32, N), dtype=torch.int32)
    shifts = torch.arange(0, 32, bits, dtype=torch.int32)
    fields = (q[:, None, :] >> shifts[None, :, None]) & ((1 << bits) - 1)
    return q, fields.reshape(K, N) - (1 << bits >> 1)


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "fp16"])
def test_every_scale(dtype, bits):
    scales = torch.arange(-2**15, 2**15, dtype=torch.int32).to(torch.int16).view(dtype)
    q, weights = packed(32, 2**16, bits)
    w = torch.full((32, 2**16), float("nan"), dtype=dtype)
    dequantise[256,](q, scales, w, 2**16, BITS=bits, BK=32, BN=256)
    expected = (weights.float() * scales.float()).to(dtype)
    same = (w.view(torch.int16) == expected.view(torch.int16)) | (w.isnan() & expected.isnan())
    assert same.all()


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "fp16"])
@pytest.mark.parametrize("BM, BN, BK, warps, stages", [(16, 64, 128, 4, 4), (16, 128, 64, 4, 1), (64, 64, 64, 4, 3),
                                                       (16, 32, 128, 2, 5), (128, 128, 64, 8, 2)])
def test_products_of_packed_weights(dtype, bits, BM, BN, BK, warps, stages):
    K, N = 384, 256
    a = torch.randn(BM, K).to(dtype)
    scales = (torch.rand(N) + 0.5).to(dtype)
    q, weights = packed(K, N, bits)
    c = torch.full((BM, N), float("nan"))
    product[N // BN,](a, q, scales, c, N, K, BITS=bits, BM=BM, BN=BN, BK=BK, num_warps=warps, num_stages=stages)
    w = (weights.float() * scales.float()).to(dtype).double()
    bound = a.double().abs() @ w.abs() * (K * 2.0**-24)
    assert ((c.double() - a.double() @ w).abs() <= bound).all()
