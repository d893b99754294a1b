"""Kernels about blocks: reductions, scans, sorting, shapes, memory, atomics, random numbers."""

import torch
from agreement import Launch, case
from arithmetic_kernels import FLOATS, INTEGERS, any_bits, each, results

import tegula as triton
import tegula.language as tl

ROWS, COLS = 24, 50


def matrix(rng, dtype, rows=ROWS, cols=COLS):
    """Distinct numbers of a type, in random order, but for types that have too few."""
    if dtype.is_floating_point:
        return torch.randn(rows, cols, generator=rng, dtype=torch.float64).to(dtype)
    return any_bits(rng, dtype, rows * cols).reshape(rows, cols)


@triton.jit
def welford(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    count = count_a + count_b
    delta = mean_b - mean_a
    share = tl.div_rn(count_b, tl.maximum(count, 1.0))
    return mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share, count


@triton.jit
def reduction_kernel(x_ptr, out_ptr, index_ptr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    extent: tl.constexpr = N if AXIS == 0 else M
    i = tl.arange(0, extent)
    tl.store(out_ptr + i, tl.sum(x, AXIS))
    tl.store(out_ptr + extent + i, tl.max(x, AXIS))
    tl.store(out_ptr + 2 * extent + i, tl.min(x, AXIS))
    tl.store(index_ptr + i, tl.argmax(x, AXIS))
    tl.store(index_ptr + extent + i, tl.argmin(x, AXIS, tie_break_left=False))
    if x.dtype.is_int():
        tl.store(out_ptr + 3 * extent + i, tl.xor_sum(x, AXIS))


@case(*[(f"{label} axis {axis}", (dtype, axis)) for label, dtype in each(FLOATS + INTEGERS) for axis in (0, 1)])
def reductions(rng, chosen):
    dtype, axis = chosen
    extent = (COLS, ROWS)[axis]
    arguments = matrix(rng, dtype), results(4, dtype, extent), results(2, torch.int32, extent)
    return Launch(reduction_kernel, (1,), arguments, {"AXIS": axis, "M": ROWS, "N": COLS})


@triton.jit
def variance_kernel(x_ptr, mean_ptr, m2_ptr, cols, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    inside = i < cols
    x = tl.load(x_ptr + row * cols + i, mask=inside, other=0.0)
    mean, m2, _ = tl.reduce((x, tl.zeros_like(x), inside.to(tl.float32)), 0, welford)
    tl.store(mean_ptr + row, mean)
    tl.store(m2_ptr + row, m2)


@case()
def reductions_of_several_values(rng):
    x = matrix(rng, torch.float32)
    return Launch(variance_kernel, (ROWS,), (x, results(1, torch.float32, ROWS), results(1, torch.float32, ROWS), COLS),
                  {"B": 64})


@triton.jit
def then(first_factor, first_offset, factor, offset):
    return first_factor * factor, factor * first_offset + offset


@triton.jit
def scan_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + place)
    tl.store(out_ptr + place, tl.cumsum(x, 1))
    tl.store(out_ptr + M * N + place, tl.cumsum(x, 0, reverse=True))
    tl.store(out_ptr + 2 * M * N + place, tl.cumprod(x, 1))
    tl.store(out_ptr + 3 * M * N + place, tl.associative_scan((x, x), 1, then)[1])


@case(*each((torch.float32, torch.float64, torch.int32, torch.int64, torch.uint8)))
def scans(rng, dtype):
    return Launch(scan_kernel, (1,), (matrix(rng, dtype), results(4, dtype, ROWS * COLS)), {"M": ROWS, "N": COLS})


@triton.jit
def order_kernel(x_ptr, out_ptr, top_ptr, M: tl.constexpr, N: tl.constexpr):
    row = tl.arange(0, M)[:, None]
    place = row * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + place)
    tl.store(out_ptr + place, tl.sort(x))
    tl.store(out_ptr + M * N + place, tl.sort(x, dim=0, descending=True))
    tl.store(out_ptr + 2 * M * N + place, tl.flip(x))
    tl.store(top_ptr + row * 8 + tl.arange(0, 8)[None, :], tl.topk(x, 8))


@case(*each((torch.float16, torch.float32, torch.int8, torch.int32, torch.uint64)))
def sorting(rng, dtype):
    x = matrix(rng, dtype, 16, 32)
    return Launch(order_kernel, (1,), (x, results(3, dtype, 512), results(1, dtype, 128)), {"M": 16, "N": 32})


@triton.jit
def count_kernel(x_ptr, out_ptr, BINS: tl.constexpr, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B))
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram(x, BINS, mask=x != 3))


@case()
def histograms(rng):
    x = torch.randint(0, 64, (1024,), dtype=torch.int32, generator=rng)
    return Launch(count_kernel, (1,), (x, results(1, torch.int32, 64)), {"BINS": 64, "B": 1024})


@triton.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + place, tl.gather(tl.load(x_ptr + place), tl.load(index_ptr + place), 1))


@case(*each((torch.float16, torch.float32, torch.int64)))
def gathers(rng, dtype):
    index = torch.randint(0, 64, (16, 64), dtype=torch.int32, generator=rng)
    return Launch(gather_kernel, (1,), (matrix(rng, dtype, 16, 64), index, results(16, dtype, 64)), {"M": 16, "N": 64})


@triton.jit
def shape_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    size: tl.constexpr = M * N
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    i = tl.arange(0, size)
    tl.store(out_ptr + i, tl.ravel(tl.trans(x)))
    even, odd = tl.split(tl.reshape(x, M, N // 2, 2))
    tl.store(out_ptr + size + i, tl.ravel(tl.join(odd, even)))
    tl.store(out_ptr + 2 * size + i, tl.ravel(tl.interleave(even, odd)))
    tl.store(out_ptr + 3 * size + i, tl.ravel(tl.permute(tl.reshape(x, M, 2, N // 2), 2, 0, 1)))
    tl.store(out_ptr + 4 * size + i, tl.ravel(tl.cat(even, odd, dim=1)))
    tl.store(out_ptr + 5 * size + i, tl.ravel(tl.broadcast_to(tl.max(x, 1, keep_dims=True).to(x.dtype), M, N)))


@case(*each((torch.int8, torch.bfloat16, torch.float32, torch.float64)))
def shapes(rng, dtype):
    return Launch(shape_kernel, (1,), (matrix(rng, dtype, 16, 64), results(6, dtype, 1024)), {"M": 16, "N": 64})


@triton.jit
def strided_copy_kernel(x_ptr, out_ptr, rows, cols, M: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    col = tl.program_id(1) * N + tl.arange(0, N)[None, :]
    inside = (row < rows) & (col < cols)
    x = tl.load(x_ptr + row * cols + col, mask=inside, other=0)
    tl.store(out_ptr + col * rows + row, x, mask=inside)


@case(*each((torch.uint8, torch.float16, torch.float32, torch.int64)))
def transposed_copies(rng, dtype):
    x = matrix(rng, dtype, 67, 129)
    return Launch(strided_copy_kernel, (5, 5), (x, results(129, dtype, 67), 67, 129), {"M": 16, "N": 32})


@triton.jit
def pointer_kernel(x_ptr, out_ptr, rows, cols, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (rows, cols), (cols, 1), (tl.program_id(0) * M, 0), (M, N), (1, 0))
    out = tl.make_block_ptr(out_ptr, (rows, cols), (cols, 1), (tl.program_id(0) * M, 0), (M, N), (1, 0))
    for _ in range(0, cols, N):
        tl.store(out, tl.load(x, boundary_check=(0, 1), padding_option="zero") * 2, boundary_check=(0, 1))
        x, out = tl.advance(x, (0, N)), tl.advance(out, (0, N))


@case()
def block_pointers(rng):
    x = matrix(rng, torch.float32, 37, 100)
    return Launch(pointer_kernel, (3,), (x, results(37, torch.float32, 100), 37, 100), {"M": 16, "N": 32})


@triton.jit
def descriptor_kernel(x_ptr, out_ptr, rows, cols, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, (rows, cols), (cols, 1), (M, N))
    out = tl.make_tensor_descriptor(out_ptr, (rows, cols), (cols, 1), (M, N))
    row = tl.program_id(0) * M
    for col in range(0, cols, N):
        out.store((row, col), x.load((row, col)) + x.load((row + 1, col - 1)))


@case(*each((torch.float16, torch.float32)))
def descriptors(rng, dtype):
    x = matrix(rng, dtype, 50, 96)
    return Launch(descriptor_kernel, (4,), (x, results(50, dtype, 96), 50, 96), {"M": 16, "N": 32})


@triton.jit
def atomic_kernel(x_ptr, place_ptr, sum_ptr, max_ptr, min_ptr, BITS: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x, place = tl.load(x_ptr + i), tl.load(place_ptr + i)
    tl.atomic_add(sum_ptr + place, x, mask=place != 5)
    tl.atomic_max(max_ptr + place, x, sem="relaxed")
    tl.atomic_min(min_ptr + place, x, scope="cta" if BITS else "gpu")
    if BITS:
        tl.atomic_or(sum_ptr + 16 + place, x)
        tl.atomic_and(max_ptr + 16 + place, x)
        tl.atomic_xor(min_ptr + 16 + place, x)


@case(*each((torch.int32, torch.int64, torch.uint32, torch.uint64, torch.float32, torch.float64)))
def atomics_in_any_order(rng, dtype):
    # Sums of small whole numbers are exact in every order.
    x = torch.randint(0 if "u" in str(dtype) else -99, 99, (512,), generator=rng).to(dtype)
    place = torch.randint(0, 16, (512,), dtype=torch.int32, generator=rng)
    outs = [torch.zeros(32, dtype=torch.float64).to(dtype) for _ in range(3)]
    constants = {"BITS": not dtype.is_floating_point, "B": 512}
    return Launch(atomic_kernel, (1,), (x, place, *outs), constants)


@triton.jit
def narrow_sum_kernel(x_ptr, place_ptr, out_ptr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out_ptr + tl.load(place_ptr + i), tl.load(x_ptr + i))


@case(*each((torch.float16, torch.bfloat16)))
def atomic_sums_of_halves(rng, dtype):
    x = torch.randint(-2, 3, (512,), generator=rng).to(dtype)
    place = torch.randint(0, 16, (512,), dtype=torch.int32, generator=rng)
    return Launch(narrow_sum_kernel, (4,), (x, place, torch.zeros(16, dtype=dtype)), {"B": 128})


@triton.jit
def exchange_kernel(x_ptr, swapped_ptr, compared_ptr, old_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    tl.store(old_ptr + i, tl.atomic_xchg(swapped_ptr + i, x))
    tl.store(old_ptr + B + i, tl.atomic_cas(compared_ptr + i, x, x + 1))


@case(*each((torch.int32, torch.int64)))
def atomic_exchanges(rng, dtype):
    x = torch.randint(0, 3, (300,), generator=rng).to(dtype)
    swapped, compared = (torch.randint(0, 3, (300,), generator=rng).to(dtype) for _ in range(2))
    return Launch(exchange_kernel, (1,), (x, swapped, compared, results(2, dtype, 300)), {"B": 300})


@triton.jit
def words_kernel(seed, uniform_ptr, word_ptr, philox_ptr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(uniform_ptr + i, tl.rand(seed, i))
    a, b, c, d = tl.randint4x(seed, i)
    tl.store(word_ptr + i, a ^ b ^ c ^ d)
    wide = i.to(tl.uint64)
    a, b, c, d = tl.philox(seed, wide, wide + 1, wide * 3, wide)
    tl.store(philox_ptr + i, a ^ b ^ c ^ d)


@case()
def random_words(rng):
    seed = torch.randint(1 << 40, (), generator=rng).item()
    outs = [results(1, dtype, 1024) for dtype in (torch.float32, torch.int32, torch.int64)]
    return Launch(words_kernel, (4,), (seed, *outs), {"B": 256})


@triton.jit
def normal_kernel(seed, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out_ptr + i, tl.randn(seed, i))


@case()
def normal_numbers(rng):
    seed = torch.randint(1 << 40, (), generator=rng).item()
    return Launch(normal_kernel, (1,), (seed, results(1, torch.float32, 1024)), {"B": 1024}, magnified=8, floor=1e-5)


@triton.jit
def collatz_kernel(out_ptr, most, n):
    start = tl.program_id(0) + 1
    value = start.to(tl.int64)
    steps = 0
    while (value != 1) & (steps < most):
        if value % 2 == 0:
            value = value // 2
        else:
            value = 3 * value + 1
        steps += 1
    if start <= n:
        tl.store(out_ptr + start - 1, steps)


@case()
def loops_of_scalars(rng):
    return Launch(collatz_kernel, (70,), (results(1, torch.int32, 64), 500, 64))
