"""Compiled and interpreted launches write the same bits: random kernels, and products of operands wherever they lie."""

import itertools

import numpy as np
import pytest
import random_kernels

import tegula
import tegula.language as tl


@pytest.mark.parametrize("turn", range(8))
def test_compiled_and_interpreted_launches_agree(turn):
    for _ in range(6):
        seed = int(np.random.default_rng().integers(2**32))
        found = random_kernels.disagreement(random_kernels.Generator(seed), length=12)
        assert found is None, f"seed {seed}: {found[1]}\n{found[0]}"


@tegula.jit
def product(a_ptr, b_ptr, out_ptr, a_row, a_column, b_row, b_column, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + rows[:, None] * a_row + inner[None, :] * a_column)
    b = tl.load(b_ptr + inner[:, None] * b_row + columns[None, :] * b_column)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], tl.dot(a, b))


@tegula.jit
def product_of_turned(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])
    b = tl.load(b_ptr + columns[:, None] * K + inner[None, :])
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], tl.dot(a, tl.trans(b)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_do_not_depend_on_where_operands_lie(dtype):
    rng = np.random.default_rng()
    for m, n, k in (
        (1, 1, 100),
        (1, 40, 64),
        (40, 1, 64),
        (6, 6, 20),
        (16, 16, 70),
        (5, 50, 33),
        (40, 40, 600),
        (70, 3, 9),
    ):
        a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
        results = []
        for interpret, left, right in itertools.product((False, True), "CF", "CF"):
            out = np.empty((m, n), dtype)
            left, right = np.asarray(a, order=left), np.asarray(b, order=right)
            strides = [stride // a.itemsize for stride in (*left.strides, *right.strides)]
            kernel = tegula.jit(product.fn, interpret=interpret)
            kernel[(1,)](left, right, out, *strides, M=m, N=n, K=k)
            results.append(out.tobytes())
        out = np.empty((m, n), dtype)
        product_of_turned[(1,)](a, np.ascontiguousarray(b.T), out, M=m, N=n, K=k)
        results.append(out.tobytes())
        assert len(set(results)) == 1, (m, n, k)
        np.testing.assert_allclose(out, a.astype(np.float64) @ b, rtol=1e-3, atol=1e-4)
