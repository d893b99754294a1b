"""Softmax of rows that fit in one block: read once, written once, everything between stays on the chip."""

import numpy as np
from checking import Check, Timing, poisoned

import tegula as triton
import tegula.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    inside = col < cols
    # Minus infinity is neutral to the maximum, and its exponential to the sum.
    x = tl.load(x_ptr + row * x_stride + col, mask=inside, other=-float("inf")).to(tl.float32)
    weight = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * out_stride + col, weight / tl.sum(weight, axis=0), mask=inside)


def softmax(x, out):
    """`out[i] = softmax(x[i])`: both (rows, cols), the columns contiguous."""
    rows, cols = x.shape
    softmax_kernel[(rows,)](x, out, x.strides[0] // x.itemsize, out.strides[0] // out.itemsize, cols,
                            BLOCK=triton.next_power_of_2(cols))
    return out


def reference(x):
    x = x.astype(np.float64)
    weight = np.exp(x - x.max(axis=1, keepdims=True))
    return weight / weight.sum(axis=1, keepdims=True)


def main():
    check = Check("softmax")
    for rows, cols in ((1, 1), (3, 2), (5, 781), (2, 1024), (7, 1025)):
        for dtype, tolerance in ((np.float32, 1e-6), (np.float16, 1e-3)):
            x = (10 * check.normal(rows, cols)).astype(dtype)
            check.close(f"{rows} x {cols}", softmax(x, poisoned(x.shape, dtype)), reference(x), tolerance)
    padded = check.normal(6, 200)
    check.close("rows apart", softmax(padded[:, :129], poisoned((6, 129))), reference(padded[:, :129]), 1e-6)
    x = check.normal(2, 50)
    x[0, ::2] = -np.inf
    x[1] += 1e4
    check.close("infinities and large numbers", softmax(x, poisoned(x.shape)), reference(x), 1e-6)
    check.report()


def timing(rng):
    x = rng.standard_normal((4096, 1000), dtype=np.float32)
    out = np.empty_like(x)

    def with_numpy():
        weight = np.exp(x - x.max(axis=1, keepdims=True))
        return weight / weight.sum(axis=1, keepdims=True)

    return Timing("softmax, 4096 x 1000", 8 * x.size, "GB/s", lambda: softmax(x, out), with_numpy)


if __name__ == "__main__":
    main()
