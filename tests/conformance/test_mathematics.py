"""Mathematical functions of floats: those of the language and of libdevice, against mpmath, all over their domains.

The bounds are those of every target; `test_accuracy` has the CPU's, which are narrower. `tl.exp` of fp32 has on GPUs an
error that grows with the argument, and approximate functions have one of their result's scale.
"""

import math
from functools import partial

import mpmath
import numpy as np
import pytest
from expressions import ON_GPU, WIDE_FLOATS, check, draw, evaluate, exact, tensor

import tegula as triton

#: Enough for differences of references.
mpmath.mp.prec = 160


def root(x):
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


#: By name: the reference, and the ends of the range from which arguments are drawn.
COMMON = {
    "ceil": (mpmath.ceil, -50, 50), "floor": (mpmath.floor, -50, 50), "cos": (mpmath.cos, -20, 20),
    "sin": (mpmath.sin, -20, 20), "exp2": (lambda x: mpmath.power(2, x), -30, 30), "log": (mpmath.log, 1e-3, 50),
    "log2": (lambda x: mpmath.log(x, 2), 1e-3, 50), "sqrt": (mpmath.sqrt, 0, 50), "erf": (mpmath.erf, -4, 4),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), 1e-3, 50), "abs": (abs, -9, 9), "exp": (mpmath.exp, -20, 20),
}
OF_LANGUAGE = COMMON | {"sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), -20, 20), "sqrt_rn": (mpmath.sqrt, 0, 50)}
OF_LIBDEVICE = COMMON | {
    "acos": (mpmath.acos, -1, 1), "acosh": (mpmath.acosh, 1, 50), "asin": (mpmath.asin, -1, 1),
    "asinh": (mpmath.asinh, -50, 50), "atan": (mpmath.atan, -50, 50), "atanh": (mpmath.atanh, -1, 1),
    "cbrt": (root, -50, 50), "cosh": (mpmath.cosh, -20, 20), "cospi": (mpmath.cospi, -20, 20),
    "cyl_bessel_i0": (partial(mpmath.besseli, 0), -20, 20), "cyl_bessel_i1": (partial(mpmath.besseli, 1), -20, 20),
    "erfc": (mpmath.erfc, -4, 8), "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), -4, 20),
    "erfinv": (mpmath.erfinv, -1, 1), "exp10": (lambda x: mpmath.power(10, x), -20, 20),
    "expm1": (mpmath.expm1, -20, 20), "j0": (partial(mpmath.besselj, 0), -20, 20),
    "j1": (partial(mpmath.besselj, 1), -20, 20), "lgamma": (lambda x: mpmath.log(abs(mpmath.gamma(x))), 0.1, 50),
    "log10": (mpmath.log10, 1e-3, 50), "log1p": (mpmath.log1p, -0.99, 50), "normcdf": (mpmath.ncdf, -6, 6),
    "nearbyint": (mpmath.nint, -50, 50), "rcbrt": (lambda x: 1 / root(x), 0.01, 50), "rint": (mpmath.nint, -50, 50),
    "sinh": (mpmath.sinh, -20, 20), "sinpi": (mpmath.sinpi, -20, 20), "tan": (mpmath.tan, -9, 9),
    "tanh": (mpmath.tanh, -9, 9), "tgamma": (mpmath.gamma, 0.1, 20), "y0": (partial(mpmath.bessely, 0), 0.01, 20),
    "y1": (partial(mpmath.bessely, 1), 0.01, 20), "sqrt_rn": (mpmath.sqrt, 0, 50),
    "rsqrt_rn": (lambda x: 1 / mpmath.sqrt(x), 1e-3, 50),
}
WHOLE = {"ceil", "floor", "nearbyint", "rint"}
#: Zeros of these lie between numbers, and results near them have errors of their terms.
ABSOLUTE = dict.fromkeys(("j0", "j1", "y0", "y1", "lgamma"), 1.0)
ROUNDED = WHOLE | {"abs", "sqrt_rn", "rsqrt_rn"}
WIDEST = {"float32": 3.0, "float64": 30.0}


def reference(function, *arguments):
    return np.array([float(function(*(mpmath.mpf(float(x)) for x in row))) for row in zip(*arguments, strict=True)])


def values_of(name, function, x):
    """What a function of one argument gives; zeros that whole numbers are rounded to keep the sign."""
    values = reference(function, x)
    return np.copysign(values, x) if name in WHOLE else values


def bound(name, dtype):
    return 0.0 if name in ROUNDED else WIDEST[dtype]


@pytest.mark.parametrize("dtype", WIDE_FLOATS)
@pytest.mark.parametrize("name", [name for name in OF_LANGUAGE if name not in ("exp", "sigmoid")])
def test_function_of_the_language(rng, name, dtype):
    function, low, high = OF_LANGUAGE[name]
    x = draw(rng, dtype, (150,), low, high)
    expected = values_of(name, function, exact(x))
    ulps = bound(name, dtype)
    check(evaluate(f"tl.{name}(x)", x, into=dtype), expected, ulps=ulps)
    check(evaluate(f"x.{name}()", x, into=dtype), expected, ulps=ulps)
    scalar = draw(rng, dtype, (), low, high)
    check(evaluate(f"tl.math.{name}(x)" if name in COMMON else f"tl.{name}(x)", scalar, into=dtype),
          values_of(name, function, [exact(scalar)])[0], ulps=ulps)


@pytest.mark.parametrize("dtype", WIDE_FLOATS)
@pytest.mark.parametrize("name", ["exp", "sigmoid"])
def test_exponentials(rng, name, dtype):
    x = draw(rng, dtype, (300,), -20, 20)
    # In units of 2^-24 the error of fp32 is at most 4 + |x| on GPUs, and a unit in the last place may be half as large.
    ulps = 2 * (4 + np.abs(exact(x))) if dtype == "float32" and ON_GPU else 2.0
    ulps = ulps + 4 if name == "sigmoid" else ulps
    expected = reference(OF_LANGUAGE[name][0], exact(x))
    for expression in (f"tl.{name}(x)", f"x.{name}()"):
        check(evaluate(expression, x, into=dtype), expected, ulps=ulps)


@pytest.mark.parametrize("dtype", WIDE_FLOATS)
@pytest.mark.parametrize("name", OF_LIBDEVICE)
def test_function_of_libdevice(rng, name, dtype):
    function, low, high = OF_LIBDEVICE[name]
    x = draw(rng, dtype, (60,), low, high)
    expected = values_of(name, function, exact(x))
    check(evaluate(f"libdevice.{name}(x)", x, into=dtype), expected, ulps=bound(name, dtype),
          floor=ABSOLUTE.get(name, 0.0))


def norm(*coordinates):
    return mpmath.sqrt(sum(x * x for x in coordinates))


SEVERAL = {
    "atan2": (2, mpmath.atan2), "hypot": (2, norm), "norm3d": (3, norm), "norm4d": (4, norm),
    "rhypot": (2, lambda *xs: 1 / norm(*xs)), "rnorm3d": (3, lambda *xs: 1 / norm(*xs)),
    "rnorm4d": (4, lambda *xs: 1 / norm(*xs)), "pow": (2, lambda x, y: mpmath.power(abs(x), y)),
}


@pytest.mark.parametrize("dtype", WIDE_FLOATS)
@pytest.mark.parametrize("name", SEVERAL)
def test_function_of_several_arguments(rng, name, dtype):
    arity, function = SEVERAL[name]
    operands = [draw(rng, dtype, (60,), -9, 9) for _ in range(arity)]
    if name == "pow":
        operands[0] = operands[0].abs()
    expected = reference(function, *map(exact, operands))
    expression = f"libdevice.{name}({', '.join('xyzw'[:arity])})"
    check(evaluate(expression, *operands, into=dtype), expected, ulps=5 if dtype == "float32" else 30)


@pytest.mark.parametrize("dtype", WIDE_FLOATS)
@pytest.mark.parametrize("order", [0, 1, 2, 5])
def test_bessel_functions_of_an_order(rng, order, dtype):
    x = draw(rng, dtype, (40,), 1, 20)
    for name, function in (("jn", mpmath.besselj), ("yn", mpmath.bessely)):
        expected = reference(partial(function, order), exact(x))
        check(evaluate(f"libdevice.{name}({order}, x)", x, into=dtype), expected, ulps=60, floor=1.0)


#: The approximate functions of libdevice, and how far from the result, or from 1, they may be.
FAST = {"cos": (-3, 3), "sin": (-3, 3), "tan": (-1, 1), "exp": (-9, 9), "exp10": (-5, 5), "log": (0.1, 50),
        "log2": (0.1, 50), "log10": (0.1, 50), "tanh": (-4, 4)}


@pytest.mark.parametrize("name", FAST)
def test_approximate_function(rng, name):
    low, high = FAST[name]
    x = draw(rng, "float32", (60,), low, high)
    expected = reference(OF_LIBDEVICE[name][0], exact(x))
    ulps = 2.0**13 if name == "tanh" else 2.0**6
    check(evaluate(f"libdevice.fast_{name}f(x)", x, into="float32"), expected, ulps=ulps, floor=1.0)


def test_approximate_functions_of_two(rng):
    x, y = draw(rng, "float32", (60,), 0.1, 9), draw(rng, "float32", (60,), 0.1, 3)
    quotient = reference(lambda a, b: a / b, exact(x), exact(y))
    check(evaluate("libdevice.fast_dividef(x, y)", x, y, into="float32"), quotient, ulps=3)
    check(evaluate("tl.fdiv(x, y, approx=True)", x, y, into="float32"), quotient, ulps=3)
    power = reference(mpmath.power, exact(x), exact(y))
    check(evaluate("libdevice.fast_powf(x, y)", x, y, into="float32"), power, ulps=200)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", *WIDE_FLOATS])
def test_fast_quotients(rng, dtype):
    x, y = draw(rng, dtype, (200,)), draw(rng, dtype, (200,), 0.3, 3)
    check(evaluate("tl.fdiv(x, y)", x, y, into=dtype), exact(x) / exact(y), ulps=2)
    if dtype == "float32":
        check(evaluate("tl.div_rn(x, y)", x, y, into=dtype), exact(x) / exact(y))
        check(evaluate("tl.fdiv(x, y, ieee_rounding=True)", x, y, into=dtype), exact(x) / exact(y))


NAN, INFINITY = math.nan, math.inf
#: The values of functions at minus infinity, -0, 0, infinity.
LIMITS = {
    "exp": (0.0, 1, 1, INFINITY), "exp2": (0.0, 1, 1, INFINITY), "log": (NAN, -INFINITY, -INFINITY, INFINITY),
    "log2": (NAN, -INFINITY, -INFINITY, INFINITY), "sqrt": (NAN, -0.0, 0.0, INFINITY), "sin": (NAN, -0.0, 0.0, NAN),
    "sqrt_rn": (NAN, -0.0, 0.0, INFINITY), "rsqrt": (NAN, -INFINITY, INFINITY, 0.0), "cos": (NAN, 1, 1, NAN),
    "erf": (-1, -0.0, 0.0, 1), "floor": (-INFINITY, -0.0, 0.0, INFINITY), "abs": (INFINITY, 0.0, 0.0, INFINITY),
    "ceil": (-INFINITY, -0.0, 0.0, INFINITY), "sigmoid": (0.0, 0.5, 0.5, 1.0),
}


@pytest.mark.parametrize("dtype", WIDE_FLOATS)
@pytest.mark.parametrize("name", LIMITS)
def test_limits(name, dtype):
    x = tensor([-INFINITY, -0.0, 0.0, INFINITY, NAN], dtype)
    check(evaluate(f"tl.{name}(x)", x, into=dtype), [*LIMITS[name], NAN])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "uint8"])
@pytest.mark.parametrize("name", ["exp", "sin", "sqrt", "floor", "rsqrt"])
def test_functions_take_wide_floats_alone(rng, name, dtype):
    with pytest.raises(triton.CompilationError):
        evaluate(f"tl.{name}(x)", draw(rng, dtype, (8,), 1, 5), into=dtype)


@pytest.mark.parametrize("dtype", WIDE_FLOATS)
@pytest.mark.parametrize("shape", [(1,), (13,), (4, 32), (7, 33)], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_softmax(rng, axis, shape, dtype):
    if axis == len(shape):
        pytest.skip("the block has one dimension")
    x = draw(rng, dtype, shape, -5, 5)
    weight = np.exp(exact(x) - exact(x).max(axis=axis, keepdims=True))
    expected = weight / weight.sum(axis=axis, keepdims=True)
    check(evaluate(f"tl.softmax(x, dim={axis})", x, into=dtype), expected, ulps=40)
