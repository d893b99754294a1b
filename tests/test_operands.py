"""Products of matrices that lie in memory in all ways: along K or across it, and with rows that begin anywhere."""

import pytest
import torch

import tegula
import tegula.language as tl


@tegula.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_column, b_row, b_column, BM: tl.constexpr, BN: tl.constexpr,
            BK: tl.constexpr):
    m = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    n = (tl.program_id(1) * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * a_row + k[None, :] * a_column
    b_ptrs = b_ptr + k[:, None] * b_row + n[None, :] * b_column
    total = tl.zeros((BM, BN), c_ptr.dtype.element_ty)
    for start in range(0, K, BK):
        a = tl.load(a_ptrs, mask=k[None, :] < K - start, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < K - start, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BK * a_column
        b_ptrs += BK * b_row
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


# How far a product of two rounded numbers may be off, of their magnitudes.
ROUNDING = {torch.float32: 2.0**-9, torch.float16: 0, torch.bfloat16: 0, torch.float8_e4m3fn: 0, torch.int8: 0}
SHAPES = [(128, 192, 160), (200, 264, 136), (100, 72, 77)]


def matrix(rows, columns, along, dtype):
    shape = (rows, columns) if along else (columns, rows)
    if dtype == torch.int8:
        numbers = torch.randint(-128, 128, shape, dtype=dtype)
    else:
        numbers = torch.randn(shape).to(dtype)
    return numbers if along else numbers.t()


@pytest.mark.parametrize("blocks", [(128, 128, 64, 8), (64, 128, 32, 4), (16, 64, 128, 4)],
                         ids=lambda blocks: "x".join(map(str, blocks[:3])))
@pytest.mark.parametrize("ways", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("dtype", ROUNDING, ids=lambda dtype: str(dtype)[6:])
def test_operands_lie_in_memory_in_all_ways(dtype, ways, blocks):
    BM, BN, BK, warps = blocks
    for M, N, K in SHAPES:
        a, b = matrix(M, K, ways[0] == "n", dtype), matrix(K, N, ways[1] == "n", dtype)
        result = torch.int32 if dtype == torch.int8 else torch.float32
        c = torch.full((M, N), -1 if dtype == torch.int8 else float("nan"), dtype=result)
        grid = (tegula.cdiv(M, BM), tegula.cdiv(N, BN))
        product[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), BM=BM, BN=BN, BK=BK, num_warps=warps)
        a, b = a.double(), b.double()
        if dtype == torch.int8:
            assert torch.equal(c.double(), a @ b)
        else:
            bound = a.abs() @ b.abs() * (ROUNDING[dtype] + K * 2.0**-24)
            assert ((c.double() - a @ b).abs() <= bound).all(), (M, N, K)


def test_a_stride_that_changes_between_launches():
    """Versions of one kernel for rows that begin at multiples of 16, of 8, of 2 elements and anywhere."""
    for stride in (256, 264, 258, 257, 264, 256):
        a, b = torch.randn(128, stride)[:, :200].half(), torch.randn(200, stride)[:, :128].half()
        c = torch.full((128, 128), float("nan"))
        product[1, 1](a, b, c, 128, 128, 200, *a.stride(), *b.stride(), BM=128, BN=128, BK=64)
        torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=0, atol=1e-3)
