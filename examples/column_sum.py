"""Sums of columns: programs reduce slabs of rows at the same time, and add their sums to the result atomically."""

import numpy as np
from checking import Check, Timing

import tegula as triton
import tegula.language as tl


@triton.jit
def column_sum_kernel(x_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)
    inside = (row < rows) & (col < cols)[None, :]
    x = tl.load(x_ptr + row * cols + col[None, :], mask=inside, other=0)
    tl.atomic_add(out_ptr + col, tl.sum(x, axis=0), mask=col < cols)


def column_sum(x, tile=(64, 128)):
    """The sum of the rows of x (rows, cols), contiguous."""
    rows, cols = x.shape
    out = np.zeros(cols, x.dtype)
    grid = (triton.cdiv(rows, tile[0]), triton.cdiv(cols, tile[1]))
    column_sum_kernel[grid](x, out, rows, cols, ROWS=tile[0], COLS=tile[1])
    return out


def main():
    check = Check("column_sum")
    for rows, cols in ((1, 1), (64, 128), (67, 1), (1, 200), (1003, 131)):
        x = check.normal(rows, cols)
        check.close(f"{rows} x {cols}", column_sum(x), x.astype(np.float64).sum(axis=0), 1e-6, size=rows**0.5)
        x = check.rng.integers(-1000, 1000, (rows, cols), dtype=np.int32)
        check.equal(f"{rows} x {cols}, int32", column_sum(x), x.sum(axis=0, dtype=np.int32))
    check.report()


def timing(rng):
    x = rng.standard_normal((4096, 1024), dtype=np.float32)
    return Timing(
        "column sum, 4096 x 1024", 4 * x.size, "GB/s", lambda: column_sum(x, (128, 256)), lambda: x.sum(axis=0)
    )


if __name__ == "__main__":
    main()
