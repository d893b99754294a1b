# *fp32 i32
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    tl.make_block_ptr(x_ptr, (8, 8), (8,), (0, 0), (8, 8), order=(1, 0))
