# *fp32 i32
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    total = 0
    for i in range(n):
        total += tl.load(x_ptr + i)
    tl.store(x_ptr, total)
