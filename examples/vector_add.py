"""Adding two vectors: the first kernel. Each program adds one block; the last block is masked."""

import numpy as np
from checking import Check, Timing, poisoned

import tegula as triton
import tegula.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    offsets = start + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def add(x, y, out, block=1024):
    """`out = x + y`, for vectors of one length."""
    n = out.size
    add_kernel[(triton.cdiv(n, block),)](x, y, out, n, BLOCK=block)
    return out


def main():
    check = Check("vector_add")
    for n in (1, 2, 1023, 1024, 1025, 10007):
        x, y = check.normal(n), check.normal(n)
        out = add(x, y, poisoned(n))
        check.close(f"{n} elements", out, x.astype(np.float64) + y, 1e-7)
    x, y = (check.rng.integers(-1000, 1000, 77, dtype=np.int32) for _ in range(2))
    check.equal("int32", add(x, y, poisoned(77, np.int32)), x + y)
    check.report()


def timing(rng):
    n = 1 << 22
    x, y = (rng.standard_normal(n, dtype=np.float32) for _ in range(2))
    out, out_numpy = np.empty_like(x), np.empty_like(x)
    return Timing(
        "vector add, 4M", 12 * n, "GB/s", lambda: add(x, y, out, 4096), lambda: np.add(x, y, out=out_numpy)
    )


if __name__ == "__main__":
    main()
