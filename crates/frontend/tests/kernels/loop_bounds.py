# *i64 i64 i32
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, start, stop):
    """The index has the wider type of the bounds, and a step may be negative."""
    for i in range(start, stop, -2):
        tl.store(out_ptr + i, i)
