# *i32 i32 i32 4
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, lo, hi, N: tl.constexpr):
    v = tl.load(out_ptr)
    inside = lo <= v < hi <= 100
    if inside and not hi == 7 or N < 3:
        tl.store(out_ptr, N < 5 < 6)
