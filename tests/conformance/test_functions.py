"""Functions, constants and tuples: what is passed, returned, known when compiled, and evaluated by Python."""

import collections

import numpy as np
import pytest
from expressions import DEVICE, NUMBERS, TORCH, Poisoned, check, draw, evaluate, exact, tensor

import tegula as triton
import tegula.language as tl

#: Functions of the language in a module's text, an expression that calls them, and what it computes of integers.
CALLS = {
    "a function of a function": (
        "@triton.jit\ndef twice(v):\n    return v + v\n\n@triton.jit\ndef f(v):\n    return twice(twice(v)) + 1\n",
        "f(x) - f(y)", lambda x, y: 4 * x - 4 * y),
    "defaults and keywords": (
        "@triton.jit\ndef f(v, factor=3, *, offset: tl.constexpr = 7):\n    return v * factor + offset\n",
        "f(x) + f(y, offset=1) + f(x, factor=y) + f(v=x, factor=2, offset=0)",
        lambda x, y: 3 * x + 7 + 3 * y + 1 + x * y + 7 + 2 * x),
    "parameters that are assigned to": (
        "@triton.jit\ndef f(v):\n    v += 5\n    v = v * 2\n    return v\n", "f(x) + x", lambda x, y: 2 * (x + 5) + x),
    "a tuple of results": (
        "@triton.jit\ndef f(v, w):\n    return v + w, v - w, 3\n\n@triton.jit\ndef g(v, w):\n    a, b, c = f(v, w)\n"
        "    return a * b + c\n", "g(x, y) + f(x, y)[1]", lambda x, y: (x + y) * (x - y) + 3 + x - y),
    "a tuple in a tuple": (
        "@triton.jit\ndef f(pair, third):\n    (a, b), c = pair, third\n    return (a, (b, c))\n",
        "f((x, y), 4)[1][0] * f((y, x), 5)[1][1] - f((x, y), 0)[0]", lambda x, y: 5 * y - x),
    "a result by what is known": (
        "@triton.jit\ndef f(v, KIND: tl.constexpr):\n    if KIND == 'double':\n        return v * 2\n"
        "    elif KIND == 'none':\n        return v\n    return v * 0\n",
        "f(x, 'double') + f(y, 'none') + f(x, 'other')", lambda x, y: 2 * x + y),
    "recursion over a constant": (
        "@triton.jit\ndef power(v, N: tl.constexpr):\n    if N == 0:\n        return v * 0 + 1\n"
        "    return v * power(v, N - 1)\n",
        "power(x, 3) - power(y, 0)", lambda x, y: x**3 - 1),
    "functions that are passed": (
        "@triton.jit\ndef add(a, b):\n    return a + b\n\n@triton.jit\ndef sub(a, b):\n    return a - b\n\n"
        "@triton.jit\ndef apply(F: tl.constexpr, a, b):\n    return F(a, b)\n",
        "apply(add, x, y) * apply(sub, x, y) + apply(tl.maximum, x, y)",
        lambda x, y: (x + y) * (x - y) + np.maximum(x, y)),
    "constants of the module": (
        "SCALE = tl.constexpr(3)\nOFFSET = tl.constexpr(11)\nTABLE = tl.constexpr((2, 5))\n\n"
        "@triton.jit\ndef f(v):\n    return v * SCALE + OFFSET + TABLE[1]\n",
        "f(x) + len(TABLE)", lambda x, y: 3 * x + 18),
    "functions that Python evaluates": (
        "@triton.constexpr_function\ndef log2(n):\n    return n.bit_length() - 1\n\n"
        "@triton.jit\ndef f(v, N: tl.constexpr):\n    return v << log2(N)\n",
        "f(x, 8) + f(y, 1)", lambda x, y: 8 * x + y),
    "a comprehension": (
        "@triton.jit\ndef f(values):\n    doubled = [2 * v for v in values]\n    return doubled[0] - doubled[1]\n",
        "f((x, y))", lambda x, y: 2 * x - 2 * y),
    "a function that returns nothing": (
        "@triton.jit\ndef check(v):\n    tl.static_assert(v.shape[0] == 100)\n\n@triton.jit\ndef f(v):\n    check(v)\n"
        "    return -v\n", "f(x)", lambda x, y: -x),
    "noinline": (
        "@triton.jit(noinline=True)\ndef f(v, w):\n    return v * w\n", "f(x, y) + f(y, y)",
        lambda x, y: x * y + y * y),
    "named tuples": (
        "from collections import namedtuple\n\nPair = namedtuple('Pair', ['first', 'second'])\n\n"
        "@triton.jit\ndef swap(pair):\n    return Pair(pair.second, pair.first)\n",
        "swap(Pair(x, y)).first - swap(Pair(x, y)).second", lambda x, y: y - x),
    "sizes of constants": (
        "@triton.jit\ndef f(v):\n    extent: tl.constexpr = v.shape[0] // 2\n    return v + extent * v.numel\n",
        "f(x)", lambda x, y: x + 50 * 100),
}


@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
@pytest.mark.parametrize("name", CALLS)
def test_calls(rng, name, dtype):
    before, expression, reference = CALLS[name]
    if dtype == "float64" and "<<" in before:
        pytest.skip("of integers alone")
    x, y = (tensor(rng.integers(-99, 99, 100), dtype) for _ in range(2))
    check(evaluate(expression, x, y, into=dtype, before=before), reference(exact(x), exact(y)) + 0)


#: Expressions of constants, which are Python's, but for those that are put beside a value.
CONSTANTS = [
    "A + B", "A - B", "A * B", "A // B", "A % B", "-A", "A / B", "A ** 2", "A << 3", "A >> 1", "A & B", "A | B",
    "A ^ B", "~A", "min(A, B)", "max(A, B)", "abs(A)", "A if A > B else B", "int(A / B)", "A < B", "A == B",
    "not A", "A and B", "A or B", "len((A, B, A))", "(A, B)[1]", "A > 0 and B > 0", "0 < A < 9", "float(A)",
    "bool(B)",
]


@pytest.mark.parametrize("expression", CONSTANTS)
@pytest.mark.parametrize(("a", "b"), [(13, 4), (-13, 4), (0, 7), (7, 7), (5, -3)])
def test_constants_are_pythons(expression, a, b):
    expected = eval(expression, {}, {"A": a, "B": b})
    into = "float32" if isinstance(expected, float) else "int32"
    check(evaluate(f"tl.full((3,), {expression}, tl.{into})", into=into, shape=(3,), A=a, B=b), np.float64(expected))


@triton.jit
def integers(out_ptr, a, b, c, d, e):
    tl.store(out_ptr, a)
    tl.store(out_ptr + 1, b)
    tl.store(out_ptr + 2, c)
    tl.store(out_ptr + 3, d)
    tl.store(out_ptr + 4, e)


@pytest.mark.parametrize("values", [(0, 1, -1, 16, 17), (2**31 - 1, -(2**31), 2**31, 2**40, -(2**40)),
                                    (2**63 - 1, -(2**63), 1, 1, 1), (True, False, 1, 0, 32)], ids=str)
def test_numbers_as_arguments(values):
    out = Poisoned("int64", (5,))
    integers[(1,)](out.tensor, *values)
    check(out.checked(), np.array(values, np.int64))


@triton.jit
def scaled(x_ptr, out_ptr, factor, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i) * factor)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("factor", [0, 1, 2, 3.0, 0.5])
def test_factors_as_arguments(rng, factor, dtype):
    if isinstance(factor, float) and not dtype.startswith(("float", "bfloat")):
        pytest.skip("a float times an integer is a float")
    x = tensor(rng.integers(0, 9, 64), dtype)
    # An argument that is a float is fp32, and one of 1 a constant.
    into = "float32" if isinstance(factor, float) and dtype in ("float16", "bfloat16") else dtype
    out = Poisoned(into, (64,))
    scaled[(1,)](x.to(DEVICE), out.tensor, factor, BLOCK=64)
    check(out.checked(), exact(x) * np.asarray(factor, exact(x).dtype))


@triton.jit
def optional(x_ptr, bias_ptr, out_ptr, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    if bias_ptr is not None:
        x += tl.load(bias_ptr + i)
    if SHIFT is not None:
        x = x << SHIFT
    tl.store(out_ptr + i, x)


@pytest.mark.parametrize("shift", [None, 3])
@pytest.mark.parametrize("bias", [False, True])
def test_arguments_that_are_none(rng, bias, shift):
    x, y, out = draw(rng, "int32", (40,), 0, 99), draw(rng, "int32", (40,), 0, 99), Poisoned("int32", (40,))
    optional[(1,)](x.to(DEVICE), y.to(DEVICE) if bias else None, out.tensor, SHIFT=shift, BLOCK=40)
    check(out.checked(), (exact(x) + bias * exact(y)) << (shift or 0))


Pair = collections.namedtuple("Pair", ["pointer", "scale"])


@triton.jit
def gathered(sources, out_ptr, SHAPE: tl.constexpr):
    i = tl.arange(0, SHAPE[0])[:, None] * SHAPE[1] + tl.arange(0, SHAPE[1])[None, :]
    total = tl.zeros(SHAPE, tl.int32)
    for n in tl.static_range(len(sources)):
        total += tl.load(sources[n].pointer + i) * sources[n].scale
    tl.store(out_ptr + i, total)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("shape", [(1, 1), (4, 30)], ids=str)
def test_tuples_as_arguments(rng, shape, count):
    arrays = [draw(rng, "int32", shape, -99, 99) for _ in range(count)]
    sources = tuple(Pair(x.to(DEVICE), n + 1) for n, x in enumerate(arrays))
    out = Poisoned("int32", shape)
    gathered[(1,)](sources, out.tensor, SHAPE=shape)
    check(out.checked(), sum((n + 1) * exact(x) for n, x in enumerate(arrays)))


@triton.jit
def typed(x_ptr, out_ptr, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i).to(TYPE)
    tl.static_assert(x.dtype == TYPE and x.dtype.primitive_bitwidth == out_ptr.dtype.element_ty.primitive_bitwidth)
    tl.store(out_ptr + i, x)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_types_as_constants(rng, dtype):
    x, out = draw(rng, "int32", (50,), 0, 99), Poisoned(dtype, (50,))
    typed[(1,)](x.to(DEVICE), out.tensor, TYPE=getattr(tl, dtype), BLOCK=50)
    check(out.checked(), exact(x))
    assert out.tensor.dtype == TORCH[dtype]


@triton.jit
def sized(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) + tl.num_programs(0), mask=i < n)


@pytest.mark.parametrize("n", [1, 100, 1000])
def test_grids_that_depend_on_constants(rng, n):
    x, out = draw(rng, "int32", (n,), 0, 99), Poisoned("int32", (n,))
    sized[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x.to(DEVICE), out.tensor, n, BLOCK=64)
    check(out.checked(), exact(x) + -(-n // 64))
    for warps, stages in ((1, 1), (2, 4), (8, 2)):
        again = Poisoned("int32", (n,))
        options = {"num_warps": warps, "num_stages": stages}
        sized[(-(-n // 32),)](x_ptr=x.to(DEVICE), out_ptr=again.tensor, n=n, BLOCK=32, **options)
        check(again.checked(), exact(x) + -(-n // 32))


@pytest.mark.parametrize(("attribute", "value"), [
    ("x.dtype == tl.int16", True), ("x.shape[1]", 5), ("len(x.shape)", 2), ("x.numel", 15), ("x.dtype.is_int()", True),
    ("x.dtype.is_floating()", False), ("x.dtype.primitive_bitwidth", 16), ("x.dtype.is_int_signed()", True),
    ("tl.float32.is_fp32()", True), ("tl.uint8.get_int_max_value()", 255), ("tl.float16.fp_mantissa_width", 10),
    ("x_ptr.dtype.is_ptr()", True), ("x_ptr.dtype.element_ty == tl.int16", True), ("isinstance(x, tl.tensor)", True),
    ("x.type.is_block()", True), ("x.dtype.itemsize", 2), ("tl.int8.get_int_min_value()", -128),
    ("tl.float8e5.is_fp8()", True), ("x.T.shape[0]", 5), ("tl.bfloat16.exponent_bias", 127),
])
def test_attributes(rng, attribute, value):
    result = evaluate(f"tl.full((1,), {attribute}, tl.int32)", draw(rng, "int16", (3, 5)), into="int32", shape=(1,))
    check(result, value)
