# *u32 *i1
import triton
import triton.language as tl


@triton.jit
def is_valid(value):
    return value > -1


@triton.jit
def kernel(x_ptr, out_ptr):
    for i in range(3):
        tl.store(out_ptr + i, is_valid(tl.load(x_ptr + i)))
    tl.store(out_ptr, is_valid(tl.load(x_ptr)))
