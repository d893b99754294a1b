# *fp32 i32
import triton
import triton.language as tl


@triton.jit
def forever(n):
    return forever(n + 1)


@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, forever(n))
