# *i8 i32
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    tl.atomic_add(x_ptr, n)
