"""The kinds of kernels that users write next, on awkward shapes and against float64."""

import numpy as np
import pytest
import textbook_helpers
import torch
from textbook_helpers import activate, silu, tile_offsets

import tegula as triton
import tegula.language as tl

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8]
#: Relative errors that rounding of the result alone explains, a few times over.
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 2e-6, torch.float64: 1e-12}
SHARED_SCALE: tl.constexpr = tl.constexpr(3)


@pytest.fixture
def rng():
    seed = torch.seed() % 2**32
    print("seed", seed)  # pytest shows it when the test fails
    return torch.Generator().manual_seed(seed)


def normal(rng, *shape, dtype=torch.float32):
    return torch.randn(*shape, generator=rng, dtype=torch.float64).to(dtype)


def integers(rng, low, high, shape, dtype=torch.int32):
    return torch.randint(low, high, shape, generator=rng).to(dtype)


def poisoned(*shape, dtype=torch.float32):
    return torch.full(shape, float("nan") if dtype.is_floating_point else 77, dtype=dtype)


def close(actual, expected, tolerance=None):
    """The norm of the difference over that of the reference; NaN and shape differences fail.

    Inputs are of order 1, so a result that is much smaller is what is left of terms that cancelled.
    """
    assert tuple(actual.shape) == tuple(expected.shape)
    tolerance = TOLERANCE[actual.dtype] if tolerance is None else tolerance
    actual, expected = actual.double(), expected.double()
    scale = max(expected.norm().item(), 0.1 * expected.numel() ** 0.5, 1e-30)
    error = (actual - expected).norm().item()
    assert error <= tolerance * scale, f"relative error {error / scale:.2e} > {tolerance:.0e}"


# Elementwise

@triton.jit
def axpy_kernel(x_ptr, y_ptr, out_ptr, alpha, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, alpha * x + y, mask=mask)


@pytest.mark.parametrize("n", [0, 1, 7, 64, 1009])
@pytest.mark.parametrize("dtype", FLOATS)
def test_axpy_of_floats(rng, dtype, n):
    x, y, out = normal(rng, n, dtype=dtype), normal(rng, n, dtype=dtype), poisoned(n, dtype=dtype)
    axpy_kernel[(triton.cdiv(n, 64),)](x, y, out, 0.5, n, BLOCK=64)
    close(out, 0.5 * x.double() + y.double())


@pytest.mark.parametrize("dtype", INTS)
def test_axpy_of_integers_wraps(rng, dtype):
    x, y = (integers(rng, 0, 120, (1009,), dtype) for _ in range(2))
    out = poisoned(1009, dtype=dtype)
    axpy_kernel[(triton.cdiv(1009, 64),)](x, y, out, 3, 1009, BLOCK=64)
    assert torch.equal(out, (3 * x.long() + y.long()).to(dtype))


def test_results_beyond_the_vector_stay_untouched(rng):
    x, y, out = normal(rng, 100), normal(rng, 100), torch.full((128,), 5.0)
    axpy_kernel[(2,)](x, y, out, 2.0, 100, BLOCK=64)
    close(out[:100], 2.0 * x.double() + y.double())
    assert (out[100:] == 5.0).all()


@triton.jit
def compare_kernel(x_ptr, y_ptr, less_ptr, flags_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(less_ptr + offsets, x < y, mask=mask)
    flags = (x < y).to(tl.int32) + 2 * (x == y) + 4 * (x > y)
    tl.store(flags_ptr + offsets, flags, mask=mask)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.float16, torch.float32])
def test_comparisons(rng, dtype):
    x, y = integers(rng, -3, 3, (100,), dtype), integers(rng, -3, 3, (100,), dtype)
    less, flags = torch.zeros(100, dtype=torch.bool), poisoned(100, dtype=torch.int32)
    compare_kernel[(1,)](x, y, less, flags, 100, BLOCK=128)
    assert torch.equal(less, x < y)
    assert torch.equal(flags, ((x < y).int() + 2 * (x == y).int() + 4 * (x > y).int()))


@triton.jit
def bits_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    x = (x ^ (x >> 16)) * 0x45D9F3B
    x = (x ^ (x >> 16)) & 0x7FFFFFFF
    tl.store(out_ptr + offsets, (x | 1) ^ (~x << 3), mask=offsets < n)


def test_bits(rng):
    x = integers(rng, -(2**31), 2**31, (257,))
    out = poisoned(257, dtype=torch.int32)
    bits_kernel[(1,)](x, out, 257, BLOCK=512)
    a = x.numpy()
    with np.errstate(over="ignore"):
        a = (a ^ (a >> 16)) * np.int32(0x45D9F3B)
        a = (a ^ (a >> 16)) & np.int32(0x7FFFFFFF)
        expected = (a | np.int32(1)) ^ (~a << np.int32(3))
    assert np.array_equal(out.numpy(), expected)


@triton.jit
def adam_kernel(param_ptr, grad_ptr, m_ptr, v_ptr, lr, beta1, beta2, eps, correction1, correction2, n,
                BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    grad = tl.load(grad_ptr + offsets, mask=mask)
    m = beta1 * tl.load(m_ptr + offsets, mask=mask) + (1 - beta1) * grad
    v = beta2 * tl.load(v_ptr + offsets, mask=mask) + (1 - beta2) * grad * grad
    param = tl.load(param_ptr + offsets, mask=mask)
    param -= lr * (m / correction1) / (tl.sqrt(v / correction2) + eps)
    tl.store(m_ptr + offsets, m, mask=mask)
    tl.store(v_ptr + offsets, v, mask=mask)
    tl.store(param_ptr + offsets, param, mask=mask)


def test_adam_updates_in_place(rng):
    n = 517
    param, grad, m, v = normal(rng, n), normal(rng, n), normal(rng, n), normal(rng, n).abs()
    before = [x.double() for x in (param, grad, m, v)]
    adam_kernel[(triton.cdiv(n, 128),)](param, grad, m, v, 0.01, 0.9, 0.99, 1e-8, 0.5, 0.25, n, BLOCK=128)
    p, g, m0, v0 = before
    m1, v1 = 0.9 * m0 + 0.1 * g, 0.99 * v0 + 0.01 * g * g
    close(m, m1)
    close(v, v1)
    close(param, p - 0.01 * (m1 / 0.5) / ((v1 / 0.25).sqrt() + 1e-8))


# Helpers of other modules

@triton.jit
def activation_kernel(x_ptr, out_ptr, n, NAME: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tile_offsets(tl.program_id(0), BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, activate(x, NAME), mask=offsets < n)


@pytest.mark.parametrize("name", ["gelu", "silu", "none"])
def test_helpers_choose_by_constants(rng, name):
    x, out = normal(rng, 333), poisoned(333)
    activation_kernel[(3,)](x, out, 333, NAME=name, BLOCK=128)
    reference = {"gelu": torch.nn.functional.gelu, "silu": torch.nn.functional.silu, "none": lambda x: x}
    close(out, reference[name](x.double()))


@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    gate = tl.load(gate_ptr + row * cols + col, mask=col < cols, other=0).to(tl.float32)
    up = tl.load(up_ptr + row * cols + col, mask=col < cols, other=0)
    scaled = silu(gate).to(up.dtype) * up * textbook_helpers.log2(BLOCK)
    tl.store(out_ptr + row * cols + col, scaled, mask=col < cols)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_helpers_through_their_module(rng, dtype):
    gate, up, out = normal(rng, 5, 77, dtype=dtype), normal(rng, 5, 77, dtype=dtype), poisoned(5, 77, dtype=dtype)
    swiglu_kernel[(5,)](gate, up, out, 77, BLOCK=128)
    close(out, torch.nn.functional.silu(gate.double()) * up.double() * 7)


@triton.jit
def shared_constant_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * SHARED_SCALE)


def test_constants_of_the_module():
    x, out = torch.arange(16), poisoned(16, dtype=torch.int64)
    shared_constant_kernel[(1,)](x, out, BLOCK=16)
    assert torch.equal(out, 3 * x)


def test_kernels_defined_in_a_function():
    factor = tl.constexpr(5)

    @triton.jit
    def scale(x):
        return x * factor

    @triton.jit
    def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(out_ptr + offsets, scale(tl.load(x_ptr + offsets)))

    x, out = torch.arange(8), poisoned(8, dtype=torch.int64)
    kernel[(1,)](x, out, BLOCK=8)
    assert torch.equal(out, 5 * x)


# Grids, strides, views

@triton.jit
def copy_kernel(x_ptr, out_ptr, rows, cols, x_row, x_col, out_row, out_col, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)
    mask = (row < rows)[:, None] & (col < cols)[None, :]
    x = tl.load(x_ptr + row[:, None] * x_row + col[None, :] * x_col, mask=mask)
    tl.store(out_ptr + row[:, None] * out_row + col[None, :] * out_col, x, mask=mask)


def copy(x, out):
    grid = (triton.cdiv(x.shape[0], 8), triton.cdiv(x.shape[1], 16))
    strides = [stride // a.itemsize for a in (x, out) for stride in a.strides]
    copy_kernel[grid](x, out, *x.shape, *strides, ROWS=8, COLS=16)
    return out


@pytest.mark.parametrize("view", [
    lambda a: a, lambda a: a.T, lambda a: a[::2, 1::3], lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: a[5:6],
    lambda a: a[:, 7:8], lambda a: a[3:3], lambda a: a[::-2, ::-1].T, lambda a: np.broadcast_to(a[:1], (9, 31)),
], ids=["whole", "transposed", "steps", "upside_down", "mirrored", "one_row", "one_column", "empty", "all", "repeated"])
def test_views(view):
    a = np.random.default_rng().standard_normal((23, 31)).astype(np.float32)
    x = view(a)
    out = copy(x, np.full(x.shape, np.nan, np.float32))
    assert np.array_equal(out, x)
    if x.size:
        target = view(np.full((23, 31), np.nan, np.float32))
        if target.flags.writeable:
            assert np.array_equal(copy(np.ascontiguousarray(x), target), x)


@triton.jit
def grid_kernel(out_ptr, sizes_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(axis=2)
    index = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(out_ptr + index, 10000 * z + 100 * y + x)
    if index == 0:
        tl.store(sizes_ptr, tl.num_programs(0))
        tl.store(sizes_ptr + 1, tl.num_programs(1))
        tl.store(sizes_ptr + 2, tl.num_programs(2))


@pytest.mark.parametrize("grid", [(5,), (3, 4), (2, 3, 5), (1, 1, 1)])
def test_grids(grid):
    sizes = [*grid, 1, 1][:3]
    out, seen = poisoned(sizes[0] * sizes[1] * sizes[2], dtype=torch.int32), poisoned(3, dtype=torch.int32)
    grid_kernel[grid](out, seen)
    assert seen.tolist() == sizes
    expected = [10000 * z + 100 * y + x for z in range(sizes[2]) for y in range(sizes[1]) for x in range(sizes[0])]
    assert out.tolist() == expected


@pytest.mark.parametrize("grid", [(0,), (3, 0), (0, 2, 2)])
def test_grids_without_programs(grid):
    out, seen = poisoned(9, dtype=torch.int32), poisoned(3, dtype=torch.int32)
    grid_kernel[grid](out, seen)
    assert (out == 77).all() and (seen == 77).all()


@triton.jit
def transpose_kernel(x_ptr, out_ptr, rows, cols, TILE: tl.constexpr):
    row = tile_offsets(tl.program_id(0), TILE)
    col = tile_offsets(tl.program_id(1), TILE)
    x = tl.load(x_ptr + row[:, None] * cols + col[None, :], mask=(row[:, None] < rows) & (col[None, :] < cols))
    tl.store(out_ptr + col[:, None] * rows + row[None, :], tl.trans(x),
             mask=(col[:, None] < cols) & (row[None, :] < rows))


@pytest.mark.parametrize("shape", [(1, 1), (16, 16), (17, 50), (1, 33)])
@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.float64])
def test_transposition(rng, shape, dtype):
    x = integers(rng, -100, 100, shape, dtype)
    out = poisoned(*reversed(shape), dtype=dtype)
    transpose_kernel[(triton.cdiv(shape[0], 16), triton.cdiv(shape[1], 16))](x, out, *shape, TILE=16)
    assert torch.equal(out, x.T)


# Control flow

@triton.jit
def backwards_kernel(x_ptr, out_ptr, n, STEP: tl.constexpr):
    total = 0.0
    for i in range(n - 1, -1, -STEP):
        total = total * 0.5 + tl.load(x_ptr + i)
        tl.store(out_ptr + i, total)


@pytest.mark.parametrize("n,step", [(0, 1), (1, 1), (10, 1), (10, 3), (2, 5)])
def test_loops_that_count_down(rng, n, step):
    x, out, expected, total = normal(rng, n), torch.zeros(n), torch.zeros(n, dtype=torch.float64), 0.0
    backwards_kernel[(1,)](x, out, n, STEP=step)
    for i in range(n - 1, -1, -step):
        total = total * 0.5 + x[i].item()
        expected[i] = total
    close(out, expected)


@triton.jit
def collatz_kernel(x_ptr, out_ptr, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    value = tl.load(x_ptr + pid)
    steps = 0
    while value > 1:
        if value % 2 == 0:
            value = value // 2
        else:
            value = 3 * value + 1
        steps += 1
    tl.store(out_ptr + pid, steps)


def test_while_loops_and_early_returns():
    x = torch.arange(1, 31)
    out = poisoned(40, dtype=torch.int32)
    collatz_kernel[(40,)](x, out, 30)

    def steps(value):
        return 0 if value == 1 else 1 + steps(value // 2 if value % 2 == 0 else 3 * value + 1)

    assert out[:30].tolist() == [steps(value) for value in range(1, 31)]
    assert (out[30:] == 77).all()


@triton.jit
def clipped(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x


@triton.jit
def clip_kernel(x_ptr, out_ptr, low, high, n, SKIP_NEGATIVE: tl.constexpr):
    for i in range(n):
        x = tl.load(x_ptr + i)
        if SKIP_NEGATIVE:
            if x >= 0:
                tl.store(out_ptr + i, clipped(x, low, high))
        else:
            tl.store(out_ptr + i, clipped(x, low, high))


@pytest.mark.parametrize("skip", [False, True])
def test_returns_from_the_middle_of_helpers(rng, skip):
    x, out = normal(rng, 50), torch.full((50,), 9.0)
    clip_kernel[(1,)](x, out, -0.5, 0.75, 50, SKIP_NEGATIVE=skip)
    expected = x.clamp(-0.5, 0.75)
    assert torch.equal(out, torch.where(x >= 0, expected, 9.0) if skip else expected)


@triton.jit
def triangle_kernel(x_ptr, out_ptr, n):
    """Nested loops whose bounds depend on the outer index, and a value carried through both."""
    count = 0
    for i in range(n):
        total = 0.0
        for j in range(i, n, 2):
            total += tl.load(x_ptr + i * n + j)
            count += 1
        tl.store(out_ptr + i, total + count)


def test_nested_loops(rng):
    n = 13
    x, out = normal(rng, n, n), poisoned(n)
    triangle_kernel[(1,)](x, out, n)
    count, expected = 0, []
    for i in range(n):
        row = x[i, i::2].double()
        count += len(row)
        expected.append(row.sum().item() + count)
    close(out, torch.tensor(expected))


@triton.jit
def unrolled_kernel(x_ptr, out_ptr, TAPS: tl.constexpr, BLOCK: tl.constexpr, n):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for tap in tl.static_range(TAPS):
        place = offsets + tap - TAPS // 2
        total += (tap + 1) * tl.load(x_ptr + place, mask=(place >= 0) & (place < n), other=0.0)
    tl.store(out_ptr + offsets, total, mask=offsets < n)


@pytest.mark.parametrize("taps", [1, 3, 4])
def test_stencils_with_unrolled_taps(rng, taps):
    n = 150
    x, out = normal(rng, n), poisoned(n)
    unrolled_kernel[(3,)](x, out, TAPS=taps, BLOCK=64, n=n)
    expected = torch.zeros(n, dtype=torch.float64)
    for i in range(n):
        for tap in range(taps):
            if 0 <= i + tap - taps // 2 < n:
                expected[i] += (tap + 1) * x[i + tap - taps // 2].double()
    close(out, expected)


# Arguments

@triton.jit
def arguments_kernel(out_ptr, flag, small, large, real, pair, bias_ptr=None, shift=2, *, SIGN: tl.constexpr = -1):
    total = small + large + pair[0] * pair[1] + shift
    if flag:
        total += 1000
    if bias_ptr is not None:
        total += tl.load(bias_ptr)
    tl.store(out_ptr, (total * SIGN).to(tl.float64) + real)


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("bias", [None, 300])
def test_arguments_of_every_kind(flag, bias):
    out = poisoned(1, dtype=torch.float64)
    bias_ptr = None if bias is None else torch.tensor([bias])
    arguments_kernel[(1,)](out, flag, -5, 2**40, 0.25, (3, 1), bias_ptr, SIGN=1)
    assert out.item() == -5 + 2**40 + 3 + 2 + 1000 * flag + (bias or 0) + 0.25
    arguments_kernel[(1,)](out, flag, real=0.5, small=1, large=16, pair=(1, 7), bias_ptr=bias_ptr, shift=0)
    assert out.item() == -(1 + 16 + 7 + 1000 * flag + (bias or 0)) + 0.5


@triton.jit
def cast_kernel(x_ptr, out_ptr, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets).to(TYPE)
    tl.static_assert(x.dtype == TYPE)
    tl.store(out_ptr + offsets, x.to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("language,dtype", [
    (tl.float16, torch.float16), (tl.bfloat16, torch.bfloat16), (tl.int32, torch.int32), (tl.int8, torch.int8),
    (tl.float64, torch.float64),
])
def test_types_as_constants(rng, language, dtype):
    x, out = 20 * normal(rng, 32), poisoned(32, dtype=torch.float64)
    cast_kernel[(1,)](x, out, TYPE=language, BLOCK=32)
    assert torch.equal(out, x.to(dtype).double())


# Reductions and scans

@triton.jit
def reduce_kernel(x_ptr, out_ptr, rows, cols, OP: tl.constexpr, AXIS: tl.constexpr, ROWS: tl.constexpr,
                  COLS: tl.constexpr):
    row, col = tl.arange(0, ROWS), tl.arange(0, COLS)
    mask = (row < rows)[:, None] & (col < cols)[None, :]
    offsets = row[:, None] * cols + col[None, :]
    if OP == "sum":
        result = tl.sum(tl.load(x_ptr + offsets, mask=mask, other=0), axis=AXIS)
    elif OP == "max":
        result = tl.max(tl.load(x_ptr + offsets, mask=mask, other=-100), axis=AXIS)
    elif OP == "min":
        result = tl.min(tl.load(x_ptr + offsets, mask=mask, other=100), axis=AXIS)
    elif OP == "argmax":
        result = tl.argmax(tl.load(x_ptr + offsets, mask=mask, other=-100), axis=AXIS)
    elif OP == "argmin":
        result = tl.argmin(tl.load(x_ptr + offsets, mask=mask, other=100), axis=AXIS)
    if AXIS == 0:
        tl.store(out_ptr + col, result, mask=col < cols)
    else:
        tl.store(out_ptr + row, result, mask=row < rows)


@pytest.mark.parametrize("op", ["sum", "max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(1, 1), (7, 32), (16, 19), (5, 1)])
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_reductions(rng, op, axis, shape, dtype):
    # Few different values, so that there are ties; the first of them counts.
    x = integers(rng, -9, 9, shape, dtype)
    out = poisoned(shape[1 - axis], dtype=torch.int64 if op.startswith("arg") else dtype)
    reduce_kernel[(1,)](x, out, *shape, OP=op, AXIS=axis, ROWS=16, COLS=32)
    if op.startswith("arg"):
        expected = getattr(np, op)(x.numpy(), axis=axis)
    else:
        expected = getattr(np, op)(x.numpy(), axis=axis)
    assert np.array_equal(out.numpy(), expected)


@triton.jit
def reverse_scan_kernel(x_ptr, sums_ptr, products_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    row = tl.program_id(0) * n
    tl.store(sums_ptr + row + offsets,
             tl.cumsum(tl.load(x_ptr + row + offsets, mask=mask, other=0.0), axis=0, reverse=True), mask=mask)
    tl.store(products_ptr + row + offsets,
             tl.cumprod(tl.load(x_ptr + row + offsets, mask=mask, other=1.0), axis=0), mask=mask)


@pytest.mark.parametrize("n", [1, 31, 64])
def test_reverse_scans_and_products(rng, n):
    x = normal(rng, 3, n)
    sums, products = poisoned(3, n), poisoned(3, n)
    reverse_scan_kernel[(3,)](x, sums, products, n, BLOCK=64)
    close(sums, x.double().flip(1).cumsum(1).flip(1), 1e-5)
    close(products, x.double().cumprod(1), 1e-5)


@triton.jit
def welford(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    count = count_a + count_b
    delta = mean_b - mean_a
    share = tl.where(count == 0, 0.0, count_b / count)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share, count


@triton.jit
def variance_kernel(x_ptr, mean_ptr, var_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    mask = col < cols
    x = tl.load(x_ptr + row * cols + col, mask=mask, other=0.0)
    count = mask.to(tl.float32)
    mean, m2, total = tl.reduce((x, tl.zeros_like(x), count), 0, welford)
    tl.store(mean_ptr + row, mean)
    tl.store(var_ptr + row, m2 / total)


@pytest.mark.parametrize("cols", [1, 100, 128])
def test_reductions_of_several_values(rng, cols):
    x = normal(rng, 4, cols) + 3
    mean, var = poisoned(4), poisoned(4)
    variance_kernel[(4,)](x, mean, var, cols, BLOCK=128)
    close(mean, x.double().mean(1))
    close(var, x.double().var(1, unbiased=False), 1e-5)


# Indices and atomics

@triton.jit
def embedding_kernel(index_ptr, table_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    index = tl.load(index_ptr + row)
    col = tl.arange(0, BLOCK)
    mask = col < width
    tl.store(out_ptr + row * width + col, tl.load(table_ptr + index * width + col, mask=mask), mask=mask)


@triton.jit
def embedding_grad_kernel(index_ptr, grad_ptr, table_grad_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    index = tl.load(index_ptr + row)
    col = tl.arange(0, BLOCK)
    mask = col < width
    grad = tl.load(grad_ptr + row * width + col, mask=mask)
    tl.atomic_add(table_grad_ptr + index * width + col, grad, mask=mask)


@pytest.mark.parametrize("index_type", [torch.int32, torch.int64])
def test_embeddings_forward_and_backward(rng, index_type):
    table, index = normal(rng, 11, 37), integers(rng, 0, 11, (60,), index_type)
    out = poisoned(60, 37)
    embedding_kernel[(60,)](index, table, out, 37, BLOCK=64)
    assert torch.equal(out, table[index.long()])
    grad, table_grad = normal(rng, 60, 37), torch.zeros(11, 37)
    embedding_grad_kernel[(60,)](index, grad, table_grad, 37, BLOCK=64)
    expected = torch.zeros(11, 37, dtype=torch.float64).index_add_(0, index.long(), grad.double())
    close(table_grad, expected)


@triton.jit
def histogram_kernel(x_ptr, count_ptr, largest_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    tl.atomic_add(count_ptr + x, 1, mask=mask)
    tl.atomic_max(largest_ptr, tl.max(x, axis=0))


def test_atomics_on_few_places(rng):
    x = integers(rng, 0, 10, (1000,))
    count, largest = torch.zeros(10, dtype=torch.int32), torch.full((1,), -1, dtype=torch.int32)
    histogram_kernel[(8,)](x, count, largest, 1000, BLOCK=128)
    assert torch.equal(count, torch.bincount(x, minlength=10).int())
    assert largest.item() == x.max().item()


# Products

@triton.jit
def linear_kernel(x_ptr, w_ptr, bias_ptr, out_ptr, M, N, K, ACTIVATION: tl.constexpr, BM: tl.constexpr,
                  BN: tl.constexpr, BK: tl.constexpr):
    """out = activation(x @ w.T + bias), as a linear layer stores its weights."""
    m, n = tile_offsets(tl.program_id(0), BM), tile_offsets(tl.program_id(1), BN)
    batch = tl.program_id(2)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(x_ptr + batch * M * K + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K),
                    other=0.0)
        w = tl.load(w_ptr + n[:, None] * K + k[None, :], mask=(n[:, None] < N) & (k[None, :] < K), other=0.0)
        total += tl.dot(x, w.T, input_precision="ieee")
    if bias_ptr is not None:
        total += tl.load(bias_ptr + n, mask=n < N)[None, :]
    total = activate(total, ACTIVATION)
    tl.store(out_ptr + batch * M * N + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("activation", ["none", "gelu"])
@pytest.mark.parametrize("batch,m,n,k", [(1, 1, 1, 1), (2, 17, 33, 40), (3, 32, 16, 64)])
def test_linear_layers(rng, dtype, activation, batch, m, n, k):
    x, w = normal(rng, batch, m, k, dtype=dtype), normal(rng, n, k, dtype=dtype)
    bias = normal(rng, n) if activation == "gelu" else None
    out = poisoned(batch, m, n)
    grid = (triton.cdiv(m, 16), triton.cdiv(n, 16), batch)
    linear_kernel[grid](x, w, bias, out, m, n, k, ACTIVATION=activation, BM=16, BN=16, BK=32)
    expected = x.double() @ w.double().T
    if bias is not None:
        expected = torch.nn.functional.gelu(expected + bias.double())
    close(out, expected, 1e-5)


@triton.jit
def int8_kernel(a_ptr, b_ptr, c_ptr, SIZE: tl.constexpr):
    row, col = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    a, b = tl.load(a_ptr + row * SIZE + col), tl.load(b_ptr + row * SIZE + col)
    c = tl.dot(a, b, out_dtype=tl.int32)
    tl.store(c_ptr + row * SIZE + col, c)


def test_products_of_integers(rng):
    a, b = (integers(rng, -128, 128, (32, 32), torch.int8) for _ in range(2))
    c = poisoned(32, 32, dtype=torch.int32)
    int8_kernel[(1,)](a, b, c, SIZE=32)
    assert torch.equal(c, (a.long() @ b.long()).int())


# Layers with gradients

@triton.jit
def rms_norm_grad_kernel(x_ptr, w_ptr, grad_ptr, dx_ptr, dw_ptr, rows, cols, eps, BLOCK: tl.constexpr):
    """Each program walks over several rows, and adds its share of the weights' gradient at the end."""
    col = tl.arange(0, BLOCK)
    mask = col < cols
    w = tl.load(w_ptr + col, mask=mask, other=0.0)
    dw = tl.zeros([BLOCK], tl.float32)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * cols + col, mask=mask, other=0.0)
        grad = tl.load(grad_ptr + row * cols + col, mask=mask, other=0.0)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / cols + eps)
        dw += grad * x * scale
        wg = w * grad
        dx = scale * (wg - x * scale * scale * tl.sum(wg * x, axis=0) / cols)
        tl.store(dx_ptr + row * cols + col, dx, mask=mask)
    tl.atomic_add(dw_ptr + col, dw, mask=mask)


@pytest.mark.parametrize("rows,cols", [(1, 1), (9, 60), (4, 64)])
def test_the_gradient_of_rms_norm(rng, rows, cols):
    x, w, grad = normal(rng, rows, cols), normal(rng, cols), normal(rng, rows, cols)
    dx, dw = poisoned(rows, cols), torch.zeros(cols)
    rms_norm_grad_kernel[(3,)](x, w, grad, dx, dw, rows, cols, 0.5, BLOCK=64)
    xd, wd = x.double().requires_grad_(), w.double().requires_grad_()
    (xd * torch.rsqrt((xd * xd).mean(1, keepdim=True) + 0.5) * wd).backward(grad.double())
    close(dx, xd.grad, 1e-5)
    close(dw, wd.grad, 1e-5)


@triton.jit
def rotary_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, heads, HALF: tl.constexpr, HEADS: tl.constexpr):
    token = tl.program_id(0)
    feature = tl.arange(0, HALF)
    head = tl.arange(0, HEADS)
    angle = token * HALF + feature
    cos, sin = tl.load(cos_ptr + angle)[None, :], tl.load(sin_ptr + angle)[None, :]
    base = (token * heads + head[:, None]) * 2 * HALF + feature[None, :]
    mask = head[:, None] < heads
    a, b = tl.load(x_ptr + base, mask=mask), tl.load(x_ptr + base + HALF, mask=mask)
    tl.store(out_ptr + base, a * cos - b * sin, mask=mask)
    tl.store(out_ptr + base + HALF, b * cos + a * sin, mask=mask)


@pytest.mark.parametrize("tokens,heads", [(1, 1), (5, 3), (7, 8)])
def test_rotary_embeddings(rng, tokens, heads):
    half = 16
    x, angle = normal(rng, tokens, heads, 2 * half), normal(rng, tokens, half)
    out = poisoned(tokens, heads, 2 * half)
    rotary_kernel[(tokens,)](x, angle.cos(), angle.sin(), out, heads, HALF=half, HEADS=8)
    a, b = x.double().split(half, dim=-1)
    cos, sin = (f(angle).double()[:, None] for f in (torch.cos, torch.sin))
    close(out, torch.cat([a * cos - b * sin, b * cos + a * sin], -1))


# Random numbers

@triton.jit
def random_kernel(uniform_ptr, normal_ptr, int_ptr, seed, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(uniform_ptr + offsets, tl.rand(seed, offsets), mask=mask)
    tl.store(normal_ptr + offsets, tl.randn(seed, offsets), mask=mask)
    tl.store(int_ptr + offsets, tl.randint(seed, offsets), mask=mask)


def test_random_numbers_have_their_moments():
    n = 100_000
    seed = torch.seed() % 2**31
    uniform, gauss, ints = poisoned(n), poisoned(n), poisoned(n, dtype=torch.int32)
    random_kernel[(triton.cdiv(n, 1024),)](uniform, gauss, ints, seed, n, BLOCK=1024)
    # Means of n draws stray by 5 deviations about once in a million runs.
    assert uniform.min() >= 0 and uniform.max() < 1
    assert abs(uniform.double().mean() - 0.5) < 5 * (1 / 12 / n) ** 0.5
    assert abs(gauss.double().mean()) < 5 / n**0.5
    assert abs(gauss.double().var() - 1) < 5 * (2 / n) ** 0.5
    assert ints.unique().numel() > 0.99 * n


# Beyond powers of two

@triton.jit
def odd_block_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x * x, axis=0))


@pytest.mark.parametrize("block", [1, 3, 96, 100])
def test_blocks_of_any_extent(rng, block):
    n = 250
    programs = triton.cdiv(n, block)
    x, out = normal(rng, n), poisoned(programs)
    odd_block_kernel[(programs,)](x, out, n, BLOCK=block)
    close(out, torch.stack([part.double().square().sum() for part in x.split(block)]))
