"""Whole kernels of the kinds that models are made of: those of the examples."""

import pathlib
import sys

import torch
from agreement import Launch, case
from product_kernels import normal

import tegula as triton

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent.parent / "examples"))

from attention import attention_kernel
from bias_relu import bias_relu_kernel
from column_sum import column_sum_kernel
from cross_entropy import cross_entropy_kernel
from dropout import dropout_kernel
from layer_norm import layer_norm_kernel
from matmul_int4 import int4_matmul_kernel
from row_scan import recurrence_kernel, running_sum_kernel
from softmax import softmax_kernel
from softmax_online import online_softmax_kernel

ROWS, COLS = 5, 300
NARROW_OR_WIDE = [("float32", torch.float32), ("bfloat16", torch.bfloat16)]


def filled(*shape, dtype=torch.float32):
    return torch.full(shape, 77.0).to(dtype)


@case(*NARROW_OR_WIDE)
def softmax(rng, dtype):
    x = normal(rng, dtype, ROWS, COLS)
    return Launch(softmax_kernel, (ROWS,), (x, filled(ROWS, COLS, dtype=dtype), COLS, COLS, COLS), {"BLOCK": 512},
                  magnified=8)


@case(*NARROW_OR_WIDE)
def online_softmax(rng, dtype):
    x = 5 * normal(rng, dtype, ROWS, COLS)
    return Launch(online_softmax_kernel, (ROWS,), (x, filled(ROWS, COLS, dtype=dtype), COLS, COLS, COLS),
                  {"BLOCK": 128}, magnified=32)


@case(*NARROW_OR_WIDE)
def layer_norm(rng, dtype):
    x, weight, bias = normal(rng, dtype, ROWS, COLS), normal(rng, dtype, COLS), normal(rng, dtype, COLS)
    outs = filled(ROWS, COLS, dtype=dtype), filled(ROWS), filled(ROWS)
    return Launch(layer_norm_kernel, (ROWS,), (x, weight, bias, *outs, COLS, COLS, 1e-5), {"BLOCK": 512}, magnified=4,
                  floor=1e-5)


@case()
def cross_entropy(rng):
    logits = normal(rng, torch.float32, ROWS, COLS)
    target = torch.randint(0, COLS, (ROWS,), generator=rng)
    target[1] = -100
    return Launch(cross_entropy_kernel, (ROWS,), (logits, target, filled(ROWS), filled(ROWS, COLS), COLS, COLS),
                  {"IGNORED": -100, "BLOCK": 128}, magnified=16, floor=1e-6)


@case()
def dropout(rng):
    x = normal(rng, torch.float32, 1000)
    return Launch(dropout_kernel, (4,), (x, filled(1000), 1000, 0.3, 12345), {"BLOCK": 256})


@case()
def bias_and_relu(rng):
    x, bias = normal(rng, torch.float16, 33, COLS), normal(rng, torch.float16, COLS)
    out = filled(33, COLS, dtype=torch.float16)
    return Launch(bias_relu_kernel, (triton.cdiv(33, 16), triton.cdiv(COLS, 128)),
                  (x, bias, out, 33, COLS, COLS, 1, COLS, 1), {"ROWS": 16, "COLS": 128})


@case()
def sums_of_columns(rng):
    return Launch(column_sum_kernel, (3,), (normal(rng, torch.float32, 70, COLS), filled(COLS), 70, COLS),
                  {"ROWS": 64, "COLS": 128})


@case()
def running_sums(rng):
    return Launch(running_sum_kernel, (ROWS,), (normal(rng, torch.float32, ROWS, COLS), filled(ROWS, COLS), COLS),
                  {"BLOCK": 128})


@case()
def recurrences(rng):
    factor, offset = torch.rand(ROWS, COLS, generator=rng), normal(rng, torch.float32, ROWS, COLS)
    return Launch(recurrence_kernel, (ROWS,), (factor, offset, filled(ROWS, COLS), COLS), {"BLOCK": 512})


@case(*[(f"{label} {kind}", (dtype, kind == "causal"))
        for label, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16)) for kind in ("full", "causal")])
def attention(rng, chosen):
    dtype, causal = chosen
    q, k, v = (normal(rng, dtype, 2, 100, 64) for _ in range(3))
    # Weights are rounded to the operands' type, and may be rounded otherwise where exponentials differ.
    floor = 4 * torch.finfo(dtype).eps
    return Launch(attention_kernel, (2, 2), (q, k, v, filled(2, 100, 64, dtype=dtype), 0.125, 100),
                  {"HEAD": 64, "QUERIES": 64, "KEYS": 64, "CAUSAL": causal}, magnified=16, floor=floor)


@case()
def weights_of_four_bits(rng):
    m, n, k, group = 16, 64, 128, 32
    a = torch.randint(-2, 3, (m, k), generator=rng).half()
    packed = torch.randint(-(2**31), 2**31, (k // 8, n), generator=rng).int()
    scale = torch.randint(1, 3, (k // group, n), generator=rng).half()
    return Launch(int4_matmul_kernel, (1, 1), (a, packed, scale, filled(m, n), m, n, k),
                  {"GROUP": group, "BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 64})
