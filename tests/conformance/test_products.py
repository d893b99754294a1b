"""Products of matrices: all types and precisions, any extents, accumulators, batches, operands from everywhere."""

import numpy as np
import pytest
import torch
from expressions import DEVICE, ON_GPU, TORCH, Poisoned, check, draw, evaluate, exact, tensor, units

import tegula as triton
import tegula.language as tl

#: Any extents: of one, odd ones, those of instructions, and many of them.
SHAPES = [(1, 1, 1), (1, 5, 64), (3, 5, 7), (16, 8, 16), (16, 16, 128), (17, 33, 40), (64, 64, 64), (128, 32, 48)]
ELEMENTS = ("float16", "bfloat16", "float32", "float64", "float8e4nv", "float8e5", "int8", "uint8")
#: How far a term may be from its product, relative to it, where fp32 is multiplied on a GPU.
TERM_ERROR = {"ieee": 0.0, "tf32": 2.0**-9, "tf32x3": 2.0**-18, "bf16x3": 2.0**-14, "bf16x6": 2.0**-20, None: 2.0**-9}


def result_type(element):
    return {"float64": "float64", "int8": "int32", "uint8": "int32"}.get(element, "float32")


def whole(rng, element, shape):
    """Small whole numbers, whose products have exact sums in every type."""
    return tensor(rng.integers(0 if element == "uint8" else -3, 4, shape), element)


def close(result, a, b, accumulator=0.0, precision="ieee", step=None):
    """Every term and every partial sum may be off by a step of the type in which they are added."""
    a, b = exact(a).astype(float), exact(b).astype(float)
    step = units("float32")[0] if step is None else step
    size = np.abs(a) @ np.abs(b) + np.abs(accumulator)
    error = TERM_ERROR[precision] if ON_GPU else 0.0
    assert (np.abs(exact(result) - (a @ b + accumulator)) <= size * (error + (a.shape[-1] + 1) * step)).all()


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_exact_sums(rng, shape, element):
    m, n, k = shape
    a, b = whole(rng, element, (m, k)), whole(rng, element, (k, n))
    for warps in (1, 4, 8):
        result = evaluate("tl.dot(x, y)", a, b, into=result_type(element), shape=(m, n), num_warps=warps)
        check(result, exact(a).astype(float) @ exact(b).astype(float))


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_accumulators(rng, shape, element):
    m, n, k = shape
    a, b = whole(rng, element, (m, k)), whole(rng, element, (k, n))
    into = result_type(element)
    c = tensor(rng.integers(-99, 99, (m, n)), into)
    expected = exact(a).astype(float) @ exact(b).astype(float) + exact(c)
    for expression in ("tl.dot(x, y, z)", "tl.dot(x, y, acc=z)", "z + tl.dot(x, y)", "tl.dot(x, y) + z"):
        check(evaluate(expression, a, b, c, into=into, shape=(m, n)), expected)


@pytest.mark.parametrize("element", ["float16", "bfloat16", "float64", "float8e4nv", "float8e5"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rounded_sums(rng, shape, element):
    m, n, k = shape
    a, b = draw(rng, element, (m, k)), draw(rng, element, (k, n))
    # Of fp8 products GPUs keep 13 bits while they add.
    step = {"float64": units("float64")[0], "float8e4nv": 2.0**-13, "float8e5": 2.0**-13}.get(element)
    close(evaluate("tl.dot(x, y)", a, b, into=result_type(element), shape=(m, n)), a, b, step=step)


@pytest.mark.parametrize("precision", TERM_ERROR)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_precisions_of_fp32(rng, shape, precision):
    m, n, k = shape
    a, b = draw(rng, "float32", (m, k)), draw(rng, "float32", (k, n))
    result = evaluate(f"tl.dot(x, y, input_precision={precision!r})", a, b, into="float32", shape=(m, n))
    close(result, a, b, precision=precision)


def test_an_older_way_to_choose_the_precision(rng):
    a, b = draw(rng, "float32", (16, 32)), draw(rng, "float32", (32, 16))
    for allowed in (True, False):
        result = evaluate(f"tl.dot(x, y, allow_tf32={allowed})", a, b, into="float32", shape=(16, 16))
        close(result, a, b, precision="tf32" if allowed else "ieee")


@pytest.mark.parametrize(("left", "right"), [("float8e4nv", "float8e5"), ("float8e5", "float8e4nv")])
def test_two_types_of_fp8(rng, left, right):
    a, b = whole(rng, left, (32, 64)), whole(rng, right, (64, 16))
    check(evaluate("tl.dot(x, y)", a, b, into="float32", shape=(32, 16)), exact(a) @ exact(b))


@pytest.mark.parametrize("element", ["float16", "float8e4nv", "float8e5"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_in_fp16(rng, shape, element):
    m, n, k = shape
    a, b = whole(rng, element, (m, k)), whole(rng, element, (k, n))
    result = evaluate("tl.dot(x, y, out_dtype=tl.float16)", a, b, into="float16", shape=(m, n))
    check(result, exact(a) @ exact(b))


@pytest.mark.parametrize("element", ["float16", "bfloat16", "float32", "int8", "float64"])
@pytest.mark.parametrize("batch", [(1,), (3,), (2, 2)], ids=str)
def test_batches(rng, batch, element):
    a, b = whole(rng, element, (*batch, 16, 32)), whole(rng, element, (*batch, 32, 8))
    expected = exact(a).astype(float) @ exact(b).astype(float)
    check(evaluate("tl.dot(x, y)", a, b, into=result_type(element), shape=expected.shape), expected)


@triton.jit
def strided(a_ptr, b_ptr, c_ptr, a_row, a_column, b_row, b_column, OUT: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
            K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * a_row + k[None, :] * a_column)
    b = tl.load(b_ptr + k[:, None] * b_row + n[None, :] * b_column)
    tl.store(c_ptr + m[:, None] * N + n[None, :], tl.dot(a, b, out_dtype=OUT))


@pytest.mark.parametrize("turn", ["none", "left", "right", "both"])
@pytest.mark.parametrize("element", ELEMENTS)
def test_operands_that_lie_by_rows_or_columns(rng, element, turn):
    for (m, n, k), warps in (((64, 64, 64), 4), ((16, 8, 32), 1), ((13, 20, 9), 2)):
        a, b = whole(rng, element, (m, k)), whole(rng, element, (k, n))
        left = a.T.contiguous().T if turn in ("left", "both") else a
        right = b.T.contiguous().T if turn in ("right", "both") else b
        out = Poisoned(result_type(element), (m, n))
        left, right = (torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=DEVICE).copy_(x)
                       for x in (left, right))
        strided[(1,)](left, right, out.tensor, *left.stride(), *right.stride(), OUT=getattr(tl, result_type(element)),
                      M=m, N=n, K=k, num_warps=warps)
        check(out.checked(), exact(a).astype(float) @ exact(b).astype(float))


#: Operands and results that are computed, moved and converted on the way, with x and y of (32, 32).
COMPUTED = {
    "tl.dot(x.T, y)": lambda a, b: a.T @ b, "tl.dot(x, y.T)": lambda a, b: a @ b.T,
    "tl.dot(tl.trans(x), tl.trans(y))": lambda a, b: a.T @ b.T,
    "tl.dot(tl.maximum(x, 0).to(x.dtype), y)": lambda a, b: np.maximum(a, 0) @ b,
    "tl.dot(x + y, x - y)": lambda a, b: (a + b) @ (a - b),
    "tl.dot(tl.where(y > 0, x, 0.0).to(x.dtype), y)": lambda a, b: np.where(b > 0, a, 0) @ b,
    "tl.dot(tl.dot(x, y).to(x.dtype), y)": lambda a, b: a @ b @ b,
    "tl.dot(y, tl.dot(x, y).to(x.dtype))": lambda a, b: b @ (a @ b),
    "tl.dot(x, y) + tl.dot(y, x)": lambda a, b: a @ b + b @ a,
    "tl.dot(y, x, tl.dot(x, y))": lambda a, b: a @ b + b @ a,
    "tl.dot(x, y) * 2 - 1": lambda a, b: 2 * (a @ b) - 1,
    "tl.dot(tl.reshape(tl.reshape(x, 16, 64), 32, 32), y)": lambda a, b: a @ b,
    "tl.dot(tl.flip(x), y)": lambda a, b: a[:, ::-1] @ b,
    "tl.dot(x, tl.broadcast_to(y[3, :][:, None], 32, 32))": lambda a, b: a @ np.broadcast_to(b[3][:, None], (32, 32)),
    "tl.dot(x.to(tl.int8).to(x.dtype), y)": lambda a, b: a @ b,
    "tl.where(tl.dot(x, y) > 0, tl.dot(y, x), 0.0)": lambda a, b: np.where(a @ b > 0, b @ a, 0),
}


@pytest.mark.parametrize("element", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("expression", COMPUTED)
def test_operands_that_are_computed(rng, expression, element):
    a, b = (tensor(rng.integers(-1, 2, (32, 32)), element) for _ in range(2))
    for warps in (1, 4):
        result = evaluate(expression, a, b, into="float32", num_warps=warps)
        check(result, COMPUTED[expression](exact(a), exact(b)) + 0.0)


#: Reductions of products, whose elements lie as instructions leave them.
REDUCED = {"tl.sum(tl.dot(x, y), 1)": lambda p: p.sum(1), "tl.max(tl.dot(x, y), 0)": lambda p: p.max(0),
           "tl.argmax(tl.dot(x, y), 1).to(tl.float32)": lambda p: p.argmax(1),
           "tl.cumsum(tl.dot(x, y), 1)[:, 31]": lambda p: p.sum(1), "tl.sort(tl.dot(x, y))[:, 0]": lambda p: p.min(1)}


@pytest.mark.parametrize("expression", REDUCED)
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_reductions_of_products(rng, warps, expression):
    a, b = whole(rng, "float16", (32, 64)), whole(rng, "float16", (64, 32))
    result = evaluate(expression, a, b, into="float32", shape=(32,), num_warps=warps)
    check(result, REDUCED[expression](exact(a) @ exact(b)) + 0.0)


@triton.jit
def looped(a_ptr, b_ptr, c_ptr, M, N, K, a_stride, b_stride, OUT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
           BK: tl.constexpr, STAGES: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), OUT)
    for start in tl.range(0, K, BK, num_stages=STAGES):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * a_stride + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0)
        b = tl.load(b_ptr + k[:, None] * b_stride + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0)
        total = tl.dot(a, b, total, out_dtype=OUT)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("element", ELEMENTS)
def test_loops_with_operands_fetched_ahead(rng, element, stages):
    """Extents and strides that suit bulk copies, and others; loops of no, of one and of many turns."""
    for m, n, k, pad in ((128, 64, 192, 0), (120, 72, 224, 16), (65, 33, 70, 3), (64, 64, 16, 0), (5, 7, 0, 0)):
        a, b = whole(rng, element, (m, k + pad)), whole(rng, element, (k, n + pad))
        out = Poisoned(result_type(element), (m, n))
        looped[(triton.cdiv(m, 64), triton.cdiv(n, 64))](
            a.to(DEVICE), b.to(DEVICE), out.tensor, m, n, k, k + pad, n + pad, OUT=getattr(tl, result_type(element)),
            BM=64, BN=64, BK=32, STAGES=stages)
        check(out.checked(), exact(a)[:, :k].astype(float) @ exact(b)[:, :n].astype(float))


@triton.jit
def two_products(q_ptr, k_ptr, v_ptr, out_ptr, n, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Products in a row, as attention has them, of which the second's operand comes from the first."""
    m, j, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    total = tl.zeros((M, D), tl.float32)
    for start in range(0, n, N):
        key = start + j
        k = tl.load(k_ptr + key[:, None] * D + d[None, :], mask=key[:, None] < n, other=0.0)
        v = tl.load(v_ptr + key[:, None] * D + d[None, :], mask=key[:, None] < n, other=0.0)
        weight = tl.dot(q, tl.trans(k))
        total = tl.dot(weight.to(v.dtype), v, total)
    tl.store(out_ptr + m[:, None] * D + d[None, :], total)


@pytest.mark.parametrize("element", ["float16", "bfloat16"])
@pytest.mark.parametrize(("m", "width"), [(16, 16), (64, 64), (128, 32)])
@pytest.mark.parametrize("n", [16, 100, 192])
def test_products_of_products(rng, n, m, width, element):
    q, k, v = (tensor(rng.integers(-1, 2, shape), element) for shape in ((m, width), (n, width), (n, width)))
    out = Poisoned("float32", (m, width))
    two_products[(1,)](*(x.to(DEVICE) for x in (q, k, v)), out.tensor, n, M=m, N=32, D=width)
    check(out.checked(), exact(q) @ exact(k).T @ exact(v))


@pytest.mark.parametrize("element", ["float16", "bfloat16", "float32", "float64"])
def test_infinities_and_nan(element):
    a = torch.zeros(16, 16).to(TORCH[element])
    b = torch.eye(16).to(TORCH[element])
    a[0, 0], a[1, 1], a[2, 2] = float("inf"), float("nan"), -float("inf")
    result = exact(evaluate("tl.dot(x, y, input_precision='ieee')", a, b, into=result_type(element)))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(result, exact(a) @ exact(b))


@pytest.mark.parametrize(("expression", "left", "right"), [
    ("tl.dot(x, y)", ("float16", (16, 16)), ("bfloat16", (16, 16))),
    ("tl.dot(x, y)", ("float16", (16, 16)), ("float16", (8, 16))),
    ("tl.dot(x, y)", ("int32", (16, 16)), ("int32", (16, 16))),
    ("tl.dot(x, y)", ("float16", (16,)), ("float16", (16,))),
    ("tl.dot(x, y, out_dtype=tl.int8)", ("float32", (16, 16)), ("float32", (16, 16))),
    ("tl.dot(x, y, input_precision='fp8')", ("float32", (16, 16)), ("float32", (16, 16))),
    ("tl.dot(x, y, acc=x)", ("float16", (16, 32)), ("float16", (32, 16))),
])
def test_operands_that_do_not_fit_are_refused(rng, expression, left, right):
    with pytest.raises(triton.CompilationError):
        evaluate(expression, draw(rng, *left), draw(rng, *right), into="float32", shape=(16, 16))
