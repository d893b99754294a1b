# *i32 i32 i32
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, a, b):
    tl.store(out_ptr, a if a > b else b)
    tl.store(out_ptr + 1, 5 if a > 0 else tl.load(out_ptr))
