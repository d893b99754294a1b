# *fp32 i32 64 64
import triton
import triton.language as tl


@triton.jit
def inside(offsets, limit):
    return offsets < limit


@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr, COLUMNS: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < BLOCK)
    y = tl.load(x_ptr + offsets[:, None], mask=offsets[:, None] < BLOCK)
    # Fine: the data may have fewer columns than the block in another launch, or the comparison is not that of the block's own offsets.
    z = tl.load(x_ptr + offsets, mask=offsets < COLUMNS)
    w = tl.load(x_ptr + offsets, mask=tl.program_id(0) * BLOCK + offsets < BLOCK)
    v = tl.load(x_ptr + offsets, mask=inside(offsets, BLOCK))
    tl.store(x_ptr + offsets, x + z + w + v, mask=offsets < n)
    tl.store(x_ptr + offsets[:, None], y)
