"""Functions of scalars over blocks, in the language and in instructions of a GPU."""

import numpy as np
import pytest
from expressions import DEVICE, ON_GPU, check, draw, evaluate, exact, tensor

import tegula as triton

STEPS = """@triton.jit
def steps(value, most):
    count = 0
    while value != 1 and count < most:
        if value % 2 == 0:
            value = value // 2
        else:
            value = 3 * value + 1
        count += 1
    return count
"""


def steps(value, most):
    count = 0
    while value != 1 and count < most:
        value, count = (value // 2 if value % 2 == 0 else 3 * value + 1), count + 1
    return count


@pytest.mark.parametrize("shape", [(1,), (50,), (200,), (3, 40)], ids=str)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_loops_for_each_element(rng, dtype, shape):
    x = draw(rng, dtype, shape, 1, 60)
    expected = np.vectorize(steps)(exact(x), 30)
    check(evaluate("tl.map_elementwise(steps, x, 30)", x, into="int32", before=STEPS), expected)


QUOTIENT = """@triton.jit
def divided(a, b):
    if b == 0:
        return 0, a
    return a // b, a % b
"""


@pytest.mark.parametrize("shapes", [((30,), (30,)), ((4, 1), (1, 9)), ((5, 8), ())], ids=str)
def test_several_results_and_broadcasts(rng, shapes):
    x, y = draw(rng, "int32", shapes[0], 0, 99), draw(rng, "int32", shapes[1], 0, 5)
    results = evaluate("tl.map_elementwise(divided, x, y)", x, y, into=["int32", "int32"], before=QUOTIENT)
    a, b = np.broadcast_arrays(exact(x), exact(y))
    check(results[0], np.where(b == 0, 0, a // np.maximum(b, 1)))
    check(results[1], np.where(b == 0, a, a % np.maximum(b, 1)))


PACKED = """@triton.jit
def ordered(a, b, c, d):
    # Two neighbours of each of two blocks; the lower ones first.
    return tl.minimum(a, b), tl.maximum(a, b), c + d, c - d
"""


@pytest.mark.parametrize("extent", [2, 64, 300])
def test_neighbours_at_a_time(rng, extent):
    x, y = draw(rng, "int32", (extent,), -99, 99), draw(rng, "int32", (extent,), -99, 99)
    low, sums = evaluate("tl.map_elementwise(ordered, x, y, pack=2)", x, y, into=["int32", "int32"], before=PACKED)
    pairs, others = exact(x).reshape(-1, 2), exact(y).reshape(-1, 2)
    check(low, np.sort(pairs, axis=1).reshape(-1))
    check(sums, np.stack([others.sum(axis=1), others[:, 0] - others[:, 1]], 1).reshape(-1))


def assembly(text, constraints, operands, into, pack=1, pure=True):
    result = f"({', '.join(f'tl.{name}' for name in into)})" if isinstance(into, tuple) else f"tl.{into}"
    return f"tl.inline_asm_elementwise({text!r}, {constraints!r}, [{operands}], {result}, {pure}, {pack})"


def ones(x):
    return np.array([int(v).bit_count() for v in x.view(np.uint32).reshape(-1)]).reshape(x.shape)


#: Instructions, their constraints, the types of operands and results, elements at a time, and what they compute.
INSTRUCTIONS = {
    "abs.f32 $0, $1;": ("=f,f", ("float32",), "float32", 1, np.abs),
    "fma.rn.f32 $0, $1, $2, $2;": ("=f,f,f", ("float32",) * 2, "float32", 1, lambda x, y: x * y + y),
    "add.f64 $0, $1, $2;": ("=d,d,d", ("float64",) * 2, "float64", 1, np.add),
    "add.s64 $0, $1, $2;": ("=l,l,l", ("int64",) * 2, "int64", 1, np.add),
    "popc.b32 $0, $1;": ("=r,r", ("int32",), "int32", 1, ones),
    "lop3.b32 $0, $1, $2, 0, 0x3c;": ("=r,r,r", ("int32",) * 2, "int32", 1, np.bitwise_xor),
    "shf.l.wrap.b32 $0, $1, $1, 5;": ("=r,r", ("uint32",), "uint32", 1, lambda x: x << 5 | x >> 27),
    "prmt.b32 $0, $1, 0, 0x0123;": ("=r,r", ("uint32",), "uint32", 1, lambda x: x.byteswap()),
    "add.rn.f16x2 $0, $1, $2;": ("=r,r,r", ("float16",) * 2, "float16", 2, np.add),
    "xor.b32 $0, $1, $2;": ("=r,r,r", ("int8",) * 2, "int8", 4, np.bitwise_xor),
    "mul.lo.s32 $0, $1, 3; // $$ 1": ("=r,r", ("int32",), "int32", 1, lambda x: x * np.int32(3)),
    "{ .reg .b32 t; mov.b32 t, $1; neg.s32 $0, t; }": ("=r,r", ("int32",), "int32", 1, np.negative),
}


@pytest.mark.skipif(not ON_GPU, reason="the CPU has none of these instructions")
@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_instructions(rng, instruction):
    constraints, operands, into, pack, reference = INSTRUCTIONS[instruction]
    for shape in ((4,), (128,), (24,), (4, 64)):
        values = [tensor(rng.integers(-9, 10, shape), dtype) if "float" in dtype else draw(rng, dtype, shape)
                  for dtype in operands]
        expression = assembly(instruction, constraints, ", ".join("xy"[: len(values)]), into, pack)
        with np.errstate(over="ignore"):
            expected = reference(*map(exact, values))
        check(evaluate(expression, *values, into=into), expected + (0 if "int" in into else 0.0))


@pytest.mark.skipif(not ON_GPU, reason="the CPU has none of these instructions")
def test_instructions_with_several_results(rng):
    x, y = draw(rng, "float32", (100,)), draw(rng, "float32", (100,))
    text = "{ min.f32 $0, $2, $3; max.f32 $1, $2, $3; }"
    expression = assembly(text, "=f,=f,f,f", "x, y", ("float32", "float32"))
    low, high = evaluate(expression, x, y, into=["float32", "float32"])
    check(low, np.minimum(exact(x), exact(y)))
    check(high, np.maximum(exact(x), exact(y)))
    # An operand in the register of the result.
    tied = assembly("add.f32 $0, $1, $2;", "=f,0,f", "x, y", "float32")
    check(evaluate(tied, x, y, into="float32"), exact(x) + exact(y))


@pytest.mark.skipif(ON_GPU, reason="a GPU has the instructions")
def test_the_cpu_refuses_instructions(rng):
    with pytest.raises(triton.CompilationError, match="inline_asm_elementwise"):
        evaluate(assembly("abs.f32 $0, $1;", "=f,f", "x", "float32"), draw(rng, "float32", (8,)), into="float32")


@pytest.mark.parametrize(("question", "answer"), [
    ("tl.target_info.is_cuda()", ON_GPU), ("tl.target_info.cuda_capability_geq(8, 0)", ON_GPU),
    ("tl.target_info.cuda_capability_geq(99, 0)", False), ("tl.target_info.is_hip()", False)])
def test_the_target(question, answer):
    check(evaluate(f"tl.full((1,), {question}, tl.int32)", into="int32", shape=(1,)), int(answer))
    assert DEVICE == "cpu" or ON_GPU
