"""Conversions between all types: rounding, saturation, wrapping, bits."""

import itertools

import numpy as np
import pytest
import torch
from expressions import (
    FLOATS,
    INTEGERS,
    NARROW_FLOATS,
    NUMBERS,
    TORCH,
    any_bits,
    check,
    draw,
    evaluate,
    exact,
    rounded,
    tensor,
)

import tegula as triton

TYPES = ("int1", *NUMBERS, *NARROW_FLOATS)


def every(rng, dtype):
    """All values of types up to 16 bits, and many of wider ones."""
    size = TORCH[dtype].itemsize
    if dtype == "int1":
        return torch.tensor([False, True])
    if size <= 2:
        return torch.from_numpy(np.arange(2 ** (8 * size)).astype(f"uint{8 * size}")).view(TORCH[dtype])
    x = any_bits(rng, dtype, (2000,))
    if dtype in FLOATS:
        # Numbers of the usual magnitudes, and halves, which are ties.
        x = torch.cat([x, draw(rng, dtype, (2000,), -500, 500), tensor(rng.integers(-99, 99, 500) / 2, dtype)])
    return torch.cat([x, near_ties(rng, dtype)])


def near_ties(rng, dtype):
    """Numbers in the middle between two of a narrower type, and those next to them, which a rounding on the way would
    take for the middle."""
    bits = rng.choice([3, 4, 8, 11, 24], 2000)
    middles = (rng.integers(2 ** (bits - 1), 2**bits, 2000) * 2 + 1).astype(np.float64)
    if dtype in INTEGERS:
        limit = np.iinfo(dtype).bits - 1
        values = middles.astype(np.int64) << np.maximum(limit - bits - 1 - rng.integers(0, 9, 2000), 0)
        return tensor(values + rng.integers(-1, 2, 2000), dtype)
    values = (middles * 2.0 ** rng.integers(-12, 5, 2000)).astype(dtype)
    return torch.from_numpy(np.nextafter(values, values + rng.integers(-1, 2, 2000)).astype(dtype))


def expected_float(values, dtype):
    """Numbers rounded to a type of floats; the narrow ones saturate."""
    if dtype not in NARROW_FLOATS:
        return exact(rounded(values, dtype))
    largest = torch.finfo(TORCH[dtype]).max
    return exact(rounded(np.clip(values.astype(np.float64), -largest, largest), dtype))


@pytest.mark.parametrize(("source", "target"), [(a, b) for a, b in itertools.product(TYPES, TYPES) if a != b])
def test_conversion(rng, source, target):
    x = every(rng, source)
    values = exact(x)
    if target in INTEGERS and values.dtype == np.float64:
        # What is out of range has no defined result.
        limits = np.iinfo(target)
        inside = (values > limits.min - 1.0) & (values < limits.max + 1.0) & (np.abs(values) < 2.0**63)
        x, values = x[torch.from_numpy(inside)], np.trunc(values[inside])
        expected = np.array([int(v) for v in values], dtype=object)
    elif target == "int1" or target in INTEGERS:
        expected = values
    else:
        expected = expected_float(values, target)
    check(evaluate(f"x.to(tl.{target})", x, into=target), expected)


@pytest.mark.parametrize("target", ["float16", "bfloat16", "float8e5", "float32"])
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_rounding_towards_zero(rng, source, target):
    if source == target:
        pytest.skip("no conversion")
    x = draw(rng, source, (4000,), -300, 300)
    values = exact(x)
    nearest = exact(rounded(values, target)) if target != "float8e5" else expected_float(values, target)
    neighbour = previous(nearest, target)
    expected = np.where(np.abs(nearest) > np.abs(values), neighbour, nearest)
    check(evaluate(f"x.to(tl.{target}, fp_downcast_rounding='rtz')", x, into=target), expected)
    check(evaluate(f"x.to(tl.{target}, fp_downcast_rounding='rtne')", x, into=target), nearest)


def previous(values, dtype):
    """The numbers of a type next to these, closer to zero."""
    size = TORCH[dtype].itemsize
    bits = torch.from_numpy(values).to(TORCH[dtype]).view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[size])
    return exact((bits - 1).view(TORCH[dtype]))


def test_rounding_is_for_narrower_floats(rng):
    for expression in ("x.to(tl.float64, fp_downcast_rounding='rtz')", "x.to(tl.int32, fp_downcast_rounding='rtz')",
                       "x.to(tl.float16, fp_downcast_rounding='up')"):
        with pytest.raises(triton.CompilationError):
            evaluate(expression, draw(rng, "float32", (8,)), into="float64")


WIDTHS = {8: ("int8", "uint8", "float8e4nv", "float8e5"), 16: ("int16", "uint16", "float16", "bfloat16"),
          32: ("int32", "uint32", "float32"), 64: ("int64", "uint64", "float64")}


@pytest.mark.parametrize(("source", "target"),
                         [pair for types in WIDTHS.values() for pair in itertools.permutations(types, 2)])
def test_bits_stay(rng, source, target):
    x = every(rng, source)
    result = evaluate(f"x.to(tl.{target}, bitcast=True)", x, into=target)
    assert torch.equal(result.view(torch.uint8), x.view(torch.uint8))


@pytest.mark.parametrize(("source", "target"), [("int32", "int64"), ("float32", "int16"), ("int8", "float16")])
def test_bits_of_another_width_are_refused(rng, source, target):
    with pytest.raises(triton.CompilationError):
        evaluate(f"x.to(tl.{target}, bitcast=True)", draw(rng, source, (8,)), into=target)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_scalars_and_constants_convert_too(rng, dtype):
    x = draw(rng, "int32", (), 0, 100)
    check(evaluate(f"x.to(tl.{dtype})", x, into=dtype), exact(x))
    check(evaluate(f"tl.cast(x, tl.{dtype})", x, into=dtype), exact(x))
    check(evaluate(f"tl.cast(42, tl.{dtype})", x, into=dtype), 42)
    check(evaluate(f"tl.full((3,), x, tl.{dtype})", x, into=dtype, shape=(3,)), exact(x))


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("stored", NUMBERS)
def test_stores_convert(rng, dtype, stored):
    """A store converts to the type of its pointer, as `to` does."""
    x = draw(rng, dtype, (100,), 0, 100)
    into = evaluate(f"tl.load(x_ptr + tl.arange(0, 100)).to(tl.{stored})", x, into=stored)
    expected = np.trunc(exact(x)) if stored in INTEGERS else expected_float(exact(x).astype(float), stored)
    check(into, expected)
    # The block stays as it is, and the pointer says what is stored.
    target = tensor(np.zeros(100), stored)
    text = "store_as(y_ptr, x)"
    before = "@triton.jit\ndef store_as(pointer, x):\n    tl.store(pointer + tl.arange(0, 100), x)\n    return x\n"
    check(evaluate(text, x, target, into=dtype, before=before), exact(x))


@pytest.mark.parametrize("pattern", ["float8e4b8", "float8e5b16", "float8e4b15"])
def test_other_narrow_floats(pattern):
    """Every pattern of bits, to fp32; torch has two of the types by other names."""
    bits = torch.arange(256, dtype=torch.uint8)
    bias, fraction = {"float8e4b8": (8, 3), "float8e5b16": (16, 2), "float8e4b15": (15, 3)}[pattern]
    sign, rest = np.where(np.arange(256) >= 128, -1.0, 1.0), np.arange(256) % 128
    exponent, mantissa = rest >> fraction, rest % (1 << fraction)
    expected = sign * np.where(exponent > 0, (1 + mantissa / 2**fraction) * 2.0 ** (exponent - bias),
                               mantissa / 2**fraction * 2.0 ** (1 - bias))
    if pattern != "float8e4b15":
        expected[128] = np.nan
    check(evaluate(f"x.to(tl.{pattern}, bitcast=True).to(tl.float32)", bits, into="float32"), expected)
