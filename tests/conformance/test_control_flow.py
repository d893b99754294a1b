"""Loops, branches and early ends: each kernel beside the Python function that it must agree with."""

import numpy as np
import pytest
from expressions import DEVICE, Poisoned, check, draw, exact, tensor

import tegula as triton
import tegula.language as tl


@triton.jit
def visited(out_ptr, count_ptr, start, stop, step):
    count = 0
    for i in range(start, stop, step):
        tl.store(out_ptr + count, i)
        count += 1
    tl.store(count_ptr, count)


RANGES = [(0, 5, 1), (0, 0, 1), (3, -4, 1), (-5, 5, 3), (2, 17, 5), (7, 8, 100)]


@pytest.mark.parametrize("bounds", RANGES, ids=str)
def test_numbers_that_a_range_visits(bounds):
    out, count = Poisoned("int32", (20,)), Poisoned("int32", (1,))
    visited[(1,)](out.tensor, count.tensor, *bounds)
    expected = list(range(*bounds))
    assert count.checked().item() == len(expected)
    check(out.checked()[: len(expected)], expected)


@triton.jit
def visited_downwards(out_ptr, start, stop, STEP: tl.constexpr):
    for i in range(start, stop, STEP):
        tl.store(out_ptr + (start - i) // -STEP, i)


@pytest.mark.parametrize("bounds", [(5, 0, -1), (5, -6, -3), (0, 0, -1), (2, 9, -1), (9, 2, -100)], ids=str)
def test_ranges_that_count_down(bounds):
    out = Poisoned("int32", (20,))
    visited_downwards[(1,)](out.tensor, bounds[0], bounds[1], STEP=bounds[2])
    expected = list(range(*bounds))
    check(out.checked()[: len(expected)], expected)


@triton.jit
def hinted(x_ptr, out_ptr, n, STAGES: tl.constexpr, UNROLL: tl.constexpr, FLATTEN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.int32)
    for k in tl.range(0, n, num_stages=STAGES, loop_unroll_factor=UNROLL, flatten=FLATTEN):
        total = total * 3 + tl.load(x_ptr + k * BLOCK + i)
    tl.store(out_ptr + i, total)


@pytest.mark.parametrize("flatten", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 4])
@pytest.mark.parametrize("stages", [1, 2, 5])
def test_hints_change_nothing(rng, stages, unroll, flatten):
    for n in (0, 1, 3, 7):
        x, out = draw(rng, "int32", (n, 96)), Poisoned("int32", (96,))
        hinted[(1,)](x.to(DEVICE), out.tensor, n, STAGES=stages, UNROLL=unroll, FLATTEN=flatten, BLOCK=96)
        expected = np.zeros(96, np.int32)
        for row in exact(x):
            expected = expected * np.int32(3) + row
        check(out.checked(), expected)


@triton.jit
def unrolled(out_ptr, N: tl.constexpr):
    total = 0
    for i in tl.static_range(N):
        # The index is a constant: it may be an extent.
        total += tl.sum(tl.arange(0, i + 1))
    for i in tl.static_range(10, 0, -3):
        total += i
    tl.store(out_ptr, total)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_loops_that_are_unrolled(n):
    out = Poisoned("int32", (1,))
    unrolled[(1,)](out.tensor, N=n)
    check(out.checked(), [sum(i * (i + 1) // 2 for i in range(n)) + 22])


@triton.jit
def nested(x_ptr, out_ptr, n):
    total = 0
    for i in range(n):
        row = 0
        for j in range(i, n):
            k = 0
            while k <= j:
                row += tl.load(x_ptr + k)
                k += 2
            if row > 50:
                row -= 50
        total = total * 2 + row
    tl.store(out_ptr, total)


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_loops_in_loops(rng, n):
    x, out = draw(rng, "int32", (10,), -9, 20), Poisoned("int32", (1,))
    nested[(1,)](x.to(DEVICE), out.tensor, n)
    values, total = exact(x).tolist(), 0
    for i in range(n):
        row = 0
        for j in range(i, n):
            row += sum(values[0 : j + 1 : 2])
            row -= 50 * (row > 50)
        total = total * 2 + row
    check(out.checked(), [np.int64(total).astype(np.int32)])


@triton.jit
def collatz(x_ptr, out_ptr, most):
    value = tl.load(x_ptr + tl.program_id(0))
    steps = 0
    while value != 1 and steps < most:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        steps += 1
    tl.store(out_ptr + tl.program_id(0), steps)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
@pytest.mark.parametrize("most", [0, 7, 1000])
def test_loops_until_something_holds(dtype, most):
    x, out = tensor(np.arange(1, 31), dtype), Poisoned("int32", (30,))
    collatz[(30,)](x.to(DEVICE), out.tensor, most)

    def steps(value):
        return 0 if value == 1 else 1 + steps(value // 2 if value % 2 == 0 else 3 * value + 1)

    check(out.checked(), [min(steps(value), most) for value in range(1, 31)])


@triton.jit
def converging(x_ptr, out_ptr, limit, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    turns = 0
    while tl.condition(tl.max(x) > limit):
        x = tl.where(x > limit, x // 2, x)
        turns += 1
    tl.store(out_ptr + i, x)
    tl.store(out_ptr + BLOCK, turns)


@pytest.mark.parametrize("block", [1, 33, 256])
def test_conditions_on_blocks_that_are_carried(rng, block):
    x, out = draw(rng, "int32", (block,), 0, 10**6), Poisoned("int32", (block + 1,))
    converging[(1,)](x.to(DEVICE), out.tensor, 100, BLOCK=block)
    values, turns = exact(x).copy(), 0
    while values.max() > 100:
        values, turns = np.where(values > 100, values // 2, values), turns + 1
    check(out.checked(), [*values, turns])


@triton.jit
def carried(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """A scalar, a truth value, a tuple, a block and pointers, all carried."""
    i = tl.arange(0, BLOCK)
    pair, flag, block, pointers = (1, 2), n > 2, tl.zeros((BLOCK,), tl.int32), x_ptr + i
    for k in range(n):
        pair = pair[1], pair[0] + pair[1]
        block += tl.load(pointers) * pair[0]
        pointers += BLOCK
        flag = flag and k < 5
        if flag:
            block += 1
    tl.store(out_ptr + i, block)
    tl.store(out_ptr + BLOCK, pair[0])
    tl.store(out_ptr + BLOCK + 1, flag)


@pytest.mark.parametrize("n", [0, 1, 3, 8])
@pytest.mark.parametrize("block", [1, 50])
def test_values_that_are_carried(rng, block, n):
    x, out = draw(rng, "int32", (n, block), -99, 99), Poisoned("int32", (block + 2,))
    carried[(1,)](x.to(DEVICE), out.tensor, n, BLOCK=block)
    a, b, flag, total = 1, 2, n > 2, np.zeros(block, np.int64)
    for k in range(n):
        a, b = b, a + b
        flag = flag and k < 5
        total = total + exact(x)[k] * a + flag
    check(out.checked(), [*total, a, flag])


@triton.jit
def classified(x):
    if x < 0:
        return -1
    if x == 0:
        return 0
    elif x < 10:
        result = 1
    else:
        if x % 2 == 0:
            result = 2
        else:
            result = 3
    return result


@triton.jit
def branches(x_ptr, out_ptr, n):
    if tl.program_id(0) >= n:
        return
    tl.store(out_ptr + tl.program_id(0), classified(tl.load(x_ptr + tl.program_id(0))))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_branches_and_early_returns(dtype):
    x, out = tensor([-5, -1, 0, 1, 9, 10, 11, 99, 100, 0], dtype), Poisoned("int32", (10,))
    branches[(16,)](x.to(DEVICE), out.tensor, 10)

    def expected(v):
        return -1 if v < 0 else 0 if v == 0 else 1 if v < 10 else 2 if v % 2 == 0 else 3

    check(out.checked(), [expected(v) for v in exact(x)])


@triton.jit
def block_branches(x_ptr, out_ptr, flag, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    if flag > 1:
        x = tl.cumsum(x)
        if flag > 2:
            x = tl.sort(x)
    elif flag == 1:
        x = tl.flip(x)
        tl.store(out_ptr + BLOCK, tl.sum(x))
    tl.store(out_ptr + i, x)


@pytest.mark.parametrize("flag", [0, 1, 2, 3])
@pytest.mark.parametrize("block", [8, 100])
def test_blocks_in_branches(rng, block, flag):
    x, out = draw(rng, "int32", (block,), -99, 99), Poisoned("int32", (block + 1,))
    block_branches[(1,)](x.to(DEVICE), out.tensor, flag, BLOCK=block)
    values = exact(x)
    expected = [values, values[::-1], np.cumsum(values), np.sort(np.cumsum(values))][flag]
    result = out.checked()
    check(result[:block], expected)
    if flag == 1:
        check(result[block], values.sum())


@triton.jit
def constant_branches(x_ptr, out_ptr, KIND: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    if KIND == "wide":
        # The type may change where the branch is known.
        x = x.to(tl.int64)
        x *= 2
    elif KIND is None:
        x = x.no_such_method()
    else:
        x = -x
    scale = 2 if KIND == "wide" else 3
    tl.store(out_ptr + i, x * scale)
    if KIND == "wide":
        return
    tl.store(out_ptr + i, x - 1)


def test_branches_that_are_known(rng):
    x = draw(rng, "int32", (40,), -99, 99)
    for kind, expected in (("wide", 4 * exact(x)), ("other", -exact(x) - 1)):
        out = Poisoned("int64", (40,))
        constant_branches[(1,)](x.to(DEVICE), out.tensor, KIND=kind, BLOCK=40)
        check(out.checked(), expected)
    with pytest.raises(triton.CompilationError, match="no_such_method"):
        constant_branches[(1,)](x.to(DEVICE), Poisoned("int64", (40,)).tensor, KIND=None, BLOCK=40)


@triton.jit
def updates(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    before = x
    x += 3
    x -= 1
    x *= 5
    x //= 2
    x %= 1000
    x <<= 3
    x >>= 1
    x &= 0xFFF
    x |= 1
    x ^= 0x55
    tl.store(out_ptr + i, x)
    tl.store(out_ptr + BLOCK + i, before)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_assignments_that_update(rng, dtype):
    x, out = draw(rng, dtype, (64,), 0, 10**6), Poisoned(dtype, (128,))
    updates[(1,)](x.to(DEVICE), out.tensor, BLOCK=64)
    value = exact(x).astype(np.int64)
    changed = ((((((value + 2) * 5) // 2 % 1000) << 3) >> 1 & 0xFFF) | 1) ^ 0x55
    check(out.checked(), np.concatenate([changed, value]))


@triton.jit
def goes_on(x_ptr, KIND: tl.constexpr):
    x = tl.load(x_ptr)
    if KIND == "type":
        for _ in range(3):
            x = x.to(tl.float32) + 0.5
    elif KIND == "branch":
        if x > 0:
            y = 1
        else:
            y = 1.5
        x = y
    elif KIND == "name":
        if x > 0:
            z = 1
        x = z
    elif KIND == "return":
        for i in range(x):
            if i == 2:
                return
    elif KIND == "truth":
        if tl.arange(0, 4) > 2:
            x = x + 1
    elif KIND == "shape":
        y = tl.zeros((2,), tl.int32)
        for _ in range(x):
            y = tl.join(y, y)
    tl.store(x_ptr, x.to(tl.int32))


@pytest.mark.parametrize("kind", ["type", "branch", "name", "return", "truth", "shape"])
def test_what_cannot_go_on_is_refused(kind):
    with pytest.raises(triton.CompilationError):
        goes_on[(1,)](tensor([3], "int32").to(DEVICE), KIND=kind)


@triton.jit
def over_tuples(out_ptr, values, SCALES: tl.constexpr):
    total = 0
    for value in values:
        total += value
    for scale in SCALES:
        total *= scale
    tl.store(out_ptr, total)


@pytest.mark.parametrize("values", [(5,), (1, 2, 3), (7, -7, 100, 2)], ids=str)
def test_loops_over_tuples(values):
    out = Poisoned("int32", (1,))
    over_tuples[(1,)](out.tensor, values, SCALES=(2, 3))
    check(out.checked(), [6 * sum(values)])
