"""Operators and elementwise functions on every type, and on blocks of every kind of shape."""

from fractions import Fraction

import numpy as np
import pytest
from expressions import (
    FLOATS,
    INTEGERS,
    NUMBERS,
    ON_GPU,
    SIGNED,
    WIDE_FLOATS,
    any_bits,
    check,
    draw,
    evaluate,
    exact,
    tensor,
)

SHAPES = [(), (1,), (2,), (13,), (128,), (3, 50), (2, 1, 7, 4)]
#: What Python computes on numpy's arrays of one type is what the language computes.
RING = ["x + y", "x - y", "x * y", "-x", "x - y - 1", "3 * x + y"]
BITS = ["x & y", "x | y", "x ^ y", "~x", "x & ~y | 5"]
COMPARISONS = ["x < y", "x <= y", "x > y", "x >= y", "x == y", "x != y"]
LITERALS = ["x + 1", "7 - x", "x * 3", "x & 12", "5 | x", "x ^ x"]


def by_numpy(expression, **operands):
    with np.errstate(all="ignore"):
        return eval(expression, {}, operands)


def quotient(x, y):
    """Integers divided as C does, as exact ones."""
    x, y = x.astype(object), y.astype(object)
    return np.where((x < 0) == (y < 0), abs(x) // abs(y), -(abs(x) // abs(y)))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("expression", RING + BITS + LITERALS)
def test_integers_wrap(rng, expression, dtype):
    for shape in SHAPES:
        x, y = draw(rng, dtype, shape), draw(rng, dtype, shape)
        expected = by_numpy(expression, x=exact(x), y=exact(y))
        check(evaluate(expression, *((x, y) if "y" in expression else (x,)), into=dtype), expected)


@pytest.mark.parametrize("dtype", ["int1", *NUMBERS])
@pytest.mark.parametrize("expression", COMPARISONS)
def test_comparisons(rng, expression, dtype):
    for shape in SHAPES:
        x, y = draw(rng, dtype, shape), draw(rng, dtype, shape)
        y = x.where(tensor(rng.random(shape) < 0.3, "int1"), y) if dtype in ("int1", *FLOATS) else y
        check(evaluate(expression, x, y, into="int1"), by_numpy(expression, x=exact(x), y=exact(y)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("expression", COMPARISONS)
def test_nothing_but_unequal_holds_of_nan(expression, dtype):
    numbers = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0]
    x, y = (tensor(grid, dtype) for grid in np.meshgrid(numbers, numbers))
    check(evaluate(expression, x, y, into="int1"), by_numpy(expression, x=exact(x), y=exact(y)))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_divide_towards_zero(rng, dtype):
    for shape in SHAPES:
        x, y = draw(rng, dtype, shape), draw(rng, dtype, shape)
        divisors = exact(y)
        divisors //= exact(draw(rng, dtype, shape, 1, 99))
        divisors[(divisors == 0) | (divisors == np.array(-1).astype(dtype))] = 3
        q, r = evaluate("x // y, x % y", x, y, into=[dtype, dtype])
        expected = quotient(exact(x), exact(y))
        check(q, expected)
        check(r, exact(x).astype(object) - expected * exact(y).astype(object))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 10, 64, 100, 127])
def test_integers_divide_by_constants(rng, divisor, dtype):
    x = draw(rng, dtype, (200,))
    q, r, inverse = evaluate(f"x // {divisor}, x % {divisor}, {divisor} // (x | 1)", x, into=[dtype] * 3)
    expected = quotient(exact(x), np.array(divisor))
    check(q, expected)
    check(r, exact(x).astype(object) - expected * divisor)
    check(inverse, quotient(np.array(divisor), exact(x) | np.array(1, exact(x).dtype)))


@pytest.mark.parametrize("dtype", SIGNED)
@pytest.mark.parametrize("divisor", [-1, -2, -7, -128])
def test_integers_divide_by_negative_constants(rng, divisor, dtype):
    x = draw(rng, dtype, (200,), low=np.iinfo(dtype).min + 1)
    q, r = evaluate(f"x // {divisor}, x % {divisor}", x, into=[dtype, dtype])
    expected = quotient(exact(x), np.array(divisor))
    check(q, expected)
    check(r, exact(x).astype(object) - expected * divisor)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_division_by_zero_gives_zero(dtype):
    x = tensor([0, 1, 5, 100], dtype)
    q, r = evaluate("x // y, x % y", x, tensor([0] * 4, dtype), into=[dtype, dtype])
    check(q, [0] * 4)
    check(r, [0] * 4)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts(rng, dtype):
    bits = np.iinfo(dtype).bits
    for shape in SHAPES:
        x, y = draw(rng, dtype, shape), draw(rng, dtype, shape, 0, bits - 1)
        left, right, by_constant = evaluate("x << y, x >> y, (x << 3) >> 2", x, y, into=[dtype] * 3)
        check(left, exact(x) << exact(y))
        check(right, exact(x) >> exact(y))
        check(by_constant, (exact(x) << np.array(3, dtype)) >> np.array(2, dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_by_the_width_leave_zeros_or_signs(rng, dtype):
    bits = np.iinfo(dtype).bits
    x, y = draw(rng, dtype, (64,)), draw(rng, dtype, (64,), bits, min(127, 2 * bits))
    left, right = evaluate("x << y, x >> y", x, y, into=[dtype, dtype])
    check(left, np.zeros(64))
    check(right, np.where(exact(x) < 0, -1, 0))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("expression", ["x + y", "x - y", "x * y", "-x", "x + 0.5", "2 * x"])
def test_floats_are_rounded_once(rng, expression, dtype):
    for shape in SHAPES:
        x, y = draw(rng, dtype, shape), draw(rng, dtype, shape)
        operands = (x, y) if "y" in expression else (x,)
        check(evaluate(expression, *operands, into=dtype), by_numpy(expression, x=exact(x), y=exact(y)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("expression", ["x + y", "x - y", "x * y"])
def test_floats_of_all_magnitudes(rng, expression, dtype):
    x, y = any_bits(rng, dtype, (500,)), any_bits(rng, dtype, (500,))
    check(evaluate(expression, x, y, into=dtype), by_numpy(expression, x=exact(x), y=exact(y)))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_quotients(rng, dtype):
    wide = "float64" if dtype == "float64" else "float32"
    for shape in SHAPES:
        x, y = draw(rng, dtype, shape), draw(rng, dtype, shape)
        exact(y)[exact(y) == 0] = 1
        # Integers become floats first.
        divided = [exact(tensor(exact(operand), wide)) for operand in (x, y)]
        check(evaluate("x / y", x, y, into=wide), divided[0] / divided[1], ulps=0.5001 if wide == "float64" else 2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_remainders_have_the_sign_of_the_dividend(rng, dtype):
    x, y = draw(rng, dtype, (200,), -100, 100), draw(rng, dtype, (200,), 0.5, 9)
    wide = dtype if dtype in WIDE_FLOATS else "float32"
    check(evaluate("x % y", x, y, into=wide), np.fmod(exact(x), exact(y)))
    check(evaluate("x % 0.75", x, into=wide), np.fmod(exact(x), 0.75))


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize(("function", "reference"), [("maximum", np.maximum), ("minimum", np.minimum)])
def test_the_larger_and_the_smaller(rng, function, reference, dtype):
    into = "float32" if dtype == "bfloat16" else dtype
    for shape in SHAPES:
        x, y = draw(rng, dtype, shape), draw(rng, dtype, shape)
        check(evaluate(f"tl.{function}(x, y)", x, y, into=into), reference(exact(x), exact(y)))
    # A constant counts as the int32 number that it is.
    x = draw(rng, dtype, (20,))
    into = "int32" if dtype in INTEGERS and np.iinfo(dtype).bits < 32 else into
    check(evaluate(f"tl.{function}(x, 2)", x, into=into), reference(exact(x), np.array(2, exact(x).dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("function", ["maximum", "minimum"])
def test_nan_loses_unless_it_propagates(function, dtype):
    nan = float("nan")
    x, y = tensor([nan, 1.0, nan, 2.0], dtype), tensor([3.0, nan, nan, 2.0], dtype)
    into = "float32" if dtype == "bfloat16" else dtype
    check(evaluate(f"tl.{function}(x, y)", x, y, into=into), [3.0, 1.0, nan, 2.0])
    propagating = f"tl.{function}(x, y, propagate_nan=tl.PropagateNan.ALL)"
    check(evaluate(propagating, x, y, into=into), [nan, nan, nan, 2.0])


@pytest.mark.parametrize("dtype", FLOATS)
def test_clamps(rng, dtype):
    x, nan = draw(rng, dtype, (3, 50)), float("nan")
    into = "float32" if dtype == "bfloat16" else dtype
    wide = "float64" if dtype == "float64" else "float32"
    # Constants count as the fp32 numbers that they are.
    check(evaluate("tl.clamp(x, -0.5, 0.75)", x, into=wide), np.clip(exact(x), -0.5, 0.75))
    low, high = draw(rng, dtype, (3, 50), -1, 0), draw(rng, dtype, (3, 50), 0, 1)
    check(evaluate("tl.clamp(x, y, z)", x, low, high, into=into), np.clip(exact(x), exact(low), exact(high)))
    x = tensor([nan, 5.0, -5.0], dtype)
    check(evaluate("tl.clamp(x, -1.0, 1.0)", x, into=wide), [-1.0, 1.0, -1.0])
    propagating = "tl.clamp(x, -1.0, 1.0, propagate_nan=tl.PropagateNan.ALL)"
    check(evaluate(propagating, x, into=wide), [nan, 1.0, -1.0])


@pytest.mark.parametrize("dtype", ["int1", *NUMBERS, "float8e4nv", "float8e5"])
def test_choices(rng, dtype):
    for shape in SHAPES:
        flag, x, y = draw(rng, "int1", shape), draw(rng, dtype, shape), draw(rng, dtype, shape)
        check(evaluate("tl.where(z, x, y)", x, y, flag, into=dtype), np.where(flag.numpy(), exact(x), exact(y)))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_choices_broadcast(rng, dtype):
    x, y, flag = draw(rng, dtype, (5, 1)), draw(rng, dtype, (1, 9)), draw(rng, "int1", (4, 1, 9))
    expected = np.where(flag.numpy(), exact(x), exact(y))
    check(evaluate("tl.where(z, x, y)", x, y, flag, into=dtype), expected)
    check(evaluate("tl.where(y, x, 1)", x, flag, into=dtype), np.where(flag.numpy(), exact(x), 1))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_absolute_values(rng, dtype):
    for shape in SHAPES:
        x = draw(rng, dtype, shape)
        check(evaluate("tl.abs(x)", x, into=dtype), by_numpy("abs(x)", x=exact(x)))


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("shapes", [((7, 1), (1, 5)), ((), (3, 4)), ((4,), (3, 4)), ((2, 1, 3), (5, 1)),
                                    ((1,), (1, 1))], ids=str)
def test_operands_broadcast(rng, shapes, dtype):
    x, y = (draw(rng, dtype, shape) for shape in shapes)
    check(evaluate("x - y", x, y, into=dtype), by_numpy("x - y", x=exact(x), y=exact(y)))
    check(evaluate("x <= y", x, y, into="int1"), exact(x) <= exact(y))


def fused(x, y, z):
    return float(Fraction(x) * Fraction(y) + Fraction(z))


@pytest.mark.parametrize("dtype", FLOATS)
def test_fused_products_and_sums(rng, dtype):
    for shape in SHAPES:
        x, y, z = (draw(rng, dtype, shape) for _ in range(3))
        expected = np.vectorize(fused, [np.float64])(exact(x), exact(y), exact(z))
        check(evaluate("tl.fma(x, y, z)", x, y, z, into=dtype), expected)


@pytest.mark.parametrize("expression", ["not x", "x and y", "x or y", "not (x and y)", "x if y else not x"])
def test_logic_of_scalars(expression):
    for x in (False, True):
        for y in (False, True):
            result = evaluate(expression, tensor(x, "int1"), tensor(y, "int1"), into="int1")
            check(result, eval(expression, {}, {"x": x, "y": y}))


@pytest.mark.parametrize("expression", ["0 < x < y", "x < y < 5", "x <= 0 < y != 3", "1 < x == y"])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_comparisons_in_chains(rng, expression, dtype):
    x, y = draw(rng, dtype, (64,), -4, 6), draw(rng, dtype, (64,), -4, 6)
    expected = [eval(expression, {}, {"x": a, "y": b}) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    check(evaluate(expression, x, y, into="int1"), expected)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_upper_halves_of_products(rng, dtype):
    x, y = draw(rng, dtype, (200,)), draw(rng, dtype, (200,))
    bits = np.iinfo(dtype).bits
    a, b = (exact(v).view(f"uint{bits}").astype(object) for v in (x, y))
    high = ((a * b) >> bits).astype(f"uint{bits}").view(dtype)
    check(evaluate("tl.umulhi(x, y)", x, y, into=dtype), high)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_quotients_rounded_up(rng, dtype):
    x, y = draw(rng, dtype, (100,), 0, 100), draw(rng, dtype, (100,), 1, 20)
    check(evaluate("tl.cdiv(x, y)", x, y, into=dtype), -(-exact(x).astype(int) // exact(y).astype(int)))


@pytest.mark.parametrize("shape", [(1000,), (7, 33)], ids=str)
def test_many_elements_of_a_thread(rng, shape):
    x, y = draw(rng, "int64", shape), draw(rng, "int64", shape)
    for warps in (1, 2, 8):
        result = evaluate("(x * y) ^ (x - y)", x, y, into="int64", num_warps=warps if ON_GPU else 4)
        check(result, by_numpy("(x * y) ^ (x - y)", x=exact(x), y=exact(y)))
