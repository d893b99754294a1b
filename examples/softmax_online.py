"""Softmax of rows too long for one block, such as the logits over a vocabulary of 128,256 words.

The first pass keeps a running maximum and a sum that is rescaled whenever the maximum grows; the second
pass writes the quotients.
"""

import numpy as np
from checking import Check, Timing, poisoned
from softmax import reference

import tegula as triton
import tegula.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * x_stride
    out_ptr += row * out_stride
    largest = tl.full([], -float("inf"), tl.float32)
    total = tl.full([], 0.0, tl.float32)
    for start in range(0, cols, BLOCK):
        col = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + col, mask=col < cols, other=-float("inf")).to(tl.float32)
        grown = tl.maximum(largest, tl.max(x, axis=0))
        total = total * tl.exp(largest - grown) + tl.sum(tl.exp(x - grown), axis=0)
        largest = grown
    for start in range(0, cols, BLOCK):
        col = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + col, mask=col < cols, other=0.0).to(tl.float32)
        tl.store(out_ptr + col, tl.exp(x - largest) / total, mask=col < cols)


def online_softmax(x, out, block=4096):
    """`out[i] = softmax(x[i])`: both (rows, cols), the columns contiguous, cols as large as you like."""
    rows, cols = x.shape
    online_softmax_kernel[(rows,)](x, out, x.strides[0] // x.itemsize, out.strides[0] // out.itemsize, cols,
                                   BLOCK=block)
    return out


def main():
    check = Check("softmax_online")
    for rows, cols, block in ((1, 1, 64), (3, 63, 64), (2, 64, 64), (4, 1009, 128), (2, 128256, 4096)):
        x = 10 * check.normal(rows, cols)
        out = online_softmax(x, poisoned(x.shape), block)
        check.close(f"{rows} x {cols} by {block}", out, reference(x), 1e-6)
    # The maximum grows in every block, so every rescaling matters.
    x = np.linspace(-50, 50, 2 * 1000, dtype=np.float32).reshape(2, 1000)
    check.close("growing maximum", online_softmax(x, poisoned(x.shape), 64), reference(x), 1e-6)
    check.report()


def timing(rng):
    x = rng.standard_normal((32, 128256), dtype=np.float32)
    out = np.empty_like(x)

    def with_numpy():
        weight = np.exp(x - x.max(axis=1, keepdims=True))
        return weight / weight.sum(axis=1, keepdims=True)

    return Timing(
        "online softmax, 32 x 128256", 12 * x.size, "GB/s", lambda: online_softmax(x, out), with_numpy
    )


if __name__ == "__main__":
    main()
