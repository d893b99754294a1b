# *i32 3
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, N: tl.constexpr):
    total = 0
    for i in tl.static_range(N):
        SIZE: tl.constexpr = 2**i
        total += tl.sum(tl.arange(0, SIZE), 0) if i % 2 == 0 else i
    tl.store(out_ptr, total)
