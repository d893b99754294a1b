# *fp32
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    v = tl.load(x_ptr +
    tl.store(x_ptr, v)
