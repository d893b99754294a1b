# *i32 *u8 *i8
"""Functions of scalars applied to blocks, and products in microscaling formats."""
import triton
import triton.language as tl


@triton.jit
def halved_or_not(a, b):
    if a > b:
        low, high = b, a
    else:
        low, high = a, b
    return low, high.to(tl.float32)


@triton.jit
def swapped(first, second):
    return second, first


@triton.jit
def kernel(x_ptr, codes, scales):
    i = tl.arange(0, 12)
    x = tl.load(x_ptr + i)
    low, high = tl.map_elementwise(halved_or_not, x[:, None], x[None, :])
    tl.static_assert(low.shape == (12, 12) and low.dtype == tl.int32 and high.dtype == tl.float32)
    turned = tl.map_elementwise(swapped, x, pack=2)
    tl.static_assert(turned[0].shape == (12,))
    m, k = tl.arange(0, 8)[:, None], tl.arange(0, 32)[None, :]
    lhs = tl.load(codes + m * 32 + k)
    rhs = tl.load(codes + tl.trans(k) * 8 + tl.trans(m))
    scale = tl.load(scales + m * 2 + tl.arange(0, 2)[None, :]).to(tl.uint8)
    tl.static_assert(tl.dot_scaled(lhs, scale, "e2m1", rhs, scale, "e2m1").shape == (8, 8))
    wide = tl.zeros((64, 8), tl.bfloat16)
    tl.static_assert(tl.dot_scaled(lhs, scale, "e2m1", wide, None, "bf16").dtype == tl.float32)
    half = tl.zeros((32, 8), tl.float16)
    tl.static_assert(tl.dot_scaled(lhs, None, "e4m3", half, None, "fp16").dtype == tl.float32)
