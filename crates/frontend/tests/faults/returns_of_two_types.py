# *fp32 i32
import triton
import triton.language as tl


@triton.jit
def one_or_other(n, v):
    if n > 3:
        return v
    return n


@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, one_or_other(n, tl.load(x_ptr)))
