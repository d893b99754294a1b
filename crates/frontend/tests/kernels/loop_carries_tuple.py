# *i32 i32
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, n):
    pair = (0, 1)
    for _ in range(n):
        pair = (pair[1], pair[0] + pair[1])
    tl.store(out_ptr, pair[0])
