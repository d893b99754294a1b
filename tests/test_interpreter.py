"""Interpreted kernels: ordinary Python on tiles, with the very results of compiled ones."""

import importlib
import linecache
import os
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path

import numpy as np
import pytest

import tegula
import tegula.language as tl

EXAMPLES = Path(__file__).parent.parent / "examples"
# `performance` measures kernels of other examples, and takes its time.
SCRIPTS = sorted({path.stem for path in EXAMPLES.glob("*.py")} - {"checking", "demo", "performance"})


def interpreted(kernel):
    return tegula.jit(kernel.fn, interpret=True)


class Both:
    """A kernel that runs compiled, then interpreted on the same arguments, and compares every bit that they wrote."""

    def __init__(self, kernel):
        self.compiled, self.interpreted, self.launches = kernel, interpreted(kernel), 0

    def __getattr__(self, name):
        return getattr(self.compiled, name)

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, **kwargs)

    def run(self, *args, grid, warmup=False, **kwargs):
        arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
        before = [array.copy() for array in arrays]
        result = self.compiled.run(*args, grid=grid, warmup=warmup, **kwargs)
        if warmup:
            return result
        after = [array.copy() for array in arrays]
        for array, contents in zip(arrays, before, strict=True):
            if array.flags.writeable:
                array[...] = contents
        self.interpreted.run(*args, grid=grid, **kwargs)
        for array, contents in zip(arrays, after, strict=True):
            assert array.tobytes() == contents.tobytes()
        self.launches += 1
        return result


@pytest.fixture
def example(request, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    module = importlib.import_module(request.param)
    kernels = []
    for name, value in vars(module).items():
        if isinstance(value, tegula.Autotuner):
            kernels.append(Both(value.fn))
            monkeypatch.setattr(value, "fn", kernels[-1])
        elif isinstance(value, tegula.JITFunction) and name.endswith("_kernel"):
            kernels.append(Both(value))
            monkeypatch.setattr(module, name, kernels[-1])
    return module, kernels


# The order of atomic additions of floats, as in `column_sum`, is not the same twice; `matmul_views` uses the kernel
# of `matmul`.
COMPARED = [name for name in SCRIPTS if name not in ("column_sum", "matmul_views")]


@pytest.mark.parametrize("example", COMPARED, indirect=True)
def test_examples_agree_bit_for_bit(example, capsys):
    module, kernels = example
    module.main()
    assert kernels and all(kernel.launches for kernel in kernels)


# --- operations -----------------------------------------------------------------------------------------------------

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint32")
ANY = FLOATS + INTEGERS

OPERATIONS = {
    "arithmetic": (ANY, "(x + y) * 3 - x"),
    "promotion": (ANY, "x + 1 + tl.arange(0, 16)[None, :] * 2.5"),
    "division": (FLOATS, "x / (y * y + 1)"),
    "integer division": (INTEGERS, "x // (y | 1) + x % (y | 1)"),
    "bits": (INTEGERS, "((x & y) ^ (x | 3)) + (~x >> 1) + (y << 2)"),
    "minimum": (ANY, "tl.minimum(x, y) + max(x, y)"),
    "comparison": (ANY, "tl.where((x < y) & (x != 3), x, y)"),
    "chain": (ANY, "tl.where(0 < x <= 5, x, y)"),
    "logic": (ANY, "tl.where(x > 0 and not y > 2 or x == y, x, y)"),
    "mathematics": (("float32", "float64"), "tl.exp(x) + tl.log(abs(y) + 1) + tl.sin(x) * tl.sqrt(abs(y))"),
    "libdevice": (("float32",), "tl.erf(x) + tl.extra.libdevice.tanh(y)"),
    "casts": (ANY, "x.to(tl.float32).to(tl.int32).to(tl.bfloat16) + y.to(tl.float16)"),
    "bitcast": (("float32",), "x.to(tl.int32, bitcast=True) ^ y.to(tl.int32, bitcast=True)"),
    "sum": (ANY, "tl.sum(x, axis=1)[:, None] + y"),
    "argmax": (ANY, "tl.argmax(x, axis=0)[None, :] + y"),
    "reduce": (ANY, "tl.reduce(x, 1, combine)[:, None] + y"),
    "scan": (ANY, "tl.associative_scan(x, 1, combine) + tl.cumsum(y, 0)"),
    "sort": (ANY, "tl.sort(x) + y"),
    "shapes": (ANY, "tl.trans(tl.reshape(x, (16, 32))) + y.T.reshape((32, 16))"),
    "join": (ANY, "tl.sum(tl.join(x, y), axis=2)"),
    "dot": (("float16", "float32"), "tl.dot(x, tl.trans(y), out_dtype=tl.float32)"),
    "dot of fp64": (("float64",), "tl.dot(x, tl.trans(y))"),
    "softmax": (("float32",), "tl.softmax(x.to(tl.float32), dim=1) + y"),
    "subscripts": (ANY, "x[3, :][None, :] + y[:, 2:3] + x[1, 5]"),
    "random": (("int32",), "tl.rand(7, x) + tl.randn(3, y)"),
    "gather": (("float32", "int32"), "tl.gather(x, (at // 16) % 7, 0) + y"),
    "constants": (ANY, "tl.full((32, 16), 2, tl.int32) * len((1, 2)) + x"),
}

TEMPLATE = """
import tegula
import tegula.language as tl


@tegula.jit
def combine(a, b):
    return a + b * 2 if a.dtype != tl.float16 else a + b


@tegula.jit
def kernel(x_ptr, y_ptr, out_ptr):
    at = tl.arange(0, 32)[:, None] * 16 + tl.arange(0, 16)[None, :]
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    result = {expression}
    n = result.numel
    tl.store(out_ptr + tl.arange(0, result.numel), tl.ravel(result.to(tl.float64)))
"""


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_agree_bit_for_bit(name, tmp_path, monkeypatch):
    types, expression = OPERATIONS[name]
    (tmp_path / "operation.py").write_text(TEMPLATE.format(expression=expression))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "operation", raising=False)
    linecache.clearcache()
    kernel = Both(importlib.import_module("operation").kernel)
    rng = np.random.default_rng()
    for dtype in types:
        x, y = (rng.integers(0 if dtype.startswith("u") else -9, 9, (32, 16)).astype(dtype) for _ in range(2))
        if dtype in FLOATS:
            x = (x * rng.random((32, 16))).astype(dtype)
        kernel[(1,)](x, y, np.full((32, 32), np.nan))
    monkeypatch.delitem(sys.modules, "operation")


@tegula.jit
def control(x_ptr, out_ptr, n, one, STEPS: tl.constexpr):
    total = 0
    count = 0.0
    for i in range(one, n):
        if i % 3 == 0:
            total += tl.load(x_ptr + i)
        elif i > 7 and i < 11:
            total -= i.to(tl.int32)
        count = count + 1
    j = 0
    while j < STEPS:
        total = total * 2 + helper(j, one)
        j += 1
    for k in tl.static_range(STEPS):
        total += k if k % 2 else -k
    small = tl.load(x_ptr).to(tl.int8) * 100
    tl.store(out_ptr, total)
    tl.store(out_ptr + 1, count.to(tl.int32))
    tl.store(out_ptr + 2, small * one)
    tl.store(out_ptr + 3, tl.cdiv(n, 4) + tl.num_programs(0) * 10 + tl.program_id(1))


@tegula.jit
def helper(value, amount):
    if amount == 1:
        return value + 5
    return value - amount


def test_control_flow_agrees():
    kernel = Both(control)
    for n, one, steps in ((17, 1, 3), (5, 2, 0), (1, 1, 1)):
        kernel[(2, 1)](np.arange(20, dtype=np.int32) + 3, np.zeros(4, np.int32), n, one, STEPS=steps)


@tegula.jit
def descriptors(x_ptr, out_ptr, rows, cols):
    window = tl.make_tensor_descriptor(x_ptr, [rows, cols], [cols, 1], [4, 8])
    block = tl.make_block_ptr(out_ptr, (rows, cols), (cols, 1), (0, 0), (4, 8), (1, 0))
    for row in range(0, rows, 4):
        tl.store(block, window.load([row, 2]) * 2, boundary_check=(0, 1))
        block = tl.advance(block, (4, 0))


def test_descriptors_and_block_pointers_agree():
    Both(descriptors)[(1,)](np.arange(66, dtype=np.float32).reshape(6, 11), np.full((6, 11), -1, np.float32), 6, 11)


@tegula.aggregate
class Interval:
    low: tl.tensor
    high: tl.tensor
    WIDE: tl.constexpr = False

    @tegula.jit
    def width(self, scale):
        return (self.high - self.low) * scale if self.WIDE else self.high - self.low


@tegula.jit
def aggregates(out_ptr, n):
    narrow = Interval(n, n + 7)
    wide = Interval(n, n * 3, WIDE=True)
    for i in range(3):
        narrow = tl.aggregate_replace(narrow, low=narrow.low - i)
    tl.store(out_ptr, narrow.width(2))
    tl.store(out_ptr + 1, wide.width(2))


def test_aggregates_agree():
    Both(aggregates)[(1,)](np.zeros(2, np.int32), 5)


# --- Python ---------------------------------------------------------------------------------------------------------


@tegula.jit(interpret=True)
def looks_inside(x_ptr, n, seen, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.5)
    print(x, n, repr(offsets), f"{n:>4}")
    collected.append((x, x.numpy(), np.asarray(offsets < n), x.to(tl.bfloat16).data, int(n), float(n), x.shape))


collected = []


def test_tiles_can_be_printed_and_looked_into(capsys):
    collected.clear()
    looks_inside[(1,)](np.array([1.5, 2.5, 3.5], np.float32), 3, None, BLOCK=4)
    assert capsys.readouterr().out == "[1.5 2.5 3.5 0.5] 3 tl.tensor([0, 1, 2, 3], int32)    3\n"
    tile, x, mask, narrow, as_int, as_float, shape = collected[0]
    assert x.dtype == np.float32 and x.tolist() == [1.5, 2.5, 3.5, 0.5] and not x.flags.writeable
    assert mask.tolist() == [True, True, True, False]
    assert narrow.dtype == np.float32 and narrow.tolist() == x.tolist()
    assert (as_int, as_float, shape) == (3, 3.0, (4,))
    assert tile.numpy().tolist() == x.tolist() and tile.dtype == tl.float32
    with pytest.raises(RuntimeError, match="inside of a kernel"):
        tile + 1


@tegula.jit(interpret=True)
def is_debugged(x_ptr, out_ptr, BLOCK: tl.constexpr):
    import pprint

    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    elements = x.numpy()
    total = float(tl.sum(x, axis=0))
    for element in elements:
        seen.append(element)
    if elements.max() > 2 and total > 3:
        show("large", np.sort(elements), f"{total:.2f}")
    pprint.pprint(elements.tolist())
    if x.dtype != tl.float32:
        raise TypeError("never")
    tl.store(out_ptr + at, x * 2)


seen = []


def show(*values):
    seen.append(values)


def test_what_only_looks_is_no_fault(capsys):
    seen.clear()
    out = np.zeros(2, np.float32)
    is_debugged[(1,)](np.array([1.5, 2.5], np.float32), out, BLOCK=2)
    assert seen[:2] == [1.5, 2.5] and seen[2][0] == "large" and seen[2][2] == "4.00"
    assert capsys.readouterr().out == "[1.5, 2.5]\n" and out.tolist() == [3, 5]


@tegula.jit(interpret=True)
def is_faulty(x_ptr, flag):
    print(flag)
    x = tl.load(x_ptr)
    if flag > 3:
        y = x
    else:
        y = x.to(tl.int32)
    tl.store(x_ptr, y)
    tl.stor(x_ptr, x)


def test_faults_are_found_before_anything_runs(capsys):
    with pytest.raises(tegula.CompilationError, match=r"(?s)`y`.*did you mean `store`"):
        is_faulty[(1,)](np.zeros(1, np.float32), 5)
    assert capsys.readouterr().out == ""


def test_functions_of_the_language_need_a_kernel():
    with pytest.raises(RuntimeError, match="jit"):
        tl.arange(0, 8)


@tegula.jit(interpret=True)
def reads_beyond(source_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(source_ptr + at))  # the access


def line_of(kernel, text):
    lines = kernel.raw_src.splitlines()
    return kernel.starting_line_number + next(i for i, line in enumerate(lines) if text in line)


def test_an_access_outside_names_the_argument():
    with pytest.raises(IndexError, match=r"load in lane \(2\).*`source_ptr`.*program \(1, 0, 0\)") as caught:
        reads_beyond[(2,)](np.zeros(10, np.float32), np.zeros(16, np.float32), BLOCK=8)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.filename == __file__ and last.lineno == line_of(reads_beyond, "# the access")


@tegula.jit(interpret=True)
def asserts(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 4))
    tl.device_print("x", x)
    tl.device_assert(x < 3, "too large")


def test_device_print_and_device_assert(capsys):
    with pytest.raises(AssertionError, match="too large"):
        asserts[(1,)](np.arange(4))
    assert capsys.readouterr().out.splitlines()[1] == "pid (0, 0, 0) idx (1) x: 1"


@tegula.jit
def adds_blocks(x, y):
    return x + y  # does not fit


@tegula.jit(interpret=True)
def calls_a_helper(out_ptr):
    tl.store(out_ptr, tl.sum(adds_blocks(tl.arange(0, 4), tl.arange(0, 8)), 0))  # the call


def test_a_refusal_quotes_the_line_and_the_calls():
    with pytest.raises(tegula.CompilationError, match="broadcast") as caught:
        calls_a_helper[(1,)](np.zeros(1, np.int32))
    _, file, line, _ = caught.value.places[0]
    assert (file, line) == (__file__, line_of(adds_blocks, "# does not fit"))
    assert "tl.store(out_ptr, tl.sum(adds_blocks" in str(caught.value)


@tegula.jit(interpret=True)
def raises(n):
    if n > 2:
        raise KeyError("an exception of the user's")


def test_ordinary_exceptions_pass():
    raises[(1,)](2)
    with pytest.raises(KeyError, match="user's") as caught:
        raises[(1,)](3)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].lineno == line_of(raises, "raise KeyError")


def test_a_debugger_steps_through_a_kernel(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent("""
        import numpy as np
        import tegula as triton
        import tegula.language as tl

        @triton.jit
        def kernel(x_ptr, out_ptr, N: tl.constexpr):
            x = tl.load(x_ptr + tl.arange(0, N))
            breakpoint()
            doubled = x * 2
            tl.store(out_ptr + tl.arange(0, N), doubled)

        out = np.zeros(4, np.float32)
        kernel[(1,)](np.arange(4, dtype=np.float32), out, N=4)
        print("out", out)
    """))
    commands = "p x.numpy().tolist()\nn\nn\np (doubled + 1).numpy().tolist()\nw\nc\n"
    run = subprocess.run(
        [sys.executable, str(script)], input=commands, capture_output=True, text=True, timeout=120,
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONBREAKPOINT": "pdb.set_trace"},
    )
    assert run.returncode == 0, run.stderr
    assert "[0.0, 1.0, 2.0, 3.0]" in run.stdout and "[1.0, 3.0, 5.0, 7.0]" in run.stdout
    assert "-> tl.store(out_ptr + tl.arange(0, N), doubled)" in run.stdout
    assert "out [0. 2. 4. 6.]" in run.stdout


def test_the_variable_is_read_when_a_function_is_decorated(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert tegula.jit(control.fn).interpret
    assert not tegula.jit(control.fn, interpret=False).interpret
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    assert not tegula.jit(control.fn).interpret


def test_recursion_closures_and_defaults():
    factor = tl.constexpr(3)

    @tegula.jit(interpret=True)
    def power(x, n: tl.constexpr = 2):
        return x if n == 0 else power(x * factor, n - 1)

    @tegula.jit(interpret=True)
    def kernel(out_ptr, *, start=5):
        tl.store(out_ptr, power(start))
        tl.store(out_ptr + 1, power(start, n=1))

    out = np.zeros(2, np.int32)
    kernel[(1,)](out)
    assert out.tolist() == [45, 15]
