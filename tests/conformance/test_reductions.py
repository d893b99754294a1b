"""Reductions of every type along every axis, their positions, and reductions with functions of the user's."""

import numpy as np
import pytest
from expressions import FLOATS, INTEGERS, NUMBERS, check, draw, evaluate, exact, tensor, units

SHAPES = [(1,), (7,), (128,), (1000,), (3, 50), (64, 1), (5, 3, 17)]
AXES = [(shape, axis) for shape in SHAPES for axis in range(len(shape))]


def widened(dtype):
    """The type in which sums, and without positions extrema, of a type come."""
    narrow = {"int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}
    return narrow.get(dtype, dtype)


def extremum_type(dtype):
    return {"float16": "float32", "bfloat16": "float32", "uint8": "int32", "uint16": "int32"}.get(dtype, widened(dtype))


def sum_error(x, axis, dtype):
    """How far a sum may be from the exact one, added in any order."""
    values = np.abs(exact(x))
    return values.size * units(dtype)[0] * values.sum(axis=axis)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(("shape", "axis"), AXES, ids=str)
def test_sums_of_integers(rng, shape, axis, dtype):
    into = widened(dtype)
    x = draw(rng, dtype, shape)
    result_shape = shape[:axis] + shape[axis + 1 :]
    with np.errstate(over="ignore"):
        expected = exact(x).sum(axis=axis, dtype=into)
    check(evaluate(f"tl.sum(x, axis={axis})", x, into=into, shape=result_shape), expected)
    kept = (*shape[:axis], 1, *shape[axis + 1 :])
    result = evaluate(f"tl.sum(x, {axis - len(shape)}, keep_dims=True)", x, into=into, shape=kept)
    check(result, expected.reshape(kept))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "axis"), AXES, ids=str)
def test_sums_of_floats(rng, shape, axis, dtype):
    x = draw(rng, dtype, shape)
    result_shape = shape[:axis] + shape[axis + 1 :]
    result = exact(evaluate(f"x.sum({axis})", x, into=dtype, shape=result_shape))
    assert (np.abs(result - exact(x).sum(axis=axis)) <= sum_error(x, axis, dtype)).all()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_sums_of_whole_blocks(rng, dtype):
    for shape in SHAPES:
        x = draw(rng, dtype, shape, 0, 3) if dtype in INTEGERS else tensor(rng.integers(-1, 2, shape), dtype)
        into = widened(dtype)
        check(evaluate("tl.sum(x)", x, into=into, shape=()), exact(x).sum(dtype=None if dtype in FLOATS else into))


@pytest.mark.parametrize(("dtype", "into"), [("int8", "int64"), ("int32", "int64"), ("uint8", "float32"),
                                             ("float16", "float32"), ("bfloat16", "float32"), ("float32", "float64")])
def test_sums_in_a_type_of_choice(rng, dtype, into):
    x = tensor(rng.integers(0, 100, (5, 40)), dtype)
    check(evaluate(f"tl.sum(x, 1, dtype=tl.{into})", x, into=into, shape=(5,)), exact(x).astype(float).sum(axis=1))


def test_sums_of_truth_values_count(rng):
    x = draw(rng, "int1", (7, 33))
    check(evaluate("tl.sum(x, 1)", x, into="uint32", shape=(7,)), x.numpy().sum(axis=1))
    check(evaluate("tl.sum(x)", x, into="uint32", shape=()), x.numpy().sum())


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize(("name", "reference"), [("max", np.max), ("min", np.min)])
def test_extrema(rng, name, reference, dtype):
    for shape, axis in AXES:
        x = draw(rng, dtype, shape)
        result_shape = shape[:axis] + shape[axis + 1 :]
        check(evaluate(f"tl.{name}(x, {axis})", x, into=extremum_type(dtype), shape=result_shape),
              reference(exact(x), axis=axis))
    check(evaluate(f"x.{name}()", x, into=extremum_type(dtype), shape=()), reference(exact(x)))


def last(values, axis, function):
    flipped = np.flip(values, axis)
    return values.shape[axis] - 1 - function(flipped, axis)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize(("name", "reference"), [("argmax", np.argmax), ("argmin", np.argmin)])
@pytest.mark.parametrize("left", [True, False])
def test_positions(rng, left, name, reference, dtype):
    for shape, axis in AXES:
        # There are many equal ones.
        x = tensor(rng.integers(0, 4, shape), dtype)
        result_shape = shape[:axis] + shape[axis + 1 :]
        result = evaluate(f"tl.{name}(x, {axis}, tie_break_left={left})", x, into="int32", shape=result_shape)
        if left:
            check(result, reference(exact(x), axis))
        else:
            # Which of equals it is, is left open.
            found = np.take_along_axis(exact(x), np.expand_dims(result.numpy(), axis), axis)
            assert (found == np.take_along_axis(exact(x), np.expand_dims(reference(exact(x), axis), axis), axis)).all()


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_with_their_positions(rng, name, dtype):
    x = draw(rng, dtype, (9, 40))
    value_type = "float32" if dtype == "bfloat16" else dtype
    expression = f"tl.{name}(x, 1, return_indices=True)"
    value, index = evaluate(expression, x, into=[value_type, "int32"], shape=(9,))
    check(value, getattr(np, name)(exact(x), axis=1))
    check(index, getattr(np, f"arg{name}")(exact(x), axis=1))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["max", "min"])
def test_nan_is_passed_over(rng, name, dtype):
    values = rng.standard_normal((4, 40))
    values[rng.random((4, 40)) < 0.5] = np.nan
    values[3] = np.nan
    x = tensor(values, dtype)
    with np.errstate(all="ignore"):
        expected = [getattr(np, f"nan{name}")(row) if not np.isnan(row).all() else np.nan for row in exact(x)]
    check(evaluate(f"tl.{name}(x, 1)", x, into=extremum_type(dtype), shape=(4,)), expected)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(("name", "reference"), [("xor_sum", np.bitwise_xor), ("reduce_or", np.bitwise_or)])
def test_bits(rng, name, reference, dtype):
    for shape, axis in AXES:
        x = draw(rng, dtype, shape)
        result_shape = shape[:axis] + shape[axis + 1 :]
        result = evaluate(f"tl.{name}(x, {axis})", x, into=dtype, shape=result_shape)
        check(result, reference.reduce(exact(x), axis=axis))


#: Functions of the user's, and what numpy calls them.
COMBINERS = {
    "a + b": np.add.reduce, "a * b": np.multiply.reduce, "tl.minimum(a, b)": np.minimum.reduce,
    "a & b": np.bitwise_and.reduce, "a ^ b": np.bitwise_xor.reduce, "a if a > b else b": np.maximum.reduce,
}


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64", "uint8"])
@pytest.mark.parametrize("combiner", COMBINERS)
def test_functions_of_the_user(rng, combiner, dtype):
    before = f"@triton.jit\ndef combine(a, b):\n    return {combiner}\n"
    for shape, axis in AXES:
        x = draw(rng, dtype, shape)
        result_shape = shape[:axis] + shape[axis + 1 :]
        with np.errstate(over="ignore"):
            expected = COMBINERS[combiner](exact(x), axis=axis, dtype=dtype)
        check(evaluate(f"tl.reduce(x, {axis}, combine)", x, into=dtype, shape=result_shape, before=before), expected)


WELFORD = """@triton.jit
def welford(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    count = count_a + count_b
    delta = mean_b - mean_a
    share = count_b / tl.maximum(count, 1)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share, count
"""


@pytest.mark.parametrize("shape", [(1, 1), (4, 33), (8, 128), (2, 1000)], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_reductions_of_several_values(rng, axis, shape):
    x = draw(rng, "float32", shape, 2, 4)
    expression = f"tl.reduce((x, tl.zeros_like(x), tl.full({shape}, 1.0, tl.float32)), {axis}, welford)"
    mean, m2, count = evaluate(expression, x, into=["float32"] * 3, shape=(shape[1 - axis],), before=WELFORD)
    check(mean, exact(x).mean(axis=axis), ulps=32)
    np.testing.assert_allclose(exact(m2), exact(x).var(axis=axis) * shape[axis], rtol=1e-5, atol=1e-5)
    check(count, shape[axis])


#: Not commutative: matrices of whole numbers, of which the order of the factors matters.
MATRICES = """@triton.jit
def product(a, b, c, d, p, q, r, s):
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s
"""


@pytest.mark.parametrize("extent", [1, 2, 13, 64, 500])
def test_the_order_of_operands_stays(rng, extent):
    operands = [draw(rng, "uint32", (extent,)) for _ in range(4)]
    results = evaluate("tl.reduce((x, y, z, w), 0, product)", *operands, into=["uint32"] * 4, shape=(), before=MATRICES)
    total = np.eye(2, dtype=np.uint32)
    for row in zip(*map(exact, operands), strict=True):
        total = total @ np.array(row, np.uint32).reshape(2, 2)
    for result, expected in zip(results, total.reshape(-1), strict=True):
        check(result, expected)


@pytest.mark.parametrize("warps", [1, 2, 8])
@pytest.mark.parametrize("shape", [(16, 16), (3, 200), (256, 4)], ids=str)
def test_any_number_of_warps(rng, shape, warps):
    x = draw(rng, "int32", shape)
    rows, columns, everything = evaluate(
        "tl.sum(x, 0), tl.max(x, 1), tl.xor_sum(x)", x, num_warps=warps,
        into=[("int32", shape[1:]), ("int32", shape[:1]), ("int32", ())],
    )
    with np.errstate(over="ignore"):
        check(rows, exact(x).sum(axis=0, dtype=np.int32))
    check(columns, exact(x).max(axis=1))
    check(everything, np.bitwise_xor.reduce(exact(x).reshape(-1)))
