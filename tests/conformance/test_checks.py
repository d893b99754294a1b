"""Assertions, promises and messages, when a kernel is compiled and when it runs."""

import pytest
from expressions import DEVICE, Poisoned, check, draw, exact, tensor

import tegula as triton
import tegula.language as tl
from tegula.errors import KernelAssertionError

pytestmark = pytest.mark.skipif(DEVICE == "cuda", reason="an assertion that fails ends the use of the device")


@triton.jit
def asserted(x_ptr, out_ptr, limit, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.device_assert(x < limit, "x is below the limit", mask=i % 2 == 0)
    assert limit > 0, "the limit is positive"
    tl.store(out_ptr + i, x + 1)


@pytest.mark.parametrize("block", [1, 32, 100])
def test_assertions_that_hold(rng, block):
    x, out = draw(rng, "int32", (2 * block,), 0, 99), Poisoned("int32", (2 * block,))
    asserted[(2,)](x.to(DEVICE), out.tensor, 100, BLOCK=block)
    check(out.checked(), exact(x) + 1)


def failure(capfd, values, limit, block):
    """What is said where an assertion fails: by the error, or before it by the kernel, which a GPU then stops."""
    with pytest.raises(KernelAssertionError) as caught:
        asserted[(len(values) // block,)](tensor(values, "int32").to(DEVICE), Poisoned("int32", (len(values),)).tensor,
                                          limit, BLOCK=block)
    return str(caught.value) + "".join(capfd.readouterr())


@pytest.mark.parametrize("place", [0, 2, 98, 198])
def test_assertions_that_fail_are_named(capfd, place):
    values = [0] * 200
    values[place] = 100
    said = failure(capfd, values, 100, 100)
    assert "x is below the limit" in said and "test_checks.py" in said


@pytest.mark.parametrize("place", [1, 99, 199])
def test_what_the_mask_leaves_out_is_not_asserted(place):
    values = [0] * 200
    values[place] = 100
    out = Poisoned("int32", (200,))
    asserted[(2,)](tensor(values, "int32").to(DEVICE), out.tensor, 100, BLOCK=100)
    check(out.checked(), [v + 1 for v in values])


def test_assertions_of_scalars(capfd):
    assert "the limit is positive" in failure(capfd, [-5] * 8, 0, 8)


@triton.jit
def promised(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.assume(n > 0)
    i = tl.max_constancy(tl.multiple_of(tl.arange(0, BLOCK), 1), 1)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.debug_barrier()
    tl.store(out_ptr + i, tl.expect_zero(x, i >= n))


@pytest.mark.parametrize("n", [1, 50, 64])
def test_promises_that_are_kept(rng, n):
    x, out = draw(rng, "float32", (64,)), Poisoned("float32", (64,))
    promised[(1,)](x.to(DEVICE), out.tensor, n, BLOCK=64)
    check(out.checked()[:n], exact(x)[:n])
    check(out.checked()[n:], 0)


@triton.jit
def prints(x_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.device_print("block", x)
    if n > 0:
        tl.device_print("scalar", n, tl.sum(x))
    tl.device_print("bits", n, hex=True)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "uint8"])
def test_messages(capfd, dtype):
    prints[(2,)](tensor([7, 11], dtype).to(DEVICE), 37, BLOCK=2)
    said = capfd.readouterr().out
    for text in ("block", "scalar", "7", "11", "18", "37", "25"):
        assert text in said, said
    assert said.count("scalar") >= 2


@triton.jit
def compiled(out_ptr, N: tl.constexpr):
    tl.static_print("the extent is", N)
    tl.static_assert(N % 2 == 0, "the extent is even")
    tl.store(out_ptr + tl.arange(0, N), N)


def test_messages_and_assertions_of_the_compilation(capfd):
    out = Poisoned("int32", (6,))
    compiled[(1,)](out.tensor, N=6)
    check(out.checked(), 6)
    assert "the extent is 6" in capfd.readouterr().out
    with pytest.raises(triton.CompilationError, match="the extent is even"):
        compiled[(1,)](out.tensor, N=5)
