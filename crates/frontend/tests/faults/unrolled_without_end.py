# *fp32
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    for i in tl.static_range(60000):
        for j in tl.static_range(60000):
            pass
    for i in tl.static_range(10**30):
        pass
