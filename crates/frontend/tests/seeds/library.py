# *fp32 *i32 i32 16
import triton
import triton.language as tl


@triton.jit
def larger(a, i, b, j):
    take = (a > b) | ((a == b) & (i < j))
    return tl.where(take, a, b), tl.where(take, i, j)


@triton.jit
def kernel(x_ptr, out_ptr, seed, N: tl.constexpr):
    """Functions of the prelude, combine functions, atomics, shapes."""
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < seed, other=0.0)
    best, place = tl.reduce((x, i), 0, larger)
    running = tl.cumsum(x, 0)
    noise = tl.rand(seed, i)
    kept = tl.where(noise > 0.5, tl.sigmoid(running) / (1 - 0.5), 0.0)
    square = tl.reshape(kept, (4, N // 4))
    tl.store(x_ptr + i, tl.reshape(tl.trans(square), (N,)) + best)
    tl.atomic_add(out_ptr + place, tl.cdiv(seed, 3), mask=seed > 3)
    tl.device_print("row", place)
    tl.device_assert(place >= 0, "no place")
