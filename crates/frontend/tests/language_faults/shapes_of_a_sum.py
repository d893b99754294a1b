# *fp32 i32
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, tl.sum(tl.zeros((4, 64), tl.float32) + tl.arange(0, 32)))
