# *i8 *fp16 *bf16
"""Types and shapes of reductions, scans and sorts."""
import triton
import triton.language as tl


@triton.jit
def larger(a, b):
    return tl.where(tl.abs(a) > tl.abs(b), a, b)


@triton.jit
def both(a, b, c, d):
    return a + c, tl.maximum(b, d)


@triton.jit
def kernel(i8_ptr, f16_ptr, bf16_ptr):
    at = tl.arange(0, 6)[:, None] * 10 + tl.arange(0, 10)[None, :]
    i8 = tl.load(i8_ptr + at)
    f16 = tl.load(f16_ptr + at)
    bf16 = tl.load(bf16_ptr + at)
    tl.static_assert(tl.sum(i8, 0).dtype == tl.int32)
    tl.static_assert(tl.sum(i8 > 0, 0).dtype == tl.uint32)
    tl.static_assert(tl.sum(f16, 0).dtype == tl.float16)
    tl.static_assert(tl.sum(i8, 0, dtype=tl.float64).dtype == tl.float64)
    tl.static_assert(tl.max(i8, 1).dtype == tl.int32)
    tl.static_assert(tl.max(f16, 1).dtype == tl.float32)
    tl.static_assert(tl.argmin(bf16, 1).dtype == tl.int32)
    tl.static_assert(tl.cumsum(i8, 0).dtype == tl.int32)
    tl.static_assert(tl.cumsum(bf16, 0).dtype == tl.float32)
    tl.static_assert(tl.cumprod(f16, 1).dtype == tl.float16)

    tl.static_assert(tl.sum(i8, 0).shape == (10,))
    tl.static_assert(tl.sum(i8, -1, keep_dims=True).shape == (6, 1))
    tl.static_assert(tl.sum(i8).shape == ())
    tl.static_assert(i8.sum(keep_dims=True).shape == (1, 1))
    value, where = tl.max(f16, 1, return_indices=True)
    tl.static_assert(value.dtype == tl.float16 and where.dtype == tl.int32 and where.shape == (6,))
    tl.static_assert(tl.reduce(f16, 0, larger).shape == (10,))
    a, b = tl.reduce((f16, i8), 1, both)
    tl.static_assert(a.dtype == tl.float16 and b.dtype == tl.int8)
    c, d = tl.associative_scan((f16, i8), 1, both)
    tl.static_assert(c.shape == (6, 10) and d.dtype == tl.int8)

    tl.static_assert(tl.sort(f16).shape == (6, 10))
    tl.static_assert(tl.sort(i8, dim=0, descending=True).dtype == tl.int8)
    tl.static_assert(tl.topk(bf16, 3).shape == (6, 3))
    tl.static_assert(tl.histogram(i8, 16).shape == (16,))
