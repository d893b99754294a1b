# *i32 1
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, n):
    while n > 5:
        n = n * 3
    tl.store(out_ptr, n)
