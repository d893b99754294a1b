# *i32 i32
import triton
import triton.language as tl


@triton.jit
def clipped(n, low, high):
    if n < low:
        return low, 0
    if n > high:
        return high, 1
    return n, 2


@triton.jit
def kernel(out_ptr, n):
    value, case = clipped(n, 5, 50)
    tl.store(out_ptr + case, value)
