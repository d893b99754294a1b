# *i32 i32 i32
import triton
import triton.language as tl


FACTOR = tl.constexpr(1000)


@triton.jit
def combined(a, b, c=100, SCALE: tl.constexpr = 1, MINUS: tl.constexpr = False):
    if not MINUS:
        return (a + 10 * b + c) * SCALE
    else:
        return (a + 10 * b - c) * FACTOR


@triton.jit
def applied(FN: tl.constexpr, *values):
    return FN(*values)


@triton.jit(noinline=True)
def kernel(out_ptr, n, m):
    tl.store(out_ptr, combined(n, c=n, b=m, SCALE=3))
    tl.store(out_ptr + 1, applied(combined, n, m, m, 2, True))
