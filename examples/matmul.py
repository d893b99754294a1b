"""A matrix product, autotuned: the tile sizes are chosen by measuring, and the grid follows them.

Programs are numbered so that those that run at the same time share rows of A and columns of B: they walk
down groups of GROUP tile rows before they step to the next tile column.
"""

import numpy as np
from checking import Check, Timing, element_strides, poisoned

import tegula as triton
import tegula.language as tl


@triton.jit
def grouped_tile(index, tile_rows, tile_cols, GROUP: tl.constexpr):
    """The tile that program number `index` computes."""
    per_group = GROUP * tile_cols
    first_row = index // per_group * GROUP
    height = min(tile_rows - first_row, GROUP)
    within = index % per_group
    return first_row + within % height, within // height


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP": 4}, num_warps=4),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "GROUP": 8}, num_warps=4),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP": 8}, num_warps=8),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, a_m, a_k, b_k, b_n, c_m, c_n,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr):
    tile_m, tile_n = grouped_tile(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP)
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    # Rows and columns beyond the matrix wrap around: they are read, and not stored.
    a_ptrs = a_ptr + (m % M)[:, None] * a_m + k[None, :] * a_k
    b_ptrs = b_ptr + k[:, None] * b_k + (n % N)[None, :] * b_n
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for left in range(K, 0, -BLOCK_K):
        a = tl.load(a_ptrs, mask=k[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < left, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K * a_k
        b_ptrs += BLOCK_K * b_k
    c_ptrs = c_ptr + m[:, None] * c_m + n[None, :] * c_n
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def matmul(a, b, c):
    """`c = a @ b`: matrices with any strides."""
    (rows, inner), cols = a.shape, b.shape[1]

    def grid(meta):
        return (triton.cdiv(rows, meta["BLOCK_M"]) * triton.cdiv(cols, meta["BLOCK_N"]),)

    matmul_kernel[grid](a, b, c, rows, cols, inner, *element_strides(a), *element_strides(b),
                        *element_strides(c))
    return c


def main():
    check = Check("matmul")
    for rows, cols, inner in ((1, 1, 1), (33, 65, 17), (128, 128, 128), (200, 3, 77), (7, 301, 130)):
        a, b = check.normal(rows, inner), check.normal(inner, cols)
        reference = a.astype(np.float64) @ b.astype(np.float64)
        shape = f"{rows} x {cols} x {inner}"
        check.close(shape, matmul(a, b, poisoned((rows, cols))), reference, 1e-6)
    check.holds("the tuner chose one of the configurations", matmul_kernel.best_config in matmul_kernel.configs)
    a, b = check.normal(65, 90, dtype=np.float16), check.normal(90, 70, dtype=np.float16)
    reference = a.astype(np.float64) @ b.astype(np.float64)
    check.close("fp16 to fp32", matmul(a, b, poisoned((65, 70))), reference, 1e-6)
    check.close("fp16", matmul(a, b, poisoned((65, 70), np.float16)), reference, 1e-3)
    check.report()


def timing(rng):
    a, b = (rng.standard_normal((512, 512), dtype=np.float32) for _ in range(2))
    c, c_numpy = np.empty_like(a), np.empty_like(a)
    return Timing(
        "matmul fp32, 512", 2 * 512**3, "GFLOP/s", lambda: matmul(a, b, c), lambda: np.matmul(a, b, out=c_numpy)
    )


if __name__ == "__main__":
    main()
