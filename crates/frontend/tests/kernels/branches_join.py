# *i32 i32
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, n):
    a = 10
    b = 20
    c = 30
    if n > 3:
        a = n
        first_only = a
    elif n > 1:
        a, b = b, a
    else:
        c = 30
    tl.store(out_ptr, a)
    tl.store(out_ptr + 1, b)
    tl.store(out_ptr + 2, c)
