# *fp32 i32
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, tl.sum(tl.permute(tl.zeros((4, 8), tl.float32), (0, 2))))
