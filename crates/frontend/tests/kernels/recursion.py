# *i32
import triton
import triton.language as tl


@triton.jit
def power(x, N: tl.constexpr):
    if N == 0:
        return x * 0 + 1
    else:
        return x * power(x, N - 1)


@triton.jit
def kernel(out_ptr):
    tl.store(out_ptr, power(tl.load(out_ptr), 3))
