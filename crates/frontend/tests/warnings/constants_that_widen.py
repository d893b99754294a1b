# *fp32 *fp64
import triton
import triton.language as tl


@triton.jit
def kernel(single_ptr, double_ptr):
    single = tl.load(single_ptr)
    double = tl.load(double_ptr)
    tl.store(single_ptr, tl.maximum(single, 1e-40))
    tiny = 1e-300
    limit = tl.full((), 1e-300, tl.float64)
    # Fine: fp64 anyway, on purpose, an infinity, or a constant that adapts to fp32.
    tl.store(double_ptr, tl.maximum(double, 1e-300))
    tl.store(double_ptr, single * limit)
    tl.store(single_ptr, tl.maximum(single, float("-inf")))
    tl.store(single_ptr, single + 1e-40)
    tl.store(double_ptr, double + tiny)
