# *fp32
import triton
import triton.language as tl


@triton.jit
def kernel(x):
    tl.store(x, tl.rand(1.5, 0))
    tl.store(x, tl.randn(1, tl.load(x)))
