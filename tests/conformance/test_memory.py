"""Loads and stores: masks, fillers, strides, broadcasts, scalars, types of indices, order, block pointers."""

import math

import numpy as np
import pytest
import torch
from expressions import DEVICE, INTEGERS, NUMBERS, TORCH, Poisoned, any_bits, check, draw, exact, octets, tensor

import tegula as triton
import tegula.language as tl

TYPES = ("int1", *NUMBERS, "float8e4nv", "float8e5")
LENGTHS = [0, 1, 2, 31, 100, 128, 1000]


def same_bytes(a, b):
    return torch.equal(octets(a), octets(b))


def untouched(x):
    return bool((x == 0xA5).all())


def values(rng, dtype, shape):
    return draw(rng, dtype, shape) if dtype == "int1" else any_bits(rng, dtype, shape)


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@pytest.mark.parametrize("block", [1, 7, 32, 100, 1024])
@pytest.mark.parametrize("dtype", TYPES)
def test_copies_keep_every_bit(rng, dtype, block):
    for n in LENGTHS:
        x, out = values(rng, dtype, (n,)), Poisoned(dtype, (n,))
        copy[(triton.cdiv(n, block),)](x.to(DEVICE), out.tensor, n, BLOCK=block)
        assert same_bytes(out.checked(), x)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shift", [1, 2, 3, 8])
def test_arrays_that_begin_anywhere(rng, shift, dtype):
    x, out = values(rng, dtype, (100 + shift,)).to(DEVICE), Poisoned(dtype, (100 + shift,))
    copy[(2,)](x[shift:], out.tensor[shift:], 100, BLOCK=64)
    assert same_bytes(out.checked()[shift:], x[shift:].cpu())
    assert untouched(octets(out.checked())[:shift])


@triton.jit
def chosen(x_ptr, mask_ptr, out_ptr, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=tl.load(mask_ptr + i), other=OTHER))


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("other", [None, 0, 7, 2.5])
def test_fillers_where_nothing_is_read(rng, other, dtype):
    if other == 2.5 and dtype in INTEGERS:
        other = 3
    for block in (5, 128, 300):
        x, mask, out = draw(rng, dtype, (block,)), draw(rng, "int1", (block,)), Poisoned(dtype, (block,))
        chosen[(1,)](x.to(DEVICE), mask.to(DEVICE), out.tensor, OTHER=other, BLOCK=block)
        check(out.checked(), np.where(mask.numpy(), exact(x), other or 0))


@triton.jit
def written(x_ptr, mask_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i), mask=tl.load(mask_ptr + i))


@pytest.mark.parametrize("dtype", TYPES)
def test_what_is_masked_is_not_written(rng, dtype):
    for block in (5, 128, 300):
        x, mask, out = values(rng, dtype, (block,)), draw(rng, "int1", (block,)), Poisoned(dtype, (block,))
        written[(1,)](x.to(DEVICE), mask.to(DEVICE), out.tensor, BLOCK=block)
        result = octets(out.checked())
        assert torch.equal(result[mask], octets(x)[mask]) and untouched(result[~mask])


@triton.jit
def wild(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    far = tl.where(i < n, i, 1 << 30)
    tl.store(out_ptr + far, tl.load(x_ptr + far, mask=i < n, other=5), mask=i < n)


@pytest.mark.parametrize("n", [0, 3, 64])
def test_masked_places_may_lie_anywhere(rng, n):
    x, out = draw(rng, "int32", (n,)), Poisoned("int32", (n,))
    wild[(1,)](x.to(DEVICE), out.tensor, n, BLOCK=64)
    check(out.checked(), exact(x))


@triton.jit
def scalars(x_ptr, out_ptr, n, flag):
    total = tl.load(x_ptr)
    for i in range(1, n):
        total = tl.maximum(total, tl.load(x_ptr + i, mask=i % 2 == 0, other=total))
    tl.store(out_ptr, total)
    tl.store(out_ptr + 1, total + 1, mask=flag > 0)
    tl.store(out_ptr + 2 + tl.arange(0, 4), total)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("flag", [0, 3])
def test_scalars(rng, flag, dtype):
    x, out = draw(rng, dtype, (9,), -99, 99), Poisoned(dtype, (6,))
    scalars[(1,)](x.to(DEVICE), out.tensor, 9, flag)
    result = exact(out.checked())
    most = exact(x)[::2].max()
    assert (result[[0, 2, 3, 4, 5]] == most).all()
    assert (result[1] == most + 1) == (flag > 0)


@triton.jit
def strided(x_ptr, out_ptr, rows, columns, x_row, x_column, out_row, out_column, M: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    column = tl.program_id(1) * N + tl.arange(0, N)[None, :]
    mask = (row < rows) & (column < columns)
    x = tl.load(x_ptr + row * x_row + column * x_column, mask=mask)
    tl.store(out_ptr + row * out_row + column * out_column, x, mask=mask)


@pytest.mark.parametrize("tile", [(1, 1), (8, 32), (16, 16), (5, 33)], ids=str)
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64"])
def test_strides(rng, dtype, tile):
    for rows, columns in ((1, 1), (16, 64), (33, 50)):
        whole = values(rng, dtype, (2 * rows, 3 * columns)).to(DEVICE)
        views = {"whole": whole[:rows, :columns], "steps": whole[::2, ::3], "turned": whole.T[:rows, :columns]}
        for x in views.values():
            for turned in (False, True):
                out = Poisoned(dtype, x.shape[::-1] if turned else x.shape)
                target = out.tensor.T if turned else out.tensor
                grid = triton.cdiv(x.shape[0], tile[0]), triton.cdiv(x.shape[1], tile[1])
                strided[grid](x, target, *x.shape, *x.stride(), *target.stride(), M=tile[0], N=tile[1])
                result = out.checked()
                assert same_bytes(result.T if turned else result, x.cpu())


@triton.jit
def picked(x_ptr, index_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + i)
    tl.store(out_ptr + index, tl.load(x_ptr + index) + 1)


@pytest.mark.parametrize("index_type", INTEGERS)
@pytest.mark.parametrize("dtype", ["int8", "int32", "float64"])
def test_places_from_memory(rng, dtype, index_type):
    """Each place once, in any order: through indices of every type."""
    x, out = draw(rng, dtype, (100,), 0, 99), Poisoned(dtype, (100,))
    index = tensor(rng.permutation(100), index_type)
    picked[(1,)](x.to(DEVICE), index.to(DEVICE), out.tensor, BLOCK=100)
    check(out.checked(), exact(x) + 1)


@triton.jit
def backwards(x_ptr, out_ptr, last, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    end = x_ptr + last
    tl.store(out_ptr + i, tl.load(end - i))
    step = out_ptr + BLOCK
    step += i * 2
    step -= i
    tl.store(step, tl.load(x_ptr + i.to(tl.int64)))


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64"])
def test_pointers_move_by_elements(rng, dtype):
    x, out = values(rng, dtype, (77,)), Poisoned(dtype, (154,))
    backwards[(1,)](x.to(DEVICE), out.tensor, 76, BLOCK=77)
    result = out.checked()
    assert same_bytes(result[:77], x.flip(0)) and same_bytes(result[77:], x)


@triton.jit
def reinterpreted(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    narrow = x_ptr.to(tl.pointer_type(tl.uint8))
    tl.store(out_ptr.to(tl.pointer_type(tl.uint8)) + i, tl.load(narrow + i) ^ 0xFF)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_pointers_to_other_types_reach_the_same_bytes(rng, dtype):
    x, out = any_bits(rng, dtype, (24,)), Poisoned(dtype, (24,))
    reinterpreted[(1,)](x.to(DEVICE), out.tensor, BLOCK=24 * x.itemsize)
    assert torch.equal(out.checked().view(torch.uint8), x.view(torch.uint8) ^ 0xFF)


@triton.jit
def through_table(table_ptr, out_ptr, n, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x_ptr = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(TYPE))
    tl.store(out_ptr + tl.program_id(0) * n + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_tables_of_addresses(rng, dtype):
    arrays = [values(rng, dtype, (30,)).to(DEVICE) for _ in range(4)]
    table = torch.tensor([x.data_ptr() for x in arrays]).to(DEVICE)
    out = Poisoned(dtype, (4, 30))
    through_table[(4,)](table, out.tensor, 30, TYPE=getattr(tl, dtype), BLOCK=32)
    assert same_bytes(out.checked(), torch.stack(arrays).cpu())




@triton.jit
def hinted(x_ptr, out_ptr, LOAD: tl.constexpr, STORE: tl.constexpr, POLICY: tl.constexpr, VOLATILE: tl.constexpr,
           BLOCK: tl.constexpr):
    i = tl.multiple_of(tl.max_contiguous(tl.arange(0, BLOCK), BLOCK), 16)
    x = tl.load(x_ptr + i, cache_modifier=LOAD, eviction_policy=POLICY, volatile=VOLATILE)
    tl.store(out_ptr + i, x, cache_modifier=STORE, eviction_policy=POLICY)


@pytest.mark.parametrize("volatile", [False, True])
@pytest.mark.parametrize("policy", ["", "evict_first", "evict_last"])
@pytest.mark.parametrize(("load", "store"), [("", ""), (".ca", ".wb"), (".cg", ".cg"), (".cv", ".wt"), (".cs", ".cs")])
def test_hints_change_nothing(rng, load, store, policy, volatile):
    x, out = draw(rng, "float32", (256,)), Poisoned("float32", (256,))
    hinted[(1,)](x.to(DEVICE), out.tensor, LOAD=load, STORE=store, POLICY=policy, VOLATILE=volatile, BLOCK=256)
    check(out.checked(), exact(x))


@triton.jit
def in_turn(x_ptr, n, BLOCK: tl.constexpr):
    """Each store is seen by the next load, also of other threads."""
    i = tl.arange(0, BLOCK)
    for step in range(n):
        tl.store(x_ptr + i, tl.load(x_ptr + (i + 1) % BLOCK) + step)


@pytest.mark.parametrize("block", [1, 33, 128, 512])
def test_loads_see_the_stores_before_them(rng, block):
    x = draw(rng, "int32", (block,), 0, 99)
    memory = x.to(DEVICE, copy=True)
    in_turn[(1,)](memory, 4, BLOCK=block)
    check(memory.cpu(), np.roll(exact(x), -4) + 6)


@triton.jit
def tiles(x_ptr, out_ptr, rows, columns, row, column, CHECK: tl.constexpr, PADDING: tl.constexpr, M: tl.constexpr,
          N: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (rows, columns), (columns, 1), (row, column), (M, N), (1, 0))
    out = tl.make_block_ptr(out_ptr, (M, N), (N, 1), (0, 0), (M, N), (1, 0))
    tl.store(out, tl.load(x, boundary_check=CHECK, padding_option=PADDING))


@pytest.mark.parametrize("padding", ["", "zero", "nan"])
@pytest.mark.parametrize(("row", "column"), [(0, 0), (12, 3), (-5, 20), (3, -7), (17, 24), (40, 40)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_block_pointers_at_the_edges(rng, dtype, row, column, padding):
    x, out = draw(rng, dtype, (20, 30)), Poisoned(dtype, (8, 16))
    tiles[(1,)](x.to(DEVICE), out.tensor, 20, 30, row, column, CHECK=(0, 1), PADDING=padding, M=8, N=16)
    expected = np.full((8, 16), math.nan if padding == "nan" else 0.0)
    for i in range(max(row, 0), min(row + 8, 20)):
        for j in range(max(column, 0), min(column + 16, 30)):
            expected[i - row, j - column] = exact(x)[i, j]
    check(out.checked(), expected)


@triton.jit
def walk(x_ptr, out_ptr, rows, columns, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (rows, columns), (1, rows), (tl.program_id(0) * M, 0), (M, N), (0, 1))
    out = tl.make_block_ptr(out_ptr, (rows, columns), (columns, 1), (tl.program_id(0) * M, 0), (M, N), (1, 0))
    for _ in range(0, columns, N):
        tl.store(out, tl.load(x, boundary_check=(0, 1)), boundary_check=(0, 1))
        x, out = tl.advance(x, (0, N)), tl.advance(out, (0, N))


@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "float64"])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (16, 32), (33, 70)])
def test_block_pointers_that_advance(rng, rows, columns, dtype):
    """From columns that lie together to rows that do."""
    x, out = values(rng, dtype, (columns, rows)), Poisoned(dtype, (rows, columns))
    walk[(triton.cdiv(rows, 16),)](x.to(DEVICE), out.tensor, rows, columns, M=16, N=32)
    assert same_bytes(out.checked(), x.T)


@triton.jit
def cube(x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    tl.store(out_ptr + (c * A + a) * B + b, tl.load(x_ptr + (a * B + b) * C + c))


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5), (4, 8, 16), (7, 1, 33)], ids=str)
@pytest.mark.parametrize("dtype", TYPES)
def test_three_dimensions(rng, dtype, shape):
    x, out = values(rng, dtype, shape), Poisoned(dtype, (shape[2], shape[0], shape[1]))
    cube[(1,)](x.to(DEVICE), out.tensor, A=shape[0], B=shape[1], C=shape[2])
    assert same_bytes(out.checked(), x.permute(2, 0, 1))


@triton.jit
def where_am_i(out_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    place = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(out_ptr + place, x + 100 * y + 10000 * z)


@pytest.mark.parametrize("grid", [(1,), (7,), (3, 4), (2, 3, 5), (1, 1, 9), (0,), (4, 0), (2, 0, 3)], ids=str)
def test_every_program_runs_once(grid):
    sizes = (*grid, 1, 1)[:3]
    out = Poisoned("int32", (sizes[2], sizes[1], sizes[0]))
    where_am_i[grid](out.tensor)
    z, y, x = np.meshgrid(*(np.arange(size) for size in reversed(sizes)), indexing="ij")
    check(out.checked(), x + 100 * y + 10000 * z)


TYPES_OF_STORES = [("int8", "int32"), ("int32", "int8"), ("float32", "float16"), ("float32", "int32"),
                   ("int16", "float64"), ("float64", "bfloat16"), ("int32", "int1"), ("float32", "float8e5")]


@pytest.mark.parametrize(("source", "target"), TYPES_OF_STORES)
def test_stores_convert_to_the_type_of_the_pointer(rng, source, target):
    x = tensor(rng.integers(-4, 5, 100), source)
    out = Poisoned(target, (100,))
    copy[(2,)](x.to(DEVICE), out.tensor, 100, BLOCK=64)
    expected = exact(x) if target != "int1" else exact(x) != 0
    check(out.checked(), expected)
    assert TORCH[target] == out.tensor.dtype
