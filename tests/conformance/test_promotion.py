"""Two types in one operation: the type of the result for every pair, and for constants beside values."""

import itertools

import numpy as np
import pytest
from expressions import FLOATS, INTEGERS, NUMBERS, SIGNED, check, draw, evaluate, exact, tensor

import tegula as triton

TYPES = ("int1", *NUMBERS)
PAIRS = list(itertools.combinations_with_replacement(TYPES, 2))


def bits(dtype):
    return 1 if dtype == "int1" else np.iinfo(dtype).bits


def common(a, b):
    """The type that two operands are brought to."""
    for wide in ("float64", "float32", "float16"):
        if wide in (a, b):
            return wide
    if "bfloat16" in (a, b):
        return "bfloat16" if a == b else "float32"
    if bits(a) != bits(b):
        return max(a, b, key=bits)
    return next((dtype for dtype in (a, b) if dtype not in SIGNED), a)


def wide(dtype):
    """The type in which quotients are computed."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def small(rng, *types):
    """Numbers that every type holds."""
    return [draw(rng, dtype, (33,), 1, 9) if dtype in INTEGERS else
            tensor(rng.integers(1, 2 if dtype == "int1" else 9, 33), dtype) for dtype in types]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_sums_and_choices(rng, a, b):
    x, y = small(rng, a, b)
    into = common(a, b)
    if (a, b) != ("int1", "int1"):
        check(evaluate("x + y", x, y, into=into), exact(x).astype(float) + exact(y).astype(float))
        check(evaluate("y * x", x, y, into=into), exact(x).astype(float) * exact(y).astype(float))
    flag = draw(rng, "int1", (33,))
    check(evaluate("tl.where(z, x, y)", x, y, flag, into=into), np.where(flag.numpy(), exact(x), exact(y)))
    check(evaluate("x <= y", x, y, into="int1"), exact(x) <= exact(y))


@pytest.mark.parametrize(("a", "b"), [pair for pair in PAIRS if pair != ("int1", "int1")])
def test_quotients(rng, a, b):
    x, y = small(rng, a, b)
    into = wide(common(a, b)) if common(a, b) in FLOATS else "float32"
    if into == "float32" and a not in FLOATS and b not in FLOATS and (a in SIGNED) != (b in SIGNED):
        with pytest.raises(triton.CompilationError):
            evaluate("x / y", x, y, into=into)
        return
    check(evaluate("x / y", x, y, into=into), exact(x).astype(float) / exact(y).astype(float), ulps=2)
    if "float" in a + b:
        check(evaluate("x % y", x, y, into=into), np.fmod(exact(x).astype(float), exact(y).astype(float)))


@pytest.mark.parametrize(("a", "b"), [(a, b) for a, b in PAIRS if a in INTEGERS and b in INTEGERS])
def test_quotients_of_integers(rng, a, b):
    x, y = small(rng, a, b)
    if (a in SIGNED) != (b in SIGNED):
        with pytest.raises(triton.CompilationError):
            evaluate("x // y", x, y, into=common(a, b))
        return
    q, r = evaluate("x // y, x % y", x, y, into=[common(a, b)] * 2)
    check(q, exact(x).astype(int) // exact(y).astype(int))
    check(r, exact(x).astype(int) % exact(y).astype(int))


@pytest.mark.parametrize(("a", "b"), [(a, b) for a, b in PAIRS if a not in FLOATS and b not in FLOATS])
def test_bits(rng, a, b):
    x, y = draw(rng, a, (33,)), draw(rng, b, (33,))
    into = common(a, b)
    left, right = (exact(v).astype(bool if into == "int1" else into) for v in (x, y))
    both, one = evaluate("x & y, y ^ x", x, y, into=[into] * 2)
    check(both, left & right)
    check(one, left ^ right)


@pytest.mark.parametrize(("a", "b"), [("float32", "int32"), ("int32", "float16"), ("float64", "float64")])
@pytest.mark.parametrize("operator", ["&", "|", "^", "<<", ">>"])
def test_floats_have_no_bits(rng, operator, a, b):
    with pytest.raises(triton.CompilationError):
        evaluate(f"x {operator} y", *small(rng, a, b), into=a)


#: What a constant makes of a value: the type of the value, the expression, the type of the result.
CONSTANTS = [
    *[(dtype, f"x {operator} {number}", dtype) for dtype in INTEGERS for operator, number in
      (("+", 3), ("-", 7), ("*", 100), ("&", 15))],
    *[(dtype, f"{number} * x", dtype) for dtype in FLOATS for number in ("2", "0.5", "True")],
    *[(dtype, expression, "float32") for dtype in INTEGERS for expression in ("x * 0.5", "x / 2")],
    *[("int1", f"x + {number}", dtype) for number, dtype in
      ((1, "int32"), (2**31, "uint32"), (2**33, "int64"), (2**63, "uint64"), (0.5, "float32"))],
    ("int32", "x * 1e300", "float64"),
    ("int64", "x + 1099511627776", "int64"),
    ("uint64", "x + 9223372036854775808", "uint64"),
    ("float64", "x * 0.1", "float64"),
    ("float32", "x + 1099511627776", "float32"),
    ("int8", "x + True", "int8"),
]


@pytest.mark.filterwarnings("ignore:warning. the constant 1e.300 is outside fp32")
@pytest.mark.parametrize(("dtype", "expression", "into"), CONSTANTS)
def test_a_constant_of_no_higher_kind_takes_the_type_of_the_value(rng, dtype, expression, into):
    (x,) = small(rng, dtype)
    with np.errstate(all="ignore"):
        values = exact(x).astype(object) if into not in FLOATS else exact(x).astype(np.float64)
        expected = eval(expression, {}, {"x": values})
    if into in INTEGERS:
        expected = np.array([int(value) % 2 ** bits(into) for value in expected], f"uint{bits(into)}").view(into)
    check(evaluate(expression, x, into=into), expected, ulps=2 if "/" in expression else 0)


@pytest.mark.parametrize(("dtype", "number"), [("int8", 128), ("int8", -129), ("uint8", -1), ("uint8", 256),
                                               ("int16", 40000), ("uint32", -1), ("int32", 2**31), ("uint64", 2**64)])
def test_a_constant_must_fit(rng, dtype, number):
    with pytest.raises(triton.CompilationError):
        evaluate(f"x + {number}", *small(rng, dtype), into=dtype)


#: Values that are made of constants: the expression beside an int8 value, the type of the result, and the result.
MADE = [
    ("tl.to_tensor(3) + x", "int32", lambda x, i: 3 + x), ("tl.to_tensor(0.5) + x", "float32", lambda x, i: 0.5 + x),
    ("tl.to_tensor(2**40) + x", "int64", lambda x, i: 2**40 + x),
    ("tl.full((), 3, tl.int64) * x", "int64", lambda x, i: 3 * x),
    ("tl.full((33,), 2, tl.float16) * x", "float16", lambda x, i: 2 * x),
    ("tl.zeros_like(x) + x", "int8", lambda x, i: x), ("tl.program_id(0) + x", "int32", lambda x, i: x),
    ("tl.arange(0, 33) * x", "int32", lambda x, i: i * x),
    ("tl.zeros((33,), tl.bfloat16) + x", "float32", lambda x, i: x),
]


@pytest.mark.parametrize(("expression", "into", "reference"), MADE, ids=[row[0] for row in MADE])
def test_values_that_are_made_have_a_type(rng, expression, into, reference):
    (x,) = small(rng, "int8")
    check(evaluate(expression, x, into=into), reference(exact(x).astype(float), np.arange(33)))
