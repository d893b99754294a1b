"""Bessel functions of any order, against their integral and their Wronskian in fp64."""

import math

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula.language.extra import libdevice

ORDERS = np.array([0, 1, 2, 3, 7, 20, 64, 150], np.int32)


@triton.jit
def evaluate(order_ptr, x_ptr, first_ptr, second_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    order = tl.load(order_ptr + i)
    x = tl.load(x_ptr + i)
    tl.store(first_ptr + i, libdevice.jn(order, x))
    tl.store(second_ptr + i, libdevice.yn(order, x))


def bessel(orders, x):
    """jn and yn of arrays."""
    orders, x = np.ascontiguousarray(orders, np.int32), np.ascontiguousarray(x)
    first, second = np.full_like(x, 7), np.full_like(x, 7)
    evaluate[(1,)](orders, x, first, second, N=len(x))
    return first, second


def integral(orders, x):
    """Bessel's integral by the trapezoidal rule, which is exact to rounding for so many points."""
    points = 4096
    angle = (np.arange(points) + 0.5) * (np.pi / points)
    phase = orders[:, None] * angle - x[:, None] * np.sin(angle)
    return np.cos(phase).mean(axis=1)


@pytest.mark.parametrize("dtype,tolerance", [(np.float32, 3e-7), (np.float64, 1e-13)])
def test_the_first_kind_is_its_integral(dtype, tolerance):
    x = np.array([0.0, 1e-3, 0.5, 1.0, 3.8, 20.0, 24.9, 25.1, 63.0, 64.5, 300.0, -5.5], dtype)
    for order in ORDERS:
        orders = np.full(len(x), order)
        np.testing.assert_allclose(bessel(orders, x)[0], integral(orders, x.astype(np.float64)), rtol=0, atol=tolerance)


def power_series(order, x):
    """The function of the first kind of a small number."""
    terms = range(30)
    factorial = math.factorial
    return sum((-1) ** k * (x / 2) ** (order + 2 * k) / (factorial(k) * factorial(order + k)) for k in terms)


def test_large_orders_of_small_numbers_keep_their_relative_accuracy():
    orders, x = [5, 10, 30], [0.1, 0.01, 2.0]
    first, _ = bessel(orders, np.array(x))
    np.testing.assert_allclose(first, [power_series(*pair) for pair in zip(orders, x, strict=True)], rtol=1e-13)


def test_the_kinds_fit_together():
    x = np.array([0.7, 2.0, 5.0, 11.0, 26.0, 90.0])
    for order in (1, 2, 5, 12):
        first, second = bessel(np.full(6, order), x)
        next_first, next_second = bessel(np.full(6, order + 1), x)
        np.testing.assert_allclose(next_first * second - first * next_second, 2 / (np.pi * x), rtol=1e-10)


def test_special_values():
    first, second = bessel([3, 3, 3, -1, 2], np.array([np.inf, np.nan, 0.0, 1.0, -1.0]))
    np.testing.assert_array_equal(first[:4], [0, np.nan, 0, np.nan])
    np.testing.assert_array_equal(second, [0, np.nan, -np.inf, np.nan, np.nan])
    assert first[4] > 0
