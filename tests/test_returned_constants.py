"""A constant that a jitted function returns is one where it was called, as in Triton 3.9."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def extent(n: tl.constexpr):
    return n * 2, n


@triton.jit
def fibonacci(n: tl.constexpr):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@triton.jit
def chosen(n):
    if n > 3:
        return 1
    return 2


@triton.jit
def constants(out_ptr, n):
    i = tl.arange(0, extent(2)[0])
    seventh: tl.constexpr = fibonacci(7)
    tl.static_assert(seventh == 13)
    tl.store(out_ptr + i, i + seventh + chosen(n))


@pytest.mark.parametrize("n,last", [(4, 1), (3, 2)])
def test_returned_constants(n, last):
    out = np.zeros(4, np.int32)
    constants[(1,)](out, n)
    np.testing.assert_array_equal(out, np.arange(4) + 13 + last)


@triton.jit
def depends(out_ptr, n):
    value: tl.constexpr = chosen(n)
    tl.store(out_ptr, value)


def test_what_is_decided_at_run_time_is_no_constant():
    with pytest.raises(triton.CompilationError, match="`value` is annotated as a constexpr"):
        depends[(1,)](np.zeros(1, np.int32), 5)
