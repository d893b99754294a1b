# *fp32 i32
import triton
import triton.language as tl


@triton.jit
def scaled(value, factor):
    return value * factor


@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, scaled(n))
    tl.store(x_ptr, scaled(n, 2, 3))
    tl.store(x_ptr, scaled(n, 2, value=3))
    tl.store(x_ptr, scaled(n, facter=3))
    tl.store(x_ptr, tl.load(x_ptr, maks=n > 3))
