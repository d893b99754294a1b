# *fp32 i32
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    """Each fault is reported, and none that only follows from another."""
    v = tl.load(x_ptr + bais)
    w = v * 2 + tl.exponential(v)
    tl.store(x_ptr, w)
    if n > 3:
        w = lambda: 3
    tl.store(x_ptr, w, msak=n)
