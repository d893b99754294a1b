# *u32 *u8 *i1
import triton
import triton.language as tl


@triton.jit
def kernel(wide_ptr, narrow_ptr, out_ptr):
    wide = tl.load(wide_ptr)
    narrow = tl.load(narrow_ptr)
    tl.store(out_ptr, wide > -1)
    tl.store(out_ptr, wide >= -5)
    tl.store(out_ptr, -1 >= wide)
    tl.store(out_ptr, narrow > -1)
    tl.store(out_ptr, narrow == -1)
    # Fine: all bits set, and a signed value.
    tl.store(out_ptr, wide == -1)
    tl.store(out_ptr, wide.to(tl.int64) > -1)
