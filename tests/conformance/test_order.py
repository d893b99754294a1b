"""Sorting, the largest elements, histograms, gathering and reversing."""

import numpy as np
import pytest
from expressions import FLOATS, INTEGERS, NUMBERS, check, draw, evaluate, exact, tensor

SHAPES = [(1,), (8,), (13,), (128,), (3, 50), (32, 4), (2, 3, 16)]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_sorting(rng, dtype, descending):
    for shape in SHAPES:
        for axis in range(len(shape)):
            x = draw(rng, dtype, shape)
            expected = np.sort(exact(x), axis=axis)
            expected = np.flip(expected, axis) if descending else expected
            check(evaluate(f"tl.sort(x, {axis}, descending={descending})", x, into=dtype), expected)
        last = np.sort(exact(x), axis=-1)
        check(evaluate("x.sort()", x, into=dtype), last)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_is_larger_than_all_numbers(rng, dtype, descending):
    values = rng.standard_normal((4, 32))
    values[rng.random((4, 32)) < 0.2] = np.nan
    values[0, :3] = np.inf, -np.inf, np.nan
    x = tensor(values, dtype)
    expected = np.sort(exact(x), axis=1)
    expected = expected[:, ::-1] if descending else expected
    check(evaluate(f"tl.sort(x, descending={descending})", x, into=dtype), expected)


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_the_largest(rng, dtype, descending):
    for shape, k in (((8,), 1), ((64,), 8), ((5, 32), 4), ((4, 16), 16), ((3, 50), 7)):
        x = draw(rng, dtype, shape)
        ordered = np.sort(exact(x), axis=-1)
        ordered = ordered[..., ::-1] if descending else ordered
        result = evaluate(f"tl.topk(x, {k}, descending={descending})", x, into=dtype, shape=(*shape[:-1], k))
        check(result, ordered[..., :k])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_the_largest_along_an_axis(rng, dtype, axis):
    x = draw(rng, dtype, (12, 20))
    ordered = np.flip(np.sort(exact(x), axis=axis), axis)
    shape = (5, 20) if axis == 0 else (12, 5)
    check(evaluate(f"tl.topk(x, 5, dim={axis})", x, into=dtype, shape=shape), np.take(ordered, range(5), axis=axis))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8"])
@pytest.mark.parametrize("extent", [2, 32, 256])
def test_merging_what_rises_and_falls(rng, extent, dtype, descending):
    values = np.sort(exact(draw(rng, dtype, (extent,))))
    x = tensor(np.concatenate([values[::2], values[1::2][::-1]]), dtype)
    expected = values[::-1] if descending else values
    check(evaluate(f"tl.bitonic_merge(x, descending={descending})", x, into=dtype), expected)


@pytest.mark.parametrize("dtype", ["int1", *NUMBERS, "float8e5"])
def test_reversing(rng, dtype):
    for shape in SHAPES:
        x = draw(rng, dtype, shape)
        for axis in range(len(shape)):
            check(evaluate(f"tl.flip(x, {axis})", x, into=dtype), np.flip(exact(x), axis))
        check(evaluate("x.flip()", x, into=dtype), np.flip(exact(x), -1))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("bins", [1, 2, 16, 100])
def test_histograms(rng, bins, dtype):
    for extent in (1, 32, 100, 1024):
        x = draw(rng, dtype, (extent,), 0, bins - 1)
        expected = np.bincount(exact(x).astype(int), minlength=bins)
        check(evaluate(f"tl.histogram(x, {bins})", x, into="int32", shape=(bins,)), expected)
        mask = draw(rng, "int1", (extent,))
        chosen = np.bincount(exact(x).astype(int)[mask.numpy()], minlength=bins)
        check(evaluate(f"tl.histogram(x, {bins}, mask=y)", x, mask, into="int32", shape=(bins,)), chosen)


@pytest.mark.parametrize("index_type", ["int8", "int32", "int64", "uint32"])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_gathering(rng, dtype, index_type):
    for shape, axis, extent in (((32,), 0, 32), ((13,), 0, 40), ((8, 16), 0, 8), ((8, 16), 1, 5), ((4, 5, 6), 1, 9)):
        x = draw(rng, dtype, shape)
        index_shape = (*shape[:axis], extent, *shape[axis + 1 :])
        index = tensor(rng.integers(0, shape[axis], index_shape), index_type)
        expected = np.take_along_axis(exact(x), exact(index).astype(int), axis)
        check(evaluate(f"tl.gather(x, y, {axis})", x, index, into=dtype, shape=index_shape), expected)


def test_sorting_pairs_by_their_keys(rng):
    """Sorts positions along with values: both in one word."""
    x = draw(rng, "uint32", (4, 64), 0, 2**31)
    expression = "tl.sort((x.to(tl.uint64) << 32) | tl.arange(0, 64)[None, :].to(tl.uint64)) & 0xffffffff"
    check(evaluate(expression, x, into="uint64"), np.argsort(exact(x), axis=1, kind="stable"))
