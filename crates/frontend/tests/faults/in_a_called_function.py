# *fp32
import triton
import triton.language as tl


@triton.jit
def too_wide(v, BLOCK: tl.constexpr):
    return v + tl.arange(0, 2 * BLOCK)


@triton.jit
def between(v, BLOCK: tl.constexpr):
    return too_wide(v, BLOCK)


@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, between(tl.arange(0, 16), 16))
