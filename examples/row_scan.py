"""Scans along rows: a running sum of any length, and a linear recurrence through a scan with a function of its own."""

import numpy as np
from checking import Check, Timing, poisoned

import tegula as triton
import tegula.language as tl


@triton.jit
def running_sum_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    before = tl.full([], 0.0, tl.float32)
    for start in range(0, cols, BLOCK):
        col = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + col, mask=col < cols, other=0.0)
        tl.store(out_ptr + row * cols + col, before + tl.cumsum(x, axis=0), mask=col < cols)
        before += tl.sum(x, axis=0)


@triton.jit
def then(first_factor, first_offset, second_factor, second_offset):
    """One step `h -> factor * h + offset` after another is such a step too, so steps can be scanned."""
    return first_factor * second_factor, second_factor * first_offset + second_offset


@triton.jit
def recurrence_kernel(factor_ptr, offset_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    """`h[t] = factor[t] * h[t - 1] + offset[t]`, from h = 0, in a row that fits in one block."""
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    inside = col < cols
    factor = tl.load(factor_ptr + row * cols + col, mask=inside, other=1.0)
    offset = tl.load(offset_ptr + row * cols + col, mask=inside, other=0.0)
    factor, state = tl.associative_scan((factor, offset), 0, then)
    tl.store(out_ptr + row * cols + col, state, mask=inside)


def running_sum(x, out, block=1024):
    """`out[i, j] = x[i, 0] + ... + x[i, j]`: both (rows, cols), contiguous."""
    rows, cols = x.shape
    running_sum_kernel[(rows,)](x, out, cols, BLOCK=block)
    return out


def recurrence(factor, offset, out):
    """The recurrence of `recurrence_kernel` on every row: all (rows, cols), contiguous."""
    rows, cols = factor.shape
    recurrence_kernel[(rows,)](factor, offset, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out


def main():
    check = Check("row_scan")
    for rows, cols, block in ((1, 1, 16), (3, 37, 16), (2, 256, 256), (4, 1001, 128)):
        x = check.normal(rows, cols)
        out = running_sum(x, poisoned(x.shape), block)
        check.close(f"running sum, {rows} x {cols} by {block}", out, np.cumsum(x.astype(np.float64), axis=1), 1e-5)
        factor = check.rng.uniform(-1, 1, (rows, cols)).astype(np.float32)
        out = recurrence(factor, x, poisoned(x.shape))
        expected, state = np.empty((rows, cols)), np.zeros(rows)
        for step in range(cols):
            state = factor[:, step].astype(np.float64) * state + x[:, step]
            expected[:, step] = state
        check.close(f"recurrence, {rows} x {cols}", out, expected, 1e-5)
    check.report()


def timing(rng):
    x = rng.standard_normal((2048, 2048), dtype=np.float32)
    out, out_numpy = np.empty_like(x), np.empty_like(x)
    return Timing(
        "running sum, 2048 x 2048", 8 * x.size, "GB/s",
        lambda: running_sum(x, out, 2048),
        lambda: np.cumsum(x, axis=1, out=out_numpy),
    )


if __name__ == "__main__":
    main()
