"""The functions of libdevice are as accurate as docs/language.md says, by mpmath, all over their domains."""

import importlib.util
import itertools
import re
from functools import partial
from pathlib import Path

import mpmath
import numpy as np
import pytest

PAGE = Path(__file__).resolve().parent.parent / "docs" / "language.md"
BLOCK = 512
INFINITY, NAN = float("inf"), float("nan")

#: Enough for the differences that references compute.
mpmath.mp.prec = 160


def root(x):
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def log_gamma(x):
    return mpmath.log(abs(mpmath.gamma(x)))


#: References of functions of one argument, with the values at minus infinity, -0, 0 and infinity.
UNARY = {
    "acos": (mpmath.acos, NAN, np.pi / 2, np.pi / 2, NAN),
    "acosh": (mpmath.acosh, NAN, NAN, NAN, INFINITY),
    "asin": (mpmath.asin, NAN, -0.0, 0.0, NAN),
    "asinh": (mpmath.asinh, -INFINITY, -0.0, 0.0, INFINITY),
    "atan": (mpmath.atan, -np.pi / 2, -0.0, 0.0, np.pi / 2),
    "atanh": (mpmath.atanh, NAN, -0.0, 0.0, NAN),
    "cbrt": (root, -INFINITY, -0.0, 0.0, INFINITY),
    "cos": (mpmath.cos, NAN, 1, 1, NAN),
    "cosh": (mpmath.cosh, INFINITY, 1, 1, INFINITY),
    "cospi": (mpmath.cospi, NAN, 1, 1, NAN),
    "cyl_bessel_i0": (partial(mpmath.besseli, 0), INFINITY, 1, 1, INFINITY),
    "cyl_bessel_i1": (partial(mpmath.besseli, 1), -INFINITY, -0.0, 0.0, INFINITY),
    "erf": (mpmath.erf, -1, -0.0, 0.0, 1),
    "erfc": (mpmath.erfc, 2, 1, 1, 0.0),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), INFINITY, 1, 1, 0.0),
    "erfinv": (mpmath.erfinv, NAN, -0.0, 0.0, NAN),
    "exp": (mpmath.exp, 0.0, 1, 1, INFINITY),
    "exp10": (lambda x: mpmath.power(10, x), 0.0, 1, 1, INFINITY),
    "exp2": (lambda x: mpmath.power(2, x), 0.0, 1, 1, INFINITY),
    "expm1": (mpmath.expm1, -1, -0.0, 0.0, INFINITY),
    "j0": (partial(mpmath.besselj, 0), 0.0, 1, 1, 0.0),
    "j1": (partial(mpmath.besselj, 1), None, -0.0, 0.0, 0.0),
    "lgamma": (log_gamma, INFINITY, INFINITY, INFINITY, INFINITY),
    "log": (mpmath.log, NAN, -INFINITY, -INFINITY, INFINITY),
    "log10": (mpmath.log10, NAN, -INFINITY, -INFINITY, INFINITY),
    "log1p": (mpmath.log1p, NAN, -0.0, 0.0, INFINITY),
    "log2": (lambda x: mpmath.log(x, 2), NAN, -INFINITY, -INFINITY, INFINITY),
    "normcdf": (mpmath.ncdf, 0.0, 0.5, 0.5, 1),
    "rcbrt": (lambda x: 1 / root(x), -0.0, -INFINITY, INFINITY, 0.0),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), NAN, -INFINITY, INFINITY, 0.0),
    "sin": (mpmath.sin, NAN, -0.0, 0.0, NAN),
    "sinh": (mpmath.sinh, -INFINITY, -0.0, 0.0, INFINITY),
    "sinpi": (mpmath.sinpi, NAN, -0.0, 0.0, NAN),
    "sqrt": (mpmath.sqrt, NAN, -0.0, 0.0, INFINITY),
    "tan": (mpmath.tan, NAN, -0.0, 0.0, NAN),
    "tanh": (mpmath.tanh, -1, -0.0, 0.0, 1),
    "tgamma": (mpmath.gamma, NAN, -INFINITY, INFINITY, INFINITY),
    "y0": (partial(mpmath.bessely, 0), NAN, -INFINITY, -INFINITY, 0.0),
    "y1": (partial(mpmath.bessely, 1), NAN, -INFINITY, -INFINITY, 0.0),
}


def norm(*coordinates):
    return mpmath.sqrt(sum(x * x for x in coordinates))


#: Functions of several arguments: their number, and the reference.
SEVERAL = {
    "atan2": (2, mpmath.atan2),
    "hypot": (2, norm),
    "norm3d": (3, norm),
    "norm4d": (4, norm),
    "pow": (2, mpmath.power),
    "rhypot": (2, lambda *xs: 1 / norm(*xs)),
    "rnorm3d": (3, lambda *xs: 1 / norm(*xs)),
    "rnorm4d": (4, lambda *xs: 1 / norm(*xs)),
}
#: Functions of fp32 alone that may be approximate on a GPU, and those that they are on the CPU.
FAST = {f"fast_{name}f": name for name in ("cos", "exp", "exp10", "log", "log10", "log2", "pow", "sin", "tan", "tanh")}
#: Inverses are judged by how far the result is from where the function inverted has the argument: that function, its
#: slope, and the ends of the domain.
INVERSES = {
    "erfcinv": (mpmath.erfc, lambda y: -2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-y * y), (0, 2)),
    "normcdfinv": (mpmath.ncdf, mpmath.npdf, (0, 1)),
}
#: References take arguments beyond this badly, or for ever.
LARGEST = dict.fromkeys(
    ("j0", "j1", "y0", "y1", "cyl_bessel_i0", "cyl_bessel_i1", "lgamma", "tgamma", "erfc", "erfcx", "normcdf"), 1e4
)


def arity(name):
    return SEVERAL.get(FAST.get(name, name), (1, None))[0]


def bounds():
    """By function: the errors in fp32 and fp64 that the page allows, and the size below which they are absolute."""
    found = {}
    section = PAGE.read_text().partition("## Accuracy\n")[2].partition("\n## ")[0]
    row = r"^\| (`.*?) \| ([\d.]+) \| ([\d.]+) \| ([\d.]*) ?\|$"
    for names, single, double, floor in re.findall(row, section, re.MULTILINE):
        for name in re.findall(r"`(\w+)`", names):
            assert name not in found, f"{name} has two rows"
            found[name] = {"float32": float(single), "float64": float(double), "floor": float(floor or 0)}
    return found


BOUNDS = bounds()


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    text = "import tegula\nimport tegula.language as tl\n"
    for name in (*UNARY, *INVERSES, *SEVERAL, *FAST):
        arguments = ", ".join(f"tl.load({pointer} + i)" for pointer in "xyzw"[: arity(name)])
        text += (
            f"\n\n@tegula.jit\ndef {name}(x, y, z, w, out, N: tl.constexpr):\n"
            "    i = tl.program_id(0) * N + tl.arange(0, N)\n"
            f"    tl.store(out + i, tl.extra.libdevice.{name}({arguments}))\n"
        )
    path = tmp_path_factory.mktemp("accuracy") / "accuracy_kernels.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def samples(dtype, count, rng):
    """Numbers of all magnitudes, and of the common ones."""
    word, limit = ("u4", 90) if dtype == "float32" else ("u8", 720)
    bits = rng.integers(0, 2 ** (8 * np.dtype(word).itemsize), count, np.dtype(word)).view(dtype)
    small = np.exp(rng.uniform(-40, 5, count)) * rng.choice([-1, 1], count)
    ranges = (rng.uniform(-high, high, count) for high in (1, 10, limit))
    parts = [part.astype(dtype) for part in (bits, small, *ranges)]
    values = np.concatenate([part[np.isfinite(part)] for part in parts])
    rng.shuffle(values)
    return values


def evaluate(kernels, name, *inputs):
    inputs = [np.pad(x, (0, -len(x) % BLOCK), constant_values=0.5) for x in (*inputs, *3 * inputs[:1])[:4]]
    out = np.empty_like(inputs[0])
    getattr(kernels, name)[(len(out) // BLOCK,)](*inputs, out, N=BLOCK)
    return out


def exact(reference, *arguments):
    """The exact value; `None` at poles, NaN where there is none."""
    try:
        value = reference(*arguments)
    except (ValueError, ZeroDivisionError):
        return None
    if isinstance(value, mpmath.mpc):
        return value.real if value.imag == 0 else mpmath.nan
    return value


def unit(value, dtype, floor=0.0):
    """The unit in the last place of numbers of a size."""
    digits, least = (24, -149) if dtype == "float32" else (53, -1074)
    size = max(abs(value), floor)
    exponent = int(mpmath.floor(mpmath.log(size, 2))) + 1 - digits if size else least
    return mpmath.mpf(2) ** max(exponent, least)


def assert_close(result, value, dtype, bound, floor, what):
    largest = mpmath.mpf(float(np.finfo(dtype).max))
    if mpmath.isnan(value):
        assert np.isnan(result), what
    elif np.isinf(result) or abs(value) > largest:
        # Rounding may or may not go beyond the largest number.
        number = largest if np.isinf(result) else abs(mpmath.mpf(float(result)))
        assert min(abs(value), number) >= largest - bound * unit(largest, dtype), (what, float(result), value)
        assert np.sign(result) == mpmath.sign(value), what
    else:
        assert not np.isnan(result), (what, value)
        error = abs(mpmath.mpf(float(result)) - value) / unit(value, dtype, floor)
        assert error <= bound, (what, float(error), float(result), value)


def test_every_function_has_a_bound():
    assert set(BOUNDS) == {*UNARY, *INVERSES, *SEVERAL}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*itertools.product((*UNARY, *SEVERAL), ("float32", "float64")), *((name, "float32") for name in FAST)],
)
def test_bound(kernels, name, dtype):
    rng = np.random.default_rng()
    inputs = [samples(dtype, 200, rng) for _ in range(arity(name))]
    count = min(map(len, inputs))
    inputs = [x[:count] for x in inputs]
    out = evaluate(kernels, name, *inputs)
    name = FAST.get(name, name)
    reference = UNARY[name][0] if name in UNARY else SEVERAL[name][1]
    bound, floor = BOUNDS[name][dtype], BOUNDS[name]["floor"]
    for *arguments, result in zip(*inputs, out, strict=False):
        if abs(arguments[0]) > LARGEST.get(name, INFINITY):
            continue
        value = exact(reference, *(mpmath.mpf(float(x)) for x in arguments))
        if value is not None:
            assert_close(result, value, dtype, bound, floor, f"{name}{tuple(map(float, arguments))}")


def test_erfcx_to_where_it_overflows(kernels):
    x = np.concatenate([np.linspace(-26.55, -26.75, 401), [-27.0, -40.0, -1e200, -1.7e308]])
    bound, floor = BOUNDS["erfcx"]["float64"], BOUNDS["erfcx"]["floor"]
    for argument, result in zip(x, evaluate(kernels, "erfcx", x), strict=False):
        if argument < -30:
            assert result == np.inf
        else:
            value = exact(UNARY["erfcx"][0], mpmath.mpf(float(argument)))
            assert_close(result, value, "float64", bound, floor, f"erfcx({argument})")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", INVERSES)
def test_bound_of_inverse(kernels, name, dtype):
    rng = np.random.default_rng()
    function, slope, (low, high) = INVERSES[name]
    tails = np.exp(rng.uniform(-80, 0, 400))
    x = np.concatenate([rng.uniform(low, high, 400), tails, high - tails]).astype(dtype)
    x = x[(x > low) & (x < high)]
    for argument, result in zip(x, evaluate(kernels, name, x), strict=False):
        y = mpmath.mpf(float(result))
        distance = (function(y) - mpmath.mpf(float(argument))) / slope(y)
        assert_close(result, y - distance, dtype, BOUNDS[name][dtype], BOUNDS[name]["floor"], f"{name}({argument})")
    ends = evaluate(kernels, name, np.array([low, high, low - 0.5, high + 0.5, NAN], dtype))[:5]
    infinite = [INFINITY, -INFINITY] if name == "erfcinv" else [-INFINITY, INFINITY]
    np.testing.assert_array_equal(ends, [*infinite, NAN, NAN, NAN])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_special_values(kernels, name, dtype):
    _, *expected = UNARY[name]
    out = evaluate(kernels, name, np.array([-INFINITY, -0.0, 0.0, INFINITY, NAN], dtype))
    assert np.isnan(out[4])
    for result, value in zip(out, expected, strict=False):
        if value is not None:
            np.testing.assert_allclose(result, value, rtol=4 * np.finfo(dtype).eps)
            assert np.isnan(value) or np.signbit(result) == np.signbit(value), (name, result, value)
