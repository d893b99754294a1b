"""Atomic operations of every type, order and scope: what memory holds, and what comes back."""

import numpy as np
import pytest
from expressions import DEVICE, FLOATS, SIGNED, Poisoned, check, draw, exact, tensor

import tegula as triton
import tegula.language as tl

WORDS = ("int32", "uint32", "int64", "uint64")
#: By name of the operation: numpy's, and the types that it takes.
OPERATIONS = {
    "add": (np.add, (*WORDS, *FLOATS)), "max": (np.maximum, (*WORDS, "float32", "float64")),
    "min": (np.minimum, (*WORDS, "float32", "float64")), "and": (np.bitwise_and, WORDS),
    "or": (np.bitwise_or, WORDS), "xor": (np.bitwise_xor, WORDS),
}
CASES = [(name, dtype) for name, (_, types) in OPERATIONS.items() for dtype in types]


@triton.jit
def operate(pointer, value, mask, OP: tl.constexpr, SEM: tl.constexpr, SCOPE: tl.constexpr):
    if OP == "add":
        return tl.atomic_add(pointer, value, mask=mask, sem=SEM, scope=SCOPE)
    elif OP == "max":
        return tl.atomic_max(pointer, value, mask=mask, sem=SEM, scope=SCOPE)
    elif OP == "min":
        return tl.atomic_min(pointer, value, mask=mask, sem=SEM, scope=SCOPE)
    elif OP == "and":
        return tl.atomic_and(pointer, value, mask=mask, sem=SEM, scope=SCOPE)
    elif OP == "or":
        return tl.atomic_or(pointer, value, mask=mask, sem=SEM, scope=SCOPE)
    elif OP == "xor":
        return tl.atomic_xor(pointer, value, mask=mask, sem=SEM, scope=SCOPE)
    else:
        return tl.atomic_xchg(pointer, value, mask=mask, sem=SEM, scope=SCOPE)


@triton.jit
def distinct(memory_ptr, x_ptr, mask_ptr, old_ptr, OP: tl.constexpr, SEM: tl.constexpr, SCOPE: tl.constexpr,
             BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mask = tl.load(mask_ptr + i)
    old = operate(memory_ptr + i, tl.load(x_ptr + i), mask, OP, SEM, SCOPE)
    tl.store(old_ptr + i, old, mask=mask)


def small(rng, dtype, shape):
    """Numbers whose sums are exact in every type and order."""
    return tensor(rng.integers(-9 if dtype in (*SIGNED, *FLOATS) else 0, 10, shape), dtype)


@pytest.mark.parametrize(("name", "dtype"), [*CASES, *[("xchg", dtype) for dtype in (*WORDS, "float32", "float64")]])
def test_places_of_their_own(rng, name, dtype):
    function = OPERATIONS[name][0] if name != "xchg" else lambda before, x: x
    for block in (1, 5, 64, 300):
        before, x, mask = small(rng, dtype, (block,)), small(rng, dtype, (block,)), draw(rng, "int1", (block,))
        memory, old = before.to(DEVICE, copy=True), Poisoned(dtype, (block,))
        distinct[(1,)](memory, x.to(DEVICE), mask.to(DEVICE), old.tensor, OP=name, SEM=None, SCOPE=None, BLOCK=block)
        check(memory.cpu(), np.where(mask.numpy(), function(exact(before), exact(x)), exact(before)))
        check(old.checked()[mask], exact(before)[mask.numpy()])


@triton.jit
def shared(memory_ptr, x_ptr, place_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(place_ptr + i, mask=i < n, other=0)
    operate(memory_ptr + place, tl.load(x_ptr + i, mask=i < n), i < n, OP, None, None)


@pytest.mark.parametrize("places", [1, 7, 100])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_places_that_many_share(rng, name, dtype, places):
    n = 200
    before, x = small(rng, dtype, (places,)), small(rng, dtype, (n,))
    place, memory = tensor(rng.integers(0, places, n), "int32"), before.to(DEVICE, copy=True)
    shared[(triton.cdiv(n, 64),)](memory, x.to(DEVICE), place.to(DEVICE), n, OP=name, BLOCK=64)
    expected = exact(before).copy()
    OPERATIONS[name][0].at(expected, place.numpy(), exact(x))
    check(memory.cpu(), expected)


@triton.jit
def one_place(memory_ptr, old_ptr, OP: tl.constexpr, SEM: tl.constexpr, SCOPE: tl.constexpr):
    old = operate(memory_ptr, tl.program_id(0) + 1, None, OP, SEM, SCOPE)
    tl.store(old_ptr + tl.program_id(0), old)


@pytest.mark.parametrize("scope", ["cta", "gpu", "sys", None])
@pytest.mark.parametrize("sem", ["relaxed", "acquire", "release", "acq_rel", None])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_scalars_with_every_order_and_scope(dtype, sem, scope):
    programs = 9 if scope != "cta" else 1
    for name, total in (("add", sum(range(1, programs + 1))), ("max", programs)):
        memory, old = tensor([0], dtype).to(DEVICE), Poisoned(dtype, (programs,))
        one_place[(programs,)](memory, old.tensor, OP=name, SEM=sem, SCOPE=scope)
        check(memory.cpu(), [total])
        if name == "add":
            # Sums of some of the numbers, each once.
            assert len(set(old.checked().tolist())) == programs and 0 in old.checked().tolist()


@triton.jit
def swapped(memory_ptr, compare_ptr, x_ptr, old_ptr, SEM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    old = tl.atomic_cas(memory_ptr + i, tl.load(compare_ptr + i), tl.load(x_ptr + i), sem=SEM)
    tl.store(old_ptr + i, old)


@pytest.mark.parametrize("sem", ["relaxed", "acquire", "release", "acq_rel", None])
@pytest.mark.parametrize("dtype", [*WORDS, "int16", "uint16", "float32", "float64"])
def test_comparisons_that_swap(rng, dtype, sem):
    for block in (1, 30, 200):
        before, compare, x = (tensor(rng.integers(0, 3, block), dtype) for _ in range(3))
        memory, old = before.to(DEVICE, copy=True), Poisoned(dtype, (block,))
        swapped[(1,)](memory, compare.to(DEVICE), x.to(DEVICE), old.tensor, SEM=sem, BLOCK=block)
        check(memory.cpu(), np.where(exact(before) == exact(compare), exact(x), exact(before)))
        check(old.checked(), exact(before))


@triton.jit
def taken_in_turn(lock_ptr, total_ptr, n):
    """Guards a plain sum with a lock."""
    for _ in range(n):
        while tl.atomic_cas(lock_ptr, 0, 1, sem="acquire") == 1:
            pass
        tl.store(total_ptr, tl.load(total_ptr, volatile=True) + 1)
        tl.atomic_xchg(lock_ptr, 0, sem="release")


def test_a_lock():
    lock, total = tensor([0], "int32").to(DEVICE), tensor([0], "int32").to(DEVICE)
    taken_in_turn[(6,)](lock, total, 5)
    assert (lock.item(), total.item()) == (0, 30)


@triton.jit
def last_one_adds(x_ptr, partial_ptr, count_ptr, out_ptr, n, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial_ptr + tl.program_id(0), tl.sum(tl.load(x_ptr + i, mask=i < n, other=0)))
    if tl.atomic_add(count_ptr, 1) == PROGRAMS - 1:
        tl.store(out_ptr, tl.sum(tl.load(partial_ptr + tl.arange(0, PROGRAMS), volatile=True)))


@pytest.mark.parametrize("n", [1, 100, 999])
def test_the_last_program_finishes(rng, n):
    x, partial, out = draw(rng, "int32", (n,), -99, 99), Poisoned("int32", (8,)), Poisoned("int32", (1,))
    count = tensor([0], "int32").to(DEVICE)
    last_one_adds[(8,)](x.to(DEVICE), partial.tensor, count, out.tensor, n, PROGRAMS=8, BLOCK=128)
    check(out.checked(), [exact(x).sum()])


@triton.jit
def rows_of_sums(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    # Values, masks and pointers broadcast.
    tl.atomic_add(out_ptr + tl.arange(0, N)[None, :] + tl.zeros((M, 1), tl.int32), x, mask=tl.arange(0, M)[:, None] > 0)
    tl.atomic_max(out_ptr + N + tl.arange(0, N), 7)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
@pytest.mark.parametrize("shape", [(1, 1), (4, 32), (17, 5), (64, 64)], ids=str)
def test_operands_broadcast(rng, shape, dtype):
    x = small(rng, dtype, shape)
    memory = tensor(np.zeros(2 * shape[1]), dtype).to(DEVICE)
    rows_of_sums[(1,)](x.to(DEVICE), memory, M=shape[0], N=shape[1])
    check(memory.cpu(), np.concatenate([exact(x)[1:].sum(axis=0), np.full(shape[1], 7)]))


@triton.jit
def wrong(pointer, value, SEM: tl.constexpr, SCOPE: tl.constexpr):
    tl.atomic_add(pointer, value, sem=SEM, scope=SCOPE)


@pytest.mark.parametrize(("dtype", "sem", "scope"), [("int32", "strong", None), ("int32", None, "block"),
                                                     ("int8", None, None), ("uint16", None, None)])
def test_what_is_not_there_is_refused(dtype, sem, scope):
    with pytest.raises(triton.CompilationError):
        wrong[(1,)](tensor([0], dtype).to(DEVICE), 1, SEM=sem, SCOPE=scope)
