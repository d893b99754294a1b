# *i32 i32 i32
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, a, b):
    if a > 0:
        if b > 0:
            tl.store(out_ptr, 1)
            return
        tl.store(out_ptr, 2)
    else:
        tl.store(out_ptr, 3)
        if b > 0:
            return
    tl.store(out_ptr + 1, 4)
