# *fp32 0
import triton
import triton.language as tl


LIMIT = 3


@triton.jit
def kernel(x_ptr, N: tl.constexpr):
    A: tl.constexpr = 1 // N
    B: tl.constexpr = 2**1000
    C: tl.constexpr = tl.load(x_ptr)
    D: tl.constexpr = LIMIT
    E: tl.constexpr = (1, 2)[5] + "a"
    tl.store(x_ptr, 1180591620717411303424)
    a, b = 1, 2, 3
    A: tl.constexpr = 5
    UNROLLED: tl.constexpr = (1,) * 3
    UNROLLED: tl.constexpr = 5
    tl.static_assert(N == 1, f"N is {N}")
    this_is_not_reported
