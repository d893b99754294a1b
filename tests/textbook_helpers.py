"""Functions that the kernels of test_textbook.py call from another module."""

import tegula as triton
import tegula.language as tl

INVERSE_SQRT_2: tl.constexpr = tl.constexpr(0.7071067811865476)


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + tl.erf(x * INVERSE_SQRT_2))


@triton.jit
def silu(x):
    return x / (1.0 + tl.exp(-x))


@triton.jit
def activate(x, NAME: tl.constexpr):
    if NAME == "gelu":
        return gelu(x)
    elif NAME == "silu":
        return silu(x)
    tl.static_assert(NAME == "none", "unknown activation")
    return x


@triton.jit
def tile_offsets(index, EXTENT: tl.constexpr):
    return index * EXTENT + tl.arange(0, EXTENT)


@triton.constexpr_function
def log2(n):
    result = 0
    while n > 1:
        n //= 2
        result += 1
    return result
