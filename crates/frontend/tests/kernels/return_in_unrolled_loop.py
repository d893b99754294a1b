# *i32 i32
import triton
import triton.language as tl


@triton.jit
def first_power_above(n):
    for i in tl.static_range(3):
        if n < 2**i:
            return i
    return -1


@triton.jit
def kernel(out_ptr, n):
    tl.store(out_ptr, first_power_above(n))
