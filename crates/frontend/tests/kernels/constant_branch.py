# *i32 None True square
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, other_ptr, WIDE: tl.constexpr, MODE: tl.constexpr):
    """A branch that is not taken need not make sense."""
    x = tl.load(out_ptr)
    if other_ptr is not None:
        x += tl.load(other_ptr)
    if WIDE and MODE == "square":
        x = x.to(tl.float32)
    elif not WIDE:
        tl.static_assert(False)
    y = x / 2 if WIDE else x.undefined
    tl.store(out_ptr, y.to(tl.int32))
