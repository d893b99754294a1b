# *fp32 i32
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    for i in range(n):
        if i > 2:
            break
    with n:
        pass
    import math
    x_ptr[0] = 1.0
    v = {"a": n}
    while True:
        n = n + 1
