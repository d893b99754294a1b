"""Dropout that stores a seed instead of a mask: the same seed draws the same numbers again in the backward pass."""

import numpy as np
from checking import Check, Timing, poisoned

import tegula as triton
import tegula.language as tl


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    kept = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(kept, x / (1 - p), 0.0), mask=inside)


def dropout(x, out, p, seed, block=1024):
    """Zeroes elements of x with probability p, and scales the others by 1 / (1 - p)."""
    dropout_kernel[(triton.cdiv(x.size, block),)](x, out, x.size, p, seed, BLOCK=block)
    return out


def main():
    check = Check("dropout")
    for n in (1, 1000, 1025, 100003):
        x = check.normal(n)
        seed = int(check.rng.integers(2**31))
        out = dropout(x, poisoned(n), 0.3, seed)
        kept = out != 0
        check.close(f"{n}, what is kept", out[kept], x[kept].astype(np.float64) / 0.7, 1e-6)
        check.equal(f"{n}, the same seed", dropout(x, poisoned(n), 0.3, seed), out)
        mask = dropout(np.ones(n, np.float32), poisoned(n), 0.3, seed, block=256) != 0
        check.equal(f"{n}, the mask depends on seed and place alone", mask, kept)
    # 100003 draws: the share that is kept strays from 0.7 by 5 deviations once in a million runs.
    check.holds("the rate is right", abs(kept.mean() - 0.7) < 5 * np.sqrt(0.3 * 0.7 / n))
    other = dropout(x, poisoned(n), 0.3, seed + 1) != 0
    check.holds("another seed draws others", 0.3 < (other != kept).mean() < 0.55)
    # The generator draws from 2**24 numbers or more, zero among them.
    dropped = np.count_nonzero(dropout(x, poisoned(n), 0.0, seed) == 0)
    check.holds("p = 0 drops nothing that is not drawn as zero", dropped < 3)
    check.report()


def timing(rng):
    n = 1 << 21
    x = rng.standard_normal(n, dtype=np.float32)
    out = np.empty_like(x)
    draw = np.random.default_rng(7)
    return Timing(
        "dropout, 2M", 8 * n, "GB/s",
        lambda: dropout(x, out, 0.5, 7),
        lambda: np.where(draw.random(n, dtype=np.float32) > 0.5, x * 2, 0),
    )


if __name__ == "__main__":
    main()
