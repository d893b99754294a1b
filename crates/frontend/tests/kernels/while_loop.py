# *i32 i32
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    tl.store(out_ptr, steps)
