"""Scans of every type along every axis, in both directions, and with functions of the user's."""

import numpy as np
import pytest
from expressions import FLOATS, INTEGERS, check, draw, evaluate, exact, tensor, units

SHAPES = [(1,), (7,), (128,), (1000,), (3, 50), (33, 1), (5, 3, 17)]
AXES = [(shape, axis) for shape in SHAPES for axis in range(len(shape))]


def scanned(function, values, axis, reverse):
    values = np.flip(values, axis) if reverse else values
    result = function(values, axis=axis)
    return np.flip(result, axis) if reverse else result


def added_type(dtype):
    """The type in which a type is added."""
    narrow = {"int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32", "bfloat16": "float32"}
    return narrow.get(dtype, dtype)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_running_sums_of_integers(rng, dtype, reverse):
    into = added_type(dtype)
    for shape, axis in AXES:
        x = draw(rng, dtype, shape)
        expected = scanned(np.cumsum, exact(x).astype(into), axis, reverse)
        check(evaluate(f"tl.cumsum(x, {axis}, reverse={reverse})", x, into=into), expected)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_running_sums_of_floats(rng, dtype, reverse):
    into = added_type(dtype)
    for shape, axis in AXES:
        x = draw(rng, dtype, shape)
        result = exact(evaluate(f"x.cumsum({axis}, reverse={reverse})", x, into=into))
        error = shape[axis] * units(into)[0] * scanned(np.cumsum, np.abs(exact(x)), axis, reverse)
        assert (np.abs(result - scanned(np.cumsum, exact(x), axis, reverse)) <= error).all()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_running_products_of_integers(rng, dtype, reverse):
    for shape, axis in AXES:
        x = draw(rng, dtype, shape)
        expected = scanned(lambda v, axis: np.cumprod(v, axis=axis, dtype=v.dtype), exact(x), axis, reverse)
        check(evaluate(f"tl.cumprod(x, {axis}, reverse={reverse})", x, into=dtype), expected)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_running_products_of_floats(rng, dtype, reverse):
    into = "float32" if dtype == "bfloat16" else dtype
    for shape, axis in AXES:
        # Powers of two have exact products.
        x = tensor(2.0 ** rng.integers(-1, 2, shape) * rng.choice([-1, 1], shape), dtype)
        expected = scanned(np.cumprod, exact(x), axis, reverse)
        inside = np.abs(np.log2(np.abs(expected))).max() < 14
        result = evaluate(f"tl.cumprod(x, {axis}, reverse={reverse})", x, into=into)
        check(result, expected) if inside or into != "float16" else None


@pytest.mark.parametrize(("dtype", "into"), [("int8", "int64"), ("int32", "int64"), ("float16", "float32"),
                                             ("float32", "float64"), ("uint8", "float32")])
def test_running_sums_in_a_type_of_choice(rng, dtype, into):
    x = tensor(rng.integers(0, 100, (5, 40)), dtype)
    check(evaluate(f"tl.cumsum(x, 1, dtype=tl.{into})", x, into=into), np.cumsum(exact(x).astype(float), axis=1))


COMBINERS = {
    "tl.maximum(a, b)": np.maximum, "tl.minimum(a, b)": np.minimum, "a | b": np.bitwise_or,
    "a ^ b": np.bitwise_xor, "b": None,
}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint8"])
@pytest.mark.parametrize("combiner", COMBINERS)
def test_functions_of_the_user(rng, combiner, dtype, reverse):
    before = f"@triton.jit\ndef combine(a, b):\n    return ({combiner}).to(a.dtype)\n"
    for shape, axis in AXES:
        x = draw(rng, dtype, shape)
        expression = f"tl.associative_scan(x, {axis}, combine, reverse={reverse})"
        result = evaluate(expression, x, into=dtype, before=before)
        function = COMBINERS[combiner]
        # The last operand of every prefix is the element itself.
        expected = exact(x) if combiner == "b" else scanned(function.accumulate, exact(x), axis, reverse)
        check(result, expected)


#: Steps `h -> factor * h + offset`, one after another: associative, and not commutative.
STEPS = """@triton.jit
def then(factor_a, offset_a, factor_b, offset_b):
    return factor_a * factor_b, factor_b * offset_a + offset_b
"""


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (8, 64), (2, 500)], ids=str)
def test_recurrences(rng, shape, reverse):
    factor, offset = draw(rng, "uint32", shape), draw(rng, "uint32", shape)
    expression = f"tl.associative_scan((x, y), 1, then, reverse={reverse})"
    _, state = evaluate(expression, factor, offset, into=["uint32"] * 2, before=STEPS)
    expected, h = np.zeros(shape, np.uint32), np.zeros(shape[0], np.uint32)
    order = range(shape[1])[::-1] if reverse else range(shape[1])
    for column in order:
        h = exact(factor)[:, column] * h + exact(offset)[:, column]
        expected[:, column] = h
    check(state, expected)


SEGMENTED = """@triton.jit
def joined(sum_a, start_a, sum_b, start_b):
    return tl.where(start_b, sum_b, sum_a + sum_b), start_a | start_b
"""


@pytest.mark.parametrize("extent", [1, 20, 100, 512])
def test_sums_of_segments(rng, extent):
    x, start = draw(rng, "int32", (extent,), -99, 99), tensor(rng.random(extent) < 0.2, "int1")
    total, _ = evaluate("tl.associative_scan((x, y), 0, joined)", x, start, into=["int32", "int1"], before=SEGMENTED)
    expected, running = [], 0
    for value, begins in zip(x.tolist(), start.tolist(), strict=True):
        running = value if begins else running + value
        expected.append(running)
    check(total, expected)


@pytest.mark.parametrize("warps", [1, 2, 8])
@pytest.mark.parametrize("shape", [(16, 16), (3, 200), (256, 4)], ids=str)
def test_any_number_of_warps(rng, shape, warps):
    x = draw(rng, "int32", shape)
    down, right = evaluate("tl.cumsum(x, 0), tl.cumsum(x, 1, reverse=True)", x, num_warps=warps, into=["int32"] * 2)
    check(down, scanned(np.cumsum, exact(x), 0, False).astype(np.int32))
    check(right, scanned(lambda v, axis: np.cumsum(v, axis=axis, dtype=np.int32), exact(x), 1, True))
