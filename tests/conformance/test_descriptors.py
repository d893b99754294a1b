"""Tensor descriptors: blocks of tensors of any rank, at and beyond the edges, and what is done to them."""

import math

import numpy as np
import pytest
from expressions import DEVICE, NUMBERS, Poisoned, check, draw, exact, octets, tensor

import tegula as triton
import tegula.language as tl

RANKS = {1: ((100,), (32,)), 2: ((37, 48), (8, 16)), 3: ((5, 20, 32), (2, 8, 16)), 4: ((3, 5, 9, 16), (2, 2, 4, 8)),
         5: ((2, 3, 4, 5, 16), (1, 2, 2, 4, 16))}


@triton.jit
def moved(x_ptr, out_ptr, SHAPE: tl.constexpr, STRIDES: tl.constexpr, BLOCK: tl.constexpr, FROM: tl.constexpr,
          TO: tl.constexpr, PADDING: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, SHAPE, STRIDES, BLOCK, padding_option=PADDING)
    out = tl.make_tensor_descriptor(out_ptr, SHAPE, STRIDES, BLOCK)
    out.store(TO, x.load(FROM))


def strides(shape):
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def window(values, start, block, filler):
    """A block of an array that begins anywhere, and what lies outside."""
    result = np.full(block, filler, values.dtype)
    for place in np.ndindex(*block):
        source = tuple(a + b for a, b in zip(place, start, strict=True))
        if all(0 <= i < n for i, n in zip(source, values.shape, strict=True)):
            result[place] = values[source]
    return result


#: Where blocks begin, in extents of the tensor and of the block: inside, at the ends, before and behind.
STARTS = {"first": lambda n, b: 0, "inside": lambda n, b: (n - b) // 2, "end": lambda n, b: n - b // 2,
          "before": lambda n, b: -(b // 2), "far": lambda n, b: n + 3}


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("rank", RANKS)
def test_loads_and_stores(rng, rank, start, dtype):
    shape, block = RANKS[rank]
    x, out = draw(rng, dtype, shape), Poisoned(dtype, shape)
    begin = tuple(STARTS[start](n, b) for n, b in zip(shape, block, strict=True))
    target = tuple(STARTS["inside"](n, b) for n, b in zip(shape, block, strict=True))
    constants = {"SHAPE": shape, "STRIDES": strides(shape), "BLOCK": block, "PADDING": "zero"}
    moved[(1,)](x.to(DEVICE), out.tensor, FROM=begin, TO=target, **constants)
    result = out.checked()
    place = tuple(slice(t, t + b) for t, b in zip(target, block, strict=True))
    check(result[place], window(exact(x), begin, block, 0))
    outside = np.ones(shape, bool)
    outside[place] = False
    assert (octets(result).numpy()[outside] == 0xA5).all()
    # What lies outside of the tensor is not written either.
    out = Poisoned(dtype, shape)
    moved[(1,)](x.to(DEVICE), out.tensor, FROM=target, TO=begin, **constants)
    written = window(np.arange(math.prod(shape)).reshape(shape), begin, block, -1)
    result = out.checked()
    check(result.reshape(-1)[written[written >= 0]], exact(x)[place].reshape(-1)[written.reshape(-1) >= 0])
    rest = np.setdiff1d(np.arange(math.prod(shape)), written)
    assert (octets(result.reshape(-1)).numpy()[rest] == 0xA5).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_nan_outside(rng, dtype):
    x, out = draw(rng, dtype, (37, 48)), Poisoned(dtype, (37, 48))
    moved[(1,)](x.to(DEVICE), out.tensor, SHAPE=(37, 48), STRIDES=(48, 1), BLOCK=(8, 16), FROM=(33, -3), TO=(0, 0),
                PADDING="nan")
    check(out.checked()[:8, :16], window(exact(x), (33, -3), (8, 16), math.nan))


@triton.jit
def tiles(x_ptr, out_ptr, rows, columns, x_stride, M: tl.constexpr, N: tl.constexpr):
    """All tiles of a matrix, by run-time sizes: each is doubled and stored transposed."""
    x = tl.make_tensor_descriptor(x_ptr, (rows, columns), (x_stride, 1), (M, N))
    out = tl.make_tensor_descriptor(out_ptr, (columns, rows), (rows, 1), (N, M))
    row = tl.program_id(0) * x.block_shape[0]
    for column in range(0, columns, N):
        out.store((column, row), tl.trans(tl.load_tensor_descriptor(x, (row, column)) * 2))


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64"])
@pytest.mark.parametrize("tile", [(16, 16), (8, 32), (64, 64)], ids=str)
def test_tiles_of_a_matrix(rng, tile, dtype):
    for rows, columns in ((16, 16), (48, 80), (64, 128)):
        whole = draw(rng, dtype, (rows, columns + 16), -50, 50)
        x, out = whole[:, :columns], Poisoned(dtype, (columns, rows))
        grid = (triton.cdiv(rows, tile[0]),)
        tiles[grid](whole.to(DEVICE), out.tensor, rows, columns, columns + 16, M=tile[0], N=tile[1])
        check(out.checked(), exact(x).T * 2)


@triton.jit
def combined(x_ptr, out_ptr, OP: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * M * N + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    out = tl.make_tensor_descriptor(out_ptr, (M + 3, N), (N, 1), (M, N))
    if OP == "add":
        out.atomic_add((2, 0), x)
    elif OP == "min":
        out.atomic_min((2, 0), x)
    elif OP == "max":
        out.atomic_max((2, 0), x)
    elif OP == "and":
        out.atomic_and((2, 0), x)
    elif OP == "or":
        out.atomic_or((2, 0), x)
    else:
        out.atomic_xor((2, 0), x)


REDUCTIONS = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
              "xor": np.bitwise_xor}


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float32", "float16"])
@pytest.mark.parametrize("op", REDUCTIONS)
def test_atomic_operations(rng, op, dtype):
    if dtype.startswith("float") and op != "add":
        pytest.skip("of integers alone")
    x = tensor(rng.integers(0, 99, (4, 8, 16)), dtype)
    before = tensor(rng.integers(0, 99, (11, 16)), dtype)
    out = before.to(DEVICE, copy=True)
    combined[(4,)](x.to(DEVICE), out, OP=op, M=8, N=16)
    expected = exact(before).copy()
    for part in exact(x):
        expected[2:10] = REDUCTIONS[op](expected[2:10], part)
    check(out.cpu(), expected)


@triton.jit
def rows_of(x_ptr, row_ptr, out_ptr, columns, ROWS: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, N)
    x = tl.make_tensor_descriptor(x_ptr, (40, columns), (columns, 1), (1, N))
    block = x.gather(tl.load(row_ptr + i), 16)
    tl.store(out_ptr + i[:, None] * N + j[None, :], block)
    x.scatter(block * 0 - 1, tl.load(row_ptr + i), 0)


@pytest.mark.parametrize("dtype", ["int16", "float16", "float32", "int32"])
def test_rows_that_are_gathered_and_scattered(rng, dtype):
    x = tensor(rng.integers(0, 99, (40, 64)), dtype)
    row = rng.permutation(40)[:8]
    memory, out = x.to(DEVICE, copy=True), Poisoned(dtype, (8, 16))
    rows_of[(1,)](memory, tensor(row, "int32").to(DEVICE), out.tensor, 64, ROWS=8, N=16)
    check(out.checked(), exact(x)[row, 16:32])
    expected = exact(x).copy()
    expected[row, :16] = -1
    check(memory.cpu(), expected)


@triton.jit
def described_by_the_host(x, out, M: tl.constexpr, N: tl.constexpr):
    tl.static_assert(x.dtype == out.dtype)
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    out.store([row, column], x.load([row, column]) + x.load([row + 1, column]))


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
@pytest.mark.parametrize("shape", [(32, 64), (37, 48), (8, 16)], ids=str)
def test_descriptors_of_the_host(rng, shape, dtype):
    from tegula.tools.tensor_descriptor import TensorDescriptor

    x, out = tensor(rng.integers(0, 99, shape), dtype), Poisoned(dtype, shape)
    source, target = (TensorDescriptor.from_tensor(t, [8, 16]) for t in (x.to(DEVICE), out.tensor))
    grid = triton.cdiv(shape[0], 8), triton.cdiv(shape[1], 16)
    described_by_the_host[grid](source, target, M=8, N=16)
    below = np.zeros(shape)
    below[:-1] = exact(x)[1:]
    check(out.checked(), exact(x) + below)
