"""Atomic loads, stores and waits."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def hands_over(flag_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    if tl.program_id(0) == 0:
        tl.store(out_ptr + i, i + 1)
        tl.atomic_store(flag_ptr + i, 7)
    else:
        seen = tl.atomic_poll(flag_ptr + i, 7)
        tl.store(out_ptr + N + i, tl.load(out_ptr + i) * seen)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_a_program_waits_for_an_earlier_one(dtype):
    out = np.zeros(10, np.int32)
    hands_over[(2,)](np.zeros(5, dtype), out, N=5)
    np.testing.assert_array_equal(out, [1, 2, 3, 4, 5] * 2)


@triton.jit
def waits(flag_ptr, seen_ptr, timeout):
    i = tl.arange(0, 3)
    tl.store(seen_ptr + i, tl.atomic_poll(flag_ptr + i, 7, timeout_ns=timeout))


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize("timeout", [0, 1, 100])
def test_a_wait_ends_after_a_while(dtype, timeout):
    seen = np.full(3, 9, np.int32)
    waits[(1,)](np.array([7, 8, 7], dtype), seen, timeout)
    np.testing.assert_array_equal(seen, [1, 0, 1])


@triton.jit
def copies(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.atomic_load(x_ptr + i, mask=i < n, sem="relaxed", scope="sys")
    tl.atomic_store(out_ptr + i, x, mask=i < n)


@pytest.mark.parametrize("dtype", [np.int32, np.uint64, np.float32, np.float64])
def test_loads_and_stores_move_bits_under_a_mask(dtype):
    x = np.array([-0.0, np.nan, 3, 4, 5]) if np.dtype(dtype).kind == "f" else np.array([1, 2, 3, 4, 5])
    x, out = x.astype(dtype), np.full(5, 77, dtype)
    copies[(1,)](x, out, 3, N=5)
    assert out[:3].tobytes() == x[:3].tobytes()
    np.testing.assert_array_equal(out[3:], 77)


@triton.jit
def loads_halves(x_ptr, out_ptr):
    i = tl.arange(0, 3)
    tl.store(out_ptr + i, tl.atomic_load(x_ptr + i))


def test_halves_are_loaded():
    x, out = np.array([1, -2.5, 3], np.float16), np.zeros(3, np.float32)
    loads_halves[(1,)](x, out)
    np.testing.assert_array_equal(out, x)


@triton.jit
def orders_wrongly(x_ptr, out_ptr):
    tl.store(out_ptr, tl.atomic_load(x_ptr, sem="release"))


@triton.jit
def loads_bytes(x_ptr, out_ptr):
    tl.store(out_ptr, tl.atomic_load(x_ptr.to(tl.pointer_type(tl.int8))))


@pytest.mark.parametrize("kernel,message", [
    (orders_wrongly, "`sem` is \"release\", which is not one of its values"),
    (loads_bytes, "`tl.atomic_load` does not apply to elements of type int8"),
])
def test_mistakes_are_named(kernel, message):
    with pytest.raises(triton.CompilationError) as error:
        kernel[(1,)](np.zeros(1, np.int32), np.zeros(1, np.int32))
    assert message in str(error.value)
