"""`tl.sort` and `tl.topk` order any floats, NaN above all numbers, as numpy does, at any extent."""

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def sorts(x_ptr, rising_ptr, falling_ptr, top_ptr, bottom_ptr, N: tl.constexpr, K: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(rising_ptr + at, tl.sort(x))
    tl.store(falling_ptr + at, tl.sort(x, descending=True))
    tl.store(top_ptr + tl.arange(0, K), tl.topk(x, K))
    tl.store(bottom_ptr + tl.arange(0, K), tl.topk(x, K, descending=False))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint16", "int64"])
@pytest.mark.parametrize("interpret", [False, True])
def test_order(dtype, interpret):
    rng = np.random.default_rng()
    kernel = tegula.jit(sorts.fn, interpret=interpret)
    for n in (1, 2, 7, 16, 33, 64):
        if dtype.startswith("float"):
            x = rng.standard_normal(n)
            special = rng.random(n) < 0.4
            x[special] = rng.choice([np.nan, -np.nan, np.inf, -np.inf, 0.0, 3.0], special.sum())
            x = x.astype(dtype)
        else:
            bounds = np.iinfo(dtype)
            x = rng.integers(bounds.min, bounds.max, n, dtype=dtype, endpoint=True)
        k = int(rng.integers(1, n + 1))
        rising, falling, top, bottom = (np.empty(size, dtype) for size in (n, n, k, k))
        kernel[(1,)](x, rising, falling, top, bottom, N=n, K=k)
        expected = np.sort(x)
        np.testing.assert_array_equal(rising, expected)
        np.testing.assert_array_equal(falling, expected[::-1])
        np.testing.assert_array_equal(top, expected[::-1][:k])
        np.testing.assert_array_equal(bottom, expected[:k])
