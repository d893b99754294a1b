"""Products of matrices in microscaling formats: elements of 4 to 16 bits with a power of two for each group."""

import numpy as np
import pytest
from expressions import check, draw, evaluate, exact, tensor

#: The numbers of fp4, by their bits.
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
FORMATS = ("e2m1", "e4m3", "e5m2", "bf16", "fp16")
TYPES = {"e4m3": "float8e4nv", "e5m2": "float8e5", "bf16": "bfloat16", "fp16": "float16"}


def operand(rng, name, rows, inner, axis):
    """A matrix with `inner` along an axis, and what it means; fp4 is packed along that axis."""
    shape = (rows, inner) if axis == 1 else (inner, rows)
    if name != "e2m1":
        x = tensor(rng.integers(-2, 3, shape), TYPES[name])
        return x, exact(x)
    codes = rng.integers(0, 16, shape)
    low, high = (np.take(codes, range(start, inner, 2), axis=axis) for start in (0, 1))
    return tensor(low | high << 4, "uint8"), FP4[codes]


def scales(rng, rows, inner):
    """Exponents of groups of 32, and the factors for each element."""
    exponent = rng.integers(125, 130, (rows, inner // 32))
    return tensor(exponent, "uint8"), np.repeat(2.0 ** (exponent - 127), 32, axis=1)


@pytest.mark.parametrize("right", FORMATS)
@pytest.mark.parametrize("left", FORMATS)
def test_every_pair_of_formats(rng, left, right):
    for m, n, k in ((16, 16, 32), (32, 8, 64), (128, 64, 128)):
        a, a_values = operand(rng, left, m, k, 1)
        b, b_values = operand(rng, right, n, k, 0)
        a_scale, a_factors = scales(rng, m, k)
        b_scale, b_factors = scales(rng, n, k)
        expression = f"tl.dot_scaled(x, z, {left!r}, y, w, {right!r})"
        result = evaluate(expression, a, b, a_scale, b_scale, into="float32", shape=(m, n))
        check(result, (a_values * a_factors) @ (b_values * b_factors.T) + 0.0)


@pytest.mark.parametrize("name", FORMATS)
def test_operands_without_scales(rng, name):
    m, n, k = 32, 16, 64
    a, a_values = operand(rng, name, m, k, 1)
    b, b_values = operand(rng, "e5m2", n, k, 0)
    scale, factors = scales(rng, m, k)
    plain = evaluate(f"tl.dot_scaled(x, None, {name!r}, y, None, 'e5m2')", a, b, into="float32", shape=(m, n))
    check(plain, a_values @ b_values + 0.0)
    left = evaluate(f"tl.dot_scaled(x, z, {name!r}, y, None, 'e5m2')", a, b, scale, into="float32", shape=(m, n))
    check(left, (a_values * factors) @ b_values + 0.0)


@pytest.mark.parametrize("name", ["e4m3", "bf16"])
def test_accumulators(rng, name):
    a, a_values = operand(rng, name, 16, 32, 1)
    b, b_values = operand(rng, name, 16, 32, 0)
    total = draw(rng, "float32", (16, 16), -8, 8).round()
    expression = f"tl.dot_scaled(x, None, {name!r}, y, None, {name!r}, acc=z)"
    check(evaluate(expression, a, b, total, into="float32", shape=(16, 16)), a_values @ b_values + exact(total))


def test_pairs_of_fp4_along_the_other_axis(rng):
    m, n, k = 16, 32, 32
    codes_a, codes_b = rng.integers(0, 16, (m, k)), rng.integers(0, 16, (k, n))
    a = tensor(codes_a[::2] | codes_a[1::2] << 4, "uint8")
    b = tensor(codes_b[:, ::2] | codes_b[:, 1::2] << 4, "uint8")
    expression = "tl.dot_scaled(x, None, 'e2m1', y, None, 'e2m1', lhs_k_pack=False, rhs_k_pack=False)"
    check(evaluate(expression, a, b, into="float32", shape=(m, n)), FP4[codes_a] @ FP4[codes_b] + 0.0)


@pytest.mark.parametrize("group", [8, 16, 32])
def test_scales_of_fp8(rng, group):
    m, n, k = 16, 16, 64
    a, a_values = operand(rng, "e4m3", m, k, 1)
    b, b_values = operand(rng, "e4m3", n, k, 0)
    factor = tensor(2.0 ** rng.integers(-2, 3, (m, k // group)), "float8e4nv")
    result = evaluate("tl.dot_scaled(x, z, 'e4m3', y, None, 'e4m3')", a, b, factor, into="float32", shape=(m, n))
    check(result, (a_values * np.repeat(exact(factor), group, axis=1)) @ b_values + 0.0)


def test_a_scale_that_is_no_number(rng):
    a, _ = operand(rng, "e4m3", 16, 32, 1)
    b, _ = operand(rng, "e4m3", 16, 32, 0)
    scale = tensor(np.where(np.arange(16)[:, None] == 3, 255, 127), "uint8")
    expression = "tl.dot_scaled(x, z, 'e4m3', y, None, 'e4m3')"
    result = exact(evaluate(expression, a, b, scale, into="float32", shape=(16, 16)))
    assert np.isnan(result[3]).all() and np.isfinite(np.delete(result, 3, axis=0)).all()
