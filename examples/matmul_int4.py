"""A product with weights of four bits: eight to an int32 along K, with one scale for each group of rows."""

import numpy as np
from checking import Check, Timing, poisoned

import tegula as triton
import tegula.language as tl


@triton.jit
def int4_matmul_kernel(a_ptr, packed_ptr, scale_ptr, c_ptr, M, N, K, GROUP: tl.constexpr, BLOCK_M: tl.constexpr,
                       BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + m * K + k[None, :], mask=(m < M) & (k[None, :] < K), other=0.0)
        row = k[:, None]
        inside = (row < K) & (n < N)
        packed = tl.load(packed_ptr + row // 8 * N + n, mask=inside, other=0)
        nibble = (packed >> (row % 8 * 4)) & 0xF
        scale = tl.load(scale_ptr + row // GROUP * N + n, mask=inside, other=0.0)
        weight = (nibble - 8).to(tl.float32) * scale.to(tl.float32)
        total = tl.dot(a, weight.to(a.dtype), total)
    tl.store(c_ptr + m * N + n, total.to(c_ptr.dtype.element_ty), mask=(m < M) & (n < N))


def int4_matmul(a, packed, scale, c, group, tile=(16, 64, 64)):
    """`c = a @ unpack(packed, scale)`: a (M, K), packed (K / 8, N) int32, scale (K / group, N), c (M, N)."""
    (rows, inner), cols = a.shape, packed.shape[1]
    int4_matmul_kernel[(triton.cdiv(rows, tile[0]), triton.cdiv(cols, tile[1]))](
        a, packed, scale, c, rows, cols, inner, GROUP=group, BLOCK_M=tile[0], BLOCK_N=tile[1], BLOCK_K=tile[2]
    )
    return c


def unpack(packed, scale, group, dtype):
    """The weights, as the kernel rounds them."""
    nibble = (packed[:, None, :] >> (4 * np.arange(8, dtype=np.int32))[None, :, None]) & 15
    nibble = nibble.reshape(-1, packed.shape[1])
    return ((nibble - 8).astype(np.float32) * np.repeat(scale, group, axis=0).astype(np.float32)).astype(dtype)


def random_weights(rng, inner, cols, group):
    packed = rng.integers(-(2**31), 2**31, (inner // 8, cols), dtype=np.int32)
    return packed, rng.uniform(0.01, 0.1, (inner // group, cols)).astype(np.float16)


def main():
    check = Check("matmul_int4")
    for rows, cols, inner, group in ((1, 1, 8, 8), (16, 64, 128, 64), (3, 97, 200, 40), (33, 130, 264, 24)):
        packed, scale = random_weights(check.rng, inner, cols, group)
        for dtype, tolerance in ((np.float16, 1e-3), (np.float32, 1e-6)):
            a = check.normal(rows, inner, dtype=dtype)
            c = int4_matmul(a, packed, scale, poisoned((rows, cols), dtype), group)
            expected = a.astype(np.float64) @ unpack(packed, scale, group, dtype).astype(np.float64)
            size = 0.25 * inner**0.5
            check.close(f"{rows} x {cols} x {inner} by {group}, {dtype.__name__}", c, expected, tolerance, size)
    check.report()


def timing(rng):
    rows, size, group = 16, 1024, 128
    packed, scale = random_weights(rng, size, size, group)
    a = rng.standard_normal((rows, size), dtype=np.float32)
    c = np.empty((rows, size), np.float32)
    return Timing(
        "matmul int4, 16 x 1024 x 1024", 2 * rows * size * size, "GFLOP/s",
        lambda: int4_matmul(a, packed, scale, c, group),
        lambda: a @ unpack(packed, scale, group, np.float32),
    )


if __name__ == "__main__":
    main()
