"""libdevice's exact functions: directed roundings, conversions, bits of integers, parts of floats."""

import math
from fractions import Fraction

import numpy as np
import pytest
from expressions import SIGNED, UNSIGNED, WIDE_FLOATS, check, draw, evaluate, exact, tensor

ROUNDINGS = ("rd", "rn", "ru", "rz")
#: Roundings to whole numbers.
WHOLE = {"rd": np.floor, "rn": np.rint, "ru": np.ceil, "rz": np.trunc}
NUMPY = {"float32": np.float32, "float64": np.float64}


def directed(value, dtype, rounding):
    """A fraction, rounded to a type."""
    kind = NUMPY[dtype]
    guess = kind(float(value))
    low = guess if Fraction(float(guess)) <= value else np.nextafter(guess, kind(-np.inf))
    below = Fraction(float(low))
    if below == value:
        return low
    high = np.nextafter(low, kind(np.inf))
    if rounding == "rn":
        middle = (below + Fraction(float(high))) / 2
        even = low if low.view(f"u{low.itemsize}") % 2 == 0 else high
        return even if value == middle else low if value < middle else high
    down = rounding == "rd" or (rounding == "rz" and value > 0)
    return low if down else high


def root(x):
    """The square root of a fraction, or a fraction between it and the numbers next to it."""
    scale = 1 << 300
    whole = math.isqrt(x.numerator * scale * scale // x.denominator)
    inexact = Fraction(whole, scale) ** 2 != x
    return Fraction(2 * whole + inexact, 2 * scale)


ARITHMETIC = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "fma": lambda x, y, z: x * y + z, "sqrt": root, "rcp": lambda x: 1 / x,
}


@pytest.mark.parametrize("dtype", WIDE_FLOATS)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_directed_rounding(rng, name, rounding, dtype):
    function = ARITHMETIC[name]
    arity = function.__code__.co_argcount
    operands = [draw(rng, dtype, (40,)) for _ in range(arity)]
    if name == "sqrt":
        operands[0] = operands[0].abs()
    rows = zip(*(exact(x).tolist() for x in operands), strict=True)
    expected = [directed(function(*map(Fraction, row)), dtype, rounding) for row in rows]
    expression = f"libdevice.{name}_{rounding}({', '.join('xyz'[:arity])})"
    check(evaluate(expression, *operands, into=dtype), np.array(expected, np.float64))


#: Prefixes of conversions from floats to integers: the types.
TO_INTEGERS = {f"{kind}2{name}": (source, target)
               for kind, source in (("float", "float32"), ("double", "float64"))
               for name, target in (("int", "int32"), ("uint", "uint32"), ("ll", "int64"), ("ull", "uint64"))}


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", TO_INTEGERS)
def test_float_to_integer(rng, name, rounding):
    source, target = TO_INTEGERS[name]
    x = draw(rng, source, (100,), 0 if target in UNSIGNED else -1000, 1000)
    halves = tensor(rng.integers(0, 200, 60) / 2, source)
    for operand in (x, halves):
        result = evaluate(f"libdevice.{name}_{rounding}(x)", operand, into=target)
        check(result, WHOLE[rounding](exact(operand)).astype(target))


TO_FLOATS = {
    "int2float": ("int32", "float32", ROUNDINGS), "uint2float": ("uint32", "float32", ROUNDINGS),
    "ll2float": ("int64", "float32", ROUNDINGS), "ull2float": ("uint64", "float32", ROUNDINGS),
    "ll2double": ("int64", "float64", ROUNDINGS), "ull2double": ("uint64", "float64", ROUNDINGS),
    "int2double": ("int32", "float64", ("rn",)), "uint2double": ("uint32", "float64", ("rn",)),
    "double2float": ("float64", "float32", ROUNDINGS),
}


@pytest.mark.parametrize(("name", "rounding"), [(name, r) for name, row in TO_FLOATS.items() for r in row[2]])
def test_conversion_to_float(rng, name, rounding):
    source, target, _ = TO_FLOATS[name]
    x = draw(rng, source, (100,))
    expected = [directed(Fraction(v), target, rounding) for v in exact(x).tolist()]
    check(evaluate(f"libdevice.{name}_{rounding}(x)", x, into=target), np.array(expected, np.float64))


REINTERPRETED = {"float_as_int": ("float32", "int32"), "float_as_uint": ("float32", "uint32"),
                 "int_as_float": ("int32", "float32"), "uint_as_float": ("uint32", "float32"),
                 "double_as_longlong": ("float64", "int64"), "longlong_as_double": ("int64", "float64")}


@pytest.mark.parametrize("name", REINTERPRETED)
def test_bits_of_another_type(rng, name):
    source, target = REINTERPRETED[name]
    x = draw(rng, source, (100,), -10**6, 10**6) if source.startswith("float") else draw(rng, source, (100,), 0, 10**9)
    expected = x.numpy().view(target)
    check(evaluate(f"libdevice.{name}(x)", x, into=target), expected)


def test_halves_of_float64(rng):
    x = draw(rng, "float64", (100,))
    bits = x.numpy().view(np.uint64)
    high, low = (bits >> 32).astype(np.uint32).view(np.int32), bits.astype(np.uint32).view(np.int32)
    check(evaluate("libdevice.double2hiint(x)", x, into="int32"), high)
    check(evaluate("libdevice.double2loint(x)", x, into="int32"), low)
    joined = evaluate("libdevice.hiloint2double(x, y)", tensor(high, "int32"), tensor(low, "int32"), into="float64")
    check(joined, exact(x))
    inverse = exact(evaluate("libdevice.rcp64h(x)", x, into="float64"))
    np.testing.assert_allclose(inverse, 1 / exact(x), rtol=2.0**-18)


def reversed_bits(x, bits):
    return int(f"{x % 2**bits:0{bits}b}"[::-1], 2)


#: Functions of the bits of integers, of their value as an unsigned one and their width.
OF_BITS = {"clz": lambda x, bits: bits - x.bit_length(), "popc": lambda x, bits: x.bit_count(),
           "ffs": lambda x, bits: (x & -x).bit_length(), "brev": reversed_bits}


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
@pytest.mark.parametrize("name", OF_BITS)
def test_function_of_bits(rng, name, dtype):
    bits = np.iinfo(dtype).bits
    x = draw(rng, dtype, (100,))
    values = exact(x)
    values >>= rng.integers(0, bits, 100).astype(dtype)
    expected = [OF_BITS[name](int(v) % 2**bits, bits) for v in values]
    into = dtype if name == "brev" else "int32"
    check(evaluate(f"libdevice.{name}(x)", x, into=into), np.array(expected, f"uint{bits}").astype(into))


#: Functions of pairs of integers, exact.
OF_PAIRS = {"mulhi": lambda x, y, bits: (x * y) >> bits, "hadd": lambda x, y, bits: (x + y) >> 1,
            "rhadd": lambda x, y, bits: (x + y + 1) >> 1}


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
@pytest.mark.parametrize("name", OF_PAIRS)
def test_function_of_two_integers(rng, name, dtype):
    if name != "mulhi" and dtype.endswith("64"):
        pytest.skip("of 32-bit integers")
    x, y = draw(rng, dtype, (100,)), draw(rng, dtype, (100,))
    bits = np.iinfo(dtype).bits
    expected = [OF_PAIRS[name](a, b, bits) for a, b in zip(exact(x).tolist(), exact(y).tolist(), strict=True)]
    check(evaluate(f"libdevice.{name}(x, y)", x, y, into=dtype), np.array(expected, dtype))


def low_24(x, dtype):
    x %= 2**24
    return x - 2**24 if dtype in SIGNED and x >= 2**23 else x


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_products_of_24_bits(rng, dtype):
    x, y = draw(rng, dtype, (100,), 0, 2**23 - 1), draw(rng, dtype, (100,), 0, 2**23 - 1)
    products = [low_24(a, dtype) * low_24(b, dtype) for a, b in zip(exact(x).tolist(), exact(y).tolist(), strict=True)]
    expected = np.array([p % 2**32 for p in products], np.uint32).view(dtype)
    check(evaluate("libdevice.mul24(x, y)", x, y, into=dtype), expected)


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_sums_of_absolute_differences(rng, dtype):
    limit = 2**29
    x, y = (draw(rng, dtype, (100,), 0, limit) for _ in range(2))
    z = draw(rng, "uint32", (100,), 0, limit)
    expected = abs(exact(x).astype(int) - exact(y).astype(int)) + exact(z).astype(int)
    into = "uint32" if dtype == "uint32" else "int32"
    check(evaluate(f"libdevice.sad(x, y, z.to(tl.{into}))", x, y, z, into=into), expected)


def test_bytes_are_picked(rng):
    x, y, s = draw(rng, "int32", (100,)), draw(rng, "int32", (100,)), draw(rng, "int32", (100,), 0, 0x7777)
    expected = []
    for a, b, pick in zip(exact(x).tolist(), exact(y).tolist(), exact(s).tolist(), strict=True):
        pool = (a % 2**32).to_bytes(4, "little") + (b % 2**32).to_bytes(4, "little")
        expected.append(int.from_bytes(bytes(pool[(pick >> 4 * n) & 7] for n in range(4)), "little", signed=True))
    check(evaluate("libdevice.byte_perm(x, y, z)", x, y, s, into="int32"), np.array(expected, np.int64))


#: Functions of parts and places of floats that are exact, and the type of their result, or None for the operand's.
PARTS = {
    "trunc": (np.trunc, None), "round": (lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), None),
    "rint": (np.rint, None), "signbit": (np.signbit, "int32"), "isnan": (np.isnan, "int1"),
    "isinf": (np.isinf, "int1"), "llrint": (np.rint, "int64"), "logb": (lambda x: np.frexp(x)[1] - 1.0, None),
    "llround": (lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), "int64"),
    "ilogb": (lambda x: np.frexp(x)[1] - 1, "int32"),
}


@pytest.mark.parametrize("dtype", WIDE_FLOATS)
@pytest.mark.parametrize("name", PARTS)
def test_parts_of_floats(rng, name, dtype):
    function, into = PARTS[name]
    x = draw(rng, dtype, (100,), -100, 100)
    ties = tensor((2 * rng.integers(1, 99, 40) + 1) / 2, dtype)
    for operand in (x, ties):
        check(evaluate(f"libdevice.{name}(x)", operand, into=into or dtype), function(exact(operand)))


def test_predicates_of_infinities():
    x = [0.0, -1.5, math.inf, -math.inf, math.nan]
    for name, dtype in (("finitef", "float32"), ("isfinited", "float64")):
        check(evaluate(f"libdevice.{name}(x)", tensor(x, dtype), into="int1"), [True, True, False, False, False])
    check(evaluate("libdevice.saturatef(x)", tensor([-2.0, 0.25, 7.0, math.nan], "float32"), into="float32"),
          [0.0, 0.25, 1.0, 0.0])
    least, largest = -(2**31), 2**31 - 1
    check(evaluate("libdevice.ilogb(x)", tensor(x, "float32"), into="int32"), [least, 0, largest, largest, least])


#: Exact functions of two floats.
OF_TWO_FLOATS = {"copysign": np.copysign, "fdim": lambda x, y: np.maximum(x - y, 0.0), "fmod": np.fmod,
                 "remainder": np.vectorize(math.remainder)}


@pytest.mark.parametrize("dtype", WIDE_FLOATS)
@pytest.mark.parametrize("name", OF_TWO_FLOATS)
def test_function_of_two_floats(rng, name, dtype):
    x, y = draw(rng, dtype, (100,), -30, 30), draw(rng, dtype, (100,), 0.5, 3)
    expected = OF_TWO_FLOATS[name](exact(x), exact(y))
    result = evaluate(f"libdevice.{name}(x, y)", x, y, into=dtype)
    check(result, expected) if name != "fdim" else np.testing.assert_array_equal(exact(result), expected.astype(dtype))


@pytest.mark.parametrize("dtype", WIDE_FLOATS)
def test_neighbours(rng, dtype):
    kind = NUMPY[dtype]
    x = draw(rng, dtype, (100,)).numpy()
    for towards in (np.inf, -np.inf, 0.0):
        y = np.full(100, towards, kind)
        check(evaluate("libdevice.nextafter(x, y)", tensor(x, dtype), tensor(y, dtype), into=dtype),
              np.nextafter(x, y).astype(np.float64))


@pytest.mark.parametrize("dtype", WIDE_FLOATS)
@pytest.mark.parametrize("name", ["ldexp", "scalbn"])
def test_products_with_powers_of_two(rng, name, dtype):
    x, n = draw(rng, dtype, (100,)), draw(rng, "int32", (100,), -40, 40)
    check(evaluate(f"libdevice.{name}(x, y)", x, n, into=dtype), np.ldexp(exact(x), exact(n)))
    check(evaluate(f"libdevice.{name}(x, 3)", x, into=dtype), exact(x) * 8)


@pytest.mark.parametrize("dtype", WIDE_FLOATS)
def test_powers_of_integers(rng, dtype):
    x, n = draw(rng, dtype, (100,), 0.5, 2), draw(rng, "int32", (100,), -8, 8)
    check(evaluate("libdevice.pow(x, y)", x, n, into=dtype), exact(x) ** exact(n).astype(float), ulps=4)


@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED, "float16", "bfloat16", *WIDE_FLOATS])
def test_absolute_values(rng, dtype):
    x = draw(rng, dtype, (100,))
    with np.errstate(over="ignore"):
        check(evaluate("libdevice.abs(x)", x, into=dtype), np.abs(exact(x)))
