# *fp32 i32
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    if n > 3:
        one = 2.0
        other = 1
    else:
        other = 1.5
    for i in range(n):
        inside = i
    tl.store(x_ptr, one)
    tl.store(x_ptr, other)
    tl.store(x_ptr, inside)
    tl.store(x_ptr, i)
