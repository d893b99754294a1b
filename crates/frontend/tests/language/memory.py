# *i1 *fp32 *i64 i32
"""Loads, stores and atomics: what broadcasts, what converts."""
import triton
import triton.language as tl


@triton.jit
def kernel(flags, x_ptr, table, n):
    r = tl.arange(0, 4)[:, None]
    c = tl.arange(0, 8)[None, :]
    at = r * 8 + c
    on = tl.load(flags + at)
    tl.static_assert(on.dtype == tl.int1)
    v = tl.load(x_ptr + at, mask=r < n, other=-1)
    v += tl.load(x_ptr + at, mask=on, other=tl.full((8,), 2.0, tl.float64), cache_modifier=".cg", volatile=True)
    v += tl.load(x_ptr + c, mask=on)
    tl.store(flags + at, v, mask=n > 0)
    tl.store(x_ptr + at, 1, mask=True)
    base = tl.load(table).to(tl.pointer_type(tl.int16))
    tl.store(base + c, v[0:1, :], eviction_policy="evict_last")
    tl.static_assert(tl.atomic_add(x_ptr + at, 1, mask=c < n, sem="relaxed", scope="sys").dtype == tl.float32)
    tl.static_assert(tl.atomic_cas(table, 0, n).dtype == tl.int64)
    at = tl.max_contiguous(tl.multiple_of(at, (4, 8)), (1, 8))
    tl.assume(n > 0)
    tl.debug_barrier()
    tl.device_print("n", n, v)
    tl.device_assert(v > 0, "positive", mask=on)
    tl.store(x_ptr + tl.arange(0, 8) - n.to(tl.uint32), 0.0)
