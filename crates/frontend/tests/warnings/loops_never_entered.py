# *i32 i32 4
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n, BLOCKS: tl.constexpr):
    total = 0
    for i in range(0, 10, -1):
        total += i
    for i in tl.range(9, -1):
        total += i
    for i in range(0, BLOCKS, -1):
        total += i
    # Fine: empty for these constants only, unknown, or never meant to be entered.
    for i in range(8, BLOCKS):
        total += i
    for i in range(n, 0, -1):
        total += i
    for i in range(0, 0):
        total += i
    tl.store(x_ptr, total)
