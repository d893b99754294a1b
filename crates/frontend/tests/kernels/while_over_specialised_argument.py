# *i32 1
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, n):
    """`n` is the constant 1 until the loop changes it."""
    while n < 100:
        n = n * 3
    tl.store(out_ptr, n)
