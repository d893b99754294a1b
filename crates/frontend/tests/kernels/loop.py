# *fp32 *fp32 i32 64
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Carried: the pointers and the sum, but neither what does not change nor what is made anew."""
    total = tl.full((BLOCK,), 0.0, tl.float32)
    pointers = x_ptr + tl.arange(0, BLOCK)
    factor = 2.0
    for i in tl.range(0, n, BLOCK, num_stages=3):
        x = tl.load(pointers) * factor
        total += x
        pointers += BLOCK
    tl.store(out_ptr + tl.arange(0, BLOCK), total)
